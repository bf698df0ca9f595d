//! The shape of the configuration file, with the limits of single values.
//!
//! The names of the keys are the names of the fields here; [`tables`] lists them for [`document`](super::document), which
//! refuses all others.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    num::NonZeroU32,
    path::PathBuf,
    time::Duration,
};

use ipnet::IpNet;
use serde::{
    Deserialize, Deserializer,
    de::{self, Error as _, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::{Map, Value};
use ucp_core::Release;
use ucp_store::sample::Sample;
use ucp_trust::limit::Quota;
use url::Url;

use super::{
    Anonymous, BackendKind, Check, Compat, McpErrorStatus, Policy, Signed, TokenKind, Transport,
    flags::{public_url, sample},
};

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct File {
    pub(super) server: Server,
    pub(super) data: Data,
    pub(super) callers: Callers,
    pub(super) profiles: Profiles,
    pub(super) platform: Vec<Platform>,
    pub(super) limits: Limits,
    pub(super) signatures: Signatures,
    pub(super) payment: Vec<Payment>,
    pub(super) merchants: Merchants,
    pub(super) geocoder: Geocoder,
    pub(super) upstream: Upstream,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Server {
    pub(super) listen: Option<SocketAddr>,
    pub(super) admin_listen: Option<SocketAddr>,
    pub(super) admin_token_file: Option<PathBuf>,
    pub(super) admin_token_env: Option<String>,
    pub(super) public_url: Option<PublicUrl>,
    pub(super) storefront: Option<Storefront>,
    pub(super) max_connections: Option<Number<1, 1_000_000>>,
    pub(super) max_in_flight: Option<Number<1, 1_000_000>>,
    pub(super) trusted_proxies: Vec<Network>,
    pub(super) mcp_error_status: Option<McpErrorStatus>,
    pub(super) compat: Option<Compat>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Data {
    pub(super) dir: Option<PathBuf>,
    pub(super) cache_mb: Option<Number<0, 1_048_576>>,
    pub(super) sample: Option<SampleName>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Callers {
    pub(super) policy: Option<Policy>,
    pub(super) anonymous: Option<Anonymous>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Profiles {
    pub(super) loopback: Option<bool>,
    pub(super) connect_timeout_ms: Option<Milliseconds>,
    pub(super) timeout_ms: Option<Milliseconds>,
    pub(super) fetches: Option<Rate>,
    pub(super) extra_roots: Vec<PathBuf>,
    pub(super) cache_mb: Option<Number<1, 65_536>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Platform {
    pub(super) name: String,
    pub(super) profile: String,
    pub(super) profile_file: Option<PathBuf>,
    pub(super) api_key_hash: Option<String>,
    pub(super) api_key_file: Option<PathBuf>,
    pub(super) api_key_env: Option<String>,
    pub(super) limit: Option<Limit>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Limits {
    pub(super) anonymous: Option<Limit>,
    pub(super) signed: Option<Limit>,
    pub(super) keyed: Option<Limit>,
    pub(super) unverified: Option<Limit>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Signatures {
    pub(super) browsing: Option<Check>,
    pub(super) purchase: Option<Check>,
    pub(super) order: Option<Check>,
    pub(super) responses: Option<Signed>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Payment {
    pub(super) kind: HandlerKind,
    pub(super) id: String,
    pub(super) name: Option<String>,
    pub(super) version: Option<String>,
    pub(super) spec: Option<String>,
    pub(super) schema: Option<String>,
    pub(super) instruments: Option<Vec<String>>,
    pub(super) config: Option<Map<String, Value>>,
    pub(super) url: Option<String>,
    pub(super) formerly: Option<Vec<String>>,
    pub(super) api_key_file: Option<PathBuf>,
    pub(super) api_key_env: Option<String>,
    pub(super) signing_key_id: Option<String>,
    pub(super) signing_secret_file: Option<PathBuf>,
    pub(super) signing_secret_env: Option<String>,
    pub(super) connect_timeout_ms: Option<Milliseconds>,
    pub(super) timeout_ms: Option<Milliseconds>,
    pub(super) deadline_ms: Option<Milliseconds>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Merchants {
    pub(super) enabled: Option<bool>,
    pub(super) locations: Option<bool>,
    pub(super) capability: Option<String>,
    pub(super) service: Option<String>,
    pub(super) spec: Option<ServiceUrl>,
    pub(super) schema: Option<ServiceUrl>,
    pub(super) max_radius_km: Option<Number<1, 25_000>>,
    pub(super) restricted_regions: Vec<String>,
    pub(super) cache_mb: Option<Number<0, 1_048_576>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Geocoder {
    pub(super) places: Option<PathBuf>,
    pub(super) url: Option<ServiceUrl>,
    pub(super) timeout_ms: Option<Milliseconds>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Upstream {
    pub(super) backend: Option<BackendKind>,
    pub(super) url: Option<ServiceUrl>,
    pub(super) token_file: Option<PathBuf>,
    pub(super) token_env: Option<String>,
    pub(super) token_kind: Option<TokenKind>,
    pub(super) api_version: Option<ApiVersion>,
    pub(super) signature_file: Option<PathBuf>,
    pub(super) sign_as_bot: Option<bool>,
    pub(super) transport: Option<Transport>,
    pub(super) release: Option<ReleaseDate>,
    pub(super) max_lookup_ids: Option<Number<1, 250>>,
    pub(super) connect_timeout_ms: Option<Milliseconds>,
    pub(super) read_timeout_ms: Option<Milliseconds>,
    pub(super) write_timeout_ms: Option<Milliseconds>,
    pub(super) complete_timeout_ms: Option<Milliseconds>,
    pub(super) reads_in_flight: Option<Number<1, 100_000>>,
    pub(super) writes_in_flight: Option<Number<1, 100_000>>,
    pub(super) per_second: Option<Number<1, 1_000_000>>,
    pub(super) cache_mb: Option<Number<0, 1_048_576>>,
}

/// What a payment handler does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum HandlerKind {
    Sandbox,
    Processor,
}

/// A time in milliseconds, between noticeable and absurd.
pub(super) type Milliseconds = Number<10, 60_000>;

impl Milliseconds {
    /// The same as a time.
    pub(super) fn duration(self) -> Duration {
        Duration::from_millis(self.0.into())
    }
}

/// How many profiles of unknown platforms are fetched where nothing else is said.
pub(super) const FETCHES: Quota = Quota::new(10, 50).expect("both are positive");

/// So much per second, and so much at once.
#[derive(Debug, Deserialize)]
pub(super) struct Rate {
    per_second: Number<1, 1_000_000>,
    burst: Number<1, 1_000_000>,
}

impl From<Rate> for Quota {
    fn from(rate: Rate) -> Self {
        // Neither is zero: they were read as at least one.
        let [per_second, burst] =
            [rate.per_second, rate.burst].map(|number| NonZeroU32::new(number.0).unwrap_or(NonZeroU32::MIN));
        Self { per_second, burst }
    }
}

/// A rate, or the word `none`.
#[derive(Debug)]
pub(super) enum Limit {
    /// No limit at all.
    None,
    /// At most this.
    Of(Quota),
}

impl Limit {
    /// What is said, or else the default.
    pub(super) fn or(said: Option<&Self>, default: Option<Quota>) -> Option<Quota> {
        match said {
            Some(Self::Of(quota)) => Some(*quota),
            Some(Self::None) => None,
            None => default,
        }
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Limit;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("{ per_second = …, burst = … } or \"none\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Limit, E> {
                if text == "none" { Ok(Limit::None) } else { Err(E::invalid_value(de::Unexpected::Str(text), &self)) }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Limit, A::Error> {
                Rate::deserialize(MapAccessDeserializer::new(map)).map(|rate| Limit::Of(rate.into()))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

/// A whole number within limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number<const LEAST: u32, const MOST: u32>(pub(super) u32);

impl<'de, const LEAST: u32, const MOST: u32> Deserialize<'de> for Number<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Whole<const LEAST: u32, const MOST: u32>;

        impl<const LEAST: u32, const MOST: u32> Visitor<'_> for Whole<LEAST, MOST> {
            type Value = Number<LEAST, MOST>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from {LEAST} to {MOST}")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
                let within = u32::try_from(number).ok().filter(|number| (LEAST..=MOST).contains(number));
                within.map(Number).ok_or_else(|| E::invalid_value(de::Unexpected::Signed(number), &self))
            }
        }

        deserializer.deserialize_i64(Whole)
    }
}

/// A sample, as the command line takes it.
#[derive(Debug)]
pub(super) struct SampleName(pub(super) &'static Sample);

impl<'de> Deserialize<'de> for SampleName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        sample(&String::deserialize(deserializer)?).map(Self).map_err(D::Error::custom)
    }
}

/// A public address, as the command line takes it.
#[derive(Debug)]
pub(super) struct PublicUrl(pub(super) Url);

impl<'de> Deserialize<'de> for PublicUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        public_url(&String::deserialize(deserializer)?).map(Self).map_err(D::Error::custom)
    }
}

/// An address elsewhere. It may hold a key.
#[derive(Clone)]
pub(super) struct ServiceUrl(pub(super) Url);

impl fmt::Debug for ServiceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServiceUrl").field(&self.0.host_str()).finish()
    }
}

impl<'de> Deserialize<'de> for ServiceUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let url = Url::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)?;
        let web = matches!(url.scheme(), "http" | "https");
        if web { Ok(Self(url)) } else { Err(D::Error::custom("expected an https address")) }
    }
}

/// A version of the Storefront API: a year and a month.
#[derive(Clone, Debug)]
pub(super) struct ApiVersion(pub(super) String);

impl<'de> Deserialize<'de> for ApiVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let month = |(year, month): (&str, &str)| {
            let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            year.len() == 4 && month.len() == 2 && digits(year) && digits(month)
        };
        if text == "unstable" || text.split_once('-').is_some_and(month) {
            Ok(Self(text))
        } else {
            Err(D::Error::custom("expected a version such as 2026-04"))
        }
    }
}

/// A release of UCP, by its date.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReleaseDate(pub(super) Release);

impl<'de> Deserialize<'de> for ReleaseDate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Release::from_date(&text).map(Self).ok_or_else(|| {
            let known: Vec<_> = Release::ALL.iter().map(|release| release.date()).collect();
            D::Error::custom(format!("expected a release: {}", known.join(", ")))
        })
    }
}

