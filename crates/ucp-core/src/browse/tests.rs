//! The three operations and what they rest on, against a small shop in memory.

use std::{
    pin::pin,
    sync::Arc,
    task::{Context as TaskContext, Poll, Waker},
};

use serde_json::{Value, json};

use super::{detail::detail, lookup::lookup, search::search};
use crate::{
    Code,
    catalog::{
        Context,
        cursor::tests::PlainCursors,
        detail,
        featured::{Words, featured},
        filter::{Criteria, Filters, PriceFilter},
        lookup::{self, MatchKind},
        market::{Market, Presentation},
        product::{Combination, Product, SelectedOption},
        record::Record,
        search,
    },
    message::{Message, Severity},
    money::Amount,
    outcome::Outcome,
    ports::{
        Catalog, CatalogCapabilities, Filtering, Match, Named, Page, PortError, Query, Target, caller::BuyerSignals,
    },
};

struct TestCatalog {
    market: Market,
    records: Vec<Record>,
}

impl TestCatalog {
    fn present(&self, presentation: &Presentation) -> Vec<Arc<Product>> {
        self.records.iter().map(|record| Arc::new(record.present(presentation))).collect()
    }
}

#[async_trait::async_trait]
impl Catalog for TestCatalog {
    fn market(&self) -> Arc<Market> {
        Arc::new(self.market.clone())
    }

    /// Every product in order; the position is how many there were before.
    async fn find(&self, query: &Query, _: &BuyerSignals) -> Result<Page, PortError> {
        let start = query.after.as_ref().map_or(0, |position| usize::from(position[0]));
        let all = self.present(&query.presentation);
        let end = all.len().min(start + query.limit);
        let next = (end < all.len()).then(|| vec![u8::try_from(end).expect("a small shop")]);
        Ok(Page { products: all[start..end].to_vec(), next, total: Some(all.len() as u64), messages: Vec::new() })
    }

    async fn resolve(
        &self,
        ids: &[&str],
        presentation: &Presentation,
        _: &BuyerSignals,
    ) -> Result<Vec<Named>, PortError> {
        let all = self.present(presentation);
        let found = |id: &str| {
            let mut matches = Vec::new();
            for product in &all {
                let named = |target| Match { product: Arc::clone(product), target };
                matches.extend((product.id == id).then(|| named(Target::Product)));
                matches.extend((product.handle.as_deref() == Some(id)).then(|| named(Target::ProductHandle)));
                for (position, variant) in product.variants.iter().enumerate() {
                    matches.extend((variant.id == id).then(|| named(Target::Variant(position))));
                    matches.extend((variant.sku.as_deref() == Some(id)).then(|| named(Target::VariantAlias(position))));
                }
            }
            matches
        };
        Ok(ids.iter().map(|id| Named::Found(found(id))).collect())
    }
}

/// Runs a future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut TaskContext::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the shop in memory answers at once"),
    }
}

fn variant(color: &str, size: &str, price: i64, available: bool) -> Value {
    json!({
        "id": format!("v-{color}-{size}"), "sku": format!("SKU-{color}-{size}"),
        "price": { "amount": price, "currency": "USD" }, "prices": [{ "amount": price * 2, "currency": "EUR" }],
        "availability": { "available": available },
        "options": [{ "name": "Color", "label": color }, { "name": "Size", "label": size }],
    })
}

/// A shoe in Red 8, 9 and Blue 8 (sold out), 10; and a mug without options, priced in dollars only.
fn shop() -> TestCatalog {
    let market: Market = serde_json::from_value(json!({
        "name": "Test", "currency": "USD", "currencies": ["EUR"], "language": "en", "languages": ["es"],
    }))
    .expect("a market");
    let shoe = json!({
        "id": "shoe", "handle": "the-shoe", "title": "Shoe", "description": { "plain": "To walk in." },
        "options": [
            { "name": "Color", "values": [{ "id": "c1", "label": "Red" }, { "id": "c2", "label": "Blue" }] },
            { "name": "Size", "values": [{ "label": "8" }, { "label": "9" }, { "label": "10" }] },
        ],
        "variants": [variant("Red", "8", 100, true), variant("Red", "9", 120, true), variant("Blue", "8", 90, false), variant("Blue", "10", 150, true)],
        "translations": { "es": { "title": "Zapato", "terms": { "Color": "Color", "Size": "Talla", "Red": "Rojo", "Blue": "Azul" } } },
    });
    let mug = json!({
        "id": "mug", "title": "Mug", "description": { "html": "<b>Holds</b>" },
        "variants": [{ "id": "v-mug", "sku": "MUG", "price": { "amount": 50, "currency": "USD" } }],
    });
    let records = [shoe, mug]
        .map(|record| serde_json::from_value::<Record>(record).expect("a record").check(&market).expect("usable"));
    TestCatalog { market, records: records.into() }
}

