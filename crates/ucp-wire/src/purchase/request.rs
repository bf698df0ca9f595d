//! What platforms state about carts and checkouts.
//!
//! An update states everything anew, so that requests differ little: lines are what a cart or checkout cannot do without,
//! unless a checkout is made of a cart. Whole numbers may be written with a zero fraction (trap T-41).

use std::collections::HashSet;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::{Map, Number, Value, json};
use ucp_core::{
    Operation, Refusal, Request,
    call::SaleRequest,
    checkout,
    purchase::{
        buyer::Buyer,
        draft::{Circumstances, DestinationDraft, Draft, FulfillmentDraft, GroupDraft, LineDraft, MethodDraft},
        line_item::MAX_QUANTITY,
        mandate::Mandate,
        payment::Tender,
    },
};

use super::{
    address::AddressRequest,
    consent::{DecisionsRequest, is_reverse_domain},
    payment::PaymentRequest,
};
use crate::catalog::request::{self as catalog, ContextRequest, Signals};

/// A cart's contents.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
#[schemars(
    rename = "CartRequest",
    example = json!({ "line_items": [{ "item": { "id": "var_small" }, "quantity": 2 }], "context": { "address_country": "US" } })
)]
pub(crate) struct CartRequest {
    /// Everything that is to be in the cart.
    #[schemars(length(max = 1_000))]
    line_items: Vec<LineItemRequest>,
    /// The buyer.
    #[serde(default)]
    buyer: Option<BuyerRequest>,
    /// The buyer's circumstances.
    #[serde(default)]
    context: Option<ContextRequest>,
    #[serde(default)]
    signals: Option<Signals>,
    #[serde(default)]
    attribution: Option<AttributionRequest>,
    /// Discounts to apply.
    #[serde(default)]
    discounts: Option<DiscountsRequest>,
}

/// What to buy.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
#[schemars(
    rename = "CheckoutRequest",
    example = json!({
        "line_items": [{ "item": { "id": "var_small" }, "quantity": 2 }],
        "buyer": { "email": "jane@example.com" },
        "fulfillment": { "methods": [{ "type": "shipping", "destinations": [{
            "street_address": "1 Main St", "address_locality": "Springfield", "address_region": "IL",
            "postal_code": "62701", "address_country": "US",
        }] }] },
    })
)]
pub(crate) struct CheckoutRequest {
    /// Everything that is to be bought.
    #[schemars(length(max = 1_000))]
    line_items: Vec<LineItemRequest>,
    /// The buyer.
    #[serde(default)]
    buyer: Option<BuyerRequest>,
    /// The buyer's circumstances.
    #[serde(default)]
    context: Option<ContextRequest>,
    #[serde(default)]
    signals: Option<Signals>,
    #[serde(default)]
    attribution: Option<AttributionRequest>,
    /// Discounts to apply.
    #[serde(default)]
    discounts: Option<DiscountsRequest>,
    /// How the goods reach the buyer.
    #[serde(default)]
    fulfillment: Option<FulfillmentRequest>,
    /// How it is to be paid; what pays is sent when the checkout is completed.
    #[serde(default)]
    payment: Option<PaymentRequest>,
}

/// What to buy: line items, or the contents of a cart.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
#[schemars(
    rename = "CreateCheckoutRequest",
    extend("anyOf" = [{ "required": ["line_items"] }, { "required": ["cart_id"] }]),
    example = json!({ "line_items": [{ "item": { "id": "var_small" }, "quantity": 2 }], "buyer": { "email": "jane@example.com" } })
)]
pub(crate) struct CreateCheckoutRequest {
    /// The cart to buy; its contents overrule `line_items`, `buyer` and `context`.
    #[serde(default)]
    #[schemars(length(max = 1_024))]
    cart_id: Option<String>,
    /// What to buy.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    line_items: Vec<LineItemRequest>,
    /// The buyer.
    #[serde(default)]
    buyer: Option<BuyerRequest>,
    /// The buyer's circumstances.
    #[serde(default)]
    context: Option<ContextRequest>,
    #[serde(default)]
    signals: Option<Signals>,
    #[serde(default)]
    attribution: Option<AttributionRequest>,
    /// Discounts to apply.
    #[serde(default)]
    discounts: Option<DiscountsRequest>,
    /// How the goods reach the buyer.
    #[serde(default)]
    fulfillment: Option<FulfillmentRequest>,
    /// How it is to be paid; what pays is sent when the checkout is completed.
    #[serde(default)]
    payment: Option<PaymentRequest>,
}

