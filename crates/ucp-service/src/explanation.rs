//! Explanation of a negotiation, for those who look at the call afterwards: where the profile came from, why the release was
//! chosen, and which capabilities are active, and why others are not. It is made only for calls that are recorded.

use std::{fmt::Write as _, sync::Arc};

use tokio::time::Instant;
use ucp_core::negotiation::{Verdict, negotiate};
use ucp_record as record;

use crate::{
    access::Principal,
    call::{Call, Endpoint},
    platform::Platform,
};

/// Maximum length of a list in bytes. What a stranger declares has none of its own.
const MAX_LIST: usize = 4_096;

/// Tells how the platform of a call was identified and what was negotiated with it; `is_cached` is `true` if nothing was
/// waited for.
pub(crate) fn tell(call: &Call, platform: &Platform, is_cached: bool) {
    record::tell("profile", || profile(call, platform, is_cached));
    record::tell("release", || release(call, platform));
    record::tell("negotiated", || {
        let known = if platform.is_known() { "of its profile" } else { "all, because its profile is not known" };
        let active = platform.active.iter().map(|(name, version)| format!("{name} {version}"));
        format!("release {}, capabilities ({known}): {}", platform.release, listed(active, ", "))
    });
    if platform.is_known() {
        record::tell("not_active", || listed(inactive(platform).map(|(name, why)| format!("{name}: {why}")), "; "));
    }
}

/// Tells why an operation cannot be called, for whose capability `name` that is the reason.
pub(crate) fn tell_incompatible(platform: &Platform, name: &str) {
    record::tell("incompatible", || {
        let why = inactive(platform).find(|(other, _)| other == name).map(|(_, why)| why.to_string());
        format!("{name}: {}", why.as_deref().unwrap_or("not offered here"))
    });
}

/// Describes where the profile of a platform came from.
fn profile(call: &Call, platform: &Platform, is_cached: bool) -> String {
    let said = match (call.profiles.first(), &call.admission.principal) {
        (Some(stated), _) => format!("named by {}", stated.place),
        (None, Principal::Keyed(_)) => "that of the credential".to_owned(),
        (None, _) => "not named".to_owned(),
    };
    let proved = match &call.admission.principal {
        Principal::Anonymous => "not proved",
        Principal::Signed(_) => "proved by a signature",
        Principal::Keyed(_) => "proved by a credential",
        Principal::Local => "that of the process that started this one",
    };
    let url = &platform.profile;
    let Some(known) = &platform.known else {
        return format!("{url}, {said}, {proved}; its document was not read");
    };
    let now = Instant::now();
    let age = now.saturating_duration_since(known.fetched_at).as_secs();
    let source = match known.fresh_until() {
        None => "pinned in the configuration".to_owned(),
        Some(_) if known.is_pinned() => format!("registered, fetched in the background {age} s ago"),
        Some(until) if until <= now => format!("stale: fetched {age} s ago, and fetched again for later calls"),
        Some(_) if is_cached => format!("cached, fetched {age} s ago"),
        Some(_) => "fetched, or waited for".to_owned(),
    };
    format!("{url}, {said}, {proved}; {source}")
}

/// Describes why a call is answered in its release.
fn release(call: &Call, platform: &Platform) -> String {
    let release = platform.release;
    match (call.endpoint, platform.is_known()) {
        (Endpoint::Root, true) => format!("{release}, which the profile names"),
        (Endpoint::Of(_), true) => format!("{release}, which the path and the profile name"),
        (Endpoint::Of(_), false) => format!("{release}, which the path names"),
        (Endpoint::Root, false) => {
            format!("{release}, the newest, because the profile is not known and the path names none")
        }
    }
}

/// Returns the capabilities that either side declares and that are not active, each with the reason, sorted by name.
fn inactive(platform: &Platform) -> impl Iterator<Item = (String, Verdict)> {
    let lines = platform.known.as_ref().map(|known| {
        let declared = platform.platforms.business().declared_with_key(platform.release);
        negotiate(platform.release.date(), declared, &known.profile.capabilities).lines
    });
    let active = Arc::clone(&platform.active);
    lines.into_iter().flatten().filter_map(move |line| match line.verdict {
        // It takes a key to sign with, which there is not.
        Verdict::Active { .. } if !active.iter().any(|(name, _)| name == line.name) => {
            Some((line.name, Verdict::NotOurs))
        }
        Verdict::Active { .. } => None,
        verdict => Some((line.name, verdict)),
    })
}

/// Joins a list, of which no more than [`MAX_LIST`] is told.
fn listed(items: impl Iterator<Item = String>, between: &str) -> String {
    let (mut list, mut more) = (String::new(), 0);
    for item in items {
        if more > 0 || list.len() + item.len() > MAX_LIST {
            more += 1;
            continue;
        }
        if !list.is_empty() {
            list.push_str(between);
        }
        list.push_str(&item);
    }
    match (list.is_empty(), more) {
        (true, 0) => list.push_str("none"),
        (_, 0) => {}
        _ => write!(list, "{between}and {more} more").unwrap_or_default(),
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_bounded() {
        let items = |count: usize| std::iter::repeat_n("x".repeat(1_000), count);
        assert_eq!(listed(items(0), ", "), "none");
        assert_eq!(listed(items(2), ", ").len(), 2_002);
        let long = listed(items(900), ", ");
        assert!(long.len() < MAX_LIST + 100 && long.ends_with(", and 896 more"), "{}", long.len());
    }
}
