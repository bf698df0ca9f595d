//! The programs of a mapping, checked and numbered, and for each question the requests that they make.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use http::{HeaderName, Method, StatusCode};
use ucp_contract::{Question, documents::Completion};
use ucp_core::operation::Freshness;
use ucp_net::CallKind;

use super::{
    file::{Asked, Code, Faulty, Mapping, Paging, Step, position},
    pool::{Listed, ProgramId},
    program,
};

/// Variables that every program of a question knows.
const KNOWN: [&str; 4] = ["$question", "$market", "$paging", NOW];

/// The time. It came later than the others, so that a step may have its name.
const NOW: &str = "$now";

/// The element of `each`, for the program `answer` of the step. It came later than the others, too.
const ELEMENT: &str = "$element";

/// Beginning of a program whose input is the element and the document that the source answers with.
const OF_ELEMENT: &str = ".element as $element | .document | ";

/// Statuses that say that the shop is busy, whatever a mapping accepts.
const BUSY: [u16; 4] = [429, 502, 503, 504];

/// Longest time for which answers are kept, in seconds.
const MAX_KEEP: u32 = 86_400;

/// Maximum number of steps of a question.
const MAX_STEPS: usize = 32;

/// Number of reads of a repeated step that are under way at once, unless the file states another.
const AT_ONCE: usize = 8;

/// Maximum number of requests of a repeated step that are under way at once.
pub(super) const MOST_AT_ONCE: usize = 16;

/// Requests and programs that answer each question.
#[derive(Debug)]
pub struct Plan {
    /// All programs, by [`ProgramId`].
    pub(super) listed: Vec<Listed>,
    pub(super) product: Option<ProgramId>,
    /// Programs that choose how a source is asked, by the name of the source.
    pub(super) choices: BTreeMap<String, ProgramId>,
    pub(super) questions: BTreeMap<&'static str, Way>,
    /// Way to translate an event of the shop.
    pub(super) event: Option<Way>,
}

/// Way to answer a question: requests, and the program that makes the answer.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) steps: Vec<Made>,
    pub(super) answer: Option<ProgramId>,
    pub(super) paging: Option<Paging>,
    pub(super) batch: Option<usize>,
}

/// A request as programs make it, or a value.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) name: String,
    /// Program that makes the value in place of a request.
    pub(super) value: Option<ProgramId>,
    /// Name of the source of the request; empty if there is none.
    pub(super) source: String,
    pub(super) call_kind: CallKind,
    pub(super) method: Method,
    pub(super) when: Option<ProgramId>,
    pub(super) each: Option<ProgramId>,
    pub(super) path: Option<ProgramId>,
    pub(super) query: Vec<(String, ProgramId)>,
    pub(super) headers: Vec<(HeaderName, ProgramId)>,
    pub(super) body: Option<ProgramId>,
    pub(super) graphql: Option<String>,
    pub(super) answer: Option<ProgramId>,
    /// `true` if the input of `answer` is `{element, document}`.
    pub(super) sees_element: bool,
    pub(super) gone: Option<ProgramId>,
    pub(super) end: Option<ProgramId>,
    pub(super) accept: Vec<u16>,
    pub(super) accept_errors: Vec<String>,
    pub(super) optional: bool,
    /// `true` if the request places the order: those before it do not.
    pub(super) places: bool,
    /// Number of requests under way at once, if the step is repeated.
    pub(super) at_once: usize,
    /// Time for which answers are kept.
    pub(super) keep: Option<Freshness>,
}

impl Made {
    /// Returns `true` if a status from 400 on is an answer.
    pub(super) fn accepts(&self, status: StatusCode) -> bool {
        self.accept.contains(&status.as_u16())
    }
}

struct Planner<'a> {
    mapping: &'a Mapping,
    file: &'a str,
    /// Definitions that precede every program.
    definitions: String,
    listed: Vec<Listed>,
    /// Names of shared requests and fragments that are used.
    used: BTreeSet<String>,
    faults: Vec<String>,
    /// Tables and keys that the file lacks.
    missing: Vec<String>,
}

