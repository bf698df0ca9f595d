//! A payment service provider for tests: it speaks the protocol of `ucp-payment`'s processor, never loses what it did,
//! and misbehaves on demand.
//!
//! It is the oracle of the tests that count money, so it shares no code with the gateway: it checks keys, signatures
//! and idempotency keys by itself.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`psp`] | payments and what may happen to them, and the journal they survive a crash in |
//! | [`stripe`] | the same of Stripe |
//! | [`fault`] | the ways to misbehave |
//! | [`reply`] | what is answered |
//! | [`server`] | the provider behind a port of the loopback interface |
//!
//! # Tokens
//! The `token` of a credential says what becomes of the payment: it begins with one of these words, or with any other
//! for a payment that goes through.
//!
//! | word | outcome |
//! | :-- | :-- |
//! | `decline` | declined at once |
//! | `challenge` | the buyer has to prove something first |
//! | `pending` | not decided yet; authorized by the time that somebody asks |
//! | `refuse_capture` | authorized, then declined when it is captured |
//!
//! Faults follow after plus signs, as `step:fault` or `step:fault:times`:
//! `ok+authorize:reset_after+capture:hang_before:2`. Where a token has to be one of Stripe, it is `pm_` and such a text with
//! `ZP` for each plus sign and `ZC` for each colon.

mod token;

pub mod fault;
pub mod psp;
pub mod reply;
pub mod server;
pub mod stripe;

pub use fault::{Fault, Order, Step};
pub use psp::{Keys, Psp, Report, Request};
pub use reply::Reply;
pub use server::{FakePsp, FakeStripe, Options};
pub use stripe::Stripe;
