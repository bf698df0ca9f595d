//! Requests about carts and checkouts on the wire, and their conversion to domain drafts.
//!
//! An update replaces the whole content, so the requests differ little: `line_items` is required, unless a checkout is
//! made from a cart. Integers may be written with a zero fraction (trap T-41). Conversions fail for a value that the schema
//! accepts and the wire type does not, and for a [card number](PaymentRequest::check).

use std::collections::HashSet;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::{Map, Number, Value, json};
use ucp_core::{
    Operation, Refusal, checkout,
    merchant::record::is_reverse_domain,
    purchase::{
        buyer::Buyer,
        draft::{Circumstances, DestinationDraft, Draft, FulfillmentDraft, GroupDraft, LineDraft, MethodDraft},
        line_item::MAX_QUANTITY,
        mandate::Mandate,
        payment::Tender,
    },
};

use super::{address::AddressRequest, consent::DecisionsRequest, payment::PaymentRequest};
use crate::catalog::request::{self as catalog, ContextRequest, Signals};

// What carts may have beside line items.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
struct CartMembers {
    /// The buyer.
    buyer: Option<BuyerRequest>,
    /// Hints about the buyer.
    context: Option<ContextRequest>,
    signals: Option<Signals>,
    attribution: Option<AttributionRequest>,
    /// Discounts to apply.
    discounts: Option<DiscountsRequest>,
}

// What checkouts may have beside line items.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
struct CheckoutMembers {
    #[serde(flatten)]
    members: CartMembers,
    /// Shipping or pickup: methods, destinations and chosen options.
    fulfillment: Option<FulfillmentRequest>,
    /// Payment instruments, without credentials: `complete_checkout` takes these.
    #[serde(default)]
    payment: Option<PaymentRequest>,
}

fn example() -> Value {
    json!({
        "line_items": [{ "item": { "id": "var_abc123_blue_10" }, "quantity": 2 }],
        "buyer": { "email": "jane@example.com" },
        "fulfillment": { "methods": [{ "type": "shipping", "destinations": [{
            "street_address": "1 Main St", "address_locality": "Springfield", "address_region": "IL",
            "postal_code": "62701", "address_country": "US",
        }] }] },
    })
}

/// Contents of a cart.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
#[schemars(
    rename = "CartRequest",
    example = json!({ "line_items": [{ "item": { "id": "var_abc123_blue_10" }, "quantity": 2 }], "context": { "address_country": "US" } })
)]
pub(crate) struct CartRequest {
    /// All line items of the cart.
    #[schemars(length(max = 1_000))]
    line_items: Vec<LineItemRequest>,
    #[serde(flatten)]
    members: CartMembers,
}

/// Contents of a checkout.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
#[schemars(rename = "CheckoutRequest", example = example())]
pub(crate) struct CheckoutRequest {
    /// All line items of the checkout.
    #[schemars(length(min = 1, max = 1_000))]
    line_items: Vec<LineItemRequest>,
    #[serde(flatten)]
    members: CheckoutMembers,
}

/// A new checkout: `line_items`, or the `cart_id` of the cart to buy.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
#[schemars(
    rename = "CreateCheckoutRequest",
    extend("anyOf" = [{ "required": ["line_items"] }, { "required": ["cart_id"] }]),
    example = example()
)]
pub(crate) struct CreateCheckoutRequest {
    /// ID of the cart to buy. Its contents override `line_items`, `buyer` and `context`.
    #[schemars(length(max = 1_024))]
    cart_id: Option<String>,
    /// Line items of the checkout.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    line_items: Vec<LineItemRequest>,
    #[serde(flatten)]
    members: CheckoutMembers,
}

/// Completion of a checkout.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
#[schemars(
    rename = "CompleteCheckoutRequest",
    example = json!({ "payment": { "instruments": [{
        "id": "pi_1", "handler_id": "mock_payment_handler", "type": "card", "selected": true,
        "credential": { "type": "token", "token": "success_token" },
    }] } })
)]
pub(crate) struct CompleteCheckoutRequest {
    /// Payment instruments with their credentials.
    payment: PaymentRequest,
    signals: Option<Signals>,
    attribution: Option<AttributionRequest>,
    /// The buyer's agreement, if mandates were negotiated.
    ap2: Option<Ap2Request>,
}

/// The buyer's agreement (extension `ap2_mandate`).
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Ap2Request")]
struct Ap2Request {
    /// SD-JWT with key binding in which the buyer agrees to the checkout as it was returned.
    #[schemars(length(max = MAX_MANDATE))]
    checkout_mandate: Option<String>,
}

/// Maximum length of a mandate, in characters.
const MAX_MANDATE: usize = 512 * 1024;

