//! A shop with carts that are changed as the API says, and faults on demand.
//!
//! Requests are recognized by the operation's name and its variables, which have the names of the changes. Every item
//! costs ten dollars; a test may state the items and their stock.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use ucp_testkit::host::Peer;
use url::Url;

pub(crate) use crate::graphql::Asked;
use crate::graphql::{document, serve};

/// Secret that opens carts here, and must not appear anywhere.
pub(crate) const CANARY: &str = "canary-of-the-cart";

/// The changes of a cart in the order in which a request states them.
const CHANGES: [&str; 8] = ["remove", "update", "add", "attributes", "codes", "buyer", "address", "delivery"];

/// Fault of a request.
pub(crate) enum Fault {
    /// It is carried out, or not, and the connection is torn.
    Torn { after: bool },
    /// The same, and nothing is answered for so long.
    Late { after: bool, wait: Duration },
    /// The same, and this is answered, with status 200.
    Document { after: bool, document: Value },
    /// It is not carried out, and this is answered.
    Status(u16),
    /// So many of its changes are carried out; about the others there is an error.
    Half(usize),
    /// Change of a response about a cart before it is sent.
    Spoiled(fn(&mut Value)),
    /// The carts are forgotten before.
    Expired,
}

type Faults = dyn Fn(&Asked, usize) -> Option<Fault> + Send + Sync;

/// Stock of an item, and the shop's rules for its quantities.
#[derive(Clone, Copy, Default)]
pub(crate) struct Rule {
    pub(crate) stock: Option<u64>,
    pub(crate) unknown: bool,
    pub(crate) sixes: bool,
    pub(crate) subscription: bool,
}

#[derive(Clone, Default)]
struct Line {
    id: String,
    item: String,
    quantity: u64,
}

#[derive(Clone, Default)]
struct Cart {
    lines: Vec<Line>,
    codes: Vec<String>,
    buyer: BTreeMap<String, Value>,
    address: Option<Value>,
    attributes: Value,
    option: Option<String>,
}

#[derive(Default)]
struct Books {
    carts: HashMap<String, Cart>,
    rules: HashMap<String, Rule>,
    asked: Vec<Asked>,
    named: usize,
    /// Checkout page of the shop, if it is not the usual one.
    page: Option<String>,
    /// Prices that a carrier calculates, in cents.
    carrier: Option<u64>,
}

/// Number of lines in a cart, and in a group of them.
const LISTED: usize = 40;

struct State {
    faults: Box<Faults>,
    books: Mutex<Books>,
    /// Number of requests under way for each cart, and the maximum so far.
    under_way: Mutex<HashMap<String, usize>>,
    most: AtomicUsize,
}

/// The server. It ends with the runtime of the test.
#[derive(Clone)]
pub(crate) struct Stub {
    pub(crate) url: Url,
    state: Arc<State>,
}

impl Stub {
    pub(crate) async fn serve() -> Self {
        Self::failing(|_, _| None).await
    }

    /// One in which requests go wrong as this says, about each request and how many of the operation there were before.
    pub(crate) async fn failing(faults: impl Fn(&Asked, usize) -> Option<Fault> + Send + Sync + 'static) -> Self {
        let state = Arc::new(State {
            faults: Box::new(faults),
            books: Mutex::default(),
            under_way: Mutex::default(),
            most: AtomicUsize::new(0),
        });
        let own = Arc::clone(&state);
        let host = serve(move |mut peer, asked| {
            let state = Arc::clone(&own);
            async move {
                state.answer(&mut peer, asked).await?;
                Ok(peer)
            }
        })
        .await;
        Self { url: host.url("/").parse().expect("an address"), state }
    }

    /// Returns the requests so far by operations of this name.
    pub(crate) fn asked(&self, operation: &str) -> Vec<Asked> {
        self.state.books().asked.iter().filter(|asked| asked.operation == operation).cloned().collect()
    }

    /// Returns the number of requests for changes.
    pub(crate) fn writes(&self) -> usize {
        ["CartCreate", "CartChange", "CartForget"].into_iter().map(|name| self.asked(name).len()).sum()
    }

