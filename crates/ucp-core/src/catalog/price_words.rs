//! Prices in the words of a search: `under $100`, `zwischen 50 und 80 Euro`.

use super::filter::PriceFilter;
use crate::{
    money::{Amount, Currency},
    text::fold,
};

/// Words before an amount that make it the highest price.
const AT_MOST: &[&str] = &[
    "at most",
    "below",
    "bis",
    "bis zu",
    "cheaper than",
    "en dessous de",
    "fino a",
    "gunstiger als",
    "hasta",
    "hochstens",
    "jusqu'a",
    "less than",
    "max",
    "maximaal",
    "maximal",
    "maximo",
    "maximum",
    "menos de",
    "meno di",
    "minder dan",
    "moins de",
    "no more than",
    "not more than",
    "onder",
    "por debajo de",
    "sotto",
    "sous",
    "tot",
    "under",
    "unter",
    "up to",
    "weniger als",
    "within",
];

/// Words before an amount that make it the lowest price.
const AT_LEAST: &[&str] = &[
    "a partir de",
    "ab",
    "above",
    "almeno",
    "al menos",
    "at least",
    "au moins",
    "boven",
    "desde",
    "from",
    "mas de",
    "meer dan",
    "mehr als",
    "mindestens",
    "minimo",
    "minimum",
    "more than",
    "over",
    "piu di",
    "plus de",
    "starting at",
    "uber",
    "vanaf",
];

/// Words before the first of two amounts, and between them.
const BETWEEN: &[(&str, &str)] = &[
    ("between", "and"),
    ("entre", "et"),
    ("entre", "y"),
    ("entre", "e"),
    ("from", "to"),
    ("tra", "e"),
    ("tussen", "en"),
    ("von", "bis"),
    ("zwischen", "und"),
];

/// Those words before an amount that no name of a product has before a number: "Air Max 90" is one. They make the last
/// word of a text a price even if it names no currency.
const SURE: &[&str] = &[
    "below",
    "cheaper than",
    "less than",
    "menos de",
    "minder dan",
    "moins de",
    "more than",
    "under",
    "unter",
    "weniger als",
];

/// Words, codes and signs of currencies, with those that they can mean; of several, the first unless the shop trades in
/// another one.
const CURRENCIES: &[(&str, &[&str])] = &[
    ("$", DOLLARS),
    ("bucks", DOLLARS),
    ("dollar", DOLLARS),
    ("dollars", DOLLARS),
    ("dolares", DOLLARS),
    ("eur", &["EUR"]),
    ("euro", &["EUR"]),
    ("euros", &["EUR"]),
    ("€", &["EUR"]),
    ("gbp", &["GBP"]),
    ("pound", &["GBP"]),
    ("pounds", &["GBP"]),
    ("quid", &["GBP"]),
    ("£", &["GBP"]),
    ("chf", &["CHF"]),
    ("franken", &["CHF"]),
    ("jpy", &["JPY"]),
    ("yen", &["JPY"]),
    ("円", &["JPY"]),
    ("¥", &["JPY", "CNY"]),
    ("元", &["CNY"]),
    ("usd", &["USD"]),
    ("sek", &["SEK"]),
    ("nok", &["NOK"]),
    ("dkk", &["DKK"]),
    ("kr", &["SEK", "NOK", "DKK"]),
    ("cad", &["CAD"]),
    ("aud", &["AUD"]),
    ("pln", &["PLN"]),
];

const DOLLARS: &[&str] = &["USD", "CAD", "AUD", "NZD", "SGD", "HKD"];

/// Prices that a text states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceWords {
    /// The other words of the text.
    pub rest: String,
    /// The words that state a price, as they are in the text.
    pub stated: Vec<String>,
    /// Limit and currency of the words; `None` if they limit nothing (`$100 gift`).
    pub limit: Option<(PriceFilter, Option<Currency>)>,
}

/// Codes of currencies.
type Currencies = &'static [&'static str];

