//! Questions and answers of the contract.
//!
//! Amounts are integers in minor units of the stated currency. Unknown members of answers are ignored, so that the
//! contract can grow; members that are not required may be absent.

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{IgnoredAny, SeqAccess, Visitor},
};
use serde_json::{Map, Value};
use ucp_core::{
    catalog::{product::Link, record::Record},
    money::{Amount, Currency},
    order::{AdjustmentStatus, report::OccurrenceKind},
    ports::remote_cart::RefusalKind,
    purchase::{
        buyer::{Buyer, PostalAddress},
        quote::{CodeProblem, CreditKind, ProblemKind},
    },
};

/// Version of the contract.
pub const VERSION: &str = "1";

/// Answer to `GET /backend`: what the shop is and what it can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Backend {
    /// Version of the contract that the shop implements: `1`.
    pub contract: String,
    /// Market of the shop.
    pub market: Market,
    /// Abilities of the catalog.
    #[serde(default)]
    pub catalog: CatalogAbilities,
    /// Abilities of carts; without them the gateway offers the catalog alone.
    #[serde(default)]
    pub cart: Option<CartAbilities>,
    /// Payments that the shop takes with `/place`. Their credentials pass the gateway unread.
    #[serde(default)]
    pub payment_handlers: Vec<PaymentHandler>,
}

/// Market of a shop: its languages, currencies and pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Market {
    /// Name of the shop.
    pub name: String,
    /// ISO 4217 code of the currency in which every product is priced.
    pub currency: Currency,
    /// Other currencies that products may be priced in.
    #[serde(default)]
    pub currencies: Vec<Currency>,
    /// BCP 47 tag of the language of every text.
    pub language: String,
    /// Other languages that texts may be in.
    #[serde(default)]
    pub languages: Vec<String>,
    /// Currency shown to buyers of a country (ISO 3166-1 alpha-2) who request none.
    #[serde(default)]
    pub countries: BTreeMap<String, Currency>,
    /// Policies and other pages of the shop.
    #[serde(default)]
    pub links: Vec<Link>,
}

/// Abilities of the catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CatalogAbilities {
    /// Maximum number of identifiers in one `/resolve`, 10 to 100; default 50.
    #[serde(default)]
    pub most_ids: Option<u16>,
    /// `true` if `/find` applies all filters before it makes pages. Otherwise the gateway filters, and pages may be
    /// short.
    #[serde(default)]
    pub filters: bool,
    /// `true` if `/find` understands `updated_since`.
    #[serde(default)]
    pub updated_since: bool,
}

/// Abilities of carts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CartAbilities {
    /// Means by which purchases are completed.
    pub completion: Completion,
    /// `true` if discount codes are taken.
    #[serde(default)]
    pub codes: bool,
    /// If `true`, the shop ships items to an address and states the options. Otherwise items need no shipping, or it is
    /// arranged on the shop's page.
    #[serde(default)]
    pub delivery: bool,
    /// If `true`, items can be picked up at pickup locations, which `/cart/sync` states.
    #[serde(default)]
    pub pickup: bool,
    /// `true` if a question to make a cart is answered with the cart that an earlier one with the same `key` has made. The
    /// gateway finds a cart by it whose making was not answered, and abandons it.
    #[serde(default)]
    pub keys: bool,
    /// With `hand_off`: `true` if `/order` finds the order that the buyer has placed from a cart. The gateway asks while the
    /// buyer may pay on the page of the shop.
    #[serde(default)]
    pub finds_orders: bool,
    /// `true` if `/order/status` says what has become of an order. The gateway asks while anything may happen to it.
    #[serde(default)]
    pub order_status: bool,
}

/// Means by which purchases are completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// The gateway places the order with `/place`.
    Place,
    /// The buyer pays on a page of the shop, under the cart's `continue_url`.
    HandOff,
}

/// A payment that the shop takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PaymentHandler {
    /// Reverse-domain name of the kind of handler, such as `com.example.pay`.
    pub name: String,
    /// Identifier to which `handler_id` of an instrument refers.
    pub id: String,
    /// Version of the handler's specification, a date.
    pub version: String,
    /// URL of the specification. Default: the one that `name` stands for, `https://example.com/pay`.
    #[serde(default)]
    pub spec: String,
    /// URL of the schema of the configuration. Default: the same.
    #[serde(default)]
    pub schema: String,
    /// Types of instruments that are taken, such as `card`; at least one.
    pub instruments: Vec<String>,
    /// Public configuration that platforms need.
    #[serde(default)]
    pub config: Map<String, Value>,
}

