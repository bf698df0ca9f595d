//! Reports of a shop behind another API about what has become of an order.
//!
//! A report lists occurrences, each with an identifier of the shop's. One that is known already changes nothing, except that
//! tracking data may be added or replaced, and that an adjustment may come to its end: reports may be repeated, and may
//! arrive in any order. What an occurrence states is judged: quantities stay within the lines, and no more is given back
//! than was paid.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AdjustmentStatus, Hold, LineQuantity, Order, OrderLine,
    progress::{Impossible, Tracking},
};
use crate::{
    money::{Amount, Currency},
    purchase::{
        line_item::PurchasedItem,
        totals::{TotalKind, Totals, amount_of},
    },
};

/// Maximum number of events and adjustments that an order has by reports.
const MOST_REPORTED: usize = 1_000;

/// Kind of adjustments that add goods to an order.
const ADDITION: &str = "addition";

named! {
    /// Kind of an occurrence.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum OccurrenceKind {
        /// Items were shipped.
        Shipped = "shipped",
        /// A parcel is on its way.
        InTransit = "in_transit",
        /// Items arrived, or were handed over.
        Delivered = "delivered",
        /// A delivery was attempted in vain.
        FailedAttempt = "failed_attempt",
        /// A parcel cannot be delivered.
        Undeliverable = "undeliverable",
        /// A parcel goes back to the shop.
        ReturnedToSender = "returned_to_sender",
        /// Items were canceled before they were shipped.
        Canceled = "canceled",
        /// The buyer returned items, or is about to.
        Returned = "returned",
        /// Items were added to the order.
        Added = "added",
        /// Money was given back.
        Refunded = "refunded",
        /// An authorized payment was captured.
        Captured = "captured",
        /// An authorized payment was released.
        Released = "released",
    }
}

/// Progress of an order, as its shop states it.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Identifier of the order at the shop.
    pub order: String,
    /// Currency of all amounts; `None` if there are none.
    pub currency: Option<Currency>,
    /// `true` if the shop states that the order came from this gateway.
    pub is_ours: bool,
    /// Occurrences, in the order in which they are applied.
    pub occurrences: Vec<Occurrence>,
}

/// Something that has happened to an order.
#[derive(Clone, Debug, PartialEq)]
pub struct Occurrence {
    /// Identifier, unique among the occurrences of the order.
    pub id: String,
    /// Kind.
    pub kind: OccurrenceKind,
    /// Time, UTC.
    pub at: Timestamp,
    /// Items that it is about; empty for all that are left, or for none in particular.
    pub lines: Vec<ReportedLine>,
    /// Amount of money that moved.
    pub amount: Option<Amount>,
    /// Progress of an adjustment.
    pub status: AdjustmentStatus,
    /// Tracking data.
    pub tracking: Tracking,
    /// Reason, for the buyer.
    pub reason: Option<String>,
}

/// Items of an occurrence.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedLine {
    /// Identifier of the variant.
    pub variant: String,
    /// Number of pieces.
    pub quantity: u64,
    /// Name for the buyer, of items that are new to the order.
    pub title: Option<String>,
    /// Price of a piece that is new to the order.
    pub price: Option<Amount>,
}

/// An occurrence that is known of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// Identifier at the shop.
    pub id: String,
    /// Identifier of its event or adjustment in the order; empty if it has none.
    pub entry: String,
}

/// Reason why an occurrence does not fit an order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The state of the order does not allow it.
    #[error(transparent)]
    Impossible(#[from] Impossible),
    /// The amounts are not in the currency of the order.
    #[error("its amounts must be in {0}, the currency of the order")]
    Currency(Currency),
    /// An amount is missing.
    #[error("`amount` must be stated, or lines that cost something")]
    NoAmount,
    /// An item that is new to the order has no price.
    #[error("a line with items that are added must state its `price`")]
    NoPrice,
    /// Items that are added are not named.
    #[error("`lines` must name what is added")]
    NoLines,
    /// The sum of the order becomes too large.
    #[error("the sum is too large")]
    TooLarge,
    /// An occurrence of this identifier is known, and was something else.
    #[error("`{0}` was reported before as something else")]
    Another(String),
    /// The order has too many occurrences.
    #[error("an order has at most {MOST_REPORTED} events")]
    TooMany,
}

/// An occurrence that does not fit an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Position of the occurrence in the report.
    pub position: usize,
    /// Reason.
    pub reason: Unfit,
}

