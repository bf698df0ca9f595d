//! Gift cards and store credit, which pay a part of what is due.

use crate::{
    message::Message,
    purchase::{
        quote::Facts,
        totals::{TooLarge, Totals},
    },
};

/// Subtracts the credits from what is due, each at most what the ones before it leave, so that no total is below zero.
/// For each of the submitted `codes` that stands for a credit, a message names what it pays. Fails with [`TooLarge`] if
/// an amount exceeds what can be represented, which an amount that is paid never does.
pub(crate) fn subtract(
    facts: &Facts,
    codes: &[String],
    totals: &mut Totals,
    messages: &mut Vec<Message>,
) -> Result<(), TooLarge> {
    for credit in &facts.credits {
        let paid = i128::from(credit.amount.minor()).min(totals.sum());
        totals.push(credit.kind.total(), Some(credit.title.clone()), -paid)?;
        if let Some(position) = codes.iter().position(|code| credit.is_for(code)) {
            let amount = facts.currency.amount(paid);
            let content = format!("{amount} of the total are paid by \"{}\".", credit.title);
            messages.push(Message::info("credit_applied", content).at(format!("$.discounts.codes[{position}]")));
        }
    }
    Ok(())
}
