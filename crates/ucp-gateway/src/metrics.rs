//! Metrics in the text format of Prometheus.
//!
//! Calls are counted as they end ([`Metrics::count`]). Everything else is read from where it is kept when the metrics
//! are asked for. Labels have few values: platforms are named only if they are registered, and codes are those of
//! refusals.

use std::{error::Error, fs, sync::Arc, time::Duration};

use async_trait::async_trait;
use jiff::Timestamp;
use prometheus::{
    Counter, CounterVec, GaugeVec, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry, proto::MetricFamily,
};
use rustix::{
    fs::statvfs,
    process::{Resource, getrlimit},
};
use ucp_console::admin;
use ucp_core::{
    Release,
    ports::{
        agenda::{Kind, Tally},
        outbox::Backlog,
    },
};
use ucp_host::{backend::Counted, clock, ended::Ended, health::Health, running::Running};
use ucp_listener::{Connections, Tls};
use ucp_postgres::PostgresStore;
use ucp_record::{Stage, Step};
use ucp_sqlite::Activity;
use ucp_sync::Status;

use crate::{events::Events, export::Counts, telemetry::Log};

/// Upper bounds of the buckets of durations, in seconds. Alerts compare with 1, 2.5, 4, 5, 6 and 10.
const SECONDS: [f64; 17] =
    [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 4.0, 5.0, 6.0, 10.0, 25.0];

/// Metrics of calls, which are counted as the calls end.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    calls: IntCounterVec,
    seconds: HistogramVec,
    stages: [Counter; Stage::ALL.len()],
    in_flight: IntGauge,
    bytes: [IntCounter; 2],
    cache: IntCounterVec,
    keys: IntCounterVec,
    funnel: IntCounterVec,
}

impl Metrics {
    /// Creates the metrics of a process.
    ///
    /// # Errors
    /// None, as long as their names differ and are well-formed.
    pub(crate) fn new() -> prometheus::Result<Self> {
        let registry = Registry::new();
        let vec = |name, help, labels: &[&str]| {
            let vec = IntCounterVec::new(Opts::new(name, help), labels)?;
            registry.register(Box::new(vec.clone())).map(|()| vec)
        };
        let calls = vec(
            "ucp_calls_total",
            "Completed requests, by outcome",
            &["shop", "transport", "release", "operation", "outcome"],
        )?;
        let cache = vec("ucp_cache_lookups_total", "Upstream reads, by result of the cache", &["shop", "result"])?;
        let keys =
            vec("ucp_idempotency_keys_total", "Requests with an idempotency key, by result", &["shop", "result"])?;
        let funnel = vec("ucp_funnel_total", "Funnel steps, by platform and step", &["shop", "platform", "step"])?;
        let buckets =
            HistogramOpts::new("ucp_call_duration_seconds", "Request duration in seconds").buckets(SECONDS.to_vec());
        let seconds = HistogramVec::new(buckets, &["shop", "transport", "operation"])?;
        registry.register(Box::new(seconds.clone()))?;
        let by_stage = CounterVec::new(
            Opts::new("ucp_call_stage_seconds_total", "Time spent on requests in seconds, by stage"),
            &["stage"],
        )?;
        registry.register(Box::new(by_stage.clone()))?;
        let stages = Stage::ALL.map(|stage| by_stage.with_label_values(&[stage.as_str()]));
        let in_flight = IntGauge::new("ucp_calls_in_flight", "Requests in flight")?;
        registry.register(Box::new(in_flight.clone()))?;
        let bytes = vec("ucp_body_bytes_total", "Bytes of request and response bodies, by direction", &["direction"])?;
        let bytes = ["in", "out"].map(|direction| bytes.with_label_values(&[direction]));
        Ok(Self { registry, calls, seconds, stages, in_flight, bytes, cache, keys, funnel })
    }

    /// Counts a call that begins.
    pub(crate) fn begin(&self) {
        self.in_flight.inc();
    }

