//! Rules of the [`Store`] beyond its parts: queries of operators, forwarded webhook messages, removal of expired rows.

use jiff::SignedDuration;
use serde_json::json;
use ucp_core::{
    Release,
    checkout::{Checkout, State},
    order::{Confirmation, Order, RemoteOrder},
    ports::{
        buyers::Buyers as _,
        ledger::{Bound, Change, Committed, Holder, Key, Ledger as _},
        outbox::{Outbox, Payload, WebhookMessage},
        owners::{Kind, Owner, Owners},
        store::{Forwarded, Store},
    },
    purchase::mandate::{Mandate, Presented},
};

use super::{
    StoreUnderTest,
    fixtures::{ALICE, BOB, Commits as _, at, cart, checkout, holder, hours, kept, key, now, order, order_of, paying},
};

/// Operators find the orders of every platform, the newest first, and the mandate of each.
pub async fn operators_see_the_orders_of_all_platforms<T: StoreUnderTest<Store: Store>>(subject: &T) {
    let store = subject.open().await;
    for (owner, number) in [(ALICE, 1), (BOB, 2), (ALICE, 3)] {
        let (id, checkout_id) = (format!("ord_{number}"), format!("chk_{number}"));
        let mandate = (number == 2)
            .then(|| Presented { checkout_id: checkout_id.clone(), mandate: Mandate::new("presented".into()) });
        let change = Change { order: at(order(owner, &id, &checkout_id), 0), mandate, ..Change::default() };
        assert_eq!(store.commits(change).await, Committed::Done);
    }
    let newest = async |limit| {
        let orders = store.newest_orders(limit).await.expect("reads");
        orders.into_iter().map(|order| order.document.id).collect::<Vec<_>>()
    };
    assert_eq!(newest(2).await, ["ord_3", "ord_2"]);
    assert_eq!(newest(9).await, ["ord_3", "ord_2", "ord_1"]);
    assert_eq!(newest(0).await, [""; 0]);
    assert_eq!(store.any_order("ord_2").await.expect("reads"), at(order(BOB, "ord_2", "chk_2"), 1));
    assert_eq!(store.any_order("ord_4").await.expect("reads"), None);
    let named = async |name: &str| {
        let orders = store.orders_named(name, 2).await.expect("reads");
        orders.into_iter().map(|order| order.document.id).collect::<Vec<_>>()
    };
    assert_eq!(named("ord_2").await, ["ord_2"]);
    assert_eq!(named("1001").await, ["ord_3", "ord_2"], "their label");
    let mut remote = order(ALICE, "ord_5", "chk_5");
    let long = "long".repeat(1_000);
    for (number, reference) in ["shop's", "", &*long].into_iter().enumerate() {
        let (id, checkout_id) = (format!("ord_1{number}"), format!("chk_1{number}"));
        let token = format!("token of {id}");
        remote = Order { id, checkout_id, token, ..remote };
        remote.remote = Some(RemoteOrder::new(reference.to_owned(), None, now()));
        let change = Change { order: at(remote.clone(), 0), ..Change::default() };
        assert_eq!(store.commits(change).await, Committed::Done);
        assert_eq!(named(reference).await, [format!("ord_1{number}")]);
    }
    assert_eq!(named("nobody's").await, [""; 0]);
    let mandate = store.mandate("chk_2").await.expect("reads").expect("presented");
    assert_eq!(mandate.reveal(), "presented");
    assert!(store.mandate("chk_1").await.expect("reads").is_none());
}

/// Identifiers of carts, checkouts and orders are told from those under which no personal data are stored, in each shop.
pub async fn identifiers_with_personal_data_are_told<T: StoreUnderTest<Store: Store>>(subject: &T) {
    let store = subject.open().await;
    for change in [
        Change { cart: at(cart(ALICE, "cart_1"), 0), ..Change::default() },
        Change { checkout: at(checkout(ALICE, "chk_1", None), 0), ..Change::default() },
        Change { order: at(order(ALICE, "ord_1", "chk_0"), 0), ..Change::default() },
    ] {
        assert_eq!(store.commits(change).await, Committed::Done);
    }
    let strange = ["x".repeat(2_000), "nul\0".to_owned(), "cart_1' --".to_owned(), String::new()];
    let ids: Vec<_> = ["cart_1", "chk_1", "ord_1", "chk_0"].map(str::to_owned).into_iter().chain(strange).collect();
    let stored = store.with_personal_data(&ids).await.expect("reads");
    assert_eq!(stored, ids[..3].iter().cloned().collect());
    assert!(store.with_personal_data(&[]).await.expect("reads").is_empty());
    let other = subject.open_shop("other-shop".parse().expect("valid")).await;
    assert!(other.with_personal_data(&ids).await.expect("reads").is_empty());
    store.prune(now() + hours(3 * 365 * 24)).await.expect("prunes");
    assert_eq!(store.with_personal_data(&ids).await.expect("reads"), [ids[2].clone()].into());
}

