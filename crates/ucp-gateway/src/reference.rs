//! The reference that is derived from code: every code of errors, and every option of the command line.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`messages`] | cause, fix and example of every message code |
//! | [`errors`] | the page of both: errors that reject a request, and messages |
//! | [`command_line`] | the page of the command line |

pub(crate) mod command_line;
pub(crate) mod errors;
mod messages;