    /// Counts a call that has ended.
    pub(crate) fn count(&self, ended: &Ended<'_>) {
        self.in_flight.dec();
        let Ended { shop, facts, .. } = ended;
        let operation = facts.operation.map_or("none", |operation| operation.row().name);
        let release = facts.release.map_or("none", Release::date);
        let transport = facts.transport.as_str();
        self.calls.with_label_values(&[shop, transport, release, operation, ended.outcome()]).inc();
        let total: Duration = ended.spent.iter().sum();
        self.seconds.with_label_values(&[shop, transport, operation]).observe(total.as_secs_f64());
        for (stage, spent) in self.stages.iter().zip(ended.spent).filter(|(_, spent)| !spent.is_zero()) {
            stage.inc_by(spent.as_secs_f64());
        }
        self.bytes[0].inc_by(facts.bytes_in as u64);
        self.bytes[1].inc_by(ended.bytes_out);
        if let Some(cached) = facts.cached {
            self.cache.with_label_values(&[shop, cached.as_str()]).inc();
        }
        if let Some(repetition) = facts.repetition {
            self.keys.with_label_values(&[shop, repetition.as_str()]).inc();
        }
        if let Some(step) = Step::of(facts).filter(|_| ended.status.is_some_and(|status| status < 400)) {
            self.step(shop, ended.platform, step);
        }
    }

    /// Counts a step of a buyer.
    pub(crate) fn step(&self, shop: &str, platform: Option<&str>, step: Step) {
        self.funnel.with_label_values(&[shop, platform.unwrap_or("other"), step.as_str()]).inc();
    }
}

/// Everything that the metrics of a process are read from.
#[derive(Debug)]
pub(crate) struct Sources {
    pub(crate) metrics: Metrics,
    pub(crate) running: Arc<Running>,
    pub(crate) connections: Connections,
    /// TLS of the listener, if it has any.
    pub(crate) tls: Option<Tls>,
    pub(crate) log: Arc<Log>,
    pub(crate) health: Health,
    pub(crate) events: Option<Arc<Events>>,
    /// Numbers of the items of each export of telemetry.
    pub(crate) exports: Vec<Arc<Counts>>,
}

#[async_trait]
impl admin::Metrics for Sources {
    async fn families(&self) -> prometheus::Result<Vec<MetricFamily>> {
        let mut families = self.metrics.registry.gather();
        families.extend(self.read().await?);
        families.sort_by(|one, other| one.name().cmp(other.name()));
        Ok(families)
    }
}

impl Sources {
    /// Reads what is kept elsewhere. What cannot be read is left out.
    async fn read(&self) -> prometheus::Result<Vec<MetricFamily>> {
        let read = Reading(Registry::new());
        let (connections, files) = (&self.connections, self.running.files.directories());
        let written = |count: fn(&Activity) -> u64| files.iter().map(|(_, store)| count(store.activity())).sum::<u64>();
        let is_ready = self.health.reasons().await.is_empty();
        read.gauge("ucp_ready", "1 if the gateway is ready", &[])?.set(&[], u64::from(is_ready));
        read.gauge("ucp_build_info", "Version of the gateway", &["version"])?.set(&[env!("CARGO_PKG_VERSION")], 1);
        read.gauge("ucp_connections", "Open connections", &[])?.set(&[], connections.count() as u64);
        let closed = "Connections closed to make room for others";
        read.counter("ucp_connections_closed_total", closed, &[])?.set(&[], connections.closed());
        let dropped = "Log lines dropped because they could not be written";
        read.counter("ucp_log_lines_dropped_total", dropped, &[])?.set(&[], self.log.dropped());
        let left_out = "Log lines left out by sampling";
        read.counter("ucp_log_lines_left_out_total", left_out, &[])?.set(&[], self.log.left_out());
        let commits = "Store commits, each flushed to disk";
        read.counter("ucp_store_commits_total", commits, &[])?.set(&[], written(Activity::commits));
        read.counter("ucp_store_writes_total", "Store writes", &[])?.set(&[], written(Activity::writes));
        read.gauge("ucp_store_queue", "Store writes queued or in progress", &[])?.set(&[], written(Activity::queued));
        let free = "Free bytes of the file system of a data directory";
        let free = read.gauge("ucp_data_free_bytes", free, &["directory"])?;
        for (directory, _) in &files {
            if let Ok(system) = statvfs(directory) {
                free.set(&[&directory.to_string_lossy()], system.f_bavail.saturating_mul(system.f_frsize));
            }
        }
        let items = "Exported spans and events, by result";
        let items = read.counter("ucp_telemetry_items_total", items, &["of", "result"])?;
        let waiting = read.gauge("ucp_telemetry_waiting", "Spans and events queued for export", &["of"])?;
        for counts in &self.exports {
            items.set(&[counts.name, "sent"], counts.sent());
            items.set(&[counts.name, "dropped"], counts.dropped());
            waiting.set(&[counts.name], counts.waiting());
        }
        if let Some([written, dropped, left]) = self.events.as_ref().and_then(|events| events.in_file()) {
            items.set(&["events_file", "sent"], written);
            items.set(&["events_file", "dropped"], dropped);
            waiting.set(&["events_file"], left);
        }
        read_process(&read)?;
        self.read_certificates(&read)?;
        read_databases(&read, &self.running.files.databases())?;
        self.read_shops(&read).await?;
        Ok(read.0.gather())
    }

