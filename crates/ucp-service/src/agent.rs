//! Who is calling (UCP overview, *Platform Advertisement*; rules AGT-01, AGT-02).
//!
//! A platform names itself by the address of its profile. The address is checked for form here, and for contradiction
//! between the places of one request that state it. The profile is not fetched: until it is, a platform is known by the
//! address alone and is served with this gateway's own release and capabilities.

use sfv::{BareItem, Dictionary, ListEntry, Parser};
use ucp_core::{Code, Refusal};
use url::{Host, Url};

/// The longest profile address that is read.
const MAX_LENGTH: usize = 2_048;

/// A statement of a request about who sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Where the request says so, for people.
    pub place: &'static str,
    /// The profile address as stated.
    pub profile: String,
}

/// The platform that calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Platform {
    /// The address of its profile.
    pub profile: Url,
}

impl Platform {
    /// The platform that all `claims` of a request agree on.
    ///
    /// # Errors
    /// [`Code::InvalidProfileUrl`] when there is no claim, claims differ, or the address is not one UCP allows.
    pub fn identify(claims: &[Claim]) -> Result<Self, Refusal> {
        let Some((first, others)) = claims.split_first() else {
            return Err(refused("The request does not say which platform is calling."));
        };
        if let Some(other) = others.iter().find(|other| other.profile != first.profile) {
            return Err(refused(&format!("{} and {} name different platforms.", first.place, other.place)));
        }
        let profile = profile_url(&first.profile)
            .map_err(|broken| refused(&format!("The profile address in {} {broken}.", first.place)))?;
        Ok(Self { profile })
    }
}

/// A profile address, checked for form: absolute, https, a host, no user information.
fn profile_url(text: &str) -> Result<Url, &'static str> {
    if text.len() > MAX_LENGTH {
        return Err("is longer than 2048 characters");
    }
    if text.trim() != text || text.chars().any(char::is_control) {
        return Err("has white space or control characters around or inside it");
    }
    let url = Url::parse(text).map_err(|_| "is not an absolute URL")?;
    if url.scheme() != "https" {
        return Err("is not an https address");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("carries user information");
    }
    match url.host() {
        Some(Host::Domain(name)) if !name.is_empty() => Ok(url),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => Ok(url),
        _ => Err("has no host"),
    }
}

/// The claim of a `UCP-Agent` header: an RFC 8941 dictionary with a string `profile`; other members mean nothing.
///
/// # Errors
/// [`Code::InvalidProfileUrl`] when the header is no such dictionary.
pub fn claim_of_header(value: &[u8]) -> Result<Claim, Refusal> {
    let refused = || refused("The `UCP-Agent` header is no dictionary with a quoted `profile`.");
    let members: Dictionary = Parser::new(value).parse().map_err(|_| refused())?;
    match members.get("profile") {
        Some(ListEntry::Item(item)) => match &item.bare_item {
            BareItem::String(profile) => {
                Ok(Claim { place: "the `UCP-Agent` header", profile: profile.as_str().to_owned() })
            }
            _ => Err(refused()),
        },
        _ => Err(refused()),
    }
}

fn refused(content: &str) -> Refusal {
    Refusal::new(Code::InvalidProfileUrl, content).accepting(
        "the https address of the platform's UCP profile: on REST `UCP-Agent: profile=\"https://…\"`, on MCP \
         `meta[\"ucp-agent\"].profile`",
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn identify(profiles: &[&str]) -> Result<String, String> {
        let claims: Vec<_> =
            profiles.iter().map(|profile| Claim { place: "the test", profile: (*profile).to_owned() }).collect();
        Platform::identify(&claims).map(|platform| platform.profile.to_string()).map_err(|refusal| {
            assert_eq!(refusal.code, Code::InvalidProfileUrl);
            refusal.content
        })
    }

    #[test]
    fn addresses_are_checked_for_form() {
        assert_eq!(identify(&["https://agent.example/p.json"]), Ok("https://agent.example/p.json".into()));
        for (wrong, why) in [
            ("http://agent.example/p.json", "https"),
            ("agent.example", "absolute"),
            ("https://", "absolute"),
            ("https://user:secret@agent.example/", "user information"),
            (" https://agent.example/", "white space"),
            ("ftp://agent.example/", "https"),
            ("", "absolute"),
        ] {
            let content = identify(&[wrong]).expect_err(wrong);
            assert!(content.contains(why), "{wrong}: {content}");
            assert!(!content.contains("secret"));
        }
        assert!(identify(&[&format!("https://agent.example/{}", "a".repeat(3_000))]).is_err());
    }

    #[test]
    fn claims_must_agree_and_exist() {
        assert!(identify(&[]).is_err());
        assert!(identify(&["https://a.example/", "https://a.example/"]).is_ok());
        assert!(identify(&["https://a.example/", "https://b.example/"]).expect_err("differ").contains("different"));
    }

    #[test]
    fn the_header_is_a_dictionary() {
        let read = |value: &str| claim_of_header(value.as_bytes()).map(|claim| claim.profile);
        assert_eq!(read(r#"profile="https://a.example/p""#).as_deref(), Ok("https://a.example/p"));
        assert_eq!(
            read(r#"x=1, profile="https://a.example/p"; version="2026-04-08""#).as_deref(),
            Ok("https://a.example/p")
        );
        for wrong in
            ["", "https://a.example/p", "profile=https", "profile=(\"a\")", "profile", "profile=\"a", "other=\"a\""]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_header_and_any_address_get_a_verdict(header: Vec<u8>, address: String) {
            let _ = claim_of_header(&header);
            let _ = identify(&[&address]);
        }
    }
}