/// Orders of a buyer are found and erased, with their checkouts and after those were removed; unsent ones stay.
pub async fn buyers_are_found_as_long_as_anything_of_them_is_stored<T: StoreUnderTest<Store: Store>>(subject: &T) {
    let store = subject.open().await;
    for (id, e_mail) in [
        ("early", json!("mina@example.com")),
        ("sent", json!("MINA@example.com")),
        ("unsent", json!("mina@example.com")),
        ("other", json!("other@example.com")),
        ("nobody", json!(null)),
    ] {
        let placed = match id {
            "unsent" => order_of(id, "a-0", 2, now()),
            _ => order(ALICE, &format!("order of {id}"), id),
        };
        let expected = json!([{
            "id": "e", "line_items": [], "method": "shipping", "destination": { "street_address": "77 Quince Lane" },
        }]);
        let placed = Order { expectations: serde_json::from_value(expected).expect("an expectation"), ..placed };
        let confirmed = Confirmation {
            id: placed.id.clone(),
            label: placed.label.clone(),
            token: placed.token.clone(),
            permalink_url: None,
        };
        let bought = Checkout {
            draft: serde_json::from_value(json!({ "buyer": { "email": e_mail } })).expect("a draft"),
            state: State::Completed { order: confirmed },
            ..checkout(ALICE, id, None)
        };
        let change = Change { checkout: at(bought, 0), order: at(placed, 0), quiet: true, ..Change::default() };
        assert_eq!(store.commits(change).await, Committed::Done);
    }
    let found = store.personal_data("mina@example.com").await.expect("reads");
    assert_eq!((found.checkouts.len(), found.orders.len(), found.unknown, found.damaged.len()), (3, 3, 0, 0));
    store.prune(now() + hours(31 * 24)).await.expect("prunes");
    let found = store.personal_data("Mina@Example.com").await.expect("reads");
    assert_eq!((found.checkouts.len(), found.orders.len(), found.unknown, found.damaged.len()), (0, 3, 0, 0));
    assert!(found.orders[0].to_string().contains("77 Quince Lane"), "{found:?}");
    for erased in [2, 0] {
        let erasure = store.erase_buyer("mina@example.com").await.expect("erases");
        assert_eq!((erasure.orders, erasure.unknown), (erased, 0));
        assert_eq!(erasure.left, [("order of unsent".to_owned(), "goods of its order are not sent yet")]);
    }
    let street = async |id: &str| {
        let order = store.any_order(&format!("order of {id}")).await.expect("reads").expect("it is there");
        order.document.expectations[0].destination.street_address.is_some()
    };
    assert_eq!([street("sent").await, street("unsent").await, street("other").await], [false, true, true]);
    assert_eq!(store.personal_data("mina@example.com").await.expect("reads").orders.len(), 1);
    let other = subject.open_shop("other-shop".parse().expect("valid")).await;
    assert_eq!(other.personal_data("other@example.com").await.expect("reads").orders.len(), 0);
}

/// A completed checkout stays, whatever its age, while a webhook event about its order waits.
pub async fn a_checkout_stays_while_a_webhook_event_of_its_order_waits<T: StoreUnderTest<Store: Store>>(subject: &T) {
    let store = subject.open().await;
    for (id, quiet) in [("told", true), ("untold", false)] {
        let placed = order(ALICE, &format!("order of {id}"), id);
        let confirmed = Confirmation {
            id: placed.id.clone(),
            label: placed.label.clone(),
            token: placed.token.clone(),
            permalink_url: None,
        };
        let bought = Checkout { state: State::Completed { order: confirmed }, ..checkout(ALICE, id, None) };
        let change = Change { checkout: at(bought, 0), order: at(placed, 0), quiet, ..Change::default() };
        assert_eq!(store.commits(change).await, Committed::Done);
    }
    store.prune(now() + hours(31 * 24)).await.expect("prunes");
    let ids = ["told", "untold"].map(str::to_owned);
    assert_eq!(store.with_personal_data(&ids).await.expect("reads"), [ids[1].clone()].into());
}

