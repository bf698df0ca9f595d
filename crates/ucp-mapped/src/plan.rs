//! The programs of a mapping, checked and numbered, and for each question the requests that they make.

use std::collections::BTreeMap;

use http::{HeaderName, Method};
use ucp_contract::{Question, documents::Completion};
use ucp_net::CallKind;

use super::{
    file::{Asked, Code, Faulty, Mapping, Paging, Step, position},
    pool::{Listed, ProgramId},
    program,
};

/// Variables that every program of a question knows.
const KNOWN: [&str; 3] = ["$question", "$market", "$paging"];

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
    pub(super) questions: BTreeMap<&'static str, Way>,
}

/// Way to answer a question: requests, and the program that makes the answer.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) steps: Vec<Made>,
    pub(super) answer: Option<ProgramId>,
    pub(super) paging: Option<Paging>,
    pub(super) batch: Option<usize>,
}

/// A request, as programs make it.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) name: String,
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
    pub(super) gone: Option<ProgramId>,
    pub(super) end: Option<ProgramId>,
    pub(super) accept: Vec<u16>,
    pub(super) accept_errors: Vec<String>,
    pub(super) optional: bool,
    /// Number of requests under way at once, if the step is repeated.
    pub(super) at_once: usize,
}

struct Planner<'a> {
    mapping: &'a Mapping,
    file: &'a str,
    /// Definitions that precede every program.
    definitions: String,
    listed: Vec<Listed>,
    faults: Vec<String>,
}

