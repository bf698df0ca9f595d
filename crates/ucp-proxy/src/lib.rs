//! Backends that stand in front of an existing commerce API.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`resilience`] | how one upstream is called: deadlines, retries, circuit breaker, bulkheads, limits, shared reads, cache |
//! | [`storefront`] | a shop behind Shopify's Storefront GraphQL API |
//! | [`bridge`] | a shop that speaks UCP itself, on one transport or in one release |

pub mod bridge;
pub mod resilience;
pub mod storefront;
