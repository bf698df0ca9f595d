//! Carts, checkouts and orders on the wire.
//!
//! Schemas of requests are open: members that only the shop may set are taken and left alone. Members of extensions are written only where the extension is active.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`request`] | what platforms state, and the domain's words for it |
//! | `address` | postal addresses as platforms state them |
//! | [`payment`] | instruments: stated, and given back without what pays |
//! | [`consent`] | what buyers agreed to, in the two forms there are |
//! | [`shape`] | the shapes of answers |
//! | [`response`] | answers, from what the domain says |

mod address;
pub(crate) mod consent;
pub(crate) mod payment;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod shape;
