//! One page of products from the index.
//!
//! The order is the score, descending, then what is available, then the shop's own order. A page starts strictly after the last product of the
//! page before, by its place in that order and not by counting, so that products that are added in between neither
//! repeat nor hide others.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    sync::{Arc, OnceLock},
};

use quick_cache::sync::Cache;
use tantivy::{
    DocId, Searcher, SegmentReader, Term, columnar::Column, index::SegmentId, postings::BlockSegmentPostings,
    schema::IndexRecordOption,
};
use ucp_core::{
    Code, Refusal,
    catalog::{filter::Criteria, market::Presentation},
    message::Message,
    money::Currency,
    ports::Query,
    text::quoted,
};

use super::{
    documents::{BLOCK, Block, Documents},
    lexicon::{Lexicon, Lexicons},
    postings::within,
    price_ranges::PriceRanges,
    query::{ALL, Matches, Mode, Plan, Source},
    schema::{Fields, SCOPE, SEQ, offers_column, scope_hash, scoped_column, unpack},
    scores::CommonWords,
    statistics::Statistics,
    vectors::{MOST_FILLED, Vectors},
};

/// Number of products that have all words of a query from which on those that have some of them are left out.
const ENOUGH: u64 = 24;

/// A product's place in the order of a query's results: the score [with its availability](standing), then the place in the
/// shop.
type ResultPlace = (Reverse<u32>, i64);

/// A score with the availability of its product, which decides between equal ones.
fn standing(score: u32, is_available: bool) -> u32 {
    score.min(u32::MAX >> 1) << 1 | u32::from(is_available)
}

/// Products of a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Hits {
    /// Their places in the shop, the best match first.
    pub(crate) seqs: Vec<i64>,
    /// The position after the page, unless it is the last one.
    pub(crate) next: Option<Vec<u8>>,
    /// Total number of matching products.
    pub(crate) total: u64,
    /// Deviations of the matches from the words of the query.
    pub(crate) looseness: Looseness,
}

/// Deviations of the matches from the words of a query.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Looseness {
    /// `true` if some of those of the page have not all of the words, since few products or none have.
    pub(crate) partial: bool,
    /// `true` if some of those can have none, and a similar meaning.
    pub(crate) by_meaning: bool,
    /// Words that no product has; products with similar ones match.
    pub(crate) corrected: Vec<String>,
}

impl Looseness {
    /// Returns the messages about the deviations, for the caller.
    pub(crate) fn told(&self) -> Vec<Message> {
        let mut messages = Vec::new();
        if !self.corrected.is_empty() {
            let words: Vec<_> = self.corrected.iter().map(|word| format!("`{}`", quoted(word))).collect();
            let content = format!(
                "No product here has the word {}; products with a similar word were taken.",
                words.join(" or ")
            );
            messages.push(Message::info("words_corrected", content));
        }
        if self.partial {
            let others = if self.by_meaning { "some of the words, or a similar meaning" } else { "some of the words" };
            let content =
                format!("Few products here have all words of the query, or none; those after them have {others}.");
            messages.push(Message::info("words_matched_in_part", content));
        }
        messages
    }
}

/// Why a page cannot be given.
#[derive(Debug)]
pub(crate) enum SearchError {
    /// The caller's position means nothing any more.
    Position(Refusal),
    /// The index failed.
    Index(tantivy::TantivyError),
}

impl From<tantivy::TantivyError> for SearchError {
    fn from(error: tantivy::TantivyError) -> Self {
        Self::Index(error)
    }
}

/// The index as it was at one time: all that a search needs.
pub(crate) struct Snapshot {
    pub(super) searcher: Searcher,
    pub(super) fields: Arc<Fields>,
    /// The newest first.
    pub(super) statistics: Vec<Arc<Statistics>>,
    /// The columns of its segments, and the products of those that have deleted ones.
    segments: Vec<(Arc<Columns>, Option<Arc<Documents>>)>,
    common: Arc<CommonWords>,
    lexicons: Arc<Lexicons>,
    /// Short texts that were searched for lately, as they were read for these segments.
    plans: Cache<PlanKey, Arc<Plan>>,
}

/// Text as it is read: by the epoch of the statistics and the number of the lexicon, with its intent.
type PlanKey = (u64, u64, String, Option<String>);