    /// Reads when certificates end: those of the listener, and those that the gateway shows to the shops behind it.
    fn read_certificates(&self, read: &Reading) -> prometheus::Result<()> {
        let expiry = "End of a certificate in use, in seconds since 1970";
        let expiry = read.gauge("ucp_certificate_expiry_seconds", expiry, &["shop", "certificate"])?;
        let set = |shop: &str, name: &str, end: Timestamp| {
            expiry.set(&[shop, name], u64::try_from(end.as_second()).unwrap_or_default());
        };
        for (name, end) in self.tls.iter().flat_map(Tls::expiries) {
            set("", name, end);
        }
        for settings in &self.running.configuration().shops {
            if let Some(end) = settings.upstream.as_ref().and_then(|upstream| upstream.identity_expiry) {
                set(settings.mount.id.as_str(), "upstream_client", end);
            }
        }
        Ok(())
    }

    async fn read_shops(&self, read: &Reading) -> prometheus::Result<()> {
        const SHOP: &[&str] = &["shop"];
        let held = read.gauge("ucp_body_bytes_held", "Bytes of request bodies in memory", SHOP)?;
        let profiles = read.gauge("ucp_profiles", "Platform profiles in memory", SHOP)?;
        let waiting = read.gauge("ucp_webhooks_waiting", "Pending webhook events", SHOP)?;
        let age =
            read.gauge("ucp_webhooks_oldest_seconds", "Age of the oldest pending webhook event, in seconds", SHOP)?;
        let key = "1 if there is a signing key; without one, webhooks wait";
        let key = read.gauge("ucp_signing_key", key, SHOP)?;
        let attempts = "Webhook delivery attempts, by result";
        let attempts = read.counter("ucp_webhook_attempts_total", attempts, &["shop", "result"])?;
        let events = "Events of the upstream connection, by event";
        let events = read.counter("ucp_upstream_events_total", events, &["shop", "event"])?;
        let circuit =
            read.gauge("ucp_upstream_circuit_open", "1 while the circuit breaker of the upstream is open", SHOP)?;
        let payments = "Payment handler calls, by call and result";
        let payments = read.counter("ucp_payment_calls_total", payments, &["shop", "handler", "call", "result"])?;
        let tasks = "Planned and due tasks, by kind";
        let tasks = read.gauge("ucp_tasks", tasks, &["shop", "kind"])?;
        let given_up = "Tasks that failed permanently, by kind; an operator can retry them";
        let given_up = read.gauge("ucp_tasks_given_up", given_up, &["shop", "kind"])?;
        let lateness = "Time since the most overdue task was due, in seconds, by kind";
        let lateness = read.gauge("ucp_task_lateness_seconds", lateness, &["shop", "kind"])?;
        let carried_out = "Task runs, by kind and result";
        let carried_out = read.counter("ucp_tasks_carried_out_total", carried_out, &["shop", "kind", "result"])?;
        let lag =
            read.gauge("ucp_index_lag_products", "Products whose last change is not in the search index yet", SHOP)?;
        let sync_age = read.gauge("ucp_catalog_age_seconds", "Age of the catalog copy, in seconds", SHOP)?;
        let sync_running = "1 while a catalog synchronization is running";
        let sync_running = read.gauge("ucp_catalog_sync_running", sync_running, SHOP)?;
        let sync_read = "Products read by the running catalog synchronization";
        let sync_read = read.gauge("ucp_catalog_sync_products", sync_read, SHOP)?;
        let sync_held = "Products whose removal is held for the operator";
        let sync_held = read.gauge("ucp_catalog_sync_held_products", sync_held, SHOP)?;
        let sync_failures = "Catalog synchronizations that failed since the last success";
        let sync_failures = read.gauge("ucp_catalog_sync_failures", sync_failures, SHOP)?;
        let behind = "Product changes in the database that this gateway has not read yet";
        let behind = read.gauge("ucp_catalog_lag_changes", behind, SHOP)?;
        let since = "Time since this gateway's products were up to date with the database, in seconds";
        let since = read.milliseconds("ucp_catalog_lag_seconds", since, SHOP)?;
        let former = "The same in milliseconds, under the name of the version before";
        let former = read.gauge("ucp_catalog_lag_milliseconds", former, SHOP)?;
        let slots = self.running.shops.all();
        read.gauge("ucp_shops", "Configured shops", &[])?.set(&[], slots.len() as u64);
        let open = read.gauge("ucp_shops_open", "Open shops", &[])?;
        let ready =
            read.gauge("ucp_shop_ready", "1 unless the upstream was unreachable when the shop was opened", SHOP)?;
        let mut count = 0;
        for slot in &slots {
            let id = slot.id.as_str();
            let Some(shop) = slot.shop() else { continue };
            count += 1;
            ready.set(&[id], u64::from(shop.ready));
            if let Some((bodies, platforms)) = &shop.held {
                held.set(&[id], bodies.held() as u64);
                profiles.set(&[id], platforms.directory().len() as u64);
            }
            match shop.store.backlog().await {
                Ok(Backlog { waiting: count, since }) => {
                    let waits = |since| clock::timestamp().duration_since(since).as_secs().max(0).unsigned_abs();
                    waiting.set(&[id], count);
                    age.set(&[id], since.map_or(0, waits));
                }
                Err(error) => {
                    tracing::warn!(error = &error as &dyn Error, "counting pending webhooks failed");
                }
            }
            key.set(&[id], u64::from(slot.can_sign()));
            for (result, count) in shop.webhooks.by_result() {
                attempts.set(&[id, result], count);
            }
            match shop.store.tallies().await {
                Ok(tallies) => {
                    for kind in Kind::ALL {
                        let tally = tallies.iter().find(|tally| tally.kind == kind);
                        let late =
                            |tally: &Tally| clock::timestamp().duration_since(tally.due?).as_secs().try_into().ok();
                        tasks.set(&[id, kind.as_str()], tally.map_or(0, |tally| tally.waiting));
                        given_up.set(&[id, kind.as_str()], tally.map_or(0, |tally| tally.given_up));
                        lateness.set(&[id, kind.as_str()], tally.and_then(late).unwrap_or(0));
                    }
                }
                Err(error) => tracing::warn!(error = &error as &dyn Error, "counting tasks failed"),
            }
            for (kind, result, count) in shop.agenda.all() {
                carried_out.set(&[id, kind.as_str(), result], count);
            }
            for (Counted { handler, call, result }, count) in shop.payments.all() {
                payments.set(&[id, &handler, call, result], count);
            }
            if let Some(counters) = &shop.counters {
                let snapshot = counters.snapshot();
                circuit.set(&[id], u64::from(snapshot.is_open()));
                snapshot.events().for_each(|(event, count)| events.set(&[id, event], count));
            }
            if let Some(products) = slot.data().and_then(|data| data.products().cloned())
                && let Ok(Ok(products)) = tokio::task::spawn_blocking(move || products.index_lag()).await
            {
                lag.set(&[id], products);
            }
            if let Some(replica) = slot.data().as_ref().and_then(|data| data.database.as_ref()?.replica()) {
                let lag = replica.lag();
                behind.set(&[id], lag.changes);
                since.set(&[id], lag.milliseconds);
                former.set(&[id], lag.milliseconds);
            }
            if let Some(synchroniser) = &shop.synchroniser {
                let Status { state, running, failures } = synchroniser.status();
                let age = |as_of| clock::timestamp().duration_since(as_of).as_secs().max(0).unsigned_abs();
                state.as_of.map(age).into_iter().for_each(|seconds| sync_age.set(&[id], seconds));
                sync_running.set(&[id], u64::from(running.is_some()));
                sync_read.set(&[id], running.map_or(0, |run| run.tally.read()));
                sync_held.set(&[id], state.held.map_or(0, |held| held.lost));
                sync_failures.set(&[id], failures);
            }
        }
        open.set(&[], count);
        Ok(())
    }
}

