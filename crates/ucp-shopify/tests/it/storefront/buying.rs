//! Buying from that shop: a sales service in front of it, as the gateway has it, and the shop's own pages behind.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use ucp_core::{
    Answer, Code, Outcome, Refusal,
    call::SaleRequest,
    cart,
    checkout::{self, View},
    message::Message,
    operation::ById,
    ports::caller::Caller,
    pricing::terms::Terms,
    purchase::{
        buyer::PostalAddress,
        draft::{DestinationDraft, Draft, FulfillmentDraft, GroupDraft, LineDraft, MethodDraft},
        totals::{Total, TotalKind, amount_of},
    },
};
use ucp_shopify::{Storefront, Token};
use ucp_testkit::{TestShop, shop::platform};

use super::{address, behind_with, post, variant};

/// A sales service in front of a shop of its own.
struct Counter {
    shop: TestShop,
    upstream: String,
    caller: Caller,
}

impl Counter {
    async fn open() -> Option<Self> {
        let upstream =
            post(format!("{}/shops", address()?), json!({})).await["url"].as_str().expect("an address").to_owned();
        let storefront: Storefront = behind_with(&upstream, Token::None, |options| {
            options.timeouts.write.answer = Duration::from_secs(3);
        })
        .await;
        let mut shop = TestShop::new(Terms::default());
        shop.sales.catalog = Arc::new(storefront.clone());
        shop.sales.remote_carts = Some(Arc::new(storefront));
        shop.sales.handlers = Arc::new([]);
        Some(Self { shop, upstream, caller: platform("https://platform.example/profile", &[]) })
    }

    async fn fault(&self, fault: Value) {
        post(format!("{}/faults", self.upstream), fault).await;
    }

    async fn expire(&self) {
        assert!(post(format!("{}/carts/expire", self.upstream), json!({})).await["expired"].as_u64().is_some());
    }

    /// Requests to the shop: names of the operations, and their numbers.
    async fn asked(&self, operation: &str) -> usize {
        let journal: Value = reqwest::Client::builder()
            .no_proxy()
            .build()
            .expect("a client")
            .get(format!("{}/journal", self.upstream))
            .send()
            .await
            .expect("sent")
            .json()
            .await
            .expect("a journal");
        let requests = journal["requests"].as_array().expect("requests");
        requests.iter().filter(|request| request["operation"] == operation).count()
    }

    async fn call(&self, request: SaleRequest) -> Result<Outcome, Refusal> {
        let result = self.shop.call(&self.caller, request).await;
        // The name of a cart has its key in it; the page of a cart has another.
        let printed = format!("{result:?}");
        assert!(!printed.contains("gid://shopify/Cart"), "{printed}");
        result
    }

    async fn checkout(&self, draft: Draft) -> View {
        let outcome = self.call(SaleRequest::CreateCheckout(checkout::Create { draft, cart_id: None })).await;
        view(outcome.expect("carried out"))
    }

    async fn try_change(&self, id: &str, draft: Draft) -> Result<View, Refusal> {
        self.call(SaleRequest::UpdateCheckout(checkout::Update { id: id.to_owned(), draft })).await.map(view)
    }

    async fn change(&self, id: &str, draft: Draft) -> View {
        self.try_change(id, draft).await.expect("carried out")
    }

    async fn look(&self, id: &str) -> View {
        view(self.call(SaleRequest::GetCheckout(ById { id: id.to_owned() })).await.expect("carried out"))
    }
}

fn view(outcome: Outcome) -> View {
    match outcome {
        Outcome::Answer(Answer::Checkout(view)) => view,
        other => panic!("{other:?}"),
    }
}

/// So many of these variants, by a buyer in the United States.
fn goods(lines: &[((u32, u32), u64)]) -> Draft {
    let line = |((number, position), quantity): &((u32, u32), u64)| LineDraft {
        id: None,
        item: variant(*number, *position),
        quantity: *quantity,
        other_unit: None,
        parent_id: None,
    };
    let mut draft = ucp_testkit::shop::draft(&[]);
    draft.line_items = lines.iter().map(line).collect();
    draft.context.country = Some("US".into());
    draft
}

