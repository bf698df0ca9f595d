//! Release 2026-01-11: checkouts, with lists where later releases have maps.

use std::{marker::PhantomData, sync::LazyLock};

use serde_json::{Map, Value, json};
use ucp_core::Release;

use crate::{
    dialect::{Dialect, advertised, services},
    founding::{
        self, Founding,
        purchase::{self, First},
    },
    merchant::MerchantShapes,
    offer::Offer,
    purchase::PurchaseShapes,
    site::{OPENAPI, OPENRPC, Site},
    step::Step,
};

/// Release 2026-01-11.
pub static V2026_01_11: Founding<First> = Founding {
    release: RELEASE,
    offers: &OFFERS,
    purchase: &PURCHASE,
    merchants: &MERCHANTS,
    methods: true,
    direct: purchase::direct,
    profile,
    step: &Step::NONE,
    form: PhantomData,
};

static PURCHASE: LazyLock<PurchaseShapes> = LazyLock::new(PurchaseShapes::of::<First>);

static MERCHANTS: LazyLock<MerchantShapes> = LazyLock::new(MerchantShapes::of::<First>);

const RELEASE: Release = Release::V2026_01_11;

static OFFERS: [Offer; 10] = founding::offers(RELEASE);

/// A profile with one object per service, capabilities as an array, and payment handlers beside `ucp`.
fn profile(dialect: &dyn Dialect, site: &Site<'_>) -> Value {
    let version = RELEASE.date();
    let binding = |service: &str, document: &str, endpoint: String| json!({ "schema": site.description(RELEASE, service, document), "endpoint": endpoint });
    let services = services(dialect, &site.offering.operations).into_iter().map(|service| {
        let entry = json!({
            "version": version,
            "spec": site.overview(RELEASE, service),
            "rest": binding(service, OPENAPI, site.endpoint.to_owned()),
            "mcp": binding(service, OPENRPC, format!("{}/mcp", site.endpoint)),
        });
        (site.names.of(service).to_owned(), entry)
    });
    let capability = |offer: &Offer| {
        let (spec, schema) = site.documents(RELEASE, offer);
        let mut entry = json!({
            "name": site.names.of(offer.name),
            "version": offer.version,
            "spec": spec,
            "schema": schema,
        });
        // This release knows one parent per extension.
        if let [parent, ..] = offer.extends {
            entry["extends"] = (*parent).into();
        }
        if let Some(config) = offer.config() {
            entry["config"] = config;
        }
        entry
    };
    let capabilities: Vec<_> = advertised(dialect, site).map(capability).collect();
    let mut profile = Map::from_iter([
        (
            "ucp".to_owned(),
            json!({
                "version": version,
                "services": Value::Object(services.collect()),
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
