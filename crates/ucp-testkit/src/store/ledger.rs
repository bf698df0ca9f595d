//! Rules of the [`Ledger`](ucp_core::ports::ledger::Ledger): documents, versions, owners, keys, stock.

use ucp_core::{
    cart::Cart,
    checkout::{Checkout, State},
    order::{Confirmation, Order},
    ports::{
        agenda::{Agenda as _, Kind, Plan},
        ledger::{Bound, Change, Committed, Full, Holder, Kept, Key, Ledger as _},
    },
};

use super::{
    StoreUnderTest,
    agenda::remote,
    fixtures::{ALICE, BOB, Commits as _, at, cart, checkout, holder, hours, kept, key, movement, now, order, paying},
};
use crate::{PATIENCE, within};

/// Every document is read as it was committed, under a version that grows by one; what is not there is not found.
pub async fn documents_come_back_as_they_were_with_growing_versions<T: StoreUnderTest>(subject: &T) {
    let store = subject.open().await;
    let (mut cart, mut checkout, mut order) =
        (cart(ALICE, "cart_1"), checkout(ALICE, "chk_1", Some("cart_1")), order(ALICE, "ord_1", "chk_1"));
    let change = Change {
        cart: at(cart.clone(), 0),
        checkout: at(checkout.clone(), 0),
        order: at(order.clone(), 0),
        ..Change::default()
    };
    assert_eq!(store.commits(change).await, Committed::Done);
    for version in 1..4 {
        assert_eq!(store.cart(ALICE, "cart_1").await.expect("reads"), at(cart.clone(), version));
        assert_eq!(store.checkout(ALICE, "chk_1").await.expect("reads"), at(checkout.clone(), version));
        assert_eq!(store.checkout_of_cart(ALICE, "cart_1").await.expect("reads"), at(checkout.clone(), version));
        assert_eq!(store.order(ALICE, "ord_1").await.expect("reads"), at(order.clone(), version));
        cart.lines_ever += 1;
        checkout.state = State::Canceled;
        checkout.cart_id = Some("cart_1".into());
        order.label.push('x');
        let change = Change {
            cart: at(cart.clone(), version),
            checkout: at(checkout.clone(), version),
            order: at(order.clone(), version),
            ..Change::default()
        };
        assert_eq!(store.commits(change).await, Committed::Done);
    }
    assert_eq!(store.cart(ALICE, "cart_2").await.expect("reads"), None);
    assert_eq!(store.checkout(ALICE, "").await.expect("reads"), None);
    assert_eq!(store.order(ALICE, "ord_1'; DROP TABLE orders; --").await.expect("reads"), None);
    assert_eq!(store.commits(Change::default()).await, Committed::Done);
}

/// Tokens are compared exactly, per kind of document.
pub async fn tokens_open_what_they_belong_to_and_nothing_else<T: StoreUnderTest>(subject: &T) {
    let store = subject.open().await;
    let (cart, checkout, order) = (cart(ALICE, "1"), checkout(BOB, "2", None), order(ALICE, "3", "2"));
    let change = |version| Change {
        cart: at(cart.clone(), version),
        checkout: at(checkout.clone(), version),
        order: at(order.clone(), version),
        ..Change::default()
    };
    for version in [0, 1] {
        assert_eq!(store.commits(change(version)).await, Committed::Done);
        assert_eq!(store.cart_by_token("token of 1").await.expect("reads"), at(cart.clone(), version + 1));
        assert_eq!(store.checkout_by_token("token of 2").await.expect("reads"), at(checkout.clone(), version + 1));
        assert_eq!(store.order_by_token("token of 3").await.expect("reads"), at(order.clone(), version + 1));
    }
    for other in ["", "1", "token of ", "token of 4", "TOKEN OF 1", "token of 1 ", "token of%", "' OR 1=1 --"] {
        assert_eq!(store.cart_by_token(other).await.expect("reads"), None, "{other}");
        assert_eq!(store.checkout_by_token(other).await.expect("reads"), None, "{other}");
        assert_eq!(store.order_by_token(other).await.expect("reads"), None, "{other}");
    }
    assert_eq!(store.cart_by_token("token of 2").await.expect("reads"), None);
    assert_eq!(store.checkout_by_token("token of 3").await.expect("reads"), None);
    assert_eq!(store.order_by_token("token of 1").await.expect("reads"), None);
    // Nor does a token open two of a kind.
    let (id, checkout_id) = ("other".to_owned(), "other".to_owned());
    for other in [
        Change { cart: at(Cart { id: id.clone(), ..cart.clone() }, 0), ..Change::default() },
        Change { checkout: at(Checkout { id: id.clone(), ..checkout.clone() }, 0), ..Change::default() },
        Change { order: at(Order { id, checkout_id, ..order.clone() }, 0), ..Change::default() },
    ] {
        assert_eq!(store.commits(other).await, Committed::Stale);
    }
}

