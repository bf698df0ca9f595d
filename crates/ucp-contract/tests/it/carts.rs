//! Carts and orders: amounts, what is gone, what is not known.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use ucp_contract::{ContractShop, Question, orders::ShopOrders};
use ucp_core::{
    Answer, Code, Outcome, Refusal,
    call::SaleRequest,
    cart,
    checkout::{self, Status},
    operation::ById,
    ports::caller::Caller,
    pricing::terms::Terms,
    purchase::{
        buyer::PostalAddress,
        draft::{DestinationDraft, Draft, FulfillmentDraft, GroupDraft, LineDraft, MethodDraft},
        payment::Instrument,
        totals::{TotalKind, amount_of},
    },
    sales::SalesService,
};
use ucp_net::{
    Failure, Received, Scope,
    failure::{Answered, Unfit},
};
use ucp_testkit::{
    TestShop,
    shop::{card, draft, platform},
};

use crate::stall::{HALTED, REFUSED, Stall, UNSENT};

const OWNER: &str = "https://agent.example/profile";

struct Gateway {
    stall: Arc<Stall>,
    shop: TestShop,
}

impl Gateway {
    async fn new() -> Self {
        Self::on(|_, _, answer| Ok(Some(answer))).await
    }

    /// A gateway before a stall whose answers are changed by `spoil` from the beginning.
    async fn on(
        spoil: impl Fn(Question, &Value, Value) -> Result<Option<Value>, Failure> + Send + Sync + 'static,
    ) -> Self {
        let stall = Stall::new();
        stall.spoil(spoil);
        let contract: ContractShop = stall.connect().await;
        let inbox = ShopOrders::new(contract.clone(), None, Arc::new(jiff::Timestamp::now));
        let mut shop = TestShop::new(Terms { required: Vec::new(), ..Terms::default() });
        shop.sales = SalesService {
            shop_handlers: contract.declarations().into(),
            catalog: Arc::new(contract.clone()),
            remote_carts: Some(Arc::new(contract)),
            order_inbox: Some(Arc::new(inbox)),
            handlers: Arc::new([]),
            ..shop.sales
        };
        Self { stall, shop }
    }

    async fn call(&self, request: SaleRequest) -> Result<Outcome, Refusal> {
        self.shop.call(&platform(OWNER, &[]), request).await
    }

    async fn checkout(&self, request: SaleRequest) -> checkout::View {
        match self.call(request).await.expect("an answer") {
            Outcome::Answer(Answer::Checkout(view)) => view,
            other => panic!("a checkout, not {other:?}"),
        }
    }

    async fn made(&self, draft: Draft) -> checkout::View {
        self.checkout(SaleRequest::CreateCheckout(checkout::Create { draft, cart_id: None })).await
    }

    async fn paid(&self, id: &str) -> checkout::View {
        let complete =
            checkout::Complete { id: id.to_owned(), tenders: vec![card("stall")], mandate: None, call: None };
        self.checkout(SaleRequest::CompleteCheckout(complete)).await
    }
}

/// Apples to Vienna, by this delivery option.
fn sent(option: Option<&str>) -> Draft {
    let address = PostalAddress {
        street_address: Some("Naschmarkt 1".into()),
        address_country: Some("AT".into()),
        ..PostalAddress::default()
    };
    let groups = option.map(|option| GroupDraft { id: None, selected_option_id: Some(option.to_owned()) });
    let method = MethodDraft {
        kind: Some("shipping".into()),
        destinations: vec![DestinationDraft { address, ..DestinationDraft::default() }],
        groups: groups.into_iter().collect(),
        ..MethodDraft::default()
    };
    Draft { fulfillment: Some(FulfillmentDraft { methods: vec![method] }), ..draft(&[("apples-kg", 10)]) }
}

fn codes(view: &checkout::View) -> Vec<String> {
    let code =
        |message: &ucp_core::message::Message| serde_json::to_value(message).ok()?["code"].as_str().map(str::to_owned);
    view.messages.iter().filter_map(code).collect()
}

#[tokio::test]
async fn the_total_is_that_of_the_delivery_that_the_platform_sees_chosen() {
    let gateway = Gateway::new().await;
    // The shop would choose the horse; the platform is shown the cheapest, for which the shop is asked again.
    let view = gateway.made(sent(None)).await;
    assert_eq!(view.checkout.status(), Status::ReadyForComplete, "{:?}", view.messages);
    assert_eq!(amount_of(&view.checkout.totals, TotalKind::Fulfillment), 150);
    assert_eq!(amount_of(&view.checkout.totals, TotalKind::Tax), 305);
    assert_eq!(amount_of(&view.checkout.totals, TotalKind::Total), 2_900 + 150 + 305);
    assert_eq!(gateway.stall.times(Question::CartSync), 2);
    let view = gateway.made(sent(Some("horse"))).await;
    assert_eq!(amount_of(&view.checkout.totals, TotalKind::Total), 2_900 + 900 + 380);
    assert_eq!(gateway.stall.times(Question::CartSync), 3);
}

#[tokio::test]
async fn where_nothing_is_delivered_and_what_has_no_address_is_said() {
    let gateway = Gateway::new().await;
    let view = gateway.made(draft(&[("apples-kg", 1)])).await;
    assert_eq!(codes(&view), ["fulfillment_required"]);
    let mut far = sent(None);
    far.fulfillment.as_mut().expect("stated").methods[0].destinations[0].address.address_country = Some("NZ".into());
    let view = gateway.made(far).await;
    assert_eq!(codes(&view), ["address_undeliverable"]);
    let told = view.checkout.totals.iter().filter(|total| total.kind == TotalKind::Fulfillment).count();
    assert_eq!(told, 0, "that it is free is not said: {:?}", view.checkout.totals);
}

