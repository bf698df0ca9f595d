//! The open connections of a listener, and which of them make room for new ones.
//!
//! Connections are counted by the network that they come from; those of trusted proxies carry the requests of many
//! clients, are not counted and never closed. Only while there are too few places, one connection is closed for each new
//! one: an idle one first, then one whose client sends slowly or takes its answer slowly, and among these one of the
//! network that holds most, counted by address and by the wider networks that it belongs to. A network that holds less than
//! that of the new connection loses none, and a connection on which a request is being carried out is never closed.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::{Notify, futures::Notified};
use ucp_trust::limit::networks;

use crate::connection::{Activity, Phase};

/// The open connections. Clones share one state.
#[derive(Clone, Debug, Default)]
pub struct Connections(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    open: Mutex<Open>,
    ended: Notify,
    /// Number of connections that were closed for others since the start.
    closed: AtomicU64,
}

#[derive(Debug, Default)]
struct Open {
    count: usize,
    next: u64,
    /// Connections by network and in the order in which they were opened; `None` for those of trusted proxies.
    shares: HashMap<Option<IpAddr>, BTreeMap<u64, Entry>>,
}

#[derive(Debug)]
struct Entry {
    activity: Activity,
    close: Arc<Notify>,
    is_closing: bool,
}

impl Entry {
    fn close(&mut self) {
        self.is_closing = true;
        self.close.notify_one();
    }
}

impl Connections {
    /// Takes note of a connection from a network, or from a trusted proxy.
    pub(super) fn open(&self, share: Option<IpAddr>) -> Connection {
        let (activity, close) = (Activity::default(), Arc::new(Notify::new()));
        let mut open = self.locked();
        let id = open.next;
        open.next += 1;
        open.count += 1;
        let entry = Entry { activity: activity.clone(), close: Arc::clone(&close), is_closing: false };
        open.shares.entry(share).or_default().insert(id, entry);
        drop(open);
        Connection { connections: self.clone(), share, id, activity, close }
    }

    /// Returns the number of open connections.
    pub fn count(&self) -> usize {
        self.locked().count
    }

    /// Returns the number of connections that were closed for others since the start.
    pub fn closed(&self) -> u64 {
        self.0.closed.load(Ordering::Relaxed)
    }

