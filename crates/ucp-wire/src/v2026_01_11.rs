//! Release 2026-01-11: checkouts, with lists where later releases have maps.
//!
//! Changes in the next release: payment handlers are in the envelope by name, the displayable details of a card are in
//! `display`, and a checkout is completed with a list of instruments.
//!
//! The founding document on checkouts over MCP is between the two releases: it names this one and has maps of
//! capabilities and handlers by name in `ucp`. Its callers use operations as JSON-RPC methods, which the MCP binding of
//! the next release does not offer, so the answers to direct calls are written in the form of that document.

use std::{collections::HashMap, slice, sync::LazyLock};

use serde_json::{Map, Value, json};
use ucp_core::{Operation, Release, Request, call::SaleRequest, negotiation::Active};

use crate::{
    dialect::{Dialect, advertised, services},
    offer::Offer,
    pre_catalog::{self, CARD, PreCatalog, SCHEMAS, modernize_payment},
    purchase::payment::Handlers,
    schema::{self, Shapes},
    site::{OPENAPI, OPENRPC, Site, published_at},
    splice::object as object_of,
    upgrade::{Kept, Upgrade, Way, each_object, insert_before, object},
};

/// Release 2026-01-11.
pub static V2026_01_11: PreCatalog = PreCatalog {
    release: RELEASE,
    offers: &OFFERS,
    shapes: &SHAPES,
    methods: true,
    metadata,
    direct,
    profile,
    upgrade: &UPGRADE,
    // Payments are normalized to the form of the next release.
    respell: request_down,
    supply,
};

const RELEASE: Release = Release::V2026_01_11;

static OFFERS: [Offer; 10] = pre_catalog::offers(RELEASE);

static SHAPES: LazyLock<HashMap<Operation, Shapes>> =
    LazyLock::new(|| schema::stated(&[include_str!("v2026_01_11/schemas.json"), SCHEMAS[0], SCHEMAS[1]]));

static UPGRADE: Upgrade = Upgrade {
    request: Way { up: request_up, down: request_down },
    answer: Way { up: answer_up, down: answer_down },
    kept: Kept { request: keep_stated, answer: |_, _| {}, variant: |_, _| {} },
};

/// Returns the `ucp` member of an answer, with a list of capabilities.
fn metadata(operation: Operation, active: &Active) -> Map<String, Value> {
    let named = |(name, version)| json!({ "name": name, "version": version });
    let capabilities: Value = active.relevant_to(operation.row().capability).map(named).collect();
    Map::from_iter([("version".to_owned(), RELEASE.date().into()), ("capabilities".to_owned(), capabilities)])
}

/// Only the default of `selected` remains: `normalize` has rewritten the other differences already, because callers may
/// use either spelling.
fn request_up(operation: Operation, payload: &mut Map<String, Value>) {
    let instruments = object(payload, "payment").and_then(|payment| payment.get_mut("instruments")?.as_array_mut());
    if let Some([Value::Object(only)]) = instruments.map(Vec::as_mut_slice)
        && operation == Operation::CompleteCheckout
    {
        only.entry("selected").or_insert(Value::Bool(true));
    }
}

fn request_down(operation: Operation, payload: &mut Map<String, Value>) {
    if operation != Operation::CompleteCheckout {
        return flatten_payment(payload);
    }
    let Some(Value::Object(mut payment)) = payload.shift_remove("payment") else { return };
    each_object(&mut payment, "instruments", flatten_card);
    let Some(Value::Array(instruments)) = payment.shift_remove("instruments") else { return };
    let chosen = instruments.iter().position(|instrument| instrument["selected"] == true).unwrap_or_default();
    if let Some(mut instrument) = instruments.into_iter().nth(chosen) {
        if let Some(members) = instrument.as_object_mut() {
            members.shift_remove("selected");
        }
        payload.insert("payment_data".to_owned(), instrument);
    }
}

/// Adds the payment, which the release requires of every checkout, and titles, which its sample server reads of every
/// item and replaces by its own.
fn supply(operation: Operation, payload: &mut Map<String, Value>) {
    if !operation.drafts_checkout() {
        return;
    }
    payload.entry("payment").or_insert_with(|| json!({}));
    each_object(payload, "line_items", |line| {
        if let Some(item) = object(line, "item")
            && let Some(id) = item.get("id").cloned()
        {
            item.entry("title").or_insert(id);
        }
    });
}

