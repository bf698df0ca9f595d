//! A sales service in front of doubles, and what callers say to it.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, json};
use ucp_core::{
    Outcome, Refusal,
    call::SaleRequest,
    negotiation::{Active, Declaration},
    operation::{BUYER_CONSENT, CART, CHECKOUT, DISCOUNT, FULFILLMENT, ORDER},
    order::Order,
    ports::{
        self, Backend, Catalog, Commerce as _, Decision, Then,
        agenda::{Agenda as _, Claim, Kind, Room},
        caller::{BuyerSignals, Caller},
        ledger::{Committed, Ledger},
        payment_handler::Handler,
    },
    pricing::terms::Terms,
    purchase::{
        buyer::Buyer,
        draft::{Draft, LineDraft},
        payment::{Credential, Instrument, Tender},
    },
    sales::SalesService,
};

use crate::{Clock, MemoryLedger, ScriptedHandler, Shelf, random, shelf::PlainCursors};

/// Duration of a claim on tasks.
const CLAIMED_FOR: SignedDuration = SignedDuration::from_secs(10);

/// Everything a shop consists of. Its ports can be told what to do, its [sales service](Self::sales) is what is
/// tested.
#[derive(Clone, Debug)]
pub struct TestShop {
    /// The goods.
    pub shelf: Arc<Shelf>,
    /// The books.
    pub ledger: Arc<MemoryLedger>,
    /// The payment handler, by the id `scripted`.
    pub handler: Arc<ScriptedHandler>,
    /// The clock.
    pub clock: Clock,
    /// The sales service in front of them.
    pub sales: SalesService,
}

impl TestShop {
    /// A shop that sells on these terms.
    #[must_use]
    pub fn new(terms: Terms) -> Self {
        let (shelf, ledger, clock) = (Arc::new(Shelf::default()), Arc::new(MemoryLedger::default()), Clock::default());
        let handler = Arc::new(ScriptedHandler::new("scripted"));
        let sales = SalesService {
            catalog: Arc::clone(&shelf) as Arc<dyn Catalog>,
            ledger: Arc::clone(&ledger) as Arc<dyn Ledger>,
            terms: Arc::new(terms),
            shop_handlers: Arc::new([]),
            remote_carts: None,
            order_inbox: None,
            handlers: Arc::new([Arc::clone(&handler) as Arc<dyn Handler>]),
            pages: "https://shop.example".into(),
            clock: clock.port(),
            random: random(1),
        };
        Self { shelf, ledger, handler, clock, sales }
    }

    /// Carries out a call as the gateway does, without a key: what was decided is committed before it is answered, and
    /// decided again when it was stale. Fails with the errors of the sales service and of the ledger. Panics if the
    /// call is stale again and again.
    pub async fn call(&self, caller: &Caller, request: SaleRequest) -> Result<Outcome, Refusal> {
        for _ in 0..16 {
            let Decision { outcome, change, then } = self.sales.decide(caller, request.clone()).await?;
            if !change.is_empty() && self.ledger.commit(*change, None).await? != Committed::Done {
                continue;
            }
            let Some(then) = then else { return Ok(outcome) };
            let called_off = matches!(then, Then::CallOff(_));
            match self.sales.follow(caller, then).await? {
                Some(ended) => {
                    if ended.change.is_empty() || self.ledger.commit(*ended.change, None).await? == Committed::Done {
                        return Ok(ended.outcome);
                    }
                }
                None if called_off => {}
                None => return Ok(outcome),
            }
        }
        panic!("stale again and again: {request:?}")
    }

    /// Carries out the tasks that are due, as the gateway does, each once. Returns their number.
    pub async fn carry_out_due(&self) -> Result<usize, Refusal> {
        let now = self.clock.now();
        let room = Room { kinds: &Kind::ALL, per_lane: usize::MAX, total: usize::MAX, except: &[] };
        let claim =
            Claim { claimant: "tests".into(), until: now.saturating_add(CLAIMED_FOR).unwrap_or(Timestamp::MAX) };
        let due = self.ledger.due_tasks(now, room).await?;
        let claimed = self.ledger.claim_tasks(due, now, &claim).await?;
        let number = claimed.len();
        for task in claimed {
            let next = self.sales.carry_out(&task).await?;
            let recorded = next.recorded(&task, self.clock.now(), 0);
            self.ledger.record_task(task.kind, &task.key, &claim.claimant, recorded).await?;
        }
        Ok(number)
    }

