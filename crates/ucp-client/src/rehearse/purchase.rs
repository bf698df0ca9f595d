//! From goods to an order: cart, checkout, delivery and payment, each step as the answer before asks for it.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use ucp_core::{Operation, Release};

use super::{
    Options, Payment,
    knowledge::elements,
    session::{End, Step},
    shopper::{Choice, GivingUp, Shopper, codes, give_up},
};
use crate::shop::{Answer, Call, Said};

/// Number of times that a checkout is changed until it is ready.
const ROUNDS: usize = 7;

/// Number of times that a payment under way is asked for.
const POLLS: usize = 3;

/// Time after its expiry at which a checkout is expected to be over, by a clock that is a little slow.
const EXPIRED: Duration = Duration::from_secs(1);

/// Course of a purchase: shipping or pickup, and detours on the way.
#[derive(Clone, Debug, Default)]
pub(super) struct Wishes {
    pub(super) pick_up: bool,
    /// First pays with a card that is declined.
    pub(super) declined: bool,
    /// First leaves a checkout, and comes back to it when it is over.
    pub(super) expired: bool,
    /// Changes its mind in the cart.
    pub(super) undecided: bool,
}

/// A checkout under way: as it was answered, and what is said in the next update.
struct Checkout {
    id: String,
    now: Map<String, Value>,
    raw: Option<Map<String, Value>>,
    named: bool,
    pick_up: bool,
    abroad: bool,
}

