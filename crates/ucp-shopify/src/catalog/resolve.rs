//! Lookup by identifier, one product in full, and further variants of a product.
//!
//! Identifiers are looked up in slices, concurrently. If a slice fails, the others remain valid: its identifiers are
//! unchecked, which is different from naming nothing. A number is looked up as that of a product and of a variant; what
//! names nothing is looked up as a SKU and as a barcode.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use futures_util::future::join_all;
use jiff::Timestamp;
use serde_json::{Map, Value, json, value::RawValue};
use ucp_core::{
    catalog::{
        market::Presentation,
        product::{Product, Variant},
    },
    operation::{Freshness, Operation},
    ports::{Match, Named, PortError, Target, caller::BuyerSignals},
};

use super::{
    Storefront, Variables,
    build::{self, Built, PRODUCT, VARIANT, is_id},
    codes::{Bearers, is_code},
    freshness,
    lenient::Lenient,
    shape,
};
use crate::{
    client::{Problem, Step},
    documents::{self, LISTED_MEDIA, MOST_COMBINATIONS, MOST_PRODUCTS, OPENED_MEDIA, OPENED_VARIANTS, variants_beside},
    market::InContext,
};
use ucp_net::{
    Failure, Filled, Served, Staleness,
    coalescing::{facts_as_of, stale},
};

/// Maximum number of pages of variants that are read for a product whose combinations are unknown.
const MOST_PAGES: usize = 20;

/// Maximum length of a handle, in characters; a longer one names nothing.
const LONGEST_HANDLE: usize = 255;

/// Results for the identifiers of one request, in their order.
#[derive(Debug)]
pub(super) struct Slice {
    named: Vec<KnownId>,
    pub(super) weight: usize,
}

/// Result for an identifier.
#[derive(Clone, Debug)]
enum KnownId {
    Nothing,
    /// The shop reported an error about the identifier.
    Unchecked,
    /// A product, the way in which the identifier names it, and `true` if its combinations are unknown.
    Product(Arc<Product>, Target, bool),
    /// The product of a variant, the identifier of the variant, and `true` if the product's combinations are unknown.
    Variant(Arc<Product>, String, bool),
}

/// Further variants of a product.
#[derive(Debug)]
pub(super) struct More {
    pub(super) variants: Vec<Variant>,
    /// Cursor of the next page, if there is one.
    next: Option<String>,
    pub(super) weight: usize,
}

/// Kind of identifier: those of one kind are looked up together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Ids,
    Handles,
}

/// Number of variants and media to read with each product, and freshness of the answer.
#[derive(Clone, Copy)]
struct Depth {
    variants: usize,
    media: usize,
    freshness: Freshness,
}

/// Results of a lookup.
#[derive(Default)]
struct Lookup {
    /// Result for each identifier and handle.
    known: HashMap<String, KnownId>,
    /// Identifiers whose results are stale because the shop failed.
    old: HashSet<String>,
    /// Identifiers whose results were kept.
    kept: HashSet<String>,
    /// Age of the oldest stale result, and of the oldest other one.
    ages: [Duration; 2],
    /// `true` if the shop answered about any of them.
    answered: bool,
    /// Last failure.
    failed: Option<Failure>,
}

impl Lookup {
    /// Returns `true` if a text is neither an identifier nor a handle nor the number of an identifier, as far as the
    /// shop said.
    fn is_unknown(&self, id: &str) -> bool {
        let numbered = numbered(id);
        let keys = std::iter::once(id).chain(numbered.iter().map(String::as_str));
        keys.filter_map(|key| self.known.get(key)).all(|known| matches!(known, KnownId::Nothing))
    }

