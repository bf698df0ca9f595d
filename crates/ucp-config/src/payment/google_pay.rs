//! Google Pay: its tokens are handed, unread, to a payment service provider that another entry describes.

use serde_json::{Value, json};
use ucp_core::purchase::payment::Declaration;

use super::{Entry, Open, sections};

/// Returns the declaration of Google's handler without what the merchant has to state.
pub(super) fn usual(id: &str) -> Option<Declaration> {
    let Value::Object(config) = json!({ "api_version": 2, "api_version_minor": 0 }) else { return None };
    Some(Declaration {
        name: "com.google.pay".to_owned(),
        id: id.to_owned(),
        version: "2026-01-23".to_owned(),
        spec: "https://pay.google.com/gp/p/ucp/2026-01-23/".to_owned(),
        schema: "https://pay.google.com/gp/p/ucp/2026-01-23/schemas/config.json".to_owned(),
        instruments: vec!["card".to_owned()],
        config,
    })
}

pub(super) fn resolve(entry: &mut Entry<'_, '_>, said: &mut sections::Payment) -> Option<Open> {
    let config = said.config.as_ref();
    if config.is_none_or(|config| config.get("allowed_payment_methods").is_none_or(|methods| !methods.is_array())) {
        let problem = "platforms need `allowed_payment_methods`, with the gateway's `tokenization_specification`, as Google's \
                       handler describes it";
        entry.wrong("config", problem);
    }
    let methods = config.and_then(|config| config.get("allowed_payment_methods")).and_then(Value::as_array);
    if methods.into_iter().flatten().any(|method| method["tokenization_specification"]["type"] != "PAYMENT_GATEWAY") {
        let problem =
            "tokens are handed on unread: every `tokenization_specification` must be of the type PAYMENT_GATEWAY";
        entry.wrong("config", problem);
    }
    let Some(id) = &said.processed_by else {
        return entry.none("processed_by", "Google Pay needs the id of the entry that pays with its tokens");
    };
    let Some(payment) = entry.before.iter().find(|payment| payment.declaration.id == *id && payment.is_gateway())
    else {
        return entry
            .none("processed_by", "expected the id of an entry above this one, of the kind `stripe` or `processor`");
    };
    Some(payment.open.clone())
}
