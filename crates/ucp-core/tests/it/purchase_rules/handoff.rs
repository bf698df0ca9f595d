//! Actions of buyers on the page: the same rules as for platforms, and a version that they have seen.

use async_trait::async_trait;
use ucp_core::{
    ports::payment_handler::Handler,
    purchase::payment::{Attempt, Declaration, Settlement},
    sales::handoff::{Chosen, Desktop, Details, Done, Goal, Page, Payment, Step},
};

use super::*;

/// The scripted handler, in a shop where it can be paid with in person.
struct InPerson(Arc<ScriptedHandler>);

#[async_trait]
impl Handler for InPerson {
    fn declaration(&self) -> &Declaration {
        self.0.declaration()
    }

    fn prepare(&self, tender: &Tender) -> Result<serde_json::Value, Message> {
        self.0.prepare(tender)
    }

    fn deadline(&self) -> std::time::Duration {
        self.0.deadline()
    }

    async fn pay(&self, attempt: &Attempt, tender: &Tender) -> Settlement {
        self.0.pay(attempt, tender).await
    }

    async fn inquire(&self, attempt: &Attempt) -> Settlement {
        self.0.inquire(attempt).await
    }

    fn confirmed_in_person(&self) -> Option<Tender> {
        Some(card("scripted"))
    }

    async fn forget(&self, attempt: &Attempt) -> bool {
        self.0.forget(attempt).await
    }
}

/// The shop, where buyers can pay in person.
fn open_shop() -> TestShop {
    let mut shop = shop();
    shop.sales.handlers = Arc::new([Arc::new(InPerson(Arc::clone(&shop.handler))) as Arc<dyn Handler>]);
    shop
}

async fn desktop(shop: &TestShop, view: &checkout::View) -> Desktop {
    match shop.sales.page(&view.checkout.token).await.expect("reads") {
        Some(Page::Checkout(desktop)) => *desktop,
        other => panic!("no checkout: {other:?}"),
    }
}

async fn hand_in(shop: &TestShop, desktop: &Desktop, step: Step) -> Done {
    shop.sales.hand_in(&desktop.checkout.token, desktop.version, step).await.expect("carried out")
}

fn at_home() -> Step {
    let address = PostalAddress { address_country: Some("US".into()), ..PostalAddress::default() };
    Step::Details(Box::new(Details {
        email: Some("zoe@example.com".into()),
        destination: Some(Goal::Address(Box::new(address))),
        ..Details::default()
    }))
}

#[tokio::test]
async fn a_challenge_is_passed_in_person() {
    let shop = open_shop();
    let view = begin(&shop, Draft { fulfillment: Some(home()), ..draft(&[("rose", 2)]) }).await;
    shop.handler.script([Course::Challenged]);
    let asked = complete(&shop, &view.checkout.id).await;
    assert_eq!(asked.checkout.status(), Status::RequiresEscalation);
    let seen = desktop(&shop, &view).await;
    assert!(seen.is_payable() && seen.payment == Payment::Here);
    assert_eq!(hand_in(&shop, &seen, Step::Pay).await, Done::Taken);
    let completed = look(&shop, &view.checkout.id).await;
    assert_eq!(completed.checkout.status(), Status::Completed);
    assert_eq!((shop.handler.captures().len(), shop.ledger.orders().len()), (1, 1));
    assert_eq!(shop.ledger.remaining("rose"), Some(4));
    // A form is accepted only once.
    for step in [Step::Pay, Step::Cancel, at_home()] {
        assert_eq!(hand_in(&shop, &seen, step).await, Done::Stale);
        assert_eq!(hand_in(&shop, &desktop(&shop, &view).await, Step::Pay).await, Done::Closed);
    }
    let order = shop.ledger.orders().pop().expect("an order");
    assert_eq!(shop.sales.order_page(&order.token).await.expect("reads"), Some(order));
    assert!(shop.sales.order_page(&view.checkout.token).await.expect("reads").is_none());
    assert_eq!(shop.handler.captures().len(), 1);
}

