//! Differences between the documents of a release and those of the next one.

mod walk;

use serde_json::{Map, Value};
use ucp_core::{Answer, Operation, Request};

pub(crate) use walk::{each_destination, each_object, each_option, each_product, each_variant, insert_before, object};

/// Rewrites a document of an operation in place.
pub type Rewrite = fn(Operation, &mut Map<String, Value>);

/// Differences between the documents of a release and those of the next one.
#[derive(Debug)]
pub struct Upgrade {
    /// Payloads.
    pub request: Way,
    /// Answers, but for what the envelope tells of the negotiation.
    pub answer: Way,
    /// Facts that this gateway keeps and the next release has no form for.
    pub kept: Kept,
}

/// Both directions between two releases.
#[derive(Debug)]
pub struct Way {
    /// Rewrites a document of the release into one of the next.
    pub up: Rewrite,
    /// Rewrites a document of the next release into one of this.
    pub down: Rewrite,
}

/// Facts of calls that this gateway carries out itself, which would get lost on the way through the next release.
#[derive(Debug)]
pub struct Kept {
    /// Adds to a request what its payload stated, which is given in the older form.
    pub request: fn(&Value, &mut Request),
    /// Adds to a document of the release what the domain answered.
    pub answer: fn(&Answer, &mut Map<String, Value>),
}
