//! Replaces what differs from run to run by names that do not: identifiers, times, addresses, signatures.
//!
//! An identifier becomes `<cart#7.1>`: the first cart that appeared in the seventh call of the scene. Two answers that
//! spoke of the same cart still do, and an identifier more in one answer changes no name in the others. A time becomes
//! its distance from now (`<now>`, `<now+6h>`), rounded to five minutes: how long an offer stands is compared, when the
//! comparison ran is not. Nothing else is touched.

mod token;

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use self::token::{Token, next};

/// The grain of times, in seconds.
const GRAIN: i64 = 300;

/// The names given so far.
#[derive(Debug, Default)]
pub(crate) struct Normaliser {
    known: Vec<(String, String)>,
    sent: HashSet<String>,
    names: HashMap<(String, String), String>,
    numbers: HashMap<String, usize>,
    /// The number of the present call.
    call: usize,
    /// `true` if documents are kept as they are, but for what is known.
    pub(crate) exact: bool,
}

impl Normaliser {
    /// Gives a value a name wherever it appears from now on.
    pub(crate) fn know(&mut self, value: &str, kind: &str) {
        if self.known.iter().any(|(known, _)| known == value) {
            return;
        }
        let name = self.name(kind, value);
        self.known.push((value.to_owned(), name));
        self.known.sort_by_key(|(known, _)| std::cmp::Reverse(known.len()));
    }

    /// Remembers the times that a request states: they come back as they are.
    pub(crate) fn sent(&mut self, text: &str) {
        let mut rest = 0;
        while let Some((start, token)) = next(text, rest) {
            rest = start + token.text().len();
            if let Token::Time(time) = token {
                self.sent.insert(time.to_owned());
            }
        }
    }

    /// Begins the next call.
    pub(crate) fn next_call(&mut self) {
        self.call += 1;
        self.numbers.clear();
    }

    /// The name of a value of a kind.
    pub(crate) fn name(&mut self, kind: &str, value: &str) -> String {
        let (numbers, call) = (&mut self.numbers, self.call);
        let new = || {
            let number = numbers.entry(kind.to_owned()).or_default();
            *number += 1;
            format!("<{kind}#{call}.{number}>")
        };
        self.names.entry((kind.to_owned(), value.to_owned())).or_insert_with(new).clone()
    }

    /// A text with names in it.
    pub(crate) fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (value, name) in &self.known {
            if text.contains(value) {
                text = text.replace(value, name);
            }
        }
        if self.exact {
            return text;
        }
        let (mut normal, mut done) = (String::with_capacity(text.len()), 0);
        while let Some((start, token)) = next(&text, done) {
            normal.push_str(&text[done..start]);
            done = start + token.text().len();
            normal.push_str(&match token {
                Token::Named(kind, value) => self.name(kind, value),
                Token::Passing(kind, _) => format!("<{kind}>"),
                Token::Time(time) => self.time(time),
                Token::Seconds(seconds) => Self::seconds(seconds),
            });
        }
        normal.push_str(&text[done..]);
        normal
    }

    /// A time in seconds since 1970.
    pub(crate) fn seconds(text: &str) -> String {
        text.parse().map_or_else(|_| text.to_owned(), distance)
    }

    fn time(&self, time: &str) -> String {
        // Beginnings and ends of days are dates of samples and of deliveries.
        let is_date = time.ends_with("T00:00:00Z") || time.ends_with("T23:59:59Z");
        if is_date || self.sent.contains(time) {
            return time.to_owned();
        }
        time.parse::<Timestamp>().map_or_else(|_| time.to_owned(), |time| distance(time.as_second()))
    }
}

