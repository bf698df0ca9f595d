//! What is said otherwise since release 2026-04-08: consent is given per purpose with its origin, destinations say what
//! they are, texts about deliveries may have several forms, and measures are integers.

use serde_json::{Map, Value, json};
use ucp_core::{Operation, catalog::product, purchase::buyer::Consent};

use super::unit_price::{UnitPrice, older};
use crate::{
    purchase::consent::{Answers, AnswersRequest, Decisions, DecisionsRequest},
    step::{Step, Way, each_destination, each_option, each_variant, object},
};

pub(crate) static STEP: Step = Step {
    request: Way { newer: request_newer, older: request_older },
    answer: Way { newer: answer_newer, older: answer_older },
};

/// What destinations are, by the kind of the method.
const ADDRESS: &str = "shipping_address";
const PLACE: &str = "business_location";

fn request_newer(_: Operation, payload: &mut Map<String, Value>) {
    consent_newer(payload);
    type_destinations(payload);
}

fn request_older(_: Operation, payload: &mut Map<String, Value>) {
    consent_older(payload);
    untype_destinations(payload);
}

fn answer_newer(_: Operation, answer: &mut Map<String, Value>) {
    consent_newer(answer);
    type_destinations(answer);
    each_option(answer, |option| {
        if let Some(description) = option.get_mut("description").filter(|description| description.is_string()) {
            *description = json!({ "plain": description.take() });
        }
    });
    each_variant(answer, |variant| {
        rewrite(variant, "unit_price", |stated| {
            let stated: product::UnitPrice = serde_json::from_value(stated).ok()?;
            serde_json::to_value(UnitPrice::exact(&stated)?).ok()
        });
    });
}

fn answer_older(_: Operation, answer: &mut Map<String, Value>) {
    consent_older(answer);
    untype_destinations(answer);
    each_option(answer, |option| {
        rewrite(option, "description", |description| match description {
            Value::Object(mut forms) => ["plain", "markdown"].iter().find_map(|form| forms.shift_remove(*form)),
            text => Some(text),
        });
    });
    each_variant(answer, |variant| rewrite(variant, "unit_price", |stated| older(&stated)));
}

/// Says a member otherwise, or leaves it out where that is not possible.
fn rewrite(members: &mut Map<String, Value>, name: &str, otherwise: impl FnOnce(Value) -> Option<Value>) {
    let Some(value) = members.get_mut(name) else { return };
    match otherwise(value.take()) {
        Some(rewritten) => *value = rewritten,
        None => {
            members.shift_remove(name);
        }
    }
}

fn consent_newer(document: &mut Map<String, Value>) {
    let Some(buyer) = object(document, "buyer") else { return };
    rewrite(buyer, "consent", |stated| {
        let consent: Consent = serde_json::from_value::<AnswersRequest>(stated).ok()?.into();
        serde_json::to_value(Decisions::from(&consent)).ok()
    });
}

fn consent_older(document: &mut Map<String, Value>) {
    let Some(buyer) = object(document, "buyer") else { return };
    rewrite(buyer, "consent", |stated| {
        let consent: Consent = serde_json::from_value::<DecisionsRequest>(stated).ok()?.into();
        serde_json::to_value(Answers::from(&consent)).ok()
    });
}

fn type_destinations(document: &mut Map<String, Value>) {
    each_destination(document, |method, destination| {
        let kind = if method == Some("pickup") { PLACE } else { ADDRESS };
        destination.entry("type").or_insert_with(|| kind.into());
    });
}

fn untype_destinations(document: &mut Map<String, Value>) {
    each_destination(document, |_, destination| {
        if destination.get("type").is_some_and(|kind| kind == ADDRESS || kind == PLACE) {
            destination.shift_remove("type");
        }
    });
}