/// Ticks of the clock in which the kernel states times of processes, per second.
const TICKS: u64 = 100;

/// Reads what the kernel says of this process (proc(5)).
fn read_process(read: &Reading) -> prometheus::Result<()> {
    let [stat, status, system] =
        ["/proc/self/stat", "/proc/self/status", "/proc/stat"].map(|path| fs::read_to_string(path).unwrap_or_default());
    // The name of the program, the second field, may hold anything.
    let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let line = |text: &str, name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse::<u64>().ok())
    };
    let open = fs::read_dir("/proc/self/fd").ok().map(|open| open.count() as u64);
    let gauge = |name: &str, help: &str, value: Option<u64>| match value {
        Some(value) => read.gauge(name, help, &[]).map(|gauge| gauge.set(&[], value)),
        None => Ok(()),
    };
    if let Some(used) = field(14).zip(field(15)).map(|(user, system)| (user + system) / TICKS) {
        let help = "Total user and system CPU time spent in seconds.";
        read.counter("process_cpu_seconds_total", help, &[])?.set(&[], used);
    }
    gauge("process_open_fds", "Number of open file descriptors.", open)?;
    gauge("process_max_fds", "Maximum number of open file descriptors.", getrlimit(Resource::Nofile).current)?;
    gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", field(23))?;
    let resident = line(&status, "VmRSS:").map(|kibibytes| kibibytes * 1_024);
    gauge("process_resident_memory_bytes", "Resident memory size in bytes.", resident)?;
    let started = line(&system, "btime ").zip(field(22)).map(|(boot, ticks)| boot + ticks / TICKS);
    gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", started)?;
    gauge("process_threads", "Number of OS threads in the process.", field(20))
}

