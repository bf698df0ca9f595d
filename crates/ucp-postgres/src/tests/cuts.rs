//! Connections that are cut between any two messages: what was answered as done is done once, and what is not known is found out.

use ucp_core::ports::{
    agenda::{Agenda as _, Claim, Kind, Recorded, Room},
    ledger::{Change, Committed, Ledger as _},
    outbox::{Attempted, Outbox as _, State, WebhookMessage},
    store::{Forwarded, Store as _},
};
use ucp_testkit::{
    postgres::{self, CuttingProxy, Side},
    store::fixtures::{ALICE, at, checkout, kept, key, movement, now, order},
};

use super::{count, options, prefix};
use crate::{Options, PostgresStore};

/// More messages than any operation has.
const MOST: usize = 14;

/// Opens a store through a proxy, as the only connection.
async fn through_proxy(named: bool) -> Option<(CuttingProxy, PostgresStore, PostgresStore)> {
    let url = postgres::database()?;
    let shop: ucp_core::ShopId = prefix().parse().expect("valid");
    let direct = PostgresStore::open(&options(), shop.clone()).await.expect("opens");
    let server: url::Port = url::port(url);
    let proxy = CuttingProxy::start(server).await;
    let mut options: Options =
        url.replace(&format!(":{server}"), &format!(":{}", proxy.port())).parse().expect("an address");
    options.connections = 1;
    options.named = named;
    let store = PostgresStore::open(&options, shop).await.expect("opens");
    Some((proxy, store, direct))
}

/// The port in an address.
mod url {
    pub(super) type Port = u16;

    pub(super) fn port(url: &str) -> Port {
        let host = url.rsplit('@').next().unwrap_or_default();
        let port = host.split_once(':').and_then(|(_, rest)| rest.split('/').next()?.parse().ok());
        port.unwrap_or(5432)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_connection_is_cut_at_any_message_is_carried_out_once() {
    for named in [false, true] {
        let Some((proxy, store, direct)) = through_proxy(named).await else { return };
        count(&direct, &[("a-0", 1_000)]).await;
        let mut sold = 0;
        for side in [Side::Client, Side::Server] {
            for messages in 0..MOST {
                for with_key in [true, false] {
                    let id = format!("{side:?}-{messages}-{with_key}");
                    let change = Change {
                        checkout: at(checkout(ALICE, &id, None), 0),
                        order: at(order(ALICE, &id, &id), 0),
                        stock: vec![movement("a-0", -1)],
                        ..Change::default()
                    };
                    let keep = with_key.then(|| (key(ALICE, &id, &id), kept(&id)));
                    // A connection that was given back, so that the first message is one of the commit.
                    store.ping().await.expect("reaches");
                    proxy.cut_after(side, messages);
                    let committed = store.commit(change.clone(), keep.clone()).await.expect("finds out");
                    let spared = proxy.spare();
                    assert_eq!(committed, Committed::Done, "{id}");
                    sold += 1;
                    let left = direct.stock(&["a-0"]).await.expect("reads");
                    assert_eq!(left, [Some(1_000 - sold)], "{id}: carried out once");
                    assert_eq!(direct.order(ALICE, &id).await.expect("reads").map(|order| order.version), Some(1));
                    if let Some((key, kept)) = keep {
                        assert_eq!(direct.kept(&key).await.expect("reads"), Some(kept.clone()), "{id}");
                        let again = store.commit(change, Some((key, kept.clone()))).await.expect("commits");
                        assert_eq!(again, Committed::Kept(kept), "{id}: a second call is another one");
                    } else {
                        assert_eq!(store.commit(change, None).await.expect("commits"), Committed::Stale, "{id}");
                    }
                    assert!(messages < 3 || spared || proxy.cuts() > 0);
                }
            }
        }
        assert!(proxy.cuts() >= 20, "{} cuts", proxy.cuts());
        let events = direct.webhook_events(10_000).await.expect("reads");
        assert_eq!(events.len() as u64, sold, "one webhook event for each order");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhook_events_are_claimed_kept_and_recorded_once_whatever_is_cut() {
    let Some((proxy, store, direct)) = through_proxy(false).await else { return };
    let message = |text: &str| WebhookMessage { release: ucp_core::Release::NEWEST, body: text.as_bytes().to_vec() };
    for side in [Side::Client, Side::Server] {
        for messages in 0..14 {
            let id = uuid::Uuid::new_v4().to_string();
            let forwarded = Forwarded {
                id: id.clone(),
                owner: ALICE.into(),
                order_id: id.clone(),
                webhook_message: message("theirs"),
                at: now(),
            };
            let cut = async || {
                store.ping().await.expect("reaches");
                proxy.cut_after(side, messages);
            };
            cut().await;
            assert!(store.forward(forwarded.clone()).await.expect("finds out"), "{side:?} {messages}");
            proxy.spare();
            assert!(!store.forward(forwarded).await.expect("writes"), "it is there");
            let room = Room { kinds: &[Kind::Tell], per_lane: 9, total: 9, except: &[] };
            let due = direct.due_tasks(now(), room).await.expect("reads");
            assert_eq!(due.len(), 1);
            let claim = Claim { claimant: format!("me {messages}"), until: now() + std::time::Duration::from_secs(9) };
            cut().await;
            let claimed = store.claim_tasks(due, now(), &claim).await.expect("finds out");
            assert_eq!(claimed.len(), 1, "{side:?} {messages}: what was claimed is known");
            let event = direct.first(&id, now()).await.expect("reads").expect("it waits").webhook_event;
            cut().await;
            let settled = Attempted::Settled { state: State::Delivered, at: now(), problem: None };
            assert!(store.record(&event, settled.clone()).await.expect("finds out"), "{side:?} {messages}");
            proxy.spare();
            assert!(!store.record(&event, settled).await.expect("writes"), "it does not wait any more");
            assert!(
                direct.record_task(Kind::Tell, &id, &claim.claimant, Recorded::Done).await.expect("records"),
                "it is claimed"
            );
            let told = direct.webhook_events(1).await.expect("reads").remove(0);
            assert_eq!((told.attempts, told.state), (1, State::Delivered), "{side:?} {messages}");
        }
    }
    assert!(proxy.cuts() >= 20, "{} cuts", proxy.cuts());
}