/// A change of a version that is not the stored one is stale, and commits no part of itself.
pub async fn a_change_of_an_older_version_changes_nothing_at_all<T: StoreUnderTest>(subject: &T) {
    let store = subject.open().await;
    subject.count(&[("a-0", 5)]).await;
    let first = checkout(ALICE, "chk_1", None);
    assert_eq!(store.commits(Change { checkout: at(first.clone(), 0), ..Change::default() }).await, Committed::Done);
    let mut second = first.clone();
    second.state = State::ReadyForComplete;
    assert_eq!(store.commits(Change { checkout: at(second.clone(), 1), ..Change::default() }).await, Committed::Done);
    // Everything else in these changes could be committed.
    for version in [0, 1, 3, u64::MAX] {
        let change = Change {
            cart: at(cart(ALICE, "cart_1"), 0),
            checkout: at(first.clone(), version),
            order: at(order(ALICE, "ord_1", "chk_1"), 0),
            stock: vec![movement("a-0", -1)],
            ..Change::default()
        };
        assert_eq!(store.keeps(change, key(ALICE, "chk_1", "k"), kept("no")).await, Committed::Stale, "{version}");
    }
    assert_eq!(store.checkout(ALICE, "chk_1").await.expect("reads"), at(second, 2));
    assert_eq!(store.cart(ALICE, "cart_1").await.expect("reads"), None);
    assert_eq!(store.order(ALICE, "ord_1").await.expect("reads"), None);
    assert_eq!(store.stock(&["a-0"]).await.expect("reads"), [Some(5)]);
    assert_eq!(store.kept(&key(ALICE, "chk_1", "k")).await.expect("reads"), None);
}

/// A second order of one checkout is stale.
pub async fn a_checkout_becomes_one_order<T: StoreUnderTest>(subject: &T) {
    let store = subject.open().await;
    let change = |id: &str| Change { order: at(order(ALICE, id, "chk_1"), 0), ..Change::default() };
    assert_eq!(store.commits(change("ord_1")).await, Committed::Done);
    assert_eq!(store.commits(change("ord_2")).await, Committed::Stale);
    assert_eq!(store.commits(change("ord_1")).await, Committed::Stale);
    assert_eq!(store.order(ALICE, "ord_1").await.expect("reads"), at(order(ALICE, "ord_1", "chk_1"), 1));
    assert_eq!(store.order(ALICE, "ord_2").await.expect("reads"), None);
    assert_eq!(store.order_by_token("token of ord_2").await.expect("reads"), None);
}

