//! Amounts in texts, in one spelling: `500ml`, `0.5 l` and `50 cl` are one term, as are `set of 8` and `8-piece`.

/// Kinds of amounts, with the factor that leads to the smallest unit of the kind, and the spellings of the unit, folded.
const UNITS: &[(&str, f64, &[&str])] = &[
    ("ml", 1.0, &["ml", "milliliter", "milliliters", "millilitre", "millilitres", "mililitro", "mililitros"]),
    ("ml", 10.0, &["cl", "centiliter", "centilitre", "centilitres", "centilitro", "centilitros", "zentiliter"]),
    ("ml", 100.0, &["dl", "deciliter", "decilitre", "deziliter"]),
    ("ml", 1_000.0, &["l", "lt", "liter", "liters", "litre", "litres", "litro", "litros", "litri"]),
    ("ml", 29.5735, &["floz"]),
    ("ml", 3_785.41, &["gal", "gallon", "gallons"]),
    ("mg", 1.0, &["mg", "milligram", "milligrams", "milligramm", "milligramme", "miligramos"]),
    ("mg", 1e3, &["g", "gr", "gram", "grams", "gramm", "gramme", "grammes", "gramo", "gramos", "grammi"]),
    (
        "mg",
        1e6,
        &[
            "kg",
            "kgs",
            "kilo",
            "kilos",
            "kilogram",
            "kilograms",
            "kilogramm",
            "kilogramme",
            "kilogrammes",
            "kilogramos",
            "chili",
        ],
    ),
    ("mg", 28_349.5, &["oz", "ounce", "ounces", "unze", "unzen", "onces", "onzas"]),
    ("mg", 453_592.0, &["lb", "lbs", "pound", "pounds", "pfund", "livres", "libras"]),
    ("mm", 1.0, &["mm", "millimeter", "millimeters", "millimetre", "millimetres", "milimetros"]),
    (
        "mm",
        10.0,
        &["cm", "centimeter", "centimeters", "centimetre", "centimetres", "zentimeter", "centimetros", "centimetri"],
    ),
    ("mm", 1_000.0, &["m", "meter", "meters", "metre", "metres", "metro", "metros", "metri"]),
    ("mm", 25.4, &["in", "inch", "inches", "zoll", "pouce", "pouces", "pulgada", "pulgadas", "pollici", "\""]),
    ("mm", 304.8, &["ft", "foot", "feet", "fuss", "pieds", "pies"]),
    ("mb", 1.0, &["mb", "megabyte", "megabytes"]),
    ("mb", 1_000.0, &["gb", "gigabyte", "gigabytes", "gig", "gigs"]),
    ("mb", 1e6, &["tb", "terabyte", "terabytes"]),
    ("mw", 1e3, &["w", "watt", "watts", "vatios"]),
    ("mw", 1e6, &["kw", "kilowatt", "kilowatts"]),
    ("mah", 1.0, &["mah"]),
    ("mah", 1_000.0, &["ah"]),
    ("v", 1.0, &["v", "volt", "volts", "voltios"]),
    ("hz", 1.0, &["hz", "hertz"]),
    ("lm", 1.0, &["lm", "lumen", "lumens"]),
    ("thread", 1.0, &["tc"]),
    (
        "person",
        1.0,
        &[
            "person",
            "persons",
            "people",
            "personen",
            "personne",
            "personnes",
            "persona",
            "personas",
            "persone",
            "man",
            "pers",
            "人用",
        ],
    ),
    ("seat", 1.0, &["seat", "seats", "seater", "seaters", "sitzer", "sitzig", "places", "plazas", "posti", "zits"]),
    (SET, 1.0, SETS),
];

/// Unit of things in a set.
pub(super) const SET: &str = "set";

/// Words behind the number of things in a set.
const SETS: &[&str] = &[
    "piece", "pieces", "pc", "pcs", "pack", "packs", "pk", "ct", "count", "set", "teilig", "teiliges", "teile",
    "stuck", "er", "erset", "erpack", "pieces", "pieza", "piezas", "pezzi", "delig", "stuks", "個", "本", "枚", "件",
];

