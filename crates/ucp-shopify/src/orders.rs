//! Notices of the shop about its orders: webhooks of the topic `orders/create`, and of those about what becomes of orders.
//!
//! A webhook is the shop's if `X-Shopify-Hmac-Sha256` is the HMAC-SHA256 of its body under the secret of the app or shop
//! that registered it. Header fields are not covered. An order states the attributes of its cart; the one that the
//! gateway set is the reference of the checkout. The amounts are those in the buyer's currency.

mod becoming;

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use serde::{Deserialize, de::DeserializeOwned};
use sha2::Sha256;
use ucp_core::{
    Code, Refusal,
    money::{Amount, Currency},
    ports::{Notice, OrderInbox, OrderWays, PlacedLine, PlacedOrder, Told},
    purchase::{
        line_item::{MAX_QUANTITY, PurchasedItem},
        totals::{Total, TotalKind, Totals},
    },
};

use self::becoming::{Becoming, Fulfillment, Refund};
use crate::{
    cart::plan::REFERENCE,
    catalog::build::VARIANT,
    money::{self, NoMoney},
    shapes::shapes,
    text,
};

const HMAC: &str = "x-shopify-hmac-sha256";
const TOPIC: &str = "x-shopify-topic";

/// Topic of the webhooks that report new orders.
const ORDERS_CREATE: &str = "orders/create";

/// Topics of the webhooks that report an order as it has become.
const ORDERS: [&str; 5] =
    ["orders/updated", "orders/cancelled", "orders/fulfilled", "orders/partially_fulfilled", "orders/paid"];

/// Topics of the webhooks that report a fulfillment.
const FULFILLMENTS: [&str; 2] = ["fulfillments/create", "fulfillments/update"];

/// Topic of the webhooks that report a refund.
const REFUNDS: &str = "refunds/create";

/// Maximum number of lines of an order that are read.
const MOST_LINES: usize = 1_000;

/// Webhooks of one shop about its orders. `Debug` does not print the secret.
#[derive(Clone)]
pub struct OrderNotices {
    secret: Vec<u8>,
}
ucp_core::opaque!(OrderNotices);

impl OrderNotices {
    /// Creates the inbox of webhooks that are signed with a secret.
    pub fn new(secret: &str) -> Self {
        Self { secret: secret.as_bytes().to_vec() }
    }

    /// Verifies that a body is the shop's, in a time that does not depend on where the HMACs differ.
    fn verify(&self, notice: &Notice<'_>) -> Result<(), Refusal> {
        let stated = notice.header(HMAC).ok_or_else(|| {
            Refusal::new(Code::SignatureMissing, "An order webhook must be signed by the shop.")
                .accepting("`X-Shopify-Hmac-Sha256` with the HMAC-SHA256 of the body, in base64")
        })?;
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret)
            .unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
        mac.update(notice.body);
        let stated = STANDARD.decode(stated).unwrap_or_default();
        mac.verify_slice(&stated).map_err(|_| {
            Refusal::new(
                Code::SignatureInvalid,
                "`X-Shopify-Hmac-Sha256` is not the HMAC of this body under the secret.",
            )
            .accepting("the HMAC-SHA256 under the secret in `upstream.webhook_secret_file`, in base64")
        })
    }
}

#[async_trait]
impl OrderInbox for OrderNotices {
    fn ways(&self) -> OrderWays {
        OrderWays { tells: true, ..OrderWays::default() }
    }

    async fn open(&self, notice: &Notice<'_>) -> Result<Option<Told>, Refusal> {
        self.read(notice)
    }
}

