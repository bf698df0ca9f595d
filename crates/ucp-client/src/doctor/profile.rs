//! Rules of profiles, of businesses and of platforms.

use std::collections::HashSet;

use http::header;
use serde_json::{Value, json};
use ucp_core::Release;
use ucp_trust::jwk::PublicKey;
use url::{Host, Url};

use super::{report::Examination, rule::Rule};
use crate::http::{Exchange, Http};

/// Least time for which a profile may be kept, in seconds.
const LEAST_AGE: u64 = 60;

/// Fetches a profile; `None` if there is none that could be looked at further.
pub(super) async fn fetch(http: &Http, address: &Url, examination: &mut Examination) -> Option<(Exchange, Value)> {
    let at = address.as_str();
    let exchange = match http.get(address).await {
        Ok(exchange) => exchange,
        Err(error) => {
            examination.check(Rule::ProfileFound, false, at, || error.to_string());
            return None;
        }
    };
    let location = || exchange.header(&header::LOCATION).unwrap_or_else(|| "nowhere".to_owned());
    let seen = || format!("{} to {}", exchange.status.as_u16(), location());
    if !examination.check(Rule::ProfileRedirect, !exchange.status.is_redirection(), at, seen) {
        return None;
    }
    let document = exchange.json().filter(|document| document["ucp"].is_object());
    let found = exchange.status.is_success() && document.is_some();
    examination.check(Rule::ProfileFound, found, at, || exchange.shown());
    let kind = exchange.media_type();
    examination.check(Rule::ProfileMediaType, kind == "application/json", at, || {
        format!("Content-Type: {}", if kind.is_empty() { "(none)" } else { &kind })
    });
    let caching = exchange.header(&header::CACHE_CONTROL).unwrap_or_default();
    examination.check(Rule::ProfileCaching, may_be_kept(&caching), at, || {
        format!("Cache-Control: {}", if caching.is_empty() { "(none)" } else { &caching })
    });
    // A profile without `ucp` around it is wrong, and is read all the same.
    let document = document.or_else(|| {
        let flat = exchange.json().filter(|flat| flat["version"].is_string() && flat["services"].is_object())?;
        Some(json!({ "ucp": flat, "payment": flat["payment"], "signing_keys": flat["signing_keys"] }))
    });
    Some((exchange, document?))
}

/// Returns `true` if `Cache-Control` lets everyone keep the answer for long enough.
fn may_be_kept(caching: &str) -> bool {
    let directives: Vec<_> = caching.split(',').map(|directive| directive.trim().to_ascii_lowercase()).collect();
    let has = |name: &str| directives.iter().any(|directive| directive == name);
    let age = directives.iter().find_map(|directive| directive.strip_prefix("max-age=")?.parse::<u64>().ok());
    has("public")
        && age.is_some_and(|age| age >= LEAST_AGE)
        && !["private", "no-store", "no-cache"].into_iter().any(has)
}

/// Returns the release that the profile states, if it is a published one.
pub(super) fn release(document: &Value, at: &str, examination: &mut Examination) -> Option<Release> {
    let stated = &document["ucp"]["version"];
    let release = stated.as_str().and_then(Release::from_date);
    examination.check(Rule::ProfileRelease, release.is_some(), at, || format!("ucp.version: {stated}"));
    release
}

