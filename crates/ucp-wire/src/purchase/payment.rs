//! Payment instruments: as stated by platforms with their credential, and as returned without it (rule PAY-01).
//!
//! A credential moves from the payload into [`Credential`] and nowhere else: no type here that holds one can be printed
//! or serialized.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ucp_core::{
    Refusal,
    purchase::{
        buyer::PostalAddress,
        payment::{Credential, Declaration, Instrument, Tender, holds_card_number},
    },
};

use super::address::AddressRequest;

/// Payment of a checkout.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct PaymentRequest {
    /// Payment instruments. The one to use has `selected`.
    #[serde(default)]
    #[schemars(length(max = 100))]
    instruments: Vec<InstrumentRequest>,
}

/// A payment instrument.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "PaymentInstrumentRequest")]
struct InstrumentRequest {
    /// ID of the instrument, chosen by the platform.
    #[schemars(length(max = 1_024))]
    id: String,
    /// ID of the payment handler, from `ucp.payment_handlers`.
    #[schemars(length(max = 1_024))]
    handler_id: String,
    /// Type of the instrument, such as `card`.
    #[serde(rename = "type")]
    #[schemars(length(max = 255))]
    kind: String,
    /// `true` for the instrument to use.
    selected: Option<bool>,
    /// Billing address, with the fields of a destination.
    #[serde(default)]
    billing_address: Option<AddressRequest>,
    /// Credential, for `complete_checkout`. Never stored and never returned.
    credential: Option<CredentialRequest>,
    /// Details to show, such as brand and last digits.
    display: Option<Map<String, Value>>,
}

/// A payment credential.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "PaymentCredentialRequest")]
struct CredentialRequest {
    /// Type of the credential, such as `token` or `card`.
    #[serde(rename = "type")]
    #[schemars(length(max = 255))]
    kind: String,
    /// Token, if the credential is one.
    // A member of its own because some platforms send only members that a schema names.
    token: Option<String>,
    #[serde(flatten)]
    members: Map<String, Value>,
}

ucp_core::opaque!(CredentialRequest);

impl From<InstrumentRequest> for Tender {
    fn from(stated: InstrumentRequest) -> Self {
        let credential = stated.credential.map(|CredentialRequest { kind, token, mut members }| {
            members.insert("type".to_owned(), kind.as_str().into());
            members.extend(token.map(|token| ("token".to_owned(), token.into())));
            Credential::new(kind, members)
        });
        let instrument = Instrument {
            id: stated.id,
            handler_id: stated.handler_id,
            kind: stated.kind,
            selected: stated.selected,
            billing_address: stated.billing_address.map(Into::into),
            display: stated.display.map(|mut display| {
                drop_card_data(&mut display);
                display
            }),
        };
        Self { instrument, credential }
    }
}

/// Names of members that hold what must not be stored of a card (PCI DSS 3.3, 3.5), without case and separators.
const CARD_DATA: [&str; 16] = [
    "accountnumber",
    "cardnumber",
    "cardsecuritycode",
    "cardverificationcode",
    "csc",
    "cvc",
    "cvc2",
    "cvv",
    "cvv2",
    "number",
    "pan",
    "pin",
    "pinblock",
    "securitycode",
    "track1",
    "track2",
];

/// Removes the members that hold the number or a secret of a card, by name or because their value is such a number, at
/// any depth.
fn drop_card_data(members: &mut Map<String, Value>) {
    members.retain(|name, value| {
        let name: String =
            name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
        !CARD_DATA.contains(&name.as_str()) && keeps(value)
    });
}

/// Removes card data below a value. Returns `false` if the value itself is a card number.
fn keeps(value: &mut Value) -> bool {
    match value {
        Value::Object(members) => drop_card_data(members),
        Value::Array(elements) => elements.retain_mut(keeps),
        Value::String(text) => return !holds_card_number(text),
        Value::Number(number) => return !holds_card_number(&number.to_string()),
        Value::Null | Value::Bool(_) => {}
    }
    true
}

impl PaymentRequest {
    /// Refuses identifiers and types that hold the number of a card: they are stored and returned, which a card number
    /// must not be (PCI DSS 3.3, 3.5). Fails with [`Code::InvalidRequest`](ucp_core::Code::InvalidRequest) with the
    /// path of the first of them, without its value.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        for (index, InstrumentRequest { id, handler_id, kind, credential, .. }) in self.instruments.iter().enumerate() {
            let of_credential = credential.as_ref().map_or("", |credential| &credential.kind);
            let texts =
                [("id", id.as_str()), ("handler_id", handler_id), ("type", kind), ("credential.type", of_credential)];
            if let Some((name, _)) = texts.iter().find(|(_, text)| holds_card_number(text)) {
                let path = format!("$.payment.instruments[{index}].{name}");
                return Err(Refusal::invalid(&*path, format!("`{path}` contains a card number."))
                    .accepting("a text without one; what pays is the `credential`"));
            }
        }
        Ok(())
    }

    /// Converts the instruments and their credentials.
    pub(crate) fn tenders(self) -> Vec<Tender> {
        self.instruments.into_iter().map(Into::into).collect()
    }
}

