//! Trust in callers: platform profiles that are fetched safely, message signatures, mandates, keys and rate limits.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`address`] | rules for the network addresses that may be reached |
//! | [`fetch`] | fetching of documents from addresses that callers name |
//! | [`post`] | delivery to addresses that platforms name |
//! | [`profile`] | profiles of platforms |
//! | [`directory`] | cache and register of platform profiles |
//! | [`jwk`] | public keys as JSON Web Keys |
//! | [`signature`] | HTTP Message Signatures (RFC 9421), as UCP profiles them |
//! | [`keyring`] | signing keys of this gateway |
//! | [`mandate`] | AP2: the business's authorization of a checkout, and the buyer's mandate for it |
//! | [`cursor`] | sealed page cursors |
//! | [`api_key`] | API keys of platforms |
//! | [`access_token`] | access tokens of platforms that show a client identifier and secret |
//! | [`certificate`] | client certificates of platforms |
//! | [`limit`] | rate limits and the limit on concurrent requests |
//! | [`client`] | network address of the client of a request |
//! | [`host`] | names of hosts, as requests state them and as they are compared |

pub mod access_token;
pub mod address;
pub mod api_key;
pub mod certificate;
pub mod client;
pub mod cursor;
pub mod directory;
pub mod fetch;
pub mod host;
pub mod jwk;
pub mod keyring;
pub mod limit;
pub mod mandate;
pub mod post;
pub mod profile;
pub mod signature;
