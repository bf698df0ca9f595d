//! The same journey over every transport: the same calls, answered with the same documents.
//!
//! Journeys are generated: sequences of creating, looking at, changing, converting, completing and canceling, with
//! sound and less sound contents. Identifiers, tokens and times are numbered in the order in which they appear.

use std::collections::BTreeMap;

use proptest::{
    prelude::*,
    sample::select,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::{Value, json};
use ucp_core::Release;

use super::shopper::{Shopper, address, flowers, id, lines, new_key};
use crate::setup::Transport;

/// Number of compared journeys in each version.
const JOURNEYS: u32 = 40;

/// A step of a journey; carts and checkouts are meant by the order in which they were made.
#[derive(Clone, Debug)]
enum Step {
    CreateCart(Value),
    CreateCheckout(Value),
    Convert(usize),
    Read(bool, usize),
    Update(bool, usize, Value),
    Complete(usize, &'static str),
    Cancel(bool, usize),
    /// Asks for the order of a checkout.
    Order(usize),
    /// Sends the last step that writes again, under its key.
    Retry,
}

fn goods() -> impl Strategy<Value = Value> {
    let item = select(vec!["bouquet_roses", "pot_ceramic", "bouquet_tulips", "gardenias", "no_such_thing"]);
    prop::collection::vec((item, prop_oneof![5 => 1..4_u64, 1 => Just(0), 1 => Just(7)]), 0..4)
        .prop_map(|goods| lines(&goods))
}

fn contents() -> BoxedStrategy<Value> {
    let buyer = select(vec![
        Value::Null,
        json!({ "email": "buyer@example.com" }),
        json!({ "email": "john.doe@example.com", "first_name": "John" }),
        json!({ "email": "no address", "phone_number": "+1 555" }),
        json!("nobody"),
    ]);
    let mut far = address();
    far["address_country"] = json!("DE");
    let fulfillment = select(vec![
        Value::Null,
        json!({ "methods": [{ "type": "shipping" }] }),
        json!({ "methods": [{ "type": "shipping", "destinations": [address()] }] }),
        json!({ "methods": [{ "type": "shipping", "destinations": [far, address()] }] }),
        json!({ "methods": [{ "type": "shipping", "destinations": [address()],
            "groups": [{ "selected_option_id": "exp-ship-us" }] }] }),
        json!({ "methods": [{ "type": "teleport" }] }),
        json!({ "methods": [] }),
    ]);
    let codes =
        select(vec![Value::Null, json!(["10OFF"]), json!(["fixed500", "WELCOME20", "x"]), json!([]), json!([3])]);
    let context = select(vec![Value::Null, json!({ "address_country": "US" }), json!({ "currency": "EUR" })]);
    let sound = select(vec![1_u64, 2])
        .prop_map(|quantity| super::shopper::ready(&[("pot_ceramic", quantity), ("bouquet_roses", 1)]));
    let stated =
        (goods(), buyer, fulfillment, codes, context).prop_map(|(goods, buyer, fulfillment, codes, context)| {
            let codes = if codes.is_null() { codes } else { json!({ "codes": codes }) };
            let members = [("buyer", buyer), ("fulfillment", fulfillment), ("discounts", codes), ("context", context)];
            let stated = members.into_iter().filter(|(_, value)| !value.is_null());
            let mut request: serde_json::Map<_, _> = stated.map(|(name, value)| (name.to_owned(), value)).collect();
            request.insert("line_items".to_owned(), goods);
            Value::Object(request)
        });
    prop_oneof![3 => stated, 2 => sound].boxed()
}

fn step(carts: bool) -> BoxedStrategy<Step> {
    let which = prop_oneof![2 => Just(0), 1 => 0..3_usize];
    let token = select(vec!["success_token", "success_token", "fail_token", "challenge_token", "nonsense"]);
    let resource = any::<bool>().prop_map(move |cart| cart && carts);
    let checkouts = prop_oneof![
        3 => contents().prop_map(Step::CreateCheckout),
        2 => (resource.clone(), which.clone()).prop_map(|(cart, which)| Step::Read(cart, which)),
        4 => (resource.clone(), which.clone(), contents()).prop_map(|(cart, which, with)| Step::Update(cart, which, with)),
        3 => (which.clone(), token).prop_map(|(which, token)| Step::Complete(which, token)),
        1 => (resource, which.clone()).prop_map(|(cart, which)| Step::Cancel(cart, which)),
        2 => Just(Step::Retry),
    ];
    if !carts {
        return checkouts.boxed();
    }
    prop_oneof![
        2 => contents().prop_map(Step::CreateCart),
        1 => which.clone().prop_map(Step::Convert),
        1 => which.prop_map(Step::Order),
        6 => checkouts,
    ]
    .boxed()
}

/// Numbers whatever is random or depends on the time, in the order in which it appears.
#[derive(Default)]
struct Names(BTreeMap<String, usize>);

impl Names {
    fn of(&mut self, text: &str) -> String {
        let count = self.0.len();
        format!("#{}", self.0.entry(text.to_owned()).or_insert(count))
    }

    fn normalize(&mut self, value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.shift_remove("request_id");
                for (name, member) in members.iter_mut() {
                    match (name.as_str(), member.as_str()) {
                        // Two answers may be of the same moment, or not.
                        ("expires_at", Some(_)) => *member = json!("a time"),
                        ("continue_url" | "permalink_url" | "checkout_id" | "label", Some(text)) => {
                            *member = json!(self.of(text));
                        }
                        ("id", Some(text)) if ["cart_", "chk_", "ord_"].iter().any(|kind| text.starts_with(kind)) => {
                            *member = json!(self.of(text));
                        }
                        _ => self.normalize(member),
                    }
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.normalize(value)),
            _ => {}
        }
    }
}

/// A journey over a transport: what was said to each step.
fn travel(shopper: &Shopper<'_>, steps: &[Step]) -> Vec<Value> {
    let (mut carts, mut checkouts, mut orders) = (Vec::<String>::new(), Vec::<String>::new(), BTreeMap::new());
    let mut last: Option<(String, &str, Option<String>, Value)> = None;
    let mut names = Names::default();
    let mut story = Vec::new();
    for step in steps {
        let named = |made: &[String], which: usize, kind: &str| {
            made.get(which).cloned().unwrap_or_else(|| format!("{kind}_00000000000000000000000000000000"))
        };
        let (operation, resource, payload) = match step {
            Step::CreateCart(contents) => ("create_cart", None, contents.clone()),
            Step::CreateCheckout(contents) => ("create_checkout", None, contents.clone()),
            Step::Convert(which) => ("create_checkout", None, json!({ "cart_id": named(&carts, *which, "cart") })),
            Step::Read(true, which) => ("get_cart", Some(named(&carts, *which, "cart")), json!({})),
            Step::Read(false, which) => ("get_checkout", Some(named(&checkouts, *which, "chk")), json!({})),
            Step::Update(true, which, contents) => {
                ("update_cart", Some(named(&carts, *which, "cart")), contents.clone())
            }
            Step::Update(false, which, contents) => {
                ("update_checkout", Some(named(&checkouts, *which, "chk")), contents.clone())
            }
            Step::Complete(which, token) => {
                ("complete_checkout", Some(named(&checkouts, *which, "chk")), shopper.paying(token))
            }
            Step::Cancel(true, which) => ("cancel_cart", Some(named(&carts, *which, "cart")), json!({})),
            Step::Cancel(false, which) => ("cancel_checkout", Some(named(&checkouts, *which, "chk")), json!({})),
            Step::Order(which) => {
                let order = orders.get(&named(&checkouts, *which, "chk")).cloned();
                ("get_order", Some(order.unwrap_or_else(|| "ord_0".to_owned())), json!({}))
            }
            Step::Retry => match &last {
                Some((_, operation, resource, payload)) => (*operation, resource.clone(), payload.clone()),
                None => continue,
            },
        };
        let key = match (step, &last) {
            (Step::Retry, Some((key, ..))) => key.clone(),
            _ => new_key(),
        };
        let said = shopper.keyed(Some(&key), operation, resource.as_deref(), &payload);
        if !operation.starts_with("get_") {
            last = Some((key, operation, resource.clone(), payload));
        }
        let mut shown = match &said.failure {
            Some(_) => json!(said.errors()),
            None => said.document(),
        };
        if said.failure.is_none() && shown.get("id").is_some() {
            let made = if operation == "create_cart" { &mut carts } else { &mut checkouts };
            if operation.starts_with("create_") && !made.iter().any(|own| own == id(&shown)) {
                made.push(id(&shown).to_owned());
            }
            if let Some(order) = shown["order"]["id"].as_str() {
                orders.insert(id(&shown).to_owned(), order.to_owned());
            }
        }
        names.normalize(&mut shown);
        story.push(json!({ "operation": operation, "said": shown }));
    }
    story
}

#[test]
fn every_transport_tells_the_same_story() {
    let shop = flowers();
    for release in Release::ALL.iter().copied() {
        let mut statuses = BTreeMap::<String, u32>::new();
        let config = Config { cases: JOURNEYS, failure_persistence: None, max_shrink_iters: 60, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        let tally = std::cell::RefCell::new(&mut statuses);
        let steps = prop::collection::vec(step(release >= Release::V2026_04_08), 4..16);
        let first = Step::CreateCheckout(super::shopper::ready(&[("pot_ceramic", 1)]));
        let journeys = steps.prop_map(move |steps| [vec![first.clone()], steps].concat());
        let compared = runner.run(&journeys, |steps| {
            let [rest, tool, method] =
                Transport::ALL.map(|transport| travel(&Shopper::new(&shop, release, transport), &steps));
            for (one, other) in rest.iter().zip(&tool) {
                prop_assert_eq!(one, other);
            }
            for (one, mut other) in rest.iter().zip(method) {
                let mut one = one.clone();
                if release == Release::V2026_01_11 {
                    // A method of this release gets its metadata and handlers in the form of the founding documents.
                    for said in [&mut one, &mut other] {
                        if let Some(members) = said["said"].as_object_mut() {
                            members.shift_remove("ucp");
                            members.shift_remove("payment");
                        }
                    }
                }
                prop_assert_eq!(one, other);
            }
            for step in &rest {
                let said = &step["said"];
                let shown = said["status"].as_str().or(said[0].as_str()).or(said["messages"][0]["code"].as_str());
                *tally.borrow_mut().entry(shown.unwrap_or("a cart or an order").to_owned()).or_default() += 1;
            }
            Ok(())
        });
        if let Err(difference) = compared {
            panic!("{release}: {difference}");
        }
        // The comparison is worth something only when journeys got somewhere.
        for expected in ["incomplete", "ready_for_complete", "completed", "invalid_request", "not_found"] {
            assert!(statuses.get(expected).is_some_and(|count| *count >= 3), "{release} {expected}: {statuses:?}");
        }
    }
}