/// Reads a mapping and checks everything that can be checked without the shop: members, programs with line and column,
/// names of steps and sources, and that what the file promises can be kept. Fails with [`Faulty`], with all faults that
/// were found.
pub fn read(file: &str) -> Result<(Mapping, Plan), Faulty> {
    let (mapping, plan, missing) = draft(file)?;
    if missing.is_empty() { Ok((mapping, plan)) } else { Err(Faulty(missing)) }
}

/// Reads a mapping that is being written, as [`read`] does, with what it has to state before it can be used. Fails with
/// [`Faulty`].
pub fn draft(file: &str) -> Result<(Mapping, Plan, Vec<String>), Faulty> {
    let mapping = Mapping::parse(file)?;
    let mut planner = Planner {
        mapping: &mapping,
        file,
        definitions: String::new(),
        listed: Vec::new(),
        used: BTreeSet::new(),
        faults: Vec::new(),
        missing: Vec::new(),
    };
    let known: Vec<String> = KNOWN.map(str::to_owned).into();
    planner.define(&known);
    let product = planner.program("product", mapping.product.as_ref(), &known);
    let mut choices = BTreeMap::new();
    for (name, source) in &mapping.source {
        let program = planner.program(&format!("source.{name}.choose"), source.choose.as_ref(), &known);
        choices.extend(program.map(|program| (name.clone(), program)));
    }
    let mut questions = BTreeMap::new();
    for question in Question::ALL {
        if let Some(asked) = mapping.asked(question) {
            let way = planner.way(question, &label(question), asked);
            questions.insert(question.path(), way);
        }
    }
    // A translation asks only.
    let event = mapping.order_event.as_ref();
    let event = event.map(|event| planner.way(Question::OrderStatus, "order_event.translate", &event.translate));
    planner.promises();
    let Planner { listed, mut faults, missing, .. } = planner;
    // The answers to `open` are those to `resolve` unless the file says otherwise.
    faults.dedup();
    if !faults.is_empty() {
        faults.extend(missing);
        return Err(Faulty(faults));
    }
    Ok((mapping, Plan { listed, product, choices, questions, event }, missing))
}

