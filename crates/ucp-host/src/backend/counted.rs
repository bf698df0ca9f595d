//! Payment handlers that count what they were asked and what came of it, for the metrics.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use serde_json::Value;
use ucp_core::{
    Refusal,
    message::Message,
    ports::payment_handler::Handler,
    purchase::payment::{Attempt, Capture, Declaration, Refund, Settlement, Tender, TransferOutcome},
};

/// Numbers of the results of a shop's payment handlers.
#[derive(Debug, Default)]
pub struct PaymentCounts(Mutex<BTreeMap<Counted, u64>>);

/// A kind of call of a payment handler, with its result.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted {
    /// Identifier of the handler.
    pub handler: String,
    /// Name of the call: `pay`, `inquire`, `forget`, `capture` or `refund`.
    pub call: &'static str,
    /// Name of the result.
    pub result: &'static str,
}

impl PaymentCounts {
    /// Returns all numbers.
    pub fn all(&self) -> Vec<(Counted, u64)> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(counted, count)| (counted.clone(), *count)).collect()
    }

    fn count(&self, handler: &dyn Handler, call: &'static str, result: &'static str) {
        let counted = Counted { handler: handler.declaration().id.clone(), call, result };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(counted).or_default() += 1;
    }
}

/// A payment handler whose results are counted.
pub(super) struct CountedHandler {
    handler: Arc<dyn Handler>,
    counts: Arc<PaymentCounts>,
}

impl CountedHandler {
    pub(super) fn new(handler: Arc<dyn Handler>, counts: Arc<PaymentCounts>) -> Self {
        Self { handler, counts }
    }

    fn settled(&self, call: &'static str, settlement: Settlement) -> Settlement {
        let result = match settlement {
            Settlement::Captured { .. } => "captured",
            Settlement::Authorized { .. } => "authorized",
            Settlement::Declined { .. } => "declined",
            Settlement::Unsent => "unsent",
            Settlement::Challenged { .. } => "challenged",
            Settlement::AwaitingBuyer { .. } => "awaiting_buyer",
            Settlement::Unknown => "unknown",
            Settlement::Absent => "not_found",
        };
        self.counts.count(&*self.handler, call, result);
        settlement
    }

    fn moved(&self, call: &'static str, moved: TransferOutcome) -> TransferOutcome {
        let result = match moved {
            TransferOutcome::Done { .. } => "done",
            TransferOutcome::ByHand => "manual",
            TransferOutcome::Refused { .. } => "refused",
            TransferOutcome::Unknown => "unknown",
        };
        self.counts.count(&*self.handler, call, result);
        moved
    }
}

#[async_trait]
impl Handler for CountedHandler {
    fn declaration(&self) -> &Declaration {
        self.handler.declaration()
    }

    fn prepare(&self, tender: &Tender) -> Result<Value, Message> {
        self.handler.prepare(tender)
    }

    fn deadline(&self) -> Duration {
        self.handler.deadline()
    }

    async fn pay(&self, attempt: &Attempt, tender: &Tender) -> Settlement {
        self.settled("pay", self.handler.pay(attempt, tender).await)
    }

    async fn inquire(&self, attempt: &Attempt) -> Settlement {
        self.settled("status", self.handler.inquire(attempt).await)
    }

    fn confirmed_in_person(&self) -> Option<Tender> {
        self.handler.confirmed_in_person()
    }

    fn authentication_origins(&self) -> Option<Vec<String>> {
        self.handler.authentication_origins()
    }

    async fn forget(&self, attempt: &Attempt) -> bool {
        let agreed = self.handler.forget(attempt).await;
        self.counts.count(&*self.handler, "void", if agreed { "agreed" } else { "refused" });
        agreed
    }

    fn notified(&self, headers: &[(&str, &str)], body: &[u8]) -> Result<Option<String>, Refusal> {
        self.handler.notified(headers, body)
    }

    async fn capture(&self, capture: &Capture) -> TransferOutcome {
        self.moved("capture", self.handler.capture(capture).await)
    }

    fn gives_back(&self) -> bool {
        self.handler.gives_back()
    }

    async fn refund(&self, refund: &Refund) -> TransferOutcome {
        self.moved("refund", self.handler.refund(refund).await)
    }

    async fn refunded(&self, refund: &Refund) -> TransferOutcome {
        self.moved("refunded", self.handler.refunded(refund).await)
    }
}