/// A forwarded webhook message is queued once per identifier, and those of an order are sent one after the other.
pub async fn forwarded_messages_are_queued_once_and_in_order<T: StoreUnderTest<Store: Store>>(subject: &T) {
    let store = subject.open().await;
    let message = |id: &str, body: &str| Forwarded {
        id: id.to_owned(),
        owner: ALICE.to_owned(),
        order_id: "o".to_owned(),
        webhook_message: WebhookMessage { release: Release::V2026_04_08, body: body.as_bytes().to_vec() },
        at: now(),
    };
    assert!(store.forward(message("1", "one")).await.expect("writes"));
    assert!(!store.forward(message("1", "again")).await.expect("writes"));
    assert!(store.forward(message("2", "two")).await.expect("writes"));
    let content = store.first("o", now()).await.expect("reads").expect("one waits");
    assert_eq!(content.webhook_event.id, "1", "one after the other");
    let Payload::WebhookMessage(message) = content.payload else { panic!("nothing was written") };
    assert_eq!((message.release, &*message.body), (Release::V2026_04_08, &b"one"[..]));
}

/// Expired rows of the shop are removed, each after its time; orders, unsettled checkouts and other shops' rows stay.
pub async fn expired_rows_of_the_shop_are_removed<T: StoreUnderTest<Store: Store>>(subject: &T) {
    let stores = [subject.open().await, subject.open_shop("other-shop".parse().expect("valid")).await];
    for store in &stores {
        let mut unsettled = checkout(ALICE, "chk_2", None);
        unsettled.state = paying("chk_2", now());
        for change in [
            Change { cart: at(cart(ALICE, "cart_1"), 0), ..Change::default() },
            Change { checkout: at(checkout(ALICE, "chk_1", None), 0), ..Change::default() },
            Change { checkout: at(unsettled, 0), ..Change::default() },
            Change { order: at(order(ALICE, "ord_1", "chk_0"), 0), ..Change::default() },
        ] {
            assert_eq!(store.commits(change).await, Committed::Done);
        }
        let answer = Some((key(ALICE, "chk_1", "k"), kept("answer")));
        assert_eq!(store.commit(Change::default(), answer).await.expect("commits"), Committed::Done);
        let owner = Owner { platform: ALICE.into(), release: Release::NEWEST, mandates: false };
        for kind in [Kind::Cart, Kind::Order] {
            Owners::claim(&**store, kind, "remote", &owner, now()).await.expect("claims");
        }
    }
    let left = async |store: &T::Store| {
        let mut left = Vec::new();
        let rows = [
            ("answer", store.kept(&key(ALICE, "chk_1", "k")).await.expect("reads").is_some()),
            ("cart", store.cart(ALICE, "cart_1").await.expect("reads").is_some()),
            ("checkout", store.checkout(ALICE, "chk_1").await.expect("reads").is_some()),
            ("unsettled", store.checkout(ALICE, "chk_2").await.expect("reads").is_some()),
            ("order", store.order(ALICE, "ord_1").await.expect("reads").is_some()),
            ("event", !store.webhook_events(9).await.expect("reads").is_empty()),
            ("owner of a cart", store.owned(Kind::Cart, "remote").await.expect("reads").is_some()),
            ("owner of an order", store.owned(Kind::Order, "remote").await.expect("reads").is_some()),
        ];
        left.extend(rows.into_iter().filter_map(|(name, is_there)| is_there.then_some(name)));
        left.join(", ")
    };
    let all = "answer, cart, checkout, unsettled, order, event, owner of a cart, owner of an order";
    let second = SignedDuration::from_secs(1);
    for (age, expected) in [
        (hours(48), all),
        (hours(48) + second, "cart, checkout, unsettled, order, event, owner of a cart, owner of an order"),
        (hours(30 * 24) + second, "cart, checkout, unsettled, order, owner of an order"),
        (hours(30 * 24 + 6) + second, "cart, unsettled, order, owner of an order"),
        (hours(30 * 24 + 24) + second, "unsettled, order, owner of an order"),
        (hours(3 * 365 * 24) + second, "unsettled, order"),
    ] {
        stores[0].prune(now() + age).await.expect("prunes");
        assert_eq!(left(&stores[0]).await, expected, "{age:#}");
        assert_eq!(stores[0].prune(now() + age).await.expect("prunes"), 0, "{age:#}");
    }
    assert_eq!(left(&stores[1]).await, all, "another shop's rows are its own affair");
}

