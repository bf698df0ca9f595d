//! Checkouts of the releases before carts.
//!
//! Release 2026-01-11 lists capabilities and payment handlers; a card is flat. The founding document of checkouts over MCP
//! stands between the two releases: it names 2026-01-11 and maps capabilities and handlers by name in `ucp`. Its callers
//! call operations as JSON-RPC methods, which the binding of 2026-01-23 does not, so that what is answered to a direct
//! call of 2026-01-11 is written as that document has it, by `direct`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use ucp_core::{
    Operation, Release,
    message::Message,
    negotiation::Active,
    purchase::{
        buyer::{Consent, PostalAddress},
        payment::{Declaration, Instrument},
    },
};

use super::{failure::NoResource, message::FoundingMessage};
use crate::{
    catalog::request,
    envelope::{Capabilities, Dated},
    purchase::{
        Form,
        consent::{Answers, AnswersRequest},
        payment::{Handlers, Payment, PaymentRequest},
        request::{Ap2Request, CheckoutRequest, CompleteCheckoutRequest},
    },
    site::published_at,
};

/// The members of a card that stood beside its type before they got a place of their own, with their later names.
pub(crate) const CARD: [(&str, &str); 6] = [
    ("brand", "brand"),
    ("last_digits", "last_digits"),
    ("expiry_month", "expiry_month"),
    ("expiry_year", "expiry_year"),
    ("rich_text_description", "description"),
    ("rich_card_art", "card_art"),
];

/// Rewrites what these releases and the founding document say otherwise: `payment_data` for the one instrument that pays,
/// `selected_instrument_id`, and cards whose members stand beside their type.
pub(super) fn modernize(operation: Operation, payload: &mut Value) {
    request::modernize_context(payload);
    if let Some(members) = payload.as_object_mut() {
        modernize_payment(operation, members);
    }
}

/// The part of it that is about how a checkout is paid, which answers have too.
pub(crate) fn modernize_payment(operation: Operation, members: &mut Map<String, Value>) {
    if operation == Operation::CompleteCheckout {
        if !members.contains_key("payment")
            && let Some(instrument) = members.shift_remove("payment_data")
        {
            members.insert("payment".to_owned(), json!({ "instruments": [instrument] }));
        }
        if let Some(payment) = members.get_mut("payment")
            && payment.get("handler_id").is_some()
        {
            *payment = json!({ "instruments": [payment.take()] });
        }
    }
    let Some(payment) = members.get_mut("payment").and_then(Value::as_object_mut) else { return };
    let selected = payment.shift_remove("selected_instrument_id");
    let instruments = payment.get_mut("instruments").and_then(Value::as_array_mut);
    for instrument in instruments.into_iter().flatten().filter_map(Value::as_object_mut) {
        if let Some(Value::String(selected)) = &selected {
            let this = instrument.get("id").and_then(Value::as_str) == Some(selected);
            instrument.insert("selected".to_owned(), this.into());
        }
        if instrument.get("type").and_then(Value::as_str) == Some("card") {
            show(instrument);
        }
    }
}

/// Gives the members of a card their later place.
fn show(card: &mut Map<String, Value>) {
    let shown: Vec<_> = CARD.iter().filter_map(|(old, new)| Some((*new, card.shift_remove(*old)?))).collect();
    if shown.is_empty() {
        return;
    }
    let display = card.entry("display").or_insert_with(|| Value::Object(Map::new()));
    if let Some(display) = display.as_object_mut() {
        for (name, value) in shown {
            display.entry(name).or_insert(value);
        }
    }
}

/// A checkout of 2026-01-11 as the founding document has it. Other documents stay as they are, and so do those that were
/// signed: what the platform gets is what the signature is about.
pub(crate) fn direct(document: String) -> String {
    let Ok(mut answer) = serde_json::from_str::<Value>(&document) else { return document };
    if answer.get("ap2").is_some() {
        return document;
    }
    let Some(listed) = answer["ucp"]["capabilities"].as_array() else { return document };
    let capabilities: Map<_, _> = listed
        .iter()
        .filter_map(|entry| Some((entry["name"].as_str()?.to_owned(), json!([{ "version": entry["version"] }]))))
        .collect();
    let mut handlers = Map::new();
    for handler in answer["payment"]["handlers"].as_array().into_iter().flatten() {
        let Some(name) = handler["name"].as_str() else { continue };
        let entry = json!({
            "id": handler["id"],
            "version": handler["version"],
            "spec": handler["spec"],
            "schema": handler["config_schema"],
            "config": handler["config"],
        });
        if let Some(entries) = handlers.entry(name).or_insert_with(|| json!([])).as_array_mut() {
            entries.push(entry);
        }
    }
    answer["ucp"]["capabilities"] = Value::Object(capabilities);
    if answer.get("payment").is_some() {
        answer["ucp"]["payment_handlers"] = Value::Object(handlers);
    }
    answer.to_string()
}

/// Checkouts of release 2026-01-11.
#[derive(Clone, Copy, Debug)]
pub struct First;

