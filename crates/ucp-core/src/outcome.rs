//! Outcomes of calls that were carried out: an answer, or the reasons why there is no resource to return.

use crate::message::Message;

/// Outcome of a call that was carried out, with answers of type `A`.
#[derive(Debug)]
pub enum Outcome<A> {
    /// The requested answer.
    Answer(A),
    /// No resource, with the reasons (the `error_response` of UCP).
    NoResource {
        /// Reasons, at least one.
        messages: Vec<Message>,
        /// URL at which the buyer can continue.
        continue_url: Option<String>,
        /// Identifier of the requested resource, if the request names one.
        id: Option<String>,
        /// `true` if the resource exists but its state does not allow the operation, such as completing a canceled
        /// checkout (trap T-21).
        conflict: bool,
    },
}

impl<A> Outcome<A> {
    /// Returns the outcome for an identifier without a resource.
    pub fn nothing_under(id: &str, reason: Message) -> Self {
        Self::NoResource { messages: vec![reason], continue_url: None, id: Some(id.to_owned()), conflict: false }
    }

    /// Returns the outcome for a resource whose state does not allow the operation.
    pub fn past(id: &str, reason: Message) -> Self {
        Self::NoResource { messages: vec![reason], continue_url: None, id: Some(id.to_owned()), conflict: true }
    }

    /// Converts the answer, if there is one.
    pub fn map<B>(self, make: impl FnOnce(A) -> B) -> Outcome<B> {
        match self {
            Self::Answer(answer) => Outcome::Answer(make(answer)),
            Self::NoResource { messages, continue_url, id, conflict } => {
                Outcome::NoResource { messages, continue_url, id, conflict }
            }
        }
    }
}
