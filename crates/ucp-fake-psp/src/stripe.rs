//! Stripe, as far as a payment needs it: payments with manual capture, refunds, 3-D Secure by redirect.
//!
//! Written from Stripe's public documents. It checks API keys, the form of requests and idempotency keys by itself, and
//! repeats the answer to a key even if that was an error, as Stripe does.
//!
//! The `payment_method` says what becomes of a payment, as the [crate] describes it. The step `create` is the creation of a `PaymentIntent`, `authorize` its
//! confirmation and `void` its cancellation. The page of 3-D Secure leads to `/fake/3ds/ID/pass` and `/fake/3ds/ID/fail`.

use std::{
    collections::BTreeMap,
    io,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{
    fault::{Fault, Order, Step},
    psp::{self, Line, Payment, Report, Request},
    reply::Reply,
};

/// A `PaymentIntent`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Intent {
    id: String,
    amount: i64,
    currency: String,
    status: String,
    metadata: BTreeMap<String, String>,
    created: u64,
    received: i64,
    refunded: i64,
    #[serde(default)]
    refunds: Vec<Value>,
    word: String,
    return_url: Option<String>,
    /// Code and decline code of the last error.
    error: Option<(String, String)>,
    authorizations: u32,
    captures: u32,
    voids: u32,
}

impl Intent {
    fn json(&self, base: &str) -> Value {
        let secret = format!("{}_secret_of_the_fake", self.id);
        let next_action = (self.status == "requires_action").then(|| {
            json!({ "type": "redirect_to_url", "redirect_to_url": {
                "url": format!("{base}/fake/3ds/{}?client_secret={secret}", self.id), "return_url": self.return_url,
            } })
        });
        let error = self.error.as_ref().map(|(code, decline_code)| {
            json!({ "type": "card_error", "code": code, "decline_code": decline_code, "message": "Your card was declined." })
        });
        let capturable = if self.status == "requires_capture" { self.amount } else { 0 };
        json!({
            "id": self.id, "object": "payment_intent", "amount": self.amount, "amount_received": self.received,
            "amount_capturable": capturable, "capture_method": "manual", "client_secret": secret, "created": self.created,
            "currency": self.currency, "last_payment_error": error, "livemode": false, "metadata": self.metadata,
            "next_action": next_action, "status": self.status,
        })
    }

    /// The payment as the books of the tests have it.
    fn payment(&self) -> Payment {
        let member = |name: &str| self.metadata.get(name).cloned().unwrap_or_default();
        let status = match self.status.as_str() {
            "succeeded" => "captured",
            "canceled" => "voided",
            "requires_capture" => "authorized",
            "requires_payment_method" if self.error.is_some() => "declined",
            other => other,
        };
        let mut payment = Payment::of(
            (member("ucp_attempt"), member("ucp_checkout")),
            (self.amount, self.currency.to_ascii_uppercase()),
            status,
            [self.authorizations, self.captures, self.voids],
        );
        payment.taken = self.received;
        payment.refunded = self.refunded;
        payment
    }

    fn is_of(&self, attempt: &str) -> bool {
        self.metadata.get("ucp_attempt").is_some_and(|own| own == attempt)
    }

    /// Returns `true` if money can move because of it.
    fn matters(&self) -> bool {
        self.authorizations > 0 || self.error.is_some() || self.voids > 0 || self.status != "requires_payment_method"
    }
}

impl psp::Intent for Intent {
    fn id(&self) -> &str {
        &self.id
    }
}

type Books = psp::Books<Intent>;

impl Books {
    /// Keeps a payment as it is now, with the answer under the key.
    fn keep(&mut self, key: String, fingerprint: String, reply: Reply, intent: Option<Intent>) -> Reply {
        let payment = intent.as_ref().filter(|intent| intent.matters()).map(Intent::payment);
        match self.commit(Line { key, fingerprint, reply: reply.clone(), payment, intent }) {
            Ok(()) => reply,
            Err(error) => Reply::error(500, "api_error", &error.to_string()),
        }
    }
}

/// Stripe, without a port.
pub struct Stripe {
    api_key: String,
    books: Mutex<Books>,
}