fn with_codes(draft: Draft, codes: &[&str]) -> Draft {
    Draft { codes: Some(codes.iter().map(|code| (*code).to_owned()).collect()), ..draft }
}

/// The same, sent to Eugene, each group by the option that is chosen for it.
fn sent(draft: Draft, options: &[(&str, &str)]) -> Draft {
    let address = PostalAddress {
        street_address: Some("1 Main St".into()),
        address_locality: Some("Eugene".into()),
        address_region: Some("OR".into()),
        postal_code: Some("97401".into()),
        address_country: Some("US".into()),
        last_name: Some("Buyer".into()),
        ..PostalAddress::default()
    };
    let group = |(group, option): &(&str, &str)| GroupDraft {
        id: Some((*group).to_owned()),
        selected_option_id: Some((*option).to_owned()),
    };
    let method = MethodDraft {
        kind: Some("shipping".into()),
        destinations: vec![DestinationDraft { address, ..DestinationDraft::default() }],
        groups: options.iter().map(group).collect(),
        ..MethodDraft::default()
    };
    Draft { fulfillment: Some(FulfillmentDraft { methods: vec![method] }), ..draft }
}

const MUG: (u32, u32) = (1005, 1);
const BENCH: (u32, u32) = (1019, 1);

fn total(view: &View) -> i64 {
    amount_of(&view.checkout.totals, TotalKind::Total)
}

fn codes(messages: &[Message]) -> Vec<&str> {
    fn code(message: &Message) -> &str {
        match message {
            Message::Info { code, .. } => code.as_deref().expect("a code"),
            Message::Warning { code, .. } | Message::Error { code, .. } => code,
        }
    }
    messages.iter().map(code).collect()
}

/// Fields beside the constant ones.
fn remarks(view: &View) -> Vec<&str> {
    let mut said = codes(&view.messages);
    said.retain(|code| !matches!(*code, "taxes_at_checkout" | "payment_on_shop_page"));
    said
}

fn quantities(view: &View) -> Vec<(&str, u64)> {
    view.checkout.line_items.iter().map(|line| (line.item.id.as_str(), line.quantity)).collect()
}

fn assert_adds_up(view: &View) {
    let check = |totals: &[Total]| {
        let (last, parts) = totals.split_last().expect("a total");
        assert_eq!(parts.iter().map(|part| part.amount).sum::<i64>(), last.amount, "{totals:?}");
    };
    check(&view.checkout.totals);
    view.checkout.line_items.iter().for_each(|line| check(&line.totals));
}

