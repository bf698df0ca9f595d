//! The port of carts at a shop behind another API, which prices what is to be bought and takes the money on its own pages.
//!
//! The desk keeps what the platform stated, whose it is and what was answered; the adapter brings the shop's cart to what was
//! stated ([`sync`](RemoteCart::sync)) and says what is in it then. What it says is believed about money and stock, and about
//! nothing else: who may see a cart, and when it is over, is for the desk to decide.

use async_trait::async_trait;

use super::{
    caller::{Caller, Visitor},
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
    /// What can be bought there, and how far.
    fn capabilities(&self) -> SalesCapabilities;

    /// Brings the shop's cart to what is stated, or makes one, and says what it costs. Whatever became of it, the answer
    /// tells what is there: a change that was made by half is not an error, but something to be said about what is there.
    ///
    /// `None` when the shop no longer has what it had for a checkout: the buyer has paid there, or it was given up. A checkout
    /// is over then, and another one is never begun in its place, which could be paid for a second time.
    ///
    /// # Errors
    /// [`Unavailable`](crate::Code::Unavailable) when nobody knows what is there.
    async fn sync(&self, request: PriceRequest<'_>) -> Result<Option<PriceQuote>, PortError>;

    /// What is in the shop's cart now; `None` when the shop has no such cart any more.
    ///
    /// # Errors
    /// [`Unavailable`](crate::Code::Unavailable) when the shop cannot be asked.
    async fn fetch(&self, request: PriceRequest<'_>) -> Result<Option<PriceQuote>, PortError>;

    /// Empties a cart and removes what the shop knows of the buyer in it. One that is gone is abandoned already.
    ///
    /// # Errors
    /// [`Unavailable`](crate::Code::Unavailable) when the shop cannot be told.
    async fn abandon(&self, cart: &RemoteCartRef, visitor: &Visitor) -> Result<(), PortError>;
}

/// What is to be priced.
#[derive(Clone, Copy, Debug)]
pub struct PriceRequest<'a> {
    /// What for.
    pub purpose: Purpose,
    /// What the platform states, without what was not negotiated.
    pub draft: &'a Draft,
    /// Who asks.
    pub caller: &'a Caller,
    /// What was answered before.
    pub previous: &'a Previous,
    /// What the shop holds for it already.
    pub remote_cart: Option<&'a RemoteCartRef>,
}

/// What something costs, and what is known of the goods.
#[derive(Clone, Debug)]
pub struct PriceQuote {
    /// What it costs.
    pub quote: Quote,
    /// Whether anything of it can be bought at all.
    pub purchasable: bool,
    /// What a shop behind another API holds for it.
    pub remote_cart: Option<RemoteCartRef>,
}
