//! The page of the audit log: what operators did, by whom and what, page by page.

use std::{collections::BTreeMap, sync::Arc};

use http::StatusCode;
use maud::{Markup, html};
use ucp_host::{
    audit::{Actor, AuditLog, Line},
    orders::STEPS,
};
use url::form_urlencoded;

use super::{
    View,
    part::{cell, table, when},
};
use crate::admin::Failure;

/// Number of lines on a page.
const LISTED: usize = 50;

/// Actions but for steps of orders, as the log has them.
const ACTIONS: [&str; 8] =
    ["block", "unblock", "pause", "resume", "reload", "catalog release", "webhook resend", "task retry"];

/// Filter of the audit log's lines.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    /// Shop whose log it is; that of the process if it is empty.
    shop: String,
    actor: String,
    action: String,
    /// Part of the subject.
    subject: String,
    /// Offset in the log, in bytes, before which the lines end; the end of the log if absent.
    before: Option<u64>,
}

impl Wanted {
    /// Reads the query of an address.
    fn read(query: Option<&str>) -> Self {
        let mut fields: BTreeMap<_, _> =
            form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect();
        let mut field = |name: &str| fields.remove(name).map(|text| text.trim().to_owned()).unwrap_or_default();
        Self {
            shop: field("shop"),
            actor: field("actor"),
            action: field("action"),
            subject: field("subject"),
            before: field("before").parse().ok(),
        }
    }

    fn takes(&self, line: &Line) -> bool {
        (self.actor.is_empty() || line.actor == self.actor)
            && (self.action.is_empty() || line.action == self.action)
            && line.subject.contains(&self.subject)
    }

    /// Returns the query of the page with the lines that end at a byte, or of the newest.
    fn query(&self, before: Option<u64>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let fields =
            [("shop", &self.shop), ("actor", &self.actor), ("action", &self.action), ("subject", &self.subject)];
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            query.append_pair(name, value);
        }
        if let Some(before) = before {
            query.append_pair("before", &before.to_string());
        }
        query.finish()
    }

    fn is_narrow(&self) -> bool {
        !(self.actor.is_empty() && self.action.is_empty() && self.subject.is_empty())
    }
}

/// Renders the page.
pub(super) async fn page(view: &View, query: Option<&str>) -> Result<Markup, Failure> {
    let running = view.running();
    let wanted = Arc::new(Wanted::read(query));
    let own = &running.decisions.audit;
    // A shop whose log is that of the process is not listed beside it.
    let slots = running.shops.all();
    let logs: Vec<(&str, &AuditLog)> = slots
        .iter()
        .map(|slot| (slot.id.as_str(), &slot.decisions.audit))
        .filter(|(_, log)| log.path() != own.path())
        .collect();
    let log = match logs.iter().find(|(id, _)| *id == wanted.shop) {
        Some((_, log)) => *log,
        None if wanted.shop.is_empty() => own,
        None => {
            return Err(Failure(StatusCode::NOT_FOUND, format!("there is no audit log of a shop `{}`", wanted.shop)));
        }
    };
    let (log, filter) = (log.clone(), Arc::clone(&wanted));
    let read = tokio::task::spawn_blocking(move || log.newest(filter.before, LISTED, |line| filter.takes(line))).await;
    let unread =
        |error: String| Failure(StatusCode::SERVICE_UNAVAILABLE, format!("the audit log cannot be read: {error}"));
    let found = read.map_err(|error| unread(error.to_string()))?.map_err(|error| unread(error.to_string()))?;
    let shop = match (&*wanted.shop, running.shops.single()) {
        ("", Some(slot)) => slot.id.to_string(),
        (id, _) => id.to_owned(),
    };
    let rows: Vec<_> = found.lines.iter().map(|line| row(line, &shop)).collect();
    let none = if wanted.is_narrow() { "No matching entries." } else { "No entries yet." };
    let steps = STEPS.iter().map(|step| format!("order {step}"));
    let actions: Vec<_> = ACTIONS.iter().map(|action| (*action).to_owned()).chain(steps).collect();
    let choice = |name: &str, label: &str, chosen: &str, all: &[String]| {
        html! {
            label { (label) " "
                select name=(name) {
                    option value="" { "any" }
                    @for value in all { option value=(value) selected[value == chosen] { (value) } }
                }
            }
        }
    };
    let actors = Actor::ALL.map(|actor| actor.as_str().to_owned());
    Ok(html! {
        main.operator #main tabindex="-1" {
            div.heading { h1 { "Audit log" } p.quiet { "Newest first, in UTC" } }
            form.filter method="get" action="audit" {
                @if !logs.is_empty() {
                    label { "Log of "
                        select name="shop" {
                            option value="" { "the process" }
                            @for (id, _) in &logs { option value=(id) selected[*id == wanted.shop] { (id) } }
                        }
                    }
                }
                (choice("actor", "Actor", &wanted.actor, &actors))
                (choice("action", "Action", &wanted.action, &actions))
                label { "Subject " input name="subject" value=(wanted.subject) autocomplete="off" spellcheck="false" placeholder="a profile, an order, a shop"; }
                button.chip type="submit" { "Show" }
            }
            (table("Audit log", &["Time", "Actor", "Action", "Subject"], &rows, none))
            @if wanted.before.is_some() || found.older.is_some() {
                nav.pages aria-label="Pages of the log" {
                    @if wanted.before.is_some() { a.button.second href={ "audit?" (wanted.query(None)) } { "Newest" } }
                    @if let Some(older) = found.older { a.button.second href={ "audit?" (wanted.query(Some(older))) } { "Older" } }
                }
            }
            p.quiet { "The complete log is in " code { "audit.jsonl" } " in the data directory. Actors: " code { "token" } ", a program with the admin token; "
                code { "browser" } ", one that has logged in; " code { "local" } ", this machine without a token." }
        }
    })
}

fn row(line: &Line, shop: &str) -> Vec<Markup> {
    let at = line.timestamp.parse();
    let is_order = line.action.starts_with("order ") && !shop.is_empty();
    // What an identifier of an order is not would lead elsewhere.
    let is_id = line.subject.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    vec![
        match at {
            Ok(at) => when(at),
            Err(_) => cell(&line.timestamp),
        },
        html! { @if line.actor.is_empty() { span.quiet { "not noted" } } @else { span.tag { (line.actor) } } },
        cell(&line.action),
        html! { @if is_order && is_id { a href={ "shops/" (shop) "/orders/" (line.subject) } { (line.subject) } } @else { (line.subject) } },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_as_it_was_written() {
        let wanted = Wanted::read(Some("actor=token&action=order+ship&subject=a%26b&before=12&other=1"));
        assert_eq!((wanted.before, &*wanted.subject, wanted.is_narrow()), (Some(12), "a&b", true));
        assert_eq!(Wanted::read(Some(&wanted.query(Some(12)))), wanted);
        assert_eq!(Wanted::read(None), Wanted::default());
        assert_eq!(Wanted::read(Some("before=all")).before, None);
        let line = |actor: &str, action: &str, subject: &str| Line {
            timestamp: String::new(),
            actor: actor.to_owned(),
            action: action.to_owned(),
            subject: subject.to_owned(),
        };
        assert!(wanted.takes(&line("token", "order ship", "xa&by")));
        assert!(!wanted.takes(&line("local", "order ship", "xa&by")));
        assert!(!wanted.takes(&line("token", "order", "xa&by")));
        assert!(!wanted.takes(&line("token", "order ship", "b")));
    }
}
