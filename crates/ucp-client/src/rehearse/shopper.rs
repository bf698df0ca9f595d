//! A shopper at a shop: calls with their cost, and finding, opening and choosing goods.

use serde_json::{Map, Value, json};
use ucp_core::Operation;

use super::{
    knowledge::{CatalogItem, Knowledge, elements},
    random::Random,
    session::{CallCost, Obstacle, Step},
};
use crate::{
    http::shortened,
    shop::{Answer, Call, CalledShop, Said, Transport},
};

/// Number of results that a shopper looks at.
const RESULTS: usize = 5;

/// Why a shopper gives up.
#[derive(Debug)]
pub(super) struct GivingUp {
    pub(super) reason: String,
    pub(super) seen: String,
}

pub(super) fn give_up<T>(reason: impl Into<String>, seen: impl Into<String>) -> Result<T, GivingUp> {
    Err(GivingUp { reason: reason.into(), seen: seen.into() })
}

/// Variant that a shopper has chosen, and its currency.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) variant: String,
    pub(super) currency: Option<String>,
}

/// A shopper under way.
pub(super) struct Shopper<'a> {
    pub(super) shop: &'a CalledShop,
    pub(super) transport: Transport,
    pub(super) knowledge: &'a Knowledge,
    pub(super) random: Random,
    /// Hints about the buyer that searches and purchases state.
    pub(super) context: Map<String, Value>,
    pub(super) step: Step,
    pub(super) reached: Step,
    pub(super) calls: Vec<CallCost>,
    pub(super) obstacles: Vec<(Obstacle, String)>,
}

