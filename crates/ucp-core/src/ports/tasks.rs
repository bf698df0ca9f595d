//! Tasks that follow from documents: of checkouts whose payment is in progress, and of carts at a shop behind another API.

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

use super::agenda::{Kind, Task};
use crate::{checkout::Checkout, purchase::remote_cart_ref::RemoteCartRef};

/// Time after which the end of a payment is asked for whose call may be gone.
const ASKED_AFTER: SignedDuration = SignedDuration::from_secs(2);

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