#[tokio::test]
async fn a_total_that_does_not_add_up_stops_the_purchase() {
    let gateway = Gateway::new().await;
    gateway.stall.spoil_one(Question::CartSync, |answer| answer["total"] = json!(1));
    let view = gateway.made(sent(Some("cart"))).await;
    assert_eq!(codes(&view), ["total_differs"]);
    assert_ne!(view.checkout.status(), Status::ReadyForComplete);
}

/// Goods to be picked up, at this place if it is stated.
fn picked_up(lines: &[(&str, u64)], place: Option<&str>) -> Draft {
    let method = MethodDraft {
        kind: Some("pickup".into()),
        selected_destination_id: place.map(str::to_owned),
        ..MethodDraft::default()
    };
    Draft { fulfillment: Some(FulfillmentDraft { methods: vec![method] }), ..draft(lines) }
}

#[tokio::test]
async fn goods_are_picked_up_at_a_place_that_the_shop_states() {
    let gateway = Gateway::new().await;
    let places = |view: &checkout::View| -> Vec<String> {
        let methods = view.checkout.fulfillment.iter().flat_map(|all| &all.methods);
        methods.flat_map(|method| &method.destinations).map(|destination| destination.id.clone()).collect()
    };
    let view = gateway.made(picked_up(&[("apples-kg", 10)], None)).await;
    assert_eq!((codes(&view), places(&view)), (vec!["field_required".to_owned()], vec!["stall".into(), "barn".into()]));
    let id = view.checkout.id;
    let update = checkout::Update { id: id.clone(), draft: picked_up(&[("apples-kg", 10)], Some("barn")) };
    let view = gateway.checkout(SaleRequest::UpdateCheckout(update)).await;
    assert_eq!(view.checkout.status(), Status::ReadyForComplete, "{:?}", view.messages);
    assert_eq!(amount_of(&view.checkout.totals, TotalKind::Fulfillment), 100);
    assert_eq!(amount_of(&view.checkout.totals, TotalKind::Total), 2_900 + 100 + 300);
    assert_eq!(gateway.stall.times(Question::CartSync), 2, "the place is in the question");
    let view = gateway.paid(&id).await;
    assert_eq!(view.checkout.status(), Status::Completed, "{:?}", view.messages);
    let asked = gateway.stall.state().asked.iter().find(|(question, _)| *question == Question::Place).cloned();
    let placed = asked.expect("an order").1;
    assert_eq!((&placed["pickup_place"], &placed["total"]), (&json!("barn"), &json!(3_300)));
    assert!(placed.get("address").is_none() && placed.get("delivery_option").is_none(), "{placed}");
}

#[tokio::test]
async fn a_place_that_has_the_goods_no_more_is_named() {
    let gateway = Gateway::new().await;
    let view = gateway.made(picked_up(&[("apples-kg", 1)], Some("barn"))).await;
    assert_eq!(view.checkout.status(), Status::ReadyForComplete, "{:?}", view.messages);
    let mut draft = picked_up(&[("apples-kg", 1), ("plums-kg", 1)], Some("barn"));
    let update = checkout::Update { id: view.checkout.id.clone(), draft: draft.clone() };
    let view = gateway.checkout(SaleRequest::UpdateCheckout(update)).await;
    assert_eq!(codes(&view), ["fulfillment_unavailable"]);
    let said = serde_json::to_value(&view.messages[0]).expect("JSON");
    assert!(said["content"].as_str().is_some_and(|content| content.starts_with("Barn no longer has")), "{said}");
    draft.fulfillment.as_mut().expect("stated").methods[0].selected_destination_id = Some("stall".to_owned());
    let update = checkout::Update { id: view.checkout.id.clone(), draft };
    let view = gateway.checkout(SaleRequest::UpdateCheckout(update)).await;
    assert_eq!(view.checkout.status(), Status::ReadyForComplete, "{:?}", view.messages);
    // Without any place there is no pickup.
    gateway.stall.spoil_one(Question::CartSync, |answer| answer["pickup_places"] = json!([]));
    let view = gateway.made(picked_up(&[("apples-kg", 1)], None)).await;
    assert_eq!(codes(&view), ["fulfillment_unavailable"]);
    let available = view.checkout.fulfillment.expect("a delivery").available_methods;
    assert_eq!(available.len(), 1, "{available:?}");
}

/// Apples to Vienna by hand cart, with a code.
fn with_code(code: &str) -> Draft {
    Draft { codes: Some(vec![code.to_owned()]), ..sent(Some("cart")) }
}

#[tokio::test]
async fn a_gift_card_pays_a_part_and_its_code_is_recognised() {
    let gateway = Gateway::new().await;
    let view = gateway.made(with_code("GIFT")).await;
    assert_eq!((codes(&view), view.checkout.status()), (vec!["credit_applied".to_owned()], Status::ReadyForComplete));
    assert_eq!(amount_of(&view.checkout.totals, TotalKind::GiftCard), -1_000);
    assert_eq!(amount_of(&view.checkout.totals, TotalKind::Total), 3_355 - 1_000);
    let view = gateway.paid(&view.checkout.id).await;
    assert_eq!(view.checkout.status(), Status::Completed, "{:?}", view.messages);
    let asked = gateway.stall.state().asked.iter().find(|(question, _)| *question == Question::Place).cloned();
    assert_eq!(asked.expect("an order").1["total"], 2_355);
    let order = gateway.shop.ledger.orders().remove(0);
    assert_eq!(amount_of(&order.totals, TotalKind::GiftCard), -1_000);
    assert_eq!(amount_of(&order.totals, TotalKind::Total), 2_355);
}

