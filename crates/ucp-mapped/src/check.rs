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

/// Reads an answer as a type of the contract. Fails with the path of the first member that is of another form, and what
/// it must be.
fn typed<T: DeserializeOwned>(answer: &[u8]) -> Result<T, String> {
    let mut reader = serde_json::Deserializer::from_slice(answer);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| match error.path().to_string().as_str() {
        "." => format!("$: {}", error.inner()),
        path => format!("$.{path}: {}", error.inner()),
    })
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
    match typed::<Product>(product)? {
        Product { variants, .. } if variants.is_empty() => Err("$.variants: must have at least one variant".to_owned()),
        _ => Ok(()),
    }
}

/// Checks a whole answer other than one with products. Fails with the violation to correct, with its path.
pub(super) fn answer(question: Question, answer: &[u8]) -> Result<(), String> {
    match question {
        Question::CartSync | Question::CartFetch => typed(answer).and_then(|cart: Cart| cart.add_up()),
        Question::Place | Question::Order | Question::Cancel => match (question, typed(answer)?) {
            (Question::Place, Outcome::Absent) => Err("$.status: must not be `absent` for `place`".to_owned()),
            _ => Ok(()),
        },
        Question::OrderStatus => orders::check(answer),
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
