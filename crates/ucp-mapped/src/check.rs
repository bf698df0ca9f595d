//! Requirements for answers, whatever program made them: checked here, where the program is known.

use serde::{Deserialize, de::DeserializeOwned};
use ucp_contract::{
    Question,
    documents::{Cart, Outcome},
    orders,
};
use ucp_core::money::Price;

/// Maximum number of characters of a position in a result.
const MAX_POSITION: usize = 1024;

/// Violation to correct, with the path of the member.
#[derive(Debug)]
pub(super) struct Wrong {
    /// Text, which may quote the answer.
    pub(super) text: String,
    /// The same without anything of the answer.
    pub(super) rule: String,
}

impl From<String> for Wrong {
    /// A violation whose text quotes nothing.
    fn from(text: String) -> Self {
        Self { rule: text.clone(), text }
    }
}

/// Reads an answer as a type of the contract. Fails with the path of the first member that is of another form, and what
/// it must be.
fn typed<T: DeserializeOwned>(answer: &[u8]) -> Result<T, Wrong> {
    let mut reader = serde_json::Deserializer::from_slice(answer);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = match error.path().to_string().as_str() {
            "." => "$".to_owned(),
            path => format!("$.{path}"),
        };
        let text = error.inner().to_string();
        let form = text.rsplit_once(" at line ").map_or(&*text, |(form, _)| form);
        Wrong { rule: format!("{path}: {}", rule(form)), text: format!("{path}: {text}") }
    })
}

/// Returns what the error of a reader demands, without what it has read.
fn rule(error: &str) -> String {
    if error.starts_with("missing field ") {
        error.to_owned()
    } else if error.ends_with("is not an ISO 4217 currency code") {
        "must be an ISO 4217 currency code".to_owned()
    } else if let Some((_, expected)) = error.rsplit_once(", expected ") {
        format!("must be {expected}")
    } else if let Some(from) = error.rfind("must be an integer of minor units") {
        error[from..].to_owned()
    } else {
        "must be of the form that the backend API states".to_owned()
    }
}

/// Required fields of every product, beyond those that the catalog itself requires.
#[derive(Deserialize)]
struct Product {
    #[expect(dead_code, reason = "must be there")]
    id: String,
    variants: Vec<Variant>,
}

#[derive(Deserialize)]
struct Variant {
    #[expect(dead_code, reason = "must be there")]
    id: String,
    #[expect(dead_code, reason = "must be there, in a currency that exists")]
    price: Price,
}

/// A product that is no longer sold, in an answer about what has changed.
#[derive(Deserialize)]
struct Removed {
    #[expect(dead_code, reason = "must be there")]
    id: String,
    deleted: bool,
}

/// Checks a product, or the statement that one is no longer sold. Fails with the violation to correct, with its path.
pub(super) fn product(product: &[u8]) -> Result<(), String> {
    if typed::<Removed>(product).is_ok_and(|removed| removed.deleted) {
        return Ok(());
    }
    match typed::<Product>(product).map_err(|wrong| wrong.text)? {
        Product { variants, .. } if variants.is_empty() => Err("$.variants: must have at least one variant".to_owned()),
        _ => Ok(()),
    }
}

/// Checks a whole answer other than one with products. Fails with the violation to correct, with its path.
pub(super) fn answer(question: Question, answer: &[u8]) -> Result<(), Wrong> {
    match question {
        Question::CartSync | Question::CartFetch => Ok(typed::<Cart>(answer)?.add_up()?),
        Question::Place | Question::Order | Question::Cancel => match (question, typed(answer)?) {
            (Question::Place, Outcome::Absent) => Err("$.status: must not be `absent` for `place`".to_owned().into()),
            _ => Ok(()),
        },
        Question::OrderStatus => Ok(orders::check(answer)?),
        Question::Backend | Question::Find | Question::Resolve | Question::Open | Question::CartAbandon => Ok(()),
    }
}

/// Checks the position after which the next page starts.
pub(super) fn next(position: &str) -> Result<(), String> {
    if position.is_empty() || position.chars().count() > MAX_POSITION {
        return Err(format!("$.next: must be a text of 1 to {MAX_POSITION} characters"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_say_nothing_of_the_answer() {
        let cart = |member: &str| format!(r#"{{"cart":"Jane","currency":"EUR","lines":[],"total":0,{member}}}"#);
        for (member, rule) in [
            (
                r#""taxes":[{"title":"Jane","amount":-1}]"#,
                "$.taxes[0].amount: must be an integer of minor units from 0",
            ),
            (r#""taxes":[{"title":"Jane"}]"#, "$.taxes[0]: missing field `amount`"),
            (r#""taxes":[{"title":7,"amount":1}]"#, "$.taxes[0].title: must be a string"),
            (r#""taxes":"Jane, expected Jane""#, "$.taxes: must be a sequence"),
            (r#""lines":[{"variant":"Jane","quantity":"Jane","price":1}]"#, "$.lines[0].quantity: must be u64"),
            (r#""fees":[{"title":"Jane","amount":1}]"#, "$.total: must be 1 (lines 0"),
        ] {
            let text = cart(member).replacen(
                r#""lines":[],"#,
                if member.contains("lines") { "" } else { r#""lines":[],"# },
                1,
            );
            let wrong = answer(Question::CartSync, text.as_bytes()).expect_err(member);
            assert!(wrong.rule.starts_with(rule) && !wrong.rule.contains("Jane"), "{member}: {}", wrong.rule);
        }
        let wrong = answer(Question::Place, br#"{"status":"Jane"}"#).expect_err("no status");
        assert!(wrong.rule.starts_with("$.status: must be one of `placed`"), "{}", wrong.rule);
        let currency = br#"{"cart":"c","currency":"Jane","lines":[],"total":0}"#;
        let wrong = answer(Question::CartFetch, currency).expect_err("no currency");
        assert_eq!(wrong.rule, "$.currency: must be an ISO 4217 currency code");
    }
}
