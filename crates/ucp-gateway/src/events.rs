//! Events of commerce: what platforms and their buyers do in the shop, to a file of JSON Lines, to a server of the operator,
//! or as logs to a collector of OpenTelemetry.
//!
//! The types are those of the public `ucp-analytics` package, as far as calls have them. Nothing tells who a buyer is:
//! no address, no words of a search, no goods. A receiver that takes no more stops no call; events are dropped
//! and counted.

use std::{
    error::Error,
    fmt,
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use opentelemetry::{
    SpanId, TraceFlags, TraceId,
    logs::{AnyValue, LogRecord as _},
};
use opentelemetry_sdk::logs::SdkLogRecord;
use serde_json::{Map, Value, json};
use ucp_config::Process;
use ucp_core::{Operation, Release, checkout::Status};
use ucp_host::{clock, ended::Ended};
use ucp_record::{Facts, Repetition, Trace, Transport};

use crate::{
    export::{
        Export, Exports,
        json_lines::JsonLines,
        otlp::{Logs, Records},
    },
    line_writer::{Closing, LineWriter, Loss},
};

/// Receivers of events. Dropping them writes what waits for the file, for at most about a second.
pub(crate) struct Events {
    file: Option<File>,
    lines: Option<Export<Map<String, Value>>>,
    logs: Option<(Export<SdkLogRecord>, Records)>,
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("lines", &self.lines).finish_non_exhaustive()
    }
}

impl Events {
    /// Opens the receivers of a configuration; `None` if there is none.
    ///
    /// # Errors
    /// An error if a receiver cannot be set up.
    pub(crate) fn open(process: &Process, exports: &mut Exports) -> Result<Option<Self>, Box<dyn Error>> {
        let (sections, receivers) = (&process.events, &process.receivers);
        let file = sections.file.as_ref().map(|path| File::open(path.to_path_buf())).transpose()?;
        let lines = receivers.events.as_ref().map(JsonLines::new).transpose()?;
        let lines = lines.map(|sink| Export::start("events_http", sink, exports));
        let logs = receivers.logs.as_ref().map(Logs::new).transpose()?;
        let logs = logs.map(|sink| (Export::start("events_otlp", sink, exports), Records::new()));
        let exists = file.is_some() || lines.is_some() || logs.is_some();
        Ok(exists.then_some(Self { file, lines, logs }))
    }

    /// Tells the events that a call was.
    pub(crate) fn tell(&self, ended: &Ended<'_>, trace: Option<&Arc<Trace>>) {
        let kinds = kinds(ended).iter().filter(|kind| ended.are_orders_elsewhere || **kind != "order_created");
        for kind in kinds {
            self.put(kind, event(kind, ended), trace);
        }
    }

    /// Tells an event that was no call, and that states its own time.
    pub(crate) fn happened(&self, kind: &'static str, members: Map<String, Value>) {
        let mut event = Map::new();
        event.insert("event_id".to_owned(), uuid::Uuid::new_v4().to_string().into());
        event.insert("event_type".to_owned(), kind.into());
        event.extend(members);
        self.put(kind, event, None);
    }

    /// Returns the numbers of the events that the file has got, that were dropped, and that wait for it; `None` without one.
    pub(crate) fn in_file(&self) -> Option<[u64; 3]> {
        self.file.as_ref().map(|File { writer, .. }| [writer.written(), writer.dropped(), writer.waiting()])
    }

    /// Tells how many events the file did not get, at first at once, then once a minute, and at the end of the process.
    pub(crate) fn report(&self, is_end: bool) {
        let Some(File { writer, .. }) = &self.file else { return };
        let now = Instant::now();
        if let Some(Loss { total, problem }) = writer.loss(now, is_end) {
            tracing::warn!(total, problem, "events dropped: writing their file failed");
            writer.told(total, now);
        }
    }

    fn put(&self, kind: &'static str, event: Map<String, Value>, trace: Option<&Arc<Trace>>) {
        if let Some(file) = &self.file {
            file.put(&event);
        }
        if let Some((logs, records)) = &self.logs {
            logs.tell(std::iter::once(record(kind, &event, trace, records)));
        }
        if let Some(lines) = &self.lines {
            lines.tell(std::iter::once(event));
        }
    }
}

/// The file that events are added to. Dropping it writes what is waiting, for at most about a second.
struct File {
    writer: LineWriter,
    _closing: Closing,
}

impl File {
    /// Opens the file, or creates it so that only its owner can read it. A FIFO, which would wait for its reader, is opened
    /// by the thread that writes.
    fn open(path: PathBuf) -> io::Result<Self> {
        let is_fifo = fs::metadata(&path).is_ok_and(|found| found.file_type().is_fifo());
        let mut destination = Destination { path, file: None };
        if !is_fifo {
            destination.opened()?;
        }
        let (writer, closing) = LineWriter::start("events", destination)?;
        Ok(Self { writer, _closing: closing })
    }

    fn put(&self, event: &Map<String, Value>) {
        let mut line = serde_json::to_vec(event).unwrap_or_default();
        line.push(b'\n');
        self.writer.put(&line);
    }
}

/// A file that is opened when there is something to write.
struct Destination {
    path: PathBuf,
    file: Option<fs::File>,
}

impl Destination {
    fn opened(&mut self) -> io::Result<&mut fs::File> {
        if self.file.is_none() {
            let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.path);
            self.file = Some(file.map_err(|error| {
                io::Error::new(error.kind(), format!("cannot open {} (`events.file`): {error}", self.path.display()))
            })?);
        }
        self.file.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Write for Destination {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let result = self.opened()?.write(text);
        if result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            // The reader of a FIFO has gone; there may be another one.
            self.file = None;
        }
        result
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns an event as a log record, with the span of the call that it was.
fn record(
    kind: &'static str,
    event: &Map<String, Value>,
    trace: Option<&Arc<Trace>>,
    records: &Records,
) -> SdkLogRecord {
    let mut record = records.begin();
    record.set_event_name(kind);
    let now = clock::now();
    record.set_timestamp(now);
    // The exporter takes it for granted.
    record.set_observed_timestamp(now);
    for (name, value) in event {
        let value = match value {
            Value::Bool(value) => AnyValue::Boolean(*value),
            Value::Number(number) => match number.as_i64() {
                Some(whole) => AnyValue::Int(whole),
                None => AnyValue::Double(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => AnyValue::String(text.clone().into()),
            other => AnyValue::String(other.to_string().into()),
        };
        record.add_attribute(name.clone(), value);
    }
    if let Some(own) = trace.and_then(|trace| trace.own()) {
        let flags = if own.is_sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
        let (trace_id, span_id) = (TraceId::from_bytes(own.trace_id), SpanId::from_bytes(own.span_id));
        record.set_trace_context(trace_id, span_id, Some(flags));
    }
    record
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
        Operation::GetOrder => &["order_get"],
        Operation::SearchMerchants
        | Operation::GetMerchant
        | Operation::SearchLocations
        | Operation::LookupLocations => &["request"],
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
