//! The reference of errors, which is derived from code.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`messages`] | cause, fix and example of every message code |
//! | [`errors`] | the page of both: errors that reject a request, and messages |

pub(crate) mod errors;
mod messages;
