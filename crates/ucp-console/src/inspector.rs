//! The inspector: calls as they happened, for the page `/inspector`: of a gateway under development, and on the admin
//! listener.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `recorder` | what is taken along of a call while it is answered |
//! | `entry` | a call as a document |
//! | `mask` | what of a document is nobody's business |
//! | `ring` | the last calls, up to a size |
//! | `disk` | the ring on disk, in a folder of the data directory |
//! | `subjects` | what calls are about, and when they are deleted with it |
//! | `erasure` | deletion by a command, whether a gateway runs or not |
//! | `shell` | the page |
//! | `routes` | what the page asks |
//!
//! The events of a call come from its [trace](ucp_record::Trace), which the spans of OpenTelemetry are made of too.
//! A thread of its own masks and writes the recorded calls, so that callers do not wait for it; calls beyond its capacity
//! are only counted. With `server.record_unmasked` calls are also kept unmasked, in memory alone, for `replay`.
//!
//! A call is deleted once the store has no personal data of what it is about any more: whoever looks at a call
//! asks the store first, all calls are looked through when the gateway starts and once a minute, and the command that erases a
//! buyer deletes their calls on disk itself. Since only the store decides, a crash at any point, or an erasure by another
//! gateway, leaves nothing that the next look does not delete.

mod disk;
mod entry;
mod erasure;
mod mask;
mod recorder;
mod ring;
pub(crate) mod routes;
pub(crate) mod shell;
mod subjects;

pub use self::{
    erasure::{delete_all, delete_calls},
    recorder::{Following, Recorder},
    routes::for_developers,
    subjects::Subjects,
};

/// Path of the page, below which is what it asks.
pub(crate) const PATH: &str = "/inspector";

/// Folder of the data directory that holds the ring on disk.
const FOLDER: &str = "inspector";

/// Returns `true` for the path of the page and those below it.
pub fn is_its(path: &str) -> bool {
    path.strip_prefix(PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