impl OccurrenceKind {
    /// Returns the type of the adjustment that stands for the occurrence; `None` if there is none.
    const fn adjustment(self) -> Option<&'static str> {
        match self {
            Self::Canceled => Some("cancellation"),
            Self::Returned => Some("return"),
            Self::Added => Some(ADDITION),
            Self::Refunded => Some("refund"),
            _ => None,
        }
    }

    /// Returns `true` if the occurrence is an event of fulfillment.
    const fn is_event(self) -> bool {
        matches!(
            self,
            Self::Shipped
                | Self::InTransit
                | Self::Delivered
                | Self::FailedAttempt
                | Self::Undeliverable
                | Self::ReturnedToSender
        )
    }
}

impl Order {
    /// Applies the occurrences of a report that fit and are new, and returns those that do not fit. Nothing of an order
    /// changes that was not placed at a shop behind another API.
    pub fn apply(&mut self, report: &Report, now: Timestamp) -> Vec<Misfit> {
        let mut misfits = Vec::new();
        for (position, occurrence) in report.occurrences.iter().enumerate() {
            // An occurrence of the future would be followed for as long.
            let at = occurrence.at.min(now);
            let occurred = match self.known(&occurrence.id) {
                Some(entry) => self.again(&entry, occurrence, report.currency),
                None => self.occurred(occurrence, report.currency, at),
            };
            let is_about_all = occurrence.lines.is_empty() && occurrence.kind != OccurrenceKind::Refunded;
            let occurred = match occurred {
                // All that is left is nothing: it has happened before, under another name.
                Err(Unfit::Impossible(Impossible::NothingLeft)) if is_about_all => {
                    self.know(occurrence, String::new());
                    Ok(())
                }
                other => other,
            };
            if let Err(reason) = occurred {
                misfits.push(Misfit { position, reason });
            }
        }
        misfits
    }

    fn known(&self, id: &str) -> Option<String> {
        let known = self.remote.iter().flat_map(|remote| &remote.known).find(|known| known.id == id);
        known.map(|known| known.entry.clone())
    }

    /// Applies what has changed of an occurrence that is known.
    fn again(&mut self, entry: &str, occurrence: &Occurrence, currency: Option<Currency>) -> Result<(), Unfit> {
        let another = || Unfit::Another(occurrence.id.clone());
        if entry.is_empty() {
            return Ok(());
        }
        if occurrence.kind.is_event() {
            let event = self.events.iter_mut().find(|event| event.id == entry).ok_or_else(another)?;
            if event.kind != occurrence.kind.as_str() {
                return Err(another());
            }
            let Tracking { carrier, number, url } = occurrence.tracking.clone();
            event.carrier = carrier.or(event.carrier.take());
            event.tracking_number = number.or(event.tracking_number.take());
            event.tracking_url = url.or(event.tracking_url.take());
            return Ok(());
        }
        let kind = occurrence.kind.adjustment().ok_or_else(another)?;
        let own = self.currency;
        let adjustment = self.adjustments.iter_mut().find(|adjustment| adjustment.id == entry).ok_or_else(another)?;
        let stated = occurrence.amount.filter(|_| occurrence.kind == OccurrenceKind::Refunded);
        if stated.is_some() && currency != Some(own) {
            return Err(Unfit::Currency(own));
        }
        let given = -amount_of(&adjustment.totals, TotalKind::Total);
        if adjustment.kind != kind || stated.is_some_and(|amount| amount.minor() != given) {
            return Err(another());
        }
        // What has failed stays so, and what was carried out can only fail afterwards: a report may be an old one.
        let status = match (adjustment.status, occurrence.status) {
            (AdjustmentStatus::Pending, next) => next,
            (AdjustmentStatus::Completed, AdjustmentStatus::Failed) => AdjustmentStatus::Failed,
            (kept, _) => kept,
        };
        adjustment.status = status;
        Ok(())
    }

