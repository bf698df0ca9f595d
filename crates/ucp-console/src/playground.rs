//! The playground: left the shop as a buyer would see it, right every call on the wire, on REST and MCP side by side.
//!
//! The page is a shell. `shop.js` and `buying.js` draw the shop from the answers of calls. `calls.js` makes them as every other client does:
//! to the public endpoints, in the chosen release, view and name; those of another endpoint the gateway makes for it.
//! `wire.js` shows them, and `copies.js` writes them down for other programs. Only browsers on this machine can open it.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `request` | what the page asks beside UCP: size, rate, form |
//! | `signer` | the platform of the playground, for which the gateway signs |
//! | `endpoint` | calls of other UCP endpoints |

mod endpoint;
mod request;
mod signer;

use std::sync::Arc;

use axum::Router;
use maud::{Markup, html};
use serde_json::json;
use ucp_core::Release;
use ucp_host::pages::Subject;
use ucp_service::negotiated_profile::NegotiatedProfile;
use ucp_trust::directory::Directory;

use self::{endpoint::Endpoints, signer::Signer};
use crate::{
    facts::Facts,
    local,
    page::{self, Place},
};

/// Builds the routes. The platform of the playground is made known to `platforms`, so that its calls can be signed.
pub(crate) fn router(shop: &Subject<'_>, facts: &Facts, platforms: Option<&Directory<NegotiatedProfile>>) -> Router {
    let signer = platforms.and_then(|platforms| {
        let signer = Signer::new(shop.settings, shop.public_url, shop.operations)?;
        signer.pin(platforms);
        Some(Arc::new(signer))
    });
    let page = page::route("/playground", page(facts, signer.is_some()), page::WITH_GOODS);
    local::only(page)
        .merge(Endpoints::new(shop.settings).router())
        .merge(signer.map(Signer::router).unwrap_or_default())
}

/// Renders the shell. `signs` says that the gateway signs calls for the page.
fn page(facts: &Facts, signs: bool) -> Markup {
    let operations: serde_json::Map<_, _> = facts
        .operations
        .iter()
        .map(|operation| {
            let row = operation.row();
            let keyed = row.effect.writes();
            let facts = json!({
                "method": row.method.as_str(), "path": row.path, "payload": row.payload, "keyed": keyed, "title": row.title,
            });
            (row.name.to_owned(), facts)
        })
        .collect();
    let content = html! {
        section.controls aria-label="How calls are made" {
            label { "UCP version "
                select #release {
                    @for release in Release::ALL.iter().rev() { option value=(release.date()) { (release.date()) } }
                }
            }
            label { "View " select #view { option value="full" { "full" } option value="compact" { "compact" } } }
            label { "Caller "
                select #caller {
                    option value="https://agent.example.com/profile.json" { "agent.example.com" }
                    option value="https://assistant.example.org/ucp.json" { "assistant.example.org" }
                    option value="profile" { "another profile" }
                    @if signs { option value="signed" { "signed, by a key of this gateway" } }
                    option value="key" { "an API key" }
                    option value="none" { "nobody" }
                }
            }
            label #profile-field hidden { "Profile " input #profile type="url" autocomplete="off" spellcheck="false" size="28" value="https://platform.example/profile.json"; }
            label #key-field hidden { "Key " input #key type="password" autocomplete="off" spellcheck="false" size="18"; }
            form.elsewhere #elsewhere {
                label { "Shop " input #address autocomplete="off" autocapitalize="none" spellcheck="false" size="26" placeholder="this gateway, or an address"; }
                button.chip type="submit" { "Open" }
                button.chip #own type="button" hidden { "Back to this gateway" }
            }
            label #changes-field hidden { "Changes over "
                select #changes { option value="one" { "one transport" } option value="both" { "both, under one key" } }
            }
        }
        main.playground #main tabindex="-1" data-base=(facts.base) data-operations=(serde_json::Value::Object(operations)) {
            section.shop aria-label="The shop" {
                form.search role="search" {
                    label.hidden for="query" { "Search the shop" }
                    input #query type="search" placeholder="Search, for example blue running shoes" autocomplete="off";
                    a.cart-link href="#/cart" { "Cart" span #cart-count .count hidden {} }
                }
                p #status .hidden role="status" {}
                div #endpoint {}
                div #view-shop aria-live="off" { p.quiet { "The playground needs scripts of this gateway." } }
            }
            section.wire aria-label="The wire" {
                div.wire-head {
                    h2 { "On the wire" }
                    label { "Call " select #history {} }
                }
                div #view-wire { p.quiet { "Every call of the shop is shown here, as REST and as MCP." } }
            }
        }
    };
    page::page(facts, Place::Playground, "./", "Playground", &["copy.js", "shop.js"], &content)
}
