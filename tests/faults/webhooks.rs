//! Platforms are told about their orders while gateways and operators are killed, and the platforms do not listen.
//!
//! Orders are placed and moved along all the time. The receiver errs, hangs up, says nothing, points elsewhere, or
//! takes a webhook and does not say so; every webhook finds it patient in the end.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::SocketAddr,
    process::{Output, Stdio},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use ucp_testkit::leash::Leashed;

use crate::{
    books::settle,
    client::{Call, contents, exchange, payment, text},
    kills::Stop,
    platforms::{Entry, PLATFORMS, Platform, Platforms},
    process::{Gateway, PATIENCE, Tally, World, ended, eventually},
    proof::{Keys, keys},
    random::Random,
    strace::Strace,
    told::{Facts, Order, Told},
};

/// Maximum number of times that the gateway is killed at random.
const KILLS: u64 = 50;

/// For how long, on a machine that is slow.
const LONGEST: Duration = Duration::from_secs(60);

/// Token of the admin API.
const TOKEN: &str = "token-of-the-operators";

const ADMIN: &str = "\n[server]\nadmin_listen = \"127.0.0.1:0\"\nadmin_token_file = \"admin.token\"\n";

/// Webhooks go to this machine, and whoever says nothing is given up soon.
pub(crate) const TO_THIS_MACHINE: &str = "\n[profiles]\nloopback = true\nconnect_timeout_ms = 700\ntimeout_ms = 700\n\
     fetches = { per_second = 1000, burst = 1000 }\n";

/// A step of an order.
#[derive(Debug)]
struct Step<'a> {
    order: &'a str,
    name: &'static str,
    /// One of each of these lines, or whatever is left.
    lines: Vec<String>,
    more: Vec<(&'static str, Value)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A shop with a key, and the platforms that it tells about their orders.
pub(crate) struct NotifyingShop<'a> {
    world: &'a World,
    pub(crate) platforms: Platforms,
    /// Current listen address of the admin API.
    admin: Mutex<Option<SocketAddr>>,
    /// The profiles of all gateways so far.
    profiles: Mutex<BTreeSet<String>>,
    /// Number of steps per order that an operator was told to have been taken.
    taken: Mutex<BTreeMap<String, u64>>,
    keys: Keys,
}

impl<'a> NotifyingShop<'a> {
    /// Opens it, with a first gateway.
    pub(crate) fn open(world: &'a World, random: &Random) -> (Self, Gateway) {
        world.configure(ADMIN);
        world.configure(TO_THIS_MACHINE);
        fs::write(world.folder().join("admin.token"), TOKEN).expect("a file");
        world.make_keys();
        let platforms = Platforms::start(world.folder(), random.next());
        let (admin, profiles, taken) = (Mutex::default(), Mutex::default(), Mutex::default());
        let mut shop = Self { world, platforms, admin, profiles, taken, keys: Keys::new() };
        let gateway = shop.start();
        let request = "GET /.well-known/ucp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let profile = exchange(gateway.address, request.as_bytes()).expect("its profile").body;
        shop.keys = keys(&serde_json::from_str(&profile).expect("JSON"));
        assert_eq!(shop.keys.len(), 1, "{profile}");
        (shop, gateway)
    }

    /// Starts a gateway that clients turn to.
    pub(crate) fn start(&self) -> Gateway {
        let gateway = self.known(self.world.start(false));
        *lock(&self.admin) = gateway.admin;
        gateway
    }

    /// Starts another one on the same directory.
    fn start_aside(&self) -> Gateway {
        self.known(self.world.start_aside(false))
    }

    fn known(&self, gateway: Gateway) -> Gateway {
        let profile = format!("http://{}/.well-known/ucp", gateway.address);
        lock(&self.profiles).insert(profile);
        gateway
    }

