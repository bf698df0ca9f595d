//! What carts, checkouts and orders are made of (UCP *Cart*, *Checkout*, *Order* and the extensions of checkout).
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`draft`] | what a platform states: line items, buyer, codes, destinations, instruments |
//! | [`line_item`] | what is bought |
//! | [`totals`] | what it costs, by construction the sum of its parts |
//! | [`buyer`] | who buys, and where to |
//! | [`terms`] | on what terms the shop sells: taxes, fees, discounts, deliveries, links, lifetimes |
//! | [`pricing`] | the engine: what a draft costs on these terms |
//! | [`discount`], [`fulfillment`] and two private modules for taxes and claims | its parts |
//! | [`payment`] | instruments, credentials, and the port behind which money moves |
//! | [`approval`] | what a buyer has approved in person |
//! | [`mandate`] | the port behind which it is known what a buyer agreed to |
//! | [`caller`] | whose cart it is, and what was negotiated with its platform |
//! | [`desk`] | the ports and terms that the operations of an embedded shop share |
//! | [`ledger`] | the port behind which carts, checkouts and orders are kept |
//!
//! Amounts are integer minor units. Whatever is stated by a platform is a wish; prices, titles, totals and states are the
//! shop's.

pub mod approval;
pub mod buyer;
pub mod caller;
pub mod desk;
pub mod discount;
pub mod draft;
mod eligibility;
pub mod fulfillment;
pub mod ledger;
pub mod line_item;
pub mod mandate;
pub mod payment;
pub mod pricer;
pub mod pricing;
mod tax;
pub mod terms;
pub mod totals;
