//! The registry of releases.

use ucp_core::Release;

use crate::{
    dialect::Dialect, upgrade::Upgrade, v2026_01_11::V2026_01_11, v2026_01_23::V2026_01_23, v2026_04_08::V2026_04_08,
    v2026_08_25::V2026_08_25,
};

/// Returns the module of a release.
pub fn dialect(release: Release) -> &'static dyn Dialect {
    match release {
        Release::V2026_01_11 => &V2026_01_11,
        Release::V2026_01_23 => &V2026_01_23,
        Release::V2026_04_08 => &V2026_04_08,
        Release::V2026_08_25 => &V2026_08_25,
    }
}

/// Returns the differences between the releases from `older` to `newer`, in this order; nothing if `newer` is not
/// newer.
pub(crate) fn upgrades(older: Release, newer: Release) -> impl DoubleEndedIterator<Item = &'static Upgrade> {
    Release::ALL[older.ordinal()..newer.ordinal().max(older.ordinal())]
        .iter()
        .filter_map(|release| dialect(*release).upgrade())
}
