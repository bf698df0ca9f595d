//! Fields of a payload that the UCP version of a shop requires and requests of other versions lack.

use serde_json::{Map, Value};
use ucp_core::Operation;
use ucp_wire::{
    dialect,
    relay::{self, methods},
};

use super::{Bridge, peer::Question};

/// Currency that is stated where nobody says one.
const CURRENCY: &str = "USD";

impl Bridge {
    /// Adds what the shop's release requires. Of a checkout that exists the shop is asked for the currency, the lines and
    /// the methods of delivery, if the payload lacks them.
    pub(super) async fn supply(&self, question: &mut Question) {
        let (release, operation) = (self.0.release, question.operation);
        relay::supply(release, operation, &mut question.payload);
        let priced = dialect(release).states_currency(operation) && !question.payload["currency"].is_string();
        let updates = operation == Operation::UpdateCheckout;
        let delivered = updates && methods::lack_members(release, &question.payload);
        let before = if updates && (priced || delivered) { self.checkout_of(question).await } else { None };
        if let Some(before) = before.as_ref().filter(|_| delivered) {
            methods::supply_members(release, &mut question.payload, before);
        }
        if !priced {
            return;
        }
        let currency = before
            .and_then(|before| Some(before.get("currency")?.as_str()?.to_owned()))
            .or_else(|| question.payload["context"]["currency"].as_str().map(str::to_owned))
            .unwrap_or_else(|| CURRENCY.to_owned());
        if let Some(members) = question.payload.as_object_mut() {
            members.insert("currency".to_owned(), currency.into());
        }
    }

    /// Returns the checkout that a call is about; `None` if the shop does not show it.
    async fn checkout_of(&self, question: &Question) -> Option<Map<String, Value>> {
        let look = Question { operation: Operation::GetCheckout, payload: Value::Null, key: None, ..question.clone() };
        self.ask(&look).await.ok().map(|told| told.body.into())
    }
}
