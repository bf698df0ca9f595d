//! Rules for the network addresses that may be reached (UCP overview, *Fetching*; rules AGT-05, SEC-02, SEC-03).
//!
//! A caller names an address that the gateway then connects to. So that no caller can point the gateway at the network
//! it runs in, two things are checked here: the URL as it is written ([`ProfileUrl`]), and each IP address that a host
//! name resolves to ([`Reach::permits`]). A host that is written as an IP address is never resolved, which is why the
//! first check covers it in every spelling: `2130706433`, `0x7f.1` and `127.0.0.1` are one address.

use std::{
    fmt,
    hash::{Hash, Hasher},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::{Arc, LazyLock},
};

use ucp_core::{Code, Refusal};
use url::{Host, Url};

use crate::host::undotted;

/// Maximum length of a profile address, in bytes.
const MAX_LENGTH: usize = 2_048;

/// Ports of services that do not speak HTTP and that a request could confuse: remote shells, mail, name service, file
/// sharing, directories, databases, caches and queues.
const FOREIGN_PORTS: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 79, 87, 95, 101, 102, 103, 104, 109, 110,
    111, 113, 115, 117, 119, 123, 135, 137, 138, 139, 143, 161, 162, 179, 389, 427, 445, 465, 512, 513, 514, 515, 526,
    530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 873, 989, 990, 992, 993, 995, 1433, 1521, 1719, 1720, 1723,
    1883, 2049, 2181, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432, 5672, 5900, 6000, 6379, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 8883, 9042, 9092, 9300, 10080, 11211, 27017,
];

/// Special-use IPv4 networks (RFC 6890 and its registry): network, prefix length, name.
const SPECIAL_V4: &[(Ipv4Addr, u32, &str)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private use"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "shared address space"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, LOOPBACK),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private use"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "IETF protocol assignments"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "documentation"),
    (Ipv4Addr::new(192, 31, 196, 0), 24, "AS112"),
    (Ipv4Addr::new(192, 52, 193, 0), 24, "AMT"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "6to4 relay"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private use"),
    (Ipv4Addr::new(192, 175, 48, 0), 24, "AS112"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "benchmarking"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(255, 255, 255, 255), 32, "broadcast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

/// Special-use IPv6 networks: network, prefix length, name. The first match counts.
const SPECIAL_V6: &[(Ipv6Addr, u32, &str)] = &[
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified"),
    (Ipv6Addr::LOCALHOST, 128, LOOPBACK),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, "IPv4-mapped"),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0, 0, 0), 96, "IPv4-compatible"),
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96, "NAT64"),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, "NAT64"),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64, "discard only"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, "Teredo"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "IETF protocol assignments"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "documentation"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "6to4"),
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48, "AS112"),
    (Ipv6Addr::new(0x3ffe, 0, 0, 0, 0, 0, 0, 0), 16, "6bone"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "documentation"),
    (Ipv6Addr::new(0x5f00, 0, 0, 0, 0, 0, 0, 0), 16, "segment routing"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "unique local"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link local"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "site local"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast"),
];

const LOOPBACK: &str = "loopback";

/// IPv6 network for global unicast: network, prefix length. Outside of it no address is reached but `::1`, under
/// [`Reach::Loopback`].
const GLOBAL_UNICAST: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Returns the name of the special-use range that contains an address, or `None` for an address of the public Internet.
///
/// IPv4-mapped IPv6 addresses are always special, as are the other ranges whose addresses embed an IPv4 address:
/// IPv4-compatible, NAT64, 6to4 and Teredo.
pub fn is_special(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => {
            SPECIAL_V4.iter().find(|(network, prefix, _)| in_v4(address, *network, *prefix)).map(|(_, _, name)| *name)
        }
        IpAddr::V6(address) => SPECIAL_V6
            .iter()
            .find(|(network, prefix, _)| in_v6(address, *network, *prefix))
            .map(|(_, _, name)| *name)
            .or_else(|| (!in_v6(address, GLOBAL_UNICAST.0, GLOBAL_UNICAST.1)).then_some("not global unicast")),
    }
}