/// Checkouts of release 2026-01-23.
#[derive(Clone, Copy, Debug)]
pub struct Second;

/// What pays, in one of the places there are for it.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(
    rename = "CompleteCheckoutRequest",
    example = json!({ "payment_data": {
        "id": "pi_1", "handler_id": "sandbox", "type": "card", "brand": "Visa", "last_digits": "4242",
        "credential": { "type": "token", "token": "success_token" },
    } })
)]
pub(crate) struct CompleteRequest {
    /// The instrument that pays, with what pays.
    #[expect(dead_code, reason = "part of the shape; rewritten before it is read")]
    #[serde(default)]
    payment_data: Option<Map<String, Value>>,
    /// The instruments, with what pays.
    #[expect(dead_code, reason = "part of the shape; read on its own")]
    #[serde(default)]
    payment: Option<PaymentRequest>,
    /// What the platform observed.
    #[expect(dead_code, reason = "part of the shape; never decides about an answer")]
    #[serde(default)]
    risk_signals: Option<Map<String, Value>>,
    /// The buyer's agreement.
    #[expect(dead_code, reason = "part of the shape; read on its own")]
    #[serde(default)]
    ap2: Option<Ap2Request>,
}

/// Protocol metadata of a checkout: capabilities as a list over REST and from tools, by name from methods.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CheckoutMetadata")]
pub(crate) struct FirstMetadata<'a> {
    /// The release this answer is written in.
    version: Dated<'a>,
    capabilities: Listed<'a>,
    /// Payment handlers by name, in answers of methods.
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_handlers: Option<BTreeMap<String, Vec<Map<String, Value>>>>,
}

/// The capabilities that are active for this answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(untagged)]
enum Listed<'a> {
    /// One after the other.
    List(Vec<NamedVersion<'a>>),
    /// By name.
    #[expect(dead_code, reason = "states the shape of answers of methods")]
    Map(Capabilities<'a>),
}

/// A version of a capability.
#[derive(Debug, Serialize, JsonSchema)]
struct NamedVersion<'a> {
    /// The reverse-domain name.
    name: &'a str,
    version: Dated<'a>,
}

impl<'a> FirstMetadata<'a> {
    fn new(operation: Operation, active: &'a Active) -> Self {
        let named = |(name, version)| NamedVersion { name, version: Dated(version) };
        Self {
            version: Dated(Release::V2026_01_11.date()),
            capabilities: Listed::List(active.relevant_to(operation.row().capability).map(named).collect()),
            payment_handlers: None,
        }
    }
}

/// Protocol metadata of a checkout.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CheckoutMetadata")]
pub(crate) struct SecondMetadata<'a> {
    /// The release this answer is written in.
    version: Dated<'a>,
    /// The capabilities that are active for this answer.
    capabilities: Capabilities<'a>,
    /// The payment handlers that the checkout can be paid with.
    payment_handlers: Handlers<'a>,
}

impl<'a> SecondMetadata<'a> {
    fn new(operation: Operation, active: &'a Active, handlers: &'a [Declaration]) -> Self {
        Self {
            version: Dated(Release::V2026_01_23.date()),
            capabilities: Capabilities::relevant(operation, active),
            payment_handlers: handlers.into(),
        }
    }
}

/// How a checkout can be and is to be paid.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Payment")]
pub(crate) struct FirstPayment<'a> {
    /// The payment handlers that the checkout can be paid with.
    handlers: Vec<FirstHandler<'a>>,
    /// The chosen instrument.
    #[serde(skip_serializing_if = "Option::is_none")]
    selected_instrument_id: Option<&'a str>,
    /// The cards, without what pays. This release knows no other instruments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    instruments: Vec<Card<'a>>,
}

/// A payment handler that the shop takes.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PaymentHandler")]
pub(crate) struct FirstHandler<'a> {
    /// Which one of its kind; what `handler_id` names.
    id: &'a str,
    /// The reverse-domain name of its kind.
    name: &'a str,
    /// The version of its specification, a date.
    version: &'a str,
    /// Its specification.
    #[schemars(extend("format" = "uri"))]
    spec: &'a str,
    /// The schema of its configuration.
    #[schemars(extend("format" = "uri"))]
    config_schema: &'a str,
    /// The schemas of the instruments it takes.
    instrument_schemas: Vec<String>,
    /// What platforms need to know to use it.
    config: &'a Map<String, Value>,
}

impl<'a> From<&'a Declaration> for FirstHandler<'a> {
    fn from(handler: &'a Declaration) -> Self {
        let card = || published_at(Release::V2026_01_11, "schemas/shopping/types/card_payment_instrument.json");
        Self {
            id: &handler.id,
            name: &handler.name,
            version: &handler.version,
            spec: &handler.spec,
            config_schema: &handler.schema,
            instrument_schemas: handler
                .instruments
                .iter()
                .map(|kind| if kind == "card" { card() } else { handler.schema.clone() })
                .collect(),
            config: &handler.config,
        }
    }
}

