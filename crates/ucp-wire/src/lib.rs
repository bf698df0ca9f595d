//! The releases of UCP: wire shapes, reading and writing them, and the documents that describe them.
//!
//! A release is one module. It says which shape each operation has in it, turns requests into the words of `ucp-core`
//! and answers into bytes; the domain never learns which release it serves. Everything a client can read about the
//! gateway ([`profile`], [`openapi`], [`openrpc`], [`schema`]) is derived here from the operation table and the shapes.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`mod@dialect`] | what a release has to provide |
//! | [`releases`] | the releases that are served |
//! | [`encoded`], [`offer`], [`site`], [`step`] | what that is made of: written answers, capabilities, the site that a profile tells about, differences between releases |
//! | [`v2026_01_11`], [`v2026_01_23`], [`v2026_04_08`], [`v2026_08_25`] | the releases |
//! | [`mod@founding`] | what the releases before the catalog share, with the catalog of the founding documents |
//! | `catalog`, `purchase`, `merchant` | what releases share: requests, shapes and answers |
//! | `request`, `envelope` | requests of every operation; answers of every operation, and what stands around them |
//! | [`splice`] | putting answers together from serialised parts |
//! | [`relay`] | documents of a shop that speaks UCP itself, between releases |
//! | [`refusal`] | the shape of a protocol failure |
//! | [`schema`] | JSON Schemas derived from the wire types, and validation against them |
//! | [`profile`], [`openapi`], [`openrpc`] | the generated documents |

mod catalog;
pub mod dialect;
pub mod documents;
pub mod encoded;
mod envelope;
pub mod founding;
mod merchant;
pub mod offer;
pub mod openapi;
pub mod openrpc;
pub mod profile;
mod purchase;
pub mod refusal;
pub mod relay;
pub mod releases;
mod request;
pub mod schema;
pub mod site;
pub mod splice;
pub mod step;
pub mod v2026_01_11;
pub mod v2026_01_23;
pub mod v2026_04_08;
pub mod v2026_08_25;

#[cfg(test)]
mod tests;

pub use dialect::Dialect;
pub use releases::dialect;
