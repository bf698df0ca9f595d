//! The reference that is derived from code: every code of errors, and every key of the configuration.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`messages`] | cause, fix and example of every message code |
//! | [`errors`] | the page of both: errors that reject a request, and messages |
//! | [`configuration`] | the page of the configuration |

pub(crate) mod configuration;
pub(crate) mod errors;
mod messages;
