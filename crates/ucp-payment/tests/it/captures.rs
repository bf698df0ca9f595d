//! Captures and releases by the merchant, at the fake provider and at the fake Stripe over real connections.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use serde_json::json;
use ucp_core::{
    money::Amount,
    ports::payment_handler::Handler,
    purchase::payment::{Attempt, Capture, CaptureMode, Settlement, Tender, TransferOutcome},
};
use ucp_fake_psp::{FakePsp, FakeStripe, Fault, Options, psp::Payment};
use ucp_payment::{Processor, Stripe, processor, stripe};
use ucp_testkit::{PATIENCE, within};

use crate::{
    shop::{self, fake, keys},
    stripe as at_stripe,
};

/// Total of every payment, in minor units.
const TOTAL: i64 = 3_500;

/// A provider, whichever it is.
enum Provider {
    Processor(FakePsp),
    Stripe(FakeStripe),
}

impl Provider {
    fn both() -> [Self; 2] {
        [Self::Processor(fake()), Self::Stripe(FakeStripe::start(Options::new(keys())).expect("Stripe"))]
    }

    /// A handler that waits as long as a busy machine needs. It is one of its own: a provider that fails often is left
    /// alone for a while.
    fn handler(&self, capture: CaptureMode) -> Arc<dyn Handler> {
        self.within(capture, PATIENCE, 2 * PATIENCE)
    }

    /// A handler that soon gives up on a provider that hangs.
    fn hasty_handler(&self) -> Arc<dyn Handler> {
        self.within(CaptureMode::Manual, Duration::from_millis(500), Duration::from_secs(4))
    }

    fn within(&self, capture: CaptureMode, request_timeout: Duration, deadline: Duration) -> Arc<dyn Handler> {
        match self {
            Self::Processor(psp) => {
                let clock = Arc::new(Timestamp::now);
                let options = shop::options(&psp.url());
                let options = processor::Options { request_timeout, deadline, capture, clock, ..options };
                Arc::new(Processor::new(options).expect("a handler"))
            }
            Self::Stripe(stripe) => {
                let options = at_stripe::options(&stripe.url());
                let options = stripe::Options { request_timeout, deadline, capture, ..options };
                Arc::new(Stripe::new(options).expect("a handler"))
            }
        }
    }

    fn tender(&self, words: &str) -> Tender {
        match self {
            Self::Processor(_) => shop::tender(words),
            Self::Stripe(_) => shop::tender(&format!("pm_{}", words.replace('+', "ZP").replace(':', "ZC"))),
        }
    }

    fn payment(&self, id: &str) -> Payment {
        let report = match self {
            Self::Processor(psp) => psp.psp().report(),
            Self::Stripe(stripe) => stripe.psp().report(),
        };
        report.payments[id].clone()
    }

    /// A payment that was authorized, and its capture of an amount.
    async fn authorised(&self, id: &str, words: &str, minor: i64) -> Capture {
        let handler = self.handler(CaptureMode::Manual);
        let attempt = Attempt {
            id: id.into(),
            begun_at: Timestamp::now(),
            memo: handler.prepare(&self.tender("ok")).expect("a usable tender"),
            ..shop::attempt(id, "http://127.0.0.1:1")
        };
        let paid = handler.pay(&attempt, &self.tender(words)).await;
        let Settlement::Authorized { reference } = paid.clone() else { panic!("{id}: {paid:?}") };
        assert_eq!(handler.inquire(&attempt).await, paid, "it waits for the merchant");
        let automatic = self.handler(CaptureMode::Automatic);
        assert_eq!(automatic.inquire(&attempt).await, paid, "it ends in the mode in which it began");
        assert_eq!((self.payment(id).captures, self.payment(id).taken), (0, 0));
        capture(&attempt, reference, minor, 1)
    }
}

fn capture(attempt: &Attempt, reference: String, minor: i64, version: u64) -> Capture {
    Capture {
        id: format!("{}:capture:{version}", attempt.id),
        attempt_id: attempt.id.clone(),
        checkout_id: attempt.checkout_id.clone(),
        reference,
        amount: Amount::new(minor).expect("an amount"),
        authorized: attempt.amount,
        currency: attempt.currency,
    }
}

fn other(capture: &Capture, minor: i64, version: u64) -> Capture {
    let id = format!("{}:capture:{version}", capture.attempt_id);
    Capture { id, amount: Amount::new(minor).expect("an amount"), ..capture.clone() }
}

#[tokio::test]
async fn a_part_is_captured_once_and_the_rest_released() {
    for provider in Provider::both() {
        for (id, minor) in [("part", 1_200), ("all", TOTAL)] {
            let part = provider.authorised(id, "ok", minor).await;
            let handler = provider.handler(CaptureMode::Manual);
            let done = handler.capture(&part).await;
            assert!(matches!(done, TransferOutcome::Done { .. }), "{done:?}");
            assert_eq!(handler.capture(&part).await, done, "the same capture again");
            for (minor, version) in [(1, 2), (0, 3), (TOTAL - 1, 4)] {
                let refused = handler.capture(&other(&part, minor, version)).await;
                assert!(matches!(refused, TransferOutcome::Refused { .. }), "{minor}: {refused:?}");
            }
            let payment = provider.payment(id);
            assert_eq!((payment.captures, payment.taken, payment.voids), (1, minor, 0), "{payment:?}");
        }
    }
}

