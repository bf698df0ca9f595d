//! The judgment of a whole run: what callers were told, what the provider counted and what platforms received, held
//! against the orders that exist in the end.
//!
//! Nothing is asked here, so that a run can be spoiled ([`PLANTS`]) and judged again: each plant has to be found.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher as _},
    time::Duration,
};

use serde_json::Value;

/// Everything that was said and done.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) calls: Vec<Call>,
    pub(crate) payments: Vec<Payment>,
    pub(crate) orders: Vec<Order>,
    pub(crate) messages: Vec<Message>,
}

/// A request of a caller, sent once.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) operation: &'static str,
    /// The checkout that the request names; empty if it names none.
    pub(crate) checkout: String,
    /// The cart that a checkout is created from; empty if there is none.
    pub(crate) cart: String,
    /// The idempotency key; empty if there is none.
    pub(crate) key: String,
    /// Times at which it was sent and ended, since the beginning of the run.
    pub(crate) sent: Duration,
    pub(crate) ended: Duration,
    pub(crate) told: Told,
}

/// Response to a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Nothing about the request: the connection broke, or the caller is to come again.
    Nothing,
    /// Rejection of the request, with this HTTP status.
    Refused(u16),
    /// A document.
    Document(Statement),
}

/// Statement of a document about a checkout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) checkout: String,
    /// The status; empty in a document about an error.
    pub(crate) status: String,
    /// The order; empty if there is none.
    pub(crate) order: String,
    pub(crate) total: i64,
    /// Digest of the whole document.
    pub(crate) digest: u64,
}

/// A payment, as the provider counted it.
#[derive(Clone, Debug)]
pub(crate) struct Payment {
    pub(crate) attempt: String,
    pub(crate) checkout: String,
    pub(crate) status: String,
    pub(crate) captures: u32,
    pub(crate) taken: i64,
}

/// An order that exists in the end.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) id: String,
    pub(crate) checkout: String,
    /// The payment that it was paid with.
    pub(crate) attempt: String,
    pub(crate) total: i64,
    /// The platform that receives webhooks about it; empty if none does.
    pub(crate) platform: String,
}

/// A webhook that a platform received about an order that was placed and not changed since.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) platform: String,
    pub(crate) order: String,
    /// Digest of the body.
    pub(crate) digest: u64,
}

/// Returns a digest.
pub(crate) fn digest(content: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

impl Told {
    /// Reads a response: its HTTP status, and the UCP document in it or what stands in its place.
    pub(crate) fn of(status: u16, document: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if status == 503 || document["code"] == "unavailable" {
            return Self::Nothing;
        }
        if !document["ucp"].is_object() {
            return Self::Refused(status);
        }
        let is_error = document["ucp"]["status"] == "error";
        let totals = document["totals"].as_array().into_iter().flatten();
        let total = totals.filter(|total| total["type"] == "total").find_map(|total| total["amount"].as_i64());
        Self::Document(Statement {
            checkout: text(&document["id"]),
            status: if is_error { String::new() } else { text(&document["status"]) },
            order: document["order"]["id"].as_str().map_or_else(|| text(&document["order_id"]), str::to_owned),
            total: total.unwrap_or_default(),
            digest: digest(&document.to_string()),
        })
    }
}

impl Payment {
    /// Returns `true` if the money was taken, or is the buyer's again.
    fn is_over(&self) -> bool {
        self.captures > 0 || matches!(self.status.as_str(), "declined" | "challenge" | "voided")
    }
}

/// Groups by a name.
fn by<'a, T: 'a>(
    all: impl IntoIterator<Item = &'a T>,
    name: impl Fn(&'a T) -> &'a str,
) -> BTreeMap<&'a str, Vec<&'a T>> {
    let mut groups = BTreeMap::<_, Vec<_>>::new();
    for one in all {
        groups.entry(name(one)).or_default().push(one);
    }
    groups.remove("");
    groups
}

/// Returns the earliest time of each name.
fn earliest<'a>(all: impl Iterator<Item = (&'a str, Duration)>) -> BTreeMap<&'a str, Duration> {
    let mut times = BTreeMap::new();
    for (name, at) in all {
        let first = times.entry(name).or_insert(at);
        *first = at.min(*first);
    }
    times
}

