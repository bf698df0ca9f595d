//! The backend contract: questions that the gateway asks a shop, in JSON, and the adapter that turns the answers into
//! those of the ports.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`documents`] | questions and answers |
//! | [`transport`] | the questions, and the port through which a shop is asked |
//! | [`http`] | the contract over HTTP: an address, a credential, a path for each question |
//! | [`shop`] | the shop: what it states about itself, and its catalog |
//! | `position` | positions in results, as cursors carry them |
//! | `cart` | carts, and orders that are placed |
//! | [`check`](mod@check) | rules of the contract, tried on a shop |
//! | [`judge`] | what the gateway makes of one answer, for people who try a shop |
//! | [`openapi`] | the contract as an OpenAPI document |
//! | [`orders`] | orders that buyers place on the shop's pages, and what becomes of all of them |
//! | [`changes`] | events about products that changed |
//! | [`event`] | signatures of events |

mod cart;
pub mod changes;
pub mod check;
pub mod documents;
pub mod event;
pub mod http;
pub mod judge;
pub mod openapi;
pub mod orders;
mod position;
pub mod shop;
pub mod transport;

pub use self::{
    shop::{ConnectError, ContractShop},
    transport::{Question, Reply, Transport},
};
