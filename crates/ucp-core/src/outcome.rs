//! What comes of a call that is carried out: an answer, or the reasons why there is nothing to return.

use crate::message::Message;

/// What came of a call that was carried out, with answers of type `A`.
#[derive(Debug)]
pub enum Outcome<A> {
    /// What was asked for.
    Answer(A),
    /// Nothing that could be returned, and why (the `error_response` of UCP).
    NoResource {
        /// The reasons, at least one.
        messages: Vec<Message>,
        /// Where the buyer can go on.
        continue_url: Option<String>,
        /// The identifier it is about, where it is about one.
        id: Option<String>,
        /// Whether there is something under the identifier that is past what was asked, such as a canceled checkout that
        /// is to be completed (trap T-21).
        conflict: bool,
    },
}

impl<A> Outcome<A> {
    /// No resource under an identifier, for one reason.
    #[must_use]
    pub fn nothing_under(id: &str, reason: Message) -> Self {
        Self::NoResource { messages: vec![reason], continue_url: None, id: Some(id.to_owned()), conflict: false }
    }

    /// The resource under an identifier is past what was asked, for one reason.
    #[must_use]
    pub fn past(id: &str, reason: Message) -> Self {
        Self::NoResource { messages: vec![reason], continue_url: None, id: Some(id.to_owned()), conflict: true }
    }

    /// The same outcome with the answer as a part of another type.
    pub fn map<B>(self, make: impl FnOnce(A) -> B) -> Outcome<B> {
        match self {
            Self::Answer(answer) => Outcome::Answer(make(answer)),
            Self::NoResource { messages, continue_url, id, conflict } => {
                Outcome::NoResource { messages, continue_url, id, conflict }
            }
        }
    }
}
