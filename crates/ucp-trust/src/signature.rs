//! HTTP Message Signatures (RFC 9421), as UCP profiles them (SIG-01 to SIG-13).
//!
//! A signature is over a *base*: a text that names parts of the message, one a line, with their values. UCP says which
//! parts have to be among them, ties the body in through `Content-Digest` (RFC 9530), and takes the algorithm from the
//! key. Everything here works on the bytes as they were received or will be sent, before anything is parsed and after
//! everything is written.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`base`] | the parts of a message, their canonical values, and the base |
//! | [`input`] | `Signature-Input` and `Signature`, read |
//! | [`digest`] | `Content-Digest` |
//! | [`detached`] | signatures over a body alone, of older releases |
//! | [`verify`] | what a signed message proves |
//! | [`key`] | private keys |
//! | [`sign`] | signing requests and responses |
//! | [`explain`] | the same verdicts with the reasons laid open, for people |
//! | [`message`] | HTTP messages in files |
//! | [`bot`] | signatures that say only which bot is asking |

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

pub use self::{
    base::{Component, Message, RequestLine, Scheme, Start},
    key::SigningKey,
    sign::{sign_request, sign_response},
    verify::{Signed, Verified},
};
