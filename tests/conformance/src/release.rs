//! Releases that the suite was written for, and what differs between its states for them.

use std::str::FromStr;

use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Map, Value, json};

const SHOPPING: &str = "dev.ucp.shopping";

const ORDER: &str = "dev.ucp.shopping.order";

/// A release of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    /// 2026-01-11.
    V2026_01_11,
    /// 2026-01-23.
    V2026_01_23,
    /// 2026-04-08.
    V2026_04_08,
}

impl Release {
    /// All releases, the oldest first.
    pub const ALL: [Self; 3] = [Self::V2026_01_11, Self::V2026_01_23, Self::V2026_04_08];

    /// The date of the release.
    #[must_use]
    pub fn date(self) -> &'static str {
        match self {
            Self::V2026_01_11 => "2026-01-11",
            Self::V2026_01_23 => "2026-01-23",
            Self::V2026_04_08 => "2026-04-08",
        }
    }

    /// Returns the gateway's profile with the shim at `url` as the only endpoint of its shop. Of 2026-01-23, members of
    /// `ucp` are at the root too, where the suite of that release looks for them.
    pub(crate) fn present(self, mut profile: Value, url: &str) -> Value {
        let service = &mut profile["ucp"]["services"][SHOPPING];
        if self == Self::V2026_01_11 {
            service["rest"]["endpoint"] = url.into();
            return profile;
        }
        if let Some(bindings) = service.as_array_mut() {
            bindings.retain(|binding| binding["transport"] == "rest");
            bindings.iter_mut().for_each(|binding| binding["endpoint"] = url.into());
        }
        if self == Self::V2026_01_23
            && let Value::Object(members) = profile["ucp"].clone()
            && let Some(root) = profile.as_object_mut()
        {
            root.extend(members);
        }
        profile
    }

    /// Returns the profile of a platform that declares everything but mandates, and hears of orders at `webhook`.
    pub(crate) fn platform(self, webhook: &str) -> Value {
        let mut declared: Vec<_> = ["checkout", "fulfillment", "discount", "buyer_consent", "order"]
            .map(|name| (format!("{SHOPPING}.{name}"), json!({ "version": self.date() })))
            .into();
        for (_, order) in declared.iter_mut().filter(|(name, _)| name == ORDER) {
            order["config"] = json!({ "webhook_url": webhook });
        }
        let capabilities: Value = if self == Self::V2026_01_11 {
            declared
                .into_iter()
                .map(|(name, mut entry)| {
                    entry["name"] = name.into();
                    entry
                })
                .collect()
        } else {
            declared.into_iter().map(|(name, entry)| (name, json!([entry]))).collect::<Map<_, _>>().into()
        };
        json!({ "ucp": { "version": self.date(), "capabilities": capabilities } })
    }

    /// Returns where the platform of a profile hears of orders.
    pub(crate) fn webhook_of(self, profile: &Value) -> Option<&str> {
        let capabilities = &profile["ucp"]["capabilities"];
        let mut orders = match self {
            Self::V2026_01_11 => capabilities.as_array()?.iter(),
            _ => capabilities[ORDER].as_array()?.iter(),
        };
        let of_order = |entry: &&Value| self > Self::V2026_01_11 || entry["name"] == ORDER;
        orders.find(of_order)?["config"]["webhook_url"].as_str()
    }

    /// Returns the headers and the body that tell of an event of an order.
    pub(crate) fn tell(self, event: &'static str, order: &Value) -> (HeaderMap, Value) {
        if self < Self::V2026_04_08 {
            let body = json!({ "event_type": event, "checkout_id": order["checkout_id"], "order": order });
            return (HeaderMap::new(), body);
        }
        let name = http::HeaderName::from_static("x-event-type");
        (HeaderMap::from_iter([(name, HeaderValue::from_static(event))]), order.clone())
    }

    /// Returns `true` if the suite accepts goods that are missing from a checkout as a message, as the protocol says.
    pub(crate) fn accepts_outcomes(self) -> bool {
        self == Self::V2026_04_08
    }

    /// Returns what the suite wants of the destinations of a method that has none; `None` if it wants no such member.
    pub(crate) fn no_destinations(self) -> Option<Value> {
        match self {
            Self::V2026_01_11 => None,
            Self::V2026_01_23 => Some(Value::Null),
            Self::V2026_04_08 => Some(json!([])),
        }
    }

    /// Returns the status with which the suite wants other releases refused.
    pub(crate) fn refusal_of_others(self) -> StatusCode {
        if self == Self::V2026_04_08 { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::BAD_REQUEST }
    }

    /// Returns the members of a checkout that the suite expects an update to keep if it does not name them.
    pub(crate) fn kept(self) -> &'static [&'static str] {
        if self == Self::V2026_04_08 { &["buyer", "fulfillment"] } else { &["buyer"] }
    }

    /// Returns `true` if the gateway serves orders.
    pub(crate) fn has_orders(self) -> bool {
        self == Self::V2026_04_08
    }
}

impl FromStr for Release {
    type Err = String;

    fn from_str(date: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|release| release.date() == date).ok_or_else(|| {
            let dates = Self::ALL.map(Self::date).join(", ");
            format!("`{date}` must be one of {dates}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_declare_everything_and_are_told_in_the_form_of_their_release() {
        for release in Release::ALL {
            let profile = release.platform("http://localhost/hook");
            assert_eq!(release.webhook_of(&profile), Some("http://localhost/hook"), "{profile}");
            assert_eq!(profile.to_string().matches(release.date()).count(), 6, "{profile}");
            assert_eq!(release.webhook_of(&json!({ "ucp": { "capabilities": {} } })), None);
            let (headers, body) = release.tell("order_placed", &json!({ "id": "o", "checkout_id": "c" }));
            assert_eq!(body["checkout_id"], "c");
            let told = match headers.get("x-event-type") {
                Some(event) => (event.to_str().expect("text"), &body["id"]),
                None => (body["event_type"].as_str().expect("a text"), &body["order"]["id"]),
            };
            assert_eq!(told, ("order_placed", &json!("o")));
        }
        assert!("2026-08-25".parse::<Release>().is_err());
    }

    #[test]
    fn only_the_shim_is_presented_as_endpoint() {
        let entry = |transport: &str| json!({ "transport": transport, "endpoint": "http://gateway/" });
        let profile = json!({ "ucp": { "version": "V", "services": { SHOPPING: [entry("mcp"), entry("rest")] } } });
        for (release, flat) in [(Release::V2026_01_23, json!("V")), (Release::V2026_04_08, json!(null))] {
            let presented = release.present(profile.clone(), "http://shim");
            let services = &presented["ucp"]["services"][SHOPPING];
            assert_eq!(services, &json!([{ "transport": "rest", "endpoint": "http://shim" }]));
            assert_eq!(presented["version"], flat);
        }
    }
}