/// A line item.
#[derive(Debug, Deserialize, JsonSchema)]
struct LineItemRequest {
    /// ID of the existing line item to keep. Omit it for a new one.
    #[schemars(length(max = 1_024))]
    id: Option<String>,
    /// The item.
    item: ItemRequest,
    /// The quantity.
    #[serde(deserialize_with = "quantity")]
    #[schemars(range(min = 1, max = MAX_QUANTITY))]
    quantity: u64,
    /// ID of the line item that this one belongs to.
    #[schemars(length(max = 1_024))]
    parent_id: Option<String>,
}

/// The item of a line.
#[derive(Debug, Deserialize, JsonSchema)]
struct ItemRequest {
    /// Variant ID.
    #[schemars(length(max = 1_024))]
    id: String,
    /// Expected unit of `quantity`. Items are sold by the piece: a line item with another unit has no effect and returns
    /// the message `quantity_unit_mismatch`.
    quantity_unit: Option<QuantityUnitRequest>,
}

/// A unit of quantities.
#[derive(Debug, Deserialize, JsonSchema)]
struct QuantityUnitRequest {
    /// UN/CEFACT Recommendation 20 code, such as `C62` for pieces or `KGM` for kilograms.
    #[schemars(length(max = 255))]
    unit: String,
    /// Decimal places, 0 by default: `quantity` counts steps of 10^-scale units.
    #[schemars(with = "Option<u8>", range(max = 15))]
    scale: Option<Number>,
}

impl QuantityUnitRequest {
    fn is_piece(&self) -> bool {
        self.unit == "C62" && self.scale.as_ref().is_none_or(|scale| ucp_core::json::integer(scale) == Some(0))
    }
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
    #[schemars(length(max = 1_024))]
    first_name: Option<String>,
    /// Family name.
    #[schemars(length(max = 1_024))]
    last_name: Option<String>,
    /// Email address.
    #[schemars(length(max = 1_024))]
    email: Option<String>,
    /// Telephone number, preferably in E.164 form.
    #[schemars(length(max = 255))]
    phone_number: Option<String>,
    /// Consent by purpose, such as `{"dev.ucp.consent.marketing": {"granted": true}}`.
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

/// Referral and campaign parameters, as strings. They never change the response.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "AttributionRequest")]
#[serde(transparent)]
struct AttributionRequest(#[schemars(with = "std::collections::BTreeMap<String, String>")] Map<String, Value>);

/// Discounts to apply.
#[derive(Debug, Deserialize, JsonSchema)]
struct DiscountsRequest {
    /// Discount codes, applied in this order. Replaces the codes sent before.
    #[serde(default)]
    #[schemars(length(max = 100), inner(length(max = 255)))]
    codes: Vec<String>,
}

/// Fulfillment of a checkout.
#[derive(Debug, Deserialize, JsonSchema)]
struct FulfillmentRequest {
    /// The fulfillment methods.
    #[serde(default)]
    #[schemars(length(max = 100))]
    methods: Vec<FulfillmentMethodRequest>,
}

/// A fulfillment method.
#[derive(Debug, Deserialize, JsonSchema)]
struct FulfillmentMethodRequest {
    /// ID of the existing method to keep.
    #[schemars(length(max = 1_024))]
    id: Option<String>,
    /// `shipping` or `pickup`. Optional with `id`.
    #[serde(default, rename = "type")]
    #[schemars(length(max = 255))]
    kind: Option<String>,
    /// Line items that it is for, by default all that need one.
    #[schemars(length(max = 1_000), inner(length(max = 1_024)))]
    line_item_ids: Option<Vec<String>>,
    /// Possible destinations.
    #[serde(default)]
    #[schemars(length(max = 100))]
    destinations: Vec<FulfillmentDestinationRequest>,
    /// ID of the chosen destination. One of `destinations`, or of those in the last response.
    #[serde(default)]
    #[schemars(schema_with = "choice")]
    selected_destination_id: Option<String>,
    /// Groups from the last response, each with the chosen option.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    groups: Vec<FulfillmentGroupRequest>,
}

/// The option chosen for a group.
#[derive(Debug, Deserialize, JsonSchema)]
struct FulfillmentGroupRequest {
    /// ID of the group, by default the first of the method.
    #[schemars(length(max = 1_024))]
    id: Option<String>,
    /// ID of the chosen option.
    #[serde(default)]
    #[schemars(schema_with = "choice")]
    selected_option_id: Option<String>,
}

/// Returns the schema of a chosen ID, or `null` for none.
fn choice(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "oneOf": [{ "type": "string", "maxLength": 1_024 }, { "type": "null" }] })
}

