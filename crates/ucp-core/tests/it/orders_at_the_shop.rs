//! Orders that the gateway places at a shop behind another API: one per agreement, whatever interrupts it.

use std::sync::Arc;

use ucp_core::{
    Answer, Outcome,
    call::SaleRequest,
    checkout::{self, Status},
    operation::ById,
    ports::payment_handler::Handler as _,
    pricing::terms::Terms,
    purchase::payment::Tender,
    sales::SalesService,
};
use ucp_testkit::{
    Course, Fate, ScriptedHandler, TestShop, interrupted,
    shop::{card, draft, platform},
};

use crate::remote_carts::{PROOF, Remote};

const OWNER: &str = "https://a.example/ucp";

/// A shop that takes orders and payments, of which these courses become.
fn shop(courses: &[Course]) -> (TestShop, Arc<Remote>) {
    let orders = ScriptedHandler::new("at_shop");
    orders.script(courses.iter().copied());
    let declared = orders.declaration().clone();
    let mut remote = Remote::default();
    remote.orders = Some(orders);
    let remote = Arc::new(remote);
    let mut shop = TestShop::new(Terms { required: Vec::new(), ..Terms::default() });
    shop.sales = SalesService {
        remote_carts: Some(Arc::clone(&remote) as _),
        shop_handlers: Arc::new([declared]),
        handlers: Arc::new([]),
        ..shop.sales
    };
    (shop, remote)
}

async fn made(shop: &TestShop) -> String {
    let create = checkout::Create { draft: draft(&[("rose", 2)]), cart_id: None };
    let outcome = shop.call(&platform(OWNER, &[]), SaleRequest::CreateCheckout(create)).await.expect("an answer");
    let view = view(outcome);
    assert_eq!(view.checkout.status(), Status::ReadyForComplete, "{:?}", view.messages);
    view.checkout.id
}

fn view(outcome: Outcome) -> checkout::View {
    match outcome {
        Outcome::Answer(Answer::Checkout(view)) => view,
        other => panic!("a checkout, not {other:?}"),
    }
}

async fn looked_at(shop: &TestShop, id: &str) -> checkout::View {
    let get = SaleRequest::GetCheckout(ById { id: id.to_owned() });
    view(shop.call(&platform(OWNER, &[]), get).await.expect("an answer"))
}

fn paying(id: &str, tenders: Vec<Tender>) -> SaleRequest {
    SaleRequest::CompleteCheckout(checkout::Complete { id: id.to_owned(), tenders, mandate: None, call: None })
}

fn captures(remote: &Remote) -> usize {
    remote.orders.as_ref().expect("orders").captures().len()
}

#[tokio::test]
async fn an_order_is_named_as_the_shop_names_it_and_its_cart_is_not_looked_at_again() {
    let (shop, remote) = shop(&[]);
    let id = made(&shop).await;
    let view = view(shop.call(&platform(OWNER, &[]), paying(&id, vec![card("at_shop")])).await.expect("an answer"));
    assert_eq!(view.checkout.status(), Status::Completed);
    let order = view.checkout.state.order().expect("an order");
    assert!(order.label.starts_with("no. "), "{order:?}");
    assert!(view.permalink_url.expect("a page").starts_with("https://remote.example/orders/"));
    assert_eq!((view.checkout.remote_cart, captures(&remote)), (None, 1));
    // The shop counts its goods itself, and no order is abandoned as an orphan.
    assert_eq!(shop.ledger.remaining("rose"), None);
    let stored = shop.ledger.orders();
    assert!(stored[0].remote.as_ref().is_some_and(|remote| stored[0].payment.reference == remote.reference));
}

#[tokio::test]
async fn a_credential_of_nobodys_handler_goes_nowhere() {
    let (shop, remote) = shop(&[]);
    let id = made(&shop).await;
    for tender in [
        card("scripted"),
        Tender {
            instrument: ucp_core::purchase::payment::Instrument { kind: "wallet".into(), ..card("at_shop").instrument },
            ..card("at_shop")
        },
    ] {
        let view = view(shop.call(&platform(OWNER, &[]), paying(&id, vec![tender])).await.expect("an answer"));
        assert!(view.messages.iter().any(|message| message.path().is_some()), "{:?}", view.messages);
        assert_ne!(view.checkout.status(), Status::Completed);
    }
    assert_eq!(captures(&remote), 0);
}

#[tokio::test]
async fn a_buyer_who_is_challenged_goes_on_where_the_shop_says() {
    let (shop, _) = shop(&[Course::Challenged]);
    let id = made(&shop).await;
    let view = view(shop.call(&platform(OWNER, &[]), paying(&id, vec![card("at_shop")])).await.expect("an answer"));
    assert_eq!((view.checkout.status(), view.continue_url.as_deref()), (Status::RequiresEscalation, Some(PROOF)));
}

/// Guarantees at most one order, whatever becomes of the request and wherever the process ends, and a checkout that
/// says in the end whether there is one.
#[tokio::test]
async fn no_interruption_places_two_orders_or_loses_one() {
    let courses = [
        Course::Captured,
        Course::Declined,
        Course::AnswerLost,
        Course::RequestLost,
        Course::Slow(2),
        Course::Late(1),
        Course::LateDeclined(1),
    ];
    let (mut placed, mut refused) = (0, 0);
    for course in courses {
        for polls in (0..12).map(Some).chain([None]) {
            for fate in [
                None,
                Some((0, Fate::FailsBefore)),
                Some((0, Fate::FailsAfter)),
                Some((1, Fate::FailsBefore)),
                Some((1, Fate::FailsAfter)),
            ] {
                let (shop, remote) = shop(&[course]);
                let id = made(&shop).await;
                if let Some((nth, fate)) = fate {
                    shop.ledger.decide_fates(move |commit| if commit == nth { fate } else { Fate::Succeeds });
                }
                let (caller, call) = (platform(OWNER, &[]), paying(&id, vec![card("at_shop")]));
                let _ = interrupted(shop.call(&caller, call), polls.unwrap_or(usize::MAX)).await;
                shop.ledger.recover();
                for _ in 0..6 {
                    shop.carry_out_all().await.expect("asks");
                    shop.clock.advance(61);
                }
                let view = looked_at(&shop, &id).await;
                let orders = shop.ledger.orders().len();
                let told = format!("{course:?} {polls:?} {fate:?} {:?}", view.checkout.status());
                assert_ne!(view.checkout.status(), Status::CompleteInProgress, "{told}");
                assert_eq!(captures(&remote), orders, "{told}");
                assert_eq!(view.checkout.status() == Status::Completed, orders == 1, "{told}");
                placed += orders;
                refused += 1 - orders;
            }
        }
    }
    assert!(placed > 50 && refused > 50, "{placed} placed, {refused} not");
}

#[tokio::test]
async fn a_checkout_that_is_declined_can_be_paid_again() {
    let (shop, remote) = shop(&[Course::Declined, Course::Captured]);
    let id = made(&shop).await;
    for expected in [Status::Incomplete, Status::Completed] {
        let paid = shop.call(&platform(OWNER, &[]), paying(&id, vec![card("at_shop")])).await.expect("an answer");
        assert_eq!(view(paid).checkout.status(), expected);
    }
    assert_eq!(captures(&remote), 1);
}
