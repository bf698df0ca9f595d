//! Prints the schemas of the newest release as the `schemas.json` that its module reads once a newer release is out.
//!
//! ```text
//! cargo run -p ucp-wire --example schemas > crates/ucp-wire/src/v2026_08_25/schemas.json
//! ```

use std::process::ExitCode;

use schemars::Schema;
use serde_json::{Map, Value, json};
use ucp_core::{Operation, Release};
use ucp_wire::{
    releases::dialect,
    schema::{Direction, generator},
};

fn main() -> ExitCode {
    let release = dialect(Release::NEWEST);
    let (mut requests, mut answers) = (generator(Direction::Request), generator(Direction::Response));
    let mut operations = Map::new();
    for operation in Operation::ALL {
        let Some(shapes) = release.shapes(*operation) else { continue };
        let request = shapes.request(&mut requests).as_ref().and_then(name);
        shapes.no_resource(&mut answers);
        operations.insert(operation.row().name.to_owned(), json!([request, name(&shapes.answer(&mut answers))]));
    }
    // Transformed when they are published, as those of the newest release are.
    let (requests, mut definitions) = (requests.take_definitions(false), answers.take_definitions(false));
    let mut complete = true;
    for (name, definition) in requests {
        let differs = definitions.get(&name).is_some_and(|answered| *answered != definition);
        if differs {
            eprintln!("`{name}` must have one schema for requests and answers, or two names");
            complete = false;
        }
        definitions.insert(name, definition);
    }
    println!("{{\n\"operations\": {},\n\"$defs\": {}\n}}", lines(&operations), lines(&definitions));
    if complete { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns the name of the definition that a schema refers to.
fn name(schema: &Schema) -> Option<String> {
    Some(schema.as_object()?.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?.to_owned())
}

/// Formats an object with one member per line.
fn lines(members: &Map<String, Value>) -> String {
    let lines: Vec<_> =
        members.iter().map(|(name, value)| format!("{}: {value}", Value::from(name.as_str()))).collect();
    format!("{{\n{}\n}}", lines.join(",\n"))
}
