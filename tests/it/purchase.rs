//! Carts, checkouts and orders, as platforms meet them: over every transport, in every release.

mod bad_input;
mod canary;
mod conditions;
mod conformance;
mod differential;
mod founding;
mod hostile;
mod idempotency;
mod journey;
mod mandates;
mod ownership;
mod rules;
mod shopper;
mod status;
mod webhooks;