impl PaymentHandler {
    /// Returns the URL that the name stands for: releases that ask for URLs of the handler get no empty ones.
    pub fn address(&self) -> String {
        let mut labels = self.name.split('.');
        let (top, domain) = (labels.next().unwrap_or_default(), labels.next().unwrap_or_default());
        let path: Vec<_> = labels.collect();
        format!("https://{domain}.{top}/{}", path.join("/"))
    }
}

/// Refusal of a question: the body of an answer with status 4xx.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// Reason, for the log of the gateway.
    #[serde(default)]
    pub error: Option<String>,
}

/// For whom an answer is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Context {
    /// Language of the answer, as the market spells it. A hint: texts may be in the market's own.
    pub language: String,
    /// Currency in which the buyer is shown prices, if they are stated in it.
    pub currency: Currency,
    /// Country of the buyer (ISO 3166-1 alpha-2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// IP address of the buyer, if a platform that is known states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buyer_ip: Option<String>,
    /// Customer group of the platform that asks, as the operator of the gateway names it, for shops that have prices by
    /// group; absent for the prices of everyone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer_group: Option<String>,
}

/// Question of `POST /find`: one page of the products that match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Find {
    /// Words of the buyer; without them every product matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// Categories, any of which a product may be in, such as `footwear>running`, in lower case; a category includes
    /// those below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// Bounds of the price of a variant, any of which will do: a price in a currency without bounds does not match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<PriceBounds>,
    /// `true` for products with a variant that can be bought now.
    #[serde(default)]
    pub available: bool,
    /// Only products that changed at this time or later, RFC 3339, without `words` and filters; those that are no longer
    /// sold are stated as their `id` and `"deleted": true`. The gateway asks for them to keep a copy of the catalog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub updated_since: Option<jiff::Timestamp>,
    /// For whom the page is made.
    pub context: Context,
    /// Page size, at least 1.
    pub limit: usize,
    /// `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Bounds of a price, both inclusive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PriceBounds {
    /// Currency of the bounds.
    pub currency: Currency,
    /// Lowest price.
    pub min: Amount,
    /// Highest price, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Amount>,
}

/// Maximum number of products that are kept of one answer, however many it holds.
const MOST_KEPT: usize = 5_000;

/// Reads the products of an answer, and drops those beyond [`MOST_KEPT`] as they come.
fn some_products<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Value>, D::Error> {
    struct Products;
    impl<'de> Visitor<'de> for Products {
        type Value = Vec<Value>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array of products")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut products: A) -> Result<Vec<Value>, A::Error> {
            let mut kept = Vec::new();
            while kept.len() < MOST_KEPT {
                let Some(product) = products.next_element()? else { return Ok(kept) };
                kept.push(product);
            }
            let mut dropped = 0_u64;
            while products.next_element::<IgnoredAny>()?.is_some() {
                dropped += 1;
            }
            if dropped > 0 {
                tracing::warn!(kept = kept.len(), dropped, "upstream response has more products than are kept");
            }
            Ok(kept)
        }
    }
    deserializer.deserialize_seq(Products)
}

/// Answer to `/find`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// Products, best match first, each as a line of `ucp-gateway import` states it.
    #[serde(deserialize_with = "some_products")]
    #[schemars(with = "Vec<Record>")]
    pub products: Vec<Value>,
    /// Position after which the next page starts, at most 1,024 characters; absent on the last page.
    #[serde(default)]
    pub next: Option<String>,
    /// Number of all products that match, if it is known.
    #[serde(default)]
    pub total: Option<u64>,
}

/// Question of `POST /resolve` and `POST /open`: the products that identifiers name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resolve {
    /// Identifiers of products and variants; also handles, SKUs and barcodes, if the shop can look them up.
    pub ids: Vec<String>,
    /// For whom the answer is made.
    pub context: Context,
}

/// Answer to `/resolve` and `/open`. The gateway works out which identifier found what.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Resolved {
    /// Products, each with all of its variants. What names nothing is left out.
    #[serde(deserialize_with = "some_products")]
    #[schemars(with = "Vec<Record>")]
    pub products: Vec<Value>,
}

