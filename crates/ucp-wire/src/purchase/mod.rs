//! Carts, checkouts and orders on the wire.
//!
//! Request schemas are open: members that only the shop may set are accepted and ignored. Members of extensions are
//! written only if the extension is active.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`request`] | requests, and their conversion to domain requests |
//! | `address` | postal addresses in requests |
//! | [`payment`] | payment instruments: stated with credentials, returned without |
//! | [`consent`] | consent of buyers, in its two forms |
//! | [`shape`] | the shapes of answers |

mod address;
pub(crate) mod consent;
pub(crate) mod payment;
pub(crate) mod request;
pub(crate) mod shape;
