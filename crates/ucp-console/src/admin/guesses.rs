//! Limits of guesses at the admin token, wherever it is shown: as bearer token, or in the form of a browser.
//!
//! | bound | of |
//! | :-- | :-- |
//! | [`OF_NETWORK`] | wrong tokens of a network in a minute: an IPv4 address, or a /64 network of IPv6 |
//! | [`ALTOGETHER`] | wrong tokens of all networks in a minute, except of those that have shown the right one, and of this machine |
//!
//! Beyond a bound no token is judged, right or wrong, or the bound would be none. Strangers cannot lock out an operator: a
//! session goes on, and a network that has shown the right token since the start has its own bound alone. One that never has
//! waits, while the bound of all networks is reached, for at most a minute after the guesses end.

use std::{
    collections::VecDeque,
    net::{IpAddr, Ipv4Addr},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use ucp_trust::client::ClientAddress;

/// Maximum number of wrong tokens of a network in [`PERIOD`].
const OF_NETWORK: usize = 5;

/// Maximum number of wrong tokens in [`PERIOD`] of all networks that have not shown the right one.
const ALTOGETHER: usize = 60;

const PERIOD: Duration = Duration::from_secs(60);

/// Maximum number of networks that are remembered for having shown the right token; the others are those of strangers again.
const KNOWN: usize = 64;

/// Verdict on a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Right,
    Wrong,
    /// It is not judged; another one is, after this time.
    TooMany(Duration),
}

/// Wrong tokens of the last minute.
#[derive(Debug, Default)]
pub(super) struct Guesses(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Time and network of each wrong token, the oldest first.
    wrong: VecDeque<(Instant, IpAddr)>,
    /// Networks that have shown the right token, the last one at the end.
    known: VecDeque<IpAddr>,
}

impl Guesses {
    /// Judges a token that a client at an address has shown.
    pub(super) fn judge(&self, address: ClientAddress, is_right: bool, now: Instant) -> Verdict {
        // All of this machine is one.
        let network = if address.ip().is_loopback() { Ipv4Addr::LOCALHOST.into() } else { address.bucket() };
        let State { wrong, known } = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while wrong.front().is_some_and(|(at, _)| now.saturating_duration_since(*at) >= PERIOD) {
            wrong.pop_front();
        }
        let is_known = |network: &IpAddr| network.is_loopback() || known.contains(network);
        // The time of the wrong token whose end of the period makes room.
        let full = |of: &dyn Fn(&IpAddr) -> bool, most: usize| {
            wrong.iter().rev().filter(|(_, network)| of(network)).nth(most - 1).map(|(at, _)| *at)
        };
        let own = full(&|other| *other == network, OF_NETWORK);
        let all = if is_known(&network) { None } else { full(&|other| !is_known(other), ALTOGETHER) };
        if let Some(at) = own.max(all) {
            return Verdict::TooMany(PERIOD.saturating_sub(now.saturating_duration_since(at)));
        }
        if is_right {
            known.retain(|known| *known != network);
            known.push_back(network);
            if known.len() > KNOWN {
                known.pop_front();
            }
            return Verdict::Right;
        }
        wrong.push_back((now, network));
        Verdict::Wrong
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    fn address(number: u32) -> ClientAddress {
        ClientAddress::new(IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + number)))
    }

    #[test]
    fn a_network_has_few_wrong_tokens_in_a_minute_and_strangers_lock_nobody_out() {
        let (guesses, begun) = (Guesses::default(), Instant::now());
        let at = |seconds| begun + Duration::from_secs(seconds);
        let wrong = |number, second| guesses.judge(address(number), false, at(second));
        let right = |number, second| guesses.judge(address(number), true, at(second));
        assert_eq!(right(1, 0), Verdict::Right);
        for second in 0..5 {
            assert_eq!(wrong(2, second), Verdict::Wrong);
        }
        assert_eq!(wrong(2, 5), Verdict::TooMany(Duration::from_secs(55)));
        assert_eq!(right(2, 59), Verdict::TooMany(Duration::from_secs(1)), "nobody is told whether it was right");
        assert_eq!(right(3, 5), Verdict::Right, "another network has tries of its own");
        assert_eq!(wrong(2, 60), Verdict::Wrong, "one a time, as the minute of each ends");
        assert_eq!(wrong(2, 60), Verdict::TooMany(Duration::from_secs(1)));

        // Sixty of networks that are nobody's.
        let strangers = (100..).take(60).filter(|number| wrong(*number, 300) == Verdict::Wrong);
        assert_eq!(strangers.count(), 60);
        assert_eq!(wrong(99, 301), Verdict::TooMany(Duration::from_secs(59)));
        assert_eq!(right(98, 301), Verdict::TooMany(Duration::from_secs(59)), "a network that is not known waits");
        for number in [1, 3] {
            assert_eq!(right(number, 301), Verdict::Right, "one that is known does not");
        }
        let here = ClientAddress::new(IpAddr::V6(Ipv6Addr::LOCALHOST));
        assert_eq!(guesses.judge(here, true, at(301)), Verdict::Right, "nor does this machine");
        // What those guess takes nothing of the others' bound, and is bounded by their own.
        let own = (0..10).filter(|_| wrong(1, 302) == Verdict::Wrong).count();
        assert_eq!(own, OF_NETWORK);
        assert_eq!(right(1, 303), Verdict::TooMany(Duration::from_secs(59)));
        assert_eq!(right(98, 360), Verdict::Right);
    }

    #[test]
    fn addresses_of_one_network_share_its_tries_and_what_is_remembered_is_bounded() {
        let (guesses, now) = (Guesses::default(), Instant::now());
        let of = |subnet: u128, host| {
            let network = 0x2001_0db8_u128 << 96;
            ClientAddress::new(IpAddr::V6(Ipv6Addr::from_bits(network | subnet << 64 | host)))
        };
        let wrong =
            |subnet| (1..10).filter(|host| guesses.judge(of(subnet, *host), false, now) == Verdict::Wrong).count();
        assert_eq!((wrong(1), wrong(2)), (5, 5));
        for number in 0..1_000 {
            assert_eq!(guesses.judge(address(number), true, now), Verdict::Right);
        }
        assert!((0..1_000).map(wrong).sum::<usize>() <= ALTOGETHER);
        let state = guesses.0.lock().expect("nothing panicked");
        assert_eq!((state.known.len(), state.wrong.len()), (KNOWN, ALTOGETHER));
    }
}
