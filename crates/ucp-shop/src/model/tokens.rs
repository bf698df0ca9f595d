//! Splitting a text into the tokens of a model, as its `tokenizer.json` says.
//!
//! Three kinds are known: word pieces (BERT), pairs that are merged (BPE), and the likeliest pieces (Unigram); the last two in the
//! form of `SentencePiece`, where `▁` stands for a space.

use std::collections::HashMap;

use serde_json::Value;
use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

/// Stands for a space in pieces of `SentencePiece`.
const SPACE: char = '▁';

/// Maximum length of a word, in characters: longer ones, which only hostile texts have, are cut.
const LONGEST_WORD: usize = 64;

/// How much less likely a character without a piece is than the least likely piece.
const UNKNOWN: f32 = 10.0;

pub(super) struct Tokenizer {
    pieces: HashMap<String, usize>,
    /// Token of what has no piece, which says nothing.
    unknown: Option<usize>,
    lowercases: bool,
    drops_accents: bool,
    /// `true` if Chinese characters are words of their own.
    splits_han: bool,
    kind: Kind,
}

enum Kind {
    /// Pieces of words, the longest first; those within a word begin with this.
    WordPiece(String),
    /// Pairs of pieces that become one, with their rank and the token of the whole.
    Pairs(Merges),
    /// Pieces with the logarithm of their probability, and the length of the longest in characters.
    Likeliest { scores: Vec<f32>, least: f32, longest: usize },
}

impl Tokenizer {
    /// Reads a `tokenizer.json`. Fails with what is wrong with it.
    pub(super) fn read(json: &[u8]) -> Result<Self, String> {
        let json: Value = serde_json::from_slice(json).map_err(|error| format!("no JSON: {error}"))?;
        let steps: Vec<&Value> = ["normalizer", "pre_tokenizer"].iter().flat_map(|name| steps(&json[name])).collect();
        if steps.iter().any(|step| step["type"] == "ByteLevel") {
            return Err("`ByteLevel` is not supported; word pieces, and BPE or Unigram of SentencePiece are".to_owned());
        }
        let bert = steps.iter().find(|step| step["type"] == "BertNormalizer");
        let has = |kind: &str| steps.iter().any(|step| step["type"] == kind);
        let lowercases = has("Lowercase") || bert.is_some_and(|step| step["lowercase"].as_bool().unwrap_or(true));
        let drops_accents =
            has("StripAccents") || bert.is_some_and(|step| step["strip_accents"].as_bool().unwrap_or(lowercases));
        let splits_han = bert.is_some_and(|step| step["handle_chinese_chars"].as_bool().unwrap_or(true));
        let model = &json["model"];
        let token = |value: &Value| value.as_u64().and_then(|token| usize::try_from(token).ok());
        let (mut pieces, mut scores) = (HashMap::new(), Vec::new());
        match &model["vocab"] {
            Value::Object(vocabulary) => {
                for (piece, number) in vocabulary {
                    let number =
                        token(number).ok_or_else(|| format!("the token of `{}` is no number", piece.escape_debug()))?;
                    pieces.insert(piece.clone(), number);
                }
            }
            Value::Array(vocabulary) => {
                for (number, entry) in vocabulary.iter().enumerate() {
                    let (Some(piece), Some(score)) = (entry[0].as_str(), entry[1].as_f64()) else {
                        return Err(format!("piece {number} of the vocabulary has no text or no score"));
                    };
                    pieces.insert(piece.to_owned(), number);
                    #[expect(clippy::cast_possible_truncation, reason = "a score")]
                    scores.push(score as f32);
                }
            }
            _ => return Err("no vocabulary".to_owned()),
        }
        let unknown = match &model["unk_token"] {
            Value::String(piece) => pieces.get(piece).copied(),
            _ => token(&model["unk_id"]),
        };
        let kind = match (model["type"].as_str(), scores.is_empty()) {
            (Some("WordPiece"), true) => {
                Kind::WordPiece(model["continuing_subword_prefix"].as_str().unwrap_or("##").to_owned())
            }
            (Some("BPE"), true) => Kind::Pairs(pairs(&model["merges"], &pieces)?),
            (Some("Unigram"), false) => Kind::Likeliest {
                least: scores.iter().copied().fold(0.0, f32::min),
                longest: pieces.keys().map(|piece| piece.chars().count()).max().unwrap_or(1).min(LONGEST_WORD),
                scores,
            },
            _ => {
                return Err(format!(
                    "a tokenizer of the type {}, where WordPiece, BPE or Unigram is expected",
                    model["type"]
                ));
            }
        };
        Ok(Self { pieces, unknown, lowercases, drops_accents, splits_han, kind })
    }

    /// Returns the number of tokens: one more than the highest.
    pub(super) fn tokens(&self) -> usize {
        self.pieces.values().max().map_or(0, |most| most + 1)
    }

