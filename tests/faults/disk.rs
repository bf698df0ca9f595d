//! Faults between the gateway and its disk: kills at every n-th flush, write and send; a disk that fails or is full.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    books::{Books, check, settle},
    client::{Call, Unanswered, Way, contents, payment, text},
    process::{Gateway, PATIENCE, World, eventually},
    random::Random,
    strace::Strace,
};

/// The system calls at which a gateway is killed.
const MOMENTS: &[&str] = &["fsync,fdatasync", "pwrite64", "sendto,sendmsg,write,writev", "recvfrom,read,epoll_wait"];

/// Kills the gateway at the first flush of a journey, at the second, and so on until a journey comes to its end; then
/// at writes, at what is sent and at what is received.
pub(crate) fn killed_at_every_call(world: &World, random: &Random) -> String {
    let mut counts = Vec::new();
    let mut gateway = world.start(false);
    for calls in MOMENTS {
        let mut reached = 0;
        // Each of the first, and some of those in the long run of pages that a checkpoint writes.
        for nth in (1..=32).chain((37..=300).step_by(9)) {
            let strace = Strace::attach(&gateway, calls, &format!("signal=KILL:when={nth}"));
            let killed = journey(world, random, &mut gateway);
            drop(strace);
            if !killed {
                break;
            }
            reached = nth;
        }
        check(world);
        let calls = calls.split(',').next().unwrap_or_default();
        counts.push(format!("{calls} up to {reached}"));
    }
    // The last one may have been killed after its journey, by what it does when nobody asks it anything.
    drop(gateway);
    let _gateway = world.start(false);
    settle(world);
    world.clients.replay(random, None);
    format!("killed at {}", counts.join(", "))
}

/// A purchase, during which the gateway may be killed; it is started again then. Whether it was killed.
fn journey(world: &World, random: &Random, gateway: &mut Gateway) -> bool {
    let mut killed = false;
    let mut insist = |random: &Random, call: &Call| -> Value {
        let start = Instant::now();
        loop {
            assert!(start.elapsed() < PATIENCE, "an answer within {PATIENCE:?}: {call:?}");
            let way = random.way();
            if let Ok(answer) = world.clients.attempt(gateway.address, way, call) {
                return answer;
            }
            // A connection may break a moment before the process is gone.
            thread::sleep(Duration::from_millis(20));
            if !gateway.is_alive() {
                killed = true;
                crate::process::Tally::add(&world.tally().kills);
                *gateway = world.start(false);
            }
        }
    };
    let good = random.of(&["pot_ceramic", "bouquet_tulips", "orchid_white"]);
    let created = Call::keyed("create_checkout", "", contents(&[(good, 1)]), random.key());
    let checkout = insist(random, &created);
    let id = text(&checkout, "id");
    insist(random, &Call::keyed("update_checkout", id, contents(&[(good, 2)]), random.key()));
    let complete = Call::keyed("complete_checkout", id, payment("ok"), random.key());
    let mut document = insist(random, &complete);
    let again = insist(random, &complete);
    assert_eq!(document, again, "the answer under a key stays the same");
    // A payment that a kill interrupted is asked after. If it never was on its way, it is to be made again.
    let start = Instant::now();
    while text(&document, "status") != "completed" {
        assert!(start.elapsed() < PATIENCE, "the purchase comes to its end: {document}");
        thread::sleep(Duration::from_millis(50));
        document = match text(&document, "status") {
            "ready_for_complete" | "incomplete" => {
                insist(random, &Call::keyed("complete_checkout", id, payment("ok"), random.key()))
            }
            _ => insist(random, &Call::reading("get_checkout", id)),
        };
    }
    insist(random, &Call::reading("get_order", text(&document["order"], "id")));
    assert_eq!(Books::read(world).orders_of(id), 1);
    killed
}

