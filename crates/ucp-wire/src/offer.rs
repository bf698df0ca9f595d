//! Capabilities of a release.

use serde_json::{Map, Value};
use ucp_core::negotiation::{Declaration, Names};

/// Accepted mandate formats: SD-JWT VC (rule AP2-07).
pub(crate) const MANDATE_FORMATS: &[&str] = &["dc+sd-jwt"];

/// A capability in one release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The reverse-domain name.
    pub name: &'static str,
    /// The version, a date.
    pub version: &'static str,
    /// The capabilities that it extends; empty for a root capability.
    pub extends: &'static [&'static str],
    /// Path of the specification page, below `specification/`.
    pub spec: &'static str,
    /// Path of the JSON Schema, below `schemas/` and without `.json`.
    pub schema: &'static str,
    /// `true` if it is in the release's specification. Other capabilities can be negotiated but are not advertised.
    pub published: bool,
    /// The name in the domain; differs from `name` if the release uses another one.
    pub known_as: &'static str,
    /// `true` if the business signs under it, so that it is offered only while there is a signing key.
    pub signed: bool,
    /// `true` if it is active with callers alone that state it in a profile: it asks something of them.
    pub stated: bool,
    /// `true` if it has no callable operation and only sends webhooks about orders.
    pub tells: bool,
    /// Accepted formats of verifiable presentations, for the capability's `config`.
    pub presentations: &'static [&'static str],
}

impl Offer {
    /// Creates a root capability that is in the release's specification.
    pub(crate) const fn root(
        name: &'static str,
        version: &'static str,
        spec: &'static str,
        schema: &'static str,
    ) -> Self {
        let (published, signed, stated, tells) = (true, false, false, false);
        let known_as = name;
        Self {
            name,
            version,
            extends: &[],
            spec,
            schema,
            published,
            known_as,
            signed,
            stated,
            tells,
            presentations: &[],
        }
    }

    /// Makes it an extension of these capabilities.
    pub(crate) const fn extending(self, extends: &'static [&'static str]) -> Self {
        Self { extends, ..self }
    }

    /// Makes it a capability with mandates in these formats, which needs a signing key.
    pub(crate) const fn signing(self, presentations: &'static [&'static str]) -> Self {
        Self { signed: true, presentations, ..self }
    }

    /// Makes it a capability that is active only with callers who state it.
    pub(crate) const fn stated(self) -> Self {
        Self { stated: true, ..self }
    }

    /// Makes it a capability that only sends webhooks, which are signed.
    pub(crate) const fn telling(self) -> Self {
        Self { tells: true, signed: true, ..self }
    }

    /// Sets the name in the domain, if it differs.
    pub(crate) const fn known_as(self, known_as: &'static str) -> Self {
        Self { known_as, ..self }
    }

    /// Excludes it from the profile and the documents.
    pub(crate) const fn unpublished(self) -> Self {
        Self { published: false, ..self }
    }

    /// Returns the `config` of its entry in a profile, if it has one.
    pub(crate) fn config(&self) -> Option<Value> {
        let formats = self.presentations.iter().map(|format| ((*format).to_owned(), Value::Object(Map::new())));
        (!self.presentations.is_empty())
            .then(|| serde_json::json!({ "vp_formats_supported": Value::Object(formats.collect()) }))
    }

    /// Returns its declaration for the negotiation.
    pub fn declaration(&self) -> Declaration {
        self.declaration_under(&Names::default())
    }

    /// Returns its declaration for a business that uses names of its own.
    pub fn declaration_under(&self, names: &Names) -> Declaration {
        Declaration {
            name: names.of(self.name).to_owned(),
            version: self.version.to_owned(),
            extends: self.extends.iter().map(|&parent| parent.to_owned()).collect(),
            ..Declaration::default()
        }
    }
}