    /// An order of a platform. The gateway may be killed meanwhile, as long as there is another one in the end.
    pub(crate) fn order(&self, random: &Random, platform: Platform, goods: &[(&str, u64)]) -> String {
        let profile = self.platforms.profile(platform);
        let ask = |call: Call| self.world.clients.ask(random, &call.by(&profile, platform.endpoints));
        let mut checkout = ask(Call::keyed("create_checkout", "", contents(goods), random.key()));
        let id = text(&checkout, "id").to_owned();
        let start = Instant::now();
        while text(&checkout, "status") != "completed" {
            assert!(start.elapsed() < PATIENCE, "the purchase comes to its end: {checkout}");
            checkout = if text(&checkout, "status") == "complete_in_progress" {
                thread::sleep(Duration::from_millis(50));
                ask(Call::reading("get_checkout", &id))
            } else {
                ask(Call::keyed("complete_checkout", &id, payment("ok"), random.key()))
            };
        }
        let order = checkout["order"]["id"].as_str().or_else(|| checkout["order_id"].as_str());
        order.unwrap_or_else(|| panic!("an order: {checkout}")).to_owned()
    }

    /// Returns the JSON output of a command.
    fn shown(&self, arguments: &[&str]) -> Value {
        let output = ended(&self.world.command(&[arguments, &["--json"]].concat()));
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    fn webhooks(&self) -> Vec<Value> {
        let shown = self.shown(&["webhooks", "list", "--limit", "65535"]);
        shown.as_array().expect("a list").clone()
    }

    /// A command of an operator, who may be killed meanwhile. Whether it went well.
    fn run(&self, arguments: &[&str], killed_after: Option<Duration>) -> bool {
        let command = self.world.command(arguments);
        if let Some(life) = killed_after {
            let mut process = Leashed::start(&command, Stdio::null(), Stdio::null());
            thread::sleep(life);
            // It may have come to its end already.
            return process.kill().success();
        }
        let Output { status, stderr, .. } = ended(&command);
        assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
        true
    }

    /// Notes that a step of an order was acknowledged.
    pub(crate) fn acknowledged(&self, order: &str) {
        *lock(&self.taken).entry(order.to_owned()).or_default() += 1;
    }

    /// Takes a step on the command line.
    fn take(&self, step: &Step<'_>, killed_after: Option<Duration>) {
        let Step { order, name, lines, more } = step;
        let mut arguments = vec!["orders".to_owned(), (*name).to_owned(), (*order).to_owned()];
        arguments.extend(lines.iter().flat_map(|line| ["--line".to_owned(), format!("{line}=1")]));
        for (name, value) in more {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            arguments.extend([format!("--{}", name.replace('_', "-")), value]);
        }
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        if self.run(&arguments, killed_after) {
            self.acknowledged(order);
        }
    }

    /// Takes a step over the admin endpoint of the gateway there is, which may be killed meanwhile.
    fn call(&self, step: &Step<'_>) {
        let Step { order, name, lines, more } = step;
        let mut body: serde_json::Map<_, _> =
            more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let lines: Vec<_> = lines.iter().map(|line| json!({ "id": line, "quantity": 1 })).collect();
        body.insert("line_items".to_owned(), lines.into());
        let body = Value::from(body).to_string();
        let request = format!(
            "POST /orders/{order}/{name} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Authorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let admin = *lock(&self.admin);
        let answer = admin.map(|address| exchange(address, request.as_bytes()));
        if let Some(Ok(answer)) = answer {
            assert!(matches!(answer.status, 200 | 503), "{name} {body}: {answer:?}");
            *lock(&self.taken).entry((*order).to_owned()).or_default() += u64::from(answer.status == 200);
        }
    }

    /// The orders as they are, by their identifiers.
    pub(crate) fn orders(&self) -> BTreeMap<String, Order> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(self.world.data().join("shop.db"), flags).expect("the database");
        db.busy_timeout(PATIENCE).expect("a timeout");
        let mut statement = db.prepare("SELECT id, version, document FROM orders").expect("a table");
        let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?)));
        let order = |(id, version, document): (String, i64, String)| {
            (id, Order { version: version.unsigned_abs(), document: serde_json::from_str(&document).expect("JSON") })
        };
        rows.expect("rows").map(|row| order(row.expect("an order"))).collect()
    }

    /// One step that the order allows, whichever; `false` if there is none.
    fn moves(&self, random: &Random, id: &str) -> bool {
        let order = &self.orders()[id].document;
        let lines = order["line_items"].as_array().expect("lines");
        let number = |value: &Value| value.as_i64().expect("a number");
        let open: Vec<_> = lines.iter().filter(|line| number(&line["total"]) > number(&line["fulfilled"])).collect();
        let happened = |list: &str, kind: &str| {
            let all = order[list].as_array().expect("a list").iter().filter(|one| text(one, "kind") == kind);
            all.cloned().collect::<Vec<_>>()
        };
        let delivered: i64 = happened("events", "delivered")
            .iter()
            .flat_map(|event| event["line_items"].as_array().expect("lines"))
            .map(|line| number(&line["quantity"]))
            .sum();
        let line = random.index(open.len()).map(|place| text(open[place], "id"));
        let step = |name, lines: Option<&'_ str>, more: &[(&'static str, Value)]| Step {
            order: id,
            name,
            lines: lines.into_iter().map(str::to_owned).collect(),
            more: more.to_vec(),
        };
        let mut possible = Vec::new();
        if line.is_some() {
            let tracked = [("carrier", json!("Post")), ("tracking_number", json!("T1"))];
            possible.push(step("ship", line, &tracked));
            possible.push(step("cancel", line, &[("reason", json!("Broken"))]));
            possible.push(step("ship", None, &[]));
        }
        if lines.iter().map(|line| number(&line["total"])).sum::<i64>() > delivered {
            possible.push(step("deliver", None, &[]));
        }
        if happened("adjustments", "refund").len() < 3 {
            possible.push(step("refund", None, &[("amount", json!(100)), ("reason", json!("Sorry"))]));
        }
        let Some(place) = random.index(possible.len()) else { return false };
        match random.below(4) {
            0 | 1 => self.call(&possible[place]),
            2 => self.take(&possible[place], None),
            _ => self.take(&possible[place], Some(Duration::from_millis(random.below(80)))),
        }
        true
    }

    /// An order of a platform, and some of what may happen to it.
    fn buys(&self, random: &Random, platform: Platform) {
        let order = self.order(random, platform, &[("pot_ceramic", 2), ("bouquet_tulips", 1)]);
        for _ in 0..1 + random.below(5) {
            if !self.moves(random, &order) {
                break;
            }
        }
        // An operator who is impatient, or unsure.
        if random.percent(20) {
            let webhooks = self.webhooks();
            let place = random.index(webhooks.len()).expect("there are some");
            self.run(&["webhooks", "resend", text(&webhooks[place], "id")], None);
        }
    }

    /// Everything that is known, once no webhook waits any more and one more order of each platform was told. Nothing
    /// that was settled before is told again with it.
    pub(crate) fn settle(&self, random: &Random) -> Facts {
        self.platforms.misbehave(false);
        let settled = || {
            eventually("every webhook is settled", || {
                let webhooks = self.webhooks();
                webhooks.iter().all(|one| text(one, "state") != "waiting").then_some(webhooks)
            })
        };
        settled();
        let before = self.platforms.notes().len();
        let last: Vec<_> = PLATFORMS.iter().map(|one| self.order(random, *one, &[("pot_ceramic", 1)])).collect();
        let webhooks = settled();
        let notes = self.platforms.notes();
        for entry in &notes[before..] {
            let Entry::Arrived(arrival) = entry else { continue };
            let id = serde_json::from_slice::<Value>(&arrival.body).expect("JSON")["id"].take();
            assert!(last.iter().any(|order| id == **order), "what was settled is told again: {arrival:?}");
        }
        Facts {
            notes,
            misled: self.platforms.misled(),
            orders: self.orders(),
            webhooks,
            keys: self.keys.clone(),
            profiles: lock(&self.profiles).clone(),
            taken: lock(&self.taken).clone(),
        }
    }
}