/// Target of a request: a step with the identifier of its `PaymentIntent`, the list of them, or refunds.
enum Target {
    Intent(Step, String),
    List,
    Refund,
}

impl Stripe {
    /// Stripe that continues the journal, if there is one.
    pub fn new(api_key: String, journal: Option<&Path>) -> io::Result<Self> {
        Ok(Self { api_key, books: Books::open(journal)? })
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything that happened, by attempts.
    pub fn report(&self) -> Report {
        self.books().report.clone()
    }

    /// Returns `true` if a payment method or token arrived that contains this, since this process started.
    pub fn saw(&self, part: &str) -> bool {
        self.books().tokens.iter().any(|seen| seen.contains(part))
    }

    /// Returns the refunded amount of all payments of an attempt, in minor units.
    pub fn refunded(&self, attempt: &str) -> i64 {
        self.books().intents.values().filter(|intent| intent.is_of(attempt)).map(|intent| intent.refunded).sum()
    }

    /// Has the buyer's bank send back what was refunded of the payment of an attempt.
    pub fn send_refunds_back(&self, attempt: &str) {
        for intent in self.books().intents.values_mut() {
            if intent.is_of(attempt) {
                intent.refunded = 0;
                intent.refunds.iter_mut().for_each(|refund| refund["status"] = "failed".into());
            }
        }
    }

    /// Returns the number of payments of an attempt.
    pub fn intents_of(&self, attempt: &str) -> usize {
        self.books().intents.values().filter(|intent| intent.is_of(attempt)).count()
    }

    /// Forgets all idempotency keys, as Stripe does after a day.
    pub fn forget_keys(&self) {
        self.books().answers.clear();
    }

    /// Orders to misbehave at the next request of a step, whatever payment it is about.
    pub fn inject(&self, order: Order) {
        self.books().script.push(order);
    }

    /// Returns the fault to produce for this request, if any, and counts one use of its order.
    pub fn fault(&self, request: &Request) -> Option<Fault> {
        let (step, id) = match target(request)? {
            Target::Intent(step, id) => (step, id),
            Target::Refund if request.method == "POST" => {
                (Step::Refund, form(&request.body).remove("payment_intent").unwrap_or_default())
            }
            Target::Refund | Target::List => return None,
        };
        let mut books = self.books();
        if step == Step::Authorize && !books.orders.contains_key(&id) {
            let token = token(&form(&request.body));
            let orders = token.split('+').skip(1).filter_map(|order| order.parse().ok()).collect();
            books.orders.insert(id.clone(), orders);
            books.tokens.push(token);
        }
        books.order(step, &id)
    }

    /// Carries a request out and answers it.
    pub fn answer(&self, request: &Request) -> Reply {
        let header = |name: &str| request.headers.get(name).map(String::as_str);
        if header("authorization") != Some(&format!("Bearer {}", self.api_key)) {
            return problem(401, "invalid_request_error", "api_key_invalid");
        }
        let Some(target) = target(request) else {
            return problem(404, "invalid_request_error", "url_invalid");
        };
        let base: String = request.url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        let mut books = self.books();
        if request.method == "GET" {
            return match target {
                Target::Intent(_, id) => retrieve(&mut books, &id, &base),
                Target::Refund => refunds(&books, request),
                _ => list(&books, request, &base),
            };
        }
        if header("content-type") != Some("application/x-www-form-urlencoded") {
            return problem(400, "invalid_request_error", "content_type_invalid");
        }
        let Some(key) = header("idempotency-key").map(str::to_owned) else {
            return problem(400, "invalid_request_error", "a_gateway_must_send_a_key");
        };
        let path = request.url.splitn(4, '/').nth(3).unwrap_or_default();
        // Not the request itself: nothing that pays is written down.
        let fingerprint = Sha256::new().chain_update(path).chain_update("\n").chain_update(&request.body).finalize();
        let fingerprint = BASE64_STANDARD.encode(fingerprint);
        if let Some((kept, reply)) = books.answers.get(&key).cloned() {
            if kept != fingerprint {
                return problem(400, "idempotency_error", "idempotency_error");
            }
            books.report.replays += 1;
            return reply;
        }
        let members = form(&request.body);
        match target {
            Target::Intent(Step::Create, _) => create(&mut books, &members, key, fingerprint, &base),
            Target::Intent(step, id) => act(&mut books, step, &id, &members, (key, fingerprint), &base),
            Target::Refund => refund(&mut books, &members, key, fingerprint),
            Target::List => problem(404, "invalid_request_error", "url_invalid"),
        }
    }

    /// Answers the browser of a buyer: `/fake/3ds/ID` and what it leads to.
    pub fn page(&self, request: &Request) -> Option<Reply> {
        let path = request.url.splitn(4, '/').nth(3)?.split('?').next()?;
        let parts: Vec<&str> = path.split('/').collect();
        let mut books = self.books();
        match parts.as_slice() {
            ["fake", "3ds", id] => {
                let body = format!(
                    "<!doctype html><title>Your bank</title><h1>Is it you?</h1><a href=\"/fake/3ds/{id}/pass\">Yes</a> \
                     <a href=\"/fake/3ds/{id}/fail\">No</a>"
                );
                books.intents.get(*id).map(|_| Reply { status: 200, body })
            }
            ["fake", "3ds", id, verdict] => {
                let mut intent = books.intents.get(*id)?.clone();
                let passed = *verdict == "pass";
                if intent.status == "requires_action" {
                    if passed {
                        intent.status = "requires_capture".into();
                        intent.authorizations += 1;
                    } else {
                        intent.status = "requires_payment_method".into();
                        intent.error = Some(("payment_intent_authentication_failure".into(), String::new()));
                    }
                    let _ = books.keep(
                        String::new(),
                        String::new(),
                        Reply { status: 200, body: String::new() },
                        Some(intent.clone()),
                    );
                }
                let back = intent.return_url?;
                let mark = if back.contains('?') { '&' } else { '?' };
                let result = if passed { "succeeded" } else { "failed" };
                let body = format!(
                    "{back}{mark}payment_intent={id}&payment_intent_client_secret={id}_secret_of_the_fake&redirect_status={result}"
                );
                Some(Reply { status: 303, body })
            }
            _ => None,
        }
    }
}

fn target(request: &Request) -> Option<Target> {
    let path = request.url.splitn(4, '/').nth(3)?.split('?').next()?;
    let parts: Vec<&str> = path.split('/').collect();
    Some(match (request.method.as_str(), parts.as_slice()) {
        ("POST", ["v1", "payment_intents"]) => Target::Intent(Step::Create, String::new()),
        ("GET", ["v1", "payment_intents"]) => Target::List,
        ("GET", ["v1", "payment_intents", id]) => Target::Intent(Step::Inquire, (*id).to_owned()),
        ("POST", ["v1", "payment_intents", id, "confirm"]) => Target::Intent(Step::Authorize, (*id).to_owned()),
        ("POST", ["v1", "payment_intents", id, "capture"]) => Target::Intent(Step::Capture, (*id).to_owned()),
        ("POST", ["v1", "payment_intents", id, "cancel"]) => Target::Intent(Step::Void, (*id).to_owned()),
        ("POST" | "GET", ["v1", "refunds"]) => Target::Refund,
        _ => return None,
    })
}

/// The time, in seconds since 1970.
#[expect(clippy::disallowed_methods, reason = "Stripe has a clock of its own")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The members of a form.
fn form(body: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(body).into_owned();
    text.split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = text.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [bytes.next().unwrap_or(b'0'), bytes.next().unwrap_or(b'0')];
                u8::from_str_radix(&String::from_utf8_lossy(&digits), 16).unwrap_or(b'?')
            }
            byte => byte,
        });
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns the token that a payment is confirmed with, in the notation of the other provider.
fn token(members: &BTreeMap<String, String>) -> String {
    let names = [
        "payment_method",
        "confirmation_token",
        "payment_method_data[card][token]",
        "payment_method_data[shared_payment_granted_token]",
    ];
    let id = names.iter().find_map(|name| members.get(*name)).cloned().unwrap_or_default();
    crate::token::plain(&id)
}

