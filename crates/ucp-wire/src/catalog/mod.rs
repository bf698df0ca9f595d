//! The catalog on the wire: search, lookup and `get_product`.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`request`] | requests, and their conversion to domain requests |
//! | [`shape`], [`unit_price`] | the shapes of answers |

pub(crate) mod request;
pub(crate) mod shape;
pub(crate) mod unit_price;
