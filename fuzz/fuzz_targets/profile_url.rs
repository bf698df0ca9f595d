//! The address of a profile, which the gateway will connect to.
//!
//! An input is read as a text, and its first bytes as an IP address, written in one of several ways.
//!
//! Invariants: what passes for public is https, names no user, and no host of this machine or its network in any
//! spelling. Reading it again changes nothing. What is special is asked of the standard library here, and numbers are
//! read as `inet_aton` does, so that neither the tables nor the parser of the gateway vouch for themselves.

#![no_main]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use libfuzzer_sys::fuzz_target;
use ucp_trust::address::{ProfileUrl, Reach};

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = str::from_utf8(data) {
        check(text);
    }
    if let Some([spelling, octets @ ..]) = data.first_chunk::<5>() {
        let (address, [a, b, c, d]) = (Ipv4Addr::from(*octets), octets);
        check(&match spelling % 5 {
            0 => format!("https://{address}/"),
            1 => format!("https://{}/", address.to_bits()),
            2 => format!("https://0x{a:X}.0{b:o}.{}./", address.to_bits() & 0xffff),
            3 => format!("https://%3{}{:02}.{b}.{c}.{d}/", a / 100, a % 100),
            _ => format!("https://[::ffff:{address}]/"),
        });
    }
    if let Some(octets) = data.first_chunk::<16>() {
        check(&format!("https://[{}]/", Ipv6Addr::from(*octets)));
    }
});

fn check(text: &str) {
    let Ok(address) = ProfileUrl::parse(text, Reach::Public) else { return };
    assert_eq!(ProfileUrl::parse(text, Reach::Loopback).as_ref(), Ok(&address), "public, but not in development");
    assert_eq!(ProfileUrl::parse(address.as_str(), Reach::Public).as_ref(), Ok(&address));

    let url = address.url();
    assert_eq!((url.scheme(), url.username(), url.password(), url.fragment()), ("https", "", None, None));
    assert!(address.as_str().bytes().all(|byte| byte.is_ascii_graphic()), "{address}");
    assert!(address.as_str().len() <= 2_048 && address.as_str().starts_with(address.origin()));
    assert!(!matches!(url.port(), Some(0 | 22 | 25 | 6379)), "{address}");

    let host = url.host_str().expect("a host");
    // The caller's text and the parsed URL: either may be connected to.
    let rest = text.split_once(':').expect("a scheme").1.strip_prefix("//").expect("an authority");
    let authority = rest.split(['/', '?', '#']).next().expect("a first part");
    for host in [host, without_port(authority)] {
        assert!(!host.contains('@'), "{address}");
        if let Some(literal) = literal(host) {
            assert!(!is_ours(literal), "{address} is {literal}");
        }
        let name = host.trim_end_matches('.').to_ascii_lowercase();
        assert!(name != "localhost" && !name.ends_with(".localhost") && !name.ends_with(".internal"), "{address}");
    }
}

fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// The address that a host is, in any spelling that some resolver takes.
fn literal(host: &str) -> Option<IpAddr> {
    if let Some(inside) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return inside.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    let host = host.strip_suffix('.').unwrap_or(host);
    let parts = host.split('.').map(number).collect::<Option<Vec<_>>>()?;
    let (last, bytes) = parts.split_last()?;
    let room = 4_u32.checked_sub(u32::try_from(bytes.len()).ok()?).filter(|room| *room > 0)?;
    if *last >= 1 << (8 * room) || bytes.iter().any(|byte| *byte > 255) {
        return None;
    }
    let high = bytes.iter().enumerate().map(|(at, byte)| byte << (24 - 8 * at)).sum::<u64>();
    Some(IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(high + last).ok()?)))
}

/// A part of an address: decimal, octal after `0`, or hexadecimal after `0x`.
fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    let digits = if radix == 16 && digits.is_empty() { "0" } else { digits };
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u64::from_str_radix(digits, radix).ok())?
}

/// Returns `true` if an address is of this machine, of its network, or of nobody.
fn is_ours(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.is_unspecified()
                || address.is_loopback()
                || address.is_private()
                || address.is_link_local()
                || address.is_multicast()
                || address.is_broadcast()
                || address.is_documentation()
                || address.octets()[0] == 0
                || (address.octets()[0] == 100 && address.octets()[1] & 0xc0 == 64)
        }
        IpAddr::V6(address) => {
            address.is_unspecified()
                || address.is_loopback()
                || address.is_multicast()
                || address.is_unique_local()
                || address.is_unicast_link_local()
                || address.to_ipv4().is_some()
                || address.segments()[..2] == [0x64, 0xff9b]
                || address.segments()[0] == 0x2002
        }
    }
}
