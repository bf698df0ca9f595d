//! The MCP binding: operations as tools over JSON-RPC, on `POST /mcp` and on standard input and output.
//!
//! Stateless: no stream, one answer per message, and sessions of which nothing is remembered. The endpoint serves, side by
//! side,
//!
//! - callers that send `tools/list` and `tools/call` without a handshake,
//! - handshake clients up to MCP 2025-11-25 (`initialize`, `ping`, notifications),
//! - MCP 2026-07-28, which has no handshake (`server/discover`, `_meta`, mirrored headers),
//! - JSON-RPC callers that use the name of an operation as method, with parameters by name or by position.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`about`] | what agents are told about the shop |
//! | [`message`] | JSON-RPC messages |
//! | [`era`] | the MCP generation of a message, and the rules of that generation |
//! | [`arguments`] | conversion of arguments to a [`Call`](ucp_service::Call) |
//! | [`toolset`] | tools and detail that a client chooses by the query |
//! | [`server`] | methods and their answers, independent of the transport |
//! | [`http`] | the HTTP endpoint |
//! | [`stdio`] | standard input and output, for desktop agents |

pub mod about;
pub mod arguments;
pub mod era;
pub mod http;
pub mod message;
pub mod server;
pub mod stdio;
pub mod toolset;

pub use {about::About, server::Server};