/// Question of `POST /cart/sync` and `POST /cart/fetch`: what the cart is to contain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CartQuestion {
    /// Identifier of the cart; absent to make one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cart: Option<String>,
    /// Key of the cart to make, which is never used for another one; for shops that state `keys`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// `cart` for an estimate, `checkout` for a purchase.
    pub purpose: CartPurpose,
    /// Reference that an order of this cart has to state, for purchases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Lines, one per variant. They replace what was in the cart.
    pub lines: Vec<WantedLine>,
    /// Discount codes. They replace those of the cart.
    #[serde(default)]
    pub codes: Vec<String>,
    /// Buyer, as far as known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buyer: Option<Buyer>,
    /// Address to deliver to, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<PostalAddress>,
    /// Identifier of the chosen delivery option; absent for the shop's choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_option: Option<String>,
    /// Identifier of the chosen pickup location; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pickup_place: Option<String>,
    /// For whom the cart is priced.
    pub context: Context,
}

/// Purpose of a cart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CartPurpose {
    /// An estimate.
    Cart,
    /// A purchase.
    Checkout,
}

/// A line as the cart is to have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WantedLine {
    /// Identifier of the variant.
    pub variant: String,
    /// Quantity, at least 1.
    pub quantity: u64,
}

/// Answer to `/cart/sync` and `/cart/fetch`: the cart as it is. A cart that no longer exists is status 404.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cart {
    /// Identifier of the cart. Whoever knows it can open the cart: the gateway tells it to nobody.
    pub cart: String,
    /// URL of the shop's page on which the buyer can continue. Required if buyers pay there.
    #[serde(default)]
    pub continue_url: Option<String>,
    /// Currency of all amounts.
    pub currency: Currency,
    /// Lines. A variant that is missing or has fewer than were wanted is told to the platform.
    pub lines: Vec<CartLine>,
    /// Discounts in effect, besides those that prices contain.
    #[serde(default)]
    pub discounts: Vec<CartDiscount>,
    /// Shipping options for the stated address.
    #[serde(default)]
    pub delivery_options: Vec<DeliveryOption>,
    /// Identifier of the option that the total contains; absent if it contains none.
    #[serde(default)]
    pub delivery_option: Option<String>,
    /// Pickup locations that have everything in the cart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pickup_places: Vec<PickupPlace>,
    /// Identifier of the place whose price the total contains; absent if it contains none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pickup_place: Option<String>,
    /// Fees.
    #[serde(default)]
    pub fees: Vec<Charge>,
    /// Codes of the question that the shop knows and does not apply, each with the reason. A code that is neither here
    /// nor among the discounts and credits does not exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmet_codes: Vec<UnmetCode>,
    /// Values of the buyer and of the address that the shop does not accept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub field_problems: Vec<FieldProblem>,
    /// Taxes, besides those that prices contain.
    #[serde(default)]
    pub taxes: Vec<Charge>,
    /// Gift cards and store credit that pay a part of it, in the order in which they are used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credits: Vec<Credit>,
    /// Total, which remains to be paid: the sum of the lines, less discounts, and the chosen delivery, fees and taxes,
    /// less credits.
    pub total: Amount,
}

impl Cart {
    /// Checks that what is chosen is there, that the credits are at most what is due, and that the total is what they
    /// leave of it. Fails with the path of the first member that is wrong, and what it must be.
    pub fn add_up(&self) -> Result<(), String> {
        let minor = |amount: Amount| i128::from(amount.minor());
        let chosen = self.delivery_option.as_ref().map(|chosen| {
            let option = self.delivery_options.iter().find(|option| option.id == *chosen);
            option.ok_or_else(|| "$.delivery_option: must be one of `delivery_options`".to_owned())
        });
        let delivery = chosen.transpose()?.map_or(0, |option| minor(option.amount));
        if let Some(place) = self.pickup_places.iter().position(|place| place.address.address_country.is_none()) {
            return Err(format!("$.pickup_places[{place}].address.address_country: must be there"));
        }
        let chosen = self.pickup_place.as_ref().map(|chosen| {
            let place = self.pickup_places.iter().find(|place| place.id == *chosen);
            place.ok_or_else(|| "$.pickup_place: must be one of `pickup_places`".to_owned())
        });
        let pickup = chosen.transpose()?.map_or(0, |place| minor(place.amount));
        let line = |line: &CartLine| i128::from(line.quantity) * minor(line.price) - line.discount.map_or(0, minor);
        let lines: i128 = self.lines.iter().map(line).sum();
        let charges: i128 = self.fees.iter().chain(&self.taxes).map(|charge| minor(charge.amount)).sum();
        let discounts: i128 = self.discounts.iter().map(|discount| minor(discount.amount)).sum();
        let due = lines - discounts + delivery + pickup + charges;
        let mut sum = due;
        for (position, credit) in self.credits.iter().enumerate() {
            if minor(credit.amount) > sum {
                return Err(format!("$.credits[{position}].amount: must be at most {sum}, which is left of {due}"));
            }
            sum -= minor(credit.amount);
        }
        if sum == minor(self.total) {
            return Ok(());
        }
        let credits = due - sum;
        Err(format!(
            "$.total: must be {sum} (lines {lines}, discounts -{discounts}, delivery {delivery}, pickup {pickup}, fees and taxes {charges}, credits -{credits}), is {}",
            self.total.minor()
        ))
    }
}

