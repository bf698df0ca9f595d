//! Payment handlers as the suite wants them: sandboxes that take card numbers, and under the names that it looks for.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use ucp_core::{
    message::Message,
    purchase::payment::{Attempt, Credential, Declaration, Handler, Settlement, Tender},
};
use ucp_payment::{Sandbox, sandbox};

use crate::{
    clock,
    config::{Payment, payment::Kind},
};

/// The handlers that the suite finds in the profile of its sample server: identifier, name, and a member of the
/// configuration. Here they are sandboxes like any other.
const EXPECTED: [(&str, &str, (&str, &str)); 2] = [
    ("google_pay", "google.pay", ("merchant_id", "sandbox")),
    ("shop_pay", "com.shopify.shop_pay", ("shop_id", "sandbox")),
];

/// The configured handlers, of which sandboxes take card numbers, and those that the suite expects.
pub(super) fn handlers(configured: &[Arc<dyn Handler>], payments: &[Payment]) -> Arc<[Arc<dyn Handler>]> {
    let is_sandbox =
        |id: &str| payments.iter().any(|payment| payment.declaration.id == id && matches!(payment.kind, Kind::Sandbox));
    let mut handlers: Vec<Arc<dyn Handler>> = configured
        .iter()
        .map(|handler| {
            let handler = Arc::clone(handler);
            // A card number goes to nobody but to a sandbox, which forgets it.
            if is_sandbox(&handler.declaration().id) { Arc::new(CardTaker(handler)) } else { handler }
        })
        .collect();
    for (id, name, (key, value)) in EXPECTED {
        if handlers.iter().any(|handler| handler.declaration().id == id) {
            continue;
        }
        let mut declaration = Declaration { name: name.to_owned(), ..sandbox::declaration(id) };
        declaration.config.insert(key.to_owned(), value.into());
        let sandbox = Sandbox::new(declaration, Arc::new(clock::timestamp), sandbox::SLOW);
        handlers.push(Arc::new(CardTaker(Arc::new(sandbox))));
    }
    handlers.into()
}

/// A sandbox to which a card is as good as the token that always pays.
struct CardTaker(Arc<dyn Handler>);

#[async_trait]
impl Handler for CardTaker {
    fn declaration(&self) -> &Declaration {
        self.0.declaration()
    }

    fn prepare(&self, tender: &Tender) -> Result<Value, Message> {
        if tender.credential.as_ref().is_none_or(|credential| credential.kind != "card") {
            return self.0.prepare(tender);
        }
        let members = match json!({ "type": "token", "token": "success_token" }) {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        let credential = Some(Credential::new("token".to_owned(), members));
        self.0.prepare(&Tender { instrument: tender.instrument.clone(), credential })
    }

    fn deadline(&self) -> Duration {
        self.0.deadline()
    }

    async fn pay(&self, attempt: &Attempt, tender: &Tender) -> Settlement {
        self.0.pay(attempt, tender).await
    }

    async fn inquire(&self, attempt: &Attempt) -> Settlement {
        self.0.inquire(attempt).await
    }

    async fn forget(&self, attempt: &Attempt) -> bool {
        self.0.forget(attempt).await
    }
}
