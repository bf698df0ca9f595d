//! The pages of carts and checkouts.

use maud::{Markup, html};
use ucp_core::{
    cart::Cart,
    checkout::{Checkout, Status},
    message::{Message, Severity},
    money::Currency,
    purchase::{
        buyer::{Buyer, PostalAddress},
        fulfillment::{DeliveryOption, MethodKind},
        line_item::LineItem,
        totals::{TotalKind, amount_of},
    },
    sales::handoff::{Desktop, Payment},
};

use crate::{
    address, content,
    form::{ADDRESS, DESTINATION, FIELDS, Field, Form, MAX_TEXT, OPTION, PLACE},
    guard::Way,
    language::{Text, Texts},
    page::{Frame, back, page, to_the_shop, totals},
};

/// Reason why the form that this page answers had no effect.
#[derive(Debug)]
pub(crate) enum Tried<'a> {
    /// Values in the form cannot be used.
    Faulty {
        /// The form.
        form: &'a Form,
        /// Errors, by field.
        faults: Vec<(&'static Field, String)>,
    },
    /// It was made for what is not there any more.
    Stale,
    /// The purchase does not take it where it stands.
    Closed,
}

/// The page of a cart.
pub(crate) fn cart(frame: &Frame<'_>, cart: &Cart, way: &Way) -> Markup {
    let texts = frame.texts();
    let title = texts.your_cart.as_str();
    page(
        frame,
        title,
        &html! {
            h1 { (title) }
            p { (texts.your_cart_what) }
            section aria-labelledby="lines" {
                h2 #lines { (texts.in_the_cart) }
                (lines(frame, &cart.line_items, cart.currency))
                (totals(frame, &cart.totals, cart.currency))
            }
            (notes(frame, &cart.messages))
            (back(frame, way, &texts.cart_back))
        },
    )
}

/// The page of a checkout: what is bought, and then the steps in the order in which a buyer takes them.
pub(crate) fn checkout(
    frame: &Frame<'_>,
    desktop: &Desktop,
    way: &Way,
    seal: &str,
    tried: Option<&Tried<'_>>,
) -> Markup {
    let texts = frame.texts();
    let checkout = &desktop.checkout;
    let open = checkout.status().is_open();
    let (title, what) = headline(texts, desktop);
    let faulty = matches!(tried, Some(Tried::Faulty { .. }));
    let whole_title =
        if faulty { texts.error_in_title.with(&[("title", &title.as_str())]) } else { title.as_str().into() };
    page(
        frame,
        &whole_title,
        &html! {
            h1 { (title) }
            p { (what) }
            (outcome(frame, desktop, way, tried))
            @if open && !faulty { (missing(frame, desktop)) }
            (notes(frame, &checkout.messages))
            section aria-labelledby="lines" {
                h2 #lines {
                    @match checkout.status() {
                        Status::Completed => (texts.you_bought),
                        Status::Canceled => (texts.you_did_not_buy),
                        _ => (texts.you_buy),
                    }
                }
                (lines(frame, &checkout.line_items, checkout.currency))
                (totals(frame, &checkout.totals, checkout.currency))
                @if open { (cancel(texts, desktop.version, way, seal)) }
            }
            @if open {
                (details(frame, desktop, way, seal, tried))
                (options(frame, checkout, desktop.version, way, seal))
                (payment(frame, desktop, way))
            }
            @if let Some(url) = &desktop.permalink_url {
                p { a.button href=(url) { (texts.look_at_order) } }
            }
            @if let Some(url) = desktop.bank() {
                p { a.button href=(url) rel="noreferrer" { (texts.go_to_bank) } }
                (cancel(texts, desktop.version, way, seal))
            }
            @if let Some(url) = desktop.device() {
                iframe hidden src=(url) title="" referrerpolicy="no-referrer" {}
            }
            @if desktop.is_waiting() {
                p { a.button href=(way.here()) { (texts.look_again) } }
            }
            (back(frame, way, &texts.leave_page))
            @if checkout.status() == Status::Canceled { (to_the_shop(frame)) }
        },
    )
}

