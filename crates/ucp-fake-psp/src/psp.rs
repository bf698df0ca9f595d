//! Payments, and the journal that they survive a crash in.
//!
//! Every request that is carried out becomes one line of the journal, on disk before it is answered: the answer under
//! its idempotency key, and the payment as it is afterwards. Reading the lines again gives the same provider. Tokens
//! are not among what is written, only the outcome that they ask for.

use std::{
    collections::{BTreeMap, HashMap},
    fs::{File, OpenOptions},
    io::{self, Write as _},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{
    fault::{Fault, Order, Step},
    reply::Reply,
    token::plain,
};

/// A request, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET` or `POST`.
    pub method: String,
    /// The whole address that was asked.
    pub url: String,
    /// The headers by lower-case name.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// The path of the address, after the prefix that the protocol does not know.
    fn path(&self) -> &str {
        self.url.find("/payments").map_or("", |start| &self.url[start..])
    }

    /// The step and the payment that it is about, if the address is known.
    pub fn step(&self) -> Option<(Step, String)> {
        let parts: Vec<&str> = self.path().trim_start_matches('/').split('/').collect();
        match (self.method.as_str(), parts.as_slice()) {
            ("POST", ["payments"]) => {
                let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
                Some((Step::Authorize, body["id"].as_str().unwrap_or_default().to_owned()))
            }
            ("GET", ["payments", id]) => Some((Step::Inquire, (*id).to_owned())),
            ("POST", ["payments", id, "capture"]) => Some((Step::Capture, (*id).to_owned())),
            ("POST", ["payments", id, "void"]) => Some((Step::Void, (*id).to_owned())),
            _ => None,
        }
    }
}

/// Credentials of the gateway: an API key, and the secret that its requests are signed with.
#[derive(Clone)]
pub struct Keys {
    /// The API key.
    pub api_key: String,
    /// The secret that requests are signed with.
    pub signing_secret: String,
}

/// A payment, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payment {
    /// The name that the gateway gave it.
    pub id: String,
    /// Identifier of the checkout that it pays.
    pub checkout_id: String,
    /// Amount, in minor units.
    pub amount: i64,
    /// In which currency.
    pub currency: String,
    /// `pending`, `authorized`, `captured`, `declined`, `challenge` or `voided`.
    pub status: String,
    /// Number of authorizations.
    pub authorizations: u32,
    /// Number of captures.
    pub captures: u32,
    /// Number of voids.
    pub voids: u32,
    /// Amount that was captured, in minor units.
    #[serde(default)]
    pub taken: i64,
    /// Amount that was refunded, in minor units; at Stripe alone.
    #[serde(default)]
    pub refunded: i64,
    /// The word its token begins with, if that means something.
    word: String,
}

impl Payment {
    /// A payment of this attempt and checkout, with its counts of authorizations, captures and voids.
    pub(crate) fn of(
        (id, checkout_id): (String, String),
        (amount, currency): (i64, String),
        status: &str,
        [authorizations, captures, voids]: [u32; 3],
    ) -> Self {
        let (status, word) = (status.to_owned(), String::new());
        Self { id, checkout_id, amount, currency, status, authorizations, captures, voids, taken: 0, refunded: 0, word }
    }

    fn reply(&self) -> Reply {
        let reason = (self.status == "declined").then_some("refused_by_bank");
        let body = json!({
            "id": self.id,
            "status": self.status,
            "amount": self.amount,
            "captured_amount": self.taken,
            "currency": self.currency,
            "reference": format!("psp_{}", self.id),
            "reason": reason,
        });
        Reply { status: 200, body: body.to_string() }
    }
}

/// Everything that happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The payments by their names.
    pub payments: BTreeMap<String, Payment>,
    /// Number of requests that were answered with the stored response of their idempotency key.
    pub replays: u32,
}

impl Report {
    /// Reads the journal of a provider that is not running, or may be killed at any time.
    pub fn read(journal: &Path) -> io::Result<Self> {
        let mut books = Books::<Value>::default();
        books.load(&std::fs::read_to_string(journal)?);
        Ok(books.report)
    }

    /// Returns the number of captures of a payment; 0 if the payment is unknown.
    pub fn captures_of(&self, payment: &str) -> u32 {
        self.payments.get(payment).map_or(0, |payment| payment.captures)
    }