/// Words in front of the number of things in a set.
const SETS_OF: &[&str] = &[
    "set of",
    "pack of",
    "box of",
    "packs of",
    "case of",
    "bag of",
    "pair of",
    "lot de",
    "juego de",
    "set de",
    "pack de",
    "set van",
    "set di",
    "confezione da",
    "boite de",
    "packung mit",
    "set aus",
];

/// Numbers in words, in the languages of most shops.
const NUMBERS: &[(&str, &str)] = &[
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("ten", "10"),
    ("twelve", "12"),
    ("dozen", "12"),
    ("zwei", "2"),
    ("drei", "3"),
    ("vier", "4"),
    ("funf", "5"),
    ("sechs", "6"),
    ("acht", "8"),
    ("zehn", "10"),
    ("zwolf", "12"),
    ("deux", "2"),
    ("trois", "3"),
    ("quatre", "4"),
    ("cinq", "5"),
    ("huit", "8"),
    ("dix", "10"),
    ("douze", "12"),
    ("dos", "2"),
    ("tres", "3"),
    ("cuatro", "4"),
    ("cinco", "5"),
    ("seis", "6"),
    ("ocho", "8"),
    ("diez", "10"),
    ("doce", "12"),
];

/// An amount of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Amount {
    /// Places of its words among the [words](super::text::split_words) of the text.
    pub(super) begin: usize,
    pub(super) end: usize,
    /// The term that stands for it.
    pub(super) term: String,
}

/// A number or a word of a text, with the places of its words.
#[derive(Debug)]
struct Part<'a> {
    text: &'a str,
    number: Option<f64>,
    begin: usize,
    end: usize,
}

/// Returns the digits of a word that is a number.
pub(super) fn digits(word: &str) -> Option<&'static str> {
    NUMBERS.iter().find(|(name, _)| *name == word).map(|(_, digits)| *digits)
}

/// Returns the amounts of a text that is folded, but for its punctuation. `count` tells the number of words that a run of
/// letters and digits becomes.
pub(super) fn amounts(folded: &str, count: impl Fn(&str) -> usize) -> Vec<Amount> {
    if !folded.bytes().any(|byte| byte.is_ascii_digit()) && !folded.split(' ').any(|word| digits(word).is_some()) {
        return Vec::new();
    }
    let parts = parts(folded, count);
    let mut amounts = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let Some(number) = part.number else { continue };
        let next = parts.get(at + 1).filter(|next| next.number.is_none());
        let before = |phrase: &&&str| {
            let words: Vec<&str> = phrase.split(' ').collect();
            at >= words.len() && parts[at - words.len()..at].iter().map(|part| part.text).eq(words)
        };
        let unit = next.and_then(|next| {
            let fluid = next.text == "fl" && parts.get(at + 2).is_some_and(|after| after.text == "oz");
            let (name, end) = if fluid { ("floz", parts[at + 2].end) } else { (next.text, next.end) };
            let unit = UNITS.iter().find(|(_, _, names)| names.contains(&name))?;
            Some((unit.0, unit.1, end))
        });
        if let Some((kind, factor, end)) = unit {
            amounts.push(Amount { begin: part.begin, end, term: term(number * factor, kind) });
        }
        if let Some(phrase) = SETS_OF.iter().find(before) {
            let begin = parts[at - phrase.split(' ').count()].begin;
            amounts.push(Amount { begin, end: part.end, term: term(number, SET) });
        }
        if number.fract() != 0.0 && unit.is_none() {
            amounts.push(Amount { begin: part.begin, end: part.end, term: term(number, "") });
        }
    }
    amounts
}

/// The term of an amount. No word of a text has its first character.
fn term(amount: f64, kind: &str) -> String {
    let digits = if amount >= 100.0 { 0 } else { 3 };
    let text = format!("{amount:.digits$}");
    let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("={text}{kind}")
}

