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
//!
//! The host that the client named is read in the same way, from `X-Forwarded-Host` or `Forwarded` ([`forwarded_host`]).

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

use http::{HeaderMap, HeaderName, HeaderValue, header::FORWARDED};
use ipnet::IpNet;

use crate::host::Authority;

/// Header that most proxies write.
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Header in which most proxies state the host that their client named.
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// Networks whose machines are trusted to state the client that they forward for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Trusts the machines of these networks and no others.
    pub fn new(networks: Vec<IpNet>) -> Self {
        Self(networks)
    }

    /// Returns the trusted networks.
    pub fn networks(&self) -> &[IpNet] {
        &self.0
    }

    /// Returns `true` if the machine with this address is trusted.
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

/// Network address of a client. An IPv4 address that is written as IPv6 is stored as IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientAddress(IpAddr);

impl ClientAddress {
    /// Creates the address from that of a connection, or of a client that is known by other means.
    pub fn new(address: IpAddr) -> Self {
        Self(address.to_canonical())
    }

    /// Returns the address of the client whose request came from `peer` with these headers.
    pub fn of(peer: IpAddr, headers: &HeaderMap, trusted: &TrustedProxies) -> Self {
        let peer = peer.to_canonical();
        if !trusted.trusts(peer) {
            return Self(peer);
        }
        let walked = |name, read: fn(&str) -> Vec<Option<IpAddr>>| {
            headers.contains_key(&name).then(|| walk(peer, &entries(headers, &name, read), trusted))
        };
        match (walked(X_FORWARDED_FOR, forwarded_for), walked(FORWARDED, forwarded)) {
            (Some(one), Some(other)) if one != other => Self(peer),
            (found, other) => Self(found.or(other).unwrap_or(peer)),
        }
    }

    /// Returns the IP address.
    pub fn ip(self) -> IpAddr {
        self.0
    }