fn in_v4(address: Ipv4Addr, network: Ipv4Addr, prefix: u32) -> bool {
    (address.to_bits() ^ network.to_bits()).leading_zeros() >= prefix
}

fn in_v6(address: Ipv6Addr, network: Ipv6Addr, prefix: u32) -> bool {
    (address.to_bits() ^ network.to_bits()).leading_zeros() >= prefix
}

/// Networks that may be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The public Internet, over https.
    Public,
    /// The public Internet and this machine itself, the latter also over plain http. For development only: a caller can
    /// make the gateway connect to services on the gateway's own machine.
    Loopback,
}

impl Reach {
    /// Checks an address that is about to be connected to. Fails with the name of the special-use range that contains the
    /// address, if it must not be reached.
    pub fn permits(self, address: IpAddr) -> Result<(), &'static str> {
        match is_special(address) {
            None => Ok(()),
            Some(LOOPBACK) if self == Self::Loopback => Ok(()),
            Some(range) => Err(range),
        }
    }
}

/// Rule that a profile address breaks. The text completes the sentence "The profile address …".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlRejection {
    /// The address has more than 2048 bytes.
    #[error("is longer than 2048 characters")]
    TooLong,
    /// The address contains white space, control characters or backslashes, which parsers treat differently.
    #[error("has white space, control characters or backslashes in it")]
    Characters,
    /// The address is not of the form `scheme://host…`, or cannot be parsed.
    #[error("is not an absolute URL")]
    NotAbsolute,
    /// The scheme is not https, nor http to a loopback host where [`Reach::Loopback`] allows that.
    #[error("is not an https address")]
    NotHttps,
    /// The address contains user information, even if it is empty.
    #[error("carries user information")]
    UserInformation,
    /// The host name is meaningful only inside one network. Not checked under [`Reach::Loopback`].
    #[error("names a host that is not on the public Internet")]
    LocalName,
    /// The host is an IP address in a special-use range (RFC 6890).
    #[error("names a host in a special-use address range ({0})")]
    SpecialAddress(&'static str),
    /// The port is that of a service that does not speak HTTP.
    #[error("names port {0}, which is not one of an https server")]
    Port(u16),
}

impl From<UrlRejection> for Refusal {
    fn from(rejection: UrlRejection) -> Self {
        let public = "an absolute https URL of a public host, such as `https://platform.example/ucp/profile.json`";
        let content = format!("The profile address {rejection}.");
        match rejection {
            UrlRejection::NotHttps | UrlRejection::LocalName | UrlRejection::SpecialAddress(_) => {
                Self::new(Code::InvalidProfileUrl, content).accepting(format!("{public}{OR_LOOPBACK}"))
            }
            _ => Self::new(Code::InvalidProfileUrl, content).accepting(public),
        }
    }
}

/// Continuation of the text about accepted addresses: the setting that admits others.
pub(crate) const OR_LOOPBACK: &str =
    "; a gateway for development admits profiles on its own machine with the setting `profiles.loopback`";

/// Beginning of the identity of a platform that publishes no profile.
const UNPUBLISHED: &str = "urn:ucp-gateway:platform:";

/// Returns `true` if an identity is that of a platform which publishes no profile, so that nothing can be sent to it.
pub fn is_unpublished(identity: &str) -> bool {
    identity.starts_with(UNPUBLISHED)
}

/// Address of a platform's profile, in a form that UCP allows.
///
/// Two addresses are equal if their normalized texts are: the host in lower case and Punycode and without a dot at its end, no
/// default port, dot segments resolved, no fragment. Cheap to clone.
#[derive(Clone)]
pub struct ProfileUrl(Arc<Url>);

