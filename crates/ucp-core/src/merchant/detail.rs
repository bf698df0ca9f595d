//! `get_merchant`: one merchant by id (draft *Merchant* capability).

use super::{Context, listing::Listing};
use crate::message::Message;

/// Request for a merchant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The id, exactly as a directory gave it.
    pub id: String,
    /// The buyer's circumstances.
    pub context: Context,
}

/// A merchant in full.
#[derive(Debug)]
pub struct Detail {
    /// The merchant; absent where there is none to show, which the messages explain.
    pub merchant: Option<Listing>,
    /// Messages that accompany the merchant.
    pub messages: Vec<Message>,
}
