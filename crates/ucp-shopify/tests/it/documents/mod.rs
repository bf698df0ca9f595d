//! Requests to the Storefront API, against Shopify's own schema.
//!
//! The schema is the introspection that the npm package `@shopify/hydrogen-react` ships, of the release of the API that
//! the documents are written for. It is Shopify's and not kept here: `UCP_STOREFRONT_SCHEMA` names the file. Every
//! operation in the folder of documents is validated, whoever's it is, and its cost is estimated by the rule that
//! Shopify publishes.

mod cost;
mod schema;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use apollo_compiler::{ExecutableDocument, Schema, validation::Valid};
use ucp_shopify::documents::{
    self, CEILING, LISTED_MEDIA, MOST_CODED_PRODUCTS, MOST_COMBINATIONS, MOST_PRODUCTS, OPENED_MEDIA, OPENED_VARIANTS,
    variants_beside,
};

use self::cost::{Sizes, cost};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/documents");

/// Shopify's schema; `None`, with the reason on the screen, where it is not at hand.
fn shopify() -> Option<Valid<Schema>> {
    let Some(path) = std::env::var_os("UCP_STOREFRONT_SCHEMA") else {
        println!(
            "skipped: UCP_STOREFRONT_SCHEMA does not name Shopify's schema (storefront.schema.json of the npm package \
             @shopify/hydrogen-react)"
        );
        return None;
    };
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let introspection = serde_json::from_str(&text).expect("an introspection");
    let schema = Schema::parse_and_validate(schema::definitions(&introspection), "storefront.graphql");
    Some(schema.unwrap_or_else(|invalid| panic!("{}", invalid.errors)))
}

fn validated(schema: &Valid<Schema>, name: &str, text: &str) -> Valid<ExecutableDocument> {
    ExecutableDocument::parse_and_validate(schema, text, name)
        .unwrap_or_else(|invalid| panic!("{name}: {}", invalid.errors))
}

/// The files of a folder by their names without the ending.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let graphql = paths.filter(|path| path.extension().is_some_and(|extension| extension == "graphql"));
    graphql
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).expect("a text"))
        })
        .collect()
}

/// The operations in the folder, each with the fragments that it spreads.
fn operations() -> BTreeMap<String, String> {
    let fragments = files(&Path::new(FOLDER).join("fragments"));
    let spread = |text: &str| -> Vec<String> {
        text.split("...")
            .skip(1)
            .filter_map(|rest| rest.split(|letter: char| !letter.is_alphanumeric()).next())
            .map(str::to_lowercase)
            .collect()
    };
    let complete = |own: String| {
        let mut text = own.clone();
        let mut wanted = spread(&own);
        let mut taken = BTreeSet::new();
        while let Some(name) = wanted.pop() {
            if let Some(fragment) = fragments.get(&name)
                && taken.insert(name)
            {
                wanted.extend(spread(fragment));
                text.push_str(fragment);
            }
        }
        text
    };
    files(Path::new(FOLDER)).into_iter().map(|(name, own)| (name, complete(own))).collect()
}

#[test]
fn every_document_fits_shopifys_schema() {
    let Some(schema) = shopify() else { return };
    let operations = operations();
    assert!(operations.len() >= documents::ALL.len(), "{operations:?}");
    for (name, text) in &operations {
        validated(&schema, name, text);
    }
    for document in documents::ALL {
        assert!(operations.contains_key(document.name), "`{}` has another name than its file", document.name);
        validated(&schema, document.name, &document.text);
    }
    for count in 1..=MOST_PRODUCTS.max(MOST_COMBINATIONS) {
        for document in [documents::handles(count), documents::combinations(count)] {
            validated(&schema, document.name, &document.text);
        }
    }
}

#[test]
fn a_document_that_does_not_fit_is_found_out() {
    let Some(schema) = shopify() else { return };
    let good = &documents::NODES.text;
    for (from, to) in [
        ("descriptionHtml", "descriptionMarkdown"),
        ("$ids: [ID!]!", "$ids: [String!]!"),
        ("... on ProductVariant", "... on Cart"),
        ("amount\n", "amount { value }\n"),
        ("media(first: $media)", "media"),
    ] {
        assert!(good.contains(from), "{from}");
        let bad = good.replace(from, to);
        let judged = ExecutableDocument::parse_and_validate(&schema, bad, "bad");
        assert!(judged.is_err(), "{from} -> {to}");
    }
}

/// Maximum number of objects that each operation of the catalog requests.
fn catalog() -> Vec<(documents::Document, Sizes)> {
    let sizes =
        |pairs: &[(&str, usize)]| pairs.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect::<Sizes>();
    let mut all = vec![
        (documents::SHOP.clone(), sizes(&[])),
        (documents::TYPES.clone(), sizes(&[("first", 250)])),
        (documents::CODES.clone(), sizes(&[("first", MOST_CODED_PRODUCTS)])),
        (documents::VARIANTS.clone(), sizes(&[("first", OPENED_VARIANTS)])),
        (documents::combinations(MOST_COMBINATIONS), sizes(&[])),
        (documents::NODES.clone(), sizes(&[("ids", 1), ("variants", OPENED_VARIANTS), ("media", OPENED_MEDIA)])),
    ];
    for count in 1..=MOST_PRODUCTS {
        let (variants, media) = (("variants", variants_beside(count)), ("media", LISTED_MEDIA));
        all.push((documents::SEARCH.clone(), sizes(&[("first", count), variants, media])));
        all.push((documents::BROWSE.clone(), sizes(&[("first", count), variants, media])));
        all.push((documents::NODES.clone(), sizes(&[("ids", count), variants, media])));
        all.push((documents::handles(count), sizes(&[variants, media])));
    }
    all
}

#[test]
fn every_document_costs_what_shopify_allows() {
    let Some(schema) = shopify() else { return };
    let mut dearest: BTreeMap<&str, usize> = BTreeMap::new();
    for (document, sizes) in catalog() {
        let points = cost(&schema, &validated(&schema, document.name, &document.text), &sizes);
        let points = points.unwrap_or_else(|reason| panic!("{}: {reason}", document.name));
        assert!(points <= CEILING, "{} costs {points} with {sizes:?}", document.name);
        let most = dearest.entry(document.name).or_default();
        *most = points.max(*most);
    }
    // The others state how much they ask for themselves, by literals or by defaults of their variables.
    for (name, text) in operations() {
        if !dearest.contains_key(name.as_str()) {
            let points = cost(&schema, &validated(&schema, &name, &text), &Sizes::new());
            let points = points.unwrap_or_else(|reason| panic!("{name}: {reason}"));
            assert!(points <= CEILING, "{name} costs {points}");
            println!("{name}: {points}");
        }
    }
    for (name, points) in &dearest {
        println!("{name}: at most {points}");
    }
    // The estimate is one: what is known to cost much does.
    assert!(dearest["search"] > CEILING / 2 && dearest["nodes"] > CEILING / 2, "{dearest:?}");
}
