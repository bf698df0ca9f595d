//! Spans and events to a collector of OpenTelemetry, in OTLP over HTTP (http/protobuf).
//!
//! The exporters are those of `opentelemetry-otlp`, with the HTTP client of all outbound requests; they repeat what the
//! collector cannot take at the moment, for up to ten seconds.

use std::error::Error;

use async_trait::async_trait;
use opentelemetry::{
    InstrumentationScope, KeyValue,
    logs::{LogRecord as _, Logger as _, LoggerProvider as _, Severity},
};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{LogExporter, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    logs::{LogBatch, LogExporter as _, SdkLogRecord, SdkLogger, SdkLoggerProvider},
    trace::{SpanData, SpanExporter as _},
};

use super::{Client, Sink};
use ucp_config::Receiver;

/// Name under which spans and events come, unless `OTEL_SERVICE_NAME` says another one.
const SERVICE: &str = "ucp-gateway";

/// Returns the instrumentation scope of spans and events.
pub(crate) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("ucp-gateway").with_version(env!("CARGO_PKG_VERSION")).build()
}

/// Returns the description of this process, with what `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` say.
fn resource() -> Resource {
    let stated = Resource::builder().build();
    let name = stated.get(&"service.name".into()).map(|name| name.to_string()).unwrap_or_default();
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let builder = Resource::builder().with_attribute(version);
    let is_named = !name.is_empty() && !name.starts_with("unknown_service");
    if is_named { builder } else { builder.with_service_name(SERVICE) }.build()
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let headers = head.headers.into_iter().filter_map(|(name, value)| Some((name?, value)));
        let received = self.post(body, headers).await?;
        let mut response = Response::new(received.body);
        (*response.status_mut(), *response.headers_mut()) = (received.status, received.headers);
        Ok(response)
    }
}

/// The collector, for spans.
#[derive(Debug)]
pub(crate) struct Spans(SpanExporter);

impl Spans {
    /// Creates the sink of a collector.
    ///
    /// # Errors
    /// An error if the exporter cannot be set up.
    pub(crate) fn new(receiver: &Receiver) -> Result<Self, Box<dyn Error>> {
        let exporter = SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary);
        let client = Client::new("collector of spans", receiver)?;
        let mut exporter = exporter.with_endpoint(receiver.url.as_str()).with_http_client(client).build()?;
        exporter.set_resource(&resource());
        Ok(Self(exporter))
    }
}

#[async_trait]
impl Sink<SpanData> for Spans {
    async fn send(&self, batch: Vec<SpanData>) -> Result<(), String> {
        self.0.export(batch).await.map_err(|error| error.to_string())
    }
}

/// The collector, for events.
#[derive(Debug)]
pub(crate) struct Logs {
    exporter: LogExporter,
    scope: InstrumentationScope,
}

impl Logs {
    /// Creates the sink of a collector.
    ///
    /// # Errors
    /// An error if the exporter cannot be set up.
    pub(crate) fn new(receiver: &Receiver) -> Result<Self, Box<dyn Error>> {
        let exporter = LogExporter::builder().with_http().with_protocol(Protocol::HttpBinary);
        let client = Client::new("collector of events", receiver)?;
        let mut exporter = exporter.with_endpoint(receiver.url.as_str()).with_http_client(client).build()?;
        exporter.set_resource(&resource());
        Ok(Self { exporter, scope: scope() })
    }
}

#[async_trait]
impl Sink<SdkLogRecord> for Logs {
    async fn send(&self, batch: Vec<SdkLogRecord>) -> Result<(), String> {
        let records: Vec<_> = batch.iter().map(|record| (record, &self.scope)).collect();
        self.exporter.export(LogBatch::new(&records)).await.map_err(|error| error.to_string())
    }
}

/// Maker of records of events.
#[derive(Debug)]
pub(crate) struct Records(SdkLogger);

impl Records {
    pub(crate) fn new() -> Self {
        Self(SdkLoggerProvider::builder().build().logger_with_scope(scope()))
    }

    /// Returns an empty record.
    pub(crate) fn begin(&self) -> SdkLogRecord {
        let mut record = self.0.create_log_record();
        record.set_severity_number(Severity::Info);
        record.set_severity_text("INFO");
        record
    }
}
