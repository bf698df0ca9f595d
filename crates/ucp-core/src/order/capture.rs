//! Captures of orders whose money the merchant takes after the purchase.
//!
//! A capture or a release is stored before the processor is asked, so that it is known after a crash what has to be asked
//! again, under the same identifier.

use super::{Hold, Order, progress::Impossible};
use crate::{
    money::Amount,
    purchase::{
        payment::Capture,
        totals::{TotalKind, amount_of},
    },
};

impl Order {
    /// Begins a capture of an amount in minor units, or of all that was authorized if `amount` is `None`, without what
    /// was canceled. `version` is the version of the order. Returns `false` if exactly that was captured before, or is
    /// being captured. Fails with [`Impossible`] if the money does not wait to be captured, or the amount is not from 1
    /// to what is left.
    pub fn begin_capture(&mut self, amount: Option<i64>, version: u64) -> Result<bool, Impossible> {
        let left = self.capturable();
        let wanted = amount.unwrap_or(left);
        match &self.payment.hold {
            Some(Hold::Authorized) if left == 0 => Err(Impossible::NothingLeft),
            Some(Hold::Authorized) if wanted < 1 || wanted > left => Err(Impossible::TooMuchCaptured { left, wanted }),
            Some(Hold::Authorized) => {
                let id = self.capture_id(version);
                self.payment.hold = Some(Hold::Capturing { id, amount: wanted });
                Ok(true)
            }
            Some(Hold::Capturing { amount: known, .. } | Hold::Captured { amount: known }) if *known == wanted => {
                Ok(false)
            }
            _ => Err(self.not_held()),
        }
    }

    /// Begins the release of all that was authorized. `version` is the version of the order. Returns `false` if it was
    /// released before, or is being released. Fails with [`Impossible`] if the money does not wait to be captured.
    pub fn begin_release(&mut self, version: u64) -> Result<bool, Impossible> {
        match &self.payment.hold {
            Some(Hold::Authorized) => {
                self.payment.hold = Some(Hold::Releasing { id: self.capture_id(version) });
                Ok(true)
            }
            Some(Hold::Releasing { .. } | Hold::Released) => Ok(false),
            _ => Err(self.not_held()),
        }
    }

    /// Returns the capture or release that was begun and whose result is not known, for the handler; `None` if there is
    /// none.
    pub fn begun_capture(&self) -> Option<Capture> {
        let (id, amount) = match self.payment.hold.as_ref()? {
            Hold::Capturing { id, amount } => (id, *amount),
            Hold::Releasing { id } => (id, 0),
            Hold::Authorized | Hold::Captured { .. } | Hold::Released => return None,
        };
        Some(Capture {
            id: id.clone(),
            attempt_id: self.payment.attempt_id.clone(),
            checkout_id: self.checkout_id.clone(),
            reference: self.payment.reference.clone(),
            amount: Amount::new(amount)?,
            authorized: Amount::new(self.authorized())?,
            currency: self.currency,
        })
    }

    /// Ends the capture or release that was begun: it was carried out, or else nothing happened.
    pub fn end_capture(&mut self, done: bool) {
        self.payment.hold = match self.payment.hold.take() {
            Some(Hold::Capturing { amount, .. }) if done => Some(Hold::Captured { amount }),
            Some(Hold::Releasing { .. }) if done => Some(Hold::Released),
            Some(Hold::Capturing { .. } | Hold::Releasing { .. }) => Some(Hold::Authorized),
            hold => hold,
        };
    }

    /// Returns the amount that was captured, in minor units.
    pub fn captured(&self) -> i64 {
        match self.payment.hold {
            None => self.authorized(),
            Some(Hold::Captured { amount }) => amount,
            Some(_) => 0,
        }
    }

