//! Building blocks of carts, checkouts and orders (UCP *Cart*, *Checkout*, *Order* and the extensions of checkout).
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`draft`] | the platform's statement: line items, buyer, codes, destinations, instruments |
//! | [`line_item`] | line items |
//! | [`totals`] | totals, by construction the sum of their parts |
//! | [`buyer`] | buyer, consent and postal addresses |
//! | [`quote`] | input and output of the [pricing](crate::pricing) engine |
//! | [`discount`], [`fulfillment`] | discounts in effect, and delivery of the goods |
//! | [`payment`] | instruments, credentials and payments |
//! | [`approval`] | approvals that a buyer gave in person |
//! | [`mandate`] | proofs of the buyer's agreement |
//! | [`remote_cart_ref`] | references to carts at a shop behind another API |
//!
//! Amounts are integer minor units. A platform only states wishes; prices, titles, totals and states are the shop's.

pub mod approval;
pub mod buyer;
pub mod discount;
pub mod draft;
pub mod fulfillment;
pub mod line_item;
pub mod mandate;
pub mod payment;
pub mod quote;
pub mod remote_cart_ref;
pub mod totals;
