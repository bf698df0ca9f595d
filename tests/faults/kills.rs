//! The gateway is killed at random moments while platforms buy.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread::{self, Scope},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    books::{check, settle},
    client::{Call, contents, payment, text},
    process::{Provider, Times, World},
    random::Random,
};

/// Number of concurrent platforms.
const PLATFORMS: u64 = 3;

/// Goods that are there, and some that are not.
const GOODS: &[&str] =
    &["bouquet_roses", "pot_ceramic", "bouquet_sunflowers", "bouquet_tulips", "orchid_white", "gardenias"];

/// Outcomes of payments: most succeed.
const WORDS: &[&str] = &[
    "ok",
    "ok",
    "ok",
    "ok",
    "ok",
    "ok",
    "decline",
    "challenge",
    "pending",
    "refuse_capture",
    "ok+authorize:reset_after",
    "ok+capture:reset_after",
    "ok+authorize:error_before:2+inquire:error_after",
    "ok+capture:slow",
];

/// Kills the gateway `kills` times.
pub(crate) fn at_random(world: &World, random: &Random, kills: u64) -> String {
    let over = AtomicBool::new(false);
    let mut gateway = Some(world.start(false));
    thread::scope(|scope| {
        let stop = shop(scope, world, random, &over);
        for kill in 1..=kills {
            // Most lives are short; in some a payment has the time to fail.
            let life = if random.percent(90) { 10 + random.below(250) } else { 500 + random.below(1_500) };
            thread::sleep(Duration::from_millis(life));
            gateway.take().into_iter().for_each(|gateway| world.kill(gateway));
            if kill % 20 == 0 {
                world.kill_provider();
            }
            gateway = Some(world.start(kill % 4 == 0));
            if kill % 5 == 0 {
                check(world);
                world.clients.replay(random, Some(8));
            }
            assert!(!over.load(Ordering::Relaxed), "a platform failed");
        }
        drop(stop);
    });
    let books = settle(world);
    world.clients.replay(random, None);
    format!("{} orders", books.orders())
}

/// Starts platforms that buy until what is returned is dropped, also because something went wrong.
pub(crate) fn shop<'scope>(
    scope: &'scope Scope<'scope, '_>,
    world: &'scope World,
    random: &Random,
    over: &'scope AtomicBool,
) -> Stop<'scope> {
    for number in 0..PLATFORMS {
        let random = Random::new(random.next() ^ number);
        scope.spawn(move || {
            while !over.load(Ordering::Relaxed) {
                buy(world, &random);
            }
        });
    }
    Stop(over)
}

/// Says that it is over when it is dropped.
pub(crate) struct Stop<'a>(pub(crate) &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One purchase as it may come.
fn buy(world: &World, random: &Random) {
    let clients = &world.clients;
    let goods = || contents(&[(random.of(GOODS), 1 + random.below(2)), (random.of(GOODS), 1)]);
    let (first, second) = (goods(), goods());
    let checkout = if random.percent(20) {
        let cart = clients.ask(random, &Call::keyed("create_cart", "", first.clone(), random.key()));
        let Some(id) = cart["id"].as_str() else { return };
        if random.percent(50) {
            clients.ask(random, &Call::keyed("update_cart", id, second.clone(), random.key()));
        }
        let mut payload = first;
        payload["cart_id"] = id.into();
        clients.ask(random, &Call::keyed("create_checkout", "", payload, random.key()))
    } else {
        clients.ask(random, &Call::keyed("create_checkout", "", first, random.key()))
    };
    // Goods that are sold out make no checkout.
    let Some(id) = checkout["id"].as_str() else { return };
    if random.percent(40) {
        let update = Call::keyed("update_checkout", id, second, random.key());
        let updated = clients.ask(random, &update);
        assert_eq!(text(&updated, "id"), id, "an acknowledged checkout is gone: {updated}");
    }
    if random.percent(30) {
        let seen = clients.ask(random, &Call::reading("get_checkout", id));
        assert_eq!(text(&seen, "id"), id, "an acknowledged checkout is gone: {seen}");
    }
    match random.below(20) {
        0 => return,
        1 | 2 => {
            let canceled = clients.ask(random, &Call::keyed("cancel_checkout", id, Value::Null, random.key()));
            assert_eq!(text(&canceled, "status"), "canceled", "{canceled}");
        }
        _ => {}
    }
    // At Stripe such a payment waits for a buyer, of whom there is none here.
    let waits = |word: &&str| world.provider() == Provider::Stripe && *word == "challenge";
    let first = Some(random.of(WORDS)).filter(|word| !waits(word)).unwrap_or("decline");
    for word in [first, "ok"] {
        let call = Call::keyed("complete_checkout", id, payment(word), random.key());
        let mut document = clients.ask(random, &call);
        for _ in 0..5 {
            if text(&document, "status") != "complete_in_progress" {
                break;
            }
            thread::sleep(Duration::from_millis(50));
            document = clients.ask(random, &Call::reading("get_checkout", id));
        }
        match text(&document, "status") {
            "completed" => {
                let order = text(&document["order"], "id");
                let found = clients.ask(random, &Call::reading("get_order", order));
                assert_eq!((text(&found, "id"), text(&found, "checkout_id")), (order, id), "{found}");
                over(world, random, id);
                return;
            }
            // In doubt, or over, or to be paid in another way.
            "complete_in_progress" | "" => return,
            _ => {}
        }
    }
}

/// Rejects another purchase, a cancellation or a change of what was bought.
fn over(world: &World, random: &Random, id: &str) {
    let call = match random.below(8) {
        0 => Call::keyed("complete_checkout", id, payment("ok"), random.key()),
        1 => Call::keyed("cancel_checkout", id, Value::Null, random.key()),
        2 => Call::keyed("update_checkout", id, contents(&[("pot_ceramic", 1)]), random.key()),
        _ => return,
    };
    let answer = world.clients.ask(random, &call);
    assert_eq!(answer["ucp"]["status"], json!("error"), "{call:?}: {answer}");
}

/// The times with which it is run.
pub(crate) const TIMES: Times = Times { timeout: 1_000, deadline: 2_000, slow: 200 };