/// Maximum number of texts that are kept as they were read, and of bytes of each of them.
const MOST_PLANS: usize = 256;
const LONGEST_KEPT: usize = 96;

/// The columns of one segment.
struct Columns {
    segment: SegmentId,
    /// Number of products, with those that are deleted.
    docs: DocId,
    seq: Column<u64>,
    /// The lowest place in the shop of each [`BLOCK`] of products.
    seq_floors: Vec<i64>,
    scope: Option<Column<u64>>,
    currencies: Vec<CurrencyColumns>,
    vectors: Option<Vectors>,
}

struct CurrencyColumns {
    currency: Currency,
    offers: Option<Column<u64>>,
    scoped: Option<Column<u64>>,
    price_ranges: OnceLock<PriceRanges>,
}

impl CurrencyColumns {
    /// Returns the price ranges of `docs` products, unless none of them has an offer.
    fn price_ranges(&self, docs: DocId) -> Option<&PriceRanges> {
        let offers = self.offers.as_ref()?;
        Some(self.price_ranges.get_or_init(|| PriceRanges::read(offers, docs)))
    }
}

impl Columns {
    fn open(segment: &SegmentReader, fields: &Fields) -> tantivy::Result<Self> {
        let columns = segment.fast_fields();
        let currency = |currency: Currency| -> tantivy::Result<CurrencyColumns> {
            Ok(CurrencyColumns {
                currency,
                offers: columns.column_opt(&offers_column(currency))?,
                scoped: columns.column_opt(&scoped_column(currency))?,
                price_ranges: OnceLock::new(),
            })
        };
        let seq = columns.u64(SEQ)?;
        let docs = segment.max_doc();
        let floor = |begin: DocId| {
            let block = begin..docs.min(begin.saturating_add(BLOCK));
            block.filter_map(|doc| seq.first(doc)).min().map_or(i64::MIN, u64::cast_signed)
        };
        Ok(Self {
            segment: segment.segment_id(),
            docs,
            seq_floors: (0..docs).step_by(BLOCK as usize).map(floor).collect(),
            seq,
            scope: columns.column_opt(SCOPE)?,
            currencies: fields.currencies.iter().map(|fields| currency(fields.currency)).collect::<Result<_, _>>()?,
            vectors: fields.model().map(|model| Vectors::read(segment, model.dimensions())).transpose()?,
        })
    }
}

impl Columns {
    /// Returns `true` if a variant of a product is available.
    fn is_available(&self, doc: DocId) -> bool {
        let mut ranges = self.currencies.iter().filter_map(|own| own.price_ranges(self.docs));
        ranges.any(|ranges| ranges.with_offers(true).contain(doc))
    }
}

impl Snapshot {
    /// Creates the snapshot of an index. What was made of a segment for the snapshot `before` serves this one, too.
    pub(super) fn new(
        searcher: Searcher,
        fields: Arc<Fields>,
        statistics: Vec<Arc<Statistics>>,
        common: Arc<CommonWords>,
        lexicons: Arc<Lexicons>,
        before: Option<&Self>,
    ) -> tantivy::Result<Self> {
        common.retain(&searcher.segment_readers().iter().map(SegmentReader::segment_id).collect::<Vec<_>>());
        let before: Vec<_> = before.into_iter().flat_map(Self::segments).collect();
        // Once filters have asked for price ranges, those of new segments are made before anybody waits for them.
        let is_asked_for = |at: usize| {
            let own = before.iter().filter_map(|(_, columns, _)| columns.currencies.get(at));
            own.into_iter().any(|own| own.price_ranges.get().is_some())
        };
        let of = |segment: &SegmentReader| {
            let same = before.iter().find(|(_, columns, _)| columns.segment == segment.segment_id());
            let columns = match same {
                Some((_, columns, _)) => Arc::clone(columns),
                None => Arc::new(Columns::open(segment, &fields)?),
            };
            for (_, own) in columns.currencies.iter().enumerate().filter(|(at, _)| is_asked_for(*at)) {
                own.price_ranges(segment.max_doc());
            }
            let alive = match same {
                Some((old, _, alive)) if old.num_docs() == segment.num_docs() => alive.map(Arc::clone),
                _ => segment.alive_bitset().map(|alive| {
                    let mut documents = Documents::new(segment.max_doc());
                    alive.iter_alive().for_each(|doc| documents.add(doc));
                    Arc::new(documents)
                }),
            };
            Ok::<_, tantivy::TantivyError>((columns, alive))
        };
        let segments = searcher.segment_readers().iter().map(of).collect::<Result<_, _>>()?;
        let plans = Cache::new(MOST_PLANS);
        Ok(Self { searcher, fields, statistics, segments, common, lexicons, plans })
    }

