//! `get_merchant`: one merchant by id (draft *Merchant* capability).

use jiff::Timestamp;

use super::{
    Context,
    listing::Listing,
    port::Merchants,
    search::{holiday, restriction},
};
use crate::{
    Refusal,
    message::{Message, Severity},
};

/// Which merchant.
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
    /// What is said beside.
    pub messages: Vec<Message>,
}

/// Opens a merchant as of `now`. The draft makes an unknown id a successful answer without a merchant.
///
/// # Errors
/// Whatever the directory reports.
pub async fn detail(merchants: &dyn Merchants, request: &Request, now: Timestamp) -> Result<Detail, Refusal> {
    if let Some(reason) = restriction(merchants.policy(), &request.context) {
        return Ok(Detail { merchant: None, messages: vec![reason] });
    }
    let Some(merchant) = merchants.fetch(&[&request.id]).await?.into_iter().next().flatten() else {
        let reason = Message::error("NOT_FOUND", "The requested merchant ID does not exist", Severity::Recoverable);
        return Ok(Detail { merchant: None, messages: vec![reason] });
    };
    let messages = holiday(&merchant, None, now, "$.merchant".to_owned()).into_iter().collect();
    Ok(Detail { merchant: Some(Listing::new(merchant, &[], &request.context.languages)), messages })
}
