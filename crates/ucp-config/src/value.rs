//! The forms that values of the configuration have: numbers within limits, rates, paths, addresses.

use std::{
    borrow::Cow,
    fmt,
    net::SocketAddr,
    num::NonZeroU32,
    ops::Deref,
    path::{Path, PathBuf},
    time::Duration,
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};
use ucp_handoff::Color;
use ucp_shop::sample::{self, SAMPLES, Sample};
use ucp_trust::limit::Quota;
use url::Url;

/// A whole number within limits, and the one that holds where nothing is said, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Number<const LEAST: u32, const MOST: u32, const USUAL: u32 = { u32::MAX }>(pub(super) u32);

/// A time, between noticeable and absurd.
pub(crate) type Milliseconds<const USUAL: u32> = Number<10, 60_000, USUAL>;

/// A size in memory.
pub(crate) type Megabytes<const USUAL: u32> = Number<0, 1_048_576, USUAL>;

impl<const LEAST: u32, const MOST: u32, const USUAL: u32> Number<LEAST, MOST, USUAL> {
    /// The number, of things.
    pub const fn count(self) -> usize {
        self.0 as usize
    }

    /// The number, where none is not possible.
    pub fn positive(self) -> NonZeroU32 {
        NonZeroU32::new(self.0).unwrap_or(NonZeroU32::MIN)
    }

    /// So many megabytes in bytes.
    pub fn bytes(self) -> u64 {
        u64::from(self.0) << 20
    }

    /// As many milliseconds as a time has, within the limits.
    pub(super) fn of_time(time: Duration) -> Self {
        Self(u32::try_from(time.as_millis()).unwrap_or(MOST).clamp(LEAST, MOST))
    }

    /// So many milliseconds.
    pub fn time(self) -> Duration {
        Duration::from_millis(self.0.into())
    }
}

impl<const LEAST: u32, const MOST: u32, const USUAL: u32> Default for Number<LEAST, MOST, USUAL> {
    fn default() -> Self {
        const { assert!(LEAST <= USUAL && USUAL <= MOST, "the default is within the limits") };
        Self(USUAL)
    }
}

impl<'de, const LEAST: u32, const MOST: u32, const USUAL: u32> Deserialize<'de> for Number<LEAST, MOST, USUAL> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Whole<const LEAST: u32, const MOST: u32>;

        impl<const LEAST: u32, const MOST: u32> Visitor<'_> for Whole<LEAST, MOST> {
            type Value = u32;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from {LEAST} to {MOST}")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<u32, E> {
                let within = u32::try_from(number).ok().filter(|number| (LEAST..=MOST).contains(number));
                within.ok_or_else(|| E::invalid_value(de::Unexpected::Signed(number), &self))
            }
        }

        deserializer.deserialize_i64(Whole::<LEAST, MOST>).map(Self)
    }
}

impl<const LEAST: u32, const MOST: u32, const USUAL: u32> JsonSchema for Number<LEAST, MOST, USUAL> {
    fn schema_name() -> Cow<'static, str> {
        format!("Number_{LEAST}_{MOST}_{USUAL}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = json_schema!({ "type": "integer", "minimum": LEAST, "maximum": MOST });
        if (LEAST..=MOST).contains(&USUAL) {
            schema.insert("examples".to_owned(), vec![USUAL].into());
        }
        schema
    }
}

/// So much per second in the long run, and so much at once after a pause.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "{ per_second = …, burst = … }")]
pub struct Rate {
    /// Rate per second, in the long run.
    per_second: Number<1, 1_000_000>,
    /// Burst after a pause.
    burst: Number<1, 1_000_000>,
}

impl Rate {
    pub(super) const fn of(per_second: u32, burst: u32) -> Self {
        Self { per_second: Number(per_second), burst: Number(burst) }
    }
}

/// As fast as profiles of unknown platforms are fetched.
impl Default for Rate {
    fn default() -> Self {
        Self::of(10, 50)
    }
}