    /// Applies an occurrence that is new.
    fn occurred(&mut self, occurrence: &Occurrence, currency: Option<Currency>, at: Timestamp) -> Result<(), Unfit> {
        let Occurrence { kind, tracking, reason, status, .. } = occurrence;
        if self.remote.as_ref().is_none_or(|remote| remote.known.len() >= MOST_REPORTED) {
            return Err(Unfit::TooMany);
        }
        let has_money = occurrence.amount.is_some() || occurrence.lines.iter().any(|line| line.price.is_some());
        if has_money && currency != Some(self.currency) {
            return Err(Unfit::Currency(self.currency));
        }
        match kind {
            OccurrenceKind::Shipped | OccurrenceKind::Delivered => {
                let (kind, done) = (kind.as_str(), self.sums_of_events(kind.as_str()));
                let lines = self.meant(occurrence, |line| line.total.saturating_sub(so_far(&done, line)))?;
                for line in &mut self.line_items {
                    let sum = so_far(&done, line).saturating_add(quantity_of(&lines, &line.id));
                    line.fulfilled = line.fulfilled.max(sum.min(line.total));
                }
                self.happened(at, kind, lines, tracking.clone());
            }
            OccurrenceKind::InTransit
            | OccurrenceKind::FailedAttempt
            | OccurrenceKind::Undeliverable
            | OccurrenceKind::ReturnedToSender => {
                let lines = self.meant(occurrence, |line| line.total)?;
                self.happened(at, kind.as_str(), lines, tracking.clone());
            }
            OccurrenceKind::Canceled => {
                let lines = self.meant(occurrence, |line| line.total.saturating_sub(line.fulfilled))?;
                self.cancel(at, &lines, reason.clone())?;
            }
            OccurrenceKind::Returned => {
                let back = self.sums_of_adjustments("return");
                let lines = self.meant(occurrence, |line| line.fulfilled.saturating_sub(so_far(&back, line)))?;
                self.adjusted(at, "return", negative(lines), 0, reason.clone());
            }
            OccurrenceKind::Refunded => self.refunded(occurrence, at)?,
            OccurrenceKind::Added => self.added(occurrence, at)?,
            OccurrenceKind::Captured => self.captures(occurrence)?,
            OccurrenceKind::Released => {
                if self.payment.hold == Some(Hold::Authorized) {
                    self.payment.hold = Some(Hold::Released);
                }
            }
        }
        let entry = if kind.is_event() {
            self.events.last().map(|event| event.id.clone())
        } else if kind.adjustment().is_some() {
            let adjustment = self.adjustments.last_mut();
            adjustment.map(|adjustment| {
                adjustment.status = *status;
                adjustment.id.clone()
            })
        } else {
            Some(String::new())
        };
        if let (Some(event), true, Some(reason)) = (self.events.last_mut(), kind.is_event(), reason) {
            event.description = Some(reason.clone());
        }
        self.know(occurrence, entry.unwrap_or_default());
        Ok(())
    }

    fn know(&mut self, occurrence: &Occurrence, entry: String) {
        if let Some(remote) = &mut self.remote {
            remote.known.push(Known { id: occurrence.id.clone(), entry });
        }
    }

    fn refunded(&mut self, occurrence: &Occurrence, at: Timestamp) -> Result<(), Unfit> {
        let back = self.sums_of_adjustments("refund");
        let lines = match occurrence.lines.is_empty() {
            true => Vec::new(),
            false => self.meant(occurrence, |line| line.original.saturating_sub(so_far(&back, line)))?,
        };
        let hold = self.payment.hold.clone();
        if hold == Some(Hold::Authorized) {
            // Nothing is given back that was not captured before, whether or not that was reported.
            self.payment.hold = None;
        }
        let refunded = match occurrence.amount {
            None if lines.is_empty() => Err(Unfit::NoAmount),
            amount => {
                let amount = amount.map(Amount::minor);
                Self::refund(self, at, amount, &lines, occurrence.reason.clone()).map(drop).map_err(Unfit::from)
            }
        };
        if refunded.is_err() {
            self.payment.hold = hold;
        }
        refunded
    }

    fn added(&mut self, occurrence: &Occurrence, at: Timestamp) -> Result<(), Unfit> {
        if occurrence.lines.is_empty() {
            return Err(Unfit::NoLines);
        }
        let mut new = Vec::with_capacity(occurrence.lines.len());
        let (mut worth, mut number) = (0_i128, self.line_items.len());
        for line in &occurrence.lines {
            let before = self.line_items.iter().find(|own| own.item.id == line.variant);
            let price = line.price.or(before.map(|own| own.item.price)).ok_or(Unfit::NoPrice)?;
            let title = line.title.clone().or(before.map(|own| own.item.title.clone()));
            let sum = i128::from(price.minor()) * i128::from(line.quantity);
            let totals = Totals::of(sum).and_then(Totals::finish).map_err(|_| Unfit::TooLarge)?;
            worth += sum;
            let id = loop {
                number += 1;
                let id = format!("li_{number}");
                if self.line_items.iter().all(|own| own.id != id) {
                    break id;
                }
            };
            let item = match before {
                Some(own) => PurchasedItem { price, ..own.item.clone() },
                None => PurchasedItem {
                    id: line.variant.clone(),
                    title: title.unwrap_or_else(|| line.variant.clone()),
                    price,
                    image_url: None,
                    needs_fulfillment: true,
                    weight_grams: 0,
                    lead_time: crate::catalog::product::LeadTime::default(),
                },
            };
            let (original, total) = (line.quantity, line.quantity);
            new.push(OrderLine { id, item, original, total, fulfilled: 0, totals, parent_id: None });
        }
        let worth = i64::try_from(worth).ok().filter(|worth| Amount::new(*worth).is_some()).ok_or(Unfit::TooLarge)?;
        let lines = new.iter().map(|line| LineQuantity { id: line.id.clone(), quantity: signed(line.original) });
        let lines = lines.collect();
        self.line_items.append(&mut new);
        self.adjusted(at, ADDITION, lines, worth, occurrence.reason.clone());
        Ok(())
    }

