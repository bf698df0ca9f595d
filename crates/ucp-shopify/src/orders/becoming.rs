//! Progress of orders, from webhooks of the shop: fulfillments, refunds and cancellations, each in an event of its own or
//! in one about the order as a whole.

use jiff::Timestamp;
use serde::Deserialize;
use ucp_core::{
    money::{Amount, Currency},
    order::{
        AdjustmentStatus,
        progress::Tracking,
        report::{Occurrence, OccurrenceKind, Report, ReportedLine},
    },
};

use super::{NoOrder, line_item, order_id};
use crate::{
    money::{self, NoMoney},
    shapes::shapes,
    text,
};

/// Maximum number of fulfillments or refunds of an order that are read.
const MOST: usize = 200;

shapes! { (Deserialize) "snake_case"
    /// A fulfillment.
    Fulfillment {
        id: u64, order_id: u64, #[serde(default)] status: Option<String>, created_at: Timestamp,
        #[serde(default)] updated_at: Option<Timestamp>, #[serde(default)] tracking_company: Option<String>,
        #[serde(default)] tracking_number: Option<String>, #[serde(default)] tracking_url: Option<String>,
        #[serde(default)] shipment_status: Option<String>, #[serde(default)] line_items: Vec<FulfilledLine>,
    }
    FulfilledLine { id: u64, variant_id: Option<u64>, quantity: u64 }
    /// A refund: goods that came back or were canceled, and money that was given back.
    Refund {
        id: u64, order_id: u64, created_at: Timestamp, #[serde(default)] note: Option<String>,
        #[serde(default)] refund_line_items: Vec<RefundedLine>, #[serde(default)] transactions: Vec<Transaction>,
    }
    RefundedLine { quantity: u64, #[serde(default)] restock_type: Option<String>, line_item: RefundedItem }
    RefundedItem { id: u64, variant_id: Option<u64> }
    Transaction { id: u64, kind: String, status: String, amount: String, currency: String }
    /// Progress of an order, in a webhook about the order as a whole.
    Becoming {
        id: u64, #[serde(default)] cancelled_at: Option<Timestamp>, #[serde(default)] financial_status: Option<String>,
        created_at: Timestamp, #[serde(default)] fulfillments: Vec<Fulfillment>, #[serde(default)] refunds: Vec<Refund>,
    }
}

impl Fulfillment {
    pub(super) fn report(&self) -> Report {
        report(self.order_id, None, false, self.occurrences())
    }

    /// Returns the parcel, and how far it has come. One that was called off is none.
    fn occurrences(&self) -> Vec<Occurrence> {
        if matches!(self.status.as_deref(), Some("cancelled" | "error" | "failure")) {
            return Vec::new();
        }
        let shown = |text: &Option<String>| text.as_deref().and_then(text::line);
        let lines = self.line_items.iter().filter(|line| line.quantity > 0);
        let lines = lines.map(|line| reported(line.variant_id, line.id, line.quantity)).collect();
        let id = format!("fulfillment:{}", self.id);
        let shipped = Occurrence {
            lines,
            tracking: Tracking {
                carrier: shown(&self.tracking_company),
                number: shown(&self.tracking_number),
                url: self.tracking_url.as_deref().and_then(text::address),
            },
            ..occurrence(id, OccurrenceKind::Shipped, self.created_at)
        };
        let kind = match self.shipment_status.as_deref() {
            Some("in_transit" | "out_for_delivery") => Some(OccurrenceKind::InTransit),
            Some("delivered") => Some(OccurrenceKind::Delivered),
            Some("attempted_delivery") => Some(OccurrenceKind::FailedAttempt),
            Some("failure") => Some(OccurrenceKind::Undeliverable),
            _ => None,
        };
        let further = kind.map(|kind| {
            let id = format!("{}:{}", shipped.id, kind.as_str());
            let at = self.updated_at.unwrap_or(self.created_at);
            Occurrence { lines: shipped.lines.clone(), ..occurrence(id, kind, at) }
        });
        std::iter::once(shipped).chain(further).collect()
    }
}

impl Refund {
    pub(super) fn report(&self) -> Result<Report, NoOrder> {
        let (currency, occurrences) = self.occurrences()?;
        Ok(report(self.order_id, currency, false, occurrences))
    }

    fn occurrences(&self) -> Result<(Option<Currency>, Vec<Occurrence>), NoOrder> {
        let of = |wanted: &dyn Fn(&str) -> bool| {
            let lines = self.refund_line_items.iter().filter(|line| line.quantity > 0);
            let lines = lines.filter(|line| wanted(line.restock_type.as_deref().unwrap_or_default()));
            let reported = |line: &RefundedLine| reported(line.line_item.variant_id, line.line_item.id, line.quantity);
            lines.map(reported).collect::<Vec<_>>()
        };
        let reason = self.note.as_deref().and_then(text::line);
        let mut occurrences = Vec::new();
        for (kind, lines) in [
            (OccurrenceKind::Canceled, of(&|restocked| restocked == "cancel")),
            (OccurrenceKind::Returned, of(&|restocked| matches!(restocked, "return" | "legacy_restock"))),
        ] {
            if !lines.is_empty() {
                let id = format!("refund:{}:{}", self.id, kind.as_str());
                let reason = reason.clone();
                occurrences.push(Occurrence { lines, reason, ..occurrence(id, kind, self.created_at) });
            }
        }
        let mut all = None;
        for transaction in self.transactions.iter().filter(|transaction| transaction.kind == "refund") {
            let currency: Currency = transaction.currency.parse().map_err(|_| NoMoney::Currency)?;
            if all.is_some_and(|all| all != currency) {
                return Err(NoOrder::Currencies);
            }
            all = Some(currency);
            let units = money::minor(&transaction.amount, currency)?.units;
            let amount = i64::try_from(units).ok().and_then(Amount::new).ok_or(NoMoney::Range)?;
            let status = match transaction.status.as_str() {
                "success" => AdjustmentStatus::Completed,
                "failure" | "error" => AdjustmentStatus::Failed,
                _ => AdjustmentStatus::Pending,
            };
            let id = format!("transaction:{}", transaction.id);
            let refunded = occurrence(id, OccurrenceKind::Refunded, self.created_at);
            occurrences.push(Occurrence { amount: Some(amount), status, reason: reason.clone(), ..refunded });
        }
        Ok((all, occurrences))
    }
}

impl Becoming {
    pub(super) fn report(&self) -> Result<Report, NoOrder> {
        if self.fulfillments.len() > MOST || self.refunds.len() > MOST {
            return Err(NoOrder::Many);
        }
        let mut occurrences: Vec<_> = self.fulfillments.iter().flat_map(Fulfillment::occurrences).collect();
        let mut all = None;
        for refund in &self.refunds {
            let (currency, refunded) = refund.occurrences()?;
            if all.is_some() && currency.is_some() && currency != all {
                return Err(NoOrder::Currencies);
            }
            all = all.or(currency);
            occurrences.extend(refunded);
        }
        if let Some(at) = self.cancelled_at {
            occurrences.push(occurrence("cancelled".to_owned(), OccurrenceKind::Canceled, at));
        }
        match self.financial_status.as_deref() {
            Some("paid") => {
                occurrences.push(occurrence("paid".to_owned(), OccurrenceKind::Captured, self.created_at));
            }
            Some("voided") => {
                occurrences.push(occurrence("voided".to_owned(), OccurrenceKind::Released, self.created_at));
            }
            _ => {}
        }
        Ok(report(self.id, all, true, occurrences))
    }
}

fn report(order: u64, currency: Option<Currency>, is_ours: bool, occurrences: Vec<Occurrence>) -> Report {
    Report { order: order_id(order), currency, is_ours, occurrences }
}

fn occurrence(id: String, kind: OccurrenceKind, at: Timestamp) -> Occurrence {
    Occurrence {
        id,
        kind,
        at,
        lines: Vec::new(),
        amount: None,
        status: AdjustmentStatus::Completed,
        tracking: Tracking::default(),
        reason: None,
    }
}

fn reported(variant: Option<u64>, line: u64, quantity: u64) -> ReportedLine {
    ReportedLine { variant: line_item(variant, line), quantity, title: None, price: None }
}
