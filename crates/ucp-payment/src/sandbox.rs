//! Payment handler for trials: it moves no money, reaches no network, and takes the outcome from the token.
//!
//! | token | outcome of the payment |
//! | :-- | :-- |
//! | `success_token` | captured |
//! | `fail_token` | declined |
//! | `challenge_token` | challenge: the buyer has to be authenticated first (3-D Secure) |
//! | `challenge_passed_token` | captured; the token of a buyer who has been authenticated |
//! | `three_ds_token` | waits for the buyer, whom a page that plays the bank asks to confirm; captured or declined then |
//! | `device_data_token` | the same, after a page has collected data of the device, for which it gets 15 seconds |
//! | `timeout_token` | unknown; an inquiry answers that it never arrived |
//! | `unknown_token` | unknown; an inquiry answers that it is captured |
//! | `slow_token` | unknown, also in inquiries, until it is captured some time after it was begun |
//! | any other | declined |
//!
//! The memo holds the scenario and not the token, and every outcome follows from it, from the attempt and from the
//! clock. So an attempt counts as made from the moment it is stored, even if the gateway is killed before it calls
//! `pay`, and every process gives the same answers as the one before it.

use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use ucp_core::{
    message::Message,
    ports::payment_handler::Handler,
    purchase::payment::{
        Attempt, AuthenticationStep, Capture, CaptureMode, Challenge, Credential, Declaration, Instrument, Settlement,
        Tender, TransferOutcome,
    },
};

use crate::{Clock, credential, mode};

/// Time for which the end of a payment with `slow_token` is unknown.
pub const SLOW: Duration = Duration::from_secs(10);

/// Time after its start for which an attempt may be in flight. The sandbox sends nothing; the margin is for a process
/// that was suspended between storing an attempt and paying.
const DEADLINE: Duration = Duration::from_secs(5);

/// Time after the start of an attempt for which data of the device are waited for. The payment goes on without them.
const DEVICE_DATA: SignedDuration = SignedDuration::from_secs(15);

/// Time after the start of an attempt for which the buyer is waited for.
const CONFIRMATION: SignedDuration = SignedDuration::from_mins(15);

/// Course of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Scenario {
    Success,
    Decline,
    Challenge,
    ChallengePassed,
    ThreeDs,
    DeviceData,
    Timeout,
    Unknown,
    Slow,
    NoSuchToken,
}

impl Scenario {
    /// Tokens with a course of their own.
    const TOKENS: &[(&str, Self)] = &[
        ("success_token", Self::Success),
        ("fail_token", Self::Decline),
        ("challenge_token", Self::Challenge),
        ("challenge_passed_token", Self::ChallengePassed),
        ("three_ds_token", Self::ThreeDs),
        ("device_data_token", Self::DeviceData),
        ("timeout_token", Self::Timeout),
        ("unknown_token", Self::Unknown),
        ("slow_token", Self::Slow),
    ];

    fn of(token: &str) -> Self {
        Self::TOKENS.iter().find(|(known, _)| *known == token).map_or(Self::NoSuchToken, |(_, scenario)| *scenario)
    }
}

/// Memo of an attempt.
#[derive(Serialize, Deserialize)]
struct Memo {
    scenario: Scenario,
}

/// Returns the default declaration of a sandbox with this identifier. Its `config` lists the tokens, so that readers of
/// the profile can try them.
pub fn declaration(id: &str) -> Declaration {
    let tokens: Vec<&str> = Scenario::TOKENS.iter().map(|(token, _)| *token).collect();
    let config = match json!({ "environment": "sandbox", "supported_tokens": tokens }) {
        Value::Object(members) => members,
        _ => serde_json::Map::new(),
    };
    Declaration {
        name: "com.example.sandbox_payment".into(),
        id: id.into(),
        version: "2026-08-25".into(),
        spec: "https://example.com/sandbox_payment".into(),
        schema: "https://example.com/sandbox_payment.json".into(),
        instruments: vec!["card".into()],
        config,
    }
}

/// Payment handler of the sandbox.
pub struct Sandbox {
    declaration: Declaration,
    clock: Clock,
    slow: Duration,
    capture: CaptureMode,
}

ucp_core::opaque!(Sandbox { declaration, slow });

impl Sandbox {
    /// Creates a sandbox with a declaration; `slow` is the time for which the end of a payment with `slow_token` is
    /// unknown, such as [`SLOW`].
    pub fn new(declaration: Declaration, clock: Clock, slow: Duration) -> Self {
        Self { declaration, clock, slow, capture: CaptureMode::Automatic }
    }

    /// Returns the sandbox with another capture mode.
    #[must_use]
    pub fn capturing(self, capture: CaptureMode) -> Self {
        Self { capture, ..self }
    }