/// Looks at what a business and a platform declare alike: capabilities and keys.
pub(super) fn declarations(document: &Value, at: &str, examination: &mut Examination) {
    let capabilities = entries(&document["ucp"]["capabilities"]);
    let names: HashSet<&str> = capabilities.iter().map(|(name, _)| *name).collect();
    for (name, entry) in &capabilities {
        let version = entry["version"].as_str().unwrap_or_default();
        let dated = is_date(version) && name.split('.').count() > 2;
        examination
            .check(Rule::ProfileCapabilities, dated, at, || format!("`{name}` with the version {}", entry["version"]));
        let parents = match &entry["extends"] {
            Value::String(parent) => vec![parent.as_str()],
            Value::Array(parents) => parents.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        // An extension of several is fine with one of them.
        let declared = parents.is_empty() || parents.iter().any(|parent| names.contains(parent));
        examination.check(Rule::ProfileExtends, declared, at, || format!("`{name}` extends {}", parents.join(", ")));
        authority(name, entry, at, examination);
    }
    let mut kids: Vec<(&str, &Value)> = Vec::new();
    let keys = ["keys", "signing_keys"].into_iter().filter_map(|name| document[name].as_array()).flatten();
    for key in keys {
        let kid = key["kid"].as_str().unwrap_or_default();
        let private = ["d", "p", "q", "k"].iter().any(|name| key.get(name).is_some());
        let read = PublicKey::read(key, "the key", &mut Vec::new());
        // The same key may stand in both lists.
        let lacking = lacking(key);
        let unique = !kid.is_empty() && kids.iter().all(|(other, whole)| *other != kid || *whole == key);
        kids.push((kid, key));
        examination.check(Rule::ProfileKeys, unique && !private && lacking.is_empty() && read.is_ok(), at, || {
            let problem = match read {
                _ if private => "has a private member".to_owned(),
                _ if !lacking.is_empty() => format!("has no {}", lacking.join(", no ")),
                Err(problem) => problem,
                Ok(_) => "has no `kid` of its own".to_owned(),
            };
            format!("the key {kid:?} {problem}")
        });
    }
}

/// Returns the members that a key lacks of those that its type must have (RFC 7518 section 6, RFC 8037 section 2).
fn lacking(key: &Value) -> Vec<&'static str> {
    let members: &[&str] = match key["kty"].as_str() {
        Some("EC") => &["crv", "x", "y"],
        Some("OKP") => &["crv", "x"],
        Some("RSA") => &["n", "e"],
        Some(_) => &[],
        None => &["kty"],
    };
    members.iter().copied().filter(|name| key[*name].as_str().is_none_or(str::is_empty)).collect()
}

/// Looks at the domain of `spec` and `schema`.
pub(super) fn authority(name: &str, entry: &Value, at: &str, examination: &mut Examination) {
    for member in ["spec", "schema", "config_schema"] {
        let Some(stated) = entry[member].as_str().filter(|stated| !stated.is_empty()) else { continue };
        let own = Url::parse(stated).is_ok_and(|url| url.host_str().is_some_and(|host| belongs(name, host)));
        examination.check(Rule::ProfileAuthority, own, at, || format!("`{name}` has `{member}` at {stated}"));
    }
}

/// Returns `true` if a host is of the domain that a name in reverse-domain form belongs to.
fn belongs(name: &str, host: &str) -> bool {
    let domain: Vec<_> = name.split('.').take(2).collect();
    let host: Vec<_> = host.rsplit('.').take(2).collect();
    domain.len() == 2 && domain == host
}

/// Looks at what only a business declares: services and payment handlers.
pub(super) fn business(document: &Value, at: &str, examination: &mut Examination) {
    let ucp = &document["ucp"];
    for (name, service) in ucp["services"].as_object().into_iter().flatten() {
        for (transport, entry) in bindings(service) {
            let versioned = entry["version"].as_str().or(service["version"].as_str()).is_some_and(is_date);
            let known = ["rest", "mcp", "a2a", "embedded"].contains(&transport);
            // An embedded page is opened at the address that a checkout names.
            let endpoint = entry["endpoint"].as_str();
            let complete = versioned && known && (endpoint.is_some() || transport == "embedded");
            examination.check(Rule::ProfileServices, complete, at, || format!("`{name}` over {transport:?}: {entry}"));
            if let Some(endpoint) = endpoint {
                examination.check(Rule::ProfileEndpoints, is_safe(endpoint), at, || format!("`{name}` at {endpoint}"));
            }
            authority(name, entry, at, examination);
        }
    }
    let handlers = entries(&ucp["payment_handlers"]);
    let listed = document["payment"]["handlers"].as_array().map_or(0, Vec::len);
    for (name, entry) in &handlers {
        authority(name, entry, at, examination);
    }
    let sells = entries(&ucp["capabilities"]).iter().any(|(name, _)| *name == ucp_core::operation::CHECKOUT);
    examination.check(Rule::ProfilePayment, !sells || handlers.len() + listed > 0, at, || {
        "checkouts, and no payment handler".to_owned()
    });
}

