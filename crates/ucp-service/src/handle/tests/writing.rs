//! Calls that change something: what is kept under their keys, and what becomes of them when anything fails.

use tokio::task::JoinHandle;
use ucp_core::checkout::{Checkout, Status};
use ucp_testkit::{Course, Fate, PATIENCE, wait};
use ucp_trust::limit::{InFlight, Share};

use super::*;

/// A ticket for 20 dollars, sold to two platforms.
struct Fixture {
    shop: TestShop,
    handler: CallHandler,
}

impl Fixture {
    fn new() -> Self {
        let shop = TestShop::new(Terms::default());
        shop.shelf.put("ticket", 2_000);
        shop.shelf.change("ticket", |variant| variant.digital = true);
        let handler = process(&shop);
        Self { shop, handler }
    }

    async fn send(&self, call: Call) -> Result<Encoded, Refusal> {
        sent(&self.handler, call).await
    }

    /// Sends a call, and lets it go on alone.
    fn spawn(&self, call: Call) -> JoinHandle<Result<Encoded, Refusal>> {
        let handler = self.handler.clone();
        tokio::spawn(async move { sent(&handler, call).await })
    }

    /// A checkout that can be completed.
    async fn begun(&self) -> String {
        id_of(&self.send(creating("begun", 1)).await.expect("created"))
    }

    fn statuses(&self) -> Vec<Status> {
        self.shop.ledger.checkouts().iter().map(Checkout::status).collect()
    }

    /// Nothing was bought twice.
    fn bought_once(&self) {
        assert_eq!(self.shop.handler.attempts(), 1);
        assert_eq!((self.shop.handler.captures().len(), self.shop.ledger.orders().len()), (1, 1));
    }
}

/// A gateway of its own in front of a shop.
fn process(shop: &TestShop) -> CallHandler {
    before(shop.backend(), Policy::Require)
}

async fn sent(handler: &CallHandler, call: Call) -> Result<Encoded, Refusal> {
    handler.handle(call).await.map(|reply| reply.encoded).map_err(|fault| fault.refusal)
}

fn keyed(key: &str, call: Call) -> Call {
    Call { idempotency_keys: vec![Stated { place: "the test", text: key.into() }], ..call }
}

fn goods(quantity: u64) -> Value {
    json!({
        "line_items": [{ "item": { "id": "ticket" }, "quantity": quantity }],
        "buyer": { "email": "buyer@example.com" },
    })
}

fn creating(key: &str, quantity: u64) -> Call {
    keyed(key, asking(Operation::CreateCheckout, goods(quantity), Some(BUYING)))
}

fn updating(key: &str, id: &str, quantity: u64) -> Call {
    about(id, keyed(key, asking(Operation::UpdateCheckout, goods(quantity), Some(BUYING))))
}

fn completing(key: &str, id: &str) -> Call {
    let card = json!({
        "id": "instrument_1", "handler_id": "scripted", "type": "card", "selected": true,
        "credential": { "type": "token", "token": "tok_secret" },
    });
    let payload = json!({ "payment": { "instruments": [card] } });
    about(id, keyed(key, asking(Operation::CompleteCheckout, payload, Some(BUYING))))
}

fn canceling(operation: Operation, key: &str, id: &str) -> Call {
    about(id, keyed(key, asking(operation, json!({}), Some(BUYING))))
}

fn about(id: &str, call: Call) -> Call {
    Call { id: Some(id.into()), ..call }
}

fn read(encoded: &Encoded) -> Value {
    serde_json::from_str(&encoded.document).expect("answers are JSON")
}

fn id_of(encoded: &Encoded) -> String {
    read(encoded)["id"].as_str().expect("an id").to_owned()
}

