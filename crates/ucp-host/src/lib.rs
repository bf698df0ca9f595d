//! The shops of a gateway as they run: opened from a configuration, served, closed, and configured anew.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`running`] | the gateway as it runs: its configuration and its shops, at the start and after a reload |
//! | [`shops`] | all shops, and the shop that a request is for |
//! | [`slot`] | the place of a shop, open or not |
//! | [`shop`] | an open shop: its backend, call handler, bindings and background tasks |
//! | [`front`] | answers for shops that are not open |
//! | [`pages`] | the pages that other crates make for shops |
//! | [`background`] | opening and closing of several shops |
//! | [`backend`] | the backends: the embedded shop, or a remote commerce API |
//! | [`files`], [`machine`] | the data directories and databases that are open, and the claims of this machine to them |
//! | [`whereabouts`] | the note in a data directory about the database of its shop |
//! | [`callers`] | the rules for callers, by the configuration |
//! | `pool`, `reading`, `openings` | limits that shops share |
//! | `access_tokens` | the token endpoint of registered platforms |
//! | `webhook_ingress`, `payments` | the endpoints for events of upstreams and of payment service providers |
//! | `webhooks` | the delivery of webhook events |
//! | `directory` | the directory of merchants beside a shop |
//! | [`decisions`], [`audit`], [`orders`] | what operators decide about shops and platforms, and about orders |
//! | [`health`] | liveness and readiness |
//! | [`ended`] | a call that has ended |
//! | [`address`], [`cause`], [`clock`], [`progress`] | small tools: URLs, causes of errors, the clock, progress bars |

mod access_tokens;
pub mod address;
pub mod audit;
pub mod backend;
pub mod background;
pub mod callers;
pub mod cause;
pub mod clock;
pub mod decisions;
mod directory;
pub mod ended;
pub mod files;
pub mod front;
pub mod health;
pub mod machine;
pub mod openings;
pub mod orders;
pub mod pages;
mod payments;
pub mod pool;
pub mod progress;
mod reading;
pub mod running;
pub mod shop;
pub mod shops;
pub mod slot;
mod webhook_ingress;
mod webhooks;
pub mod whereabouts;
