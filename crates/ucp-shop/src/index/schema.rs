//! Fields of the index, and the document of a product.
//!
//! Texts are indexed by stem, field by field, because a word counts more in a title than in a description. Filters are
//! evaluated on columns, variant by variant: an *offer* is the price and availability of a variant in one currency,
//! packed into an integer. Where variants have categories of their own, each offer is also listed beside each category
//! that it is under. A column for a currency has values only for products that are shown in it.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use tantivy::{
    TantivyDocument,
    schema::{FAST, Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions},
};
use ucp_core::{
    catalog::{
        filter::CategoryPath,
        market::Market,
        product::{Category, Description},
        record::{Record, VariantRecord},
    },
    money::Currency,
    text::{fold, words_of},
};
use ucp_import::html::to_text;

use super::{
    text::{Analysis, Words},
    vectors::{VECTOR, bytes},
};
use crate::model::Model;

/// Version of documents and terms. A change of it has older indexes rebuilt.
const VERSION: u32 = 2;

/// Text fields, with the weight of a word in them.
pub(super) const TEXTS: [(&str, f32); 6] =
    [("title", 4.0), ("kinds", 2.0), ("brand", 2.5), ("tags", 2.0), ("options", 1.5), ("description", 1.0)];

/// Number of the first of [`TEXTS`] that name a product: its title and its categories.
pub(super) const NAMING: usize = 2;

/// Words of a title behind which it says what the product is for: of a cover for a phone, the phone is no more than an
/// option.
const FOR: &[&str] = &[" for ", " für ", " pour ", " para ", " per ", " voor ", " för ", " til ", " compatible with "];

/// Maximum length of an identifier that can be searched for as a whole, in bytes.
const LONGEST_CODE: usize = 256;

/// Number of words of a description that are indexed.
const LONGEST_TEXT: usize = 64 << 10;

/// Fields of the index of one market.
pub(super) struct Fields {
    pub(super) schema: Schema,
    /// Everything that decides how documents are made, as text.
    pub(super) fingerprint: String,
    /// Position of the product in the shop's order.
    pub(super) seq: Field,
    /// Stems, in the order of [`TEXTS`].
    pub(super) texts: [Field; TEXTS.len()],
    /// Words of these texts without stemming, for the correction of mistyped words.
    pub(super) words: Field,
    /// Stems of the same words, read from their ends, in languages that write compounds as one word.
    pub(super) heads: Field,
    /// Ids, handles, SKUs and barcodes, folded, each as one term; and as letters and digits, from each of their parts on.
    pub(super) codes: Field,
    /// The categories of the product and its variants, with those above them.
    pub(super) categories: Field,
    /// The currencies of the market, its own first, with the columns of offers.
    pub(super) currencies: Vec<CurrencyFields>,
    /// Hashes of categories, one beside each value of the `scoped` columns.
    scope: Field,
    /// Vectors, with the model that they are made with, if there is one.
    vector: Option<(Field, Arc<Model>)>,
    analysis: Analysis,
    language: String,
}

/// The columns of one currency.
pub(super) struct CurrencyFields {
    pub(super) currency: Currency,
    offers: Field,
    scoped: Field,
}

/// The name of the column of all offers in a currency.
pub(super) fn offers_column(currency: Currency) -> String {
    format!("offers_{currency}")
}

/// The name of the column of offers under the categories of [`SCOPE`].
pub(super) fn scoped_column(currency: Currency) -> String {
    format!("scoped_{currency}")
}

pub(super) const SEQ: &str = "seq";
pub(super) const SCOPE: &str = "scope";

/// A variant's price in minor units and whether it is available, as one integer. Amounts take 53 bits.
pub(super) fn pack(price: i64, available: bool) -> u64 {
    price.unsigned_abs() << 1 | u64::from(available)
}

/// Reverses [`pack`].
pub(super) fn unpack(offer: u64) -> (i64, bool) {
    ((offer >> 1).cast_signed(), offer & 1 == 1)
}

/// A category's text as a column can hold it: the first 64 bits of SHA-256, so that nobody finds two with one hash.
pub(super) fn scope_hash(key: &str) -> u64 {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(key);
    digest.iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}