/// Nobody reads or overwrites what belongs to another owner.
pub async fn what_belongs_to_others_does_not_exist<T: StoreUnderTest>(subject: &T) {
    let store = subject.open().await;
    let change = |owner: &str, version| Change {
        cart: at(cart(owner, "cart_1"), version),
        checkout: at(checkout(owner, "chk_1", Some("cart_1")), version),
        order: at(order(owner, "ord_1", "chk_1"), version),
        ..Change::default()
    };
    assert_eq!(store.keeps(change(ALICE, 0), key(ALICE, "", "k"), kept("Alice's")).await, Committed::Done);
    assert_eq!(store.cart(BOB, "cart_1").await.expect("reads"), None);
    assert_eq!(store.checkout(BOB, "chk_1").await.expect("reads"), None);
    assert_eq!(store.checkout_of_cart(BOB, "cart_1").await.expect("reads"), None);
    assert_eq!(store.order(BOB, "ord_1").await.expect("reads"), None);
    assert_eq!(store.kept(&key(BOB, "", "k")).await.expect("reads"), None);
    // Nor can it be overwritten.
    for version in [0, 1] {
        assert_eq!(store.commits(change(BOB, version)).await, Committed::Stale);
        for part in [
            Change { cart: at(cart(BOB, "cart_1"), version), ..Change::default() },
            Change { checkout: at(checkout(BOB, "chk_1", None), version), ..Change::default() },
            Change { order: at(order(BOB, "ord_1", "another"), version), ..Change::default() },
        ] {
            assert_eq!(store.commits(part).await, Committed::Stale);
        }
    }
    assert_eq!(store.cart(ALICE, "cart_1").await.expect("reads"), at(cart(ALICE, "cart_1"), 1));
}

/// A commit under a key with a kept answer yields that answer, whatever else it holds.
pub async fn an_answer_is_kept_once_per_key_and_comes_before_all_else<T: StoreUnderTest>(subject: &T) {
    let store = subject.open().await;
    subject.count(&[("a-0", 5)]).await;
    let change = || Change {
        checkout: at(checkout(ALICE, "chk_1", None), 0),
        stock: vec![movement("a-0", -2)],
        ..Change::default()
    };
    let answer = kept("{\"status\":\"first\"}");
    let own = key(ALICE, "chk_1", "k");
    assert_eq!(store.kept(&own).await.expect("reads"), None);
    assert_eq!(store.keeps(change(), own.clone(), answer.clone()).await, Committed::Done);
    assert_eq!(store.kept(&own).await.expect("reads"), Some(answer.clone()));
    // The version is out of date as well, and there would be goods enough.
    let again = store.keeps(change(), own.clone(), Kept { identity: [8; 32], ..kept("second") }).await;
    assert_eq!(again, Committed::Kept(answer.clone()));
    assert_eq!(store.keeps(Change::default(), own.clone(), kept("third")).await, Committed::Kept(answer.clone()));
    assert_eq!(store.stock(&["a-0"]).await.expect("reads"), [Some(3)]);
    // Under another resource it is the same key.
    for other in [key(ALICE, "chk_2", "k"), key(ALICE, "", "k")] {
        assert_eq!(store.kept(&other).await.expect("reads"), Some(answer.clone()), "{other:?}");
        assert_eq!(store.keeps(change(), other, kept("fourth")).await, Committed::Kept(answer.clone()));
    }
    // Owner, operation and key tell keys apart.
    let others = [
        key(BOB, "chk_1", "k"),
        key(ALICE, "chk_1", "K"),
        Key { operation: "cancel_checkout", ..own },
        key(ALICE, "chk_1", ""),
    ];
    for (number, other) in others.into_iter().enumerate() {
        let answer = kept(&number.to_string());
        assert_eq!(store.kept(&other).await.expect("reads"), None, "{other:?}");
        assert_eq!(store.keeps(Change::default(), other.clone(), answer.clone()).await, Committed::Done);
        assert_eq!(store.kept(&other).await.expect("reads"), Some(answer), "{other:?}");
    }
}

/// Of the checkouts of a cart the one that was made last is found.
pub async fn the_newest_checkout_of_a_cart_is_found<T: StoreUnderTest>(subject: &T) {
    let store = subject.open().await;
    for id in ["chk_z", "chk_a", "chk_m"] {
        let change = Change { checkout: at(checkout(ALICE, id, Some("cart_1")), 0), ..Change::default() };
        assert_eq!(store.commits(change).await, Committed::Done);
        let newest = store.checkout_of_cart(ALICE, "cart_1").await.expect("reads").expect("one");
        assert_eq!(newest.document.id, id);
        let over = Checkout { state: State::Canceled, ..checkout(ALICE, id, Some("cart_1")) };
        assert_eq!(store.commits(Change { checkout: at(over, 1), ..Change::default() }).await, Committed::Done);
    }
    // A change of an older one makes it no newer.
    let change = Change { checkout: at(checkout(ALICE, "chk_z", Some("cart_1")), 2), ..Change::default() };
    assert_eq!(store.commits(change).await, Committed::Done);
    let newest = store.checkout_of_cart(ALICE, "cart_1").await.expect("reads").expect("one");
    assert_eq!(newest.document.id, "chk_m");
}

