//! State machine of checkouts (UCP *Checkout*, *Status*).
//!
//! A state carries the data it cannot exist without: there is no completed checkout without an order, and none in
//! progress without a payment attempt. The methods of [`State`] are all the transitions; each of them fails with
//! [`Illegal`] in a state in which it is not allowed:
//!
//! | from | transition | to |
//! | :-- | :-- | :-- |
//! | any open state | [`classifier`](State::judge) | incomplete, `requires_escalation` or `ready_for_complete` |
//! | `ready_for_complete` | [`begin`](State::begin) | `complete_in_progress` |
//! | `complete_in_progress` | [`conclude`](State::conclude) | completed |
//! | `complete_in_progress` | [`await_buyer`](State::await_buyer) | `complete_in_progress` |
//! | `complete_in_progress` | [`reopen`](State::reopen) | an open state |
//! | any open state | [`cancel`](State::cancel) | canceled |
//! | any open state, canceled | [`place`](State::place) | completed |

use serde::{Deserialize, Serialize};

use crate::{
    message::{Message, Severity},
    order::Confirmation,
    purchase::payment::{Attempt, Challenge},
};

named! {
    /// Status of a checkout.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Status {
        /// Something is missing that the platform can supply.
        Incomplete = "incomplete",
        /// The buyer has to continue in person.
        RequiresEscalation = "requires_escalation",
        /// Nothing is missing: the checkout can be completed.
        ReadyForComplete = "ready_for_complete",
        /// The payment has begun and its result is unknown.
        CompleteInProgress = "complete_in_progress",
        /// The order is placed. The checkout never changes again.
        Completed = "completed",
        /// The checkout was canceled or has expired. It never changes again, unless a shop behind another API reports that
        /// the buyer has paid there.
        Canceled = "canceled",
    }
}

impl Status {
    /// Returns `true` if no transition is possible.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Canceled)
    }

    /// Returns `true` if the platform can change the checkout.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Incomplete | Self::RequiresEscalation | Self::ReadyForComplete)
    }
}

/// State of a checkout: its status, with the data that belong to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum State {
    /// Something is missing that the platform can supply.
    Incomplete,
    /// The buyer has to continue in person.
    RequiresEscalation,
    /// Nothing is missing: the checkout can be completed.
    ReadyForComplete,
    /// The payment has begun and its result is unknown.
    CompleteInProgress {
        /// Payment attempt whose result is unknown.
        attempt: Box<Attempt>,
    },
    /// The order is placed.
    Completed {
        /// Confirmation of the order.
        order: Confirmation,
    },
    /// The checkout was canceled or has expired.
    Canceled,
}

/// Error for a transition that is not allowed in the current status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a checkout that is {} cannot {transition}", from.as_str())]
pub struct Illegal {
    /// Current status.
    pub from: Status,
    /// Attempted transition, as the end of "a checkout cannot …".
    pub transition: &'static str,
}

impl State {
    /// Returns the state of an open checkout with these messages.
    pub fn opened(messages: &[Message]) -> Self {
        let buyer_needed = |message: &Message| {
            matches!(
                message,
                Message::Error { severity: Severity::RequiresBuyerInput | Severity::RequiresBuyerReview, .. }
            )
        };
        if messages.iter().any(buyer_needed) {
            Self::RequiresEscalation
        } else if messages.iter().any(|message| matches!(message, Message::Error { .. })) {
            Self::Incomplete
        } else {
            Self::ReadyForComplete
        }
    }

    /// Returns the status.
    pub const fn status(&self) -> Status {
        match self {
            Self::Incomplete => Status::Incomplete,
            Self::RequiresEscalation => Status::RequiresEscalation,
            Self::ReadyForComplete => Status::ReadyForComplete,
            Self::CompleteInProgress { .. } => Status::CompleteInProgress,
            Self::Completed { .. } => Status::Completed,
            Self::Canceled => Status::Canceled,
        }
    }