    fn captures(&mut self, occurrence: &Occurrence) -> Result<(), Unfit> {
        if self.payment.hold != Some(Hold::Authorized) {
            return Ok(());
        }
        let left = amount_of(&self.totals, TotalKind::Total);
        let amount = occurrence.amount.map_or(left, Amount::minor);
        if !(1..=left).contains(&amount) {
            return Err(Impossible::TooMuchCaptured { left, wanted: amount }.into());
        }
        self.payment.hold = Some(Hold::Captured { amount });
        Ok(())
    }

    /// Returns the amount of goods that were added after the purchase, in minor units.
    pub(super) fn additions(&self) -> i64 {
        let added = self
            .adjustments
            .iter()
            .filter(|adjustment| adjustment.kind == ADDITION && adjustment.status == AdjustmentStatus::Completed);
        added.map(|added| amount_of(&added.totals, TotalKind::Total)).sum()
    }

    /// Returns the lines that an occurrence is about: those of its variants that have something left, or all of them if it
    /// names none.
    fn meant(
        &self,
        occurrence: &Occurrence,
        left: impl Fn(&OrderLine) -> u64,
    ) -> Result<Vec<LineQuantity>, Impossible> {
        let mut meant: Vec<LineQuantity> = Vec::new();
        if occurrence.lines.is_empty() {
            let all = self.line_items.iter().filter(|line| left(line) > 0);
            meant.extend(all.map(|line| LineQuantity { id: line.id.clone(), quantity: signed(left(line)) }));
            return if meant.is_empty() { Err(Impossible::NothingLeft) } else { Ok(meant) };
        }
        for stated in &occurrence.lines {
            let mut wanted = stated.quantity;
            let mut found = 0_u64;
            let own = || self.line_items.iter().filter(|line| line.item.id == stated.variant);
            if own().next().is_none() {
                return Err(Impossible::NoSuchLine(stated.variant.clone()));
            }
            for line in own() {
                let free = left(line).saturating_sub(quantity_of(&meant, &line.id));
                let taken = free.min(wanted);
                found = found.saturating_add(free);
                if taken == 0 {
                    continue;
                }
                wanted -= taken;
                match meant.iter_mut().find(|known| known.id == line.id) {
                    Some(known) => known.quantity = known.quantity.saturating_add(signed(taken)),
                    None => meant.push(LineQuantity { id: line.id.clone(), quantity: signed(taken) }),
                }
            }
            if wanted > 0 || stated.quantity == 0 {
                let (line, wanted) = (stated.variant.clone(), stated.quantity);
                return Err(Impossible::TooMany { line, left: found, wanted });
            }
        }
        Ok(meant)
    }

    /// Returns how many pieces of each line the events of a kind are about.
    fn sums_of_events(&self, kind: &str) -> BTreeMap<String, u64> {
        sums(self.events.iter().filter(|event| event.kind == kind).flat_map(|event| &event.line_items))
    }

    /// Returns how many pieces of each line the adjustments of a kind take back that have not failed.
    fn sums_of_adjustments(&self, kind: &str) -> BTreeMap<String, u64> {
        let own = self
            .adjustments
            .iter()
            .filter(|adjustment| adjustment.kind == kind && adjustment.status != AdjustmentStatus::Failed);
        sums(own.flat_map(|adjustment| &adjustment.line_items))
    }
}

fn sums<'l>(lines: impl Iterator<Item = &'l LineQuantity>) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::<String, u64>::new();
    for line in lines {
        let sum = sums.entry(line.id.clone()).or_default();
        *sum = sum.saturating_add(line.quantity.unsigned_abs());
    }
    sums
}

