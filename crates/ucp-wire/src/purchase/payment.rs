//! Instruments: as platforms state them, and as they are given back without what pays (rule PAY-01).
//!
//! A credential goes from the payload into [`Credential`] and nowhere else: no type here that holds one prints it or can
//! be written.

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ucp_core::purchase::{
    buyer::PostalAddress,
    payment::{Credential, Declaration, Instrument, Tender},
};

use super::address::AddressRequest;

/// How a checkout is to be paid.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct PaymentRequest {
    /// The instruments; the chosen one says `selected`.
    #[serde(default)]
    #[schemars(length(max = 100))]
    instruments: Vec<InstrumentRequest>,
}

/// A payment instrument.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "PaymentInstrumentRequest")]
struct InstrumentRequest {
    /// The platform's identifier for it.
    #[schemars(length(max = 1_024))]
    id: String,
    /// The payment handler that takes it.
    #[schemars(length(max = 1_024))]
    handler_id: String,
    /// `card` or another.
    #[serde(rename = "type")]
    #[schemars(length(max = 255))]
    kind: String,
    /// Whether it is the chosen one.
    #[serde(default)]
    selected: Option<bool>,
    /// The billing address.
    #[serde(default)]
    billing_address: Option<AddressRequest>,
    /// What pays. Taken when a checkout is completed; never kept and never given back.
    #[serde(default)]
    credential: Option<CredentialRequest>,
    /// What may be shown of it, such as brand and last digits.
    #[serde(default)]
    display: Option<Map<String, Value>>,
}

/// What pays.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "PaymentCredentialRequest")]
struct CredentialRequest {
    /// `token`, `card` or another.
    #[serde(rename = "type")]
    #[schemars(length(max = 255))]
    kind: String,
    /// The token, where one pays. It is named because there are platforms that send only what a schema names.
    #[serde(default)]
    token: Option<String>,
    #[serde(flatten)]
    members: Map<String, Value>,
}

impl fmt::Debug for CredentialRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CredentialRequest(…)")
    }
}

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
            display: stated.display,
        };
        Self { instrument, credential }
    }
}

impl PaymentRequest {
    /// What is submitted for paying.
    pub(crate) fn tenders(self) -> Vec<Tender> {
        self.instruments.into_iter().map(Into::into).collect()
    }
}

/// How a checkout is to be paid, as far as the platform said.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Payment<'a> {
    /// The instruments, without what pays.
    instruments: Vec<PaymentInstrument<'a>>,
}

impl<'a> Payment<'a> {
    /// These instruments, if there are any.
    pub(crate) fn of(instruments: &'a [Instrument]) -> Option<Self> {
        let instruments: Vec<_> = instruments.iter().map(Into::into).collect();
        (!instruments.is_empty()).then_some(Self { instruments })
    }
}

/// A payment instrument, without what pays.
#[derive(Debug, Serialize, JsonSchema)]
struct PaymentInstrument<'a> {
    /// The platform's identifier for it.
    id: &'a str,
    /// The payment handler that takes it.
    handler_id: &'a str,
    /// `card` or another.
    #[serde(rename = "type")]
    kind: &'a str,
    /// Whether it is the chosen one.
    #[serde(skip_serializing_if = "Option::is_none")]
    selected: Option<bool>,
    /// The billing address.
    #[serde(skip_serializing_if = "Option::is_none")]
    billing_address: Option<&'a PostalAddress>,
    /// What may be shown of it.
    #[serde(skip_serializing_if = "Option::is_none")]
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

/// A payment handler that the shop takes.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PaymentHandler<'a> {
    /// Which one of its kind; what `handler_id` names.
    id: &'a str,
    /// The version of its specification, a date.
    version: &'a str,
    /// Its specification.
    #[schemars(extend("format" = "uri"))]
    spec: &'a str,
    /// The schema of its configuration.
    #[schemars(extend("format" = "uri"))]
    schema: &'a str,
    /// The kinds of instruments it takes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    available_instruments: Vec<AvailablePaymentInstrument<'a>>,
    /// What platforms need to know to use it.
    config: &'a Map<String, Value>,
}

/// A kind of instrument that a payment handler takes.
#[derive(Debug, Serialize, JsonSchema)]
struct AvailablePaymentInstrument<'a> {
    /// `card` or another.
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
