//! Merchants and their locations on the wire: the draft *Merchant* capability, and UCP's *Location Search* and
//! *Location Lookup*.
//!
//! The draft belongs to no release, so callers of all releases use it in the same form; locations came with 2026-08-25.
//! Both show a location in the same shape, because the draft leaves open which further members a location has.
//!
//! Data for the operator of a directory only is never encoded: methods, aliases, texts in other languages, and
//! locations that are not public.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`request`] | requests, and their conversion to domain requests |
//! | [`shape`] | the shapes of answers |

pub(crate) mod request;
pub(crate) mod shape;

#[cfg(test)]
mod tests;
