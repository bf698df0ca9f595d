//! The commerce API behind the gateway, where it is not the embedded shop that is served.

use std::{
    ffi::OsString,
    fs,
    num::NonZeroU32,
    path::Path,
    time::{Duration, SystemTime},
};

use jiff::Timestamp;
use ucp_core::Release;
use ucp_payment::Secret;
use ucp_trust::signature::bot::BotSignature;
use url::{Host, Url};

use super::{BackendKind, Environment, Problems, TokenKind, Transport, file, flags::UpstreamOptions};

/// A commerce API behind the gateway.
#[derive(Debug)]
pub(crate) struct Upstream {
    /// Which backend asks it.
    pub(crate) backend: BackendKind,
    /// What only that backend is told.
    pub(crate) kind: UpstreamKind,
    /// Where it is.
    pub(crate) url: Url,
    /// What the gateway has to show there.
    pub(crate) token: Option<Secret>,
    /// How many different identifiers one lookup may name there, where that is known beforehand.
    pub(crate) max_lookup_ids: Option<usize>,
    /// How long connecting may take.
    pub(crate) connect_timeout: Duration,
    /// How long a read may take.
    pub(crate) read_timeout: Duration,
    /// How long a change may take.
    pub(crate) write_timeout: Duration,
    /// How long completing a purchase may take.
    pub(crate) complete_timeout: Duration,
    /// How many reads are under way at once.
    pub(crate) reads_in_flight: usize,
    /// How many changes are under way at once.
    pub(crate) writes_in_flight: usize,
    /// How many calls begin per second, if that is limited.
    pub(crate) per_second: Option<NonZeroU32>,
    /// How many megabytes of answers are kept in memory.
    pub(crate) cache_mb: u32,
}

impl Upstream {
    /// Whether the gateway signs what it asks there with its own key.
    pub(crate) fn signs_as_bot(&self) -> bool {
        matches!(self.kind, UpstreamKind::Shopify { bot: Bot::Own, .. })
    }
}

/// What only one of the backends is told about its upstream.
#[derive(Debug)]
pub(crate) enum UpstreamKind {
    /// Shopify's Storefront GraphQL API, or one that is compatible.
    Shopify {
        /// What the token is.
        token_kind: TokenKind,
        /// The version of the API.
        api_version: String,
        /// As which bot it is asked.
        bot: Bot,
    },
    /// UCP.
    Ucp {
        /// How it is asked, where that is not left to its profile.
        transport: Option<Transport>,
        /// In which release it is asked, where that is not the newest that both sides speak.
        release: Option<Release>,
    },
    /// Nothing.
    Plain,
}

/// As which bot a shop is asked (Web Bot Auth).
#[derive(Debug)]
pub(crate) enum Bot {
    /// As none.
    Unknown,
    /// As one that the merchant lets in, with a signature that was made for it.
    Given(BotSignature),
    /// As one that the gateway is itself, with signatures of its own key.
    Own,
}

/// The version of the Storefront API that is asked where nothing else is said. The documents are checked against its schema.
const API_VERSION: &str = "2026-04";

