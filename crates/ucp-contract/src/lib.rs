//! The backend contract: questions that the gateway asks a shop, in JSON, and the adapter that turns the answers into
//! those of the ports.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`documents`] | questions and answers |
//! | [`transport`] | the questions, and the port through which a shop is asked |

pub mod documents;
pub mod transport;

pub use self::transport::{Question, Reply, Transport};
