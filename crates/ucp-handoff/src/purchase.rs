//! The pages of carts and checkouts.

use maud::{Markup, html};
use ucp_core::{
    cart::Cart,
    checkout::{
        Checkout, Status,
        handoff::{Desktop, Payment},
    },
    country::Country,
    message::{Message, Severity},
    purchase::{
        buyer::{Buyer, PostalAddress},
        fulfillment::{DeliveryOption, MethodKind},
        line_item::LineItem,
        totals::{TotalKind, amount_of},
    },
};

use crate::{
    content,
    form::{ADDRESS, DESTINATION, FIELDS, Field, Form, MAX_TEXT, OPTION, PLACE},
    guard::Way,
    page::{Frame, address, amount, back, page, to_the_shop, totals},
};

/// What became of the form that this page answers, where that was nothing.
#[derive(Debug)]
pub(crate) enum Tried<'a> {
    /// What is written in it cannot be used.
    Faulty {
        /// The form.
        form: &'a Form,
        /// What is wrong, by field.
        faults: Vec<(&'static Field, String)>,
    },
    /// It was made for what is not there any more.
    Stale,
    /// The purchase does not take it where it stands.
    Closed,
}

/// The page of a cart.
pub(crate) fn cart(frame: &Frame, cart: &Cart, way: &Way) -> Markup {
    let title = "Your cart";
    page(
        frame,
        title,
        &html! {
            h1 { (title) }
            p { "This is what your assistant has put together for you. Nothing is bought yet." }
            section aria-labelledby="lines" {
                h2 #lines { "What is in it" }
                (lines(&cart.line_items, cart.currency))
                (totals(&cart.totals, cart.currency))
            }
            (notes(&cart.messages))
            (back(way, "To buy it, or to change something, go back to your assistant."))
        },
    )
}

/// The page of a checkout.
pub(crate) fn checkout(frame: &Frame, desktop: &Desktop, way: &Way, seal: &str, tried: Option<&Tried<'_>>) -> Markup {
    let checkout = &desktop.checkout;
    let open = checkout.status().is_open();
    let (title, what) = headline(desktop);
    let stands = html! {
        section aria-labelledby="lines" {
            h2 #lines {
                @match checkout.status() {
                    Status::Completed => "What you bought",
                    Status::Canceled => "What it was about",
                    _ => "What you are buying",
                }
            }
            (lines(&checkout.line_items, checkout.currency))
            (totals(&checkout.totals, checkout.currency))
        }
    };
    let prefix = if matches!(tried, Some(Tried::Faulty { .. })) { "Error: " } else { "" };
    page(
        frame,
        &format!("{prefix}{title}"),
        &html! {
            h1 { (title) }
            p { (what) }
            (outcome(desktop, way, tried))
            @if open && !matches!(tried, Some(Tried::Faulty { .. })) { (missing(desktop)) }
            (notes(&checkout.messages))
            (stands)
            @if open {
                // What comes next comes first.
                @if desktop.is_payable() { (payment(desktop, way)) }
                (details(desktop, way, seal, tried))
                (options(checkout, desktop.version, way, seal))
                @if !desktop.is_payable() { (payment(desktop, way)) }
                (cancel(desktop.version, way, seal))
            }
            @if let Some(url) = &desktop.permalink_url {
                p { a.button href=(url) { "Look at the order" } }
            }
            @if let Some(url) = desktop.bank() {
                p { a.button href=(url) rel="noreferrer" { "Go to your bank" } }
                (cancel(desktop.version, way, seal))
            }
            @if desktop.is_waiting() {
                p { a.button href=(way.here()) { "Look again" } }
            }
            (back(way, "You can leave this page at any time and go back to your assistant. It sees what you did here."))
            @if checkout.status() == Status::Canceled { (to_the_shop(frame)) }
        },
    )
}

