//! The contract as an OpenAPI document, for those who implement it.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};

use crate::{
    changes::CHANGES_PATH,
    documents::{
        Abandon, Attempt, Backend, Cart, CartQuestion, CatalogChanged, Find, Found, OrderChanged, OrderPlaced,
        OrderQuestion, Outcome, PlaceOrder, Problem, Resolve, Resolved, VERSION,
    },
    orders::EVENTS_PATH,
    transport::Question,
};

/// Returns the OpenAPI document of the contract.
pub fn document() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    let mut generator = settings.into_generator();
    let mut paths = serde_json::Map::new();
    for question in Question::ALL {
        let (summary, asked, answer) = shapes(question, &mut generator);
        let mut operation = json!({
            "operationId": question.path().replace('/', "_"),
            "summary": summary,
            "responses": {
                "200": { "description": "The answer.", "content": { "application/json": { "schema": answer } } },
                "404": { "description": "What was asked about does not exist." },
                "429": { "description": "Too many questions; `Retry-After` says how long to wait." },
                "4XX": refusal(&mut generator),
            },
        });
        if let Some(asked) = asked {
            operation["requestBody"] =
                json!({ "required": true, "content": { "application/json": { "schema": asked } } });
        }
        let method = question.method().as_str().to_ascii_lowercase();
        paths.insert(format!("/{}", question.path()), json!({ method: operation }));
    }
    let event = generator.subschema_for::<OrderPlaced>();
    let webhook = json!({ "post": {
        "operationId": "order_placed",
        "summary": "Told to the gateway: an order that a buyer placed on a page of the shop.",
        "description": format!("Sent to `{EVENTS_PATH}` of the gateway, signed with the shared secret."),
        "requestBody": { "required": true, "content": { "application/json": { "schema": event } } },
        "responses": { "2XX": { "description": "The event was stored; anything else has to be sent again." } },
    } });
    let becoming = generator.subschema_for::<OrderChanged>();
    let becoming = json!({ "post": {
        "operationId": "order_changed",
        "summary": "Told to the gateway: what has become of an order.",
        "description": format!("Sent to `{EVENTS_PATH}` of the gateway, signed with the shared secret."),
        "requestBody": { "required": true, "content": { "application/json": { "schema": becoming } } },
        "responses": {
            "2XX": { "description": "The event was stored." },
            "400": { "description": "The event does not fit the order; nothing was stored." },
            "503": { "description": "The event has to be sent again." },
        },
    } });
    let changed = generator.subschema_for::<CatalogChanged>();
    let changes = json!({ "post": {
        "operationId": "catalog_changed",
        "summary": "Told to a gateway that keeps a copy of the catalog: products that changed.",
        "description": format!("Sent to `{CHANGES_PATH}` of the gateway, signed with the shared secret."),
        "requestBody": { "required": true, "content": { "application/json": { "schema": changed } } },
        "responses": { "2XX": { "description": "The event was stored; anything else has to be sent again." } },
    } });
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Backend contract of ucp-gateway",
            "version": VERSION,
            "description": "What a shop answers, in any language, so that ucp-gateway can put it on the Universal Commerce \
                            Protocol. Amounts are integers in minor units.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "https://shop.example.com/ucp-backend" }],
        "security": [{ "bearer": [] }, { "signature": [], "signature_timestamp": [] }],
        "paths": paths,
        "webhooks": { "order_placed": webhook, "order_changed": becoming, "catalog_changed": changes },
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer" },
                "signature": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "X-Signature",
                    "description": "`sha256=` and the HMAC-SHA256 under the shared secret, in hexadecimal digits, of \
                                    timestamp, method, path and body, with a line feed after each but the last.",
                },
                "signature_timestamp": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "X-Signature-Timestamp",
                    "description": "Time of the signature, in seconds since 1970.",
                },
            },
        },
    })
}

/// Returns the summary of a question, and the schemas of its document and its answer.
fn shapes(question: Question, generator: &mut SchemaGenerator) -> (&'static str, Option<Value>, Value) {
    fn of<Q: JsonSchema, A: JsonSchema>(generator: &mut SchemaGenerator) -> (Option<Value>, Value) {
        (Some(generator.subschema_for::<Q>().to_value()), generator.subschema_for::<A>().to_value())
    }
    let (summary, (asked, answer)) = match question {
        Question::Backend => {
            ("Description of the shop and its capabilities.", (None, generator.subschema_for::<Backend>().to_value()))
        }
        Question::Find => ("One page of the products that match.", of::<Find, Found>(generator)),
        Question::Resolve => ("The products that identifiers name.", of::<Resolve, Resolved>(generator)),
        Question::Open => ("The same, no older than a few seconds.", of::<Resolve, Resolved>(generator)),
        Question::CartSync => ("Bring a cart to what is stated, or make one.", of::<CartQuestion, Cart>(generator)),
        Question::CartFetch => ("A cart as it is; nothing is changed.", of::<CartQuestion, Cart>(generator)),
        Question::CartAbandon => ("Give a cart up.", of::<Abandon, ()>(generator)),
        Question::Place => {
            ("Place an order and take its payment, once for each reference.", of::<PlaceOrder, Outcome>(generator))
        }
        Question::Order => ("Result of an attempt to place an order.", of::<Attempt, Outcome>(generator)),
        Question::OrderStatus => ("What has become of an order.", of::<OrderQuestion, OrderChanged>(generator)),
        Question::Cancel => {
            ("Keep an attempt from placing an order if it arrives late.", of::<Attempt, Outcome>(generator))
        }
    };
    (summary, asked, answer)
}

fn refusal(generator: &mut SchemaGenerator) -> Value {
    let problem = generator.subschema_for::<Problem>();
    json!({
        "description": "The question is refused. The reason is for the log of the gateway.",
        "content": { "application/json": { "schema": problem } },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_of_the_document_leads_somewhere() {
        fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
            match value {
                Value::Object(members) => {
                    found.extend(members.get("$ref").and_then(Value::as_str));
                    members.values().for_each(|value| references(value, found));
                }
                Value::Array(entries) => entries.iter().for_each(|value| references(value, found)),
                _ => {}
            }
        }
        let document = document();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 20);
        for reference in found {
            let pointer = reference.strip_prefix('#').expect("a reference into the document");
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
        assert_eq!(document["paths"].as_object().map(serde_json::Map::len), Some(Question::ALL.len()));
    }
}
