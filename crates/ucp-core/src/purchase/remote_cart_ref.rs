//! Reference to a cart at a shop behind another API.

use std::{collections::BTreeMap, fmt};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::port::agenda::{Kind, Task};

/// Reference to the cart that a shop behind another API holds for a cart or a checkout. Anybody who knows the reference
/// can open that cart: it is stored, but neither returned to platforms nor printed.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RemoteCartRef {
    /// Identifier of the cart at the shop.
    pub reference: String,
    /// Identifiers of the lines at the shop, by line identifier of the gateway.
    pub lines: BTreeMap<String, String>,
    /// URL of the shop's page on which the buyer can continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continue_url: Option<String>,
}

/// Maximum length of a reference that is the key of a task, in bytes. Of a longer one, the digest is the key.
const LONGEST_KEY: usize = 255;

impl RemoteCartRef {
    /// Returns the key of the task that abandons the cart.
    #[must_use]
    pub fn task_key(&self) -> String {
        if self.reference.len() <= LONGEST_KEY {
            return self.reference.clone();
        }
        Sha256::digest(self.reference.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the task that abandons the cart at a time unless a document comes to name it.
    #[must_use]
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

impl fmt::Debug for RemoteCartRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteCartRef").field("lines", &self.lines.len()).finish_non_exhaustive()
    }
}
