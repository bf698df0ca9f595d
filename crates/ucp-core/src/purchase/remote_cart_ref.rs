//! The name that a shop behind another API has for a cart of ours.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

/// What a shop behind another API holds for a cart or a checkout. Whoever knows its name there can open it: it is kept, and
/// neither shown nor printed.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RemoteCartRef {
    /// What the shop calls it.
    pub reference: String,
    /// What the shop calls its lines, by their identifiers here.
    pub lines: BTreeMap<String, String>,
    /// Where the buyer can go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continue_url: Option<String>,
}

impl fmt::Debug for RemoteCartRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteCartRef").field("lines", &self.lines.len()).finish_non_exhaustive()
    }
}
