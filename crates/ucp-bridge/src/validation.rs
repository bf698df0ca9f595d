//! Validation of what the shop answers, before it is forwarded.
//!
//! Callers show and pay what the gateway tells them, so that a faulty answer fails instead: with its first fault, which
//! is told to the caller and logged. In a list of products the faulty ones are left out and counted in the log.
//!
//! | members | what must hold |
//! | :-- | :-- |
//! | amounts | whole numbers of at most 2^53 − 1, below zero only where the shop's release has negative amounts |
//! | totals | the `total` is the sum of the other entries, and an entry that of its `lines` (rule TOT-03) |
//! | quantities | at least 1 |
//! | currencies | listed by ISO 4217 |
//! | `status` of a checkout | one of UCP |
//! | identifiers | of the resource that was asked for, without characters that nobody sees |
//! | `continue_url` | http or https, on an origin of the shop: what is bought and paid there is the shop's |
//! | `null` | nowhere: optional members are left out ([`relay::without_nulls`]), required ones are a fault |
//! | any | named once |
//!
//! Fields that are only displayed are reduced to displayable values ([`tidy_answer`], as for all backends): texts, and
//! URLs such as those of the shop's terms, which may be on any host over https. An expiry time that has passed is left
//! out.
//!
//! A checkout that the shop has **completed** is told, whatever else is wrong with it: the faulty members are left out.
//! One without an order is told as one whose order is on its way.
//!
//! Nothing else is validated: shops may omit members, and extensions are theirs.

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use ucp_core::{
    Code, Operation, Refusal,
    money::Currency,
    operation::{Class, Effect},
    ports::owners::Kind,
    text::{is_invisible, is_unfit},
};
use ucp_import::text::{address, tidy_answer};
use ucp_wire::{dialect, relay};
use url::{Origin, Url};

use super::{
    Bridge, batch,
    peer::Question,
    response::{COMPLETED, IN_PROGRESS, Told, Trouble},
};

/// Greatest amount, in minor units: 2^53 − 1, beyond which JSON numbers are not exact everywhere.
const MAX_AMOUNT: i64 = 9_007_199_254_740_991;

/// Maximum length of an identifier, in bytes.
const LONGEST_ID: usize = 2_000;

/// Maximum number of faulty members that are left out of one checkout.
const MOST_FAULTS: usize = 100;

/// Statuses of a checkout.
const STATUSES: [&str; 6] =
    ["incomplete", "requires_escalation", "ready_for_complete", IN_PROGRESS, COMPLETED, "canceled"];

/// Types of totals that a release with signed amounts states as negative amounts.
const DISCOUNTS: [&str; 2] = ["discount", "items_discount"];

/// Types of totals that are never negative.
const CHARGES: [&str; 4] = ["subtotal", "fulfillment", "tax", "fee"];

/// A fault of an answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`${path}` {must}")]
pub(super) struct Fault {
    /// Place in the answer, as JSONPath without the `$`.
    path: String,
    /// Requirement that the value violates; completes a sentence about the field.
    must: String,
}

type Validity = Result<(), Fault>;

impl Fault {
    fn at(name: &str, must: impl Into<String>) -> Self {
        Self { path: format!(".{name}"), must: must.into() }
    }

    /// Returns the place as JSONPath.
    pub(super) fn path(&self) -> String {
        format!("${}", self.path)
    }

    /// Returns the same fault, of a document that is a part of another one.
    fn under(self, place: &str) -> Self {
        Self { path: format!("{place}{}", self.path), ..self }
    }
}

impl Bridge {
    /// Calls the shop, and validates its answer. Fails with [`Trouble`] if the shop refuses, or its answer cannot be
    /// forwarded.
    pub(super) async fn ask(&self, question: &Question) -> Result<Told, Trouble> {
        let result = self.0.peer.ask(question).await;
        let rules = self.rules();
        match result {
            Ok(told) => rules.validated(question, told),
            Err(Trouble::Refusal(refusal)) => Err(Trouble::Refusal(rules.on_site(refusal))),
            failed => failed,
        }
    }

