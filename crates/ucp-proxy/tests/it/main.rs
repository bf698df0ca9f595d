//! The backends that stand in front of another shop, and what carries their calls.
//!
//! | module | is about |
//! | :-- | :-- |
//! | [`resilience`] | what one upstream can do to the gateway |
//! | [`documents`] | the GraphQL documents against Shopify's schema |
//! | [`catalog`], [`cart`] | a shop behind the Storefront API that answers what a test says |
//! | [`storefront`] | an upstream that executes Shopify's schema |
//! | [`bridge`] | another shop that speaks UCP |

mod bridge;
mod cart;
mod catalog;
mod documents;
mod graphql;
mod resilience;
mod storefront;