fn problem(status: u16, kind: &str, code: &str) -> Reply {
    let error = json!({ "type": kind, "code": code, "message": "As Stripe would say it." });
    Reply { status, body: json!({ "error": error }).to_string() }
}

/// An error about a `PaymentIntent`, which comes with it.
fn about(intent: &Intent, status: u16, kind: &str, code: &str, base: &str) -> Reply {
    let decline = intent.error.as_ref().map(|(_, decline)| decline.clone());
    let error = json!({
        "type": kind, "code": code, "decline_code": decline, "message": "As Stripe would say it.",
        "payment_intent": intent.json(base),
    });
    Reply { status, body: json!({ "error": error }).to_string() }
}

fn create(
    books: &mut Books,
    members: &BTreeMap<String, String>,
    key: String,
    fingerprint: String,
    base: &str,
) -> Reply {
    let amount = members.get("amount").and_then(|amount| amount.parse::<i64>().ok()).filter(|amount| *amount > 0);
    let (Some(amount), Some(currency)) = (amount, members.get("currency")) else {
        return problem(400, "invalid_request_error", "parameter_missing");
    };
    if members.get("capture_method").map(String::as_str) != Some("manual") {
        return problem(400, "invalid_request_error", "a_gateway_captures_itself");
    }
    let metadata = members.iter().filter_map(|(name, value)| {
        Some((name.strip_prefix("metadata[")?.strip_suffix(']')?.to_owned(), value.clone()))
    });
    let intent = Intent {
        id: format!("pi_fake_{}", books.intents.len() + 1),
        amount,
        currency: currency.clone(),
        status: "requires_payment_method".into(),
        metadata: metadata.collect(),
        created: now(),
        received: 0,
        refunded: 0,
        refunds: Vec::new(),
        word: String::new(),
        return_url: None,
        error: None,
        authorizations: 0,
        captures: 0,
        voids: 0,
    };
    let reply = Reply { status: 200, body: intent.json(base).to_string() };
    books.keep(key, fingerprint, reply, Some(intent))
}