impl ProfileUrl {
    /// Parses an address. Any port is allowed except those of well-known services that do not speak HTTP. The fragment
    /// is dropped: it is never sent, so addresses that differ only in it name the same document. Fails with
    /// [`UrlRejection`] for the first rule that the address breaks.
    pub fn parse(text: &str, reach: Reach) -> Result<Self, UrlRejection> {
        if text.len() > MAX_LENGTH {
            return Err(UrlRejection::TooLong);
        }
        if text.chars().any(|letter| letter.is_whitespace() || letter.is_control() || letter == '\\') {
            return Err(UrlRejection::Characters);
        }
        // `Url::parse` follows the WHATWG: it also accepts `https:host` and `https:////host`, and drops empty user
        // information.
        let (_, rest) = text.split_once(':').ok_or(UrlRejection::NotAbsolute)?;
        let rest = rest.strip_prefix("//").ok_or(UrlRejection::NotAbsolute)?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.is_empty() {
            return Err(UrlRejection::NotAbsolute);
        }
        if authority.contains('@') {
            return Err(UrlRejection::UserInformation);
        }
        let mut url = undotted(Url::parse(text).map_err(|_| UrlRejection::NotAbsolute)?);
        url.set_fragment(None);
        // Encoding characters beyond ASCII makes the text longer.
        if url.as_str().len() > MAX_LENGTH {
            return Err(UrlRejection::TooLong);
        }
        judge(&url, reach)?;
        Ok(Self(Arc::new(url)))
    }

    /// Creates the identity of a registered platform that publishes no profile, `urn:ucp-gateway:platform:` and its
    /// name. No request can state it, because it is not an https address, and nothing is fetched from there. Fails with
    /// [`UrlRejection::TooLong`] if the name has more than about 600 bytes.
    pub fn unpublished(name: &str) -> Result<Self, UrlRejection> {
        let name: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
        let text = format!("{UNPUBLISHED}{name}");
        if text.len() > MAX_LENGTH {
            return Err(UrlRejection::TooLong);
        }
        Url::parse(&text).map(|url| Self(Arc::new(url))).map_err(|_| UrlRejection::NotAbsolute)
    }

    /// Returns the identity of callers that name no profile, where such callers are served: that of a platform without a
    /// name, which no operator can register.
    pub fn anonymous() -> Self {
        static ANONYMOUS: LazyLock<ProfileUrl> = LazyLock::new(|| {
            ProfileUrl::unpublished("").unwrap_or_else(|error| unreachable!("a constant identity: {error}"))
        });
        ANONYMOUS.clone()
    }

    /// Returns `true` if a profile can be fetched from the address, `false` if it is only the identity of a platform.
    pub fn is_published(&self) -> bool {
        self.0.has_host()
    }

    /// Returns the normalized text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the parsed URL.
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// Returns scheme, host and port, by which limits per origin are counted. A default port is left out.
    pub fn origin(&self) -> &str {
        &self.0[..url::Position::BeforePath]
    }

    /// Checks the address again, under a reach that may be narrower than the one it was parsed under.
    pub(crate) fn judge(&self, reach: Reach) -> Result<(), UrlRejection> {
        judge(&self.0, reach)
    }
}

impl PartialEq for ProfileUrl {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for ProfileUrl {}

impl Hash for ProfileUrl {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for ProfileUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProfileUrl({})", self.as_str())
    }
}

impl fmt::Display for ProfileUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn judge(url: &Url, reach: Reach) -> Result<(), UrlRejection> {
    let loopback = match url.host() {
        Some(Host::Ipv4(address)) => literal(IpAddr::V4(address), reach)?,
        Some(Host::Ipv6(address)) => literal(IpAddr::V6(address), reach)?,
        Some(Host::Domain(name)) => {
            if reach == Reach::Public && is_local_name(name) {
                return Err(UrlRejection::LocalName);
            }
            is_localhost(name)
        }
        None => return Err(UrlRejection::NotAbsolute),
    };
    match url.scheme() {
        "https" => {}
        "http" if reach == Reach::Loopback && loopback => {}
        _ => return Err(UrlRejection::NotHttps),
    }
    match url.port() {
        Some(port) if FOREIGN_PORTS.contains(&port) => Err(UrlRejection::Port(port)),
        _ => Ok(()),
    }
}

