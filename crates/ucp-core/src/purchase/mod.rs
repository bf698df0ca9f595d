//! Building blocks of carts, checkouts and orders (UCP *Cart*, *Checkout*, *Order* and the extensions of checkout).
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`draft`] | the platform's statement: line items, buyer, codes, destinations, instruments |
//! | [`line_item`] | line items |
//! | [`totals`] | totals, by construction the sum of their parts |
//! | [`buyer`] | buyer, consent and postal addresses |
//! | [`terms`] | the shop's terms: taxes, fees, discounts, deliveries, links, lifetimes |
//! | [`goods`] | the goods that a draft names, as the catalog describes them |
//! | [`pricing`] | the pricing engine, which prices a draft on the shop's terms |
//! | [`quote`] | input and output of that engine |
//! | [`discount`], [`fulfillment`] | discounts in effect, and delivery of the goods |
//! | [`payment`] | instruments, credentials, and the port of payment handlers |
//! | [`approval`] | approvals that a buyer gave in person |
//! | [`mandate`], [`mandate_verifier`] | proofs of the buyer's agreement, and the port that verifies them |
//! | [`caller`] | the calling platform, and the capabilities negotiated with it |
//! | [`sales_service`] | the ports and terms that the operations of an embedded shop share |
//! | [`remote_cart`], [`remote_cart_ref`] | the port of carts at a shop behind another API, and their references |
//! | [`ledger`] | the port of the store of carts, checkouts and orders |
//!
//! Amounts are integer minor units. A platform only states wishes; prices, titles, totals and states are the shop's.

pub mod approval;
pub mod buyer;
pub mod caller;
pub mod discount;
pub mod draft;
pub mod fulfillment;
pub mod goods;
pub mod ledger;
pub mod line_item;
pub mod mandate;
pub mod mandate_verifier;
pub mod payment;
pub mod pricing;
pub mod quote;
pub mod remote_cart;
pub mod remote_cart_ref;
pub mod sales_service;
pub mod terms;
pub mod totals;
