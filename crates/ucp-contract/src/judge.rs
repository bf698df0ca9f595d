//! Judgment of one question and its answer, as the gateway makes it, for people who try a shop.

use serde::de::DeserializeOwned;
use serde_json::Value;
use ucp_core::catalog::{market::Market, record::Record};
use ucp_import::jsonl::typed;

use crate::{
    documents::{
        Abandon, Attempt, Backend, Cart, CartQuestion, Completion, Find, Found, OrderQuestion, Outcome, PlaceOrder,
        Resolve, Resolved,
    },
    orders,
    shop::market,
    transport::Question,
};

/// Checks that a document is one that the gateway could ask this question with. Fails with the path of the first member
/// that is not, and what it must be.
pub fn question(question: Question, document: &Value) -> Result<(), String> {
    fn is<T: DeserializeOwned>(document: &Value) -> Result<(), String> {
        typed::<T>(document.clone()).map(drop).map_err(|(path, reason)| format!("{path}: {reason}"))
    }
    match question {
        Question::Backend => Ok(()),
        Question::Find => is::<Find>(document),
        Question::Resolve | Question::Open => is::<Resolve>(document),
        Question::CartSync | Question::CartFetch => is::<CartQuestion>(document),
        Question::CartAbandon => is::<Abandon>(document),
        Question::Place => is::<PlaceOrder>(document),
        Question::Order | Question::Cancel => is::<Attempt>(document),
        Question::OrderStatus => is::<OrderQuestion>(document),
    }
}

/// Judgment of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Reasons for which the gateway omits parts of the answer or rejects it, each with the path of the field.
    pub rejected: Vec<String>,
    /// Messages to buyers that follow from the answer.
    pub told: Vec<String>,
}

/// Judges an answer as the gateway does.
pub fn answer(backend: &Backend, question: Question, asked: &Value, answer: &Value) -> Judgement {
    let mut judgement = Judgement::default();
    let market = match market(backend) {
        Ok(market) => market,
        Err(problem) => {
            judgement.rejected.push(format!("market: {problem}"));
            return judgement;
        }
    };
    let problems = &mut judgement.rejected;
    let judged = match question {
        Question::Backend | Question::CartAbandon => Ok(()),
        Question::Find => read::<Found>(answer).map(|found| {
            products(&market, found.products, problems);
        }),
        Question::Resolve | Question::Open => read::<Resolved>(answer).map(|resolved| {
            products(&market, resolved.products, problems);
        }),
        Question::CartSync | Question::CartFetch => {
            read(answer).and_then(|priced| cart(backend, &market, asked, &priced, &mut judgement))
        }
        Question::Place | Question::Order | Question::Cancel => {
            read(answer).map(|outcome| attempt(question, &outcome, problems))
        }
        // `null` is the answer of a shop that does not know the order.
        Question::OrderStatus if answer.is_null() => Ok(()),
        Question::OrderStatus => orders::check(answer.to_string().as_bytes()),
    };
    judgement.rejected.extend(judged.err());
    judgement
}

fn read<T: DeserializeOwned>(answer: &Value) -> Result<T, String> {
    typed(answer.clone()).map_err(|(path, reason)| format!("{path}: {reason}"))
}

fn products(market: &Market, products: Vec<Value>, problems: &mut Vec<String>) {
    let mut ids = std::collections::HashSet::new();
    for (position, value) in products.into_iter().enumerate() {
        let record = typed::<Record>(value);
        let record = record.and_then(|record| record.check(market).map_err(|fault| (fault.path, fault.reason)));
        let at = |path: &str| format!("$.products[{position}]{}", path.trim_start_matches('$'));
        match record {
            Ok(record) if !ids.insert(record.id.clone()) => {
                problems.push(format!("{}: left out: `{}` is there twice", at(".id"), record.id));
            }
            Ok(_) => {}
            Err((path, reason)) => problems.push(format!("{}: left out: {reason}", at(&path))),
        }
    }
}

fn cart(
    backend: &Backend,
    market: &Market,
    asked: &Value,
    priced: &Cart,
    Judgement { rejected, told }: &mut Judgement,
) -> Result<(), String> {
    priced.add_up()?;
    if !market.trades_in(priced.currency) {
        rejected.push(format!("$.currency: {} must be a currency of the market", priced.currency));
    }
    let completion = backend.cart.as_ref().map(|cart| cart.completion);
    if completion == Some(Completion::HandOff) {
        let page = priced.continue_url.as_deref().and_then(ucp_import::text::address);
        if page.is_none() {
            rejected.push("$.continue_url: must be the https URL on which buyers pay".to_owned());
        }
    }
    for line in asked["lines"].as_array().into_iter().flatten() {
        let (variant, quantity) = (line["variant"].as_str().unwrap_or_default(), line["quantity"].as_u64());
        let held = priced.lines.iter().find(|held| held.variant == variant);
        let there = held.map_or(0, |held| held.quantity);
        let problem = held.and_then(|held| held.problem.as_ref());
        let reason = problem.map_or(Value::Null, |problem| serde_json::to_value(problem.kind).unwrap_or_default());
        if Some(there) != quantity {
            told.push(format!(
                "there are {there} of `{variant}` instead of {}: {}",
                quantity.unwrap_or_default(),
                reason.as_str().unwrap_or("out_of_stock, for the line has no `problem`")
            ));
        }
    }
    for code in asked["codes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let of_discounts = priced.discounts.iter().filter_map(|discount| discount.code.as_deref());
        let mut in_effect = of_discounts.chain(priced.credits.iter().filter_map(|credit| credit.code.as_deref()));
        if !in_effect.any(|own| own.eq_ignore_ascii_case(code)) {
            told.push(format!("the code `{code}` has no effect"));
        }
    }
    Ok(())
}

fn attempt(question: Question, outcome: &Outcome, problems: &mut Vec<String>) {
    match outcome {
        Outcome::Absent if question == Question::Place => {
            problems.push("$.status: must not be `absent` for `place`".to_owned());
        }
        Outcome::Placed { order, .. } if order.id.trim().is_empty() => {
            problems.push("$.order.id: must not be empty".to_owned());
        }
        Outcome::Challenged { continue_url, .. } if ucp_import::text::address(continue_url).is_none() => {
            problems.push("$.continue_url: must be an https URL".to_owned());
        }
        _ => {}
    }
}
