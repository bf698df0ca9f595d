//! Isolation of the shops that share one store: the names of one mean nothing in another.

use ucp_core::{
    Release, ShopId,
    cart::Cart,
    checkout::Checkout,
    ports::{
        agenda::{Agenda as _, Kind as Task, Plan, Room},
        ledger::{Change, Committed, Ledger as _},
        outbox::{Attempted, Outbox},
        owners::{Kind, Owner, Owners},
        store::Store,
    },
};

use super::{
    StoreUnderTest,
    agenda::remote,
    fixtures::{ALICE, Commits as _, at, cart, checkout, hours, kept, key, movement, now, order, paying},
};

const ROOM: Room<'_> = Room { kinds: &Task::ALL, per_lane: 1_000, total: 1_000, except: &[] };

fn other() -> ShopId {
    "other-shop".parse().expect("valid")
}

/// The documents, notes, answers and owners that both shops store under the same names. `lines` tells them apart.
async fn fill(store: &impl Store, lines: u64) {
    store.plan(Plan::Due(remote("noted").abandonment(now()))).await.expect("plans");
    let change = Change {
        cart: at(Cart { lines_ever: lines, ..cart(ALICE, "cart_1") }, 0),
        checkout: at(Checkout { state: paying("chk_1", now()), ..checkout(ALICE, "chk_1", Some("cart_1")) }, 0),
        order: at(order(ALICE, "ord_1", "chk_0"), 0),
        stock: vec![movement("a-0", -1)],
        ..Change::default()
    };
    let answer = (key(ALICE, "chk_1", "k"), kept(&lines.to_string()));
    assert_eq!(store.commit(change, Some(answer)).await.expect("commits"), Committed::Done);
    let owner = Owner { platform: lines.to_string(), release: Release::NEWEST, mandates: false };
    assert_eq!(Owners::claim(store, Kind::Cart, "c", &owner, now()).await.expect("claims"), owner);
}

/// Nothing that a shop stores is found, claimed, repeated, moved or forgotten through the store of another shop.
pub async fn what_one_shop_stores_does_not_exist_in_another<T: StoreUnderTest<Store: Store>>(subject: &T) {
    subject.count(&[("a-0", 5)]).await;
    let (mine, theirs) = (subject.open().await, subject.open_shop(other()).await);
    fill(&*mine, 7).await;
    let event = mine.first("ord_1", now()).await.expect("reads").expect("one waits").webhook_event;

    assert_eq!(theirs.cart(ALICE, "cart_1").await.expect("reads"), None);
    assert_eq!(theirs.checkout(ALICE, "chk_1").await.expect("reads"), None);
    assert_eq!(theirs.checkout_of_cart(ALICE, "cart_1").await.expect("reads"), None);
    assert_eq!(theirs.order(ALICE, "ord_1").await.expect("reads"), None);
    assert_eq!(theirs.cart_by_token("token of cart_1").await.expect("reads"), None);
    assert_eq!(theirs.checkout_by_token("token of chk_1").await.expect("reads"), None);
    assert_eq!(theirs.order_by_token("token of ord_1").await.expect("reads"), None);
    assert_eq!(theirs.kept(&key(ALICE, "chk_1", "k")).await.expect("reads"), None);
    assert_eq!(theirs.stock(&["a-0"]).await.expect("reads"), [None]);
    assert_eq!(theirs.tasks(9).await.expect("reads"), []);
    assert_eq!(theirs.tallies().await.expect("reads"), []);
    assert_eq!(theirs.due_tasks(now() + hours(9), ROOM).await.expect("reads"), []);
    assert_eq!(theirs.owned(Kind::Cart, "c").await.expect("reads"), None);
    assert!(theirs.first("ord_1", now()).await.expect("reads").is_none());
    assert!(theirs.webhook_events(9).await.expect("reads").is_empty());

    let again = Attempted::Again { problem: "theirs".into() };
    assert!(!theirs.record(&event, again).await.expect("writes"));
    assert!(!theirs.resend(&event.id, now()).await.expect("writes"));
    theirs.plan(Plan::Done(Task::Abandon, "noted".into())).await.expect("writes");
    assert!(!theirs.retry(Task::Settle, "chk_1", now()).await.expect("writes"));
    assert!(!theirs.wake("attempt at chk_1", now()).await.expect("writes"));
    Owners::extend(&*theirs, Kind::Cart, "c", now() + hours(9)).await.expect("writes");
    let stale = Change { cart: at(cart(ALICE, "cart_1"), 1), ..Change::default() };
    assert_eq!(theirs.commits(stale).await, Committed::Stale);
    let sold = Change { stock: vec![movement("a-0", -1)], ..Change::default() };
    assert_eq!(theirs.commits(sold).await, Committed::Done, "it is not counted there");

    let due = mine.due_tasks(now() + hours(9), ROOM).await.expect("reads");
    assert_eq!(due.iter().map(|task| &*task.key).collect::<Vec<_>>(), ["noted", "ord_1", "chk_1"]);
    assert_eq!(mine.owned(Kind::Cart, "c").await.expect("reads").expect("owned").until, now());
    assert_eq!(mine.stock(&["a-0"]).await.expect("reads"), [Some(4)]);
    assert_eq!(mine.first("ord_1", now()).await.expect("reads").expect("it waits").webhook_event.id, event.id);
}

/// Identifiers, tokens, idempotency keys, references and owners of one shop are free in another.
pub async fn the_same_names_mean_something_else_in_another_shop<T: StoreUnderTest<Store: Store>>(subject: &T) {
    subject.count(&[("a-0", 5)]).await;
    let shops = [(subject.open().await, 7), (subject.open_shop(other()).await, 8)];
    for (store, lines) in &shops {
        fill(&**store, *lines).await;
    }
    for (store, lines) in &shops {
        let cart = store.cart(ALICE, "cart_1").await.expect("reads").expect("stored").document;
        assert_eq!(cart.lines_ever, *lines);
        let cart = store.cart_by_token("token of cart_1").await.expect("reads").expect("stored").document;
        assert_eq!(cart.lines_ever, *lines);
        assert!(store.checkout_of_cart(ALICE, "cart_1").await.expect("reads").is_some());
        assert!(store.checkout_by_token("token of chk_1").await.expect("reads").is_some());
        assert!(store.order_by_token("token of ord_1").await.expect("reads").is_some());
        assert_eq!(store.kept(&key(ALICE, "chk_1", "k")).await.expect("reads"), Some(kept(&lines.to_string())));
        let owned = store.owned(Kind::Cart, "c").await.expect("reads").expect("owned");
        assert_eq!(owned.owner.platform, lines.to_string());
        assert_eq!(store.webhook_events(9).await.expect("reads").len(), 1);
        assert_eq!(store.tasks(9).await.expect("reads").len(), 3);
    }
    assert_eq!(shops[0].0.stock(&["a-0"]).await.expect("reads"), [Some(4)]);
}