impl Planner<'_> {
    fn fault(&mut self, label: &str, reason: impl std::fmt::Display) {
        self.faults.push(format!("{label}: {reason}"));
    }

    /// Checks what the file promises beyond single questions.
    fn promises(&mut self) {
        let mapping = self.mapping;
        if mapping.source.is_empty() {
            self.fault("source", "must have at least one source");
        }
        for (name, source) in &mapping.source {
            for header in source.session_headers.iter().filter(|header| header.parse::<HeaderName>().is_err()) {
                self.fault(
                    &format!("source.{name}.session_headers"),
                    format_args!("`{header}` must be the name of an HTTP header"),
                );
            }
            let headers = source.choice.values().flat_map(|choice| &choice.headers).chain(&source.headers);
            for (header, value) in headers {
                if header.parse::<HeaderName>().is_err() || http::HeaderValue::from_str(value).is_err() {
                    self.fault(
                        &format!("source.{name}.headers"),
                        format_args!("`{header}` must be a valid HTTP header"),
                    );
                }
            }
            if name.contains('.') {
                self.fault(&format!("source.{name}"), "must have a name without dots");
            }
            if source.choose.is_none() != source.choice.is_empty() {
                self.fault(&format!("source.{name}"), "must have both `choose` and `choice`, or neither");
            }
        }
        for (name, request) in &mapping.request {
            let label = format!("request.{name}");
            if !request.name.is_empty() || request.request.is_some() {
                self.fault(&label, "must have neither `name` nor `request`");
            }
            if !self.used.contains(&label) {
                self.fault(&label, "must be the `request` of a step");
            }
        }
        for name in mapping.fragments.keys() {
            let label = format!("fragments.{name}");
            if !self.used.contains(&label) {
                self.fault(&label, "must be spread by a `graphql` document");
            }
        }
        let places = mapping.cart.as_ref().is_some_and(|cart| cart.completion == Completion::Place);
        for (label, asked) in [("place", &mapping.place), ("order", &mapping.order), ("cancel", &mapping.cancel)] {
            match asked {
                None if places => {
                    self.missing.push(format!("{label}: must be stated where `cart.completion` is `place`"));
                }
                Some(_) if !places && label != "order" => {
                    self.fault(label, "must not be stated unless `cart.completion` is `place`");
                }
                _ => {}
            }
        }
        let about_orders = [
            ("order", mapping.order.is_some()),
            ("order_status", mapping.order_status.is_some()),
            ("order_event", mapping.order_event.is_some()),
        ];
        for (label, _) in about_orders.into_iter().filter(|(_, stated)| *stated && mapping.cart.is_none()) {
            self.fault(label, "must not be stated without `cart`");
        }
        let header = mapping.order_event.as_ref().map(|event| &event.signature.header);
        if header.is_some_and(|header| header.parse::<HeaderName>().is_err()) {
            self.fault("order_event.signature", "`header` must be the name of an HTTP header");
        }
        if !mapping.payment_handlers.is_empty() && !places {
            self.fault("payment_handlers", "must not be stated unless `cart.completion` is `place`");
        }
    }

    /// Checks the definitions, which then precede every program. Those that cannot be used are left out, so that they
    /// are reported once.
    fn define(&mut self, variables: &[String]) {
        let Some(code) = &self.mapping.definitions else { return };
        // Something has to be there to define for.
        let definitions = format!("{}\n", code.text);
        match program::check(&format!("{definitions}."), variables) {
            Ok(()) => self.definitions = definitions,
            Err(fault) => {
                let (line, column) = position(self.file, code, fault.offset.min(code.text.len()));
                self.faults.push(format!("line {line}, column {column}: definitions: {}", fault.reason));
            }
        }
    }

    /// Checks a program, and gives it a number.
    fn program(&mut self, label: &str, code: Option<&Code>, variables: &[String]) -> Option<ProgramId> {
        let code = code?;
        self.text(label, code, "", &code.text, variables)
    }

    /// Checks the text of a program, which begins with `beginning`, and gives it a number.
    fn text(
        &mut self,
        label: &str,
        code: &Code,
        beginning: &str,
        text: &str,
        variables: &[String],
    ) -> Option<ProgramId> {
        let before = self.definitions.len() + beginning.len();
        let is_exact = text == code.text;
        let text = format!("{}{beginning}{text}", self.definitions);
        if let Err(fault) = program::check(&text, variables) {
            let offset = fault.offset.saturating_sub(before);
            let (line, column) = position(self.file, code, if is_exact { offset } else { 0 });
            self.faults.push(format!("line {line}, column {column}: {label}: {}", fault.reason));
            return None;
        }
        self.listed.push(Listed { label: label.to_owned(), code: text, variables: variables.to_vec() });
        Some(ProgramId(self.listed.len() - 1))
    }

    fn way(&mut self, question: Question, label: &str, asked: &Asked) -> Way {
        let mut known: Vec<String> = KNOWN.map(str::to_owned).into();
        if asked.step.is_empty() && asked.answer.is_none() {
            self.fault(label, "must have a step or an answer");
        }
        if asked.step.len() > MAX_STEPS {
            self.fault(label, format_args!("must have at most {MAX_STEPS} steps"));
        }
        if asked.paging.is_some() && question != Question::Find {
            self.fault(label, "must not state `paging`: only `find` has pages");
        }
        if asked.batch == Some(0) || asked.batch.is_some() && !matches!(question, Question::Resolve | Question::Open) {
            self.fault(label, "`batch` must be a number of identifiers from 1, of `resolve` or `open`");
        }
        self.statuses(label, &asked.accept);
        if asked.step.iter().filter(|step| step.places).count() > 1 {
            self.fault(label, "must have at most one step with `places`");
        }
        let mut steps = Vec::new();
        for step in &asked.step {
            let step = self.whole(label, step);
            let mut made = self.step(question, label, &step, &known);
            if let Some(made) = made.as_mut().filter(|made| made.value.is_none()) {
                made.accept.extend(&asked.accept);
            }
            steps.extend(made);
            known.push(format!("${}", step.name));
        }
        let answer = self.program(&format!("{label}.answer"), asked.answer.as_ref(), &known);
        Way { steps, answer, paging: asked.paging, batch: asked.batch }
    }

    fn statuses(&mut self, label: &str, accept: &[u16]) {
        if accept.iter().any(|status| !(400..600).contains(status) || BUSY.contains(status)) {
            let [busy @ .., last] = BUSY.map(|status| status.to_string());
            let busy = busy.join(", ");
            self.fault(
                label,
                format_args!("`accept` must be of statuses from 400 to 599 other than {busy} and {last}"),
            );
        }
    }

    /// Returns a step with what its shared request states.
    fn whole<'s>(&mut self, of: &str, step: &'s Step) -> Cow<'s, Step> {
        let Some(name) = &step.request else { return Cow::Borrowed(step) };
        let Some(shared) = self.mapping.request.get(name) else {
            self.fault(&format!("{of}.{}", step.name), "`request` must name a request of the file");
            return Cow::Borrowed(step);
        };
        self.used.insert(format!("request.{name}"));
        Cow::Owned(step.with(shared))
    }

    /// Returns a GraphQL document with the fragments that it spreads.
    fn document(&mut self, label: &str, document: &str) -> String {
        let mapping = self.mapping;
        let (mut whole, mut wanted) = (document.to_owned(), spreads(document));
        let mut there = BTreeSet::new();
        while let Some(name) = wanted.pop() {
            if is_defined(document, &name) || !there.insert(name.clone()) {
                continue;
            }
            let Some(fragment) = mapping.fragments.get(&name) else {
                self.fault(label, format_args!("`...{name}` must be a fragment of the document or of `fragments`"));
                continue;
            };
            self.used.insert(format!("fragments.{name}"));
            whole.push_str(&format!("\nfragment {name} {}", fragment.trim()));
            wanted.extend(spreads(fragment));
        }
        whole
    }

    /// Makes a step without a request.
    fn computed(&mut self, label: &str, step: &Step, value: &Code, known: &[String]) -> Option<Made> {
        let allowed = Step {
            name: step.name.clone(),
            value: step.value.clone(),
            when: step.when.clone(),
            each: step.each.clone(),
            gone: step.gone.clone(),
            end: step.end.clone(),
            ..Step::default()
        };
        if format!("{allowed:?}") != format!("{step:?}") {
            self.fault(
                label,
                "must have nothing but `when`, `each`, `gone` and `end` beside `value`: no request is made",
            );
        }
        let mut program = |member: &str, code: Option<&Code>| self.program(&format!("{label}.{member}"), code, known);
        let (when, each) = (program("when", step.when.as_ref()), program("each", step.each.as_ref()));
        let (gone, end) = (program("gone", step.gone.as_ref()), program("end", step.end.as_ref()));
        Some(Made {
            name: step.name.clone(),
            value: Some(program("value", Some(value))?),
            source: String::new(),
            call_kind: CallKind::Read,
            method: Method::GET,
            when,
            each,
            path: None,
            query: Vec::new(),
            headers: Vec::new(),
            body: None,
            graphql: None,
            answer: None,
            sees_element: false,
            gone,
            end,
            accept: Vec::new(),
            accept_errors: Vec::new(),
            places: false,
            optional: true,
            at_once: 1,
            keep: None,
        })
    }

    fn step(&mut self, question: Question, of: &str, step: &Step, known: &[String]) -> Option<Made> {
        let label = format!("{of}.{}", step.name);
        let identifier = step.name.starts_with(|first: char| first.is_ascii_lowercase())
            && step.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        let variable = format!("${}", step.name);
        let is_taken = known.iter().skip(KNOWN.len()).any(|name| *name == variable)
            || variable != NOW && KNOWN.contains(&variable.as_str());
        if !identifier || is_taken {
            self.fault(&label, "`name` must be of lower-case letters, digits and `_`, and used once");
        }
        if let Some(value) = &step.value {
            return self.computed(&label, step, value, known);
        }
        let only = || (self.mapping.source.len() == 1).then(|| self.mapping.source.keys().next()).flatten();
        let source = step.source.as_ref().or_else(only).filter(|name| self.mapping.source.contains_key(*name)).cloned();
        if source.is_none() {
            self.fault(&label, "`source` must name a source of the file");
        }
        if step.graphql.is_some() && step.body.is_some() || step.graphql.is_none() && step.variables.is_some() {
            self.fault(&label, "must have `body`, or `graphql` with `variables`");
        }
        let sends = step.body.is_some() || step.graphql.is_some();
        let method = match step.method.as_deref() {
            None if sends => Method::POST,
            None => Method::GET,
            Some(method @ ("GET" | "POST" | "PUT" | "PATCH" | "DELETE")) => method.parse().unwrap_or(Method::GET),
            Some(_) => {
                self.fault(&label, "`method` must be GET, POST, PUT, PATCH or DELETE");
                Method::GET
            }
        };
        if method == Method::GET && sends {
            self.fault(&label, "must not send a body with GET");
        }
        let is_query = step.graphql.as_deref().is_some_and(|document| {
            let document = document.trim_start();
            document.starts_with("query") || document.starts_with('{')
        });
        let call_kind = match question.call_kind() {
            CallKind::Read => CallKind::Read,
            _ if step.reads.unwrap_or(method == Method::GET || is_query) => CallKind::Read,
            other => other,
        };
        if step
            .at_once
            .is_some_and(|at_once| !(1..=MOST_AT_ONCE).contains(&usize::from(at_once)) || step.each.is_none())
        {
            self.fault(&label, format_args!("`at_once` must be from 1 to {MOST_AT_ONCE}, of a step with `each`"));
        }
        self.statuses(&label, &step.accept);
        if step.keep.is_some_and(|keep| call_kind != CallKind::Read || !(1..=MAX_KEEP).contains(&keep)) {
            self.fault(
                &label,
                format_args!("`keep` must be from 1 to {MAX_KEEP} seconds, of a request that only reads"),
            );
        }
        let graphql = step.graphql.as_deref().map(|document| self.document(&label, document));
        if step.graphql.is_none() && !step.accept_errors.is_empty() {
            self.fault(&label, "must not have `accept_errors` without `graphql`");
        }
        if step.places && question != Question::Place {
            self.fault(&label, "must not state `places`: only a step of `place` places an order");
        }
        let mut program = |member: &str, code: Option<&Code>| self.program(&format!("{label}.{member}"), code, known);
        let (when, each) = (program("when", step.when.as_ref()), program("each", step.each.as_ref()));
        let body = program("body", step.body.as_ref()).or_else(|| program("variables", step.variables.as_ref()));
        let (gone, end) = (program("gone", step.gone.as_ref()), program("end", step.end.as_ref()));
        let is_unnamed = known.iter().all(|name| name != ELEMENT);
        let sees_element =
            step.each.is_some() && is_unnamed && step.answer.as_ref().is_some_and(|code| code.text.contains(ELEMENT));
        let query = step.query.iter();
        let query =
            query.filter_map(|(name, code)| Some((name.clone(), program(&format!("query.{name}"), Some(code))?)));
        let query = query.collect();
        let mut headers = Vec::new();
        for (name, code) in &step.headers {
            match name.parse::<HeaderName>() {
                Ok(header) => {
                    let program = self.program(&format!("{label}.headers.{name}"), Some(code), known);
                    headers.extend(program.map(|program| (header, program)));
                }
                Err(_) => self.fault(&label, format_args!("`headers.{name}` must be the name of an HTTP header")),
            }
        }
        let beginning = if sees_element { OF_ELEMENT } else { "" };
        let answer = step.answer.as_ref();
        let answer = answer.and_then(|code| self.text(&format!("{label}.answer"), code, beginning, &code.text, known));
        let path = match step.path.as_ref().map(|code| (code, template(&code.text))) {
            None => None,
            Some((code, Some(text))) => self.text(&format!("{label}.path"), code, "", &text, known),
            Some((_, None)) => {
                self.fault(&label, "`path` must be below the source's address, with jq expressions in balanced braces");
                None
            }
        };
        Some(Made {
            name: step.name.clone(),
            value: None,
            source: source?,
            call_kind,
            method,
            when,
            each,
            path,
            query,
            headers,
            body,
            graphql,
            answer,
            sees_element,
            gone,
            end,
            accept: step.accept.clone(),
            accept_errors: step.accept_errors.clone(),
            at_once: step.at_once.map_or(if call_kind == CallKind::Read { AT_ONCE } else { 1 }, usize::from),
            places: step.places,
            optional: step.optional || matches!(question, Question::Resolve | Question::Open),
            keep: step.keep.map(|seconds| Freshness::seconds(seconds.into(), 0, 0, 0)),
        })
    }
}

