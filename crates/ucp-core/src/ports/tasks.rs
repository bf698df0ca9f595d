//! Tasks that follow from documents: of checkouts whose payment is in progress, and of carts and orders at a shop behind
//! another API.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::agenda::{Kind, Task};
use crate::{checkout::Checkout, purchase::remote_cart_ref::RemoteCartRef};

/// Time after which the end of a payment is asked for whose call may be gone.
const ASKED_AFTER: SignedDuration = SignedDuration::from_secs(2);

/// Time after which the order of a cart is asked for first: nobody pays sooner.
const SEARCHED_AFTER: SignedDuration = SignedDuration::from_secs(30);

/// Minimum time between two questions about an order.
const FOLLOWED_EVERY: SignedDuration = SignedDuration::from_mins(1);

/// Maximum time between two questions about an order.
const RARELY: SignedDuration = SignedDuration::from_hours(6);

/// Part of the time since something last happened to an order, after which it is asked for again.
const BACK_OFF: i32 = 8;

/// Time after something last happened to an order, from which it is not asked for any more.
const FOLLOWED_FOR: SignedDuration = SignedDuration::from_hours(90 * 24);

/// Maximum length of a reference that is the key of a task, in bytes. Of a longer one, the digest is the key.
const LONGEST_KEY: usize = 255;

impl Checkout {
    /// Returns the task that settles the payment in progress: when its buyer has to have been authenticated, if it waits
    /// for that. `None` if there is no such payment.
    pub fn task(&self) -> Option<Task> {
        let attempt = self.state.attempt()?;
        let due = match &attempt.challenge {
            Some(challenge) if challenge.answer.is_none() => challenge.until,
            Some(_) => attempt.begun_at,
            None => attempt.begun_at.checked_add(ASKED_AFTER).unwrap_or(Timestamp::MAX),
        };
        let party = if attempt.at_shop { "shop" } else { &attempt.handler_id };
        Some(Task {
            kind: Kind::Settle,
            key: self.id.clone(),
            lane: format!("{}:{party}", Kind::Settle.as_str()),
            name: Some(attempt.id.clone()),
            due,
            body: self.owner.clone(),
        })
    }
}

/// Body of the task that finds the order of a checkout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Search {
    /// Owner of the checkout.
    pub owner: String,
    /// Cart that the buyer was sent to, which the checkout forgets once it is canceled.
    pub cart: RemoteCartRef,
}

impl Checkout {
    /// Returns the task that finds the order which the buyer places on a page of the shop; `None` if the buyer cannot pay
    /// there.
    pub fn search(&self, now: Timestamp) -> Option<Task> {
        let cart = self.remote_cart.as_ref().filter(|cart| cart.continue_url.is_some() && self.status().is_open())?;
        let search = Search { owner: self.owner.clone(), cart: cart.clone() };
        Some(Task {
            kind: Kind::FindOrder,
            key: self.id.clone(),
            lane: Kind::FindOrder.as_str().to_owned(),
            name: None,
            due: now.checked_add(SEARCHED_AFTER).unwrap_or(Timestamp::MAX),
            body: serde_json::to_string(&search).ok()?,
        })
    }
}

/// Returns the task that asks what has become of an order at a shop elsewhere.
pub fn following(order: &str, body: String, now: Timestamp) -> Task {
    Task {
        kind: Kind::FollowOrder,
        key: order.to_owned(),
        lane: Kind::FollowOrder.as_str().to_owned(),
        name: None,
        due: now.checked_add(FOLLOWED_EVERY).unwrap_or(Timestamp::MAX),
        body,
    }
}

/// Returns the time at which a shop is asked again what has become of an order that changed last at `changed_at`: the longer
/// nothing happened, the later. `None` if nothing is expected any more.
pub fn follow_again(changed_at: Timestamp, now: Timestamp) -> Option<Timestamp> {
    let quiet = now.duration_since(changed_at);
    let pause = (quiet / BACK_OFF).clamp(FOLLOWED_EVERY, RARELY);
    (quiet < FOLLOWED_FOR).then(|| now.checked_add(pause).unwrap_or(Timestamp::MAX))
}

impl RemoteCartRef {
    /// Returns the key of the task that abandons the cart.
    pub fn task_key(&self) -> String {
        if self.reference.len() <= LONGEST_KEY {
            return self.reference.clone();
        }
        Sha256::digest(self.reference.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the task that abandons the cart at a time unless a document comes to name it.
    pub fn abandonment(&self, due: Timestamp) -> Task {
        Task {
            kind: Kind::Abandon,
            key: self.task_key(),
            lane: Kind::Abandon.as_str().to_owned(),
            name: None,
            due,
            body: serde_json::to_string(self).unwrap_or_default(),
        }
    }
}
