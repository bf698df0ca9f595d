//! `tail` and `explain call`: what the [inspector](ucp_console::inspector) of a gateway has recorded, under development on this
//! machine or at its admin listener.

use std::{
    error::Error,
    fs,
    io::{Write as _, stdout},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use clap::Args;
use serde_json::Value;
use ucp_host::cause::chain;
use ucp_net::outbound::{self, Client};
use url::{Host, Url};

use crate::{
    command::{
        Done,
        output::{remark, say},
        runtime::{runtime, wait},
    },
    terminal::{Paint, shown},
};

/// Maximum time until the gateway takes a connection.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum time in which an answer has arrived.
const MAX_TIME: Duration = Duration::from_secs(30);

/// Maximum length of an answer, in bytes: two documents of 256 KiB each, whose every character is escaped, and as many calls
/// as a list has.
const MAX_ANSWER: usize = 16 << 20;

/// Maximum length of a call in the stream, in bytes.
const MAX_CALL: usize = 1 << 20;

/// Maximum number of calls of a list that are printed.
const MAX_LISTED: usize = 200;

/// Maximum number of lines that are printed of each part of a call.
const MAX_LINES: usize = 5_000;

/// Maximum number of characters of a line.
const MAX_LINE: usize = 4_096;

/// The gateway that is asked.
#[derive(Debug, Args)]
pub(crate) struct Inspected {
    /// URL of a gateway on this machine, or of an admin listener.
    #[arg(long, default_value = "http://127.0.0.1:8080", value_name = "URL")]
    pub(super) url: Url,
    /// File with the token of the admin listener. It is sent over https and on loopback only.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TailOptions {
    #[command(flatten)]
    gateway: Inspected,
    /// Filter by platform: its name, or part of its profile URL.
    #[arg(long, value_name = "NAME")]
    platform: Option<String>,
    /// Filter by operation, such as `create_checkout`.
    #[arg(long, value_name = "NAME")]
    operation: Option<String>,
    /// Filter by outcome: `ok`, an error code, or `failed` for all except `ok`.
    #[arg(long, value_name = "OUTCOME")]
    outcome: Option<String>,
    /// Number of recorded calls to print first, up to 200.
    #[arg(long, value_name = "NUMBER", default_value_t = 0, hide_default_value = true)]
    last: usize,
}

impl Inspected {
    /// Returns the URL of what the inspector is asked, without a query.
    pub(super) fn at(&self, segments: &[&str]) -> Result<Url, Box<dyn Error>> {
        let mut url = self.url.clone();
        url.set_query(None);
        let mut path = url.path_segments_mut().map_err(|()| "--url must be an http or https address")?;
        path.pop_if_empty().push("inspector").extend(segments);
        drop(path);
        Ok(url)
    }

    /// Sends a GET request.
    pub(super) async fn get(&self, url: Url) -> Result<outbound::Response, Box<dyn Error>> {
        let client: Client = outbound::client(PATIENCE, &[], |builder| builder)?;
        let mut request = client.get(url);
        if let Some(file) = &self.token_file {
            let is_local = self.url.host().is_some_and(|host| match host {
                Host::Domain(name) => name == "localhost",
                Host::Ipv4(address) => address.is_loopback(),
                Host::Ipv6(address) => address.is_loopback(),
            });
            if self.url.scheme() != "https" && !is_local {
                return Err(
                    "--url must be an https address, or one of this machine, for a token to be sent there".into()
                );
            }
            let token = fs::read_to_string(file);
            let token = token.map_err(|error| format!("cannot read {}: {error}", file.display()))?;
            request = request.bearer_auth(token.trim());
        }
        let asked = request.send().await;
        asked.map_err(|error| format!("the gateway at {} cannot be asked: {}", self.url, chain(&error)).into())
    }
}

/// Prints calls as they come, until the gateway ends.
pub(crate) fn tail(options: &TailOptions) -> Done {
    let TailOptions { gateway, platform, operation, outcome, last } = options;
    let at = |what: &str| -> Result<Url, Box<dyn Error>> {
        let mut url = gateway.at(&[what])?;
        for (name, value) in [("platform", platform), ("operation", operation), ("outcome", outcome)] {
            if let Some(value) = value {
                url.query_pairs_mut().append_pair(name, value);
            }
        }
        Ok(url)
    };
    let paint = Paint::of_stdout();
    let line = |call: &Value| if gateway.json { call.to_string() } else { summary(call, paint) };
    // Whoever reads this may have enough, as `head` does.
    let print = |call: &Value| writeln!(stdout(), "{}", shown(&line(call))).and_then(|()| stdout().flush()).is_ok();
    wait(&runtime(1)?, async {
        let mut live = gateway.get(at("live")?).await?;
        if live.status() != 200 {
            return Err(absent(&gateway.url).into());
        }
        // Those that come meanwhile are in the stream, too.
        let mut printed = Vec::new();
        if *last > 0 {
            printed = serde_json::from_slice(&body(gateway.get(at("calls")?).await?).await?)?;
            printed.truncate(MAX_LISTED.min(*last));
            if !printed.iter().rev().all(print) {
                return Ok(ExitCode::SUCCESS);
            }
        }
        let mut waiting = Vec::new();
        // A stream that breaks off is one of a gateway that has ended, too.
        while let Ok(Some(chunk)) = live.chunk().await {
            waiting.extend_from_slice(&chunk);
            while let Some(end) = waiting.iter().position(|byte| *byte == b'\n') {
                let line: Vec<_> = waiting.drain(..=end).collect();
                let Some(text) = line.strip_prefix(b"data: ") else { continue };
                match serde_json::from_slice::<Value>(text)? {
                    Value::Number(missed) => remark!("{missed} calls came too fast, and are not here"),
                    call if printed.contains(&call) => {}
                    call if !print(&call) => return Ok(ExitCode::SUCCESS),
                    _ => {}
                }
            }
            if waiting.len() > MAX_CALL {
                return Err("what answers is no inspector: a line of it has no end".into());
            }
        }
        remark!("the gateway has ended");
        Ok(ExitCode::SUCCESS)
    })
}

/// Prints a call as a whole: what happened on its way, its request and its answer.
pub(crate) fn explain(gateway: &Inspected, id: &str) -> Done {
    let paint = Paint::of_stdout();
    wait(&runtime(1)?, async {
        let found = gateway.get(gateway.at(&["calls", id])?).await?;
        if found.status() != 200 {
            let known = gateway.get(gateway.at(&["calls"])?).await?.status() == 200;
            let unknown = format!("the gateway at {} has kept no call with the request id {id}", gateway.url);
            return Err(if known { unknown } else { absent(&gateway.url) }.into());
        }
        let call: Value = serde_json::from_slice(&body(found).await?)?;
        if gateway.json {
            say!("{call:#}");
            return Ok(ExitCode::SUCCESS);
        }
        say!("{}", summary(&call, paint));
        for happened in call["way"].as_array().into_iter().flatten().take(MAX_LINES) {
            let (after, kind) = (happened["after"].as_f64().unwrap_or_default(), text(&happened["kind"]));
            let took = happened["ms"].as_f64().map_or_else(String::new, |ms| format!("{ms:.3} ms"));
            say!("  {after:>9.3} {kind:<11} {took:>12}  {}", cut(text(&happened["detail"])));
        }
        let led = gateway.get(gateway.at(&["calls", id, "webhooks"])?).await?;
        let led: Value = if led.status() == 200 { serde_json::from_slice(&body(led).await?)? } else { Value::Null };
        for event in led.as_array().into_iter().flatten().take(MAX_LINES) {
            let (event, state) = (text(&event["id"]), text(&event["state"]));
            say!("  {:>9} {:<11} {event}: {state}", "", "webhook");
        }
        for name in ["request", "answer"] {
            if !call[name].is_null() {
                say!("{}", paint.strong(name));
                let document = format!("{:#}", call[name]);
                document.lines().take(MAX_LINES).for_each(|line| say!("{}", cut(line)));
                if let further @ 1.. = document.lines().count().saturating_sub(MAX_LINES) {
                    say!("… and {further} lines more; `--json` has all of them");
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn absent(url: &Url) -> String {
    format!(
        "the gateway at {url} has no inspector: it is there under the policy `development` for programs on the same machine, and \
         at the admin listener for those with its token (`--token-file`)"
    )
}

/// Reads the body of an answer.
pub(super) async fn body(mut answer: outbound::Response) -> Result<Vec<u8>, Box<dyn Error>> {
    let read = async {
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            if body.len() + chunk.len() > MAX_ANSWER {
                return Err(
                    format!("the answer is longer than {} MiB, which no inspector sends", MAX_ANSWER >> 20).into()
                );
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    };
    tokio::time::timeout(MAX_TIME, read).await.map_err(|_| "the answer does not end in time; try again")?
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns the beginning of a line.
fn cut(line: &str) -> &str {
    line.char_indices().nth(MAX_LINE).map_or(line, |(end, _)| &line[..end])
}

/// Formats a call in a line: time, status, outcome, duration, transport, operation, platform, request id.
fn summary(call: &Value, paint: Paint) -> String {
    let text = |value| cut(text(value));
    let time = text(&call["at"]).get(11..23).unwrap_or_default();
    let status = call["status"].as_u64().map_or_else(|| "---".to_owned(), |status| status.to_string());
    let outcome = text(&call["outcome"]);
    let shown = format!("{status} {outcome}");
    let shown = match outcome {
        "ok" => paint.good(shown),
        _ => paint.bad(shown),
    };
    let what = match text(&call["operation"]) {
        "" => format!("{} {}", text(&call["method"]), text(&call["path"])),
        operation => operation.to_owned(),
    };
    let who = ["platform", "profile", "agent"].iter().map(|name| text(&call[*name])).find(|name| !name.is_empty());
    let (ms, who) = (call["ms"].as_f64().unwrap_or_default(), who.unwrap_or("-"));
    let missing = call["skipped"].as_u64().map(|skipped| format!(" ({skipped} calls before it were not kept)"));
    format!(
        "{time} {shown} {ms:.1} ms {} {what} {} {}{}",
        text(&call["transport"]),
        paint.faint(who),
        text(&call["id"]),
        missing.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_a_line() {
        let call = json!({
            "at": "2026-11-25T17:00:01.234567Z", "id": "r1", "transport": "rest", "operation": "create_checkout",
            "outcome": "ok", "status": 201, "ms": 12.34, "profile": "https://agent.example/", "skipped": 3,
        });
        assert_eq!(
            summary(&call, Paint::none()),
            "17:00:01.234 201 ok 12.3 ms rest create_checkout https://agent.example/ r1 (3 calls before it were not kept)"
        );
        let call = json!({ "outcome": "client_closed", "method": "GET", "path": "/carts/1" });
        assert_eq!(summary(&call, Paint::none()), " --- client_closed 0.0 ms  GET /carts/1 - ");
    }
}