#[tokio::test]
async fn what_is_released_or_has_expired_captures_nothing() {
    for provider in Provider::both() {
        let released = provider.authorised("released", "ok", 0).await;
        let handler = provider.handler(CaptureMode::Manual);
        let done = handler.capture(&released).await;
        assert!(matches!(done, TransferOutcome::Done { .. }), "{done:?}");
        assert_eq!(handler.capture(&released).await, done, "the same release again");
        assert!(matches!(handler.capture(&other(&released, 5, 2)).await, TransferOutcome::Refused { .. }));
        let payment = provider.payment("released");
        assert_eq!((&*payment.status, payment.captures, payment.taken, payment.voids), ("voided", 0, 0, 1));

        let expired = provider.authorised("expired", "refuse_capture", TOTAL).await;
        assert!(matches!(handler.capture(&expired).await, TransferOutcome::Refused { .. }));
        assert!(
            matches!(handler.capture(&other(&expired, 0, 2)).await, TransferOutcome::Done { .. }),
            "there is nothing left"
        );
        assert_eq!(provider.payment("expired").taken, 0);
    }
}

#[tokio::test]
async fn a_capture_is_found_after_its_key_is_forgotten() {
    let [_, provider] = Provider::both();
    let Provider::Stripe(stripe) = &provider else { panic!("the second is Stripe") };
    let lost = provider.authorised("lost", "ok+capture:error_after:9", 1_200).await;
    assert_eq!(provider.hasty_handler().capture(&lost).await, TransferOutcome::Unknown);
    stripe.psp().forget_keys();
    let found = provider.handler(CaptureMode::Manual).capture(&lost).await;
    assert!(matches!(found, TransferOutcome::Done { .. }), "{found:?}");
    assert_eq!((provider.payment("lost").captures, provider.payment("lost").taken), (1, 1_200));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_at_a_capture_moves_the_money_once_or_not_at_all() {
    for provider in Provider::both() {
        let provider = Arc::new(provider);
        let mut running = Vec::new();
        for (step, minor) in [("capture", 1_200), ("void", 0)] {
            for (fault, _) in Fault::ALL {
                for times in [1, 9] {
                    let provider = Arc::clone(&provider);
                    running.push(tokio::spawn(async move {
                        let id = format!("{step}-{fault}-{times}");
                        let capture = provider.authorised(&id, &format!("ok+{step}:{fault}:{times}"), minor).await;
                        let mut moved = TransferOutcome::Unknown;
                        for _ in 0..20 {
                            // A gateway that was killed asks again the same way.
                            moved = provider.hasty_handler().capture(&capture).await;
                            if moved != TransferOutcome::Unknown {
                                break;
                            }
                        }
                        (id, moved, capture.amount.minor())
                    }));
                }
            }
        }
        let mut ended = Vec::new();
        for running in running {
            let (id, moved, minor) = within("a capture to end", 4 * PATIENCE, running).await.expect("no panic");
            let expected = if matches!(moved, TransferOutcome::Done { .. }) { minor } else { 0 };
            assert!(moved != TransferOutcome::Unknown, "nobody knows how {id} ended");
            assert_eq!(provider.payment(&id).taken, expected, "{id}: {moved:?}");
            ended.push((id, expected));
        }
        // Late results are there by now.
        tokio::time::sleep(Duration::from_millis(400)).await;
        for (id, expected) in ended {
            let payment = provider.payment(&id);
            assert_eq!(payment.taken, expected, "{id}: {payment:?}");
            assert!(payment.captures <= 1 && payment.authorizations <= 1, "{id}: {payment:?}");
        }
    }
}

#[tokio::test]
async fn the_sandbox_lets_the_merchant_capture() {
    let sandbox = ucp_payment::Sandbox::new(
        ucp_payment::sandbox::declaration("psp"),
        Arc::new(Timestamp::now),
        ucp_payment::sandbox::SLOW,
    );
    let manual = sandbox.capturing(CaptureMode::Manual);
    let memo = manual.prepare(&shop::tender("success_token")).expect("a token of the sandbox");
    assert_eq!(memo["capture"], json!("manual"));
    let attempt = Attempt { memo, ..shop::attempt("a", "http://127.0.0.1:1") };
    let paid = manual.pay(&attempt, &shop::tender("success_token")).await;
    let Settlement::Authorized { reference } = paid else { panic!("{paid:?}") };
    let done = manual.capture(&capture(&attempt, reference, 1_200, 1)).await;
    assert!(matches!(done, TransferOutcome::Done { .. }), "{done:?}");
}