/// Returns `true` if a host that is written as an IP address is a loopback address; fails if it must not be reached.
fn literal(address: IpAddr, reach: Reach) -> Result<bool, UrlRejection> {
    reach.permits(address).map_err(UrlRejection::SpecialAddress)?;
    Ok(address.is_loopback())
}

/// Returns `true` if a name denotes this machine by definition (RFC 6761 section 6.3).
pub(crate) fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name == "localhost" || name.ends_with(".localhost")
}

/// Returns `true` if a name is meaningful only inside one network: a single label, or a domain that is reserved for
/// that purpose or below one.
fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    let below = |domain: &str| name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    !name.contains('.') || is_localhost(name) || ["local", "internal", "home.arpa"].into_iter().any(below)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn every_special_range_is_named_at_both_ends_and_nothing_beyond() {
        for (inside, name) in [
            ("0.0.0.0", "this network"),
            ("0.255.255.255", "this network"),
            ("10.0.0.0", "private use"),
            ("10.255.255.255", "private use"),
            ("100.64.0.0", "shared address space"),
            ("100.127.255.255", "shared address space"),
            ("127.0.0.1", "loopback"),
            ("127.255.255.255", "loopback"),
            ("169.254.169.254", "link local"),
            ("172.16.0.0", "private use"),
            ("172.31.255.255", "private use"),
            ("192.0.0.255", "IETF protocol assignments"),
            ("192.0.2.1", "documentation"),
            ("192.31.196.1", "AS112"),
            ("192.52.193.1", "AMT"),
            ("192.88.99.1", "6to4 relay"),
            ("192.168.255.255", "private use"),
            ("192.175.48.255", "AS112"),
            ("198.18.0.0", "benchmarking"),
            ("198.19.255.255", "benchmarking"),
            ("198.51.100.7", "documentation"),
            ("203.0.113.7", "documentation"),
            ("224.0.0.1", "multicast"),
            ("239.255.255.255", "multicast"),
            ("240.0.0.0", "reserved"),
            ("255.255.255.255", "broadcast"),
            ("::", "unspecified"),
            ("::1", "loopback"),
            ("::2", "IPv4-compatible"),
            ("::7f00:1", "IPv4-compatible"),
            ("::ffff:127.0.0.1", "IPv4-mapped"),
            ("::ffff:8.8.8.8", "IPv4-mapped"),
            ("64:ff9b::7f00:1", "NAT64"),
            ("64:ff9b:1::7f00:1", "NAT64"),
            ("100::1", "discard only"),
            ("2001::1", "Teredo"),
            ("2001:1ff:ffff::1", "IETF protocol assignments"),
            ("2001:db8::1", "documentation"),
            ("2002:7f00:1::", "6to4"),
            ("2620:4f:8000::1", "AS112"),
            ("3fff:fff::1", "documentation"),
            ("5f00::1", "segment routing"),
            ("fc00::1", "unique local"),
            ("fdff::1", "unique local"),
            ("fe80::1", "link local"),
            ("fec0::1", "site local"),
            ("ff02::1", "multicast"),
            ("4000::1", "not global unicast"),
            ("64:ff9c::1", "not global unicast"),
        ] {
            assert_eq!(is_special(address(inside)), Some(name), "{inside}");
        }
        for public in
            "1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255 \
             172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.167.255.255 198.17.255.255 198.20.0.0 \
             223.255.255.255 2001:200::1 2001:4860:4860::8888 2606:4700::1111 2003::1 3ffd::1"
                .split(' ')
        {
            assert_eq!(is_special(address(public)), None, "{public}");
        }
    }

    #[test]
    fn development_adds_loopback_and_nothing_else() {
        for ours in ["127.0.0.1", "127.9.9.9", "::1"] {
            assert_eq!(Reach::Public.permits(address(ours)), Err("loopback"));
            assert_eq!(Reach::Loopback.permits(address(ours)), Ok(()));
        }
        for special in ["10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "0.0.0.0", "fe80::1"] {
            assert!(Reach::Loopback.permits(address(special)).is_err(), "{special}");
        }
    }

    #[test]
    fn addresses_are_checked_for_form() {
        let parse = |text: &str| ProfileUrl::parse(text, Reach::Public).map(|url| url.to_string());
        for (text, normal) in [
            ("https://agent.example/p.json", "https://agent.example/p.json"),
            ("HTTPS://Agent.Example:443/a/../p?x=1#part", "https://agent.example/p?x=1"),
            ("https://agent.example./p", "https://agent.example/p"),
            ("https://agent.example.:8443/p", "https://agent.example:8443/p"),
            ("https://agent.example", "https://agent.example/"),
            ("https://agent.example:8443/", "https://agent.example:8443/"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ("https://1.1.1.1/", "https://1.1.1.1/"),
            ("https://[2606:4700::1111]/", "https://[2606:4700::1111]/"),
            ("https://agent.example/?next=user@host", "https://agent.example/?next=user@host"),
        ] {
            assert_eq!(parse(text).as_deref(), Ok(normal), "{text}");
        }
        for (text, why) in [
            ("http://agent.example/p.json", UrlRejection::NotHttps),
            ("ftp://agent.example/", UrlRejection::NotHttps),
            ("file:///etc/passwd", UrlRejection::NotAbsolute),
            ("data:application/json,{}", UrlRejection::NotAbsolute),
            ("agent.example", UrlRejection::NotAbsolute),
            ("//agent.example/", UrlRejection::NotAbsolute),
            ("https:agent.example/", UrlRejection::NotAbsolute),
            ("https:////agent.example/", UrlRejection::NotAbsolute),
            ("https:agent.example/?next=https://b.example/", UrlRejection::NotAbsolute),
            ("https:user:secret@agent.example/://b.example/", UrlRejection::NotAbsolute),
            ("https://", UrlRejection::NotAbsolute),
            ("https://a..b:x/", UrlRejection::NotAbsolute),
            ("", UrlRejection::NotAbsolute),
            ("https://user:secret@agent.example/", UrlRejection::UserInformation),
            ("https://@agent.example/", UrlRejection::UserInformation),
            (" https://agent.example/", UrlRejection::Characters),
            ("https://agent.example/a b", UrlRejection::Characters),
            ("https://agent.exa\nmple/", UrlRejection::Characters),
            ("https:\\\\agent.example\\", UrlRejection::Characters),
            ("https://agent.example:22/", UrlRejection::Port(22)),
            ("https://agent.example:6379/", UrlRejection::Port(6379)),
            ("https://agent.example:0/", UrlRejection::Port(0)),
        ] {
            assert_eq!(parse(text), Err(why), "{text}");
        }
        assert_eq!(parse(&format!("https://a.example/{}", "a".repeat(3_000))), Err(UrlRejection::TooLong));
        let refusal = Refusal::from(UrlRejection::UserInformation);
        assert_eq!((refusal.code, refusal.content.contains("user information")), (Code::InvalidProfileUrl, true));
    }

    #[test]
    fn ports_of_other_services_are_refused() {
        let mail = [25, 110, 143, 465, 587, 993, 995];
        let shells_and_files = [21, 22, 23, 69, 139, 445, 513, 514, 548, 873, 989, 990, 2049, 3389, 5900, 6000];
        let names_and_directories = [53, 389, 636, 2181];
        let databases_and_queues = [1433, 1521, 1883, 3306, 5432, 5672, 6379, 8883, 9042, 9092, 9300, 11211, 27017];
        for port in [&mail[..], &shells_and_files, &names_and_directories, &databases_and_queues].concat() {
            let refused = ProfileUrl::parse(&format!("https://agent.example:{port}/"), Reach::Public);
            assert_eq!(refused.map(drop), Err(UrlRejection::Port(port)));
        }
        for port in [80, 443, 996, 3000, 8080, 8443, 65535] {
            let taken = ProfileUrl::parse(&format!("https://agent.example:{port}/"), Reach::Public);
            assert!(taken.is_ok(), "{port}");
        }
    }

    #[test]
    fn hosts_of_this_network_are_refused_in_every_spelling() {
        for host in
            "127.0.0.1 2130706433 0177.0.0.1 0x7f.1 127.1 0x7f000001 017700000001 127.0.0.1. 1２7.0.0.1 ①②⑦．⓪．⓪．① \
             %31%32%37.0.0.1 [::1] [::ffff:127.0.0.1] [::ffff:8.8.8.8] [64:ff9b::7f00:1] [2002:7f00:1::] \
             [::127.0.0.1] 0 0.0.0.0 169.254.169.254 0xa9fea9fe 10.1.2.3 [fe80::1] [fd00::1]"
                .split(' ')
        {
            let verdict = ProfileUrl::parse(&format!("https://{host}/p"), Reach::Public);
            assert!(matches!(verdict, Err(UrlRejection::SpecialAddress(_))), "{host}: {verdict:?}");
        }
        for host in "localhost LOCALHOST. a.localhost printer.local metadata.google.internal router.home.arpa intranet \
             intranet."
            .split(' ')
        {
            let verdict = ProfileUrl::parse(&format!("https://{host}/p"), Reach::Public);
            assert_eq!(verdict, Err(UrlRejection::LocalName), "{host}");
            assert!(ProfileUrl::parse(&format!("https://{host}/p"), Reach::Loopback).is_ok(), "{host}");
        }
        assert!(ProfileUrl::parse("https://notlocal.example/", Reach::Public).is_ok());
        assert!(ProfileUrl::parse("https://mylocalhost.example/", Reach::Public).is_ok());
    }

    #[test]
    fn plain_http_reaches_this_machine_in_development_only() {
        for host in ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "agent.localhost"] {
            let text = format!("http://{host}/p");
            assert!(ProfileUrl::parse(&text, Reach::Loopback).is_ok(), "{host}");
            let public = ProfileUrl::parse(&text, Reach::Public);
            assert!(public.is_err(), "{host}");
        }
        for host in ["agent.example", "1.1.1.1", "intranet"] {
            let text = format!("http://{host}/p");
            assert_eq!(ProfileUrl::parse(&text, Reach::Loopback), Err(UrlRejection::NotHttps), "{host}");
        }
        let own = ProfileUrl::parse("https://127.0.0.1/p", Reach::Loopback).expect("allowed");
        assert_eq!(own.judge(Reach::Public), Err(UrlRejection::SpecialAddress("loopback")));
        assert_eq!(own.origin(), "https://127.0.0.1");
    }

    proptest! {
        #[test]
        fn any_text_gets_a_verdict_and_reading_it_again_changes_nothing(text in "(https://)?\\PC{0,40}") {
            if let Ok(url) = ProfileUrl::parse(&text, Reach::Public) {
                prop_assert_eq!(ProfileUrl::parse(url.as_str(), Reach::Public), Ok(url));
            }
        }

        #[test]
        fn every_spelling_of_an_ipv4_address_gets_the_same_verdict(bits: u32) {
            let expected = is_special(IpAddr::V4(Ipv4Addr::from_bits(bits)));
            for host in [format!("{bits}"), format!("{bits:#x}"), format!("0{bits:o}"), Ipv4Addr::from_bits(bits).to_string()] {
                let verdict = ProfileUrl::parse(&format!("https://{host}/"), Reach::Public);
                prop_assert_eq!(verdict.err(), expected.map(UrlRejection::SpecialAddress), "{}", host);
            }
        }
    }
}