    /// Number of products.
    pub(crate) fn products(&self) -> u64 {
        self.searcher.num_docs()
    }

    /// The page that `query` asks for.
    pub(crate) fn search(&self, query: &Query) -> Result<Hits, SearchError> {
        let after = query.after.as_deref().map(Position::read).transpose()?;
        let text = query.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let Some(text) = text else {
            let mut page = PageOf::new(query, after.map(|position| position.place));
            for segment in self.segments() {
                page.within(self, segment)?.browse(segment.0.max_doc());
            }
            let hits = page.finish(|place| Position { epoch: 0, lexicon: 0, mode: Mode::All, place });
            return Ok(Hits { looseness: Looseness::default(), ..hits });
        };
        let statistics = match &after {
            None => self.statistics.first(),
            Some(position) => self.statistics.iter().find(|statistics| statistics.epoch == position.epoch),
        };
        let statistics = statistics.ok_or_else(Position::outdated)?;
        let lexicon = match &after {
            None => Some(self.lexicons.newest()),
            Some(position) => self.lexicons.of(position.lexicon),
        };
        let lexicon = lexicon.ok_or_else(Position::outdated)?;
        let plan = self.plan(text, query.intent.as_deref(), statistics, &lexicon)?;
        let place = after.map(|position| position.place);
        let may_be_loose = after.is_none() && plan.has_looser();
        let mut mode = match &after {
            Some(position) => position.mode,
            // Without a look: there cannot be enough.
            None if may_be_loose && plan.most() < ENOUGH => Mode::Any,
            None => Mode::All,
        };
        let mut page = self.scored(&plan, statistics, mode, PageOf::new(query, place))?;
        // The words alone decide whether they are taken loosely: a filter that leaves nothing of the right products is
        // an answer, and no reason to offer others.
        if may_be_loose && mode == Mode::All && page.matched < ENOUGH {
            mode = Mode::Any;
            page = self.scored(&plan, statistics, mode, PageOf::new(query, place))?;
        }
        let hits = page.finish(|place| Position { epoch: statistics.epoch, lexicon: lexicon.id, mode, place });
        let partial = mode == Mode::Any && hits.looseness.partial;
        let by_meaning = plan.has_meaning();
        Ok(Hits { looseness: Looseness { partial, by_meaning, corrected: plan.corrected.clone() }, ..hits })
    }

    /// Returns a text as it is read under these statistics, and with this lexicon.
    fn plan(
        &self,
        text: &str,
        intent: Option<&str>,
        statistics: &Statistics,
        lexicon: &Lexicon,
    ) -> tantivy::Result<Arc<Plan>> {
        let read = || Plan::new(text, intent, &self.fields, lexicon, statistics, &self.searcher).map(Arc::new);
        if text.len() + intent.map_or(0, str::len) > LONGEST_KEPT {
            return read();
        }
        let key = (statistics.epoch, lexicon.id, text.to_owned(), intent.map(str::to_owned));
        self.plans.get_or_insert_with(&key, read)
    }

    /// Returns the segments with their columns, and those of their products that are not deleted, unless none is.
    fn segments(&self) -> impl Iterator<Item = (&SegmentReader, &Arc<Columns>, Option<&Arc<Documents>>)> {
        let segments = self.searcher.segment_readers().iter().zip(&self.segments);
        segments.map(|(segment, (columns, alive))| (segment, columns, alive.as_ref()))
    }

    /// Collects the products that match a plan.
    fn scored<'q>(
        &self,
        plan: &Plan,
        statistics: &Statistics,
        mode: Mode,
        mut page: PageOf<'q>,
    ) -> tantivy::Result<PageOf<'q>> {
        for (position, segment) in self.segments().enumerate() {
            let mut within = page.within(self, segment)?;
            let source = Source {
                segment: segment.0,
                position,
                fields: &self.fields,
                statistics,
                common: &self.common,
                vectors: segment.1.vectors.as_ref(),
                fills: self.products() <= MOST_FILLED,
            };
            plan.score(&source, mode, |matches| within.take(matches))?;
        }
        Ok(page)
    }
}

