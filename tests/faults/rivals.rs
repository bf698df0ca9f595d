//! Calls that race each other: over both transports, in one gateway and in two on the same data directory or the same
//! PostgreSQL server.

use std::{collections::BTreeSet, net::SocketAddr, thread, time::Duration};

use serde_json::Value;

use crate::{
    books::{Books, check, is_writable, settle},
    client::{Call, Unanswered, Way, contents, payment, text},
    history::History,
    postgres::on_each_database,
    process::{World, eventually},
    random::Random,
};

/// Number of runs of each race.
const ROUNDS: usize = 12;

/// Sends calls at the same time.
pub(crate) fn race(world: &World, calls: &[(SocketAddr, Way, &Call)]) -> Vec<Result<Value, Unanswered>> {
    let start = std::sync::Barrier::new(calls.len());
    thread::scope(|scope| {
        let running: Vec<_> = calls
            .iter()
            .map(|&(address, way, call)| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    world.clients.attempt(address, way, call)
                })
            })
            .collect();
        running.into_iter().map(|call| call.join().expect("an end")).collect()
    })
}

fn ready(world: &World, random: &Random) -> String {
    let create = Call::keyed("create_checkout", "", contents(&[("bouquet_tulips", 1)]), random.key());
    let checkout = world.clients.ask(random, &create);
    assert_eq!(text(&checkout, "status"), "ready_for_complete", "{checkout}");
    text(&checkout, "id").to_owned()
}

/// The races of one or two gateways.
fn races(world: &World, random: &Random, gateways: &[SocketAddr]) -> usize {
    let (one, other) = (gateways[0], gateways[gateways.len() - 1]);
    let mut count = 0;
    for round in 0..ROUNDS {
        // Some payments take so long that the calls certainly meet.
        let word = ["ok", "ok+authorize:slow", "ok+capture:slow", "decline"][round % 4];
        let complete = |random: &Random, id: &str| Call::keyed("complete_checkout", id, payment(word), random.key());

        // The same call twice: one purchase, one answer.
        let id = ready(world, random);
        let call = complete(random, &id);
        let answers = race(world, &[(one, Way::Rest, &call), (other, Way::Mcp, &call), (other, Way::Rest, &call)]);
        assert!(answers.iter().any(Result::is_ok), "{answers:?}");
        // The equality of all responses is checked where they are recorded.
        assert!(!answers.contains(&Err(Unanswered::Broken)), "{answers:?}");
        let final_answer = world.clients.ask(random, &call);
        assert!(answers.iter().flatten().all(|answer| *answer == final_answer), "{answers:?}");

        // Two calls under different keys: one purchase.
        let id = ready(world, random);
        let (first, second) = (complete(random, &id), complete(random, &id));
        let answers = race(world, &[(one, Way::Rest, &first), (other, Way::Mcp, &second)]);
        assert!(!answers.contains(&Err(Unanswered::Broken)), "{answers:?}");
        let orders: BTreeSet<_> =
            answers.iter().flatten().filter_map(|answer| answer["order"]["id"].as_str()).collect();
        assert!(orders.len() <= 1, "{answers:?}");

        // Completing against canceling: one of them wins.
        let id = ready(world, random);
        let (first, second) = (complete(random, &id), Call::keyed("cancel_checkout", &id, Value::Null, random.key()));
        let answers = race(world, &[(one, Way::Rest, &first), (other, Way::Rest, &second)]);
        let won =
            |answer: &Result<Value, _>, status| answer.as_ref().is_ok_and(|answer| text(answer, "status") == status);
        assert!(!(won(&answers[0], "completed") && won(&answers[1], "canceled")), "{answers:?}");

        // Two writers: what is there in the end is what one of them wrote, and it is the answer to that one.
        let id = ready(world, random);
        let update = |random: &Random, quantity| {
            Call::keyed("update_checkout", &id, contents(&[("bouquet_tulips", quantity)]), random.key())
        };
        let (first, second) = (update(random, 2), update(random, 3));
        race(world, &[(one, Way::Mcp, &first), (other, Way::Mcp, &second)]);
        let [first, second] = [first, second].map(|call| world.clients.ask(random, &call));
        let seen = world.clients.ask(random, &Call::reading("get_checkout", &id));
        let lines = |document: &Value| (document["line_items"].clone(), document["totals"].clone());
        assert!([lines(&first), lines(&second)].contains(&lines(&seen)), "{first} {second} {seen}");
        assert_ne!(lines(&first), lines(&second));

        // A key that two different calls use: one of them is told.
        let key = random.key();
        let payload = |quantity| contents(&[("pot_ceramic", quantity)]);
        let (first, second) = (payload(1), payload(2));
        let [first, second] = [first, second].map(|payload| Call::keyed("create_checkout", "", payload, key.clone()));
        let statuses = thread::scope(|scope| {
            let running = [(one, &first), (other, &second)]
                .map(|(address, call)| scope.spawn(move || call.send(address, Way::Rest).expect("an answer").status));
            running.map(|call| call.join().expect("an end"))
        });
        assert!(matches!(statuses, [201, 409] | [409, 201] | [201, 503] | [503, 201]), "{statuses:?}");
        count += 5;
        check(world);
    }
    count
}

