//! Carts that do not come in one answer: those with many lines, and the rates that carriers calculate.

use serde_json::json;
use ucp_core::{Answer, Code, Outcome, call::SaleRequest, purchase::draft::Draft};

use super::{
    Counter, goods, sent, shown,
    stub::{Asked, Fault, Stub},
};

/// So many lines.
fn many(lines: u32, quantity: u64) -> Draft {
    goods(&(1..=lines).map(|number| (number, quantity)).collect::<Vec<_>>())
}

/// The options of the only group, the number of lines in it, and the amount of the whole.
async fn delivery(counter: &Counter, id: &str) -> (Vec<String>, usize, i64) {
    let outcome = counter.get_checkout(id).await.expect("carried out");
    let Outcome::Answer(Answer::Checkout(view)) = &outcome else { panic!("{outcome:?}") };
    let group = &view.checkout.fulfillment.as_ref().expect("a delivery").methods[0].groups[0];
    let options = group.options.iter().map(|option| option.id.clone()).collect();
    let lines = group.line_item_ids.len();
    (options, lines, shown(outcome).total)
}

#[tokio::test(start_paused = true)]
async fn all_lines_of_a_large_cart_are_read() {
    let stub = Stub::serve().await;
    let counter = Counter::behind(&stub).await;
    let cart = counter.create_cart(many(200, 1)).await;
    assert_eq!((cart.lines.len(), cart.total), (200, 200_000));
    assert_eq!(stub.asked("CartLines").len(), 2, "two pages of eighty");
    let looked = shown(counter.get_cart(&cart.id).await.expect("carried out"));
    assert_eq!((&looked.lines, looked.total), (&cart.lines, 200_000));
    // A line beyond the first page is changed, and not added again.
    let mut draft = many(200, 1);
    draft.line_items[150].quantity = 3;
    let updated = counter.update_cart(&cart.id, draft).await;
    assert_eq!((updated.lines.len(), updated.total, updated.codes().len()), (200, 202_000, 0));
    let changes = stub.asked("CartChange");
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].variables["update"].as_array().map(Vec::len), Some(1));
    assert!(changes[0].variables["add"].is_null());
}

#[tokio::test(start_paused = true)]
async fn a_group_has_all_of_its_lines() {
    let stub = Stub::serve().await;
    let counter = Counter::behind(&stub).await;
    let checkout = counter.create_checkout(sent(many(90, 1), "US", None), None).await;
    let (_, lines, total) = delivery(&counter, &checkout.id).await;
    assert_eq!((lines, total), (90, 90_590));
}

#[tokio::test(start_paused = true)]
async fn a_cart_whose_lines_cannot_all_be_read_is_never_shown_by_half() {
    let stub = Stub::failing(|asked, _| (asked.operation == "CartLines").then_some(Fault::Status(500))).await;
    let counter = Counter::behind(&stub).await;
    let request = ucp_core::cart::Create { draft: many(41, 1) };
    let refusal = counter.call(SaleRequest::CreateCart(request)).await.expect_err("refused");
    assert_eq!(refusal.code, Code::Unavailable);
    assert_eq!(stub.asked("CartForget").len(), 1, "nobody would find it");
    let cart = counter.create_cart(many(40, 1)).await;
    assert_eq!(cart.lines.len(), 40);
    counter.try_update_cart(&cart.id, many(41, 1)).await.expect_err("refused");
}

#[tokio::test(start_paused = true)]
async fn what_carriers_calculate_is_offered_and_can_be_chosen() {
    let stub = Stub::serve().await;
    stub.carries(845);
    let counter = Counter::behind(&stub).await;
    let checkout = counter.create_checkout(sent(goods(&[(1, 1)]), "US", None), None).await;
    let offered = || ["standard", "express", "carrier"].map(str::to_owned).to_vec();
    assert_eq!(delivery(&counter, &checkout.id).await, (offered(), 1, 1_590));
    let chosen = counter.update_checkout(&checkout.id, sent(goods(&[(1, 1)]), "US", Some("carrier"))).await;
    assert_eq!(chosen.total, 1_845);
    assert_eq!(chosen.delivery.as_ref().map(|(_, options)| options.clone()), Some(vec![Some("carrier".to_owned())]));
    assert_eq!(delivery(&counter, &checkout.id).await, (offered(), 1, 1_845));
    // A new checkout chooses it at once.
    let another = counter.create_checkout(sent(goods(&[(2, 1)]), "US", Some("carrier")), None).await;
    assert_eq!(another.total, 1_845);
    // Carts are estimates, and an address is needed.
    let before = stub.asked("CartRates").len();
    counter.create_cart(sent(goods(&[(1, 1)]), "US", None)).await;
    counter.create_checkout(goods(&[(1, 1)]), None).await;
    assert_eq!(stub.asked("CartRates").len(), before);
}

#[tokio::test(start_paused = true)]
async fn rates_that_nobody_knows_leave_the_others_unless_one_of_them_is_chosen() {
    fn once_chosen(asked: &Asked, number: usize) -> Option<Fault> {
        (asked.operation == "CartRates" && number > 2).then_some(Fault::Status(500))
    }
    let stub = Stub::failing(|asked, _| (asked.operation == "CartRates").then_some(Fault::Status(500))).await;
    stub.carries(845);
    let counter = Counter::behind(&stub).await;
    let checkout = counter.create_checkout(sent(goods(&[(1, 1)]), "US", None), None).await;
    assert!(checkout.codes().contains(&"delivery_options_incomplete"), "{:?}", checkout.messages);
    assert_eq!(checkout.total, 1_590);

    let stub = Stub::failing(once_chosen).await;
    stub.carries(845);
    let counter = Counter::behind(&stub).await;
    let checkout = counter.create_checkout(sent(goods(&[(1, 1)]), "US", Some("carrier")), None).await;
    assert_eq!(checkout.total, 1_845);
    let mut failed = false;
    for _ in 0..3 {
        match counter.get_checkout(&checkout.id).await {
            Ok(outcome) => assert_eq!(shown(outcome).total, 1_845, "never without what the carrier charges"),
            Err(refusal) => {
                failed = true;
                assert_eq!(refusal.code, Code::Unavailable);
            }
        }
    }
    assert!(failed, "the rates were not asked for: {:?}", stub.asked("CartRates").len());
}

#[tokio::test(start_paused = true)]
async fn a_shop_that_states_no_rates_of_carriers_delivers_without_them() {
    let refused = || json!({ "errors": [{ "message": "withCarrierRates", "extensions": { "code": "INVALID" } }] });
    let stub = Stub::failing(move |asked, _| {
        (asked.operation == "CartRates").then(|| Fault::Document { after: false, document: refused() })
    })
    .await;
    let counter = Counter::behind(&stub).await;
    let checkout = counter.create_checkout(sent(goods(&[(1, 1)]), "US", None), None).await;
    assert!(checkout.codes().contains(&"delivery_options_incomplete"), "{:?}", checkout.messages);
    assert_eq!(checkout.total, 1_590);
}