    /// Returns the address under which the client is counted: an IPv4 address itself, or the /64 network of an IPv6
    /// address, within which a client can choose any address.
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

/// Returns the host (`host[:port]`) that the client of a request from `peer` named, as trusted proxies state it; `None` if
/// none states one, or two headers state different ones.
///
/// In a chain of proxies, the one that is farthest from the gateway heard the client. Each adds an entry, or keeps the one
/// that is there: what is left of the entries of trusted proxies was written by the client.
pub fn forwarded_host(peer: IpAddr, headers: &HeaderMap, trusted: &TrustedProxies) -> Option<HeaderValue> {
    let peer = peer.to_canonical();
    if !trusted.trusts(peer) {
        return None;
    }
    let plain = headers.contains_key(&X_FORWARDED_HOST).then(|| {
        let hosts =
            entries(headers, &X_FORWARDED_HOST, |line| line.split(',').map(|host| authority(host.trim())).collect());
        let clients = entries(headers, &X_FORWARDED_FOR, forwarded_for);
        let proxies = 1 + clients.iter().rev().take_while(|client| client.is_some_and(|ip| trusted.trusts(ip))).count();
        hosts.get(hosts.len().saturating_sub(proxies)).cloned().flatten()
    });
    let standard = headers.contains_key(FORWARDED).then(|| farthest_host(headers, trusted)).flatten();
    match (plain, standard) {
        (Some(one), Some(other)) if one.as_ref() != Some(&other) => None,
        (one, other) => one.flatten().or(other),
    }
}

/// Returns the `host` in the farthest element of `Forwarded` that a trusted proxy has added and that has one.
fn farthest_host(headers: &HeaderMap, trusted: &TrustedProxies) -> Option<HeaderValue> {
    let lines = headers.get_all(FORWARDED).iter().map(|line| line.to_str().ok().and_then(elements));
    let mut found = None;
    for line in lines.rev() {
        for pairs in line?.iter().rev() {
            if let Some((_, host)) = pairs.iter().find(|(name, _)| name.eq_ignore_ascii_case("host")) {
                found = Some(authority(host)?);
            }
            if !sender(pairs).is_some_and(|client| trusted.trusts(client)) {
                return found;
            }
        }
    }
    found
}

/// Returns the entries of all lines of a header; an unreadable line is one unreadable entry.
fn entries<T>(headers: &HeaderMap, name: &HeaderName, read: impl Fn(&str) -> Vec<Option<T>>) -> Vec<Option<T>> {
    let lines = headers.get_all(name).iter();
    lines.flat_map(|line| line.to_str().map_or_else(|_| vec![None], &read)).collect()
}

/// Reads `host[:port]`.
fn authority(text: &str) -> Option<HeaderValue> {
    Authority::read(text).ok()?;
    HeaderValue::from_str(text).ok()
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

    fn host(peer: &str, lines: &[(HeaderName, &str)]) -> Option<String> {
        let trusted = TrustedProxies::new(vec!["10.0.0.0/8".parse().expect("a network")]);
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, line(value));
        }
        forwarded_host(ip(peer), &headers, &trusted).map(|host| host.to_str().expect("text").to_owned())
    }

    #[test]
    fn the_host_of_the_client_is_what_the_farthest_trusted_proxy_says() {
        const SHOP: Option<&str> = Some("shop.example.com");
        for (lines, expected) in [
            (&[(X_FORWARDED_HOST, "shop.example.com")][..], SHOP),
            (&[(X_FORWARDED_HOST, "Shop.Example.com.:443")], Some("Shop.Example.com.:443")),
            (&[(X_FORWARDED_HOST, "[2001:db8::1]:8443")], Some("[2001:db8::1]:8443")),
            // One proxy continues what its client has sent.
            (&[(X_FORWARDED_FOR, "203.0.113.9"), (X_FORWARDED_HOST, "evil.example, shop.example.com")], SHOP),
            (&[(X_FORWARDED_HOST, "evil.example"), (X_FORWARDED_HOST, "shop.example.com")], SHOP),
            // Two proxies, of which either both add an entry or the farther one alone.
            (
                &[
                    (X_FORWARDED_FOR, "1.1.1.1, 203.0.113.9, 10.0.0.2"),
                    (X_FORWARDED_HOST, "evil.example, shop.example.com, inner"),
                ],
                SHOP,
            ),
            (&[(X_FORWARDED_FOR, "203.0.113.9, 10.0.0.2"), (X_FORWARDED_HOST, "shop.example.com")], SHOP),
            (&[(FORWARDED, "for=203.0.113.9;host=shop.example.com;proto=https")], SHOP),
            (&[(FORWARDED, "for=203.0.113.9;Host=\"shop.example.com:8443\"")], Some("shop.example.com:8443")),
            (&[(FORWARDED, "for=1.1.1.1;host=evil.example, for=203.0.113.9;host=shop.example.com")], SHOP),
            (&[(FORWARDED, "for=203.0.113.9;host=shop.example.com, for=10.0.0.2;host=inner")], SHOP),
            (&[(FORWARDED, "for=203.0.113.9;host=shop.example.com, for=10.0.0.2")], SHOP),
            (&[(FORWARDED, "host=shop.example.com")], SHOP),
            (&[(FORWARDED, "for=203.0.113.9"), (X_FORWARDED_HOST, "shop.example.com")], SHOP),
            (&[(FORWARDED, "host=shop.example.com"), (X_FORWARDED_HOST, "shop.example.com")], SHOP),
            (&[(FORWARDED, "host=shop.example.com"), (X_FORWARDED_HOST, "evil.example")], None),
            (&[(FORWARDED, "host=shop.example.com"), (X_FORWARDED_HOST, "")], None),
            (&[(FORWARDED, "for=203.0.113.9;host=\"a b\"")], None),
            (&[(FORWARDED, "nonsense")], None),
            (&[(X_FORWARDED_HOST, "")], None),
            (&[(X_FORWARDED_HOST, "user@shop.example.com")], None),
            (&[(X_FORWARDED_HOST, "https://shop.example.com")], None),
            (&[], None),
        ] {
            assert_eq!(host("10.0.0.1", lines).as_deref(), expected, "{lines:?}");
            assert_eq!(host("198.51.100.1", lines), None, "nobody trusts this machine: {lines:?}");
        }
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