/// The shop's own pages.
#[derive(Clone, Debug)]
pub(super) struct Storefront(pub(super) Url);

impl<'de> Deserialize<'de> for Storefront {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let url = Url::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)?;
        if url.scheme() == "https" { Ok(Self(url)) } else { Err(D::Error::custom("expected an https address")) }
    }
}

/// A network as `address/prefix`, or a single address.
#[derive(Debug)]
pub(super) struct Network(pub(super) IpNet);

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let single = |_| text.parse::<IpAddr>().map(IpNet::from);
        let network = text.parse::<IpNet>().or_else(single).map_err(|_| {
            D::Error::invalid_value(de::Unexpected::Str(&text), &"a network such as 10.0.0.0/8, or an address")
        })?;
        Ok(Self(network))
    }
}

/// The tables that the file may have, each with its keys. The table itself is `""`.
pub(super) fn tables() -> [(&'static str, &'static [&'static str]); 18] {
    let rate = keys::<Rate>();
    [
        ("", keys::<File>()),
        ("server", keys::<Server>()),
        ("data", keys::<Data>()),
        ("callers", keys::<Callers>()),
        ("profiles", keys::<Profiles>()),
        ("profiles.fetches", rate),
        ("platform", keys::<Platform>()),
        ("platform.limit", rate),
        ("limits", keys::<Limits>()),
        ("limits.anonymous", rate),
        ("limits.signed", rate),
        ("limits.keyed", rate),
        ("limits.unverified", rate),
        ("signatures", keys::<Signatures>()),
        ("payment", keys::<Payment>()),
        ("merchants", keys::<Merchants>()),
        ("geocoder", keys::<Geocoder>()),
        ("upstream", keys::<Upstream>()),
    ]
}

/// The names of a struct's fields, which its `Deserialize` tells whoever asks for them.
fn keys<T: for<'de> Deserialize<'de>>() -> &'static [&'static str] {
    struct Asking<'a>(&'a mut &'static [&'static str]);

    impl<'de> Deserializer<'de> for Asking<'_> {
        type Error = de::value::Error;

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, Self::Error> {
            *self.0 = fields;
            Err(Self::Error::custom("this only asks for the fields"))
        }

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
            Err(Self::Error::custom("this is no struct"))
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
            newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    let mut fields: &'static [&'static str] = &[];
    let _ = T::deserialize(Asking(&mut fields));
    fields
}