/// Returns how much is wrong of each kind, with an example.
pub(crate) fn summary(wrong: &[String]) -> String {
    let kind = |wrong: &str| {
        let words = wrong.split(' ').filter(|word| !word.contains(|letter: char| letter.is_ascii_digit()));
        words.collect::<Vec<_>>().join(" ")
    };
    let mut kinds = BTreeMap::<_, Vec<_>>::new();
    for one in wrong {
        kinds.entry(kind(one)).or_default().push(one);
    }
    kinds.values().map(|all| format!("\n{} times, such as: {}", all.len(), all[0])).collect()
}

impl History {
    /// Returns everything that is wrong.
    pub(crate) fn judge(&self) -> Vec<String> {
        [self.charges(), self.orders(), self.statements(), self.denials(), self.carts(), self.keys(), self.webhooks()]
            .concat()
    }

    /// Every amount is taken once, and for an order, or released.
    fn charges(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (checkout, payments) in by(&self.payments, |payment| &payment.checkout) {
            let captures: u32 = payments.iter().map(|payment| payment.captures).sum();
            if captures > 1 {
                wrong.push(format!("checkout {checkout} was charged {captures} times"));
            }
        }
        let paid: BTreeSet<_> = self.orders.iter().map(|order| (&order.checkout, &order.attempt)).collect();
        for payment in &self.payments {
            let Payment { attempt, checkout, status, .. } = payment;
            if !payment.is_over() {
                wrong.push(format!("payment {attempt} is neither taken nor released: {status}"));
            }
            if payment.captures > 0 && !paid.contains(&(checkout, attempt)) {
                wrong.push(format!("checkout {checkout} was charged and has no order of payment {attempt}"));
            }
        }
        wrong
    }

    /// Every order exists once, and was paid with its amount.
    fn orders(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (name, groups) in [
            ("id", by(&self.orders, |order| &order.id)),
            ("checkout", by(&self.orders, |order| &order.checkout)),
            ("payment", by(&self.orders, |order| &order.attempt)),
        ] {
            let several = groups.into_iter().filter(|(_, orders)| orders.len() > 1);
            wrong.extend(several.map(|(id, orders)| format!("{} orders have the {name} {id}", orders.len())));
        }
        let payments = by(&self.payments, |payment| &payment.attempt);
        for Order { id, attempt, total, .. } in &self.orders {
            let payments = payments.get(attempt.as_str()).into_iter().flatten();
            match payments.filter(|payment| payment.captures > 0).map(|payment| payment.taken).next() {
                None => wrong.push(format!("order {id} exists without a charge")),
                Some(taken) if taken != *total => {
                    wrong.push(format!("order {id} is over {total}, and {taken} was taken"));
                }
                Some(_) => {}
            }
        }
        wrong
    }

    fn documents(&self) -> impl Iterator<Item = (&Call, &Statement)> {
        self.calls.iter().filter(|call| call.operation.ends_with("_checkout")).filter_map(|call| match &call.told {
            Told::Document(statement) => Some((call, statement)),
            Told::Nothing | Told::Refused(_) => None,
        })
    }