/// A page in the making: the best places after a given one, and the number of all.
struct PageOf<'a> {
    criteria: &'a Criteria,
    presentation: &'a Presentation,
    after: Option<ResultPlace>,
    limit: usize,
    /// The best places so far, the worst of them on top; one more than the page holds, to know whether another follows.
    best: BinaryHeap<ResultPlace>,
    total: u64,
    /// Number of products that match, whether or not they pass the filters.
    matched: u64,
}

impl<'a> PageOf<'a> {
    fn new(query: &'a Query, after: Option<ResultPlace>) -> Self {
        let limit = query.limit.max(1);
        Self {
            criteria: &query.criteria,
            presentation: &query.presentation,
            after,
            limit,
            best: BinaryHeap::with_capacity(limit.saturating_add(2).min(1_024)),
            total: 0,
            matched: 0,
        }
    }

    /// Prepares the page for the products of a segment.
    fn within<'p>(
        &'p mut self,
        snapshot: &Snapshot,
        (segment, columns, alive): (&SegmentReader, &'p Arc<Columns>, Option<&'p Arc<Documents>>),
    ) -> tantivy::Result<Within<'p, 'a>> {
        let filter = Filter::new(self.criteria, self.presentation, snapshot, segment, columns)?;
        Ok(Within { page: self, filter, alive: alive.map(AsRef::as_ref), columns })
    }

    /// Returns `true` if products from this place on are too far down for the page.
    fn is_beyond(&self, place: ResultPlace) -> bool {
        self.best.len() > self.limit && self.best.peek().is_some_and(|worst| place > *worst)
    }

    /// Puts a product that matches on the page, if it belongs there.
    fn place(&mut self, place: ResultPlace) {
        if self.after.is_some_and(|after| place <= after) || self.is_beyond(place) {
            return;
        }
        self.best.push(place);
        if self.best.len() > self.limit + 1 {
            self.best.pop();
        }
    }

    fn finish(self, position: impl FnOnce(ResultPlace) -> Position) -> Hits {
        let mut places = self.best.into_sorted_vec();
        let more = places.len() > self.limit;
        places.truncate(self.limit);
        let next = places.last().filter(|_| more).map(|place| position(*place).write());
        let partial = places.iter().any(|(score, _)| score.0 < standing(ALL, false));
        Hits {
            seqs: places.into_iter().map(|(_, seq)| seq).collect(),
            next,
            total: self.total,
            looseness: Looseness { partial, ..Looseness::default() },
        }
    }
}

/// A page in the making, in one segment.
struct Within<'p, 'a> {
    page: &'p mut PageOf<'a>,
    filter: Filter<'p>,
    alive: Option<&'p Documents>,
    columns: &'p Columns,
}

impl Within<'_, '_> {
    /// Takes all products of a segment of so many, if they pass the filters.
    fn browse(&mut self, docs: DocId) {
        for number in 0..docs.div_ceil(BLOCK) {
            if let Some(admitted) = self.admit(number, Block::first(docs - number * BLOCK), 0) {
                self.place(number, &admitted, |_| 0);
            }
        }
    }

    /// Takes the products of a block that match, if they pass the filters.
    fn take(&mut self, matches: &mut Matches<'_>) {
        let number = matches.number;
        if let Some(admitted) = self.admit(number, matches.products, standing(matches.most, true)) {
            let (scores, columns) = (matches.scores(&admitted), self.columns);
            let is_available = |offset| columns.is_available(number * BLOCK + offset);
            self.place(number, &admitted, |offset| standing(scores[offset as usize], is_available(offset)));
        }
    }

    /// Counts the products of a block that are still there and pass the filters. Returns them if any of them can belong
    /// on the page, with scores of at most `most`. Blocks come in ascending order.
    fn admit(&mut self, number: DocId, products: Block, most: u32) -> Option<Block> {
        let alive = self.alive.map_or(products, |alive| products.and(alive.block(number)));
        if alive.is_empty() {
            return None;
        }
        self.page.matched += u64::from(alive.len());
        let admitted = self.filter.admitted(number, alive);
        self.page.total += u64::from(admitted.len());
        (!admitted.is_empty() && !self.page.is_beyond((Reverse(most), self.floor(number)))).then_some(admitted)
    }

