//! The settings for people to read, in the form of the file. Of secrets it only says how many there are.

use std::{fmt, path::Path};

use ucp_core::{
    merchant::geo::METRES_PER_KILOMETRE,
    negotiation::OwnName,
    operation::{MERCHANT, RESTAURANT},
    purchase::payment::Declaration,
};
use ucp_geocode::Options;
use ucp_payment::processor::Endpoint;
use ucp_trust::{address::Reach, limit::Quota};

use super::{
    Anonymous, Check, Directory, Limits, Payment, Platform, Profiles, Settings, Signatures, Signed, TokenKind,
    Transport, Upstream,
    payment::Kind,
    upstream::{Bot, UpstreamKind, moment},
};

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[server]")?;
        writeln!(f, "listen = {}", text(self.listen))?;
        stated(f, "admin_listen", self.admin.as_ref().map(|admin| text(admin.listen)), "none")?;
        if self.admin.is_some() {
            writeln!(f, "# admin token: set")?;
        }
        stated(f, "public_url", self.public_url.as_ref().map(text), "the address it listens on")?;
        stated(f, "storefront", self.storefront.as_ref().map(text), "none")?;
        writeln!(f, "max_connections = {}", self.max_connections)?;
        stated(f, "max_in_flight", self.max_in_flight, "no limit")?;
        writeln!(f, "trusted_proxies = {}", list(self.trusted_proxies.networks()))?;
        writeln!(f, "mcp_error_status = {}", text(word(&self.mcp_error_status)))?;
        writeln!(f, "compat = {}", text(word(&self.compat)))?;
        writeln!(f, "\n[data]")?;
        writeln!(f, "dir = {}", path(&self.data.dir))?;
        writeln!(f, "cache_mb = {}", self.data.cache_mb)?;
        writeln!(f, "sample = {}", text(self.data.sample.name))?;
        if let Some(upstream) = &self.upstream {
            write!(f, "\n{upstream}")?;
        }
        writeln!(f, "\n[callers]")?;
        writeln!(f, "policy = {}", text(word(&self.policy)))?;
        writeln!(f, "anonymous = {}", text(self.anonymous))?;
        write!(f, "\n{}", self.profiles)?;
        self.platforms.iter().try_for_each(|platform| write!(f, "\n{platform}"))?;
        write!(f, "\n{}\n{}", self.limits, self.signatures)?;
        self.payments.iter().try_for_each(|payment| write!(f, "\n{payment}"))?;
        write!(f, "\n{}", self.directory)
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[upstream]")?;
        writeln!(f, "backend = {}", text(self.backend))?;
        writeln!(f, "url = {}", text(&self.url))?;
        writeln!(f, "# token: {}", if self.token.is_some() { "set" } else { "none" })?;
        match &self.kind {
            UpstreamKind::Shopify { token_kind, api_version, bot } => {
                let kind = if *token_kind == TokenKind::Private { "private" } else { "public" };
                writeln!(f, "token_kind = {}", text(kind))?;
                writeln!(f, "api_version = {}", text(api_version))?;
                match bot {
                    Bot::Given(signature) => writeln!(f, "# signature: set, until {}", moment(signature.expires()))?,
                    Bot::Own | Bot::Unknown => writeln!(f, "# signature: none")?,
                }
                writeln!(f, "sign_as_bot = {}", matches!(bot, Bot::Own))?;
            }
            UpstreamKind::Ucp { transport, release } => {
                let transport = transport.map(|transport| match transport {
                    Transport::Rest => text("rest"),
                    Transport::Mcp => text("mcp"),
                });
                stated(f, "transport", transport, "what its profile has")?;
                stated(f, "release", release.map(|release| text(release.date())), "the newest that both sides speak")?;
            }
            UpstreamKind::Plain => {}
        }
        stated(f, "max_lookup_ids", self.max_lookup_ids, "what is usual for such an API")?;
        for (key, time) in [
            ("connect_timeout_ms", self.connect_timeout),
            ("read_timeout_ms", self.read_timeout),
            ("write_timeout_ms", self.write_timeout),
            ("complete_timeout_ms", self.complete_timeout),
        ] {
            writeln!(f, "{key} = {}", time.as_millis())?;
        }
        writeln!(f, "reads_in_flight = {}", self.reads_in_flight)?;
        writeln!(f, "writes_in_flight = {}", self.writes_in_flight)?;
        stated(f, "per_second", self.per_second, "no limit")?;
        writeln!(f, "cache_mb = {}", self.cache_mb)
    }
}

impl fmt::Display for Payment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Declaration { name, id, version, spec, schema, instruments, config } = &self.declaration;
        writeln!(f, "[[payment]]")?;
        writeln!(f, "kind = {}", text(if matches!(self.kind, Kind::Sandbox) { "sandbox" } else { "processor" }))?;
        for (key, value) in [("id", id), ("name", name), ("version", version), ("spec", spec), ("schema", schema)] {
            writeln!(f, "{key} = {}", text(value))?;
        }
        writeln!(f, "instruments = {}", list(instruments))?;
        writeln!(f, "# config: {}", serde_json::Value::Object(config.clone()))?;
        if let Kind::Processor(provider) = &self.kind {
            writeln!(f, "url = {}", text(provider.endpoint.as_str()))?;
            let formerly: Vec<_> = provider.formerly.iter().map(Endpoint::as_str).collect();
            writeln!(f, "formerly = {}", list(&formerly))?;
            writeln!(f, "signing_key_id = {}", text(&provider.signing_key_id))?;
            writeln!(f, "# API key and signing secret: set")?;
            writeln!(f, "connect_timeout_ms = {}", provider.connect_timeout.as_millis())?;
            writeln!(f, "timeout_ms = {}", provider.timeout.as_millis())?;
            writeln!(f, "deadline_ms = {}", provider.deadline.as_millis())?;
        }
        Ok(())
    }
}

