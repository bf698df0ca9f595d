//! The tokens of a search text, and the ways in which a product can match each of them.

use std::collections::BTreeSet;

use tantivy::{Searcher, Term, schema::Field};
use ucp_core::text::words_of;

use super::{
    lexicon::{FREE, FREE_WORDS, Lexicon, key},
    numbers::{Amount, SET, amounts, digits},
    schema::{Fields, TEXTS, code_term, part_term},
    statistics::Statistics,
    synonyms::LONGEST_NAME,
    text::{count, fold_text, runs, split_words},
    vocabulary::Vocabulary,
};

/// Maximum length of a search text, in bytes; the rest is ignored.
const LONGEST_QUERY: usize = 2_048;

/// Maximum number of words of a text that are looked at, and of different tokens that come of them.
const MOST_WORDS: usize = 64;
const MOST_TOKENS: usize = 24;

/// Factor on the weight of the word that names the kind of product which is asked for, in halves.
const KIND: u32 = 4;

/// Words after which a text says what the product has or is for, folded.
const BESIDE: [&str; 14] =
    ["for", "with", "without", "in", "from", "under", "fur", "mit", "ohne", "aus", "voor", "met", "til", "med"];

/// Words that stand for a product, in front of what it is for, folded.
const SOMETHING: [&str; 6] = ["something", "anything", "etwas", "iets", "noget", "noe"];

/// Articles, folded: words of grammar that a name can begin with.
const ARTICLES: [&str; 19] = [
    "a", "an", "the", "der", "die", "das", "ein", "eine", "einen", "un", "une", "le", "la", "les", "el", "una", "il",
    "het", "een",
];

/// Maximum number of words of an intent that change the order.
const MOST_HINTS: usize = 12;

/// Maximum number of unknown words of a text that are corrected.
const MOST_CORRECTED: usize = 6;

/// Maximum number of compounds that a word is looked for in, at their ends and at their beginnings.
const MOST_HEADS: usize = 32;
const MOST_FIRST: usize = 16;

/// Maximum number of words that an identifier is spelled with, and of identifiers that begin with a text.
const MOST_CODE_WORDS: usize = 4;
const MOST_CODES: usize = 16;

/// Units of an integer score per BM25 point.
pub(super) const UNIT: f32 = 64.0;

/// Score of a matching identifier, more than words can reach; and of a part of one.
const CODE_SCORE: u32 = 40 * 64;
const PART_SCORE: u32 = 20 * 64;

/// Score of a correction that was unknown when the statistics were made.
const CORRECTED_NEW: u32 = 64;

/// Factors on the score of a word that matches in another way than by itself: by correction, as the parts of a compound,
/// as the end or the beginning of a compound, as the last part of a compound that is asked for, joined with its neighbor,
/// and as a word of the intent.
const CORRECTED: f32 = 0.4;
const PARTS: f32 = 0.7;
const HEAD: f32 = 0.7;
const FIRST: f32 = 0.25;
const LAST: f32 = 0.3;
const JOINED: f32 = 0.8;
const HINT: f32 = 0.3;

/// One way in which a product can match a token.
pub(super) enum Leaf {
    /// A stem in any of the text fields, with its score multiplied by `factor`.
    Stem { stem: String, factor: f32 },
    /// A term with a fixed score.
    Flat { text: String, field: Field, score: u32 },
    /// A stem of each part, in any of the text fields.
    Joint { parts: Vec<Vec<String>>, factor: f32 },
}

/// A token of a query.
pub(super) struct Token {
    pub(super) leaves: Vec<Leaf>,
    /// Approximate number of products that have it. Rare tokens are evaluated first.
    pub(super) freq: u64,
    /// Weight in the rank of a product; rare words have more.
    pub(super) weight: u32,
    /// `true` if products had it when the statistics were made.
    pub(super) is_known: bool,
    /// `true` for the word that names the kind of product which is asked for.
    pub(super) is_kind: bool,
    /// `true` for a number of something, which says little about a product that has nothing else of the text.
    pub(super) is_amount: bool,
    /// What is not asked for, of a token that says that it is not there.
    pub(super) excludes: Option<Box<Excluded>>,
}

/// What is not asked for.
pub(super) struct Excluded {
    /// Its word.
    pub(super) has: Token,
    /// Words that say that it is not there, with the word in them.
    pub(super) says: Token,
}