#[tokio::test]
async fn what_credits_pay_altogether_needs_no_payment() {
    let gateway = Gateway::new().await;
    let view = gateway.made(with_code("RICH")).await;
    assert_eq!(amount_of(&view.checkout.totals, TotalKind::StoreCredit), -3_355);
    assert_eq!(amount_of(&view.checkout.totals, TotalKind::Total), 0);
    let id = view.checkout.id;
    let complete = checkout::Complete { id, tenders: Vec::new(), mandate: None, call: None };
    let view = gateway.checkout(SaleRequest::CompleteCheckout(complete)).await;
    assert_eq!(view.checkout.status(), Status::Completed, "{:?}", view.messages);
    let asked = gateway.stall.state().asked.iter().find(|(question, _)| *question == Question::Place).cloned();
    let placed = asked.expect("an order").1;
    assert_eq!((&placed["total"], placed.get("payment")), (&json!(0), None));
}

#[tokio::test]
async fn credits_beyond_what_is_due_stop_the_purchase() {
    let gateway = Gateway::new().await;
    gateway.stall.spoil_one(Question::CartSync, |answer| {
        answer["credits"] = json!([{ "kind": "gift_card", "title": "Gift card", "amount": 3_356 }]);
        answer["total"] = json!(0);
    });
    let view = gateway.made(sent(Some("cart"))).await;
    assert_eq!(codes(&view), ["total_differs"]);
    assert_ne!(view.checkout.status(), Status::ReadyForComplete);
}

#[tokio::test]
async fn what_the_shop_has_fewer_of_is_reduced_and_said() {
    let gateway = Gateway::new().await;
    gateway.stall.spoil_one(Question::CartSync, |answer| {
        answer["lines"][0]["quantity"] = json!(4);
        answer["taxes"] = json!([]);
        answer["total"] = json!(4 * 290 + 150);
    });
    let view = gateway.made(sent(Some("cart"))).await;
    assert_eq!(codes(&view), ["quantity_adjusted"]);
    assert_eq!((view.checkout.line_items[0].quantity, view.checkout.status()), (4, Status::ReadyForComplete));
}

#[tokio::test]
async fn why_a_line_cannot_be_bought_is_the_shops_to_say() {
    let gateway = Gateway::new().await;
    for (kind, code) in [
        ("not_sold_to_buyer", "item_unavailable"),
        ("below_minimum", "quantity_invalid"),
        ("on_strike", "item_unavailable"),
    ] {
        gateway.stall.spoil_one(Question::CartSync, move |answer| {
            answer["lines"][0]["quantity"] = json!(0);
            answer["lines"][0]["problem"] = json!({ "kind": kind, "text": "For  grocers\u{200b} only." });
        });
        let Ok(Outcome::NoResource { messages, .. }) = gateway
            .call(SaleRequest::CreateCheckout(checkout::Create { draft: sent(Some("cart")), cart_id: None }))
            .await
        else {
            panic!("nothing to buy")
        };
        let said = serde_json::to_value(&messages[0]).expect("JSON");
        assert_eq!((&said["code"], &said["content"]), (&json!(code), &json!("For grocers only.")), "{kind}");
    }
}

#[tokio::test]
async fn only_quantities_that_are_sold_are_asked_for() {
    let gateway = Gateway::new().await;
    gateway.stall.spoil(|question, _, mut answer| {
        if matches!(question, Question::Resolve | Question::Open) {
            for product in answer["products"].as_array_mut().expect("products") {
                product["variants"][0]["quantity_rule"] = json!({ "min": 4, "step": 4 });
            }
        }
        Ok(Some(answer))
    });
    let wanted = |quantity| {
        let mut wanted = sent(Some("cart"));
        wanted.line_items.push(LineDraft { item: "pears-kg".into(), quantity, ..wanted.line_items[0].clone() });
        wanted
    };
    let asked = |gateway: &Gateway| gateway.stall.state().asked.last().expect("a question").1["lines"].clone();
    let view = gateway.made(wanted(3)).await;
    assert_eq!(codes(&view), ["quantity_adjusted", "quantity_invalid"]);
    assert_ne!(view.checkout.status(), Status::ReadyForComplete);
    assert_eq!(asked(&gateway), json!([{ "variant": "apples-kg", "quantity": 8 }]));
    let view = gateway.made(wanted(4)).await;
    assert_eq!(codes(&view), ["quantity_adjusted"]);
    assert_eq!(view.checkout.status(), Status::ReadyForComplete);
    assert_eq!(amount_of(&view.checkout.totals, TotalKind::Subtotal), 8 * 290 + 4 * 340);
}

#[tokio::test]
async fn the_shop_is_asked_for_what_it_sells_and_for_nothing_else() {
    let gateway = Gateway::new().await;
    let outcome = gateway.call(SaleRequest::CreateCart(cart::Create { draft: draft(&[("bananas", 1)]) })).await;
    assert!(matches!(outcome, Ok(Outcome::NoResource { .. })));
    assert_eq!(gateway.stall.times(Question::CartSync), 0);
    let draft = draft(&[("apples", 1), ("APPLES", 2), ("bananas", 1)]);
    let Ok(Outcome::Answer(Answer::Cart(view))) = gateway.call(SaleRequest::CreateCart(cart::Create { draft })).await
    else {
        panic!("a cart")
    };
    assert_eq!(view.cart.line_items.len(), 2);
    let asked = gateway.stall.state().asked.last().expect("a question").1.clone();
    assert_eq!(asked["lines"], json!([{ "variant": "apples-kg", "quantity": 3 }]), "one line per variant");
    assert!(asked.get("buyer").is_none());
}

