//! The page at `/`: what this is, where it is, and a call to copy for each transport; and the same as `llms.txt`.

use std::fmt::Write as _;

use axum::{
    Router,
    extract::Request,
    routing::{any, get},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::header::CONTENT_TYPE;
use maud::{Markup, html};
use serde_json::json;
use ucp_core::{Operation, Release};
use ucp_wire::documents::release_path;
use url::form_urlencoded::byte_serialize;

use crate::{
    assets,
    facts::Facts,
    page::{self, Place, copied},
};

/// Builds the routes of the page and of the files that all pages need. Requests of `/` that want no HTML are for an unknown
/// path.
pub(crate) fn router(facts: &Facts) -> Router {
    let (html, text) = (page(facts).into_string(), llms(facts));
    let first = move |request: Request| {
        let wanted = page::wants_html(&request);
        let answer = if wanted { page::html(html.clone(), page::OWN) } else { ucp_rest::unknown_path(request.uri()) };
        async move { answer }
    };
    Router::new()
        .route("/", any(first))
        .route("/llms.txt", get(async move || ([(CONTENT_TYPE, "text/plain; charset=utf-8")], text)))
        .merge(assets::router())
}

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

/// Maximum length of the name under which agents list the tools of the shop.
const MAX_NAME: usize = 32;

/// Returns the name under which agents list the tools of the shop: that of the shop, in the letters that all of them take.
fn server_name(shop: &str) -> String {
    let words = shop.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    name.truncate(MAX_NAME);
    let name = name.trim_end_matches('-');
    if name.is_empty() { "shop" } else { name }.to_owned()
}

/// Returns a word of a command line. It is quoted if it has characters that a shell interprets, as zsh does `?`.
fn word(text: &str) -> String {
    let is_plain = text.chars().all(|letter| letter.is_ascii_alphanumeric() || "/:.,_-@%+".contains(letter));
    if is_plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Ways to connect an agent to the MCP endpoint.
struct Connections {
    /// Links that an installed editor opens, by its name.
    links: [(&'static str, String); 2],
    /// Commands, by the agent that has them.
    commands: [(&'static str, String); 3],
}

impl Connections {
    fn new(facts: &Facts) -> Self {
        let (name, url) = (server_name(&facts.shop), format!("{}/mcp", facts.base));
        let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        let cursor = STANDARD.encode(json!({ "url": url }).to_string());
        let code = json!({ "name": name, "type": "http", "url": url }).to_string();
        let url = word(&url);
        Self {
            links: [
                (
                    "Cursor",
                    format!("cursor://anysphere.cursor-deeplink/mcp/install?name={name}&config={}", encoded(&cursor)),
                ),
                ("VS Code", format!("vscode:mcp/install?{}", encoded(&code))),
            ],
            commands: [
                ("Claude Code", format!("claude mcp add --transport http {name} {url}")),
                ("Codex", format!("codex mcp add {name} --url {url}")),
                ("Gemini CLI", format!("gemini mcp add --transport http {name} {url}")),
            ],
        }
    }
}

/// Returns the releases, the newest first.
fn releases() -> impl Iterator<Item = Release> {
    Release::ALL.iter().rev().copied()
}

/// Renders the page.
fn page(facts: &Facts) -> Markup {
    let Facts { shop, base, .. } = facts;
    let buys = facts.operations.contains(&Operation::CompleteCheckout);
    let Connections { links, commands } = Connections::new(facts);
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
                    ", over REST and MCP, in every UCP version since January 2026."
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
            section aria-labelledby="connect" {
                h2 #connect { "Connect an agent" }
                p { "Add the tools of this shop to an editor, or run the command of an agent in a terminal. Any other client takes the MCP URL above." }
                p.actions {
                    @for (editor, link) in &links { a.button.second href=(link) { "Add to " (editor) } }
                }
                @for (agent, command) in &commands { (copied(agent, "the command for", command)) }
                p { a href="docs/clients" { "Other clients" } ", such as ChatGPT, Claude Desktop, Windsurf and the agent SDKs." }
            }
            section aria-labelledby="first" {
                h2 #first { "Make a first call" }
                p { "Copy one of these into a terminal. Each searches the catalog for blue running shoes." }
                @for (name, text) in calls(facts) { (copied(name, "the call over", &text)) }
            }
            section aria-labelledby="releases" {
                h2 #releases { "UCP versions" }
                p {
                    "The addresses above answer every caller in the release that its profile names. Each release also has \
                     addresses of its own, and documents to make clients from."
                }
                div.scroll tabindex="0" role="group" aria-label="URLs and documents of each UCP version" {
                    table {
                        thead { tr { th scope="col" { "Version" } th scope="col" { "REST" } th scope="col" { "MCP" } th scope="col" { "Documents" } } }
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
    page::page(facts, Place::Home, "./", "UCP", &["copy.js"], &content)
}

/// Writes what a language model needs to know to call the gateway.
fn llms(facts: &Facts) -> String {
    let Facts { shop, base, caller, .. } = facts;
    let mut text = format!(
        "# {shop}\n\n> Product search, carts and checkout through the Universal Commerce Protocol (UCP), over REST and MCP.\n\n\
         - REST: {base} (POST, PUT and GET with JSON bodies)\n\
         - MCP: {base}/mcp (JSON-RPC over HTTP; `tools/list` lists the tools; `?tools=catalog,cart` fewer of them)\n\
         - Platform: every request states its profile, as `{caller}`\n\
         - Writes: carts and checkouts accept `Idempotency-Key: <UUID>` (over MCP `meta[\"idempotency-key\"]`); it is required \
         to complete or cancel one\n\n## Operations\n\n"
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
            "- UCP version {date}: [OpenAPI]({base}{path}/openapi.json), [OpenRPC]({base}{path}/openrpc.json), \
             [profile]({base}{path}/.well-known/ucp)",
            date = release.date()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn facts(shop: &str, base: &str) -> Facts {
        let (shop, base) = (shop.to_owned(), base.to_owned());
        Facts {
            shop,
            base,
            operations: Operation::ALL.to_vec(),
            caller: "UCP-Agent: profile".to_owned(),
            development: true,
        }
    }

    /// Returns the name and the configuration that an editor reads from a link, decoded as the editor does it.
    fn installed(link: &str) -> (Option<String>, Value) {
        let (place, query) = link.split_once('?').expect("a query");
        let url = url::Url::parse(link).expect("a link");
        if place == "cursor://anysphere.cursor-deeplink/mcp/install" {
            let named = |wanted: &str| url.query_pairs().find(|(name, _)| name == wanted).expect(wanted).1.into_owned();
            let config = STANDARD.decode(named("config")).expect("Base64");
            return (Some(named("name")), serde_json::from_slice(&config).expect("JSON"));
        }
        assert_eq!(place, "vscode:mcp/install");
        // The whole query is one text, as `encodeURIComponent` writes it.
        assert!(!query.contains(['&', '+', '=', '#']), "{query}");
        let pair = format!("text={query}");
        let (_, text) = url::form_urlencoded::parse(pair.as_bytes()).next().expect("a text");
        (None, serde_json::from_str(&text).expect("JSON"))
    }

    #[test]
    fn links_and_commands_connect_the_endpoint_of_the_shop() {
        for (shop, base, name) in [
            ("Sample Shop", "http://127.0.0.1:8080", "sample-shop"),
            ("Käse & \"Brot\" <b>", "https://shop.example.com:8443/ucp/a+b/>>>???", "k-se-brot-b"),
            ("東京", "https://xn--1lqs71d.example/~x", "shop"),
            (&"very long ".repeat(9), "https://shop.example", "very-long-very-long-very-long-ve"),
        ] {
            let Connections { links, commands } = Connections::new(&facts(shop, base));
            let url = format!("{base}/mcp");
            assert_eq!(installed(&links[0].1), (Some(name.to_owned()), json!({ "url": url })));
            assert_eq!(installed(&links[1].1), (None, json!({ "name": name, "type": "http", "url": url })));
            for (_, command) in &commands {
                assert!(command.contains(&format!(" {name} ")), "{command}");
                assert!(command.ends_with(&word(&url)), "{command}");
            }
            let text = page(&facts(shop, base)).into_string();
            for (editor, link) in links {
                assert!(text.contains(&format!("href=\"{}\"", link.replace('&', "&amp;"))), "{editor}: {text}");
            }
        }
    }

    #[test]
    fn words_of_commands_are_quoted_where_a_shell_would_read_more() {
        assert_eq!(word("http://127.0.0.1:8080/mcp"), "http://127.0.0.1:8080/mcp");
        assert_eq!(word("http://127.0.0.1:8080/mcp?tools=catalog"), "'http://127.0.0.1:8080/mcp?tools=catalog'");
        assert_eq!(word("a'b;$(c)"), "'a'\\''b;$(c)'");
    }
}