    /// Returns the number of captures of all payments of a checkout.
    pub fn captures_of_checkout(&self, checkout: &str) -> u32 {
        self.payments.values().filter(|payment| payment.checkout_id == checkout).map(|payment| payment.captures).sum()
    }
}

/// Record with an identifier that a journal keeps beside a payment: none, or an intent of Stripe.
pub(crate) trait Intent: Serialize + DeserializeOwned {
    /// Returns the identifier.
    fn id(&self) -> &str;
}

impl Intent for Value {
    fn id(&self) -> &str {
        ""
    }
}

/// A line of the journal.
#[derive(Serialize, Deserialize)]
pub(crate) struct Line<I> {
    pub(crate) key: String,
    pub(crate) fingerprint: String,
    pub(crate) reply: Reply,
    pub(crate) payment: Option<Payment>,
    pub(crate) intent: Option<I>,
}

/// Everything that a provider knows, and its journal.
#[derive(Default)]
pub(crate) struct Books<I> {
    pub(crate) report: Report,
    pub(crate) intents: BTreeMap<String, I>,
    pub(crate) answers: HashMap<String, (String, Reply)>,
    pub(crate) orders: HashMap<String, Vec<Order>>,
    pub(crate) script: Vec<Order>,
    pub(crate) tokens: Vec<String>,
    journal: Option<File>,
}

impl<I: Intent + Default> Books<I> {
    /// Opens the books, which go on after the journal, if there is one. Without a journal they are forgotten.
    pub(crate) fn open(journal: Option<&Path>) -> io::Result<Mutex<Self>> {
        let mut books = Self::default();
        if let Some(path) = journal {
            let mut text = match std::fs::read_to_string(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
                read => read?,
            };
            books.load(&text);
            // A torn line must not swallow the next one.
            text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
            let file = OpenOptions::new().create(true).append(true).open(path)?;
            file.set_len(text.len() as u64)?;
            books.journal = Some(file);
        }
        Ok(Mutex::new(books))
    }

    fn load(&mut self, journal: &str) {
        // The last line of a killed provider may be torn: it was not answered.
        for line in journal.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            self.apply(line);
        }
    }

    fn apply(&mut self, line: Line<I>) {
        if !line.key.is_empty() {
            self.answers.insert(line.key, (line.fingerprint, line.reply));
        }
        self.report.payments.extend(line.payment.map(|payment| (payment.id.clone(), payment)));
        self.intents.extend(line.intent.map(|intent| (intent.id().to_owned(), intent)));
    }

    /// Writes a line to disk, then believes it.
    pub(crate) fn commit(&mut self, line: Line<I>) -> io::Result<()> {
        if let Some(journal) = &mut self.journal {
            let mut text = serde_json::to_string(&line)?;
            text.push('\n');
            journal.write_all(text.as_bytes())?;
            journal.sync_data()?;
        }
        self.apply(line);
        Ok(())
    }

    /// The order to misbehave at this step, used up by one.
    pub(crate) fn order(&mut self, step: Step, id: &str) -> Option<Fault> {
        let scripted = self.script.iter_mut();
        let mut orders = scripted.chain(self.orders.get_mut(id).into_iter().flatten());
        let order = orders.find(|order| order.step == step && order.times > 0)?;
        order.times -= 1;
        Some(order.fault)
    }
}

/// The provider, without a port.
pub struct Psp {
    keys: Keys,
    books: Mutex<Books<Value>>,
}

impl Psp {
    /// A provider that continues the journal, if there is one. Without a journal it forgets.
    pub fn new(keys: Keys, journal: Option<&Path>) -> io::Result<Self> {
        Ok(Self { keys, books: Books::open(journal)? })
    }

    fn books(&self) -> MutexGuard<'_, Books<Value>> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything that happened.
    pub fn report(&self) -> Report {
        self.books().report.clone()
    }

    /// Returns `true` if a credential with this token arrived since this process started.
    pub fn saw(&self, token: &str) -> bool {
        self.books().tokens.iter().any(|seen| seen == token)
    }

    /// Orders to misbehave at the next request of a step, whatever payment it is about.
    pub fn inject(&self, order: Order) {
        self.books().script.push(order);
    }

