//! Orders that are followed: the shop is asked what has become of them, because it may send no events about orders, or an
//! event may be lost.
//!
//! The task of an order remembers the state that its platform was told last, whether the shop told it or was asked. An order
//! that is in another state is told about once.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ucp_core::{
    Operation, Refusal,
    ports::{
        Trace,
        agenda::{Claimed, Next, Plan},
        follow_again, following,
        owners::{Kind, Owned},
    },
};
use ucp_wire::relay;

use super::{
    Bridge, digest_id,
    peer::Question,
    platform,
    webhook::{ShopWebhook, state},
};

/// State of an order that its platform was told last.
#[derive(Debug, Serialize, Deserialize)]
struct Followed {
    /// Digest of the order; empty before anything was told.
    seen: String,
    /// Time at which it was told, UTC.
    at: Timestamp,
}

/// Result of asking for an order.
#[derive(Debug)]
pub struct Looked {
    /// Webhook event for the platform, if the order is in another state than it knows.
    pub webhook: Option<ShopWebhook>,
    /// State of the task.
    pub next: Next,
}

impl Bridge {
    /// Plans to ask what has become of an order, if the shop can be asked. `seen` is the [digest](ShopWebhook::state) of the order that
    /// its platform knows; empty if it knows none.
    pub async fn follow(&self, order: &str, seen: String) -> Result<(), Refusal> {
        if !self.0.offering.operations.contains(&Operation::GetOrder) {
            return Ok(());
        }
        let now = (self.0.options.now)();
        let body = serde_json::to_string(&Followed { seen, at: now }).unwrap_or_default();
        Ok(self.0.options.ledger.plan(Plan::Due(following(order, body, now))).await?)
    }

    /// Asks the shop what has become of an order. Fails with the errors of the store.
    pub async fn look_after(&self, task: &Claimed) -> Result<Looked, Refusal> {
        let over = |next| Ok(Looked { webhook: None, next });
        let Ok(Followed { seen, at }) = serde_json::from_str(&task.body) else { return over(Next::Done) };
        let order = &*task.key;
        let Some(Owned { owner, .. }) = self.0.options.owners.owned(Kind::Order, order).await? else {
            return over(Next::Done);
        };
        let Some(again) = follow_again(at, (self.0.options.now)()) else { return over(Next::Done) };
        let mut question = Question {
            operation: Operation::GetOrder,
            id: Some(order.to_owned()),
            payload: Value::Object(Map::new()),
            languages: Vec::new(),
            key: None,
            mandates: owner.mandates.then(|| platform::name(&owner.platform).into()),
            trace: Trace::default(),
        };
        self.supply(&mut question).await;
        let later = |problem: String| Next::At { at: again, problem: Some(problem) };
        let told = match self.ask(&question).await.map_err(Refusal::from) {
            Ok(told) if !told.is_failure() => told,
            Ok(_) => return over(later("the shop does not know the order".to_owned())),
            Err(refusal) => return over(later(refusal.content.to_string())),
        };
        let body: Map<String, Value> = told.body.into();
        let state = state(&body);
        if state == seen {
            return over(Next::At { at: again, problem: None });
        }
        let id = digest_id(format!("{order} {state}").as_bytes());
        let body = relay::answer(self.0.release, owner.release, Operation::GetOrder, body);
        let webhook = ShopWebhook { id, owner, order: order.to_owned(), body, state };
        Ok(Looked { webhook: Some(webhook), next: Next::At { at: again, problem: None } })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_state_of_an_order_is_what_its_platform_can_see_of_it() {
        let of = |order: Value| state(order.as_object().expect("an order"));
        let order = || json!({ "id": "o", "line_items": [{ "id": "l", "status": "processing" }], "adjustments": null });
        let same = json!({
            "messages": [], "line_items": [{ "status": "processing", "id": "l" }], "id": "o", "ucp": { "version": "x" },
        });
        assert_eq!(of(order()), of(same));
        let mut other = order();
        other["line_items"][0]["status"] = json!("fulfilled");
        assert_ne!(of(order()), of(other));
    }
}