pub(crate) fn judged(facts: &Facts) -> String {
    let Told { webhooks, arrivals, again, gone } = facts.judge().unwrap_or_else(|wrong| panic!("{wrong}"));
    let orders = facts.orders.len();
    format!("{webhooks} webhooks of {orders} orders arrived {arrivals} times ({again} when settled), {gone} were gone")
}

/// Kills the gateway again and again while orders are placed and moved along, and now and then another one beside it.
pub(crate) fn killed_at_random(world: &World, random: &Random) -> String {
    let (shop, gateway) = NotifyingShop::open(world, random);
    shop.platforms.misbehave(true);
    let over = AtomicBool::new(false);
    let (mut gateway, mut other) = (Some(gateway), None);
    thread::scope(|scope| {
        // A failure here ends the others as well, and the other way round.
        let stop = Stop(&over);
        for platform in PLATFORMS {
            let (random, over, shop) = (Random::new(random.next()), &over, &shop);
            scope.spawn(move || {
                let _stop = Stop(over);
                while !over.load(Ordering::Relaxed) {
                    shop.buys(&random, *platform);
                }
            });
        }
        let begin = Instant::now();
        let mut pace = 1;
        for _ in (0..KILLS).take_while(|_| begin.elapsed() < LONGEST) {
            let life = if random.percent(85) { 30 + random.below(450) } else { 1_000 + random.below(1_000) };
            thread::sleep(Duration::from_millis(life) * pace);
            gateway.take().into_iter().for_each(|gateway| world.kill(gateway));
            if random.percent(30) {
                match other.take() {
                    Some(other) => world.kill_aside(other),
                    None => other = Some(shop.start_aside()),
                }
            }
            let start = Instant::now();
            gateway = Some(shop.start());
            // If the start takes longer than usual, everything does, and nothing would ever end.
            pace = u32::try_from(start.elapsed().as_millis() / 400).unwrap_or(u32::MAX).clamp(1, 10);
            assert!(!over.load(Ordering::Relaxed), "a platform failed");
        }
        drop(stop);
    });
    other.into_iter().for_each(|other| world.kill_aside(other));
    let facts = shop.settle(random);
    settle(world);
    world.clients.replay(random, None);
    judged(&facts)
}

