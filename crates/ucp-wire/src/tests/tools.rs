//! Lists of tools: valid for the strictest reader, in every release and detail.

use serde_json::{Value, json};
use ucp_core::{Operation, Release, operation::Resource};

use crate::{
    dialect,
    openrpc::{Detail, tools},
};

const DETAILS: [Detail; 3] = [Detail::Outline, Detail::Requests, Detail::Both];

/// All lists, for known and unknown callers, with the release and the detail.
fn lists() -> impl Iterator<Item = (Release, Detail, Vec<(Operation, Value)>)> {
    Release::ALL.iter().flat_map(|release| {
        DETAILS.into_iter().flat_map(move |detail| {
            [false, true].map(|known| (*release, detail, tools(dialect(*release), Operation::ALL, known, detail)))
        })
    })
}

/// Adds what strict readers find wrong with a schema and everything below it.
fn faults(schema: &Value, path: &str, found: &mut Vec<String>) {
    let Some(keywords) = schema.as_object().filter(|keywords| !keywords.is_empty()) else {
        found.push(format!("{path} is {schema}"));
        return;
    };
    let mut say = |what: &str| found.push(format!("{path} {what}: {schema}"));
    if !["type", "$ref", "anyOf"].iter().any(|keyword| keywords.contains_key(*keyword)) {
        say("has no type");
    }
    if keywords.get("type").is_some_and(|kind| !kind.is_string()) {
        say("has several types");
    }
    if schema["type"] == "array" && !keywords.contains_key("items") {
        say("has no items");
    }
    if ["oneOf", "allOf", "not", "if", "dependentRequired", "patternProperties"]
        .iter()
        .any(|keyword| keywords.contains_key(*keyword))
    {
        say("has a keyword that readers do not know");
    }
    for keyword in ["properties", "$defs"] {
        for (name, member) in keywords.get(keyword).and_then(Value::as_object).into_iter().flatten() {
            faults(member, &format!("{path}.{name}"), found);
        }
    }
    for keyword in ["items", "additionalProperties", "propertyNames"] {
        if let Some(schema) = keywords.get(keyword) {
            faults(schema, &format!("{path}[{keyword}]"), found);
        }
    }
    for choice in keywords.get("anyOf").and_then(Value::as_array).into_iter().flatten() {
        faults(choice, &format!("{path}|"), found);
    }
}

#[test]
fn every_schema_is_valid_for_the_strictest_reader() {
    let mut seen = 0;
    for (release, detail, list) in lists() {
        for (operation, tool) in list {
            let input = &tool["inputSchema"];
            let mut found = Vec::new();
            faults(input, "", &mut found);
            // OpenAI's strict mode knows no members without a name.
            let text = input.to_string();
            assert!(!text.contains("additionalProperties") && !text.contains("$ref"), "{text}");
            assert_eq!((&input["type"], input.get("anyOf")), (&json!("object"), None));
            if let Some(output) = tool.get("outputSchema") {
                faults(output, "output", &mut found);
                assert_eq!(output["type"], "object");
            }
            assert_eq!(found, [""; 0], "{release} {detail:?} {}", operation.row().name);
            seen += 1;
        }
    }
    assert!(seen > 200, "{seen} tools");
}

#[test]
fn a_model_reads_what_members_are() {
    let list = tools(dialect(Release::NEWEST), Operation::ALL, false, Detail::Outline);
    let tool = |operation: Operation| {
        let (_, tool) = list.iter().find(|(own, _)| *own == operation).expect("a tool");
        &tool["inputSchema"]["properties"]
    };
    let member = |operation: Operation, path: &str| {
        let root = json!({ "properties": tool(operation) });
        let member = path.split('.').fold(&root, |schema, name| {
            let schema = if schema["type"] == "array" { &schema["items"] } else { schema };
            &schema["properties"][name]
        });
        let text = |keyword: &str| member[keyword].as_str().unwrap_or_default().to_owned();
        (text("type"), text("description"))
    };
    for (operation, path, description) in [
        (
            Operation::SearchLocations,
            "location.filters.hours.open_at",
            "RFC 3339 time with offset at which the location is open, such as `2026-11-20T18:30:00-08:00`",
        ),
        (Operation::GetProduct, "catalog.selected.name", "Option name, such as `Size`"),
        (Operation::SearchCatalog, "catalog.context.language", "BCP 47 language tag, such as `de`"),
        (Operation::SearchCatalog, "catalog.context.currency", "ISO 4217 currency code, such as `EUR`"),
        (Operation::SearchCatalog, "catalog.pagination.cursor", "Cursor from the previous page of the same search"),
        (Operation::CreateCart, "cart.line_items.item.id", "Variant ID"),
        (Operation::CreateCheckout, "checkout.fulfillment.methods.type", "`shipping` or `pickup`"),
        (Operation::CreateCheckout, "checkout.buyer.email", "Email address"),
        (
            Operation::CreateCheckout,
            "checkout.fulfillment.methods.destinations.address_country",
            "ISO 3166-1 alpha-2 country code, such as `US`",
        ),
        (
            Operation::CreateCheckout,
            "meta.idempotency-key",
            "Unique ID (UUID) for this change. Reuse it only to retry the same call.",
        ),
    ] {
        assert_eq!(member(operation, path), ("string".to_owned(), description.to_owned()), "{path}");
    }
    let unit = &tool(Operation::SearchMerchants)["filters"]["properties"]["location"]["properties"]["radius"];
    assert_eq!(unit["properties"]["unit"]["enum"], json!(["km", "mi"]));
    for (operation, needed) in [(Operation::SearchCatalog, "catalog"), (Operation::CreateCheckout, "checkout")] {
        // What a choice of required members said.
        let description = tool(operation)[needed]["description"].as_str().expect("a description");
        let words =
            if operation == Operation::SearchCatalog { ["`query`", "filter"] } else { ["`line_items`", "`cart_id`"] };
        assert!(words.iter().all(|word| description.contains(word)), "{description}");
    }
}

/// The text that a model reads with every conversation.
#[test]
fn outlines_are_short() {
    for release in Release::ALL {
        let list = tools(dialect(*release), Operation::ALL, false, Detail::Outline);
        let length = |directory: bool| -> usize {
            let counted = list.iter().filter(|(own, _)| directory || own.row().resource != Resource::Directory);
            counted.map(|(_, tool)| tool.to_string().len() + 1).sum()
        };
        println!("{release}: {} bytes, {} without a directory", length(true), length(false));
        assert!(length(false) < 30_900, "{release}: {} bytes", length(false));
    }
}
