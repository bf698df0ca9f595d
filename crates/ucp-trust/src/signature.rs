//! HTTP Message Signatures (RFC 9421), as UCP profiles them (SIG-01 to SIG-13).
//!
//! A signature covers a *base*: a text that names parts of the message, one per line, with their values. UCP specifies
//! the parts that have to be covered, binds the body through `Content-Digest` (RFC 9530), and derives the algorithm
//! from the key. Everything here works on the bytes as they were received or will be sent, before anything is parsed
//! and after everything is written.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`base`] | parts of a message, their canonical values, and the base |
//! | [`input`] | parser of `Signature-Input` and `Signature` |
//! | [`digest`] | `Content-Digest` |
//! | [`detached`] | signatures over a body alone, of older releases |
//! | [`verify`] | verification of signed messages |
//! | [`key`] | private keys |
//! | [`sign`] | signing requests and responses |
//! | [`explain`] | verification results with their reasons, for people |
//! | [`message`] | HTTP messages in files |
//! | [`bot`] | signatures that identify only the bot that sends a request (Web Bot Auth) |
//! | [`visitor`] | requests of such bots |

pub mod base;
pub mod bot;
pub mod detached;
pub mod digest;
pub mod explain;
pub mod input;
pub mod key;
pub mod message;
pub mod sign;
pub mod verify;
pub mod visitor;

pub use self::{
    base::{Component, Message, RequestLine, Scheme, Start},
    key::SigningKey,
    sign::{sign_request, sign_response},
    verify::{Signed, Verified},
};