#[tokio::test]
async fn who_pays_in_person_approves_it() {
    let mut shop = open_shop();
    let mut terms = Terms::clone(&shop.sales.terms);
    let review = serde_json::json!([{ "reason": "It is confirmed in person." }]);
    terms.reviews = serde_json::from_value(review).expect("reviews");
    shop.sales.terms = Arc::new(terms);
    let view = begin(&shop, draft(&[("ticket", 1)])).await;
    let seen = desktop(&shop, &view).await;
    assert!(seen.wants_approval() && seen.is_payable() && seen.payment == Payment::Here);
    assert_eq!(hand_in(&shop, &seen, Step::Pay).await, Done::Taken);
    assert_eq!(look(&shop, &view.checkout.id).await.checkout.status(), Status::Completed);
    // A new price is no purchase that was approved.
    let view = begin(&shop, draft(&[("ticket", 1)])).await;
    let seen = desktop(&shop, &view).await;
    shop.shelf.reprice("ticket", 2_100);
    assert_eq!(hand_in(&shop, &seen, Step::Pay).await, Done::Taken);
    let shown = desktop(&shop, &view).await;
    assert!(shown.wants_approval() && shown.is_payable(), "{:?}", shown.checkout.messages);
    assert_eq!(shop.handler.captures().len(), 1);
}

#[tokio::test]
async fn pages_of_closed_checkouts_say_how_they_ended() {
    let shop = open_shop();
    let page = async |token: &str| match shop.sales.page(token).await.expect("reads") {
        Some(Page::Over(over)) => (over.purchase, over.expired, over.owner),
        other => panic!("it is not over: {other:?}"),
    };
    let owner = caller().owner;
    let view = begin(&shop, draft(&[("ticket", 1)])).await;
    let seen = desktop(&shop, &view).await;
    let cart = fill(&shop, draft(&[("ticket", 1)])).await.cart;
    let left = fill(&shop, draft(&[("ticket", 1)])).await.cart;
    answered(&shop, &caller(), SaleRequest::CancelCart(by(&left.id))).await;
    assert_eq!(page(&left.token).await, (false, false, owner.clone()));
    shop.clock.advance(6 * 60 * 60);
    assert_eq!(page(&view.checkout.token).await, (true, true, owner.clone()));
    for step in [Step::Pay, Step::Approve, Step::Cancel] {
        assert_eq!(hand_in(&shop, &seen, step).await, Done::Closed);
    }
    shop.clock.advance(30 * 24 * 60 * 60);
    assert_eq!(page(&cart.token).await, (false, true, owner));
    assert_eq!(shop.handler.attempts(), 0);
}

#[tokio::test]
async fn only_what_was_seen_is_agreed_to() {
    let shop = open_shop();
    let view = begin(&shop, Draft { fulfillment: Some(home()), ..draft(&[("rose", 1)]) }).await;
    let seen = desktop(&shop, &view).await;
    update(&shop, &view.checkout.id, Draft { fulfillment: Some(home()), ..draft(&[("rose", 6)]) }).await;
    for step in [Step::Pay, Step::Cancel, at_home(), Step::Options(Vec::new())] {
        assert_eq!(hand_in(&shop, &seen, step).await, Done::Stale);
    }
    assert_eq!(look(&shop, &view.checkout.id).await.checkout.status(), Status::ReadyForComplete);
    // The price changes without anybody changing the checkout: the new total is shown, and nothing is paid.
    shop.shelf.reprice("rose", 999);
    let seen = desktop(&shop, &view).await;
    assert_eq!(hand_in(&shop, &seen, Step::Pay).await, Done::Taken);
    let shown = desktop(&shop, &view).await;
    assert!(codes(&shown.checkout.messages).contains(&"total_changed".to_owned()), "{:?}", shown.checkout.messages);
    assert_eq!(shop.handler.attempts(), 0);
    assert_eq!(hand_in(&shop, &shown, Step::Pay).await, Done::Taken);
    assert_eq!(shop.handler.captures().len(), 1);
}