#[tokio::test]
async fn a_purchase_goes_on_until_the_buyer_has_to_pay() {
    let Some(mut counter) = Counter::open().await else { return };
    counter.caller.multi_group = true;
    let mut anonymous = goods(&[(MUG, 2)]);
    anonymous.buyer = None;
    let begun = counter.checkout(anonymous).await;
    assert_eq!((begun.checkout.status().as_str(), total(&begun)), ("incomplete", 2_500 + 590), "{:?}", begun.messages);
    let id = begun.checkout.id.clone();
    let page = begun.continue_url.clone().expect("a page");
    assert!(page.starts_with("https://storefront.example/cart/c/"), "{page}");

    // Mugs travel as parcels, the workbench as freight.
    let ready = counter.change(&id, with_codes(sent(goods(&[(MUG, 2), (BENCH, 1)]), &[]), &["welcome10"])).await;
    assert_eq!(ready.checkout.status().as_str(), "requires_escalation", "{:?}", ready.messages);
    assert_eq!(ready.continue_url.as_ref(), Some(&page), "it is still the same cart");
    let method = &ready.checkout.fulfillment.as_ref().expect("a delivery").methods[0];
    assert_eq!(method.selected_destination_id.as_deref(), Some("dest_1"));
    let titles: Vec<Vec<&str>> =
        method.groups.iter().map(|group| group.options.iter().map(|option| option.title.as_str()).collect()).collect();
    assert_eq!(titles, [vec!["Standard", "Express"], vec!["Freight to the kerb"]]);
    assert_eq!(total(&ready), (2_500 + 120_000) * 9 / 10 + 590 + 9_900);
    assert_adds_up(&ready);
    assert!(remarks(&ready).is_empty(), "{:?}", ready.messages);
    assert!(codes(&ready.messages).contains(&"payment_on_shop_page"));

    let express = method.groups[0].options[1].id.clone();
    let wanted = with_codes(sent(goods(&[(MUG, 2), (BENCH, 1)]), &[("group_1", &express)]), &["WELCOME10"]);
    let chosen = counter.change(&id, wanted.clone()).await;
    let method = &chosen.checkout.fulfillment.as_ref().expect("a delivery").methods[0];
    assert_eq!(method.groups[0].selected_option_id.as_ref(), Some(&express));
    assert_eq!(total(&chosen), total(&ready) - 590 + 1_500);
    assert_eq!(counter.asked("CartChange").await, 2, "what is there is not stated again");
    let again = counter.change(&id, wanted).await;
    assert_eq!((total(&again), counter.asked("CartChange").await), (total(&chosen), 2));
    let looked = counter.look(&id).await;
    assert_eq!((total(&looked), looked.checkout.status()), (total(&chosen), chosen.checkout.status()));

    // A platform that can show but one group is shown both as one, and chooses for both.
    counter.caller.multi_group = false;
    let looked = counter.look(&id).await;
    let [group] = looked.checkout.fulfillment.as_ref().expect("a delivery").methods[0].groups.as_slice() else {
        panic!("several groups")
    };
    let titles: Vec<_> = group.options.iter().map(|option| option.title.as_str()).collect();
    assert_eq!(titles, ["Standard + Freight to the kerb", "Express + Freight to the kerb"]);
    assert_eq!((group.line_item_ids.len(), group.selected_option_id.as_ref()), (2, Some(&group.options[1].id)));
    let standard = group.options[0].id.clone();
    let wanted = with_codes(sent(goods(&[(MUG, 2), (BENCH, 1)]), &[("group_1", &standard)]), &["WELCOME10"]);
    let chosen = counter.change(&id, wanted).await;
    assert_eq!((total(&chosen), remarks(&chosen).len()), (total(&ready), 0), "{:?}", chosen.messages);
    assert_eq!(amount_of(&group.options[0].totals, TotalKind::Total), 590 + 9_900);

    // Everything is replaced: what is not said any more is not there any more.
    let bare = counter.change(&id, goods(&[(MUG, 1)])).await;
    assert_eq!((quantities(&bare), total(&bare)), (vec![(variant(1005, 1).as_str(), 1)], 1_250 + 590));
    assert_adds_up(&bare);
}