    /// Returns what an identifier of the request names.
    fn named(
        &self,
        id: &str,
        bearers: Option<&Bearers>,
        products: &HashMap<String, Arc<Product>>,
        now: Timestamp,
    ) -> Named {
        let numbered = numbered(id);
        let own = std::iter::once(id).chain(numbered.iter().map(String::as_str)).map(|key| (key, false));
        let coded = bearers.into_iter().flat_map(|bearers| &bearers.variants).map(|key| (key.as_str(), true));
        let (mut matches, mut unchecked) = (Vec::new(), bearers.is_some_and(|own| own.unchecked));
        let (mut old, mut kept) = (false, false);
        for (key, is_alias) in own.chain(coded) {
            let Some(known) = self.known.get(key) else { continue };
            unchecked |= matches!(known, KnownId::Unchecked);
            old |= self.old.contains(key);
            kept |= self.kept.contains(key);
            matches.extend(target(known, products).map(|found| match found.target {
                Target::Variant(place) if is_alias => Match { target: Target::VariantAlias(place), ..found },
                _ => found,
            }));
        }
        let [old_for, kept_for] = self.ages;
        let as_of = facts_as_of(kept_for, now).filter(|_| kept && !matches.is_empty());
        match (matches.is_empty(), unchecked) {
            (true, true) => Named::Unchecked,
            _ if old => Named::Stale(matches, stale(old_for)),
            _ => match as_of {
                Some(as_of) => Named::Dated(matches, as_of),
                None => Named::Found(matches),
            },
        }
    }
}

impl Storefront {
    pub(super) async fn look_up(
        &self,
        ids: &[&str],
        presentation: &Presentation,
        buyer_signals: BuyerSignals,
    ) -> Result<Vec<Named>, PortError> {
        let context = self.standing().in_context(presentation);
        let mut found = Lookup::default();
        let (mut gids, mut handles) = (Vec::new(), Vec::new());
        for id in ids {
            match kind(id) {
                Some(Asked::Ids) => gids.push((*id).to_owned()),
                Some(Asked::Handles) => {
                    handles.push((*id).to_owned());
                    gids.extend(numbered(id));
                }
                None => {}
            }
        }
        self.read_known(gids, handles, &context, buyer_signals, &mut found).await;
        // What names nothing else may be a SKU or a barcode.
        let codes: HashSet<&str> = ids.iter().copied().filter(|id| is_code(id) && found.is_unknown(id)).collect();
        let mut codes: Vec<_> = codes.into_iter().collect();
        codes.sort_unstable();
        let bearers = self.bearers(&codes, &context, buyer_signals).await;
        let coded = bearers.values().flat_map(|bearers| &bearers.variants);
        let coded = coded.filter(|id| !found.known.contains_key(*id) && is_id(id, VARIANT)).cloned().collect();
        self.read_known(coded, Vec::new(), &context, buyer_signals, &mut found).await;
        if let Some(failure) = found.failed.take_if(|_| !found.answered) {
            return Err(failure.into());
        }
        let products = merged(found.known.values());
        Ok(ids.iter().map(|id| found.named(id, bearers.get(id), &products, self.now())).collect())
    }

    /// Looks identifiers and handles up in slices, concurrently.
    async fn read_known(
        &self,
        mut gids: Vec<String>,
        mut handles: Vec<String>,
        context: &InContext,
        buyer_signals: BuyerSignals,
        found: &mut Lookup,
    ) {
        for ids in [&mut gids, &mut handles] {
            ids.sort_unstable();
            ids.dedup();
        }
        let slices = gids.chunks(MOST_PRODUCTS).map(|slice| (Asked::Ids, slice));
        let slices: Vec<_> = slices.chain(handles.chunks(MOST_PRODUCTS).map(|slice| (Asked::Handles, slice))).collect();
        let answers = join_all(slices.iter().map(|(asked, slice)| {
            let depth = Depth {
                variants: variants_beside(slice.len()),
                media: LISTED_MEDIA,
                freshness: freshness(Operation::LookupCatalog),
            };
            self.slice(*asked, slice, depth, context, buyer_signals)
        }))
        .await;
        for ((_, slice), answer) in slices.iter().zip(answers) {
            match answer {
                Ok(served) => {
                    found.answered = true;
                    let is_old = served.stale == Some(Staleness::Failed);
                    let of_kind = if is_old { &mut found.old } else { &mut found.kept };
                    of_kind.extend(slice.iter().cloned());
                    let age = &mut found.ages[usize::from(!is_old)];
                    *age = served.age.max(*age);
                    found.known.extend(slice.iter().cloned().zip(served.value.named.iter().cloned()));
                }
                Err(failure) => {
                    found.known.extend(slice.iter().map(|id| (id.clone(), KnownId::Unchecked)));
                    found.failed = Some(failure);
                }
            }
        }
    }