    /// Returns the payment attempt whose result is unknown.
    pub fn attempt(&self) -> Option<&Attempt> {
        match self {
            Self::CompleteInProgress { attempt } => Some(attempt),
            _ => None,
        }
    }

    /// Returns the authentication of the buyer that the payment attempt waits for.
    pub fn challenge(&self) -> Option<&Challenge> {
        self.attempt()?.challenge.as_ref()
    }

    /// Returns the confirmation of the order.
    pub fn order(&self) -> Option<&Confirmation> {
        match self {
            Self::Completed { order } => Some(order),
            _ => None,
        }
    }

    /// Derives the state after a change from the messages of the changed checkout.
    pub fn judge(&self, messages: &[Message]) -> Result<Self, Illegal> {
        if self.status().is_open() { Ok(Self::opened(messages)) } else { Err(self.illegal("be changed")) }
    }

    /// Begins a payment.
    pub fn begin(&self, attempt: Attempt) -> Result<Self, Illegal> {
        match self {
            Self::ReadyForComplete => Ok(Self::CompleteInProgress { attempt: Box::new(attempt) }),
            _ => Err(self.illegal("be completed")),
        }
    }

    /// Lets the payment attempt wait for an authentication of the buyer.
    pub fn await_buyer(&self, challenge: Challenge) -> Result<Self, Illegal> {
        match self {
            Self::CompleteInProgress { attempt } => {
                let attempt = Attempt { challenge: Some(challenge), ..Attempt::clone(attempt) };
                Ok(Self::CompleteInProgress { attempt: Box::new(attempt) })
            }
            _ => Err(self.illegal("wait for its buyer")),
        }
    }

    /// Returns the state in which the authentication of this identifier is answered; `None` unless it is outstanding on a
    /// page of the gateway, and was not answered before.
    pub fn answered(&self, id: &str, confirmed: bool) -> Option<Self> {
        let attempt = self.attempt()?;
        let page = attempt.page_url.as_deref()?;
        let challenge = attempt.challenge.as_ref().filter(|challenge| {
            let own = challenge.url.strip_prefix(page).is_some_and(|rest| rest.starts_with('/'));
            own && challenge.id == id && challenge.answer.is_none()
        })?;
        let challenge = Challenge { answer: Some(confirmed), ..challenge.clone() };
        let attempt = Attempt { challenge: Some(challenge), ..attempt.clone() };
        Some(Self::CompleteInProgress { attempt: Box::new(attempt) })
    }

    /// Completes the checkout with its order.
    pub fn conclude(&self, order: Confirmation) -> Result<Self, Illegal> {
        match self {
            Self::CompleteInProgress { .. } => Ok(Self::Completed { order }),
            _ => Err(self.illegal("become an order")),
        }
    }

    /// Reopens the checkout after a failed payment; the messages give the reasons.
    pub fn reopen(&self, messages: &[Message]) -> Result<Self, Illegal> {
        match self {
            Self::CompleteInProgress { .. } => Ok(Self::opened(messages)),
            _ => Err(self.illegal("be reopened")),
        }
    }

    /// Cancels the checkout. A payment in progress has to be settled first (rule CHK-05).
    pub fn cancel(&self) -> Result<Self, Illegal> {
        if self.status().is_open() { Ok(Self::Canceled) } else { Err(self.illegal("be canceled")) }
    }

    /// Completes the checkout with an order that the buyer placed on a page of a shop behind another API. The order is a
    /// fact: it also completes a checkout that was canceled or has expired while the buyer was paying.
    pub fn place(&self, order: Confirmation) -> Result<Self, Illegal> {
        match self {
            Self::CompleteInProgress { .. } | Self::Completed { .. } => {
                Err(self.illegal("become an order of the shop"))
            }
            _ => Ok(Self::Completed { order }),
        }
    }

    fn illegal(&self, transition: &'static str) -> Illegal {
        Illegal { from: self.status(), transition }
    }
}
