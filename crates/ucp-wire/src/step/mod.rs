//! How documents of a release differ from those of the release before.

mod walk;

use serde_json::{Map, Value};
use ucp_core::Operation;

pub(crate) use walk::{each_destination, each_object, each_option, each_product, each_variant, object};

/// Rewrites a document of an operation in place.
pub type Rewrite = fn(Operation, &mut Map<String, Value>);

/// How documents of a release differ from those of the release before.
#[derive(Debug)]
pub struct Step {
    /// What is asked.
    pub request: Way,
    /// What is answered.
    pub answer: Way,
}

/// Both directions of a step.
#[derive(Debug)]
pub struct Way {
    /// From the release before into this one.
    pub newer: Rewrite,
    /// From this release into the one before.
    pub older: Rewrite,
}

impl Step {
    /// Nothing differs, or there is no release before.
    pub(crate) const NONE: Self = Self { request: Way::NONE, answer: Way::NONE };
}

impl Way {
    /// Nothing differs.
    pub(crate) const NONE: Self = Self { newer: |_, _| {}, older: |_, _| {} };
}
