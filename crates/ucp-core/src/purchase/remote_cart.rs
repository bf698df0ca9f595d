//! Port of carts at a shop behind another API, which prices drafts and takes the payment on its own pages.
//!
//! The [`SalesService`](super::sales_service::SalesService) keeps the draft, its owner and the last answer; the adapter
//! brings the shop's cart to the draft ([`sync`](RemoteCart::sync)) and reports what the cart contains then. The shop
//! decides about money and stock only: access to a cart and its expiry are decided by the sales service.

use async_trait::async_trait;

use super::{
    caller::{BuyerSignals, Caller},
    draft::Draft,
    quote::{Previous, Purpose, Quote},
    remote_cart_ref::RemoteCartRef,
};
use crate::port::{PortError, SalesCapabilities};

/// Carts at a shop behind another API, which price drafts in place of the embedded shop's terms.
///
/// [`sync`](Self::sync) and [`abandon`](Self::abandon) write at the shop; [`fetch`](Self::fetch) reads.
#[async_trait]
pub trait RemoteCart: Send + Sync {
    /// Returns the sales operations that the shop supports.
    fn capabilities(&self) -> SalesCapabilities;

    /// Brings the shop's cart to the draft, creating the cart if there is none, and returns its price. The answer
    /// describes the shop's cart as it is: a partially applied change is not an error but is reported in the messages
    /// of the quote.
    ///
    /// Returns `None` if the shop no longer has the cart of a checkout: the buyer has paid there, or the shop discarded
    /// it. The checkout never gets another cart, which could be paid a second time.
    ///
    /// # Errors
    /// [`Unavailable`](crate::Code::Unavailable) if the state of the shop's cart is unknown.
    async fn sync(&self, request: PriceRequest<'_>) -> Result<Option<PriceQuote>, PortError>;

    /// Returns the current content of the shop's cart; `None` if the shop has no such cart any more.
    ///
    /// # Errors
    /// [`Unavailable`](crate::Code::Unavailable) if the shop cannot be reached.
    async fn fetch(&self, request: PriceRequest<'_>) -> Result<Option<PriceQuote>, PortError>;

    /// Empties a cart and removes the buyer's data from it. A cart that no longer exists counts as abandoned.
    ///
    /// # Errors
    /// [`Unavailable`](crate::Code::Unavailable) if the shop cannot be reached.
    async fn abandon(&self, cart: &RemoteCartRef, buyer_signals: &BuyerSignals) -> Result<(), PortError>;
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
