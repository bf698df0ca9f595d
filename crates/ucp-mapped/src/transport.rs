//! A shop that is asked by way of its mapping.
//!
//! Each question of the contract is answered by the requests of its steps and the programs around them. A program that
//! fails is named in the log, with the path of what it made; data of buyers is not. A product that cannot be used is left
//! out, every other answer as a whole.
//!
//! A request that changes something is sent once. If a later step of the same question fails, the failure never says that
//! nothing was sent.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::join_all;
use http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};
use ucp_contract::{
    Question, Reply, Transport,
    documents::{Backend, CartAbilities, Completion, VERSION},
    transport::is_definite,
};
use ucp_core::{Refusal, ports::Notice};
use ucp_net::{
    Author, CallKind, CoalescingCache, Counters, Failure, Filled, Received, Unreadable, coalescing::Capacity,
};

use super::{
    answer::{End, document, nothing, unexpected},
    check::{self, Wrong},
    event::EventSignature,
    file::{Mapping, Paging},
    paging::Page,
    plan::{MOST_AT_ONCE, Made, Plan, Way},
    pool::{Launch, Limits, NoValue, NotRun, Pool, ProgramId},
    session::Session,
    source::{Outgoing, Source, SourceError, Surroundings},
};

/// Maximum number of elements that a step is repeated for.
const MAX_REPEATS: usize = 250;

/// Answers that are kept for equal requests.
const KEPT: Capacity = Capacity { bytes: 8 << 20, fills: 64 };

/// Maximum number of products of an answer that are made, unless more were asked for.
const MOST_PRODUCTS: usize = 1_000;

/// Time after which an event that could not be translated is to be sent again, in seconds.
const RETRY_SECONDS: u32 = 60;

/// A shop behind a mapping.
pub struct Mapped {
    plan: Plan,
    backend: Bytes,
    market: Vec<u8>,
    /// Sources by name; choices of one by its name, a dot and theirs.
    sources: BTreeMap<String, Arc<Source>>,
    kept: CoalescingCache<Received>,
    pool: Pool,
    counters: Arc<Counters>,
    now: fn() -> jiff::Timestamp,
    has_sessions: bool,
    events: Option<EventSignature>,
}

/// A request that was made for a question, for whoever tries a mapping.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Name of the step.
    pub step: String,
    /// Method and URL.
    pub request: String,
    /// Document that was sent.
    pub body: Option<Bytes>,
    /// Status and document of the answer; the failure if there is none.
    pub answer: Result<(u16, Bytes), String>,
}

/// Record of how a question was answered, for people who try a mapping.
#[derive(Debug, Default)]
pub struct Trace {
    /// Requests in their order.
    pub exchanges: Vec<Exchange>,
    /// Results that programs could not make, and values that were left out.
    pub findings: Vec<String>,
    /// Requests that were not made, because their paths lead out of the source.
    pub outside: Vec<String>,
}

/// A question that is being answered.
struct Asking<'a> {
    question: Question,
    author: Author,
    /// The document, without the session in the identifier of its cart.
    document: Vec<u8>,
    paging: Vec<u8>,
    now: Vec<u8>,
    /// Values of the steps so far.
    values: Vec<Vec<u8>>,
    session: Session,
    /// `true` once a request may have been sent.
    asked: bool,
    /// `true` once a request that changes something may have been sent.
    wrote: bool,
    trace: Option<&'a Mutex<Trace>>,
}