impl From<Rate> for Quota {
    fn from(rate: Rate) -> Self {
        Self { per_second: rate.per_second.positive(), burst: rate.burst.positive() }
    }
}

/// A rate, or the word `none`; and the rate that holds outside development where nothing is said.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Limit<const PER_SECOND: u32 = 1, const BURST: u32 = 1> {
    /// At most this.
    At(Rate),
    /// No limit at all.
    No(Unlimited),
}

/// The absence of a limit.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Unlimited {
    /// No limit.
    None,
}

impl<const PER_SECOND: u32, const BURST: u32> Limit<PER_SECOND, BURST> {
    /// Returns the default. In development nothing is limited: the caller is the developer, and benchmarks and test
    /// suites send many requests.
    pub(super) fn usual(development: bool) -> Self {
        if development { Self::No(Unlimited::None) } else { Self::At(Rate::of(PER_SECOND, BURST)) }
    }

    /// The same as a quota.
    pub(crate) fn quota(self) -> Option<Quota> {
        match self {
            Self::At(rate) => Some(rate.into()),
            Self::No(Unlimited::None) => None,
        }
    }
}

impl<const PER_SECOND: u32, const BURST: u32> From<Option<Quota>> for Limit<PER_SECOND, BURST> {
    fn from(quota: Option<Quota>) -> Self {
        let rate = |quota: Quota| Rate::of(quota.per_second.get(), quota.burst.get());
        quota.map_or(Self::No(Unlimited::None), |quota| Self::At(rate(quota)))
    }
}

impl<'de, const PER_SECOND: u32, const BURST: u32> Deserialize<'de> for Limit<PER_SECOND, BURST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Option<Rate>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("{ per_second = …, burst = … } or \"none\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Option<Rate>, E> {
                if text == "none" { Ok(None) } else { Err(E::invalid_value(de::Unexpected::Str(text), &self)) }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Option<Rate>, A::Error> {
                Rate::deserialize(MapAccessDeserializer::new(map)).map(Some)
            }
        }

        let rate = deserializer.deserialize_any(Either)?;
        Ok(rate.map_or(Self::No(Unlimited::None), Self::At))
    }
}

impl<const PER_SECOND: u32, const BURST: u32> JsonSchema for Limit<PER_SECOND, BURST> {
    fn schema_name() -> Cow<'static, str> {
        format!("Limit_{PER_SECOND}_{BURST}").into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [generator.subschema_for::<Rate>(), generator.subschema_for::<Unlimited>()],
            "examples": [Rate::of(PER_SECOND, BURST)],
        })
    }
}

/// A path. In the file it is relative to the file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("x-path" = true))]
pub struct FilePath(pub(super) PathBuf);

impl Deref for FilePath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

/// The data directory where nothing is said. No other path has a default.
impl Default for FilePath {
    fn default() -> Self {
        Self("./data".into())
    }
}

/// A path need not be UTF-8, and is shown in any case.
impl Serialize for FilePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0.display())
    }
}

/// The address to listen on: on this machine, where nothing is said.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Listen(pub SocketAddr);

impl<'de> Deserialize<'de> for Listen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Address;

        impl Visitor<'_> for Address {
            type Value = SocketAddr;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a socket address such as \"127.0.0.1:8080\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<SocketAddr, E> {
                listen(text).map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Address).map(Self)
    }
}

/// Reads an address to listen on. A port alone is one of this machine, and so is `localhost`.
pub fn listen(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    if let Ok(port) = port.parse() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    text.parse().map_err(|_| {
        "invalid socket address: it must be an address with a port such as 127.0.0.1:8080 or 0.0.0.0:8080, or a port of \
         this machine such as 8080"
            .to_owned()
    })
}

impl Default for Listen {
    fn default() -> Self {
        Self(SocketAddr::from(([127, 0, 0, 1], 8080)))
    }
}