/// A cart has one open checkout: another is stale until the first is over or has expired. One that has expired and was
/// replaced is stale for whoever is about to change it; one that is being paid expires for nobody.
pub async fn a_cart_has_one_open_checkout<T: StoreUnderTest>(subject: &T) {
    let (here, there) = (subject.open().await, subject.open().await);
    let made = |id: &str, created_at| Change {
        checkout: at(
            Checkout { created_at, expires_at: created_at + hours(6), ..checkout(ALICE, id, Some("cart_1")) },
            0,
        ),
        ..Change::default()
    };
    assert_eq!(here.commits(made("chk_1", now())).await, Committed::Done);
    assert_eq!(there.commits(made("chk_2", now())).await, Committed::Stale);
    let elsewhere = Change { checkout: at(checkout(ALICE, "chk_3", Some("cart_2")), 0), ..Change::default() };
    assert_eq!(there.commits(elsewhere).await, Committed::Done);
    assert_eq!(there.commits(made("chk_4", now() + hours(5))).await, Committed::Stale);
    let later = now() + hours(6);
    assert_eq!(there.commits(made("chk_5", later)).await, Committed::Done, "the first has expired");
    let late = Change { checkout: at(checkout(ALICE, "chk_1", Some("cart_1")), 1), ..Change::default() };
    assert_eq!(here.commits(late).await, Committed::Stale, "it was replaced");

    let Change { checkout: Some(mut paid), .. } = made("chk_5", later) else { panic!("there is one") };
    paid.document.state = paying("chk_5", later);
    paid.version = 1;
    assert_eq!(here.commits(Change { checkout: Some(paid.clone()), ..Change::default() }).await, Committed::Done);
    assert_eq!(there.commits(made("chk_6", later + hours(7))).await, Committed::Stale, "it is being paid");
    (paid.document.state, paid.version) = (State::Canceled, 2);
    assert_eq!(here.commits(Change { checkout: Some(paid), ..Change::default() }).await, Committed::Done);
    assert_eq!(there.commits(made("chk_6", later + hours(7))).await, Committed::Done);

    // Of many who make one at once, one does.
    let calls: Vec<_> = (0..16_usize)
        .map(|number| {
            let store = if number % 2 == 0 { here.clone() } else { there.clone() };
            let id = format!("chk_of_{number}");
            let change = Change { checkout: at(checkout(ALICE, &id, Some("cart_9")), 0), ..Change::default() };
            tokio::spawn(async move { store.commits(change).await })
        })
        .collect();
    let mut done = 0;
    for call in calls {
        done += usize::from(within("a call", PATIENCE, call).await.expect("no panic") == Committed::Done);
    }
    assert_eq!(done, 1);
}

/// A change whose answer comes later is only committed if there is room for an answer, and takes none of it.
pub async fn an_answer_that_comes_later_needs_its_room_now<T: StoreUnderTest>(subject: &T) {
    let store = subject.open().await;
    let size = |checkout: &Checkout| serde_json::to_string(checkout).expect("JSON").len() as u64;
    let (first, second) = (checkout(ALICE, "chk_1", None), checkout(ALICE, "chk_2", None));
    let holder = |bytes| holder("203.0.113.7", 9, bytes);
    let change = |document: &Checkout, version, answered_later, bytes| Change {
        checkout: at(document.clone(), version),
        answered_later,
        holder: holder(bytes),
        ..Change::default()
    };
    let once = size(&first);
    assert_eq!(store.commits(change(&first, 0, true, 3 * once - 1)).await, Committed::Full(Full::Bytes));
    assert_eq!(store.commits(change(&first, 0, true, 3 * once)).await, Committed::Done);
    assert_eq!(store.commits(change(&first, 1, true, 3 * once - 1)).await, Committed::Full(Full::Bytes));
    assert_eq!(store.commits(change(&second, 0, false, once + size(&second))).await, Committed::Done, "it took none");
}

