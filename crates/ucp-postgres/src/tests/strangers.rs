//! Names that come from outside, and what callers without a credential may hold.

use ucp_core::ports::ledger::{Change, Committed, Full, Key, Ledger as _};
use ucp_testkit::{
    postgres,
    store::fixtures::{ALICE, at, cart, holder, kept},
};

use super::{options, prefix};
use crate::PostgresStore;

async fn store() -> Option<PostgresStore> {
    postgres::database()?;
    Some(PostgresStore::open(&options(), prefix().parse().expect("valid")).await.expect("opens"))
}

#[tokio::test]
async fn names_of_any_bytes_and_any_length_are_told_apart() {
    let Some(store) = store().await else { return };
    let long = |last: char| format!("{}{last}", "x".repeat(6_000));
    let names = ["\0", "\u{1}0", "\u{1}", "a\0", "a", "", "%", "_", "'; DROP TABLE kept; --", &long('a'), &long('b')];
    for (nth, name) in names.iter().enumerate() {
        let parts = [name.to_owned(), ALICE, "plain"];
        // As the owner, and as the key.
        for turn in [0, 1] {
            let part = |at: usize| parts[(at + turn) % parts.len()].to_owned();
            let key = Key { owner: part(0), operation: "create_cart", resource: part(1), key: part(2) };
            let answer = kept(&format!("{nth} {turn} \0"));
            assert_eq!(store.kept(&key).await.expect("reads"), None, "{name:.20?}");
            let committed = store.commit(Change::default(), Some((key.clone(), answer.clone()))).await;
            assert_eq!(committed.expect("commits"), Committed::Done, "{name:.20?}");
            assert_eq!(store.kept(&key).await.expect("reads"), Some(answer), "byte by byte");
        }
        assert_eq!(store.cart(name, name).await.expect("reads"), None);
        assert_eq!(store.cart_by_token(name).await.expect("reads"), None);
        let change = Change { cart: at(cart(&format!("owner {name}"), name), 0), ..Change::default() };
        assert_eq!(store.commit(change, None).await.expect("commits"), Committed::Done);
        let stored = store.cart(&format!("owner {name}"), name).await.expect("reads").expect("is there");
        assert_eq!((&*stored.document.id, stored.version), (*name, 1));
    }
}

#[tokio::test]
async fn a_caller_without_a_credential_holds_so_much_and_no_more() {
    let Some(store) = store().await else { return };
    let holder = |open, bytes| holder("203.0.113.7", open, bytes);
    let change = |id: &str, version, holder| Change { cart: at(cart(ALICE, id), version), holder, ..Change::default() };
    let commit = async |change, keep| store.commit(change, keep).await.expect("commits");
    assert_eq!(commit(change("1", 0, holder(2, 1 << 20)), None).await, Committed::Done);
    assert_eq!(commit(change("2", 0, holder(2, 1 << 20)), None).await, Committed::Done);
    assert_eq!(commit(change("3", 0, holder(2, 1 << 20)), None).await, Committed::Full(Full::Open));
    assert_eq!(commit(change("2", 1, holder(2, 1 << 20)), None).await, Committed::Done, "what is there can be changed");
    assert_eq!(commit(change("3", 0, holder(3, 10)), None).await, Committed::Full(Full::Bytes));
    assert_eq!(commit(change("2", 2, holder(2, 10)), None).await, Committed::Done, "it grows by nothing");
    assert_eq!(commit(change("2", 2, holder(2, 10)), None).await, Committed::Stale);
    let key = Key { owner: ALICE.into(), operation: "create_cart", resource: String::new(), key: "k".into() };
    let answer = kept(&"long ".repeat(1_000));
    let keep = Some((key.clone(), answer.clone()));
    assert_eq!(commit(change("4", 0, holder(9, 5_000)), keep.clone()).await, Committed::Full(Full::Bytes));
    assert_eq!(commit(change("4", 0, holder(9, 50_000)), keep.clone()).await, Committed::Done);
    assert_eq!(
        commit(change("5", 0, holder(0, 0)), keep).await,
        Committed::Kept(answer),
        "an answer comes before all else"
    );
    assert_eq!(commit(change("6", 0, None), None).await, Committed::Done, "others are counted to nobody");
}
