//! `get_merchant`: one merchant by id (draft *Merchant* capability).

use jiff::Timestamp;
use ucp_core::{
    Refusal,
    merchant::{
        detail::{Detail, Request},
        listing::Listing,
    },
    message::{Message, Severity},
};

use super::{
    port::Merchants,
    search::{holiday, restriction},
};

/// Opens a merchant as of `now`. The draft makes an unknown id a successful answer without a merchant. Fails with
/// whatever the directory reports.
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