/// Failures of a disk: the system calls, and their errors.
const FAILURES: &[(&str, &str)] = &[
    ("fsync,fdatasync", "error=EIO"),
    ("pwrite64", "error=EIO"),
    ("pwrite64", "error=ENOSPC"),
    ("fsync,fdatasync", "error=ENOSPC"),
];

/// A disk that fails or is full: nothing is charged without a record, callers are told to come again, and when it is
/// over everything works again without a new start.
pub(crate) fn failing(world: &World, random: &Random) -> String {
    let mut gateway = world.start(false);
    let new = |random: &Random| {
        let create = Call::keyed("create_checkout", "", contents(&[("orchid_white", 1)]), random.key());
        let checkout = world.clients.ask(random, &create);
        assert_eq!(text(&checkout, "status"), "ready_for_complete", "{checkout}");
        text(&checkout, "id").to_owned()
    };
    let mut refused = 0;
    for (calls, fault) in FAILURES {
        // Before anything is paid.
        let id = new(random);
        let complete = Call::keyed("complete_checkout", &id, payment("ok"), random.key());
        let create = Call::keyed("create_checkout", "", contents(&[("orchid_white", 1)]), random.key());
        let strace = Strace::attach(&gateway, calls, fault);
        for way in [Way::Rest, Way::Mcp] {
            for call in [&complete, &create] {
                let answer = world.clients.attempt(gateway.address, way, call);
                assert_eq!(answer, Err(Unanswered::Later), "{calls} {fault}: what cannot be kept is not acknowledged");
                refused += 1;
            }
        }
        let seen = world.clients.attempt(gateway.address, Way::Rest, &Call::reading("get_checkout", &id));
        assert_eq!(text(&seen.expect("reading needs no writing"), "status"), "ready_for_complete", "{calls} {fault}");
        let charged = world.report().payments.values().any(|payment| payment.checkout_id == id);
        assert!(!charged, "{calls} {fault}: a payment without a record");
        drop(strace);
        assert!(gateway.is_alive(), "{calls} {fault}");
        let bought = world.clients.ask(random, &complete);
        assert_eq!(text(&bought, "status"), "completed", "{calls} {fault}: {bought}");
        world.clients.ask(random, &create);
        check(world);

        // While the provider is at it.
        let id = new(random);
        let complete = Call::keyed("complete_checkout", &id, payment("ok+authorize:slow"), random.key());
        thread::scope(|scope| {
            let waiting = scope.spawn(|| world.clients.attempt(gateway.address, Way::Rest, &complete));
            eventually("the payment is written down", || {
                (Books::read(world).status_of(&id) == "complete_in_progress").then_some(())
            });
            let strace = Strace::attach(&gateway, calls, fault);
            let answer = waiting.join().expect("it is answered");
            assert_eq!(
                answer,
                Err(Unanswered::Later),
                "{calls} {fault}: an order that cannot be kept is not acknowledged"
            );
            refused += 1;
            let books = check(world);
            assert_eq!(books.orders_of(&id), 0, "{calls} {fault}");
            let payments = world.report();
            assert_eq!(payments.captures_of_checkout(&id), 1, "{calls} {fault}: it was paid for");
            drop(strace);
        });
        let bought = world.clients.ask(random, &complete);
        assert_eq!(text(&bought, "status"), "completed", "{calls} {fault}: {bought}");
        let books = check(world);
        assert_eq!(books.orders_of(&id), 1, "{calls} {fault}");

        // And what failed does not come back after a crash.
        let strace = Strace::attach(&gateway, calls, fault);
        let create = Call::keyed("create_checkout", "", contents(&[("orchid_white", 1)]), random.key());
        assert_eq!(world.clients.attempt(gateway.address, Way::Rest, &create), Err(Unanswered::Later));
        world.kill(gateway);
        drop(strace);
        gateway = world.start(false);
        world.clients.ask(random, &create);
        check(world);
    }
    settle(world);
    world.clients.replay(random, None);
    format!("{} ways to fail, {refused} calls refused with 503", FAILURES.len())
}