/// A registered platform creates no more than its bound, changes what it has, and gets its recorded answers.
pub async fn a_registered_platform_has_its_bound<T: StoreUnderTest>(subject: &T) {
    let store = subject.open().await;
    let name = format!("{}https://a.example/profile.json", Holder::REGISTERED);
    let of = |id: &str, version, open, bytes| Change {
        cart: at(cart(ALICE, id), version),
        holder: holder(&name, open, bytes),
        ..Change::default()
    };
    let (answer, again) = (kept("made"), key(ALICE, "", "again"));
    assert_eq!(store.keeps(of("1", 0, 2, 1 << 20), again.clone(), answer.clone()).await, Committed::Done);
    assert_eq!(store.commits(of("2", 0, 2, 1 << 20)).await, Committed::Done);
    assert_eq!(store.commits(of("3", 0, 2, 1 << 20)).await, Committed::Full(Full::Open));
    assert_eq!(store.commits(of("3", 0, 3, 1)).await, Committed::Full(Full::Bytes));
    assert_eq!(store.commits(of("1", 1, 2, 1 << 20)).await, Committed::Done);
    assert_eq!(store.keeps(of("1", 0, 2, 1 << 20), again, answer.clone()).await, Committed::Kept(answer));
}

/// A change has to fit into each group of its holder, and counts to all of them, in each shop by itself.
pub async fn each_group_of_a_holder_has_its_bound<T: StoreUnderTest>(subject: &T) {
    let store = subject.open().await;
    let of = |names: &[&str]| {
        let bound = |name: &&str| Bound {
            name: (*name).into(),
            open: if name.ends_with("/24") { 4 } else { 2 },
            bytes: if name.ends_with("/24") { 40_000 } else { 10_000 },
        };
        Some(Holder { bounds: names.iter().map(bound).collect() })
    };
    let cart_of = |id: &str, version, names: &[&str]| Change {
        cart: at(cart(ALICE, id), version),
        holder: of(names),
        ..Change::default()
    };
    let [one, two, three] = [["a.example", "192.0.2.1"], ["a.example", "192.0.2.2"], ["b.example", "192.0.2.1"]]
        .map(|[domain, address]| [domain, address, "192.0.2.0/24"]);
    assert_eq!(store.commits(cart_of("1", 0, &one)).await, Committed::Done);
    assert_eq!(store.commits(cart_of("2", 0, &one)).await, Committed::Done);
    for full in [one, two, three] {
        assert_eq!(store.commits(cart_of("3", 0, &full)).await, Committed::Full(Full::Open), "{full:?}");
    }
    let [four, five, six] = [4, 5, 6].map(|number| [format!("{number}.example"), format!("192.0.2.{number}")]);
    let with = |names: &[String; 2]| [names[0].clone(), names[1].clone(), "192.0.2.0/24".to_owned()];
    let make = async |id: &str, version, names: &[String; 2]| {
        let names = with(names);
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        store.commits(cart_of(id, version, &names)).await
    };
    assert_eq!(make("4", 0, &four).await, Committed::Done);
    assert_eq!(make("5", 0, &five).await, Committed::Done);
    assert_eq!(make("6", 0, &six).await, Committed::Full(Full::Open), "the network has four");
    // A document counts to whoever has written it last, who must have room for it.
    assert_eq!(store.commits(cart_of("4", 1, &one)).await, Committed::Full(Full::Open));
    assert_eq!(make("1", 1, &five).await, Committed::Done);
    assert_eq!(store.commits(cart_of("3", 0, &["a.example"])).await, Committed::Done, "what it has left makes room");
    // An answer of one counts as much as a document.
    let large = kept(&"long ".repeat(3_000));
    let change = || Change { holder: of(&["b.example", "192.0.2.9", "192.0.2.0/24"]), ..Change::default() };
    assert_eq!(store.keeps(change(), key(ALICE, "", "k"), large).await, Committed::Full(Full::Bytes));
    for number in 0..3 {
        let names = [format!("c{number}.example"), format!("192.0.2.1{number}")];
        let names = with(&names);
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let change = Change { holder: of(&names), ..Change::default() };
        let kept = store.keeps(change, key(ALICE, "", &number.to_string()), kept(&"x".repeat(9_900))).await;
        assert_eq!(kept, Committed::Done);
    }
    assert_eq!(
        store.keeps(change(), key(ALICE, "", "l"), kept(&"x".repeat(9_900))).await,
        Committed::Full(Full::Bytes)
    );
    // Other shops know none of it, and callers without a holder have no bound.
    let other = subject.open_shop("other".parse().expect("valid")).await;
    assert_eq!(other.commits(cart_of("1", 0, &one)).await, Committed::Done);
    let unbounded = Change { cart: at(cart(BOB, "7"), 0), ..Change::default() };
    assert_eq!(store.commits(unbounded).await, Committed::Done);
    // An order is counted to nobody.
    let paid = |version, state| Change {
        checkout: at(Checkout { state, ..checkout(ALICE, "chk_8", None) }, version),
        holder: of(&["d.example"]),
        ..Change::default()
    };
    assert_eq!(store.commits(paid(0, State::Incomplete)).await, Committed::Done);
    assert_eq!(store.commits(cart_of("9", 0, &["d.example"])).await, Committed::Done);
    assert_eq!(store.commits(cart_of("10", 0, &["d.example"])).await, Committed::Full(Full::Open));
    let done = State::Completed {
        order: Confirmation { id: "o".into(), label: "1".into(), token: "t".into(), permalink_url: None },
    };
    assert_eq!(store.commits(paid(1, done)).await, Committed::Done);
    assert_eq!(store.commits(cart_of("10", 0, &["d.example"])).await, Committed::Done);
}

