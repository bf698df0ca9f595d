//! Changes of an order after the purchase (rules ORD-02 and ORD-03).
//!
//! Each step adds an event or an adjustment and never changes an earlier one. Quantities follow from the steps: goods
//! that were shipped or handed over count as fulfilled, canceled goods are subtracted from the total.

use jiff::Timestamp;

use super::{Adjustment, AdjustmentStatus, Event, LineQuantity, Order, OrderLine};
use crate::purchase::totals::{Total, TotalKind, amount_of};

/// Tracking data of a parcel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tracking {
    /// Name of the carrier.
    pub carrier: Option<String>,
    /// Tracking number.
    pub number: Option<String>,
    /// URL of the tracking page.
    pub url: Option<String>,
}

/// Reason for which a step is impossible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Impossible {
    /// The order has no such line.
    #[error("the order has no line `{0}`")]
    NoSuchLine(String),
    /// The line has not enough left for the step.
    #[error("line `{line}` has {left} left for this, not {wanted}")]
    TooMany {
        /// Identifier of the line.
        line: String,
        /// Quantity that is left.
        left: u64,
        /// Requested quantity.
        wanted: u64,
    },
    /// Nothing is left for the step.
    #[error("nothing is left of the order for this")]
    NothingLeft,
    /// The refund exceeds the amount that is left to refund.
    #[error("{left} minor units are left to give back, not {wanted}")]
    TooMuch {
        /// Amount that is left, in minor units.
        left: i64,
        /// Requested amount, in minor units.
        wanted: i64,
    },
    /// A refund of lines without an amount, for lines that cost nothing.
    #[error("these lines cost nothing; state the amount to give back")]
    NothingPaid,
    /// The order has no adjustment of this identifier that is to be confirmed.
    #[error("the order has no refund `{0}` that waits to be confirmed")]
    NoSuchRefund(String),
    /// The capture is not from 1 to what was authorized of the goods that are left.
    #[error("a capture must be 1 to {left} minor units, not {wanted}")]
    TooMuchCaptured {
        /// Amount that was authorized of the goods that are left, in minor units.
        left: i64,
        /// Requested amount, in minor units.
        wanted: i64,
    },
    /// The money does not wait to be captured.
    #[error("its money does not wait to be captured: {0}")]
    NotHeld(&'static str),
}

impl Order {
    /// Ships the given lines, or everything that is left if `lines` is empty.
    pub fn ship(&mut self, at: Timestamp, lines: &[LineQuantity], tracking: Tracking) -> Result<(), Impossible> {
        let lines = self.chosen(lines, |line| line.total.saturating_sub(line.fulfilled))?;
        for line in &mut self.line_items {
            line.fulfilled += quantity_of(&lines, &line.id);
        }
        self.happened(at, "shipped", lines, tracking);
        Ok(())
    }

    /// Reports the arrival of the given lines, or of everything that has not arrived yet if `lines` is empty. Lines
    /// that were never shipped count as handed over.
    pub fn deliver(&mut self, at: Timestamp, lines: &[LineQuantity]) -> Result<(), Impossible> {
        let arrived = |events: &[Event], id: &str| -> u64 {
            let delivered = events.iter().filter(|event| event.kind == "delivered");
            delivered.map(|event| quantity_of(&event.line_items, id)).sum()
        };
        let events = std::mem::take(&mut self.events);
        let chosen = self.chosen(lines, |line| line.total.saturating_sub(arrived(&events, &line.id)));
        let before: Vec<_> = self.line_items.iter().map(|line| arrived(&events, &line.id)).collect();
        self.events = events;
        let lines = chosen?;
        for (line, before) in self.line_items.iter_mut().zip(before) {
            line.fulfilled = line.fulfilled.max(before + quantity_of(&lines, &line.id));
        }
        self.happened(at, "delivered", lines, Tracking::default());
        Ok(())
    }

    /// Cancels the given lines, or everything that was not shipped yet if `lines` is empty. Returns the amount to
    /// refund for them in minor units; the refund is a separate step.
    pub fn cancel(&mut self, at: Timestamp, lines: &[LineQuantity], reason: Option<String>) -> Result<i64, Impossible> {
        let lines = self.chosen(lines, |line| line.total.saturating_sub(line.fulfilled))?;
        let worth = self.worth(&lines);
        for line in &mut self.line_items {
            line.total -= quantity_of(&lines, &line.id);
        }
        let taken = lines.into_iter().map(|line| LineQuantity { quantity: -line.quantity, ..line }).collect();
        self.adjusted(at, "cancellation", taken, -worth, reason);
        Ok(worth)
    }

