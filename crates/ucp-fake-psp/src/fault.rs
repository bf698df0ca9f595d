//! The ways in which the provider misbehaves.

use std::{fmt, str::FromStr};

use crate::reply::Reply;

/// Operation of the provider that a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// `POST /payments`.
    Authorize,
    /// `POST /payments/{id}/capture`.
    Capture,
    /// `GET /payments/{id}`.
    Inquire,
    /// `POST /payments/{id}/void`.
    Void,
    /// `POST /v1/payment_intents`, of Stripe alone.
    Create,
    /// `POST /v1/refunds`, of Stripe alone.
    Refund,
}

impl Step {
    /// Every step with its name.
    pub const ALL: &[(&str, Self)] = &[
        ("authorize", Self::Authorize),
        ("capture", Self::Capture),
        ("inquire", Self::Inquire),
        ("void", Self::Void),
        ("create", Self::Create),
        ("refund", Self::Refund),
    ];
}

/// A way to misbehave. *Before* means that the request is not carried out, *after* that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Never answers; nothing is carried out.
    HangBefore,
    /// Never answers.
    HangAfter,
    /// Resets the connection; nothing is carried out.
    ResetBefore,
    /// Resets the connection.
    ResetAfter,
    /// Status 500; nothing is carried out.
    ErrorBefore,
    /// Status 500.
    ErrorAfter,
    /// Resets the connection, and carries the request out some time later.
    Late,
    /// Answers, but slowly.
    Slow,
    /// An answer that is no JSON.
    Garbage,
    /// An answer without a body.
    Empty,
    /// An answer whose end is missing.
    Truncated,
    /// An answer of several megabytes.
    Oversized,
    /// An answer about another payment.
    WrongPayment,
    /// An answer about another amount.
    WrongAmount,
    /// An answer with a status that does not exist.
    WrongStatus,
    /// A redirect to where the request would be taken; nothing is carried out.
    Redirect,
    /// Status 404 with a page for people, as a misguided proxy answers; nothing is carried out.
    NotFoundPage,
    /// Status 403 with a page for people, as a firewall answers; nothing is carried out.
    ForbiddenPage,
    /// Status 429; nothing is carried out.
    Busy,
}

impl Fault {
    /// Every fault with its name.
    pub const ALL: &[(&str, Self)] = &[
        ("hang_before", Self::HangBefore),
        ("hang_after", Self::HangAfter),
        ("reset_before", Self::ResetBefore),
        ("reset_after", Self::ResetAfter),
        ("error_before", Self::ErrorBefore),
        ("error_after", Self::ErrorAfter),
        ("late", Self::Late),
        ("slow", Self::Slow),
        ("garbage", Self::Garbage),
        ("empty", Self::Empty),
        ("truncated", Self::Truncated),
        ("oversized", Self::Oversized),
        ("wrong_payment", Self::WrongPayment),
        ("wrong_amount", Self::WrongAmount),
        ("wrong_status", Self::WrongStatus),
        ("redirect", Self::Redirect),
        ("not_found_page", Self::NotFoundPage),
        ("forbidden_page", Self::ForbiddenPage),
        ("busy", Self::Busy),
    ];

    /// Returns `true` if the request is carried out before the answer goes wrong.
    pub const fn acts(self) -> bool {
        match self {
            Self::HangAfter
            | Self::ResetAfter
            | Self::ErrorAfter
            | Self::Slow
            | Self::Garbage
            | Self::Empty
            | Self::Truncated
            | Self::Oversized
            | Self::WrongPayment
            | Self::WrongAmount
            | Self::WrongStatus => true,
            Self::HangBefore
            | Self::ResetBefore
            | Self::ErrorBefore
            | Self::Late
            | Self::Redirect
            | Self::NotFoundPage
            | Self::ForbiddenPage
            | Self::Busy => false,
        }
    }

    /// Returns the response to send instead of `reply`, for faults that send one.
    pub fn spoil(self, reply: Reply) -> Reply {
        let page = |status| Reply { status, body: "<html><body>Nothing to see here.</body></html>".into() };
        let with = |member: &str, value: serde_json::Value| {
            let mut body: serde_json::Value = serde_json::from_str(&reply.body).unwrap_or_default();
            if let Some(members) = body.as_object_mut() {
                members.insert(member.into(), value);
            }
            Reply { status: reply.status, body: body.to_string() }
        };
        match self {
            Self::ErrorBefore | Self::ErrorAfter => page(500),
            Self::Garbage => Reply { status: 200, body: "{\"id\": \"pay, \u{fffd}".into() },
            Self::Empty => Reply { status: 200, body: String::new() },
            Self::Oversized => Reply { status: 200, body: format!("{}{}", " ".repeat(3 << 20), reply.body) },
            Self::WrongPayment => with("id", "another".into()),
            Self::WrongAmount => with("amount", 1.into()),
            Self::WrongStatus => with("status", "paid".into()),
            Self::Redirect => Reply { status: 307, body: String::new() },
            Self::NotFoundPage => page(404),
            Self::ForbiddenPage => page(403),
            Self::Busy => Reply::error(429, "busy", "Too many requests."),
            Self::HangBefore
            | Self::HangAfter
            | Self::ResetBefore
            | Self::ResetAfter
            | Self::Late
            | Self::Slow
            | Self::Truncated => reply,
        }
    }
}

/// An order to misbehave: at which step, how, and how often. Written `step:fault` or `step:fault:times`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Step at which it applies.
    pub step: Step,
    /// Fault to produce.
    pub fault: Fault,
    /// Number of requests that it applies to.
    pub times: u32,
}

/// A text that is no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoOrder;

impl fmt::Display for NoOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected `step:fault` or `step:fault:times`, such as `capture:reset_after:2`")
    }
}

impl std::error::Error for NoOrder {}

impl FromStr for Order {
    type Err = NoOrder;

    fn from_str(text: &str) -> Result<Self, NoOrder> {
        let mut parts = text.split(':');
        let (step, fault) = (parts.next().unwrap_or_default(), parts.next().ok_or(NoOrder)?);
        let times = parts.next().map_or(Ok(1), |times| times.parse().map_err(|_| NoOrder))?;
        if parts.next().is_some() {
            return Err(NoOrder);
        }
        Ok(Self { step: named(Step::ALL, step)?, fault: named(Fault::ALL, fault)?, times })
    }
}

fn named<T: Copy>(all: &[(&str, T)], name: &str) -> Result<T, NoOrder> {
    all.iter().find(|(known, _)| *known == name).map(|(_, found)| *found).ok_or(NoOrder)
}
