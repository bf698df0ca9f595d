//! Logging to standard error.
//!
//! `serve` logs through a thread of its own: while nobody takes what it writes, lines are dropped and counted, and no
//! call waits. Events of the code come through `tracing`; the line about each call is written by [`crate::calls`].

use std::{
    cell::{Cell, RefCell},
    env,
    error::Error,
    fmt,
    fmt::Write as _,
    io::{self, IsTerminal as _, stderr},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    EnvFilter,
    field::MakeExt as _,
    fmt::{
        FmtContext, FormatEvent, FormatFields, FormattedFields,
        format::{Writer, debug_fn},
    },
    layer::SubscriberExt as _,
    registry::LookupSpan,
    util::SubscriberInitExt as _,
};
use ucp_host::clock;

use crate::{
    line_writer::{Closing, LineWriter, Loss},
    sampling::{self, LeftOut, MESSAGE, Message, Place, Sampler},
    terminal::{Shown, shown},
};
use ucp_config::{LogFormat, LogLevel};

/// The variable that filters as developers do, and takes precedence over the level.
const FILTER: &str = "RUST_LOG";

/// Installs the logger of a command that ends by itself: warnings, as text.
pub(crate) fn start() {
    tracing_subscriber::fmt()
        .with_env_filter(filter(LogLevel::Warn))
        .with_writer(|| Shown(stderr()))
        .with_ansi(stderr().is_terminal())
        .init();
}

fn filter(level: LogLevel) -> EnvFilter {
    let filter = env::var(FILTER).ok().filter(|filter| !filter.is_empty());
    // Libraries are heard from `warn` on.
    let others = level.min(LogLevel::Warn);
    EnvFilter::builder().parse_lossy(filter.unwrap_or_else(|| format!("{others},ucp={level}")))
}

/// The log of a gateway. Dropping it writes what is waiting, for at most about a second.
pub(crate) struct Log {
    writer: LineWriter,
    is_json: bool,
    /// `true` if calls have a line each.
    pub(crate) has_calls: bool,
    /// Sampler of events.
    events: &'static Sampler<Place>,
    /// Sampler of the lines about calls that did not succeed, by outcome and by whether a registered platform called.
    failed: Sampler<(&'static str, bool)>,
    /// Number of lines that were left out and told.
    left_out: AtomicU64,
    _closing: Closing,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("is_json", &self.is_json).finish_non_exhaustive()
    }
}

impl Log {
    /// Installs the logger of a gateway.
    ///
    /// # Errors
    /// The error of the system if there can be no thread that writes.
    pub(crate) fn start(format: LogFormat, level: LogLevel) -> io::Result<Self> {
        let is_terminal = stderr().is_terminal();
        let is_json = format == LogFormat::Json || format == LogFormat::Auto && !is_terminal;
        let (writer, closing) = LineWriter::start("log", stderr())?;
        // There is one log in a process, and it lasts as long.
        let events: &'static Sampler<Place> = Box::leak(Box::default());
        let subscriber = tracing_subscriber::fmt().with_env_filter(filter(level)).with_writer(writer.clone());
        if is_json {
            // Without the styles of a terminal, which cost each request as much as all the rest of its span.
            let fields = debug_fn(|writer, field, value| write!(writer, "{field}={value:?}")).delimited(" ");
            subscriber.with_ansi(false).fmt_fields(fields).event_format(Json).finish().with(events).init();
        } else {
            subscriber.with_ansi(is_terminal).finish().with(events).init();
        }
        let has_calls = tracing::enabled!(target: "ucp_gateway::calls", Level::INFO);
        let (failed, left_out) = (Sampler::default(), AtomicU64::new(0));
        Ok(Self { writer, is_json, has_calls, events, failed, left_out, _closing: closing })
    }

    /// Returns `true` if a call that did not succeed is to have a line; else it is counted.
    pub(crate) fn admits(&self, outcome: &'static str, is_registered: bool) -> bool {
        self.failed.admits((outcome, is_registered), Instant::now(), String::new)
    }

    /// Returns the number of lines that were left out because there were too many of their kind, as far as they were told.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }

    /// Tells how many lines were left out, and how many nobody took; everything at the end of the process.
    pub(crate) fn report(&self, is_end: bool) {
        let now = Instant::now();
        for LeftOut { kind: (code, is_registered), count, .. } in self.failed.left_out(now, is_end) {
            self.left_out.fetch_add(count, Ordering::Relaxed);
            tracing::warn!(target: sampling::TARGET, code, is_registered, count, "errors left out of the log");
        }
        for LeftOut { kind: Place(metadata), count, first } in self.events.left_out(now, is_end) {
            self.left_out.fetch_add(count, Ordering::Relaxed);
            let (of, of_level) = (metadata.target(), metadata.level().as_str());
            tracing::warn!(target: sampling::TARGET, of, of_level, first, count, "log lines of one kind left out");
        }
        if let Some(Loss { total, problem }) = self.writer.loss(now, is_end) {
            tracing::warn!(target: sampling::TARGET, total, problem, "log lines dropped");
            // Told again for as long as this line may have been dropped, too.
            if self.dropped() == total {
                self.writer.told(total, now);
            }
        }
    }

    /// Returns the number of lines that were dropped since the start.
    pub(crate) fn dropped(&self) -> u64 {
        self.writer.dropped()
    }

    /// Begins the line about a call.
    pub(crate) fn call(&self) -> Line {
        Line::call(self.is_json)
    }

    /// Writes a line, or drops it if too many are waiting.
    pub(crate) fn write(&self, line: Line) {
        let text = line.end();
        self.writer.put(shown(&text).as_bytes());
        SPARE.set(text);
    }
}

/// Name of a member, as it stands before a text and before a number in JSON, and before its value in a line for people.
pub(crate) struct Name {
    pub(crate) text: &'static str,
    pub(crate) number: &'static str,
    pub(crate) pretty: &'static str,
}

/// Makes a [`Name`] when the program is compiled: a line about each call has more than twenty of them.
macro_rules! name {
    // Of the first member of an object, which `Line::end_object` ends.
    ($object:literal, $name:literal) => {
        $crate::telemetry::Name {
            text: concat!(",\"", $object, "\":{\"", $name, "\":\""),
            number: concat!(",\"", $object, "\":{\"", $name, "\":"),
            pretty: concat!(" ", $object, "={", $name, "="),
        }
    };
    ($name:literal) => {
        $crate::telemetry::Name {
            text: concat!(",\"", $name, "\":\""),
            number: concat!(",\"", $name, "\":"),
            pretty: concat!(" ", $name, "="),
        }
    };
}
pub(crate) use name;

thread_local! {
    /// The text of the last line that was written, for the next one.
    static SPARE: Cell<String> = const { Cell::new(String::new()) };
}

/// A line of the log, member by member: a JSON object, or a text for people.
pub(crate) struct Line {
    text: String,
    is_json: bool,
}

impl Line {
    /// Begins the line about a call.
    fn call(is_json: bool) -> Self {
        let mut text = SPARE.take();
        text.clear();
        text.reserve(768);
        let mut line = Self { text, is_json };
        if is_json {
            line.text.push_str("{\"timestamp\":\"");
        }
        line.now();
        line.text.push_str(if is_json { "\",\"level\":\"INFO\",\"message\":\"call\"" } else { "  INFO call" });
        line
    }

    /// Adds the current time.
    fn now(&mut self) {
        thread_local! {
            /// The last second that was written, and its text: writing a date takes longer than all the rest of a line.
            static SECOND: RefCell<(i64, String)> = const { RefCell::new((i64::MIN, String::new())) };
        }
        let now = clock::timestamp();
        let second = now.as_second();
        SECOND.with_borrow_mut(|(last, text)| {
            if *last != second {
                let whole = Timestamp::from_second(second).unwrap_or_default().to_string();
                (*last, *text) = (second, whole.trim_end_matches('Z').to_owned());
            }
            self.text.push_str(text);
        });
        self.decimals(6, itoa::Buffer::new().format(now.subsec_nanosecond().unsigned_abs() / 1_000));
        self.text.push('Z');
    }

    /// Adds a text that needs no escaping.
    pub(crate) fn plain(&mut self, name: &Name, value: &str) {
        self.text.push_str(if self.is_json { name.text } else { name.pretty });
        self.text.push_str(value);
        if self.is_json {
            self.text.push('"');
        }
    }

    /// Adds a number.
    pub(crate) fn number(&mut self, name: &Name, value: u64) {
        self.text.push_str(if self.is_json { name.number } else { name.pretty });
        self.text.push_str(itoa::Buffer::new().format(value));
    }