/// Returns a title and a sentence for the state of the purchase.
fn headline<'t>(texts: &'t Texts, desktop: &Desktop) -> (&'t Text, String) {
    let (title, what) = match desktop.checkout.status() {
        Status::Completed => {
            let label = desktop.checkout.state.order().map(|order| order.label.clone()).unwrap_or_default();
            return (&texts.done_title, texts.done_what.with(&[("order", &label)]));
        }
        Status::Canceled => (&texts.canceled_title, &texts.canceled_what),
        Status::CompleteInProgress if desktop.bank().is_some() => (&texts.bank_title, &texts.bank_what),
        Status::CompleteInProgress => (&texts.paying_title, &texts.paying_what),
        _ if desktop.is_payable() && desktop.wants_approval() => (&texts.review_title, &texts.review_what),
        _ if desktop.is_payable() && desktop.payment != Payment::Elsewhere => (&texts.ready_title, &texts.ready_here),
        _ if desktop.is_payable() => (&texts.ready_title, &texts.ready_elsewhere),
        _ => (&texts.missing_title, &texts.missing_what),
    };
    (title, what.as_str().to_owned())
}

/// Renders the outcome of the step that was just taken or tried.
fn outcome(frame: &Frame<'_>, desktop: &Desktop, way: &Way, tried: Option<&Tried<'_>>) -> Markup {
    let texts = frame.texts();
    let alarm = |title: &Text, content: &Markup| {
        html! {
            div.note.alarm role="alert" tabindex="-1" autofocus { h2 { (title) } (content) }
        }
    };
    let failed = |title: &Text, content: &Text| alarm(title, &html! { p { (content) } });
    let good = |title: &Text, content: &Text| {
        html! {
            div.note.good role="status" tabindex="-1" autofocus { h2 { (title) } p { (content) } }
        }
    };
    let checkout = &desktop.checkout;
    match tried {
        Some(Tried::Faulty { faults, .. }) => {
            let list =
                html! { ul { @for (field, content) in faults { li { a href={ "#" (field.name) } { (content) } } } } };
            return alarm(&texts.correct_this, &list);
        }
        Some(Tried::Stale) => return failed(&texts.stale, &texts.stale_what),
        Some(Tried::Closed) => return failed(&texts.closed, &texts.closed_what),
        None => {}
    }
    match way.done() {
        Some("details") if checkout.status().is_open() => good(&texts.saved, &texts.details_saved),
        Some("delivery") if checkout.status().is_open() => good(&texts.saved, &texts.delivery_saved),
        Some("approve") if desktop.wants_approval() => failed(&texts.look_once_more, &texts.price_changed),
        Some("approve") if checkout.status().is_open() => html! {
            (good(&texts.approved, &texts.approved_what))
            @if let Some((url, host)) = way.back() {
                p { a.button href=(url) rel="noreferrer" { (texts.back_to.with(&[("place", &host)])) } }
            }
        },
        Some("pay") if checkout.status() == Status::Completed => good(&texts.paid, &texts.paid_what),
        Some("pay") if checkout.status().is_open() => failed(&texts.nothing_paid, &texts.nothing_paid_what),
        _ => html! {},
    }
}