/// Lets everything that can go on go on.
async fn settled() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_retry_is_given_the_same_answer_to_the_byte() {
    let shop = Fixture::new();
    let first = shop.send(creating("key", 2)).await.expect("created");
    assert_eq!(first.status, 201);
    let mut turned = goods(2);
    let members = turned.as_object_mut().expect("an object");
    let lines = members.shift_remove("line_items").expect("lines");
    members.insert("line_items".into(), lines);
    shop.shelf_changed();
    for retry in [
        creating("key", 2),
        keyed("key", asking(Operation::CreateCheckout, turned, Some(BUYING))),
        Call { endpoint: Endpoint::Of(Release::V2026_04_08), ..creating("key", 2) },
        Call { languages: vec!["de".into()], ..creating("key", 2) },
    ] {
        assert_eq!(shop.send(retry).await, Ok(first.clone()));
    }
    assert_eq!(shop.shop.ledger.checkouts().len(), 1);
    // After a restart too.
    assert_eq!(sent(&process(&shop.shop), creating("key", 2)).await, Ok(first));
}

impl Fixture {
    /// Changes the shop, so that an earlier request would get another response now.
    fn shelf_changed(&self) {
        self.shop.shelf.reprice("ticket", 2_500);
        self.shop.clock.advance(10);
    }
}

#[tokio::test]
async fn business_errors_are_answers_too() {
    let shop = Fixture::new();
    let weed = json!({ "line_items": [{ "item": { "id": "weed" }, "quantity": 1 }] });
    let call = || keyed("key", asking(Operation::CreateCheckout, weed.clone(), Some(BUYING)));
    let first = shop.send(call()).await.expect("an answer");
    assert_eq!((first.status, &read(&first)["ucp"]["status"]), (200, &json!("error")));
    shop.shop.shelf.put("weed", 1);
    assert_eq!(shop.send(call()).await, Ok(first));
    let id = shop.begun().await;
    shop.send(canceling(Operation::CancelCheckout, "key", &id)).await.expect("canceled");
    let late = shop.send(completing("key", &id)).await.expect("an answer");
    assert_eq!(late.status, 409, "trap T-21");
    assert_eq!(shop.send(completing("key", &id)).await, Ok(late));
}

#[tokio::test]
async fn a_key_is_good_for_one_request() {
    let shop = Fixture::new();
    let first = shop.send(creating("key", 1)).await.expect("created");
    for _ in 0..2 {
        assert_eq!(shop.send(creating("key", 2)).await.expect_err("another request").code, Code::IdempotencyConflict);
    }
    assert_eq!(shop.send(creating("key", 1)).await, Ok(first));
    assert_eq!(shop.shop.ledger.checkouts().len(), 1);
}

#[tokio::test]
async fn a_key_means_something_per_platform_and_operation() {
    let shop = Fixture::new();
    let mine = shop.send(creating("key", 1)).await.expect("created");
    let others =
        Call { profiles: asking(Operation::CreateCheckout, json!({}), Some(OTHER)).profiles, ..creating("key", 2) };
    let others = shop.send(others).await.expect("created");
    let cart = |key| keyed(key, asking(Operation::CreateCart, goods(3), Some(BUYING)));
    let carts = [shop.send(cart("key")).await.expect("created"), shop.send(cart("other")).await.expect("created")];
    let ids: Vec<_> = [&mine, &others, &carts[0], &carts[1]].map(id_of).into();
    assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
    let cancel = async |cart| shop.send(canceling(Operation::CancelCart, "key", &id_of(cart))).await;
    assert_eq!(id_of(&cancel(&carts[0]).await.expect("canceled")), id_of(&carts[0]));
    assert_eq!(cancel(&carts[1]).await.expect_err("refused").code, Code::IdempotencyConflict);
    assert_eq!(shop.send(creating("key", 1)).await, Ok(mine));
}

#[tokio::test]
async fn what_is_made_without_a_key_is_made_again() {
    let shop = Fixture::new();
    let call = || asking(Operation::CreateCheckout, goods(1), Some(BUYING));
    let first = shop.send(call()).await.expect("created");
    assert_ne!(id_of(&first), id_of(&shop.send(call()).await.expect("created")));
}