/// Returns the text of a GraphQL document without comments and strings.
fn bare(document: &str) -> String {
    let (mut bare, mut rest) = (String::with_capacity(document.len()), document);
    while let Some(from) = rest.find(['"', '#']) {
        bare.push_str(&rest[..from]);
        let (begun, ends) = match &rest[from..] {
            comment if comment.starts_with('#') => (1, comment.find('\n')),
            block if block.starts_with("\"\"\"") => (3, block[3..].find("\"\"\"").map(|at| at + 6)),
            text => {
                let mut is_escaped = false;
                let end = text[1..].find(|letter| {
                    let ends = letter == '"' && !is_escaped;
                    is_escaped = letter == '\\' && !is_escaped;
                    ends
                });
                (1, end.map(|at| at + 2))
            }
        };
        rest = ends.map_or("", |to| &rest[from + to.max(begun)..]);
    }
    bare + rest
}

/// Returns the names of the fragments that a GraphQL document spreads.
fn spreads(document: &str) -> Vec<String> {
    let bare = bare(document);
    let names = bare.split("...").skip(1).map(|rest| {
        let rest = rest.trim_start();
        &rest[..rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len())]
    });
    names.filter(|name| !name.is_empty() && *name != "on").map(str::to_owned).collect()
}

/// Returns `true` if a GraphQL document defines a fragment of this name.
fn is_defined(document: &str, name: &str) -> bool {
    let bare = bare(document);
    let words: Vec<&str> = bare.split_whitespace().collect();
    words.windows(2).any(|pair| pair[0].ends_with("fragment") && pair[1] == name)
}