    /// Returns an order that the shop tells about as it can be handed on. A fault is logged. Fails with the first
    /// [`Fault`].
    pub(super) fn valid_order(
        &self,
        order: Map<String, Value>,
        twice: Option<String>,
    ) -> Result<Map<String, Value>, Fault> {
        let rules = self.rules();
        let valid = named_once(twice).and_then(|()| rules.resource(Kind::Order, None, &order));
        valid.inspect_err(|fault| {
            tracing::error!(path = fault.path(), must = fault.must, "invalid upstream event, not forwarded");
        })?;
        let mut order = rules.shown(Operation::GetOrder, order).0;
        relay::without_nulls(&mut order);
        Ok(order)
    }

    fn rules(&self) -> Rules {
        let known = self.0.peer.known();
        let shops = [&self.0.options.call.address, &known.endpoint].map(Url::origin);
        Rules {
            signed: dialect(known.release).signs_totals(),
            origins: shops.into_iter().chain(self.0.options.origins.iter().cloned()).collect(),
            now: (self.0.options.now)(),
        }
    }
}

/// Requirements for the responses of a shop.
struct Rules {
    /// `true` if totals have signs: discounts are negative amounts.
    signed: bool,
    /// Origins that buyers may be sent to.
    origins: Vec<Origin>,
    now: Timestamp,
}

impl Rules {
    /// Returns an answer that can be forwarded, without members that are `null` because they are absent. What the shop has
    /// signed stays as it is, and must need no change.
    fn validated(&self, question: &Question, told: Told) -> Result<Told, Trouble> {
        let operation = question.operation;
        if operation.row().class == Class::Browsing {
            return self.browsed(operation, told);
        }
        let failure = told.is_failure();
        let signed = question.mandates.is_some() && Kind::of(operation) == Some(Kind::Checkout) && !failure;
        let completed = told.body.get("status").is_some_and(|status| status == COMPLETED);
        if Kind::of(operation) == Some(Kind::Checkout) && !failure && completed {
            return self.completed(question, told, signed);
        }
        let Told { status, body, twice, .. } = told;
        let mut body = Map::from(body);
        let faulty = |fault: Fault| faulty(operation, &fault, false);
        named_once(twice).map_err(faulty)?;
        // An outcome without a resource may name none.
        let nameless = failure || body.get("messages").is_some_and(Value::is_array);
        let asked = question.id.as_deref().filter(|_| !nameless || body.contains_key("id"));
        if let Some(kind) = Kind::of(operation) {
            self.resource(kind, asked, &body).map_err(faulty)?;
        }
        if signed {
            self.unchanged(&body).map_err(faulty)?;
            return Ok(Told::new(status, body));
        }
        if let Err(fault) = self.expiry(&body) {
            tracing::warn!(operation = operation.row().name, %fault, "invalid upstream timestamp, left out");
            body.shift_remove("expires_at");
        }
        let mut body = self.shown(operation, body).0;
        relay::without_nulls(&mut body);
        Ok(Told::new(status, body))
    }

    /// Returns a checkout that the shop has completed, without what is faulty about it.
    fn completed(&self, question: &Question, told: Told, signed: bool) -> Result<Told, Trouble> {
        let operation = question.operation;
        let Told { status, body, twice, .. } = told;
        let mut body = Map::from(body);
        let faulty = |fault: Fault| faulty(operation, &fault, true);
        // Of these, another choice would be another answer: to somebody else, or that it is not completed.
        if twice.as_deref().is_some_and(|twice| ["id", "status", "order"].contains(&top(twice))) {
            named_once(twice.clone()).map_err(faulty)?;
        }
        match (&question.id, body.get("id")) {
            (Some(asked), None | Some(Value::Null)) => drop(body.insert("id".to_owned(), asked.as_str().into())),
            (asked, _) => same(Kind::Checkout, asked.as_deref(), &body).map_err(faulty)?,
        }
        let ordered = body.get("order").is_some_and(|order| order["id"].as_str().is_some_and(|id| !id.is_empty()));
        let sound = twice.is_none() && self.resource(Kind::Checkout, None, &body).is_ok();
        if signed && ordered && sound && self.unchanged(&body).is_ok() {
            return Ok(Told { completed: true, ..Told::new(status, body) });
        }
        if let Some(twice) = &twice {
            tracing::error!(path = format!("${twice}"), "completed upstream checkout has a member twice, left out");
            leave_out(&mut body, twice);
        }
        if !ordered {
            tracing::error!("completed upstream checkout names no order; reporting `complete_in_progress`");
            body.shift_remove("order");
            body.insert("status".to_owned(), IN_PROGRESS.into());
            let content =
                "The shop has completed the purchase and has not named the order yet. Do not complete it again.";
            let message = json!({ "type": "warning", "code": "order_not_named", "content": content });
            batch::elements(&mut body, "messages").push(message);
        }
        for _ in 0..MOST_FAULTS {
            let Err(fault) = self.resource(Kind::Checkout, None, &body) else { break };
            tracing::error!(
                operation = operation.row().name,
                path = fault.path(),
                must = fault.must,
                "invalid member of a completed upstream checkout, left out"
            );
            leave_out(&mut body, &fault.path);
        }
        let mut body = self.shown(operation, body).0;
        relay::without_nulls(&mut body);
        Ok(Told { completed: true, ..Told::new(status, body) })
    }