#[tokio::test]
async fn what_cannot_be_undone_needs_a_key() {
    let shop = Fixture::new();
    let id = shop.begun().await;
    for operation in [Operation::CompleteCheckout, Operation::CancelCheckout, Operation::CancelCart] {
        let call = Call { operation, idempotency_keys: Vec::new(), ..completing("", &id) };
        let refusal = shop.send(call).await.expect_err("refused");
        assert_eq!(refusal.code, Code::InvalidRequest);
        assert!(refusal.content.contains("idempotency key"), "{}", refusal.content);
    }
    assert_eq!((shop.statuses(), shop.shop.handler.attempts()), (vec![Status::ReadyForComplete], 0));
}

#[tokio::test]
async fn a_request_that_makes_no_sense_burns_no_key() {
    let shop = Fixture::new();
    let nonsense = keyed("key", asking(Operation::CreateCheckout, json!({ "line_items": 3 }), Some(BUYING)));
    assert_eq!(shop.send(nonsense).await.expect_err("refused").code, Code::InvalidRequest);
    let nothing = keyed("key", asking(Operation::CreateCheckout, json!({ "line_items": [] }), Some(BUYING)));
    assert_eq!(shop.send(nothing).await.expect_err("refused").code, Code::InvalidRequest);
    assert_eq!(shop.send(creating("key", 1)).await.expect("created").status, 201);
}

#[tokio::test]
async fn a_retry_that_comes_too_early_waits_for_the_answer() {
    let shop = Fixture::new();
    let id = shop.begun().await;
    shop.shop.handler.hold(true);
    let first = shop.spawn(completing("key", &id));
    shop.shop.handler.begun(1).await;
    let retry = shop.spawn(completing("key", &id));
    let other = shop.spawn(completing("other-key", &id));
    settled().await;
    assert!(!retry.is_finished() && !other.is_finished());
    shop.shop.handler.hold(false);
    let first = first.await.expect("ran").expect("completed");
    assert_eq!(read(&first)["status"], "completed");
    assert_eq!(retry.await.expect("ran"), Ok(first));
    assert_eq!(other.await.expect("ran").expect("an answer").status, 409);
    shop.bought_once();
}

