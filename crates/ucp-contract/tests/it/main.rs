//! Shops behind the backend contract, from the ports' side.
//!
//! | module | is about |
//! | :-- | :-- |
//! | [`stall`] | a shop in memory that answers the questions, and errs where it is told to |
//! | [`catalog`] | products that can be used and others, positions, what is kept while the shop is down |
//! | [`pages`] | pages made of pages: caps, filters, products that disappear, failures |
//! | [`carts`] | carts and orders: amounts, what is gone, what is not known |
//! | [`guide`] | the documents that the guide shows |
//! | [`checked`] | the rules of `ucp-gateway backend check`, each broken once |

mod carts;
mod catalog;
mod checked;
mod guide;
mod pages;
mod stall;
