//! The port of a shop behind another API that prices what is to be bought, and takes the money on its own pages.
//!
//! Such a shop keeps a cart of its own. The desk keeps what the platform stated, whose it is and what was answered; the
//! pricer brings the shop's cart to what was stated and says what is in it then. What it says is believed about money and
//! stock, and about nothing else: who may see a cart, and when it is over, is for the desk to decide.

use async_trait::async_trait;

use super::{
    caller::Caller,
    draft::Draft,
    held::Held,
    quote::{Previous, Purpose, Quote},
};
use crate::{Refusal, port::SalesCapabilities};

/// Who says what a draft costs, in place of the embedded shop's terms.
#[async_trait]
pub trait Pricer: Send + Sync {
    /// What can be bought there, and how far.
    fn capabilities(&self) -> SalesCapabilities;

    /// Brings the shop's cart to what is stated, or makes one, and says what it costs. Whatever became of it, the answer
    /// tells what is there: a change that was made by half is not an error, but something to be said about what is there.
    ///
    /// `None` when the shop no longer has what was held for a checkout: the buyer has paid there, or it was given up. A checkout
    /// is over then, and another one is never begun in its place, which could be paid for a second time.
    ///
    /// # Errors
    /// [`Unavailable`](crate::Code::Unavailable) when nobody knows what is there.
    async fn price(&self, inquiry: Inquiry<'_>) -> Result<Option<Priced>, Refusal>;

    /// What is in the shop's cart now; `None` when the shop has no such cart any more.
    ///
    /// # Errors
    /// [`Unavailable`](crate::Code::Unavailable) when the shop cannot be asked.
    async fn look(&self, inquiry: Inquiry<'_>) -> Result<Option<Priced>, Refusal>;

    /// Gives the shop's cart up, with what it knows of the buyer.
    ///
    /// # Errors
    /// [`Unavailable`](crate::Code::Unavailable) when the shop cannot be told.
    async fn give_up(&self, inquiry: Inquiry<'_>) -> Result<(), Refusal>;
}

/// What is to be priced.
#[derive(Clone, Copy, Debug)]
pub struct Inquiry<'a> {
    /// What for.
    pub purpose: Purpose,
    /// What the platform states, without what was not negotiated.
    pub draft: &'a Draft,
    /// Who asks.
    pub caller: &'a Caller,
    /// What was answered before.
    pub previous: &'a Previous,
    /// What the shop holds for it already.
    pub held: Option<&'a Held>,
}

/// What something costs, and what is known of the goods.
#[derive(Clone, Debug)]
pub struct Priced {
    /// What it costs.
    pub quote: Quote,
    /// Whether anything of it can be bought at all.
    pub purchasable: bool,
    /// What a shop behind another API holds for it.
    pub held: Option<Held>,
}