#[tokio::test]
async fn codes_that_apply_and_codes_that_do_not() {
    let Some(counter) = Counter::open().await else { return };
    for (code, applied, said) in [
        ("WELCOME10", 250, None),
        ("ORDER5", 500, None),
        ("FREESHIP", 590, None),
        ("NOSUCH", 0, Some("discount_code_invalid")),
        ("EXPIRED10", 0, Some("discount_code_expired")),
        ("VIP", 0, Some("discount_code_user_ineligible")),
        ("MEMBERS", 0, Some("discount_code_user_not_logged_in")),
        ("USEDUP", 0, Some("discount_code_not_applied")),
        ("BIG100", 0, Some("discount_code_not_applied")),
    ] {
        let draft = || with_codes(sent(goods(&[(MUG, 2)]), &[]), &[code]);
        let view = counter.checkout(draft()).await;
        assert_eq!(total(&view), 2_500 + 590 - applied, "{code}");
        assert_adds_up(&view);
        assert_eq!(remarks(&view), said.into_iter().collect::<Vec<_>>(), "{code}");
        let own = view.checkout.discounts.as_ref().expect("discounts");
        assert_eq!(own.codes, [code]);
        assert_eq!(own.applied.iter().map(|own| own.amount.minor()).sum::<i64>(), applied, "{code}");
        // A later request is told that it does not apply, and it is removed like anything else.
        let looked = counter.look(&view.checkout.id).await;
        let later = said.map(|_| "discount_code_not_applied");
        assert_eq!(remarks(&looked), later.into_iter().collect::<Vec<_>>(), "{code}");
        let without = counter.change(&view.checkout.id, with_codes(draft(), &[])).await;
        assert_eq!((total(&without), remarks(&without).len()), (2_500 + 590, 0), "{code}");
    }
}

#[tokio::test]
async fn goods_that_are_sold_on_conditions() {
    let Some(counter) = Counter::open().await else { return };
    let (print, poster, bottles, coffee) = ((1013, 1), (1006, 1), (1016, 1), (1018, 1));
    let nothing = (9, 9);
    let view =
        counter.checkout(goods(&[(MUG, 1), (print, 9), (poster, 1), (bottles, 5), (coffee, 1), (nothing, 1)])).await;
    assert_eq!(quantities(&view), [(variant(1005, 1).as_str(), 1), (variant(1013, 1).as_str(), 3)]);
    let said = remarks(&view);
    assert_eq!(said.iter().filter(|code| **code == "item_unavailable").count(), 2, "{:?}", view.messages);
    for code in ["quantity_adjusted", "out_of_stock", "quantity_invalid"] {
        assert!(said.contains(&code), "{:?}", view.messages);
    }
    assert_eq!((said.len(), view.checkout.status().as_str()), (5, "incomplete"), "{:?}", view.messages);
    let view = counter.change(&view.checkout.id, goods(&[(bottles, 12), (MUG, 1)])).await;
    assert_eq!(quantities(&view), [(variant(1016, 1).as_str(), 12), (variant(1005, 1).as_str(), 1)]);
    assert!(remarks(&view).is_empty(), "{:?}", view.messages);
    // Seven are none that are sold; the rest of the statement stands.
    let view = counter.change(&view.checkout.id, goods(&[(bottles, 7), (MUG, 3), (coffee, 1)])).await;
    assert_eq!(quantities(&view), [(variant(1016, 1).as_str(), 12), (variant(1005, 1).as_str(), 3)]);
    let mut said = remarks(&view);
    said.sort_unstable();
    assert_eq!(said, ["item_unavailable", "quantity_invalid"], "{:?}", view.messages);
    // Three mugs are a fifth cheaper, without a code.
    assert_adds_up(&view);
    let applied = &view.checkout.discounts.as_ref().expect("discounts").applied;
    assert_eq!((applied.len(), applied[0].automatic, applied[0].amount.minor()), (1, true, 750));
}

#[tokio::test]
async fn a_change_that_was_lost_is_looked_at_and_not_sent_again() {
    for fault in [
        json!({ "kind": "reset", "after": true }),
        json!({ "kind": "hang", "after": true }),
        json!({ "kind": "500", "after": true }),
        json!({ "kind": "503", "after": true }),
        json!({ "kind": "throttled", "after": true }),
        json!({ "kind": "empty", "after": true }),
        json!({ "kind": "html", "after": true }),
        json!({ "kind": "redirect", "after": true }),
        json!({ "kind": "truncated" }),
        json!({ "kind": "missing_currency" }),
        json!({ "kind": "partial", "path": ["update"] }),
        json!({ "kind": "partial", "path": ["codes", "cart"] }),
    ] {
        let Some(counter) = Counter::open().await else { return };
        let begun = counter.checkout(sent(goods(&[(MUG, 1)]), &[])).await;
        let mut wanted = fault.clone();
        wanted["match"] = json!("CartChange");
        counter.fault(wanted).await;
        let changed =
            counter.change(&begun.checkout.id, with_codes(sent(goods(&[(MUG, 2)]), &[]), &["WELCOME10"])).await;
        assert_eq!((total(&changed), counter.asked("CartChange").await), (2_250 + 590, 1), "{fault}");
        assert!(remarks(&changed).is_empty(), "{fault}: {:?}", changed.messages);
        assert_eq!(changed.checkout.status().as_str(), "requires_escalation", "{fault}");
    }
}

