//! A mapping in front of a shop, asked the questions of the contract.

mod cart;
mod catalog;
mod file;
mod guide;
mod language;
mod sources;

use std::{
    process::Command,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::Instant;
use ucp_contract::{Question, Reply, Transport};
use ucp_mapped::{Mapped, Trace, pool::Limits, source::Surroundings};
use ucp_net::{Failure, Options};
use ucp_testkit::{
    host::Request,
    server::{Answer, Server},
};

/// The process of the other tests: they run this binary again with nothing but this.
#[test]
#[ignore = "is the process in which the programs of the other tests run"]
fn process() {
    let _ = ucp_mapped::worker::serve();
}

const MARKET: &str = r#"
[market]
name = "Test"
currency = "EUR"
language = "en"
"#;

/// A shop, and the mapping in front of it.
struct MappedShop {
    server: Server,
    mapped: Arc<Mapped>,
}

impl MappedShop {
    /// A shop that answers as stated, behind a mapping with one source, `shop`, at its address.
    fn new(mapping: &str, answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        Self::topped("", mapping, answer)
    }

    /// The same, with members before the first table of the file.
    fn topped(top: &str, mapping: &str, answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        // The server has a runtime of its own, which this one's threads must not enter.
        let server = thread::scope(|scope| scope.spawn(|| Server::start(answer)).join()).expect("a server");
        let address = server.url("/api/");
        let text =
            format!("{top}{MARKET}\n[source.shop]\naddress = \"{address}\"\n{}", mapping.replace("ADDRESS", &address));
        let (mapping, plan) = ucp_mapped::read(&text).unwrap_or_else(|faulty| panic!("{faulty}"));
        let secret = |name: &str| Some(format!("{name}-value"));
        let around = Surroundings {
            secret: &secret,
            options: &|name, address| Options::new(name, address),
            clock: Arc::new(Instant::now),
            now: || jiff::Timestamp::from_second(1_767_225_600).expect("a time"),
            random: Arc::new(|| 0),
        };
        let launch = || {
            let mut command = Command::new(std::env::current_exe().expect("this binary"));
            command.args(["--exact", "process", "--ignored"]);
            command
        };
        let limits = Limits { budget: Duration::from_secs(60), ..Limits::default() };
        let mapped = Mapped::open(&mapping, plan, &around, Arc::new(launch), limits).expect("opens").guarded();
        Self { server, mapped }
    }

    async fn ask(&self, question: Question, document: Value) -> Result<Reply, Failure> {
        self.mapped.ask(question, document.to_string().into()).await
    }

    async fn answer(&self, question: Question, document: Value) -> Value {
        let trace = Mutex::new(Trace::default());
        match self.mapped.ask_traced(question, document.to_string().into(), &trace).await {
            Ok(Reply::Answer(answer)) => serde_json::from_slice(&answer).expect("JSON"),
            other => panic!("{other:?}: {trace:?}"),
        }
    }

    /// Products that were left out or could not be converted.
    async fn findings(&self, question: Question, document: Value) -> Vec<String> {
        let trace = Mutex::new(Trace::default());
        let _ = self.mapped.ask_traced(question, document.to_string().into(), &trace).await;
        trace.into_inner().expect("a trace").findings
    }

    /// Methods and targets of the requests so far.
    fn asked(&self) -> Vec<String> {
        let requests = self.server.requests();
        requests.iter().map(|request| format!("{} {}", request.method(), request.uri())).collect()
    }
}

fn context() -> Value {
    json!({"language": "en", "currency": "EUR"})
}

/// A question for products.
fn find(members: &Value) -> Value {
    let mut question = json!({"context": context(), "limit": 2, "available": false});
    question.as_object_mut().expect("an object").extend(members.as_object().expect("an object").clone());
    question
}