impl OrderNotices {
    /// Verifies and reads a webhook, as [`OrderInbox::open`] does.
    fn read(&self, notice: &Notice<'_>) -> Result<Option<Told>, Refusal> {
        self.verify(notice)?;
        let unusable = |error: NoOrder| unreadable(&error.to_string());
        match notice.header(TOPIC).unwrap_or(ORDERS_CREATE) {
            ORDERS_CREATE => {
                let order: OrderPayload = parsed(notice.body)?;
                let Some(reference) = reference(&order.note_attributes) else { return Ok(None) };
                let placed = order.placed(reference).map_err(unusable)?;
                Ok(Some(Told::Placed(Box::new(placed))))
            }
            topic if ORDERS.contains(&topic) => {
                let order: Attributed = parsed(notice.body)?;
                if reference(&order.note_attributes).is_none() {
                    return Ok(None);
                }
                let order: Becoming = parsed(notice.body)?;
                order.report().map(Told::Reported).map(Some).map_err(unusable)
            }
            topic if FULFILLMENTS.contains(&topic) => {
                Ok(Some(Told::Reported(parsed::<Fulfillment>(notice.body)?.report())))
            }
            REFUNDS => parsed::<Refund>(notice.body)?.report().map(Told::Reported).map(Some).map_err(unusable),
            _ => Ok(None),
        }
    }
}

/// Reads the body of a webhook.
fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body)
        .map_err(|error| unreadable(&format!("column {} of line {}", error.column(), error.line())))
}

fn unreadable(problem: &str) -> Refusal {
    Refusal::invalid("$", format!("The body must be an order: {problem}."))
        .accepting("an order, a fulfillment or a refund, as its topic sends it")
}

/// Returns the reference of the checkout that an order is of, if it was placed through the gateway.
fn reference(attributes: &[NoteAttribute]) -> Option<&str> {
    attributes.iter().find(|attribute| attribute.name == REFERENCE)?.value.as_str()
}

/// Returns the identifier of an order.
fn order_id(id: u64) -> String {
    format!("gid://shopify/Order/{id}")
}

/// Returns the identifier of what a line is of. Lines that a merchant writes by hand are of no variant.
fn line_item(variant: Option<u64>, line: u64) -> String {
    variant.map_or_else(
        || format!("gid://shopify/LineItem/{line}"),
        |variant| format!("gid://shopify/{VARIANT}/{variant}"),
    )
}