#[tokio::test]
async fn a_change_that_never_arrived_fails_and_can_be_repeated() {
    for kind in ["reset", "500", "throttled", "html"] {
        let Some(counter) = Counter::open().await else { return };
        let begun = counter.checkout(sent(goods(&[(MUG, 1)]), &[])).await;
        counter.fault(json!({ "kind": kind, "match": "CartChange" })).await;
        let wanted = || sent(goods(&[((1003, 1), 1), (MUG, 2)]), &[]);
        let refusal = counter.try_change(&begun.checkout.id, wanted()).await.expect_err("refused");
        assert_eq!((refusal.code, counter.asked("CartChange").await), (Code::Unavailable, 1), "{kind}");
        let again = counter.change(&begun.checkout.id, wanted()).await;
        assert_eq!((total(&again), remarks(&again).len()), (5_000 + 590, 0), "{kind}");
        assert_eq!(counter.asked("CartChange").await, 2, "{kind}");
    }
}

#[tokio::test]
async fn a_change_that_the_shop_rejects_as_a_bots_shuts_it_for_no_other() {
    let Some(counter) = Counter::open().await else { return };
    let begun = counter.checkout(sent(goods(&[(MUG, 1)]), &[])).await;
    counter.fault(json!({ "kind": "430", "match": "CartChange" })).await;
    let refusal = counter.try_change(&begun.checkout.id, goods(&[(MUG, 2)])).await.expect_err("refused");
    assert_eq!((refusal.code, refusal.retry_after), (Code::Unavailable, Some(300)));
    // The cart is looked at before and after.
    assert_eq!((counter.asked("CartChange").await, counter.asked("CartById").await), (1, 2));
    let changed = counter.change(&begun.checkout.id, sent(goods(&[(MUG, 2)]), &[])).await;
    assert_eq!((total(&changed), counter.asked("CartChange").await), (2_500 + 590, 2));
}

#[tokio::test]
async fn a_new_cart_is_asked_for_once() {
    for fault in [json!({ "kind": "reset", "after": true }), json!({ "kind": "throttled" }), json!({ "kind": "503" })] {
        let Some(counter) = Counter::open().await else { return };
        let mut wanted = fault.clone();
        wanted["match"] = json!("CartCreate");
        counter.fault(wanted).await;
        let request = || SaleRequest::CreateCart(cart::Create { draft: goods(&[(MUG, 1)]) });
        let refusal = counter.call(request()).await.expect_err("refused");
        assert_eq!((refusal.code, counter.asked("CartCreate").await), (Code::Unavailable, 1), "{fault}");
        assert!(matches!(counter.call(request()).await, Ok(Outcome::Answer(_))), "{fault}");
    }
}

