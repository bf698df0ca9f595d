//! What is said otherwise since release 2026-01-11: payment handlers stand in the envelope by name, what is shown of a card
//! has a place of its own, and a purchase is completed with a list of instruments.

use serde_json::{Map, Value, json};
use ucp_core::{Operation, Release};

use crate::{
    founding::purchase::{CARD, modernize_payment},
    site::published_at,
    step::{Step, Way, each_object, object},
};

pub(crate) static STEP: Step = Step {
    request: Way { newer: request_newer, older: request_older },
    answer: Way { newer: answer_newer, older: answer_older },
};

/// Callers may say most of it in either way, so that reading them has made this step already.
fn request_newer(operation: Operation, payload: &mut Map<String, Value>) {
    let instruments = object(payload, "payment").and_then(|payment| payment.get_mut("instruments")?.as_array_mut());
    if let Some([Value::Object(only)]) = instruments.map(Vec::as_mut_slice)
        && operation == Operation::CompleteCheckout
    {
        only.entry("selected").or_insert(Value::Bool(true));
    }
}

fn request_older(operation: Operation, payload: &mut Map<String, Value>) {
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

fn answer_newer(operation: Operation, answer: &mut Map<String, Value>) {
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

fn answer_older(_: Operation, answer: &mut Map<String, Value>) {
    let named = object(answer, "ucp").and_then(|ucp| ucp.shift_remove("payment_handlers"));
    flatten_payment(answer);
    let Some(Value::Object(named)) = named else { return };
    let mut handlers = Vec::new();
    for (name, entries) in named {
        let Value::Array(entries) = entries else { continue };
        for entry in entries {
            let Value::Object(mut handler) = entry else { continue };
            handler.insert("name".to_owned(), name.as_str().into());
            let schema = handler.shift_remove("schema").unwrap_or_default();
            let card = || {
                Value::from(published_at(Release::V2026_01_11, "schemas/shopping/types/card_payment_instrument.json"))
            };
            let kinds = handler.shift_remove("available_instruments").unwrap_or_default();
            let of = |kind: &Value| if kind["type"] == "card" { card() } else { schema.clone() };
            let schemas: Vec<_> = kinds.as_array().into_iter().flatten().map(of).collect();
            handler.entry("instrument_schemas").or_insert_with(|| schemas.into());
            handler.insert("config_schema".to_owned(), schema);
            handlers.push(Value::Object(handler));
        }
    }
    let payment = answer.entry("payment").or_insert_with(|| json!({}));
    if let Some(payment) = payment.as_object_mut() {
        payment.shift_insert(0, "handlers".to_owned(), handlers.into());
    }
}

/// Says which instrument is chosen beside them, and leaves those out that are no cards.
fn flatten_payment(document: &mut Map<String, Value>) {
    let Some(payment) = object(document, "payment") else { return };
    let mut selected = None;
    each_object(payment, "instruments", |instrument| {
        if instrument.shift_remove("selected") == Some(Value::Bool(true)) {
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
        payment.insert("selected_instrument_id".to_owned(), selected);
    }
}

/// Puts what is shown of a card beside its type.
fn flatten_card(instrument: &mut Map<String, Value>) {
    if instrument.get("type").and_then(Value::as_str) != Some("card") {
        return;
    }
    let Some(Value::Object(mut display)) = instrument.shift_remove("display") else { return };
    for (old, new) in CARD {
        if let Some(shown) = display.shift_remove(new) {
            instrument.insert(old.to_owned(), shown);
        }
    }
}
