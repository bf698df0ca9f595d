//! Requests of every operation, in the domain's words.

use serde_json::Value;
use ucp_core::{Operation, Refusal, Request, cart, checkout, operation::ById};

use crate::{
    catalog::request as catalog,
    merchant::request as merchant,
    purchase::{Form, request as purchase},
};

/// A payload that conforms to the request shape of its operation, in the domain's words.
///
/// # Errors
/// [`InvalidRequest`](ucp_core::Code::InvalidRequest) for what a schema cannot say.
pub(crate) fn decode<F: Form>(
    operation: Operation,
    id: Option<&str>,
    payload: Value,
    languages: &[String],
) -> Result<Request, Refusal> {
    let id = |payload: &Value| purchase::identifier(operation, id, payload);
    let by_id = |payload: &Value| Ok::<_, Refusal>(ById { id: id(payload)? });
    Ok(match operation {
        Operation::SearchCatalog => Request::SearchCatalog(catalog::search::<F::Context>(payload, languages)?),
        Operation::LookupCatalog => Request::LookupCatalog(catalog::lookup::<F::Context>(payload, languages)?),
        Operation::GetProduct => Request::GetProduct(catalog::product::<F::Context>(payload, languages)?),
        Operation::CreateCart => Request::CreateCart(cart::Create { draft: purchase::cart::<F>(payload, languages)? }),
        Operation::GetCart => Request::GetCart(by_id(&payload)?),
        Operation::UpdateCart => {
            let id = id(&payload)?;
            Request::UpdateCart(cart::Update { id, draft: purchase::cart::<F>(payload, languages)? })
        }
        Operation::CancelCart => Request::CancelCart(by_id(&payload)?),
        Operation::CreateCheckout => Request::CreateCheckout(purchase::create_checkout::<F>(payload, languages)?),
        Operation::GetCheckout => Request::GetCheckout(by_id(&payload)?),
        Operation::UpdateCheckout => {
            let id = id(&payload)?;
            Request::UpdateCheckout(checkout::Update { id, draft: purchase::checkout::<F>(payload, languages)? })
        }
        Operation::CompleteCheckout => {
            let id = id(&payload)?;
            let mandate = purchase::mandate(&payload);
            let tenders = purchase::tenders(payload)?;
            Request::CompleteCheckout(checkout::Complete { id, tenders, mandate, call: None })
        }
        Operation::CancelCheckout => Request::CancelCheckout(by_id(&payload)?),
        Operation::GetOrder => Request::GetOrder(by_id(&payload)?),
        Operation::SearchMerchants => Request::SearchMerchants(merchant::search_merchants(payload, languages)?),
        Operation::GetMerchant => Request::GetMerchant(merchant::get_merchant(id(&payload)?, payload, languages)?),
        Operation::SearchLocations => {
            Request::SearchLocations(merchant::search_locations::<F::Context>(payload, languages)?)
        }
        Operation::LookupLocations => {
            Request::LookupLocations(merchant::lookup_locations::<F::Context>(payload, languages)?)
        }
    })
}
