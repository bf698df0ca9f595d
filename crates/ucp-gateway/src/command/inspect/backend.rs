//! `backend`: checks and tries a shop that is asked the questions of the backend contract, by itself or by a mapping.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use ucp_contract::{
    Question, Reply, Transport,
    check::{Finding, Permissions, Purchase, Report, check},
    documents::Backend,
    http::{Credential, HttpShop, SigningSecret},
    judge,
};
use ucp_host::{
    backend::{chance, mapped::launch, monotonic},
    clock,
};
use ucp_mapped::{
    Exchange, Mapped, Trace,
    file::{Faulty, Mapping},
    form::{self, Form},
    plan::Plan,
    pool::Limits,
    source::Surroundings,
    worker,
};
use ucp_net::{Counters, Failure, Lane, Options, outbound};
use ucp_wire::documents::pretty;
use url::Url;

use crate::command::{
    Done,
    output::{self, say},
    runtime::{runtime, wait},
};

/// Maximum number of requests of a repeated step that are shown, unless all are asked for.
const SHOWN_OF_STEP: usize = 2;

/// Maximum number of findings that a rule shows.
const SHOWN_FINDINGS: usize = 5;

/// Recommended fields of a product.
const WANTED: [&str; 5] = ["description", "url", "categories", "media", "handle"];

/// Recommended fields of a variant.
const WANTED_OF_VARIANTS: [&str; 4] = ["sku", "availability", "inventory", "options"];

#[derive(Debug, Subcommand)]
pub(crate) enum BackendCommand {
    /// Test an adapter or a mapping against the rules of the backend API; exit code 1 if it breaks one.
    #[command(after_help = examples!(
        "backend check http://127.0.0.1:9000 --token-file token",
        "backend check mapping.toml --allow-writes"
    ))]
    Check(CheckOptions),
    /// Send requests with a mapping; show the requests, the raw and mapped responses, and what the gateway would reject.
    #[command(after_help = examples!(
        "backend try mapping.toml find blue shoes",
        "backend try mapping.toml find '{\"words\": \"vase\", \"context\": {\"currency\": \"EUR\"}}'",
        "backend try mapping.toml cart/sync VARIANT=2"
    ))]
    Try {
        /// Mapping file.
        file: PathBuf,
        /// Question of the backend API: find, resolve, open, cart/sync, cart/fetch, cart/abandon, place, order or cancel.
        #[arg(default_value = "find")]
        question: String,
        /// The question as a JSON document, whose missing fields are completed. Instead: search words for `find`, IDs for
        /// `resolve` and `open`, `VARIANT` or `VARIANT=QUANTITY` for `cart/sync`.
        arguments: Vec<String>,
        /// Show every request of steps that are repeated, not only the first two and a failed one.
        #[arg(long)]
        all: bool,
    },
    /// Print the JSON Schema of mapping files, for editors.
    #[command(after_help = examples!("backend schema"))]
    Schema,
    /// Run the programs of a mapping for the gateway that started this process.
    #[command(hide = true)]
    Worker,
}

