//! Profiles and answers against the official schemas, where `UCP_SPEC_DIR` says where they are.

use std::{
    collections::HashMap,
    error::Error,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex},
};

use jsonschema::{Retrieve, Uri, Validator};
use serde_json::{Value, json};
use ucp_core::{
    Operation, Outcome, Release,
    message::{Message, Severity},
};

use super::{answer, dialects, encoded, profile};
use crate::dialect::{Dialect, publishes};

/// Finds schemas in a folder of official files. Their own identifiers are not all true to the paths by which they refer
/// to each other (trap T-02), so that the paths decide.
struct Files(PathBuf);

impl Retrieve for Files {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        let mut schema: Value = serde_json::from_slice(&fs::read(self.0.join(&uri.path().as_str()[1..]))?)?;
        if let Some(members) = schema.as_object_mut() {
            members.shift_remove("$id");
            // A place of the shop is an address too, by these schemas, so that exactly one of both never holds (trap
            // T-03).
            if uri.path().as_str().ends_with("/fulfillment_destination.json")
                && let Some(either) = members.shift_remove("oneOf")
            {
                members.insert("anyOf".to_owned(), either);
            }
        }
        Ok(schema)
    }
}

/// The folder of a release; `None`, after saying so, when the official schemas are not at hand.
pub(super) fn folder(release: Release) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("UCP_SPEC_DIR") else {
        println!("skipped: UCP_SPEC_DIR does not point to the official schemas");
        return None;
    };
    let name = match release {
        // The public file set that is nearest to the release.
        Release::V2026_08_25 => "2026-08-22-main",
        dated => dated.date(),
    };
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = repository.join(folder).join(name).join("source");
    assert!(folder.is_dir(), "UCP_SPEC_DIR holds no {}", folder.display());
    Some(folder)
}

pub(super) fn official(folder: PathBuf, shape: &str) -> Validator {
    let validator = jsonschema::options()
        .with_retriever(Files(folder))
        .should_validate_formats(true)
        .build(&json!({ "$ref": format!("https://schemas.example/{shape}") }))
        .expect("the official schemas compile");
    assert!(!validator.is_valid(&json!({})), "{shape} asks for nothing");
    validator
}

#[test]
fn profiles_conform() {
    for dialect in dialects() {
        let Some(folder) = folder(dialect.release()) else { return };
        let shape = match dialect.release() {
            Release::V2026_01_11 => "discovery/profile_schema.json",
            Release::V2026_01_23 | Release::V2026_04_08 => "discovery/profile_schema.json#/$defs/business_profile",
            Release::V2026_08_25 => "schemas/profile.json#/$defs/business_schema",
        };
        let profile = profile(dialect);
        if let Err(error) = official(folder, shape).validate(&profile) {
            panic!("{}: {error} at {} of {profile}", dialect.release(), error.instance_path());
        }
    }
}

#[test]
fn answers_conform() {
    for dialect in dialects() {
        let release = dialect.release();
        let Some(folder) = folder(release) else { return };
        let modern = release >= Release::V2026_04_08;
        let failure = match release {
            Release::V2026_08_25 => "schemas/common/types/error_response.json",
            _ => "schemas/shopping/types/error_response.json",
        };
        let missing = Outcome::nothing_under("oil", Message::error("not_found", "No.", Severity::Unrecoverable));
        let past = Outcome::past("oil", Message::error("not_open", "No.", Severity::Unrecoverable));
        for operation in Operation::ALL.iter().filter(|operation| publishes(dialect, **operation)) {
            for shape in successes(release, *operation) {
                conforms(dialect, &folder, shape, *operation, &answer(*operation));
            }
            if modern {
                conforms(dialect, &folder, failure, *operation, &missing);
                conforms(dialect, &folder, failure, *operation, &past);
            }
        }
    }
}

/// The shapes of an answer, with every extension.
fn successes(release: Release, operation: Operation) -> &'static [&'static str] {
    let modern = release >= Release::V2026_04_08;
    match operation {
        Operation::SearchCatalog => &["schemas/shopping/catalog_search.json#/$defs/search_response"],
        Operation::LookupCatalog => &["schemas/shopping/catalog_lookup.json#/$defs/lookup_response"],
        Operation::GetProduct => &["schemas/shopping/catalog_lookup.json#/$defs/get_product_response"],
        Operation::CreateCart | Operation::GetCart | Operation::UpdateCart | Operation::CancelCart => match release {
            Release::V2026_08_25 => &[
                "schemas/shopping/discount.json#/$defs/dev.ucp.shopping.cart",
                "schemas/shopping/buyer_consent.json#/$defs/dev.ucp.shopping.cart",
            ],
            _ => &["schemas/shopping/discount.json#/$defs/dev.ucp.shopping.cart"],
        },
        Operation::CreateCheckout
        | Operation::GetCheckout
        | Operation::UpdateCheckout
        | Operation::CompleteCheckout
        | Operation::CancelCheckout
            if modern =>
        {
            &[
                "schemas/shopping/fulfillment.json#/$defs/dev.ucp.shopping.checkout",
                "schemas/shopping/discount.json#/$defs/dev.ucp.shopping.checkout",
                "schemas/shopping/buyer_consent.json#/$defs/dev.ucp.shopping.checkout",
            ]
        }
        Operation::CreateCheckout
        | Operation::GetCheckout
        | Operation::UpdateCheckout
        | Operation::CompleteCheckout
        | Operation::CancelCheckout => &[
            "schemas/shopping/fulfillment.json#/$defs/checkout",
            "schemas/shopping/discount.json#/$defs/checkout",
            "schemas/shopping/buyer_consent.json#/$defs/checkout",
        ],
        Operation::GetOrder => &["schemas/shopping/order.json"],
        // Nothing is published of the draft, nor of locations in the files of this release that are at hand.
        Operation::SearchMerchants
        | Operation::GetMerchant
        | Operation::SearchLocations
        | Operation::LookupLocations => &[],
    }
}

fn conforms(dialect: &dyn Dialect, folder: &Path, shape: &str, operation: Operation, outcome: &Outcome) {
    let document = encoded(dialect, operation, outcome);
    if let Err(error) = official(folder.to_owned(), shape).validate(&document) {
        panic!("{} {shape}: {error} at {}: {document}", dialect.release(), error.instance_path());
    }
}

/// A document against everything that the official schemas ask of the answers of an operation, where they are at hand.
pub(super) fn conforms_to_all(dialect: &dyn Dialect, operation: Operation, document: &Value) {
    type Validators = HashMap<(Release, &'static str), Option<Arc<Validator>>>;
    static VALIDATORS: LazyLock<Mutex<Validators>> = LazyLock::new(Mutex::default);
    let release = dialect.release();
    for shape in successes(release, operation) {
        let validator = VALIDATORS
            .lock()
            .expect("no test panics while it looks validators up")
            .entry((release, *shape))
            .or_insert_with(|| folder(release).map(|folder| Arc::new(official(folder, shape))))
            .clone();
        if let Some(Err(error)) =
            validator.map(|validator| validator.validate(document).map_err(|error| error.to_string()))
        {
            panic!("{release} {shape}: {error} in {document}");
        }
    }
}
