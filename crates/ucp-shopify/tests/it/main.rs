//! The gateway in front of a shop with a Storefront API.
//!
//! | module | is about |
//! | :-- | :-- |
//! | [`documents`] | the GraphQL documents against Shopify's schema |
//! | [`catalog`], [`cart`] | a shop behind the Storefront API that answers what a test says |
//! | [`storefront`] | an upstream that executes Shopify's schema |

mod cart;
mod catalog;
mod documents;
mod graphql;
mod storefront;