impl fmt::Display for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = |own: Option<&OwnName>, usual: &str| text(own.map_or(usual, |own| own.name.as_str()));
        let kilometres = self.policy.max_radius.map(|metres| metres / METRES_PER_KILOMETRE);
        let host = |options: &Options| text(options.endpoint.host_str().unwrap_or_default());
        writeln!(f, "[merchants]")?;
        writeln!(f, "enabled = {}", self.merchants)?;
        writeln!(f, "locations = {}", self.locations)?;
        writeln!(f, "capability = {}", own(self.capability.as_ref(), MERCHANT))?;
        writeln!(f, "service = {}", own(self.service.as_ref(), RESTAURANT))?;
        stated(f, "max_radius_km", kilometres, "no limit")?;
        writeln!(f, "restricted_regions = {}", list(&self.policy.restricted_regions))?;
        writeln!(f, "cache_mb = {}", self.cache_mb)?;
        writeln!(f, "\n[geocoder]")?;
        stated(f, "places", self.places_file.as_deref().map(path), "the places of the sample")?;
        writeln!(f, "# names of places: {}", self.places.len())?;
        match &self.geocoder_options {
            None => stated(f, "url", None::<&str>, "nobody is asked"),
            Some(options) => {
                writeln!(f, "# url: at {}", host(options))?;
                writeln!(f, "timeout_ms = {}", options.deadline.as_millis())
            }
        }
    }
}

impl fmt::Display for Profiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roots: Vec<_> = self.extra_roots.iter().map(|root| root.path.display()).collect();
        writeln!(f, "[profiles]")?;
        writeln!(f, "loopback = {}", self.reach == Reach::Loopback)?;
        writeln!(f, "connect_timeout_ms = {}", self.connect_timeout.as_millis())?;
        writeln!(f, "timeout_ms = {}", self.timeout.as_millis())?;
        writeln!(f, "fetches = {}", limit(Some(self.fetches)))?;
        writeln!(f, "extra_roots = {}", list(&roots))?;
        writeln!(f, "cache_mb = {}", self.cache_mb)
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[[platform]]")?;
        writeln!(f, "name = {}", text(&self.name))?;
        writeln!(f, "profile = {}", text(self.profile.as_str()))?;
        stated(f, "profile_file", self.pinned.as_ref().map(|pinned| path(&pinned.path)), "the profile is fetched")?;
        match self.api_keys.len() {
            0 => writeln!(f, "# API key: none")?,
            1 => writeln!(f, "# API key: set")?,
            several => writeln!(f, "# API keys: {several} set")?,
        }
        writeln!(f, "limit = {}", limit(self.limit))
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[limits]")?;
        writeln!(f, "anonymous = {}", limit(self.anonymous))?;
        writeln!(f, "signed = {}", limit(self.signed))?;
        writeln!(f, "keyed = {}", limit(self.keyed))?;
        writeln!(f, "unverified = {}", limit(self.unverified))
    }
}

impl fmt::Display for Signatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[signatures]")?;
        writeln!(f, "browsing = {}", text(self.browsing))?;
        writeln!(f, "purchase = {}", text(self.purchase))?;
        writeln!(f, "order = {}", text(self.order))?;
        writeln!(f, "responses = {}", text(self.responses))
    }
}

impl fmt::Display for Anonymous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Browsing => "browsing",
            Self::Everything => "everything",
        })
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Verify => "verify",
            Self::Enforce => "enforce",
        })
    }
}

impl fmt::Display for Signed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Completing => "completing",
            Self::All => "all",
            Self::None => "none",
        })
    }
}

/// A key with its value, or a remark on what holds without one.
fn stated(f: &mut fmt::Formatter<'_>, key: &str, value: Option<impl fmt::Display>, otherwise: &str) -> fmt::Result {
    match value {
        Some(value) => writeln!(f, "{key} = {value}"),
        None => writeln!(f, "# {key}: {otherwise}"),
    }
}

/// A text as TOML.
fn text(value: impl fmt::Display) -> toml::Value {
    toml::Value::String(value.to_string())
}

fn path(value: &Path) -> toml::Value {
    text(value.display())
}

fn list(values: &[impl fmt::Display]) -> toml::Value {
    toml::Value::Array(values.iter().map(text).collect())
}

fn limit(quota: Option<Quota>) -> String {
    quota.map_or_else(
        || "\"none\"".to_owned(),
        |quota| format!("{{ per_second = {}, burst = {} }}", quota.per_second, quota.burst),
    )
}

/// A value as the command line calls it.
fn word(value: &impl clap::ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}
