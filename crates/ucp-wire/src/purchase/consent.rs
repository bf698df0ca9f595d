//! Consent of buyers, in its two forms: yes or no under short names until 2026-04-08, decisions with their source under
//! reverse-domain names since 2026-08-25.
//!
//! No decision of the gateway depends on it. The purposes that both forms have are converted; others are kept in the
//! form they came in.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ucp_core::{
    catalog::product::Link,
    merchant::record::is_reverse_domain,
    purchase::buyer::{Consent, Purpose},
};

use crate::splice::object;

/// Names of the purposes that both forms have.
const ANALYTICS: &str = "dev.ucp.consent.analytics";
const PREFERENCES: &str = "dev.ucp.consent.preferences";
const MARKETING: &str = "dev.ucp.consent.marketing";
const SALE_OF_DATA: &str = "dev.ucp.consent.sale_or_sharing";

/// Pattern of a reverse-domain name, as [`is_reverse_domain`] has it.
pub(crate) const REVERSE_DOMAIN: &str = r"^[a-z](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]*[a-z0-9_])?)+$";

/// Returns `true` for a reverse-domain name by the pattern of releases before 2026-08-25: without hyphens, and without
/// labels that begin with a digit.
pub(crate) fn is_earlier_reverse_domain(name: &str) -> bool {
    let mut labels = name.split('.');
    let begins = |label: &str| label.starts_with(|first: char| first.is_ascii_lowercase());
    let word = |label: &str, extra: Option<char>| {
        label.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || Some(letter) == extra)
    };
    labels.next().is_some_and(|label| begins(label) && word(label, None))
        && name.contains('.')
        && labels.all(|label| begins(label) && word(label, Some('_')))
}

/// Consent of the buyer, as stated by platforms until 2026-04-08.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ConsentRequest")]
pub(crate) struct AnswersRequest {
    /// Usage analytics.
    analytics: Option<bool>,
    /// Storing preferences.
    preferences: Option<bool>,
    /// Advertising and newsletters.
    marketing: Option<bool>,
    /// Selling or sharing personal data.
    sale_of_data: Option<bool>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl From<AnswersRequest> for Consent {
    fn from(stated: AnswersRequest) -> Self {
        let purpose = |granted: Option<bool>| granted.map(|granted| Purpose { granted, extra: Map::new() });
        Self {
            analytics: purpose(stated.analytics),
            preferences: purpose(stated.preferences),
            marketing: purpose(stated.marketing),
            sale_of_data: purpose(stated.sale_of_data),
            extra: stated.others.into_iter().filter(|(_, answer)| answer.is_boolean()).collect(),
        }
    }
}

/// Consent of the buyer, as returned until 2026-04-08.
#[ucp_macros::omit_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Consent")]
pub(crate) struct Answers<'a> {
    /// Measuring how the shop is used.
    analytics: Option<bool>,
    /// Remembering preferences.
    preferences: Option<bool>,
    /// Advertising and newsletters.
    marketing: Option<bool>,
    /// Selling or sharing personal data.
    sale_of_data: Option<bool>,
    #[serde(flatten)]
    others: BTreeMap<&'a str, bool>,
}

impl<'a> From<&'a Consent> for Answers<'a> {
    fn from(consent: &'a Consent) -> Self {
        let answer = |purpose: &Option<Purpose>| purpose.as_ref().map(|purpose| purpose.granted);
        Self {
            analytics: answer(&consent.analytics),
            preferences: answer(&consent.preferences),
            marketing: answer(&consent.marketing),
            sale_of_data: answer(&consent.sale_of_data),
            others: consent
                .extra
                .iter()
                .filter_map(|(name, answer)| Some((name.as_str(), answer.as_bool()?)))
                .collect(),
        }
    }
}

/// Consent of the buyer by purpose, as stated by platforms since 2026-08-25.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ConsentRequest", extend("propertyNames" = { "type": "string", "pattern": REVERSE_DOMAIN }))]
#[serde(transparent)]
pub(crate) struct DecisionsRequest(#[schemars(with = "BTreeMap<String, DecisionRequest>")] BTreeMap<String, Purpose>);

/// The party that recorded a decision of the buyer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Source {
    Business,
    Platform,
}

