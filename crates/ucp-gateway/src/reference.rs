//! The reference that is derived from code: every code of errors, every option of the command line, and every field of the
//! sales terms.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`messages`] | cause, fix and example of every message code |
//! | [`errors`] | the page of both: errors that reject a request, and messages |
//! | [`command_line`] | the page of the command line |
//! | [`sales_terms`] | the page and the JSON Schema of the sales terms |

pub(crate) mod command_line;
pub(crate) mod errors;
mod messages;
pub(crate) mod sales_terms;
