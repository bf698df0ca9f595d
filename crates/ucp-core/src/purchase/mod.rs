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
//! | [`quote`] | what that engine is given and gives back |
//! | [`discount`], [`fulfillment`] | what takes something off, and how goods reach the buyer |
//! | [`payment`] | instruments, credentials, and the port behind which money moves |
//! | [`approval`] | what a buyer has approved in person |
//! | [`mandate`], [`notary`] | proofs of what a buyer agreed to, and the port behind which they are verified |
//! | [`caller`] | whose cart it is, and what was negotiated with its platform |
//! | [`desk`] | the ports and terms that the operations of an embedded shop share |
//! | [`remote_cart`], [`remote_cart_ref`] | the port of a shop behind another API that prices, and its names for what is ours |
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
pub mod fulfillment;
pub mod ledger;
pub mod line_item;
pub mod mandate;
pub mod notary;
pub mod payment;
pub mod pricing;
pub mod quote;
pub mod remote_cart;
pub mod remote_cart_ref;
pub mod terms;
pub mod totals;
