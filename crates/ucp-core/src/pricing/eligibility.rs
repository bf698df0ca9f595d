//! Claims of buyers to benefits (UCP *Checkout*, *Eligibility Verification at Completion*; rule CHK-10, trap T-23).
//!
//! A claim is accepted if the shop recognizes it and a discount depends on it. An accepted claim that the buyer's
//! email address does not verify prevents the completion of a checkout until it is verified or withdrawn; every other
//! claim is reported as without effect, and never prevents anything.

use super::terms::{Claim, Terms};
use crate::{
    message::{Message, Severity},
    purchase::{draft::Draft, quote::Purpose},
    text::fold,
};

/// Returns the buyer's email address in the form used for comparison, if one is stated.
pub(crate) fn email(draft: &Draft) -> Option<String> {
    let email = draft.buyer.as_ref()?.email.as_deref()?.trim();
    (!email.is_empty()).then(|| fold(email))
}

/// Returns `true` if the buyer's email address verifies a claim.
pub(crate) fn verified(claim: &Claim, draft: &Draft) -> bool {
    let Some(email) = email(draft) else { return false };
    let domain = email.rsplit_once('@').map(|(_, domain)| domain);
    claim.emails.iter().any(|known| fold(known) == email)
        || claim.email_domains.iter().any(|known| domain == Some(fold(known).as_str()))
}

/// Returns the messages about the claims of a draft; `granted` holds the claims on which discounts were granted.
pub(crate) fn assess(purpose: Purpose, draft: &Draft, terms: &Terms, granted: &[String]) -> Vec<Message> {
    let mut messages = Vec::new();
    for (position, id) in draft.context.eligibility.iter().enumerate() {
        let path = format!("$.context.eligibility[{position}]");
        let Some(claim) = terms.claims.iter().find(|claim| claim.id == *id && granted.contains(id)) else {
            let content = format!("The claim `{id}` has no effect here.");
            messages.push(Message::warning("eligibility_not_accepted", content).at(path));
            continue;
        };
        let verified = verified(claim, draft);
        let content = match verified {
            true => format!("{}: verified.", claim.title),
            false => format!("{}: to be verified before the purchase is completed.", claim.title),
        };
        messages.push(Message::info("eligibility_accepted", content).at(path.as_str()));
        if purpose == Purpose::Checkout && !verified {
            let content = match email(draft) {
                Some(_) => format!("{}: the buyer's email address does not verify it.", claim.title),
                None => format!("{}: the buyer's email address is needed to verify it.", claim.title),
            };
            messages.push(Message::error("eligibility_invalid", content, Severity::Recoverable).at(path));
        }
    }
    messages
}
