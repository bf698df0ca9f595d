//! Callers that the operator did not register, and the groups in which they are counted.
//!
//! A profile, a key and a network address cost nothing to make. What is scarce is a domain and a network, so that a
//! stranger counts in several groups at once: its registrable domain, if its signature verified, and the networks of its
//! address. A group has room for one caller; wider networks have room for a few ([`Step::factor`]).

use std::{
    fmt,
    hash::{Hash, Hasher},
    net::IpAddr,
    sync::Arc,
};

use ipnet::IpNet;
use ucp_net::shares::{Groups, Step};
use url::Host;

use crate::{address::ProfileUrl, client::ClientAddress};

/// Labels under which registries of countries hand out domains, as in `co.uk`.
const CATEGORIES: &[&str] = &[
    "ac", "ad", "asn", "asso", "biz", "co", "com", "ed", "edu", "firm", "gen", "go", "gob", "gouv", "gov", "govt",
    "gr", "gv", "id", "ind", "inf", "info", "law", "lg", "ltd", "me", "mil", "muni", "name", "ne", "net", "nhs", "nic",
    "nom", "or", "org", "plc", "police", "press", "pro", "res", "sch", "school", "web",
];

/// A caller that the operator did not register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    domain: Option<Arc<str>>,
    address: ClientAddress,
    /// Its groups, as keyed hashes.
    shares: Groups,
}

/// By the hashes of its groups, which nobody can choose.
impl Hash for Stranger {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.shares.hash(state);
    }
}

/// A group of strangers. Formatted as operators read it, without white space: `example.com`, `192.0.2.1`,
/// `2001:db8:0:1::/64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group<'a> {
    /// Profiles of a registrable domain.
    Domain(&'a str),
    /// A network.
    Network(IpNet),
}

impl fmt::Display for Group<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Domain(domain) => f.write_str(domain),
            Self::Network(network) if network.prefix_len() == network.max_prefix_len() => network.addr().fmt(f),
            Self::Network(network) => network.fmt(f),
        }
    }
}

impl Stranger {
    /// Creates a caller that proves nothing, from an address.
    pub fn anonymous(address: ClientAddress) -> Self {
        Self::of(None, address)
    }

    /// Creates a caller whose signature is by a key of this profile.
    pub fn signed(profile: &ProfileUrl, address: ClientAddress) -> Self {
        Self::of(Some(registrable(profile).into()), address)
    }

    fn of(domain: Option<Arc<str>>, address: ClientAddress) -> Self {
        let mut stranger = Self { domain, address, shares: Groups::default() };
        stranger.shares = stranger.groups().fold(Groups::default(), |shares, (step, group)| shares.and(step, &group));
        stranger
    }

    /// Returns `true` if the caller has proven its profile.
    pub const fn is_signed(&self) -> bool {
        self.domain.is_some()
    }

    /// Returns the groups that the caller belongs to, narrow ones first.
    pub fn groups(&self) -> impl Iterator<Item = (Step, Group<'_>)> {
        let networks = networks(self.address.ip()).into_iter().flatten();
        let domain = self.domain.as_deref().map(|domain| (Step::Domain, Group::Domain(domain)));
        domain.into_iter().chain(networks.map(|(step, network)| (step, Group::Network(network))))
    }

    /// Returns the same groups, for the shares of a pool.
    pub const fn shares(&self) -> Groups {
        self.shares
    }
}

/// Returns the networks of an address in which its caller is counted.
pub fn networks(address: IpAddr) -> [Option<(Step, IpNet)>; 3] {
    let steps = match address {
        IpAddr::V4(_) => [Some((Step::Address, 32)), Some((Step::Neighbors, 24)), None],
        IpAddr::V6(_) => [Some((Step::Address, 64)), Some((Step::Neighbors, 56)), Some((Step::Site, 48))],
    };
    steps.map(|step| {
        let (step, length) = step?;
        Some((step, IpNet::new(address, length).ok()?.trunc()))
    })
}

