//! Decoder of the existing combinations of option values, in the Storefront API's encoding.
//!
//! `encodedVariantExistence` and `encodedVariantAvailability` hold thousands of combinations in a few kilobytes: `v1_`
//! and a trie of positions, where the nth level is the nth option.
//!
//! ```text
//! text      = "v1_" list(first option)           empty if there are no combinations
//! list(o)   = 1*( position ":" list(o + 1) "," )   commas at the very end may be missing
//! list(last)= item *( " " item )
//! item      = position | position "-" position     the second not before the first, both included
//! ```
//!
//! Reading is strict: the result consists of combinations of the product's own options, each once; any other text is
//! refused. Memory and time are bounded by the number of combinations that may be returned. (No part of this module
//! depends on another crate, so that fuzzing builds it alone.)

use std::fmt;

/// Reason why a text cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecodable {
    /// The text does not begin with `v1_`.
    Version,
    /// A character, or the end of the text, where the grammar does not allow it.
    Unexpected {
        /// Offset in the text, in bytes.
        at: usize,
    },
    /// A position that the option does not have, or a range that ends before it begins.
    Position {
        /// Offset behind the position in the text, in bytes.
        at: usize,
    },
    /// More combinations than the limit.
    TooMany,
    /// A combination occurs twice.
    Twice,
}

impl fmt::Display for Undecodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version => f.write_str("it is not of version 1"),
            Self::Unexpected { at } => write!(f, "what stands at byte {at} does not belong there"),
            Self::Position { at } => write!(f, "before byte {at} it names a value that the option does not have"),
            Self::TooMany => f.write_str("it has more combinations than are read"),
            Self::Twice => f.write_str("it has a combination twice"),
        }
    }
}

impl std::error::Error for Undecodable {}

