//! Answers of operations: asked, and looked at by the rules that hold for each of them.

use std::{collections::BTreeMap, time::Duration};

use http::header;
use jsonschema::Validator;
use serde_json::Value;
use ucp_core::Operation;
use ucp_wire::{dialect, documents::schemas, relay};

use super::{report::Examination, rule::Rule};
use crate::shop::{Answer, Call, CalledShop, Transport};

/// Time within which a read should be answered.
const READ: Duration = Duration::from_secs(3);

/// Validators of answers in the shop's release, by operation, and by whether they are failures.
#[derive(Default)]
pub(super) struct Answers {
    validators: BTreeMap<(&'static str, bool), Option<Validator>>,
    calls: usize,
    slowest: Duration,
}

impl Answers {
    /// Calls an operation and looks at the answer; `None` if there is none.
    pub(super) async fn ask(
        &mut self,
        shop: &CalledShop,
        transport: Transport,
        call: &Call<'_>,
        examination: &mut Examination,
    ) -> Option<Answer> {
        let row = call.operation.row();
        let at = format!("{} over {}", row.name, transport.as_str());
        let answer = match shop.call(transport, call).await {
            Ok(answer) => answer,
            Err(error) => {
                let rule = match transport {
                    Transport::Rest => Rule::RestAnswers,
                    Transport::Mcp => Rule::McpAnswers,
                };
                examination.check(rule, false, &at, || error.to_string());
                return None;
            }
        };
        self.calls += 1;
        self.slowest = self.slowest.max(answer.exchange.took);
        if !row.effect.writes() {
            let took = answer.exchange.took;
            examination.check(Rule::AnswersTime, took <= READ, &at, || format!("{} ms", took.as_millis()));
        }
        let caching = answer.exchange.header(&header::CACHE_CONTROL).unwrap_or_default().to_ascii_lowercase();
        examination.check(Rule::AnswersCaching, !caching.contains("public"), &at, || caching.clone());
        if let Some(raw) = answer.raw.as_ref().filter(|_| answer.exchange.status.is_success()) {
            let whole = Value::Object(raw.clone());
            let stated = &whole["ucp"]["version"];
            examination
                .check(Rule::AnswersRelease, *stated == *shop.release.date(), &at, || format!("ucp.version: {stated}"));
            let failed = relay::is_failure(raw);
            if let Some(validator) = self.validator(shop, call.operation, failed) {
                let problem = validator.iter_errors(&whole).next().map(|error| {
                    let place = error.instance_path().to_string();
                    format!("{}: {error}", if place.is_empty() { "the root" } else { &place })
                });
                examination.check(Rule::AnswersSchema, problem.is_none(), &at, || problem.clone().unwrap_or_default());
            }
        }
        Some(answer)
    }

    /// Returns the validator of answers with a resource, or of those without one. Against both at once, an error would
    /// not say which member is wrong.
    fn validator(&mut self, shop: &CalledShop, operation: Operation, failed: bool) -> Option<&Validator> {
        let name = operation.row().name;
        let compile = || {
            let mut schema = schemas(dialect(shop.release), &[operation]).remove(&format!("{name}.response"))?;
            let kinds = schema.as_object_mut()?.shift_remove("oneOf")?;
            schema["allOf"] = Value::Array(vec![kinds.get(usize::from(failed))?.clone()]);
            jsonschema::validator_for(&schema).ok()
        };
        self.validators.entry((name, failed)).or_insert_with(compile).as_ref()
    }

    pub(super) fn finish(self, examination: &mut Examination) {
        examination.figure("calls that were looked at", self.calls);
        examination.figure(
            "milliseconds of the slowest call",
            usize::try_from(self.slowest.as_millis()).unwrap_or(usize::MAX),
        );
        let rules = [Rule::AnswersSchema, Rule::AnswersRelease, Rule::AnswersTime, Rule::AnswersCaching];
        examination.skip(&rules, "no operation could be called");
    }
}
