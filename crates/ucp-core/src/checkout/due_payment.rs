//! A payment that has begun and is to be made.

use super::Checkout;
use crate::purchase::payment::Tender;

/// A payment whose attempt is stored, and that is to be made once.
#[derive(Debug)]
pub struct DuePayment {
    /// Checkout, with the attempt.
    pub(crate) checkout: Checkout,
    /// Version of the checkout once the attempt is stored.
    pub(crate) version: u64,
    /// Instrument and credential; `None` if there is nothing to pay.
    pub(crate) tender: Option<Tender>,
}