    /// Returns a document with its texts and addresses as they may be shown, and whether that changed it.
    fn shown(&self, operation: Operation, body: Map<String, Value>) -> (Map<String, Value>, bool) {
        let mut document = Value::Object(body);
        let tidied = tidy_answer(&mut document, &|url| address(url).is_some() || self.leads_to_shop(url).is_ok());
        if !tidied.left_out.is_empty() {
            let (operation, left_out) = (operation.row().name, tidied.left_out.join(", "));
            tracing::warn!(operation, left_out, "upstream URLs without https, left out");
        }
        match document {
            Value::Object(body) => (body, tidied.changed),
            _ => unreachable!("an object stays one"),
        }
    }

    /// Validates that a document which the shop has signed can be handed on as it is.
    fn unchanged(&self, body: &Map<String, Value>) -> Validity {
        if let Some(path) = relay::find_null(body) {
            return Err(Fault { path, must: "must not be null".to_owned() });
        }
        self.expiry(body)?;
        let mut document = Value::Object(body.clone());
        let tidied = tidy_answer(&mut document, &|url| address(url).is_some() || self.leads_to_shop(url).is_ok());
        let fault = |path, must: &str| Err(Fault { path, must: must.to_owned() });
        match (tidied.left_out.into_iter().next(), tidied.reduced.into_iter().next()) {
            (Some(path), _) => fault(path, "must be an absolute https address"),
            (None, Some(path)) => {
                fault(path, "must be plain text without characters that nobody sees, and not so long")
            }
            (None, None) => Ok(()),
        }
    }

    /// Validates the time until which something that is not over can be bought.
    fn expiry(&self, body: &Map<String, Value>) -> Validity {
        let over = body.get("status").is_some_and(|status| status == COMPLETED || status == "canceled");
        let stated = body.get("expires_at").filter(|stated| !stated.is_null() && !over);
        let ahead = |stated: &Value| stated.as_str()?.parse::<Timestamp>().ok().filter(|end| *end > self.now);
        match stated {
            Some(stated) if ahead(stated).is_none() => Err(Fault::at("expires_at", "must be a time that is to come")),
            _ => Ok(()),
        }
    }

    /// Validates products. A list keeps those without faults.
    fn browsed(&self, operation: Operation, mut told: Told) -> Result<Told, Trouble> {
        let faulty = |fault: Fault| faulty(operation, &fault, false);
        named_once(told.twice.take()).map_err(faulty)?;
        // The text of the answer stays as it is where nothing is left out.
        let mut body = Map::from(told.body.clone());
        self.link(&body, "continue_url").map_err(faulty)?;
        if let Some(product) = body.get("product") {
            self.product(product).map_err(|fault| faulty(fault.under(".product")))?;
        }
        let mut faults = Vec::new();
        let mut of = 0;
        if let Some(Value::Array(products)) = body.get_mut("products") {
            products.retain(|product| {
                let fault = self.product(product).err().map(|fault| fault.under(&format!(".products[{of}]")));
                of += 1;
                let sound = fault.is_none();
                faults.extend(fault);
                sound
            });
        }
        if let Some(first) = faults.first() {
            let (operation, left_out) = (operation.row().name, faults.len());
            tracing::warn!(operation, left_out, of, %first, "invalid upstream products, left out");
        }
        let (mut body, tidied) = self.shown(operation, body);
        if relay::without_nulls(&mut body) | !faults.is_empty() | tidied {
            told.body = body.into();
        }
        Ok(told)
    }

    /// Returns a refusal without a `continue_url` that leads away from the shop.
    fn on_site(&self, mut refusal: Refusal) -> Refusal {
        let leads = |url: &String| self.leads_to_shop(url).is_ok();
        if refusal.continue_url.as_ref().is_some_and(|url| !leads(url)) {
            tracing::warn!("upstream error links to another origin, left out: `upstream.origins` does not list it");
            refusal.continue_url = None;
        }
        refusal
    }