    /// Returns the outcome of an attempt when it is queried later.
    fn outcome(&self, attempt: &Attempt) -> Settlement {
        let Ok(Memo { scenario }) = Memo::deserialize(&attempt.memo) else {
            tracing::error!(attempt.id, "unreadable memo of a sandbox payment");
            return Settlement::Unknown;
        };
        let captured = || {
            let reference = format!("sandbox_{}", attempt.id);
            match mode::of(attempt) {
                CaptureMode::Automatic => Settlement::Captured { reference },
                CaptureMode::Manual => Settlement::Authorized { reference },
            }
        };
        match scenario {
            Scenario::Success | Scenario::ChallengePassed | Scenario::Unknown => captured(),
            Scenario::Decline => Settlement::Declined { reason: "The bank refused the payment.".into() },
            Scenario::Challenge => {
                Settlement::Challenged { reason: "The bank asks the buyer to confirm the payment.".into() }
            }
            Scenario::ThreeDs | Scenario::DeviceData => match attempt.challenge.as_ref() {
                Some(Challenge { step: AuthenticationStep::ThreeDsChallenge, answer: Some(true), .. }) => captured(),
                Some(Challenge { step: AuthenticationStep::ThreeDsChallenge, answer: Some(false), .. }) => {
                    Settlement::Declined {
                        reason: "The buyer did not confirm the payment. Nothing was charged.".into(),
                    }
                }
                _ => self.awaiting(attempt, scenario),
            },
            Scenario::Timeout => Settlement::Absent,
            Scenario::Slow => {
                let age = (self.clock)().duration_since(attempt.begun_at);
                let known = Duration::try_from(age).is_ok_and(|age| age >= self.slow);
                if known { captured() } else { Settlement::Unknown }
            }
            Scenario::NoSuchToken => Settlement::Declined {
                reason: format!("The sandbox only takes its own tokens, such as `{}`.", Scenario::TOKENS[0].0),
            },
        }
    }
}

impl Sandbox {
    /// Returns the step that the buyer has to take next, on a page below the buyer's own.
    fn awaiting(&self, attempt: &Attempt, scenario: Scenario) -> Settlement {
        let Some(page) = &attempt.page_url else {
            return Settlement::Challenged { reason: "The bank asks the buyer to confirm the payment.".into() };
        };
        let collected = match &attempt.challenge {
            Some(Challenge { step: AuthenticationStep::DeviceDataCollection, answer, .. }) => answer.is_some(),
            Some(_) => true,
            None => false,
        };
        let after = |time| attempt.begun_at.saturating_add(time).unwrap_or(Timestamp::MAX);
        let until = after(DEVICE_DATA);
        if scenario == Scenario::DeviceData && !collected && (self.clock)() < until {
            let (step, url) = (AuthenticationStep::DeviceDataCollection, format!("{page}/device"));
            return Settlement::AwaitingBuyer { step, url, until };
        }
        let (step, url) = (AuthenticationStep::ThreeDsChallenge, format!("{page}/bank"));
        Settlement::AwaitingBuyer { step, url, until: after(CONFIRMATION) }
    }
}

#[async_trait]
impl Handler for Sandbox {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn prepare(&self, tender: &Tender) -> Result<Value, Message> {
        let credential = credential::usable(&self.declaration, tender, (self.clock)())?;
        let scenario = Scenario::of(credential::token(credential)?);
        Ok(mode::noted(serde_json::to_value(Memo { scenario }).unwrap_or_default(), self.capture))
    }

    fn deadline(&self) -> Duration {
        DEADLINE
    }

    async fn pay(&self, attempt: &Attempt, _tender: &Tender) -> Settlement {
        match Memo::deserialize(&attempt.memo) {
            Ok(Memo { scenario: Scenario::Timeout | Scenario::Unknown | Scenario::Slow }) => Settlement::Unknown,
            _ => self.outcome(attempt),
        }
    }

    async fn inquire(&self, attempt: &Attempt) -> Settlement {
        self.outcome(attempt)
    }

    fn authentication_origins(&self) -> Option<Vec<String>> {
        Some(Vec::new())
    }

    fn confirmed_in_person(&self) -> Option<Tender> {
        let token = Scenario::TOKENS.iter().find(|(_, scenario)| *scenario == Scenario::ChallengePassed)?.0;
        let Value::Object(members) = json!({ "type": "token", "token": token }) else { return None };
        Some(Tender {
            instrument: Instrument {
                id: "sandbox".into(),
                handler_id: self.declaration.id.clone(),
                kind: self.declaration.instruments.first()?.clone(),
                selected: Some(true),
                billing_address: None,
                display: None,
            },
            credential: Some(Credential::new("token".into(), members)),
        })
    }

    async fn capture(&self, capture: &Capture) -> TransferOutcome {
        TransferOutcome::Done { reference: format!("sandbox_{}", capture.id) }
    }

    async fn forget(&self, attempt: &Attempt) -> bool {
        matches!(
            self.outcome(attempt),
            Settlement::Absent
                | Settlement::Declined { .. }
                | Settlement::Challenged { .. }
                | Settlement::AwaitingBuyer { .. }
        )
    }
}

#[cfg(test)]
mod tests;
