//! Identity of a payment at a provider, which does not change from its authorization to its capture.

use ucp_core::{
    money::{Amount, Currency},
    purchase::payment::{Attempt, Capture},
};

/// A payment, as a provider has to describe it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    /// Identifier of the attempt.
    pub(crate) id: &'a str,
    /// Identifier of the checkout.
    pub(crate) checkout_id: &'a str,
    /// Authorized amount, in minor units of `currency`.
    pub(crate) amount: Amount,
    /// Currency of the amount.
    pub(crate) currency: Currency,
}

impl<'a> From<&'a Attempt> for Subject<'a> {
    fn from(attempt: &'a Attempt) -> Self {
        let Attempt { id, checkout_id, amount, currency, .. } = attempt;
        Self { id, checkout_id, amount: *amount, currency: *currency }
    }
}

impl<'a> From<&'a Capture> for Subject<'a> {
    fn from(capture: &'a Capture) -> Self {
        let Capture { attempt_id, checkout_id, authorized, currency, .. } = capture;
        Self { id: attempt_id, checkout_id, amount: *authorized, currency: *currency }
    }
}