    /// Puts products of a block on the page that belong there.
    fn place(&mut self, number: DocId, products: &Block, score: impl Fn(DocId) -> u32) {
        let floor = self.floor(number);
        products.each(|offset| {
            let score = Reverse(score(offset));
            // Not good enough wherever it is among its neighbors.
            if self.page.is_beyond((score, floor)) {
                return;
            }
            if let Some(seq) = self.columns.seq.first(number * BLOCK + offset) {
                self.page.place((score, seq.cast_signed()));
            }
        });
    }

    /// Returns the lowest place in the shop of the products of a block.
    fn floor(&self, number: DocId) -> i64 {
        self.columns.seq_floors.get(number as usize).copied().unwrap_or(i64::MIN)
    }
}

/// The criteria of a query, as the columns of one segment can be asked for them.
struct Filter<'a> {
    /// Products that are, or have a variant, in the categories asked for; `None` if any category will do.
    categories: Option<Vec<BlockSegmentPostings>>,
    /// The hashes of the categories asked for.
    scopes: Vec<u64>,
    scope: Option<&'a Column<u64>>,
    /// The currency asked for, if products may be shown in it, and the shop's own; nothing if offers do not matter.
    shown_in: Vec<Offered<'a>>,
    judges_offers: bool,
    /// `true` if offers are judged one by one; `false` if [sets of products](PriceRanges::with_offers) decide.
    judges_each: bool,
}

/// Filter of offers in one currency.
struct Offered<'a> {
    columns: &'a CurrencyColumns,
    price_ranges: &'a PriceRanges,
    /// Ranges of prices, any of which will do; `None` for any price.
    ranges: Option<Vec<std::ops::RangeInclusive<i64>>>,
    available: bool,
}

impl Offered<'_> {
    fn passes(&self, offer: u64) -> bool {
        let (price, available) = unpack(offer);
        (available || !self.available)
            && self.ranges.as_ref().is_none_or(|ranges| ranges.iter().any(|range| range.contains(&price)))
    }
}

impl<'a> Filter<'a> {
    fn new(
        criteria: &Criteria,
        presentation: &Presentation,
        snapshot: &Snapshot,
        segment: &SegmentReader,
        columns: &'a Columns,
    ) -> tantivy::Result<Self> {
        let offered = |columns: &'a CurrencyColumns| {
            let price_ranges = columns.price_ranges(segment.max_doc())?;
            let ranges = criteria.bounds.as_ref().map(|bounds| {
                let own = bounds.iter().filter(|bound| bound.currency == columns.currency);
                own.map(ucp_core::catalog::filter::Bound::range).collect()
            });
            Some(Offered { columns, price_ranges, ranges, available: criteria.available })
        };
        let keys: Vec<_> = criteria.categories.iter().map(ucp_core::catalog::filter::CategoryPath::key).collect();
        let categories = if keys.is_empty() {
            None
        } else {
            let field = snapshot.fields.categories;
            let inverted = segment.inverted_index(field)?;
            let mut categories = Vec::new();
            for key in &keys {
                let term = Term::from_field_text(field, key);
                categories.extend(inverted.read_block_postings(&term, IndexRecordOption::Basic)?);
            }
            Some(categories)
        };
        let judges_offers = criteria.available || criteria.bounds.is_some();
        let own = columns.currencies.first();
        let preferred = columns.currencies.iter().skip(1).find(|columns| columns.currency == presentation.currency);
        let shown_in = preferred.into_iter().chain(own).filter(|_| judges_offers);
        Ok(Self {
            scopes: keys.iter().map(|key| scope_hash(key)).collect(),
            judges_each: criteria.bounds.is_some() || categories.is_some() && columns.scope.is_some(),
            categories,
            scope: columns.scope.as_ref(),
            shown_in: shown_in.filter_map(offered).collect(),
            judges_offers,
        })
    }

    /// Returns those of the products of a block of which one variant passes.
    fn admitted(&mut self, number: DocId, mut products: Block) -> Block {
        if let Some(categories) = &mut self.categories {
            let mut in_categories = Block::default();
            for category in categories {
                within(category, number, Some(&products), |_, offset, _| in_categories.add(offset));
            }
            products = products.and(&in_categories);
        }
        if self.judges_offers && !products.is_empty() {
            let (mut offered, mut rest) = (Block::default(), products);
            for shown_in in &self.shown_in {
                offered = offered.or(&rest.and(shown_in.price_ranges.with_offers(shown_in.available).block(number)));
                rest = rest.without(shown_in.price_ranges.with_offers(false).block(number));
            }
            products = offered;
            if self.judges_each {
                products.retain(|offset| self.admits(number * BLOCK + offset));
            }
        }
        products
    }

    /// Returns `true` if one variant of a product in the categories, which has offers, passes everything else.
    fn admits(&self, doc: DocId) -> bool {
        // A product is shown in the preferred currency if it has prices in it.
        let Some(offered) = self.shown_in.iter().find(|offered| offered.price_ranges.with_offers(false).contain(doc))
        else {
            return false;
        };
        let columns = offered.columns;
        match (&self.categories, self.scope, &columns.scoped) {
            // Its variants differ in their categories: the offer must be one under a category asked for.
            (Some(_), Some(scope), Some(scoped)) if scope.index.has_value(doc) => scope
                .values_for_doc(doc)
                .zip(scoped.values_for_doc(doc))
                .any(|(scope, offer)| self.scopes.contains(&scope) && offered.passes(offer)),
            _ => offered.price_ranges.meet(doc, offered.ranges.as_deref(), offered.available).unwrap_or_else(|| {
                columns.offers.iter().any(|column| column.values_for_doc(doc).any(|offer| offered.passes(offer)))
            }),
        }
    }
}

