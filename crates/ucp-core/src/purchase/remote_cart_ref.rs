//! Reference to a cart at a shop behind another API.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

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

impl fmt::Debug for RemoteCartRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteCartRef").field("lines", &self.lines.len()).finish_non_exhaustive()
    }
}
