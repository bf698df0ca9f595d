//! The reference of the API: every operation with what it takes and answers, over REST and MCP, in all releases.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `model` | the documents of all releases, merged |
//!
//! The page is whole without scripts. `reference.js` leaves what a chosen release has, and carries out the examples.

mod model;

use std::sync::{Arc, OnceLock};

use axum::{Router, body::Bytes, routing::get};
use maud::{Markup, html};
use serde_json::{Value, json};
use ucp_core::{Code, Operation, Release, operation::Resource};
use ucp_wire::refusal::{http_status, json_rpc};

use self::model::{Described, Kind, Model, Piece, Type, Versions};
use crate::{
    facts::Facts,
    page::{self, Place, copied},
};

/// Builds the route of the page, which is rendered when it is asked for first.
pub(crate) fn router(facts: &Facts) -> Router {
    let (facts, rendered) = (facts.clone(), Arc::new(OnceLock::<Bytes>::new()));
    let answer = async move || {
        let html = rendered.get_or_init(|| page(&facts).into_string().into());
        page::html(html.clone(), page::OWN)
    };
    Router::new().route("/docs/api", get(answer))
}

/// Renders the page.
fn page(facts: &Facts) -> Markup {
    let model = Model::new(&facts.operations);
    let mut groups: Vec<(&str, Vec<&Described>)> = Vec::new();
    for described in &model.operations {
        let group = group(described.operation);
        match groups.iter_mut().find(|(name, _)| *name == group) {
            Some((_, own)) => own.push(described),
            None => groups.push((group, vec![described])),
        }
    }
    let content = html! {
        form.controls #controls aria-label="Caller of the examples" {
            label { "UCP version "
                select #release {
                    option value="" { "all, newest at the root" }
                    @for release in Release::ALL.iter().rev() { option value=(release.date()) { (release.date()) } }
                }
            }
            label { "Profile " input #profile type="url" value=(profile(facts)) autocomplete="off" spellcheck="false" size="36"; }
            label { "or API key " input #key type="password" autocomplete="off" spellcheck="false" size="14"; }
        }
        div.beside.reference {
            nav.contents aria-label="Operations" {
                @for (name, operations) in &groups {
                    h2 { (name) }
                    ul {
                        @for described in operations {
                            li data-releases=(dates(&described.releases)) {
                                a href={ "#" (described.operation.row().name) } { (described.operation.row().title) }
                            }
                        }
                    }
                }
                h2 { "General" }
                ul {
                    li { a href="#calling" { "Requests" } }
                    li { a href="#refusals" { "Errors" } }
                    li { a href="#types" { "Types" } }
                }
            }
            main #main tabindex="-1" data-base=(facts.base) {
                h1 { "API reference" }
                p.lead {
                    "Every operation of " (facts.shop) " over REST and as an MCP tool, in every UCP version. Run the examples \
                     here, or copy them to a terminal."
                }
                p #status .hidden role="status" {}
                (calling(facts))
                @for (name, operations) in &groups {
                    h2.group { (name) }
                    @for described in operations { (operation(facts, &model, described)) }
                }
                (refusals(&model))
                section aria-labelledby="types" {
                    h2.group #types { "Types" }
                    @for (name, known) in &model.types { (named(name, known)) }
                }
            }
        }
    };
    page::page(facts, Place::Reference, "../", "API reference", &["copy.js", "reference.js"], &content)
}

/// Returns the heading below which an operation stands.
fn group(operation: Operation) -> &'static str {
    match operation.row().resource {
        Resource::Catalog => "Catalog",
        Resource::Cart => "Carts",
        Resource::Checkout => "Checkouts",
        Resource::Order => "Orders",
        Resource::Directory => "Merchants",
    }
}

/// Returns the profile URL of the caller in examples.
fn profile(facts: &Facts) -> &str {
    facts.caller.split('"').nth(1).unwrap_or_default()
}

/// Releases for an attribute: their dates, apart by spaces.
fn dates(releases: &[Release]) -> String {
    releases.iter().map(|release| release.date()).collect::<Vec<_>>().join(" ")
}

/// Releases in words; nothing if it is all of them.
fn since(releases: &[Release]) -> Option<String> {
    let all = Release::ALL;
    if releases.len() == all.len() {
        return None;
    }
    let (first, last) = (releases.last()?, releases.first()?);
    let is_run = all.iter().filter(|release| *first <= **release && **release <= *last).count() == releases.len();
    Some(match is_run {
        true if *last == Release::NEWEST => format!("since {}", first.date()),
        true if first == last => format!("{} only", first.date()),
        true if *first == all[0] => format!("until {}", last.date()),
        true => format!("{} to {}", first.date(), last.date()),
        false => dates(releases).replace(' ', ", "),
    })
}

fn tag(releases: &[Release]) -> Markup {
    html! { @if let Some(text) = since(releases) { " " span.tag { (text) } } }
}