    /// Returns the fault to produce for this request, if any, and counts one use of its order.
    pub fn fault(&self, request: &Request) -> Option<Fault> {
        let (step, id) = request.step()?;
        let mut books = self.books();
        if step == Step::Authorize
            && !books.orders.contains_key(&id)
            && let Ok(body) = serde_json::from_slice::<Value>(&request.body)
        {
            let token = plain(body["credential"]["token"].as_str().unwrap_or_default());
            let orders = token.split('+').skip(1).filter_map(|order| order.parse().ok()).collect();
            books.orders.insert(id.clone(), orders);
            books.tokens.push(token);
        }
        books.order(step, &id)
    }

    /// Carries a request out and answers it.
    pub fn answer(&self, request: &Request) -> Reply {
        if let Err(wrong) = self.authentic(request) {
            return Reply::error(401, "unauthorized", wrong);
        }
        let Some((step, id)) = request.step() else {
            return Reply::error(404, "no_such_address", "There is nothing at this address.");
        };
        let mut books = self.books();
        if step == Step::Inquire {
            return inquire(&mut books, &id);
        }
        let Some(key) = request.headers.get("idempotency-key").cloned() else {
            return Reply::error(400, "idempotency_key_missing", "An Idempotency-Key is needed.");
        };
        let mut fingerprint = Sha256::new();
        fingerprint.update(request.path());
        fingerprint.update(&request.body);
        let fingerprint = BASE64_STANDARD.encode(fingerprint.finalize());
        if let Some((kept, reply)) = books.answers.get(&key).cloned() {
            if kept != fingerprint {
                return Reply::error(409, "idempotency_key_reused", "The key belongs to another request.");
            }
            books.report.replays += 1;
            return reply;
        }
        let known = books.report.payments.get(&id).cloned();
        match act(step, &id, known, &request.body) {
            Err(refused) => refused,
            Ok(payment) => {
                let reply = payment.reply();
                let line = Line { key, fingerprint, reply: reply.clone(), payment: Some(payment), intent: None };
                match books.commit(line) {
                    Ok(()) => reply,
                    Err(error) => Reply::error(500, "internal", &error.to_string()),
                }
            }
        }
    }

    /// Buyers see no page of this provider.
    pub fn page(&self, _: &Request) -> Option<Reply> {
        None
    }

    /// Checks the API key, the digest of the body and the signature.
    fn authentic(&self, request: &Request) -> Result<(), &'static str> {
        let header = |name: &str| request.headers.get(name).map(String::as_str);
        if header("authorization") != Some(&format!("Bearer {}", self.keys.api_key)) {
            return Err("The API key is wrong.");
        }
        let digest = format!("sha-256=:{}:", BASE64_STANDARD.encode(Sha256::digest(&request.body)));
        if header("content-digest") != Some(&digest) {
            return Err("The digest of the body is wrong.");
        }
        let input = header("signature-input").and_then(|input| input.strip_prefix("sig1="));
        let input = input.ok_or("There is no signature.")?;
        let (listed, _) = input.split_once(')').ok_or("The signature's input is wrong.")?;
        let mut base = String::new();
        let mut parts: Vec<&str> = listed.trim_start_matches('(').split(' ').collect();
        for part in &parts {
            let name = part.trim_matches('"');
            let value = match name {
                "@method" => Some(request.method.as_str()),
                "@target-uri" => Some(request.url.as_str()),
                name => header(name),
            };
            base.push_str(&format!("{part}: {}\n", value.ok_or("A signed part is missing.")?));
        }
        base.push_str(&format!("\"@signature-params\": {input}"));
        parts.sort_unstable();
        let required: &[&str] = match request.method.as_str() {
            "GET" => &["\"@method\"", "\"@target-uri\"", "\"authorization\"", "\"content-digest\""],
            _ => &["\"@method\"", "\"@target-uri\"", "\"authorization\"", "\"content-digest\"", "\"idempotency-key\""],
        };
        if parts != required || !input.contains(";created=") {
            return Err("The signature does not cover what it has to.");
        }
        let signature = header("signature").and_then(|signature| signature.strip_prefix("sig1=:"));
        let signature = signature.and_then(|signature| signature.strip_suffix(':'));
        let signature = signature.and_then(|signature| BASE64_STANDARD.decode(signature).ok());
        let mut mac = Hmac::<Sha256>::new_from_slice(self.keys.signing_secret.as_bytes()).map_err(|_| "No secret.")?;
        mac.update(base.as_bytes());
        mac.verify_slice(&signature.ok_or("There is no signature.")?).map_err(|_| "The signature is wrong.")
    }
}