/// A commit of one handle is visible to another at once, and makes its changes stale.
pub async fn two_processes_share_one_ledger<T: StoreUnderTest>(subject: &T) {
    let here = subject.open().await;
    subject.count(&[("a-0", 5)]).await;
    let there = subject.open().await;
    let document = checkout(ALICE, "chk_1", None);
    assert_eq!(there.checkout(ALICE, "chk_1").await.expect("reads"), None);
    assert_eq!(here.commits(Change { checkout: at(document.clone(), 0), ..Change::default() }).await, Committed::Done);
    // Seen at once, in both directions, and again and again.
    for version in 1..50 {
        let (writer, reader) = if version % 2 == 0 { (&here, &there) } else { (&there, &here) };
        let read = reader.checkout(ALICE, "chk_1").await.expect("reads");
        assert_eq!(read, at(document.clone(), version));
        let change = |version| Change { checkout: at(document.clone(), version), ..Change::default() };
        assert_eq!(writer.commits(change(version)).await, Committed::Done);
        assert_eq!(reader.commits(change(version)).await, Committed::Stale);
    }
    assert_eq!(here.keeps(Change::default(), key(ALICE, "", "k"), kept("here")).await, Committed::Done);
    assert_eq!(there.keeps(Change::default(), key(ALICE, "", "k"), kept("there")).await, Committed::Kept(kept("here")));
}

fn takes(goods: &[(&str, i64)]) -> Change {
    Change { stock: goods.iter().map(|(variant, count)| movement(variant, -count)).collect(), ..Change::default() }
}