/// A destination: an address, or a location of the shop.
#[derive(Debug, Deserialize, JsonSchema)]
struct FulfillmentDestinationRequest {
    /// ID, by default assigned by the shop.
    #[schemars(length(max = 1_024))]
    id: Option<String>,
    /// `shipping_address` or `business_location`. Ignored: the method implies it.
    #[expect(dead_code, reason = "part of the shape; the method says as much")]
    #[serde(default, rename = "type")]
    kind: Option<String>,
    /// Name of a location of the shop.
    #[schemars(length(max = 1_024))]
    name: Option<String>,
    /// Address of a location of the shop.
    address: Option<AddressRequest>,
    #[serde(flatten)]
    own: AddressRequest,
}

impl From<FulfillmentDestinationRequest> for DestinationDraft {
    fn from(stated: FulfillmentDestinationRequest) -> Self {
        Self { id: stated.id, name: stated.name, address: stated.address.unwrap_or(stated.own).into() }
    }
}

/// The members of all requests that have line items.
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
    /// Converts to a domain draft. `context` is the `context` member as sent.
    fn draft(self, context: Option<Map<String, Value>>, languages: &[String]) -> Draft {
        let line = |line: LineItemRequest| LineDraft {
            id: line.id,
            other_unit: line.item.quantity_unit.filter(|unit| !unit.is_piece()).map(|unit| unit.unit),
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
            all_or_nothing: true,
            ignored: Vec::new(),
        }
    }
}

/// Converts the context that prices, taxes and benefits depend on. Claims that are not reverse-domain names are
/// ignored.
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
        customer_group: None,
    }
}

/// Converts the payload of a cart to a draft. Members that only checkouts have are ignored.
pub(crate) fn cart(mut payload: Value, languages: &[String]) -> Result<Draft, Refusal> {
    if let Some(members) = payload.as_object_mut() {
        members.shift_remove("fulfillment");
        members.shift_remove("payment");
    }
    checkout(payload, languages)
}

/// Converts the payload of a checkout to a draft.
pub(crate) fn checkout(payload: Value, languages: &[String]) -> Result<Draft, Refusal> {
    let context = payload.get("context").and_then(Value::as_object).cloned();
    let stated = parsed::<Stated>(payload)?;
    stated.payment.as_ref().map_or(Ok(()), PaymentRequest::check)?;
    Ok(stated.draft(context, languages))
}

/// Converts the payload of a new checkout: line items, or the contents of a cart. Identifiers of groups are ignored,
/// because the shop has assigned none yet.
pub(crate) fn create_checkout(payload: Value, languages: &[String]) -> Result<checkout::Create, Refusal> {
    let cart_id = payload.get("cart_id").and_then(Value::as_str).map(str::to_owned);
    let mut draft = checkout(payload, languages)?;
    let methods = draft.fulfillment.iter_mut().flat_map(|fulfillment| &mut fulfillment.methods);
    methods.flat_map(|method| &mut method.groups).for_each(|group| group.id = None);
    Ok(checkout::Create { draft, cart_id })
}

/// Converts the instruments and credentials of a completion.
pub(crate) fn tenders(mut payload: Value) -> Result<Vec<Tender>, Refusal> {
    let payment = payload.get_mut("payment").map(Value::take);
    let payment = payment.map(parsed::<PaymentRequest>).transpose()?.unwrap_or_default();
    payment.check()?;
    Ok(payment.tenders())
}

/// Returns the mandate in which the buyer agrees to a checkout, if it was sent.
pub(crate) fn mandate(payload: &Value) -> Option<Mandate> {
    payload.get("ap2")?.get("checkout_mandate")?.as_str().map(|text| Mandate::new(text.to_owned()))
}

/// Returns the resource ID, which the payload may repeat (trap T-12). Fails with
/// [`InvalidRequest`](ucp_core::Code::InvalidRequest) if there is no ID, or the payload has another one.
pub(crate) fn identifier(operation: Operation, id: Option<&str>, payload: &Value) -> Result<String, Refusal> {
    let name = operation.row().name;
    let id = id.ok_or_else(|| Refusal::invalid("$.id", format!("`{name}` needs an `id`.")).accepting("a text"))?;
    match payload.get("id") {
        None => Ok(id.to_owned()),
        Some(Value::String(repeated)) if repeated == id => Ok(id.to_owned()),
        Some(_) => Err(Refusal::invalid("$.id", "The `id` of the request differs from the one in its payload.")
            .accepting("the same `id`, or none in the payload")),
    }
}

/// Deserializes a payload that passed the schema. The cause of a failure is not repeated, because values may be
/// personal data or credentials.
fn parsed<T: DeserializeOwned>(payload: Value) -> Result<T, Refusal> {
    serde_json::from_value(payload).map_err(|_| Refusal::invalid("$", "The request cannot be read."))
}
