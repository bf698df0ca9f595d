//! Differences between the documents of a release and those of the next one.

mod walk;

use serde_json::{Map, Value};
use ucp_core::{Answer, Operation, Request, catalog::product::Variant};

pub(crate) use walk::{each_destination, each_object, each_option, each_product, each_variant, insert_before, object};

/// Rewrites a document of an operation in place.
pub type Rewrite = fn(Operation, &mut Map<String, Value>);

/// Differences between the documents of a release and those of the next one.
#[derive(Debug)]
pub struct Upgrade {
    /// Rewriting of payloads.
    pub request: Way,
    /// Rewriting of answers, except for the negotiated capabilities in the envelope.
    pub answer: Way,
    /// Restoration of data that the next release cannot express.
    pub kept: Kept,
}

/// Rewriting in both directions between two releases.
#[derive(Debug)]
pub struct Way {
    /// Rewrites a document of the release into one of the next.
    pub up: Rewrite,
    /// Rewrites a document of the next release into one of this release.
    pub down: Rewrite,
}

/// Restoration of data that the next release cannot express, for calls that this gateway carries out itself.
#[derive(Debug)]
pub struct Kept {
    /// Restores data in a request from its payload in the older form.
    pub request: fn(&Value, &mut Request),
    /// Restores data in a document of the release from the domain's answer.
    pub answer: fn(&Answer, &mut Map<String, Value>),
    /// Restores data in a variant of a product.
    pub variant: fn(&Variant, &mut Map<String, Value>),
}