impl Fields {
    pub(super) fn new(market: &Market, model: Option<Arc<Model>>) -> Self {
        let mut builder = Schema::builder();
        let text = |tokenizer, option, norms| {
            TextOptions::default().set_indexing_options(
                TextFieldIndexing::default().set_tokenizer(tokenizer).set_index_option(option).set_fieldnorms(norms),
            )
        };
        let stems = text("whitespace", IndexRecordOption::WithFreqs, true);
        let column = NumericOptions::default().set_fast();
        let seq = builder.add_u64_field(SEQ, column.clone().set_indexed());
        let texts = TEXTS.map(|(name, _)| builder.add_text_field(name, stems.clone()));
        let words = builder.add_text_field("words", text("whitespace", IndexRecordOption::Basic, false));
        let heads = builder.add_text_field("heads", text("whitespace", IndexRecordOption::Basic, false));
        let codes = builder.add_text_field("codes", text("raw", IndexRecordOption::Basic, false));
        let categories = builder.add_text_field("categories", text("raw", IndexRecordOption::Basic, false));
        let scope = builder.add_u64_field(SCOPE, column.clone());
        let mut traded = vec![market.currency];
        for currency in &market.currencies {
            if !traded.contains(currency) {
                traded.push(*currency);
            }
        }
        let currencies: Vec<_> = traded
            .iter()
            .map(|currency| CurrencyFields {
                currency: *currency,
                offers: builder.add_u64_field(&offers_column(*currency), column.clone()),
                scoped: builder.add_u64_field(&scoped_column(*currency), column.clone()),
            })
            .collect();
        let analysis = Analysis::new(market);
        let mut fingerprint = format!("{VERSION} {traded:?} {:?} {:?}", market.language, market.languages);
        if let Some(model) = &model {
            fingerprint = format!("{fingerprint} {}", model.id());
        }
        let vector = model.map(|model| (builder.add_bytes_field(VECTOR, FAST), model));
        Self {
            schema: builder.build(),
            fingerprint,
            seq,
            texts,
            words,
            heads,
            codes,
            categories,
            currencies,
            scope,
            vector,
            analysis,
            language: market.language.clone(),
        }
    }

    pub(super) const fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    /// The model that vectors are made with, if there is one.
    pub(super) fn model(&self) -> Option<&Arc<Model>> {
        self.vector.as_ref().map(|(_, model)| model)
    }

    /// The fields that statistics are kept of: the texts, then the words.
    pub(super) fn counted(&self) -> Vec<Field> {
        self.texts.into_iter().chain([self.words]).collect()
    }

    /// The document of a product.
    pub(super) fn document(&self, seq: i64, record: &Record) -> TantivyDocument {
        let mut document = TantivyDocument::default();
        document.add_u64(self.seq, seq.cast_unsigned());
        let (mut words, mut heads) = (BTreeSet::new(), BTreeSet::new());
        let texts = texts(record, &self.language);
        for (field, texts) in self.texts.iter().zip(texts) {
            let mut stems = Vec::new();
            for (tag, text) in texts.iter() {
                let Words { words: mut own, others, amounts } = Words::of(text);
                own.extend(others);
                let mut own_stems = self.analysis.stems(tag, text, &own);
                if self.analysis.is_compounding() {
                    heads.extend(own_stems.iter().map(|stem| reversed(stem)));
                }
                stems.append(&mut own_stems);
                stems.extend(amounts.into_iter().map(|amount| amount.term));
                words.extend(own);
            }
            if texts.is_set {
                stems.sort_unstable();
                stems.dedup();
            }
            if !stems.is_empty() {
                document.add_text(*field, stems.join(" "));
            }
        }
        document.add_text(self.words, words.into_iter().collect::<Vec<_>>().join(" "));
        if !heads.is_empty() {
            document.add_text(self.heads, heads.into_iter().collect::<Vec<_>>().join(" "));
        }
        for code in codes(record) {
            document.add_text(self.codes, code);
        }
        if let Some((field, model)) = &self.vector
            && let Some(vector) = model.embed(&essence(record))
        {
            document.add_bytes(*field, &bytes(&vector));
        }
        self.add_offers(&mut document, record);
        document
    }

