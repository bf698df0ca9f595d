//! Port of the orders of a shop behind another API: those that buyers place on its pages, and what becomes of all of them.
//!
//! A checkout that is paid on the shop's page ends there: the gateway hears of its order from a notice of the shop, or
//! by asking for it. The shop knows the checkout by a reference that went to it with the cart
//! ([`PriceRequest::reference`](super::remote_cart::PriceRequest::reference)). What becomes of an order is heard and asked
//! for likewise. Each backend only translates: what a report means for an order is decided in
//! [`order::report`](crate::order::report).

use async_trait::async_trait;
use jiff::Timestamp;

use super::{PortError, remote_cart::ShopOrder};
use crate::{
    Refusal,
    money::Currency,
    order::{RemoteOrder, report::Report},
    purchase::{line_item::PurchasedItem, remote_cart_ref::RemoteCartRef, totals::Total},
};

/// Notices of a shop about its orders, and the orders themselves as far as the shop can be asked.
///
/// Asking fails with [`Unavailable`](crate::Code::Unavailable).
#[async_trait]
pub trait OrderInbox: Send + Sync {
    /// Returns the ways in which the gateway learns of orders.
    fn ways(&self) -> OrderWays;

    /// Verifies a notice and reads it. Returns `None` for one about an order that others have sold in the same shop. Fails
    /// with [`SignatureMissing`](crate::Code::SignatureMissing) or [`SignatureInvalid`](crate::Code::SignatureInvalid) if the
    /// notice is not the shop's, [`InvalidRequest`](crate::Code::InvalidRequest) if it cannot be read, and
    /// [`Unavailable`](crate::Code::Unavailable) if it has to be sent again.
    async fn open(&self, notice: &Notice<'_>) -> Result<Option<Told>, Refusal>;

    /// Returns the order that was placed with a reference, or of a cart; `None` if there is none yet, or the shop cannot be
    /// asked.
    async fn order(&self, reference: &str, cart: Option<&RemoteCartRef>) -> Result<Option<FoundOrder>, PortError> {
        let _ = (reference, cart);
        Ok(None)
    }

    /// Returns what has become of an order so far; `None` if the shop does not know it, or cannot be asked.
    async fn status(&self, order: &RemoteOrder) -> Result<Option<Report>, PortError> {
        let _ = order;
        Ok(None)
    }
}

/// Ways in which the gateway learns of the orders of a shop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderWays {
    /// `true` if the shop sends notices.
    pub tells: bool,
    /// `true` if the shop can be asked for the order of a cart.
    pub finds: bool,
    /// `true` if the shop can be asked what has become of an order.
    pub follows: bool,
}

/// Content of a notice.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// A buyer has placed an order.
    Placed(Box<PlacedOrder>),
    /// Something has become of orders.
    Reported(Report),
}

/// An order of a cart for which the shop was asked.
#[derive(Clone, Debug, PartialEq)]
pub enum FoundOrder {
    /// An order of what the cart held when the buyer was sent to the shop.
    Named(ShopOrder),
    /// An order with its lines and amounts.
    Whole(Box<PlacedOrder>),
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
    /// `true` if the payment is authorized, and not captured yet.
    pub is_authorized: bool,
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
