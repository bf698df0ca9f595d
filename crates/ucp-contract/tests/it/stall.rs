//! A shop in memory that answers the questions of the contract, and errs where it is told to.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::Instant;
use ucp_contract::{ContractShop, Question, Reply, Transport};
use ucp_net::{Counters, Failure, coalescing::Capacity};

/// Answer that stands for a refusal of the question.
pub(crate) const REFUSED: &str = "refused";

/// Answer that stands for an order that was not sent.
pub(crate) const UNSENT: &str = "unsent";

/// Answer that stands for a refusal after a part of the question was carried out.
pub(crate) const HALTED: &str = "halted";

/// Changes an answer before it is given; `None` for status 404.
type Spoil = Box<dyn Fn(Question, &Value, Value) -> Result<Option<Value>, Failure> + Send + Sync>;

/// The shop.
pub(crate) struct Stall {
    spoil: Mutex<Option<Spoil>>,
    /// Time that the answer to a question takes.
    delay: Mutex<Option<(Question, Duration)>>,
    state: Mutex<State>,
    counters: Arc<Counters>,
}

#[derive(Default)]
pub(crate) struct State {
    /// Requests, in order.
    pub(crate) asked: Vec<(Question, Value)>,
    carts: Vec<(String, Value)>,
    /// Attempts to place an order, by reference.
    pub(crate) attempts: Vec<(String, Value)>,
    made: usize,
    /// Total of the last order that was asked for.
    due: Value,
    /// `true` if no order is placed.
    pub(crate) refuses: bool,
    /// `true` if what does not exist is answered all the same.
    lenient: bool,
}

/// Three kinds of fruit.
const FRUIT: [(&str, i64); 3] = [("apples", 290), ("pears", 340), ("plums", 410)];

fn product((id, cents): (&str, i64)) -> Value {
    json!({
        "id": id,
        "title": format!("Ripe {id}"),
        "description": { "plain": "From the orchard." },
        "variants": [{ "id": format!("{id}-kg"), "sku": id.to_uppercase(), "price": { "amount": cents, "currency": "EUR" } }],
    })
}

