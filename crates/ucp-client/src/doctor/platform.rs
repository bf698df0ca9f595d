//! Rules of the profile of a platform.

use serde_json::Value;
use ucp_core::{
    Operation,
    negotiation::negotiate,
    operation::{ORDER, SupportedOperations},
};
use ucp_trust::profile::PlatformProfile;
use ucp_wire::{dialect, dialect::offered, offer::Offer};
use url::Url;

use super::{
    Report,
    profile::{declarations, entries, fetch, is_safe, release},
    report::Examination,
    rule::Rule,
};
use crate::http::Http;

/// Maximum size that a profile should have, in bytes.
const MOST: usize = 64 << 10;

/// Examines the profile of a platform, and negotiates with it as a business does that has every capability.
pub async fn platform(http: &Http, address: &Url) -> Report {
    let at = address.as_str();
    let mut examination = Examination::of(at.to_owned());
    examination.check(Rule::PlatformAddress, is_safe(at), at, || format!("an address of {}", address.scheme()));
    let Some((exchange, document)) = fetch(http, address, &mut examination).await else { return examination.finish() };
    let size = exchange.body.len();
    examination.figure("bytes of the profile", size);
    examination.check(Rule::PlatformSize, size <= MOST, at, || format!("{size} bytes"));
    declarations(&document, at, &mut examination);
    let release = release(&document, at, &mut examination);
    match PlatformProfile::read(&exchange.body) {
        Ok((profile, notes)) => {
            examination.check(Rule::PlatformReadable, true, at, String::new);
            examination.check(Rule::PlatformTolerated, notes.is_empty(), at, || notes.join("; "));
            if let Some(release) = release {
                examination.release(release.date());
                let dialect = dialect(release);
                let offering = SupportedOperations::everything();
                let ours: Vec<_> = offered(dialect, &offering).map(Offer::declaration).collect();
                let negotiation = negotiate(release.date(), &ours, &profile.capabilities);
                let lines = negotiation.lines.clone();
                let active = negotiation.active();
                let callable = Operation::ALL.iter().filter(|operation| {
                    dialect.shapes(**operation).is_some() && active.contains(operation.row().capability)
                });
                for operation in callable {
                    examination.offers(operation.row().name.to_owned());
                }
                let any = lines.iter().any(|line| active.contains(&line.name));
                examination.check(Rule::PlatformCapabilities, any, at, || {
                    let lines = lines.iter().map(|line| format!("{}: {}", line.name, line.verdict));
                    lines.collect::<Vec<_>>().join("; ")
                });
            }
        }
        Err(refusal) => {
            examination.check(Rule::PlatformReadable, false, at, || refusal.told());
        }
    }
    webhook(&document, at, &mut examination);
    examination.finish()
}

/// Looks at the address for events about orders.
fn webhook(document: &Value, at: &str, examination: &mut Examination) {
    let capabilities = entries(&document["ucp"]["capabilities"]);
    let orders: Vec<_> = capabilities.iter().filter(|(name, _)| *name == ORDER).collect();
    if orders.is_empty() {
        return examination.skip(&[Rule::PlatformWebhook], "the platform declares no orders");
    }
    let stated = orders.iter().any(|(_, entry)| entry["config"]["webhook_url"].as_str().is_some_and(is_safe));
    examination.check(Rule::PlatformWebhook, stated, at, || format!("{ORDER}: {}", orders[0].1));
}