/// A place between two pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Position {
    /// Epoch of the statistics that the scores are from; 0 if nothing is scored.
    epoch: u64,
    /// Number of the lexicon that the text was read with; 0 if there is none.
    lexicon: u64,
    mode: Mode,
    /// The last product of the page before.
    place: ResultPlace,
}

/// Changes with the form of positions.
const VERSION: u8 = 3;

impl Position {
    fn write(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION, u8::from(self.mode == Mode::Any)];
        bytes.extend(self.epoch.to_be_bytes());
        bytes.extend(self.lexicon.to_be_bytes());
        bytes.extend(self.place.0.0.to_be_bytes());
        bytes.extend(self.place.1.to_be_bytes());
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Self, SearchError> {
        let position = || {
            let (head, rest) = bytes.split_first_chunk::<2>()?;
            let (epoch, rest) = rest.split_first_chunk()?;
            let (lexicon, rest) = rest.split_first_chunk()?;
            let (score, rest) = rest.split_first_chunk()?;
            let (seq, []) = rest.split_first_chunk()? else {
                return None;
            };
            let mode = match head {
                [VERSION, 0] => Mode::All,
                [VERSION, 1] => Mode::Any,
                _ => return None,
            };
            let place = (Reverse(u32::from_be_bytes(*score)), i64::from_be_bytes(*seq));
            let (epoch, lexicon) = (u64::from_be_bytes(*epoch), u64::from_be_bytes(*lexicon));
            Some(Self { epoch, lexicon, mode, place })
        };
        position().ok_or_else(Self::outdated)
    }

    fn outdated() -> SearchError {
        SearchError::Position(
            Refusal::new(
                Code::InvalidCursor,
                "The cursor is outdated: the catalog was re-indexed since, or its synonyms were changed.",
            )
            .at("$.pagination.cursor")
            .accepting("the same query without a cursor, for the first page"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_survive_encoding() {
        let position = Position { epoch: 42, lexicon: 7, mode: Mode::Any, place: (Reverse(u32::MAX), i64::MAX) };
        let bytes = position.write();
        assert_eq!(Position::read(&bytes).expect("reads"), position);
        for length in 0..bytes.len() {
            assert!(Position::read(&bytes[..length]).is_err());
        }
        assert!(Position::read(&[&bytes[..], &[0]].concat()).is_err());
        assert!(Position::read(&[&[9], &bytes[1..]].concat()).is_err());
    }
}