/// The system calls at which a gateway is killed, and up to the how many-th. It makes all of these now and then when it
/// has nothing to tell, too.
const MOMENTS: &[(&str, u64)] = &[
    ("fsync,fdatasync", 8),
    ("pwrite64", 16),
    ("connect,sendto,sendmsg,write,writev", 16),
    ("recvfrom,read,epoll_wait", 20),
];

/// Number of orders of each platform that move along in turn. After a kill of a gateway, the next one may wait for a
/// while before it sends pending events.
const IN_TURN: usize = 4;

/// Kills the gateway at the first flush, the second and so on while it tells one step of an order; then at writes, at
/// what is sent and at what is received.
pub(crate) fn killed_at_every_call(world: &World, random: &Random) -> String {
    let (shop, mut gateway) = NotifyingShop::open(world, random);
    let platforms = PLATFORMS.iter().cycle().take(PLATFORMS.len() * IN_TURN);
    let orders: Vec<_> = platforms.map(|one| shop.order(random, *one, &[("pot_ceramic", 25)])).collect();
    let told = |order: &str| {
        let webhooks = shop.webhooks();
        let mut own = webhooks.iter().filter(|one| text(one, "order_id") == order);
        own.all(|one| text(one, "state") == "delivered")
    };
    let mut counts = Vec::new();
    let mut turns = orders.iter().cycle();
    for (calls, most) in MOMENTS {
        let mut kills = 0;
        for nth in 1..=*most {
            // Nothing else is to be told meanwhile, as far as that can be.
            let order = turns.next().expect("no end");
            eventually("an order is told", || told(order).then_some(()));
            let strace = Strace::attach(&gateway, calls, &format!("signal=KILL:when={nth}"));
            shop.call(&Step { order, name: "ship", lines: vec!["li_1".to_owned()], more: Vec::new() });
            eventually("the step is told, or the gateway is gone", || {
                (!gateway.is_alive() || told(order)).then_some(())
            });
            drop(strace);
            // It may have been killed just then.
            thread::sleep(Duration::from_millis(20));
            if !gateway.is_alive() {
                kills += 1;
                Tally::add(&world.tally().kills);
                gateway = shop.start();
            }
        }
        counts.push(format!("{kills} of {most} {}", calls.split(',').next().unwrap_or_default()));
    }
    let facts = shop.settle(random);
    settle(world);
    let summary = judged(&facts);
    let spoiled = noticed(&facts);
    format!("killed at {}, {summary}, {spoiled} spoiled notes noticed", counts.join(", "))
}

