//! Invariants of everything that platforms were told about their orders.
//!
//! The records of the receiver are compared with the orders in the database, and with the operator's view.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    client::text,
    platforms::{Arrival, Entry},
    proof::{Keys, verify},
};

/// An order as it is in the end.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) version: u64,
    pub(crate) document: Value,
}

/// Everything that is known when all has been told.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// Notes of the receiver.
    pub(crate) notes: Vec<Entry>,
    /// Number of visits to the address that redirects name.
    pub(crate) misled: usize,
    pub(crate) orders: BTreeMap<String, Order>,
    /// Output of `ucp-gateway webhooks list --json`.
    pub(crate) webhooks: Vec<Value>,
    /// The keys of the shop.
    pub(crate) keys: Keys,
    /// The profiles of all gateways there were: each listened at a port of its own.
    pub(crate) profiles: BTreeSet<String>,
    /// Number of steps per order that an operator was told to have been taken.
    pub(crate) taken: BTreeMap<String, u64>,
}

/// Counts of webhooks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) webhooks: usize,
    pub(crate) arrivals: usize,
    /// Number of webhooks that arrived again although the platform had settled them.
    pub(crate) again: usize,
    pub(crate) gone: usize,
}

/// A webhook with everything that arrived of it.
struct Webhook<'a> {
    order: &'a str,
    version: u64,
    state: &'a str,
    /// The places of its arrivals, first to last.
    arrivals: Vec<usize>,
}

/// Returns `true` if an answer settles a webhook.
fn settles(status: u16) -> bool {
    (200..300).contains(&status) || status == 410
}

impl Facts {
    fn arrival(&self, place: usize) -> &Arrival {
        match &self.notes[place] {
            Entry::Arrived(arrival) => arrival,
            Entry::Answered { .. } => unreachable!("places of arrivals only"),
        }
    }