/// Renders the errors that keep the purchase from being completed, with links to the parts of the page that resolve them.
fn missing(frame: &Frame<'_>, desktop: &Desktop) -> Markup {
    let texts = frame.texts();
    let errors: Vec<_> =
        desktop.checkout.messages.iter().filter(|message| matches!(message, Message::Error { .. })).collect();
    html! {
        @if !errors.is_empty() {
            div.note.alarm {
                h2 { @if desktop.is_payable() { (texts.one_more_thing) } @else { (texts.what_is_missing) } }
                ul {
                    @for error in errors {
                        li {
                            @match place(texts, error, desktop) {
                                Some((id, text)) => a href={ "#" (id) } {
                                    @match text { Some(text) => (text), None => (content(frame, error)) }
                                },
                                None => (content(frame, error)),
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The field that an error is about, and what to say about it if that is not what the error says.
fn place(texts: &Texts, error: &Message, desktop: &Desktop) -> Option<(String, Option<String>)> {
    let Message::Error { code, path, severity, .. } = error else { return None };
    if matches!(code.as_str(), "requires_3ds" | "payment_failed") {
        let asked = (code == "requires_3ds").then(|| texts.bank_asks.as_str().to_owned());
        return (desktop.payment == Payment::Here).then(|| ("pay".to_owned(), asked));
    }
    if *severity == Severity::RequiresBuyerReview {
        return Some(("pay".to_owned(), None));
    }
    let path = path.as_deref()?;
    let field = FIELDS.iter().find(|field| {
        let within = if field.address { path.starts_with("$.fulfillment") } else { path.starts_with("$.buyer") };
        within && path.ends_with(&format!(".{}", field.name))
    });
    if let Some(field) = field {
        let here = !field.address || desktop.delivery.shipping;
        let text = match code.as_str() {
            "field_required" => Some(texts.field_needed.with(&[("field", &(field.label)(texts).as_str())])),
            "field_invalid" => Some(texts.field_invalid.with(&[("field", &(field.label)(texts).as_str())])),
            _ => None,
        };
        return here.then(|| (field.name.to_owned(), text));
    }
    if path.starts_with("$.fulfillment") && path.contains("groups") {
        return Some(("delivery".to_owned(), None));
    }
    let text = (code == "fulfillment_required").then(|| texts.delivery_needed.as_str().to_owned());
    (path.starts_with("$.fulfillment") && desktop.delivery.is_some()).then(|| ("destination".to_owned(), text))
}

/// Renders the messages that are not errors.
pub(crate) fn notes(frame: &Frame<'_>, messages: &[Message]) -> Markup {
    let notes: Vec<_> = messages.iter().filter(|message| !matches!(message, Message::Error { .. })).collect();
    html! {
        @if !notes.is_empty() {
            div.note {
                h2 { (frame.texts().good_to_know) }
                ul { @for note in notes { li { (content(frame, note)) } } }
            }
        }
    }
}

/// The lines of a purchase.
pub(crate) fn lines(frame: &Frame<'_>, lines: &[LineItem], currency: Currency) -> Markup {
    let amount = |minor| frame.language.amount(minor, currency);
    html! {
        ul.lines {
            @for line in lines {
                li {
                    (frame.picture(&line.item))
                    span.what { (line.item.title) small { (line.quantity) " × " (amount(line.item.price.minor())) } }
                    span.amount { (amount(amount_of(&line.totals, TotalKind::Subtotal))) }
                }
            }
        }
    }
}

/// Renders the hidden fields that every form carries.
pub(crate) fn carried(version: u64, seal: &str, step: &str) -> Markup {
    html! {
        input type="hidden" name="version" value=(version);
        input type="hidden" name="seal" value=(seal);
        input type="hidden" name="step" value=(step);
    }
}

/// The form for who buys and where it goes.
fn details(frame: &Frame<'_>, desktop: &Desktop, way: &Way, seal: &str, tried: Option<&Tried<'_>>) -> Markup {
    let texts = frame.texts();
    let checkout = &desktop.checkout;
    let (form, faults): (Option<&Form>, &[(&Field, String)]) = match tried {
        Some(Tried::Faulty { form, faults }) => (Some(form), faults),
        _ => (None, &[]),
    };
    let method = checkout.fulfillment.as_ref().and_then(|fulfillment| fulfillment.methods.first());
    let chosen = method.and_then(|method| {
        method.destinations.iter().find(|destination| Some(&destination.id) == method.selected_destination_id.as_ref())
    });
    let sent = chosen.filter(|_| method.is_some_and(|method| method.kind == MethodKind::Shipping));
    let value = |field: &Field| {
        let written = form.and_then(|form| form.text(field.name)).map(str::to_owned);
        let kept = || {
            if field.address {
                sent.and_then(|destination| of_address(&destination.address, field.name))
            } else {
                checkout.draft.buyer.as_ref().and_then(|buyer| of_buyer(buyer, field.name))
            }
        };
        written.or_else(kept).unwrap_or_default()
    };
    let picked = method
        .filter(|method| method.kind == MethodKind::Pickup)
        .and(chosen)
        .map(|place| format!("{PLACE}{}", place.id));
    let goal = form.and_then(|form| form.text(DESTINATION)).map(str::to_owned).or(picked);
    let fault =
        |field: &Field| faults.iter().find(|(own, _)| own.name == field.name).map(|(_, content)| content.as_str());
    let delivery = &desktop.delivery;
    html! {
        section aria-labelledby="details" {
            h2 #details { (texts.your_details) }
            form method="post" action=(way.here()) novalidate {
                (carried(desktop.version, seal, "details"))
                div.pair {
                    @for field in FIELDS.iter().filter(|field| !field.address) { (input(frame, field, &value(field), fault(field))) }
                }
                @if delivery.is_some() {
                    fieldset #destination tabindex="-1" {
                        legend { (texts.where_to) }
                        @if delivery.places.is_empty() {
                            input type="hidden" name=(DESTINATION) value=(ADDRESS);
                        } @else {
                            @if delivery.shipping {
                                (choice(DESTINATION, ADDRESS, texts.to_this_address.as_str(), goal.as_deref().is_none_or(|goal| goal == ADDRESS)))
                            }
                            @for (id, name) in &delivery.places {
                                @let value = format!("{PLACE}{id}");
                                (choice(DESTINATION, &value, &texts.pick_up_at.with(&[("place", name)]), goal.as_ref() == Some(&value)))
                            }
                        }
                        @if delivery.shipping {
                            div.pair {
                                @for field in FIELDS.iter().filter(|field| field.address) {
                                    (input(frame, field, &value(field), fault(field)))
                                }
                            }
                        }
                    }
                }
                button.second { (texts.save) }
            }
        }
    }
}

fn of_buyer(buyer: &Buyer, name: &str) -> Option<String> {
    match name {
        "first_name" => buyer.first_name.clone(),
        "last_name" => buyer.last_name.clone(),
        "email" => buyer.email.clone(),
        "phone_number" => buyer.phone_number.clone(),
        _ => None,
    }
}

fn of_address(address: &PostalAddress, name: &str) -> Option<String> {
    match name {
        "street_address" => address.street_address.clone(),
        "extended_address" => address.extended_address.clone(),
        "address_locality" => address.address_locality.clone(),
        "address_region" => address.address_region.clone(),
        "address_country" => address.address_country.clone(),
        "postal_code" => address.postal_code.clone(),
        _ => None,
    }
}

fn input(frame: &Frame<'_>, field: &Field, value: &str, fault: Option<&str>) -> Markup {
    let Field { name, label, autocomplete, .. } = *field;
    let described = fault.map(|_| format!("{name}-fault"));
    let invalid = fault.map(|_| "true");
    let kind = match name {
        "email" => "email",
        "phone_number" => "tel",
        _ => "text",
    };
    html! {
        div.field {
            label for=(name) { (label(frame.texts())) }
            @if let (Some(fault), Some(id)) = (fault, &described) { span.fault id=(id) { (fault) } }
            @if name == "address_country" {
                select id=(name) name=(name) autocomplete=(autocomplete) aria-describedby=[&described] aria-invalid=[invalid] {
                    (countries(frame, value))
                }
            } @else {
                input type=(kind) id=(name) name=(name) value=(value) autocomplete=(autocomplete) maxlength=(MAX_TEXT)
                    aria-describedby=[&described] aria-invalid=[invalid];
            }
        }
    }
}

fn countries(frame: &Frame<'_>, value: &str) -> Markup {
    let value = value.trim().to_ascii_uppercase();
    let countries = frame.language.countries();
    let known = countries.iter().any(|(_, code)| *code == value);
    html! {
        option value="" selected[value.is_empty()] { (frame.texts().please_choose) }
        @if !known && !value.is_empty() { option value=(value) selected { (value) } }
        @for (name, code) in countries { option value=(code) selected[code == value] { (name) } }
    }
}

fn choice(name: &str, value: &str, text: &str, checked: bool) -> Markup {
    let id = format!("{name}-{value}");
    html! {
        div.choice {
            input type="radio" id=(id) name=(name) value=(value) checked[checked];
            label for=(id) { (text) }
        }
    }
}

/// The form for how packages travel, where there is a choice.
fn options(frame: &Frame<'_>, checkout: &Checkout, version: u64, way: &Way, seal: &str) -> Markup {
    let texts = frame.texts();
    let methods = checkout.fulfillment.iter().flat_map(|fulfillment| &fulfillment.methods).enumerate();
    let groups: Vec<_> = methods
        .flat_map(|(position, method)| method.groups.iter().map(move |group| (position, group)))
        .filter(|(_, group)| group.options.len() > 1)
        .collect();
    let titles = |ids: &[String]| {
        let title =
            |id: &String| checkout.line_items.iter().find(|line| line.id == *id).map(|line| line.item.title.as_str());
        ids.iter().filter_map(title).collect::<Vec<_>>().join(", ")
    };
    html! {
        @if !groups.is_empty() {
            section aria-labelledby="delivery" {
                h2 #delivery tabindex="-1" { (texts.delivery) }
                form method="post" action=(way.here()) {
                    (carried(version, seal, "delivery"))
                    @for (method, group) in groups {
                        fieldset {
                            legend { (texts.how_to_travel.with(&[("goods", &titles(&group.line_item_ids))])) }
                            @for option in &group.options {
                                (choice(
                                    &format!("{OPTION}{method}:{}", group.id),
                                    &option.id,
                                    &option_text(frame, option, checkout.currency),
                                    group.selected_option_id.as_ref() == Some(&option.id),
                                ))
                            }
                        }
                    }
                    button.second { (texts.choose_delivery) }
                }
            }
        }
    }
}

fn option_text(frame: &Frame<'_>, option: &DeliveryOption, currency: Currency) -> String {
    let (texts, language) = (frame.texts(), frame.language);
    let price = match amount_of(&option.totals, TotalKind::Total) {
        0 => texts.free.as_str().to_owned(),
        minor => language.amount(minor, currency),
    };
    let by = |latest| texts.with_you_by.with(&[("day", &language.day(latest))]);
    let arrival = option.latest.map(|latest| format!(", {}", by(latest))).unwrap_or_default();
    let more = option.description.as_deref().map(|more| format!(". {more}")).unwrap_or_default();
    format!("{}, {price}{arrival}{more}", option.title)
}

/// Renders the section on payment, with a link to the confirmation once the checkout is payable.
fn payment(frame: &Frame<'_>, desktop: &Desktop, way: &Way) -> Markup {
    let texts = frame.texts();
    let checkout = &desktop.checkout;
    let sum = frame.language.amount(amount_of(&checkout.totals, TotalKind::Total), checkout.currency);
    let strong = html! { strong { (sum) } };
    html! {
        section aria-labelledby="pay" {
            h2 #pay tabindex="-1" { @if desktop.wants_approval() { (texts.your_approval) } @else { (texts.payment) } }
            @match (desktop.payment, desktop.is_payable()) {
                _ if desktop.is_payable() && desktop.wants_approval() => {
                    p { (texts.comes_to.around("sum", &strong)) }
                    p { a.button href=(way.to_confirmation()) { (texts.go_to_approval) } }
                }
                (Payment::Elsewhere, _) => {
                    p { (texts.paid_elsewhere) }
                }
                (_, false) => p { (texts.pay_later.with(&[("sum", &sum)])) },
                (Payment::Free, true) => {
                    p { (texts.nothing_to_pay) }
                    p { a.button href=(way.to_confirmation()) { (texts.go_to_order) } }
                }
                (Payment::Here, true) => {
                    p { (texts.you_pay.around("sum", &strong)) }
                    p { a.button href=(way.to_confirmation()) { (texts.go_to_pay) } }
                }
            }
        }
    }
}

fn cancel(texts: &Texts, version: u64, way: &Way, seal: &str) -> Markup {
    html! {
        details {
            summary { (texts.do_not_want) }
            p { (texts.given_up) }
            form method="post" action=(way.here()) {
                (carried(version, seal, "cancel"))
                button.second { (texts.cancel_purchase) }
            }
        }
    }
}

/// Renders the destinations and the chosen shipping options, in short.
pub(crate) fn deliveries(frame: &Frame<'_>, checkout: &Checkout) -> Markup {
    let texts = frame.texts();
    let methods = checkout.fulfillment.iter().flat_map(|fulfillment| &fulfillment.methods);
    html! {
        @for method in methods {
            @let chosen = method.destinations.iter().find(|destination| Some(&destination.id) == method.selected_destination_id.as_ref());
            @if let Some(destination) = chosen {
                div {
                    dt { @match method.kind { MethodKind::Shipping => (texts.sent_to), MethodKind::Pickup => (texts.picked_up_at) } }
                    dd {
                        @if let Some(name) = &destination.name { (name) br; }
                        (address::lines(&destination.address, frame.language))
                    }
                }
            }
            @for group in &method.groups {
                @if let Some(option) = group.options.iter().find(|option| Some(&option.id) == group.selected_option_id.as_ref()) {
                    div { dt { (texts.delivery) } dd { (option.title) } }
                }
            }
        }
    }
}