    /// Carries out all tasks, due or not, each once. Returns the number of those that came to an end.
    pub async fn carry_out_all(&self) -> Result<usize, Refusal> {
        let tasks = self.ledger.tasks(usize::MAX).await?;
        for task in &tasks {
            self.ledger.retry(task.kind, &task.key, self.clock.now()).await?;
        }
        self.carry_out_due().await?;
        Ok(tasks.len().saturating_sub(self.ledger.tasks(usize::MAX).await?.len()))
    }

    /// The shop as a backend.
    pub fn backend(&self) -> Backend {
        let catalog = Arc::clone(&self.shelf) as Arc<dyn Catalog>;
        Backend {
            shop: ports::ShopPort::Facts { catalog, sales: Arc::new(self.sales.clone()) },
            directory: None,
            cursors: Arc::new(PlainCursors),
        }
    }
}

/// A platform with which everything about buying was negotiated, except for what `without` names.
#[must_use]
pub fn platform(owner: &str, without: &[&str]) -> Caller {
    let declared: Vec<_> = [CART, CHECKOUT, ORDER, DISCOUNT, FULFILLMENT, BUYER_CONSENT]
        .into_iter()
        .filter(|name| !without.contains(name))
        .map(|name| Declaration { name: name.into(), version: "2026-04-08".into(), ..Declaration::default() })
        .collect();
    Caller {
        owner: owner.into(),
        active: Arc::new(Active::all(&declared)),
        multi_group: false,
        buyer_signals: BuyerSignals::default(),
        customer_group: None,
        mandate_verifier: None,
    }
}

/// A draft of goods and quantities, by a buyer whose email address is known.
#[must_use]
pub fn draft(lines: &[(&str, u64)]) -> Draft {
    let line = |(item, quantity): &(&str, u64)| LineDraft {
        id: None,
        item: (*item).into(),
        quantity: *quantity,
        other_unit: None,
        parent_id: None,
    };
    Draft {
        line_items: lines.iter().map(line).collect(),
        buyer: Some(Buyer { email: Some("buyer@example.com".into()), ..Buyer::default() }),
        ..Draft::default()
    }
}

/// A paid order for nine of the item `a` at a dollar each, of which nothing is sent yet. It was placed at second
/// 1,800,000,000 of the Unix epoch.
#[must_use]
pub fn order(owner: &str, id: &str) -> Order {
    let total = json!([{ "kind": "total", "amount": 900 }]);
    let line = json!({
        "id": "li_1", "item": { "id": "a", "title": "A", "price": 100, "needs_fulfillment": true },
        "original": 9, "total": 9, "fulfilled": 0, "totals": total,
    });
    let order = json!({
        "id": id, "label": id, "token": format!("t_{id}"), "owner": owner, "checkout_id": format!("chk_{id}"),
        "line_items": [line], "currency": "USD", "totals": total, "expectations": [], "events": [], "adjustments": [],
        "payment": { "handler_id": "h", "attempt_id": "a", "reference": "r" },
        "placed_at": Timestamp::from_second(1_800_000_000).expect("a time"),
    });
    serde_json::from_value(order).expect("an order")
}

/// A card of a handler, with a credential.
#[must_use]
pub fn card(handler_id: &str) -> Tender {
    let credential = match json!({ "type": "token", "token": "tok_secret" }) {
        serde_json::Value::Object(members) => members,
        _ => Map::new(),
    };
    Tender {
        instrument: Instrument {
            id: "instrument_1".into(),
            handler_id: handler_id.into(),
            kind: "card".into(),
            selected: None,
            billing_address: None,
            display: None,
        },
        credential: Some(Credential::new("token".into(), credential)),
    }
}
