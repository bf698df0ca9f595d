//! Three gateways on one PostgreSQL server: they and the server are killed at random while platforms buy, connections are cut between
//! any two messages, and the server fails over to a standby.
//!
//! The first gateway reaches the server through a proxy that cuts connections, the second through pgbouncer in transaction mode if
//! that is installed, the third directly. Platforms turn to one of them as chance will have it, so that a call that is
//! repeated mostly comes to another one.

use std::{
    net::SocketAddr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::runtime::Runtime;
use ucp_testkit::postgres::{Bouncer, Cluster, CuttingProxy, Side};

use crate::{
    books::{check, settle},
    client::{Call, contents, payment, text},
    kills::shop,
    oracle,
    process::{Gateway, World, eventually},
    random::Random,
};

/// Why a scenario on PostgreSQL does nothing.
pub(crate) const SKIPPED: &str = "skipped: PostgreSQL is not installed (apt-get install postgresql)";

/// Default number of times that gateways are killed.
pub(crate) const KILLS: u64 = 300;

/// For how long gateways are killed at most: what has happened is looked into and repeated afterwards, within the time of a lane.
pub(crate) const LONGEST: Duration = Duration::from_secs(540);

/// Kills of gateways to one of the server.
pub(crate) const TO_ONE: u64 = 10;

/// Directories of the gateways.
pub(crate) const DIRECTORIES: [&str; 3] = ["one", "two", "three"];

/// The ways to a server: through a proxy that cuts connections, through pgbouncer, and directly.
pub(crate) struct Ways {
    pub(crate) proxy: CuttingProxy,
    bouncer: Option<Bouncer>,
    /// The addresses of the database, one for each gateway.
    pub(crate) databases: Vec<String>,
    _runtime: Runtime,
}

impl Ways {
    pub(crate) fn open(world: &World, cluster: &Cluster) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let proxy = runtime.block_on(CuttingProxy::start(cluster.port()));
        let (bouncer, direct) = (Bouncer::start(cluster.port(), 8), cluster.url("postgres"));
        world.database.set(direct.clone()).expect("set once");
        let proxied = direct.replace(&cluster.port().to_string(), &proxy.port().to_string());
        let pooled = bouncer.as_ref().map_or_else(|| direct.clone(), |bouncer| bouncer.url("postgres"));
        Self { proxy, bouncer, databases: vec![proxied, pooled, direct], _runtime: runtime }
    }

    /// Cuts a connection soon.
    pub(crate) fn cut(&self, random: &Random) {
        let side = if random.percent(50) { Side::Client } else { Side::Server };
        self.proxy.cut_after(side, usize::try_from(random.below(40)).expect("small"));
    }

    /// Returns a summary of the proxies in between.
    pub(crate) fn summary(&self) -> String {
        let pooler =
            if self.bouncer.is_some() { "pgbouncer in the middle" } else { "no pgbouncer, which is not installed" };
        format!("{} connections cut between messages, {pooler}", self.proxy.cuts())
    }
}

/// The gateways, each with the address of its database.
pub(crate) struct Gateways<'w> {
    world: &'w World,
    databases: Vec<String>,
    running: Mutex<Vec<Option<Gateway>>>,
}

impl<'w> Gateways<'w> {
    pub(crate) fn start(world: &'w World, databases: Vec<String>) -> Self {
        // One after the other: the first makes the shop.
        let start = |(directory, database): (&&str, &String)| Some(world.start_on(directory, database));
        let running = DIRECTORIES.iter().zip(&databases).map(start).collect();
        Self { world, databases, running: Mutex::new(running) }
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.iter().flatten().map(|gateway| gateway.address).collect()
    }

    /// Makes the platforms turn to one of them.
    fn turn(&self, random: &Random) {
        let addresses = self.addresses();
        self.world.clients.turn_to(random.index(addresses.len()).map(|nth| addresses[nth]));
    }

    pub(crate) fn kill(&self, nth: usize) {
        let gateway = self.running.lock().unwrap_or_else(PoisonError::into_inner)[nth].take();
        gateway.into_iter().for_each(|gateway| self.world.kill_aside(gateway));
    }

    pub(crate) fn revive(&self, nth: usize) {
        let gateway = self.world.start_on(DIRECTORIES[nth], &self.databases[nth]);
        self.running.lock().unwrap_or_else(PoisonError::into_inner)[nth] = Some(gateway);
    }
}