fn retrieve(books: &mut Books, id: &str, base: &str) -> Reply {
    let Some(intent) = books.intents.get_mut(id) else {
        return problem(404, "invalid_request_error", "resource_missing");
    };
    let reply = Reply { status: 200, body: intent.json(base).to_string() };
    // Not written down: after a restart it is being processed once more, which is as true.
    if intent.status == "processing" {
        intent.status = "requires_capture".into();
    }
    reply
}

fn list(books: &Books, request: &Request, base: &str) -> Reply {
    let query = form(request.url.split_once('?').map_or("", |(_, query)| query).as_bytes());
    let number = |name: &str| query.get(name).and_then(|number| number.parse::<u64>().ok());
    let (from, to) = (number("created[gte]").unwrap_or(0), number("created[lte]").unwrap_or(u64::MAX));
    let limit = usize::try_from(number("limit").unwrap_or(10)).unwrap_or(10).clamp(1, 100);
    // The newest first.
    let mut intents: Vec<_> = books.intents.values().filter(|intent| (from..=to).contains(&intent.created)).collect();
    let serial = |intent: &&Intent| intent.id.rsplit('_').next().and_then(|serial| serial.parse::<u64>().ok());
    intents.sort_by_key(|intent| std::cmp::Reverse(serial(intent)));
    let after = query.get("starting_after");
    let start = after.and_then(|after| intents.iter().position(|intent| intent.id == *after)).map_or(0, |at| at + 1);
    let page: Vec<_> = intents.iter().skip(start).take(limit).map(|intent| intent.json(base)).collect();
    let has_more = start + page.len() < intents.len();
    Reply { status: 200, body: json!({ "object": "list", "data": page, "has_more": has_more }).to_string() }
}

