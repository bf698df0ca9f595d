//! The releases of UCP: wire shapes, reading and writing them, and the documents that describe them.
//!
//! A release is one module. It says which shape each operation has in it, turns requests into the words of `ucp-core`
//! and answers into bytes; the domain never learns which release it serves. Everything a client can read about the
//! gateway ([`profile`], [`openapi`], [`openrpc`], [`schema`]) is derived here from the operation table and the shapes.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`mod@dialect`] | what a release has to provide, and the registry of releases |
//! | [`v2026_04_08`] | release 2026-04-08 |
//! | [`splice`] | putting answers together from serialised parts |
//! | [`refusal`] | the shape of a protocol failure |
//! | [`schema`] | JSON Schemas derived from the wire types, and validation against them |
//! | [`profile`], [`openapi`], [`openrpc`] | the generated documents |

pub mod dialect;
pub mod documents;
pub mod openapi;
pub mod openrpc;
pub mod profile;
pub mod refusal;
pub mod schema;
pub mod splice;
pub mod v2026_04_08;

pub use dialect::{Dialect, dialect};
