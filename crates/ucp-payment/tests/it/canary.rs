//! Credentials and secrets reach the provider and nothing else: with everything logged that anybody logs, every path is
//! walked with a canary, and the canary is looked for.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use ucp_core::{
    ports::payment_handler::Handler,
    purchase::payment::{Attempt, Credential, Tender},
};
use ucp_fake_psp::{FakeStripe, Fault};
use ucp_payment::{
    Processor, Sandbox, Stripe,
    processor::{self, Endpoint},
    sandbox,
};
use ucp_testkit::{Log, PATIENCE, within};

use crate::shop::{self, attempt, fake, options, tender};

const CARD: &str = "4929113374212221";
const TOKEN: &str = "canary-tok-7f3a91";
const PARTS: &[&str] = &[CARD, "7f3a91", "canary-cvc-914", "canary-api-key", "canary-signing-secret"];

fn with(kind: &str, members: &serde_json::Value) -> Tender {
    let credential = Credential::new(kind.into(), members.as_object().expect("members").clone());
    Tender { credential: Some(credential), ..tender("unused") }
}

fn canary_tenders() -> Vec<Tender> {
    vec![
        tender(TOKEN),
        tender(CARD),
        with("card", &json!({ "type": "card", "number": CARD, "cvc": "canary-cvc-914" })),
        with("token", &json!({ "type": "token", "token": TOKEN, "number": CARD })),
        with("token", &json!({ "type": "token", "token": TOKEN, "expires_at": CARD })),
        with("token", &json!({ "type": "token", "cvc": "canary-cvc-914" })),
        with(CARD, &json!({ "type": CARD, "token": [TOKEN] })),
    ]
}

/// Walks every path of a handler with what each tender and order says.
async fn walk(handler: Arc<dyn Handler>, tender: Tender, blank: Attempt) -> String {
    let prepared = handler.prepare(&tender);
    let mut seen = format!("{prepared:?} {tender:?}\n");
    let attempt = Attempt { memo: prepared.unwrap_or(blank.memo.clone()), ..blank };
    seen.push_str(&serde_json::to_string(&attempt).expect("JSON"));
    seen.push_str(&format!("{:?}\n", handler.pay(&attempt, &tender).await));
    seen.push_str(&format!("{:?}\n", handler.inquire(&attempt).await));
    seen.push_str(&format!("{:?}\n", handler.forget(&attempt).await));
    seen
}

#[test]
fn nobody_but_the_provider_sees_a_credential() {
    let log = Log::of_everything();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let mut seen = String::new();
    let psp = fake();
    runtime.block_on(async {
        let patient = options(&psp.url());
        seen.push_str(&format!("{:?} {:?}\n", patient.api_key, patient.signing_secret));
        let options = processor::Options { request_timeout: Duration::from_millis(300), ..patient.clone() };
        let nowhere = processor::Options {
            endpoint: Endpoint::parse("http://127.0.0.1:1", true).expect("an address"),
            ..options.clone()
        };
        let wrong_key =
            processor::Options { api_key: "canary-api-key-2".parse().expect("a secret"), ..options.clone() };
        let mut handlers: Vec<Arc<dyn Handler>> =
            vec![Arc::new(Sandbox::new(sandbox::declaration("psp"), Arc::new(shop::now), Duration::from_secs(10)))];
        for options in [options, nowhere, wrong_key] {
            let processor = Processor::new(options).expect("a processor");
            seen.push_str(&format!("{processor:?}\n"));
            handlers.push(Arc::new(processor));
        }
        let account = FakeStripe::start(ucp_fake_psp::Options::new(shop::keys())).expect("Stripe");
        let stripe = Stripe::new(crate::stripe::options(&account.url())).expect("a handler");
        seen.push_str(&format!("{stripe:?}\n"));
        let stripe: Arc<dyn Handler> = Arc::new(stripe);
        let mut walks = Vec::new();
        let mut set_out = |handler: &Arc<dyn Handler>, tender: Tender, attempt: Attempt| {
            walks.push(tokio::spawn(walk(Arc::clone(handler), tender, attempt)));
        };
        for (nth, (name, _)) in Fault::ALL.iter().enumerate() {
            for step in ["create", "authorize", "capture", "inquire", "void"] {
                let orders = format!("pm_canaryZcnr7f3a91+{step}:{name}:2").replace('+', "ZP").replace(':', "ZC");
                let id = format!("s{nth}-{step}");
                set_out(
                    &stripe,
                    tender(&orders),
                    Attempt { begun_at: jiff::Timestamp::now(), ..attempt(&id, &psp.url()) },
                );
            }
        }
        for (tenth, tender) in canary_tenders().into_iter().enumerate() {
            set_out(&stripe, tender, attempt(&format!("t-{tenth}"), &psp.url()));
        }
        for (nth, handler) in handlers.iter().enumerate() {
            for (tenth, tender) in canary_tenders().into_iter().enumerate() {
                set_out(handler, tender, attempt(&format!("a{nth}-{tenth}"), &psp.url()));
            }
        }
        for (name, _) in Fault::ALL {
            for step in ["authorize", "capture", "inquire", "void"] {
                let tender = tender(&format!("{TOKEN}+{step}:{name}:2"));
                set_out(&handlers[1], tender, attempt(&format!("{step}-{name}"), &psp.url()));
            }
        }
        for walk in walks {
            seen.push_str(&within("a walk", PATIENCE, walk).await.expect("no panic"));
        }
        assert!(account.psp().saw("7f3a91"), "the canaries never flew to Stripe");
    });
    assert!(psp.psp().saw(TOKEN) && psp.psp().saw(CARD), "the canaries never flew");
    let logged = log.text();
    // The search would find nothing in a log that is not there.
    for target in ["ucp_payment", "reqwest", "hyper"] {
        assert!(logged.contains(target), "nothing of {target} was logged");
    }
    for part in PARTS {
        assert!(!seen.contains(part), "{part} was said: {seen}");
        if let Some(position) = logged.find(part) {
            panic!("{part} was logged: {}", &logged[position.saturating_sub(300)..position]);
        }
    }
}
