//! Port of the orders that buyers place on pages of a shop behind another API.
//!
//! A checkout that is paid on the shop's page ends there: the gateway hears of its order from a notice of the shop, or
//! by asking for it. The shop knows the checkout by a reference that went to it with the cart
//! ([`PriceRequest::reference`](super::remote_cart::PriceRequest::reference)).

use async_trait::async_trait;
use jiff::Timestamp;

use super::PortError;
use crate::{
    Refusal,
    money::Currency,
    purchase::{line_item::PurchasedItem, totals::Total},
};

/// Notices of a shop about its orders, and the orders themselves as far as the shop can be asked.
#[async_trait]
pub trait OrderInbox: Send + Sync {
    /// Verifies a notice and reads its order. Returns `None` for an order that states no reference: others sell in the
    /// same shop. Fails with [`SignatureMissing`](crate::Code::SignatureMissing) or
    /// [`SignatureInvalid`](crate::Code::SignatureInvalid) if the notice is not the shop's,
    /// [`InvalidRequest`](crate::Code::InvalidRequest) if it cannot be read.
    fn open(&self, notice: &Notice<'_>) -> Result<Option<PlacedOrder>, Refusal>;

    /// Returns the order that states a reference; `None` if there is none, or if the shop cannot be asked for orders
    /// and tells about them in notices alone. Fails with [`Unavailable`](crate::Code::Unavailable).
    async fn order(&self, reference: &str) -> Result<Option<PlacedOrder>, PortError> {
        let _ = reference;
        Ok(None)
    }
}

/// A notice as it arrived, not verified yet.
#[derive(Clone, Copy, Debug)]
pub struct Notice<'a> {
    /// Header fields: name in lower case and value, for those whose value is visible ASCII.
    pub headers: &'a [(&'a str, &'a str)],
    /// Body.
    pub body: &'a [u8],
}

impl<'a> Notice<'a> {
    /// Returns the value of the first header field of this name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.iter().find(|(own, _)| *own == name).map(|(_, value)| *value)
    }
}

/// An order that a buyer placed on a page of the shop.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedOrder {
    /// Reference that the shop was given with the cart.
    pub reference: String,
    /// Identifier of the order at the shop.
    pub id: String,
    /// Order number for people.
    pub label: String,
    /// URL of the shop's page about the order.
    pub permalink_url: Option<String>,
    /// Currency of all amounts.
    pub currency: Currency,
    /// Lines.
    pub line_items: Vec<PlacedLine>,
    /// Totals.
    pub totals: Vec<Total>,
    /// Time of the purchase, UTC.
    pub placed_at: Timestamp,
}

/// A line of a placed order.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedLine {
    /// Variant that was bought.
    pub item: PurchasedItem,
    /// Quantity.
    pub quantity: u64,
    /// Price of the line.
    pub totals: Vec<Total>,
}