fn calling(facts: &Facts) -> Markup {
    html! {
        section.operation aria-labelledby="calling" {
            h2 #calling { "Requests" }
            ul {
                li { "REST at " code { (facts.base) } ", MCP at " code { (facts.base) "/mcp" } ". The response has the version of the caller's \
                      profile. Paths below " code { "/ucp/VERSION" } " have that version." }
                li { "Every request identifies its caller: " code { "UCP-Agent: profile=\"…\"" } " (over MCP also " code { "meta[\"ucp-agent\"].profile" }
                     "), or an API key in " code { "Authorization: Bearer …" } "." }
                li { "Requests that write take " code { "Idempotency-Key: UUID" } ", over MCP " code { "meta[\"idempotency-key\"]" } "." }
                li { "Amounts are in minor units of the currency, such as cents. Timestamps are in RFC 3339." }
                li { "Documents to generate clients from: "
                    @for release in Release::ALL.iter().rev() {
                        @let path = ucp_wire::documents::release_path(*release);
                        (release.date()) " "
                        a href={ ".." (path) "/openapi.json" } { "OpenAPI" span.hidden { " of " (release.date()) } } " "
                        a href={ ".." (path) "/openrpc.json" } { "OpenRPC" span.hidden { " of " (release.date()) } }
                        @if *release != Release::ALL[0] { "; " } @else { "." }
                    }
                }
            }
        }
    }
}

fn operation(facts: &Facts, model: &Model, described: &Described) -> Markup {
    let Described { operation, releases, request, answer, codes, examples } = described;
    let row = operation.row();
    let example = examples.first().map(|(_, body)| body);
    let shape = json!({
        "name": row.name, "method": row.method.as_str(), "path": row.path, "payload": row.payload, "keyed": row.effect.writes(),
    });
    let bodies: serde_json::Map<_, _> =
        examples.iter().map(|(release, body)| (release.date().to_owned(), body.clone())).collect();
    let (rest, mcp) = calls(facts, *operation, example);
    let arguments =
        ["meta"].into_iter().chain(operation.takes_id().then_some("id")).chain(row.payload).collect::<Vec<_>>();
    html! {
        section.operation aria-labelledby=(row.name) data-releases=(dates(releases)) data-operation=(shape) data-examples=(Value::Object(bodies)) {
            h3 #(row.name) { (row.title) (tag(releases)) }
            p { (told(row.description)) }
            div.two {
                div {
                    dl.facts {
                        div { dt { "REST" } dd { code { (row.method.as_str()) " " (row.path) } } }
                        div { dt { "MCP" } dd { code { (row.name) } " with " @for (place, argument) in arguments.iter().enumerate() {
                            @if place > 0 { ", " } code { (argument) } } } }
                    }
                    @if request.is_empty() {
                        p.quiet { "No body." }
                    } @else {
                        h4 { "Request: " (versions(request)) }
                        (members(model, request, row.name, "request"))
                    }
                    details {
                        summary { "Answer" }
                        p { (versions(answer)) }
                        (members(model, answer, row.name, "answer"))
                    }
                    details {
                        summary { (codes.len()) " refusals" }
                        p.codes { @for code in codes { a href={ "#refusal-" (code) } { code { (code) } } " " } }
                    }
                }
                div.example {
                    @if operation.takes_id() {
                        div.field { label for={ "id-" (row.name) } { "Identifier" } input #{ "id-" (row.name) } .id autocomplete="off" spellcheck="false"; }
                    }
                    @if let Some(body) = example {
                        div.field {
                            label for={ "body-" (row.name) } { "Body" }
                            textarea #{ "body-" (row.name) } .body spellcheck="false" rows=(pretty(body).lines().count().min(14)) { (pretty(body)) }
                        }
                    }
                    (copied("REST", "the call over", &rest))
                    (copied("MCP", "the call over", &mcp))
                    p { button.button.second.run type="button" { "Run" span.hidden { " " (row.title) } } }
                    div.ran {}
                }
            }
        }
    }
}

fn pretty(body: &Value) -> String {
    serde_json::to_string_pretty(body).unwrap_or_default()
}

/// Writes an example as commands for REST and MCP.
fn calls(facts: &Facts, operation: Operation, example: Option<&Value>) -> (String, String) {
    let Facts { base, caller, .. } = facts;
    let row = operation.row();
    let key = if row.effect.writes() { "  -H \"Idempotency-Key: $(uuidgen)\" \\\n" } else { "" };
    let body = example.map(|body| format!(" \\\n  -d '{body}'")).unwrap_or_default();
    let json = if example.is_some() { "  -H 'Content-Type: application/json' \\\n" } else { "" };
    let path = row.path.replace("{id}", "ID");
    let rest = format!("curl -s -X {} '{base}{path}' \\\n{json}{key}  -H '{caller}'{body}", row.method.as_str());
    let mut meta = json!({ "ucp-agent": { "profile": profile(facts) } });
    if row.effect.writes() {
        meta["idempotency-key"] = "'$(uuidgen)'".into();
    }
    let mut arguments = json!({ "meta": meta });
    if operation.takes_id() {
        arguments["id"] = "ID".into();
    }
    if let (Some(payload), Some(body)) = (row.payload, example) {
        arguments[payload] = body.clone();
    }
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": row.name, "arguments": arguments },
    });
    let mcp = format!(
        "curl -s '{base}/mcp' \\\n  -H 'Content-Type: application/json' \\\n  -H '{caller}' \\\n  -d '{message}'"
    );
    (rest, mcp)
}