#[derive(Debug, Args)]
pub(crate) struct CheckOptions {
    /// Base URL of the adapter, or the mapping file.
    shop: String,
    /// File with the access token of the shop.
    #[arg(long, value_name = "FILE", conflicts_with = "signing_secret_file")]
    token_file: Option<PathBuf>,
    /// File with the secret that signs requests.
    #[arg(long, value_name = "FILE")]
    signing_secret_file: Option<PathBuf>,
    /// File with the client certificate (PEM) for the shop.
    #[arg(long, value_name = "FILE", requires = "client_key_file")]
    client_certificate_file: Option<PathBuf>,
    /// File with the private key of that certificate.
    #[arg(long, value_name = "FILE", requires = "client_certificate_file")]
    client_key_file: Option<PathBuf>,
    /// Also test the rules that create carts and payment attempts. No order is placed.
    #[arg(long)]
    allow_writes: bool,
    /// Also place one order, and test the rules about orders: JSON file with `buyer`, `address` and `payment`, as in `/place`.
    #[arg(long, value_name = "FILE", requires = "allow_writes")]
    place_order: Option<PathBuf>,
    /// Discount code that exists and does not apply, to test that the reason is stated.
    #[arg(long, value_name = "CODE", requires = "allow_writes")]
    unmet_code: Option<String>,
    /// Only test the form of a mapping, without its shop and its secrets.
    #[arg(long, conflicts_with = "allow_writes")]
    offline: bool,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

impl CheckOptions {
    /// Returns what may be done at the shop. Fails if the file of the order cannot be read.
    fn permissions(&self) -> Result<Permissions, String> {
        let purchase = |file: &PathBuf| {
            let unusable = |error| format!("{} must be a purchase: {error}", file.display());
            serde_json::from_str::<Purchase>(&text(file)?).map_err(unusable)
        };
        let order = self.place_order.as_ref().map(purchase).transpose()?;
        Ok(Permissions { writes: self.allow_writes, order, unmet_code: self.unmet_code.clone() })
    }
}

pub(crate) fn run(command: &BackendCommand) -> Done {
    match command {
        BackendCommand::Check(options) => {
            let runtime = runtime(2)?;
            wait(&runtime, checked(options))
        }
        BackendCommand::Try { file, question, arguments, all } => try_out(file, question, arguments, *all),
        BackendCommand::Schema => {
            output::write(format_args!("{}", pretty(&ucp_mapped::file::schema().to_value())));
            Ok(ExitCode::SUCCESS)
        }
        BackendCommand::Worker => {
            worker::serve()?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn checked(options: &CheckOptions) -> Done {
    let permissions = options.permissions()?;
    let report = match options.shop.parse::<Url>() {
        Ok(_) if options.offline => return Err("`--offline` is for mapping files: an adapter has to run".into()),
        Ok(url) if matches!(url.scheme(), "http" | "https") => check(&contract(options, url)?, &permissions).await,
        _ => of_mapping(options, &permissions).await?,
    };
    if options.json {
        say!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print(&report);
    }
    Ok(if report.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A shop behind a mapping that says what its programs could not make.
struct Talkative {
    mapped: Mapped,
    left_out: Mutex<BTreeSet<String>>,
}

impl Talkative {
    /// Notes whether everything could be converted.
    fn note(self, report: &mut Report) {
        let left_out = self.left_out.into_inner().unwrap_or_else(PoisonError::into_inner);
        let rule = "everything_can_be_converted";
        let Some(first) = left_out.first() else {
            report.kept.push(rule);
            return;
        };
        report.findings.push(Finding {
            rule,
            question: Question::Find.path(),
            asked: Value::Null,
            seen: left_out.iter().take(SHOWN_FINDINGS).cloned().collect::<Vec<_>>().join("\n         "),
            problem: format!("the programs of the mapping cannot use {} values, such as {first}", left_out.len()),
            cure: "correct the program for such values, or have it yield `empty` for a product that is not for sale",
        });
    }
}

#[async_trait]
impl Transport for Talkative {
    async fn ask(&self, question: Question, body: Bytes) -> Result<Reply, Failure> {
        let trace = Mutex::new(Trace::default());
        let reply = self.mapped.ask_traced(question, body, &trace).await;
        let findings = trace.into_inner().unwrap_or_else(PoisonError::into_inner).findings;
        if reply.is_err() && !findings.is_empty() {
            return Ok(Reply::Refused(findings.join("; ")));
        }
        self.left_out.lock().unwrap_or_else(PoisonError::into_inner).extend(findings);
        reply
    }

    fn counters(&self) -> &Arc<Counters> {
        self.mapped.counters()
    }
}

/// Tries the rules on a mapping: those of its form first, which need no shop.
async fn of_mapping(options: &CheckOptions, permissions: &Permissions) -> Result<Report, Box<dyn std::error::Error>> {
    let (mapping, plan) = read(Path::new(&options.shop))?;
    let (mut kept, mut findings) = (vec!["the_file_is_a_mapping"], Vec::new());
    for Form { rule, question, problem, cure } in form::examine(&mapping, &plan) {
        let Some(problem) = problem else {
            kept.push(rule);
            continue;
        };
        let (asked, seen) = (Value::Null, "the file".to_owned());
        findings.push(Finding { rule, question: question.path(), asked, seen, problem: problem.to_owned(), cure });
    }
    kept.dedup();
    let mut report = if options.offline {
        let reason = "`--offline`: the shop was not asked".to_owned();
        Report { skipped: vec![("everything else", reason)], ..Report::default() }
    } else {
        let shop = Talkative { mapped: mapped(&mapping, plan)?, left_out: Mutex::default() };
        let mut report = check(&shop, permissions).await;
        shop.note(&mut report);
        report
    };
    report.kept.splice(0..0, kept);
    report.findings.splice(0..0, findings);
    Ok(report)
}

fn contract(options: &CheckOptions, url: Url) -> Result<HttpShop, Box<dyn std::error::Error>> {
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok::<_, String>(text.trim().to_owned())
    };
    let credential = match (&options.token_file, &options.signing_secret_file) {
        (Some(file), _) => Credential::bearer(&read(file)?)?,
        (None, Some(file)) => Credential::Signing(SigningSecret::new(&read(file)?)),
        (None, None) => Credential::None,
    };
    let identity = match (&options.client_certificate_file, &options.client_key_file) {
        (Some(certificate), Some(key)) => {
            Some(outbound::identity(read(certificate)?.as_bytes(), read(key)?.as_bytes())?)
        }
        _ => None,
    };
    let upstream = Options { plain_http: true, identity, ..Options::new("http", url) };
    Ok(HttpShop::new(&upstream, credential, monotonic(), chance(), Arc::new(clock::timestamp))?)
}

/// Opens the shop of a mapping with the usual deadlines.
fn mapped(mapping: &Mapping, plan: Plan) -> Result<Mapped, Box<dyn std::error::Error>> {
    let around = Surroundings {
        secret: &|name| std::env::var(name).ok(),
        options: &|name, address| Options::new(name, address),
        clock: monotonic(),
        now: clock::timestamp,
        random: chance(),
    };
    Ok(Mapped::open(mapping, plan, &around, launch()?, Limits::default())?)
}

fn print(report: &Report) {
    for rule in &report.kept {
        say!("ok       {rule}");
    }
    for (rule, reason) in &report.skipped {
        say!("skipped  {rule}: {reason}");
    }
    for Finding { rule, question, asked, seen, problem, cure } in &report.findings {
        say!("failed   {rule}: {problem}\n  asked  /{question} {asked}\n  found  {seen}\n  fix    {cure}");
    }
    say!("{} passed, {} failed", report.kept.len(), report.findings.len());
}

fn text(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))
}

fn unusable(file: &Path, faulty: &Faulty) -> String {
    format!("{} cannot be used:\n{faulty}", file.display())
}

fn read(file: &Path) -> Result<(Mapping, Plan), String> {
    ucp_mapped::read(&text(file)?).map_err(|faulty| unusable(file, &faulty))
}

/// Returns the document of a question: as it is stated, or of words, and completed.
fn document(question: Question, arguments: &[String], mapping: &Mapping) -> Result<Value, String> {
    let is_json = |argument: &String| argument.trim_start().starts_with('{');
    let mut document = match arguments {
        [one] if is_json(one) => {
            serde_json::from_str(one).map_err(|error| format!("the question must be JSON: {error}"))?
        }
        arguments if arguments.iter().any(is_json) => {
            return Err("the question must be one JSON document, or words".to_owned());
        }
        arguments => of_words(question, arguments)?,
    };
    let defaults = match question {
        Question::Find => json!({ "limit": 10, "available": false }),
        Question::CartSync | Question::CartFetch => json!({ "purpose": "cart", "lines": [], "codes": [] }),
        _ => json!({}),
    };
    let context = json!({ "language": mapping.market.language, "currency": mapping.market.currency });
    complete(&mut document, &defaults);
    if matches!(question.lane(), Lane::Browse | Lane::Cart) && question != Question::CartAbandon {
        complete(&mut document, &json!({ "context": {} }));
        complete(&mut document["context"], &context);
    }
    judge::question(question, &document).map_err(|reason| format!("the question cannot be asked: {reason}"))?;
    Ok(document)
}

/// Returns the document that words stand for.
fn of_words(question: Question, arguments: &[String]) -> Result<Value, String> {
    match question {
        Question::Find if arguments.is_empty() => Ok(json!({})),
        Question::Find => Ok(json!({ "words": arguments.join(" ") })),
        Question::Resolve | Question::Open => Ok(json!({ "ids": arguments })),
        Question::CartSync => {
            let line = |argument: &String| {
                let (variant, quantity) = argument.rsplit_once('=').unwrap_or((argument, "1"));
                match quantity.parse::<u64>() {
                    Ok(quantity) => Ok(json!({ "variant": variant, "quantity": quantity })),
                    Err(_) => Err(format!("`{argument}` must be VARIANT or VARIANT=QUANTITY")),
                }
            };
            let lines: Vec<_> = arguments.iter().map(line).collect::<Result<_, _>>()?;
            Ok(json!({ "lines": lines }))
        }
        _ if arguments.is_empty() => Ok(json!({})),
        _ => Err(format!("the question `{}` must be a JSON document", question.path())),
    }
}

/// Adds the members of `defaults` that an object lacks.
fn complete(document: &mut Value, defaults: &Value) {
    if let (Some(members), Some(defaults)) = (document.as_object_mut(), defaults.as_object()) {
        for (name, value) in defaults {
            members.entry(name).or_insert_with(|| value.clone());
        }
    }
}

fn try_out(file: &Path, question: &str, arguments: &[String], all: bool) -> Done {
    // One question can be tried before the others are written.
    let (mapping, plan, _) = ucp_mapped::draft(&text(file)?).map_err(|faulty| unusable(file, &faulty))?;
    let asked = Question::ALL.into_iter().find(|known| known.path() == question);
    let asked = asked.ok_or_else(|| format!("`{question}` must be a question, such as `find` or `cart/sync`"))?;
    let document = document(asked, arguments, &mapping)?;
    let runtime = runtime(2)?;
    let trace = Mutex::new(Trace::default());
    let (reply, backend) = wait(&runtime, async {
        let mapped = mapped(&mapping, plan)?;
        let reply = mapped.ask_traced(asked, document.to_string().into(), &trace).await;
        let backend = mapped.ask(Question::Backend, Bytes::from_static(b"null")).await?;
        Ok::<_, Box<dyn std::error::Error>>((reply, backend.read::<Backend>(Question::Backend)?))
    })?;
    let trace = trace.into_inner().unwrap_or_else(PoisonError::into_inner);
    say!("question {question}\n{}\n", shown(document.to_string().as_bytes()));
    for group in trace.exchanges.chunk_by(|one, other| one.step == other.step) {
        let shown = if all { group.len() } else { SHOWN_OF_STEP.min(group.len()) };
        let (first, more) = group.split_at(shown);
        first.iter().for_each(show);
        if !more.is_empty() {
            let failed = more.iter().filter(|exchange| !matches!(exchange.answer, Ok((200..=299, _)))).count();
            say!("step {}: {} more requests, {failed} of them without success\n", group[0].step, more.len());
            more.iter().filter(|exchange| !matches!(exchange.answer, Ok((200..=299, _)))).take(1).for_each(show);
        }
    }
    let code = match &reply {
        Ok(Reply::Answer(answer)) => {
            say!("answer\n{}\n", shown(answer));
            for missing in missing(answer) {
                say!("missing  {missing}");
            }
            let answer = serde_json::from_slice(answer).unwrap_or_default();
            let judge::Judgement { rejected, told } =
                backend.map(|backend| judge::answer(&backend, asked, &document, &answer)).unwrap_or_default();
            for told in &told {
                say!("buyers   {told}");
            }
            for rejected in &rejected {
                say!("rejected {rejected}");
            }
            if rejected.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Ok(Reply::Gone) => {
            say!("answer: there is no such thing");
            ExitCode::SUCCESS
        }
        Ok(Reply::Refused(reason) | Reply::Unsent(reason) | Reply::Halted(reason)) => {
            say!("refused: {reason}");
            ExitCode::FAILURE
        }
        Err(failure) => {
            say!("failed: {failure}");
            ExitCode::FAILURE
        }
    };
    for finding in trace.findings.iter().chain(&trace.outside) {
        say!("problem  {finding}");
    }
    Ok(code)
}

fn show(exchange: &Exchange) {
    say!("step {}: {}", exchange.step, exchange.request);
    if let Some(body) = &exchange.body {
        say!("{}", shown(body));
    }
    match &exchange.answer {
        Ok((status, body)) => say!("status {status}\n{}\n", shown(body)),
        Err(failure) => say!("no answer: {failure}\n"),
    }
}

/// Text of a document, indented if it is JSON.
fn shown(document: &[u8]) -> String {
    serde_json::from_slice::<Value>(document)
        .map_or_else(|_| String::from_utf8_lossy(document).into_owned(), |value| format!("{value:#}"))
}

/// Returns the members that products or variants of an answer lack, although agents and buyers look for them.
fn missing(answer: &[u8]) -> Vec<String> {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let products: Vec<&Value> = answer["products"].as_array().into_iter().flatten().collect();
    let variants = |product: &&Value| product["variants"].as_array().cloned().unwrap_or_default();
    let variants_of: Vec<Vec<Value>> = products.iter().map(variants).collect();
    let all: Vec<&Value> = variants_of.iter().flatten().collect();
    // One variant needs no options to be told apart from others.
    let several: Vec<&Value> = variants_of.iter().filter(|variants| variants.len() > 1).flatten().collect();
    let lacking = |of: &[&Value], whose: &str, name: &str| {
        let without =
            of.iter().filter(|value| value[name].is_null() || value[name].as_array().is_some_and(Vec::is_empty));
        match without.count() {
            0 => None,
            without if without == of.len() => Some(format!("no {whose} has `{name}`")),
            without => Some(format!("{without} of {} {whose}s have no `{name}`", of.len())),
        }
    };
    let of_products = WANTED.iter().filter_map(|name| lacking(&products, "product", name));
    let of_variants = WANTED_OF_VARIANTS.iter().filter_map(|name| match *name {
        "options" => lacking(&several, "variant", name),
        name => lacking(&all, "variant", name),
    });
    of_products.chain(of_variants).collect()
}