    /// Begins to refund an amount in minor units: that which was paid for `lines`, or everything that is left, if
    /// `amount` is `None`. Returns the amount. `lines` states the goods that the refund is for, without changing their
    /// quantities. Fails with [`Impossible`] if nothing is left to refund, the amount is not from 1 to the rest, a line
    /// does not exist, or its quantity is not from 1 to what was bought.
    pub fn refund(
        &mut self,
        at: Timestamp,
        amount: Option<i64>,
        lines: &[LineQuantity],
        reason: Option<String>,
    ) -> Result<i64, Impossible> {
        let lines = if lines.is_empty() { Vec::new() } else { self.chosen(lines, |line| line.original)? };
        let left = self.refundable();
        let wanted = match amount {
            None if lines.is_empty() => left,
            None => match self.worth(&lines) {
                0 => return Err(Impossible::NothingPaid),
                worth => worth,
            },
            Some(amount) => amount,
        };
        if left == 0 {
            return Err(Impossible::NothingLeft);
        }
        if wanted < 1 || wanted > left {
            return Err(Impossible::TooMuch { left, wanted });
        }
        let lines = lines.into_iter().map(|line| LineQuantity { id: line.id, quantity: -line.quantity });
        self.adjusted(at, "refund", lines.collect(), -wanted, reason);
        if let Some(refund) = self.adjustments.last_mut() {
            refund.status = AdjustmentStatus::Pending;
        }
        Ok(wanted)
    }

    /// Returns the amount captured that has been neither refunded yet nor is being refunded, in minor units.
    pub fn refundable(&self) -> i64 {
        let refunds = self
            .adjustments
            .iter()
            .filter(|adjustment| adjustment.kind == "refund" && adjustment.status != AdjustmentStatus::Failed);
        let given: i64 = refunds.map(|refund| -amount_of(&refund.totals, TotalKind::Total)).sum();
        (self.captured() + self.additions() - given).max(0)
    }

    /// Returns what was paid for quantities of lines, in minor units.
    fn worth(&self, lines: &[LineQuantity]) -> i64 {
        let of_line = |line: &OrderLine| match line.original {
            0 => 0,
            original => {
                let total = i128::from(amount_of(&line.totals, TotalKind::Total));
                total * i128::from(quantity_of(lines, &line.id)) / i128::from(original)
            }
        };
        i64::try_from(self.line_items.iter().map(of_line).sum::<i128>()).unwrap_or(i64::MAX)
    }

    /// Returns the lines of a step, and checks that enough of them is left.
    fn chosen(
        &self,
        lines: &[LineQuantity],
        left: impl Fn(&OrderLine) -> u64,
    ) -> Result<Vec<LineQuantity>, Impossible> {
        if lines.is_empty() {
            let all = self.line_items.iter().filter(|line| left(line) > 0);
            let all: Vec<_> =
                all.map(|line| LineQuantity { id: line.id.clone(), quantity: signed(left(line)) }).collect();
            return if all.is_empty() { Err(Impossible::NothingLeft) } else { Ok(all) };
        }
        let mut chosen: Vec<LineQuantity> = Vec::with_capacity(lines.len());
        for line in lines {
            match chosen.iter_mut().find(|known| known.id == line.id) {
                Some(known) => known.quantity = known.quantity.saturating_add(line.quantity),
                None => chosen.push(line.clone()),
            }
        }
        for line in &chosen {
            let known = self.line_items.iter().find(|known| known.id == line.id);
            let left = left(known.ok_or_else(|| Impossible::NoSuchLine(line.id.clone()))?);
            let wanted = u64::try_from(line.quantity).unwrap_or(0);
            if wanted == 0 || wanted > left {
                return Err(Impossible::TooMany { line: line.id.clone(), left, wanted });
            }
        }
        Ok(chosen)
    }

    pub(super) fn happened(&mut self, at: Timestamp, kind: &str, line_items: Vec<LineQuantity>, tracking: Tracking) {
        self.events.push(Event {
            id: format!("evt_{}", self.events.len() + 1),
            occurred_at: at,
            kind: kind.to_owned(),
            line_items,
            tracking_number: tracking.number,
            tracking_url: tracking.url,
            carrier: tracking.carrier,
            description: None,
        });
    }

    pub(super) fn adjusted(
        &mut self,
        at: Timestamp,
        kind: &str,
        lines: Vec<LineQuantity>,
        amount: i64,
        reason: Option<String>,
    ) {
        self.adjustments.push(Adjustment {
            id: format!("adj_{}", self.adjustments.len() + 1),
            kind: kind.to_owned(),
            occurred_at: at,
            status: AdjustmentStatus::Completed,
            line_items: lines,
            totals: vec![Total { kind: TotalKind::Total, display_text: None, amount }],
            description: reason,
            by_hand: false,
        });
    }
}

fn quantity_of(lines: &[LineQuantity], id: &str) -> u64 {
    lines.iter().filter(|line| line.id == id).map(|line| u64::try_from(line.quantity).unwrap_or(0)).sum()
}

