//! Documents, versions, owners, keys and age.

use ucp_core::purchase::remote_cart_ref::RemoteCartRef;
use ucp_testkit::{PATIENCE, until};

use super::*;

#[tokio::test]
async fn documents_come_back_as_they_were_with_growing_versions() {
    let directory = tempfile::tempdir().expect("directory");
    let store = open(directory.path(), &[]);
    let (mut cart, mut checkout, mut order) =
        (cart(ALICE, "cart_1"), checkout(ALICE, "chk_1", Some("cart_1")), order(ALICE, "ord_1", "chk_1"));
    let change = Change {
        cart: at(cart.clone(), 0),
        checkout: at(checkout.clone(), 0),
        order: at(order.clone(), 0),
        stock: Vec::new(),
        mandate: None,
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
            stock: Vec::new(),
            mandate: None,
        };
        assert_eq!(store.commits(change).await, Committed::Done);
    }
    assert_eq!(store.cart(ALICE, "cart_2").await.expect("reads"), None);
    assert_eq!(store.checkout(ALICE, "").await.expect("reads"), None);
    assert_eq!(store.order(ALICE, "ord_1'; DROP TABLE orders; --").await.expect("reads"), None);
    assert_eq!(store.commits(Change::default()).await, Committed::Done);
}

#[tokio::test]
async fn carts_at_a_shop_behind_another_api_are_orphans_until_a_document_names_them() {
    let directory = tempfile::tempdir().expect("directory");
    let remote = |reference: &str| RemoteCartRef { reference: reference.into(), ..RemoteCartRef::default() };
    let orphans = async |store: &SqliteStore, before, limit| {
        let found = store.orphaned_remote_carts(now() + hours(before), limit).await.expect("reads");
        found.into_iter().map(|cart| cart.reference).collect::<Vec<_>>()
    };
    {
        let store = open(directory.path(), &[]);
        for (nth, reference) in ["of a cart", "of a checkout", "of nobody", "of nobody else"].into_iter().enumerate() {
            let at = now() + hours(i64::try_from(nth).expect("small"));
            store.note_remote_cart(&remote(reference), at).await.expect("notes");
        }
        let cart = Cart { remote_cart: Some(remote("of a cart")), ..cart(ALICE, "cart_1") };
        let checkout = Checkout { remote_cart: Some(remote("of a checkout")), ..checkout(ALICE, "chk_1", None) };
        let change = Change { cart: at(cart, 0), checkout: at(checkout, 0), ..Change::default() };
        assert_eq!(store.commits(change.clone()).await, Committed::Done);
        store.note_remote_cart(&remote("of a cart"), now()).await.expect("notes");
        assert_eq!(store.commits(change).await, Committed::Stale, "the version is another by now");
    }
    // After a restart.
    let store = open(directory.path(), &[]);
    assert_eq!(orphans(&store, 9, 9).await, ["of a cart", "of nobody", "of nobody else"]);
    assert_eq!(orphans(&store, 9, 1).await, ["of a cart"]);
    assert_eq!(orphans(&store, 3, 9).await, ["of a cart", "of nobody"]);
    store.note_remote_cart(&remote("of a cart"), now() + hours(5)).await.expect("notes");
    store.forget_remote_cart(&remote("of nobody")).await.expect("forgets");
    assert_eq!(orphans(&store, 9, 9).await, ["of nobody else", "of a cart"]);
}

#[tokio::test]
async fn tokens_open_what_they_belong_to_and_nothing_else() {
    let directory = tempfile::tempdir().expect("directory");
    let store = open(directory.path(), &[]);
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
}

#[tokio::test]
async fn a_change_of_an_older_version_changes_nothing_at_all() {
    let directory = tempfile::tempdir().expect("directory");
    let store = open(directory.path(), &[product("a", &[Some(5)])]);
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
            mandate: None,
        };
        assert_eq!(store.keeps(change, key(ALICE, "chk_1", "k"), kept("no")).await, Committed::Stale, "{version}");
    }
    assert_eq!(store.checkout(ALICE, "chk_1").await.expect("reads"), at(second, 2));
    assert_eq!(store.cart(ALICE, "cart_1").await.expect("reads"), None);
    assert_eq!(store.order(ALICE, "ord_1").await.expect("reads"), None);
    assert_eq!(store.stock(&["a-0"]).await.expect("reads"), [Some(5)]);
    assert_eq!(store.kept(&key(ALICE, "chk_1", "k")).await.expect("reads"), None);
}