    pub(super) async fn show(
        &self,
        id: &str,
        presentation: &Presentation,
        buyer_signals: BuyerSignals,
    ) -> Result<Named, PortError> {
        if kind(id) != Some(Asked::Ids) {
            return Ok(Named::Found(Vec::new()));
        }
        let context = self.standing().in_context(presentation);
        let freshness = freshness(Operation::GetProduct);
        let depth = Depth { variants: OPENED_VARIANTS, media: OPENED_MEDIA, freshness };
        let served = self.slice(Asked::Ids, &[id.to_owned()], depth, &context, buyer_signals).await?;
        let mut known = served.value.named.first().cloned().unwrap_or(KnownId::Nothing);
        if let KnownId::Product(product, _, unknown) | KnownId::Variant(product, _, unknown) = &mut known
            && *unknown
        {
            *product = self.all_variants(product, &context, buyer_signals, freshness).await?;
        }
        if matches!(known, KnownId::Unchecked) {
            return Err(Failure::Unreadable(ucp_net::Unreadable::Unexpected).into());
        }
        let found: Vec<_> = target(&known, &merged([&known])).into_iter().collect();
        // Data for the buyer's decision are never stale.
        Ok(match served.dated(self.now()).filter(|_| !found.is_empty()) {
            Some(message) => Named::Dated(found, message),
            None => Named::Found(found),
        })
    }

    pub(super) async fn add_variants(
        &self,
        product: &Arc<Product>,
        combinations: &[&[usize]],
        presentation: &Presentation,
        buyer_signals: BuyerSignals,
    ) -> Result<Arc<Product>, PortError> {
        let context = self.standing().in_context(presentation);
        let answers = join_all(
            combinations
                .chunks(MOST_COMBINATIONS)
                .map(|slice| self.combinations(product, slice, &context, buyer_signals)),
        )
        .await;
        let mut variants = Vec::new();
        for answer in answers {
            variants.extend(answer?.value.variants.iter().cloned());
        }
        Ok(Arc::new(build::with_variants(product, variants)))
    }

    /// Returns the results for one slice, in the order of its identifiers, from the cache if they are there.
    async fn slice(
        &self,
        asked: Asked,
        ids: &[String],
        depth: Depth,
        context: &InContext,
        buyer_signals: BuyerSignals,
    ) -> Result<Served<Arc<Slice>>, Failure> {
        let name = if asked == Asked::Ids { documents::NODES.name } else { "handles" };
        let depths = [depth.variants, depth.media].map(|depth| depth.to_string());
        let key = self.key(name, context, depths.iter().chain(ids).map(String::as_str));
        let fill = || {
            let (shop, context, ids) = (self.clone(), context.clone(), ids.to_vec());
            async move { shop.read_slice(asked, &ids, depth, &context, buyer_signals).await }
        };
        self.0.nodes.get(&key, depth.freshness, fill).await
    }