/// Counts change with commits, which are stale where one would fall below zero; uncounted goods never run out.
pub async fn counts_follow_orders_and_never_fall_below_zero<T: StoreUnderTest>(subject: &T) {
    let store = subject.open().await;
    subject.count(&[("a-0", 3), ("a-1", 0)]).await;
    let counts = async || store.stock(&["a-2", "a-0", "nothing", "a-1", "a-0"]).await.expect("reads");
    assert_eq!(counts().await, [None, Some(3), None, Some(0), Some(3)]);
    assert_eq!(store.stock(&[]).await.expect("reads"), []);
    // Uncounted and unknown goods never run out.
    assert_eq!(store.commits(takes(&[("a-2", 1_000), ("nothing", 5), ("a-0", 2)])).await, Committed::Done);
    assert_eq!(counts().await, [None, Some(1), None, Some(0), Some(1)]);
    assert_eq!(store.commits(takes(&[("a-0", 2)])).await, Committed::Stale);
    assert_eq!(store.commits(takes(&[("a-0", 1), ("a-1", 1)])).await, Committed::Stale);
    assert_eq!(store.commits(takes(&[("a-0", i64::MAX)])).await, Committed::Stale);
    // Several movements of one variant are one.
    assert_eq!(store.commits(takes(&[("a-0", 1), ("a-0", 1)])).await, Committed::Stale);
    assert_eq!(store.commits(takes(&[("a-0", 5), ("a-0", -5), ("a-1", 2), ("a-1", -2)])).await, Committed::Done);
    assert_eq!(counts().await, [None, Some(1), None, Some(0), Some(1)]);
    assert_eq!(store.commits(takes(&[("a-0", 1), ("a-1", -4)])).await, Committed::Done);
    assert_eq!(counts().await, [None, Some(0), None, Some(4), Some(0)]);
}

/// Of many buyers at several handles as many get goods as there are goods.
pub async fn the_last_ones_are_sold_once<T: StoreUnderTest>(subject: &T) {
    const COUNT: u64 = 20;
    const BUYERS: usize = 120;
    let handles = [subject.open().await, subject.open().await, subject.open().await];
    subject.count(&[("a-0", COUNT)]).await;
    let buyers: Vec<_> = (0..BUYERS)
        .map(|number| {
            let store = handles[number % handles.len()].clone();
            tokio::spawn(async move {
                let id = number.to_string();
                let change = Change { order: at(order(ALICE, &id, &id), 0), ..takes(&[("a-0", 1)]) };
                store.keeps(change, key(ALICE, "", &id), kept(&id)).await
            })
        })
        .collect();
    let mut sold = 0;
    for buyer in buyers {
        match within("a buyer", PATIENCE, buyer).await.expect("no panic") {
            Committed::Done => sold += 1,
            Committed::Stale => {}
            Committed::Kept(_) | Committed::Full(_) => panic!("it is new, and there is room"),
        }
    }
    assert_eq!(sold, COUNT);
    assert_eq!(handles[0].stock(&["a-0"]).await.expect("reads"), [Some(0)]);
    let (mut orders, mut kept) = (0, 0);
    for number in 0..BUYERS {
        let id = number.to_string();
        orders += u64::from(handles[1].order(ALICE, &id).await.expect("reads").is_some());
        kept += u64::from(handles[2].kept(&key(ALICE, "", &id)).await.expect("reads").is_some());
    }
    assert_eq!((orders, kept), (sold, sold));
}

/// Committed changes are there for a process that starts later, with their versions; stale changes are not.
pub async fn everything_is_there_after_a_restart<T: StoreUnderTest>(subject: &T) {
    subject.count(&[("a-0", 5)]).await;
    let all = |version| Change {
        cart: at(cart(ALICE, "cart_1"), version),
        checkout: at(Checkout { state: paying("chk_1", now()), ..checkout(ALICE, "chk_1", Some("cart_1")) }, version),
        order: at(order(ALICE, "ord_1", "chk_1"), version),
        stock: vec![movement("a-0", -2)],
        ..Change::default()
    };
    {
        let store = subject.open().await;
        assert_eq!(store.keeps(all(0), key(ALICE, "chk_1", "k"), kept("first")).await, Committed::Done);
        assert_eq!(store.keeps(all(0), key(ALICE, "chk_1", "l"), kept("stale")).await, Committed::Stale);
    }
    let store = subject.open().await;
    let Change { cart, checkout, order, .. } = all(1);
    assert_eq!(store.cart(ALICE, "cart_1").await.expect("reads"), cart);
    assert_eq!(store.checkout(ALICE, "chk_1").await.expect("reads"), checkout);
    assert_eq!(store.order(ALICE, "ord_1").await.expect("reads"), order);
    assert_eq!(store.stock(&["a-0"]).await.expect("reads"), [Some(3)]);
    assert_eq!(store.kept(&key(ALICE, "chk_1", "k")).await.expect("reads"), Some(kept("first")));
    assert_eq!(store.kept(&key(ALICE, "chk_1", "l")).await.expect("reads"), None);
    assert_eq!(store.commits(all(1)).await, Committed::Done);
    assert_eq!(store.stock(&["a-0"]).await.expect("reads"), [Some(1)]);
}