/// Has the stall give up the carts that it has made so far.
fn gives_up(gateway: &Gateway, page: bool) {
    let lost = gateway.stall.carts();
    gateway.stall.spoil(move |question, asked, mut answer| {
        if page && question == Question::CartSync {
            answer["continue_url"] = json!("https://stall.example/pay");
        }
        let is_lost = lost.iter().any(|own| asked["cart"] == own.as_str());
        Ok((!is_lost || !matches!(question, Question::CartSync | Question::CartFetch)).then_some(answer))
    });
}

#[tokio::test]
async fn a_cart_that_the_shop_gave_up_is_made_anew_by_the_next_change() {
    let gateway = Gateway::new().await;
    let create = SaleRequest::CreateCart(cart::Create { draft: draft(&[("apples-kg", 1)]) });
    let Ok(Outcome::Answer(Answer::Cart(view))) = gateway.call(create).await else { panic!("a cart") };
    let id = view.cart.id;
    let checkout = gateway.made(sent(Some("cart"))).await.checkout.id;
    gives_up(&gateway, false);
    // Who looks cancels nothing.
    for _ in 0..2 {
        let Ok(Outcome::Answer(Answer::Cart(view))) = gateway.call(SaleRequest::GetCart(ById { id: id.clone() })).await
        else {
            panic!("a cart")
        };
        assert_eq!(serde_json::to_string(&view.messages).expect("JSON").matches("cart_lost").count(), 1);
        let view = gateway.checkout(SaleRequest::GetCheckout(ById { id: checkout.clone() })).await;
        assert_eq!((codes(&view), view.checkout.status()), (vec!["cart_lost".to_owned()], Status::ReadyForComplete));
        assert_eq!(amount_of(&view.checkout.totals, TotalKind::Total), 3_355);
    }
    let made = |purpose: &str| {
        let asked = gateway.stall.state().asked.clone();
        asked.iter().filter(|(_, asked)| asked["purpose"] == purpose && asked.get("cart").is_none()).count()
    };
    assert_eq!((made("cart"), made("checkout")), (1, 1));
    let update = cart::Update { id: id.clone(), draft: draft(&[("pears-kg", 1)]) };
    assert!(matches!(gateway.call(SaleRequest::UpdateCart(update)).await, Ok(Outcome::Answer(Answer::Cart(_)))));
    let update = checkout::Update { id: checkout.clone(), draft: sent(Some("horse")) };
    let view = gateway.checkout(SaleRequest::UpdateCheckout(update)).await;
    assert_eq!((codes(&view), view.checkout.status()), (vec!["cart_renewed".to_owned()], Status::ReadyForComplete));
    assert_eq!((made("cart"), made("checkout")), (2, 2));
    // Completing is a change, too.
    gives_up(&gateway, false);
    let view = gateway.paid(&checkout).await;
    assert_eq!(view.checkout.status(), Status::Completed, "{:?}", view.messages);
    assert_eq!(made("checkout"), 3);
}

#[tokio::test]
async fn a_cart_that_the_buyer_could_pay_at_the_shop_gets_no_successor() {
    let gateway = Gateway::new().await;
    gives_up(&gateway, true);
    let checkout = gateway.made(sent(Some("cart"))).await.checkout.id;
    gives_up(&gateway, true);
    let update = checkout::Update { id: checkout.clone(), draft: sent(Some("horse")) };
    for request in [SaleRequest::GetCheckout(ById { id: checkout }), SaleRequest::UpdateCheckout(update)] {
        let view = gateway.checkout(request).await;
        assert_eq!(
            (codes(&view), view.checkout.status()),
            (vec!["purchase_unconfirmed".to_owned()], Status::RequiresEscalation)
        );
    }
    assert_eq!(
        gateway
            .stall
            .state()
            .asked
            .iter()
            .filter(|(own, asked)| *own == Question::CartSync && asked.get("cart").is_none())
            .count(),
        1
    );
}

#[tokio::test]
async fn a_cart_that_nobody_paid_at_the_shop_gets_a_successor() {
    for is_known in [true, false] {
        let lost = Arc::new(AtomicBool::new(false));
        let is_lost = Arc::clone(&lost);
        let gateway = Gateway::on(move |question, asked, mut answer| {
            let gone = is_lost.load(Ordering::SeqCst) && asked["cart"] == "secret-1";
            match question {
                Question::Backend => {
                    answer["cart"]["completion"] = json!("hand_off");
                    answer["cart"]["finds_orders"] = json!(true);
                    answer["payment_handlers"] = json!([]);
                }
                Question::CartSync | Question::CartFetch if gone => return Ok(None),
                Question::CartSync | Question::CartFetch => answer["continue_url"] = json!("https://stall.example/pay"),
                Question::Order if !is_known => return Err(Failure::Connect),
                _ => {}
            }
            Ok(Some(answer))
        })
        .await;
        let checkout = gateway.made(sent(Some("cart"))).await.checkout.id;
        lost.store(true, Ordering::SeqCst);
        let update = checkout::Update { id: checkout.clone(), draft: sent(Some("horse")) };
        let seen = codes(&gateway.checkout(SaleRequest::GetCheckout(ById { id: checkout })).await);
        let changed = codes(&gateway.checkout(SaleRequest::UpdateCheckout(update)).await);
        let carts = gateway.stall.carts();
        if is_known {
            assert!(seen.contains(&"cart_lost".to_owned()), "{seen:?}");
            assert!(changed.contains(&"cart_renewed".to_owned()), "{changed:?}");
            assert_eq!(carts.last().map(String::as_str), Some("secret-2"));
        } else {
            let unconfirmed = vec!["purchase_unconfirmed".to_owned()];
            assert_eq!((seen, changed, carts.len()), (unconfirmed.clone(), unconfirmed, 1));
        }
    }
}