/// Groups are listed by size. Freeing one removes its rows, except checkouts that are being paid or were completed.
pub async fn holders_are_listed_and_what_one_holds_is_released<T: StoreUnderTest<Store: Store>>(subject: &T) {
    let store = subject.open().await;
    let of = |names: &[&str]| {
        let bound = |name: &&str| Bound { name: (*name).into(), open: 99, bytes: 1 << 20 };
        Some(Holder { bounds: names.iter().map(bound).collect() })
    };
    let (one, other) = (["a.example", "192.0.2.1"], ["b.example", "192.0.2.1"]);
    let made =
        |id: &str, names: &[&str]| Change { cart: at(cart(ALICE, id), 0), holder: of(names), ..Change::default() };
    let asked = |id: &str| Key { operation: "create_cart", ..key(ALICE, "", id) };
    for (id, names) in [("1", one), ("2", one), ("3", other)] {
        let committed = store.keeps(made(id, &names), asked(id), kept("an answer")).await;
        assert_eq!(committed, Committed::Done);
    }
    let checked = |id: &str, state| Change {
        checkout: at(Checkout { state, ..checkout(ALICE, id, None) }, 0),
        holder: of(&one),
        ..Change::default()
    };
    assert_eq!(store.commits(checked("chk_1", State::Incomplete)).await, Committed::Done);
    assert_eq!(store.commits(checked("chk_2", paying("chk_2", now()))).await, Committed::Done);
    let bought = Key { operation: "complete_checkout", ..key(ALICE, "", "bought") };
    let change = Change { order: at(order(ALICE, "ord_1", "chk_3"), 0), holder: of(&one), ..Change::default() };
    assert_eq!(store.keeps(change, bought.clone(), kept("a receipt")).await, Committed::Done);
    let listed = async |limit| store.holdings(limit).await.expect("reads");
    let all = listed(9).await;
    let names: Vec<_> = all.iter().map(|holding| (holding.name.as_str(), holding.open)).collect();
    assert_eq!(names, [("192.0.2.1", 5), ("a.example", 4), ("b.example", 1)]);
    assert_eq!(all[0].bytes, all[1].bytes + all[2].bytes);
    assert_eq!(listed(1).await, all[..1]);
    assert!(subject.open_shop("other".parse().expect("valid")).await.holdings(9).await.expect("reads").is_empty());
    assert_eq!(store.release("a.exampl").await.expect("releases"), 0);
    assert_eq!(store.release("a.example").await.expect("releases"), 5, "two carts with their answers, and a checkout");
    for gone in ["1", "2"] {
        assert_eq!(store.cart(ALICE, gone).await.expect("reads"), None);
        assert_eq!(store.kept(&asked(gone)).await.expect("reads"), None);
    }
    assert_eq!(store.checkout(ALICE, "chk_1").await.expect("reads"), None);
    assert!(store.checkout(ALICE, "chk_2").await.expect("reads").is_some(), "it is being paid");
    assert!(store.order(ALICE, "ord_1").await.expect("reads").is_some());
    assert_eq!(store.kept(&bought).await.expect("reads"), Some(kept("a receipt")));
    assert!(store.cart(ALICE, "3").await.expect("reads").is_some(), "it is another one's");
    let left = listed(9).await;
    let mut names: Vec<_> = left.iter().map(|holding| (holding.name.as_str(), holding.open)).collect();
    names.sort_unstable();
    assert_eq!(names, [("192.0.2.1", 2), ("a.example", 1), ("b.example", 1)]);
    assert_eq!(store.release("192.0.2.1").await.expect("releases"), 2);
    store.prune(now()).await.expect("prunes");
    let left = listed(9).await;
    assert_eq!((left.len(), left[0].open), (2, 1), "{left:?}");
    assert!(left[0].bytes > "a receipt".len() as u64);
}

/// Carts and checkouts of strangers go an hour after they expire; those of registered platforms stay as long as others.
pub async fn what_registered_platforms_hold_stays_and_what_strangers_hold_goes<T: StoreUnderTest<Store: Store>>(
    subject: &T,
) {
    let store = subject.open().await;
    for (id, name) in [("1", "192.0.2.1"), ("2", "~https://agent.example/p"), ("3", "zone.example")] {
        let change = Change {
            cart: at(cart(ALICE, id), 0),
            checkout: at(checkout(ALICE, id, None), 0),
            holder: holder(name, 9, 1 << 20),
            ..Change::default()
        };
        assert_eq!(store.commits(change).await, Committed::Done);
    }
    let expired = cart(ALICE, "1").expires_at.max(checkout(ALICE, "1", None).expires_at);
    assert_eq!(store.prune(expired + hours(2)).await.expect("prunes"), 4);
    let left = async |id: &str| store.cart(ALICE, id).await.expect("reads").is_some();
    assert_eq!((left("1").await, left("2").await, left("3").await), (false, true, false));
    let holdings = store.holdings(9).await.expect("reads");
    assert_eq!(
        holdings.iter().map(|holding| (holding.name.as_str(), holding.open)).collect::<Vec<_>>(),
        [("~https://agent.example/p", 2)]
    );
}