/// Where the purchase stands, in the words of the page.
fn headline(desktop: &Desktop) -> (String, String) {
    match desktop.checkout.status() {
        Status::Completed => {
            let label = desktop.checkout.state.order().map(|order| order.label.clone()).unwrap_or_default();
            ("Thank you, it is yours".into(), format!("This is order {label}. It is paid, and your assistant knows."))
        }
        Status::Canceled => ("This purchase was canceled".into(), "Nothing was paid, and nothing will be.".into()),
        Status::CompleteInProgress if desktop.bank().is_some() => (
            "Your bank asks you to confirm".into(),
            "Nothing is paid yet. You confirm the payment on a page of your bank, and come back here after that."
                .into(),
        ),
        Status::CompleteInProgress => (
            "Your payment is on its way".into(),
            "The bank has not answered yet. You will not be charged twice: please wait, and do not pay again.".into(),
        ),
        _ if desktop.is_payable() && desktop.wants_approval() => (
            "Please look at your purchase".into(),
            "Nothing is missing, and nothing is paid yet. The shop asks you to approve it yourself, on the next page."
                .into(),
        ),
        _ if desktop.is_payable() && desktop.payment != Payment::Elsewhere => {
            ("Your purchase is ready".into(), "Please check everything. You confirm it on the next page.".into())
        }
        _ if desktop.is_payable() => (
            "Your purchase is ready".into(),
            "Nothing is missing. Your assistant pays for it; you can still change things here.".into(),
        ),
        _ => (
            "Finish your purchase".into(),
            "Your assistant has prepared this for you. A few things are missing, and nothing is paid yet.".into(),
        ),
    }
}

