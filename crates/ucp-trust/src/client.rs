//! Network address of the client that a request comes from, for everything that is counted per address.
//!
//! Behind a proxy the connection comes from the proxy, and the client's address is in a header: `X-Forwarded-For`, or
//! `Forwarded` (RFC 7239). Anyone can write such headers, so only entries that trusted proxies added are believed: the
//! entries are read from right to left, each vouched for by the proxy to its right, for as long as these proxies are
//! trusted. A request that does not come from a trusted proxy keeps the address of its connection, regardless of its
//! headers.
//!
//! A proxy usually writes one of the two headers and passes the other one on as the client wrote it. If both are
//! present and lead to different addresses, neither is believed, and the address of the connection counts.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

use http::{HeaderMap, HeaderName, header::FORWARDED};
use ipnet::IpNet;

/// Header that most proxies write.
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Networks whose machines are trusted to state the client that they forward for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Trusts the machines of these networks and no others.
    #[must_use]
    pub fn new(networks: Vec<IpNet>) -> Self {
        Self(networks)
    }

    /// Returns the trusted networks.
    #[must_use]
    pub fn networks(&self) -> &[IpNet] {
        &self.0
    }

    /// Returns `true` if the machine with this address is trusted.
    #[must_use]
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

/// Network address of a client. An IPv4 address that is written as IPv6 is stored as IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientAddress(IpAddr);

impl ClientAddress {
    /// Creates the address from that of a connection, or of a client that is known by other means.
    #[must_use]
    pub fn new(address: IpAddr) -> Self {
        Self(address.to_canonical())
    }

    /// Returns the address of the client whose request came from `peer` with these headers.
    #[must_use]
    pub fn of(peer: IpAddr, headers: &HeaderMap, trusted: &TrustedProxies) -> Self {
        let peer = peer.to_canonical();
        if !trusted.trusts(peer) {
            return Self(peer);
        }
        let walked = |name, read: fn(&str) -> Vec<Option<IpAddr>>| {
            headers.contains_key(&name).then(|| {
                let lines = headers.get_all(&name).iter();
                let chain = lines.flat_map(|line| line.to_str().map_or_else(|_| vec![None], read)).collect::<Vec<_>>();
                walk(peer, &chain, trusted)
            })
        };
        match (walked(X_FORWARDED_FOR, forwarded_for), walked(FORWARDED, forwarded)) {
            (Some(one), Some(other)) if one != other => Self(peer),
            (found, other) => Self(found.or(other).unwrap_or(peer)),
        }
    }

    /// Returns the IP address.
    #[must_use]
    pub fn ip(self) -> IpAddr {
        self.0
    }

    /// Returns the address under which the client is counted: an IPv4 address itself, or the /64 network of an IPv6
    /// address, within which a client can choose any address.
    #[must_use]
    pub fn bucket(self) -> IpAddr {
        match self.0 {
            IpAddr::V4(_) => self.0,
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64))),
        }
    }
}

impl fmt::Display for ClientAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Follows `chain` from its right end: through trusted proxies to the first address that is not trusted, or to the
/// leftmost one. An unreadable entry ends the walk at the address to its right.
fn walk(peer: IpAddr, chain: &[Option<IpAddr>], trusted: &TrustedProxies) -> IpAddr {
    let mut reached = peer;
    for entry in chain.iter().rev() {
        let Some(address) = *entry else { break };
        reached = address;
        if !trusted.trusts(address) {
            break;
        }
    }
    reached
}

/// Returns the entries of one `X-Forwarded-For` line, `None` for each that is unreadable.
fn forwarded_for(line: &str) -> Vec<Option<IpAddr>> {
    line.split(',').map(|entry| node(entry.trim())).collect()
}

/// Returns the `for` address of each element of one `Forwarded` line. A line that is not well-formed counts as one
/// unreadable entry.
fn forwarded(line: &str) -> Vec<Option<IpAddr>> {
    elements(line).map_or_else(|| vec![None], |elements| elements.iter().map(|pairs| sender(pairs)).collect())
}

/// Returns the address in the only `for` of an element; `None` if it is unreadable or not the only one.
fn sender(pairs: &[(String, String)]) -> Option<IpAddr> {
    let mut stated = pairs.iter().filter(|(name, _)| name.eq_ignore_ascii_case("for"));
    match (stated.next(), stated.next()) {
        (Some((_, address)), None) => node(address),
        _ => None,
    }
}

