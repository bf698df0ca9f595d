//! The handlers from outside, in front of the fake provider.
//!
//! | module | is about |
//! | :-- | :-- |
//! | [`network`] | the processor over real connections |
//! | [`stripe`] | Stripe over real connections |
//! | [`captures`] | captures and releases by the merchant |
//! | [`canary`] | credentials and secrets, which reach the provider and nothing else |

mod canary;
mod captures;
mod network;
mod shop;
mod stripe;
