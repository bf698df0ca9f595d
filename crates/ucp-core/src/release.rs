//! The UCP releases this gateway knows, as plain data.
//!
//! A release is named by its date. The domain never asks which one it serves: the wire crate holds one module per
//! release that turns its shapes into the domain's and back.

use std::fmt;

macro_rules! releases {
    ($($(#[$doc:meta])+ $variant:ident = $date:literal),+ $(,)?) => {
        /// A dated release of the protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Release {
            $($(#[$doc])+ $variant),+
        }

        impl Release {
            /// Every known release, oldest first.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The date that names the release on the wire, `YYYY-MM-DD`.
            pub const fn date(self) -> &'static str {
                match self { $(Self::$variant => $date),+ }
            }
        }
    };
}

releases! {
    /// The first release: checkout and order; capabilities as an array, JSON-RPC methods called directly.
    V2026_01_11 = "2026-01-11",
    /// Checkout and order; capabilities as a map, operations as MCP tools.
    V2026_01_23 = "2026-01-23",
    /// Catalog, cart, checkout and order; the error model with `ucp.status`.
    V2026_04_08 = "2026-04-08",
    /// Typed measures, common capabilities beside shopping, `keys` in the profile.
    V2026_08_25 = "2026-08-25",
}

impl Release {
    /// The newest release.
    pub const NEWEST: Self = Self::ALL[Self::COUNT - 1];

    /// Number of releases.
    pub const COUNT: usize = Self::ALL.len();

    /// The release a date names, by exact match: dates are names, not ranges (trap T-45).
    pub fn from_date(date: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|release| release.date() == date)
    }

    /// The position of this release in [`Release::ALL`].
    pub const fn ordinal(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.date())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_name_releases_exactly() {
        for release in Release::ALL {
            assert_eq!(Release::from_date(release.date()), Some(*release));
        }
        assert!(Release::ALL.is_sorted_by_key(|release| release.date()));
        assert_eq!(Release::NEWEST, Release::V2026_08_25);
        assert_eq!(Release::from_date("2026-04-8"), None);
        assert_eq!(Release::from_date("draft"), None);
    }
}
