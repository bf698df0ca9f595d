//! Tests of the processor with the fake provider, without a network and with a paused clock: waiting costs no time, and
//! every interleaving can be reproduced.

mod faults;
mod model;

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use jiff::Timestamp;
use ucp_core::{
    money::{Amount, Currency},
    purchase::payment::{Credential, Instrument},
};
use ucp_fake_psp::{Fault, Keys, Order, Psp, Reply, Request};

use super::*;
use crate::client::Answer;

const NOW: i64 = 1_800_000_000;

/// Delays of an exchange before and after it reaches the provider, in milliseconds, and `cut` if there is no connection
/// at all.
#[derive(Clone, Copy, Debug, Default)]
struct Weather {
    before: u64,
    after: u64,
    cut: bool,
}

/// Transport to the fake provider without a network.
struct Memory {
    psp: Psp,
    late: Mutex<Vec<Request>>,
    weather: Mutex<VecDeque<Weather>>,
    sent: Mutex<Vec<Request>>,
}

impl Memory {
    fn new() -> Arc<Self> {
        let keys = Keys { api_key: "api-key".into(), signing_secret: "signing-secret".into() };
        let psp = Psp::new(keys, None).expect("a provider");
        Arc::new(Self { psp, late: Mutex::default(), weather: Mutex::default(), sent: Mutex::default() })
    }

    fn inject(&self, orders: &[&str]) {
        for order in orders {
            self.psp.inject(order.parse::<Order>().expect("an order"));
        }
    }

    /// Delivers the requests that were delayed on their way.
    fn deliver(&self) {
        let late = std::mem::take(&mut *self.late.lock().unwrap_or_else(PoisonError::into_inner));
        for request in late {
            let _ = self.psp.answer(&request);
        }
    }

    fn next_weather(&self) -> Weather {
        self.weather.lock().unwrap_or_else(PoisonError::into_inner).pop_front().unwrap_or_default()
    }
}

#[async_trait]
impl Transport for Memory {
    async fn upstream_request(&self, call: Call, deadline: Instant) -> Result<Answer, Failure> {
        tokio::time::timeout_at(deadline, self.forward(&call)).await.unwrap_or(Err(Failure::Lost))
    }
}

impl Memory {
    async fn forward(&self, call: &Call) -> Result<Answer, Failure> {
        let weather = self.next_weather();
        tokio::time::sleep(Duration::from_millis(weather.before)).await;
        if weather.cut {
            return Err(Failure::Unsent);
        }
        let headers = call.headers.iter();
        let text = |value: &HeaderValue| value.to_str().expect("ASCII").to_owned();
        let request = Request {
            method: call.method.to_string(),
            url: call.url.to_string(),
            headers: headers.map(|(name, value)| (name.to_string(), text(value))).collect(),
            body: call.body.to_vec(),
        };
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        let fault = self.psp.fault(&request);
        let reply = match fault {
            None => self.psp.answer(&request),
            Some(fault) if fault.acts() => fault.spoil(self.psp.answer(&request)),
            Some(fault) => fault.spoil(Reply { status: 500, body: String::new() }),
        };
        tokio::time::sleep(Duration::from_millis(weather.after)).await;
        match fault {
            Some(Fault::HangBefore | Fault::HangAfter) => std::future::pending().await,
            Some(Fault::Late) => {
                self.late.lock().unwrap_or_else(PoisonError::into_inner).push(request);
                Err(Failure::Lost)
            }
            Some(Fault::ResetBefore | Fault::ResetAfter | Fault::Truncated | Fault::Oversized) => Err(Failure::Lost),
            _ => Ok(Answer { status: reply.status, body: reply.body.into() }),
        }
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn options(endpoint: &str) -> Options {
    Options::new(
        Declaration { id: "psp".into(), ..crate::sandbox::declaration("psp") },
        Endpoint::parse(endpoint, true).expect("an address"),
        "api-key".parse().expect("a secret"),
        "shop-1".into(),
        "signing-secret".parse().expect("a secret"),
        Arc::new(|| at(NOW)),
    )
}

fn processor(memory: &Arc<Memory>) -> Processor {
    Processor::over(options("https://psp.example/v1"), Arc::clone(memory) as Arc<dyn Transport>).expect("a processor")
}

fn tender(token: &str) -> Tender {
    let members = json!({ "type": "token", "token": token });
    let instrument = Instrument {
        id: "pi_1".into(),
        handler_id: "psp".into(),
        kind: "card".into(),
        selected: Some(true),
        billing_address: None,
        display: None,
    };
    let credential = Credential::new("token".into(), members.as_object().expect("members").clone());
    Tender { instrument, credential: Some(credential) }
}

fn attempt(id: &str) -> Attempt {
    Attempt {
        id: id.into(),
        handler_id: "psp".into(),
        checkout_id: "chk_1".into(),
        amount: Amount::new(3_500).expect("an amount"),
        currency: Currency::USD,
        begun_at: at(NOW),
        memo: json!({ "endpoint": "https://psp.example/v1" }),
        at_shop: false,
        return_url: None,
        page_url: None,
        challenge: None,
    }
}

fn captured(id: &str) -> Settlement {
    Settlement::Captured { reference: format!("psp_{id}") }
}