    async fn read_slice(
        &self,
        asked: Asked,
        ids: &[String],
        depth: Depth,
        context: &InContext,
        buyer_signals: BuyerSignals,
    ) -> Result<Filled<Arc<Slice>>, Failure> {
        let mut own =
            Map::from_iter([("variants".to_owned(), json!(depth.variants)), ("media".to_owned(), json!(depth.media))]);
        let (nodes, errors, bytes) = match asked {
            Asked::Ids => {
                own.insert("ids".to_owned(), json!(ids));
                let variables = Variables { context, own: &own, cards: true };
                let reply = self.ask::<shape::Nodes>(&documents::NODES, variables, &buyer_signals).await?;
                let (errors, bytes) = (reply.errors.clone(), reply.bytes);
                (reply.data()?.nodes, errors, bytes)
            }
            Asked::Handles => {
                own.extend(ids.iter().enumerate().map(|(place, handle)| (format!("h{place}"), json!(handle))));
                let variables = Variables { context, own: &own, cards: true };
                let document = documents::handles(ids.len());
                let reply =
                    self.ask::<HashMap<String, Option<shape::Node>>>(&document, variables, &buyer_signals).await?;
                let (errors, bytes) = (reply.errors.clone(), reply.bytes);
                let mut data = reply.data()?;
                let nodes = (0..ids.len()).map(|place| data.remove(&format!("h{place}")).flatten()).collect();
                (nodes, errors, bytes)
            }
        };
        if nodes.len() != ids.len() {
            tracing::error!(
                asked = ids.len(),
                answered = nodes.len(),
                "upstream did not answer about every identifier"
            );
            return Err(Failure::Unreadable(ucp_net::Unreadable::Unexpected));
        }
        let named: Vec<_> = nodes
            .into_iter()
            .enumerate()
            .map(|(place, node)| match node {
                Some(node) => self.known(asked, &ids[place], &node),
                None if errors.iter().any(|error| is_about(error, asked, place)) => KnownId::Unchecked,
                None => KnownId::Nothing,
            })
            .collect();
        let nothing = named.iter().all(|known| matches!(known, KnownId::Nothing));
        let slice = Arc::new(Slice { named, weight: bytes.saturating_mul(2) });
        Ok(match (errors.is_empty(), nothing) {
            (false, _) => Filled::Once(slice),
            (true, true) => Filled::Missing(slice),
            (true, false) => Filled::Found(slice),
        })
    }

    /// Converts an object to the result for the identifier that named it.
    fn known(&self, asked: Asked, id: &str, node: &RawValue) -> KnownId {
        let product = |built: Built| (Arc::new(built.product), built.unknown);
        let Asked::Ids = asked else {
            return self.card(node).map_or(KnownId::Nothing, |built| {
                let (product, unknown) = product(built);
                KnownId::Product(product, Target::ProductHandle, unknown)
            });
        };
        match type_of(node).as_deref() {
            Some("Product") => match self.card(node) {
                Some(built) if built.product.id == id => {
                    let (product, unknown) = product(built);
                    KnownId::Product(product, Target::Product, unknown)
                }
                _ => KnownId::Nothing,
            },
            Some("ProductVariant") => {
                let placed = serde_json::from_str::<shape::Placed>(node.get());
                let built = match placed {
                    Ok(placed) => {
                        let own = serde_json::from_str(node.get()).unwrap_or(Lenient(None));
                        build::build(placed.product, Some(own), self.counters())
                    }
                    Err(error) => {
                        self.counters().note("products left out: not of the form that the API promises");
                        tracing::warn!(%error, "invalid upstream variant, left out");
                        None
                    }
                };
                match built {
                    Some(built) if built.product.variants.iter().any(|variant| variant.id == id) => {
                        let (product, unknown) = product(built);
                        KnownId::Variant(product, id.to_owned(), unknown)
                    }
                    _ => KnownId::Nothing,
                }
            }
            _ => KnownId::Nothing,
        }
    }