/// A line of a cart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CartLine {
    /// Identifier of the variant.
    pub variant: String,
    /// Quantity; 0 if it cannot be had.
    pub quantity: u64,
    /// Price of one piece.
    pub price: Amount,
    /// Discount on the whole line.
    #[serde(default)]
    pub discount: Option<Amount>,
    /// Reason for which the line cannot be bought, or not in the wanted quantity. Without it, a line that is
    /// missing or smaller is one of which there are not as many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<LineProblem>,
}

/// Reason for which a line cannot be bought as it was stated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineProblem {
    /// Kind of the reason.
    pub kind: ProblemKind,
    /// Words for the buyer, in the language of the context; a sentence of the gateway's own if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A code that the shop knows and does not apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnmetCode {
    /// Code, one of the `codes` of the question.
    pub code: String,
    /// Kind of the reason.
    pub kind: CodeProblem,
    /// Words for the buyer, in the language of the context; a sentence of the gateway's own if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A value of the buyer or of the address that the shop does not accept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldProblem {
    /// Member of the question that it is about, such as `buyer.email`, `address.postal_code` or `address`.
    pub field: String,
    /// Kind of the problem.
    pub kind: FieldProblemKind,
    /// Words for the buyer, in the language of the context; a sentence of the gateway's own if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Kind of a problem with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FieldProblemKind {
    /// It is missing.
    Required,
    /// Nothing can be delivered there.
    Undeliverable,
    /// It is not accepted, for the reason that the text says.
    #[serde(other)]
    Invalid,
}

/// A discount in effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CartDiscount {
    /// Code that it was given for; absent for an automatic one.
    #[serde(default)]
    pub code: Option<String>,
    /// Name shown to the buyer.
    pub title: String,
    /// Amount taken off, not negative.
    pub amount: Amount,
}

/// A gift card or store credit that pays a part of a cart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Credit {
    /// Kind of the credit.
    pub kind: CreditKind,
    /// Name shown to the buyer.
    pub title: String,
    /// Code that it was given for, one of the `codes` of the question; absent if it needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Amount that it pays, not its balance.
    pub amount: Amount,
}

impl Credit {
    /// Returns the name as a buyer can be shown it.
    pub(crate) fn title(&self) -> String {
        ucp_import::text::line(&self.title).unwrap_or_else(|| match self.kind {
            CreditKind::GiftCard => "Gift card".to_owned(),
            CreditKind::StoreCredit => "Store credit".to_owned(),
        })
    }
}

/// A shipping option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryOption {
    /// Identifier.
    pub id: String,
    /// Name shown to the buyer.
    pub title: String,
    /// Price.
    pub amount: Amount,
    /// Further information, which repeats neither name nor price.
    #[serde(default)]
    pub description: Option<String>,
    /// Name of the carrier.
    #[serde(default)]
    pub carrier: Option<String>,
    /// Minimum delivery time in days.
    #[serde(default)]
    pub min_days: Option<u16>,
    /// Maximum delivery time in days.
    #[serde(default)]
    pub max_days: Option<u16>,
}