/// What pays.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
#[schemars(
    rename = "CompleteCheckoutRequest",
    example = json!({ "payment": { "instruments": [{
        "id": "pi_1", "handler_id": "sandbox", "type": "card", "selected": true,
        "credential": { "type": "token", "token": "success_token" },
    }] } })
)]
pub(crate) struct CompleteCheckoutRequest {
    /// The instruments, with what pays.
    payment: PaymentRequest,
    #[serde(default)]
    signals: Option<Signals>,
    #[serde(default)]
    attribution: Option<AttributionRequest>,
    /// The buyer's agreement.
    #[serde(default)]
    ap2: Option<Ap2Request>,
}

/// The buyer's agreement (extension `ap2_mandate`).
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Ap2Request")]
struct Ap2Request {
    /// The SD-JWT with key binding by which the buyer agrees to the checkout as it was answered.
    #[serde(default)]
    #[schemars(length(max = MAX_MANDATE))]
    checkout_mandate: Option<String>,
}

/// How long a mandate may be, in characters.
const MAX_MANDATE: usize = 512 * 1024;

/// A line.
#[derive(Debug, Deserialize, JsonSchema)]
struct LineItemRequest {
    /// The line that is meant, on update; lines without are new.
    #[serde(default)]
    #[schemars(length(max = 1_024))]
    id: Option<String>,
    /// What.
    item: ItemRequest,
    /// How many.
    #[serde(deserialize_with = "quantity")]
    #[schemars(range(min = 1, max = MAX_QUANTITY))]
    quantity: u64,
    /// The line it belongs to.
    #[serde(default)]
    #[schemars(length(max = 1_024))]
    parent_id: Option<String>,
}

/// What a line is about.
#[derive(Debug, Deserialize, JsonSchema)]
struct ItemRequest {
    /// The identifier of a variant.
    #[schemars(length(max = 1_024))]
    id: String,
}

fn quantity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number = Number::deserialize(deserializer)?;
    let whole = ucp_core::json::integer(&number).and_then(|integer| u64::try_from(integer).ok());
    whole.ok_or_else(|| D::Error::custom("a quantity is a whole number"))
}

/// The buyer.
#[derive(Debug, Deserialize, JsonSchema)]
struct BuyerRequest {
    /// Given name.
    #[serde(default)]
    #[schemars(length(max = 1_024))]
    first_name: Option<String>,
    /// Family name.
    #[serde(default)]
    #[schemars(length(max = 1_024))]
    last_name: Option<String>,
    /// E-mail address.
    #[serde(default)]
    #[schemars(length(max = 1_024))]
    email: Option<String>,
    /// Telephone number, best in E.164 form.
    #[serde(default)]
    #[schemars(length(max = 255))]
    phone_number: Option<String>,
    /// What the buyer agreed to.
    #[serde(default)]
    consent: Option<DecisionsRequest>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

impl From<BuyerRequest> for Buyer {
    fn from(stated: BuyerRequest) -> Self {
        Self {
            first_name: stated.first_name,
            last_name: stated.last_name,
            email: stated.email,
            phone_number: stated.phone_number,
            consent: stated.consent.map(Into::into),
            extra: stated.extra,
        }
    }
}

/// Referral and campaign parameters of the platform. They never change an answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "AttributionRequest")]
#[serde(transparent)]
struct AttributionRequest(#[schemars(with = "std::collections::BTreeMap<String, String>")] Map<String, Value>);

/// Discounts to apply.
#[derive(Debug, Deserialize, JsonSchema)]
struct DiscountsRequest {
    /// Codes, in the order in which they are to be tried. Replaces the codes sent before.
    #[serde(default)]
    #[schemars(length(max = 100), inner(length(max = 255)))]
    codes: Vec<String>,
}

/// How the goods reach the buyer.
#[derive(Debug, Deserialize, JsonSchema)]
struct FulfillmentRequest {
    /// The methods.
    #[serde(default)]
    #[schemars(length(max = 100))]
    methods: Vec<FulfillmentMethodRequest>,
}

/// A method.
#[derive(Debug, Deserialize, JsonSchema)]
struct FulfillmentMethodRequest {
    /// The method that is meant, on update.
    #[serde(default)]
    #[schemars(length(max = 1_024))]
    id: Option<String>,
    /// `shipping` or `pickup`; can be left out for a method that is named.
    #[serde(default, rename = "type")]
    #[schemars(length(max = 255))]
    kind: Option<String>,
    /// The lines it is for; all that need one when absent.
    #[serde(default)]
    #[schemars(length(max = 1_000), inner(length(max = 1_024)))]
    line_item_ids: Option<Vec<String>>,
    /// Where to.
    #[serde(default)]
    #[schemars(length(max = 100))]
    destinations: Vec<FulfillmentDestinationRequest>,
    /// Which of the destinations, stated here or offered before.
    #[serde(default)]
    #[schemars(schema_with = "choice")]
    selected_destination_id: Option<String>,
    /// The groups, with the option chosen for each.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    groups: Vec<FulfillmentGroupRequest>,
}

/// The option chosen for a group.
#[derive(Debug, Deserialize, JsonSchema)]
struct FulfillmentGroupRequest {
    /// The group that is meant; the method's first one when absent.
    #[serde(default)]
    #[schemars(length(max = 1_024))]
    id: Option<String>,
    /// The chosen option.
    #[serde(default)]
    #[schemars(schema_with = "choice")]
    selected_option_id: Option<String>,
}

/// A chosen identifier, or `null` for none.
fn choice(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "oneOf": [{ "type": "string", "maxLength": 1_024 }, { "type": "null" }] })
}

