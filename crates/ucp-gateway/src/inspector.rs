//! The inspector: calls as they happened, in memory, for the page `/inspector`: of a gateway under development, and on the
//! admin listener.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`recorder`] | what is taken along of a call while it is answered |
//! | [`entry`] | a call as a document |
//! | [`mask`] | what of a document is nobody's business |
//! | [`ring`] | the last calls, up to a size |
//! | [`routes`] | the page and what it asks |
//!
//! What happened on the way of a call is told by its [trace](ucp_core::record::Trace), which the spans of OpenTelemetry are
//! made of too. A thread of its own masks what is kept, so that callers do not wait for it; of more calls than it can take,
//! the others are only counted. Nothing is written to disk. With `server.record_whole` calls are kept as they came, too, for `replay`.

mod entry;
mod mask;
pub(crate) mod recorder;
mod ring;
pub(crate) mod routes;

/// Path of the page, below which is what it asks.
pub(crate) const PATH: &str = "/inspector";

/// Returns `true` for the path of the page and those below it.
pub(crate) fn is_its(path: &str) -> bool {
    path.strip_prefix(PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
