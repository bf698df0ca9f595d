//! Purchases whose buyers confirm them at their bank, at three gateways on one PostgreSQL server: Stripe tells any of
//! them what happened, while gateways, the server and Stripe are killed and connections are cut.
//!
//! Hardly anybody looks at a checkout after its payment has begun: what becomes of it is found out by events, or by
//! gateways that look after what is due.

use std::{
    panic::resume_unwind,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use ucp_testkit::postgres::Cluster;

use crate::{
    bank::{Bank, Intent, Journal},
    books::{Books, check, settle},
    client::{Call, Way, contents, payment, text},
    history::{History, Message, Order, Payment, digest, summary},
    kills::Stop,
    platforms::{Entry, PLATFORMS, Platforms},
    postgres::{DIRECTORIES, Gateways, LONGEST, SKIPPED, TO_ONE, Ways},
    process::{PATIENCE, World, ended},
    random::Random,
    rivals::race,
    webhooks::TO_THIS_MACHINE,
};

/// Number of concurrent buyers.
const BUYERS: usize = 3;

/// Goods that are there.
const GOODS: &[&str] = &["pot_ceramic", "bouquet_tulips", "bouquet_roses", "orchid_white"];

/// Outcomes of payments: most wait for their buyers.
const WORDS: &[&str] = &[
    "challenge",
    "challenge",
    "challenge",
    "challenge",
    "challenge+authorize:slow",
    "challenge+authorize:slow",
    "challenge+authorize:reset_after",
    "challenge+capture:reset_after",
    "ok",
    "ok+capture:slow",
    "decline",
];

/// Kills gateways `kills` times, the server and Stripe now and then, and cuts connections all the time.
pub(crate) fn killed(world: &World, random: &Random, kills: u64) -> String {
    let Some(mut cluster) = Cluster::start(&[]) else { return SKIPPED.to_owned() };
    world.configure(TO_THIS_MACHINE);
    world.make_keys();
    let platforms = Platforms::start(world.folder(), random.next());
    let ways = Ways::open(world, &cluster);
    let gateways = Gateways::start(world, ways.databases.clone());
    let everywhere = || world.clients.turn_to(gateways.addresses());
    everywhere();
    let (over, closed, bank) = (AtomicBool::new(false), AtomicBool::new(false), Bank::new(world));
    let (mut killed, mut server_kills, mut all_cut) = (0u64, 0, 0);
    let left = thread::scope(|scope| {
        let closing = Stop(&closed);
        bank.open(scope, random, &closed);
        let buyers: Vec<_> = (0..BUYERS)
            .map(|_| {
                let (random, over, platforms) = (Random::new(random.next()), &over, &platforms);
                scope.spawn(move || {
                    let _stop = Stop(over);
                    while !over.load(Ordering::Relaxed) {
                        buy(world, platforms, &random);
                    }
                })
            })
            .collect();
        let stop = Stop(&over);
        let began = Instant::now();
        for round in 1.. {
            if killed >= kills || began.elapsed() >= LONGEST {
                break;
            }
            ways.cut(random);
            thread::sleep(Duration::from_millis(10 + random.below(250)));
            // One, or all but one.
            let first = random.index(DIRECTORIES.len()).expect("there are some");
            let several = if round % 2 == 0 { DIRECTORIES.len() - 1 } else { 1 };
            let killing: Vec<_> = (first..first + several).map(|nth| nth % DIRECTORIES.len()).collect();
            killing.iter().for_each(|nth| gateways.kill(*nth));
            everywhere();
            killed += several as u64;
            match round % TO_ONE {
                0 => {
                    cluster.kill();
                    thread::sleep(Duration::from_millis(random.below(300)));
                    cluster.run();
                    server_kills += 1;
                }
                3 | 7 => {
                    let others = "backend_type = 'client backend' AND pid <> pg_backend_pid()";
                    drop(cluster.psql(&format!(
                        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {others}"
                    )));
                    all_cut += 1;
                }
                5 => world.kill_provider(),
                _ => {}
            }
            killing.iter().for_each(|nth| gateways.revive(*nth));
            everywhere();
            if round % TO_ONE == 0 {
                check(world);
                world.clients.replay(random, Some(8));
            }
            assert!(!over.load(Ordering::Relaxed), "a platform failed");
        }
        drop(stop);
        for buyer in buyers {
            buyer.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        ways.proxy.spare();
        bank.finish();
        let left = left(PATIENCE, || [unpaid(world), untold(world)].concat());
        drop(closing);
        left
    });
    let history = history(world, &platforms.notes());
    let wrong = [left, history.judge()].concat();
    assert!(wrong.is_empty(), "wrong after {killed} kills and {} orders:{}", history.orders.len(), summary(&wrong));
    settle(world);
    world.clients.replay(random, Some(100));
    format!(
        "{} orders, {server_kills} kills of the server, all connections cut {all_cut} times, {}, {}, {} messages to \
         platforms, {} plants found",
        history.orders.len(),
        ways.summary(),
        bank.summary(),
        history.messages.len(),
        history.planted()
    )
}

/// One purchase as it may come.
fn buy(world: &World, platforms: &Platforms, random: &Random) {
    // The first release states an error in another form over each transport.
    let platform = random.of(&PLATFORMS[..2]);
    let profile = platforms.profile(platform);
    let call = |operation, id: &str, payload| {
        Call::keyed(operation, id, payload, random.key()).by(&profile, platform.endpoints)
    };
    let ask = |call: &Call| world.clients.ask(random, call);
    let goods = contents(&[(random.of(GOODS), 1 + random.below(2))]);
    let mut created = call("create_checkout", "", goods.clone());
    if random.percent(50) {
        let cart = ask(&call("create_cart", "", goods.clone()));
        let Some(cart) = cart["id"].as_str() else { return };
        created.payload["cart_id"] = cart.into();
        let twin = call("create_checkout", "", created.payload.clone());
        if let (Some(one), Some(other)) = (world.clients.address(random), world.clients.address(random)) {
            race(world, &[(one, Way::Rest, &created), (other, Way::Mcp, &twin)]);
        }
        ask(&twin);
    }
    let checkout = ask(&created);
    // Goods that are sold out make no checkout.
    let Some(id) = checkout["id"].as_str() else { return };
    let completion = call("complete_checkout", id, payment(random.of(WORDS)));
    ask(&completion);
    match random.below(12) {
        0 => drop(ask(&call("cancel_checkout", id, Value::Null))),
        1 => {
            ask(&call("update_checkout", id, goods));
            ask(&call("complete_checkout", id, payment("challenge")));
        }
        2 => drop(ask(&Call::reading("get_checkout", id).by(&profile, platform.endpoints))),
        3 => drop(ask(&completion)),
        _ => {}
    }
}

/// Waits until nothing is left, at most so long. Returns what is left.
fn left(most: Duration, look: impl Fn() -> Vec<String>) -> Vec<String> {
    let began = Instant::now();
    loop {
        let left = look();
        if left.is_empty() || began.elapsed() > most {
            return left;
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// The checkouts whose payments have begun and not ended.
fn unpaid(world: &World) -> Vec<String> {
    let unpaid = |checkout: &Value| format!("checkout {} is left in the middle of its payment", text(checkout, "id"));
    Books::read(world).in_progress().map(unpaid).collect()
}

/// The webhooks that wait.
fn untold(world: &World) -> Vec<String> {
    let database = world.database.get().expect("it is shared");
    let output = ended(&world.command(&["webhooks", "list", "--limit", "65535", "--json", "--database", database]));
    assert!(output.status.success(), "{output:?}");
    let webhooks: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let waiting = webhooks.as_array().expect("a list").iter().filter(|one| text(one, "state") == "waiting");
    waiting.map(|one| format!("webhook {} is left waiting", text(one, "id"))).collect()
}

/// Everything that was said and done, of which platforms wrote `notes` down.
pub(crate) fn history(world: &World, notes: &[Entry]) -> History {
    let name = |order: &Value| {
        let name = text(order, "owner").rsplit('/').next().unwrap_or_default().to_owned();
        if PLATFORMS.iter().any(|platform| platform.name == name) { name } else { String::new() }
    };
    let total = |order: &Value| {
        let totals = order["totals"].as_array().into_iter().flatten();
        totals.filter(|total| total["kind"] == "total").find_map(|total| total["amount"].as_i64()).unwrap_or_default()
    };
    let orders = Books::read(world).orders.into_iter().map(|order| Order {
        id: text(&order, "id").to_owned(),
        checkout: text(&order, "checkout_id").to_owned(),
        attempt: text(&order["payment"], "attempt_id").to_owned(),
        total: total(&order),
        platform: name(&order),
    });
    let payments = world.report().payments.into_values().map(|payment| Payment {
        attempt: payment.id,
        checkout: payment.checkout_id,
        status: payment.status,
        captures: payment.captures,
        taken: payment.taken,
    });
    let messages = notes.iter().filter_map(|entry| {
        let Entry::Arrived(arrival) = entry else { return None };
        let body: Value = serde_json::from_slice(&arrival.body).expect("JSON");
        Some(Message {
            id: arrival.header("webhook-id").expect("an identifier").to_owned(),
            platform: arrival.platform.clone(),
            order: text(&body, "id").to_owned(),
            digest: digest(&arrival.body),
        })
    });
    let (payments, orders, messages) = (payments.collect(), orders.collect(), messages.collect());
    History { calls: world.clients.calls(), payments, orders, messages }
}

/// Number of purchases that wait for their banks at once.
const WAITING: usize = 8;

/// Time that buyers take at their banks.
const AT_THE_BANK: Duration = Duration::from_secs(3);

/// Maximum time until an event of Stripe has become an order.
const SETTLED_WITHIN: Duration = Duration::from_secs(20);

/// Stripe tells two gateways in turns what buyers have confirmed, and nobody looks at a checkout: every one becomes an
/// order.
pub(crate) fn events_at_any_gateway(world: &World, random: &Random) -> String {
    let Some(cluster) = Cluster::start(&[]) else { return SKIPPED.to_owned() };
    let database = cluster.url("postgres");
    world.database.set(database.clone()).expect("set once");
    let [one, two, _] = DIRECTORIES;
    let gateways = [one, two].map(|directory| world.start_on(directory, &database));
    world.clients.turn_to(gateways.iter().map(|gateway| gateway.address));
    for _ in 0..WAITING {
        let create = Call::keyed("create_checkout", "", contents(&[("pot_ceramic", 1)]), random.key());
        let id = text(&world.clients.ask(random, &create), "id").to_owned();
        let complete = Call::keyed("complete_checkout", &id, payment("challenge"), random.key());
        let challenged = world.clients.ask(random, &complete);
        assert_eq!(text(&challenged, "status"), "requires_escalation", "{challenged}");
    }
    thread::sleep(AT_THE_BANK);
    let mut journal = Journal::open(world);
    let waiting: Vec<_> = journal.by_ref().filter(Intent::waits).collect();
    assert_eq!(waiting.len(), WAITING);
    assert!(waiting.iter().all(|intent| intent.decide(world, true)), "the bank is there");
    let confirmed: Vec<_> = journal.collect();
    assert_eq!(confirmed.len(), WAITING);
    for (intent, gateway) in confirmed.iter().zip(gateways.iter().cycle()) {
        assert!(intent.report(gateway.address), "the event is taken: {intent:?}");
    }
    let left = left(SETTLED_WITHIN, || unpaid(world));
    let history = history(world, &[]);
    let wrong = [left, history.judge()].concat();
    let made = history.orders.len();
    assert!(
        wrong.is_empty(),
        "{made} of {WAITING} purchases are orders {SETTLED_WITHIN:?} after their events:{}",
        summary(&wrong)
    );
    settle(world);
    format!("{made} of {WAITING} purchases became orders by events at two gateways")
}
