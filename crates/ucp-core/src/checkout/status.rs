//! Where a checkout stands, and what may follow (UCP *Checkout*, *Status*).
//!
//! A state carries what it cannot be without: there is no completed checkout without an order, and none in progress
//! without an attempt to pay. The methods of [`State`] are all the transitions there are; each of them exists only where
//! it is legal, and says so otherwise:
//!
//! | from | transition | to |
//! | :-- | :-- | :-- |
//! | any open state | [`judge`](State::judge) | incomplete, `requires_escalation` or `ready_for_complete` |
//! | `ready_for_complete` | [`begin`](State::begin) | `complete_in_progress` |
//! | `complete_in_progress` | [`conclude`](State::conclude) | completed |
//! | `complete_in_progress` | [`reopen`](State::reopen) | an open state |
//! | any open state | [`cancel`](State::cancel) | canceled |

use serde::{Deserialize, Serialize};

use crate::{
    message::{Message, Severity},
    order::Confirmation,
    purchase::payment::Attempt,
};

/// Where a checkout stands, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Something is missing that the platform can supply.
    Incomplete,
    /// The buyer has to go on in person.
    RequiresEscalation,
    /// Nothing is missing: it can be completed.
    ReadyForComplete,
    /// It was accepted, and is being paid for.
    CompleteInProgress,
    /// There is an order. It never changes again.
    Completed,
    /// It was given up, by the platform or by time. It never changes again.
    Canceled,
}

impl Status {
    /// Every status.
    pub const ALL: &[Self] = &[
        Self::Incomplete,
        Self::RequiresEscalation,
        Self::ReadyForComplete,
        Self::CompleteInProgress,
        Self::Completed,
        Self::Canceled,
    ];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Incomplete => "incomplete",
            Self::RequiresEscalation => "requires_escalation",
            Self::ReadyForComplete => "ready_for_complete",
            Self::CompleteInProgress => "complete_in_progress",
            Self::Completed => "completed",
            Self::Canceled => "canceled",
        }
    }

    /// Whether nothing can follow.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Canceled)
    }

    /// Whether the platform can change it.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Incomplete | Self::RequiresEscalation | Self::ReadyForComplete)
    }
}

/// Where a checkout stands, with what belongs to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum State {
    /// Something is missing that the platform can supply.
    Incomplete,
    /// The buyer has to go on in person.
    RequiresEscalation,
    /// Nothing is missing: it can be completed.
    ReadyForComplete,
    /// It was accepted, and is being paid for.
    CompleteInProgress {
        /// The try to pay whose end is not known yet.
        attempt: Box<Attempt>,
    },
    /// There is an order.
    Completed {
        /// The order.
        order: Confirmation,
    },
    /// It was given up.
    Canceled,
}

/// A transition that does not exist where the checkout stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a checkout that is {} cannot {transition}", from.as_str())]
pub struct Illegal {
    /// Where it stands.
    pub from: Status,
    /// What was wanted.
    pub transition: &'static str,
}

impl State {
    /// A new checkout, about which these messages are to be said.
    #[must_use]
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

    /// The word for it.
    #[must_use]
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

    /// The try to pay whose end is not known yet.
    #[must_use]
    pub fn attempt(&self) -> Option<&Attempt> {
        match self {
            Self::CompleteInProgress { attempt } => Some(attempt),
            _ => None,
        }
    }

    /// The order.
    #[must_use]
    pub fn order(&self) -> Option<&Confirmation> {
        match self {
            Self::Completed { order } => Some(order),
            _ => None,
        }
    }

    /// What it is after a change, about which these messages are to be said.
    ///
    /// # Errors
    /// [`Illegal`] unless it is open.
    pub fn judge(&self, messages: &[Message]) -> Result<Self, Illegal> {
        if self.status().is_open() { Ok(Self::opened(messages)) } else { Err(self.illegal("be changed")) }
    }

    /// It is accepted, and about to be paid for.
    ///
    /// # Errors
    /// [`Illegal`] unless nothing is missing.
    pub fn begin(&self, attempt: Attempt) -> Result<Self, Illegal> {
        match self {
            Self::ReadyForComplete => Ok(Self::CompleteInProgress { attempt: Box::new(attempt) }),
            _ => Err(self.illegal("be completed")),
        }
    }

    /// It is paid for.
    ///
    /// # Errors
    /// [`Illegal`] unless it was being paid for.
    pub fn conclude(&self, order: Confirmation) -> Result<Self, Illegal> {
        match self {
            Self::CompleteInProgress { .. } => Ok(Self::Completed { order }),
            _ => Err(self.illegal("become an order")),
        }
    }

    /// It was not paid for, for reasons that these messages give.
    ///
    /// # Errors
    /// [`Illegal`] unless it was being paid for.
    pub fn reopen(&self, messages: &[Message]) -> Result<Self, Illegal> {
        match self {
            Self::CompleteInProgress { .. } => Ok(Self::opened(messages)),
            _ => Err(self.illegal("be reopened")),
        }
    }

    /// It is given up.
    ///
    /// # Errors
    /// [`Illegal`] unless it is open: what is being paid for has to be settled first (rule CHK-05).
    pub fn cancel(&self) -> Result<Self, Illegal> {
        if self.status().is_open() { Ok(Self::Canceled) } else { Err(self.illegal("be canceled")) }
    }

    fn illegal(&self, transition: &'static str) -> Illegal {
        Illegal { from: self.status(), transition }
    }
}