    /// An order that a caller was told of exists as told, and a checkout that a caller was told to be canceled has none
    /// and was not charged.
    fn statements(&self) -> Vec<String> {
        let mut wrong = BTreeSet::new();
        let orders: BTreeMap<_, _> = self.orders.iter().map(|order| (order.id.as_str(), order)).collect();
        let charged = self.charged();
        for (_, Statement { checkout, status, order, total, .. }) in self.documents() {
            let is_so = |found: &&Order| found.checkout == *checkout && found.total == *total;
            if !order.is_empty() && orders.get(order.as_str()).filter(|found| is_so(found)).is_none() {
                wrong.insert(format!(
                    "a caller was told of order {order} of checkout {checkout}, and there is none such"
                ));
            }
            if status == "canceled" && charged.contains(checkout.as_str()) {
                wrong.insert(format!("a caller was told that checkout {checkout} is canceled, and it was charged"));
            }
        }
        wrong.into_iter().collect()
    }

    /// The checkouts that were charged.
    fn charged(&self) -> BTreeSet<&str> {
        let charged = self.payments.iter().filter(|payment| payment.captures > 0);
        charged.map(|payment| payment.checkout.as_str()).collect()
    }

    /// A checkout is charged only if one of its completions was not told that nothing is charged: neither by its answer,
    /// nor by a document that showed the checkout open or canceled when it was asked for after that answer.
    fn denials(&self) -> Vec<String> {
        let is_denial = |Statement { status, .. }: &Statement| {
            matches!(status.as_str(), "incomplete" | "ready_for_complete" | "canceled")
        };
        // A response under a key may be as old as the first request.
        let asked = earliest(self.calls.iter().map(|call| (call.key.as_str(), call.sent)));
        let mut shown = BTreeMap::<&str, Duration>::new();
        for (call, statement) in self.documents() {
            if call.operation != "complete_checkout" && is_denial(statement) {
                let at = if call.key.is_empty() { call.sent } else { asked[call.key.as_str()] };
                let last = shown.entry(&statement.checkout).or_default();
                *last = at.max(*last);
            }
        }
        let completions = self.calls.iter().filter(|call| call.operation == "complete_checkout");
        let completions = by(completions, |call| &call.checkout);
        let mut wrong = Vec::new();
        for checkout in self.charged() {
            let calls = completions.get(checkout).into_iter().flatten().copied();
            let shown = shown.get(checkout).copied().unwrap_or_default();
            // A document under a key stays the same, a refusal may be overcome.
            let is_denied = |calls: &Vec<&Call>| {
                let told = calls.iter().filter_map(|call| match &call.told {
                    Told::Nothing => None,
                    Told::Refused(_) => Some(true),
                    Told::Document(statement) => Some(is_denial(statement) || call.ended < shown),
                });
                let told: Vec<_> = told.collect();
                !told.is_empty() && told.iter().all(|denial| *denial)
            };
            if by(calls, |call| &call.key).values().all(is_denied) {
                wrong.push(format!("checkout {checkout} was charged, and every completion was told that it was not"));
            }
        }
        wrong
    }

    /// A cart has one open checkout at a time (UCP *Checkout*: creating another one returns the open one).
    fn carts(&self) -> Vec<String> {
        // When a checkout may have stopped being open at the earliest.
        let ends = |call: &&Call| matches!(call.operation, "complete_checkout" | "cancel_checkout");
        let over = earliest(self.calls.iter().filter(ends).map(|call| (call.checkout.as_str(), call.sent)));
        let created: Vec<_> = self.documents().filter(|(_, statement)| !statement.checkout.is_empty()).collect();
        let mut wrong = Vec::new();
        for (cart, creations) in by(&created, |(call, _)| &call.cart) {
            let checkouts =
                earliest(creations.iter().map(|(call, statement)| (statement.checkout.as_str(), call.ended)));
            let is_over = |checkout: &str, at: Duration| over.get(checkout).is_some_and(|over| *over < at);
            let beside = |(one, one_at): (&&str, &Duration), (other, other_at): (&&str, &Duration)| {
                one < other && !is_over(one, *other_at) && !is_over(other, *one_at)
            };
            let pairs = checkouts.iter().flat_map(|one| checkouts.iter().map(move |other| (one, other)));
            let pairs = pairs.filter(|(one, other)| beside(*one, *other)).count();
            if pairs > 0 {
                wrong.push(format!("cart {cart} has several open checkouts at once: {:?}", checkouts.keys()));
            }
        }
        wrong
    }

