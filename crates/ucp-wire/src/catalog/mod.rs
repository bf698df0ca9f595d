//! The catalog on the wire: search, lookup and `get_product`.
//!
//! Products are written in parts, once each, and answers are spliced together from the parts (see
//! [`ucp_core::rendering`]).

pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod shape;
pub(crate) mod unit_price;