/// A destination: an address, or a place of the shop.
#[derive(Debug, Deserialize, JsonSchema)]
struct FulfillmentDestinationRequest {
    /// Its identifier; the shop gives one where it is absent.
    #[serde(default)]
    #[schemars(length(max = 1_024))]
    id: Option<String>,
    /// `shipping_address` or `business_location`; the method says as much.
    #[expect(dead_code, reason = "part of the shape; the method says as much")]
    #[serde(default, rename = "type")]
    kind: Option<String>,
    /// The name, for a place of the shop.
    #[serde(default)]
    #[schemars(length(max = 1_024))]
    name: Option<String>,
    /// The address, for a place of the shop.
    #[serde(default)]
    address: Option<AddressRequest>,
    #[serde(flatten)]
    own: AddressRequest,
}

impl From<FulfillmentDestinationRequest> for DestinationDraft {
    fn from(stated: FulfillmentDestinationRequest) -> Self {
        Self { id: stated.id, name: stated.name, address: stated.address.unwrap_or(stated.own).into() }
    }
}

/// The members of all requests that have lines.
#[derive(Deserialize)]
struct Stated {
    #[serde(default)]
    line_items: Vec<LineItemRequest>,
    buyer: Option<BuyerRequest>,
    context: Option<catalog::Context>,
    attribution: Option<AttributionRequest>,
    discounts: Option<DiscountsRequest>,
    fulfillment: Option<FulfillmentRequest>,
    payment: Option<PaymentRequest>,
}

impl Stated {
    /// The domain's words for it. `context` is the circumstances as they came.
    fn draft(self, context: Option<Map<String, Value>>, languages: &[String]) -> Draft {
        let line = |line: LineItemRequest| LineDraft {
            id: line.id,
            item: line.item.id,
            quantity: line.quantity,
            parent_id: line.parent_id,
        };
        let group =
            |group: FulfillmentGroupRequest| GroupDraft { id: group.id, selected_option_id: group.selected_option_id };
        let method = |method: FulfillmentMethodRequest| MethodDraft {
            id: method.id,
            kind: method.kind,
            line_item_ids: method.line_item_ids,
            destinations: method.destinations.into_iter().map(Into::into).collect(),
            selected_destination_id: method.selected_destination_id,
            groups: method.groups.into_iter().map(group).collect(),
        };
        let circumstances = circumstances(self.context.unwrap_or_default(), languages);
        let context_stated = context.map(|mut stated| {
            if stated.contains_key("eligibility") {
                stated.insert("eligibility".to_owned(), circumstances.eligibility.clone().into());
            }
            stated
        });
        Draft {
            line_items: self.line_items.into_iter().map(line).collect(),
            buyer: self.buyer.map(Into::into),
            context: circumstances,
            context_stated,
            codes: self.discounts.map(|discounts| discounts.codes),
            fulfillment: self
                .fulfillment
                .map(|stated| FulfillmentDraft { methods: stated.methods.into_iter().map(method).collect() }),
            instruments: self
                .payment
                .map(PaymentRequest::tenders)
                .unwrap_or_default()
                .into_iter()
                .map(|tender| tender.instrument)
                .collect(),
            attribution: self.attribution.map(|AttributionRequest(parameters)| parameters),
        }
    }
}

