//! Requests of every operation, in the newest release.

use serde_json::Value;
use ucp_core::{
    Operation, Refusal, Request,
    call::{CatalogRequest, DirectoryRequest, SaleRequest},
    cart, checkout,
    operation::{ById, MERCHANT, Resource},
};

use crate::{catalog::request as catalog, merchant::request as merchant, purchase::request as purchase};

/// Rewrites the spellings of the founding documents, which are accepted in every release.
pub(crate) fn normalize(operation: Operation, payload: &mut Value) {
    match operation.row().resource {
        Resource::Catalog => catalog::modernize(payload),
        Resource::Directory if operation.row().capability == MERCHANT => merchant::modernize(payload),
        Resource::Cart | Resource::Checkout | Resource::Order | Resource::Directory => {
            catalog::modernize_context(payload);
        }
    }
}

/// Converts a payload that passed the request schema of its operation to a domain request. Fails with
/// [`InvalidRequest`](ucp_core::Code::InvalidRequest) for violations that a schema cannot express.
pub(crate) fn decode(
    operation: Operation,
    id: Option<&str>,
    payload: Value,
    languages: &[String],
) -> Result<Request, Refusal> {
    let id = |payload: &Value| purchase::identifier(operation, id, payload);
    let by_id = |payload: &Value| Ok::<_, Refusal>(ById { id: id(payload)? });
    Ok(match operation {
        Operation::SearchCatalog => CatalogRequest::SearchCatalog(catalog::search(payload, languages)?).into(),
        Operation::LookupCatalog => CatalogRequest::LookupCatalog(catalog::lookup(payload, languages)?).into(),
        Operation::GetProduct => CatalogRequest::GetProduct(catalog::product(payload, languages)?).into(),
        Operation::CreateCart => {
            SaleRequest::CreateCart(cart::Create { draft: purchase::cart(payload, languages)? }).into()
        }
        Operation::GetCart => SaleRequest::GetCart(by_id(&payload)?).into(),
        Operation::UpdateCart => {
            let id = id(&payload)?;
            SaleRequest::UpdateCart(cart::Update { id, draft: purchase::cart(payload, languages)? }).into()
        }
        Operation::CancelCart => SaleRequest::CancelCart(by_id(&payload)?).into(),
        Operation::CreateCheckout => SaleRequest::CreateCheckout(purchase::create_checkout(payload, languages)?).into(),
        Operation::GetCheckout => SaleRequest::GetCheckout(by_id(&payload)?).into(),
        Operation::UpdateCheckout => {
            let id = id(&payload)?;
            SaleRequest::UpdateCheckout(checkout::Update { id, draft: purchase::checkout(payload, languages)? }).into()
        }
        Operation::CompleteCheckout => {
            let id = id(&payload)?;
            let mandate = purchase::mandate(&payload);
            let tenders = purchase::tenders(payload)?;
            SaleRequest::CompleteCheckout(checkout::Complete { id, tenders, mandate, call: None }).into()
        }
        Operation::CancelCheckout => SaleRequest::CancelCheckout(by_id(&payload)?).into(),
        Operation::GetOrder => SaleRequest::GetOrder(by_id(&payload)?).into(),
        Operation::SearchMerchants => {
            DirectoryRequest::SearchMerchants(merchant::search_merchants(payload, languages)?).into()
        }
        Operation::GetMerchant => {
            DirectoryRequest::GetMerchant(merchant::get_merchant(id(&payload)?, payload, languages)?).into()
        }
        Operation::SearchLocations => {
            DirectoryRequest::SearchLocations(merchant::search_locations(payload, languages)?).into()
        }
        Operation::LookupLocations => {
            DirectoryRequest::LookupLocations(merchant::lookup_locations(payload, languages)?).into()
        }
    })
}