    /// Returns a page of the variants of a product, from the cache if it is there.
    pub(super) async fn more_variants(
        &self,
        product: &Arc<Product>,
        after: Option<String>,
        context: &InContext,
        buyer_signals: BuyerSignals,
        freshness: Freshness,
    ) -> Result<Arc<More>, Failure> {
        let mut own =
            Map::from_iter([("id".to_owned(), json!(product.id)), ("first".to_owned(), json!(OPENED_VARIANTS))]);
        if let Some(after) = after {
            own.insert("after".to_owned(), json!(after));
        }
        let request: Vec<_> = own.values().map(ToString::to_string).collect();
        let key = self.key(documents::VARIANTS.name, context, request.iter().map(String::as_str));
        let (shop, product, context) = (self.clone(), Arc::clone(product), context.clone());
        let served = self.0.variants.get(&key, freshness, move || async move {
            let variables = Variables { context: &context, own: &own, cards: false };
            let reply = shop.ask::<shape::More>(&documents::VARIANTS, variables, &buyer_signals).await?;
            let (whole, bytes) = (reply.errors.is_empty(), reply.bytes);
            let more = Arc::new(match reply.data()?.product {
                Some(shape::MoreOf { requires_selling_plan, variants: page }) => More {
                    next: page.page_info.end_cursor.filter(|_| page.page_info.has_next_page),
                    variants: build::more(&product, page.nodes, *requires_selling_plan == Some(true), shop.counters()),
                    weight: bytes,
                },
                None => More { next: None, variants: Vec::new(), weight: 0 },
            });
            Ok(if whole { Filled::Found(more) } else { Filled::Once(more) })
        });
        served.await.map(|served| served.value)
    }

    /// Returns a product whose combinations are unknown with all of its variants, up to [`MOST_PAGES`] pages of them.
    async fn all_variants(
        &self,
        product: &Arc<Product>,
        context: &InContext,
        buyer_signals: BuyerSignals,
        freshness: Freshness,
    ) -> Result<Arc<Product>, Failure> {
        let mut variants = Vec::new();
        let mut after = None;
        for _ in 0..MOST_PAGES {
            let page = self.more_variants(product, after.clone(), context, buyer_signals, freshness).await?;
            variants.extend(page.variants.iter().cloned());
            if page.next.is_none() || page.next == after {
                break;
            }
            after.clone_from(&page.next);
        }
        Ok(Arc::new(build::with_variants(product, variants)))
    }

    /// Returns the variants for some combinations of a product's options, from the cache if they are there.
    async fn combinations(
        &self,
        product: &Arc<Product>,
        combinations: &[&[usize]],
        context: &InContext,
        buyer_signals: BuyerSignals,
    ) -> Result<Served<Arc<More>>, Failure> {
        let combinations: Vec<Vec<usize>> = combinations.iter().map(|values| values.to_vec()).collect();
        let chosen = |values: &Vec<usize>| {
            let choice = |(axis, value): (&ucp_core::catalog::product::ProductOption, &usize)| {
                let value = axis.values.get(*value)?;
                let (name, label) = (axis.canonical.as_ref(), value.canonical.as_ref());
                Some(json!({ "name": name.unwrap_or(&axis.name), "value": label.unwrap_or(&value.label) }))
            };
            product.options.iter().zip(values).filter_map(choice).collect::<Value>()
        };
        let mut own = Map::from_iter([("id".to_owned(), json!(product.id))]);
        own.extend(combinations.iter().enumerate().map(|(place, values)| (format!("v{place}"), chosen(values))));
        let request: Vec<_> = own.values().map(ToString::to_string).collect();
        let key = self.key("combinations", context, request.iter().map(String::as_str));
        let (shop, product, context) = (self.clone(), Arc::clone(product), context.clone());
        let fill = move || async move {
            let document = documents::combinations(combinations.len());
            let variables = Variables { context: &context, own: &own, cards: false };
            let reply = shop
                .ask::<HashMap<String, Option<HashMap<String, shape::Node>>>>(&document, variables, &buyer_signals)
                .await?;
            let (whole, bytes) = (reply.errors.is_empty(), reply.bytes);
            let mut nodes = reply.data()?.remove("product").flatten().unwrap_or_default();
            let subscription = nodes.remove("requiresSellingPlan").is_some_and(|plan| plan.get() == "true");
            let nodes = (0..combinations.len()).filter_map(|place| nodes.remove(&format!("v{place}")));
            let nodes = nodes.filter(|node| node.get() != "null");
            let nodes = nodes.map(|node| serde_json::from_str(node.get()).unwrap_or(Lenient(None))).collect();
            let variants = build::more(&product, nodes, subscription, shop.counters());
            // A variant of any other combination is dropped.
            let variants = variants.into_iter().filter(|variant| combinations.contains(&variant.values)).collect();
            let more = Arc::new(More { variants, next: None, weight: bytes });
            Ok(if whole { Filled::Found(more) } else { Filled::Once(more) })
        };
        self.0.variants.get(&key, freshness(Operation::GetProduct), fill).await
    }
}

