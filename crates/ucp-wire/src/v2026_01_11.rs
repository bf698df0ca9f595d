//! Release 2026-01-11: checkouts, with lists where later releases have maps.

use std::{marker::PhantomData, sync::LazyLock};

use serde_json::{Map, Value, json};
use ucp_core::{Release, operation::SHOPPING};

use crate::{
    dialect::{Dialect, Offer, offered},
    founding::{
        self, Founding,
        purchase::{self, First},
    },
    profile::{Site, published_at},
    purchase::PurchaseShapes,
};

/// Release 2026-01-11.
pub static V2026_01_11: Founding<First> = Founding {
    release: RELEASE,
    offers: &OFFERS,
    purchase: &PURCHASE,
    direct: purchase::direct,
    profile,
    form: PhantomData,
};

static PURCHASE: LazyLock<PurchaseShapes> = LazyLock::new(PurchaseShapes::of::<First>);

const RELEASE: Release = Release::V2026_01_11;

static OFFERS: [Offer; 7] = founding::offers(RELEASE);

/// A profile with one object per service, capabilities as an array, and payment handlers beside `ucp`.
fn profile(dialect: &dyn Dialect, site: &Site<'_>) -> Value {
    let version = RELEASE.date();
    let binding = |schema: &str, endpoint: String| json!({ "schema": published_at(RELEASE, &format!("services/shopping/{schema}")), "endpoint": endpoint });
    let capability = |offer: &Offer| {
        let mut entry = json!({
            "name": offer.name,
            "version": offer.version,
            "spec": published_at(RELEASE, offer.spec),
            "schema": published_at(RELEASE, offer.schema),
        });
        // This release knows one parent per extension.
        if let [parent, ..] = offer.extends {
            entry["extends"] = (*parent).into();
        }
        entry
    };
    let capabilities: Vec<_> =
        offered(dialect, site.operations).filter(|offer| offer.published).map(capability).collect();
    let mut profile = Map::from_iter([
        (
            "ucp".to_owned(),
            json!({
                "version": version,
                "services": {
                    SHOPPING: {
                        "version": version,
                        "spec": published_at(RELEASE, "specification/overview"),
                        "rest": binding("rest.openapi.json", site.endpoint.to_owned()),
                        "mcp": binding("mcp.openrpc.json", format!("{}/mcp", site.endpoint)),
                    },
                },
                "capabilities": capabilities,
            }),
        ),
        ("payment".to_owned(), json!({ "handlers": purchase::handlers(site.handlers) })),
    ]);
    if !site.keys.is_empty() {
        profile.insert("signing_keys".to_owned(), site.keys.into());
    }
    Value::Object(profile)
}
