//! Carts, checkouts and orders, as platforms meet them: over every transport, in every release.

mod authentication;
mod bad_input;
mod bridge;
mod canary;
mod captures;
pub(crate) mod conditions;
mod conformance;
mod differential;
mod founding;
mod guidance;
mod hostile;
mod idempotency;
mod journey;
pub(crate) mod mandates;
mod ownership;
mod reviews;
mod rules;
pub(crate) mod shopper;
mod status;
mod stripe;
pub(crate) mod webhooks;