impl Checkout {
    fn text(&self, name: &str) -> &str {
        self.now.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn errors(&self) -> Vec<Value> {
        let messages = self.now.get("messages").cloned().unwrap_or_default();
        elements(&messages).filter(|message| message["type"] == "error").cloned().collect()
    }

    fn take(&mut self, answer: &Answer) {
        if let Some(now) = answer.resource() {
            self.now = now.clone();
            self.raw = answer.raw.clone();
        }
    }

    /// Returns the lines as they are, with their identifiers.
    fn lines(&self) -> Value {
        let lines = self.now.get("line_items").cloned().unwrap_or_default();
        let line = |line: &Value| json!({ "id": line["id"], "item": { "id": line["item"]["id"] }, "quantity": line["quantity"] });
        elements(&lines).map(line).collect()
    }

    /// Returns everything that the checkout is to hold.
    fn draft(&self) -> Value {
        let mut draft = json!({ "line_items": self.lines() });
        if self.named {
            draft["buyer"] = json!({
                "email": "rehearsal@example.com", "first_name": "Robin", "last_name": "Rehearsal", "phone_number": "+15555550100",
            });
        }
        if let Some(methods) = self.methods() {
            draft["fulfillment"] = json!({ "methods": methods });
        }
        draft
    }

    /// Returns how the goods get there: the methods that the checkout has, with what is still open chosen, or a new one.
    fn methods(&self) -> Option<Value> {
        let wanted = if self.pick_up { "pickup" } else { "shipping" };
        let present = self.now.get("fulfillment").map(|fulfillment| fulfillment["methods"].clone()).unwrap_or_default();
        let present: Vec<&Value> = elements(&present).filter(|method| method["type"] == wanted).collect();
        if present.is_empty() {
            let lines: Vec<Value> = elements(&self.lines()).map(|line| line["id"].clone()).collect();
            let mut method = json!({ "id": "method_1", "type": wanted, "line_item_ids": lines });
            if !self.pick_up {
                method["destinations"] = json!([self.address()]);
                method["selected_destination_id"] = "dest_1".into();
            }
            return self.named.then(|| json!([method]));
        }
        let chosen = |method: &&Value| {
            let mut method = (*method).clone();
            if !self.pick_up && (self.abroad || elements(&method["destinations"]).next().is_none()) {
                method["destinations"] = json!([self.address()]);
                method["selected_destination_id"] = "dest_1".into();
                method.as_object_mut()?.shift_remove("groups");
            }
            if !method["selected_destination_id"].is_string() {
                method["selected_destination_id"] = method["destinations"][0]["id"].clone();
            }
            let groups = elements(&method["groups"]).map(|group| {
                let selected = if group["selected_option_id"].is_string() {
                    &group["selected_option_id"]
                } else {
                    &group["options"][0]["id"]
                };
                json!({ "id": group["id"], "selected_option_id": selected })
            });
            let groups: Vec<Value> = groups.collect();
            let members = method.as_object_mut()?;
            members.retain(|name, value| name != "groups" && !value.is_null());
            if !groups.is_empty() {
                members.insert("groups".to_owned(), groups.into());
            }
            Some(method)
        };
        Some(present.iter().filter_map(chosen).collect())
    }

    fn address(&self) -> Value {
        if self.abroad {
            return json!({
                "type": "shipping_address", "id": "dest_1", "street_address": "Calle Mayor 1", "address_locality": "Madrid",
                "postal_code": "28013", "address_country": "ES", "first_name": "Robin", "last_name": "Rehearsal",
            });
        }
        json!({
            "type": "shipping_address", "id": "dest_1", "street_address": "1 Main St", "address_locality": "Los Angeles",
            "address_region": "CA", "postal_code": "90001", "address_country": "US", "first_name": "Robin", "last_name": "Rehearsal",
        })
    }
}

impl Shopper<'_> {
    /// Buys what was chosen.
    pub(super) async fn buy(&mut self, choice: &Choice, wishes: &Wishes, options: &Options) -> Result<End, GivingUp> {
        if !self.offers(Operation::CreateCheckout) {
            self.enter(Step::Checkout);
            return give_up("no checkout", "the profile offers none");
        }
        let cart =
            if self.offers(Operation::CreateCart) && wishes.undecided { Some(self.cart(choice).await?) } else { None };
        let mut checkout = self.begin(choice, cart.as_deref()).await?;
        if wishes.expired {
            self.let_expire(&checkout, options).await?;
            checkout = self.begin(choice, None).await?;
        }
        if let (Some(shown), Some(now)) = (&choice.currency, checkout.now.get("currency").and_then(Value::as_str))
            && shown != now
        {
            let seen = format!("{shown} in the catalog, {now} in the checkout");
            self.obstacle(
                Operation::CreateCheckout,
                "currency",
                "the currency changes between catalog and checkout",
                &seen,
            );
            return give_up("the currency changed", seen);
        }
        checkout.pick_up = wishes.pick_up;
        if let Some(end) = self.make_ready(&mut checkout).await? {
            return Ok(end);
        }
        self.pay(&mut checkout, wishes, &options.payment).await
    }

    fn lines(&self, choice: &Choice, quantity: u64) -> Value {
        let mut payload = json!({ "line_items": [{ "item": { "id": choice.variant }, "quantity": quantity }] });
        if !self.context.is_empty() {
            payload["context"] = Value::Object(self.context.clone());
        }
        payload
    }

    /// Fills a cart, and changes it twice.
    async fn cart(&mut self, choice: &Choice) -> Result<String, GivingUp> {
        self.enter(Step::Cart);
        let answer = self.ask(&Call::new(Operation::CreateCart, self.lines(choice, 1))).await?;
        let Some(cart) = answer.resource() else {
            return give_up(format!("cart refused: {}", codes(&answer)), answer.exchange.shown());
        };
        let id = cart.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        for quantity in [2, 1] {
            let update = Call { id: Some(&id), ..Call::new(Operation::UpdateCart, self.lines(choice, quantity)) };
            let answer = self.ask(&update).await?;
            let Some(cart) = answer.resource() else {
                return give_up(format!("change of the cart refused: {}", codes(&answer)), answer.exchange.shown());
            };
            let now = &cart["line_items"][0]["quantity"];
            // Of something rare there is only one.
            if *now != quantity && answer.messages().next().is_none() {
                self.obstacle(
                    Operation::UpdateCart,
                    "quantity",
                    "the quantity is another, and no message says why",
                    &now.to_string(),
                );
            }
        }
        Ok(id)
    }