/// Reads what is known of the databases that gateways share.
fn read_databases(read: &Reading, databases: &[PostgresStore]) -> prometheus::Result<()> {
    const DATABASE: &[&str] = &["database"];
    let up = "1 if the shared database answers";
    let up = read.gauge("ucp_database_up", up, DATABASE)?;
    let all = read.gauge("ucp_database_connections", "Open connections to the database", DATABASE)?;
    let unused = "Idle connections to the database";
    let unused = read.gauge("ucp_database_connections_idle", unused, DATABASE)?;
    let repeated = "Statements sent to the database again";
    let repeated = read.counter("ucp_database_repeated_total", repeated, DATABASE)?;
    for store in databases {
        let (labels, (open, idle)) = ([store.place()], store.connections());
        up.set(&labels, u64::from(store.is_reachable()));
        all.set(&labels, open as u64);
        unused.set(&labels, idle as u64);
        repeated.set(&labels, store.repeated());
    }
    Ok(())
}

/// Metrics that are read at one moment.
struct Reading(Registry);

impl Reading {
    fn gauge(&self, name: &str, help: &str, labels: &[&str]) -> prometheus::Result<Family> {
        let family = IntGaugeVec::new(Opts::new(name, help), labels)?;
        self.0.register(Box::new(family.clone())).map(|()| Family::Gauge(family))
    }

    /// A gauge that is set in milliseconds and read in seconds.
    fn milliseconds(&self, name: &str, help: &str, labels: &[&str]) -> prometheus::Result<Family> {
        let family = GaugeVec::new(Opts::new(name, help), labels)?;
        self.0.register(Box::new(family.clone())).map(|()| Family::Milliseconds(family))
    }

    fn counter(&self, name: &str, help: &str, labels: &[&str]) -> prometheus::Result<Family> {
        let family = IntCounterVec::new(Opts::new(name, help), labels)?;
        self.0.register(Box::new(family.clone())).map(|()| Family::Counter(family))
    }
}

/// A metric that is read at one moment, by the values of its labels.
enum Family {
    Gauge(IntGaugeVec),
    Milliseconds(GaugeVec),
    Counter(IntCounterVec),
}

impl Family {
    /// Sets the value for labels, once.
    fn set(&self, labels: &[&str], value: u64) {
        match self {
            Self::Gauge(family) => family.with_label_values(labels).set(i64::try_from(value).unwrap_or(i64::MAX)),
            Self::Milliseconds(family) => {
                family.with_label_values(labels).set(Duration::from_millis(value).as_secs_f64());
            }
            Self::Counter(family) => family.with_label_values(labels).inc_by(value),
        }
    }
}
