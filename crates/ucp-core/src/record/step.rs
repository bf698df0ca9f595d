//! The steps of buyers, for the operator's funnel.

use super::{Facts, Repetition};
use crate::{Operation, checkout::Status};

/// Step of a buyer's way through the shop, for the operator's funnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Products were searched.
    Search,
    /// Products were looked at.
    Product,
    /// A cart was made.
    Cart,
    /// A checkout was made.
    Checkout,
    /// A purchase was completed.
    Completed,
    /// The buyer has to continue in person.
    Escalated,
    /// A payment was declined.
    Declined,
    /// A cart or checkout was canceled.
    Canceled,
}

impl Step {
    /// All steps, in the order of their declaration.
    pub const ALL: [Self; 8] = [
        Self::Search,
        Self::Product,
        Self::Cart,
        Self::Checkout,
        Self::Completed,
        Self::Escalated,
        Self::Declined,
        Self::Canceled,
    ];

    /// Returns the name in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Product => "product",
            Self::Cart => "cart",
            Self::Checkout => "checkout",
            Self::Completed => "completed",
            Self::Escalated => "escalated",
            Self::Declined => "declined",
            Self::Canceled => "canceled",
        }
    }

    /// Returns the step that a call was, once it has been answered; `None` if it was none, failed, or told again what
    /// was told before.
    #[must_use]
    pub fn of(facts: &Facts) -> Option<Self> {
        let replayed = facts.repetition.is_some_and(|repetition| repetition != Repetition::New);
        if facts.refused.is_some() || facts.error.is_some() || replayed {
            return None;
        }
        let status = facts.sale.as_ref().and_then(|sale| sale.status);
        let escalated = status == Some(Status::RequiresEscalation);
        match facts.operation? {
            Operation::SearchCatalog => Some(Self::Search),
            Operation::LookupCatalog | Operation::GetProduct => Some(Self::Product),
            Operation::CreateCart => Some(Self::Cart),
            Operation::CreateCheckout => Some(Self::Checkout),
            Operation::CompleteCheckout if facts.declined => Some(Self::Declined),
            Operation::CompleteCheckout if status == Some(Status::Completed) => Some(Self::Completed),
            Operation::CompleteCheckout | Operation::UpdateCheckout if escalated => Some(Self::Escalated),
            Operation::CancelCart | Operation::CancelCheckout => Some(Self::Canceled),
            _ => None,
        }
    }
}
