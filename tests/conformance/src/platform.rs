//! The caller behind `UCP-Agent`.
//!
//! The suite's profile declares nothing but a webhook, and is sometimes no address. To the gateway each caller is a
//! platform whose profile the shim serves: it declares everything but mandates, which the suite sends without meaning
//! one.

use http::{HeaderMap, HeaderValue};
use reqwest::Client;
use serde_json::Value;
use sfv::{BareItem, Dictionary, ListEntry, Parser};
use url::{Url, form_urlencoded};

use crate::{refusal::Refusal, release::Release};

/// The path of the profiles that the gateway fetches.
pub(crate) const PROFILE: &str = "/platforms/profile";

/// The path that the gateway sends webhooks to.
pub(crate) const WEBHOOK: &str = "/platforms/orders";

/// A caller: the profile that it names, whatever that is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Caller(String);

impl Caller {
    /// The caller of a request; the empty one where `UCP-Agent` cannot be read.
    ///
    /// # Errors
    /// If it speaks another release than `release`.
    pub(crate) fn read(release: Release, headers: &HeaderMap) -> Result<Self, Refusal> {
        let agent = headers.get("ucp-agent").map_or(&[][..], HeaderValue::as_bytes);
        let members: Dictionary = Parser::new(agent).parse().unwrap_or_default();
        let Some(ListEntry::Item(item)) = members.get("profile") else { return Ok(Self(String::new())) };
        if let Some(BareItem::String(version)) = item.params.get("version")
            && version.as_str() != release.date()
        {
            let detail = format!("Only release {} is served here.", release.date());
            return Err(Refusal::new(release.refusal_of_others(), detail));
        }
        Ok(Self(item.bare_item.as_string().map(|profile| profile.as_str().to_owned()).unwrap_or_default()))
    }

    /// The caller that an address of the shim names.
    pub(crate) fn of_query(query: Option<&str>) -> Self {
        let mut pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        Self(pairs.find(|(name, _)| name == "caller").map(|(_, value)| value.into_owned()).unwrap_or_default())
    }

    fn query(&self) -> String {
        form_urlencoded::Serializer::new(String::new()).append_pair("caller", &self.0).finish()
    }
}

/// Identity of callers at the gateway.
pub(crate) struct Platforms {
    client: Client,
    release: Release,
    /// The address of the shim.
    url: String,
}

impl Platforms {
    pub(crate) fn new(client: Client, release: Release, url: String) -> Self {
        Self { client, release, url }
    }

    /// The `UCP-Agent` of a caller towards the gateway.
    pub(crate) fn agent(&self, caller: &Caller) -> HeaderValue {
        let agent = format!("profile=\"{}{PROFILE}?{}\"", self.url, caller.query());
        HeaderValue::try_from(agent).unwrap_or(HeaderValue::from_static(""))
    }

    /// The profile of a caller towards the gateway.
    pub(crate) fn profile(&self, caller: &Caller) -> Value {
        self.release.platform(&format!("{}{WEBHOOK}?{}", self.url, caller.query()))
    }

    /// Posts an event of an order to the webhook of a caller's own profile. It is tried once: the suite is not there for
    /// longer.
    pub(crate) async fn tell(&self, caller: &Caller, event: &'static str, order: &Value) {
        if Url::parse(&caller.0).is_ok()
            && let Err(error) = self.post(caller, event, order).await
        {
            eprintln!("{}: {error}", caller.0);
        }
    }

    async fn post(&self, caller: &Caller, event: &'static str, order: &Value) -> reqwest::Result<()> {
        let profile: Value = self.client.get(&caller.0).send().await?.json().await?;
        if let Some(webhook) = self.release.webhook_of(&profile) {
            let (headers, body) = self.release.tell(event, order);
            self.client.post(webhook).headers(headers).json(&body).send().await?.error_for_status()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    #[test]
    fn callers_may_name_their_release_and_a_profile_that_is_no_address() {
        let read = |agent: &'static str| {
            let name = http::HeaderName::from_static("ucp-agent");
            Caller::read(Release::V2026_01_11, &HeaderMap::from_iter([(name, HeaderValue::from_static(agent))]))
        };
        for (agent, caller) in [
            (r#"profile="http://localhost:8285/p?a=b&c""#, "http://localhost:8285/p?a=b&c"),
            (r#"profile="...""#, "..."),
            (r#"profile="..."; version="2026-01-11""#, "..."),
            ("nonsense", ""),
            ("profile=1", ""),
            (r#"other="...""#, ""),
        ] {
            let read = read(agent).expect(agent);
            assert_eq!(read.0, caller, "{agent}");
            assert_eq!(Caller::of_query(Some(&read.query())), read, "it survives the way through an address");
        }
        let refused = read(r#"profile="https://a.example/p"; version="2099-01-01""#).expect_err("not served");
        assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    }
}
