//! The directory of merchants in a binary without the feature `directory`: whoever asks for it is told so.

use ucp_net::outbound::Certificate;

use crate::{
    document::Document,
    sections::{Geocoder, Merchants},
};

/// Why there is no directory.
pub const WITHOUT: &str = "this binary was built without the feature `directory`; build it with that feature to serve merchants and locations";

/// Nothing: there is no directory to search.
#[derive(Clone, Debug)]
pub struct Search;

impl Search {
    pub(super) const fn usual() -> Self {
        Self
    }

    /// Refuses every key that asks for the directory.
    pub(crate) fn resolve(
        said: &Merchants,
        geocoder: &mut Geocoder,
        _: &[Certificate],
        _: Option<&Self>,
        document: &mut Document<'_>,
    ) -> Self {
        for (key, asked) in [
            ("merchants.enabled", said.enabled == Some(true)),
            ("merchants.locations", said.locations == Some(true)),
            ("geocoder.places", geocoder.places.is_some()),
            ("geocoder.url", geocoder.url.is_some()),
        ] {
            if asked {
                document.add(key, WITHOUT);
            }
        }
        Self
    }
}