/// An amount of a text: its place and length in words, its digits, and the currencies that it can be in.
struct Stated {
    begin: usize,
    end: usize,
    /// In hundredths.
    amount: i64,
    currencies: Currencies,
}

impl PriceWords {
    /// Reads a text; `None` if it states no price, or nothing else. Amounts without a name, and ambiguous names, are in
    /// the currency `shown` where they can be.
    pub fn read(text: &str, shown: Currency) -> Option<Self> {
        let chunks: Vec<&str> = text.split_whitespace().collect();
        let folded: Vec<String> = chunks
            .iter()
            .map(|chunk| fold(chunk).trim_matches(['?', '!', ',', ';', ':', '(', ')']).to_owned())
            .collect();
        let phrase = |phrase: &str, before: usize| {
            let words: Vec<&str> = phrase.split(' ').collect();
            let begin = before.checked_sub(words.len())?;
            folded[begin..before].iter().zip(&words).all(|(own, word)| own == word).then_some(begin)
        };
        // The longest phrase wins: `no more than` says the opposite of `more than`.
        let longest = |phrases: &[&str], before| phrases.iter().filter_map(|words| phrase(words, before)).min();
        let amounts: Vec<Stated> = (0..chunks.len()).filter_map(|at| stated(&folded, at)).collect();
        let mut gone = vec![false; chunks.len()];
        let mut read = Self { rest: String::new(), stated: Vec::new(), limit: None };
        let mut filter = PriceFilter { min: None, max: None };
        let mut currencies: Currencies = &[];
        let mut take = |from: usize, to: usize| {
            gone[from..to].fill(true);
            read.stated.push(chunks[from..to].join(" "));
        };
        let mut place = 0;
        while let Some(own) = amounts.get(place) {
            place += 1;
            let pair = amounts.get(place).and_then(|next| {
                let is_pair = |(first, second): &&(&str, &str)| {
                    next.begin == own.end + 1 && folded[own.end] == *second && phrase(first, own.begin).is_some()
                };
                let (first, _) = BETWEEN.iter().find(is_pair)?;
                Some((phrase(first, own.begin)?, next))
            });
            if let Some((begin, next)) = pair
                && (!own.currencies.is_empty() || !next.currencies.is_empty())
            {
                filter = PriceFilter { min: Amount::new(own.amount), max: Amount::new(next.amount) };
                currencies = if own.currencies.is_empty() { next.currencies } else { own.currencies };
                take(begin, next.end);
                place += 1;
                continue;
            }
            let (most, least) = (longest(AT_MOST, own.begin), longest(AT_LEAST, own.begin));
            let begin = most.into_iter().chain(least).min();
            let is_sure = own.end == chunks.len() && longest(SURE, own.begin).is_some_and(|sure| Some(sure) == begin);
            if own.currencies.is_empty() && !is_sure {
                continue;
            }
            if begin.is_some() {
                currencies = own.currencies;
                if begin == most {
                    filter.max = Amount::new(own.amount);
                } else {
                    filter.min = Amount::new(own.amount);
                }
            }
            take(begin.unwrap_or(own.begin), own.end);
        }
        let rest: Vec<&str> = chunks.iter().zip(&gone).filter(|(_, gone)| !**gone).map(|(chunk, _)| *chunk).collect();
        if read.stated.is_empty() || rest.is_empty() {
            return None;
        }
        read.rest = rest.join(" ");
        if filter.min.is_some() || filter.max.is_some() {
            let named = currencies.iter().find(|code| **code == shown.as_str()).or_else(|| currencies.first());
            let currency = named.and_then(|code| code.parse().ok());
            let exponent = currency.unwrap_or(shown).exponent();
            let minor = |amount: Amount| {
                let scaled = i128::from(amount.minor()) * 10_i128.pow(exponent) / 100;
                i64::try_from(scaled).ok().and_then(Amount::new)
            };
            let limit = PriceFilter { min: filter.min.and_then(minor), max: filter.max.and_then(minor) };
            read.limit = Some((limit, currency));
        }
        Some(read)
    }
}

