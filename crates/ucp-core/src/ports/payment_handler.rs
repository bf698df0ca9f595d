//! Port of payment handlers (UCP *Payment Handlers*; rules PAY-01 to PAY-08).

use async_trait::async_trait;
use serde_json::Value;

use crate::{
    Code, Refusal,
    message::Message,
    purchase::payment::{Attempt, Capture, Declaration, Refund, Settlement, Tender, TransferOutcome},
};

/// A payment handler that the shop accepts.
#[async_trait]
pub trait Handler: Send + Sync {
    /// Returns the shop's declaration of the handler.
    fn declaration(&self) -> &Declaration;

    /// Checks what is submitted before anything is stored, and returns the data to store in [`Attempt::memo`]. Fails
    /// with the reason why this cannot pay, as an error message about the instrument. A path in it begins with
    /// `$.payment.instruments[0]`, wherever the instrument stands in the request.
    fn prepare(&self, tender: &Tender) -> Result<Value, Message>;

    /// Returns the time after [`Attempt::begun_at`] from which no request of the attempt can reach the processor any
    /// more. An attempt that the processor does not know by then was lost on the way.
    fn deadline(&self) -> std::time::Duration;

    /// Authorizes the payment, and captures it unless that is left to the merchant. Called at most once per attempt.
    async fn pay(&self, attempt: &Attempt, tender: &Tender) -> Settlement;

    /// Asks for the result of an attempt. Never starts a new payment, but may capture one that was authorized and not
    /// captured.
    async fn inquire(&self, attempt: &Attempt) -> Settlement;

    /// Returns the origins of the pages on which buyers are authenticated in the middle of an attempt, besides that of
    /// the buyer's page; `None` for handlers that never return [`Settlement::AwaitingBuyer`]. Platforms load no other
    /// origins (UCP *Payment Authentication*, *Surface Rendering*).
    fn authentication_origins(&self) -> Option<Vec<String>> {
        None
    }

    /// Returns the tender of a buyer who has just confirmed the payment on the shop's own page; `None` for handlers
    /// that need more than that page has.
    fn confirmed_in_person(&self) -> Option<Tender> {
        None
    }

    /// Makes sure that an attempt has no effect which is unknown to the processor, should it arrive late, or which waits
    /// for the buyer. Returns `true` if the processor agreed.
    async fn forget(&self, attempt: &Attempt) -> bool;

    /// Verifies a message of the processor about a payment, and returns the identifier of the attempt that it is about;
    /// `None` if it is about none. By default there are no such messages.
    ///
    /// The message says that something happened, not what: [`inquire`](Handler::inquire) does. `headers` are names in
    /// lower case and values, of those whose value is visible ASCII. Fails with [`Refusal`] if the handler takes no
    /// messages, or this one is not the processor's.
    fn notified(&self, _headers: &[(&str, &str)], _body: &[u8]) -> Result<Option<String>, Refusal> {
        Err(Refusal::new(Code::UnknownPath, "This payment handler has no webhooks."))
    }

    /// Captures an authorized payment or a part of it, and releases the rest, once per [`Capture::id`]. Handlers that
    /// return [`Settlement::Authorized`] have this; by default the operator has to do it at the processor.
    async fn capture(&self, _capture: &Capture) -> TransferOutcome {
        TransferOutcome::ByHand
    }

    /// Returns `true` if the handler gives money back. By default the operator does, at the processor.
    fn gives_back(&self) -> bool {
        false
    }

    /// Gives money of a captured payment back, once per [`Refund::id`]. Handlers that [give back](Self::gives_back) have
    /// this.
    async fn refund(&self, _refund: &Refund) -> TransferOutcome {
        TransferOutcome::ByHand
    }

    /// Asks what has become of a refund that was given, without giving any.
    async fn refunded(&self, _refund: &Refund) -> TransferOutcome {
        TransferOutcome::Unknown
    }
}
