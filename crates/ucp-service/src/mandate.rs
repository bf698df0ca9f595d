//! AP2 mandates and merchant authorization of checkouts (UCP *AP2 Mandates*; rules AP2-01 to AP2-07).
//!
//! Once mandates are negotiated for a checkout, the business signs every answer that shows it, and the buyer signs one
//! of these answers to complete it. The signature covers the document as the platform gets it, so it is made after the
//! document was encoded in the platform's release and before it is stored under an idempotency key. A mandate is
//! compared with the checkout as it would be answered at that moment.

use std::{fmt, sync::Arc, time::SystemTime};

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use ucp_core::{
    Answer, Operation, Outcome, Refusal, checkout,
    message::Message,
    negotiation::Active,
    operation::AP2_MANDATE,
    ports::mandate_verifier::MandateVerifier,
    purchase::mandate::{Evidence, Mandate, refused},
};
use ucp_trust::{
    directory::{Directory, KnownPlatform},
    jwk::PublicKey,
    mandate::{Expected, MandateError, Verified, authorize, stated_key, terms, verify},
    signature::key::SigningKey,
};
use ucp_wire::{
    dialect::{Dialect, authorized},
    encoded::Encoded,
};

use crate::{negotiated_profile::NegotiatedProfile, signing::CurrentKey};

/// The business's signing keys, and the audiences that mandates may name.
#[derive(Clone)]
pub struct MerchantSigner {
    /// The signing key and the published keys.
    pub keys: Arc<CurrentKey>,
    /// Accepted values of `aud`: the origin of the gateway, and the URLs of its profiles.
    pub audiences: Arc<[String]>,
}

impl fmt::Debug for MerchantSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MerchantSigner").field("audiences", &self.audiences).finish_non_exhaustive()
    }
}

impl MerchantSigner {
    /// Returns the current signing key.
    pub(crate) fn signer(&self) -> Option<Arc<SigningKey>> {
        self.keys.for_mandates()
    }

    /// Signs an answer that shows a checkout by adding the merchant authorization (rule AP2-02).
    ///
    /// # Errors
    /// [`Code::Unavailable`](ucp_core::Code::Unavailable) if there is no key, an internal error if signing fails: an
    /// unsigned answer is never given.
    pub(crate) fn put_on(&self, encoded: Encoded) -> Result<Encoded, Refusal> {
        let failed = |reason: &dyn fmt::Display| {
            Refusal::internal().because(format!("a checkout could not be signed: {reason}"))
        };
        let signer = self.signer().ok_or_else(unsigned)?;
        let checkout: Value = serde_json::from_str(&encoded.document).map_err(|error| failed(&error))?;
        let authorization = authorize(&checkout, &signer).map_err(|error| failed(&error))?;
        Ok(Encoded { document: authorized(encoded.document, &authorization), ..encoded })
    }
}

/// Refusal of a call about a checkout that has to be signed while there is no key.
pub(crate) fn unsigned() -> Refusal {
    Refusal::unavailable("The responses of this checkout cannot be signed at the moment.", 60)
        .because("a checkout has to be signed, and there is no key; make one with `ucp-gateway keys generate`")
}

/// Returns the checkout that an outcome shows.
pub(crate) fn shown(outcome: &Outcome) -> Option<&checkout::Checkout> {
    match outcome {
        Outcome::Answer(Answer::Checkout(view)) => Some(&view.checkout),
        _ => None,
    }
}

/// Returns `true` if an outcome has to be signed: it shows a checkout, and mandates are negotiated with the platform or
/// were used for this checkout before.
pub(crate) fn is_signed(outcome: &Outcome, active: &Active) -> bool {
    shown(outcome).is_some_and(|checkout| checkout.mandated || active.contains(AP2_MANDATE))
}

/// Verifier of the mandates of one platform.
pub(crate) struct PlatformMandateVerifier {
    pub(crate) merchant_signer: MerchantSigner,
    pub(crate) dialect: &'static dyn Dialect,
    pub(crate) active: Arc<Active>,
    /// The cached profile of the platform; `None` if its profile could not be fetched.
    pub(crate) known: Option<Arc<KnownPlatform<NegotiatedProfile>>>,
    pub(crate) directory: Directory<NegotiatedProfile>,
}

impl fmt::Debug for PlatformMandateVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlatformMandateVerifier")
            .field("seal", &self.merchant_signer)
            .field("dialect", &self.dialect)
            .finish_non_exhaustive()
    }
}

impl PlatformMandateVerifier {
    fn judge(
        &self,
        mandate: Option<&Mandate>,
        platform_keys: &[PublicKey],
        session: &Value,
        now: Timestamp,
    ) -> Result<Verified, MandateError> {
        let audiences: Vec<_> = self.merchant_signer.audiences.iter().map(String::as_str).collect();
        let own_keys = self.merchant_signer.keys.published();
        let now = SystemTime::from(now);
        let expected = Expected { platform_keys, own_keys: &own_keys, audiences: &audiences, session, now };
        let verified = verify(mandate.map(Mandate::reveal), &expected)?;
        // The same items at the same price, but with another destination or shipping option, are another agreement.
        match terms::difference(&delivery(&verified.checkout), &delivery(session), &["fulfillment"]) {
            None => Ok(verified),
            Some(path) => Err(MandateError::ScopeMismatch(format!(
                "The buyer agreed to another delivery than that of the checkout as it stands: they differ at {path}, as \
                 far as destinations and options are chosen. Have the buyer agree to the current answer of the checkout."
            ))),
        }
    }
}