fn answer_up(operation: Operation, answer: &mut Map<String, Value>) {
    let handlers = object(answer, "payment").and_then(|payment| payment.shift_remove("handlers"));
    modernize_payment(operation, answer);
    if object(answer, "payment").is_some_and(|payment| payment.is_empty()) {
        answer.shift_remove("payment");
    }
    let Some(Value::Array(handlers)) = handlers else { return };
    let mut named = Map::new();
    for handler in handlers {
        let Value::Object(mut handler) = handler else { continue };
        let Some(Value::String(name)) = handler.shift_remove("name") else { continue };
        if let Some(schema) = handler.shift_remove("config_schema") {
            handler.insert("schema".to_owned(), schema);
        }
        if let Some(entries) = named.entry(name).or_insert_with(|| json!([])).as_array_mut() {
            entries.push(Value::Object(handler));
        }
    }
    if let Some(ucp) = object(answer, "ucp") {
        ucp.entry("payment_handlers").or_insert(Value::Object(named));
    }
}

fn answer_down(_: Operation, answer: &mut Map<String, Value>) {
    let named = object(answer, "ucp").and_then(|ucp| ucp.shift_remove("payment_handlers"));
    flatten_payment(answer);
    let Some(Value::Object(named)) = named else { return };
    let handlers = Value::from(listed(named));
    match object(answer, "payment") {
        Some(payment) => {
            payment.shift_insert(0, "handlers".to_owned(), handlers);
        }
        None => {
            let payment = json!({ "handlers": handlers });
            insert_before(answer, "payment", payment, &["messages", "links", "continue_url", "expires_at"]);
        }
    }
}

/// Converts payment handlers from lists by name to one list.
fn listed(named: Map<String, Value>) -> Vec<Value> {
    let mut handlers = Vec::new();
    for (name, entries) in named {
        let Value::Array(entries) = entries else { continue };
        for entry in entries {
            let Value::Object(mut handler) = entry else { continue };
            insert_before(&mut handler, "name", name.as_str().into(), &["version"]);
            let schema = handler.shift_remove("schema");
            let card = || Value::from(published_at(RELEASE, "schemas/shopping/types/card_payment_instrument.json"));
            let kinds = handler.shift_remove("available_instruments").unwrap_or_default();
            let of = |kind: &Value| if kind["type"] == "card" { Some(card()) } else { schema.clone() };
            let schemas: Value = kinds.as_array().into_iter().flatten().filter_map(of).collect();
            if let Some(schema) = schema {
                insert_before(&mut handler, "config_schema", schema, &["config"]);
            }
            if !handler.contains_key("instrument_schemas") {
                insert_before(&mut handler, "instrument_schemas", schemas, &["config"]);
            }
            handlers.push(Value::Object(handler));
        }
    }
    handlers
}

/// Moves the choice of the instrument into `selected_instrument_id`, and removes instruments that are not complete
/// cards.
fn flatten_payment(document: &mut Map<String, Value>) {
    let Some(payment) = object(document, "payment") else { return };
    let mut selected = None;
    each_object(payment, "instruments", |instrument| {
        if instrument.shift_remove("selected") == Some(Value::Bool(true)) && selected.is_none() {
            selected = instrument.get("id").cloned();
        }
        flatten_card(instrument);
    });
    if let Some(instruments) = payment.get_mut("instruments").and_then(Value::as_array_mut) {
        instruments.retain(|instrument| {
            instrument["type"] == "card" && instrument["brand"].is_string() && instrument["last_digits"].is_string()
        });
        if instruments.is_empty() {
            payment.shift_remove("instruments");
        }
    }
    if let Some(selected) = selected {
        insert_before(payment, "selected_instrument_id", selected, &["instruments"]);
    }
}

