//! The page on which a buyer confirms: approves the purchase, where the shop wants that, or pays for it, with what a
//! bank would show, in a shop that only plays.

use maud::{Markup, html};
use ucp_core::{
    purchase::totals::{TotalKind, amount_of},
    sales::handoff::{Desktop, Payment},
};

use crate::{
    guard::Way,
    page::{Frame, page, totals},
    purchase::{carried, deliveries, lines, notes},
};

/// The page on which a buyer confirms.
pub(crate) fn page_of(frame: &Frame<'_>, desktop: &Desktop, way: &Way, seal: &str) -> Markup {
    let checkout = &desktop.checkout;
    let texts = frame.texts();
    let sum = frame.language.amount(amount_of(&checkout.totals, TotalKind::Total), checkout.currency);
    let free = desktop.payment == Payment::Free;
    let approves = desktop.wants_approval();
    let title = match desktop.payment {
        Payment::Here if !approves => &texts.confirm_payment,
        _ => &texts.confirm_order,
    };
    let buyer = checkout.draft.buyer.as_ref();
    let name: Vec<_> = buyer
        .into_iter()
        .flat_map(|buyer| [&buyer.first_name, &buyer.last_name])
        .filter_map(|part| part.as_deref())
        .collect();
    page(
        frame,
        title.as_str(),
        &html! {
            h1 { (title) }
            @if approves {
                p { (texts.shop_wants_review) }
                ul { @for reason in desktop.reasons_to_approve() { li lang=[frame.language.other_than_english()] { (reason) } } }
            } @else if desktop.payment != Payment::Elsewhere {
                p { (texts.check_once_more) }
            }
            (notes(frame, &checkout.messages))
            section aria-labelledby="lines" {
                h2 #lines { (texts.you_buy) }
                (lines(frame, &checkout.line_items, checkout.currency))
                (totals(frame, &checkout.totals, checkout.currency))
            }
            section aria-labelledby="who" {
                h2 #who { (texts.for_whom) }
                dl.facts {
                    @if !name.is_empty() { div { dt { (texts.name) } dd { (name.join(" ")) } } }
                    @if let Some(email) = buyer.and_then(|buyer| buyer.email.as_deref()) {
                        div { dt { (texts.email) } dd { (email) } }
                    }
                    (deliveries(frame, checkout))
                }
            }
            @if approves {
                section aria-labelledby="approval" {
                    h2 #approval { (texts.your_approval) }
                    p { (texts.approval_what) }
                    div.actions {
                        form method="post" action=(way.here()) {
                            (carried(desktop.version, seal, "approve"))
                            button { (texts.approve) }
                        }
                        a.button.second href=(way.here()) { (texts.back_unapproved) }
                    }
                }
            }
            @match desktop.payment {
                Payment::Elsewhere if approves => {}
                Payment::Elsewhere => p { (texts.not_payable_here) },
                Payment::Free | Payment::Here => {
                    @if approves { p { (texts.or_here) } }
                    section.bank aria-labelledby="bank" {
                        h2 #bank { @if free { (texts.your_word) } @else { (texts.sandbox_asks) } }
                        @if free {
                            p { (texts.nothing_to_pay) }
                        } @else {
                            p { (texts.shop_wants.with(&[("shop", &frame.shop), ("sum", &sum)])) }
                            p.quiet { (texts.sandbox_plays) }
                        }
                        div.actions {
                            a.button.second href=(way.here()) { (texts.back_unpaid) }
                            form method="post" action=(way.here()) {
                                (carried(desktop.version, seal, "pay"))
                                button { @if free { (texts.confirm_the_order) } @else { (texts.confirm_and_pay.with(&[("sum", &sum)])) } }
                            }
                        }
                    }
                }
            }
        },
    )
}
