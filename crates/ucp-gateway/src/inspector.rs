//! The inspector: calls as they happened, in a bounded ring of files, for the page `/inspector` and the commands `tail`,
//! `explain` and `replay`.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`recorder`] | which calls are recorded, and what is taken along of them |
//! | [`entry`] | a recorded call as a document |
//! | [`mask`] | what of a document is nobody's business |
//! | [`ring`] | the files: writing, reading, erasure |
//! | [`routes`] | the page and what it asks |
//!
//! A call is recorded as a whole or not at all: of more than `inspector.per_second` in a second, the others are only
//! counted, and the next record says how many there were. Whether a call is recorded is known when it begins, so that one
//! that is not costs no more than that. Documents are masked before they are written, unless `inspector.record` is `whole`.

pub(crate) mod entry;
mod mask;
pub(crate) mod recorder;
pub(crate) mod ring;
pub(crate) mod routes;

/// Path of the page, and start of the paths of what it asks.
pub(crate) const PATH: &str = "/inspector";