/// Kills gateways `kills` times, and the server a tenth as often.
pub(crate) fn killed(world: &World, random: &Random, kills: u64) -> String {
    let Some(mut cluster) = Cluster::start(&[]) else { return SKIPPED.to_owned() };
    let ways = Ways::open(world, &cluster);
    let gateways = Gateways::start(world, ways.databases.clone());
    gateways.turn(random);

    // First whether anything wrong would be noticed.
    let create = Call::keyed("create_checkout", "", contents(&[("pot_ceramic", 1)]), random.key());
    let id = text(&world.clients.ask(random, &create), "id").to_owned();
    world.clients.ask(random, &Call::keyed("complete_checkout", &id, payment("ok"), random.key()));
    assert_eq!(settle(world).orders_of(&id), 1);
    let spoiled = oracle::notices_shared(world);

    let over = AtomicBool::new(false);
    let mut server_kills = 0;
    thread::scope(|scope| {
        let stop = shop(scope, world, random, &over);
        let began = Instant::now();
        for kill in (1..=kills).take_while(|_| began.elapsed() < LONGEST) {
            ways.cut(random);
            thread::sleep(Duration::from_millis(10 + random.below(150)));
            let nth = random.index(DIRECTORIES.len()).expect("there are some");
            gateways.kill(nth);
            gateways.turn(random);
            if kill % TO_ONE == 0 {
                cluster.kill();
                thread::sleep(Duration::from_millis(random.below(300)));
                cluster.run();
                server_kills += 1;
            }
            gateways.revive(nth);
            gateways.turn(random);
            if kill % 10 == 0 {
                check(world);
                world.clients.replay(random, Some(8));
            }
            assert!(!over.load(Ordering::Relaxed), "a platform failed");
        }
        drop(stop);
    });
    ways.proxy.spare();
    let books = settle(world);
    // Whichever gateway is asked, the answer is the one that was given.
    for address in gateways.addresses() {
        world.clients.turn_to(Some(address));
        world.clients.replay(random, if address == gateways.addresses()[0] { None } else { Some(100) });
    }
    format!(
        "{} orders, {server_kills} kills of the server, {}, {spoiled} spoiled books noticed",
        books.orders(),
        ways.summary()
    )
}

/// The databases on which two gateways are asked at once.
pub(crate) const SHARED: [&str; 2] = ["SQLite", "PostgreSQL"];

/// Has two gateways on one data directory at work, and then two on one PostgreSQL server, if that is installed. Returns
/// what was found on each.
pub(crate) fn on_each_database<T>(world: &World, mut run: impl FnMut(&str, &[Gateway]) -> T) -> Vec<T> {
    let [sqlite, postgres] = SHARED;
    let found = run(sqlite, &[world.start(false), world.start_aside(false)]);
    let Some(cluster) = Cluster::start(&[]) else { return vec![found] };
    let database = cluster.url("postgres");
    world.database.set(database.clone()).expect("set once");
    let [one, two, _] = DIRECTORIES.map(|directory| (directory, &database));
    let gateways = [one, two].map(|(directory, database)| world.start_on(directory, database));
    vec![found, run(postgres, &gateways)]
}

/// Rounds of purchases before and after the failover.
const ROUNDS: usize = 20;

/// The primary is killed under load, and its synchronous standby promoted. Gateways have the addresses of both.
pub(crate) fn failed_over(world: &World, random: &Random) -> String {
    let Some(mut primary) = Cluster::start(&[]) else { return SKIPPED.to_owned() };
    let standby = primary.standby("standby");
    drop(primary.psql("ALTER SYSTEM SET synchronous_standby_names = '*'"));
    drop(primary.psql("SELECT pg_reload_conf()"));
    eventually("the standby is synchronous", || {
        (primary.psql("SELECT sync_state FROM pg_stat_replication") == "sync").then_some(())
    });
    let (one, two) = (primary.port(), standby.port());
    let both = primary.url("postgres").replace(&format!(":{one}"), &format!(":{one},127.0.0.1:{two}"));
    world.database.set(primary.url("postgres")).expect("set once");
    let gateways = Gateways::start(world, vec![both; DIRECTORIES.len()]);
    gateways.turn(random);
    let over = AtomicBool::new(false);
    let without = thread::scope(|scope| {
        let stop = shop(scope, world, random, &over);
        let written = || world.clients.acknowledged().len();
        eventually("platforms buy", || (written() > ROUNDS).then_some(()));
        let killed = Instant::now();
        primary.kill();
        let before = written();
        standby.promote();
        let promoted = killed.elapsed();
        // Beside those that were under way.
        eventually("platforms buy again", || {
            gateways.turn(random);
            (written() > before + 3).then_some(())
        });
        let without = killed.elapsed();
        let then = written();
        eventually("platforms go on buying", || (written() > then + ROUNDS).then_some(()));
        drop(stop);
        (promoted, without)
    });
    drop(primary);
    // From here on the books are those of the standby.
    let books = settle_on(world, &standby, random, &gateways);
    let (promoted, without) = without;
    format!(
        "{books} orders, {:.1} s without writes, of which {:.1} s until the standby was promoted",
        without.as_secs_f64(),
        promoted.as_secs_f64()
    )
}

/// Everything that was acknowledged before and after is in the books of the standby.
fn settle_on(world: &World, standby: &Cluster, random: &Random, gateways: &Gateways<'_>) -> usize {
    eventually("every payment is settled", || {
        let sql = "SELECT count(*) FROM checkouts WHERE attempted_at IS NOT NULL";
        (standby.psql(sql) == "0").then_some(())
    });
    for address in gateways.addresses() {
        world.clients.turn_to(Some(address));
        world.clients.replay(random, None);
    }
    let captured = world.report().payments.values().filter(|payment| payment.captures > 0).count();
    let orders: usize = standby.psql("SELECT count(*) FROM orders").parse().expect("a number");
    assert_eq!(orders, captured, "money was taken if and only if there is an order");
    assert!(world.report().payments.values().all(|payment| payment.captures <= 1), "nothing is charged twice");
    for (operation, document) in world.clients.acknowledged() {
        if operation == "complete_checkout" && text(&document, "status") == "completed" {
            let order = text(&document["order"], "id");
            let found: Value = world.clients.ask(random, &Call::reading("get_order", order));
            assert_eq!(text(&found, "id"), order, "an acknowledged order is gone");
        }
    }
    orders
}
