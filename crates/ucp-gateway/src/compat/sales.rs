//! What the sample server refuses where UCP answers with messages, what it keeps where UCP forgets, and what it remembers.
//!
//! A refusal here changes nothing, so that what the suite reads afterwards is what was there before. Only a payment that
//! failed is written down all the same: it was tried.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use jiff::Timestamp;
use ucp_core::{
    Answer, Outcome, Refusal,
    call::SaleRequest,
    message::{Message, Severity},
    negotiation::Active,
    port::{Decision, Sales},
    purchase::{
        caller::Caller,
        desk::Desk,
        draft::Draft,
        fulfillment::MethodKind,
        ledger::Ledger,
        terms::{Customer, StoredAddress},
    },
    text::fold,
};

/// How many buyers are remembered.
const BUYERS: usize = 1_000;

/// How many addresses are remembered of each.
const ADDRESSES: usize = 20;

/// A desk that sells as the sample server does.
pub(super) struct Obliging {
    desk: Desk,
    /// What is active with everyone.
    active: Arc<Active>,
    /// The addresses of buyers, by e-mail address, beside those that the shop has stored. Forgotten at the end.
    remembered: Mutex<BTreeMap<String, Vec<StoredAddress>>>,
}

impl Obliging {
    pub(super) fn new(desk: Desk, active: Arc<Active>) -> Self {
        Self { desk, active, remembered: Mutex::default() }
    }

    /// The desk, with the customers that were remembered.
    fn desk(&self) -> Desk {
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.is_empty() {
            return self.desk.clone();
        }
        let mut terms = (*self.desk.terms).clone();
        for (email, addresses) in &*remembered {
            match terms.customers.iter_mut().find(|customer| fold(&customer.email) == *email) {
                Some(customer) => customer.addresses.extend(addresses.iter().cloned()),
                None => terms.customers.push(Customer {
                    name: String::new(),
                    email: email.clone(),
                    addresses: addresses.clone(),
                }),
            }
        }
        Desk { terms: Arc::new(terms), ..self.desk.clone() }
    }

    /// A caller with whom everything is active.
    fn trusting(&self, caller: &Caller) -> Caller {
        Caller { active: Arc::clone(&self.active), ..caller.clone() }
    }

    /// Remembers the addresses of an answer that the buyer stated without an identifier.
    fn remember(&self, stated: &Draft, decision: &Decision) {
        let Outcome::Answer(Answer::Checkout(view)) = &decision.outcome else {
            return;
        };
        let buyer = view.checkout.draft.buyer.as_ref();
        let Some(email) = buyer.and_then(|buyer| buyer.email.as_deref()).map(str::trim).filter(|text| !text.is_empty())
        else {
            return;
        };
        let named: Vec<_> = stated
            .fulfillment
            .iter()
            .flat_map(|fulfillment| &fulfillment.methods)
            .flat_map(|method| &method.destinations)
            .filter_map(|destination| destination.id.as_deref())
            .collect();
        let methods = view.checkout.fulfillment.iter().flat_map(|fulfillment| &fulfillment.methods);
        let destinations = methods
            .filter(|method| method.kind == MethodKind::Shipping)
            .flat_map(|method| &method.destinations)
            .filter(|destination| !destination.stored && !named.contains(&&*destination.id));
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        for destination in destinations {
            let email = fold(email);
            if remembered.len() >= BUYERS && !remembered.contains_key(&email) {
                return;
            }
            let addresses = remembered.entry(email).or_default();
            if addresses.len() < ADDRESSES && addresses.iter().all(|known| known.id != destination.id) {
                addresses.push(StoredAddress { id: destination.id.clone(), address: destination.address.clone() });
            }
        }
    }
}

/// What a decision about contents comes to when nothing may be left out of them.
fn all_or_nothing(decision: Decision) -> Decision {
    let messages = match &decision.outcome {
        Outcome::Answer(Answer::Checkout(view)) => &view.messages,
        Outcome::NoResource { messages, .. } => messages,
        Outcome::Answer(_) => return decision,
    };
    let reason = messages.iter().find_map(|message| {
        let (Message::Error { code, content, .. } | Message::Warning { code, content, .. }) = message else {
            return None;
        };
        match code.as_str() {
            "item_unavailable" => Some((code.as_str(), format!("Product not found. {content}"))),
            "out_of_stock" | "quantity_adjusted" => Some(("out_of_stock", format!("Insufficient stock. {content}"))),
            _ => None,
        }
    });
    match reason {
        Some((code, content)) => Decision::unchanged(nothing(code, content)),
        None => decision,
    }
}

/// What a decision about completing comes to when it is either completed or refused.
fn paid_or_refused(mut decision: Decision) -> Decision {
    let Outcome::Answer(Answer::Checkout(view)) = &decision.outcome else { return decision };
    let errors: Vec<_> = view
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::Error { code, content, path, .. } => {
                Some((code.as_str(), content, path.as_deref().unwrap_or_default()))
            }
            Message::Warning { .. } | Message::Info { .. } => None,
        })
        .collect();
    let about = |wanted: &str| errors.iter().find(|(.., path)| path.starts_with(wanted));
    if let Some((code, content, _)) = about("$.payment") {
        decision.outcome = nothing(code, (*content).clone());
    } else if let Some((code, content, _)) = about("$.fulfillment") {
        let content = format!("Fulfillment address and option must be selected. {content}");
        return Decision::unchanged(nothing(code, content));
    } else if let Some((code, content, _)) = errors.first() {
        return Decision::unchanged(nothing(code, (*content).clone()));
    }
    decision
}

fn nothing(code: &str, content: String) -> Outcome {
    let messages = vec![Message::error(code, content, Severity::Recoverable)];
    Outcome::NoResource { messages, continue_url: None, id: None, conflict: false }
}

#[async_trait]
impl Sales for Obliging {
    fn ledger(&self) -> &dyn Ledger {
        &*self.desk.ledger
    }

    fn now(&self) -> Timestamp {
        (self.desk.clock)()
    }

    async fn decide(&self, caller: &Caller, request: SaleRequest) -> Result<Decision, Refusal> {
        match request {
            SaleRequest::CreateCart(_) | SaleRequest::UpdateCart(_) => {
                self.desk().decide(&self.trusting(caller), request).await
            }
            SaleRequest::CreateCheckout(create) => {
                let stated = create.draft.clone();
                let decision = all_or_nothing(self.desk().create_checkout(&self.trusting(caller), create).await?);
                self.remember(&stated, &decision);
                Ok(decision)
            }
            SaleRequest::UpdateCheckout(mut update) => {
                // An update replaces everything; the sample server keeps the buyer that it does not mention.
                if update.draft.buyer.is_none()
                    && let Some(stored) = self.desk.ledger.checkout(&caller.owner, &update.id).await?
                {
                    update.draft.buyer = stored.document.draft.buyer;
                }
                let stated = update.draft.clone();
                let decision = all_or_nothing(self.desk().update_checkout(&self.trusting(caller), update).await?);
                self.remember(&stated, &decision);
                Ok(decision)
            }
            SaleRequest::CompleteCheckout(complete) => {
                Ok(paid_or_refused(self.desk().complete_checkout(&self.trusting(caller), complete).await?))
            }
            SaleRequest::GetCart(_)
            | SaleRequest::CancelCart(_)
            | SaleRequest::GetCheckout(_)
            | SaleRequest::CancelCheckout(_)
            | SaleRequest::GetOrder(_) => self.desk.decide(caller, request).await,
        }
    }
}
