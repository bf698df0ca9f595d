//! The corpus: scenes, each with gateways and a transcript of its own. A scene runs through releases and ways of
//! calling where its calls allow, so that a call is written down once.

mod access;
mod bridge;
mod catalog;
mod command_line;
mod documents;
mod founding;
mod handoff;
mod idempotency;
mod import;
mod mcp;
mod merchants;
mod negotiation;
pub(crate) mod payloads;
mod purchase;
mod refusals;
mod rules;
mod shapes;
mod signing;
mod stdio;
mod storefront;
mod webhooks;

use serde_json::Value;

use crate::{Done, stage::Stage};

/// A part of the corpus.
pub(crate) struct Scene {
    /// The first word of the names of its calls.
    pub(crate) name: &'static str,
    /// Steps of the scene.
    pub(crate) play: fn(&mut Stage<'_>) -> Done,
}

/// All scenes in their order.
pub(crate) fn scenes() -> Vec<Scene> {
    let scene = |name, play| Scene { name, play };
    vec![
        scene("documents", documents::play as fn(&mut Stage<'_>) -> Done),
        scene("mcp", mcp::play),
        scene("stdio", stdio::play),
        scene("catalog", catalog::play),
        scene("merchants", merchants::play),
        scene("shapes-catalog", shapes::catalog),
        scene("shapes-purchase", shapes::purchase),
        scene("shapes-places", shapes::places),
        scene("refusals", refusals::play),
        scene("purchase", purchase::flowers),
        scene("purchase-outfitters", purchase::outfitters),
        scene("rules", rules::play),
        scene("terms", rules::terms),
        scene("idempotency", idempotency::play),
        scene("founding", founding::play),
        scene("negotiation", negotiation::play),
        scene("policies", negotiation::policies),
        scene("api-keys", access::keys),
        scene("limits", access::limits),
        scene("signing", signing::play),
        scene("webhooks", webhooks::play),
        scene("admin", webhooks::admin),
        scene("handoff", handoff::play),
        scene("import", import::play),
        scene("commands", command_line::play),
        scene("configuration", command_line::configuration),
        scene("bridge-rest", bridge::over_rest),
        scene("bridge-mcp", bridge::over_mcp),
        scene("bridge-old", bridge::older_shop),
        scene("storefront", storefront::play),
    ]
}

/// The text of a member; a name that no gateway knows where there is none.
pub(crate) fn text<'a>(document: &'a Value, pointer: &str) -> &'a str {
    document.pointer(pointer).and_then(Value::as_str).unwrap_or("missing-from-the-answer")
}

/// The identifier of a document.
pub(crate) fn id(document: &Value) -> String {
    text(document, "/id").to_owned()
}