/// What became of the step that was just taken or tried.
fn outcome(desktop: &Desktop, way: &Way, tried: Option<&Tried<'_>>) -> Markup {
    let faults = |faults: &[(&'static Field, String)]| {
        html! {
            div.note.alarm role="alert" tabindex="-1" autofocus {
                h2 { "Please correct this" }
                ul { @for (field, content) in faults { li { a href={ "#" (field.name) } { (content) } } } }
            }
        }
    };
    let alarm = |title: &str, content: &str| {
        html! {
            div.note.alarm role="alert" tabindex="-1" autofocus { h2 { (title) } p { (content) } }
        }
    };
    let good = |title: &str, content: &str| {
        html! {
            div.note.good role="status" tabindex="-1" autofocus { h2 { (title) } p { (content) } }
        }
    };
    let checkout = &desktop.checkout;
    match tried {
        Some(Tried::Faulty { faults: found, .. }) => return faults(found),
        Some(Tried::Stale) => {
            let content = "Something changed in the meantime: in another window, or because your assistant changed it. What \
                           you sent was not used. This is how it stands now; please check it again.";
            return alarm("The purchase is not what it was", content);
        }
        Some(Tried::Closed) => {
            return alarm(
                "This cannot be done any more",
                "The purchase takes no changes of this kind where it stands now.",
            );
        }
        None => {}
    }
    match way.done() {
        Some("details") if checkout.status().is_open() => good("Saved", "Your details are saved."),
        Some("delivery") if checkout.status().is_open() => good("Saved", "Your choice of delivery is saved."),
        Some("approve") if desktop.wants_approval() => {
            alarm("Please look at it again", "What it costs has changed meanwhile. This is how it stands now.")
        }
        Some("approve") if checkout.status().is_open() => {
            let said = good("Approved", "Your assistant can go on now, and sees that you approved this purchase.");
            html! {
                (said)
                @if let Some((url, host)) = way.back() { p { a.button href=(url) rel="noreferrer" { "Back to " (host) } } }
            }
        }
        Some("pay") if checkout.status() == Status::Completed => good("Paid", "The payment went through."),
        Some("pay") if checkout.status().is_open() => {
            alarm("Nothing was paid", "The purchase is still open. Below is what came in between.")
        }
        _ => html! {},
    }
}

/// What keeps the purchase from being completed, with links to where it can be said.
fn missing(desktop: &Desktop) -> Markup {
    let errors: Vec<_> =
        desktop.checkout.messages.iter().filter(|message| matches!(message, Message::Error { .. })).collect();
    html! {
        @if !errors.is_empty() {
            div.note.alarm {
                h2 { @if desktop.is_payable() { "One more thing" } @else { "What is missing" } }
                ul {
                    @for error in errors {
                        li {
                            @match place(error, desktop) {
                                Some((id, text)) => a href={ "#" (id) } { (text.unwrap_or_else(|| content(error).to_owned())) },
                                None => (content(error)),
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The field that an error is about, and what to say about it if that is not what the error says.
fn place(error: &Message, desktop: &Desktop) -> Option<(String, Option<String>)> {
    let Message::Error { code, path, severity, .. } = error else { return None };
    if matches!(code.as_str(), "requires_3ds" | "payment_failed") {
        let asked = (code == "requires_3ds").then(|| "Your bank asks you to confirm the payment".to_owned());
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
            "field_required" => Some(format!("{} is needed", field.label)),
            "field_invalid" => Some(format!("{} does not look right", field.label)),
            _ => None,
        };
        return here.then(|| (field.name.to_owned(), text));
    }
    if path.starts_with("$.fulfillment") && path.contains("groups") {
        return Some(("delivery".to_owned(), None));
    }
    (path.starts_with("$.fulfillment") && desktop.delivery.is_some()).then(|| ("destination".to_owned(), None))
}

/// What is worth knowing.
pub(crate) fn notes(messages: &[Message]) -> Markup {
    let notes: Vec<_> = messages.iter().filter(|message| !matches!(message, Message::Error { .. })).collect();
    html! {
        @if !notes.is_empty() {
            div.note {
                h2 { "Good to know" }
                ul { @for note in notes { li { (content(note)) } } }
            }
        }
    }
}

/// The lines of a purchase.
pub(crate) fn lines(lines: &[LineItem], currency: ucp_core::money::Currency) -> Markup {
    html! {
        ul.lines {
            @for line in lines {
                li {
                    span { (line.item.title) small { (line.quantity) " × " (amount(line.item.price.minor(), currency)) } }
                    span.amount { (amount(amount_of(&line.totals, TotalKind::Subtotal), currency)) }
                }
            }
        }
    }
}

/// What every form carries.
pub(crate) fn carried(version: u64, seal: &str, step: &str) -> Markup {
    html! {
        input type="hidden" name="version" value=(version);
        input type="hidden" name="seal" value=(seal);
        input type="hidden" name="step" value=(step);
    }
}

/// The form for who buys and where it goes.
fn details(desktop: &Desktop, way: &Way, seal: &str, tried: Option<&Tried<'_>>) -> Markup {
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
            h2 #details { "Your details" }
            form method="post" action=(way.here()) novalidate {
                (carried(desktop.version, seal, "details"))
                div.pair {
                    @for field in FIELDS.iter().filter(|field| !field.address) { (input(field, &value(field), fault(field))) }
                }
                @if delivery.is_some() {
                    fieldset #destination tabindex="-1" {
                        legend { "Where should it go?" }
                        @if delivery.places.is_empty() {
                            input type="hidden" name=(DESTINATION) value=(ADDRESS);
                        } @else {
                            @if delivery.shipping {
                                (choice(DESTINATION, ADDRESS, "To this address", goal.as_deref().is_none_or(|goal| goal == ADDRESS)))
                            }
                            @for (id, name) in &delivery.places {
                                @let value = format!("{PLACE}{id}");
                                (choice(DESTINATION, &value, &format!("I pick it up at {name}"), goal.as_ref() == Some(&value)))
                            }
                        }
                        @if delivery.shipping {
                            div.pair {
                                @for field in FIELDS.iter().filter(|field| field.address) {
                                    (input(field, &value(field), fault(field)))
                                }
                            }
                        }
                    }
                }
                button.second { "Save" }
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

fn input(field: &Field, value: &str, fault: Option<&str>) -> Markup {
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
            label for=(name) { (label) }
            @if let (Some(fault), Some(id)) = (fault, &described) { span.fault id=(id) { (fault) } }
            @if name == "address_country" {
                select id=(name) name=(name) autocomplete=(autocomplete) aria-describedby=[&described] aria-invalid=[invalid] {
                    (countries(value))
                }
            } @else {
                input type=(kind) id=(name) name=(name) value=(value) autocomplete=(autocomplete) maxlength=(MAX_TEXT)
                    aria-describedby=[&described] aria-invalid=[invalid];
            }
        }
    }
}

fn countries(value: &str) -> Markup {
    let value = value.trim().to_ascii_uppercase();
    let mut countries: Vec<_> = Country::all().iter().map(|country| (country.name, country.alpha2)).collect();
    countries.sort_unstable();
    let known = countries.iter().any(|(_, code)| *code == value);
    html! {
        option value="" selected[value.is_empty()] { "Please choose" }
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
fn options(checkout: &Checkout, version: u64, way: &Way, seal: &str) -> Markup {
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
                h2 #delivery tabindex="-1" { "Delivery" }
                form method="post" action=(way.here()) {
                    (carried(version, seal, "delivery"))
                    @for (method, group) in groups {
                        fieldset {
                            legend { "How should it travel: " (titles(&group.line_item_ids)) "?" }
                            @for option in &group.options {
                                (choice(
                                    &format!("{OPTION}{method}:{}", group.id),
                                    &option.id,
                                    &option_text(option, checkout.currency),
                                    group.selected_option_id.as_ref() == Some(&option.id),
                                ))
                            }
                        }
                    }
                    button.second { "Choose this delivery" }
                }
            }
        }
    }
}

fn option_text(option: &DeliveryOption, currency: ucp_core::money::Currency) -> String {
    let price = match amount_of(&option.totals, TotalKind::Total) {
        0 => "free".to_owned(),
        minor => amount(minor, currency),
    };
    let day = |time: jiff::Timestamp| time.to_string().split('T').next().unwrap_or_default().to_owned();
    let arrival = option.latest.map(|latest| format!(", with you by {}", day(latest))).unwrap_or_default();
    let more = option.description.as_deref().map(|more| format!(". {more}")).unwrap_or_default();
    format!("{}, {price}{arrival}{more}", option.title)
}

/// How it goes on to paying.
fn payment(desktop: &Desktop, way: &Way) -> Markup {
    let checkout = &desktop.checkout;
    let sum = amount(amount_of(&checkout.totals, TotalKind::Total), checkout.currency);
    html! {
        section aria-labelledby="pay" {
            h2 #pay tabindex="-1" { @if desktop.wants_approval() { "Your approval" } @else { "Payment" } }
            @match (desktop.payment, desktop.is_payable()) {
                _ if desktop.is_payable() && desktop.wants_approval() => {
                    p { "It comes to " strong { (sum) } "." }
                    p { a.button href=(way.to_confirmation()) { "Go on to look at it and approve" } }
                }
                (Payment::Elsewhere, _) => {
                    p { "This is paid with what you gave to your assistant, and cannot be paid on this page. When nothing is missing, go back to your assistant: it goes on there." }
                }
                (_, false) => p { "You can pay " (sum) " here as soon as nothing is missing." },
                (Payment::Free, true) => {
                    p { "There is nothing to pay." }
                    p { a.button href=(way.to_confirmation()) { "Go on to confirm the order" } }
                }
                (Payment::Here, true) => {
                    p { "You pay " strong { (sum) } "." }
                    p { a.button href=(way.to_confirmation()) { "Go on to pay" } }
                }
            }
        }
    }
}

fn cancel(version: u64, way: &Way, seal: &str) -> Markup {
    html! {
        details {
            summary { "I do not want this" }
            p { "The purchase is given up for good. Nothing is paid." }
            form method="post" action=(way.here()) {
                (carried(version, seal, "cancel"))
                button.second { "Cancel the purchase" }
            }
        }
    }
}

/// Where it goes and how, in short.
pub(crate) fn deliveries(checkout: &Checkout) -> Markup {
    let methods = checkout.fulfillment.iter().flat_map(|fulfillment| &fulfillment.methods);
    html! {
        @for method in methods {
            @let chosen = method.destinations.iter().find(|destination| Some(&destination.id) == method.selected_destination_id.as_ref());
            @if let Some(destination) = chosen {
                div {
                    dt { @match method.kind { MethodKind::Shipping => "Sent to", MethodKind::Pickup => "Picked up at" } }
                    dd {
                        @if let Some(name) = &destination.name { (name) br; }
                        (address(&destination.address))
                    }
                }
            }
            @for group in &method.groups {
                @if let Some(option) = group.options.iter().find(|option| Some(&option.id) == group.selected_option_id.as_ref()) {
                    div { dt { "Delivery" } dd { (option.title) } }
                }
            }
        }
    }
}