    /// Returns the tokens of a text, without those of what has no piece.
    pub(super) fn split(&self, text: &str) -> Vec<usize> {
        let mut normal: String = text.nfkc().filter(|letter| !letter.is_control() || letter.is_whitespace()).collect();
        if self.lowercases {
            normal = normal.to_lowercase();
        }
        if self.drops_accents {
            normal = normal.nfd().filter(|letter| !is_combining_mark(*letter)).collect();
        }
        let mut tokens = Vec::new();
        match &self.kind {
            Kind::WordPiece(within) => {
                for word in words(&normal, self.splits_han) {
                    self.word_pieces(word, within, &mut tokens);
                }
            }
            Kind::Pairs(pairs) => spaced(&normal).for_each(|word| self.merge(&word, pairs, &mut tokens)),
            Kind::Likeliest { scores, least, longest } => {
                spaced(&normal).for_each(|word| self.likeliest(&word, scores, least - UNKNOWN, *longest, &mut tokens));
            }
        }
        tokens.retain(|token| Some(*token) != self.unknown);
        tokens
    }

    /// Adds the longest pieces of a word, unless a part of it has none.
    fn word_pieces(&self, word: &str, within: &str, tokens: &mut Vec<usize>) {
        let ends: Vec<usize> =
            word.char_indices().map(|(at, _)| at).skip(1).chain([word.len()]).take(LONGEST_WORD).collect();
        let mut found = Vec::new();
        let (mut begin, mut piece) = (0, String::new());
        while begin < ends.last().copied().unwrap_or_default() {
            let longest = ends.iter().rev().take_while(|end| **end > begin).find_map(|end| {
                piece.clear();
                if begin > 0 {
                    piece.push_str(within);
                }
                piece.push_str(&word[begin..*end]);
                self.pieces.get(&piece).map(|token| (*end, *token))
            });
            let Some((end, token)) = longest else { return };
            found.push(token);
            begin = end;
        }
        tokens.append(&mut found);
    }

    /// Adds the pieces of a word that remain when its pairs are merged, the ones of the lowest rank first.
    fn merge(&self, word: &str, pairs: &Merges, tokens: &mut Vec<usize>) {
        let mut own = Vec::new();
        for letter in word.chars().take(LONGEST_WORD) {
            let mut text = [0; 4];
            let text = letter.encode_utf8(&mut text);
            match self.pieces.get(text) {
                Some(token) => own.push(*token),
                // Letters without a piece are spelled by their bytes.
                None => {
                    own.extend(text.bytes().filter_map(|byte| self.pieces.get(&format!("<0x{byte:02X}>")).copied()));
                }
            }
        }
        while let Some((at, (_, whole))) = own
            .windows(2)
            .enumerate()
            .filter_map(|(at, pair)| pairs.get(&(pair[0], pair[1])).map(|merged| (at, *merged)))
            .min_by_key(|(at, (rank, _))| (*rank, *at))
        {
            own.splice(at..at + 2, [whole]);
        }
        tokens.append(&mut own);
    }

    /// Adds the pieces of a word whose product of probabilities is the highest.
    fn likeliest(&self, word: &str, scores: &[f32], unknown: f32, longest: usize, tokens: &mut Vec<usize>) {
        let ends: Vec<usize> =
            word.char_indices().map(|(at, _)| at).chain([word.len()]).take(LONGEST_WORD + 1).collect();
        // Of each end: the score up to it, where its piece begins, and the token of that.
        let mut best: Vec<(f32, usize, Option<usize>)> = vec![(0.0, 0, None)];
        for end in 1..ends.len() {
            let from = |begin: usize| {
                let token = self.pieces.get(&word[ends[begin]..ends[end]]).copied();
                let score = match token {
                    Some(token) => scores.get(token).copied().unwrap_or(unknown),
                    None if begin + 1 == end => unknown,
                    None => return None,
                };
                Some((best[begin].0 + score, begin, token))
            };
            let own = (end.saturating_sub(longest)..end).filter_map(from).max_by(|a, b| a.0.total_cmp(&b.0));
            best.push(own.unwrap_or((f32::MIN, end - 1, None)));
        }
        let (mut own, mut at) = (Vec::new(), best.len() - 1);
        while at > 0 {
            own.extend(best[at].2);
            at = best[at].1;
        }
        tokens.extend(own.into_iter().rev());
    }
}

/// Returns the steps of a normalizer or pre-tokenizer, which can be a sequence.
fn steps(value: &Value) -> Vec<&Value> {
    let inner = value["normalizers"].as_array().or_else(|| value["pretokenizers"].as_array());
    match inner {
        Some(inner) => inner.iter().flat_map(steps).collect(),
        None => vec![value],
    }
}

