//! Receivers of telemetry: spans and events for an OpenTelemetry collector, and events for a server of the operator.

use ucp_payment::Secret;
use url::Url;

use super::{
    Environment,
    document::Document,
    sections::{Events, Telemetry},
};

/// A server that telemetry is sent to.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Its address.
    pub url: Url,
    /// Token that requests show.
    pub token: Option<Secret>,
}

/// Servers that telemetry is sent to.
#[derive(Clone, Debug, Default)]
pub struct Receivers {
    /// Spans, over OTLP.
    pub spans: Option<Receiver>,
    /// Events, over OTLP.
    pub logs: Option<Receiver>,
    /// Events, as JSON Lines.
    pub events: Option<Receiver>,
}

/// Resolves the receivers. The variables of OpenTelemetry hold where the file and the flags say nothing.
pub(super) fn resolve(
    said: &mut Telemetry,
    events: &mut Events,
    environment: Environment<'_>,
    document: &mut Document<'_>,
) -> Receivers {
    let token = said.token_file.as_deref().and_then(|file| document.secret("telemetry.token", Some(file), None));
    said.token = token.as_ref().map(|_| "set".to_owned());
    if said.otlp_endpoint.as_ref().is_some_and(|url| !is_web(&url.0)) {
        document.unfit("telemetry.otlp_endpoint", "expected an http or https address with a host");
    }
    let mut otlp = |signal: &str, path: &str| {
        let url = match &said.otlp_endpoint {
            Some(endpoint) => Ok(Some(below(&endpoint.0, path))),
            None => standard(environment, signal, path),
        };
        document.led("telemetry.otlp_endpoint", url)?.map(|url| Receiver { url, token: token.clone() })
    };
    let spans = otlp("TRACES", "v1/traces");
    let logs = if events.otlp { otlp("LOGS", "v1/logs") } else { None };
    if events.otlp && logs.is_none() {
        document.add("events.otlp", "this needs `telemetry.otlp_endpoint`");
    }
    if said.token_file.is_some() && spans.is_none() {
        document.add("telemetry.token_file", "this needs `telemetry.otlp_endpoint`");
    }
    let token = events.token_file.as_deref().and_then(|file| document.secret("events.token", Some(file), None));
    events.token = token.as_ref().map(|_| "set".to_owned());
    if events.token_file.is_some() && events.url.is_none() {
        document.add("events.token_file", "this needs `events.url`");
    }
    let events = events.url.as_ref().map(|url| Receiver { url: url.0.clone(), token });
    Receivers { spans, logs, events }
}

/// Returns the address of a signal by the variables of OpenTelemetry (*OpenTelemetry Protocol Exporter*): its own as it
/// stands, or a path below that of all signals. With `OTEL_SDK_DISABLED` there is none.
fn standard(environment: Environment<'_>, signal: &str, path: &str) -> Result<Option<Url>, String> {
    let variable = |name: &str| {
        let value = environment(name).and_then(|value| value.into_string().ok());
        value.filter(|value| !value.is_empty())
    };
    if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    let (own, all) = (format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"), "OTEL_EXPORTER_OTLP_ENDPOINT");
    let (name, text, path) = match (variable(&own), variable(all)) {
        (Some(text), _) => (&*own, text, None),
        (None, Some(text)) => (all, text, Some(path)),
        (None, None) => return Ok(None),
    };
    let url = Url::parse(&text).ok().filter(is_web);
    let url = url.ok_or_else(|| format!("the variable {name} must be an http or https address with a host"))?;
    for name in [&format!("OTEL_EXPORTER_OTLP_{signal}_PROTOCOL"), "OTEL_EXPORTER_OTLP_PROTOCOL"] {
        if let Some(protocol) = variable(name).filter(|protocol| protocol != "http/protobuf") {
            return Err(format!(
                "the variable {name} must be http/protobuf, the only protocol there is, not {protocol}"
            ));
        }
    }
    Ok(Some(path.map_or_else(|| url.clone(), |path| below(&url, path))))
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host()
}

/// Returns the address of a path below another one.
fn below(url: &Url, path: &str) -> Url {
    let mut below = url.clone();
    below.set_path(&format!("{}/{path}", url.path().trim_end_matches('/')));
    below
}
