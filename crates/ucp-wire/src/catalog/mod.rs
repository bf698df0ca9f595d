//! The catalog on the wire: search, lookup and `get_product`.
//!
//! The JSON of each product is serialized in parts, once per release, and answers are spliced together from these parts
//! (see [`ucp_core::rendering`]).

mod older;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod shape;
pub(crate) mod unit_price;
