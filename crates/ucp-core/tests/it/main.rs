//! The core from outside, in front of the doubles of `ucp-testkit`.
//!
//! | module | is about |
//! | :-- | :-- |
//! | [`checkout_states`] | every transition from every status, and random walks |
//! | [`purchase_rules`] | the rules of carts, checkouts and orders, one by one |
//! | [`remote_carts`] | carts at a shop behind another API that a crash leaves without an owner |
//! | [`placed_orders`] | orders that buyers place on the page of such a shop |
//! | [`orders_at_the_shop`] | orders that the gateway places there, whatever interrupts it |
//! | [`interrupted_purchases`] | purchases by two platforms that are interrupted anywhere |

mod checkout_states;
mod interrupted_purchases;
mod orders_at_the_shop;
mod placed_orders;
mod purchase_rules;
mod remote_carts;