    /// Validates a cart, checkout or order. `asked` is its identifier, if the call states one.
    fn resource(&self, kind: Kind, asked: Option<&str>, body: &Map<String, Value>) -> Validity {
        not_null(body, &["id", "status", "currency", "line_items", "totals", "links", "checkout_id"])?;
        same(kind, asked, body)?;
        identifier(body)?;
        if let Some(status) = body.get("status").filter(|_| kind == Kind::Checkout)
            && !status.as_str().is_some_and(|status| STATUSES.contains(&status))
        {
            return Err(Fault::at("status", format!("must be one of {}", STATUSES.join(", "))));
        }
        currency(body)?;
        each(body, "line_items", |line| {
            // In an order, quantities are objects.
            if kind != Kind::Order && line.contains_key("quantity") {
                between(line, "quantity", 1, MAX_AMOUNT)?;
            }
            self.line(line)
        })?;
        self.totals(body)?;
        self.sum(body)?;
        within(body, "fulfillment", |fulfillment| self.fulfillment(fulfillment))?;
        within(body, "discounts", |discounts| {
            each(discounts, "applied", |discount| {
                amount(discount, "amount", 0)?;
                each(discount, "allocations", |allocation| amount(allocation, "amount", 0))
            })
        })?;
        each(body, "adjustments", |adjustment| {
            if adjustment.get("amount").is_some_and(|amount| !amount.is_null()) {
                amount(adjustment, "amount", -MAX_AMOUNT)?;
            }
            // Money that is returned is negative, of whatever type.
            each(adjustment, "totals", |entry| amount(entry, "amount", -MAX_AMOUNT))
        })?;
        self.link(body, "continue_url")?;
        each(body, "links", |link| not_null(link, &["type"]))?;
        within(body, "order", |order| {
            not_null(order, &["id"])?;
            identifier(order)
        })
    }

    fn line(&self, line: &Map<String, Value>) -> Validity {
        not_null(line, &["id", "item", "quantity", "totals"])?;
        within(line, "item", |item| {
            not_null(item, &["id", "title"])?;
            amount(item, "price", 0)?;
            within(item, "unit_price", |price| amount(price, "amount", 0))
        })?;
        self.totals(line)
    }

    fn fulfillment(&self, fulfillment: &Map<String, Value>) -> Validity {
        each(fulfillment, "methods", |method| {
            each(method, "groups", |group| each(group, "options", |option| self.totals(option)))
        })
    }

    /// Validates each entry of `totals` by itself.
    fn totals(&self, members: &Map<String, Value>) -> Validity {
        each(members, "totals", |entry| {
            not_null(entry, &["type"])?;
            let kind = entry.get("type").and_then(Value::as_str).unwrap_or_default();
            if self.signed && DISCOUNTS.contains(&kind) {
                between(entry, "amount", -MAX_AMOUNT, 0)?;
            } else if !self.signed || CHARGES.contains(&kind) {
                amount(entry, "amount", 0)?;
            } else {
                amount(entry, "amount", -MAX_AMOUNT)?;
            }
            if !self.signed || !entry.get("lines").is_some_and(Value::is_array) {
                return Ok(());
            }
            each(entry, "lines", |line| amount(line, "amount", -MAX_AMOUNT))?;
            let lines = entry.get("lines").and_then(Value::as_array).into_iter().flatten();
            let sum: i128 = lines.filter_map(|line| whole(&line["amount"])).map(i128::from).sum();
            let stated = whole(&entry["amount"]).unwrap_or_default();
            if sum == i128::from(stated) {
                return Ok(());
            }
            Err(Fault::at("lines", format!("must add up to the amount of the entry, {stated}, and come to {sum}")))
        })
    }