impl Asking<'_> {
    fn trace(&self, note: impl FnOnce(&mut Trace)) {
        if let Some(trace) = self.trace {
            note(&mut trace.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Notes what a program could not make. Texts of programs can quote data of buyers: the trace of the call, and the log
    /// of questions that are not about products, get the rule, which quotes nothing.
    fn finding(&self, label: &str, what: &str, text: &str, rule: &str) {
        let browsing = matches!(self.question, Question::Find | Question::Resolve | Question::Open);
        let reason = if browsing { text } else { rule };
        tracing::error!(question = self.question.path(), program = label, reason, "{what}");
        ucp_record::tell("mapping_fault", || format!("`{label}` of /{}: {rule}", self.question.path()));
        self.trace(|trace| trace.findings.push(format!("`{label}`: {text}")));
    }

    /// Failure of what could not be made: of an answer of the shop, or before anything was sent.
    fn unmade(&self) -> End {
        End::Failure(if self.asked {
            Failure::Unreadable(Unreadable::Unexpected)
        } else {
            Failure::Unsendable("cannot be made by the programs of the mapping")
        })
    }
}

impl Mapped {
    /// Opens the sources of a mapping. Nothing is asked yet. Fails with [`SourceError`].
    pub fn open(
        mapping: &Mapping,
        mut plan: Plan,
        around: &Surroundings<'_>,
        launch: Launch,
        limits: Limits,
    ) -> Result<Self, SourceError> {
        let mut sources = BTreeMap::new();
        for (name, source) in &mapping.source {
            sources.insert(name.clone(), Arc::new(Source::open(name, source, around)?));
            for (choice, chosen) in &source.choice {
                let (name, source) = (format!("{name}.{choice}"), source.chosen(chosen));
                sources.insert(name.clone(), Arc::new(Source::open(&name, &source, around)?));
            }
        }
        let counters = sources.values().next().map(|source| Arc::clone(source.counters())).unwrap_or_default();
        let cart = mapping.cart.as_ref();
        let backend = Backend {
            contract: VERSION.to_owned(),
            market: mapping.market.clone(),
            catalog: mapping.catalog.clone(),
            cart: cart.map(|cart| CartAbilities {
                completion: cart.completion,
                codes: cart.codes,
                delivery: cart.delivery,
                pickup: cart.pickup,
                // What a mapping asks in steps is not told apart by a key.
                keys: false,
                finds_orders: cart.completion == Completion::HandOff && mapping.order.is_some(),
                order_status: mapping.order_status.is_some(),
            }),
            payment_handlers: mapping.payment_handlers.clone(),
        };
        let signature = mapping.order_event.as_ref().map(|event| &event.signature);
        let events = signature.map(|signature| EventSignature::open(signature, around)).transpose()?;
        let is_session =
            |source: &Arc<Source>| !source.session_cookies.is_empty() || !source.session_headers.is_empty();
        let has_sessions = !plan.choices.is_empty() || sources.values().any(is_session);
        let pool = Pool::new(std::mem::take(&mut plan.listed), launch, limits);
        let market = serde_json::to_vec(&mapping.market).unwrap_or_default();
        let backend = serde_json::to_vec(&backend).unwrap_or_default().into();
        let weigh = |received: &Received| received.body.len();
        let kept = CoalescingCache::new(KEPT, weigh, around.clock.clone(), Arc::clone(&counters));
        Ok(Self { plan, backend, market, sources, kept, pool, counters, now: around.now, has_sessions, events })
    }

    /// Returns the shop, with the search for nothing in particular as the question by which the gateway finds out
    /// whether the sources work that it is made to.
    pub fn guarded(self) -> Arc<Self> {
        let mapped = Arc::new(self);
        let searched = mapped.plan.questions.get(Question::Find.path());
        for (name, source) in &mapped.sources {
            let (of, choice) = name.split_once('.').map_or((&**name, None), |(of, choice)| (of, Some(choice)));
            if searched.is_some_and(|way| way.steps.iter().any(|made| made.source == of)) {
                let weak = Arc::downgrade(&mapped);
                let chosen = mapped.plan.choices.contains_key(of).then(|| (of.to_owned(), choice.map(str::to_owned)));
                source.upstream().probe_by(move || {
                    let (mapped, chosen) = (weak.upgrade(), chosen.clone());
                    async move {
                        match mapped {
                            Some(mapped) => mapped.probe(chosen).await,
                            None => Err(Failure::Abandoned),
                        }
                    }
                });
            }
        }
        mapped
    }

    /// Searches for nothing in particular, at this choice of a source.
    async fn probe(&self, chosen: Option<(String, Option<String>)>) -> Result<(), Failure> {
        let Some(way) = self.plan.questions.get(Question::Find.path()) else { return Ok(()) };
        let market: Value = serde_json::from_slice(&self.market).unwrap_or_default();
        let context = json!({ "language": market["language"], "currency": market["currency"] });
        let document = json!({ "limit": 1, "available": false, "context": context });
        let mut session = Session::default();
        session.chosen.extend(chosen);
        match self.once_in(session, Question::Find, Author::Probe, way, document, None).await {
            // An answer that the programs cannot use is an answer.
            Ok(_) | Err(End::Reply(_) | End::Failure(Failure::Unreadable(Unreadable::Unexpected))) => Ok(()),
            Err(End::Failure(failure)) => Err(failure),
        }
    }

    /// Asks a question as [`Transport::ask`] does, and keeps what happened. Fails as [`Transport::ask`].
    pub async fn ask_traced(&self, question: Question, body: Bytes, trace: &Mutex<Trace>) -> Result<Reply, Failure> {
        self.answer(question, &body, Some(trace)).await
    }

    async fn answer(&self, question: Question, body: &[u8], trace: Option<&Mutex<Trace>>) -> Result<Reply, Failure> {
        if question == Question::Backend {
            return Ok(Reply::Answer(self.backend.clone()));
        }
        let Some(way) = self.plan.questions.get(question.path()) else {
            return Ok(Reply::Refused("the mapping does not state how to answer it".to_owned()));
        };
        let document: Value =
            serde_json::from_slice(body).map_err(|_| Failure::Unsendable("must be for a question that is JSON"))?;
        let ended = match way.batch {
            Some(batch) if document["ids"].as_array().is_some_and(|ids| ids.len() > batch) => {
                self.in_batches(question, way, document, batch, trace).await
            }
            _ => self.once(question, Author::Caller, way, document, trace).await,
        };
        match ended {
            Ok(answer) => Ok(Reply::Answer(answer.into())),
            Err(End::Reply(reply)) => Ok(reply),
            Err(End::Failure(failure)) => Err(failure),
        }
    }

    /// Asks for identifiers in several groups, many at once.
    async fn in_batches(
        &self,
        question: Question,
        way: &Way,
        document: Value,
        batch: usize,
        trace: Option<&Mutex<Trace>>,
    ) -> Result<Vec<u8>, End> {
        let ids = document["ids"].as_array().cloned().unwrap_or_default();
        let parts: Vec<Value> = ids
            .chunks(batch)
            .map(|ids| {
                let mut part = document.clone();
                part["ids"] = ids.into();
                part
            })
            .collect();
        let mut products = Vec::new();
        for group in parts.chunks(MOST_AT_ONCE) {
            let asked = group.iter().map(|part| self.once(question, Author::Caller, way, part.clone(), trace));
            for answer in join_all(asked).await {
                let mut listed: Products = serde_json::from_slice(&answer?).map_err(|_| unexpected())?;
                products.append(&mut listed.products);
            }
        }
        serde_json::to_vec(&Products { products, ..Products::default() }).map_err(|_| unexpected())
    }

    async fn once(
        &self,
        question: Question,
        author: Author,
        way: &Way,
        mut document: Value,
        trace: Option<&Mutex<Trace>>,
    ) -> Result<Vec<u8>, End> {
        let mut session = Session::default();
        if self.has_sessions
            && let Some(cart) = document["cart"].as_str()
        {
            let Some((opened, own)) = Session::open(cart) else { return Err(End::Reply(Reply::Gone)) };
            session = opened;
            document["cart"] = own;
        }
        self.once_in(session, question, author, way, document, trace).await
    }

    async fn once_in(
        &self,
        session: Session,
        question: Question,
        author: Author,
        way: &Way,
        document: Value,
        trace: Option<&Mutex<Trace>>,
    ) -> Result<Vec<u8>, End> {
        let text = |value: &Value| serde_json::to_vec(value).map_err(|_| unexpected());
        let Some(paging) = Page::of(way.paging, &document) else { return Err(End::Reply(Reply::Gone)) };
        let mut asking = Asking {
            question,
            author,
            document: text(&document)?,
            paging: text(&paging.document())?,
            now: text(&(self.now)().to_string().into())?,
            values: Vec::new(),
            session,
            asked: false,
            wrote: false,
            trace,
        };
        self.choose(&mut asking, way).await?;
        let mut ended = None;
        // Steps before the one that places the order place none.
        let mut prepares = way.steps.iter().any(|made| made.places);
        for made in &way.steps {
            let places = made.places && made.each.is_none();
            prepares &= !made.places || places;
            // What came before a refused request of an order may have placed it.
            let halts = question == Question::Place && !prepares && (asking.wrote || made.each.is_some());
            let value = self.step(&mut asking, made).await.map_err(|end| match end {
                End::Failure(failure) if prepares && (!places || failure.never_sent()) => {
                    End::Reply(Reply::Unsent(format!("`{}`: {failure}", made.name)))
                }
                End::Failure(failure) if asking.wrote && failure.never_sent() => Failure::Broken { sent: true }.into(),
                End::Reply(Reply::Refused(reason)) if halts => End::Reply(Reply::Halted(reason)),
                End::Reply(Reply::Gone) if halts => End::Reply(Reply::Halted("there is no such thing".to_owned())),
                End::Failure(Failure::Answered(answered)) if halts && is_definite(answered.received.status) => {
                    End::Reply(Reply::Halted(Failure::Answered(answered).to_string()))
                }
                end => end,
            })?;
            if let Some(gone) = made.gone
                && self.one(&asking, gone, &value).await?.is_some_and(|gone| gone != b"false")
            {
                return Err(End::Reply(Reply::Gone));
            }
            if let Some(program) = made.end
                && let Some(answer) = self.one(&asking, program, &value).await?
            {
                ended = Some((Some(program), answer));
                break;
            }
            prepares &= !made.places;
            asking.values.push(value);
        }
        let last = asking.values.last().unwrap_or(&asking.document).clone();
        let (by, answer) = match (ended, way.answer) {
            (Some(ended), _) => ended,
            (None, None) => (None, last),
            (None, Some(program)) => match self.one(&asking, program, &last).await? {
                Some(answer) => (way.answer, answer),
                None => return Err(End::Reply(Reply::Gone)),
            },
        };
        // Without a program for the answer, the last step made it.
        let by = by.or_else(|| way.steps.last().and_then(|made| made.value.or(made.answer)));
        let label = || by.map_or_else(|| question.path().to_owned(), |program| self.pool.label(program).to_owned());
        match question {
            Question::Find | Question::Resolve | Question::Open => {
                self.products(&asking, &label(), &answer, &paging).await
            }
            _ => {
                let answer = if matches!(question, Question::CartSync | Question::CartFetch) && self.has_sessions {
                    sealed(&asking.session, &answer).ok_or_else(unexpected)?
                } else {
                    answer
                };
                check::answer(question, &answer).map_err(|Wrong { text, rule }| {
                    asking.finding(&label(), "the mapping made an answer that cannot be used", &text, &rule);
                    unexpected()
                })?;
                Ok(answer)
            }
        }
    }

    /// Chooses how the sources of a question are asked, unless its cart has it.
    async fn choose(&self, asking: &mut Asking<'_>, way: &Way) -> Result<(), End> {
        for (name, program) in &self.plan.choices {
            if !way.steps.iter().any(|made| made.source == *name) || asking.session.chosen.contains_key(name) {
                continue;
            }
            let yielded = self.one(asking, *program, &asking.document).await?;
            let choice = yielded.map(|choice| plain(&choice));
            if choice.as_ref().is_some_and(|choice| !self.sources.contains_key(&format!("{name}.{choice}"))) {
                let text = format!("must yield `null` or the name of a choice of `source.{name}`");
                asking.finding(self.pool.label(*program), "a program of the mapping failed", &text, &text);
                return Err(asking.unmade());
            }
            asking.session.chosen.insert(name.clone(), choice);
        }
        Ok(())
    }

    /// Returns the source of a step, as it was chosen.
    fn source(&self, asking: &Asking<'_>, made: &Made) -> Result<Arc<Source>, End> {
        let source = match asking.session.chosen.get(&made.source).cloned().flatten() {
            // A choice that the mapping no longer has: the cart cannot be reached.
            Some(choice) => self.sources.get(&format!("{}.{choice}", made.source)).ok_or(End::Reply(Reply::Gone))?,
            None => self.sources.get(&made.source).ok_or(Failure::Unsendable("must name a source of the mapping"))?,
        };
        Ok(Arc::clone(source))
    }

    /// Sends the requests of a step side by side. Those that its caller has no place for beside the others follow them.
    async fn side_by_side(
        &self,
        asking: &Asking<'_>,
        made: &Made,
        source: &Arc<Source>,
        group: Vec<Outgoing>,
    ) -> Vec<Result<Received, Failure>> {
        let is_waiting = |answer: &Result<Received, Failure>| matches!(answer, Err(Failure::Saturated));
        let send = |outgoing: &Outgoing| self.received(asking, made, source, outgoing.clone());
        let mut answers = join_all(group.iter().map(send)).await;
        loop {
            let waiting: Vec<usize> = (0..answers.len()).filter(|at| is_waiting(&answers[*at])).collect();
            // Without an answer there is nothing to follow, and after a failure nothing to go on for.
            if waiting.is_empty()
                || !answers.iter().any(Result::is_ok)
                || answers.iter().any(|answer| answer.is_err() && !is_waiting(answer))
            {
                return answers;
            }
            let again = join_all(waiting.iter().map(|at| send(&group[*at]))).await;
            let goes_on = again.iter().any(|answer| !is_waiting(answer));
            for (at, answer) in waiting.into_iter().zip(again) {
                answers[at] = answer;
            }
            if !goes_on {
                return answers;
            }
        }
    }

    /// Sends a request, or returns what is kept of an equal one.
    async fn received(
        &self,
        asking: &Asking<'_>,
        made: &Made,
        source: &Arc<Source>,
        outgoing: Outgoing,
    ) -> Result<Received, Failure> {
        let (Some(keep), Some(key)) =
            (made.keep.filter(|_| asking.author == Author::Caller), outgoing.key(&source.name))
        else {
            return source.send(outgoing).await;
        };
        let source = Arc::clone(source);
        let fill = || async move {
            let Received { status, body, .. } = source.send(outgoing).await?;
            // What else the answer says, such as its cookies, is not for others.
            let received = Received { status, body, headers: HeaderMap::new() };
            Ok(if status.is_success() { Filled::Found(received) } else { Filled::Once(received) })
        };
        Ok(self.kept.get(&key, keep, fill).await?.value)
    }

    /// Runs a program for several inputs.
    async fn run(
        &self,
        asking: &Asking<'_>,
        program: ProgramId,
        inputs: &[&[u8]],
    ) -> Result<Vec<Result<Vec<u8>, NoValue>>, End> {
        let known: [&[u8]; 4] = [&asking.document, &self.market, &asking.paging, &asking.now];
        let mut variables: Vec<&[u8]> = known.into_iter().chain(asking.values.iter().map(Vec::as_slice)).collect();
        variables.truncate(self.pool.variables(program));
        self.pool.run(program, &variables, inputs).await.map_err(|not_run| {
            let text = not_run.to_string();
            asking.finding(self.pool.label(program), "a program of the mapping did not run", &text, &text);
            match not_run {
                NotRun::Saturated if !asking.wrote => Failure::Saturated.into(),
                _ => asking.unmade(),
            }
        })
    }

    /// Runs a program for several inputs; `None` where it yields nothing or `null`.
    async fn each(
        &self,
        asking: &Asking<'_>,
        program: ProgramId,
        inputs: &[&[u8]],
    ) -> Result<Vec<Option<Vec<u8>>>, End> {
        let values = self.run(asking, program, inputs).await?.into_iter();
        values
            .map(|value| match value {
                Ok(value) => Ok((value != b"null").then_some(value)),
                Err(NoValue::Empty) => Ok(None),
                Err(reason) => {
                    let (text, rule) = (reason.to_string(), reason.rule());
                    asking.finding(self.pool.label(program), "a program of the mapping failed", &text, &rule);
                    Err(asking.unmade())
                }
            })
            .collect()
    }

    async fn one(&self, asking: &Asking<'_>, program: ProgramId, input: &[u8]) -> Result<Option<Vec<u8>>, End> {
        Ok(self.each(asking, program, &[input]).await?.pop().flatten())
    }

    async fn step(&self, asking: &mut Asking<'_>, made: &Made) -> Result<Vec<u8>, End> {
        if let Some(when) = made.when
            && self.one(asking, when, &asking.document).await?.is_none_or(|value| value == b"false")
        {
            return Ok(b"null".to_vec());
        }
        let elements: Option<Vec<Box<RawValue>>> = match made.each {
            None => None,
            Some(program) => {
                let array = self.one(asking, program, &asking.document).await?.unwrap_or_else(|| b"[]".to_vec());
                let elements: Vec<Box<RawValue>> = serde_json::from_slice(&array).map_err(|_| {
                    let text = "must yield an array";
                    asking.finding(self.pool.label(program), "a program of the mapping failed", text, text);
                    asking.unmade()
                })?;
                if elements.len() > MAX_REPEATS {
                    let text = format!("must yield at most {MAX_REPEATS} elements");
                    asking.finding(self.pool.label(program), "a program of the mapping failed", &text, &text);
                    return Err(asking.unmade());
                }
                Some(elements)
            }
        };
        let document = asking.document.clone();
        let inputs: Vec<&[u8]> = match &elements {
            None => vec![&document],
            Some(elements) => elements.iter().map(|element| element.get().as_bytes()).collect(),
        };
        let mut values = match made.value {
            Some(program) => {
                let values = self.each(asking, program, &inputs).await?;
                values.into_iter().map(|value| value.unwrap_or_else(|| b"null".to_vec())).collect()
            }
            None => self.answered(asking, made, &inputs).await?,
        };
        if elements.is_none() {
            return Ok(values.pop().unwrap_or_else(|| b"null".to_vec()));
        }
        let joined = values.join(&b","[..]);
        Ok([b"[".as_slice(), &joined, b"]"].concat())
    }

    /// Sends the requests of a step, and makes the values of what is answered.
    async fn answered(&self, asking: &mut Asking<'_>, made: &Made, inputs: &[&[u8]]) -> Result<Vec<Vec<u8>>, End> {
        let source = self.source(asking, made)?;
        let requests = self.requests(asking, made, &source, inputs).await?;
        let bodies = self.send(asking, made, &source, requests).await?;
        let mut values: Vec<Vec<u8>> = bodies.iter().map(|body| body.as_deref().unwrap_or(b"null").to_vec()).collect();
        if let Some(program) = made.answer {
            let of_element = |(element, body): (&&[u8], &[u8])| {
                let parts = [b"{\"element\":", *element, b",\"document\":", body, b"}"];
                if made.sees_element { parts.concat() } else { body.to_vec() }
            };
            let there = inputs.iter().zip(&bodies).filter_map(|(input, body)| Some((input, body.as_deref()?)));
            let there: Vec<Vec<u8>> = there.map(of_element).collect();
            let there: Vec<&[u8]> = there.iter().map(Vec::as_slice).collect();
            let mut made = self.each(asking, program, &there).await?.into_iter();
            for (value, body) in values.iter_mut().zip(&bodies) {
                if body.is_some() {
                    *value = made.next().flatten().unwrap_or_else(|| b"null".to_vec());
                }
            }
        }
        Ok(values)
    }

    /// Makes the requests of a step.
    async fn requests(
        &self,
        asking: &Asking<'_>,
        made: &Made,
        source: &Source,
        inputs: &[&[u8]],
    ) -> Result<Vec<Option<Outgoing>>, End> {
        let none = || vec![None; inputs.len()];
        let column = async |program: Option<ProgramId>| match program {
            Some(program) => self.each(asking, program, inputs).await,
            None => Ok(none()),
        };
        let paths = column(made.path).await?;
        let bodies = column(made.body).await?;
        let (mut queries, mut headers) = (vec![Vec::new(); inputs.len()], vec![Vec::new(); inputs.len()]);
        for (name, program) in &made.query {
            for (query, value) in queries.iter_mut().zip(column(Some(*program)).await?) {
                let values = value.map(|value| parameters(&value)).unwrap_or_default();
                query.extend(values.into_iter().map(|value| (name.clone(), value)));
            }
        }
        for (name, program) in &made.headers {
            for (headers, value) in headers.iter_mut().zip(column(Some(*program)).await?) {
                let Some(value) = value else { continue };
                let value = HeaderValue::from_bytes(plain(&value).as_bytes()).map_err(|_| {
                    let (label, text) = (self.pool.label(*program), "must be one line of text");
                    asking.finding(label, "a program of the mapping makes no header", text, text);
                    asking.unmade()
                })?;
                headers.push((name.clone(), value));
            }
        }
        let parts = paths.into_iter().zip(bodies).zip(queries).zip(headers);
        parts
            .map(|(((path, body), query), headers)| {
                let path = path.map(|path| plain(&path)).unwrap_or_default();
                let Some(url) = source.url(&path, &query) else {
                    // Callers' texts are in it. Nothing is below the address by that name.
                    asking.trace(|trace| {
                        trace.outside.push(format!("`{}`: the path must be below the address", made.name));
                    });
                    return Ok(None);
                };
                let body = match &made.graphql {
                    None => body,
                    Some(document) => {
                        let variables = body.as_deref().unwrap_or(b"{}");
                        let variables: &RawValue = serde_json::from_slice(variables).map_err(|_| asking.unmade())?;
                        let posted = Posted { query: document, variables };
                        Some(serde_json::to_vec(&posted).map_err(|_| asking.unmade())?)
                    }
                };
                let (call_kind, lane, author) = (made.call_kind, asking.question.lane(), asking.author);
                let (method, body) = (made.method.clone(), body.map(Bytes::from));
                let is_list = matches!(asking.question, Question::Find | Question::Resolve | Question::Open);
                let (cookies, is_in_session) = (None, false);
                Ok(Some(Outgoing {
                    call_kind,
                    lane,
                    author,
                    is_list,
                    method,
                    url,
                    headers,
                    body,
                    cookies,
                    is_in_session,
                }))
            })
            .collect()
    }

    /// Sends the requests of a step, reads several at once, and returns the documents of the answers; `None` for what
    /// does not exist, which is asked for by no request where its path would lead out of the source.
    async fn send(
        &self,
        asking: &mut Asking<'_>,
        made: &Made,
        source: &Arc<Source>,
        requests: Vec<Option<Outgoing>>,
    ) -> Result<Vec<Option<Bytes>>, End> {
        let mut documents = Vec::with_capacity(requests.len());
        let mut requests = requests.into_iter().peekable();
        while requests.peek().is_some() {
            let (cookies, own) = (asking.session.header(&source.name), asking.session.headers(&source.name));
            let group = requests.by_ref().take(made.at_once);
            let in_session = |outgoing: Outgoing| {
                let headers = [outgoing.headers, own.clone()].concat();
                let is_in_session = cookies.is_some() || !own.is_empty();
                Outgoing { cookies: cookies.clone(), headers, is_in_session, ..outgoing }
            };
            let group: Vec<Option<Outgoing>> = group.map(|outgoing| outgoing.map(in_session)).collect();
            let are_sent: Vec<_> = group.iter().map(Option::is_some).collect();
            let group: Vec<_> = group.into_iter().flatten().collect();
            let wrote = asking.wrote;
            asking.asked |= !group.is_empty();
            asking.wrote |= made.call_kind != CallKind::Read && !group.is_empty();
            let described: Vec<_> = group
                .iter()
                .map(|outgoing| (format!("{} {}", outgoing.method, outgoing.url), outgoing.body.clone()))
                .collect();
            let answers = self.side_by_side(asking, made, source, group).await;
            for ((request, body), answer) in described.into_iter().zip(&answers) {
                let answer = match answer {
                    Ok(received) => Ok((received.status.as_u16(), received.body.clone())),
                    Err(failure) => Err(failure.to_string()),
                };
                asking.trace(|trace| trace.exchanges.push(Exchange { step: made.name.clone(), request, body, answer }));
            }
            let mut answers = answers.into_iter().peekable();
            for is_sent in are_sent {
                let Some(answer) = answers.next_if(|_| is_sent) else {
                    documents.push(nothing(made)?);
                    continue;
                };
                let answer = match answer {
                    Err(Failure::Answered(answered)) if made.accepts(answered.received.status) => Ok(answered.received),
                    answer => answer,
                };
                let received = answer.inspect_err(|failure| {
                    // A write that was never sent has changed nothing; those before it may have.
                    if failure.never_sent() {
                        asking.wrote = wrote;
                    }
                })?;
                asking.session.note(&source.name, &source.session_cookies, &received.headers);
                asking.session.note_headers(&source.name, &source.session_headers, &received.headers);
                let answered = document(asking.question, made, received).inspect_err(|end| {
                    if matches!(end, End::Failure(Failure::Answered(_))) && asking.author == Author::Caller {
                        // This question alone may be refused.
                        source.upstream().suspect(asking.question.lane());
                    }
                })?;
                documents.push(answered);
            }
        }
        Ok(documents)
    }

    /// Makes the products of an answer, leaves out those that cannot be used, and completes the page.
    async fn products(&self, asking: &Asking<'_>, label: &str, answer: &[u8], page: &Page) -> Result<Vec<u8>, End> {
        let unusable = |reason: &str| {
            asking.finding(label, "the mapping made an answer that cannot be used", reason, reason);
            unexpected()
        };
        let mut listed: Products = serde_json::from_slice(answer)
            .map_err(|_| unusable("must be an object with `products`, and `next`, `taken` and `total` of pages"))?;
        let came = listed.products.len() as u64;
        // What is beyond the page comes with the next one, where positions count products.
        let kept =
            if page.style == Some(Paging::Offset) && listed.taken.is_none() { page.size } else { MOST_PRODUCTS as u64 };
        let kept = kept.max(page.size);
        if came > kept {
            listed.products.truncate(usize::try_from(kept).unwrap_or(usize::MAX));
            let text = format!("{came} products for a page of {}: {kept} are kept", page.size);
            asking.finding(label, "a page of the shop has more products than are read", &text, &text);
        }
        let taken = listed.taken.take().unwrap_or(came.min(kept));
        if let Some(program) = self.plan.product {
            let raw: Vec<&[u8]> = listed.products.iter().map(|product| product.get().as_bytes()).collect();
            let values = self.run(asking, program, &raw).await?;
            let mut made = Vec::with_capacity(values.len());
            for (index, value) in values.into_iter().enumerate() {
                match value {
                    Ok(value) => {
                        made.extend(String::from_utf8(value).ok().and_then(|text| RawValue::from_string(text).ok()));
                    }
                    Err(NoValue::Empty) => {}
                    Err(reason) => asking.finding(
                        self.pool.label(program),
                        "a product of the shop was left out",
                        &format!("products[{index}] {reason}"),
                        &format!("products[{index}] {}", reason.rule()),
                    ),
                }
            }
            listed.products = made;
        }
        let label = self.plan.product.map_or(label, |program| self.pool.label(program));
        let mut index = 0;
        listed.products.retain(|product| {
            let checked = check::product(product.get().as_bytes());
            if let Err(reason) = &checked {
                let text = format!("products[{index}] cannot be used: {reason}");
                asking.finding(label, "a product of the shop was left out", &text, &text);
            }
            index += 1;
            checked.is_ok()
        });
        let more = page.has_more(taken, listed.total);
        listed.next = match listed.next.take() {
            Some(Value::Bool(true)) => page.after(taken).map(Value::from),
            None | Some(Value::Bool(false) | Value::Null) if more => page.after(taken).map(Value::from),
            Some(Value::String(position)) => {
                check::next(&position).map_err(|reason| unusable(&reason))?;
                Some(position.into())
            }
            None | Some(Value::Bool(false) | Value::Null) => None,
            Some(_) => return Err(unusable("$.next: must be a text, or `true` if there are more")),
        };
        serde_json::to_vec(&listed).map_err(|_| unexpected())
    }
}

#[async_trait]
impl Transport for Mapped {
    async fn ask(&self, question: Question, body: Bytes) -> Result<Reply, Failure> {
        self.answer(question, &body, None).await
    }

    fn has_events(&self) -> bool {
        self.events.is_some()
    }

    async fn event(&self, notice: &Notice<'_>) -> Result<Option<Bytes>, Refusal> {
        let (Some(signature), Some(way)) = (&self.events, &self.plan.event) else { return Ok(None) };
        signature.verify(notice)?;
        let body: Value = serde_json::from_slice(notice.body).map_err(|error| {
            let place = format!("column {} of line {}", error.column(), error.line());
            Refusal::invalid("$", format!("The event must be JSON: {place}.")).accepting("a JSON document")
        })?;
        let headers: Map<String, Value> =
            notice.headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        let document = json!({ "headers": headers, "body": body });
        match self.once(Question::OrderStatus, Author::Caller, way, document, None).await {
            Ok(answer) => Ok(Some(answer.into())),
            Err(End::Reply(Reply::Gone)) => Ok(None),
            Err(End::Reply(_) | End::Failure(_)) => {
                Err(Refusal::unavailable("The event could not be translated. Send it again.", RETRY_SECONDS))
            }
        }
    }

    fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }
}

/// Answer with products.
#[derive(Default, Serialize, Deserialize)]
struct Products {
    products: Vec<Box<RawValue>>,
    /// Number of entries of the shop that the page took, if not each of them is a product.
    #[serde(default, skip_serializing)]
    taken: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
}

/// GraphQL request.
#[derive(Serialize)]
struct Posted<'a> {
    query: &'a str,
    variables: &'a RawValue,
}

/// Text of a value of a program: a string without its quotes, anything else as JSON.
fn plain(value: &[u8]) -> String {
    serde_json::from_slice(value).unwrap_or_else(|_| String::from_utf8_lossy(value).into_owned())
}

/// Texts of the parameters that a value of a program makes.
fn parameters(value: &[u8]) -> Vec<String> {
    match serde_json::from_slice::<Vec<&RawValue>>(value) {
        Ok(elements) => elements
            .into_iter()
            .map(RawValue::get)
            .filter(|text| *text != "null")
            .map(|text| plain(text.as_bytes()))
            .collect(),
        Err(_) => vec![plain(value)],
    }
}

/// Puts the session into the identifier of the cart of an answer.
fn sealed(session: &Session, answer: &[u8]) -> Option<Vec<u8>> {
    let mut answer: Value = serde_json::from_slice(answer).ok()?;
    let members = answer.as_object_mut()?;
    let own = members.remove("cart").unwrap_or_default();
    members.insert("cart".to_owned(), session.seal(own)?.into());
    serde_json::to_vec(&answer).ok()
}
