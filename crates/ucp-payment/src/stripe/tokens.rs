//! Credentials that Stripe takes, as members of a request.

use serde_json::Value;
use ucp_core::{
    message::Message,
    purchase::{
        buyer::PostalAddress,
        payment::{Credential, Tender},
    },
};

use crate::credential::{problem, token};

/// Maximum length of the identifier of an object at Stripe, in bytes.
const MAX_ID: usize = 255;

/// Members of a request in the form `application/x-www-form-urlencoded`.
pub(super) type Members = Vec<(String, String)>;

/// Returns the members that confirm a payment with a tender.
///
/// The token of Google Pay for the gateway `stripe` is a token of Stripe in JSON, of which Stripe takes the identifier.
///
/// # Errors
/// An error message about the credential, without its content.
pub(super) fn members(tender: &Tender, credential: &Credential) -> Result<Members, Message> {
    let text = token(credential)?;
    let unusable = || {
        problem(
            ".credential.token",
            "The token is not one of Stripe. It must be the identifier of a shared payment token (`spt_…`), a payment \
             method (`pm_…`), a confirmation token (`ctoken_…`) or a card token (`tok_…`), or the token of Google Pay \
             for the gateway `stripe`."
                .into(),
        )
    };
    let wrapped =
        serde_json::from_str::<Value>(text).ok().and_then(|token| Some(token.get("id")?.as_str()?.to_owned()));
    let id = wrapped.as_deref().unwrap_or(text);
    if id.len() > MAX_ID || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(unusable());
    }
    let pair = |name: &str| (name.to_owned(), id.to_owned());
    let mut members = match id.split_once('_').map(|(kind, _)| kind) {
        Some("pm") => return Ok(vec![pair("payment_method")]),
        Some("ctoken") => return Ok(vec![pair("confirmation_token")]),
        Some("spt") => return Ok(vec![pair("payment_method_data[shared_payment_granted_token]")]),
        Some("tok") => {
            vec![("payment_method_data[type]".to_owned(), "card".to_owned()), pair("payment_method_data[card][token]")]
        }
        _ => return Err(unusable()),
    };
    members.extend(tender.instrument.billing_address.iter().flat_map(billing));
    Ok(members)
}

/// Returns the billing address, by which banks verify a card.
fn billing(address: &PostalAddress) -> Members {
    let parts = [
        ("line1", &address.street_address),
        ("line2", &address.extended_address),
        ("city", &address.address_locality),
        ("state", &address.address_region),
        ("postal_code", &address.postal_code),
        ("country", &address.address_country),
    ];
    let member = |(name, value): (&str, &Option<String>)| {
        Some((format!("payment_method_data[billing_details][address][{name}]"), value.clone()?))
    };
    parts.into_iter().filter_map(member).collect()
}