/// The tokens of a text.
#[derive(Default)]
pub(super) struct Read {
    pub(super) tokens: Vec<Token>,
    /// Those of what the caller says about the text.
    pub(super) hints: Vec<Token>,
    pub(super) corrected: Vec<String>,
    /// `true` if the whole text is an identifier.
    pub(super) is_code: bool,
}

/// A token in the making.
struct Draft {
    /// Its words, by their places in the text.
    begin: usize,
    end: usize,
    /// The term of an amount.
    amount: Option<String>,
    is_amount: bool,
    is_excluded: bool,
    excludes: Option<Box<Excluded>>,
    leaves: Vec<Leaf>,
}

/// Reads a search text and what the caller says about it.
pub(super) fn read(
    text: &str,
    intent: Option<&str>,
    fields: &Fields,
    lexicon: &Lexicon,
    statistics: &Statistics,
    searcher: &Searcher,
) -> tantivy::Result<Read> {
    let text = &text[..text.floor_char_boundary(LONGEST_QUERY)];
    let vocabulary = Vocabulary { fields, statistics, searcher };
    let reader = Reader { vocabulary, fields, lexicon };
    let whole = code_term(text);
    let mut read =
        Read { is_code: searcher.doc_freq(&Term::from_field_text(fields.codes, &whole))? > 0, ..Read::default() };
    let words = Words::of(text);
    let mut drafts = reader.drafts(&words);
    reader.add_codes(&words, &whole, &mut drafts)?;
    reader.add_names(&words, &mut drafts);
    let sets: Vec<Draft> = drafts.iter().filter_map(|draft| reader.set(&words, draft)).collect();
    for draft in &mut drafts {
        reader.add_word(&words, draft, &mut read)?;
    }
    drafts.extend(sets);
    let is_plain = drafts.len() > 1 && !drafts.iter().any(|draft| draft.is_excluded);
    let kind = reader.kind(&words, &drafts).filter(|_| is_plain);
    let tokens = drafts.into_iter().enumerate().map(|(at, draft)| {
        let token = reader.token(draft.leaves);
        let is_kind = kind == Some(at);
        let weight = token.weight * if is_kind { KIND } else { 2 } / 2;
        Token { weight, is_kind, is_amount: draft.is_amount, excludes: draft.excludes, ..token }
    });
    read.tokens = tokens.collect();
    // However rare a number is, the words say what is asked for.
    let named = read.tokens.iter().filter(|token| token.is_known && !token.is_amount);
    if let Some(most) = named.map(|token| token.weight).max() {
        for amount in read.tokens.iter_mut().filter(|token| token.is_amount) {
            amount.weight = amount.weight.min(most);
        }
    }
    read.tokens.sort_by_key(|token| token.freq);
    if let Some(intent) = intent {
        let said = Words::of(&intent[..intent.floor_char_boundary(LONGEST_QUERY)]);
        let mut seen: BTreeSet<&str> = words.words.iter().map(|word| word.text.as_str()).collect();
        for word in &said.words {
            if read.hints.len() < MOST_HINTS && !lexicon.is_stop_word(&word.text) && seen.insert(&word.text) {
                read.hints.push(reader.token(reader.stems(&word.text, HINT)));
            }
        }
    }
    Ok(read)
}

/// A word of a text, with the place of what it was written in without spaces.
struct Word {
    text: String,
    chunk: usize,
}

/// The words of a text.
struct Words {
    words: Vec<Word>,
    /// Folded, with their punctuation.
    chunks: Vec<String>,
    amounts: Vec<Amount>,
}

impl Words {
    fn of(text: &str) -> Self {
        let chunks: Vec<String> = text.split_whitespace().take(MOST_WORDS).map(fold_text).collect();
        let of_chunk = |(chunk, text): (usize, &String)| {
            split_words(text).into_iter().map(move |text| Word { text, chunk }).collect::<Vec<_>>()
        };
        let words: Vec<Word> = chunks.iter().enumerate().flat_map(of_chunk).take(MOST_WORDS).collect();
        let mut amounts = amounts(&chunks.join(" "), count);
        amounts.retain(|amount| amount.end <= words.len());
        // The longest first.
        amounts.sort_by_key(|amount| std::cmp::Reverse(amount.end - amount.begin));
        Self { words, chunks, amounts }
    }

    fn texts(&self, begin: usize, end: usize) -> Vec<String> {
        self.words[begin..end].iter().map(|word| word.text.clone()).collect()
    }
}

