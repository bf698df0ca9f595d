//! The page on which a buyer confirms: approves the purchase, where the shop wants that, or pays for it, with what a
//! bank would show, in a shop that only plays.

use maud::{Markup, html};
use ucp_core::{
    checkout::handoff::{Desktop, Payment},
    purchase::totals::{TotalKind, amount_of},
};

use crate::{
    guard::Way,
    page::{Frame, amount, page, totals},
    purchase::{carried, deliveries, lines, notes},
};

/// The page on which a buyer confirms.
pub(crate) fn page_of(frame: &Frame, desktop: &Desktop, way: &Way, seal: &str) -> Markup {
    let checkout = &desktop.checkout;
    let sum = amount(amount_of(&checkout.totals, TotalKind::Total), checkout.currency);
    let free = desktop.payment == Payment::Free;
    let approves = desktop.wants_approval();
    let title = match desktop.payment {
        Payment::Here if !approves => "Confirm your payment",
        _ => "Confirm your order",
    };
    let buyer = checkout.draft.buyer.as_ref();
    let name: Vec<_> = buyer
        .into_iter()
        .flat_map(|buyer| [&buyer.first_name, &buyer.last_name])
        .filter_map(|part| part.as_deref())
        .collect();
    page(
        frame,
        title,
        &html! {
            h1 { (title) }
            @if approves {
                p { "The shop asks you to look at this yourself before it is bought:" }
                ul { @for reason in desktop.reasons_to_approve() { li { (reason) } } }
            } @else if desktop.payment != Payment::Elsewhere {
                p { "Please check everything once more. With the button at the end you buy it." }
            }
            (notes(&checkout.messages))
            section aria-labelledby="lines" {
                h2 #lines { "What you are buying" }
                (lines(&checkout.line_items, checkout.currency))
                (totals(&checkout.totals, checkout.currency))
            }
            section aria-labelledby="who" {
                h2 #who { "For whom" }
                dl.facts {
                    @if !name.is_empty() { div { dt { "Name" } dd { (name.join(" ")) } } }
                    @if let Some(email) = buyer.and_then(|buyer| buyer.email.as_deref()) {
                        div { dt { "E-mail address" } dd { (email) } }
                    }
                    (deliveries(checkout))
                }
            }
            @if approves {
                section aria-labelledby="approval" {
                    h2 #approval { "Your approval" }
                    p { "With this you agree to what is above. Your assistant buys it then, and cannot buy anything else on it." }
                    div.actions {
                        form method="post" action=(way.here()) {
                            (carried(desktop.version, seal, "approve"))
                            button { "I approve this purchase" }
                        }
                        a.button.second href=(way.here()) { "Back, without approving" }
                    }
                }
            }
            @match desktop.payment {
                Payment::Elsewhere if approves => {}
                Payment::Elsewhere => p { "This cannot be paid on this page." },
                Payment::Free | Payment::Here => {
                    @if approves { p { "Or finish it here yourself:" } }
                    section.bank aria-labelledby="bank" {
                        h2 #bank { @if free { "Your word" } @else { "The sandbox bank asks" } }
                        @if free {
                            p { "There is nothing to pay." }
                        } @else {
                            p { (frame.shop) " wants " strong { (sum) } ". Is that you, and do you agree?" }
                            p.quiet { "This is a bank to play with. No money moves." }
                        }
                        div.actions {
                            form method="post" action=(way.here()) {
                                (carried(desktop.version, seal, "pay"))
                                button { @if free { "Confirm the order" } @else { "Confirm and pay " (sum) } }
                            }
                            a.button.second href=(way.here()) { "Back, without paying" }
                        }
                    }
                }
            }
        },
    )
}