/// Returns the name of the part of the file that says how a question is answered.
fn label(question: Question) -> String {
    match question {
        Question::OrderStatus => "order_status".to_owned(),
        other => other.path().replace('/', "."),
    }
}

/// Returns the program that makes a path from a template: `products/{.id}/` becomes `@uri "products/\(.id)/"`.
fn template(text: &str) -> Option<String> {
    if text.starts_with('/') || text.contains(['?', '#']) && !text.contains('{') {
        return None;
    }
    let (mut program, mut depth) = (String::from("@uri \""), 0_usize);
    for letter in text.chars() {
        match letter {
            '{' => {
                program.push_str(if depth == 0 { "\\(" } else { "{" });
                depth += 1;
            }
            '}' => {
                depth = depth.checked_sub(1)?;
                program.push(if depth == 0 { ')' } else { '}' });
            }
            '"' | '\\' if depth == 0 => {
                program.push('\\');
                program.push(letter);
            }
            _ => program.push(letter),
        }
    }
    program.push('"');
    (depth == 0).then_some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fragments_that_a_document_spreads_are_found() {
        for (document, names) in [
            ("query { a { ...A ... on B { c } ...  C } }", &["A", "C"][..]),
            ("{ a(b: \"...D\") # ...E\n { ...F_1 } }", &["F_1"]),
            ("{ a(b: \"\"\"...G \" ...H\"\"\", c: \"\\\" ...I\") }", &[]),
            ("{ a(b: \"...J", &[]),
        ] {
            assert_eq!(spreads(document), names, "{document}");
        }
        assert!(is_defined("query { ...A } fragment\n A on B { c }", "A"));
        assert!(!is_defined("query { ...A } # fragment A on B", "A"));
    }

    #[test]
    fn a_template_is_a_program() {
        assert_eq!(template("products/{.id}/x").as_deref(), Some(r#"@uri "products/\(.id)/x""#));
        assert_eq!(template("a/{ {b: 1} | .b }").as_deref(), Some(r#"@uri "a/\( {b: 1} | .b )""#));
        assert_eq!(template("a\"\\b").as_deref(), Some(r#"@uri "a\"\\b""#));
        for wrong in ["/a", "a{", "a}", "a}{", "a?b"] {
            assert_eq!(template(wrong), None, "{wrong}");
        }
    }
}
