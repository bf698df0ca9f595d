//! The releases of UCP: their shapes on the wire, decoding and encoding, and the documents that describe them.
//!
//! The newest release is decoded and encoded by types. An older release is one module, which rewrites its documents
//! into those of the next release and back, and a file with its schemas; the domain never learns which release it
//! serves. Everything a client can read about the gateway ([`profile`], [`openapi`], [`openrpc`], [`schema`]) is
//! derived here from the operation table and the schemas.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`codec`] | decoding requests and encoding answers in any release |
//! | [`mod@dialect`] | the interface of a release |
//! | [`releases`] | the registry of releases |
//! | [`encoded`], [`offer`], [`site`], [`upgrade`] | answers, capabilities, profile input, differences of releases |
//! | [`v2026_01_11`], [`v2026_01_23`], [`v2026_04_08`], [`v2026_08_25`] | the releases |
//! | [`mod@pre_catalog`] | the releases before the catalog, with the catalog of the founding documents |
//! | `catalog`, `purchase`, `merchant` | the newest release: requests, and the shapes of answers |
//! | `request`, `response`, `envelope` | requests and answers of every operation, and the envelope of answers |
//! | [`splice`] | assembling answers from serialized parts |
//! | [`relay`] | rewriting documents of a shop that speaks UCP itself, between releases |
//! | [`refusal`] | the shape of a protocol failure |
//! | [`schema`] | JSON Schemas of requests and answers, and validation against them |
//! | [`outline`] | schemas as lists of tools show them |
//! | [`documents`] | the set of generated documents |
//! | [`profile`], [`openapi`], [`openrpc`] | the generated documents |
//! | `components` | the component schemas of OpenAPI documents, for generators of clients |

mod catalog;
pub mod codec;
mod components;
pub mod dialect;
pub mod documents;
pub mod encoded;
mod envelope;
pub mod lenient;
mod merchant;
pub mod offer;
pub mod openapi;
pub mod openrpc;
pub mod outline;
pub mod pre_catalog;
pub mod profile;
mod purchase;
pub mod refusal;
pub mod relay;
pub mod releases;
mod request;
mod response;
pub mod schema;
pub mod site;
pub mod splice;
mod titles;
pub mod upgrade;
pub mod v2026_01_11;
pub mod v2026_01_23;
pub mod v2026_04_08;
pub mod v2026_08_25;
pub mod view;

#[cfg(test)]
mod tests;

pub use codec::{encode, encode_view, read};
pub use dialect::Dialect;
pub use releases::dialect;