/// Returns the domain of a profile that somebody had to register, or the network of a host that is an address, in brackets:
/// it is not the network that callers come from.
///
/// There is no list of public suffixes behind it. The last two labels count, or three where the second to last is one
/// under which the registry of a country hands out domains. Of hosts below another public suffix, such as those of a hosting
/// platform, all count as one: they cost nothing to make.
fn registrable(profile: &ProfileUrl) -> String {
    let network = |address: IpAddr| {
        let widest = networks(address).into_iter().flatten().last();
        widest.map_or_else(|| format!("[{address}]"), |(_, network)| format!("[{network}]"))
    };
    match profile.url().host() {
        Some(Host::Ipv4(address)) => network(address.into()),
        Some(Host::Ipv6(address)) => network(IpAddr::V6(address).to_canonical()),
        Some(Host::Domain(name)) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            let mut labels = name.rsplit('.');
            let is_category = |label: &str| CATEGORIES.contains(&label);
            let count = match (labels.next(), labels.next()) {
                (Some(country), Some(category)) if country.len() == 2 && is_category(category) => 3,
                _ => 2,
            };
            let parts: Vec<_> = name.rsplitn(count + 1, '.').take(count).collect();
            parts.into_iter().rev().collect::<Vec<_>>().join(".")
        }
        None => profile.as_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Reach;

    fn profile(url: &str) -> ProfileUrl {
        ProfileUrl::parse(url, Reach::Loopback).expect("an address")
    }

    fn address(text: &str) -> ClientAddress {
        ClientAddress::new(text.parse().expect("an address"))
    }

    #[test]
    fn profiles_count_by_the_domain_that_somebody_registered() {
        for (url, domain) in [
            ("https://example.com/p1", "example.com"),
            ("https://a.b.c.example.com:8443/p2", "example.com"),
            ("https://EXAMPLE.com./p", "example.com"),
            ("https://shop.example.co.uk/", "example.co.uk"),
            ("https://example.co.uk/", "example.co.uk"),
            ("https://a.example.com.au/", "example.com.au"),
            ("https://a.example.de/", "example.de"),
            ("https://co.de/", "co.de"),
            ("https://alice.hosting.app/", "hosting.app"),
            ("https://a.k12.ca.us/", "ca.us"),
            ("https://a.com.example/", "com.example"),
            ("http://localhost/", "localhost"),
            ("https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
            ("https://8.8.8.8/", "[8.8.8.0/24]"),
            ("https://[2606:4700:1:2:3::4]/", "[2606:4700:1::/48]"),
        ] {
            assert_eq!(registrable(&profile(url)), domain, "{url}");
        }
    }

    #[test]
    fn a_caller_counts_in_steps_of_its_network() {
        let names = |stranger: &Stranger| -> Vec<_> {
            stranger.groups().map(|(step, group)| (step.factor(), group.to_string())).collect()
        };
        let of =
            |pairs: &[(u32, &str)]| pairs.iter().map(|(step, name)| (*step, (*name).to_owned())).collect::<Vec<_>>();
        let signed = Stranger::signed(&profile("https://a.example.com/"), address("192.0.2.77"));
        assert_eq!(names(&signed), of(&[(1, "example.com"), (1, "192.0.2.77"), (4, "192.0.2.0/24")]));
        let anonymous = Stranger::anonymous(address("2001:db8:1:2ff:3::4"));
        let steps = [(1, "2001:db8:1:2ff::/64"), (4, "2001:db8:1:200::/56"), (16, "2001:db8:1::/48")];
        assert_eq!(names(&anonymous), of(&steps));
        assert_eq!(names(&Stranger::anonymous(address("::ffff:192.0.2.7")))[0].1, "192.0.2.7");
        assert!(names(&signed).iter().chain(&names(&anonymous)).all(|(_, name)| !name.contains(' ')));
    }
}