/// Pairs of tokens that are merged: the rank of each, and the token that it becomes.
type Merges = HashMap<(usize, usize), (usize, usize)>;

/// Reads pairs, each as `a b` or as a list of two.
fn pairs(merges: &Value, pieces: &HashMap<String, usize>) -> Result<Merges, String> {
    let merges = merges.as_array().ok_or("no merges")?;
    let mut pairs = HashMap::with_capacity(merges.len());
    for (rank, merge) in merges.iter().enumerate() {
        let pair = match merge {
            Value::String(text) => text.split_once(' '),
            _ => merge[0].as_str().zip(merge[1].as_str()),
        };
        let (first, second) = pair.ok_or_else(|| format!("merge {rank} is no pair"))?;
        let token = |piece: &str| pieces.get(piece).copied();
        if let (Some(first), Some(second), Some(whole)) =
            (token(first), token(second), token(&format!("{first}{second}")))
        {
            pairs.entry((first, second)).or_insert((rank, whole));
        }
    }
    Ok(pairs)
}

/// Returns the words of a text, each with the space before it.
fn spaced(text: &str) -> impl Iterator<Item = String> {
    text.split_whitespace().map(|word| format!("{SPACE}{word}"))
}

/// Returns the words of a text as BERT has them: punctuation and, if `splits_han`, Chinese characters are words of their own.
fn words(text: &str, splits_han: bool) -> impl Iterator<Item = &str> {
    let is_alone = move |letter: char| {
        !letter.is_alphanumeric() && !letter.is_whitespace() && !is_combining_mark(letter)
            || splits_han
                && matches!(letter, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
    };
    text.split_whitespace()
        .flat_map(move |chunk| {
            chunk.split_inclusive(is_alone).flat_map(move |part| {
                let last = part
                    .char_indices()
                    .next_back()
                    .filter(|(_, letter)| is_alone(*letter))
                    .map_or(part.len(), |(at, _)| at);
                [&part[..last], &part[last..]]
            })
        })
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tokens(tokenizer: &Value, text: &str) -> Vec<String> {
        let tokenizer = Tokenizer::read(tokenizer.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        let of = |token: usize| tokenizer.pieces.iter().find(|(_, own)| **own == token).map(|(piece, _)| piece.clone());
        tokenizer.split(text).into_iter().map(|token| of(token).expect("a piece")).collect()
    }

    #[test]
    fn word_pieces_are_the_longest() {
        let vocabulary = ["[UNK]", "cafe", "run", "##ning", "##n", "##ing", ",", "鞋", "子"];
        let vocabulary: serde_json::Map<_, _> =
            vocabulary.iter().enumerate().map(|(at, piece)| ((*piece).to_owned(), at.into())).collect();
        let tokenizer = json!({
            "normalizer": {"type": "Sequence", "normalizers": [{"type": "BertNormalizer", "lowercase": true, "strip_accents": null}]},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocabulary},
        });
        assert_eq!(tokens(&tokenizer, "Running, CAFÉ  runx鞋子"), ["run", "##ning", ",", "cafe", "鞋", "子"]);
        assert!(tokens(&tokenizer, &"x".repeat(100_000)).is_empty());
    }

    #[test]
    fn pairs_are_merged_in_their_order_and_letters_without_a_piece_are_bytes() {
        let pieces = ["<unk>", "▁", "s", "h", "o", "e", "sh", "oe", "▁sh", "▁shoe", "<0xC3>", "<0xA9>"];
        let vocabulary: serde_json::Map<_, _> =
            pieces.iter().enumerate().map(|(at, piece)| ((*piece).to_owned(), at.into())).collect();
        let tokenizer = json!({
            "model": {
                "type": "BPE", "unk_token": "<unk>", "byte_fallback": true, "vocab": vocabulary,
                "merges": ["s h", ["o", "e"], "▁ sh", "▁sh oe"],
            },
        });
        assert_eq!(tokens(&tokenizer, "shoe hose é"), ["▁shoe", "▁", "h", "o", "s", "e", "▁", "<0xC3>", "<0xA9>"]);
    }

    #[test]
    fn the_likeliest_pieces_are_taken() {
        let tokenizer = json!({
            "pre_tokenizer": {"type": "Metaspace", "replacement": "▁"},
            "model": {
                "type": "Unigram", "unk_id": 0,
                "vocab": [["<unk>", 0.0], ["▁", -3.0], ["▁sho", -4.0], ["es", -2.0], ["▁shoe", -3.0], ["s", -2.5], ["▁shoes", -9.0]],
            },
        });
        assert_eq!(tokens(&tokenizer, "shoes"), ["▁shoe", "s"]);
        assert_eq!(tokens(&tokenizer, "xes"), ["▁", "es"], "what has no piece is left out");
    }
}