    /// Validates that the `total` is the sum of the other entries, if there are any. The first releases do not define if
    /// taxes that prices include are stated, and if discounts on lines are a part of the subtotal.
    fn sum(&self, body: &Map<String, Value>) -> Validity {
        let entries = || {
            let entries = body.get("totals").and_then(Value::as_array).into_iter().flatten();
            entries.filter_map(|entry| Some((entry["type"].as_str()?, i128::from(whole(&entry["amount"])?))))
        };
        let of = |kind: &str| entries().filter(|entry| entry.0 == kind).map(|entry| entry.1).sum::<i128>();
        let total = match &entries().filter(|entry| entry.0 == "total").collect::<Vec<_>>()[..] {
            [] => return Ok(()),
            [_] if entries().count() == 1 => return Ok(()),
            [(_, total)] => *total,
            _ => return Err(Fault::at("totals", "must have one entry of the type `total`")),
        };
        let sign = |kind: &str| if self.signed || !DISCOUNTS.contains(&kind) { 1 } else { -1 };
        let sum: i128 = entries().filter(|entry| entry.0 != "total").map(|(kind, amount)| sign(kind) * amount).sum();
        let open = |kind: &str| if self.signed { 0 } else { of(kind) };
        let (taxes, lines) = (open("tax"), open("items_discount"));
        if [sum, sum - taxes].into_iter().any(|sum| total == sum || total == sum + lines) {
            return Ok(());
        }
        Err(Fault::at("totals", format!("must add up: the total is {total}, and the other entries come to {sum}")))
    }

    fn product(&self, product: &Value) -> Validity {
        let product =
            product.as_object().ok_or_else(|| Fault { path: String::new(), must: "must be an object".into() })?;
        not_null(product, &["id", "title", "price_range", "variants"])?;
        identifier(product)?;
        for range in ["price_range", "list_price_range"] {
            within(product, range, |range| ["min", "max"].into_iter().try_for_each(|end| within(range, end, price)))?;
        }
        each(product, "variants", |variant| {
            not_null(variant, &["id", "title"])?;
            identifier(variant)?;
            if !variant.get("price").is_some_and(Value::is_object) {
                return Err(Fault::at("price", "must be an amount with a currency"));
            }
            ["price", "list_price", "unit_price"].into_iter().try_for_each(|name| within(variant, name, price))
        })
    }

    /// Validates an address at which buyers go on.
    fn link(&self, members: &Map<String, Value>, name: &str) -> Validity {
        match members.get(name) {
            None | Some(Value::Null) => Ok(()),
            Some(stated) => {
                let stated = stated.as_str().unwrap_or_default();
                self.leads_to_shop(stated).map_err(|must| Fault::at(name, must))
            }
        }
    }

    fn leads_to_shop(&self, stated: &str) -> Result<(), String> {
        let url = Url::parse(stated).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let origin = url.ok_or("must be an absolute http or https address")?.origin();
        if self.origins.contains(&origin) {
            return Ok(());
        }
        Err(format!("must be on the site of the shop, to which {} does not belong", origin.ascii_serialization()))
    }
}

/// Returns the trouble with a faulty answer, and logs it. `completed` is `true` if the answer says that the checkout is
/// completed.
fn faulty(operation: Operation, fault: &Fault, completed: bool) -> Trouble {
    let (operation_name, path, must) = (operation.row().name, fault.path(), &fault.must);
    if path.ends_with(".continue_url") {
        tracing::error!(
            operation = operation_name,
            path,
            must,
            "invalid upstream response, not forwarded; buyers are sent to another origin only if `upstream.origins` lists it"
        );
    } else {
        tracing::error!(operation = operation_name, path, must, "invalid upstream response, not forwarded");
    }
    let content = if operation.row().effect == Effect::Safe {
        format!(
            "The shop's response is invalid: {fault}. Repeating the call does not help until the shop has corrected that."
        )
    } else {
        format!(
            "The shop's response is invalid: {fault}. The change may have been made all the same; repeat the call under the \
             same idempotency key only, once the shop has corrected that."
        )
    };
    Trouble::Unusable { refusal: Refusal::new(Code::UpstreamInvalid, content), completed }
}

/// Validates that no member is named twice; `twice` is the place of one that is.
fn named_once(twice: Option<String>) -> Validity {
    twice.map_or(Ok(()), |path| Err(Fault { path, must: "must not be named twice".to_owned() }))
}

/// Validates that a resource is the one that was asked for.
fn same(kind: Kind, asked: Option<&str>, body: &Map<String, Value>) -> Validity {
    match asked {
        Some(asked) if body.get("id").and_then(Value::as_str) != Some(asked) => {
            Err(Fault::at("id", format!("must be the {} that was asked for", kind.as_str())))
        }
        _ => Ok(()),
    }
}