impl Stall {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            spoil: Mutex::default(),
            delay: Mutex::default(),
            state: Mutex::default(),
            counters: Arc::default(),
        })
    }

    /// Has answers changed by `spoil` from now on.
    pub(crate) fn spoil(
        &self,
        spoil: impl Fn(Question, &Value, Value) -> Result<Option<Value>, Failure> + Send + Sync + 'static,
    ) {
        *self.spoil.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(spoil));
    }

    /// Has one question answered later from now on, and none if `delay` is zero.
    pub(crate) fn delay(&self, question: Question, delay: Duration) {
        *self.delay.lock().unwrap_or_else(PoisonError::into_inner) = Some((question, delay));
    }

    /// Identifiers of the carts that are there.
    pub(crate) fn carts(&self) -> Vec<String> {
        self.state().carts.iter().map(|(cart, _)| cart.clone()).collect()
    }

    /// Has the answer to one question changed from now on.
    pub(crate) fn spoil_one(&self, question: Question, spoil: impl Fn(&mut Value) + Send + Sync + 'static) {
        self.spoil(move |asked, _, mut answer| {
            if asked == question {
                spoil(&mut answer);
            }
            Ok(Some(answer))
        });
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of requests for a question.
    pub(crate) fn times(&self, question: Question) -> usize {
        self.state().asked.iter().filter(|(asked, _)| *asked == question).count()
    }

    /// Answers what does not exist all the same from now on.
    pub(crate) fn lenient(&self) {
        self.state().lenient = true;
    }

    /// Connects a gateway.
    pub(crate) async fn connect(self: &Arc<Self>) -> ContractShop {
        let transport = Arc::clone(self) as Arc<dyn Transport>;
        let (clock, now) = (Arc::new(Instant::now), ucp_testkit::Clock::default().port());
        ContractShop::connect(transport, Capacity::default(), clock, now, None).await.expect("a shop")
    }

    fn answer(&self, question: Question, asked: &Value) -> Option<Value> {
        let mut state = self.state();
        let cart = asked["cart"].as_str().unwrap_or_default().to_owned();
        let known = state.carts.iter().position(|(own, _)| *own == cart);
        let reference = asked["reference"].as_str().unwrap_or_default().to_owned();
        let attempt = state.attempts.iter().find(|(own, _)| *own == reference).map(|(_, outcome)| outcome.clone());
        Some(match question {
            Question::Backend => json!({
                "contract": "1",
                "market": { "name": "Stall", "currency": "EUR", "language": "en" },
                "catalog": { "most_ids": 10 },
                "cart": { "completion": "place", "codes": true, "delivery": true, "pickup": true, "keys": true },
                "payment_handlers": [{ "name": "com.example.stall", "id": "stall", "version": "2026-01-01", "instruments": ["card"] }],
            }),
            Question::Find => {
                let words = asked["words"].as_str().unwrap_or_default().to_lowercase();
                let all = FRUIT.iter().filter(|(id, _)| format!("ripe {id}").contains(&words));
                let after = asked["after"].as_str();
                if !state.lenient && after.is_some_and(|after| FRUIT.iter().all(|(id, _)| *id != after)) {
                    return None;
                }
                let rest: Vec<_> = all.filter(|(id, _)| after.is_none_or(|after| *id > after)).collect();
                let limit = usize::try_from(asked["limit"].as_u64().expect("a limit")).expect("a size");
                let page: Vec<_> = rest.iter().take(limit).map(|fruit| product(**fruit)).collect();
                let next = (rest.len() > limit).then(|| page[limit - 1]["id"].clone());
                json!({ "products": page, "next": next })
            }
            Question::Resolve | Question::Open => {
                let ids: Vec<_> = asked["ids"].as_array().expect("ids").iter().filter_map(Value::as_str).collect();
                let named = |(id, _): &&(&str, i64)| ids.iter().any(|own| own == id || *own == format!("{id}-kg") || *own == id.to_uppercase());
                json!({ "products": FRUIT.iter().filter(named).map(|fruit| product(*fruit)).collect::<Vec<_>>() })
            }
            Question::CartSync => {
                if known.is_none() && !cart.is_empty() && !state.lenient {
                    return None;
                }
                state.made += usize::from(known.is_none());
                let same = state.carts.iter().find(|(_, before)| asked["key"].is_string() && before["key"] == asked["key"]);
                let id = match (known, same) {
                    (Some(_), _) => cart,
                    (None, Some((same, _))) => same.clone(),
                    (None, None) => format!("secret-{}", state.made),
                };
                state.carts.retain(|(own, _)| *own != id);
                state.carts.push((id.clone(), asked.clone()));
                priced(&id, asked)
            }
            Question::CartFetch => priced(&cart, &state.carts[known?].1),
            Question::CartAbandon => {
                state.carts.retain(|(own, _)| *own != cart);
                Value::Null
            }
            Question::Place if state.refuses => json!({ "status": "absent" }),
            Question::Place => attempt.unwrap_or_else(|| {
                state.due = asked["total"].clone();
                let right = known.is_some_and(|known| priced(&cart, &state.carts[known].1)["total"] == asked["total"]);
                let outcome = match right && asked["payment"]["credential"]["token"] != "bad" {
                    true => json!({ "status": "placed", "order": { "id": "o1", "label": "No. 1", "url": "https://stall.example/o1" } }),
                    false => json!({ "status": "declined", "reason": "No." }),
                };
                state.attempts.push((reference, outcome.clone()));
                outcome
            }),
            Question::Order => attempt.unwrap_or(json!({ "status": "absent" })),
            Question::OrderStatus if asked["order"] == "o1" || state.lenient => json!({
                "order": { "id": asked["order"] },
                "currency": "EUR",
                "events": [{ "id": "paid", "kind": "captured", "at": "2026-01-01T12:00:00Z", "amount": state.due }],
            }),
            Question::OrderStatus => return None,
            Question::Cancel => attempt.unwrap_or_else(|| {
                state.attempts.push((reference, json!({ "status": "declined", "reason": "Given up." })));
                json!({ "status": "absent" })
            }),
        })
    }
}