fn inquire(books: &mut Books<Value>, id: &str) -> Reply {
    let Some(payment) = books.report.payments.get_mut(id) else {
        return Reply::error(404, "payment_not_found", "There is no such payment.");
    };
    let reply = payment.reply();
    // Not written down: after a restart it is pending once more, which is as true.
    if payment.status == "pending" {
        payment.status = "authorized".into();
    }
    reply
}

/// Returns the payment after a request; the error response if the request is rejected.
fn act(step: Step, id: &str, known: Option<Payment>, body: &[u8]) -> Result<Payment, Reply> {
    #[derive(Deserialize)]
    struct Body {
        checkout_id: String,
        amount: i64,
        capture_amount: Option<i64>,
        currency: String,
        credential: Option<serde_json::Map<String, Value>>,
    }
    let invalid = |error: &str| Reply::error(422, "invalid", error);
    let body: Body = serde_json::from_slice(body).map_err(|error| invalid(&error.to_string()))?;
    if let Some(known) = &known
        && (known.amount, &known.currency, &known.checkout_id) != (body.amount, &body.currency, &body.checkout_id)
    {
        return Err(Reply::error(409, "payment_differs", "The payment exists, with another amount or checkout."));
    }
    let blank = |status: &str, word: &str| {
        let (names, amount) = ((id.to_owned(), body.checkout_id.clone()), (body.amount, body.currency.clone()));
        Payment { word: word.to_owned(), ..Payment::of(names, amount, status, [0; 3]) }
    };
    match (step, known) {
        // The same order under another key is carried out once more, as is a capture below: that is what a gateway that
        // loses its keys deserves, and what the counts are for.
        (Step::Authorize, Some(known)) => {
            let again = u32::from(matches!(known.status.as_str(), "authorized" | "captured"));
            Ok(Payment { authorizations: known.authorizations + again, ..known })
        }
        (Step::Authorize, None) => {
            let token = body.credential.as_ref().and_then(|credential| credential.get("token"));
            let token = plain(token.and_then(Value::as_str).ok_or_else(|| invalid("A token is needed."))?);
            let mut payment = match token.split('+').next() {
                Some("decline") => blank("declined", "decline"),
                Some("challenge") => blank("challenge", "challenge"),
                Some("pending") => blank("pending", "pending"),
                Some("refuse_capture") => blank("authorized", "refuse_capture"),
                _ => blank("authorized", "ok"),
            };
            payment.authorizations = u32::from(payment.status == "authorized");
            Ok(payment)
        }
        (Step::Void, None) => Ok(Payment { voids: 1, ..blank("voided", "ok") }),
        (Step::Void, Some(known)) => match known.status.as_str() {
            "authorized" | "challenge" | "pending" => {
                Ok(Payment { status: "voided".into(), voids: known.voids + 1, ..known })
            }
            _ => Ok(known),
        },
        (Step::Capture | Step::Inquire | Step::Create | Step::Refund, None) => {
            Err(Reply::error(404, "payment_not_found", "There is no such payment."))
        }
        (Step::Capture | Step::Inquire | Step::Create | Step::Refund, Some(known)) => {
            match (known.status.as_str(), known.word.as_str()) {
                ("authorized", "refuse_capture") => Ok(Payment { status: "declined".into(), ..known }),
                ("authorized" | "captured", _) => {
                    let wanted = body.capture_amount.unwrap_or(known.amount);
                    if wanted < 1 || wanted > known.amount {
                        return Err(invalid("More than is authorized cannot be captured."));
                    }
                    let (captures, taken) = (known.captures + 1, known.taken + wanted);
                    Ok(Payment { status: "captured".into(), captures, taken, ..known })
                }
                _ => Ok(known),
            }
        }
    }
}