    async fn begin(&mut self, choice: &Choice, cart: Option<&str>) -> Result<Checkout, GivingUp> {
        self.enter(Step::Checkout);
        let payload = match cart {
            Some(id) => json!({ "cart_id": id, "line_items": [] }),
            None => self.lines(choice, 1),
        };
        let answer = self.ask(&Call::new(Operation::CreateCheckout, payload)).await?;
        let Some(now) = answer.resource() else {
            return give_up(format!("checkout refused: {}", codes(&answer)), answer.exchange.shown());
        };
        let id = now.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let (now, raw) = (now.clone(), answer.raw.clone());
        Ok(Checkout { id, now, raw, named: false, pick_up: false, abroad: false })
    }

    /// Leaves a checkout until it expires, or cancels it, and tries to go on with it then; the refusal has to say that it
    /// is over.
    async fn let_expire(&mut self, checkout: &Checkout, options: &Options) -> Result<(), GivingUp> {
        let expires_at = checkout.text("expires_at").parse::<Timestamp>().ok();
        let left = expires_at.map(|then| then.duration_since((options.now)()));
        match left.map(|left| Duration::try_from(left).unwrap_or_default()) {
            Some(left) if left < options.patience => tokio::time::sleep(left + EXPIRED).await,
            _ if self.offers(Operation::CancelCheckout) => {
                let cancel = Call { id: Some(&checkout.id), ..Call::new(Operation::CancelCheckout, Value::Null) };
                self.ask(&cancel).await?;
            }
            _ => return Ok(()),
        }
        let update = Call {
            id: Some(&checkout.id),
            before: checkout.raw.as_ref(),
            ..Call::new(Operation::UpdateCheckout, checkout.draft())
        };
        let answer = self.ask(&update).await?;
        let open = answer
            .resource()
            .is_some_and(|now| now.get("status").is_some_and(|status| status != "canceled" && status != "expired"));
        if open {
            let why = "a checkout that is over can be changed";
            self.obstacle(Operation::UpdateCheckout, "canceled", why, &answer.exchange.shown());
        } else if answer.codes().is_empty() && answer.resource().is_none() {
            let why = "no code says that the checkout is over";
            self.obstacle(Operation::UpdateCheckout, "no code", why, &answer.exchange.shown());
        }
        Ok(())
    }

    /// Says what the checkout asks for, until it can be paid. Returns an end if it comes before.
    async fn make_ready(&mut self, checkout: &mut Checkout) -> Result<Option<End>, GivingUp> {
        let mut before = Value::Null;
        for _ in 0..ROUNDS {
            match checkout.text("status") {
                "ready_for_complete" => return Ok(None),
                "completed" => return Ok(Some(End::Ordered)),
                "requires_escalation" if !checkout.text("continue_url").is_empty() => return Ok(Some(End::HandedOver)),
                "canceled" => return give_up("the checkout was canceled", checkout.id.clone()),
                _ => {}
            }
            self.enter(Step::Deliver);
            self.react(checkout)?;
            let draft = checkout.draft();
            if draft == before {
                break;
            }
            before = draft.clone();
            self.update(checkout, draft).await?;
        }
        if checkout.text("status") == "ready_for_complete" {
            return Ok(None);
        }
        let errors = checkout.errors();
        let mut open: Vec<String> = Vec::new();
        for message in &errors {
            let (code, path) = (message["code"].as_str().unwrap_or("no code"), message["path"].as_str());
            let what = path.map_or_else(|| code.to_owned(), |path| format!("{code} at {path}"));
            let why = if path.is_some() { "what it asks for was said, and is not enough" } else { "it names no place" };
            self.obstacle(Operation::UpdateCheckout, &what, why, message["content"].as_str().unwrap_or_default());
            open.push(code.to_owned());
        }
        open.dedup();
        let reason = if open.is_empty() { "not ready, and no message says why".to_owned() } else { open.join(", ") };
        give_up(format!("checkout not ready: {reason}"), Value::Array(errors).to_string())
    }