/// The amount that begins with a word.
fn stated(folded: &[String], at: usize) -> Option<Stated> {
    let any: Currencies = &[];
    let named = |word: &str| CURRENCIES.iter().find(|(name, _)| *name == word).map(|(_, currencies)| *currencies);
    let word = folded.get(at)?.as_str();
    let digits = word.trim_matches(|letter: char| !letter.is_ascii_digit());
    let place = word.find(digits).filter(|_| !digits.is_empty())?;
    let (before, after) = (&word[..place], word[place + digits.len()..].trim_start_matches([',', '.', '-']));
    let before = (if before.is_empty() { Some(any) } else { named(before) })?;
    let after = (if after.is_empty() { Some(any) } else { named(after) })?;
    let amount = hundredths(digits)?;
    let own = if before.is_empty() { after } else { before };
    let next = folded.get(at + 1).and_then(|word| named(word)).filter(|_| own.is_empty());
    let (end, currencies) = next.map_or((at + 1, own), |next| (at + 2, next));
    Some(Stated { begin: at, end, amount, currencies })
}

/// Hundredths of a number with separators: of two different ones, the last is that of decimals; a single one is if one or
/// two digits follow.
fn hundredths(digits: &str) -> Option<i64> {
    let last = digits.rfind(['.', ',']);
    let (whole, decimals) = match last {
        Some(at) if (1..=2).contains(&(digits.len() - at - 1)) => (&digits[..at], &digits[at + 1..]),
        _ => (digits, ""),
    };
    let whole: String = whole.chars().filter(|letter| !matches!(letter, '.' | ',')).collect();
    if whole.len() > 12 || !whole.chars().chain(decimals.chars()).all(|letter| letter.is_ascii_digit()) {
        return None;
    }
    let cents: i64 = format!("{decimals:0<2}").parse().ok()?;
    Some(whole.parse::<i64>().ok()? * 100 + cents)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(String, String, Option<String>)> {
        PriceWords::read(text, "USD".parse().expect("a currency")).map(|read| {
            let limit = read.limit.map(|(limit, currency)| {
                let amount =
                    |amount: Option<Amount>| amount.map_or_else(String::new, |amount| amount.minor().to_string());
                let currency = currency.map_or_else(String::new, |currency| format!(" {currency}"));
                format!("{}..{}{currency}", amount(limit.min), amount(limit.max))
            });
            (read.rest, read.stated.join("; "), limit)
        })
    }

    #[test]
    fn words_that_state_a_price_limit_it() {
        for (text, rest, stated, limit) in [
            ("red shoes under $100", "red shoes", "under $100", Some("..10000 USD")),
            ("shoes below 100", "shoes", "below 100", Some("..10000")),
            ("lamp between $20 and $35.50 for kids", "lamp for kids", "between $20 and $35.50", Some("2000..3550 USD")),
            ("watch over 1,000.50 dollars", "watch", "over 1,000.50 dollars", Some("100050.. USD")),
            ("Lampe unter 50 Euro", "Lampe", "unter 50 Euro", Some("..5000 EUR")),
            ("Lampe zwischen 50 und 1.000,50 €", "Lampe", "zwischen 50 und 1.000,50 €", Some("5000..100050 EUR")),
            ("lampe à moins de 30€", "lampe à", "moins de 30€", Some("..3000 EUR")),
            ("tea no more than ¥1500", "tea", "no more than ¥1500", Some("..1500 JPY")),
            ("gift of at least £10 up to £20", "gift of", "at least £10; up to £20", Some("1000..2000 GBP")),
            ("100 USD gift", "gift", "100 USD", None),
        ] {
            let expected = (rest.to_owned(), stated.to_owned(), limit.map(str::to_owned));
            assert_eq!(read(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_numbers_are_no_prices() {
        for text in [
            "$100",
            "air max 90",
            "box of 100",
            "up to 10",
            "under armour",
            "$",
            "bag under 5 kg",
            "over the moon",
            "5$a",
            "",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
