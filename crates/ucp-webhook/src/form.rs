//! How a notice is written, and how it goes out.

use ucp_core::{
    Release,
    order::{
        View,
        outbox::{Letter, Notice},
    },
};
use ucp_wire::{codec, dialect::Occasion, releases::dialect};

use crate::recipient::Recipient;

/// How a letter goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// It is not sent unless it can be signed.
    pub signed: bool,
    /// It is tried once, whatever comes of it.
    pub once: bool,
}

impl Manner {
    /// How the protocol wants it.
    pub const USUAL: Self = Self { signed: true, once: false };
}

/// Writes notices.
pub trait Form: Send + Sync {
    /// What a platform is sent about an order; `None` when it is not told of this.
    fn write(&self, notice: &Notice, view: View, recipient: &Recipient) -> Option<Letter>;

    /// How a letter in a release goes out.
    fn manner(&self, release: Release) -> Manner;
}

/// The form that the protocol gives them: the order, in the platform's release.
#[derive(Clone, Copy, Debug)]
pub struct Usual;

impl Form for Usual {
    fn write(&self, notice: &Notice, view: View, recipient: &Recipient) -> Option<Letter> {
        let occasion = Occasion { id: &notice.id, at: notice.occurred_at };
        let body = codec::notice(dialect(recipient.release), view, &recipient.active, &occasion).into_bytes();
        Some(Letter { release: recipient.release, body })
    }

    fn manner(&self, _: Release) -> Manner {
        Manner::USUAL
    }
}
