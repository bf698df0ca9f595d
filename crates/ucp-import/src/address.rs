//! Addresses that come from a merchant or from others who write into the merchant's shop.

use ucp_core::text::is_invisible;
use url::{Host, Url};

/// Maximum length of an address, in bytes.
const LONGEST_ADDRESS: usize = 2_000;

/// Returns an address that a client may open: https, or http on this machine. Any other address is dropped.
pub fn address(text: &str) -> Option<String> {
    if is_address(text) {
        return Some(text.to_owned());
    }
    parsed(text)
}

/// Returns `true` if a text, as most addresses, is a normalized https address as it is: parsing would not change it.
fn is_address(text: &str) -> bool {
    let parts = text.strip_prefix("https://").and_then(|rest| Some(rest.split_at(rest.find('/')?)));
    let Some((host, path)) = parts.filter(|_| text.len() <= LONGEST_ADDRESS) else { return false };
    let label = |label: &str| {
        let plain = label.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        plain && !label.is_empty() && !label.contains("--")
    };
    let name = host.rsplit_once('.').is_some_and(|(below, top)| {
        !top.is_empty() && top.bytes().all(|byte| byte.is_ascii_lowercase()) && below.split('.').all(label)
    });
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.' | b'?' | b'=' | b'&');
    name && path.bytes().all(plain) && !path.contains("/.")
}

fn parsed(text: &str) -> Option<String> {
    if text.len() > LONGEST_ADDRESS || text.chars().any(|letter| letter.is_control() || is_invisible(letter)) {
        return None;
    }
    let url = Url::parse(text.trim()).ok()?;
    let local = match url.host()? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    let open = url.scheme() == "https" || (url.scheme() == "http" && local);
    (open && url.username().is_empty() && url.password().is_none()).then(|| url.into())
}

/// Returns `true` if an address may stand in a merchant's own file: on the web, and nothing that a client would run. Unlike
/// an [address] from a shop elsewhere, it need not be encrypted.
pub fn is_web_address(address: &str) -> bool {
    let scheme = address.split_once("://").map(|(scheme, rest)| (scheme.to_ascii_lowercase(), rest));
    let on_the_web =
        matches!(&scheme, Some((scheme, rest)) if (scheme == "https" || scheme == "http") && !rest.is_empty());
    on_the_web && !address.chars().any(|letter| letter.is_whitespace() || letter.is_control() || is_invisible(letter))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_are_encrypted_or_on_this_machine() {
        for (text, expected) in [
            ("https://shop.example/p?a=b", Some("https://shop.example/p?a=b")),
            ("HTTPS://Shop.Example", Some("https://shop.example/")),
            ("http://127.0.0.1:9/x", Some("http://127.0.0.1:9/x")),
            ("http://localhost/x", Some("http://localhost/x")),
            ("http://shop.example/", None),
            ("javascript:alert(1)", None),
            ("java\nscript:alert(1)", None),
            ("data:text/html,x", None),
            ("file:///etc/passwd", None),
            ("//shop.example/", None),
            ("/relative", None),
            ("https://user@shop.example/", None),
            ("https://shop.example/\u{202e}", None),
            ("", None),
        ] {
            assert_eq!(address(text).as_deref(), expected, "{text}");
        }
        assert_eq!(address(&format!("https://shop.example/{}", "a".repeat(LONGEST_ADDRESS))), None);
        assert!(is_address("https://cdn.shop-files.example/s/files/1/0533/shoe_1.jpg?v=1700000000&width=80"));
    }

    #[test]
    fn addresses_are_on_the_web() {
        for (address, good) in [
            ("https://example.com/a", true),
            ("HTTP://example.com", true),
            ("javascript:alert(1)", false),
            ("javascript://example.com/%0aalert(1)", false),
            ("data:text/html,x", false),
            ("https://", false),
            ("https://example.com/a b", false),
            ("https://example.com/\u{202e}", false),
            ("/relative", false),
        ] {
            assert_eq!(is_web_address(address), good, "{address}");
        }
    }

    proptest! {
        #[test]
        fn valid_addresses_are_unchanged(
            host in "[a-z0-9.-]{0,6}(xn--)?[a-z0-9.-]{0,6}[.][a-z0-9]{0,3}",
            path in "(/|[.]|[.][.]|[?]|=|&|_|-|[a-zA-Z0-9]|%2e|%|:|@|#|\\\\|'|é){0,8}",
        ) {
            let text = format!("https://{host}/{path}");
            prop_assert_eq!(address(&text), parsed(&text));
        }

        #[test]
        fn any_address_that_stays_is_one(text in "(https?:|javascript:|//|/|@|a|\\PC|\\s){0,20}") {
            if let Some(address) = address(&text) {
                let url = Url::parse(&address).expect("an address");
                prop_assert!(matches!(url.scheme(), "https" | "http"), "{}", address);
                prop_assert!(address.is_ascii());
            }
        }
    }
}