/// Returns the elements of a `Forwarded` line, as names and values; `None` if the line is not well-formed.
fn elements(line: &str) -> Option<Vec<Vec<(String, String)>>> {
    let mut elements = vec![Vec::new()];
    let mut rest = line;
    loop {
        let (name, value) = rest.split_once('=')?;
        let name = name.trim();
        // A name that contained a comma would hide where the next element begins.
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_') {
            return None;
        }
        let (value, behind) = match value.strip_prefix('"') {
            Some(quoted) => quoted_string(quoted)?,
            None => {
                let end = value.find([',', ';']).unwrap_or(value.len());
                (value[..end].trim_end().to_owned(), &value[end..])
            }
        };
        elements.last_mut()?.push((name.to_owned(), value));
        let behind = behind.trim_start();
        rest = match behind.chars().next() {
            None => return Some(elements),
            Some(',') => {
                elements.push(Vec::new());
                &behind[1..]
            }
            Some(';') => &behind[1..],
            Some(_) => return None,
        };
    }
}

/// Reads a quoted string whose opening quote was already read. Returns its value and the text behind it, or `None` if
/// it is not closed.
fn quoted_string(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[index + 1..])),
            '\\' => value.push(characters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

/// Parses an address as the headers write it: with or without a port, IPv6 with or without brackets.
fn node(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).map(Ipv6Addr::from_str);
    let address = match bare {
        Some(address) => IpAddr::V6(address.ok()?),
        None => text.parse().or_else(|_| text.parse().map(|address: SocketAddr| address.ip())).ok()?,
    };
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn line(value: &str) -> HeaderValue {
        HeaderValue::from_str(value).expect("a header value")
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn client(peer: &str, lines: &[(HeaderName, &str)]) -> IpAddr {
        let trusted = ["10.0.0.0/8", "fd00::/8"].map(|network| network.parse().expect("a network"));
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, line(value));
        }
        ClientAddress::of(ip(peer), &headers, &TrustedProxies::new(trusted.to_vec())).ip()
    }

    #[test]
    fn without_a_trusted_proxy_headers_say_nothing() {
        for name in [X_FORWARDED_FOR, FORWARDED] {
            assert_eq!(client("198.51.100.1", &[(name, "for=203.0.113.9")]), ip("198.51.100.1"));
        }
        assert_eq!(client("198.51.100.1", &[(X_FORWARDED_FOR, "10.0.0.1")]), ip("198.51.100.1"));
    }

    #[test]
    fn the_rightmost_stranger_is_the_client() {
        let via = |chain| client("10.0.0.1", &[(X_FORWARDED_FOR, chain)]);
        assert_eq!(via("203.0.113.9"), ip("203.0.113.9"));
        assert_eq!(via("1.1.1.1, 203.0.113.9, 10.0.0.2,10.0.0.3"), ip("203.0.113.9"));
        assert_eq!(via("203.0.113.9:4711"), ip("203.0.113.9"));
        assert_eq!(via("2001:db8::1, fd00::2"), ip("2001:db8::1"));
        assert_eq!(via("[2001:db8::1]:443, [fd00::2]"), ip("2001:db8::1"));
        assert_eq!(via("::ffff:203.0.113.9"), ip("203.0.113.9"));
        assert_eq!(client("10.0.0.1", &[]), ip("10.0.0.1"));
        assert_eq!(client("::ffff:10.0.0.1", &[(X_FORWARDED_FOR, "203.0.113.9")]), ip("203.0.113.9"));
    }

    #[test]
    fn several_lines_are_one_chain() {
        let lines = [(X_FORWARDED_FOR, "1.1.1.1"), (X_FORWARDED_FOR, "203.0.113.9, 10.0.0.2")];
        assert_eq!(client("10.0.0.1", &lines), ip("203.0.113.9"));
    }

    #[test]
    fn only_proxies_on_the_way_lead_to_the_farthest_of_them() {
        assert_eq!(client("10.0.0.1", &[(X_FORWARDED_FOR, "10.0.0.9, 10.0.0.2")]), ip("10.0.0.9"));
    }

    #[test]
    fn an_unreadable_entry_ends_the_way() {
        for chain in ["203.0.113.9, unknown, 10.0.0.2", "203.0.113.9, , 10.0.0.2", "203.0.113.9, 010.1.1.1, 10.0.0.2"] {
            assert_eq!(client("10.0.0.1", &[(X_FORWARDED_FOR, chain)]), ip("10.0.0.2"), "{chain}");
        }
        for chain in ["", "unknown", "fe80::1%eth0", "203.0.113.9;", "\"203.0.113.9\""] {
            assert_eq!(client("10.0.0.1", &[(X_FORWARDED_FOR, chain)]), ip("10.0.0.1"), "{chain}");
        }
    }

    #[test]
    fn forwarded_says_the_same() {
        let via = |chain| client("10.0.0.1", &[(FORWARDED, chain)]);
        assert_eq!(via("for=203.0.113.9"), ip("203.0.113.9"));
        assert_eq!(via("For=\"[2001:db8::1]:4711\";proto=https;by=10.0.0.1"), ip("2001:db8::1"));
        assert_eq!(via("for=1.1.1.1, for=203.0.113.9;host=\"a,b;c\\\"d\" , for=10.0.0.2"), ip("203.0.113.9"));
        assert_eq!(via("for=203.0.113.9, for=_hidden, for=10.0.0.2"), ip("10.0.0.2"));
        // A quote that the client left open would swallow the entry that the proxy appended.
        assert_eq!(via("for=\"1.1.1.1, for=203.0.113.9"), ip("10.0.0.1"));
        assert_eq!(via("proto=https"), ip("10.0.0.1"));
        assert_eq!(via("for=1.1.1.1;for=203.0.113.9"), ip("10.0.0.1"));
        assert_eq!(via("for=\"203.0.113.9\" nonsense"), ip("10.0.0.1"));
        assert_eq!(via("for=1.1.1.1;b, for=203.0.113.9"), ip("10.0.0.1"));
    }

    #[test]
    fn headers_that_disagree_are_not_believed() {
        let both = |one, other| client("10.0.0.1", &[(X_FORWARDED_FOR, one), (FORWARDED, other)]);
        assert_eq!(both("203.0.113.9", "for=203.0.113.9"), ip("203.0.113.9"));
        assert_eq!(both("203.0.113.9", "for=1.1.1.1"), ip("10.0.0.1"));
        assert_eq!(both("203.0.113.9", "nonsense"), ip("10.0.0.1"));
    }

    #[test]
    fn one_client_is_an_address_or_a_network() {
        let bucket = |text| ClientAddress::new(ip(text)).bucket();
        assert_eq!(bucket("203.0.113.9"), ip("203.0.113.9"));
        assert_eq!(bucket("::ffff:203.0.113.9"), ip("203.0.113.9"));
        assert_eq!(bucket("2001:db8:1:2:3:4:5:6"), ip("2001:db8:1:2::"));
    }

    proptest! {
        #[test]
        fn an_untrusted_peer_cannot_change_its_address(
            peer: IpAddr,
            lines in prop::collection::vec(("(x-forwarded-for|forwarded|x-real-ip)", any::<Vec<u8>>()), 0..4),
            proxies in prop::collection::vec(any::<IpAddr>(), 0..4),
        ) {
            let trusted = proxies.into_iter().filter(|proxy| proxy.to_canonical() != peer.to_canonical());
            let trusted = TrustedProxies::new(trusted.map(IpNet::from).collect());
            let mut headers = HeaderMap::new();
            for (name, value) in lines {
                if let (Ok(name), Ok(value)) = (HeaderName::from_str(&name), HeaderValue::from_bytes(&value)) {
                    headers.append(name, value);
                }
            }
            prop_assert_eq!(ClientAddress::of(peer, &headers, &trusted), ClientAddress::new(peer));
        }

        #[test]
        fn nothing_left_of_what_the_proxy_wrote_matters(
            forged in "[ -~]{0,60}",
            client: IpAddr,
            rfc7239: bool,
        ) {
            let trusted = TrustedProxies::new(vec![IpNet::from(ip("10.0.0.1"))]);
            prop_assume!(client.to_canonical() != ip("10.0.0.1"));
            let mut headers = HeaderMap::new();
            // A proxy appends a line of its own, or continues the last one.
            if rfc7239 {
                headers.append(FORWARDED, line(&forged));
                headers.append(FORWARDED, line(&format!("for=\"{}\"", SocketAddr::new(client, 1))));
            } else {
                headers.append(X_FORWARDED_FOR, line(&format!("{forged}, {client}")));
            }
            let found = ClientAddress::of(ip("10.0.0.1"), &headers, &trusted);
            prop_assert_eq!(found, ClientAddress::new(client));
        }

        #[test]
        fn a_way_that_ends_early_ends_at_a_trusted_proxy(
            forged in "(for=|1\\.1\\.1\\.1|,|;|=|\"|\\\\| |b|for=1\\.1\\.1\\.1;){0,8}",
            client in "(203\\.0\\.113\\.9|\"203\\.0\\.113\\.9:1\")",
        ) {
            let trusted = TrustedProxies::new(vec![IpNet::from(ip("10.0.0.1"))]);
            // A proxy that continues the line of the client.
            let headers = HeaderMap::from_iter([(FORWARDED, line(&format!("{forged}, for={client}")))]);
            let found = ClientAddress::of(ip("10.0.0.1"), &headers, &trusted).ip();
            prop_assert!(found == ip("203.0.113.9") || found == ip("10.0.0.1"), "{}", found);
        }
    }
}
