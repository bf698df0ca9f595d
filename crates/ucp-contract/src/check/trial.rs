//! A rule that is being tried: questions, answers and findings.

use std::fmt::Display;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use ucp_core::catalog::{market::Market, record::Record};
use ucp_import::jsonl::typed;

use crate::{
    documents::Backend,
    transport::{Question, Reply, Transport},
};

/// Maximum length of an answer in a finding, in characters.
const LONGEST_SEEN: usize = 600;

/// An identifier that no shop has.
pub(super) const NOTHING: &str = "ucp-gateway-check-nothing";

/// A rule that a shop does not keep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Name of the rule.
    pub rule: &'static str,
    /// Path of the question.
    pub question: &'static str,
    /// Document of the question.
    pub asked: Value,
    /// Answer of the shop, shortened.
    pub seen: String,
    /// Description of the violation.
    pub problem: String,
    /// Suggested fix.
    pub cure: &'static str,
}

/// A rule that is being tried.
pub(super) struct Trial<'a> {
    transport: &'a dyn Transport,
    rule: &'static str,
    cure: &'static str,
    question: Question,
    asked: Value,
    seen: String,
}

pub(super) type Judged<T> = Result<T, Box<Finding>>;

impl<'a> Trial<'a> {
    pub(super) fn of(transport: &'a dyn Transport, rule: &'static str, cure: &'static str) -> Self {
        Self { transport, rule, cure, question: Question::Backend, asked: Value::Null, seen: String::new() }
    }

    pub(super) fn finding(&self, problem: impl Display) -> Box<Finding> {
        Box::new(Finding {
            rule: self.rule,
            question: self.question.path(),
            asked: self.asked.clone(),
            seen: self.seen.chars().take(LONGEST_SEEN).collect(),
            problem: problem.to_string(),
            cure: self.cure,
        })
    }

    pub(super) fn must(&self, holds: bool, problem: impl Display) -> Judged<()> {
        if holds { Ok(()) } else { Err(self.finding(problem)) }
    }

    /// Asks a question, and reads the answer; `None` if what was asked about does not exist, or an order is refused.
    pub(super) async fn ask<T: DeserializeOwned>(&mut self, question: Question, asked: Value) -> Judged<Option<T>> {
        (self.question, self.asked, self.seen) = (question, asked, String::new());
        let body = self.asked.to_string().into();
        match self.transport.ask(question, body).await {
            Err(failure) => Err(self.finding(format_args!("the shop gives no answer: {failure}"))),
            Ok(Reply::Gone) => {
                self.seen = "status 404".to_owned();
                Ok(None)
            }
            Ok(Reply::Refused(reason)) if question == Question::Place => {
                self.seen = reason;
                Ok(None)
            }
            Ok(Reply::Refused(reason) | Reply::Unsent(reason) | Reply::Halted(reason)) => {
                self.seen.clone_from(&reason);
                Err(self.finding("the question is refused"))
            }
            Ok(Reply::Answer(body)) => {
                self.seen = String::from_utf8_lossy(&body).into_owned();
                let value = serde_json::from_slice::<Value>(&body).map_err(|error| self.finding(error))?;
                typed(value).map(Some).map_err(|(path, reason)| self.finding(format_args!("{path}: {reason}")))
            }
        }
    }

    /// The same, for something that exists.
    pub(super) async fn ask_existing<T: DeserializeOwned>(&mut self, question: Question, asked: Value) -> Judged<T> {
        let answer = self.ask(question, asked).await?;
        answer.ok_or_else(|| self.finding("status 404 says that what was asked about does not exist"))
    }

    /// Reads products, all of which have to be usable.
    pub(super) fn products(&self, values: Vec<Value>, market: &Market) -> Judged<Vec<Record>> {
        let read = |(position, value): (usize, Value)| {
            let record = typed::<Record>(value);
            let record = record.and_then(|record| record.check(market).map_err(|fault| (fault.path, fault.reason)));
            record.map_err(|(path, reason)| {
                self.finding(format_args!("$.products[{position}]{}: {reason}", path.trim_start_matches('$')))
            })
        };
        values.into_iter().enumerate().map(read).collect()
    }
}

/// Facts about a shop that the rules use.
pub(super) struct CheckedShop<'a> {
    pub(super) transport: &'a dyn Transport,
    pub(super) backend: Backend,
    pub(super) market: Market,
    pub(super) context: Value,
    pub(super) products: Vec<Record>,
}

impl<'a> CheckedShop<'a> {
    pub(super) fn trial(&self, rule: &'static str, cure: &'static str) -> Trial<'a> {
        Trial::of(self.transport, rule, cure)
    }

    /// Returns a variant that can be bought, by position among those of different products.
    fn variant(&self, nth: usize) -> Option<&str> {
        let sold = self.products.iter().filter_map(|product| {
            product.variants.iter().find(|variant| variant.availability.available).map(|variant| variant.id.as_str())
        });
        sold.take(nth + 1).last()
    }

    pub(super) fn cart(&self, cart: Option<&str>, lines: &[(&str, u64)]) -> Value {
        let lines: Vec<_> =
            lines.iter().map(|(variant, quantity)| json!({ "variant": variant, "quantity": quantity })).collect();
        let mut document = json!({ "purpose": "cart", "lines": lines, "codes": [], "context": self.context });
        if let Some(cart) = cart {
            document["cart"] = json!(cart);
        }
        document
    }

    pub(super) fn bought(&self, trial: &Trial<'_>) -> Judged<[&str; 2]> {
        let first = self.variant(0).ok_or_else(|| trial.finding("no variant can be bought"))?;
        Ok([first, self.variant(1).unwrap_or(first)])
    }
}
