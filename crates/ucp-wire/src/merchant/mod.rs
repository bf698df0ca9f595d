//! Merchants and their locations on the wire: the draft *Merchant* capability, and UCP's *Location Search* and *Location
//! Lookup*.
//!
//! The draft belongs to no release, so that callers of all of them have it alike; locations came with 2026-08-25. Both
//! show a location in the same shape, because the draft leaves open what else a location says.
//!
//! What only the operator of a directory has to know never gets here: methods, aliases, texts in other languages, and
//! locations that are not public.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`request`] | what platforms ask, and the domain's words for it |
//! | [`shape`] | the shapes of answers |
//! | [`response`] | answers, from what the domain says |

pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod shape;

#[cfg(test)]
mod tests;
