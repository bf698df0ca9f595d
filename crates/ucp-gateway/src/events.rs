//! Events of commerce: what platforms and their buyers do in the shop, a JSON object in each line of a file.
//!
//! The types are those of the public `ucp-analytics` package, as far as calls have them. Nothing tells who a buyer is:
//! no address, no words of a search, no goods. A file that takes no more stops no call; events are dropped and counted.

use std::{
    fmt,
    fs::OpenOptions,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use serde_json::{Map, Value, json};
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use ucp_core::{
    Operation, Release,
    checkout::Status,
    record::{Facts, Repetition, Transport},
};

use crate::{clock, metrics::Ended};

/// Maximum number of events that wait to be written.
const WAITING: usize = 4_096;

/// The file that events are added to. Dropping it writes what is waiting, for at most about a second.
pub(crate) struct Events {
    writer: NonBlocking,
    dropped: ErrorCounter,
    told: AtomicUsize,
    _thread: WorkerGuard,
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

impl Events {
    /// Opens the file, or creates it so that only its owner can read it.
    ///
    /// # Errors
    /// An error that names the file, if it can be neither opened nor created.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
        let file = file.map_err(|error| {
            io::Error::new(error.kind(), format!("cannot open {} (`events.file`): {error}", path.display()))
        })?;
        let builder = NonBlockingBuilder::default().buffered_lines_limit(WAITING).thread_name("events");
        let (writer, thread) = builder.finish(file);
        Ok(Self { dropped: writer.error_counter(), writer, told: AtomicUsize::new(0), _thread: thread })
    }

    /// Writes the events that a call was.
    pub(crate) fn tell(&self, ended: &Ended<'_>) {
        for kind in kinds(ended) {
            let line = format!("{}\n", Value::Object(event(kind, ended)));
            // It fails only if it is dropped, which is counted.
            drop(self.writer.clone().write_all(line.as_bytes()));
        }
        let dropped = self.dropped.dropped_lines();
        if dropped > self.told.swap(dropped, Ordering::Relaxed) {
            tracing::warn!(total = dropped, "events were dropped: their file takes no more");
        }
    }
}

/// Returns the types of the events that a call was.
fn kinds(ended: &Ended<'_>) -> &'static [&'static str] {
    let Facts { operation, sale, declined, repetition, transport, .. } = ended.facts;
    let is_ok = ended.outcome() == "ok";
    let Some(operation) = operation else {
        let is_call = matches!(transport, Transport::Rest | Transport::Mcp);
        return if is_call && !is_ok { &["error"] } else { &[] };
    };
    if !is_ok {
        return &["error"];
    }
    if repetition.is_some_and(|repetition| repetition != Repetition::New) {
        // It was told when it happened.
        return &["request"];
    }
    let status = sale.as_ref().and_then(|sale| sale.status);
    let escalated = status == Some(Status::RequiresEscalation);
    match operation {
        Operation::SearchCatalog => &["catalog_search"],
        Operation::LookupCatalog => &["catalog_lookup"],
        Operation::GetProduct => &["catalog_product_get"],
        Operation::CreateCart => &["cart_created"],
        Operation::GetCart => &["cart_get"],
        Operation::UpdateCart => &["cart_updated"],
        Operation::CancelCart => &["cart_canceled"],
        Operation::CreateCheckout if escalated => &["checkout_session_created", "checkout_escalation"],
        Operation::CreateCheckout => &["checkout_session_created"],
        Operation::GetCheckout => &["checkout_session_get"],
        Operation::UpdateCheckout if escalated => &["checkout_session_updated", "checkout_escalation"],
        Operation::CompleteCheckout if *declined => &["payment_failed"],
        Operation::CompleteCheckout if escalated => &["checkout_escalation"],
        Operation::CompleteCheckout if status == Some(Status::Completed) => {
            &["payment_completed", "checkout_session_completed", "order_created"]
        }
        Operation::UpdateCheckout | Operation::CompleteCheckout => &["checkout_session_updated"],
        Operation::CancelCheckout => &["checkout_session_canceled"],
        _ => &["request"],
    }
}

fn event(kind: &str, ended: &Ended<'_>) -> Map<String, Value> {
    let Facts { request_id, transport, release, operation, sale, error, .. } = ended.facts;
    let mut event = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            event.insert(name.to_owned(), value);
        }
    };
    put("event_id", uuid::Uuid::new_v4().to_string().into());
    put("event_type", kind.into());
    put("timestamp", clock::timestamp().to_string().into());
    put("app_name", ended.shop.into());
    put("platform", ended.platform.unwrap_or("other").into());
    put("transport", transport.as_str().into());
    put("operation", operation.map(|operation| operation.row().name).into());
    put("ucp_version", release.map(Release::date).into());
    put("request_id", request_id.as_str().into());
    put("http_status_code", ended.status.into());
    if ended.outcome() != "ok" {
        put("error_code", error.as_deref().unwrap_or_else(|| ended.outcome()).into());
    }
    if let Some(sale) = sale {
        put(if sale.status.is_some() { "checkout_session_id" } else { "cart_id" }, sale.id.as_str().into());
        put("checkout_status", sale.status.map(Status::as_str).into());
        put("order_id", sale.order_id.as_deref().into());
        put("currency", sale.currency.as_str().into());
        put("total_amount", sale.total.into());
        put("line_item_count", sale.lines.into());
    }
    let total: Duration = ended.spent.iter().sum();
    put("latency_ms", json!(total.as_secs_f64() * 1_000.0));
    event
}
