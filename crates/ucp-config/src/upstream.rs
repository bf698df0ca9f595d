//! The commerce API behind the gateway, where it is not the embedded shop that is served.

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use jiff::Timestamp;
use ucp_core::Release;
use ucp_net::outbound::{self, Identity};
use ucp_payment::Secret;
use ucp_trust::signature::bot::BotSignature;
use url::{Host, Url};

use super::{
    choice::BackendKind,
    document::Document,
    sections::{self, API_VERSION},
    value::WebUrl,
};

/// A commerce API behind the gateway.
#[derive(Debug)]
pub struct Upstream {
    /// URL of the API.
    pub url: Url,
    /// Token that the gateway shows there.
    pub token: Option<Secret>,
    /// File with the token, which is read again when it changes.
    pub token_file: Option<PathBuf>,
    /// Certificate that the gateway shows there.
    pub identity: Option<Identity>,
    /// End of that certificate.
    pub identity_expiry: Option<Timestamp>,
    /// Secret with which the shop signs its notices about orders.
    pub webhook_secret: Option<Secret>,
    /// Secret that the gateway and a shop behind the backend contract share.
    pub signing_secret: Option<Secret>,
    /// Mapping of a shop behind any API, which has been read without a fault.
    pub mapping: Option<String>,
    /// The version of Shopify's API, or of one that is compatible.
    pub api_version: String,
    /// As which bot it is asked.
    pub bot: Bot,
    /// In which release of UCP it is asked, where that is not the newest that both sides speak.
    pub release: Option<Release>,
}

/// As which bot a shop is asked (Web Bot Auth).
#[derive(Debug)]
pub enum Bot {
    /// As none.
    Unknown,
    /// As one that the merchant lets in, with a signature that was made for it.
    Given(BotSignature),
    /// As one that the gateway is itself, with signatures of its own key.
    Own,
}

/// Resolves the upstream from the flags and the file; returns `None` if the embedded shop is served.
pub(super) fn resolve(
    said: &mut sections::Upstream,
    public_url: Option<&Url>,
    document: &mut Document<'_>,
    now: SystemTime,
) -> Option<Upstream> {
    let api_version = said.api_version.get_or_insert_with(|| API_VERSION.to_owned()).clone();
    if !is_api_version(&api_version) {
        document.unfit("upstream.api_version", "expected a version such as 2026-04");
    }
    let release = said.release.as_deref().and_then(Release::from_date);
    if said.release.is_some() && release.is_none() {
        let known: Vec<_> = Release::ALL.iter().map(|release| release.date()).collect();
        document.unfit("upstream.release", format_args!("expected a release: {}", known.join(", ")));
    }
    if said.origins.iter().any(|WebUrl(url)| url.path() != "/" || url.query().is_some() || url.fragment().is_some()) {
        document.unfit("upstream.origins", "expected addresses of scheme, host and port alone");
    }
    if said.is_embedded() {
        let problem = "the embedded shop has no upstream; choose a `backend` too";
        return said.url.as_ref().and_then(|_| document.none("upstream.url", problem));
    }
    let mapping = mapping(said, document);
    let mapped = mapping.as_ref().map(|(_, address)| address.clone());
    if let (Some(_), Some(_)) = (&mapped, &said.url) {
        document.add("upstream.url", "the mapping names the addresses of the shop; leave this out");
    }
    if said.backend == BackendKind::Mapped && mapped.is_none() {
        return None;
    }
    let url = mapped.or_else(|| said.url.as_ref().map(|url| url.0.clone()));
    match url.as_ref().map(is_http) {
        Some(Ok(())) => {}
        Some(Err(problem)) => document.unfit("upstream.url", problem),
        None => document.add("upstream.backend", "this needs `upstream.url`, or the flag --upstream-url"),
    }
    if said.token_file.is_some() && said.token_env.is_some() {
        document.add("upstream.token_env", "either this or `token_file`, not both");
    }
    let token = document.secret("upstream.token", said.token_file.as_deref(), said.token_env.as_deref());
    said.token = Some(if token.is_some() { "set" } else { "none" }.to_owned());
    let webhook_secret = document.secret("upstream.webhook_secret", said.webhook_secret_file.as_deref(), None);
    said.webhook_secret = Some(if webhook_secret.is_some() { "set" } else { "none" }.to_owned());
    let signing_secret = document.secret("upstream.signing_secret", said.signing_secret_file.as_deref(), None);
    said.signing_secret = Some(if signing_secret.is_some() { "set" } else { "none" }.to_owned());
    if token.is_some() && signing_secret.is_some() {
        document.add("upstream.signing_secret_file", "either this or a token, not both");
    }
    let (identity, identity_expiry) = identity(said, document).unzip();
    document.refuse_foreign("upstream", said.backend, said.signature_file.as_ref().map(|_| "signature_file"));
    let is_shopify = said.backend == BackendKind::Shopify;
    let bot = if is_shopify { bot(said, public_url, document, now) } else { Bot::Unknown };
    let token_file = said.token_file.as_ref().map(|path| path.to_path_buf());
    Some(Upstream {
        url: url?,
        token,
        token_file,
        identity,
        identity_expiry: identity_expiry.flatten(),
        webhook_secret,
        signing_secret,
        mapping: mapping.map(|(text, _)| text),
        api_version,
        bot,
        release,
    })
}

