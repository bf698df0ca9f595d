//! Merchants and their locations on the wire: the draft *Merchant* capability, and UCP's *Location Search* and *Location
//! Lookup*, written once for every release.
//!
//! What stands around an answer is that of the release (see [`Form`]). The draft belongs to no release, so that callers of
//! all of them have it alike; locations came with 2026-08-25. Both show a location in the same shape, because the draft
//! leaves open what else a location says.
//!
//! What only the operator of a directory has to know never gets here: methods, aliases, texts in other languages, and
//! locations that are not public.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`request`] | what platforms ask, and the domain's words for it |
//! | [`shape`] | the shapes of answers |
//! | [`response`] | answers, from what the domain says |

pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod shape;

#[cfg(test)]
mod tests;

use ucp_core::Operation;

use crate::{purchase::Form, schema::Shapes};

/// The shapes of the draft's operations in one release.
#[derive(Debug)]
pub(crate) struct MerchantShapes {
    search: Shapes,
    get_merchant: Shapes,
}

impl MerchantShapes {
    /// The shapes of a form.
    pub(crate) fn of<F: Form>() -> Self {
        type Search<F> =
            shape::MerchantSearchResponse<'static, <F as Form>::Metadata<'static>, <F as Form>::Message<'static>>;
        type Detail<F> =
            shape::GetMerchantResponse<'static, <F as Form>::Metadata<'static>, <F as Form>::Message<'static>>;
        Self {
            search: Shapes::of::<request::MerchantSearchRequest, Search<F>, F::NoResource>(),
            get_merchant: Shapes::of::<request::GetMerchantRequest, Detail<F>, F::NoResource>(),
        }
    }

    /// The shapes of an operation, if it is one of the draft's.
    pub(crate) fn named(&self, operation: Operation) -> Option<&Shapes> {
        match operation {
            Operation::SearchMerchants => Some(&self.search),
            Operation::GetMerchant => Some(&self.get_merchant),
            _ => None,
        }
    }
}

/// The shapes of the operations on locations in one release.
#[derive(Debug)]
pub(crate) struct LocationShapes {
    search: Shapes,
    lookup: Shapes,
}

impl LocationShapes {
    /// The shapes of a form.
    pub(crate) fn of<F: Form>() -> Self {
        type Search<F> =
            shape::LocationSearchResponse<'static, <F as Form>::Metadata<'static>, <F as Form>::Message<'static>>;
        type Lookup<F> =
            shape::LocationLookupResponse<'static, <F as Form>::Metadata<'static>, <F as Form>::Message<'static>>;
        Self {
            search: Shapes::of::<request::LocationSearchRequest<F::Context>, Search<F>, F::NoResource>(),
            lookup: Shapes::of::<request::LocationLookupRequest<F::Context>, Lookup<F>, F::NoResource>(),
        }
    }

    /// The shapes of an operation, if it is one on locations.
    pub(crate) fn named(&self, operation: Operation) -> Option<&Shapes> {
        match operation {
            Operation::SearchLocations => Some(&self.search),
            Operation::LookupLocations => Some(&self.lookup),
            _ => None,
        }
    }
}