#[tokio::test]
async fn a_cart_that_lacks_what_nobody_took_out_is_brought_up_to_date_before_it_is_told() {
    let gateway = Gateway::new().await;
    let id = gateway.made(sent(Some("cart"))).await.checkout.id;
    gateway.stall.spoil_one(Question::CartFetch, |answer| {
        answer["lines"] = json!([]);
        answer["delivery_options"] = json!([]);
        answer["delivery_option"] = json!(null);
        answer["taxes"] = json!([]);
        answer["total"] = json!(0);
    });
    let before = gateway.stall.times(Question::CartSync);
    let view = gateway.checkout(SaleRequest::GetCheckout(ById { id: id.clone() })).await;
    assert_eq!((codes(&view), view.checkout.status()), (Vec::<String>::new(), Status::ReadyForComplete));
    assert_eq!(amount_of(&view.checkout.totals, TotalKind::Total), 3_355);
    assert_eq!(gateway.stall.times(Question::CartSync), before + 1);
    // A cart that has everything is only looked at.
    gateway.stall.spoil(|_, _, answer| Ok(Some(answer)));
    gateway.checkout(SaleRequest::GetCheckout(ById { id })).await;
    assert_eq!(gateway.stall.times(Question::CartSync), before + 1);
}

#[tokio::test]
async fn nothing_is_refused_from_kept_facts() {
    let gateway = Gateway::new().await;
    let stocked = Arc::new(AtomicBool::new(false));
    let there = Arc::clone(&stocked);
    gateway.stall.spoil(move |question, _, mut answer| {
        if matches!(question, Question::Resolve | Question::Open) && !there.load(Ordering::Relaxed) {
            for product in answer["products"].as_array_mut().into_iter().flatten() {
                product["variants"][0]["availability"] = json!({ "available": false, "status": "out_of_stock" });
            }
        }
        Ok(Some(answer))
    });
    let create = || SaleRequest::CreateCheckout(checkout::Create { draft: sent(Some("cart")), cart_id: None });
    assert!(matches!(gateway.call(create()).await, Ok(Outcome::NoResource { .. })));
    assert_eq!(gateway.stall.times(Question::Open), 1);
    stocked.store(true, Ordering::Relaxed);
    let view = gateway.made(sent(Some("cart"))).await;
    assert_eq!((codes(&view), view.checkout.status()), (Vec::<String>::new(), Status::ReadyForComplete));
    assert_eq!(gateway.stall.times(Question::Resolve), 1, "which is kept");
    // What cannot be asked for anew is not refused either.
    gateway.stall.spoil(|question, _, answer| match question {
        Question::Open => Err(Failure::Connect),
        _ => Ok(Some(answer)),
    });
    assert_eq!(gateway.call(create()).await.expect_err("nothing is known").code, Code::Unavailable);
}

#[tokio::test]
async fn an_order_that_is_not_taken_says_why_and_where() {
    let cases = [
        (json!({ "kind": "sold_out", "variants": ["apples-kg"] }), "out_of_stock", "$.line_items[0]"),
        (json!({ "kind": "sold_out" }), "out_of_stock", "$.line_items"),
        (
            json!({ "kind": "undeliverable", "field": "postal_code" }),
            "address_undeliverable",
            "$.fulfillment.methods[0].destinations[0].postal_code",
        ),
        (
            json!({ "kind": "buyer", "field": "email", "reason": "No mail gets there." }),
            "field_invalid",
            "$.buyer.email",
        ),
        (json!({ "kind": "buyer", "field": "e.m[a]il" }), "field_invalid", "$.buyer"),
        (json!({ "kind": "price_changed" }), "total_changed", "$.totals"),
        (json!({ "kind": "moonrise", "reason": "Not at night." }), "shop_error", ""),
    ];
    for (refused, code, path) in cases {
        let gateway = Gateway::new().await;
        let id = gateway.made(sent(Some("cart"))).await.checkout.id;
        let mut outcome = refused.clone();
        outcome["status"] = json!("refused");
        gateway.stall.spoil_one(Question::Place, move |answer| answer.clone_from(&outcome));
        let view = gateway.paid(&id).await;
        let said = serde_json::to_value(&view.messages[0]).expect("JSON");
        assert_eq!((view.messages.len(), &said["code"]), (1, &json!(code)), "{refused}: {said}");
        assert_eq!(said["path"].as_str().unwrap_or_default(), path, "{refused}: {said}");
        if let Some(reason) = refused["reason"].as_str() {
            assert_eq!(said["content"], reason);
        }
        assert!(view.checkout.status().is_open(), "{refused}");
        gateway.stall.state().attempts.clear();
        gateway.stall.spoil(|_, _, answer| Ok(Some(answer)));
        assert_eq!(gateway.paid(&id).await.checkout.status(), Status::Completed, "{refused}");
    }
}