    fn add_offers(&self, document: &mut TantivyDocument, record: &Record) {
        let ancestry = |categories: &[Category]| -> BTreeSet<String> {
            categories.iter().flat_map(|category| CategoryPath::of(category).ancestry().collect::<Vec<_>>()).collect()
        };
        let common = ancestry(&record.categories);
        let own: Vec<BTreeSet<String>> = record.variants.iter().map(|variant| ancestry(&variant.categories)).collect();
        let all: BTreeSet<&String> = common.iter().chain(own.iter().flatten()).collect();
        for category in &all {
            document.add_text(self.categories, category.as_str());
        }
        let shown = record.currencies();
        let shown: Vec<_> = self.currencies.iter().filter(|fields| shown.contains(&fields.currency)).collect();
        for fields in &shown {
            let offers: BTreeSet<u64> = record.variants.iter().map(|variant| offer(variant, fields.currency)).collect();
            for offer in offers {
                document.add_u64(fields.offers, offer);
            }
        }
        if all.len() == common.len() {
            // Every variant is in the same categories.
            return;
        }
        // One row for each category and each way in which its variants are offered, in all currencies at once, so that
        // the columns stay aligned.
        let mut rows = BTreeSet::new();
        for (variant, own) in record.variants.iter().zip(&own) {
            let offers: Vec<_> = shown.iter().map(|fields| offer(variant, fields.currency)).collect();
            for category in common.iter().chain(own) {
                rows.insert((scope_hash(category), offers.clone()));
            }
        }
        for (scope, offers) in rows {
            document.add_u64(self.scope, scope);
            for (fields, offer) in shown.iter().zip(offers) {
                document.add_u64(fields.scoped, offer);
            }
        }
    }
}

/// Offer of a variant in a currency that it is priced in.
fn offer(variant: &VariantRecord, currency: Currency) -> u64 {
    let foreign = variant.prices.iter().find(|price| price.currency == currency);
    let price =
        foreign.filter(|_| variant.price.currency != currency).map_or(variant.price.amount, |price| price.amount);
    pack(price.minor(), variant.availability.available)
}

/// The texts of one field, each with its language.
#[derive(Default)]
struct Texts<'a> {
    texts: Vec<(&'a str, Cow<'a, str>)>,
    /// `true` for a set of names, in which repetitions do not count.
    is_set: bool,
}

impl<'a> Texts<'a> {
    fn add(&mut self, tag: &'a str, text: impl Into<Cow<'a, str>>) {
        self.texts.push((tag, text.into()));
    }

    fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(tag, text)| (*tag, &text[..text.floor_char_boundary(LONGEST_TEXT)]))
    }
}

/// The texts of a product, in the order of [`TEXTS`].
fn texts<'a>(record: &'a Record, own: &'a str) -> [Texts<'a>; TEXTS.len()] {
    let [mut title, mut kinds, mut brand, mut tags, mut options, mut description] =
        <[Texts<'_>; TEXTS.len()]>::default();
    for texts in [&mut kinds, &mut brand, &mut tags, &mut options] {
        texts.is_set = true;
    }
    let (head, purpose) = parts_of_title(&record.title);
    title.add(own, head);
    options.add(own, purpose);
    description.add(own, plain(&record.description));

    let named = |members: &'a serde_json::Map<String, serde_json::Value>| {
        ["brand", "vendor"].into_iter().filter_map(|name| members.get(name)?.as_str())
    };
    let mut brands: BTreeSet<&str> = named(&record.extra).chain(record.metadata.iter().flat_map(named)).collect();
    let mut labels: BTreeSet<&str> = BTreeSet::new();
    let mut keywords: BTreeSet<&str> = record.tags.iter().map(String::as_str).collect();
    let mut categories: BTreeSet<&str> = record.categories.iter().map(|category| category.value.as_str()).collect();
    for axis in &record.options {
        labels.insert(&axis.name);
        labels.extend(axis.values.iter().map(|value| value.label.as_str()));
    }
    for variant in &record.variants {
        brands.extend(variant.seller.iter().filter_map(|seller| seller.name.as_deref()));
        labels.extend(variant.title.as_deref());
        keywords.extend(variant.tags.iter().map(String::as_str));
        categories.extend(variant.categories.iter().map(|category| category.value.as_str()));
    }
    categories.into_iter().for_each(|text| kinds.add(own, text));
    brands.into_iter().for_each(|text| brand.add(own, text));
    keywords.into_iter().for_each(|text| tags.add(own, text));
    labels.into_iter().for_each(|text| options.add(own, text));

    for (tag, translation) in &record.translations {
        for (head, purpose) in translation.title.iter().map(|text| parts_of_title(text)) {
            title.add(tag, head);
            options.add(tag, purpose);
        }
        translation.description.iter().for_each(|text| description.add(tag, plain(text)));
        translation.terms.values().for_each(|text| options.add(tag, text));
    }
    [title, kinds, brand, tags, options, description]
}