fn so_far(sums: &BTreeMap<String, u64>, line: &OrderLine) -> u64 {
    sums.get(&line.id).copied().unwrap_or_default()
}

fn negative(lines: Vec<LineQuantity>) -> Vec<LineQuantity> {
    lines.into_iter().map(|line| LineQuantity { quantity: -line.quantity, ..line }).collect()
}

fn quantity_of(lines: &[LineQuantity], id: &str) -> u64 {
    let own = lines.iter().filter(|line| line.id == id);
    own.map(|line| line.quantity.unsigned_abs()).fold(0, u64::saturating_add)
}

fn signed(quantity: u64) -> i64 {
    i64::try_from(quantity).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::order::{RemoteOrder, progress::tests::order as own_order};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn order() -> Order {
        let remote = RemoteOrder::new("10042".into(), None, NOW);
        Order { remote: Some(remote), ..own_order() }
    }

    fn occurrence(id: &str, kind: OccurrenceKind, lines: &[(&str, u64)], amount: Option<i64>) -> Occurrence {
        let line = |(variant, quantity): &(&str, u64)| ReportedLine {
            variant: (*variant).to_owned(),
            quantity: *quantity,
            title: None,
            price: None,
        };
        Occurrence {
            id: id.to_owned(),
            kind,
            at: NOW,
            lines: lines.iter().map(line).collect(),
            amount: amount.and_then(Amount::new),
            status: AdjustmentStatus::Completed,
            tracking: Tracking::default(),
            reason: None,
        }
    }

    fn report(occurrences: Vec<Occurrence>) -> Report {
        Report { order: "10042".into(), currency: Some(Currency::USD), is_ours: true, occurrences }
    }

    fn unfit(order: &mut Order, occurrence: Occurrence) -> Unfit {
        let before = order.clone();
        let misfits = order.apply(&report(vec![occurrence]), NOW);
        assert_eq!(*order, before, "what does not fit changes nothing");
        misfits.into_iter().next().expect("it does not fit").reason
    }

    #[test]
    fn a_repeated_report_changes_nothing_and_later_tracking_is_added() {
        let mut order = order();
        let mut shipped = occurrence("parcel 1", OccurrenceKind::Shipped, &[("item_li_1", 2)], None);
        assert_eq!(order.apply(&report(vec![shipped.clone()]), NOW), []);
        let once = order.clone();
        assert_eq!((once.events.len(), once.line_items[0].fulfilled), (1, 2));
        assert_eq!(order.apply(&report(vec![shipped.clone(), shipped.clone()]), NOW), []);
        assert_eq!(order, once);
        shipped.tracking.number = Some("T1".into());
        assert_eq!(order.apply(&report(vec![shipped.clone()]), NOW), []);
        assert_eq!((order.events.len(), order.events[0].tracking_number.as_deref()), (1, Some("T1")));
        let other = occurrence("parcel 1", OccurrenceKind::Refunded, &[], Some(1));
        assert_eq!(unfit(&mut order, other), Unfit::Another("parcel 1".into()));
    }

    #[test]
    fn what_arrives_before_it_was_shipped_is_fulfilled_once() {
        let mut order = order();
        let delivered = occurrence("d", OccurrenceKind::Delivered, &[("item_li_1", 3)], None);
        let shipped = occurrence("s", OccurrenceKind::Shipped, &[("item_li_1", 3)], None);
        assert_eq!(order.apply(&report(vec![delivered, shipped]), NOW), []);
        assert_eq!((order.line_items[0].fulfilled, order.events.len()), (3, 2));
        let more = occurrence("s2", OccurrenceKind::Shipped, &[("item_li_1", 1)], None);
        let left = Impossible::TooMany { line: "item_li_1".into(), left: 0, wanted: 1 };
        assert_eq!(unfit(&mut order, more), left.into());
        let stranger = occurrence("s3", OccurrenceKind::Shipped, &[("item_li_9", 1)], None);
        assert_eq!(unfit(&mut order, stranger), Impossible::NoSuchLine("item_li_9".into()).into());
    }

    #[test]
    fn money_is_judged_by_currency_amount_and_quantity() {
        let mut order = order();
        let refund = |id: &str, amount| occurrence(id, OccurrenceKind::Refunded, &[], Some(amount));
        let mut euros = report(vec![refund("r1", 100)]);
        euros.currency = "EUR".parse().ok();
        let misfit = order.apply(&euros, NOW).remove(0);
        assert_eq!(misfit.reason, Unfit::Currency(Currency::USD));
        assert_eq!(order.apply(&report(vec![refund("r1", 3_000)]), NOW), []);
        let much = Impossible::TooMuch { left: 1_000, wanted: 1_001 };
        assert_eq!(unfit(&mut order, refund("r2", 1_001)), much.into());
        assert_eq!(unfit(&mut order, refund("r1", 2_000)), Unfit::Another("r1".into()));
        assert_eq!(unfit(&mut order, occurrence("r3", OccurrenceKind::Refunded, &[], None)), Unfit::NoAmount);
        let of_lines = occurrence("r4", OccurrenceKind::Refunded, &[("item_li_2", 2)], Some(500));
        assert_eq!(order.apply(&report(vec![of_lines]), NOW), []);
        let again = occurrence("r5", OccurrenceKind::Refunded, &[("item_li_2", 1)], Some(100));
        let left = Impossible::TooMany { line: "item_li_2".into(), left: 0, wanted: 1 };
        assert_eq!(unfit(&mut order, again), left.into());
        assert_eq!(order.refundable(), 500);
    }

    #[test]
    fn a_refund_comes_to_its_end_and_never_back() {
        let mut order = order();
        let with = |status| Occurrence { status, ..occurrence("r", OccurrenceKind::Refunded, &[], Some(700)) };
        use AdjustmentStatus::{Completed, Failed, Pending};
        for (reported, expected, left) in [
            (Pending, Pending, 3_300),
            (Completed, Completed, 3_300),
            (Pending, Completed, 3_300),
            (Failed, Failed, 4_000),
            (Completed, Failed, 4_000),
        ] {
            assert_eq!(order.apply(&report(vec![with(reported)]), NOW), []);
            assert_eq!((order.adjustments.len(), order.adjustments[0].status), (1, expected));
            assert_eq!(order.refundable(), left);
        }
    }

    #[test]
    fn lines_change_and_what_is_authorized_is_captured() {
        let mut order = order();
        order.payment.hold = Some(Hold::Authorized);
        assert_eq!(order.captured(), 0);
        let captured = occurrence("c", OccurrenceKind::Captured, &[], Some(3_000));
        assert_eq!(order.apply(&report(vec![captured.clone(), captured]), NOW), []);
        assert_eq!(order.captured(), 3_000);
        let canceled = occurrence("x", OccurrenceKind::Canceled, &[("item_li_1", 1)], None);
        let mut added = occurrence("a", OccurrenceKind::Added, &[("new", 2)], None);
        assert_eq!(unfit(&mut order, added.clone()), Unfit::NoPrice);
        added.lines[0].price = Amount::new(250);
        assert_eq!(order.apply(&report(vec![canceled, added]), NOW), []);
        let lines: Vec<_> = order.line_items.iter().map(|line| (&*line.id, line.total)).collect();
        assert_eq!(lines, [("li_1", 2), ("li_2", 2), ("li_3", 2)]);
        assert_eq!(order.refundable(), 3_500, "what was added was paid as well");
    }

    proptest! {
        /// For any report, quantities stay within the lines, no more is given back than was paid, and a report that is
        /// repeated changes nothing.
        #[test]
        fn reports_keep_an_order_within_its_bounds(
            steps in prop::collection::vec((0..12_usize, 0..8_u8, 0..4_usize, 0..5_u64, prop::option::of(0..3_000_i64)), 0..30),
        ) {
            let mut order = order();
            for (kind, id, line, quantity, amount) in steps {
                let names = [("item_li_1", quantity), ("item_li_2", quantity), ("nothing", quantity)];
                let lines = if line == 3 { &[][..] } else { &names[line..=line] };
                let one = report(vec![occurrence(&id.to_string(), OccurrenceKind::ALL[kind], lines, amount)]);
                let before = order.clone();
                let unfit = !order.apply(&one, NOW).is_empty();
                prop_assert!(!unfit || order == before, "what does not fit changes nothing");
                let after = order.clone();
                order.apply(&one, NOW);
                prop_assert_eq!(&order, &after);
                for line in &order.line_items {
                    prop_assert!(line.fulfilled <= line.total && line.total <= line.original);
                }
                let refunds = order.adjustments.iter().filter(|adjustment| adjustment.kind == "refund");
                let given: i64 = refunds.map(|refund| -amount_of(&refund.totals, TotalKind::Total)).sum();
                prop_assert!(given <= 4_000 + order.additions());
            }
        }
    }
}