fn choice(name: &str, id: Option<&str>, label: &str) -> SelectedOption {
    SelectedOption { name: name.into(), id: id.map(str::to_owned), label: label.into() }
}

fn open(request: &detail::Request) -> Outcome<detail::Detail> {
    now(detail(&shop(), request, &BuyerSignals::default())).expect("carried out")
}

/// The effective selection and the ids of the variants of a product page.
fn page(request: &detail::Request) -> (String, Vec<String>) {
    match open(request) {
        Outcome::Answer(detail) => (
            detail
                .selected
                .iter()
                .map(|choice| format!("{}={}", choice.name, choice.label))
                .collect::<Vec<_>>()
                .join(" "),
            detail.variants.iter().map(|position| detail.product.variants[*position].id.clone()).collect(),
        ),
        other => panic!("{other:?}"),
    }
}

fn shoe(selected: &[SelectedOption], preferences: &[&str]) -> detail::Request {
    detail::Request {
        id: "shoe".into(),
        selected: selected.to_vec(),
        preferences: preferences.iter().map(|name| (*name).to_owned()).collect(),
        ..detail::Request::default()
    }
}

fn expect(got: &(String, Vec<String>), selected: &str, variants: &[&str]) {
    assert_eq!(*got, (selected.to_owned(), variants.iter().map(|id| (*id).to_owned()).collect()));
}

#[test]
fn a_page_without_choices_shows_the_featured_variant() {
    expect(&page(&shoe(&[], &[])), "Color=Red Size=8", &["v-Red-8"]);
}

#[test]
fn choices_narrow_and_the_first_variant_can_be_bought() {
    expect(&page(&shoe(&[choice("Color", None, "Blue")], &[])), "Color=Blue", &["v-Blue-10", "v-Blue-8"]);
    expect(&page(&shoe(&[choice("color", None, "RED")], &[])), "Color=Red", &["v-Red-8", "v-Red-9"]);
    // The id decides where the axis has ids (rule PRD-09), and the label where it has none.
    expect(
        &page(&shoe(&[choice("Color", Some("c2"), "Red"), choice("Size", Some("?"), "8")], &[])),
        "Color=Blue Size=8",
        &["v-Blue-8"],
    );
}

#[test]
fn choices_are_given_up_in_the_order_of_preferences() {
    let blue_nine = [choice("Color", None, "Blue"), choice("Size", None, "9")];
    expect(&page(&shoe(&blue_nine, &["Color", "Size"])), "Color=Blue", &["v-Blue-10", "v-Blue-8"]);
    expect(&page(&shoe(&blue_nine, &["Size", "Color"])), "Size=9", &["v-Red-9"]);
    // Without preferences the last choice goes first; one without a preference goes before those with one.
    expect(&page(&shoe(&blue_nine, &[])), "Color=Blue", &["v-Blue-10", "v-Blue-8"]);
    expect(&page(&shoe(&blue_nine, &["Size"])), "Size=9", &["v-Red-9"]);
    // What the product does not have costs nothing else.
    let red_fifteen = [choice("Color", None, "Red"), choice("Size", None, "15"), choice("Width", None, "D")];
    expect(&page(&shoe(&red_fifteen, &["Width", "Size", "Color"])), "Color=Red", &["v-Red-8", "v-Red-9"]);
    let (selected, variants) = page(&shoe(&[choice("Width", None, "D")], &[]));
    assert_eq!((selected.as_str(), variants.len()), ("", 4));
}