/// A sample, by its name; the first one where nothing is said.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(try_from = "String", into = "&'static str")]
pub struct SampleName(pub &'static Sample);

impl Default for SampleName {
    fn default() -> Self {
        Self(&SAMPLES[0])
    }
}

impl TryFrom<String> for SampleName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        sample(&name)
    }
}

impl From<SampleName> for &'static str {
    fn from(SampleName(sample): SampleName) -> Self {
        sample.name
    }
}

impl JsonSchema for SampleName {
    fn schema_name() -> Cow<'static, str> {
        "SampleName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = SAMPLES.iter().map(|sample| sample.name).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}

/// A sample, by its name.
pub(super) fn sample(name: &str) -> Result<SampleName, String> {
    sample::named(name).map(SampleName).ok_or_else(|| {
        let known: Vec<_> = SAMPLES.iter().map(|sample| format!("{} ({})", sample.name, sample.summary)).collect();
        format!("there are {}", known.join(" and "))
    })
}

/// An address on the web. It may hold a key.
#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("format" = "uri"))]
pub struct WebUrl(pub Url);

impl fmt::Debug for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WebUrl").field(&self.0.host_str()).finish()
    }
}

impl TryFrom<String> for WebUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let url = parsed(&text)?;
        let web = matches!(url.scheme(), "http" | "https");
        if web { Ok(Self(url)) } else { Err("expected an https address".to_owned()) }
    }
}

impl From<WebUrl> for String {
    fn from(WebUrl(url): WebUrl) -> Self {
        url.into()
    }
}

/// A color in sRGB.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = "^#[0-9A-Fa-f]{6}$"))]
pub struct HexColor {
    text: String,
    pub color: Color,
}

impl TryFrom<String> for HexColor {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let color = Color::parse(&text).ok_or("expected `#` and six hexadecimal digits, such as #0b57c2")?;
        Ok(Self { text, color })
    }
}

impl From<HexColor> for String {
    fn from(color: HexColor) -> Self {
        color.text
    }
}

fn parsed(text: &str) -> Result<Url, String> {
    Url::parse(text).map_err(|error| format!("{error}; expected something like https://shop.example.com"))
}

/// A public address: http or https, and nothing behind the path, so that paths can be appended to it.
pub fn public_url(text: &str) -> Result<Url, String> {
    let url = parsed(text)?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err("expected an https address (or http, for trying it out)".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() || url.password().is_some() {
        return Err("expected an address without user, query and fragment".to_owned());
    }
    if url.path() != "/" {
        return Err("expected an address without a path: the profile has to be at the root of the site".to_owned());
    }
    Ok(url)
}

/// The address of a database, or of a place that may be one. It can hold a password, and is never printed.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct DatabaseAddress(String);
ucp_core::opaque!(DatabaseAddress);

impl DatabaseAddress {
    /// The address with its password.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for DatabaseAddress {
    fn from(address: String) -> Self {
        Self(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_one_of_this_machine() {
        for text in ["8080", "localhost:8080", "127.0.0.1:8080"] {
            assert_eq!(listen(text).map(|address| address.to_string()).as_deref(), Ok("127.0.0.1:8080"), "{text}");
        }
        assert_eq!(listen("[::]:1").map(|address| address.to_string()).as_deref(), Ok("[::]:1"));
        for wrong in ["", "localhost", "80800", "shop.example:80", ":8080", "0.0.0.0"] {
            assert!(listen(wrong).expect_err(wrong).contains("127.0.0.1:8080"), "{wrong}");
        }
    }

    #[test]
    fn public_addresses_are_roots() {
        assert!(public_url("https://shop.example.com").is_ok());
        for wrong in
            ["shop.example.com", "ftp://shop.example.com", "https://shop.example.com/x", "https://u@shop.example.com"]
        {
            assert!(public_url(wrong).is_err(), "{wrong}");
        }
    }
}