/// Looks at the profiles of other releases.
pub(super) async fn versions(http: &Http, document: &Value, address: &Url, examination: &mut Examination) {
    let Some(supported) = document["ucp"]["supported_versions"].as_object() else {
        examination.skip(&[Rule::ProfileVersions], "the profile lists no other release");
        return;
    };
    for (date, stated) in supported {
        let Some(url) = stated.as_str().and_then(|stated| address.join(stated).ok()) else {
            examination.check(Rule::ProfileVersions, false, address.as_str(), || format!("{date}: {stated}"));
            continue;
        };
        let fetched = http.get(&url).await;
        let seen = match &fetched {
            Ok(exchange) => exchange.json().filter(|_| exchange.status.is_success()),
            Err(_) => None,
        };
        let same = seen.is_some_and(|profile| profile["ucp"]["version"] == **date);
        examination.check(Rule::ProfileVersions, same, url.as_str(), || match &fetched {
            Ok(exchange) => format!("for {date}: {}", exchange.shown()),
            Err(error) => format!("for {date}: {error}"),
        });
    }
}

/// Returns the entries of a registry: a map of names to lists or single entries, or (2026-01-11) a list with names.
pub(super) fn entries<'a>(registry: &'a Value) -> Vec<(&'a str, &'a Value)> {
    match registry {
        Value::Object(map) => {
            let of = |(name, entries): (&'a String, &'a Value)| match entries {
                Value::Array(list) => list.iter().map(|entry| (name.as_str(), entry)).collect::<Vec<_>>(),
                other => vec![(name.as_str(), other)],
            };
            map.iter().flat_map(of).collect()
        }
        Value::Array(list) => list.iter().filter_map(|entry| Some((entry["name"].as_str()?, entry))).collect(),
        _ => Vec::new(),
    }
}

/// Returns the transports of a service with their entries.
fn bindings(service: &Value) -> Vec<(&str, &Value)> {
    match service {
        Value::Array(list) => {
            list.iter().map(|entry| (entry["transport"].as_str().unwrap_or_default(), entry)).collect()
        }
        Value::Object(members) => {
            let kinds = ["rest", "mcp", "a2a", "embedded"].into_iter();
            kinds.filter_map(|kind| Some((kind, members.get(kind)?))).collect()
        }
        _ => vec![("", service)],
    }
}

/// Returns `true` for https, and for http on this machine.
pub(super) fn is_safe(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return false };
    let local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => return false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && local)
}

/// Returns `true` for a date as `YYYY-MM-DD`.
fn is_date(text: &str) -> bool {
    let form = text.bytes().enumerate().all(|(place, byte)| match place {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    text.len() == 10 && form
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_what_its_type_needs() {
        for (key, lacks) in [
            (json!({ "kty": "EC", "crv": "P-256", "x": "AA", "y": "AA" }), &[] as &[&str]),
            (json!({ "kty": "EC", "crv": "P-256" }), &["x", "y"]),
            (json!({ "kty": "EC", "x": "AA", "y": "" }), &["crv", "y"]),
            (json!({ "kty": "OKP", "crv": "Ed25519" }), &["x"]),
            (json!({ "kty": "RSA", "n": "AA" }), &["e"]),
            (json!({ "x": "AA", "y": "AA" }), &["kty"]),
            (json!({ "kty": "AKP", "pub": "AA" }), &[]),
        ] {
            assert_eq!(lacking(&key), lacks, "{key}");
        }
    }

    #[test]
    fn a_name_belongs_to_the_domain_that_it_begins_with() {
        assert!(belongs("dev.ucp.shopping.cart", "ucp.dev") && belongs("com.example.pay", "docs.example.com"));
        assert!(!belongs("com.example.pay", "example.org") && !belongs("pay", "example.com"));
    }

    #[test]
    fn a_profile_may_be_kept_by_everyone_for_a_minute() {
        assert!(may_be_kept("public, max-age=60") && may_be_kept("max-age=300,Public"));
        for caching in ["", "public", "max-age=300", "public, max-age=59", "public, max-age=60, no-cache"] {
            assert!(!may_be_kept(caching), "{caching}");
        }
    }
}
