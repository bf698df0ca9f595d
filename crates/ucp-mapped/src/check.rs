//! Requirements for answers, whatever program made them: checked here, where the program is known.

use std::fmt;

use serde::{Deserialize, de::DeserializeOwned};
use ucp_contract::{
    Question,
    documents::{Cart, Outcome},
};
use ucp_core::money::Price;

/// Maximum number of characters of a position in a result.
const MAX_POSITION: usize = 1024;

/// Violation of a requirement for an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken {
    /// JSONPath of the member.
    pub(super) path: String,
    /// Requirement, without data of the answer.
    pub(super) rule: String,
    /// Description of the violation, which may quote the answer.
    pub(super) text: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.text)
    }
}

/// Reads an answer as a type of the contract. Fails with the first member that is of another form.
fn typed<T: DeserializeOwned>(answer: &[u8]) -> Result<T, Broken> {
    let mut reader = serde_json::Deserializer::from_slice(answer);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = match error.path().to_string().as_str() {
            "." => "$".to_owned(),
            path => format!("$.{path}"),
        };
        let text = error.inner().to_string();
        Broken { path, rule: rule_of(&text), text }
    })
}

/// Returns the requirement that the text of a reader's error names, without the value that it quotes.
fn rule_of(text: &str) -> String {
    // The place in the answer says nothing: programs make it on one line.
    let text = text.rsplit_once(" at line ").map_or(text, |(text, _)| text);
    let expected = text.rsplit_once(" it must be ").or_else(|| text.rsplit_once(", expected "));
    match expected.or_else(|| text.rsplit_once(" is not ")) {
        Some((_, expected)) => format!("must be {expected}"),
        None if text.starts_with("missing field ") => text.replacen("missing field", "must have the member", 1),
        None if text.starts_with("duplicate field ") => "must have each member once".to_owned(),
        None => "must be of the form that the reference describes".to_owned(),
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
    match typed::<Product>(product).map_err(|broken| broken.to_string())? {
        Product { variants, .. } if variants.is_empty() => Err("$.variants: must have at least one variant".to_owned()),
        _ => Ok(()),
    }
}

/// Checks a whole answer other than one with products. Fails with the violation to correct.
pub(super) fn answer(question: Question, answer: &[u8]) -> Result<(), Broken> {
    match question {
        Question::CartSync | Question::CartFetch => typed(answer).and_then(|cart: Cart| {
            cart.add_up().map_err(|fault| {
                let (path, rule) = fault.split_once(": ").unwrap_or(("$", &fault));
                // Amounts are no data of anybody.
                Broken { path: path.to_owned(), rule: rule.to_owned(), text: rule.to_owned() }
            })
        }),
        Question::Place | Question::Order | Question::Cancel => match (question, typed(answer)?) {
            (Question::Place, Outcome::Absent) => {
                let rule = "must not be `absent` for `place`".to_owned();
                Err(Broken { path: "$.status".to_owned(), text: rule.clone(), rule })
            }
            _ => Ok(()),
        },
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