/// What prices, taxes and benefits depend on. Claims that are no reverse-domain names claim nothing.
fn circumstances(context: catalog::Context, languages: &[String]) -> Circumstances {
    let mut seen = HashSet::new();
    let claims = context.eligibility.into_iter().flatten().filter_map(|claim| match claim.0 {
        Value::String(name) if is_reverse_domain(&name) => Some(name),
        _ => None,
    });
    Circumstances {
        country: context.address_country,
        region: context.address_region,
        postal_code: context.postal_code,
        languages: context.language.into_iter().chain(languages.iter().cloned()).collect(),
        currency: context.currency,
        eligibility: claims.filter(|claim| seen.insert(claim.clone())).collect(),
    }
}

/// The contents of a cart. Members that only checkouts have are left alone.
///
/// # Errors
/// What the schema does not see.
pub(crate) fn cart(mut payload: Value, languages: &[String]) -> Result<Draft, Refusal> {
    if let Some(members) = payload.as_object_mut() {
        members.shift_remove("fulfillment");
        members.shift_remove("payment");
    }
    checkout(payload, languages)
}

/// The contents of a checkout.
///
/// # Errors
/// What the schema does not see.
pub(crate) fn checkout(payload: Value, languages: &[String]) -> Result<Draft, Refusal> {
    let context = payload.get("context").and_then(Value::as_object).cloned();
    Ok(parsed::<Stated>(payload)?.draft(context, languages))
}

/// What a checkout is made of: line items, or the contents of a cart.
///
/// # Errors
/// What the schema does not see.
pub(crate) fn create_checkout(payload: Value, languages: &[String]) -> Result<checkout::Create, Refusal> {
    let cart_id = payload.get("cart_id").and_then(Value::as_str).map(str::to_owned);
    Ok(checkout::Create { draft: checkout(payload, languages)?, cart_id })
}

/// The draft that a request states, if it states one.
pub(crate) fn draft(request: &mut Request) -> Option<&mut Draft> {
    match request {
        Request::Sale(SaleRequest::CreateCart(request)) => Some(&mut request.draft),
        Request::Sale(SaleRequest::UpdateCart(request)) => Some(&mut request.draft),
        Request::Sale(SaleRequest::CreateCheckout(request)) => Some(&mut request.draft),
        Request::Sale(SaleRequest::UpdateCheckout(request)) => Some(&mut request.draft),
        _ => None,
    }
}

/// What pays.
///
/// # Errors
/// What the schema does not see.
pub(crate) fn tenders(mut payload: Value) -> Result<Vec<Tender>, Refusal> {
    let payment = payload.get_mut("payment").map(Value::take);
    Ok(payment.map(parsed::<PaymentRequest>).transpose()?.unwrap_or_default().tenders())
}

/// What proves that the buyer agrees.
pub(crate) fn mandate(payload: &Value) -> Option<Mandate> {
    payload.get("ap2")?.get("checkout_mandate")?.as_str().map(|text| Mandate::new(text.to_owned()))
}

/// The resource that is meant, which the payload may name once more (trap T-12).
///
/// # Errors
/// It is named nowhere, or the payload names another one.
pub(crate) fn identifier(operation: Operation, id: Option<&str>, payload: &Value) -> Result<String, Refusal> {
    let name = operation.row().name;
    let id = id.ok_or_else(|| Refusal::invalid("$.id", format!("`{name}` needs an `id`.")).accepting("a text"))?;
    match payload.get("id") {
        None => Ok(id.to_owned()),
        Some(Value::String(repeated)) if repeated == id => Ok(id.to_owned()),
        Some(_) => Err(Refusal::invalid("$.id", "The request is about another `id` than its payload.")
            .accepting("the same `id`, or none in the payload")),
    }
}

/// A payload as its wire type. What the schema accepts parses; what went wrong otherwise is not repeated, because the
/// values may be a buyer's, or pay.
fn parsed<T: DeserializeOwned>(payload: Value) -> Result<T, Refusal> {
    serde_json::from_value(payload).map_err(|_| Refusal::invalid("$", "The request cannot be read."))
}