#[tokio::test]
async fn why_a_code_does_not_apply_is_said() {
    for (kind, code) in [
        ("expired", "discount_code_expired"),
        ("combination", "discount_code_combination_disallowed"),
        ("minimum", "discount_code_user_ineligible"),
        ("buyer", "discount_code_user_ineligible"),
        ("currency", "discount_code_user_ineligible"),
        ("items", "discount_code_user_ineligible"),
        ("weather", "discount_code_not_applied"),
    ] {
        for text in [None, Some("From 50 euros.")] {
            let gateway = Gateway::new().await;
            gateway.stall.spoil_one(Question::CartSync, move |answer| {
                answer["unmet_codes"] = json!([{ "code": "SPRING", "kind": kind, "text": text }]);
            });
            let view = gateway.made(with_code("spring")).await;
            assert_eq!((codes(&view), view.checkout.status()), (vec![code.to_owned()], Status::ReadyForComplete));
            let said = serde_json::to_value(&view.messages[0]).expect("JSON");
            assert_eq!(said["path"], "$.discounts.codes[0]");
            assert!(text.is_none_or(|text| said["content"] == text), "{said}");
        }
    }
    let gateway = Gateway::new().await;
    assert_eq!(codes(&gateway.made(with_code("NOBODY")).await), ["discount_code_invalid"]);
}

#[tokio::test]
async fn fields_that_the_shop_does_not_accept_are_named() {
    let at = "$.fulfillment.methods[0].destinations[0]";
    for (field, kind, code, path) in [
        ("address.postal_code", "invalid", "field_invalid", format!("{at}.postal_code")),
        ("address", "undeliverable", "address_undeliverable", at.to_owned()),
        ("buyer.phone_number", "required", "field_required", "$.buyer.phone_number".to_owned()),
        ("buyer.email", "strange", "field_invalid", "$.buyer.email".to_owned()),
        ("buyer.e[0]", "invalid", "field_invalid", "$.buyer".to_owned()),
    ] {
        let gateway = Gateway::new().await;
        gateway.stall.spoil_one(Question::CartSync, move |answer| {
            answer["field_problems"] = json!([{ "field": field, "kind": kind, "text": "Not like that." }]);
        });
        let view = gateway.made(sent(Some("cart"))).await;
        assert_eq!((codes(&view), view.checkout.status()), (vec![code.to_owned()], Status::Incomplete), "{field}");
        let said = serde_json::to_value(&view.messages[0]).expect("JSON");
        assert_eq!((&said["path"], &said["content"]), (&json!(path), &json!("Not like that.")));
    }
}

#[tokio::test]
async fn the_country_of_the_address_decides_about_the_currency_of_whoever_asks_for_none() {
    let gateway = Gateway::on(|question, asked, mut answer| {
        if question == Question::Backend {
            answer["market"]["currencies"] = json!(["CHF"]);
            answer["market"]["countries"] = json!({ "AT": "CHF" });
        }
        if asked["context"]["currency"] == "CHF" {
            for product in answer["products"].as_array_mut().into_iter().flatten() {
                product["variants"][0]["price"]["currency"] = json!("CHF");
            }
            if matches!(question, Question::CartSync | Question::CartFetch) {
                answer["currency"] = json!("CHF");
            }
        }
        Ok(Some(answer))
    })
    .await;
    let view = gateway.made(sent(Some("cart"))).await;
    assert_eq!((codes(&view), view.checkout.status()), (vec!["currency_changed".to_owned()], Status::ReadyForComplete));
    assert_eq!(view.checkout.currency.as_str(), "CHF");
    let asked = gateway.stall.state().asked.last().expect("a question").1["context"].clone();
    assert_eq!((&asked["currency"], &asked["country"]), (&json!("CHF"), &json!("AT")));
    let view = gateway.checkout(SaleRequest::GetCheckout(ById { id: view.checkout.id })).await;
    assert_eq!((codes(&view), view.checkout.currency.as_str()), (vec!["currency_changed".to_owned()], "CHF"));
    let view = gateway.paid(&view.checkout.id).await;
    assert_eq!(view.checkout.status(), Status::Completed, "{:?}", view.messages);
    // Whoever asks for a currency gets it.
    let mut asking = sent(Some("cart"));
    asking.context.currency = Some("EUR".to_owned());
    let view = gateway.made(asking).await;
    assert_eq!((codes(&view), view.checkout.currency.as_str()), (Vec::<String>::new(), "EUR"));
    // A context with the country says it already.
    let mut asking = sent(Some("cart"));
    asking.context.country = Some("AT".to_owned());
    let view = gateway.made(asking).await;
    assert_eq!((codes(&view), view.checkout.currency.as_str()), (Vec::<String>::new(), "CHF"));
}

#[tokio::test]
async fn an_order_is_placed_with_the_credential_that_the_platform_sent_and_nothing_of_it_is_kept() {
    let gateway = Gateway::new().await;
    let id = gateway.made(sent(Some("cart"))).await.checkout.id;
    let view = gateway.paid(&id).await;
    assert_eq!(view.checkout.status(), Status::Completed, "{:?}", view.messages);
    assert_eq!(view.permalink_url.as_deref(), Some("https://stall.example/o1"));
    let placed = gateway
        .stall
        .state()
        .asked
        .iter()
        .find(|(question, _)| *question == Question::Place)
        .expect("an order")
        .1
        .clone();
    assert_eq!(placed["payment"]["credential"]["token"], "tok_secret");
    assert_eq!((&placed["total"], &placed["delivery_option"]), (&json!(3_355), &json!("cart")));
    assert_eq!(placed["address"]["street_address"], "Naschmarkt 1");
    let kept = format!("{:?}{:?}", gateway.shop.ledger.orders(), view);
    assert!(!kept.contains("tok_secret") && !kept.contains("secret-1"), "{kept}");
}

