//! Being another server than this one: what a test-suite expects of the server that it was written for, beyond UCP.
//!
//! [`Compat::Conformance`](crate::config::Compat::Conformance) serves the conformance suite of the Universal Commerce Protocol, which speaks release 2026-01-11
//! at the root and expects the statuses, texts and shortcuts of a sample server. It stands around the finished gateway:
//! nothing else knows of it, and without the switch nothing of it exists. It is for one machine and for testing only.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `front` | which paths it takes, who is let in as whom, and what refusals look like |
//! | `sales` | what the sample server refuses, keeps and remembers |
//! | `cards` | payment handlers that take card numbers, and those that the suite looks for |
//! | `orders` | looking at orders and changing them over REST |
//! | `events` | what the suite wants to be told about its orders |

mod cards;
mod events;
mod front;
mod orders;
mod sales;

use std::{error::Error, sync::Arc};

use axum::Router;
use ucp_core::{
    Operation,
    negotiation::Active,
    operation::{AP2_MANDATE, Offering},
    port::{self, Backend},
    purchase::desk::Desk,
};
use ucp_rest::publication::PROFILE_PATH;
use ucp_service::{
    CallHandler, Endpoint, Gate,
    access::Access,
    gate::{Rules, SignedAnswers},
    platform::{Business, Platforms, Policy},
    signing::CurrentKey,
};
use ucp_shop::Shop;
use ucp_trust::{
    address::{ProfileUrl, Reach},
    directory::{Directory, DirectoryOptions},
    profile::PlatformProfile,
};
use url::Url;

use self::{
    events::Events,
    front::{Front, RELEASE, STAND_IN},
    orders::Orders,
    sales::Obliging,
};
use crate::{address, callers, config::Settings, webhooks::Post};

/// The operations that the suite calls; orders are a matter of their own.
const OPERATIONS: &[Operation] = &[
    Operation::CreateCheckout,
    Operation::GetCheckout,
    Operation::UpdateCheckout,
    Operation::CompleteCheckout,
    Operation::CancelCheckout,
];

/// The gateway `whole`, whose shop sells at `desk`, with what the conformance suite expects around it; the desk at which the
/// suite buys, whose payments have to be looked after, too; and how it is told about its orders.
///
/// Callers are platforms of their own making: whatever a profile declares, everything is active but mandates, and profiles
/// may lie on this machine.
pub(crate) fn conformance(
    whole: Router,
    desk: &Desk,
    shop: &Shop,
    settings: &Settings,
    public_url: &Url,
    signing_key: &Arc<CurrentKey>,
) -> Result<(Router, Desk, Post), Box<dyn Error>> {
    tracing::warn!(
        "this gateway meets the expectations of the conformance suite (compat conformance): it serves release {RELEASE} \
         at its root, takes every caller at its word, and lets callers change orders. Do not sell with it."
    );
    let base = address::base(public_url);
    let desk = Desk { handlers: cards::handlers(&desk.handlers, &settings.payments), ..desk.clone() };
    let business = Arc::new(Business::new(
        &Offering::of(OPERATIONS),
        settings.sections.server.storefront.as_ref().map(|url| url.0.to_string()),
    ));
    let standing = Arc::clone(&business);
    // The mandate that the suite sends proves nothing: it only looks whether one is in the way.
    let declared = business.declared(RELEASE).iter().filter(|declaration| declaration.name != AP2_MANDATE);
    let declared: Vec<_> = declared.cloned().collect();
    let active = Arc::new(Active::all(&declared));
    let generous = move |profile: &PlatformProfile| {
        standing.standing(&PlatformProfile { capabilities: declared.clone(), ..profile.clone() })
    };
    let fetcher = callers::fetcher(settings, Reach::Loopback, &base, signing_key)?;
    let directory = Directory::new(fetcher, DirectoryOptions::default(), generous);
    let stand_in = ProfileUrl::parse(STAND_IN, Reach::Public).map_err(|rejection| rejection.to_string())?;
    directory.pin(stand_in, PlatformProfile { version: RELEASE.date().to_owned(), ..PlatformProfile::default() });
    let platforms = Platforms::new(business, Policy::Development, Reach::Loopback, directory);
    let access = Access { anonymous_purchases: true, ..callers::access(settings) };
    // Answers are rewritten after they would have been signed.
    let rules = Rules { signed_answers: SignedAnswers::None, ..callers::rules(settings, public_url, signing_key) };
    let gate = Gate::new(rules, platforms.clone());
    // No operation of the directory is among those of the suite.
    let sales = Arc::new(Obliging::new(desk.clone(), active));
    let backend = Backend { shop: port::Shop::Facts { catalog: Arc::new(shop.clone()), sales }, directory: None };
    let handler = CallHandler::new(backend, platforms.clone(), access);
    let post = Post { platforms: platforms.clone(), reach: Reach::Loopback, form: Arc::new(Events) };
    let orders = Orders {
        desk: desk.clone(),
        platforms,
        gate: gate.clone(),
        access,
        secret: settings.simulation_secret.clone(),
    };
    let checkouts = ucp_rest::router(&handler, &gate, Endpoint::Of(RELEASE), OPERATIONS, "");
    let front = Front { base, whole, handlers: desk.declarations() };
    Ok((front.router(checkouts.merge(orders::router(orders)), PROFILE_PATH), desk, post))
}
