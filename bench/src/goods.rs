//! A large catalog, made up, the same on every machine.
//!
//! Words are as unevenly common as in real texts (Zipf's law): the first of them is in almost every product, most are
//! in few. Products have about ten variants, two options, three currencies and texts in two languages.

use std::{
    fmt::Write as _,
    fs::File,
    io::{BufWriter, Write as _},
    path::Path,
};

use serde_json::{Value, json};

use crate::Done;

/// Number of different words.
const VOCABULARY: f64 = 40_000.0;

/// Departments and the shelves of each.
const DEPARTMENTS: usize = 20;
const SHELVES: usize = 25;

/// Numbers that look random (a linear congruential generator).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound`, all equally likely.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % bound.max(1)
    }

    /// A number below `bound`; twice the number is half as likely.
    fn zipf(&mut self, bound: f64) -> usize {
        let uniform = f64::from(u32::try_from(self.below(1 << 30)).unwrap_or_default()) / f64::from(1 << 30);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to bound, and small")]
        let number = (bound + 1.0).powf(uniform) as usize - 1;
        number
    }
}

/// The word of a number, pronounceable.
fn word(mut number: usize) -> String {
    let mut word = String::new();
    for _ in 0..3 {
        let consonants = b"bdfgklmnprstvz";
        word.push(char::from(consonants[number % consonants.len()]));
        number /= consonants.len();
        word.push(char::from(b"aeiou"[number % 5]));
        number /= 5;
    }
    word
}

/// A word that a buyer may look for: what is common in texts is common in queries.
pub(crate) fn common_word(random: &mut Random) -> String {
    word(random.zipf(VOCABULARY / 4.0))
}

/// A department as category filters name it.
pub(crate) fn department(random: &mut Random) -> String {
    format!("Department {}", random.below(DEPARTMENTS))
}

/// The id of a product.
pub(crate) fn product_id(number: usize) -> String {
    format!("p-{number}")
}

fn text(random: &mut Random, words: usize) -> String {
    (0..words).fold(String::new(), |mut text, number| {
        let space = if number == 0 { "" } else { " " };
        // Writing to a string does not fail.
        let _ = write!(text, "{space}{}", word(random.zipf(VOCABULARY)));
        text
    })
}

fn product(number: usize, random: &mut Random) -> Value {
    let base = 500 + random.below(20_000);
    let (colors, sizes) = (1 + random.below(4), 2 + random.below(5));
    let mut variants = Vec::new();
    for color in 0..colors {
        for size in 0..sizes {
            let (at, price) = (variants.len(), base + size * 100);
            variants.push(json!({
                "id": format!("v-{number}-{at}"),
                "sku": format!("SKU-{number}-{at}"),
                "barcodes": [{ "type": "EAN", "value": format!("2{:012}", number * 100 + at) }],
                "price": { "amount": price, "currency": "USD" },
                "prices": [
                    { "amount": price * 9 / 10, "currency": "EUR" },
                    { "amount": price * 3 / 2, "currency": "JPY" },
                ],
                "availability": { "available": random.below(4) > 0 },
                "options": [
                    { "name": "Color", "label": word(color + 100) },
                    { "name": "Size", "label": format!("{}", size + 36) },
                ],
            }));
        }
    }
    let (department, shelf) = (department(random), random.below(SHELVES));
    json!({
        "id": product_id(number),
        "handle": format!("product-{number}"),
        "title": text(random, 6),
        "description": { "plain": text(random, 30) },
        "url": format!("https://shop.example.com/products/{number}"),
        "categories": [{ "value": format!("{department} > Shelf {shelf}"), "taxonomy": "merchant" }],
        "media": [{ "type": "image", "url": format!("https://cdn.example.com/{number}.jpg"), "alt_text": "A product" }],
        "tags": [word(random.zipf(500.0)), word(random.zipf(500.0))],
        "metadata": { "vendor": word(random.zipf(2_000.0)) },
        "translations": { "es": { "title": text(random, 6) } },
        "variants": variants,
    })
}

/// Writes so many products as JSON Lines; the size of the file.
pub(crate) fn write(file: &Path, products: usize) -> Done<u64> {
    let mut lines = BufWriter::new(File::create(file)?);
    let mut random = Random::new(42);
    for number in 0..products {
        serde_json::to_writer(&mut lines, &product(number, &mut random))?;
        lines.write_all(b"\n")?;
    }
    lines.flush()?;
    Ok(std::fs::metadata(file)?.len())
}