    /// Reads the messages, and decides what to say next.
    fn react(&mut self, checkout: &mut Checkout) -> Result<(), GivingUp> {
        let errors = checkout.errors();
        let placed = errors.iter().any(|message| message["path"].is_string());
        for message in &errors {
            let (path, code) =
                (message["path"].as_str().unwrap_or_default(), message["code"].as_str().unwrap_or_default());
            if ["out_of_stock", "item_unavailable", "insufficient_stock"].contains(&code) {
                return give_up(format!("sold out in the checkout: {code}"), message.to_string());
            }
            if path.contains("fulfillment") && checkout.named {
                let refused =
                    ["destination", "address", "undeliverable", "unavailable"].iter().any(|word| code.contains(word));
                if checkout.pick_up && refused {
                    checkout.pick_up = false;
                } else if refused && !checkout.abroad {
                    checkout.abroad = true;
                }
            }
        }
        let asked = errors.iter().any(|message| {
            let path = message["path"].as_str().unwrap_or_default();
            path.contains("buyer") || path.contains("fulfillment")
        });
        // Who says nothing about places is told everything.
        if asked || !placed {
            checkout.named = true;
        }
        let kinds = checkout.now.get("fulfillment").map(|fulfillment| fulfillment["available_methods"].clone());
        let kinds = kinds.unwrap_or_default();
        let offered: Vec<&str> = elements(&kinds).filter_map(|kind| kind["type"].as_str()).collect();
        if !offered.is_empty() {
            let wanted = if checkout.pick_up { "pickup" } else { "shipping" };
            if !offered.contains(&wanted) {
                checkout.pick_up = offered.contains(&"pickup");
            }
        }
        Ok(())
    }

    /// Pays, where there is something to pay with.
    async fn pay(&mut self, checkout: &mut Checkout, wishes: &Wishes, payment: &Payment) -> Result<End, GivingUp> {
        self.enter(Step::Pay);
        let handlers = checkout.now.get("ucp").map(|ucp| ucp["payment_handlers"].clone()).unwrap_or_default();
        let listed = handlers.as_object().into_iter().flatten().flat_map(|(_, entries)| entries.as_array()).flatten();
        let listed: Vec<(String, Value)> = listed
            .filter_map(|entry| Some((entry["id"].as_str()?.to_owned(), entry["config"].clone())))
            .chain(
                self.shop
                    .profile
                    .handlers
                    .iter()
                    .map(|handler| (handler.id.clone(), Value::Object(handler.config.clone()))),
            )
            .collect();
        let Some((handler, good, bad)) = means(&listed, payment) else { return Ok(End::Ready) };
        let mut tokens = vec![good];
        if wishes.declined {
            tokens.splice(0..0, bad);
        }
        let last = tokens.len() - 1;
        let mut delivered = false;
        let mut tokens = tokens.into_iter().enumerate().peekable();
        while let Some((index, token)) = tokens.peek().cloned() {
            let call = Call {
                id: Some(&checkout.id),
                before: checkout.raw.as_ref(),
                ..Call::new(Operation::CompleteCheckout, self.paying(&handler, &token))
            };
            let answer = self.ask(&call).await?;
            checkout.take(&answer);
            match checkout.text("status") {
                "completed" if answer.resource().is_some() => return Ok(End::Ordered),
                "complete_in_progress" => return self.wait(checkout).await,
                "requires_escalation" => return Ok(End::HandedOver),
                // A shop that finds out only now that the goods have to get somewhere.
                _ if wants_delivery(&answer) && (!delivered || checkout.pick_up) => {
                    // Who cannot pick the goods up has them sent.
                    checkout.pick_up &= !delivered;
                    delivered = true;
                    let why = "the checkout was ready, and could not be completed";
                    self.obstacle(Operation::CompleteCheckout, &codes(&answer), why, &answer.exchange.shown());
                    self.deliver(checkout).await?;
                    continue;
                }
                _ if index < last => {}
                _ => return give_up(format!("payment refused: {}", codes(&answer)), answer.exchange.shown()),
            }
            tokens.next();
            if !answer.codes().iter().any(|code| code.contains("payment") || code.contains("declined")) {
                let why = "no code says that the payment was declined";
                self.obstacle(Operation::CompleteCheckout, &codes(&answer), why, &answer.exchange.shown());
            }
        }
        give_up("payment refused", checkout.id.clone())
    }

