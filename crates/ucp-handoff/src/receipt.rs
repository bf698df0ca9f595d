//! The page of an order.

use maud::{Markup, html};
use ucp_core::{
    order::{Adjustment, AdjustmentStatus, Event, Expectation, LineStatus, Order, OrderLine},
    purchase::{
        fulfillment::MethodKind,
        totals::{TotalKind, amount_of},
    },
};

use crate::{
    language::{Text, Texts},
    page::{Frame, is_web, page, totals},
};

/// Renders the page of an order.
pub(crate) fn page_of(frame: &Frame<'_>, order: &Order) -> Markup {
    let (texts, language) = (frame.texts(), frame.language);
    let title = texts.order_title.with(&[("order", &order.label)]);
    let currency = order.currency;
    page(
        frame,
        &title,
        &html! {
            h1 { (title) }
            p.quiet { (texts.placed_on.with(&[("day", &language.day(order.placed_at))])) }
            (progress(texts, order))
            section aria-labelledby="lines" {
                h2 #lines { (texts.you_bought) }
                ul.lines {
                    @for line in &order.line_items {
                        li {
                            (frame.picture(&line.item))
                            span.what {
                                (line.item.title)
                                small {
                                    (line.total) " × " (language.amount(line.item.price.minor(), currency)) ", " (status(texts, order, line))
                                }
                            }
                            span.amount { (language.amount(amount_of(&line.totals, TotalKind::Total), currency)) }
                        }
                    }
                }
                (totals(frame, &order.totals, currency))
            }
            @if !order.expectations.is_empty() {
                section aria-labelledby="delivery" {
                    h2 #delivery { (texts.delivery) }
                    ul { @for expectation in &order.expectations { li { (expected(frame, expectation, order)) } } }
                }
            }
            @if !order.events.is_empty() {
                section aria-labelledby="events" {
                    h2 #events { (texts.happened) }
                    ul { @for event in &order.events { li { (happened(frame, event)) } } }
                }
            }
            @if !order.adjustments.is_empty() {
                section aria-labelledby="adjustments" {
                    h2 #adjustments { (texts.adjustments) }
                    ul { @for adjustment in &order.adjustments { li { (adjusted(frame, adjustment, order)) } } }
                }
            }
        },
    )
}

/// Progress of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Prepared,
    OnItsWay,
    Delivered,
}

/// Returns how far a line has come: as far as the last piece of it.
fn stage_of(order: &Order, line: &OrderLine) -> Stage {
    let arrivals = order.events.iter().filter(|event| event.kind == "delivered").flat_map(|event| &event.line_items);
    let arrived: i64 = arrivals.filter(|part| part.id == line.id).map(|part| part.quantity).sum();
    if u64::try_from(arrived).is_ok_and(|arrived| arrived >= line.total) {
        Stage::Delivered
    } else if line.status() == LineStatus::Fulfilled {
        Stage::OnItsWay
    } else {
        Stage::Prepared
    }
}

/// Returns how far a delivery has come: as far as the last of its lines.
fn stage(order: &Order, delivery: &Expectation) -> Stage {
    let lines = order.line_items.iter().filter(|line| delivery.line_items.iter().any(|part| part.id == line.id));
    let left = lines.filter(|line| line.status() != LineStatus::Removed);
    left.map(|line| stage_of(order, line)).min().unwrap_or(Stage::Prepared)
}

fn status<'t>(texts: &'t Texts, order: &Order, line: &OrderLine) -> &'t Text {
    let mut deliveries = order.expectations.iter();
    let sent = deliveries
        .any(|delivery| delivery.method.is_some() && delivery.line_items.iter().any(|part| part.id == line.id));
    match (line.status(), stage_of(order, line)) {
        (LineStatus::Removed, _) => &texts.taken_out,
        (_, Stage::Delivered) => &texts.with_you,
        (LineStatus::Fulfilled, _) => {
            if sent {
                &texts.on_its_way
            } else {
                &texts.with_you
            }
        }
        (LineStatus::Partial, _) => &texts.partly_on_its_way,
        (LineStatus::Processing, _) => &texts.being_prepared,
    }
}

