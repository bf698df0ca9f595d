//! Who is calling, and whether to believe it: platform profiles fetched safely, message signatures, keys and limits.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`address`] | which addresses of the network may be reached at all |
//! | [`fetch`] | fetching a document that a stranger named |
//! | [`post`] | sending to an address that a stranger named |
//! | [`profile`] | what a platform says about itself |
//! | [`directory`] | profiles that are known already |
//! | [`jwk`] | public keys as JSON |
//! | [`signature`] | HTTP Message Signatures (RFC 9421), as UCP profiles them |
//! | [`keyring`] | the keys of this gateway |
//! | [`mandate`] | AP2: the business's authorization of a checkout, and the buyer's mandate for it |
//! | [`cursor`] | page positions that only the gateway can make |
//! | [`api_key`] | keys that platforms were given |
//! | [`limit`] | how much a caller may send |
//! | [`client`] | the network address a request comes from |

pub mod address;
pub mod api_key;
pub mod client;
pub mod cursor;
pub mod directory;
pub mod fetch;
pub mod jwk;
pub mod keyring;
pub mod limit;
pub mod mandate;
pub mod post;
pub mod profile;
pub mod signature;