    /// Closes the connection that is first to make room for a new one from `share`, if there is one.
    pub(super) fn close_one(&self, share: Option<IpAddr>) {
        let mut open = self.locked();
        let own = share.and_then(|_| open.shares.get(&share)).map_or(0, BTreeMap::len);
        let mut held = HashMap::new();
        for (share, of) in &open.shares {
            for network in share.iter().flat_map(|address| networks(*address)).flatten() {
                *held.entry(network).or_insert(0) += of.len();
            }
        }
        // A wider network may hold half as many again, and a /48 twice as many.
        let load = |share: &Option<IpAddr>| {
            let networks = share.iter().flat_map(|address| networks(*address)).flatten().zip([6, 4, 3]);
            networks.map(|(network, weight)| held.get(&network).copied().unwrap_or(0) * weight).max().unwrap_or(0)
        };
        let own_load = load(&share);
        let candidates = open.shares.iter().filter(|(share, of)| share.is_some() && of.len() >= own);
        let candidates = candidates.map(|(share, of)| (share, of, load(share))).filter(|(.., load)| *load >= own_load);
        let first = candidates.filter_map(|(share, of, load)| {
            let closable = of.iter().filter(|(_, entry)| !entry.is_closing);
            let (id, phase) =
                closable.map(|(id, entry)| (*id, entry.activity.phase())).min_by_key(|(_, phase)| *phase)?;
            (phase < Phase::Running).then_some((phase, Reverse((load, of.len())), id, *share))
        });
        let Some((_, _, id, share)) = first.min() else { return };
        if let Some(entry) = open.shares.get_mut(&share).and_then(|of| of.get_mut(&id)) {
            entry.close();
            self.0.closed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Closes all idle connections.
    pub(super) fn close_idle(&self) {
        let mut open = self.locked();
        let all = open.shares.values_mut().flat_map(BTreeMap::values_mut);
        all.filter(|entry| entry.activity.phase() == Phase::Idle).for_each(Entry::close);
    }

    /// Returns a future that completes when a connection ends from now on.
    pub(super) fn ended(&self) -> Notified<'_> {
        self.0.ended.notified()
    }

    fn locked(&self) -> MutexGuard<'_, Open> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open connection; dropping it ends it.
#[derive(Debug)]
pub(super) struct Connection {
    connections: Connections,
    share: Option<IpAddr>,
    id: u64,
    activity: Activity,
    close: Arc<Notify>,
}

impl Connection {
    /// Returns what is happening on the connection.
    pub(super) const fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Completes when the connection is to be closed for others, unless a request has arrived on it meanwhile.
    pub(super) async fn closed(&self) {
        loop {
            self.close.notified().await;
            if self.activity.phase() < Phase::Running {
                return;
            }
            let mut open = self.connections.locked();
            if let Some(entry) = open.shares.get_mut(&self.share).and_then(|of| of.get_mut(&self.id)) {
                entry.is_closing = false;
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut open = self.connections.locked();
        if let Some(of) = open.shares.get_mut(&self.share) {
            of.remove(&self.id);
            if of.is_empty() {
                open.shares.remove(&self.share);
            }
        }
        open.count -= 1;
        drop(open);
        self.connections.0.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn network(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    fn is_closed(connection: &Connection) -> bool {
        connection.closed().now_or_never().is_some()
    }

    #[test]
    fn idle_connections_of_whoever_holds_most_are_closed_first() {
        let connections = Connections::default();
        let open = |last| connections.open(network(last));
        let (one, proxy, many) = (open(1), connections.open(None), [open(2), open(2), open(2)]);
        let busy = many[0].activity.begin();
        connections.close_one(network(3));
        assert!(is_closed(&many[1]), "the oldest one on which nothing is happening");
        connections.close_one(network(2));
        assert!(is_closed(&many[2]));
        connections.close_one(network(2));
        assert!(
            !is_closed(&many[0]) && !is_closed(&one),
            "a network that holds less loses nothing to one that has more"
        );
        connections.close_one(network(3));
        assert!(is_closed(&one), "there is no other one that is idle");
        connections.close_one(None);
        assert!(!is_closed(&proxy) && !is_closed(&many[0]));
        drop(busy);
        connections.close_one(network(3));
        assert!(is_closed(&many[0]) && !is_closed(&proxy));
        assert_eq!(connections.count(), 5);
        drop((one, proxy, many));
        assert_eq!((connections.count(), connections.locked().shares.len()), (0, 0));
    }

    #[test]
    fn many_addresses_of_one_network_lose_theirs_before_others() {
        let connections = Connections::default();
        let open = |address: &str| connections.open(Some(address.parse().expect("an address")));
        let old: Vec<_> = (0..5).map(|number| open(&format!("2001:db8:{number}::1"))).collect();
        let site: Vec<_> = (0..20).map(|number| open(&format!("2001:db8:ffff:{number}00::1"))).collect();
        for number in 0..10 {
            connections.close_one(Some(format!("2001:db8:ffff:{number}01::1").parse().expect("an address")));
            connections.close_one(Some(format!("2001:db8:eeee:{number}::1").parse().expect("an address")));
        }
        assert!(site.iter().all(is_closed) && !old.iter().any(is_closed));
        // One address with many is worse than a network of a few each.
        let neighbors: Vec<_> = (0..8).map(|number| open(&format!("192.0.2.{number}"))).collect();
        let one: Vec<_> = (0..7).map(|_| open("198.51.100.1")).collect();
        connections.close_one(Some("192.0.2.99".parse().expect("an address")));
        assert!(is_closed(&one[0]) && !neighbors.iter().any(is_closed));
    }

    #[test]
    fn a_request_that_comes_in_time_keeps_its_connection() {
        let connections = Connections::default();
        let connection = connections.open(network(1));
        connections.close_one(network(2));
        let answering = connection.activity.begin();
        assert!(!is_closed(&connection));
        drop(answering);
        connections.close_one(network(2));
        assert!(is_closed(&connection));
    }
}