/// Reads a mapping and checks everything that can be checked without the shop: members, programs with line and column,
/// names of steps and sources, and that what the file promises can be kept. Fails with [`Faulty`], with all faults that
/// were found.
pub fn read(file: &str) -> Result<(Mapping, Plan), Faulty> {
    let mapping = Mapping::parse(file)?;
    let mut planner =
        Planner { mapping: &mapping, file, definitions: String::new(), listed: Vec::new(), faults: Vec::new() };
    let known: Vec<String> = KNOWN.map(str::to_owned).into();
    planner.define(&known);
    let product = planner.program("product", mapping.product.as_ref(), &known);
    let mut questions = BTreeMap::new();
    for question in Question::ALL {
        if let Some(asked) = mapping.asked(question) {
            let way = planner.way(question, asked);
            questions.insert(question.path(), way);
        }
    }
    planner.promises();
    let Planner { listed, mut faults, .. } = planner;
    // The answers to `open` are those to `resolve` unless the file says otherwise.
    faults.dedup();
    if faults.is_empty() { Ok((mapping, Plan { listed, product, questions })) } else { Err(Faulty(faults)) }
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
            for (header, value) in &source.headers {
                if header.parse::<HeaderName>().is_err() || http::HeaderValue::from_str(value).is_err() {
                    self.fault(
                        &format!("source.{name}.headers"),
                        format_args!("`{header}` must be a valid HTTP header"),
                    );
                }
            }
        }
        let places = mapping.cart.as_ref().is_some_and(|cart| cart.completion == Completion::Place);
        for (label, asked) in [("place", &mapping.place), ("order", &mapping.order), ("cancel", &mapping.cancel)] {
            match asked {
                None if places => self.fault(label, "must be stated where `cart.completion` is `place`"),
                Some(_) if !places => self.fault(label, "must not be stated unless `cart.completion` is `place`"),
                _ => {}
            }
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
        self.text(label, code, &code.text, variables, true)
    }

    fn text(&mut self, label: &str, code: &Code, text: &str, variables: &[String], exact: bool) -> Option<ProgramId> {
        let text = format!("{}{text}", self.definitions);
        if let Err(fault) = program::check(&text, variables) {
            let offset = fault.offset.saturating_sub(self.definitions.len());
            let (line, column) = position(self.file, code, if exact { offset } else { 0 });
            self.faults.push(format!("line {line}, column {column}: {label}: {}", fault.reason));
            return None;
        }
        self.listed.push(Listed { label: label.to_owned(), code: text, variables: variables.to_vec() });
        Some(ProgramId(self.listed.len() - 1))
    }

    fn way(&mut self, question: Question, asked: &Asked) -> Way {
        let label = question.path().replace('/', ".");
        let mut known: Vec<String> = KNOWN.map(str::to_owned).into();
        if asked.step.is_empty() && asked.answer.is_none() {
            self.fault(&label, "must have a step or an answer");
        }
        if asked.step.len() > MAX_STEPS {
            self.fault(&label, format_args!("must have at most {MAX_STEPS} steps"));
        }
        if asked.paging.is_some() && question != Question::Find {
            self.fault(&label, "must not state `paging`: only `find` has pages");
        }
        if asked.batch == Some(0) || asked.batch.is_some() && !matches!(question, Question::Resolve | Question::Open) {
            self.fault(&label, "`batch` must be a number of identifiers from 1, of `resolve` or `open`");
        }
        let mut steps = Vec::new();
        for step in &asked.step {
            steps.extend(self.step(question, &label, step, &known));
            known.push(format!("${}", step.name));
        }
        let answer = self.program(&format!("{label}.answer"), asked.answer.as_ref(), &known);
        Way { steps, answer, paging: asked.paging, batch: asked.batch }
    }

    fn step(&mut self, question: Question, of: &str, step: &Step, known: &[String]) -> Option<Made> {
        let label = format!("{of}.{}", step.name);
        let identifier = step.name.starts_with(|first: char| first.is_ascii_lowercase())
            && step.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        if !identifier || known.contains(&format!("${}", step.name)) {
            self.fault(&label, "`name` must be of lower-case letters, digits and `_`, and used once");
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
        if step.accept.iter().any(|status| !(400..500).contains(status)) {
            self.fault(&label, "`accept` must be of statuses from 400 to 499");
        }
        if step.graphql.is_none() && !step.accept_errors.is_empty() {
            self.fault(&label, "must not have `accept_errors` without `graphql`");
        }
        let mut program = |member: &str, code: Option<&Code>| self.program(&format!("{label}.{member}"), code, known);
        let (when, each) = (program("when", step.when.as_ref()), program("each", step.each.as_ref()));
        let body = program("body", step.body.as_ref()).or_else(|| program("variables", step.variables.as_ref()));
        let answer = program("answer", step.answer.as_ref());
        let (gone, end) = (program("gone", step.gone.as_ref()), program("end", step.end.as_ref()));
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
        let path = match step.path.as_ref().map(|code| (code, template(&code.text))) {
            None => None,
            Some((code, Some(text))) => self.text(&format!("{label}.path"), code, &text, known, false),
            Some((_, None)) => {
                self.fault(&label, "`path` must be below the source's address, with jq expressions in balanced braces");
                None
            }
        };
        Some(Made {
            name: step.name.clone(),
            source: source?,
            call_kind,
            method,
            when,
            each,
            path,
            query,
            headers,
            body,
            graphql: step.graphql.clone(),
            answer,
            gone,
            end,
            accept: step.accept.clone(),
            accept_errors: step.accept_errors.clone(),
            at_once: step.at_once.map_or(if call_kind == CallKind::Read { AT_ONCE } else { 1 }, usize::from),
            optional: step.optional || matches!(question, Question::Resolve | Question::Open),
        })
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
    fn a_template_is_a_program() {
        assert_eq!(template("products/{.id}/x").as_deref(), Some(r#"@uri "products/\(.id)/x""#));
        assert_eq!(template("a/{ {b: 1} | .b }").as_deref(), Some(r#"@uri "a/\( {b: 1} | .b )""#));
        assert_eq!(template("a\"\\b").as_deref(), Some(r#"@uri "a\"\\b""#));
        for wrong in ["/a", "a{", "a}", "a}{", "a?b"] {
            assert_eq!(template(wrong), None, "{wrong}");
        }
    }
}
