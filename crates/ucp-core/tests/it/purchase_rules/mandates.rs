//! Rules AP2-01 and AP2-03: once mandates were negotiated, nothing is paid without one.

use std::sync::Mutex;

use async_trait::async_trait;
use jiff::Timestamp;
use ucp_core::{
    negotiation::{Active, Declaration},
    operation::{AP2_MANDATE, CHECKOUT},
    ports::mandate_verifier::MandateVerifier,
    purchase::mandate::{Evidence, Mandate, refused},
};

use super::*;

/// Takes the word `good`, and remembers which totals it was asked about.
#[derive(Debug, Default)]
struct Scripted(Mutex<Vec<i64>>);

#[async_trait]
impl MandateVerifier for Scripted {
    async fn verify(
        &self,
        mandate: Option<&Mandate>,
        checkout: checkout::View,
        now: Timestamp,
    ) -> Result<Evidence, Message> {
        self.0.lock().expect("whole").push(amount_of(&checkout.checkout.totals, TotalKind::Total));
        match mandate.map(Mandate::reveal) {
            Some("good") => Ok(Evidence {
                reference: "digest".into(),
                kid: "key".into(),
                key: serde_json::json!({ "kid": "key" }),
                verified_at: now,
                kept: false,
            }),
            Some(_) => Err(refused("mandate_invalid_signature", "It is not good.")),
            None => Err(refused("mandate_required", "There is none.")),
        }
    }
}

struct Buying {
    shop: TestShop,
    mandate_verifier: Arc<Scripted>,
    /// A platform with which mandates were negotiated, and the same one afterwards.
    with: Caller,
    without: Caller,
}

impl Buying {
    fn new() -> Self {
        let mandate_verifier = Arc::new(Scripted::default());
        let without =
            Caller { mandate_verifier: Some(Arc::clone(&mandate_verifier) as Arc<dyn MandateVerifier>), ..caller() };
        let declared = [CHECKOUT, AP2_MANDATE, DISCOUNT, FULFILLMENT].map(|name| Declaration {
            name: name.into(),
            version: "2026-04-08".into(),
            ..Declaration::default()
        });
        let with = Caller { active: Arc::new(Active::all(&declared)), ..without.clone() };
        Self { shop: shop(), mandate_verifier, with, without }
    }

    async fn begin(&self, caller: &Caller) -> checkout::View {
        begin_by(&self.shop, caller, draft(&[("ticket", 1)]), None).await
    }

    async fn complete(&self, caller: &Caller, id: &str, mandate: Option<&str>) -> checkout::View {
        let mandate = mandate.map(|text| Mandate::new(text.into()));
        let request = checkout::Complete { id: id.into(), tenders: vec![card("scripted")], mandate, call: None };
        checkout_of(answered(&self.shop, caller, SaleRequest::CompleteCheckout(request)).await)
    }

    fn asked(&self) -> Vec<i64> {
        self.mandate_verifier.0.lock().expect("whole").clone()
    }
}

fn errors(view: &checkout::View) -> Vec<(&str, Option<&str>)> {
    view.messages.iter().filter_map(error_of).collect()
}

fn error_of(message: &Message) -> Option<(&str, Option<&str>)> {
    match message {
        Message::Error { code, path, .. } => Some((code.as_str(), path.as_deref())),
        _ => None,
    }
}

#[tokio::test]
async fn nothing_is_paid_without_a_good_mandate() {
    let buying = Buying::new();
    let id = buying.begin(&buying.with).await.checkout.id;
    for (mandate, code) in [(None, "mandate_required"), (Some("bad"), "mandate_invalid_signature")] {
        let view = buying.complete(&buying.with, &id, mandate).await;
        assert_eq!(errors(&view), [(code, Some("$.ap2.checkout_mandate"))]);
        assert_eq!((view.checkout.status(), view.checkout.evidence), (Status::Incomplete, None));
        assert_eq!(buying.shop.handler.attempts(), 0);
    }
    let view = buying.complete(&buying.with, &id, Some("good")).await;
    assert_eq!(view.checkout.status(), Status::Completed);
    assert_eq!(buying.shop.handler.captures().len(), 1);
    assert_eq!(buying.asked(), [2_000; 3]);
    let order = view.checkout.state.order().expect("an order").id.clone();
    let order = order_of(answered(&buying.shop, &buying.with, SaleRequest::GetOrder(by(&order))).await).order;
    let evidence = order.payment.mandate.expect("evidence");
    assert_eq!((evidence.reference.as_str(), evidence.kept), ("digest", true));
    assert_eq!(buying.shop.ledger.mandate(&id), Some(Mandate::new("good".into())), "the good one, as it was presented");
}

#[tokio::test]
async fn a_checkout_with_negotiated_mandates_always_requires_one() {
    let buying = Buying::new();
    // At its creation, and at a later change.
    let created = buying.begin(&buying.with).await.checkout.id;
    let changed = buying.begin(&buying.without).await.checkout;
    assert!(!changed.mandated);
    let update = checkout::Update { id: changed.id.clone(), draft: draft(&[("ticket", 1)]) };
    checkout_of(answered(&buying.shop, &buying.with, SaleRequest::UpdateCheckout(update)).await);
    for id in [created, changed.id] {
        let update = checkout::Update { id: id.clone(), draft: draft(&[("ticket", 1)]) };
        let updated = checkout_of(answered(&buying.shop, &buying.without, SaleRequest::UpdateCheckout(update)).await);
        assert!(updated.checkout.mandated);
        let view = buying.complete(&buying.without, &id, None).await;
        assert_eq!(errors(&view), [("mandate_required", Some("$.ap2.checkout_mandate"))]);
        // Nor by somebody who cannot verify anything.
        let alone = Caller { mandate_verifier: None, ..buying.without.clone() };
        let view = buying.complete(&alone, &id, Some("good")).await;
        assert_eq!(errors(&view), [("mandate_required", Some("$.ap2.checkout_mandate"))]);
        assert_eq!(buying.complete(&buying.without, &id, Some("good")).await.checkout.status(), Status::Completed);
    }
    assert_eq!(buying.shop.handler.captures().len(), 2);
}

#[tokio::test]
async fn mandates_are_not_verified_unless_negotiated() {
    let buying = Buying::new();
    let id = buying.begin(&buying.without).await.checkout.id;
    let view = buying.complete(&buying.without, &id, Some("bad")).await;
    assert_eq!((view.checkout.status(), view.checkout.evidence), (Status::Completed, None));
    assert!(buying.asked().is_empty());
}

#[tokio::test]
async fn what_costs_nothing_wants_a_mandate_all_the_same() {
    let buying = Buying::new();
    let id = begin_by(&buying.shop, &buying.with, draft(&[("leaflet", 1)]), None).await.checkout.id;
    assert_eq!(errors(&buying.complete(&buying.with, &id, None).await).len(), 1);
    assert_eq!(buying.complete(&buying.with, &id, Some("good")).await.checkout.status(), Status::Completed);
}

#[tokio::test]
async fn a_new_total_is_shown_before_anybody_looks_at_a_mandate() {
    let buying = Buying::new();
    let id = buying.begin(&buying.with).await.checkout.id;
    buying.shop.shelf.reprice("ticket", 3_000);
    let view = buying.complete(&buying.with, &id, Some("good")).await;
    assert_eq!(view.checkout.status(), Status::ReadyForComplete);
    assert_eq!((buying.asked().len(), buying.shop.handler.attempts()), (0, 0));
}

#[test]
fn a_mandate_is_not_printed() {
    assert_eq!(format!("{:?}", Mandate::new("eyJ.secret".into())), "Mandate { .. }");
}