/// The webhook of a version of an order, by the identifier of the webhook.
fn webhook<'a>(facts: &'a Facts, order: &str, version: u64) -> &'a str {
    let found = facts.webhooks.iter().find(|one| text(one, "order_id") == order && one["order_version"] == version);
    text(found.expect("a webhook"), "id")
}

/// The places at which a webhook arrived.
fn arrivals(facts: &Facts, id: &str) -> Vec<usize> {
    let is = |entry: &Entry| matches!(entry, Entry::Arrived(arrival) if arrival.header("webhook-id") == Ok(id));
    facts.notes.iter().enumerate().filter(|(_, entry)| is(entry)).map(|(place, _)| place).collect()
}

/// Spoils what was written down, in one way after the other, each of which has to be noticed. Gives how many.
fn noticed(facts: &Facts) -> usize {
    type Spoil = fn(&mut Facts, &str, &str);
    fn each(facts: &mut Facts, id: &str, change: impl Fn(&mut crate::platforms::Arrival)) {
        for place in arrivals(facts, id) {
            if let Entry::Arrived(arrival) = &mut facts.notes[place] {
                change(arrival);
            }
        }
    }
    fn replace(body: &mut Vec<u8>, text: &str, other: &str) {
        let changed = String::from_utf8_lossy(body).replace(text, other).into_bytes();
        assert_ne!(*body, changed, "{text}");
        *body = changed;
    }
    // Of the version before the last one, and the last one.
    let spoils: &[(&str, Spoil)] = &[
        ("redirect pointed to", |facts, _, _| facts.misled += 1),
        ("never arrived", |facts, one, _| {
            // Another part is left out, so that all positions stay as they are.
            let others = facts.notes.clone();
            for place in arrivals(facts, one) {
                let other = others.iter().find(|entry| matches!(entry, Entry::Answered { .. }));
                facts.notes[place] = other.expect("an answer").clone();
            }
        }),
        ("nobody knows of", |facts, one, _| facts.webhooks.retain(|webhook| text(webhook, "id") != one)),
        ("another platform", |facts, one, _| each(facts, one, |arrival| arrival.platform.push('x'))),
        ("no gateway has", |facts, _, _| facts.profiles.clear()),
        ("never said that", |facts, one, _| {
            let webhook = facts.webhooks.iter_mut().find(|webhook| text(webhook, "id") == one);
            webhook.expect("a webhook")["state"] = "gone".into();
        }),
        ("is not the same", |facts, one, _| {
            let place = arrivals(facts, one)[0];
            let mut again = facts.notes[place].clone();
            if let Entry::Arrived(arrival) = &mut again {
                arrival.body.push(b' ');
            }
            facts.notes.push(again);
        }),
        ("is not the same", |facts, one, _| {
            let place = arrivals(facts, one)[0];
            let mut again = facts.notes[place].clone();
            if let Entry::Arrived(arrival) = &mut again {
                let stamp = arrival.headers.iter_mut().find(|(name, _)| name == "webhook-timestamp");
                stamp.expect("a time").1.push('1');
            }
            facts.notes.push(again);
        }),
        ("was settled", |facts, one, other| {
            // The later one had come first.
            let (place, later) = (arrivals(facts, one)[0], arrivals(facts, other)[0]);
            let early = facts.notes[later].clone();
            facts.notes.insert(place, early);
            for entry in &mut facts.notes {
                if let Entry::Answered { arrival, .. } = entry {
                    *arrival += usize::from(*arrival >= place);
                }
            }
        }),
        ("has no webhook", |facts, one, _| {
            facts.webhooks.retain(|webhook| text(webhook, "id") != one);
            let gone = arrivals(facts, one);
            let answer = facts.notes.iter().find(|entry| matches!(entry, Entry::Answered { .. }));
            let answer = answer.expect("an answer").clone();
            gone.into_iter().for_each(|place| facts.notes[place] = answer.clone());
        }),
        ("acknowledged and not taken", |facts, one, _| {
            let webhook = facts.webhooks.iter().find(|webhook| text(webhook, "id") == one).expect("a webhook");
            facts
                .taken
                .insert(text(webhook, "order_id").to_owned(), webhook["order_version"].as_u64().expect("one") + 1);
        }),
        ("taken back", |facts, one, _| {
            each(facts, one, |arrival| replace(&mut arrival.body, "\"evt_1\"", "\"evt_0\""));
        }),
        ("is not the order", |facts, _, other| {
            let webhook = facts.webhooks.iter().find(|webhook| text(webhook, "id") == other).expect("a webhook");
            let order = facts.orders.get_mut(text(webhook, "order_id")).expect("an order");
            order.document["line_items"][0]["fulfilled"] = 0.into();
        }),
        ("digest is of another body", |facts, one, _| {
            each(facts, one, |arrival| replace(&mut arrival.body, "\"currency\":\"USD\"", "\"currency\":\"EUR\""));
        }),
        ("signature does not hold", |facts, one, _| {
            each(facts, one, |arrival| {
                let stamp = arrival.headers.iter_mut().find(|(name, _)| name == "webhook-timestamp");
                stamp.expect("a time").1.push('1');
            });
        }),
        ("signature does not hold", |facts, one, other| {
            // A proof of something else.
            let place = arrivals(facts, other)[0];
            let Entry::Arrived(another) = facts.notes[place].clone() else { return };
            each(facts, one, |arrival| {
                let signature = arrival.headers.iter_mut().find(|(name, _)| name == "signature");
                signature.expect("a signature").1 = another.header("signature").expect("one").to_owned();
            });
        }),
        ("is not published", |facts, _, _| facts.keys.clear()),
    ];
    let signed =
        facts.orders.iter().find(|(_, order)| order.version > 2 && text(&order.document, "owner").ends_with("/august"));
    let (id, order) = signed.expect("an order of a release with signed messages");
    let (one, other) = (webhook(facts, id, order.version - 1), webhook(facts, id, order.version));
    for (wrong, spoil) in spoils {
        let mut spoiled = facts.clone();
        spoil(&mut spoiled, one, other);
        let found = spoiled.judge().expect_err(wrong);
        assert!(found.contains(wrong), "{wrong}: {found}");
    }
    // The proof of the older form, too.
    let older = facts
        .orders
        .iter()
        .find(|(_, order)| order.version > 2 && text(&order.document, "owner").ends_with("/january"));
    let (id, order) = older.expect("an order of a release with signed bodies");
    let mut spoiled = facts.clone();
    each(&mut spoiled, webhook(facts, id, order.version), |arrival| {
        replace(&mut arrival.body, "\"permalink_url\":\"http", "\"permalink_url\":\"https");
    });
    let found = spoiled.judge().expect_err("another body");
    assert!(found.contains("signature does not hold"), "{found}");
    spoils.len() + 1
}