/// Renders a text in which code stands between backticks.
fn told(text: &str) -> Markup {
    html! {
        @for (place, part) in text.split('`').enumerate() {
            @if place % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Renders what a value is, with links to the types.
fn words(kind: &Kind) -> Markup {
    html! {
        @for piece in kind {
            @match piece {
                Piece::Word(text) => (text),
                Piece::Type(name) => a href={ "#type-" (name) } { (name) },
            }
        }
    }
}

/// Renders what a value is in the newest release that has it, and in others if it differs.
fn versions(versions: &Versions) -> Markup {
    html! {
        @for (place, (kind, releases)) in versions.iter().enumerate() {
            @if place > 0 { "; " span.quiet { (dates(releases).replace(' ', ", ")) ": " } }
            (words(kind))
        }
    }
}

/// Renders the members of the types that a request or answer has in its releases, those of the newest first. A failure
/// is the same for all, and left out.
fn members(model: &Model, kinds: &Versions, operation: &str, part: &str) -> Markup {
    let mut seen = Vec::new();
    let names = kinds.iter().flat_map(|(kind, _)| kind).filter_map(|piece| match piece {
        Piece::Type(name) if !name.ends_with("ErrorResponse") => Some(name),
        _ => None,
    });
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    html! {
        @for name in seen {
            @if let Some(known) = model.types.get(name).filter(|known| !known.members.is_empty()) {
                (table(known, &format!("Fields of {name}, the {part} of {operation}")))
            }
        }
    }
}

fn table(known: &Type, caption: &str) -> Markup {
    html! {
        div.scroll tabindex="0" role="group" aria-label=(caption) {
            table.members {
                caption.hidden { (caption) }
                thead { tr { th scope="col" { "Member" } th scope="col" { "Description" } } }
                tbody {
                    @for member in &known.members {
                        @let releases = member.releases();
                        tr data-releases=(dates(&releases)) {
                            th scope="row" {
                                code { (member.name) }
                                @if member.required.len() == releases.len() { " " span.required { "required" } }
                                @else if !member.required.is_empty() { " " span.required { "required in " (dates(&member.required).replace(' ', ", ")) } }
                                // Those of the type itself are told with it.
                                @if releases != known.releases { (tag(&releases)) }
                            }
                            td { span.kind { (versions(&member.kinds)) } @if !member.text.is_empty() { p { (told(&member.text)) } } }
                        }
                    }
                }
            }
        }
    }
}

fn named(name: &str, known: &Type) -> Markup {
    html! {
        details.type #{ "type-" (name) } data-releases=(dates(&known.releases)) {
            summary { code { (name) } (tag(&known.releases)) }
            @if !known.text.is_empty() { p { (told(&known.text)) } }
            @if !known.form.is_empty() { p { (versions(&known.form)) } }
            @if !known.members.is_empty() { (table(known, &format!("Fields of {name}"))) }
        }
    }
}

fn refusals(model: &Model) -> Markup {
    let codes = Code::ALL.iter().filter(|code| model.codes.contains(code.as_str()));
    html! {
        section aria-labelledby="refusals" {
            h2.group #refusals { "Errors" }
            p { "A rejected request was not carried out. Over REST the error is the response body, over MCP the " code { "data" } " of the JSON-RPC error. "
                a href="errors" { "Causes and fixes" } "." }
            div.scroll tabindex="0" role="group" aria-label="Errors" {
                table {
                    thead { tr { th scope="col" { "Code" } th scope="col" { "REST" } th scope="col" { "MCP" } th scope="col" { "Retry" } th scope="col" { "Meaning" } } }
                    tbody {
                        @for code in codes {
                            tr #{ "refusal-" (code) } {
                                th scope="row" { a href={ "errors#" (code) } { code { (code) } } }
                                td { (http_status(*code)) }
                                td { (json_rpc(*code)) }
                                td { @if code.retryable() { "later" } @else { "after a change" } }
                                td.wraps { (told(code.meaning())) }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_told_in_words_unless_it_is_all() {
        let newest_first: Vec<_> = Release::ALL.iter().rev().copied().collect();
        assert_eq!(since(&newest_first), None);
        assert_eq!(since(&newest_first[..1]), Some(format!("since {}", Release::NEWEST.date())));
        assert_eq!(since(&newest_first[1..]), Some(format!("until {}", newest_first[1].date())));
        assert_eq!(since(&newest_first[1..2]), Some(format!("{} only", newest_first[1].date())));
        let apart = [newest_first[0], newest_first[2]];
        assert_eq!(since(&apart), Some(format!("{}, {}", apart[0].date(), apart[1].date())));
    }
}
