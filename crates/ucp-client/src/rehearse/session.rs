//! What one shopper did, and how it ended.

use std::{fmt, time::Duration};

use serde::Serialize;
use ucp_core::Operation;

/// A step on the way to an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Finding a product.
    Find,
    /// Opening its page.
    Open,
    /// Choosing one of its variants.
    Choose,
    /// Filling a cart.
    Cart,
    /// Making a checkout.
    Checkout,
    /// Saying who the buyer is, and how the goods get there.
    Deliver,
    /// Paying.
    Pay,
}

impl Step {
    /// All steps, in their order.
    pub const ALL: [Self; 7] =
        [Self::Find, Self::Open, Self::Choose, Self::Cart, Self::Checkout, Self::Deliver, Self::Pay];

    /// Returns the name of the step.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Find => "find",
            Self::Open => "open",
            Self::Choose => "choose",
            Self::Cart => "cart",
            Self::Checkout => "checkout",
            Self::Deliver => "deliver",
            Self::Pay => "pay",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a shopper comes for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Persona {
    /// Looks for a gift within a budget.
    Gift,
    /// Knows the SKU or identifier of the goods.
    ExactSku,
    /// Remembers some words, with a slip of the pen.
    VagueWords,
    /// Names options as other shops do.
    WrongOptions,
    /// Changes its mind in the cart.
    ChangesOfMind,
    /// Wants to pick the goods up.
    PickUp,
    /// Comes back to a checkout that is over.
    ExpiredCheckout,
    /// Pays with a card that is declined, and then with another.
    DeclinedCard,
    /// Thinks in another currency.
    OtherCurrency,
}

impl Persona {
    /// All of them, in the order in which they come.
    pub const ALL: [Self; 9] = [
        Self::Gift,
        Self::ExactSku,
        Self::VagueWords,
        Self::WrongOptions,
        Self::ChangesOfMind,
        Self::PickUp,
        Self::ExpiredCheckout,
        Self::DeclinedCard,
        Self::OtherCurrency,
    ];

    /// Returns the name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gift => "gift within a budget",
            Self::ExactSku => "exact SKU",
            Self::VagueWords => "vague words",
            Self::WrongOptions => "wrong option names",
            Self::ChangesOfMind => "changes of mind",
            Self::PickUp => "pick-up",
            Self::ExpiredCheckout => "checkout that is over",
            Self::DeclinedCard => "declined card",
            Self::OtherCurrency => "other currency",
        }
    }
}

impl fmt::Display for Persona {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How a session ended.
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
        /// What was seen.
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
    /// What the shopper came for.
    pub persona: Persona,
    /// Calls in their order.
    pub calls: Vec<CallCost>,
    /// Furthest step.
    pub reached: Step,
    /// What hindered it, with an example of what was said.
    pub obstacles: Vec<(Obstacle, String)>,
    /// How it ended.
    pub end: End,
}