/// Payment of a checkout, as stated by the platform.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Payment<'a> {
    /// The payment instruments, without credentials.
    instruments: Vec<PaymentInstrument<'a>>,
}

impl<'a> Payment<'a> {
    /// Returns a payment with these instruments, or `None` if there are none.
    pub(crate) fn of(instruments: &'a [Instrument]) -> Option<Self> {
        let instruments: Vec<_> = instruments.iter().map(Into::into).collect();
        (!instruments.is_empty()).then_some(Self { instruments })
    }
}

/// A payment instrument, without its credential.
#[ucp_macros::omit_none]
#[derive(Debug, Serialize, JsonSchema)]
struct PaymentInstrument<'a> {
    /// ID that the platform gave it.
    id: &'a str,
    /// ID of the payment handler that processes it.
    handler_id: &'a str,
    /// Type of the instrument, such as `card`.
    #[serde(rename = "type")]
    kind: &'a str,
    /// `true` if this instrument is to be used.
    selected: Option<bool>,
    /// The billing address.
    billing_address: Option<&'a PostalAddress>,
    /// Displayable details.
    display: Option<&'a Map<String, Value>>,
}

impl<'a> From<&'a Instrument> for PaymentInstrument<'a> {
    fn from(instrument: &'a Instrument) -> Self {
        Self {
            id: &instrument.id,
            handler_id: &instrument.handler_id,
            kind: &instrument.kind,
            selected: instrument.selected,
            billing_address: instrument.billing_address.as_ref(),
            display: instrument.display.as_ref(),
        }
    }
}

/// Payment handlers by reverse-domain name.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(transparent)]
pub(crate) struct Handlers<'a>(BTreeMap<&'a str, Vec<PaymentHandler<'a>>>);

/// A payment handler that the shop accepts.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PaymentHandler<'a> {
    /// ID of the handler, referred to by `handler_id`.
    id: &'a str,
    /// Version of its specification, a date.
    version: &'a str,
    /// URL of its specification.
    #[serde(skip_serializing_if = "str::is_empty")]
    #[schemars(extend("format" = "uri"))]
    spec: &'a str,
    /// URL of the schema of its configuration.
    #[serde(skip_serializing_if = "str::is_empty")]
    #[schemars(extend("format" = "uri"))]
    schema: &'a str,
    /// Types of instruments that it accepts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    available_instruments: Vec<AvailablePaymentInstrument<'a>>,
    /// Configuration for platforms.
    config: &'a Map<String, Value>,
}

/// A type of instrument that a payment handler accepts.
#[derive(Debug, Serialize, JsonSchema)]
struct AvailablePaymentInstrument<'a> {
    /// Type of the instrument, such as `card`.
    #[serde(rename = "type")]
    kind: &'a str,
}

impl<'a> From<&'a [Declaration]> for Handlers<'a> {
    fn from(declared: &'a [Declaration]) -> Self {
        let mut handlers = BTreeMap::<_, Vec<_>>::new();
        for handler in declared {
            handlers.entry(handler.name.as_str()).or_default().push(PaymentHandler {
                id: &handler.id,
                version: &handler.version,
                spec: &handler.spec,
                schema: &handler.schema,
                available_instruments: handler
                    .instruments
                    .iter()
                    .map(|kind| AvailablePaymentInstrument { kind })
                    .collect(),
                config: &handler.config,
            });
        }
        Self(handlers)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn card_data_is_dropped_at_any_depth() {
        let Value::Object(mut display) = json!({
            "brand": "visa", "last_digits": "4242", "expiry_month": 12, "expiry_year": 2030,
            "pan": "x", "Card-Number": "x", "CVC": "123", "cardSecurityCode": 123,
            "note": "of 4242 4242 4242 4242, the blue one", "hint": "4000-0566-5566-5556",
            "as_number": 4_242_424_242_424_242_u64, "order": "4242424242424243",
            "rich": { "pin": "1", "text": "the blue one", "list": ["5555555555554444", "kept"] },
        }) else {
            unreachable!("an object")
        };
        drop_card_data(&mut display);
        let kept = json!({
            "brand": "visa", "last_digits": "4242", "expiry_month": 12, "expiry_year": 2030, "order": "4242424242424243",
            "rich": { "text": "the blue one", "list": ["kept"] },
        });
        assert_eq!(Value::Object(display), kept);
    }
}