/// Decodes the combinations in `text`: for each option, in order, the position of its value. `axes` holds the number of
/// values of each option; at most `limit` combinations are read. Fails with [`Undecodable`] for the first place where
/// the text does not fit.
pub fn decode(text: &str, axes: &[usize], limit: usize) -> Result<Vec<Vec<usize>>, Undecodable> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let list = text.strip_prefix("v1_").ok_or(Undecodable::Version)?;
    let start = text.len() - list.len();
    if list.is_empty() {
        return Ok(Vec::new());
    }
    let mut reader = Reader { bytes: text.as_bytes(), at: start, axes, limit, prefix: Vec::new(), found: Vec::new() };
    let Some(last) = axes.len().checked_sub(1) else { return Err(reader.unexpected()) };
    // After a prefix is closed, the next position belongs to the option before. A loop instead of recursion keeps the
    // depth of the stack independent of the number of options.
    loop {
        if reader.prefix.len() == last {
            reader.items()?;
        } else {
            let position = reader.position()?;
            reader.expect(b':')?;
            reader.prefix.push(position);
            continue;
        }
        // Every comma closes a prefix.
        while reader.peek() == Some(b',') {
            reader.prefix.pop().ok_or(reader.unexpected())?;
            reader.at += 1;
        }
        match reader.peek() {
            None => break,
            // After a list of last values only commas can follow.
            Some(_) if reader.prefix.len() == last => return Err(reader.unexpected()),
            Some(_) => {}
        }
    }
    reader.finish()
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    axes: &'a [usize],
    limit: usize,
    /// Positions on the preceding options.
    prefix: Vec<usize>,
    found: Vec<Vec<usize>>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn unexpected(&self) -> Undecodable {
        Undecodable::Unexpected { at: self.at }
    }

    fn expect(&mut self, wanted: u8) -> Result<(), Undecodable> {
        if self.peek() != Some(wanted) {
            return Err(self.unexpected());
        }
        self.at += 1;
        Ok(())
    }

    /// Reads a position on the next option.
    fn position(&mut self) -> Result<usize, Undecodable> {
        let start = self.at;
        let values = self.axes[self.prefix.len()];
        let mut position = 0_usize;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            // A number has no leading zeros.
            if self.at > start && position == 0 {
                return Err(self.unexpected());
            }
            position = position.saturating_mul(10).saturating_add(usize::from(digit - b'0'));
            self.at += 1;
        }
        if self.at == start {
            return Err(self.unexpected());
        }
        if position >= values { Err(Undecodable::Position { at: self.at }) } else { Ok(position) }
    }

    /// Reads the values on the last option.
    fn items(&mut self) -> Result<(), Undecodable> {
        loop {
            let from = self.position()?;
            let mut to = from;
            if self.peek() == Some(b'-') {
                self.at += 1;
                to = self.position()?;
                if to < from {
                    return Err(Undecodable::Position { at: self.at });
                }
            }
            if to - from >= self.limit.saturating_sub(self.found.len()) {
                return Err(Undecodable::TooMany);
            }
            for position in from..=to {
                let mut combination = Vec::with_capacity(self.axes.len());
                combination.extend_from_slice(&self.prefix);
                combination.push(position);
                self.found.push(combination);
            }
            if self.peek() != Some(b' ') {
                return Ok(());
            }
            self.at += 1;
        }
    }

    fn finish(self) -> Result<Vec<Vec<usize>>, Undecodable> {
        // Combinations usually come in ascending order, in which none occurs twice.
        if !self.found.is_sorted_by(|one, next| one < next) {
            let mut sorted: Vec<_> = self.found.iter().collect();
            sorted.sort_unstable();
            if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(Undecodable::Twice);
            }
        }
        Ok(self.found)
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, collections::BTreeSet};

    use proptest::{
        prelude::*,
        test_runner::{Config, TestRunner},
    };

    use super::*;

    const LIMIT: usize = 4_096;

    fn decoded(text: &str, axes: &[usize]) -> Vec<Vec<usize>> {
        decode(text, axes, LIMIT).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// Encodes sorted combinations as the API does: see the description of the field in its schema.
    fn encode(combinations: &BTreeSet<Vec<usize>>) -> String {
        fn list(combinations: &[&[usize]], text: &mut String) {
            let mut rest = combinations;
            while let Some(first) = rest.first() {
                if first.len() == 1 {
                    let run = rest.iter().enumerate().take_while(|(place, next)| next[0] == first[0] + place).count();
                    if !text.ends_with([':', '_']) {
                        text.push(' ');
                    }
                    text.push_str(&first[0].to_string());
                    if run > 1 {
                        text.push_str(&format!("-{}", first[0] + run - 1));
                    }
                    rest = &rest[run..];
                } else {
                    let group = rest.iter().take_while(|next| next[0] == first[0]).count();
                    text.push_str(&format!("{}:", first[0]));
                    let below: Vec<_> = rest[..group].iter().map(|next| &next[1..]).collect();
                    list(&below, text);
                    text.push(',');
                    rest = &rest[group..];
                }
            }
        }
        let mut text = String::from("v1_");
        list(&combinations.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut text);
        text
    }

    #[test]
    fn reads_what_the_schema_shows() {
        assert_eq!(decoded("v1_0-2 4-6", &[7]), [[0], [1], [2], [4], [5], [6]]);
        assert_eq!(decoded("v1_0:0-1,1:0 2,2:1-2,", &[3, 3]), [[0, 0], [0, 1], [1, 0], [1, 2], [2, 1], [2, 2]]);
        let three = [[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 1], [2, 0, 1], [2, 1, 0]];
        assert_eq!(decoded("v1_0:0:0,1:0-1,,1:0:0-1,1:1,,2:0:1,1:0,,", &[3, 2, 2]), three);
        assert_eq!(decoded("v1_0:0,1:0,2:0,", &[3, 1]), [[0, 0], [1, 0], [2, 0]]);
        assert_eq!(decoded("v1_0:0,2:0,", &[3, 1]), [[0, 0], [2, 0]]);
        // All or some of the commas at the end may be missing.
        for end in ["", ",", ",,"] {
            assert_eq!(
                decoded(&format!("v1_0:0:0,1:0-1{end}"), &[3, 2, 2]),
                [[0, 0, 0], [0, 1, 0], [0, 1, 1]],
                "{end:?}"
            );
        }
        // The API may write prefixes in any order.
        assert_eq!(decoded("v1_1:0,0:0,", &[2, 1]), [[1, 0], [0, 0]]);
        for none in ["", "v1_"] {
            assert!(decoded(none, &[3, 3]).is_empty());
            assert!(decoded(none, &[]).is_empty());
        }
    }

    #[test]
    fn refuses_everything_else() {
        use Undecodable::{Position, TooMany, Twice, Unexpected, Version};
        for (text, axes, error) in [
            ("v2_0", &[1][..], Version),
            ("V1_0", &[1], Version),
            ("null", &[1], Version),
            ("0:0", &[1, 1], Version),
            ("v1_0", &[], Unexpected { at: 3 }),
            ("v1_0", &[1, 1], Unexpected { at: 4 }),
            ("v1_0:", &[1, 1], Unexpected { at: 5 }),
            ("v1_0:,", &[1, 1], Unexpected { at: 5 }),
            ("v1_0:0", &[1], Unexpected { at: 4 }),
            ("v1_0,", &[1], Unexpected { at: 4 }),
            ("v1_0:0,,", &[1, 1], Unexpected { at: 7 }),
            ("v1_0:0 ", &[1, 1], Unexpected { at: 7 }),
            ("v1_0:0  0", &[1, 1], Unexpected { at: 7 }),
            ("v1_0:0-", &[1, 1], Unexpected { at: 7 }),
            ("v1_0:0-1-2", &[1, 3], Unexpected { at: 8 }),
            ("v1_0-1:0", &[2, 1], Unexpected { at: 4 }),
            ("v1_0 1:0", &[2, 1], Unexpected { at: 4 }),
            ("v1_00", &[1], Unexpected { at: 4 }),
            ("v1_+0", &[1], Unexpected { at: 3 }),
            ("v1_ 0", &[1], Unexpected { at: 3 }),
            ("v1_０", &[1], Unexpected { at: 3 }),
            ("v1_0\n", &[1], Unexpected { at: 4 }),
            ("v1_3", &[3], Position { at: 4 }),
            ("v1_0:9,", &[1, 9], Position { at: 6 }),
            ("v1_0-5", &[5], Position { at: 6 }),
            ("v1_2-1", &[5], Position { at: 6 }),
            ("v1_99999999999999999999999999", &[5], Position { at: 29 }),
            ("v1_0-4096", &[5_000], TooMany),
            ("v1_0-4999", &[5_000], TooMany),
            ("v1_0 0", &[1], Twice),
            ("v1_0-2 1", &[3], Twice),
            ("v1_0:0,1:0,0:0,", &[2, 1], Twice),
        ] {
            assert_eq!(decode(text, axes, LIMIT), Err(error), "{text} {axes:?}");
        }
        assert_eq!(decode("v1_0-4095", &[5_000], LIMIT).expect("as many as may be").len(), LIMIT);
        assert_eq!(decode("v1_0", &[1], 0), Err(TooMany));
    }

    /// Generates the number of values on each option, and some of their combinations.
    fn product() -> impl Strategy<Value = (Vec<usize>, BTreeSet<Vec<usize>>)> {
        prop::collection::vec(1..8_usize, 1..5).prop_flat_map(|axes| {
            let values = axes.iter().map(|values| 0..*values).collect::<Vec<_>>();
            let size: usize = axes.iter().product();
            let some = prop::collection::btree_set(values.clone(), 0..=size.min(60));
            // Products usually have most of their combinations.
            let most = prop::collection::btree_set(values, 0..4).prop_map({
                let axes = axes.clone();
                move |missing| all(&axes).into_iter().filter(|combination| !missing.contains(combination)).collect()
            });
            (Just(axes), prop_oneof![some, most])
        })
    }

    fn all(axes: &[usize]) -> Vec<Vec<usize>> {
        axes.iter().fold(vec![Vec::new()], |prefixes, values| {
            let below = |prefix: &Vec<usize>| {
                (0..*values).map(|value| [prefix.as_slice(), &[value]].concat()).collect::<Vec<_>>()
            };
            prefixes.iter().flat_map(below).collect()
        })
    }

    #[test]
    fn reads_back_what_an_encoder_wrote() {
        let (seen, sizes) = (RefCell::new([0_usize; 6]), RefCell::new(0_usize));
        let mut runner = TestRunner::new(Config::with_cases(1_500));
        let result = runner.run(&product(), |(axes, combinations)| {
            let text = encode(&combinations);
            let got = decode(&text, &axes, LIMIT).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
            prop_assert!(got.iter().eq(combinations.iter()), "{text}");
            let trimmed = text.trim_end_matches(',');
            prop_assert_eq!(decode(trimmed, &axes, LIMIT), Ok(got));
            if combinations.len() > 1 {
                prop_assert_eq!(decode(&text, &axes, combinations.len() - 1), Err(Undecodable::TooMany));
            }
            let mut seen = seen.borrow_mut();
            seen[0] += usize::from(combinations.is_empty());
            seen[1] += usize::from(text.contains('-'));
            seen[2] += usize::from(text.contains(' '));
            seen[3] += usize::from(text.contains(",,"));
            seen[4] += usize::from(axes.len() == 4);
            seen[5] += usize::from(combinations.len() < axes.iter().product());
            *sizes.borrow_mut() += combinations.len();
            Ok(())
        });
        assert!(result.is_ok(), "{result:?}");
        // Composition of the cases, so that they do not become trivial unnoticed.
        let (seen, sizes) = (seen.into_inner(), sizes.into_inner());
        assert!(seen[0] >= 5 && seen[1..].iter().all(|count| *count >= 150), "{seen:?}");
        assert!(sizes >= 20_000, "{sizes}");
    }

    proptest! {
        #![proptest_config(Config::with_cases(4_000))]

        #[test]
        fn any_text_is_read_or_refused(text in "(v1_)?([0-9:, \\-]|0:|,,|1-3|\\PC){0,24}", axes in prop::collection::vec(0..5_usize, 0..4), limit in 0..20_usize) {
            if let Ok(found) = decode(&text, &axes, limit) {
                prop_assert!(found.len() <= limit);
                for combination in &found {
                    prop_assert_eq!(combination.len(), axes.len());
                    prop_assert!(combination.iter().zip(&axes).all(|(position, values)| position < values));
                }
                prop_assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len());
            }
        }

        #[test]
        fn a_changed_text_never_yields_more_than_the_options_have((axes, combinations) in product(), at: prop::sample::Index, with in "[0-9:, \\-]") {
            let mut text = encode(&combinations);
            let at = at.index(text.len());
            text.replace_range(at..=at, &with);
            if let Ok(found) = decode(&text, &axes, LIMIT) {
                prop_assert!(found.iter().all(|combination| combination.iter().zip(&axes).all(|(position, values)| position < values)));
            }
        }
    }
}