#[tokio::test]
async fn a_shop_that_does_not_answer_is_asked_what_became_of_the_order() {
    for (lost, known) in [(true, Status::Completed), (false, Status::CompleteInProgress)] {
        let gateway = Gateway::new().await;
        let id = gateway.made(sent(Some("cart"))).await.checkout.id;
        gateway.stall.spoil(move |question, _, answer| match question {
            Question::Place => Err(Failure::Timeout { sent: true }),
            Question::Order if !lost => Ok(Some(json!({ "status": "pending" }))),
            _ => Ok(Some(answer)),
        });
        assert_eq!(gateway.paid(&id).await.checkout.status(), Status::CompleteInProgress);
        // Calls that may still be waiting are left alone.
        gateway.shop.clock.advance(120);
        gateway.shop.carry_out_all().await.expect("asks");
        let view = gateway.checkout(SaleRequest::GetCheckout(ById { id })).await;
        assert_eq!((view.checkout.status(), gateway.stall.times(Question::Place)), (known, 1));
    }
}

fn answered(status: u16) -> Failure {
    let status = http::StatusCode::from_u16(status).expect("a status");
    let received = Received { status, headers: http::HeaderMap::new(), body: bytes::Bytes::new() };
    Failure::Answered(Box::new(Answered { unfit: Unfit::Misconfigured, pause: None, received }))
}

#[tokio::test]
async fn what_the_shop_refused_outright_is_not_on_its_way() {
    for refusal in
        [|| Ok(Some(json!(REFUSED))), || Ok(None), || Err(answered(401)), || Err(answered(403)), || Err(answered(429))]
    {
        for canceled in [true, false] {
            let gateway = Gateway::new().await;
            let id = gateway.made(sent(Some("cart"))).await.checkout.id;
            gateway.stall.spoil(move |question, _, answer| match question {
                Question::Place => refusal(),
                Question::Cancel if !canceled => Err(answered(401)),
                _ => Ok(Some(answer)),
            });
            gateway.stall.state().refuses = true;
            let view = gateway.paid(&id).await;
            assert_eq!(codes(&view), ["payment_failed"], "{canceled}");
            assert!(view.checkout.status().is_open(), "it can be tried again at once");
            assert_eq!(gateway.stall.times(Question::Cancel), 1, "the shop is told to forget it");
            gateway.stall.spoil(|_, _, answer| Ok(Some(answer)));
            gateway.stall.state().refuses = false;
            assert_eq!(gateway.paid(&id).await.checkout.status(), Status::Completed);
        }
    }
}

#[tokio::test]
async fn an_order_that_there_is_all_the_same_is_told() {
    let gateway = Gateway::new().await;
    let id = gateway.made(sent(Some("cart"))).await.checkout.id;
    // The stall has placed the order, and answers as if it had not.
    gateway.stall.spoil(|question, _, answer| match question {
        Question::Place => Ok(Some(json!(HALTED))),
        _ => Ok(Some(answer)),
    });
    assert_eq!(gateway.paid(&id).await.checkout.status(), Status::Completed);
    // If the shop does not state it, it is unknown.
    let id = gateway.made(sent(Some("cart"))).await.checkout.id;
    gateway.stall.spoil(|question, _, answer| match question {
        Question::Place => Ok(Some(json!(HALTED))),
        Question::Cancel => Err(answered(401)),
        _ => Ok(Some(answer)),
    });
    assert_eq!(gateway.paid(&id).await.checkout.status(), Status::CompleteInProgress);
}

