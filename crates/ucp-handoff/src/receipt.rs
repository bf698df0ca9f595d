//! The page of an order.

use maud::{Markup, html};
use ucp_core::{
    order::{Adjustment, Event, Expectation, LineStatus, Order},
    purchase::{
        fulfillment::MethodKind,
        totals::{TotalKind, amount_of},
    },
};

use crate::page::{Frame, amount, country_name, is_web, page, totals};

/// The page of an order.
pub(crate) fn page_of(frame: &Frame, order: &Order) -> Markup {
    let title = format!("Order {}", order.label);
    let currency = order.currency;
    page(
        frame,
        &title,
        &html! {
            h1 { (title) }
            p.quiet { "Placed on " (day(&order.placed_at.to_string())) "." }
            section aria-labelledby="lines" {
                h2 #lines { "What you bought" }
                ul.lines {
                    @for line in &order.line_items {
                        li {
                            span {
                                (line.item.title)
                                small { (line.total) " × " (amount(line.item.price.minor(), currency)) ", " (status(line.status())) }
                            }
                            span.amount { (amount(amount_of(&line.totals, TotalKind::Total), currency)) }
                        }
                    }
                }
                (totals(&order.totals, currency))
            }
            @if !order.expectations.is_empty() {
                section aria-labelledby="delivery" {
                    h2 #delivery { "Delivery" }
                    ul { @for expectation in &order.expectations { li { (expected(expectation)) } } }
                }
            }
            @if !order.events.is_empty() {
                section aria-labelledby="events" {
                    h2 #events { "What happened so far" }
                    ul { @for event in &order.events { li { (happened(event)) } } }
                }
            }
            @if !order.adjustments.is_empty() {
                section aria-labelledby="adjustments" {
                    h2 #adjustments { "Refunds and changes" }
                    ul { @for adjustment in &order.adjustments { li { (adjusted(adjustment, order)) } } }
                }
            }
        },
    )
}

/// The day of a time in RFC 3339.
fn day(time: &str) -> &str {
    time.split('T').next().unwrap_or(time)
}

const fn status(status: LineStatus) -> &'static str {
    match status {
        LineStatus::Processing => "being prepared",
        LineStatus::Partial => "partly with you",
        LineStatus::Fulfilled => "with you",
        LineStatus::Removed => "taken out",
    }
}

/// What is to come, and roughly where to: the page may be shown around, the address need not.
fn expected(expectation: &Expectation) -> Markup {
    let place = [&expectation.destination.address_locality, &expectation.destination.address_region];
    let place: Vec<_> = place.into_iter().flatten().map(String::as_str).filter(|part| !part.is_empty()).collect();
    let country = expectation.destination.address_country.as_deref().map(country_name);
    html! {
        @match expectation.method {
            Some(MethodKind::Pickup) => "To be picked up",
            Some(MethodKind::Shipping) => "Sent",
            None => "Available",
        }
        @if !place.is_empty() || country.is_some() {
            @if expectation.method == Some(MethodKind::Shipping) { " to " } @else { " in " }
            (place.into_iter().map(str::to_owned).chain(country).collect::<Vec<_>>().join(", "))
        }
        @if let Some(description) = &expectation.description { ": " (description) }
    }
}

fn happened(event: &Event) -> Markup {
    html! {
        (day(&event.occurred_at.to_string())) ": " (event.kind.replace('_', " "))
        @if let Some(carrier) = &event.carrier { " with " (carrier) }
        @match (&event.tracking_url, &event.tracking_number) {
            (Some(url), number) if is_web(url) => {
                ", " a href=(url) rel="noreferrer" { "follow the parcel" @if let Some(number) = number { " " (number) } }
            }
            (_, Some(number)) => { ", parcel " (number) }
            _ => {}
        }
        @if let Some(description) = &event.description { ". " (description) }
    }
}

fn adjusted(adjustment: &Adjustment, order: &Order) -> Markup {
    let sum = amount_of(&adjustment.totals, TotalKind::Total);
    html! {
        (day(&adjustment.occurred_at.to_string())) ": " (adjustment.kind.replace('_', " "))
        " (" (adjustment.status.as_str()) ")"
        @if sum != 0 { ", " span.amount { (amount(sum, order.currency)) } }
        @if let Some(description) = &adjustment.description { ". " (description) }
    }
}