#[async_trait]
impl MandateVerifier for PlatformMandateVerifier {
    async fn verify(
        &self,
        mandate: Option<&Mandate>,
        checkout: checkout::View,
        now: Timestamp,
    ) -> Result<Evidence, Message> {
        let outcome = Outcome::Answer(Answer::Checkout(checkout));
        let encoded = ucp_wire::encode(self.dialect, Operation::GetCheckout, &outcome, &self.active);
        let session: Value = serde_json::from_str(&encoded.document).unwrap_or_default();
        let keys = self.known.as_ref().map_or(&[][..], |known| &known.profile.keys);
        let verdict = match (self.judge(mandate, keys, &session, now), &self.known) {
            // The key may be newer than the cached profile (rule AGT-06).
            (Err(MandateError::MissingKey(why)), Some(known)) => {
                let kid = mandate.and_then(|mandate| stated_key(mandate.reveal()));
                match kid {
                    Some(kid) => match self.directory.refresh_for_key(&known.url, &kid).await {
                        Ok(known) => self.judge(mandate, &known.profile.keys, &session, now),
                        Err(_) => Err(MandateError::MissingKey(why)),
                    },
                    None => Err(MandateError::MissingKey(why)),
                }
            }
            (verdict, _) => verdict,
        };
        match verdict {
            Ok(Verified { reference, key, .. }) => Ok(Evidence {
                reference,
                kid: key.kid().to_owned(),
                key: key.to_jwk().unwrap_or_default(),
                verified_at: now,
                kept: false,
            }),
            Err(error) => Err(refused(error.code(), error.to_string())),
        }
    }

    fn platform_keys(&self) -> Vec<Value> {
        let known = self.known.iter().flat_map(|known| &known.profile.keys);
        known.filter_map(PublicKey::to_jwk).collect()
    }
}

/// Extracts the chosen destinations and options of a checkout. Options that are offered but not chosen may change by
/// themselves.
fn delivery(checkout: &Value) -> Value {
    let members = |value: &Value, names: &[&str]| -> Map<String, Value> {
        names.iter().filter_map(|name| Some(((*name).to_owned(), value.get(*name)?.clone()))).collect()
    };
    let elements = |value: &Value, name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let methods = elements(&checkout["fulfillment"], "methods").into_iter().map(|method| {
        let selected = method.get("selected_destination_id");
        let mut destinations = elements(&method, "destinations").into_iter();
        let destination = destinations.find(|destination| selected.is_some() && destination.get("id") == selected);
        let groups = elements(&method, "groups");
        let groups = groups.iter().map(|group| members(group, &["id", "line_item_ids", "selected_option_id"]));
        let mut chosen = members(&method, &["id", "type", "line_item_ids", "selected_destination_id"]);
        chosen.insert("destination".to_owned(), destination.unwrap_or_default());
        chosen.insert("groups".to_owned(), groups.collect::<Vec<_>>().into());
        Value::Object(chosen)
    });
    json!({ "fulfillment": { "methods": methods.collect::<Vec<_>>() } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_is_what_was_chosen_and_not_what_is_offered() {
        let checkout = |change: &dyn Fn(&mut Value)| {
            let mut checkout = json!({ "id": "chk", "fulfillment": { "available_methods": [], "methods": [{
                "id": "m", "type": "shipping", "line_item_ids": ["li_1"], "selected_destination_id": "home",
                "destinations": [{ "id": "work", "postal_code": "1" }, { "id": "home", "postal_code": "2" }],
                "groups": [{ "id": "g", "line_item_ids": ["li_1"], "selected_option_id": "fast", "options": [] }],
            }] } });
            change(&mut checkout["fulfillment"]);
            delivery(&checkout)
        };
        let agreed = checkout(&|_| {});
        let differs =
            |change: &dyn Fn(&mut Value)| terms::difference(&agreed, &checkout(change), &["fulfillment"]).is_some();
        assert!(!differs(&|it| it["available_methods"] = json!([1])));
        assert!(!differs(&|it| it["methods"][0]["groups"][0]["options"] = json!([{ "id": "fast" }])));
        assert!(!differs(&|it| it["methods"][0]["destinations"][0]["postal_code"] = "3".into()));
        assert!(differs(&|it| it["methods"][0]["destinations"][1]["postal_code"] = "3".into()));
        assert!(differs(&|it| it["methods"][0]["selected_destination_id"] = "work".into()));
        assert!(differs(&|it| it["methods"][0]["groups"][0]["selected_option_id"] = "slow".into()));
        assert!(differs(&|it| it["methods"][0]["type"] = "pickup".into()));
        assert!(differs(&|it| it["methods"] = json!([])));
        assert_eq!(delivery(&json!({})), delivery(&json!({ "fulfillment": {} })));
    }
}
