//! Release 2026-01-23: checkout and order. Until the gateway serves those, the release publishes no operation.

use ucp_core::Release;

use crate::{
    dialect::Offer,
    founding::{self, Founding},
    profile,
};

/// Release 2026-01-23.
pub static V2026_01_23: Founding = Founding {
    release: RELEASE,
    offers: &OFFERS,
    profile: |dialect, site| profile::profile(dialect, site, &["signing_keys"]),
};

const RELEASE: Release = Release::V2026_01_23;

static OFFERS: [Offer; 3] = founding::offers(RELEASE);