#[test]
fn an_option_is_chosen_at_most_once() {
    for twice in [["Color", "Color"], ["Color", "color"], ["Width", "Width"]] {
        let selected = twice.map(|name| choice(name, None, "Red"));
        let refusal = now(detail(&shop(), &shoe(&selected, &[]), &BuyerSignals::default())).expect_err("refused");
        assert_eq!((refusal.code, refusal.path.as_deref()), (Code::InvalidRequest, Some("$.selected[1].name")));
    }
}

#[test]
fn a_variant_id_overrules_choices_and_filters() {
    let request = detail::Request {
        id: "v-Blue-8".into(),
        filters: Filters { available: Some(true), ..Filters::default() },
        ..shoe(&[choice("Color", None, "Red")], &[])
    };
    expect(&page(&request), "Color=Blue Size=8", &["v-Blue-8"]);
}

#[test]
fn filters_come_after_choices_and_may_leave_nothing() {
    let blue = |available| detail::Request {
        filters: Filters { available: Some(available), ..Filters::default() },
        ..shoe(&[choice("Color", None, "Blue")], &[])
    };
    expect(&page(&blue(true)), "Color=Blue", &["v-Blue-10"]);
    expect(&page(&blue(false)), "Color=Blue", &["v-Blue-10", "v-Blue-8"]);
    let price = Some(PriceFilter { min: Amount::new(10_000), max: None });
    match open(&detail::Request { filters: Filters { price, ..Filters::default() }, ..shoe(&[], &[]) }) {
        Outcome::NoResource { messages, .. } => {
            assert!(
                matches!(&messages[..], [Message::Error { code, severity: Severity::Recoverable, .. }] if code == "not_found")
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_page_opens_by_product_or_variant_id_only() {
    for id in ["the-shoe", "SKU-Red-8", "nothing", ""] {
        match open(&detail::Request { id: id.into(), ..detail::Request::default() }) {
            Outcome::NoResource { messages, .. } => {
                assert!(matches!(&messages[..], [Message::Error { severity: Severity::Unrecoverable, .. }]), "{id}");
            }
            other => panic!("{id}: {other:?}"),
        }
    }
}

#[test]
fn products_are_shown_in_the_callers_language_and_currency() {
    let context = Context { languages: vec!["es-MX".into()], currency: Some("EUR".into()), ..Context::default() };
    // Choices may use the shop's own words whatever language the page is in.
    let request = detail::Request {
        context: context.clone(),
        ..shoe(&[choice("Size", None, "10"), choice("Color", None, "Azul")], &[])
    };
    expect(&page(&request), "Color=Azul Talla=10", &["v-Blue-10"]);

    let shop = shop();
    let presentation = shop.market.presentation(&context);
    let (shoe, mug) = (shop.records[0].present(&presentation), shop.records[1].present(&presentation));
    assert_eq!((shoe.title.as_str(), shoe.variants[0].title.as_str()), ("Zapato", "Rojo / 8"));
    assert_eq!((shoe.price_range.min.amount.minor(), shoe.price_range.max.currency.as_str()), (180, "EUR"));
    // Not priced in euros: shown in dollars, never converted.
    assert_eq!((mug.price_range.min.amount.minor(), mug.price_range.min.currency.as_str()), (50, "USD"));
    assert_eq!((mug.variants[0].title.as_str(), mug.variants[0].description.plain.as_deref()), ("Mug", Some("Mug")));
}

#[test]
fn lookup_names_every_way_to_a_variant() {
    let ids = ["shoe", "v-Red-8", "SKU-Blue-10", "shoe", "nothing", "MUG", "the-shoe"];
    let request = lookup::Request { ids: ids.map(str::to_owned).into(), ..lookup::Request::default() };
    let resolved = now(lookup(&shop(), &request, &BuyerSignals::default())).expect("carried out");
    let shown: Vec<_> = resolved
        .products
        .iter()
        .flat_map(|listing| {
            listing.variants.iter().map(|variant| (&listing.product.variants[variant.position].id, &variant.inputs))
        })
        .map(|(id, inputs)| {
            let inputs = inputs
                .iter()
                .map(|input| format!("{}{}", input.id, if input.kind == MatchKind::Exact { "!" } else { "?" }));
            format!("{id}: {}", inputs.collect::<Vec<_>>().join(" "))
        })
        .collect();
    assert_eq!(shown, ["v-Red-8: shoe? v-Red-8! the-shoe?", "v-Blue-10: SKU-Blue-10!", "v-mug: MUG!"]);
    assert_eq!(resolved.messages, [Message::info("not_found", "nothing")]);
}

#[test]
fn lookup_features_what_passes_the_filters() {
    let cheap = Filters { price: Some(PriceFilter { min: None, max: Amount::new(95) }), ..Filters::default() };
    let ids = vec!["shoe".to_owned(), "v-Red-8".to_owned(), "mug".to_owned()];
    let resolved = now(lookup(
        &shop(),
        &lookup::Request { ids, filters: cheap, ..lookup::Request::default() },
        &BuyerSignals::default(),
    ))
    .expect("carried out");
    let shown: Vec<_> =
        resolved.products.iter().map(|listing| &listing.product.variants[listing.variants[0].position].id).collect();
    assert_eq!(shown, ["v-Blue-8", "v-mug"]);
    assert!(resolved.messages.is_empty(), "a filtered product is not unknown");
}

#[test]
fn lookup_counts_different_identifiers() {
    let of = |count: usize, listed: usize| lookup::Request {
        ids: (0..listed).map(|number| format!("id-{}", number % count)).collect(),
        ..lookup::Request::default()
    };
    assert!(now(lookup(&shop(), &of(100, 1_000), &BuyerSignals::default())).is_ok());
    for request in [of(101, 101), of(1, 1_001)] {
        let refusal = now(lookup(&shop(), &request, &BuyerSignals::default())).expect_err("refused");
        assert_eq!((refusal.code, refusal.path.as_deref()), (Code::RequestTooLarge, Some("$.ids")));
    }
}

#[test]
fn a_search_needs_something_to_go_by_and_pages_through_it() {
    for query in [None, Some("  ".to_owned())] {
        let refusal = now(search(
            &shop(),
            &PlainCursors,
            &search::Request { query, ..search::Request::default() },
            &BuyerSignals::default(),
        ))
        .expect_err("refused");
        assert_eq!(refusal.code, Code::InvalidRequest);
    }
    let first = search::Request { query: Some("x".into()), limit: Some(1), ..search::Request::default() };
    let found = now(search(&shop(), &PlainCursors, &first, &BuyerSignals::default())).expect("carried out");
    assert_eq!((found.products[0].product.id.as_str(), found.total), ("shoe", Some(2)));
    // The page size may change on the way; the query may not.
    let second = search::Request { cursor: found.cursor.clone(), limit: Some(usize::MAX), ..first };
    let rest = now(search(&shop(), &PlainCursors, &second, &BuyerSignals::default())).expect("carried out");
    assert_eq!((rest.products[0].product.id.as_str(), rest.cursor), ("mug", None));
    for other in [
        search::Request { query: Some("y".into()), ..second.clone() },
        search::Request { filters: Filters { available: Some(true), ..Filters::default() }, ..second.clone() },
        search::Request { context: Context { currency: Some("EUR".into()), ..Context::default() }, ..second.clone() },
        search::Request { cursor: Some("bogus".into()), ..second },
    ] {
        assert_eq!(
            now(search(&shop(), &PlainCursors, &other, &BuyerSignals::default())).expect_err("refused").code,
            Code::InvalidCursor
        );
    }
}

#[test]
fn the_featured_variant_fits_the_words_then_can_be_bought() {
    let shop = shop();
    let shoe = shop.records[0].present(&shop.market.own());
    let id = |words: &str, criteria: &Criteria| {
        featured(&shoe, criteria, &Words::of(words)).map(|position| shoe.variants[position].id.clone())
    };
    let any = Criteria::default();
    assert_eq!(id("", &any).as_deref(), Some("v-Red-8"));
    assert_eq!(id("blue shoe", &any).as_deref(), Some("v-Blue-10"));
    assert_eq!(id("BLUE 8", &any).as_deref(), Some("v-Blue-8"));
    assert_eq!(id("sku-red-9", &any).as_deref(), Some("v-Red-9"));
    let available = Criteria { available: true, ..Criteria::default() };
    assert_eq!(id("blue", &available).as_deref(), Some("v-Blue-10"));
    assert_eq!(id("", &Criteria { bounds: Some(vec![]), ..Criteria::default() }), None);
}

#[test]
fn unusable_records_are_told_where() {
    let market = shop().market;
    let good = json!({
        "id": "p", "title": "P", "description": { "plain": "p" },
        "variants": [variant("Red", "8", 1, true), variant("Red", "9", 1, true)],
    });
    let reject = |pointer: &str, value: Value| {
        let mut record = good.clone();
        *record.pointer_mut(pointer).expect("a member") = value;
        serde_json::from_value::<Record>(record).expect("a record").check(&market).expect_err(pointer).path
    };
    for (pointer, value, path) in [
        ("/id", json!(" "), "$.id"),
        ("/title", json!(""), "$.title"),
        ("/description", json!({}), "$.description"),
        ("/variants", json!([]), "$.variants"),
        ("/variants/1/id", json!("v-Red-8"), "$.variants[1].id"),
        ("/variants/1/id", json!("p"), "$.variants[1].id"),
        ("/variants/0/price/currency", json!("EUR"), "$.variants[0].price"),
        ("/variants/0/prices/0/currency", json!("JPY"), "$.variants[0].prices"),
        ("/variants/0/options", json!([]), "$.variants[0].options"),
        ("/variants/1/options/1/name", json!("Width"), "$.variants[0].options"),
    ] {
        assert_eq!(reject(pointer, value), path, "{pointer}");
    }
    for (members, path) in [
        (json!({"inventory": 1_000_000_000_001_u64}), "$.variants[1].inventory"),
        (json!({"weight_grams": u64::MAX}), "$.variants[1].weight_grams"),
        (json!({"quantity_rule": {"step": 0}}), "$.variants[1].quantity_rule"),
        (json!({"quantity_rule": {"min": 1_000_001}}), "$.variants[1].quantity_rule"),
        (json!({"quantity_rule": {"min": 7, "step": 6, "max": 11}}), "$.variants[1].quantity_rule"),
        (json!({"weight_grams": 1, "digital": true}), "$.variants[1].weight_grams"),
        (
            json!({"inventory": 1, "availability": {"available": false, "status": "out_of_stock"}}),
            "$.variants[1].inventory",
        ),
        (json!({"inventory": 0, "availability": {"status": "backorder"}}), "$.variants[1].inventory"),
    ] {
        let mut record = good.clone();
        for (name, value) in members.as_object().expect("members") {
            record["variants"][1][name] = value.clone();
        }
        let record = serde_json::from_value::<Record>(record).expect("a record");
        assert_eq!(record.check(&market).expect_err(path).path, path, "{members}");
    }
    let mut goods = good.clone();
    for (name, value) in [
        ("inventory", json!(0)),
        ("weight_grams", json!(450)),
        ("digital", json!(false)),
        ("quantity_rule", json!({"step": 6})),
    ] {
        goods["variants"][0][name] = value;
    }
    let record = serde_json::from_value::<Record>(goods).expect("a record").check(&market).expect("usable");
    let product = record.present(&market.own());
    assert_eq!((product.variants[0].weight_grams, product.variants[1].weight_grams), (450, 0));
    let sold = |position: usize, wanted| product.variants[position].quantity_rule.at_most(wanted);
    assert_eq!((sold(0, 5), sold(0, 13), sold(1, 5), sold(1, 0)), (None, Some(12), Some(5), None));

    let checked = serde_json::from_value::<Record>(good).expect("a record").check(&market).expect("usable");
    let axes: Vec<_> = checked.options.iter().map(|axis| (axis.name.as_str(), axis.values.len())).collect();
    assert_eq!(axes, [("Color", 1), ("Size", 2)], "axes follow from the variants");
}

/// The same shop behind an API that shows one variant of a product, and others when they are asked for. It cannot
/// search by price, and knows of old only what goes by an SKU.
struct Sparing(TestCatalog);

impl Sparing {
    /// A product that holds only these of its variants, and says which combinations there are.
    fn holding(product: &Product, held: impl Fn(usize) -> bool) -> Arc<Product> {
        let all = TestCatalog::present(&shop(), &shop().market.own());
        let whole = all.into_iter().find(|own| own.id == product.id).expect("the product");
        let mut whole = Arc::into_inner(whole).expect("the only one");
        whole.combinations = Some(
            whole
                .variants
                .iter()
                .map(|variant| Combination {
                    values: variant.values.clone(),
                    available: variant.availability.available,
                })
                .collect(),
        );
        let mut position = 0..;
        whole.variants.retain(|_| position.next().is_some_and(&held));
        Arc::new(whole)
    }
}

#[async_trait::async_trait]
impl Catalog for Sparing {
    fn capabilities(&self) -> CatalogCapabilities {
        CatalogCapabilities { price_filter: Filtering::None, ..CatalogCapabilities::default() }
    }

    fn market(&self) -> Arc<Market> {
        self.0.market()
    }

    async fn find(&self, query: &Query, buyer_signals: &BuyerSignals) -> Result<Page, PortError> {
        self.0.find(query, buyer_signals).await
    }

    async fn resolve(
        &self,
        ids: &[&str],
        presentation: &Presentation,
        buyer_signals: &BuyerSignals,
    ) -> Result<Vec<Named>, PortError> {
        let named = self.0.resolve(ids, presentation, buyer_signals).await?.into_iter();
        Ok(named
            .zip(ids)
            .map(|(named, id)| match named {
                _ if id.starts_with("busy") => Named::Unchecked,
                Named::Found(matches) if id.starts_with("SKU") => {
                    Named::Stale(matches, Message::warning("stale", "Of yesterday."))
                }
                Named::Found(matches) => {
                    let held = |Match { product, target }: Match| match target {
                        Target::Variant(wanted) | Target::VariantAlias(wanted) => {
                            Match { product: Self::holding(&product, |own| own == wanted), target: Target::Variant(0) }
                        }
                        target => Match { product: Self::holding(&product, |own| own == 0), target },
                    };
                    Named::Found(matches.into_iter().map(held).collect())
                }
                other => other,
            })
            .collect())
    }

    async fn complete(
        &self,
        product: &Arc<Product>,
        combinations: &[&[usize]],
        presentation: &Presentation,
        _: &BuyerSignals,
    ) -> Result<Arc<Product>, PortError> {
        let all = self.0.present(presentation);
        let whole = all.into_iter().find(|own| own.id == product.id).expect("the product");
        let wanted = |position: usize| {
            let variant = &whole.variants[position];
            combinations.contains(&variant.values.as_slice()) || product.variants.iter().any(|own| own.id == variant.id)
        };
        Ok(Self::holding(product, wanted))
    }
}

/// The codes of what was said.
fn codes(messages: &[Message]) -> Vec<&str> {
    fn code(message: &Message) -> &str {
        match message {
            Message::Info { code, .. } => code.as_deref().expect("a code"),
            Message::Warning { code, .. } | Message::Error { code, .. } => code,
        }
    }
    messages.iter().map(code).collect()
}

#[test]
fn a_price_filter_that_nobody_applies_is_told() {
    let cheap = |currency: Option<&str>, query: Option<&str>| search::Request {
        query: query.map(str::to_owned),
        context: Context { currency: currency.map(str::to_owned), ..Context::default() },
        filters: Filters {
            price: Some(PriceFilter { min: None, max: Amount::new(10) }),
            available: Some(true),
            ..Filters::default()
        },
        ..search::Request::default()
    };
    for (currency, query) in [(None, None), (None, Some("x")), (Some("EUR"), None), (Some("CHF"), None)] {
        let request = cheap(currency, query);
        let found =
            now(search(&Sparing(shop()), &PlainCursors, &request, &BuyerSignals::default())).expect("carried out");
        // Everything that the other filters let through, and why.
        assert_eq!(found.products.len(), 2, "{request:?}");
        assert_eq!(codes(&found.messages), ["price_filter_ignored"], "{request:?}");
        // Where it is applied, nothing is so cheap, and nothing has to be said about it.
        let found = now(search(&shop(), &PlainCursors, &request, &BuyerSignals::default())).expect("carried out");
        assert_eq!(found.products.len(), if currency == Some("CHF") { 2 } else { 0 }, "{request:?}");
    }
    let request =
        search::Request { filters: Filters { available: Some(true), ..Filters::default() }, ..cheap(None, None) };
    let found = now(search(&Sparing(shop()), &PlainCursors, &request, &BuyerSignals::default())).expect("carried out");
    assert!(found.messages.is_empty());
}

#[test]
fn stale_lookups_are_reported_once() {
    let ids = ["SKU-Red-8", "mug", "SKU-Blue-10"].map(str::to_owned).into();
    let request = lookup::Request { ids, ..lookup::Request::default() };
    let resolved = now(lookup(&Sparing(shop()), &request, &BuyerSignals::default())).expect("carried out");
    assert_eq!(resolved.products.len(), 2);
    assert_eq!(codes(&resolved.messages), ["stale"]);
}

#[test]
fn a_product_that_does_not_hold_its_variants_is_told_of_like_one_that_does() {
    let choices = |name: &'static str, labels: &'static [&'static str]| {
        std::iter::once(None).chain(labels.iter().map(move |label| Some(choice(name, None, label))))
    };
    for color in choices("Color", &["Red", "Blue", "Green"]) {
        for size in choices("Size", &["8", "9", "10", "11"]) {
            let selected: Vec<_> = color.iter().cloned().chain(size).collect();
            for request in [shoe(&selected, &["Size"]), shoe(&selected, &[]), {
                let filters = Filters { available: Some(true), ..Filters::default() };
                detail::Request { filters, ..shoe(&selected, &[]) }
            }] {
                let sparing = now(detail(&Sparing(shop()), &request, &BuyerSignals::default())).expect("carried out");
                let (whole, part) = match (open(&request), sparing) {
                    (Outcome::Answer(whole), Outcome::Answer(part)) => (whole, part),
                    // Filters may leave nothing to show.
                    (Outcome::NoResource { .. }, Outcome::NoResource { .. }) => continue,
                    different => panic!("{request:?}: {different:?}"),
                };
                assert_eq!((&part.selected, &part.signals), (&whole.selected, &whole.signals), "{request:?}");
                let ids = |detail: &detail::Detail| -> Vec<String> {
                    detail.variants.iter().map(|position| detail.product.variants[*position].id.clone()).collect()
                };
                assert_eq!(ids(&part), ids(&whole), "{request:?}");
            }
        }
    }
    let request = detail::Request { id: "v-Blue-10".into(), ..detail::Request::default() };
    let part = now(detail(&Sparing(shop()), &request, &BuyerSignals::default())).expect("carried out");
    let Outcome::Answer(part) = part else { panic!("a page") };
    assert_eq!(part.variants.len(), 1);
    assert_eq!(part.product.variants[part.variants[0]].id, "v-Blue-10");
}

#[test]
fn what_could_not_be_asked_about_is_not_called_unknown() {
    let ids = ["busy-1", "shoe", "nothing", "busy-2"].map(str::to_owned).into();
    let request = lookup::Request { ids, ..lookup::Request::default() };
    let resolved = now(lookup(&Sparing(shop()), &request, &BuyerSignals::default())).expect("carried out");
    assert_eq!(resolved.products.len(), 1);
    let said: Vec<_> = resolved
        .messages
        .iter()
        .map(|message| match message {
            Message::Info { code, content, .. } => (code.clone().expect("a code"), content.clone()),
            Message::Warning { code, content, .. } => (code.clone(), content.clone()),
            Message::Error { .. } => panic!("{message:?}"),
        })
        .collect();
    assert_eq!(said[0], ("not_found".to_owned(), "nothing".to_owned()));
    assert_eq!(said[1].0, "not_checked");
    assert!(said[1].1.contains("busy-1, busy-2"), "{said:?}");
    // A page that cannot be opened is no page that is not there.
    let busy = detail::Request { id: "busy-1".into(), ..detail::Request::default() };
    let refusal = now(detail(&Sparing(shop()), &busy, &BuyerSignals::default())).expect_err("refused");
    assert_eq!(refusal.code, Code::Unavailable);
}