#[tokio::test]
async fn a_checkout_becomes_one_order() {
    let directory = tempfile::tempdir().expect("directory");
    let store = open(directory.path(), &[]);
    let change = |id: &str| Change { order: at(order(ALICE, id, "chk_1"), 0), ..Change::default() };
    assert_eq!(store.commits(change("ord_1")).await, Committed::Done);
    assert_eq!(store.commits(change("ord_2")).await, Committed::Stale);
    assert_eq!(store.commits(change("ord_1")).await, Committed::Stale);
    assert_eq!(store.rows("orders"), 1);
}

#[tokio::test]
async fn what_belongs_to_others_does_not_exist() {
    let directory = tempfile::tempdir().expect("directory");
    let store = open(directory.path(), &[]);
    let change = |owner: &str, version| Change {
        cart: at(cart(owner, "cart_1"), version),
        checkout: at(checkout(owner, "chk_1", Some("cart_1")), version),
        order: at(order(owner, "ord_1", "chk_1"), version),
        stock: Vec::new(),
        mandate: None,
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

#[tokio::test]
async fn an_answer_is_kept_once_per_key_and_comes_before_all_else() {
    let directory = tempfile::tempdir().expect("directory");
    let store = open(directory.path(), &[product("a", &[Some(5)])]);
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
    // Owner, operation, resource and key all tell keys apart.
    let others = [
        key(BOB, "chk_1", "k"),
        key(ALICE, "chk_2", "k"),
        key(ALICE, "chk_1", "K"),
        Key { operation: "cancel_checkout", ..own },
        key(ALICE, "", "k"),
        key(ALICE, "chk_1", ""),
    ];
    for (number, other) in others.into_iter().enumerate() {
        let answer = kept(&number.to_string());
        assert_eq!(store.kept(&other).await.expect("reads"), None, "{other:?}");
        assert_eq!(store.keeps(Change::default(), other.clone(), answer.clone()).await, Committed::Done);
        assert_eq!(store.kept(&other).await.expect("reads"), Some(answer), "{other:?}");
    }
}

#[tokio::test]
async fn the_newest_checkout_of_a_cart_is_found() {
    let directory = tempfile::tempdir().expect("directory");
    let store = open(directory.path(), &[]);
    for id in ["chk_z", "chk_a", "chk_m"] {
        let change = Change { checkout: at(checkout(ALICE, id, Some("cart_1")), 0), ..Change::default() };
        assert_eq!(store.commits(change).await, Committed::Done);
        let newest = store.checkout_of_cart(ALICE, "cart_1").await.expect("reads").expect("one");
        assert_eq!(newest.document.id, id);
    }
    // A change of an older one makes it no newer.
    let change = Change { checkout: at(checkout(ALICE, "chk_z", Some("cart_1")), 1), ..Change::default() };
    assert_eq!(store.commits(change).await, Committed::Done);
    let newest = store.checkout_of_cart(ALICE, "cart_1").await.expect("reads").expect("one");
    assert_eq!(newest.document.id, "chk_m");
}

#[tokio::test]
async fn unsettled_checkouts_are_found_the_oldest_first() {
    let directory = tempfile::tempdir().expect("directory");
    let store = open(directory.path(), &[]);
    for (id, begun) in [("b", Some(2)), ("none", None), ("c", Some(3)), ("a", Some(1))] {
        let mut checkout = checkout(if begun == Some(2) { BOB } else { ALICE }, id, None);
        if let Some(hour) = begun {
            checkout.state = paying(id, now() + hours(hour));
        }
        assert_eq!(store.commits(Change { checkout: at(checkout, 0), ..Change::default() }).await, Committed::Done);
    }
    let ids = async |before, limit| {
        let found = store.unsettled(now() + hours(before), limit).await.expect("reads");
        found.into_iter().map(|stored| stored.document.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(9, 9).await, ["a", "b", "c"]);
    assert_eq!(ids(9, 2).await, ["a", "b"]);
    assert_eq!(ids(3, 9).await, ["a", "b"]);
    assert_eq!(ids(1, 9).await, [""; 0]);
    let settled = Change { checkout: at(checkout(ALICE, "a", None), 1), ..Change::default() };
    assert_eq!(store.commits(settled).await, Committed::Done);
    assert_eq!(ids(9, 9).await, ["b", "c"]);
}

#[tokio::test]
async fn two_processes_share_one_ledger() {
    let directory = tempfile::tempdir().expect("directory");
    let here = open(directory.path(), &[product("a", &[Some(5)])]);
    let there = open(directory.path(), &[]);
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

#[tokio::test]
async fn what_is_old_goes_and_what_may_matter_stays() {
    let directory = tempfile::tempdir().expect("directory");
    let store = open(directory.path(), &[]);
    let month = hours(30 * 24);
    let moment = SignedDuration::from_nanos(1);
    for (id, expires_at) in
        [("old", now() - month - moment), ("due", now() - month), ("expired", now() - hours(1)), ("open", now())]
    {
        let change = Change {
            cart: at(Cart { expires_at, ..cart(ALICE, id) }, 0),
            checkout: at(Checkout { expires_at, ..checkout(ALICE, id, None) }, 0),
            order: at(order(ALICE, id, id), 0),
            mandate: None,
            stock: Vec::new(),
        };
        assert_eq!(store.commits(change).await, Committed::Done);
        let mut unsettled = checkout(ALICE, &format!("unsettled {id}"), None);
        (unsettled.expires_at, unsettled.state) = (expires_at, paying(id, expires_at));
        assert_eq!(store.commits(Change { checkout: at(unsettled, 0), ..Change::default() }).await, Committed::Done);
    }
    for (name, age) in [("old", hours(48) + moment), ("due", hours(48)), ("new", hours(0))] {
        let answer = Kept { at: now() - age, ..kept(name) };
        assert_eq!(store.keeps(Change::default(), key(ALICE, "", name), answer).await, Committed::Done);
    }
    assert_eq!(store.prune(now()).await.expect("prunes"), 3);
    assert_eq!(store.prune(now()).await.expect("prunes"), 0);
    assert_eq!(
        (store.rows("carts"), store.rows("checkouts"), store.rows("orders"), store.rows("kept")),
        (3, 3 + 4, 4, 2)
    );
    assert_eq!(store.cart(ALICE, "old").await.expect("reads"), None);
    assert!(store.cart(ALICE, "due").await.expect("reads").is_some());
    assert!(store.checkout(ALICE, "unsettled old").await.expect("reads").is_some());
    assert_eq!(store.kept(&key(ALICE, "", "old")).await.expect("reads"), None);
    // At the ends of time.
    assert_eq!(store.prune(Timestamp::MIN).await.expect("prunes"), 0);
    // With what was to be told of the four orders.
    assert_eq!(store.prune(Timestamp::MAX).await.expect("prunes"), 3 + 3 + 2 + 4);
    assert_eq!((store.rows("checkouts"), store.rows("orders")), (4, 4));
}

#[tokio::test]
async fn much_that_is_old_goes_in_several_steps() {
    let directory = tempfile::tempdir().expect("directory");
    let store = open(directory.path(), &[]);
    let many = 2 * crate::store::BATCH + 1;
    for number in 0..many {
        let keep = (key(ALICE, "", &number.to_string()), kept("old"));
        // Queued without waiting, so that they share commits.
        tokio::spawn({
            let store = store.clone();
            async move { store.commit(Change::default(), Some(keep)).await }
        });
    }
    until("all answers to be kept", PATIENCE, async || (store.rows("kept") >= many).then_some(())).await;
    assert_eq!(store.prune(now() + hours(49)).await.expect("prunes"), many.unsigned_abs());
    assert_eq!(store.rows("kept"), 0);
}