/// Distance of a time from now, in words.
fn distance(seconds: i64) -> String {
    let away = seconds - Timestamp::now().as_second();
    let grains = (away + GRAIN.div_euclid(2)).div_euclid(GRAIN);
    if grains == 0 {
        return "<now>".to_owned();
    }
    let (sign, minutes) = (if grains < 0 { '-' } else { '+' }, grains.abs() * GRAIN / 60);
    let parts = [(minutes / 1_440, 'd'), (minutes / 60 % 24, 'h'), (minutes % 60, 'm')];
    let words: String =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count}{unit}")).collect();
    format!("<now{sign}{words}>")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CART: &str = "cart_00112233445566778899aabbccddeeff";
    const OTHER: &str = "cart_ffeeddccbbaa99887766554433221100";
    const THIRD: &str = "cart_0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f";

    #[test]
    fn identifiers_are_numbered_by_first_appearance() {
        let mut normal = Normaliser::default();
        let said = normal.text(&format!("{{\"id\":\"{CART}\",\"of\":\"{OTHER}\",\"again\":\"{CART}\"}}"));
        assert_eq!(said, "{\"id\":\"<cart#0.1>\",\"of\":\"<cart#0.2>\",\"again\":\"<cart#0.1>\"}");
        assert_eq!(normal.text(&format!("/carts/{OTHER}")), "/carts/<cart#0.2>");
        normal.next_call();
        assert_eq!(normal.text(&format!("{OTHER} {THIRD}")), "<cart#0.2> <cart#1.1>");
    }

    #[test]
    fn two_answers_about_one_cart_differ_from_two_about_two() {
        let same = [CART, CART].map(str::to_owned);
        let other = [CART, OTHER].map(str::to_owned);
        let normal = |carts: &[String]| {
            let mut normal = Normaliser::default();
            carts.iter().map(|cart| normal.text(cart)).collect::<Vec<_>>()
        };
        assert_ne!(normal(&same), normal(&other));
    }

    #[test]
    fn times_become_distances_unless_the_request_stated_them() {
        let mut normal = Normaliser::default();
        let hours = |hours: i64| Timestamp::now().as_second() + hours * 3_600;
        let time = |seconds: i64| Timestamp::from_second(seconds).expect("a time").to_string();
        let said = normal.text(&format!("{} {} {}", time(hours(0)), time(hours(6)), time(hours(-49))));
        assert_eq!(said, "<now> <now+6h> <now-2d1h>");
        let stated = time(hours(1) + 11);
        normal.sent(&stated);
        assert_eq!(normal.text(&stated), stated);
        assert_eq!(normal.text("2025-06-01T00:00:00Z"), "2025-06-01T00:00:00Z");
    }

    #[test]
    fn sealed_values_are_named_where_they_stand_also_in_quoted_json() {
        let mut normal = Normaliser::default();
        let cursor = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_";
        let said = normal.text(&format!("{{\"cursor\":\"{cursor}\"}} {{\\\"cursor\\\":\\\"{cursor}\\\"}}"));
        assert_eq!(said, "{\"cursor\":\"<cursor#0.1>\"} {\\\"cursor\\\":\\\"<cursor#0.1>\\\"}");
        assert_eq!(normal.text("http://h/continue/0123456789abcdef0123456789abcdef"), "http://h/continue/<page#0.1>");
        assert_eq!(normal.text("http://127.0.0.1:35777/mcp"), "http://127.0.0.1:<port#0.1>/mcp");
        assert_eq!(normal.text("6f1c2c0e-0000-4000-8000-00000000000a"), "<uuid#0.1>");
    }

    #[test]
    fn other_words_stay_as_they_are() {
        let mut normal = Normaliser::default();
        for text in
            ["unsupported_media_type", "var_abc123_blue_10", "dev.ucp.shopping.cart", "cart_1", "é–€ 2026-04-08"]
        {
            assert_eq!(normal.text(text), text);
        }
    }

    #[test]
    fn known_values_have_their_name_everywhere() {
        let mut normal = Normaliser::default();
        normal.know("127.0.0.1:40001", "gateway");
        normal.know("/tmp/x/data", "data");
        assert_eq!(normal.text("http://127.0.0.1:40001/mcp in /tmp/x/data"), "http://<gateway#0.1>/mcp in <data#0.1>");
    }
}