impl Shopper<'_> {
    pub(super) fn enter(&mut self, step: Step) {
        self.step = step;
        self.reached = self.reached.max(step);
    }

    /// Calls an operation. A refusal is for the caller to act upon; what cannot be read is an obstacle.
    pub(super) async fn ask(&mut self, call: &Call<'_>) -> Result<Answer, GivingUp> {
        let operation = call.operation;
        let answer = match self.shop.call(self.transport, call).await {
            Ok(answer) => answer,
            Err(error) => return give_up("no answer", format!("{}: {error}", operation.row().name)),
        };
        self.calls.push(CallCost {
            operation,
            step: self.step,
            sent: answer.exchange.sent(),
            received: answer.exchange.body.len(),
            took: answer.exchange.took,
        });
        match &answer.said {
            Said::Unreadable => {
                self.obstacle(
                    operation,
                    "unreadable",
                    "the answer is neither a document nor a refusal",
                    &answer.exchange.shown(),
                );
                give_up("unreadable answer", answer.exchange.shown())
            }
            Said::Refused(refused) => {
                let code =
                    refused.code.clone().unwrap_or_else(|| format!("status {}", answer.exchange.status.as_u16()));
                if refused.path.is_none() && refused.accepted.is_none() && !refused.retryable {
                    let why = "it names neither a place nor what is accepted, and a retry does not help";
                    self.obstacle(operation, &code, why, &refused.content);
                }
                Ok(answer)
            }
            Said::Document(_) => Ok(answer),
        }
    }

    pub(super) fn obstacle(&mut self, operation: Operation, code: &str, why: &'static str, seen: &str) {
        let obstacle = Obstacle { operation: operation.row().name, code: code.to_owned(), why };
        if self.obstacles.iter().all(|(known, _)| *known != obstacle) {
            self.obstacles.push((obstacle, shortened(seen, 200)));
        }
    }

    pub(super) fn offers(&self, operation: Operation) -> bool {
        self.shop.offers(operation)
    }

    fn context(&self, payload: &mut Value) {
        if !self.context.is_empty() {
            payload["context"] = Value::Object(self.context.clone());
        }
    }

    /// Searches, and returns what was found.
    pub(super) async fn search(&mut self, query: Option<&str>, filters: Value) -> Result<Vec<Value>, GivingUp> {
        self.enter(Step::Find);
        if !self.offers(Operation::SearchCatalog) {
            return give_up("no search", "the profile offers none");
        }
        let mut payload = json!({ "pagination": { "limit": RESULTS } });
        if let Some(query) = query {
            payload["query"] = query.into();
        }
        if filters.is_object() {
            payload["filters"] = filters;
        }
        self.context(&mut payload);
        let answer = self.ask(&Call::new(Operation::SearchCatalog, payload)).await?;
        match answer.resource() {
            Some(found) => Ok(found.get("products").and_then(Value::as_array).cloned().unwrap_or_default()),
            None => give_up(format!("search refused: {}", codes(&answer)), answer.exchange.shown()),
        }
    }

    /// Looks an identifier up.
    pub(super) async fn look_up(&mut self, id: &str) -> Result<Vec<Value>, GivingUp> {
        self.enter(Step::Find);
        let mut payload = json!({ "ids": [id] });
        self.context(&mut payload);
        let answer = self.ask(&Call::new(Operation::LookupCatalog, payload)).await?;
        let found = answer.resource().and_then(|found| found.get("products")?.as_array().cloned());
        Ok(found.unwrap_or_default())
    }

    /// Opens the page of a product.
    pub(super) async fn open(&mut self, id: &str, selected: Value) -> Result<Value, GivingUp> {
        let mut payload = json!({ "id": id });
        if selected.is_array() {
            payload["selected"] = selected;
        }
        self.context(&mut payload);
        let answer = self.ask(&Call::new(Operation::GetProduct, payload)).await?;
        match answer.resource().and_then(|page| page.get("product")) {
            Some(product) => Ok(product.clone()),
            None => give_up(format!("page refused: {}", codes(&answer)), answer.exchange.shown()),
        }
    }

    /// Opens a product that was found, chooses a value of each option, and decides for a variant.
    pub(super) async fn choose(&mut self, found: &Value) -> Result<Choice, GivingUp> {
        let id = found["id"].as_str().unwrap_or_default();
        if !self.offers(Operation::GetProduct) {
            self.enter(Step::Choose);
            return decided(found);
        }
        self.enter(Step::Open);
        let page = self.open(id, Value::Null).await?;
        self.narrow(page).await
    }

    /// Chooses a value of each option on a page.
    pub(super) async fn narrow(&mut self, mut page: Value) -> Result<Choice, GivingUp> {
        self.enter(Step::Choose);
        let id = page["id"].as_str().unwrap_or_default().to_owned();
        let names: Vec<String> =
            elements(&page["options"]).filter_map(|option| option["name"].as_str().map(str::to_owned)).collect();
        let mut selected: Vec<Value> = Vec::new();
        for name in names {
            let option = elements(&page["options"]).find(|option| option["name"] == *name).cloned().unwrap_or_default();
            let open: Vec<&Value> = elements(&option["values"]).filter(|value| value["available"] != false).collect();
            let Some(value) = self.random.pick(&open) else {
                return give_up("no value of an option is available", format!("{id}: {option}"));
            };
            selected.push(json!({ "name": name, "label": value["label"] }));
            page = self.open(&id, json!(selected)).await?;
        }
        decided(&page)
    }

    /// Decides for one of the goods that are known without a catalog.
    pub(super) fn known_item(&mut self) -> Result<Choice, GivingUp> {
        self.enter(Step::Find);
        match self.random.pick(&self.knowledge.items) {
            Some(item) => Ok(Choice { variant: item.variant.clone(), currency: item.currency.clone() }),
            None => give_up("nothing to be found", "the shop offers no search, and no `--item` was named"),
        }
    }

    pub(super) fn item(&mut self) -> Option<CatalogItem> {
        self.random.pick(&self.knowledge.items).cloned()
    }
}

/// Decides for the first variant that can be bought.
fn decided(product: &Value) -> Result<Choice, GivingUp> {
    let available = |variant: &&Value| variant["availability"]["available"] != false;
    match elements(&product["variants"]).find(available) {
        Some(variant) => Ok(Choice {
            variant: variant["id"].as_str().unwrap_or_default().to_owned(),
            currency: variant["price"]["currency"].as_str().map(str::to_owned),
        }),
        None => give_up("no variant can be bought", format!("{} with {}", product["id"], product["selected"])),
    }
}

/// Returns the codes of an answer for people.
pub(super) fn codes(answer: &Answer) -> String {
    let mut codes = answer.codes();
    codes.dedup();
    if codes.is_empty() { format!("status {}", answer.exchange.status.as_u16()) } else { codes.join(", ") }
}
