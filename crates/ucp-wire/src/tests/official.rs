//! Profiles and answers against the official schemas, where `UCP_SPEC_DIR` says where they are.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use jsonschema::{Retrieve, Uri, Validator};
use serde_json::{Value, json};
use ucp_core::{
    Operation, Outcome, Release,
    message::{Message, Severity},
};

use super::{answer, dialects, encoded, profile};

/// Finds schemas in a folder of official files. Their own identifiers are not all true to the paths by which they refer
/// to each other (trap T-02), so that the paths decide.
struct Files(PathBuf);

impl Retrieve for Files {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        let mut schema: Value = serde_json::from_slice(&fs::read(self.0.join(&uri.path().as_str()[1..]))?)?;
        if let Some(members) = schema.as_object_mut() {
            members.shift_remove("$id");
        }
        Ok(schema)
    }
}

/// The folder of a release; `None`, after saying so, when the official schemas are not at hand.
fn folder(release: Release) -> Option<PathBuf> {
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

fn official(folder: PathBuf, shape: &str) -> Validator {
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
    for dialect in dialects().filter(|dialect| dialect.release() >= Release::V2026_04_08) {
        let Some(folder) = folder(dialect.release()) else { return };
        let failure = match dialect.release() {
            Release::V2026_08_25 => "schemas/common/types/error_response.json",
            _ => "schemas/shopping/types/error_response.json",
        };
        let missing = Outcome::nothing_under("oil", Message::error("not_found", "No.", Severity::Unrecoverable));
        for operation in Operation::ALL {
            let success = match operation {
                Operation::SearchCatalog => "schemas/shopping/catalog_search.json#/$defs/search_response",
                Operation::LookupCatalog => "schemas/shopping/catalog_lookup.json#/$defs/lookup_response",
                Operation::GetProduct => "schemas/shopping/catalog_lookup.json#/$defs/get_product_response",
            };
            for (shape, outcome) in [(success, &answer(*operation)), (failure, &missing)] {
                let document = encoded(dialect, *operation, outcome);
                if let Err(error) = official(folder.clone(), shape).validate(&document) {
                    panic!("{} {shape}: {error} at {}: {document}", dialect.release(), error.instance_path());
                }
            }
        }
    }
}
