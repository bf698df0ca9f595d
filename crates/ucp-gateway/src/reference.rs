//! The reference that is derived from code: every code of errors, and every key of the configuration.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`refusals`] | cause, cure and example of every refusal |
//! | [`messages`] | cause, cure and example of every code in the messages of answers |
//! | [`errors`] | the page of both |
//! | [`configuration`] | the page of the configuration |

pub(crate) mod configuration;
pub(crate) mod errors;
mod messages;
mod refusals;
