//! The page at `/`: what this is, where it is, and a call to copy for each transport; and the same as `llms.txt`.

use std::fmt::Write as _;

use maud::{Markup, html};
use ucp_core::{Operation, Release};
use ucp_wire::documents::release_path;

use crate::{
    Facts,
    page::{self, Place, copied},
};

/// A call to copy, by transport.
fn calls(facts: &Facts) -> [(&'static str, String); 3] {
    let Facts { base, caller, .. } = facts;
    let json = "-H 'Content-Type: application/json'";
    let tool = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"search_catalog\",\n       \
                \"arguments\":{\"catalog\":{\"query\":\"blue running shoes\"}}}}";
    [
        (
            "REST",
            format!(
                "curl -s {base}/catalog/search {json} \\\n  -H '{caller}' \\\n  -d '{{\"query\":\"blue running shoes\"}}'"
            ),
        ),
        ("MCP", format!("curl -s {base}/mcp {json} \\\n  -H '{caller}' \\\n  -d '{tool}'")),
        (
            "ucp-cli",
            format!(
                "npx @shopify/ucp-cli catalog search \\\n  --business {base} --input '{{\"query\":\"blue running shoes\"}}'"
            ),
        ),
    ]
}

/// Returns the releases, the newest first.
fn releases() -> impl Iterator<Item = Release> {
    Release::ALL.iter().rev().copied()
}

/// Renders the page.
pub(crate) fn page(facts: &Facts) -> Markup {
    let Facts { shop, base, .. } = facts;
    let buys = facts.operations.contains(&Operation::CompleteCheckout);
    let address = |name: &str, url: String| {
        html! {
            div { dt { (name) } dd { code { (url) } button.copy type="button" data-copy { "Copy" span.hidden { " the address of " (name) } } } }
        }
    };
    let content = html! {
        main.home #main tabindex="-1" {
            section.hero {
                p.eyebrow { "Universal Commerce Protocol" }
                h1 { (shop) " is open to agents" }
                p.lead {
                    "Assistants search this shop's catalog"
                    @if buys { ", fill carts, and buy for their users" }
                    ", over REST and MCP, in every release of the protocol since January 2026."
                }
                p.actions {
                    @if facts.development {
                        a.button href="playground" { "Open the playground" }
                        a.button.second href="docs/api" { "API reference" }
                    } @else {
                        a.button href="docs/api" { "API reference" }
                    }
                }
                dl.addresses {
                    (address("REST", base.clone()))
                    (address("MCP", format!("{base}/mcp")))
                    (address("Profile", format!("{base}/.well-known/ucp")))
                }
            }
            section aria-labelledby="first" {
                h2 #first { "Make a first call" }
                p { "Copy one of these into a terminal. Each asks the catalog for blue running shoes." }
                @for (name, text) in calls(facts) { (copied(name, &text)) }
            }
            section aria-labelledby="releases" {
                h2 #releases { "Releases" }
                p {
                    "The addresses above answer every caller in the release that its profile names. Each release also has \
                     addresses of its own, and documents to make clients from."
                }
                div.scroll tabindex="0" role="group" aria-label="Addresses and documents of each release" {
                    table {
                        thead { tr { th scope="col" { "Release" } th scope="col" { "REST" } th scope="col" { "MCP" } th scope="col" { "Documents" } } }
                        tbody {
                            @for release in releases() {
                                @let path = release_path(release);
                                tr {
                                    th scope="row" { (release.date()) @if release == Release::NEWEST { " " span.tag { "newest" } } }
                                    td { code { (path) } }
                                    td { code { (path) "/mcp" } }
                                    td.links {
                                        a href={ "." (path) "/openapi.json" } { "OpenAPI" span.hidden { " of " (release.date()) } } " "
                                        a href={ "." (path) "/openrpc.json" } { "OpenRPC" span.hidden { " of " (release.date()) } } " "
                                        a href={ "." (path) "/.well-known/ucp" } { "Profile" span.hidden { " of " (release.date()) } }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        footer.bottom {
            p {
                a href="llms.txt" { "llms.txt" } " · "
                a href=".well-known/ucp" { "Discovery profile" } " · "
                a href="https://ucp.dev" rel="noreferrer" { "The protocol" }
            }
            p.quiet { "Served by ucp-gateway " (env!("CARGO_PKG_VERSION")) }
        }
    };
    page::page(facts, Place::Home, "UCP", &["copy.js"], &content)
}

/// Writes what a language model needs to know to call the gateway.
pub(crate) fn llms(facts: &Facts) -> String {
    let Facts { shop, base, caller, .. } = facts;
    let mut text = format!(
        "# {shop}\n\n> A shop that speaks the Universal Commerce Protocol (UCP). Agents call it over REST and over MCP.\n\n\
         - REST: {base} (POST, PUT and GET with JSON bodies)\n\
         - MCP: {base}/mcp (JSON-RPC over HTTP; `tools/list` lists the tools; `?tools=catalog,cart` fewer of them)\n\
         - Who calls: every request says so, as `{caller}`\n\
         - Changes: carts and checkouts take `Idempotency-Key: <UUID>` (on MCP `meta[\"idempotency-key\"]`); completing and \
         canceling need one\n\n## Operations\n\n"
    );
    for operation in &facts.operations {
        let row = operation.row();
        let _ = writeln!(text, "- `{}` (`{} {}`): {}", row.name, row.method.as_str(), row.path, row.description);
    }
    text.push_str("\n## Documents\n\n");
    for release in releases() {
        let path = release_path(release);
        let _ = writeln!(
            text,
            "- Release {date}: [OpenAPI]({base}{path}/openapi.json), [OpenRPC]({base}{path}/openrpc.json), \
             [profile]({base}{path}/.well-known/ucp)",
            date = release.date()
        );
    }
    text
}