/// In one gateway.
pub(crate) fn in_one(world: &World, random: &Random) -> String {
    let gateway = world.start(false);
    let races = races(world, random, &[gateway.address]) + 1;

    // A request that waits too long for an equal one is told to retry.
    let id = ready(world, random);
    let call = Call::keyed("complete_checkout", &id, payment("ok+authorize:hang_before"), random.key());
    let answers = race(world, &[(gateway.address, Way::Rest, &call), (gateway.address, Way::Mcp, &call)]);
    let told = answers.iter().filter(|answer| **answer == Err(Unanswered::Later)).count();
    assert!(told == 1 && answers.iter().flatten().count() == 1, "{answers:?}");
    settle(world);
    world.clients.replay(random, None);
    format!("{races} races")
}

/// In two gateways on the same data directory, of which one may be killed.
pub(crate) fn in_two(world: &World, random: &Random) -> String {
    let mut gateway = world.start(false);
    let other = world.start_aside(false);
    let mut races = races(world, random, &[gateway.address, other.address]);
    drop(other);
    for round in 0..ROUNDS {
        let other = world.start_aside(false);
        let id = ready(world, random);
        let words = ["ok+authorize:slow", "ok+capture:slow", "ok"];
        let call = Call::keyed("complete_checkout", &id, payment(words[round % 3]), random.key());
        let (one, two) = (gateway.address, other.address);
        let mut running = Some(gateway);
        thread::scope(|scope| {
            scope.spawn(|| world.clients.attempt(one, Way::Rest, &call));
            thread::sleep(Duration::from_millis(random.below(60)));
            scope.spawn(|| world.clients.attempt(two, Way::Mcp, &call));
            thread::sleep(Duration::from_millis(random.below(400)));
            running.take().into_iter().for_each(|gateway| world.kill(gateway));
        });
        // The one that is left brings it to its end.
        let answer = world.clients.attempt(two, Way::Rest, &call);
        settle(world);
        let books = Books::read(world);
        assert_eq!(books.orders_of(&id), 1, "{answer:?}");
        world.kill_aside(other);
        gateway = world.start(false);
        races += 1;
    }
    settle(world);
    world.clients.replay(random, None);
    format!("{races} races of two gateways")
}

/// Number of carts that become checkouts.
const CARTS: usize = 40;

/// Two gateways are asked at once for a checkout of one cart: both answer with the same one.
pub(crate) fn one_cart(world: &World, random: &Random) -> String {
    let found = on_each_database(world, |name, gateways| {
        let addresses = [gateways[0].address, gateways[1].address];
        world.clients.turn_to(addresses);
        let mut twice = 0;
        for _ in 0..CARTS {
            let cart = Call::keyed("create_cart", "", contents(&[("pot_ceramic", 1)]), random.key());
            let cart = world.clients.ask(random, &cart);
            let mut payload = contents(&[("pot_ceramic", 1)]);
            payload["cart_id"] = cart["id"].clone();
            let calls = [(); 2].map(|()| Call::keyed("create_checkout", "", payload.clone(), random.key()));
            race(world, &[(addresses[0], Way::Rest, &calls[0]), (addresses[1], Way::Rest, &calls[1])]);
            // Rejected requests are retried.
            let [one, other] = calls.map(|call| world.clients.ask(random, &call));
            assert!(one["id"].is_string(), "{one}");
            twice += usize::from(one["id"] != other["id"]);
        }
        format!("{name}: {twice} of {CARTS} carts have two open checkouts")
    });
    let wrong = History { calls: world.clients.calls(), ..History::default() }.judge();
    assert!(wrong.is_empty(), "{}, such as this one: {}", found.join(", "), wrong[0]);
    found.join(", ")
}

/// Number of purchases that are frozen at once.
const FROZEN: usize = 16;

/// A gateway that is frozen while it pays, given up by another one, and goes on as if nothing had happened.
pub(crate) fn thawed(world: &World, random: &Random) -> String {
    let frozen = world.start(true);
    let other = world.start_aside(true);
    let mut given_up = 0;
    for after in [2, 6, 12, 20, 30, 50] {
        let calls: Vec<_> = (0..FROZEN)
            .map(|number| {
                let word = ["ok", "ok+authorize:slow", "ok+capture:slow", "decline"][number % 4];
                Call::keyed("complete_checkout", &ready(world, random), payment(word), random.key())
            })
            .collect();
        world.clients.turn_to(Some(other.address));
        thread::scope(|scope| {
            for call in &calls {
                let (way, address) = (random.way(), frozen.address);
                scope.spawn(move || world.clients.attempt(address, way, call));
            }
            thread::sleep(Duration::from_millis(after));
            frozen.freeze();
            // In the middle of a write it would keep all others from writing.
            eventually("the gateway stops between two writes", || {
                is_writable(world).then_some(()).or_else(|| {
                    frozen.signal("CONT");
                    thread::sleep(Duration::from_millis(1));
                    frozen.freeze();
                    None
                })
            });
            // The other one finds out what became of them, and sells what is not sold.
            settle(world);
            for call in &calls {
                let seen = world.clients.ask(random, &Call::reading("get_checkout", &call.id));
                if text(&seen, "status") != "completed" {
                    let again = Call::keyed("complete_checkout", &call.id, payment("ok"), random.key());
                    let bought = world.clients.ask(random, &again);
                    assert_eq!(text(&bought, "status"), "completed", "{bought}");
                    given_up += 1;
                }
            }
            frozen.signal("CONT");
        });
        let books = settle(world);
        assert!(calls.iter().all(|call| books.orders_of(&call.id) == 1));
        world.clients.turn_to(Some(frozen.address));
    }
    world.clients.replay(random, None);
    format!("{given_up} purchases given up by one gateway and made by another")
}