/// A decision about a purpose.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
#[schemars(rename = "ConsentPurposeRequest")]
struct DecisionRequest {
    #[serde(flatten)]
    whole: SegmentRequest,
    /// Decisions about parts of the purpose.
    #[schemars(extend("propertyNames" = { "type": "string", "pattern": REVERSE_DOMAIN }))]
    segments: Option<BTreeMap<String, SegmentRequest>>,
}

/// A decision about a part of a purpose.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
#[schemars(rename = "ConsentSegmentRequest")]
struct SegmentRequest {
    /// `true` if the buyer agreed.
    granted: bool,
    /// The party that recorded the decision; the platform if absent.
    source: Option<Source>,
    /// The text that the buyer was shown.
    description: Option<String>,
    /// Pages with further information for the buyer.
    links: Option<Vec<Link>>,
}

/// Consent of the buyer by purpose, as returned since 2026-08-25.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Consent")]
#[serde(transparent)]
pub(crate) struct Decisions<'a>(BTreeMap<&'a str, Decision<'a>>);

/// A decision about a purpose.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ConsentPurpose")]
struct Decision<'a> {
    #[serde(flatten)]
    own: Segment<'a>,
    /// Decisions about parts of the purpose.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    segments: BTreeMap<Cow<'a, str>, Segment<'a>>,
}

/// A decision about a purpose or a part of one.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ConsentSegment")]
struct Segment<'a> {
    /// `true` if the buyer agreed.
    granted: bool,
    /// The party that recorded the decision.
    source: Source,
    /// The text that the buyer was shown.
    description: Cow<'a, str>,
    /// Pages with further information for the buyer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<Link>,
}

/// The members of a decision besides `granted`, as stored in [`Purpose::extra`].
#[derive(Default, Deserialize)]
#[serde(default)]
struct Kept {
    source: Option<Source>,
    description: Option<String>,
    links: Vec<Link>,
    segments: BTreeMap<String, KeptSegment>,
}

#[derive(Deserialize)]
struct KeptSegment {
    granted: bool,
    source: Option<Source>,
    description: Option<String>,
    #[serde(default)]
    links: Vec<Link>,
}

impl From<DecisionsRequest> for Consent {
    fn from(DecisionsRequest(mut stated): DecisionsRequest) -> Self {
        Self {
            analytics: stated.remove(ANALYTICS),
            preferences: stated.remove(PREFERENCES),
            marketing: stated.remove(MARKETING),
            sale_of_data: stated.remove(SALE_OF_DATA),
            extra: object(&stated),
        }
    }
}

fn segment<'a>(
    granted: bool,
    source: Option<Source>,
    description: Option<String>,
    links: Vec<Link>,
    otherwise: &'a str,
) -> Segment<'a> {
    Segment {
        granted,
        source: source.unwrap_or(Source::Platform),
        description: description.map_or(Cow::Borrowed(otherwise), Cow::Owned),
        links,
    }
}

fn decision<'a>(purpose: &Purpose, otherwise: &'a str) -> Decision<'a> {
    let kept: Kept = serde_json::from_value(Value::Object(purpose.extra.clone())).unwrap_or_default();
    let segments = kept.segments.into_iter().filter(|(name, _)| is_reverse_domain(name)).map(|(name, part)| {
        (Cow::Owned(name), segment(part.granted, part.source, part.description, part.links, otherwise))
    });
    Decision {
        segments: segments.collect(),
        own: segment(purpose.granted, kept.source, kept.description, kept.links, otherwise),
    }
}

impl<'a> From<&'a Consent> for Decisions<'a> {
    fn from(consent: &'a Consent) -> Self {
        let known = [
            (ANALYTICS, &consent.analytics, "Measuring how the shop is used."),
            (PREFERENCES, &consent.preferences, "Remembering preferences."),
            (MARKETING, &consent.marketing, "Advertising and newsletters."),
            (SALE_OF_DATA, &consent.sale_of_data, "Selling or sharing personal data."),
        ];
        let known = known
            .into_iter()
            .filter_map(|(name, purpose, text)| purpose.as_ref().map(|purpose| (name, decision(purpose, text))));
        let others = consent.extra.iter().filter(|(name, _)| is_reverse_domain(name)).filter_map(|(name, kept)| {
            let purpose: Purpose = serde_json::from_value(kept.clone()).ok()?;
            Some((name.as_str(), decision(&purpose, "A purpose of this name.")))
        });
        Self(known.chain(others).collect())
    }
}