#[tokio::test]
async fn a_buyer_chooses_what_the_platform_cannot_speak_of() {
    let shop = open_shop();
    let mute = platform("https://a.example/ucp", &[FULFILLMENT, DISCOUNT]);
    let view = begin_by(&shop, &mute, draft(&[("rose", 1)]), None).await;
    assert_eq!(view.checkout.status(), Status::RequiresEscalation);
    let seen = desktop(&shop, &view).await;
    assert!(!seen.is_payable() && seen.delivery.shipping);
    assert_eq!(hand_in(&shop, &seen, at_home()).await, Done::Taken);
    let shown = desktop(&shop, &view).await;
    assert_eq!(shown.checkout.status(), Status::ReadyForComplete, "{:?}", shown.checkout.messages);
    assert_eq!(amount_of(&shown.checkout.totals, TotalKind::Total), 850);
    // The platform changes something else, and completes it itself.
    let request = checkout::Update { id: view.checkout.id.clone(), draft: draft(&[("rose", 2)]) };
    let updated = checkout_of(answered(&shop, &mute, SaleRequest::UpdateCheckout(request)).await);
    assert_eq!((updated.checkout.status(), total(&updated)), (Status::ReadyForComplete, 1_200));
    let request =
        checkout::Complete { id: view.checkout.id.clone(), tenders: vec![card("scripted")], mandate: None, call: None };
    let completed = checkout_of(answered(&shop, &mute, SaleRequest::CompleteCheckout(request)).await);
    assert_eq!(completed.checkout.status(), Status::Completed);
}

#[tokio::test]
async fn a_buyer_picks_up_and_changes_their_mind() {
    let mut shop = open_shop();
    let place = serde_json::json!({ "id": "store", "name": "The store", "address": { "address_country": "US" } });
    let mut terms = Terms::clone(&shop.sales.terms);
    terms.pickup.places.push(serde_json::from_value(place).expect("a place"));
    shop.sales.terms = Arc::new(terms);
    let view = begin(&shop, draft(&[("rose", 1)])).await;
    let pick_up = |id: &str| {
        Step::Details(Box::new(Details {
            email: Some("zoe@example.com".into()),
            destination: Some(Goal::Place(id.into())),
            ..Details::default()
        }))
    };
    assert_eq!(hand_in(&shop, &desktop(&shop, &view).await, pick_up("nowhere")).await, Done::Taken);
    let lost = desktop(&shop, &view).await;
    assert!(codes(&lost.checkout.messages).contains(&"destination_unknown".to_owned()), "{:?}", lost.checkout.messages);
    assert_eq!(hand_in(&shop, &lost, pick_up("store")).await, Done::Taken);
    let picked = desktop(&shop, &view).await;
    assert_eq!(picked.checkout.status(), Status::ReadyForComplete, "{:?}", picked.checkout.messages);
    assert_eq!(hand_in(&shop, &picked, at_home()).await, Done::Taken);
    let sent = desktop(&shop, &view).await;
    assert_eq!(amount_of(&sent.checkout.totals, TotalKind::Fulfillment), 500);
    let chosen = Chosen { method: 0, group: "package_1".into(), option: "post".into() };
    assert_eq!(hand_in(&shop, &sent, Step::Options(vec![chosen])).await, Done::Taken);
    assert_eq!(hand_in(&shop, &desktop(&shop, &view).await, Step::Cancel).await, Done::Taken);
    assert_eq!(look(&shop, &view.checkout.id).await.checkout.status(), Status::Canceled);
}

#[tokio::test]
async fn checkouts_without_a_handler_for_pages_are_paid_elsewhere() {
    let shop = shop();
    let view = begin(&shop, draft(&[("ticket", 1)])).await;
    let seen = desktop(&shop, &view).await;
    assert_eq!(seen.payment, Payment::Elsewhere, "the handler takes nothing in person");
    assert_eq!(hand_in(&shop, &seen, Step::Pay).await, Done::Closed);
    let free = begin(&shop, draft(&[("leaflet", 1)])).await;
    let seen = desktop(&shop, &free).await;
    assert_eq!(seen.payment, Payment::Free);
    assert_eq!(hand_in(&shop, &seen, Step::Pay).await, Done::Taken);
    assert_eq!(look(&shop, &free.checkout.id).await.checkout.status(), Status::Completed);
    // If a mandate was negotiated, a visitor's approval does not count.
    let shop = open_shop();
    let strict = Caller {
        active: Arc::new(ucp_core::negotiation::Active::all(
            &[ucp_core::operation::CHECKOUT, ucp_core::operation::AP2_MANDATE]
                .map(|name| ucp_core::negotiation::Declaration { name: name.into(), ..Default::default() }),
        )),
        ..caller()
    };
    for good in ["ticket", "leaflet"] {
        let view = begin_by(&shop, &strict, draft(&[(good, 1)]), None).await;
        let seen = desktop(&shop, &view).await;
        assert_eq!(seen.payment, Payment::Elsewhere, "{good}");
        assert_eq!(hand_in(&shop, &seen, Step::Pay).await, Done::Closed);
    }
    assert_eq!(shop.handler.attempts(), 0);
}
