//! Record of one shopper's session, with its outcome.

use std::{fmt, time::Duration};

use serde::Serialize;
use ucp_core::Operation;

ucp_core::named! {
    /// A step on the way to an order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Step {
        /// Finding a product.
        Find = "find",
        /// Opening its page.
        Open = "open",
        /// Choosing one of its variants.
        Choose = "choose",
        /// Filling a cart.
        Cart = "cart",
        /// Making a checkout.
        Checkout = "checkout",
        /// Saying who the buyer is, and how the goods get there.
        Deliver = "deliver",
        /// Paying.
        Pay = "pay",
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

ucp_core::named! {
    /// Purpose of a shopper.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Persona {
        /// Looks for a gift within a budget.
        Gift = "gift within a budget",
        /// Knows the SKU or identifier of the goods.
        ExactSku = "exact SKU",
        /// Remembers some words, with a slip of the pen.
        VagueWords = "vague words",
        /// Names options as other shops do.
        WrongOptions = "wrong option names",
        /// Changes its mind in the cart.
        ChangesOfMind = "changes of mind",
        /// Wants to pick the goods up.
        PickUp = "pick-up",
        /// Comes back to a checkout that is over.
        ExpiredCheckout = "checkout that is over",
        /// Pays with a card that is declined, and then with another.
        DeclinedCard = "declined card",
        /// Thinks in another currency.
        OtherCurrency = "other currency",
    }
}

impl fmt::Display for Persona {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Outcome of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// An order was placed.
    Ordered,
    /// The checkout is ready, and there is nothing to pay with in a rehearsal.
    Ready,
    /// The shop wants the buyer to go on at its own page.
    HandedOver,
    /// The shopper gave up.
    GaveUp {
        /// Step in which it did.
        step: Step,
        /// Reason, the same for all who gave up for it.
        reason: String,
        /// Observation that led to the decision.
        seen: String,
    },
}

/// Cost of a call.
#[derive(Clone, Debug)]
pub struct CallCost {
    /// Operation.
    pub operation: Operation,
    /// Step in which it was made.
    pub step: Step,
    /// Bytes of the request's body.
    pub sent: usize,
    /// Bytes of the answer's body.
    pub received: usize,
    /// Time until the answer was complete.
    pub took: Duration,
}

/// A refusal that the shopper could not act upon, or something else that hindered it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Obstacle {
    /// Name of the operation.
    pub operation: &'static str,
    /// Code, or a few words.
    pub code: String,
    /// Why it could not be acted upon.
    pub why: &'static str,
}

/// Record of a session.
#[derive(Clone, Debug)]
pub struct Session {
    /// Number, from 1.
    pub number: usize,
    /// Purpose of the shopper.
    pub persona: Persona,
    /// Calls in their order.
    pub calls: Vec<CallCost>,
    /// Furthest step.
    pub reached: Step,
    /// Obstacles that it met, each with an example message.
    pub obstacles: Vec<(Obstacle, String)>,
    /// Outcome.
    pub end: End,
}