/// Whichever part of a change is stale, no other part of it is committed.
pub async fn a_change_is_committed_whole_or_not_at_all<T: StoreUnderTest>(subject: &T) {
    let store = subject.open().await;
    subject.count(&[("a-0", 5), ("a-1", 5)]).await;
    let there = Change {
        cart: at(cart(ALICE, "there"), 0),
        checkout: at(checkout(ALICE, "there", None), 0),
        order: at(order(ALICE, "there", "there"), 0),
        ..Change::default()
    };
    assert_eq!(store.commits(there.clone()).await, Committed::Done);
    let noted = remote("noted");
    store.plan(Plan::Due(noted.abandonment(now()))).await.expect("plans");
    let new = || Change {
        cart: at(Cart { remote_cart: Some(noted.clone()), ..cart(ALICE, "new") }, 0),
        checkout: at(checkout(ALICE, "new", None), 0),
        order: at(order(ALICE, "new", "new"), 0),
        stock: vec![movement("a-0", -1)],
        ..Change::default()
    };
    let abandonments = async || {
        let tasks = store.tasks(9).await.expect("reads");
        tasks.iter().filter(|task| task.kind == Kind::Abandon).count()
    };
    let unsold = [movement("a-0", -1), movement("a-1", -6)];
    for (part, change) in [
        ("the cart", Change { cart: there.cart.clone(), ..new() }),
        ("the checkout", Change { checkout: there.checkout.clone(), ..new() }),
        ("the order", Change { order: there.order.clone(), ..new() }),
        ("the stock", Change { stock: unsold.to_vec(), ..new() }),
    ] {
        assert_eq!(store.keeps(change, key(ALICE, "", "k"), kept("no")).await, Committed::Stale, "{part}");
        assert_eq!(store.cart(ALICE, "new").await.expect("reads"), None, "{part}");
        assert_eq!(store.checkout(ALICE, "new").await.expect("reads"), None, "{part}");
        assert_eq!(store.order(ALICE, "new").await.expect("reads"), None, "{part}");
        assert_eq!(store.stock(&["a-0", "a-1"]).await.expect("reads"), [Some(5), Some(5)], "{part}");
        assert_eq!(store.kept(&key(ALICE, "", "k")).await.expect("reads"), None, "{part}");
        assert_eq!(abandonments().await, 1, "{part}");
    }
    assert_eq!(store.keeps(new(), key(ALICE, "", "k"), kept("yes")).await, Committed::Done);
    assert_eq!(store.stock(&["a-0", "a-1"]).await.expect("reads"), [Some(4), Some(5)]);
    assert_eq!(abandonments().await, 0);
}

/// Of many calls that are made at once under one key, at several handles, one is carried out; the others get its
/// answer.
pub async fn of_many_calls_under_one_key_one_is_carried_out<T: StoreUnderTest>(subject: &T) {
    let handles = [subject.open().await, subject.open().await];
    subject.count(&[("a-0", 100)]).await;
    let calls: Vec<_> = (0..20_usize)
        .map(|number| {
            let store = handles[number % handles.len()].clone();
            let change = takes(&[("a-0", 1)]);
            tokio::spawn(async move { store.keeps(change, key(ALICE, "", "k"), kept(&number.to_string())).await })
        })
        .collect();
    let (mut done, mut others) = (Vec::new(), Vec::new());
    for (number, call) in calls.into_iter().enumerate() {
        match within("a call", PATIENCE, call).await.expect("no panic") {
            Committed::Done => done.push(kept(&number.to_string())),
            Committed::Kept(kept) => others.push(kept),
            Committed::Full(full) => panic!("{full:?}"),
            Committed::Stale => panic!("{number} is stale"),
        }
    }
    assert_eq!(done.len(), 1);
    assert_eq!(others, vec![done[0].clone(); 19]);
    assert_eq!(handles[0].stock(&["a-0"]).await.expect("reads"), [Some(99)]);
}