struct Reader<'a> {
    vocabulary: Vocabulary<'a>,
    fields: &'a Fields,
    lexicon: &'a Lexicon,
}

impl Reader<'_> {
    /// The tokens of a text, each once, without ways to match them.
    fn drafts(&self, text: &Words) -> Vec<Draft> {
        let lexicon = self.lexicon;
        let words = &text.words;
        let mut taken = vec![false; words.len()];
        let mut drafts: Vec<Draft> = Vec::new();
        let draft = |begin, end, amount: Option<String>| Draft {
            begin,
            end,
            is_amount: amount.is_some(),
            amount,
            is_excluded: false,
            excludes: None,
            leaves: Vec::new(),
        };
        for amount in &text.amounts {
            if !taken[amount.begin..amount.end].iter().any(|taken| *taken) {
                taken[amount.begin..amount.end].fill(true);
                drafts.push(draft(amount.begin, amount.end, Some(amount.term.clone())));
            }
        }
        let mut is_excluded = vec![false; words.len()];
        let is_stop = |at: usize| lexicon.is_stop_word(&words[at].text);
        let has_others = !drafts.is_empty() || (0..words.len()).any(|at| !is_stop(at));
        for at in 0..words.len() {
            let next = (at + 1..words.len()).find(|next| !is_stop(*next));
            if lexicon.excludes(&words[at].text)
                && at > 0
                && !taken[at]
                && let Some(next) = next.filter(|next| *next <= at + 2)
            {
                taken[at] = true;
                is_excluded[next] = true;
            } else if lexicon.excludes(&words[at].text)
                && !taken[at]
                && let Some(next) = next.filter(|next| *next == at + 1 && *next + 1 < words.len())
            {
                taken[at] = true;
                is_excluded[next] = true;
            }
        }
        for at in 0..words.len() {
            if !(taken[at] || has_others && is_stop(at)) {
                drafts.push(Draft { is_excluded: is_excluded[at], ..draft(at, at + 1, None) });
            }
        }
        drafts.sort_by_key(|draft| draft.begin);
        let mut seen = BTreeSet::new();
        drafts.retain(|draft| seen.insert(text.texts(draft.begin, draft.end)));
        drafts.truncate(MOST_TOKENS);
        drafts
    }

    /// Returns the position of the draft that names the kind of product which is asked for: `boots` of "red leather boots with
    /// fur", `bottes` of "bottes rouges". A sentence names none: it has other stop words than articles before that.
    fn kind(&self, text: &Words, drafts: &[Draft]) -> Option<usize> {
        let beside = text.words.iter().position(|word| BESIDE.contains(&word.text.as_str())).unwrap_or(usize::MAX);
        let mut kinds =
            drafts.iter().enumerate().filter(|(_, draft)| !draft.is_amount && !draft.is_excluded).map(|(at, _)| at);
        if self.fields.analysis().is_kind_first() {
            return kinds.next();
        }
        let all: Vec<_> = kinds.collect();
        let named = all.iter().rev().find(|at| drafts[**at].begin < beside);
        // Of "something for the wall of my room", it is the wall.
        let is_something =
            (1..text.words.len()).contains(&beside) && SOMETHING.contains(&text.words[beside - 1].text.as_str());
        let needed = || all.iter().find(|at| is_something && drafts[**at].begin > beside);
        let kind = named.or_else(needed).or(all.last()).copied()?;
        let end = drafts[kind].begin;
        let begin = if named.is_none() && is_something { (beside + 1).min(end) } else { 0 };
        let before = &text.words[begin..end];
        let is_grammar = |word: &str| self.lexicon.is_stop_word(word) && !ARTICLES.contains(&word);
        let is_phrase = !before.iter().any(|word| is_grammar(&word.text));
        is_phrase.then_some(kind)
    }

    /// Returns the word of a number of things in a set as a draft of its own: of `set of 6`, a set of four is nearer than no set.
    fn set(&self, text: &Words, draft: &Draft) -> Option<Draft> {
        let term = draft.amount.as_ref().filter(|term| term.ends_with(SET))?;
        let words = text.texts(draft.begin, draft.end);
        let is_name = |word: &&String| word.chars().all(char::is_alphabetic) && !self.lexicon.is_stop_word(word);
        let word = words.iter().rev().find(is_name)?;
        let mut leaves = self.stems(word, 1.0);
        leaves.push(Leaf::Stem { stem: term.clone(), factor: 1.0 });
        Some(Draft {
            begin: draft.begin,
            end: draft.end,
            amount: None,
            is_amount: true,
            is_excluded: false,
            excludes: None,
            leaves,
        })
    }

    /// Adds the identifiers that words are a part of.
    fn add_codes(&self, text: &Words, whole: &str, drafts: &mut [Draft]) -> tantivy::Result<()> {
        let codes = self.fields.codes;
        let flat = |text: String, score| Leaf::Flat { text, field: codes, score };
        for draft in &mut *drafts {
            let chunks: BTreeSet<usize> = text.words[draft.begin..draft.end].iter().map(|word| word.chunk).collect();
            let own: BTreeSet<String> =
                chunks.into_iter().map(|chunk| code_term(&text.chunks[chunk])).chain([whole.to_owned()]).collect();
            draft.leaves.extend(own.into_iter().map(|code| flat(code, CODE_SCORE)));
        }
        for begin in 0..text.chunks.len() {
            for end in begin + 1..=text.chunks.len().min(begin + MOST_CODE_WORDS) {
                let bare: String = text.chunks[begin..end].iter().flat_map(|chunk| words_of(chunk)).collect();
                let Some(term) = part_term(&bare) else { continue };
                let longer = self.vocabulary.beginning(codes, &term)?;
                let found = longer.into_iter().take(MOST_CODES).map(|code| (code, PART_SCORE / 2));
                let found: Vec<_> = [(term, PART_SCORE)].into_iter().chain(found).collect();
                for draft in &mut *drafts {
                    let is_in = |word: &Word| (begin..end).contains(&word.chunk);
                    if text.words[draft.begin..draft.end].iter().all(is_in) {
                        draft.leaves.extend(found.iter().map(|(code, score)| flat(code.clone(), *score)));
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds the other names of words, and of words in a row, and the words that those in a row can be joined to.
    fn add_names(&self, text: &Words, drafts: &mut [Draft]) {
        let (lexicon, analysis) = (self.lexicon, self.fields.analysis());
        let keys: Vec<String> = text.words.iter().map(|word| key(analysis, std::slice::from_ref(&word.text))).collect();
        for begin in 0..text.words.len() {
            for end in begin + 1..=text.words.len().min(begin + LONGEST_NAME) {
                let name = text.texts(begin, end);
                let mut own: Vec<_> = drafts
                    .iter_mut()
                    .filter(|draft| draft.begin >= begin && draft.end <= end && !draft.is_excluded)
                    .collect();
                if own.is_empty() {
                    continue;
                }
                #[expect(clippy::cast_precision_loss, reason = "a few")]
                let share = (own.len() as f32).recip();
                let joined = (end > begin + 1).then(|| name.concat());
                let mut add = |words: &[String], factor: f32| {
                    for draft in &mut own {
                        let leaf = match words {
                            [] => continue,
                            [word] => {
                                draft.leaves.extend(self.stems(word, factor * share));
                                continue;
                            }
                            words => {
                                let parts = words.iter().map(|word| self.fields.analysis().query_stems(word)).collect();
                                Leaf::Joint { parts, factor: factor * share }
                            }
                        };
                        draft.leaves.push(leaf);
                    }
                };
                for synonym in lexicon.synonyms(&keys[begin..end].join(" ")) {
                    add(&synonym.words, synonym.factor);
                }
                if let Some(joined) = joined {
                    if self.vocabulary.has(&joined) {
                        add(std::slice::from_ref(&joined), JOINED / share);
                    }
                    for synonym in lexicon.synonyms(&key(analysis, std::slice::from_ref(&joined))) {
                        add(&synonym.words, synonym.factor);
                    }
                }
            }
        }
    }

    /// Adds the ways in which a product can have a word itself.
    fn add_word(&self, text: &Words, draft: &mut Draft, read: &mut Read) -> tantivy::Result<()> {
        let words = text.texts(draft.begin, draft.end);
        if let Some(term) = draft.amount.take() {
            draft.leaves.push(Leaf::Stem { stem: term, factor: 1.0 });
            let parts: Vec<String> = match &*words {
                [word] => {
                    draft.leaves.extend(self.stems(word, 1.0));
                    runs(word).into_iter().map(str::to_owned).collect()
                }
                words => words.iter().filter(|word| !self.lexicon.is_stop_word(word)).cloned().collect(),
            };
            draft.leaves.extend(self.joint(&parts, 0.5));
            return Ok(());
        }
        let [word] = &*words else { return Ok(()) };
        if draft.is_excluded {
            self.add_excluded(word, draft);
            return Ok(());
        }
        let analysis = self.fields.analysis();
        draft.leaves.extend(self.stems(word, 1.0));
        draft.leaves.extend(digits(word).map(|digits| Leaf::Stem { stem: digits.to_owned(), factor: 0.8 }));
        let runs: Vec<String> = runs(word).into_iter().map(str::to_owned).collect();
        draft.leaves.extend(self.joint(&runs, PARTS));
        for other in other_forms(word) {
            draft.leaves.extend(self.stems(&other, 0.8));
        }
        let is_known = self.vocabulary.has(word);
        if analysis.is_compounding() {
            for stem in analysis.query_stems(word) {
                let compounds = self.vocabulary.ending_with(&stem, MOST_HEADS)?;
                draft.leaves.extend(compounds.into_iter().map(|stem| Leaf::Stem { stem, factor: HEAD }));
            }
            if word.chars().count() > 3 {
                let compounds = self.vocabulary.beginning_with(word, MOST_FIRST)?;
                draft.leaves.extend(compounds.into_iter().map(|stem| Leaf::Stem { stem, factor: FIRST }));
            }
        }
        if !is_known && !self.is_known(&draft.leaves) && read.corrected.len() < MOST_CORRECTED {
            self.correct(word, draft, read)?;
        }
        if let Some(parts) = (!is_known || analysis.is_compounding()).then(|| self.vocabulary.parts(word)).flatten() {
            draft.leaves.extend(self.joint(&parts, PARTS));
            if analysis.is_compounding() {
                draft.leaves.extend(self.stems(&parts[1], LAST));
                for stem in analysis.query_stems(&parts[1]) {
                    let compounds = self.vocabulary.ending_with(&stem, MOST_HEADS)?;
                    draft.leaves.extend(compounds.into_iter().map(|stem| Leaf::Stem { stem, factor: LAST }));
                }
            }
        }
        if analysis.is_compounding() && !self.is_known(&draft.leaves) {
            let begin = self.vocabulary.first_part(word);
            draft.leaves.extend(begin.into_iter().flat_map(|begin| self.stems(begin, LAST)));
        }
        Ok(())
    }

    /// Adds the words that an unknown one can be mistyped for.
    fn correct(&self, word: &str, draft: &mut Draft, read: &mut Read) -> tantivy::Result<()> {
        if self.lexicon.is_word(word) {
            return Ok(());
        }
        let near = self.vocabulary.near(word)?;
        // Products that are newer than the statistics may have the word after all.
        let mut is_somewhere = self.is_there(self.fields.words, word)?;
        for leaf in &draft.leaves {
            is_somewhere = is_somewhere
                || match leaf {
                    Leaf::Flat { text, field, .. } => self.is_there(*field, text)?,
                    Leaf::Stem { stem, .. } => self.is_there(self.fields.texts[0], stem)?,
                    Leaf::Joint { .. } => false,
                };
        }
        if !(is_somewhere || near.known.is_empty() && near.new.is_empty()) {
            read.corrected.push(word.to_owned());
        }
        for word in near.known {
            draft.leaves.extend(self.stems(&word, CORRECTED));
        }
        let field = self.fields.words;
        let new = near.new.into_iter().map(|text| Leaf::Flat { text, field, score: CORRECTED_NEW });
        draft.leaves.extend(new);
        Ok(())
    }

    /// Adds the ways to say that a product has not what a word names, and excludes those that have it.
    fn add_excluded(&self, word: &str, draft: &mut Draft) {
        let stems = self.fields.analysis().query_stems(word);
        let mut roots = stems.clone();
        roots.push(word.to_owned());
        let said = || {
            let mut leaves = Vec::new();
            for root in &roots {
                for end in FREE {
                    leaves.extend(self.stems(&format!("{root}{end}"), 1.0));
                }
            }
            for name in [[word.to_owned(), "free".to_owned()], ["without".to_owned(), word.to_owned()]] {
                for synonym in self.lexicon.synonyms(&key(self.fields.analysis(), &name)) {
                    let parts = synonym.words.iter().map(|word| self.fields.analysis().query_stems(word)).collect();
                    leaves.push(Leaf::Joint { parts, factor: synonym.factor });
                }
            }
            leaves
        };
        draft.leaves.extend(said());
        let free = FREE_WORDS.iter().flat_map(|word| self.fields.analysis().query_stems(word)).collect();
        draft.leaves.push(Leaf::Joint { parts: vec![stems, free], factor: 1.0 });
        draft.excludes = Some(Box::new(Excluded { has: self.token(self.stems(word, 1.0)), says: self.token(said()) }));
    }

    fn is_there(&self, field: Field, text: &str) -> tantivy::Result<bool> {
        Ok(self.vocabulary.searcher.doc_freq(&Term::from_field_text(field, text))? > 0)
    }

    /// Returns `true` if products had one of these when the statistics were made.
    fn is_known(&self, leaves: &[Leaf]) -> bool {
        leaves.iter().any(|leaf| match leaf {
            Leaf::Stem { stem, .. } => self.vocabulary.stem_freq(stem) > 0,
            Leaf::Flat { .. } => false,
            Leaf::Joint { parts, .. } => {
                parts.iter().all(|part| part.iter().any(|stem| self.vocabulary.stem_freq(stem) > 0))
            }
        })
    }

    fn stems(&self, word: &str, factor: f32) -> Vec<Leaf> {
        let stems = self.fields.analysis().query_stems(word);
        stems.into_iter().map(|stem| Leaf::Stem { stem, factor }).collect()
    }

    fn joint(&self, words: &[String], factor: f32) -> Option<Leaf> {
        let parts = || words.iter().map(|word| self.fields.analysis().query_stems(word)).collect();
        (words.len() > 1).then(|| Leaf::Joint { parts: parts(), factor })
    }

    /// Makes a token of the ways to match it, each once.
    fn token(&self, leaves: Vec<Leaf>) -> Token {
        let mut own: Vec<Leaf> = Vec::with_capacity(leaves.len());
        for leaf in leaves {
            let same = own.iter_mut().find_map(|known| match (known, &leaf) {
                (Leaf::Stem { stem, factor }, Leaf::Stem { stem: other, factor: more }) if stem == other => {
                    *factor = factor.max(*more);
                    Some(())
                }
                (Leaf::Flat { text, score, .. }, Leaf::Flat { text: other, score: more, .. }) if text == other => {
                    *score = (*score).max(*more);
                    Some(())
                }
                _ => None,
            });
            if same.is_none() {
                own.push(leaf);
            }
        }
        let (mut freq, mut most) = (1, 0);
        for leaf in &own {
            if let Leaf::Stem { stem, factor } = leaf {
                let sum: u64 =
                    (0..TEXTS.len()).map(|field| u64::from(self.vocabulary.statistics.doc_freq(field, stem))).sum();
                freq += sum;
                if *factor >= 0.5 {
                    most = most.max(self.vocabulary.stem_freq(stem));
                }
            }
        }
        let docs = self.vocabulary.statistics.docs.max(1);
        #[expect(clippy::cast_precision_loss, reason = "a weight")]
        let rarity = (1.0 + docs as f64 / (1.0 + f64::from(most))).ln();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
        let weight = (rarity * 64.0) as u32 + 1;
        let is_stem = |leaf: &&Leaf| matches!(leaf, Leaf::Stem { .. });
        let is_known = own.iter().filter(is_stem).any(|leaf| self.is_known(std::slice::from_ref(leaf)));
        Token { leaves: own, freq, weight, is_known, is_kind: false, is_amount: false, excludes: None }
    }
}

/// Other spellings of a word that folding does not make equal: `ae` for an umlaut, and the articles and prepositions that
/// Arabic and Hebrew write with the word.
fn other_forms(word: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for (two, one) in [("ae", "a"), ("oe", "o"), ("ue", "u")] {
        if word.contains(two) {
            forms.push(word.replace(two, one));
        }
    }
    if let Some(rest) = word.strip_prefix("ال") {
        forms.push(rest.to_owned());
    } else if word.starts_with(|letter| ('\u{620}'..='\u{64a}').contains(&letter)) {
        forms.push(format!("ال{word}"));
    }
    if word.starts_with(|letter| ('\u{5d0}'..='\u{5ea}').contains(&letter)) {
        forms.push(format!("ה{word}"));
        let rest = word.strip_prefix(['ה', 'ו', 'ב', 'כ', 'ל', 'מ', 'ש']);
        forms.extend(rest.filter(|rest| rest.chars().count() > 2).map(str::to_owned));
    }
    forms
}