#[tokio::test]
async fn a_write_that_outlives_its_caller_still_counts_as_in_flight() {
    let shop = Fixture::new();
    let id = shop.begun().await;
    let places = InFlight::new(1);
    let permit = places.try_acquire(None).expect("a place");
    shop.shop.handler.hold(true);
    let first = shop.spawn(Call {
        admission: Admission::new(Principal::Anonymous, Share::Keyed(0), permit),
        ..completing("key", &id)
    });
    shop.shop.handler.begun(1).await;
    first.abort();
    assert!(first.await.expect_err("hung up").is_cancelled());
    assert!(places.try_acquire(None).is_err(), "the payment is still under way");
    shop.shop.handler.hold(false);
    let _permit = wait::until("the place to be free again", PATIENCE, async || places.try_acquire(None).ok()).await;
    shop.bought_once();
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_ever() {
    let shop = Fixture::new();
    let (id, elsewhere) = (shop.begun().await, id_of(&shop.send(creating("key", 1)).await.expect("created")));
    shop.shop.handler.hold(true);
    let first = shop.spawn(completing("key", &id));
    shop.shop.handler.begun(1).await;
    let refusal = shop.send(completing("key", &id)).await.expect_err("in vain");
    assert_eq!(refusal.code, Code::Unavailable);
    assert!(refusal.retry_after.is_some());
    assert_eq!(shop.send(updating("key", &elsewhere, 2)).await.expect("another resource").status, 200);
    shop.shop.handler.hold(false);
    let first = first.await.expect("ran").expect("completed");
    assert_eq!(shop.send(completing("key", &id)).await, Ok(first));
    shop.bought_once();
}

#[tokio::test]
async fn a_caller_who_hangs_up_stops_nothing() {
    let shop = Fixture::new();
    let id = shop.begun().await;
    shop.shop.handler.hold(true);
    let first = shop.spawn(completing("key", &id));
    shop.shop.handler.begun(1).await;
    first.abort();
    assert!(first.await.expect_err("hung up").is_cancelled());
    shop.shop.handler.hold(false);
    settled().await;
    assert_eq!(shop.statuses(), [Status::Completed]);
    let commits = shop.shop.ledger.commits();
    let retry = shop.send(completing("key", &id)).await.expect("an answer");
    assert_eq!(read(&retry)["status"], "completed");
    assert_eq!(shop.shop.ledger.commits(), commits, "it was kept");
    shop.bought_once();
}

#[tokio::test]
async fn without_the_books_nothing_is_done() {
    let shop = Fixture::new();
    let id = shop.begun().await;
    let calls = || [creating("key", 1), updating("key", &id, 2), completing("key", &id)];
    let commits = shop.shop.ledger.commits();
    shop.shop.ledger.fail_reads(true);
    for call in calls() {
        assert_eq!(shop.send(call).await.expect_err("refused").code, Code::Unavailable);
    }
    shop.shop.ledger.recover();
    shop.shop.ledger.decide_fates(|_| Fate::FailsBefore);
    for call in calls() {
        let refusal = shop.send(call).await.expect_err("refused");
        assert_eq!((refusal.code, refusal.retry_after), (Code::Unavailable, Some(5)));
    }
    assert_eq!((shop.shop.ledger.commits(), shop.shop.handler.attempts()), (commits, 0));
    shop.shop.ledger.recover();
    for (call, status) in calls().into_iter().zip([201, 200, 200]) {
        assert_eq!(shop.send(call).await.expect("carried out").status, status);
    }
}

#[tokio::test]
async fn what_was_done_and_never_told_is_told_to_the_retry() {
    let shop = Fixture::new();
    shop.shop.ledger.decide_fates(|_| Fate::FailsAfter);
    assert_eq!(shop.send(creating("key", 1)).await.expect_err("untold").code, Code::Unavailable);
    shop.shop.ledger.recover();
    let commits = shop.shop.ledger.commits();
    let created = shop.send(creating("key", 1)).await.expect("created");
    assert_eq!((created.status, shop.shop.ledger.commits()), (201, commits));
    assert_eq!(shop.shop.ledger.checkouts()[0].id, id_of(&created));
}

#[tokio::test]
async fn a_completion_that_is_interrupted_anywhere_is_finished_by_its_retry() {
    for (commit, fate, paid) in
        [(0, Fate::FailsBefore, 0), (0, Fate::FailsAfter, 0), (1, Fate::FailsBefore, 1), (1, Fate::FailsAfter, 1)]
    {
        let shop = Fixture::new();
        let id = shop.begun().await;
        shop.shop.ledger.decide_fates(move |number| if number == commit { fate } else { Fate::Succeeds });
        assert_eq!(shop.send(completing("key", &id)).await.expect_err("interrupted").code, Code::Unavailable);
        assert_eq!(shop.shop.handler.captures().len(), paid);
        shop.shop.ledger.recover();
        // A payment that was only written down could still be made by whoever wrote it, for a while.
        shop.shop.clock.advance(61);
        let mut last = shop.send(completing("key", &id)).await.expect("an answer");
        if read(&last)["status"] == "ready_for_complete" {
            assert_eq!(read(&last)["messages"][0]["code"], "completion_not_sent");
            last = shop.send(completing("new-key", &id)).await.expect("an answer");
        }
        assert_eq!(read(&last)["status"], "completed", "{commit} {fate:?}");
        shop.bought_once();
    }
}

#[tokio::test]
async fn a_purchase_that_others_brought_to_its_end_is_told_to_the_retry() {
    let shop = Fixture::new();
    let id = shop.begun().await;
    shop.shop.ledger.decide_fates(|number| if number == 1 { Fate::FailsBefore } else { Fate::Succeeds });
    assert_eq!(shop.send(completing("key", &id)).await.expect_err("interrupted").code, Code::Unavailable);
    shop.shop.ledger.recover();
    shop.shop.clock.advance(1);
    assert_eq!(shop.shop.carry_out_all().await, Ok(1));
    let retry = shop.send(completing("key", &id)).await.expect("an answer");
    assert_eq!((retry.status, &read(&retry)["status"]), (200, &json!("completed")));
    assert_eq!(shop.send(completing("new-key", &id)).await.expect("an answer").status, 409);
    shop.bought_once();
}

/// A call pays once, also where others find out first that it did so in vain.
#[tokio::test]
async fn a_refusal_that_others_found_out_is_not_paid_against() {
    for (course, status) in [(Course::Declined, "incomplete"), (Course::Challenged, "requires_escalation")] {
        let shop = Fixture::new();
        let id = shop.begun().await;
        shop.shop.handler.script([course, Course::Captured]);
        shop.shop.ledger.decide_fates(|number| if number == 1 { Fate::FailsBefore } else { Fate::Succeeds });
        assert_eq!(shop.send(completing("key", &id)).await.expect_err("interrupted").code, Code::Unavailable);
        shop.shop.ledger.recover();
        shop.shop.clock.advance(1);
        assert_eq!(shop.shop.carry_out_all().await, Ok(1));
        let retry = shop.send(completing("key", &id)).await.expect("an answer");
        assert_eq!((retry.status, &read(&retry)["status"]), (200, &json!(status)));
        assert_eq!((shop.shop.handler.attempts(), shop.shop.handler.captures().len()), (1, 0), "{status}");
    }
}

#[tokio::test]
async fn two_processes_make_one_thing_of_one_key() {
    let shop = Fixture::new();
    let other = process(&shop.shop);
    let (one, two) = wait::both(shop.send(creating("key", 1)), sent(&other, creating("key", 1))).await;
    assert_eq!(one.expect("created"), two.expect("created"));
    assert_eq!(shop.shop.ledger.checkouts().len(), 1);
    let (one, two) = wait::both(shop.send(creating("other", 1)), sent(&other, creating("other", 2))).await;
    let conflicts = [one, two].into_iter().filter_map(Result::err).map(|refusal| refusal.code).collect::<Vec<_>>();
    assert_eq!(conflicts, [Code::IdempotencyConflict]);
    assert_eq!(shop.shop.ledger.checkouts().len(), 2);
}

#[tokio::test]
async fn two_processes_change_one_checkout_one_after_the_other() {
    let shop = Fixture::new();
    let (id, other) = (shop.begun().await, process(&shop.shop));
    let (one, two) = wait::both(shop.send(updating("a", &id, 3)), sent(&other, updating("b", &id, 4))).await;
    assert_eq!((one.expect("changed").status, two.expect("changed").status), (200, 200));
    let (one, two) =
        wait::both(shop.send(updating("c", &id, 5)), sent(&other, canceling(Operation::CancelCheckout, "d", &id)))
            .await;
    let statuses = [one, two].map(|answer| answer.expect("an answer").status);
    assert!(statuses == [200, 200] || statuses == [409, 200], "{statuses:?}");
    assert_eq!(shop.statuses(), [Status::Canceled]);
}

#[tokio::test]
async fn two_processes_never_pay_twice() {
    for (one, two) in [("key", "key"), ("key", "other")] {
        let shop = Fixture::new();
        let (id, other) = (shop.begun().await, process(&shop.shop));
        shop.shop.handler.script([Course::Captured, Course::Captured]);
        let (first, second) = wait::both(shop.send(completing(one, &id)), sent(&other, completing(two, &id))).await;
        let (first, second) = (first.expect("an answer"), second.expect("an answer"));
        if one == two {
            assert_eq!(first, second);
        }
        shop.shop.clock.advance(1);
        shop.shop.carry_out_all().await.expect("the books are fine");
        assert_eq!(shop.statuses(), [Status::Completed]);
        shop.bought_once();
    }
}

#[tokio::test]
async fn whoever_looks_is_told_what_the_processor_says_then() {
    let shop = Fixture::new();
    let id = shop.begun().await;
    shop.shop.handler.script([Course::Awaiting(1)]);
    let mut status = read(&shop.send(completing("pay", &id)).await.expect("waits"))["status"].take();
    for expected in ["requires_escalation", "requires_escalation", "completed"] {
        assert_eq!(status, expected);
        let looking = about(&id, asking(Operation::GetCheckout, json!({}), Some(BUYING)));
        status = read(&shop.send(looking).await.expect("is there"))["status"].take();
        shop.shop.clock.advance(2);
    }
    shop.bought_once();
}
