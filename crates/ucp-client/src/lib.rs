//! A client of UCP as an agent's platform has one, and what can be learned with it about a shop that anybody wrote.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`http`] | requests through the guarded HTTP client, with what each one cost |
//! | [`rpc`] | JSON-RPC messages of MCP, and their answers |
//! | [`shop`] | a shop found by its profile, and calls of its operations over REST and MCP |
//! | [`doctor`] | rules that a shop or the profile of a platform has to keep, and findings |
//! | [`rehearse`] | scripted shoppers, and a report of where they gave up |
//!
//! Requests are written in the newest release and handed on in the shop's ([`ucp_wire::relay`]); answers come back the
//! same way. Nothing of the shop is believed: bodies are read up to a bound, redirects are not followed, and a bearer
//! token is sent to the origin alone that was named with it.

pub mod doctor;
pub mod http;
pub mod rehearse;
pub mod rpc;
pub mod shop;