    /// Adds a time in milliseconds with three decimals.
    pub(crate) fn milliseconds(&mut self, name: &Name, time: Duration) {
        self.text.push_str(if self.is_json { name.number } else { name.pretty });
        // Most stages of a call take no time at all.
        if time.is_zero() {
            self.text.push_str("0.000");
            return;
        }
        let mut buffer = itoa::Buffer::new();
        let micros = time.as_secs().saturating_mul(1_000_000).saturating_add(time.subsec_micros().into());
        let digits = buffer.format(micros);
        let (whole, decimals) = digits.split_at(digits.len().saturating_sub(3));
        self.text.push_str(if whole.is_empty() { "0" } else { whole });
        self.decimals(3, decimals);
    }

    /// Adds as many decimals of the number before.
    fn decimals(&mut self, count: usize, digits: &str) {
        self.text.push('.');
        if digits.len() < count {
            self.text.push_str(&"000000"[..count - digits.len()]);
        }
        self.text.push_str(digits);
    }

    /// Adds a text.
    pub(crate) fn string(&mut self, name: &str, value: &str) {
        if self.is_json {
            written(write!(self.text, ",\"{name}\":{}", serde_json::Value::from(value)));
        } else {
            written(write!(self.text, " {name}={value:?}"));
        }
    }

    /// Adds a number, or `true` or `false`, to a JSON object.
    fn value(&mut self, name: &str, value: impl fmt::Display) {
        written(write!(self.text, ",\"{name}\":{value}"));
    }

    /// Ends an object, which the name of its first member began.
    pub(crate) fn end_object(&mut self) {
        self.text.push('}');
    }

    fn end(mut self) -> String {
        self.text.push_str(if self.is_json { "}\n" } else { "\n" });
        self.text
    }
}

fn written(result: fmt::Result) {
    result.unwrap_or_else(|_| unreachable!("writing to a text does not fail"));
}

/// Format of events: JSON objects, with the members of the request that they belong to.
struct Json;

impl<S, N> FormatEvent<S, N> for Json
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let metadata = event.metadata();
        let mut message = Message(String::new());
        event.record(&mut message);
        let mut line = Line { text: "{\"timestamp\":\"".to_owned(), is_json: true };
        line.now();
        line.text.push('"');
        line.plain(&name!("level"), metadata.level().as_str());
        line.string("message", &message.0);
        line.string("target", metadata.target());
        event.record(&mut Members(&mut line));
        for span in context.event_scope().into_iter().flatten() {
            let extensions = span.extensions();
            // Values of spans have no spaces.
            let fields = extensions.get::<FormattedFields<N>>().map(|fields| fields.as_str()).unwrap_or_default();
            for (name, value) in fields.split(' ').filter_map(|field| field.split_once('=')) {
                line.string(name, value);
            }
        }
        writer.write_str(&line.end())
    }
}

/// Takes all fields of an event but its message.
struct Members<'a>(&'a mut Line);

impl Visit for Members<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.value(field.name(), serde_json::Value::from(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.value(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.value(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.value(field.name(), value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() != MESSAGE {
            self.0.string(field.name(), value);
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.0.string(field.name(), &ucp_host::cause::chain(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() != MESSAGE {
            self.0.string(field.name(), &format!("{value:?}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_line_is_a_json_object_or_a_text() {
        let fill = |is_json| {
            let mut line = Line::call(is_json);
            line.plain(&name!("a"), "b");
            line.string("c", "\"\n");
            line.number(&name!("d"), 1);
            line.milliseconds(&name!("e", "f"), Duration::from_micros(2_003));
            line.milliseconds(&name!("g"), Duration::from_micros(40));
            line.milliseconds(&name!("h"), Duration::ZERO);
            line.end_object();
            line.end()
        };
        let mut read: Value = serde_json::from_str(&fill(true)).expect("JSON");
        let time = read["timestamp"].take();
        assert!(time.as_str().is_some_and(|time| time.parse::<Timestamp>().is_ok()), "{time}");
        let rest = json!({ "a": "b", "c": "\"\n", "d": 1, "e": { "f": 2.003, "g": 0.04, "h": 0.0 } });
        assert_eq!(
            read,
            json!({ "timestamp": null, "level": "INFO", "message": "call", "a": "b", "c": "\"\n", "d": 1, "e": rest["e"] })
        );
        assert!(
            fill(false).ends_with(" INFO call a=b c=\"\\\"\\n\" d=1 e={f=2.003 g=0.040 h=0.000}\n"),
            "{}",
            fill(false)
        );
    }
}