    /// Facts about an item.
    pub(crate) fn rule(&self, item: &str, rule: Rule) {
        self.state.books().rules.insert(item.to_owned(), rule);
    }

    /// Forgets all carts.
    pub(crate) fn expire(&self) {
        self.state.books().carts.clear();
    }

    /// Sets the checkout page from now on.
    pub(crate) fn pay_at(&self, page: &str) {
        self.state.books().page = Some(page.to_owned());
    }

    /// A carrier delivers for so many cents, by the option `carrier`.
    pub(crate) fn carries(&self, cents: u64) {
        self.state.books().carrier = Some(cents);
    }

    /// Returns the items in the only cart, with their quantities.
    pub(crate) fn goods(&self) -> Vec<(String, u64)> {
        self.only(|cart| cart.lines.iter().map(|line| (line.item.clone(), line.quantity)).collect())
    }

    /// Returns the buyer and the address of the only cart.
    pub(crate) fn buyer(&self) -> Value {
        self.only(|cart| json!({ "buyer": cart.buyer, "address": cart.address }))
    }

    /// The codes of the only cart that there is.
    pub(crate) fn codes(&self) -> Vec<String> {
        self.only(|cart| cart.codes.clone())
    }

    fn only<T>(&self, read: impl FnOnce(&Cart) -> T) -> T {
        let books = self.state.books();
        assert_eq!(books.carts.len(), 1, "one cart");
        read(books.carts.values().next().expect("one cart"))
    }

    /// Returns the number of carts.
    pub(crate) fn carts(&self) -> usize {
        self.state.books().carts.len()
    }

    /// Returns the maximum number of concurrent requests about one cart.
    pub(crate) fn most_at_once(&self) -> usize {
        self.state.most.load(Ordering::SeqCst)
    }
}

/// The beginning of an answer, after which the connection is torn.
async fn torn(peer: &mut Peer) -> io::Result<()> {
    peer.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await?;
    Err(io::ErrorKind::ConnectionAborted.into())
}