#[tokio::test(start_paused = true)]
async fn a_shop_that_throttles_is_told_to_forget_an_attempt_after_a_short_pause() {
    for (wait, is_open) in [(2, true), (30, false)] {
        let gateway = Gateway::new().await;
        let id = gateway.made(sent(Some("cart"))).await.checkout.id;
        let ahead = tokio::time::Instant::now() + Duration::from_secs(wait);
        gateway.stall.state().refuses = true;
        gateway.stall.spoil(move |question, _, answer| match question {
            Question::Place => Ok(Some(json!(HALTED))),
            Question::Cancel if tokio::time::Instant::now() < ahead => {
                Err(Failure::Open { wait: ahead - tokio::time::Instant::now() })
            }
            _ => Ok(Some(answer)),
        });
        assert_eq!(gateway.paid(&id).await.checkout.status().is_open(), is_open, "{wait}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cart_that_is_made_too_late_is_abandoned() {
    let gateway = Gateway::new().await;
    gateway.stall.delay(Question::CartSync, Duration::from_secs(12));
    let create = || SaleRequest::CreateCheckout(checkout::Create { draft: sent(Some("cart")), cart_id: None });
    let scope = Scope { allowance: Some(Duration::from_secs(10)), ..Scope::default() };
    let began = tokio::time::Instant::now();
    assert_eq!(scope.run(gateway.call(create())).await.expect_err("too late").code, Code::Unavailable);
    assert_eq!(began.elapsed().as_secs(), 10);
    gateway.stall.delay(Question::CartSync, Duration::ZERO);
    scope.run(gateway.call(create())).await.expect("a checkout");
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!((gateway.stall.times(Question::CartAbandon), gateway.stall.carts().len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_cart_whose_making_is_not_answered_is_found_by_its_key_and_abandoned() {
    let gateway = Gateway::new().await;
    let create = || SaleRequest::CreateCheckout(checkout::Create { draft: sent(Some("cart")), cart_id: None });
    let lost = || Err(Failure::Timeout { sent: true });
    gateway
        .stall
        .spoil(move |question, _, answer| if question == Question::CartSync { lost() } else { Ok(Some(answer)) });
    gateway.call(create()).await.expect_err("no answer");
    assert_eq!(gateway.stall.carts().len(), 1);
    // The shop answers again after the first question for it.
    tokio::time::sleep(Duration::from_secs(10)).await;
    gateway.stall.spoil(|_, _, answer| Ok(Some(answer)));
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!((gateway.stall.times(Question::CartSync), gateway.stall.carts().len()), (3, 0));
    // A request that never reached the shop is not repeated.
    gateway.stall.spoil(|question, _, answer| match question {
        Question::CartSync => Err(Failure::Connect),
        _ => Ok(Some(answer)),
    });
    gateway.call(create()).await.expect_err("no connection");
    tokio::time::sleep(Duration::from_secs(200)).await;
    assert_eq!(gateway.stall.times(Question::CartSync), 4);
}

#[tokio::test]
async fn a_new_cart_that_cannot_be_priced_is_abandoned() {
    let gateway = Gateway::new().await;
    gateway.stall.spoil(|question, _, mut answer| {
        if question == Question::CartSync {
            answer["lines"][0]["price"] = json!(9_007_199_254_740_991_i64);
        }
        Ok(Some(answer))
    });
    let create = SaleRequest::CreateCheckout(checkout::Create { draft: sent(Some("cart")), cart_id: None });
    let refusal = gateway.call(create).await.expect_err("exceeds the maximum");
    assert!(refusal.content.contains("exceeds the maximum"), "{refusal:?}");
    assert_eq!((gateway.stall.times(Question::CartAbandon), gateway.stall.carts().len()), (1, 0));
}

#[tokio::test]
async fn an_order_that_never_left_is_told_as_such_and_can_be_placed_at_once() {
    type Answered = fn() -> Result<Option<Value>, Failure>;
    let unsent: [Answered; 2] = [|| Err(Failure::Connect), || Ok(Some(json!(UNSENT)))];
    for place in unsent {
        let gateway = Gateway::new().await;
        let id = gateway.made(sent(Some("cart"))).await.checkout.id;
        gateway.stall.spoil(move |question, _, answer| match question {
            Question::Place => place(),
            Question::Cancel => Err(answered(401)),
            _ => Ok(Some(answer)),
        });
        let view = gateway.paid(&id).await;
        assert_eq!(
            (codes(&view), view.checkout.status()),
            (vec!["completion_not_sent".to_owned()], Status::ReadyForComplete)
        );
        gateway.stall.spoil(|_, _, answer| Ok(Some(answer)));
        gateway.stall.state().attempts.clear();
        assert_eq!(gateway.paid(&id).await.checkout.status(), Status::Completed);
    }
}

#[tokio::test]
async fn no_cart_is_made_of_what_is_sold_out() {
    let gateway = Gateway::new().await;
    gateway.stall.spoil(|question, _, mut answer| {
        if matches!(question, Question::Resolve | Question::Open) {
            for product in answer["products"].as_array_mut().expect("products") {
                product["variants"][0]["availability"] = json!({ "available": false, "status": "out_of_stock" });
            }
        }
        Ok(Some(answer))
    });
    let create = SaleRequest::CreateCheckout(checkout::Create { draft: sent(Some("cart")), cart_id: None });
    let Ok(Outcome::NoResource { messages, .. }) = gateway.call(create).await else { panic!("nothing to buy") };
    assert!(serde_json::to_string(&messages).expect("JSON").contains("out_of_stock"), "{messages:?}");
    let asked = [Question::CartSync, Question::CartAbandon].map(|question| gateway.stall.times(question));
    assert_eq!(asked, [0, 0]);
}

#[tokio::test]
async fn answers_of_another_form_are_the_shops_fault_and_may_pass() {
    for spoil in [
        (|answer| *answer = json!([])) as fn(&mut Value),
        |answer| answer["total"] = json!(12.5),
        |answer| answer["lines"][0]["price"] = json!(-1),
        |answer| answer["currency"] = json!("euro"),
        |answer| answer["cart"] = json!(null),
    ] {
        let gateway = Gateway::new().await;
        gateway.stall.spoil_one(Question::CartSync, spoil);
        let create = SaleRequest::CreateCheckout(checkout::Create { draft: sent(None), cart_id: None });
        assert_eq!(gateway.call(create).await.expect_err("no answer").code, Code::Unavailable);
    }
}

#[tokio::test]
async fn instruments_of_other_kinds_are_not_sent_to_the_shop() {
    let gateway = Gateway::new().await;
    let id = gateway.made(sent(Some("cart"))).await.checkout.id;
    let mut tender = card("stall");
    tender.instrument = Instrument { kind: "wallet".into(), ..tender.instrument };
    let complete = checkout::Complete { id, tenders: vec![tender], mandate: None, call: None };
    let view = gateway.checkout(SaleRequest::CompleteCheckout(complete)).await;
    assert_eq!((codes(&view), gateway.stall.times(Question::Place)), (vec!["payment_failed".to_owned()], 0));
}

#[tokio::test]
async fn the_customer_group_is_that_of_the_last_change() {
    let gateway = Gateway::new().await;
    let group = |gateway: &Gateway| {
        let asked = gateway.stall.state().asked.last().expect("a question").1.clone();
        asked["context"]["customer_group"].as_str().map(str::to_owned)
    };
    let trader = Caller { customer_group: Some("trade".to_owned()), ..platform(OWNER, &[]) };
    let create = SaleRequest::CreateCheckout(checkout::Create { draft: sent(Some("cart")), cart_id: None });
    let Ok(Outcome::Answer(Answer::Checkout(view))) = gateway.shop.call(&trader, create).await else {
        panic!("a checkout")
    };
    assert_eq!(group(&gateway).as_deref(), Some("trade"));
    let id = view.checkout.id;
    gateway.checkout(SaleRequest::GetCheckout(ById { id: id.clone() })).await;
    assert_eq!(group(&gateway).as_deref(), Some("trade"), "who looks changes nothing");
    let update = checkout::Update { id, draft: sent(Some("cart")) };
    gateway.checkout(SaleRequest::UpdateCheckout(update)).await;
    assert_eq!(group(&gateway), None);
}
