//! Warnings about settings that are valid and that an operator seldom wants: each names its key, the risk, and the
//! value without it.

use std::{collections::HashSet, fs, os::unix::fs::PermissionsExt as _};

use ipnet::IpNet;
use ucp_payment::Secret;

use super::{Policy, Process, Settings, document::Document, is_loopback};

/// Minimum length of an admin token, in characters.
const TOKEN_LENGTH: usize = 16;

/// Minimum number of different characters of an admin token.
const TOKEN_VARIETY: usize = 8;

/// Permissions of everyone but the owner of a file and its group.
const OTHERS: u32 = 0o007;

/// Adds the warnings about `settings` to the document. What belongs to the process of several shops is warned of once, by
/// [`of_process`].
pub(super) fn add(settings: &Settings, document: &mut Document<'_>) {
    let server = &settings.sections.server;
    let listen = server.listen.0.ip().to_canonical();
    if settings.policy == Policy::Development && !listen.is_loopback() {
        let risk = "callers from other machines are not authenticated; it should be \"require\" or \"lenient\"";
        document.warn("callers.policy", risk);
    }
    if !settings.mount.is_one_of_several {
        of_process(&settings.process, document);
    }
    let public_url = server.public_url.as_ref().map(|url| &url.0).filter(|url| url.scheme() == "http");
    if let Some(url) = public_url.filter(|url| !is_loopback(url)) {
        let risk = format!(
            "{url} is not encrypted: others can read and change orders on their way, and platforms refuse its profile; it \
             should be an https address"
        );
        document.warn("server.public_url", risk);
    }
}

/// Adds the warnings about what belongs to the process to the document.
pub(super) fn of_process(process: &Process, document: &mut Document<'_>) {
    let server = &process.server;
    for text in &server.trusted_proxies {
        if text.parse::<IpNet>().is_ok_and(|network| network.prefix_len() == 0) {
            let risk = format!(
                "{text} trusts everyone, so that each caller names its own address and no limit per address holds; it \
                 should be the networks of your proxies"
            );
            document.warn("server.trusted_proxies", risk);
        }
    }
    let Some(admin) = &process.admin else { return };
    if !admin.listen.ip().to_canonical().is_loopback() {
        let risk = format!(
            "{} is reachable from other machines, and the token is sent to it without encryption; it should be a loopback \
             address, or behind a proxy that speaks TLS",
            admin.listen
        );
        document.warn("server.admin_listen", risk);
    }
    let (file, key) = match &server.admin_token_file {
        Some(file) => (Some(file), "server.admin_token_file"),
        None => (None, "server.admin_token_env"),
    };
    if admin.token.as_ref().is_some_and(is_weak) {
        let risk = format!(
            "the token can be guessed; it should be at least {TOKEN_LENGTH} characters at random, such as those of `openssl \
             rand -hex 32`"
        );
        document.warn(key, risk);
    }
    if let Some(metadata) = file.and_then(|file| fs::metadata(&**file).ok())
        && metadata.permissions().mode() & OTHERS != 0
    {
        document.warn(key, "every user of this machine can read the file; its mode should be 0600 or 0640");
    }
}

/// Returns `true` if a token is too short or too uniform.
fn is_weak(token: &Secret) -> bool {
    let token = token.reveal();
    token.len() < TOKEN_LENGTH || token.bytes().collect::<HashSet<_>>().len() < TOKEN_VARIETY
}