/// Returns the type of an object. The operations select it first, and the API answers in that order, so that the rest
/// of the object, which may be long, need not be parsed.
fn type_of(node: &RawValue) -> Option<Cow<'_, str>> {
    let first = node.get().strip_prefix(r#"{"__typename":""#).and_then(|rest| rest.split_once('"'));
    match first {
        Some((name, _)) if !name.contains('\\') => Some(name.into()),
        _ => serde_json::from_str::<shape::Typed>(node.get()).ok().map(|typed| typed.name.into()),
    }
}

/// Returns the kind of an identifier; `None` for one that cannot name anything.
fn kind(id: &str) -> Option<Asked> {
    if is_id(id, PRODUCT) || is_id(id, VARIANT) {
        return Some(Asked::Ids);
    }
    let handle = !id.is_empty()
        && id.chars().count() <= LONGEST_HANDLE
        && id.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_'));
    handle.then_some(Asked::Handles)
}

/// Returns `true` if an error is about the identifier at a position.
fn is_about(error: &Problem, asked: Asked, place: usize) -> bool {
    match (asked, error.path.as_slice()) {
        // An error without a position is about all identifiers.
        (_, []) | (Asked::Ids, [Step::Member(_)]) => true,
        (Asked::Ids, [Step::Member(_), Step::Place(about), ..]) => *about == place,
        (Asked::Handles, [Step::Member(alias), ..]) => *alias == format!("h{place}"),
        _ => false,
    }
}

/// Returns each product once, with the variants from all results for it: matches of one product must agree on
/// positions.
fn merged<'a>(known: impl IntoIterator<Item = &'a KnownId>) -> HashMap<String, Arc<Product>> {
    let mut products: HashMap<String, Arc<Product>> = HashMap::new();
    for known in known {
        let (KnownId::Product(product, ..) | KnownId::Variant(product, ..)) = known else { continue };
        match products.get_mut(&product.id) {
            None => {
                products.insert(product.id.clone(), Arc::clone(product));
            }
            Some(held) => {
                let missing = |variant: &&Variant| held.variants.iter().all(|own| own.id != variant.id);
                let missing: Vec<_> = product.variants.iter().filter(missing).cloned().collect();
                if !missing.is_empty() {
                    *held = Arc::new(build::with_variants(held, missing));
                }
            }
        }
    }
    products
}

/// Returns the part of a product that a result names; `None` if it names nothing.
fn target(known: &KnownId, products: &HashMap<String, Arc<Product>>) -> Option<Match> {
    let (product, target, variant) = match known {
        KnownId::Nothing | KnownId::Unchecked => return None,
        KnownId::Product(product, target, _) => (product, Some(*target), None),
        KnownId::Variant(product, id, _) => (product, None, Some(id)),
    };
    let product = products.get(&product.id).unwrap_or(product);
    let target = match variant {
        None => target,
        Some(id) => product.variants.iter().position(|variant| variant.id == *id).map(Target::Variant),
    };
    target.map(|target| Match { product: Arc::clone(product), target })
}

/// Returns the identifiers of the product and the variant with a number.
fn numbered(id: &str) -> Vec<String> {
    let ids = [PRODUCT, VARIANT].map(|of| (of, format!("gid://shopify/{of}/{id}")));
    ids.into_iter().filter(|(of, id)| is_id(id, of)).map(|(_, id)| id).collect()
}