/// A card, without what pays.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CardPaymentInstrument")]
struct Card<'a> {
    /// The platform's identifier for it.
    id: &'a str,
    /// The payment handler that takes it.
    handler_id: &'a str,
    #[serde(rename = "type")]
    #[schemars(extend("const" = "card"))]
    kind: &'static str,
    /// The brand.
    brand: &'a str,
    /// The last digits.
    last_digits: &'a str,
    /// The month in which it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    expiry_month: Option<i64>,
    /// The year in which it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    expiry_year: Option<i64>,
    /// A text to show for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    rich_text_description: Option<&'a str>,
    /// A picture of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    rich_card_art: Option<&'a str>,
    /// The billing address.
    #[serde(skip_serializing_if = "Option::is_none")]
    billing_address: Option<&'a PostalAddress>,
}

impl<'a> Card<'a> {
    /// The card that an instrument is, as far as this release can say it.
    fn of(instrument: &'a Instrument) -> Option<Self> {
        let display = instrument.display.as_ref().filter(|_| instrument.kind == "card")?;
        let text = |name: &str| display.get(name).and_then(Value::as_str);
        let number = |name: &str| display.get(name).and_then(Value::as_i64);
        Some(Self {
            id: &instrument.id,
            handler_id: &instrument.handler_id,
            kind: "card",
            brand: text("brand")?,
            last_digits: text("last_digits")?,
            expiry_month: number("expiry_month"),
            expiry_year: number("expiry_year"),
            rich_text_description: text("description"),
            rich_card_art: text("card_art").filter(|address| address.starts_with("https://")),
            billing_address: instrument.billing_address.as_ref(),
        })
    }
}

/// The handlers of a profile of 2026-01-11.
pub(crate) fn handlers(declared: &[Declaration]) -> Vec<FirstHandler<'_>> {
    declared.iter().map(Into::into).collect()
}

impl Form for First {
    type Context = request::Context;
    type ConsentRequest = AnswersRequest;
    type CreateRequest = CheckoutRequest<Self::Context, Self::ConsentRequest>;
    type CompleteRequest = CompleteRequest;
    type Metadata<'a> = FirstMetadata<'a>;
    type CheckoutMetadata<'a> = FirstMetadata<'a>;
    type Consent<'a> = Answers<'a>;
    type Description<'a> = &'a str;
    type Payment<'a> = FirstPayment<'a>;
    type Message<'a> = FoundingMessage<'a>;
    type NoResource = NoResource<'static>;

    const CARTS: bool = false;
    const TYPED_DESTINATIONS: bool = false;

    fn metadata(operation: Operation, active: &Active) -> FirstMetadata<'_> {
        FirstMetadata::new(operation, active)
    }

    fn checkout_metadata<'a>(operation: Operation, active: &'a Active, _: &'a [Declaration]) -> FirstMetadata<'a> {
        FirstMetadata::new(operation, active)
    }

    fn consent(consent: &Consent) -> Answers<'_> {
        consent.into()
    }

    fn description(text: &str) -> &str {
        text
    }

    fn payment<'a>(declared: &'a [Declaration], instruments: &'a [Instrument]) -> Option<FirstPayment<'a>> {
        let selected = instruments.iter().find(|instrument| instrument.selected == Some(true));
        Some(FirstPayment {
            handlers: handlers(declared),
            selected_instrument_id: selected.map(|instrument| &*instrument.id),
            instruments: instruments.iter().filter_map(Card::of).collect(),
        })
    }

    fn message(message: &Message) -> FoundingMessage<'_> {
        message.into()
    }
}

impl Form for Second {
    type Context = request::Context;
    type ConsentRequest = AnswersRequest;
    type CreateRequest = CheckoutRequest<Self::Context, Self::ConsentRequest>;
    type CompleteRequest = CompleteCheckoutRequest;
    type Metadata<'a> = SecondMetadata<'a>;
    type CheckoutMetadata<'a> = SecondMetadata<'a>;
    type Consent<'a> = Answers<'a>;
    type Description<'a> = &'a str;
    type Payment<'a> = Payment<'a>;
    type Message<'a> = FoundingMessage<'a>;
    type NoResource = NoResource<'static>;

    const CARTS: bool = false;
    const TYPED_DESTINATIONS: bool = false;

    fn metadata(operation: Operation, active: &Active) -> SecondMetadata<'_> {
        SecondMetadata::new(operation, active, &[])
    }

    fn checkout_metadata<'a>(
        operation: Operation,
        active: &'a Active,
        handlers: &'a [Declaration],
    ) -> SecondMetadata<'a> {
        SecondMetadata::new(operation, active, handlers)
    }

    fn consent(consent: &Consent) -> Answers<'_> {
        consent.into()
    }

    fn description(text: &str) -> &str {
        text
    }

    fn payment<'a>(_: &'a [Declaration], instruments: &'a [Instrument]) -> Option<Payment<'a>> {
        Payment::of(instruments)
    }

    fn message(message: &Message) -> FoundingMessage<'_> {
        message.into()
    }
}