/// A pickup location of the shop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PickupPlace {
    /// Identifier; that of the place in `stock_by_location` of variants.
    pub id: String,
    /// Name shown to the buyer.
    pub name: String,
    /// Postal address, at least its country.
    pub address: PostalAddress,
    /// Price of picking up.
    pub amount: Amount,
    /// Number of days until the items are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_in_days: Option<u16>,
}

/// A fee or a tax.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Charge {
    /// Name shown to the buyer.
    pub title: String,
    /// Amount.
    pub amount: Amount,
}

/// Question of `POST /cart/abandon`: a cart that is not needed any more. A cart that does not exist counts as abandoned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Abandon {
    /// Identifier of the cart.
    pub cart: String,
}

/// Question of `POST /place`: the order to place and the payment to take, once for each reference.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Place")]
pub struct PlaceOrder {
    /// Reference of the attempt: a second `/place` with it changes nothing and is answered like the first.
    pub reference: String,
    /// Identifier of the cart.
    pub cart: String,
    /// Lines as the buyer agreed to them.
    pub lines: Vec<CartLine>,
    /// Currency of all amounts.
    pub currency: Currency,
    /// Total that the buyer agreed to. An order with another total must not be placed.
    pub total: Amount,
    /// Buyer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buyer: Option<Buyer>,
    /// Address to deliver to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<PostalAddress>,
    /// Identifier of the chosen delivery option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_option: Option<String>,
    /// Identifier of the pickup location.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pickup_place: Option<String>,
    /// Payment; absent if the total is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment: Option<Payment>,
}

/// A payment, as the platform submitted it.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Payment {
    /// Identifier of the payment handler.
    pub handler: String,
    /// Type of the instrument, such as `card`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Credential, unread: used once, never to be stored or logged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Map<String, Value>>,
    /// Billing address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billing_address: Option<PostalAddress>,
}

/// Question of `POST /order` and `POST /cancel`: an attempt to place an order.
///
/// `/order` is answered with [`Outcome`]. With `hand_off`, `reference` is the one that came with the cart, and the answer is
/// `absent` until the buyer has placed the order. `/cancel` makes sure that a `/place` with the reference that arrives late
/// places no order; it is answered with `absent` if it will not, or with what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// Reference of the attempt.
    pub reference: String,
    /// Identifier of the cart that the order is of, for shops that find an order by its cart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cart: Option<String>,
}

/// Answer to `/place`, `/order` and `/cancel`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Outcome {
    /// The order was placed, and paid.
    Placed {
        /// The order.
        order: Order,
        /// Content of the order, if the buyer may have changed it on a page of the shop. Default: the content of the cart.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bought: Option<Box<Bought>>,
    },
    /// The payment or the order was declined: there is no order, and no money moved.
    Declined {
        /// Reason, for the buyer.
        reason: String,
    },
    /// The order was not taken, for a reason beside the payment: there is no order, and no money moved.
    Refused {
        /// Kind of the reason.
        kind: RefusalKind,
        /// With `sold_out`: identifiers of the variants.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        variants: Vec<String>,
        /// With `undeliverable` and `buyer`: member of the address or of the buyer that is the reason, such as
        /// `postal_code`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        field: Option<String>,
        /// Reason, for the buyer; a sentence of the gateway's own if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The buyer has to authenticate on a page of the shop. There is no order, and there will be none for this attempt.
    Challenged {
        /// Reason, for the buyer.
        reason: String,
        /// URL of the page.
        continue_url: String,
    },
    /// It is not known yet: the gateway asks again.
    Pending,
    /// The attempt is unknown. Not an answer to `/place`.
    Absent,
}

/// An order as the shop names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Order {
    /// Identifier of the order.
    pub id: String,
    /// Order number for people.
    #[serde(default, deserialize_with = "text_or_none", skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// URL of the shop's page about the order.
    #[serde(default, deserialize_with = "text_or_none", skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Progress of its payment. Default: captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment: Option<PaymentProgress>,
}

/// Progress of the payment of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PaymentProgress {
    /// The money is reserved. An event `captured` or `released` follows.
    Authorized,
    /// The money was taken.
    Captured,
}

/// Reads a text that only is shown; of a number its digits. Anything else is none: an order is placed whatever is wrong
/// with its page.
fn text_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match serde_json::Value::deserialize(deserializer)? {
        serde_json::Value::String(text) => Some(text),
        serde_json::Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

/// Event of the shop, `POST /upstream/orders` of the gateway: an order that a buyer placed on a page of the shop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OrderPlaced {
    /// Reference that came with the cart.
    pub reference: String,
    /// The order.
    pub order: Order,
    /// Content of the order.
    #[serde(flatten)]
    pub bought: Bought,
}