fn priced(cart: &str, asked: &Value) -> Value {
    let price = |variant: &str| FRUIT.iter().find(|(id, _)| format!("{id}-kg") == variant).map(|(_, cents)| *cents);
    let lines = asked["lines"].as_array().expect("lines").iter().filter_map(|line| {
        let price = price(line["variant"].as_str()?)?;
        Some(json!({ "variant": line["variant"], "quantity": line["quantity"], "price": price }))
    });
    let lines: Vec<_> = lines.collect();
    let goods: i64 =
        lines.iter().map(|line| line["price"].as_i64().unwrap_or(0) * line["quantity"].as_i64().unwrap_or(0)).sum();
    let there = asked["address"]["address_country"] == "AT";
    let travel = if there {
        json!([{ "id": "cart", "title": "Hand cart", "amount": 150 }, { "id": "horse", "title": "By horse", "amount": 900 }])
    } else {
        json!([])
    };
    // The stall would send everything by horse.
    let chosen = asked["delivery_option"].as_str().unwrap_or("horse");
    let amount = if !there {
        0
    } else if chosen == "cart" {
        150
    } else {
        900
    };
    // The barn has no plums.
    let mut places =
        vec![json!({ "id": "stall", "name": "At the stall", "address": { "address_country": "AT" }, "amount": 0 })];
    if lines.iter().all(|line| line["variant"] != "plums-kg") {
        let address = json!({ "street_address": "Dorf 1", "address_country": "AT" });
        places.push(json!({ "id": "barn", "name": "Barn", "address": address, "amount": 100, "ready_in_days": 2 }));
    }
    let place = places.iter().find(|place| place["id"] == asked["pickup_place"]).cloned();
    let amount = amount + place.as_ref().map_or(0, |place| place["amount"].as_i64().unwrap_or(0));
    let tax = (goods + amount) / 10;
    let due = goods + amount + tax;
    let credits = asked["codes"].as_array().into_iter().flatten().filter_map(|code| match code.as_str()? {
        "GIFT" => Some(json!({ "kind": "gift_card", "title": "Gift card", "code": "GIFT", "amount": due.min(1_000) })),
        "RICH" => Some(json!({ "kind": "store_credit", "title": "Account", "code": "RICH", "amount": due })),
        _ => None,
    });
    let credits: Vec<_> = credits.take(1).collect();
    let paid: i64 = credits.iter().map(|credit| credit["amount"].as_i64().unwrap_or(0)).sum();
    json!({
        "cart": cart,
        "currency": "EUR",
        "lines": lines,
        "delivery_options": travel,
        "delivery_option": there.then_some(chosen),
        "taxes": [{ "title": "Market tax", "amount": tax }],
        "pickup_places": places,
        "pickup_place": place.map(|place| place["id"].clone()),
        "credits": credits,
        "total": due - paid,
    })
}

#[async_trait]
impl Transport for Stall {
    async fn ask(&self, question: Question, body: Bytes) -> Result<Reply, Failure> {
        let asked: Value = serde_json::from_slice(&body).expect("JSON");
        self.state().asked.push((question, asked.clone()));
        let delay = self.delay.lock().unwrap_or_else(PoisonError::into_inner).filter(|(late, _)| *late == question);
        if let Some((_, delay)) = delay {
            tokio::time::sleep(delay).await;
        }
        let answer = self.answer(question, &asked);
        let spoil = self.spoil.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = match (&*spoil, answer) {
            (Some(spoil), Some(answer)) => spoil(question, &asked, answer)?,
            (_, answer) => answer,
        };
        Ok(match answer {
            None => Reply::Gone,
            Some(Value::String(refused)) if refused == REFUSED => Reply::Refused("status 400: ".to_owned()),
            Some(Value::String(unsent)) if unsent == UNSENT => Reply::Unsent("`session`: no answer".to_owned()),
            Some(Value::String(refused)) if refused == HALTED => Reply::Halted("status 400: ".to_owned()),
            Some(answer) => Reply::Answer(answer.to_string().into()),
        })
    }

    fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }
}
