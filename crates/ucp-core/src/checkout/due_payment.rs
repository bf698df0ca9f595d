//! A payment that has begun and is to be made.

use std::{fmt, sync::Arc};

use super::Checkout;
use crate::purchase::{
    payment::{Handler, Tender},
    remote_cart::RemoteCart,
};

/// A payment whose attempt is stored, and that is to be made once.
#[derive(Debug)]
pub struct DuePayment {
    /// Checkout, with the attempt.
    pub(super) checkout: Checkout,
    /// Version of the checkout once the attempt is stored.
    pub(super) version: u64,
    /// Party that takes the payment.
    pub(super) payer: Payer,
    /// Instrument and credential; `None` if there is nothing to pay.
    pub(super) tender: Option<Tender>,
}

/// Party that takes a payment.
#[derive(Clone, Default)]
pub(super) enum Payer {
    /// Nobody: there is nothing to pay.
    #[default]
    Nobody,
    /// A payment handler of the gateway.
    Handler(Arc<dyn Handler>),
    /// The shop behind another API, which places the order as well.
    Shop(Arc<dyn RemoteCart>),
}

impl fmt::Debug for Payer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nobody => "Nobody",
            Self::Handler(_) => "Handler",
            Self::Shop(_) => "Shop",
        })
    }
}