/// Moves the displayable details of a card next to its type, if they have the form that the release requires.
fn flatten_card(instrument: &mut Map<String, Value>) {
    if instrument.get("type").and_then(Value::as_str) != Some("card") {
        return;
    }
    let Some(Value::Object(mut display)) = instrument.shift_remove("display") else { return };
    for (old, new) in CARD {
        let fits = |shown: &Value| match old {
            "expiry_month" | "expiry_year" => shown.is_i64(),
            "rich_card_art" => shown.as_str().is_some_and(|address| address.starts_with("https://")),
            _ => shown.is_string(),
        };
        if let Some(shown) = display.shift_remove(new).filter(fits) {
            insert_before(instrument, old, shown, &["billing_address", "credential"]);
        }
    }
}

/// Restores `selected` of a single instrument, which `request_up` sets to `true` if it is absent.
fn keep_stated(payload: &Value, request: &mut Request) {
    if let Request::Sale(SaleRequest::CompleteCheckout(request)) = request
        && let [only] = request.tenders.as_mut_slice()
    {
        only.instrument.selected = payload["payment"]["instruments"][0]["selected"].as_bool();
    }
}

/// Rewrites a checkout of 2026-01-11 into the form of the founding document. Other documents are left unchanged, and so
/// are signed ones, because the signature covers the document as sent.
fn direct(document: String) -> String {
    let Ok(mut answer) = serde_json::from_str::<Value>(&document) else { return document };
    if answer.get("ap2").is_some() {
        return document;
    }
    let Some(listed) = answer["ucp"]["capabilities"].as_array() else { return document };
    let capabilities: Map<_, _> = listed
        .iter()
        .filter_map(|entry| Some((entry["name"].as_str()?.to_owned(), json!([{ "version": entry["version"] }]))))
        .collect();
    let mut handlers = Map::new();
    for handler in answer["payment"]["handlers"].as_array().into_iter().flatten() {
        let Some(name) = handler["name"].as_str() else { continue };
        let members =
            [("id", "id"), ("version", "version"), ("spec", "spec"), ("schema", "config_schema"), ("config", "config")];
        let stated = members.iter().filter_map(|(new, old)| Some(((*new).to_owned(), handler.get(old)?.clone())));
        if let Some(entries) = handlers.entry(name).or_insert_with(|| json!([])).as_array_mut() {
            entries.push(Value::Object(stated.collect()));
        }
    }
    answer["ucp"]["capabilities"] = Value::Object(capabilities);
    if answer.get("payment").is_some() {
        answer["ucp"]["payment_handlers"] = Value::Object(handlers);
    }
    answer.to_string()
}

/// Builds a profile with one object per service, a list of capabilities, and payment handlers next to `ucp`.
fn profile(dialect: &dyn Dialect, site: &Site<'_>) -> Value {
    let version = RELEASE.date();
    let binding = |service: &str, document: &str, endpoint: String| json!({ "schema": site.description(RELEASE, service, document), "endpoint": endpoint });
    let services = services(dialect, &site.offering.operations).into_iter().map(|service| {
        let entry = json!({
            "version": version,
            "spec": site.overview(RELEASE, service),
            "rest": binding(service, OPENAPI, site.endpoint.to_owned()),
            "mcp": binding(service, OPENRPC, format!("{}/mcp", site.endpoint)),
        });
        (site.names.of(service).to_owned(), entry)
    });
    let capability = |offer: &Offer| {
        let (spec, schema) = site.documents(RELEASE, offer);
        let mut entry = json!({
            "name": site.names.of(offer.name),
            "version": offer.version,
            "spec": spec,
            "schema": schema,
        });
        // This release allows one parent per extension.
        if let [parent, ..] = offer.extends {
            entry["extends"] = (*parent).into();
        }
        if let Some(config) = offer.config() {
            entry["config"] = config;
        }
        entry
    };
    let capabilities: Vec<_> = advertised(dialect, site).map(capability).collect();
    let handlers: Vec<_> =
        site.handlers.iter().flat_map(|handler| listed(object_of(&Handlers::from(slice::from_ref(handler))))).collect();
    let mut profile = Map::from_iter([
        (
            "ucp".to_owned(),
            json!({
                "version": version,
                "services": Value::Object(services.collect()),
                "capabilities": capabilities,
            }),
        ),
        ("payment".to_owned(), json!({ "handlers": handlers })),
    ]);
    if !site.keys.is_empty() {
        profile.insert("signing_keys".to_owned(), site.keys.into());
    }
    Value::Object(profile)
}
