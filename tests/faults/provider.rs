//! A provider that hangs, breaks off, errs and talks nonsense, and gateways that are killed just then.

use std::{thread, time::Duration};

use serde_json::Value;

use crate::{
    books::{check, settle},
    client::{Call, Way, contents, payment, text},
    process::{Times, World},
    random::Random,
};

/// Faults of the provider, at authorizing and at capturing.
pub(crate) const FAULTS: &[&str] = &[
    "hang_before",
    "hang_after",
    "reset_before",
    "reset_after",
    "error_before",
    "error_after",
    "garbage",
    "truncated",
    "slow",
    "late",
];

/// Every fault, once and again and again, at both steps. Killed that many milliseconds after the calls were sent;
/// `None` for not at all.
const KILLS: &[Option<u64>] =
    &[None, Some(5), Some(15), Some(30), Some(50), Some(80), Some(120), Some(200), Some(320), Some(500)];

/// All faults at the same time, each on a checkout of its own, for each moment of a kill.
pub(crate) fn misbehaving(world: &World, random: &Random) -> String {
    let mut combinations = 0;
    let mut gateway = world.start(false);
    for kill in KILLS {
        let mut purchases = Vec::new();
        for step in ["authorize", "capture"] {
            for fault in FAULTS {
                for times in [1, 9] {
                    let create = Call::keyed("create_checkout", "", contents(&[("pot_ceramic", 1)]), random.key());
                    let id = text(&world.clients.ask(random, &create), "id").to_owned();
                    let word = format!("ok+{step}:{fault}:{times}");
                    purchases.push(Call::keyed("complete_checkout", &id, payment(&word), random.key()));
                }
            }
        }
        combinations += purchases.len();
        let address = gateway.address;
        let mut running = Some(gateway);
        thread::scope(|scope| {
            for call in &purchases {
                let way = random.way();
                scope.spawn(move || {
                    // Known, or not known yet; never guessed, and hardly ever an answer when it is killed.
                    if let Ok(answer) = world.clients.attempt(address, way, call) {
                        let expected = ["completed", "complete_in_progress", "ready_for_complete", "incomplete"];
                        assert!(expected.contains(&text(&answer, "status")), "{call:?}: {answer}");
                    }
                });
            }
            if let Some(after) = kill {
                thread::sleep(Duration::from_millis(*after));
                running.take().into_iter().for_each(|gateway| world.kill(gateway));
            }
        });
        gateway = running.unwrap_or_else(|| world.start(true));
        check(world);
        for call in &purchases {
            world.clients.ask(random, call);
        }
        settle(world);
        // Unpaid checkouts are paid now, and paid ones never again.
        for call in &purchases {
            let state = world.clients.ask(random, &Call::reading("get_checkout", &call.id));
            if text(&state, "status") != "completed" {
                let complete = Call::keyed("complete_checkout", &call.id, payment("ok"), random.key());
                let bought = world.clients.ask(random, &complete);
                assert_eq!(text(&bought, "status"), "completed", "{call:?}: {bought}");
            }
        }
    }
    settle(world);
    world.clients.replay(random, None);
    format!("{combinations} combinations of fault and kill")
}

/// The times with which answers are overtaken: whoever looks after payments asks before an answer that is slow is
/// there.
pub(crate) const OVERTAKING: Times = Times { timeout: 8_000, deadline: 10_000, slow: 3_000 };

/// The result of a payment is found by asking, before the request that pays gets its response. It is still the only
/// payment.
pub(crate) fn overtaken(world: &World, random: &Random) -> String {
    let gateway = world.start(true);
    let purchases: Vec<_> =
        ["decline+authorize:slow", "challenge+authorize:slow", "refuse_capture+capture:slow", "ok+capture:slow"]
            .iter()
            .flat_map(|word| [(word, Way::Rest), (word, Way::Mcp)])
            .map(|(word, way)| {
                let create = Call::keyed("create_checkout", "", contents(&[("pot_ceramic", 1)]), random.key());
                let id = text(&world.clients.ask(random, &create), "id").to_owned();
                (word, way, Call::keyed("complete_checkout", &id, payment(word), random.key()))
            })
            .collect();
    let address = gateway.address;
    thread::scope(|scope| {
        for (word, way, call) in &purchases {
            scope.spawn(move || {
                let answer = world.clients.attempt(address, *way, call).expect("an answer");
                let expected = match word.split(['+', '_']).next() {
                    Some("ok") => "completed",
                    Some("challenge") => "requires_escalation",
                    _ => "incomplete",
                };
                assert_eq!(text(&answer, "status"), expected, "{word}: {answer}");
            });
        }
    });
    let report = world.report();
    for (word, _, call) in &purchases {
        let payments = report.payments.values().filter(|payment| payment.checkout_id == call.id).count();
        assert_eq!(payments, 1, "{word}: one call pays once, whatever becomes of it");
    }
    settle(world);
    world.clients.replay(random, None);
    format!("{} answers overtaken", purchases.len())
}

/// While nobody knows what became of a payment, the checkout is being completed, and nothing else can be done with it.
pub(crate) fn in_doubt(world: &World, random: &Random) -> String {
    let gateway = world.start(true);
    // Money was taken, or not, and the provider cannot be asked for a while.
    let doubts = [
        ("ok+capture:hang_after:9+inquire:error_before:7", true),
        ("ok+capture:reset_after:9+inquire:hang_before:4", true),
        ("ok+authorize:reset_after:9+inquire:garbage:7", false),
        ("pending+authorize:truncated:9+inquire:error_after:7", false),
    ];
    let mut seen = 0;
    for (word, taken) in doubts {
        let create = Call::keyed("create_checkout", "", contents(&[("bouquet_tulips", 1)]), random.key());
        let id = text(&world.clients.ask(random, &create), "id").to_owned();
        let complete = Call::keyed("complete_checkout", &id, payment(word), random.key());
        let answer = world.clients.ask(random, &complete);
        assert_eq!(text(&answer, "status"), "complete_in_progress", "{word}: {answer}");
        assert_eq!(world.report().captures_of_checkout(&id), u32::from(taken), "{word}");
        for call in [
            Call::keyed("update_checkout", &id, contents(&[("bouquet_tulips", 2)]), random.key()),
            Call::keyed("cancel_checkout", &id, Value::Null, random.key()),
            Call::reading("get_checkout", &id),
        ] {
            let answer = world.clients.attempt(gateway.address, random.way(), &call).expect("an answer");
            // Asking may have ended the doubt by now, but only in one way.
            let status = text(&answer, "status");
            assert!(["complete_in_progress", "completed", ""].contains(&status), "{word}: {answer}");
            assert_ne!(answer["line_items"][0]["quantity"], 2, "{word}: {answer}");
            seen += usize::from(status == "complete_in_progress");
        }
        let books = settle(world);
        assert_eq!((books.orders_of(&id), books.status_of(&id)), (1, "completed"), "{word}");
        assert_eq!(world.clients.ask(random, &complete), answer, "{word}: the answer under a key stays the same");
    }
    assert!(seen > 0, "nobody was in doubt");
    world.clients.replay(random, None);
    format!("{} payments in doubt, seen as such {seen} times", doubts.len())
}
