//! What a release offers.

use serde_json::{Map, Value};
use ucp_core::negotiation::{Declaration, Names};

/// The formats of mandates that are taken: SD-JWT VC (rule AP2-07).
pub(crate) const MANDATE_FORMATS: &[&str] = &["dc+sd-jwt"];

/// A capability in one release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The reverse-domain name.
    pub name: &'static str,
    /// The version.
    pub version: &'static str,
    /// The capabilities it extends; empty for a root capability.
    pub extends: &'static [&'static str],
    /// The page of the specification, below its root.
    pub spec: &'static str,
    /// The JSON Schema, below the specification's root.
    pub schema: &'static str,
    /// Whether it is part of the release. What is not can be called by those who know of it, but is not advertised.
    pub published: bool,
    /// What the domain calls it; differs from the name where a release has another one.
    pub known_as: &'static str,
    /// Whether this side signs under it, so that it is offered only where there is a key to sign with.
    pub signed: bool,
    /// Whether nothing is called under it: whoever has bought something is told what becomes of it.
    pub tells: bool,
    /// The formats of verifiable presentations it takes, as its configuration states them.
    pub presentations: &'static [&'static str],
}

impl Offer {
    /// A root capability that is part of the release.
    pub(crate) const fn root(
        name: &'static str,
        version: &'static str,
        spec: &'static str,
        schema: &'static str,
    ) -> Self {
        Self {
            name,
            version,
            extends: &[],
            spec,
            schema,
            published: true,
            known_as: name,
            signed: false,
            tells: false,
            presentations: &[],
        }
    }

    /// The same as an extension of these capabilities.
    pub(crate) const fn extending(self, extends: &'static [&'static str]) -> Self {
        Self { extends, ..self }
    }

    /// The same as one under which both sides sign, with presentations of these formats.
    pub(crate) const fn signing(self, presentations: &'static [&'static str]) -> Self {
        Self { signed: true, presentations, ..self }
    }

    /// The same as one under which nothing is called, and platforms are told of their orders, signed.
    pub(crate) const fn telling(self) -> Self {
        Self { tells: true, signed: true, ..self }
    }

    /// The same where the domain has another name for it.
    pub(crate) const fn known_as(self, known_as: &'static str) -> Self {
        Self { known_as, ..self }
    }

    /// The same for those who know of it only.
    pub(crate) const fn unpublished(self) -> Self {
        Self { published: false, ..self }
    }

    /// What its entry in a profile has for its `config`, if anything.
    pub(crate) fn config(&self) -> Option<Value> {
        let formats = self.presentations.iter().map(|format| ((*format).to_owned(), Value::Object(Map::new())));
        (!self.presentations.is_empty())
            .then(|| serde_json::json!({ "vp_formats_supported": Value::Object(formats.collect()) }))
    }

    /// The same as a party to a negotiation declares it.
    #[must_use]
    pub fn declaration(&self) -> Declaration {
        self.declaration_under(&Names::default())
    }

    /// The same as a party declares it that uses these names.
    #[must_use]
    pub fn declaration_under(&self, names: &Names) -> Declaration {
        Declaration {
            name: names.of(self.name).to_owned(),
            version: self.version.to_owned(),
            extends: self.extends.iter().map(|&parent| parent.to_owned()).collect(),
            ..Declaration::default()
        }
    }
}