shapes! { (Deserialize) "snake_case"
    /// Order of a webhook.
    OrderPayload {
        id: u64,
        name: String,
        created_at: Timestamp,
        #[serde(default)] financial_status: Option<String>,
        /// An address; an order is placed whatever is wrong with its page.
        #[serde(default)] order_status_url: serde_json::Value,
        #[serde(default)] note_attributes: Vec<NoteAttribute>,
        #[serde(default)] taxes_included: bool,
        total_price_set: PriceSet,
        total_tax_set: Option<PriceSet>,
        total_discounts_set: Option<PriceSet>,
        total_shipping_price_set: Option<PriceSet>,
        line_items: Vec<LinePayload>,
    }
    /// The attributes of an order.
    Attributed { #[serde(default)] note_attributes: Vec<NoteAttribute> }
    /// A note, whose value is a text; apps may have stated other types.
    NoteAttribute { name: String, #[serde(default)] value: serde_json::Value }
    LinePayload {
        id: u64, variant_id: Option<u64>, name: Option<String>, title: String, quantity: u64, price_set: PriceSet,
        total_discount_set: Option<PriceSet>, #[serde(default)] requires_shipping: bool,
    }
    /// An amount in the currencies of the shop and of the buyer.
    PriceSet { presentment_money: PresentmentMoney }
    PresentmentMoney { amount: String, currency_code: String }
}

/// Reason why an order cannot be read. The texts complete "the body must be an order: …".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum NoOrder {
    #[error("an amount {0}")]
    Money(#[from] NoMoney),
    #[error("all amounts must be in one currency")]
    Currencies,
    #[error("it must have 1 to {MOST_LINES} lines, each of 1 to {MAX_QUANTITY} pieces")]
    Lines,
    #[error("it has too many fulfillments or refunds")]
    Many,
}

impl OrderPayload {
    fn placed(&self, reference: &str) -> Result<PlacedOrder, NoOrder> {
        let currency = self.total_price_set.currency()?;
        let bought = self.line_items.iter().filter(|line| line.quantity > 0);
        let line_items = bought.map(|line| line.placed(currency)).collect::<Result<Vec<_>, _>>()?;
        if !(1..=MOST_LINES).contains(&line_items.len()) {
            return Err(NoOrder::Lines);
        }
        let totals = self.totals(&line_items, currency)?;
        Ok(PlacedOrder {
            reference: reference.to_owned(),
            id: order_id(self.id),
            label: text::line(&self.name).unwrap_or_else(|| format!("#{}", self.id)),
            permalink_url: self.order_status_url.as_str().and_then(text::address),
            currency,
            line_items,
            totals,
            is_authorized: self.financial_status.as_deref() == Some("authorized"),
            placed_at: self.created_at,
        })
    }

    /// Returns the totals: the shop's own total, with what its parts do not explain as an entry of its own.
    fn totals(&self, lines: &[PlacedLine], currency: Currency) -> Result<Vec<Total>, NoOrder> {
        let part = |set: &Option<PriceSet>| set.as_ref().map_or(Ok(0), |set| set.minor(currency));
        let too_large = |_| NoOrder::Money(NoMoney::Range);
        let of_lines = |kind| lines.iter().flat_map(|line| &line.totals).filter(move |total| total.kind == kind);
        let sum = |kind| of_lines(kind).map(|total| i128::from(total.amount)).sum::<i128>();
        let mut totals = Totals::of(sum(TotalKind::Subtotal)).map_err(too_large)?;
        let of_items = sum(TotalKind::ItemsDiscount);
        totals.push(TotalKind::ItemsDiscount, None, of_items).map_err(too_large)?;
        // The discounts of the order include those of its lines.
        let whole = (part(&self.total_discounts_set)? + of_items).clamp(0, totals.sum().max(0));
        totals.push(TotalKind::Discount, None, -whole).map_err(too_large)?;
        let charges = [
            (TotalKind::Fulfillment, "Shipping", part(&self.total_shipping_price_set)?),
            (TotalKind::Tax, "Tax", if self.taxes_included { 0 } else { part(&self.total_tax_set)? }),
        ];
        for (kind, text, amount) in charges.into_iter().filter(|(.., amount)| *amount > 0) {
            totals.push(kind, Some(text.to_owned()), amount).map_err(too_large)?;
        }
        let difference = self.total_price_set.minor(currency)? - totals.sum();
        let kind = if difference > 0 { TotalKind::Fee } else { TotalKind::Discount };
        if difference != 0 {
            totals.push(kind, Some("Adjustment by the shop".to_owned()), difference).map_err(too_large)?;
        }
        totals.finish().map_err(too_large)
    }
}

impl LinePayload {
    fn placed(&self, currency: Currency) -> Result<PlacedLine, NoOrder> {
        if self.quantity > MAX_QUANTITY {
            return Err(NoOrder::Lines);
        }
        let too_large = |_| NoOrder::Money(NoMoney::Range);
        let price = self.price_set.minor(currency)?;
        let subtotal = price * i128::from(self.quantity);
        let discount = self.total_discount_set.as_ref().map_or(Ok(0), |set| set.minor(currency))?;
        let mut totals = Totals::of(subtotal).map_err(too_large)?;
        totals.push(TotalKind::ItemsDiscount, None, -discount.clamp(0, subtotal)).map_err(too_large)?;
        let id = line_item(self.variant_id, self.id);
        Ok(PlacedLine {
            item: PurchasedItem {
                id,
                title: self
                    .name
                    .as_deref()
                    .and_then(text::line)
                    .or_else(|| text::line(&self.title))
                    .unwrap_or_default(),
                price: i64::try_from(price).ok().and_then(Amount::new).ok_or(NoMoney::Range)?,
                image_url: None,
                needs_fulfillment: self.requires_shipping,
                weight_grams: 0,
                lead_time: ucp_core::catalog::product::LeadTime::default(),
            },
            quantity: self.quantity,
            totals: totals.finish().map_err(too_large)?,
        })
    }
}

impl PriceSet {
    fn currency(&self) -> Result<Currency, NoOrder> {
        self.presentment_money.currency_code.parse().map_err(|_| NoMoney::Currency.into())
    }

    /// Returns the amount in minor units of the order's currency.
    fn minor(&self, currency: Currency) -> Result<i128, NoOrder> {
        if self.currency()? != currency {
            return Err(NoOrder::Currencies);
        }
        let units = money::minor(&self.presentment_money.amount, currency)?.units;
        if units < 0 { Err(NoMoney::Range.into()) } else { Ok(units) }
    }
}

#[cfg(test)]
mod tests;