/// What the flags and the file amount to; `None` where the embedded shop is served.
pub(super) fn resolve(
    flags: &UpstreamOptions,
    said: file::Upstream,
    public_url: Option<&Url>,
    problems: &mut Problems<'_>,
    environment: Environment<'_>,
    now: SystemTime,
) -> Option<Upstream> {
    let backend = flags.backend.or(said.backend).unwrap_or(BackendKind::Embedded);
    if backend == BackendKind::Embedded {
        if flags.upstream_url.is_some() || said.url.is_some() {
            problems.add("upstream.url", "the embedded shop has no upstream; choose a `backend` too");
        }
        return None;
    }
    let url = flags.upstream_url.clone().or(said.url.map(|url| url.0));
    if url.is_none() {
        problems.add("upstream.backend", "this needs `upstream.url`, or the flag --upstream-url");
    }
    let url = url.filter(|url| match fit(url) {
        Ok(()) => true,
        Err(problem) => {
            problems.add("upstream.url", problem);
            false
        }
    });
    let token = match flags.upstream_token_file.as_deref() {
        Some(path) => read(path).map_err(|problem| problems.add("upstream.token_file", problem)).ok(),
        None => token(said.token_file.as_deref(), said.token_env.as_deref(), problems, environment),
    };
    let signature_file = flags
        .upstream_signature_file
        .clone()
        .or_else(|| said.signature_file.as_deref().map(|path| problems.document.relative(path)));
    let mut only = |key: &str, given: bool, wanted: BackendKind, whose: &str| {
        if given && backend != wanted {
            problems.add(key, format_args!("this means something with the backend `{whose}` only"));
        }
    };
    only("upstream.token_kind", said.token_kind.is_some(), BackendKind::Shopify, "shopify");
    only("upstream.api_version", said.api_version.is_some(), BackendKind::Shopify, "shopify");
    only("upstream.signature_file", signature_file.is_some(), BackendKind::Shopify, "shopify");
    only("upstream.sign_as_bot", said.sign_as_bot.is_some(), BackendKind::Shopify, "shopify");
    only("upstream.max_lookup_ids", said.max_lookup_ids.is_some(), BackendKind::Ucp, "ucp");
    only("upstream.transport", said.transport.is_some(), BackendKind::Ucp, "ucp");
    only("upstream.release", said.release.is_some(), BackendKind::Ucp, "ucp");
    let kind = match backend {
        BackendKind::Ucp => {
            UpstreamKind::Ucp { transport: said.transport, release: said.release.map(|release| release.0) }
        }
        BackendKind::Shopify => UpstreamKind::Shopify {
            token_kind: said.token_kind.unwrap_or(TokenKind::Private),
            api_version: said.api_version.map_or_else(|| API_VERSION.to_owned(), |version| version.0),
            bot: bot(signature_file.as_deref(), said.sign_as_bot == Some(true), public_url, problems, now),
        },
        BackendKind::Embedded => UpstreamKind::Plain,
    };
    let milliseconds = |said: Option<file::Milliseconds>, usual| {
        said.map_or(Duration::from_millis(usual), file::Milliseconds::duration)
    };
    Some(Upstream {
        backend,
        kind,
        url: url?,
        token,
        max_lookup_ids: said.max_lookup_ids.map(|most| most.0 as usize),
        connect_timeout: milliseconds(said.connect_timeout_ms, 500),
        read_timeout: milliseconds(said.read_timeout_ms, 3_000),
        write_timeout: milliseconds(said.write_timeout_ms, 10_000),
        complete_timeout: milliseconds(said.complete_timeout_ms, 25_000),
        reads_in_flight: said.reads_in_flight.map_or(32, |most| most.0 as usize),
        writes_in_flight: said.writes_in_flight.map_or(16, |most| most.0 as usize),
        per_second: said.per_second.and_then(|rate| NonZeroU32::new(rate.0)),
        cache_mb: said.cache_mb.map_or(64, |size| size.0),
    })
}

/// Whether credentials and carts may be sent there.
fn fit(url: &Url) -> Result<(), &'static str> {
    let local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => return Err("this address has no host"),
    };
    match url.scheme() {
        "https" => {}
        "http" if local => {}
        _ => return Err("expected an https address, or http on this machine"),
    }
    if url.username().is_empty() && url.password().is_none() {
        Ok(())
    } else {
        Err("an address with a user or password in it is not taken; use `token_file`")
    }
}

fn token(
    file: Option<&Path>,
    variable: Option<&str>,
    problems: &mut Problems<'_>,
    environment: Environment<'_>,
) -> Option<Secret> {
    let (key, token) = match (file, variable) {
        (None, None) => return None,
        (Some(path), None) => ("upstream.token_file", read(&problems.document.relative(path))),
        (None, Some(variable)) => {
            let text = match environment(variable).map(OsString::into_string) {
                Some(Ok(text)) => Ok(text),
                Some(Err(_)) => Err(format!("the value of `{variable}` is not UTF-8")),
                None => Err(format!("the environment has no variable `{variable}`")),
            };
            ("upstream.token_env", text.and_then(parsed))
        }
        (Some(_), Some(_)) => ("upstream.token_env", Err("either this or `token_file`, not both".to_owned())),
    };
    token.map_err(|problem| problems.add(key, problem)).ok()
}

/// As which bot the shop is asked: with the signature in a file, as the gateway itself, or as none.
fn bot(file: Option<&Path>, own: bool, public_url: Option<&Url>, problems: &mut Problems<'_>, now: SystemTime) -> Bot {
    if let Some(path) = file {
        if own {
            problems.add("upstream.sign_as_bot", "either this or `signature_file`, not both");
        }
        return match bot_signature(path, now) {
            Ok(signature) => Bot::Given(signature),
            Err(problem) => {
                problems.add("upstream.signature_file", problem);
                Bot::Unknown
            }
        };
    }
    if !own {
        return Bot::Unknown;
    }
    match public_url.map(fit) {
        Some(Ok(())) => {}
        Some(Err(problem)) => problems.add("server.public_url", format_args!("{problem}, for `upstream.sign_as_bot`")),
        None => {
            let problem = "this needs `server.public_url`, under which the shop finds the keys of the gateway";
            problems.add("upstream.sign_as_bot", problem);
        }
    }
    Bot::Own
}

fn bot_signature(path: &Path, now: SystemTime) -> Result<BotSignature, String> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
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
pub(super) fn moment(time: SystemTime) -> String {
    Timestamp::try_from(time).map_or_else(|_| "the end of times".to_owned(), |time| time.to_string())
}

fn read(path: &Path) -> Result<Secret, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display())).and_then(parsed)
}

#[expect(clippy::needless_pass_by_value, reason = "the text is a secret, and goes when it has been read")]
fn parsed(text: String) -> Result<Secret, String> {
    text.parse::<Secret>().map_err(|error| error.to_string())
}