#[tokio::test]
async fn a_cart_that_the_shop_has_given_up() {
    let Some(counter) = Counter::open().await else { return };
    let wanted = || with_codes(sent(goods(&[(MUG, 2), ((1003, 1), 1)]), &[]), &["WELCOME10"]);
    // The buyer may have paid: nothing is put in its place that could be paid for again.
    let begun = counter.checkout(wanted()).await;
    counter.expire().await;
    for changes in [true, false, true] {
        let shown = match changes {
            true => counter.change(&begun.checkout.id, wanted()).await,
            false => counter.look(&begun.checkout.id).await,
        };
        assert_eq!(
            (shown.checkout.status().as_str(), codes(&shown.messages)),
            ("requires_escalation", vec!["purchase_unconfirmed"])
        );
    }
    // An error about a cart is not the end of it.
    let begun = counter.checkout(wanted()).await;
    counter.fault(json!({ "kind": "partial", "match": "CartById", "path": ["cart"] })).await;
    let refusal =
        counter.call(SaleRequest::GetCheckout(ById { id: begun.checkout.id.clone() })).await.expect_err("refused");
    assert_eq!(refusal.code, Code::Unavailable);
    assert_eq!(counter.look(&begun.checkout.id).await.checkout.status().as_str(), "requires_escalation");
}

#[tokio::test]
async fn what_a_carrier_calculates_is_offered_and_charged() {
    let Some(counter) = Counter::open().await else { return };
    let to_canada = |options: &[(&str, &str)]| {
        let mut draft = sent(goods(&[(MUG, 1)]), options);
        draft.context.country = Some("CA".into());
        for method in draft.fulfillment.iter_mut().flat_map(|fulfillment| &mut fulfillment.methods) {
            let address = &mut method.destinations[0].address;
            address.address_region = Some("ON".into());
            address.postal_code = Some("K1A 0B1".into());
            address.address_country = Some("CA".into());
        }
        draft
    };
    let begun = counter.checkout(to_canada(&[])).await;
    let group = |view: &View| view.checkout.fulfillment.as_ref().expect("a delivery").methods[0].groups[0].clone();
    let offered = group(&begun);
    assert_eq!(
        offered.options.iter().map(|option| option.title.as_str()).collect::<Vec<_>>(),
        ["Standard", "Express", "Carrier"]
    );
    let carried = &offered.options[2];
    let chosen = counter.change(&begun.checkout.id, to_canada(&[(&offered.id, &carried.id)])).await;
    assert_eq!(group(&chosen).selected_option_id.as_ref(), Some(&carried.id));
    assert_adds_up(&chosen);
    let cost = |options: &[ucp_core::purchase::fulfillment::DeliveryOption], place: usize| {
        amount_of(&options[place].totals, TotalKind::Total)
    };
    assert_eq!(total(&chosen) - total(&begun), cost(&offered.options, 2) - cost(&offered.options, 0));
    assert_eq!(total(&counter.look(&begun.checkout.id).await), total(&chosen));
}

#[tokio::test]
async fn words_that_no_schema_has_and_deliveries_that_take_their_time() {
    let Some(counter) = Counter::open().await else { return };
    counter.fault(json!({ "kind": "unknown_enum", "match": "Cart", "count": 2 })).await;
    let begun = counter.checkout(with_codes(sent(goods(&[(MUG, 1)]), &[]), &["NOSUCH"])).await;
    assert_eq!((total(&begun), remarks(&begun)), (1_250 + 590, vec!["shop_warning", "discount_code_not_applied"]));
    let looked = counter.look(&begun.checkout.id).await;
    assert_eq!(total(&looked), 1_250 + 590);
    counter.fault(json!({ "kind": "pending_delivery", "match": "CartChange" })).await;
    let pending = counter.change(&begun.checkout.id, sent(goods(&[(MUG, 2)]), &[])).await;
    // The shop has the delivery in its total already, and says nothing about it yet.
    assert_eq!(
        (total(&pending), remarks(&pending)),
        (2_500 + 590, vec!["fulfillment_pending"]),
        "{:?}",
        pending.messages
    );
    assert_adds_up(&pending);
    assert_eq!(pending.checkout.status().as_str(), "incomplete");
    let looked = counter.look(&begun.checkout.id).await;
    assert_eq!((total(&looked), looked.checkout.status().as_str()), (2_500 + 590, "requires_escalation"));
}
