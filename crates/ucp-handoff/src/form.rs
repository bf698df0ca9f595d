//! Forms of the pages, parsed within limits.

use axum::body::HttpBody as _;
use bytes::Bytes;
use http::{HeaderMap, header::CONTENT_TYPE};
use http_body_util::{BodyExt as _, Limited};
use ucp_core::{
    purchase::buyer::PostalAddress,
    sales::handoff::{Chosen, Details, Goal, Step},
    text::is_unfit,
};
use ucp_service::body::DEADLINE;
use url::form_urlencoded;

use crate::language::{Text, Texts};

/// Maximum size of a form, in bytes.
const MAX_BYTES: usize = 16 * 1024;

/// Maximum length of a text field, in characters.
pub(crate) const MAX_TEXT: usize = 200;

/// Name of the field of the destination: an address, or the place that follows [`PLACE`].
pub(crate) const DESTINATION: &str = "destination";
/// Value of the destination field for an address.
pub(crate) const ADDRESS: &str = "address";
/// Prefix of the values of the destination field for places of the shop.
pub(crate) const PLACE: &str = "place:";

/// Prefix of the fields that choose a delivery option; position of the method and identifier of the group follow.
pub(crate) const OPTION: &str = "option:";

/// Text fields of the buyer and of the address.
pub(crate) const FIELDS: &[Field] = &[
    field("first_name", |texts| &texts.first_name, "given-name", false),
    field("last_name", |texts| &texts.last_name, "family-name", false),
    field("email", |texts| &texts.email, "email", false),
    field("phone_number", |texts| &texts.phone_number, "tel", false),
    field("street_address", |texts| &texts.street_address, "address-line1", true),
    field("extended_address", |texts| &texts.extended_address, "address-line2", true),
    field("postal_code", |texts| &texts.postal_code, "postal-code", true),
    field("address_locality", |texts| &texts.address_locality, "address-level2", true),
    field("address_region", |texts| &texts.address_region, "address-level1", true),
    field("address_country", |texts| &texts.address_country, "country", true),
];

/// A text field.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) label: fn(&Texts) -> &Text,
    pub(crate) autocomplete: &'static str,
    pub(crate) address: bool,
}

const fn field(name: &'static str, label: fn(&Texts) -> &Text, autocomplete: &'static str, address: bool) -> Field {
    Field { name, label, autocomplete, address }
}

/// Reasons why a form cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The media type or the encoding is not that of a form.
    Kind,
    /// The form exceeds the size limit.
    Size,
    /// The body was not received completely.
    Late,
    /// Required fields are missing.
    Incomplete,
}

/// A submitted form.
#[derive(Debug)]
pub(crate) struct Form(Vec<(String, String)>);

/// A step of the buyer, with its name in forms.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) name: &'static str,
    pub(crate) step: Step,
}

/// Reads and parses a form.
pub(crate) async fn read(headers: &HeaderMap, body: axum::body::Body) -> Result<Form, Fault> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Err(Fault::Kind);
    }
    if body.size_hint().lower() > MAX_BYTES as u64 {
        return Err(Fault::Size);
    }
    let bytes: Bytes = match tokio::time::timeout(DEADLINE, Limited::new(body, MAX_BYTES).collect()).await {
        Ok(Ok(collected)) => collected.to_bytes(),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => return Err(Fault::Size),
        Ok(Err(_)) | Err(_) => return Err(Fault::Late),
    };
    Ok(Form(form_urlencoded::parse(&bytes).map(|(name, value)| (name.into_owned(), value.into_owned())).collect()))
}

impl Form {
    /// Returns the value of a text field.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// Returns the proof of origin of the form.
    pub(crate) fn seal(&self) -> &str {
        self.text("seal").unwrap_or_default()
    }

    /// Returns the version of the checkout that the form was rendered for.
    pub(crate) fn version(&self) -> Option<u64> {
        self.text("version")?.parse().ok()
    }

    /// Returns the step that the form asks for.
    pub(crate) fn step(&self) -> Option<Named> {
        let (name, step) = match self.text("step")? {
            "details" => ("details", Step::Details(Box::new(self.details()))),
            "delivery" => ("delivery", Step::Options(self.chosen())),
            "approve" => ("approve", Step::Approve),
            "pay" => ("pay", Step::Pay),
            "cancel" => ("cancel", Step::Cancel),
            _ => return None,
        };
        Some(Named { name, step })
    }

    /// Returns the errors of the text fields, by name.
    pub(crate) fn faults(&self, texts: &Texts) -> Option<Vec<(&'static Field, String)>> {
        let fault = |field: &'static Field| {
            let text = self.text(field.name)?;
            let label = (field.label)(texts).as_str();
            let content = if text.chars().count() > MAX_TEXT {
                texts.field_too_long.with(&[("field", &label), ("characters", &MAX_TEXT)])
            } else if text.chars().any(|letter| letter.is_control() || is_unfit(letter)) {
                texts.field_unusable.with(&[("field", &label)])
            } else {
                return None;
            };
            Some((field, content))
        };
        let faults: Vec<_> = FIELDS.iter().filter_map(fault).collect();
        (!faults.is_empty()).then_some(faults)
    }

    fn details(&self) -> Details {
        let text = |name| self.text(name).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        let destination = match self.text(DESTINATION) {
            Some(ADDRESS) => Some(Goal::Address(Box::new(PostalAddress {
                street_address: text("street_address"),
                extended_address: text("extended_address"),
                address_locality: text("address_locality"),
                address_region: text("address_region"),
                address_country: text("address_country"),
                postal_code: text("postal_code"),
                ..PostalAddress::default()
            }))),
            Some(other) => other.strip_prefix(PLACE).map(|place| Goal::Place(place.to_owned())),
            None => None,
        };
        Details {
            first_name: text("first_name"),
            last_name: text("last_name"),
            email: text("email"),
            phone_number: text("phone_number"),
            destination,
        }
    }

    fn chosen(&self) -> Vec<Chosen> {
        let chosen = |(name, option): &(String, String)| {
            let (method, group) = name.strip_prefix(OPTION)?.split_once(':')?;
            Some(Chosen { method: method.parse().ok()?, group: group.to_owned(), option: option.clone() })
        };
        self.0.iter().filter_map(chosen).collect()
    }
}