/// Confirms, captures or cancels.
fn act(
    books: &mut Books,
    step: Step,
    id: &str,
    members: &BTreeMap<String, String>,
    (key, fingerprint): (String, String),
    base: &str,
) -> Reply {
    let Some(mut intent) = books.intents.get(id).cloned() else {
        return problem(404, "invalid_request_error", "resource_missing");
    };
    let unexpected =
        |intent: &Intent| about(intent, 400, "invalid_request_error", "payment_intent_unexpected_state", base);
    let reply = match (step, intent.status.as_str()) {
        (Step::Authorize, "requires_payment_method" | "requires_confirmation") => {
            let token = token(members);
            if token.is_empty() {
                return problem(400, "invalid_request_error", "parameter_missing");
            }
            intent.word = token.split('+').next().unwrap_or_default().to_owned();
            intent.return_url = members.get("return_url").cloned();
            intent.error = None;
            intent.status = match intent.word.as_str() {
                "decline" => "requires_payment_method",
                "challenge" => "requires_action",
                "pending" => "processing",
                "missing" => return problem(400, "invalid_request_error", "resource_missing"),
                _ => "requires_capture",
            }
            .into();
            if intent.status == "requires_payment_method" {
                intent.error = Some(("card_declined".into(), "insufficient_funds".into()));
                about(&intent, 402, "card_error", "card_declined", base)
            } else {
                intent.authorizations += u32::from(matches!(intent.status.as_str(), "requires_capture" | "processing"));
                Reply { status: 200, body: intent.json(base).to_string() }
            }
        }
        (Step::Capture, "requires_capture") if intent.word == "refuse_capture" => {
            // The authorization has expired.
            intent.status = "canceled".into();
            intent.authorizations = 0;
            unexpected(&intent)
        }
        (Step::Capture, "requires_capture") => {
            let wanted =
                members.get("amount_to_capture").and_then(|amount| amount.parse().ok()).unwrap_or(intent.amount);
            if wanted < 1 || wanted > intent.amount {
                return problem(400, "invalid_request_error", "amount_too_large");
            }
            intent.status = "succeeded".into();
            intent.received = wanted;
            intent.captures += 1;
            Reply { status: 200, body: intent.json(base).to_string() }
        }
        (
            Step::Void,
            "requires_payment_method" | "requires_confirmation" | "requires_action" | "requires_capture" | "processing",
        ) => {
            intent.status = "canceled".into();
            intent.authorizations = 0;
            intent.voids += 1;
            Reply { status: 200, body: intent.json(base).to_string() }
        }
        _ => return unexpected(&intent),
    };
    books.keep(key, fingerprint, reply, Some(intent))
}

/// Lists the refunds of a payment.
fn refunds(books: &Books, request: &Request) -> Reply {
    let query = request.url.split_once('?').map_or("", |(_, query)| query);
    let of = form(query.as_bytes()).get("payment_intent").and_then(|id| books.intents.get(id)).cloned();
    let data = of.map(|intent| intent.refunds).unwrap_or_default();
    Reply { status: 200, body: json!({ "object": "list", "data": data, "has_more": false }).to_string() }
}

fn refund(books: &mut Books, members: &BTreeMap<String, String>, key: String, fingerprint: String) -> Reply {
    let intent = members.get("payment_intent").and_then(|id| books.intents.get(id)).cloned();
    let Some(mut intent) = intent else {
        return problem(404, "invalid_request_error", "resource_missing");
    };
    let left = intent.received - intent.refunded;
    let wanted = members.get("amount").and_then(|amount| amount.parse().ok()).unwrap_or(left);
    if left == 0 {
        return problem(400, "invalid_request_error", "charge_already_refunded");
    }
    if wanted < 1 || wanted > left {
        return problem(400, "invalid_request_error", "amount_too_large");
    }
    intent.refunded += wanted;
    let metadata = members.get("metadata[ucp_refund]").map(|id| json!({ "ucp_refund": id })).unwrap_or_default();
    let id = format!("re_fake_{}_{}", intent.id.rsplit('_').next().unwrap_or_default(), intent.refunded);
    let body = json!({
        "id": id, "object": "refund", "amount": wanted, "currency": intent.currency, "payment_intent": intent.id,
        "status": "succeeded", "metadata": metadata,
    });
    intent.refunds.insert(0, body.clone());
    books.keep(key, fingerprint, Reply { status: 200, body: body.to_string() }, Some(intent))
}