    /// Says who the buyer is and where the goods go, and chooses how.
    async fn deliver(&mut self, checkout: &mut Checkout) -> Result<(), GivingUp> {
        checkout.named = true;
        for _ in 0..2 {
            let draft = checkout.draft();
            self.update(checkout, draft).await?;
        }
        Ok(())
    }

    /// Replaces what the checkout holds.
    async fn update(&mut self, checkout: &mut Checkout, draft: Value) -> Result<(), GivingUp> {
        let update = Call {
            id: Some(&checkout.id),
            before: checkout.raw.as_ref(),
            ..Call::new(Operation::UpdateCheckout, draft)
        };
        let answer = self.ask(&update).await?;
        if answer.resource().is_none() {
            return give_up(format!("details refused: {}", codes(&answer)), answer.exchange.shown());
        }
        checkout.take(&answer);
        Ok(())
    }

    fn paying(&self, handler: &str, token: &str) -> Value {
        let credential = json!({ "type": "token", "token": token });
        let mut instrument = json!({ "id": "card_1", "handler_id": handler, "type": "card", "credential": credential });
        instrument["selected"] = true.into();
        // What the first release demands of a card stands here in the newest.
        if self.shop.release < Release::V2026_08_25 {
            instrument["display"] = json!({ "brand": "visa", "last_digits": "1111" });
        }
        json!({ "payment": { "instruments": [instrument] } })
    }

    async fn wait(&mut self, checkout: &mut Checkout) -> Result<End, GivingUp> {
        for _ in 0..POLLS {
            let call = Call { id: Some(&checkout.id), ..Call::new(Operation::GetCheckout, Value::Null) };
            let answer = self.ask(&call).await?;
            checkout.take(&answer);
            if checkout.text("status") == "completed" {
                return Ok(End::Ordered);
            }
        }
        give_up("the payment does not end", checkout.text("status").to_owned())
    }
}

/// Returns `true` if a refusal of a payment speaks of the delivery.
fn wants_delivery(answer: &Answer) -> bool {
    let Said::Refused(refused) = &answer.said else { return false };
    let text = refused.content.to_lowercase();
    ["fulfillment", "delivery", "shipping", "address"].iter().any(|word| text.contains(word))
}

/// Returns a handler with a token that pays, and one that is declined: as the rehearsal was told, or as a sandbox lists
/// them.
fn means(handlers: &[(String, Value)], payment: &Payment) -> Option<(String, String, Option<String>)> {
    if let Payment::With { handler, token } = payment {
        return Some((handler.clone(), token.clone(), None));
    }
    handlers.iter().find_map(|(id, config)| {
        let tokens = elements(&config["supported_tokens"]).filter_map(Value::as_str);
        let tokens: Vec<&str> = tokens.filter(|_| config["environment"] == "sandbox").collect();
        let like = |words: &[&str]| tokens.iter().find(|token| words.iter().any(|word| token.contains(word)));
        let declined = like(&["fail", "decline"]).map(|token| (*token).to_owned());
        Some((id.clone(), (*like(&["success"])?).to_owned(), declined))
    })
}