/// Reads the certificate that the gateway shows to the shop, and its key. Returns its end with it.
fn identity(said: &sections::Upstream, document: &mut Document<'_>) -> Option<(Identity, Option<Timestamp>)> {
    const KEYS: [&str; 2] = ["upstream.client_certificate_file", "upstream.client_key_file"];
    let (certificate, key) = match (&said.client_certificate_file, &said.client_key_file) {
        (None, None) => return None,
        (Some(certificate), Some(key)) => (certificate, key),
        (Some(_), None) => return document.none(KEYS[0], format_args!("this needs `{}`", KEYS[1])),
        (None, Some(_)) => return document.none(KEYS[1], format_args!("this needs `{}`", KEYS[0])),
    };
    let mut read = |name: &str, path: &Path| {
        let bytes = document.bytes(path);
        document.led(name, bytes)
    };
    let (certificate_pem, key_pem) = (read(KEYS[0], certificate)?, read(KEYS[1], key)?);
    let (certificate, key) = (certificate.display(), key.display());
    let identity = outbound::identity(&certificate_pem, &key_pem);
    let identity = document.led(KEYS[0], identity.map_err(|error| format!("{certificate} and {key} {error}")))?;
    Some((identity, ucp_listener::expiry(&certificate_pem)))
}

/// Reads the mapping of a shop behind any API, with the address of its first source.
fn mapping(said: &sections::Upstream, document: &mut Document<'_>) -> Option<(String, Url)> {
    if said.backend != BackendKind::Mapped {
        return None;
    }
    let Some(path) = said.mapping_file.as_ref().map(|path| path.to_path_buf()) else {
        return document.none("upstream.backend", "this needs `upstream.mapping_file`");
    };
    let read = document.text(&path).and_then(|text| match ucp_mapped::read(&text) {
        Ok((mapping, _)) => Ok((text, mapping)),
        Err(faults) => Err(format!("{} cannot be used: {faults}", path.display())),
    });
    let (text, mapping) = document.led("upstream.mapping_file", read)?;
    mapping.source.into_values().next().map(|source| (text, source.address.0))
}

/// Returns `true` if this is a version of the Storefront API: a year and a month.
fn is_api_version(text: &str) -> bool {
    let digits = |text: &str, count| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    text == "unstable" || text.split_once('-').is_some_and(|(year, month)| digits(year, 4) && digits(month, 2))
}

/// Returns `true` if calls to an address leave this machine without encryption.
pub fn is_exposed(url: &Url) -> bool {
    let local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "http" && !local
}

/// Checks that an address is https, or http on this machine.
fn is_private(url: &Url) -> Result<(), &'static str> {
    if is_exposed(url) { Err("expected an https address, or http on this machine") } else { is_http(url) }
}

/// Checks that an address is one of an HTTP server, without credentials.
fn is_http(url: &Url) -> Result<(), &'static str> {
    if !url.has_host() {
        return Err("this address has no host");
    }
    if !matches!(url.scheme(), "https" | "http") {
        return Err("expected an https or http address");
    }
    if url.username().is_empty() && url.password().is_none() {
        Ok(())
    } else {
        Err("an address with a user or password in it is not taken; use `token_file`")
    }
}

/// As which bot the shop is asked: with the signature in a file, as the gateway itself, or as none.
fn bot(said: &mut sections::Upstream, public_url: Option<&Url>, document: &mut Document<'_>, now: SystemTime) -> Bot {
    said.signature = Some("none".to_owned());
    if let Some(path) = &said.signature_file {
        if said.sign_as_bot {
            document.add("upstream.sign_as_bot", "either this or `signature_file`, not both");
        }
        let signature = bot_signature(path, document, now);
        let Some(signature) = document.led("upstream.signature_file", signature) else { return Bot::Unknown };
        said.signature = Some(format!("set, until {}", moment(signature.expires())));
        return Bot::Given(signature);
    }
    if !said.sign_as_bot {
        return Bot::Unknown;
    }
    match public_url.map(is_private) {
        Some(Ok(())) => {}
        Some(Err(problem)) => document.add("server.public_url", format_args!("{problem}, for `upstream.sign_as_bot`")),
        None => {
            let problem = "this needs `server.public_url`, under which the shop finds the keys of the gateway";
            document.add("upstream.sign_as_bot", problem);
        }
    }
    Bot::Own
}

fn bot_signature(path: &Path, document: &mut Document<'_>, now: SystemTime) -> Result<BotSignature, String> {
    let shown = path.display();
    let text = document.text(path)?;
    let signature = BotSignature::read(&text).map_err(|error| format!("{shown}: {error}"))?;
    if signature.expires() <= now {
        return Err(format!(
            "the signature in {shown} expired at {}; create another one in the shop's admin (Online Store > Preferences > \
             Crawler access), or leave this out",
            moment(signature.expires())
        ));
    }
    Ok(signature)
}

/// A time for people to read.
fn moment(time: SystemTime) -> String {
    Timestamp::try_from(time).map_or_else(|_| "the end of times".to_owned(), |time| time.to_string())
}
