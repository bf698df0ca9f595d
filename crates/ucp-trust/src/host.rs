//! Names of hosts, as requests state them and as they are compared.

use std::net::Ipv6Addr;

use url::Url;

/// `host[:port]` of a request: the name or address of one host, and a port that a server can have.
#[derive(Clone, Copy, Debug)]
pub struct Authority<'a> {
    host: &'a str,
    port: Option<u16>,
}

impl<'a> Authority<'a> {
    /// Reads an authority. Fails with a sentence that says what is wrong with it.
    pub fn read(text: &'a str) -> Result<Self, &'static str> {
        if text.contains('@') {
            return Err("The host that the request names has user information.");
        }
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, port)) => {
                let host = &text[..address.len() + 2];
                if address.parse::<Ipv6Addr>().is_err() {
                    return Err("The host that the request names is no address of IPv6.");
                }
                (host, if port.is_empty() { None } else { Some(port.strip_prefix(':').unwrap_or_default()) })
            }
            None => {
                let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
                let of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
                if without_dot(host).is_empty() || !host.bytes().all(of_name) {
                    return Err("The host that the request names is not the name or address of one host.");
                }
                (host, port)
            }
        };
        // `u16` takes a sign before the digits.
        let port = port.map(|port| port.parse().ok().filter(|number| *number != 0 && !port.starts_with('+')));
        match port {
            Some(None) => Err("The port that the request names is none that a server can have."),
            port => Ok(Self { host, port: port.flatten() }),
        }
    }

    /// Returns the host, an address of IPv6 in brackets, without the dot at the end of a name.
    pub fn host(&self) -> &'a str {
        without_dot(self.host)
    }

    /// Returns `true` if both name one server; where a port is not stated, it is `default`.
    pub fn is_same(&self, other: &Authority<'_>, default: u16) -> bool {
        self.host().eq_ignore_ascii_case(other.host()) && self.port.unwrap_or(default) == other.port.unwrap_or(default)
    }
}

/// Returns a host without the dot that ends a name which is not to be completed.
pub fn without_dot(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

/// Returns a URL without the dot that ends the name of its host.
pub fn undotted(mut url: Url) -> Url {
    if let Some(name) = url.domain().and_then(|name| name.strip_suffix('.')).map(str::to_owned) {
        // Fails for no name but an empty one, which then stays as it is.
        let _ = url.set_host(Some(&name));
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_is_one_host_and_a_port_that_a_server_can_have() {
        for (text, host) in [
            ("shop.example", "shop.example"),
            ("Shop.Example.", "Shop.Example"),
            ("shop.example.:443", "shop.example"),
            ("ucp_gateway:65535", "ucp_gateway"),
            ("127.0.0.1:1", "127.0.0.1"),
            ("[::1]", "[::1]"),
            ("[2001:db8::1]:08080", "[2001:db8::1]"),
        ] {
            assert_eq!(Authority::read(text).map(|read| read.host()), Ok(host), "{text}");
        }
        for text in [
            "",
            ".",
            ":80",
            "user@shop.example",
            "@shop.example",
            "user:password@shop.example",
            "shop.example@",
            "shop.example:",
            "shop.example:0",
            "shop.example:65536",
            "shop.example:abc",
            "shop.example:-1",
            "shop.example:+80",
            "shop.example:80:80",
            "shop.example:80 ",
            "a, b",
            "a,b",
            "a b",
            "a/b",
            "a\\b",
            "a%2eb",
            "a;b",
            "::1",
            "[",
            "]",
            "[::1",
            "a]",
            "a]:80",
            "[::1]80",
            "[::1]:",
            "[::1]:0",
            "[shop.example]",
            "[]",
            "shop.example\u{0}",
            "ä.example",
        ] {
            assert!(Authority::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn one_server_has_several_spellings() {
        let same = |one, other| Authority::read(one).expect(one).is_same(&Authority::read(other).expect(other), 80);
        assert!(same("shop.example", "SHOP.example.:80") && same("[::1]:8080", "[::1]:8080"));
        assert!(!same("shop.example", "shop.example:443") && !same("shop.example", "www.shop.example"));
    }
}