impl State {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().expect("not poisoned")
    }

    async fn answer(&self, peer: &mut Peer, asked: Asked) -> io::Result<()> {
        let before = {
            let mut books = self.books();
            books.asked.push(asked.clone());
            books.asked.iter().filter(|own| own.operation == asked.operation).count() - 1
        };
        let cart = asked.variables["cart"].as_str().unwrap_or_default().to_owned();
        let reads = ["CartById", "CartLines", "CartGroups", "CartRates"];
        let write = !reads.contains(&asked.operation.as_str()) && !cart.is_empty();
        if write {
            let now = {
                let mut under_way = self.under_way.lock().expect("not poisoned");
                let own = under_way.entry(cart.clone()).or_default();
                *own += 1;
                *own
            };
            self.most.fetch_max(now, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let answered = self.misbehave(peer, &asked, before).await;
        if write {
            *self.under_way.lock().expect("not poisoned").entry(cart).or_default() -= 1;
        }
        answered
    }

    async fn misbehave(&self, peer: &mut Peer, asked: &Asked, before: usize) -> io::Result<()> {
        let carry_out = |yes: bool| {
            if yes {
                self.books().carry_out(asked, CHANGES.len());
            }
        };
        let answer = match (self.faults)(asked, before) {
            None => self.books().carry_out(asked, CHANGES.len()),
            Some(Fault::Torn { after }) => {
                carry_out(after);
                return torn(peer).await;
            }
            Some(Fault::Late { after, wait }) => {
                carry_out(after);
                tokio::time::sleep(wait).await;
                return torn(peer).await;
            }
            Some(Fault::Document { after, document }) => {
                carry_out(after);
                document
            }
            Some(Fault::Status(status)) => return peer.answer(status, &[], "").await,
            Some(Fault::Half(most)) => self.books().carry_out(asked, most),
            Some(Fault::Spoiled(spoil)) => {
                let mut answer = self.books().carry_out(asked, CHANGES.len());
                spoil(&mut answer["data"]);
                answer
            }
            Some(Fault::Expired) => {
                let mut books = self.books();
                books.carts.clear();
                books.carry_out(asked, CHANGES.len())
            }
        };
        if asked.operation == "CartRates" && answer["data"]["cart"].is_object() {
            assert!(asked.headers["accept"].to_str().is_ok_and(|accepted| accepted.starts_with("multipart/mixed")));
            let media_type = "multipart/mixed; boundary=\"-\"; deferSpec=20220824";
            return peer.answer(200, &[("content-type", media_type)], deferred(&answer)).await;
        }
        document(peer, &answer).await
    }
}

/// An answer about rates in its two parts.
fn deferred(answer: &Value) -> String {
    let cart = &answer["data"]["cart"];
    let first = json!({ "data": { "cart": { "id": cart["id"] } }, "hasNext": true });
    let groups = json!({ "deliveryGroups": cart["deliveryGroups"] });
    let rest = json!({ "incremental": [{ "path": ["cart"], "data": groups }], "hasNext": false });
    let part = |part: Value| format!("---\r\nContent-Type: application/json\r\n\r\n{part}\r\n");
    format!("{}{}-----\r\n", part(first), part(rest))
}

fn user_error(code: &str, field: &[&str], message: &str) -> Value {
    json!({ "code": code, "field": field, "message": message })
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

impl Books {
    /// Carries a request out, of a change no more than so many of its parts.
    fn carry_out(&mut self, asked: &Asked, most: usize) -> Value {
        let variables = &asked.variables;
        let name = variables["cart"].as_str().unwrap_or_default().to_owned();
        match asked.operation.as_str() {
            "Shop" => shop(),
            "Types" => json!({ "data": { "productTypes": { "edges": [] } } }),
            "CartById" => json!({ "data": { "cart": self.carts.get(&name).map(|cart| self.view(&name, cart)) } }),
            "CartLines" => {
                let after = variables["after"].as_str().and_then(|after| after.parse().ok()).expect("a cursor");
                let page = |cart| json!({ "lines": self.lines(cart, after, 80) });
                json!({ "data": { "cart": self.carts.get(&name).map(page) } })
            }
            "CartGroups" => {
                let groups = |cart| json!({ "deliveryGroups": { "nodes": self.groups(cart, false, 250) } });
                json!({ "data": { "cart": self.carts.get(&name).map(groups) } })
            }
            "CartRates" => {
                let groups =
                    |cart| json!({ "id": name, "deliveryGroups": { "nodes": self.groups(cart, true, LISTED) } });
                json!({ "data": { "cart": self.carts.get(&name).map(groups) } })
            }
            "CartCreate" => self.create(&variables["input"]),
            "CartForget" => self.forget(&name),
            "CartChange" => self.change(&name, variables, most),
            other => panic!("nobody answers {other}"),
        }
    }

    fn create(&mut self, input: &Value) -> Value {
        self.named += 1;
        let name = format!("gid://shopify/Cart/{}?key={CANARY}", self.named);
        let mut cart = Cart::default();
        let mut warnings = Vec::new();
        let mut errors = self.buy(&name, &mut cart, &input["lines"], &["input"], &mut warnings);
        errors.extend(buyer(&mut cart, &input["buyerIdentity"], &["input"]));
        cart.address = input.pointer("/delivery/addresses/0/address/deliveryAddress").cloned();
        if let Some(rejected) = rejected(cart.address.as_ref()) {
            return rejected;
        }
        cart.attributes = input["attributes"].clone();
        warnings.extend(codes(&mut cart, &input["discountCodes"]));
        let shown = errors.is_empty().then(|| self.view(&name, &cart));
        if errors.is_empty() {
            self.carts.insert(name, cart);
        }
        json!({ "data": { "created": { "cart": shown, "userErrors": errors, "warnings": warnings } } })
    }

    /// Adds lines, or says why none of them is added.
    fn buy(
        &mut self,
        name: &str,
        cart: &mut Cart,
        lines: &Value,
        at: &[&str],
        warnings: &mut Vec<Value>,
    ) -> Vec<Value> {
        let lines: Vec<_> = lines.as_array().cloned().unwrap_or_default();
        let mut errors = Vec::new();
        for (place, line) in lines.iter().enumerate() {
            let item = line["merchandiseId"].as_str().expect("an item");
            let rule = self.rules.get(item).copied().unwrap_or_default();
            let place = place.to_string();
            let field = |member| [at, &["lines", place.as_str(), member]].concat();
            if rule.unknown {
                errors.push(user_error(
                    "INVALID",
                    &field("merchandiseId"),
                    &format!("The merchandise with id {item} does not exist."),
                ));
            }
            if rule.subscription {
                let content = "This variant can only be purchased with a selling plan.";
                errors.push(user_error("VARIANT_REQUIRES_SELLING_PLAN", &field("sellingPlanId"), content));
            }
            if rule.sixes && line["quantity"].as_u64().expect("a quantity") % 6 != 0 {
                errors.push(user_error(
                    "INVALID_INCREMENT",
                    &field("quantity"),
                    "The quantity must be a multiple of 6.",
                ));
            }
        }
        if !errors.is_empty() {
            return errors;
        }
        for line in lines {
            let (item, quantity) =
                (line["merchandiseId"].as_str().expect("an item"), line["quantity"].as_u64().expect("a quantity"));
            let there = cart.lines.iter().position(|own| own.item == item);
            let place = there.unwrap_or_else(|| {
                self.named += 1;
                let token = name.split(['/', '?']).nth(4).unwrap_or_default();
                let id = format!("gid://shopify/CartLine/{}?cart={token}", self.named);
                cart.lines.push(Line { id, item: item.to_owned(), quantity: 0 });
                cart.lines.len() - 1
            });
            let wanted = cart.lines[place].quantity + quantity;
            self.stock(&mut cart.lines[place], wanted, warnings);
        }
        Vec::new()
    }

    fn stock(&self, line: &mut Line, wanted: u64, warnings: &mut Vec<Value>) {
        let stock = self.rules.get(&line.item).and_then(|rule| rule.stock).unwrap_or(u64::MAX);
        line.quantity = wanted.min(stock);
        if line.quantity < wanted {
            let code = if line.quantity == 0 { "MERCHANDISE_OUT_OF_STOCK" } else { "MERCHANDISE_NOT_ENOUGH_STOCK" };
            warnings.push(json!({ "code": code, "target": line.id, "message": "There is too little of it." }));
        }
    }

    fn change(&mut self, name: &str, variables: &Value, most: usize) -> Value {
        let Some(mut cart) = self.carts.get(name).cloned() else {
            let gone = user_error("INVALID", &["cartId"], "The specified cart does not exist.");
            let parts = CHANGES.iter().filter(|part| !variables[**part].is_null());
            return json!({ "data": parts
                .map(|part| ((*part).to_owned(), json!({ "cart": null, "userErrors": [gone], "warnings": [] })))
                .collect::<serde_json::Map<_, _>>() });
        };
        if let Some(rejected) = rejected(variables.pointer("/address/0/address/deliveryAddress")) {
            return rejected;
        }
        let mut data = serde_json::Map::new();
        let mut failed = Vec::new();
        let parts: Vec<_> = CHANGES.iter().copied().filter(|part| !variables[*part].is_null()).collect();
        for (place, part) in parts.into_iter().enumerate() {
            if place >= most {
                data.insert(part.to_owned(), Value::Null);
                let code = json!({ "code": "INTERNAL_SERVER_ERROR" });
                failed.push(json!({ "message": "Internal error.", "path": [part], "extensions": code }));
                continue;
            }
            let (wanted, mut warnings) = (&variables[part], Vec::new());
            let errors = match part {
                "remove" => {
                    let gone = texts(wanted);
                    cart.lines.retain(|line| !gone.contains(&line.id));
                    Vec::new()
                }
                "update" => self.update(&mut cart, wanted, &mut warnings),
                "add" => self.buy(name, &mut cart, wanted, &[], &mut warnings),
                "attributes" => {
                    cart.attributes = wanted.clone();
                    Vec::new()
                }
                "codes" => {
                    warnings.extend(codes(&mut cart, wanted));
                    Vec::new()
                }
                "buyer" => buyer(&mut cart, wanted, &[]),
                "address" => {
                    cart.address = wanted.pointer("/0/address/deliveryAddress").cloned();
                    Vec::new()
                }
                _ => {
                    cart.option = wanted.pointer("/0/deliveryOptionHandle").and_then(Value::as_str).map(str::to_owned);
                    Vec::new()
                }
            };
            let shown = self.view(name, &cart);
            data.insert(part.to_owned(), json!({ "cart": shown, "userErrors": errors, "warnings": warnings }));
        }
        self.carts.insert(name.to_owned(), cart);
        let mut answer = json!({ "data": data });
        if !failed.is_empty() {
            answer["errors"] = json!(failed);
        }
        answer
    }

    fn update(&self, cart: &mut Cart, updates: &Value, warnings: &mut Vec<Value>) -> Vec<Value> {
        let mut errors = Vec::new();
        let updates: Vec<_> = updates.as_array().cloned().unwrap_or_default();
        let quantity = |update: &Value| update["quantity"].as_u64().expect("a quantity");
        for (place, update) in updates.iter().enumerate() {
            let line = cart.lines.iter().find(|line| line.id == update["id"]).expect("a line that is there");
            let rule = self.rules.get(&line.item).copied().unwrap_or_default();
            if rule.sixes && quantity(update) % 6 != 0 {
                let place = place.to_string();
                errors.push(user_error(
                    "INVALID_INCREMENT",
                    &["lines", &place, "quantity"],
                    "The quantity must be a multiple of 6.",
                ));
            }
        }
        if errors.is_empty() {
            for update in &updates {
                let line = cart.lines.iter_mut().find(|line| line.id == update["id"]).expect("a line that is there");
                self.stock(line, quantity(update), warnings);
            }
        }
        errors
    }

    fn forget(&mut self, name: &str) -> Value {
        let Some(cart) = self.carts.get_mut(name) else {
            let gone = user_error("INVALID", &["cartId"], "The specified cart does not exist.");
            return json!({ "data": { "emptied": { "userErrors": [gone] }, "forgotten": { "userErrors": [gone] } } });
        };
        *cart = Cart::default();
        json!({ "data": { "emptied": { "userErrors": [] }, "forgotten": { "userErrors": [] } } })
    }

    /// A cart as the API shows it.
    fn view(&self, name: &str, cart: &Cart) -> Value {
        let sum: u64 = cart.lines.iter().map(|line| 1_000 * line.quantity).sum();
        let good = cart.codes.iter().find(|code| code.eq_ignore_ascii_case("TEN"));
        let off = if good.is_some() { sum / 10 } else { 0 };
        let token = name.split(['/', '?']).nth(4).unwrap_or_default();
        let page = || format!("https://stub.example/cart/c/{token}?key=page");
        json!({
            "id": name, "checkoutUrl": self.page.clone().unwrap_or_else(page),
            "attributes": if cart.attributes.is_null() { json!([]) } else { cart.attributes.clone() },
            "buyerIdentity": cart.buyer,
            "discountCodes": cart.codes.iter().map(|code| json!({ "code": code, "applicable": good == Some(code) })).collect::<Vec<_>>(),
            "discountAllocations": good.map(|code| json!({ "targetType": "LINE_ITEM", "discountedAmount": dollars(off), "code": code })).into_iter().collect::<Vec<_>>(),
            "cost": { "subtotalAmount": dollars(sum), "totalAmount": dollars(sum - off) },
            "delivery": { "addresses": cart.address.iter().map(|address| json!({ "address": address })).collect::<Vec<_>>() },
            "lines": self.lines(cart, 0, LISTED), "deliveryGroups": { "nodes": self.groups(cart, false, LISTED) },
        })
    }

    /// So many lines of a cart, after as many; a cursor is a number of lines.
    fn lines(&self, cart: &Cart, after: usize, most: usize) -> Value {
        let lines = cart.lines.iter().skip(after).take(most).map(|line| {
            let cost = json!({
                "amountPerQuantity": dollars(1_000), "subtotalAmount": dollars(1_000 * line.quantity),
                "totalAmount": dollars(1_000 * line.quantity),
            });
            json!({
                "id": line.id, "quantity": line.quantity, "cost": cost, "discountAllocations": [],
                "merchandise": {
                    "id": line.item, "title": "Default Title", "requiresShipping": true, "image": null, "product": { "title": "Thing" },
                },
            })
        });
        let nodes: Vec<_> = lines.collect();
        let end = after + nodes.len();
        let page = json!({ "hasNextPage": end < cart.lines.len(), "endCursor": end.to_string() });
        json!({ "pageInfo": page, "nodes": nodes })
    }

    /// The group in which all of a cart is delivered, with so many of its lines.
    fn groups(&self, cart: &Cart, rated: bool, most: usize) -> Vec<Value> {
        if cart.address.is_none() || cart.lines.is_empty() {
            return Vec::new();
        }
        let option = |handle: &str, cents: u64| json!({ "handle": handle, "title": handle, "deliveryMethodType": "SHIPPING", "estimatedCost": dollars(cents) });
        let mut options = vec![option("standard", 590), option("express", 1_500)];
        options.extend(self.carrier.filter(|_| rated).map(|cents| option("carrier", cents)));
        let lines = cart.lines.iter().take(most).map(|line| json!({ "id": line.id }));
        vec![json!({
            "id": format!("gid://shopify/CartDeliveryGroup/1?key={CANARY}"),
            "cartLines": { "nodes": lines.collect::<Vec<_>>() }, "deliveryOptions": options,
            "selectedDeliveryOption": { "handle": cart.option.as_deref().unwrap_or("standard") },
        })]
    }
}

fn dollars(cents: u64) -> Value {
    json!({ "amount": format!("{}.{:02}", cents / 100, cents % 100), "currencyCode": "USD" })
}

fn buyer(cart: &mut Cart, said: &Value, at: &[&str]) -> Vec<Value> {
    if said["email"].as_str().is_some_and(|email| !email.contains('@')) {
        return vec![user_error("INVALID", &[at, &["buyerIdentity", "email"]].concat(), "Email is invalid")];
    }
    for (name, value) in said.as_object().into_iter().flatten() {
        if value.is_null() {
            cart.buyer.remove(name);
        } else {
            cart.buyer.insert(name.clone(), value.clone());
        }
    }
    Vec::new()
}

fn codes(cart: &mut Cart, wanted: &Value) -> Vec<Value> {
    cart.codes = texts(wanted);
    let bad = cart.codes.iter().filter(|code| !code.eq_ignore_ascii_case("TEN"));
    bad.map(|_| json!({ "code": "DISCOUNT_NOT_FOUND", "target": "gid://shopify/Cart/1", "message": "There is no such code." }))
        .collect()
}

/// Countries are words of the schema: a request with another one is none.
fn rejected(address: Option<&Value>) -> Option<Value> {
    let country = address?["countryCode"].as_str()?;
    let content = format!(
        "Variable $address of type [CartSelectableAddressInput!]! was provided invalid value for 0.address.deliveryAddress.countryCode (Expected \"{country}\" to be one of: AC, AD)"
    );
    let error = json!({ "message": content, "extensions": { "code": "INVALID_VARIABLE" } });
    (!["US", "DE"].contains(&country)).then(|| json!({ "errors": [error] }))
}

/// Description of the shop by itself.
fn shop() -> Value {
    let country = |code: &str, currency: &str| json!({ "isoCode": code, "currency": { "isoCode": currency } });
    json!({ "data": {
        "shop": { "name": "Stub" },
        "localization": {
            "availableCountries": [country("US", "USD")], "availableLanguages": [{ "isoCode": "EN" }],
            "country": country("US", "USD"), "language": { "isoCode": "EN" },
        },
    } })
}