/// Length of the description that a vector is made of, in bytes.
const ESSENCE: usize = 200;

/// The text that the vector of a product is made of. The title counts twice.
fn essence(record: &Record) -> String {
    let description = plain(&record.description);
    let categories = record.categories.iter().map(|category| category.value.as_str());
    let mut parts = vec![record.title.as_str(), &record.title];
    parts.extend(categories);
    parts.extend(record.tags.iter().map(String::as_str));
    parts.push(&description[..description.floor_char_boundary(ESSENCE)]);
    parts.join(" ")
}

/// Splits a title into what a product is, and what it is for.
fn parts_of_title(title: &str) -> (&str, &str) {
    FOR.iter().filter_map(|word| title.split_once(word)).min_by_key(|(head, _)| head.len()).unwrap_or((title, ""))
}

/// The letters of a word, from its end on.
pub(super) fn reversed(word: &str) -> String {
    word.chars().rev().collect()
}

fn plain(description: &Description) -> Cow<'_, str> {
    match (&description.plain, &description.markdown, &description.html) {
        (Some(text), _, _) | (None, Some(text), _) => text.into(),
        (None, None, Some(html)) => to_text(html).into(),
        (None, None, None) => "".into(),
    }
}

/// The identifiers of a product, folded.
fn codes(record: &Record) -> BTreeSet<String> {
    let variants = record.variants.iter().flat_map(|variant| {
        let barcodes = variant.barcodes.iter().map(|barcode| &barcode.value);
        [Some(&variant.id), variant.sku.as_ref(), variant.handle.as_ref()].into_iter().flatten().chain(barcodes)
    });
    let all = [Some(&record.id), record.handle.as_ref()].into_iter().flatten().chain(variants);
    let parts = record.variants.iter().flat_map(|variant| {
        let barcodes = variant.barcodes.iter().map(|barcode| &barcode.value);
        [Some(&variant.id), variant.sku.as_ref()].into_iter().flatten().chain(barcodes).flat_map(|code| parts_of(code))
    });
    let all = all.map(|code| code_term(code)).chain(parts);
    all.filter(|code| !code.is_empty() && code.len() <= LONGEST_CODE).collect()
}

/// Minimum length of letters and digits that can be a part of an identifier.
const SHORTEST_PART: usize = 4;

/// Maximum number of parts of an identifier, from the end of it.
const MOST_PARTS: usize = 8;

/// The letters and digits of an identifier, from each of its parts on, as terms.
fn parts_of(code: &str) -> Vec<String> {
    let folded = fold(code.trim());
    let parts: Vec<&str> = words_of(&folded).collect();
    let from = |begin: usize| part_term(&parts[begin..].concat());
    (0..parts.len()).rev().take(MOST_PARTS).filter_map(from).collect()
}

/// Letters and digits as the term of a part of an identifier; `None` if they can be anything. Of a number of the trade
/// (GTIN), the zeros in front do not count.
pub(super) fn part_term(bare: &str) -> Option<String> {
    let digits = bare.bytes().filter(u8::is_ascii_digit).count();
    let bare = if digits == bare.len() && digits >= SHORTEST_GTIN { bare.trim_start_matches('0') } else { bare };
    let is_code = digits > 0 && (bare.len() >= SHORTEST_PART && digits < bare.len() || digits > SHORTEST_PART);
    is_code.then(|| format!("~{bare}"))
}

/// Minimum length of a number of the trade.
const SHORTEST_GTIN: usize = 8;

/// An identifier as a term.
pub(super) fn code_term(code: &str) -> String {
    fold(code.trim())
}
