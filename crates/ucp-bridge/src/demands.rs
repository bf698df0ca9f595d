//! What the release of a shop requires of a payload, and callers of other releases do not state.

use serde_json::Value;
use ucp_core::{Operation, operation::Effect};
use ucp_wire::{dialect, relay};

use super::{Bridge, peer::Question};

/// Currency that is stated where nobody says one.
const CURRENCY: &str = "USD";

impl Bridge {
    /// Adds what the shop's release requires. A checkout that exists keeps its currency, for which the shop is asked.
    pub(super) async fn supply(&self, question: &mut Question) {
        let (release, operation) = (self.0.release, question.operation);
        relay::supply(release, operation, &mut question.payload);
        if !dialect(release).states_currency(operation) || question.payload["currency"].is_string() {
            return;
        }
        let currency = match operation.row().effect {
            Effect::Replacing => self.currency_of(question).await,
            _ => None,
        };
        let currency = currency
            .or_else(|| question.payload["context"]["currency"].as_str().map(str::to_owned))
            .unwrap_or_else(|| CURRENCY.to_owned());
        if let Some(members) = question.payload.as_object_mut() {
            members.insert("currency".to_owned(), currency.into());
        }
    }

    /// Returns the currency of the checkout that a call is about.
    async fn currency_of(&self, question: &Question) -> Option<String> {
        let look = Question { operation: Operation::GetCheckout, payload: Value::Null, key: None, ..question.clone() };
        let told = self.0.peer.ask(&look).await.ok()?;
        told.body.get("currency").and_then(Value::as_str).map(str::to_owned)
    }
}