    /// Every document under a key is the same.
    fn keys(&self) -> Vec<String> {
        let mut wrong = BTreeSet::new();
        let mut first = BTreeMap::new();
        for (call, statement) in self.documents().filter(|(call, _)| !call.key.is_empty()) {
            let known = first.entry(&call.key).or_insert(statement);
            if *known != statement {
                wrong.insert(format!("key {} was answered in two ways: {known:?} {statement:?}", call.key));
            }
        }
        wrong.into_iter().collect()
    }

    /// The platform of an order is told of it under one identifier, always in the same way; nobody else is.
    fn webhooks(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let messages = by(&self.messages, |message| &message.order);
        for Order { id, platform, .. } in self.orders.iter().filter(|order| !order.platform.is_empty()) {
            let told = messages.get(id.as_str()).into_iter().flatten();
            let ids: BTreeSet<_> =
                told.filter(|message| message.platform == *platform).map(|message| &message.id).collect();
            if ids.len() != 1 {
                wrong.push(format!("platform {platform} was told of order {id} under {} identifiers", ids.len()));
            }
        }
        for (id, messages) in by(&self.messages, |message| &message.id) {
            if messages.iter().any(|message| message.digest != messages[0].digest) {
                wrong.push(format!("webhook {id} was repeated in another way"));
            }
        }
        let owned: BTreeSet<_> = self.orders.iter().map(|order| (&order.id, &order.platform)).collect();
        for Message { id, platform, order, .. } in &self.messages {
            if !owned.contains(&(order, platform)) {
                wrong.push(format!("webhook {id} told platform {platform} of order {order}, which it does not have"));
            }
        }
        wrong
    }

    /// Plants everything that can be wrong into this history, one after the other; returns how many there were.
    ///
    /// # Panics
    /// If this history is wrong already, or something planted is not found.
    pub(crate) fn planted(&self) -> usize {
        assert_eq!(self.judge(), Vec::<String>::new());
        for (said, plant) in PLANTS {
            let mut spoiled = self.clone();
            plant(&mut spoiled);
            let found = spoiled.judge();
            assert!(found.iter().any(|wrong| wrong.contains(said)), "{said}: {found:?}");
        }
        PLANTS.len()
    }

    /// The first payment that was captured.
    fn captured(&mut self) -> &mut Payment {
        self.payments.iter_mut().find(|payment| payment.captures > 0).expect("a purchase")
    }

    /// Adds a request about the checkout of the first captured payment, and what it was told.
    fn tell(&mut self, operation: &'static str, key: &str, told: impl Fn(Statement) -> Told) {
        let Payment { checkout, attempt, .. } = self.captured().clone();
        let order = self.orders.iter().find(|order| order.attempt == attempt).expect("an order");
        let statement = Statement {
            checkout: checkout.clone(),
            status: "completed".to_owned(),
            order: order.id.clone(),
            total: order.total,
            digest: 0,
        };
        let at = self.calls.iter().map(|call| call.ended).max().unwrap_or_default() + Duration::from_millis(1);
        let (key, cart) = (key.to_owned(), String::new());
        self.calls.push(Call { operation, checkout, cart, key, sent: at, ended: at, told: told(statement) });
    }

    /// Forgets the completions of the first captured payment's checkout, and tells another one.
    fn completed_as(&mut self, told: impl Fn(Statement) -> Told) {
        let checkout = self.captured().checkout.clone();
        self.calls.retain(|call| call.checkout != checkout);
        self.tell("complete_checkout", "planted", told);
    }
}

/// Something wrong that is planted into a history.
type Plant = fn(&mut History);