fn signed(quantity: u64) -> i64 {
    i64::try_from(quantity).unwrap_or(i64::MAX)
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        money::{Amount, Currency},
        order::{LineStatus, OrderLine, Payment},
        purchase::line_item::PurchasedItem,
    };

    fn line(id: &str, quantity: u64, price: i64) -> OrderLine {
        let amount = price * signed(quantity);
        OrderLine {
            id: id.into(),
            item: PurchasedItem {
                id: format!("item_{id}"),
                title: "A thing".into(),
                price: Amount::new(price).expect("an amount"),
                image_url: None,
                needs_fulfillment: true,
                weight_grams: 0,
                lead_time: crate::catalog::product::LeadTime::default(),
            },
            original: quantity,
            total: quantity,
            fulfilled: 0,
            totals: vec![Total { kind: TotalKind::Total, display_text: None, amount }],
            parent_id: None,
        }
    }

    pub(in crate::order) fn order() -> Order {
        Order {
            id: "ord_1".into(),
            label: "#1".into(),
            token: "t".into(),
            owner: "https://agent.example/".into(),
            checkout_id: "chk_1".into(),
            line_items: vec![line("li_1", 3, 1_000), line("li_2", 2, 500)],
            currency: Currency::USD,
            totals: vec![Total { kind: TotalKind::Total, display_text: None, amount: 4_000 }],
            expectations: Vec::new(),
            events: Vec::new(),
            adjustments: Vec::new(),
            attribution: None,
            payment: Payment {
                handler_id: "h".into(),
                attempt_id: "a".into(),
                reference: "r".into(),
                mandate: None,
                hold: None,
            },
            remote: None,
            placed_at: Timestamp::UNIX_EPOCH,
        }
    }

    fn of(id: &str, quantity: i64) -> Vec<LineQuantity> {
        vec![LineQuantity { id: id.into(), quantity }]
    }

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    #[test]
    fn lines_go_from_processing_to_fulfilled_or_removed() {
        let mut order = order();
        order.ship(NOW, &of("li_1", 2), Tracking::default()).expect("there are three");
        assert_eq!(order.line_items[0].status(), LineStatus::Partial);
        assert_eq!(order.line_items[1].status(), LineStatus::Processing);
        assert_eq!(order.cancel(NOW, &of("li_2", 2), None), Ok(1_000));
        assert_eq!(order.line_items[1].status(), LineStatus::Removed);
        assert_eq!(
            order.ship(NOW, &of("li_1", 2), Tracking::default()),
            Err(Impossible::TooMany { line: "li_1".into(), left: 1, wanted: 2 })
        );
        order.ship(NOW, &[], Tracking::default()).expect("one is left");
        assert_eq!(order.line_items[0].status(), LineStatus::Fulfilled);
        order.deliver(NOW, &[]).expect("all of it");
        assert_eq!(order.deliver(NOW, &[]), Err(Impossible::NothingLeft));
        assert_eq!(order.ship(NOW, &[], Tracking::default()), Err(Impossible::NothingLeft));
        let kinds: Vec<_> = order.events.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(kinds, ["shipped", "shipped", "delivered"]);
    }

    #[test]
    fn no_more_is_given_back_than_was_paid() {
        let mut order = order();
        assert_eq!(order.refund(NOW, Some(1_500), &of("li_1", 1), Some("broken".into())), Ok(1_500));
        assert_eq!(order.refund(NOW, Some(2_501), &[], None), Err(Impossible::TooMuch { left: 2_500, wanted: 2_501 }));
        assert_eq!(order.refund(NOW, Some(-1), &[], None), Err(Impossible::TooMuch { left: 2_500, wanted: -1 }));
        assert_eq!(order.refund(NOW, None, &of("li_9", 1), None), Err(Impossible::NoSuchLine("li_9".into())));
        assert_eq!(order.refund(NOW, None, &[], None), Ok(2_500));
        assert_eq!(order.refund(NOW, None, &[], None), Err(Impossible::NothingLeft));
        assert_eq!(order.adjustments[0].line_items, of("li_1", -1));
    }

    proptest! {
        /// Invariants of any sequence of steps: quantities stay within the order, and reported steps are never
        /// withdrawn.
        #[test]
        fn progress_of_an_order_never_takes_anything_back(steps in prop::collection::vec((0..4_u8, 0..3_usize, -1_i64..5), 0..30)) {
            let mut order = order();
            for (step, line, quantity) in steps {
                let lines = match line { 0 => Vec::new(), line => of(&format!("li_{line}"), quantity) };
                let before = order.clone();
                let done = match step {
                    0 => order.ship(NOW, &lines, Tracking::default()).is_ok(),
                    1 => order.deliver(NOW, &lines).is_ok(),
                    2 => order.cancel(NOW, &lines, None).is_ok(),
                    _ => order.refund(NOW, Some(quantity * 700), &[], None).is_ok(),
                };
                prop_assert_eq!(&order.events[..before.events.len()], &before.events[..]);
                prop_assert_eq!(&order.adjustments[..before.adjustments.len()], &before.adjustments[..]);
                let added = order.events.len() + order.adjustments.len() - before.events.len() - before.adjustments.len();
                prop_assert_eq!(added, usize::from(done));
                prop_assert!(done || order == before, "a step that is not taken changes nothing");
                for line in &order.line_items {
                    prop_assert!(line.fulfilled <= line.total && line.total <= line.original);
                }
                prop_assert!(order.refundable() >= 0);
            }
        }
    }
}