/// The numbers and words of a text: `10,5cm` is a number and a word, of three words as the index knows them.
fn parts(folded: &str, count: impl Fn(&str) -> usize) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut words = 0;
    let mut rest = folded;
    while let Some(begin) = rest.find(|letter: char| letter.is_alphanumeric() || letter == '"') {
        rest = &rest[begin..];
        if let Some(after) = rest.strip_prefix('"') {
            parts.push(Part { text: "\"", number: None, begin: words, end: words });
            rest = after;
            continue;
        }
        let length = rest.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(rest.len());
        let run = &rest[..length];
        let (before, length, decimals) = number(rest, length);
        if decimals.is_some() || before == Some(run.len()) {
            let length = if decimals.is_some() { length } else { run.len() };
            let text = &rest[..length];
            let end = words + text.split(['.', ',']).filter(|part| !part.is_empty()).count();
            let number = decimals.or_else(|| text.parse().ok());
            // What follows without a space is the unit, and a part of the last word.
            let unit_length =
                rest[length..].find(|letter: char| !letter.is_alphanumeric()).unwrap_or(rest.len() - length);
            parts.push(Part { text, number, begin: words, end });
            if unit_length > 0 {
                parts.push(Part { text: &rest[length..length + unit_length], number: None, begin: end - 1, end });
            }
            words = end;
            rest = &rest[length + unit_length..];
            continue;
        }
        let own = count(run);
        match before {
            // `500ml` is one word.
            Some(digits) if digits > 0 => {
                let number = run[..digits].parse().ok();
                parts.push(Part { text: &run[..digits], number, begin: words, end: words + own });
                parts.push(Part { text: &run[digits..], number: None, begin: words, end: words + own });
            }
            _ => {
                let number = self::digits(run).and_then(|digits| digits.parse().ok());
                parts.push(Part { text: run, number, begin: words, end: words + own });
            }
        }
        words += own;
        rest = &rest[run.len()..];
    }
    parts
}

/// The number of digits that a text begins with, and the length and value of the number with decimals that it begins with.
fn number(text: &str, run: usize) -> (Option<usize>, usize, Option<f64>) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits > 9 {
        return (None, run, None);
    }
    let rest = &text[digits..];
    if let Some(after) = rest.strip_prefix(['.', ',']) {
        let decimals = after.bytes().take_while(u8::is_ascii_digit).count();
        // Three digits are thousands, unless nothing is in front of them.
        if decimals == 3 && &text[..digits] != "0" {
            let value = format!("{}{}", &text[..digits], &after[..decimals]).parse().ok();
            return (Some(digits), digits + 1 + decimals, value);
        }
        if (1..=3).contains(&decimals) {
            let value = format!("{}.{}", &text[..digits], &after[..decimals]).parse().ok();
            return (Some(digits), digits + 1 + decimals, value);
        }
    }
    (Some(digits), run, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        amounts(text, |_| 1).into_iter().map(|amount| amount.term).collect()
    }

    #[test]
    fn an_amount_is_one_term_however_it_is_spelled() {
        for (texts, term) in [
            (&["500ml", "500 ml", "0.5 l", "0,5l", "50 cl", "500 milliliter"][..], "=500ml"),
            (&["8kg", "8 kg", "8 kilos", "8.0 kg"], "=8000000mg"),
            (&["10 inch", "10in", "10\"", "254 mm", "25.4 cm", "10 zoll"], "=254mm"),
            (&["set of 8", "8 piece", "8-piece", "8 pcs", "8-teilig", "lot de 8", "eight pieces"], "=8set"),
            (&["1tb", "1 tb", "1000 gb"], "=1000000mb"),
            (&["3 seat", "3-seater", "3-sitzer", "three seats"], "=3seat"),
            (&["10.5", "10,5"], "=10.5"),
        ] {
            for text in texts {
                assert_eq!(terms(text), [term], "{text}");
            }
        }
        for text in ["air max 90", "1,000", "m4x40", "iphone15", "", "a.b,c", "1234567890123 ml"] {
            assert!(terms(text).is_empty(), "{text}: {:?}", terms(text));
        }
    }

    #[test]
    fn amounts_know_their_words() {
        let of = |text: &str| amounts(text, |_| 1).into_iter().map(|own| (own.begin, own.end)).collect::<Vec<_>>();
        assert_eq!(of("bottle 0.5 l steel"), [(1, 4)]);
        assert_eq!(of("bottle 0.5l steel"), [(1, 3)]);
        assert_eq!(of("bottle 500ml steel"), [(1, 2)]);
        assert_eq!(of("a set of 6 glasses"), [(1, 4)]);
        assert_eq!(of("size 10.5 shoes"), [(1, 3)]);
    }
}