/// Planted violations: the message of the judgment, and the change of the history.
const PLANTS: &[(&str, Plant)] = &[
    ("was charged 2 times", |history| {
        let twice = Payment { attempt: "planted".to_owned(), ..history.captured().clone() };
        history.payments.push(twice);
    }),
    ("was charged 2 times", |history| history.captured().captures = 2),
    ("has no order of payment", |history| {
        let attempt = history.captured().attempt.clone();
        history.orders.retain(|order| order.attempt != attempt);
    }),
    ("neither taken nor released", |history| {
        let held = Payment { captures: 0, status: "authorized".to_owned(), ..history.captured().clone() };
        history.payments.push(held);
    }),
    ("orders have the checkout", |history| {
        let again = Order { id: "planted".to_owned(), attempt: "planted".to_owned(), ..history.orders[0].clone() };
        history.orders.push(again);
    }),
    ("orders have the id", |history| {
        let again =
            Order { checkout: "planted".to_owned(), attempt: "planted".to_owned(), ..history.orders[0].clone() };
        history.orders.push(again);
    }),
    ("without a charge", |history| history.captured().captures = 0),
    ("was taken", |history| history.captured().taken -= 1),
    ("there is none such", |history| {
        history.tell("get_checkout", "", |statement| {
            Told::Document(Statement { order: "planted".to_owned(), ..statement })
        });
    }),
    ("there is none such", |history| {
        history.tell("get_checkout", "", |statement| {
            Told::Document(Statement { total: statement.total + 1, ..statement })
        });
    }),
    ("is canceled, and it was charged", |history| {
        history.tell("cancel_checkout", "planted", |statement| {
            Told::Document(Statement { status: "canceled".to_owned(), order: String::new(), ..statement })
        });
    }),
    ("every completion was told that it was not", |history| history.completed_as(|_| Told::Refused(429))),
    ("every completion was told that it was not", |history| {
        history.completed_as(|statement| {
            Told::Document(Statement { status: "incomplete".to_owned(), order: String::new(), ..statement })
        });
    }),
    ("every completion was told that it was not", |history| {
        history.completed_as(|statement| {
            Told::Document(Statement { status: "requires_escalation".to_owned(), order: String::new(), ..statement })
        });
        history.tell("update_checkout", "planted too", |statement| {
            Told::Document(Statement { status: "ready_for_complete".to_owned(), order: String::new(), ..statement })
        });
    }),
    ("several open checkouts at once", |history| {
        for checkout in ["planted 1", "planted 2"] {
            history.tell("create_checkout", checkout, |_| {
                Told::Document(Statement { checkout: checkout.to_owned(), ..Statement::default() })
            });
            let call = history.calls.last_mut().expect("it was told");
            (call.checkout, call.cart) = (String::new(), "planted".to_owned());
        }
    }),
    ("was answered in two ways", |history| {
        for digest in [1, 2] {
            history.tell("complete_checkout", "planted", |statement| Told::Document(Statement { digest, ..statement }));
        }
    }),
    ("under 0 identifiers", |history| {
        history.orders[0].platform = "planted".to_owned();
    }),
    ("under 2 identifiers", |history| {
        let order = &mut history.orders[0];
        order.platform = "planted".to_owned();
        let message = |id: &str| Message {
            id: id.to_owned(),
            platform: "planted".to_owned(),
            order: order.id.clone(),
            digest: 0,
        };
        let messages = [message("planted 1"), message("planted 2")];
        history.messages.extend(messages);
    }),
    ("repeated in another way", |history| {
        for digest in [1, 2] {
            let order = history.orders[0].id.clone();
            history.messages.push(Message { id: "planted".to_owned(), platform: String::new(), order, digest });
        }
    }),
    ("which it does not have", |history| {
        let (id, platform, order) = ("planted".to_owned(), "planted".to_owned(), "planted".to_owned());
        history.messages.push(Message { id, platform, order, digest: 0 });
    }),
];
