//! Port of carts at a shop behind another API, which prices drafts, and takes the payment on its own pages or together
//! with the order that the gateway places there.
//!
//! The [`SalesService`](crate::sales::SalesService) keeps the draft, its owner and the last answer; the adapter
//! brings the shop's cart to the draft ([`sync`](RemoteCart::sync)) and reports what the cart contains then. The shop
//! decides about money and stock only: access to a cart and its expiry are decided by the sales service.

use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    PortError, SalesCapabilities,
    caller::{BuyerSignals, Caller},
};
use crate::{
    checkout::Checkout,
    purchase::{
        draft::Draft,
        payment::{Attempt, Tender},
        quote::{Previous, Purpose, Quote},
        remote_cart_ref::RemoteCartRef,
    },
};

/// Carts at a shop behind another API, which price drafts in place of the embedded shop's terms.
///
/// [`sync`](Self::sync) and [`abandon`](Self::abandon) write at the shop; [`fetch`](Self::fetch) reads. They fail with
/// [`Unavailable`](crate::Code::Unavailable) if the shop cannot be reached.
/// [`place`](Self::place), [`placed`](Self::placed) and [`cancel`](Self::cancel) are for shops whose
/// [`Completion`](super::Completion) is `Native`: they are the counterparts of a payment
/// [`Handler`](super::payment_handler::Handler)'s `pay`, `inquire` and `forget`, and go through the same saga.
#[async_trait]
pub trait RemoteCart: Send + Sync {
    /// Returns the sales operations that the shop supports.
    fn capabilities(&self) -> SalesCapabilities;

    /// Brings the shop's cart to the draft, creating the cart if there is none, and returns its price. The answer
    /// describes the shop's cart as it is: a partially applied change is not an error but is reported in the messages
    /// of the quote.
    ///
    /// Returns `None` if the shop no longer has the cart of a checkout: the buyer has paid there, or the shop discarded
    /// it. A cart that buyers could pay at the shop gets no successor, which could be paid a second time. Fails with
    /// [`Unavailable`](crate::Code::Unavailable) if the state of the shop's cart is unknown.
    async fn sync(&self, request: PriceRequest<'_>) -> Result<Option<PriceQuote>, PortError>;

    /// Returns the current content of the shop's cart; `None` if the shop has no such cart any more.
    async fn fetch(&self, request: PriceRequest<'_>) -> Result<Option<PriceQuote>, PortError>;

    /// Empties a cart and removes the buyer's data from it. A cart that no longer exists counts as abandoned.
    async fn abandon(&self, cart: &RemoteCartRef, buyer_signals: &BuyerSignals) -> Result<(), PortError>;

    /// Places the order of a purchase as it was agreed, and has the shop take the payment. Called at most once per
    /// attempt, whose identifier is the idempotency key; the attempt is on disk by then.
    async fn place(&self, request: PlaceRequest<'_>) -> OrderOutcome {
        let _ = request;
        OrderOutcome::Declined { reason: "This shop takes orders on its own pages only.".to_owned() }
    }

    /// Asks for the result of an attempt to place an order of `cart`. Never places one.
    async fn placed(&self, attempt: &Attempt, cart: Option<&RemoteCartRef>) -> OrderOutcome {
        let _ = (attempt, cart);
        OrderOutcome::Unknown
    }

    /// Makes sure that an attempt unknown to the shop places no order if it arrives late. Returns `true` if the shop
    /// agreed.
    async fn cancel(&self, attempt: &Attempt, cart: Option<&RemoteCartRef>) -> bool {
        let _ = (attempt, cart);
        false
    }

    /// Returns the time after [`Attempt::begun_at`] from which no request of the attempt can reach the shop any more.
    fn place_deadline(&self) -> Duration {
        Duration::from_secs(60)
    }
}

/// A purchase as it was agreed, to be placed as an order.
#[derive(Clone, Copy, Debug)]
pub struct PlaceRequest<'a> {
    /// Attempt as stored: idempotency key, amount and currency.
    pub attempt: &'a Attempt,
    /// Checkout as the buyer agreed to it.
    pub checkout: &'a Checkout,
    /// Instrument and credential for the shop's payment; `None` if there is nothing to pay.
    pub tender: Option<&'a Tender>,
    /// Buyer on whose behalf the platform calls.
    pub buyer_signals: BuyerSignals,
}

/// Result of an attempt to place an order at the shop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderOutcome {
    /// The order was placed, and its payment was taken or authorized.
    Placed(ShopOrder),
    /// The shop declined the payment or the order. There is no order, and no money moved.
    Declined {
        /// Reason, for the buyer.
        reason: String,
    },
    /// The shop could not be asked to place the order, and will not be: nothing was sent that places it. There is no
    /// order, and no money moved.
    Unsent,
    /// The shop did not take the order for a reason that is not about the payment. There is no order, and no money
    /// moved.
    Refused(OrderRefusal),
    /// The buyer has to authenticate first. There is no order, and there will be none for this attempt.
    Challenged {
        /// Reason, for the buyer.
        reason: String,
        /// URL of the page on which the buyer continues, if it is not that of the cart.
        continue_url: Option<String>,
    },
    /// The result is unknown: the shop did not answer, or is still working. It has to be asked again.
    Unknown,
    /// The shop does not know the attempt. Only [`placed`](RemoteCart::placed) returns this.
    Absent,
}

/// Reason of a shop for not taking an order, beside the payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderRefusal {
    /// Kind of the reason.
    pub kind: RefusalKind,
    /// Identifiers of the variants that it is about; empty if it is about the whole purchase.
    pub variants: Vec<String>,
    /// Member of the buyer or of the address that it is about, such as `email`.
    pub field: Option<String>,
    /// The shop's own words for the buyer.
    pub reason: Option<String>,
}

/// Kind of a reason for which a shop does not take an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// Lines are sold out.
    SoldOut,
    /// Nothing can be delivered to the address.
    Undeliverable,
    /// The shop does not take this buyer, or not with these data.
    Buyer,
    /// The purchase has another price than the buyer agreed to.
    PriceChanged,
    /// Another reason, which the text says.
    #[serde(other)]
    Other,
}

/// An order as the shop names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShopOrder {
    /// Identifier of the order at the shop.
    pub id: String,
    /// Order number for people; derived from the gateway's identifier of the order if absent.
    pub label: Option<String>,
    /// URL of the shop's page about the order.
    pub permalink_url: Option<String>,
    /// `true` if the payment is authorized, and not captured yet.
    pub is_authorized: bool,
}

/// A request to price a draft.
#[derive(Clone, Copy, Debug)]
pub struct PriceRequest<'a> {
    /// Purpose of the price: an estimate or a purchase.
    pub purpose: Purpose,
    /// Draft, without the parts of extensions that were not negotiated.
    pub draft: &'a Draft,
    /// Calling platform and its buyer.
    pub caller: &'a Caller,
    /// Previous answer, the source of stable identifiers.
    pub previous: &'a Previous,
    /// Cart that the shop already holds for the draft.
    pub remote_cart: Option<&'a RemoteCartRef>,
    /// Unguessable reference that the shop is to state with an order of this cart; `None` if the cart is no purchase.
    pub reference: Option<&'a str>,
}

/// Price of a draft, and the state of the goods.
#[derive(Clone, Debug)]
pub struct PriceQuote {
    /// Price.
    pub quote: Quote,
    /// `true` if at least one of the goods can be bought.
    pub purchasable: bool,
    /// Cart that a shop behind another API holds for the draft.
    pub remote_cart: Option<RemoteCartRef>,
}