/// Renders the steps of the delivery, where something is to be delivered.
fn progress(texts: &Texts, order: &Order) -> Markup {
    let sent: Vec<_> = order.expectations.iter().filter(|delivery| delivery.method.is_some()).collect();
    let picked_up = sent.iter().any(|delivery| delivery.method == Some(MethodKind::Pickup));
    let left = order.line_items.iter().any(|line| line.status() != LineStatus::Removed);
    let now = match sent.iter().map(|delivery| stage(order, delivery)).min() {
        Some(Stage::OnItsWay) => 2,
        Some(Stage::Delivered) => 3,
        Some(Stage::Prepared) | None => 1,
    };
    let steps = if picked_up {
        [&texts.step_ordered, &texts.step_prepared, &texts.step_pickup_ready, &texts.step_picked_up]
    } else {
        [&texts.step_ordered, &texts.step_prepared, &texts.step_on_its_way, &texts.step_delivered]
    };
    html! {
        @if left && !sent.is_empty() {
            section aria-labelledby="progress" {
                h2 #progress { (texts.progress) }
                ol.progress {
                    @for (position, step) in steps.into_iter().enumerate() {
                        li.done[position <= now] aria-current=[(position == now).then_some("step")] {
                            @if position == now {
                                span.unseen { (texts.step_now.with(&[("step", &step.as_str())])) }
                                span aria-hidden="true" { (step) }
                            } @else { (step) }
                        }
                    }
                }
            }
        }
    }
}

/// Renders what is to come, and roughly where to: the page may be shown around, the address need not.
fn expected(frame: &Frame<'_>, expectation: &Expectation, order: &Order) -> Markup {
    let texts = frame.texts();
    let destination = &expectation.destination;
    let place = [&destination.address_locality, &destination.address_region].into_iter().flatten().cloned();
    let country = destination.address_country.as_deref().map(|code| frame.language.country(code));
    let place: Vec<_> = place.chain(country).filter(|part| !part.is_empty()).collect();
    let text = match (expectation.method, stage(order, expectation)) {
        (None, _) => &texts.available,
        (Some(MethodKind::Shipping), Stage::Prepared) => &texts.will_be_sent_to,
        (Some(MethodKind::Shipping), Stage::OnItsWay) => &texts.on_its_way_to,
        (Some(MethodKind::Shipping), Stage::Delivered) => &texts.delivered_to,
        (Some(MethodKind::Pickup), Stage::Delivered) => &texts.picked_up_in,
        (Some(MethodKind::Pickup), _) => &texts.to_be_picked_up_in,
    };
    html! {
        (text.with(&[("place", &place.join(", "))]))
        @if let Some(description) = &expectation.description { ": " (description) }
    }
}

fn happened(frame: &Frame<'_>, event: &Event) -> Markup {
    let texts = frame.texts();
    let known = match event.kind.as_str() {
        "processing" => Some(&texts.event_processing),
        "shipped" => Some(&texts.event_shipped),
        "in_transit" => Some(&texts.event_in_transit),
        "delivered" => Some(&texts.event_delivered),
        "failed_attempt" => Some(&texts.event_failed_attempt),
        "canceled" => Some(&texts.event_canceled),
        "returned" | "returned_to_sender" => Some(&texts.event_returned),
        _ => None,
    };
    html! {
        (frame.language.day(event.occurred_at)) ": "
        @match known { Some(text) => (text), None => (event.kind.replace('_', " ")) }
        @if let Some(carrier) = &event.carrier { " " (texts.with_carrier.with(&[("carrier", carrier)])) }
        @match (&event.tracking_url, &event.tracking_number) {
            (Some(url), number) if is_web(url) => {
                ", " a href=(url) rel="noreferrer" { (texts.follow_parcel) @if let Some(number) = number { " " (number) } }
            }
            (_, Some(number)) => { ", " (texts.parcel.with(&[("number", number)])) }
            _ => {}
        }
        @if let Some(description) = &event.description { ". " (description) }
    }
}

fn adjusted(frame: &Frame<'_>, adjustment: &Adjustment, order: &Order) -> Markup {
    let texts = frame.texts();
    let sum = amount_of(&adjustment.totals, TotalKind::Total);
    let known = match adjustment.kind.as_str() {
        "refund" => Some(&texts.adjustment_refund),
        "cancellation" => Some(&texts.adjustment_cancellation),
        "return" => Some(&texts.adjustment_return),
        "credit" => Some(&texts.adjustment_credit),
        _ => None,
    };
    let status = match adjustment.status {
        AdjustmentStatus::Pending => &texts.status_pending,
        AdjustmentStatus::Completed => &texts.status_completed,
        AdjustmentStatus::Failed => &texts.status_failed,
    };
    html! {
        (frame.language.day(adjustment.occurred_at)) ": "
        @match known { Some(text) => (text), None => (adjustment.kind.replace('_', " ")) }
        " (" (status) ")"
        @if sum != 0 { ", " span.amount { (frame.language.amount(sum, order.currency)) } }
        @if let Some(description) = &adjustment.description { ". " (description) }
    }
}
