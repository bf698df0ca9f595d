//! Rules of the [`Owners`]: who claims something first has it.

use jiff::{SignedDuration, Timestamp};
use ucp_core::{
    Release,
    ports::owners::{Kind, Owned, Owner, Owners},
};

use super::StoreUnderTest;
use crate::{PATIENCE, within};

fn owner(name: &str) -> Owner {
    Owner { platform: name.to_owned(), release: Release::V2026_01_23, mandates: name == "a" }
}

fn days(days: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * days)
}

/// The first claim of something of a kind holds, also over a restart; later ones yield its owner.
pub async fn the_first_who_claims_something_has_it_for_good<T: StoreUnderTest<Store: Owners>>(subject: &T) {
    let store = subject.open().await;
    assert_eq!(store.owned(Kind::Cart, "c").await.expect("reads"), None);
    let claim = async |name| store.claim(Kind::Cart, "c", &owner(name), days(3)).await.expect("writes");
    assert_eq!(claim("a").await, owner("a"));
    assert_eq!(claim("b").await, owner("a"));
    assert_eq!(store.owned(Kind::Checkout, "c").await.expect("reads"), None, "another kind of thing");
    for other in [Kind::Order, Kind::Completion, Kind::Purchase] {
        assert_eq!(store.owned(other, "c").await.expect("reads"), None, "another kind of thing");
    }
    assert_eq!(store.owned(Kind::Cart, "C").await.expect("reads"), None, "another name");
    drop(store);
    let kept = subject.open().await.owned(Kind::Cart, "c").await.expect("reads");
    assert_eq!(kept, Some(Owned { owner: owner("a"), until: days(3) }), "after a restart");
}

/// Of many who claim something at once, at several handles, all are told the same owner.
pub async fn of_many_who_claim_something_at_once_one_has_it<T: StoreUnderTest<Store: Owners>>(subject: &T) {
    let handles = [subject.open().await, subject.open().await];
    let claims: Vec<_> = (0..20_usize)
        .map(|number| {
            let store = handles[number % handles.len()].clone();
            let own = owner(&number.to_string());
            tokio::spawn(async move { store.claim(Kind::Order, "o", &own, days(3)).await.expect("writes") })
        })
        .collect();
    let mut told = Vec::new();
    for claim in claims {
        told.push(within("a claim", PATIENCE, claim).await.expect("no panic"));
    }
    let owned = handles[1].owned(Kind::Order, "o").await.expect("reads").expect("somebody has it");
    assert_eq!(told, vec![owned.owner; 20]);
}

/// Extending moves a time forward only, and makes nothing belong to anybody.
pub async fn a_time_is_extended_and_never_made_shorter<T: StoreUnderTest<Store: Owners>>(subject: &T) {
    let store = subject.open().await;
    store.claim(Kind::Cart, "c", &owner("a"), days(10)).await.expect("writes");
    store.claim(Kind::Checkout, "c", &owner("b"), days(10)).await.expect("writes");
    for (until, then) in [(20, 20), (15, 20), (21, 21)] {
        store.extend(Kind::Cart, "c", days(until)).await.expect("writes");
        let owned = store.owned(Kind::Cart, "c").await.expect("reads");
        assert_eq!(owned, Some(Owned { owner: owner("a"), until: days(then) }));
    }
    assert_eq!(store.claim(Kind::Cart, "c", &owner("b"), days(99)).await.expect("writes"), owner("a"));
    let owned = store.owned(Kind::Cart, "c").await.expect("reads");
    assert_eq!(owned, Some(Owned { owner: owner("a"), until: days(21) }), "claiming extends nothing");
    let other = store.owned(Kind::Checkout, "c").await.expect("reads");
    assert_eq!(other, Some(Owned { owner: owner("b"), until: days(10) }), "another kind of thing");
    store.extend(Kind::Order, "nothing", days(20)).await.expect("writes");
    assert_eq!(store.owned(Kind::Order, "nothing").await.expect("reads"), None);
}