/// Validates an identifier, if there is one: agents repeat it as they see it.
fn identifier(members: &Map<String, Value>) -> Validity {
    let fits = |id: &str| {
        (1..=LONGEST_ID).contains(&id.len()) && !id.chars().any(|letter| is_invisible(letter) || is_unfit(letter))
    };
    match members.get("id") {
        Some(id) if !id.as_str().is_some_and(fits) => {
            Err(Fault::at("id", format!("must be a text of 1 to {LONGEST_ID} visible characters")))
        }
        _ => Ok(()),
    }
}

/// Returns the name of the first member on a path.
fn top(path: &str) -> &str {
    path.trim_start_matches('.').split(['.', '[']).next().unwrap_or_default()
}

/// Leaves a faulty member out of a checkout: of an order its page, of the lines and links the one at fault, of the
/// totals all, and of everything else the member at the top.
fn leave_out(body: &mut Map<String, Value>, path: &str) {
    let top = top(path);
    let place = path.split_once('[').and_then(|(_, rest)| rest.split_once(']')?.0.parse::<usize>().ok());
    match (body.get_mut(top), place) {
        (Some(Value::Object(order)), _) if top == "order" => {
            order.retain(|name, _| name == "id");
        }
        (Some(Value::Array(elements)), Some(place))
            if ["line_items", "links"].contains(&top) && place < elements.len() =>
        {
            elements.remove(place);
        }
        (Some(Value::Array(elements)), _) if ["line_items", "links", "messages", "totals"].contains(&top) => {
            elements.clear();
        }
        _ if top.is_empty() => {
            // The name needs quotes: it is none that UCP has.
            body.retain(|name, _| !path.starts_with(&format!("['{name}']")));
        }
        _ => drop(body.shift_remove(top)),
    }
}

/// Validates that none of these members is `null`.
fn not_null(members: &Map<String, Value>, names: &[&str]) -> Validity {
    let null = names.iter().find(|name| members.get(**name).is_some_and(Value::is_null));
    null.map_or(Ok(()), |name| Err(Fault::at(name, "must not be null")))
}

/// Validates the objects in an array, if there is one.
fn each(members: &Map<String, Value>, name: &str, validate: impl Fn(&Map<String, Value>) -> Validity) -> Validity {
    let elements = match members.get(name) {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(elements)) => elements,
        Some(_) => return Err(Fault::at(name, "must be an array")),
    };
    elements.iter().enumerate().try_for_each(|(place, element)| {
        let validity = match element {
            Value::Object(element) => validate(element),
            _ => Err(Fault { path: String::new(), must: "must be an object".to_owned() }),
        };
        validity.map_err(|fault| fault.under(&format!(".{name}[{place}]")))
    })
}

/// Validates an object, if there is one.
fn within(members: &Map<String, Value>, name: &str, validate: impl Fn(&Map<String, Value>) -> Validity) -> Validity {
    match members.get(name) {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Object(object)) => validate(object).map_err(|fault| fault.under(&format!(".{name}"))),
        Some(_) => Err(Fault::at(name, "must be an object")),
    }
}

/// Validates a price with its currency.
fn price(price: &Map<String, Value>) -> Validity {
    amount(price, "amount", 0)?;
    not_null(price, &["currency"])?;
    currency(price)
}

fn currency(members: &Map<String, Value>) -> Validity {
    let Some(stated) = members.get("currency") else { return Ok(()) };
    if stated.as_str().is_some_and(|code| code.parse::<Currency>().is_ok()) {
        return Ok(());
    }
    Err(Fault::at("currency", "must be a currency of ISO 4217"))
}

fn amount(members: &Map<String, Value>, name: &str, least: i64) -> Validity {
    between(members, name, least, MAX_AMOUNT)
}

fn between(members: &Map<String, Value>, name: &str, least: i64, most: i64) -> Validity {
    if members.get(name).and_then(whole).is_some_and(|amount| (least..=most).contains(&amount)) {
        return Ok(());
    }
    Err(Fault::at(name, format!("must be a whole number from {least} to {most}")))
}

/// Reads a whole number, which may be written as `1.0`.
fn whole(value: &Value) -> Option<i64> {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "at most 2^53 - 1, without fraction"
    )]
    let exact = |number: f64| (number.fract() == 0.0 && number.abs() <= MAX_AMOUNT as f64).then_some(number as i64);
    value.as_i64().or_else(|| value.as_f64().and_then(exact))
}