/// Content of an order that a buyer placed on a page of the shop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bought {
    /// Currency of all amounts.
    pub currency: Currency,
    /// Lines that were bought.
    pub lines: Vec<BoughtLine>,
    /// Discount on the whole order.
    #[serde(default)]
    pub discount: Option<Amount>,
    /// Price of the delivery.
    #[serde(default)]
    pub delivery: Option<Amount>,
    /// Fees.
    #[serde(default)]
    pub fees: Vec<Charge>,
    /// Taxes, besides those that prices contain.
    #[serde(default)]
    pub taxes: Vec<Charge>,
    /// Gift cards and store credit that paid a part of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credits: Vec<Credit>,
    /// Total, less credits.
    pub total: Amount,
    /// Time of the purchase, RFC 3339.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub placed_at: jiff::Timestamp,
}

/// A line of a placed order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BoughtLine {
    /// Identifier of the variant.
    pub variant: String,
    /// Name shown to the buyer.
    pub title: String,
    /// Quantity, at least 1.
    pub quantity: u64,
    /// Price of one piece.
    pub price: Amount,
    /// Discount on the whole line.
    #[serde(default)]
    pub discount: Option<Amount>,
}

/// Question of `POST /order/status`: an order of this gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OrderQuestion {
    /// Identifier of the order, as the shop stated it.
    pub order: String,
}

/// Progress of an order: the answer to `/order/status`, which lists everything so far, and an event of the shop,
/// `POST /upstream/orders` of the gateway, which lists what is new, or everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OrderChanged {
    /// Reference that came with the cart or with `/place`. An event that states it is to be sent again if the gateway does not
    /// know the order yet; without it, an order that the gateway does not know is one of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The order.
    pub order: Order,
    /// Currency of all amounts: that of the order.
    pub currency: Currency,
    /// Events, oldest first; at most 1,000.
    pub events: Vec<OrderEvent>,
}

/// Something that has happened to an order. What the gateway knows of it is not applied again, so that an event may be
/// repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OrderEvent {
    /// Identifier, unique within the order, of 1 to 200 characters.
    pub id: String,
    /// Kind.
    pub kind: OccurrenceKind,
    /// Time, RFC 3339.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub at: jiff::Timestamp,
    /// Items that it is about. Default: all that are left; of `refunded`, none in particular.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<EventLine>,
    /// Amount of `refunded` and `captured`, from 1. Default: what was paid for the lines, or was authorized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<Amount>,
    /// Progress of `refunded`, `returned` or `canceled`: `pending`, `completed` or `failed`. Default: completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("enum" = ["pending", "completed", "failed"]))]
    pub status: Option<AdjustmentStatus>,
    /// Carrier of `shipped` or another event of a parcel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier: Option<String>,
    /// Number of the parcel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracking_number: Option<String>,
    /// Page on which the buyer follows the parcel, https.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracking_url: Option<String>,
    /// Reason, for the buyer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Items of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventLine {
    /// Identifier of the variant.
    pub variant: String,
    /// Number of pieces, at least 1.
    pub quantity: u64,
    /// Name shown to the buyer, of items that are `added`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Price of one piece, of items that are `added`. Default: the price of those that the order has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Amount>,
}

/// Event of the shop, `POST /upstream/catalog` of the gateway: products that changed, appeared or are no longer sold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CatalogChanged {
    /// Identifiers of the products, 1 to 1,000. The gateway asks `/resolve` for them; what that does not know is removed
    /// from the copy of the catalog.
    pub products: Vec<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_order_is_placed_whatever_is_wrong_with_what_is_shown_of_it() {
        for (stated, label) in [
            (json!({ "id": "o", "label": 7, "url": {} }), Some("7")),
            (json!({ "id": "o", "label": null, "url": 1.5 }), None),
        ] {
            let order: Order = serde_json::from_value(stated).expect("an order");
            assert_eq!((order.id.as_str(), order.label.as_deref()), ("o", label));
        }
        assert!(serde_json::from_value::<Order>(json!({ "label": "7" })).is_err(), "an order has an identifier");
    }
}