    /// Returns what was authorized, without what was canceled; nothing of an order whose goods were all canceled.
    fn capturable(&self) -> i64 {
        if self.is_canceled() {
            return 0;
        }
        let canceled = self.adjustments.iter().filter(|adjustment| adjustment.kind == "cancellation");
        let canceled: i64 = canceled.map(|canceled| amount_of(&canceled.totals, TotalKind::Total)).sum();
        (self.authorized() + canceled).max(0)
    }

    /// Returns `true` if all goods of the order were canceled.
    pub fn is_canceled(&self) -> bool {
        self.line_items.iter().all(|line| line.total == 0)
    }

    fn authorized(&self) -> i64 {
        amount_of(&self.totals, TotalKind::Total)
    }

    fn capture_id(&self, version: u64) -> String {
        format!("{}:capture:{version}", self.payment.attempt_id)
    }

    const fn not_held(&self) -> Impossible {
        Impossible::NotHeld(match self.payment.hold {
            None => "it was captured with the purchase",
            Some(Hold::Captured { .. }) => "it was captured, and the rest released",
            Some(Hold::Released) => "it was released",
            Some(Hold::Authorized | Hold::Capturing { .. } | Hold::Releasing { .. }) => {
                "another capture or release is not finished"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::progress::tests::order;

    fn held() -> Order {
        let mut order = order();
        order.payment.hold = Some(Hold::Authorized);
        order
    }

    #[test]
    fn a_payment_is_captured_once_and_at_most_what_was_authorized() {
        let mut order = held();
        assert_eq!((order.captured(), order.refundable()), (0, 0));
        for wanted in [0, -1, 4_001] {
            let refused = Impossible::TooMuchCaptured { left: 4_000, wanted };
            assert_eq!(order.begin_capture(Some(wanted), 1), Err(refused));
        }
        assert_eq!(order.begin_capture(Some(1_500), 1), Ok(true));
        let begun = order.begun_capture().expect("it was begun");
        assert_eq!((&*begun.id, begun.amount.minor(), begun.authorized.minor()), ("a:capture:1", 1_500, 4_000));
        assert_eq!(order.begin_capture(Some(1_500), 2), Ok(false), "it is the same capture");
        assert!(matches!(order.begin_capture(None, 2), Err(Impossible::NotHeld(_))));
        assert!(matches!(order.begin_release(2), Err(Impossible::NotHeld(_))));
        order.end_capture(true);
        assert_eq!((order.captured(), order.refundable(), order.begun_capture()), (1_500, 1_500, None));
        assert_eq!(order.begin_capture(Some(1_500), 3), Ok(false));
        assert!(matches!(order.begin_capture(Some(1), 3), Err(Impossible::NotHeld(_))));
        assert!(order.refund(jiff::Timestamp::UNIX_EPOCH, Some(1_501), &[], None).is_err());
    }

    #[test]
    fn what_was_refused_or_released_captures_nothing() {
        let mut order = held();
        assert_eq!(order.begin_capture(None, 1), Ok(true));
        order.end_capture(false);
        assert_eq!(order.payment.hold, Some(Hold::Authorized));
        assert_eq!(order.begin_release(3), Ok(true));
        let begun = order.begun_capture().expect("it was begun");
        assert_eq!((&*begun.id, begun.amount), ("a:capture:3", Amount::ZERO));
        assert_eq!(order.begin_release(4), Ok(false));
        order.end_capture(true);
        assert_eq!((order.captured(), order.begin_release(5)), (0, Ok(false)));
        assert!(matches!(order.begin_capture(None, 5), Err(Impossible::NotHeld(_))));
    }

    #[test]
    fn money_that_was_captured_with_the_purchase_is_not_captured_again() {
        let mut order = order();
        assert_eq!((order.captured(), order.refundable()), (4_000, 4_000));
        assert!(matches!(order.begin_capture(None, 1), Err(Impossible::NotHeld(_))));
        assert!(matches!(order.begin_release(1), Err(Impossible::NotHeld(_))));
        order.end_capture(true);
        assert_eq!(order.payment.hold, None);
    }
}