    /// The places at which answers that settle a webhook were about to be sent.
    fn settled<'a>(&'a self, webhook: &'a Webhook<'_>) -> impl Iterator<Item = (usize, u16)> + 'a {
        self.notes.iter().enumerate().filter_map(|(place, entry)| match entry {
            Entry::Answered { arrival, status } if webhook.arrivals.contains(arrival) && settles(*status) => {
                Some((place, *status))
            }
            _ => None,
        })
    }

    /// Holds everything against everything.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub(crate) fn judge(&self) -> Result<Told, String> {
        if self.misled > 0 {
            return Err(format!("{} were sent where a redirect pointed to", self.misled));
        }
        let webhooks = self.webhooks()?;
        for (id, webhook) in &webhooks {
            self.is_the_same_again(id, webhook)?;
        }
        for (id, order) in &self.orders {
            let taken = self.taken.get(id).copied().unwrap_or_default();
            if order.version <= taken {
                return Err(format!("a step was acknowledged and not taken: {id}"));
            }
            let mut told: Vec<_> = webhooks.values().filter(|webhook| webhook.order == id).collect();
            told.sort_by_key(|webhook| webhook.version);
            if !told.iter().map(|webhook| webhook.version).eq(1..=order.version) {
                return Err(format!("a version has no webhook: {id}"));
            }
            self.in_turn(id, &told)?;
            self.snapshots(order, &told).map_err(|wrong| format!("{wrong}: {id}"))?;
        }
        for webhook in webhooks.values() {
            for place in &webhook.arrivals {
                let arrival = self.arrival(*place);
                verify(arrival, &self.keys).map_err(|wrong| format!("{wrong}: {arrival:?}"))?;
            }
        }
        let again = |webhook: &Webhook<'_>| {
            let first = self.settled(webhook).next().map_or(usize::MAX, |(place, _)| place);
            webhook.arrivals.iter().filter(|place| **place > first).count()
        };
        Ok(Told {
            webhooks: webhooks.len(),
            arrivals: webhooks.values().map(|webhook| webhook.arrivals.len()).sum(),
            again: webhooks.values().map(again).sum(),
            gone: webhooks.values().filter(|webhook| webhook.state == "gone").count(),
        })
    }

    /// The webhooks by their identifiers. Each arrived, and nothing else did.
    fn webhooks(&self) -> Result<BTreeMap<&str, Webhook<'_>>, String> {
        let shown = |webhook: &'_ Value| webhook["order_version"].as_u64().unwrap_or_default();
        let mut webhooks: BTreeMap<_, _> = self
            .webhooks
            .iter()
            .map(|one| {
                let (order, version, state) = (text(one, "order_id"), shown(one), text(one, "state"));
                (text(one, "id"), Webhook { order, version, state, arrivals: Vec::new() })
            })
            .collect();
        for (place, entry) in self.notes.iter().enumerate() {
            let Entry::Arrived(arrival) = entry else { continue };
            let body: Value = serde_json::from_slice(&arrival.body).map_err(|_| "a body is no JSON".to_owned())?;
            let webhook = webhooks.get_mut(arrival.header("webhook-id")?);
            let webhook = webhook.filter(|webhook| webhook.order == text(&body, "id"));
            let webhook = webhook.ok_or_else(|| format!("a webhook that nobody knows of arrived: {arrival:?}"))?;
            webhook.arrivals.push(place);
            let owner = self.orders.get(webhook.order).map(|order| text(&order.document, "owner"));
            if owner.and_then(|owner| owner.rsplit('/').next()) != Some(&arrival.platform) {
                return Err(format!("another platform was told: {arrival:?}"));
            }
            let agent = arrival.header("ucp-agent")?;
            let profile = agent.strip_prefix("profile=\"").and_then(|rest| rest.strip_suffix('"'));
            if !profile.is_some_and(|profile| self.profiles.contains(profile)) {
                return Err(format!("no gateway has the profile of `{agent}`"));
            }
        }
        for (id, webhook) in &webhooks {
            if webhook.arrivals.is_empty() {
                return Err(format!("a webhook never arrived: {id}"));
            }
            let said = |status: u16| match webhook.state {
                "delivered" => (200..300).contains(&status),
                "gone" => status == 410,
                _ => false,
            };
            if !self.settled(webhook).any(|(_, status)| said(status)) {
                return Err(format!("the platform never said that a webhook is {}: {id}", webhook.state));
            }
        }
        Ok(webhooks)
    }

    /// Every try is the same to the byte, except for who sent it and the proof of it.
    fn is_the_same_again(&self, id: &str, webhook: &Webhook<'_>) -> Result<(), String> {
        let same = |one: &Arrival, other: &Arrival| {
            let names = ["webhook-id", "webhook-timestamp", "content-type"];
            one.body == other.body && names.iter().all(|name| one.header(name) == other.header(name))
        };
        let first = self.arrival(webhook.arrivals[0]);
        match webhook.arrivals.iter().find(|place| !same(first, self.arrival(**place))) {
            Some(place) => Err(format!("another try is not the same: {id}: {first:?} {:?}", self.arrival(*place))),
            None => Ok(()),
        }
    }

    /// A later one never arrives before the platform has settled the earlier one.
    fn in_turn(&self, id: &str, told: &[&Webhook<'_>]) -> Result<(), String> {
        for pair in told.windows(2) {
            let settled = self.settled(pair[0]).next().map_or(usize::MAX, |(place, _)| place);
            if pair[1].arrivals[0] < settled {
                let version = pair[0].version;
                return Err(format!("version {} came before version {version} was settled: {id}", version + 1));
            }
        }
        Ok(())
    }

    /// Each shows one step more than the one before and takes nothing back, and the last one the order as it is.
    fn snapshots(&self, order: &Order, told: &[&Webhook<'_>]) -> Result<(), String> {
        let bodies: Vec<Value> = told
            .iter()
            .map(|webhook| serde_json::from_slice(&self.arrival(webhook.arrivals[0]).body).expect("read before"))
            .collect();
        let steps = |body: &Value| {
            let list = |list: &Value| list.as_array().cloned().unwrap_or_default();
            (list(&body["fulfillment"]["events"]), list(&body["adjustments"]))
        };
        let quantities = |body: &Value| -> Vec<(String, i64, i64)> {
            let number = |line: &Value, name| line["quantity"][name].as_i64().unwrap_or(-1);
            let lines = body["line_items"].as_array().into_iter().flatten();
            lines.map(|line| (text(line, "id").to_owned(), number(line, "total"), number(line, "fulfilled"))).collect()
        };
        for pair in bodies.windows(2) {
            let ((events, adjustments), (later_events, later_adjustments)) = (steps(&pair[0]), steps(&pair[1]));
            if !later_events.starts_with(&events) || !later_adjustments.starts_with(&adjustments) {
                return Err("what was told is taken back".to_owned());
            }
            if later_events.len() + later_adjustments.len() != events.len() + adjustments.len() + 1 {
                return Err("a webhook does not tell of one step".to_owned());
            }
            let (before, after) = (quantities(&pair[0]), quantities(&pair[1]));
            let fits =
                |((id, total, fulfilled), (same, later_total, later)): (&(String, i64, i64), &(String, i64, i64))| {
                    id == same && later_total <= total && later >= fulfilled
                };
            if before.len() != after.len() || !before.iter().zip(&after).all(fits) {
                return Err("quantities go back".to_owned());
            }
        }
        let ids = |list: &[Value]| list.iter().map(|one| text(one, "id").to_owned()).collect::<Vec<_>>();
        let (events, adjustments) = steps(bodies.last().unwrap_or(&Value::Null));
        let stored = |name: &str| ids(order.document[name].as_array().map_or(&[], Vec::as_slice));
        let lines = order.document["line_items"].as_array().into_iter().flatten();
        let lines = lines.map(|line| {
            let number = |name: &str| line[name].as_i64().unwrap_or(-2);
            (text(line, "id").to_owned(), number("total"), number("fulfilled"))
        });
        let last = bodies.last().map(quantities).unwrap_or_default();
        if ids(&events) != stored("events") || ids(&adjustments) != stored("adjustments") || !lines.eq(last) {
            return Err("what was told last is not the order".to_owned());
        }
        Ok(())
    }
}
