//! A merchant as stated by the operator of a directory.
//!
//! The document is the merchant of the draft capability with additions: per location the coordinates, time zone,
//! opening hours, fulfillment methods and amenities, in the shapes of UCP's *Location*; texts in other languages; and
//! whether a location is public. This is the line format of `ucp-gateway import --merchants`, and the form in which a
//! directory stores merchants. A merchant that passed [`Merchant::check`] contains nothing that an answer must not.

use std::collections::{BTreeMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    geo::Point,
    hours::{DailyHours, ExceptionHours},
    schedule::Schedule,
};
use crate::catalog::product::{Description, Media};

pub use crate::catalog::record::Unusable;

/// Maximum length of an identifier, in bytes.
pub const MAX_ID: usize = 255;

/// Maximum length of a name, in bytes.
pub const MAX_NAME: usize = 500;

/// A merchant of a directory.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Merchant {
    /// Identifier, unique in the directory.
    pub id: String,
    /// Name shown to buyers.
    pub name: String,
    /// Description of the merchant's offer.
    pub description: Option<Description>,
    /// URL of the merchant's page.
    pub url: Option<String>,
    /// Categories in a taxonomy, such as `Restaurants > Pizza`.
    pub category: Option<String>,
    /// Media; the first one represents the merchant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
    /// Tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Locations of the merchant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// Fulfillment methods of every location that states none of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<Method>,
    /// Destinations and methods that one order may combine; not a list of the methods offered.
    pub fulfillment_config: Option<FulfillmentConfig>,
    /// Data of the merchant beyond the standard model.
    pub metadata: Option<Map<String, Value>>,
    /// BCP 47 tag of the language of the texts.
    pub language: Option<String>,
    /// Texts in other languages, by BCP 47 tag.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub translations: BTreeMap<String, Translation>,
    /// Further members, kept as stated.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A location of a merchant.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Location {
    /// Identifier, unique in the directory.
    pub id: String,
    /// Further identifiers, which several locations may share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Name shown to buyers.
    pub name: String,
    /// Name in other languages, by BCP 47 tag.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, String>,
    /// Postal address.
    pub address: Option<PostalAddress>,
    /// Coordinates.
    pub geo: Option<Geo>,
    /// IANA time zone of the hours.
    pub timezone: Option<String>,
    /// Weekly opening hours; unknown if absent.
    pub hours: Option<Vec<DailyHours>>,
    /// Opening hours on single dates, in place of the weekly ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exception_hours: Vec<ExceptionHours>,
    /// Fulfillment methods of this location; those of the merchant if absent.
    pub methods: Option<Vec<Method>>,
    /// Amenities, by reverse-domain name, such as `dev.ucp.amenity.wi_fi`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub amenities: BTreeMap<String, Amenity>,
    /// `true` if buyers may know of it. A kitchen without a counter is not public.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub public: bool,
    /// Further members, kept as stated.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A fulfillment method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The buyer picks the goods up.
    Pickup,
    /// The location delivers the goods.
    Delivery,
    /// A carrier delivers the goods.
    Shipping,
}

/// Coordinates, and their source.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Geo {
    /// WGS 84 latitude, in degrees.
    pub latitude: f64,
    /// WGS 84 longitude, in degrees.
    pub longitude: f64,
    /// Source of the coordinates.
    pub source: Option<String>,
    /// Precision of the coordinates.
    pub precision: Option<Precision>,
}

/// Precision of coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Centre of a town.
    Locality,
    /// Centre of a postal code.
    PostalCode,
    /// Street address.
    Street,
}

/// A feature of a location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amenity {
    /// Description for buyers.
    pub description: String,
    /// Further members, kept as stated.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A postal address.
///
/// Requests contain addresses of buyers, so that no address is ever printed: `Debug` shows no member.
#[ucp_macros::omit_none]
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the members of the specification's postal address, which explain themselves")]
pub struct PostalAddress {
    pub extended_address: Option<String>,
    pub street_address: Option<String>,
    pub address_locality: Option<String>,
    pub address_region: Option<String>,
    pub address_country: Option<String>,
    pub postal_code: Option<String>,
    pub first_name: Option<String>,
    pub last_name: Option<String>,
    pub full_name: Option<String>,
    pub phone_number: Option<String>,
    /// Further members, kept as stated.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

crate::opaque!(PostalAddress);

/// Destinations and methods that one order may combine.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FulfillmentConfig {
    /// Support of several destinations per order, by method.
    pub allows_multi_destination: Option<MultiDestination>,
    /// Sets of methods that one order may combine.
    pub allows_method_combinations: Option<Vec<Vec<CombinedMethod>>>,
    /// Further members, kept as stated.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Support of several destinations per order, by method.
#[ucp_macros::omit_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MultiDestination {
    /// `true` if one order may be sent to several addresses.
    pub shipping: Option<bool>,
    /// `true` if one order may be picked up at several locations.
    pub pickup: Option<bool>,
}

/// A method in the terms of the draft's schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CombinedMethod {
    /// The goods are sent to the buyer.
    Shipping,
    /// The buyer picks the goods up.
    Pickup,
}

/// Texts of a merchant in another language. Absent texts are shown in the original language.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Translation {
    /// Name.
    pub name: Option<String>,
    /// Description of the merchant's offer.
    pub description: Option<Description>,
}

const fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde calls")]
const fn is_true(value: &bool) -> bool {
    *value
}

impl Merchant {
    /// Checks all members. Fails with [`Unusable`] for the first invalid member.
    pub fn check(self) -> Result<Self, Unusable> {
        let (merchant, mut set_aside) = self.salvage()?;
        if set_aside.is_empty() { Ok(merchant) } else { Err(set_aside.swap_remove(0)) }
    }

    /// Checks the merchant, and removes invalid coordinates and hours of locations; returns the reason for each of
    /// them. Such a location can still be found by its other members, but is never near and never open. Fails with
    /// [`Unusable`] for the first member that makes the merchant as a whole unusable.
    pub fn salvage(mut self) -> Result<(Self, Vec<Unusable>), Unusable> {
        identifier("$.id", &self.id)?;
        name("$.name", &self.name)?;
        if let Some(description) = &mut self.description {
            complete("$.description", description)?;
        }
        for (tag, translation) in &mut self.translations {
            let at = |member: &str| format!("$.translations['{tag}'].{member}");
            if let Some(text) = &translation.name {
                name(&at("name"), text)?;
            }
            if let Some(description) = &mut translation.description {
                complete(&at("description"), description)?;
            }
        }
        if let Some(url) = &self.url {
            address("$.url", url)?;
        }
        if let Some(category) = &self.category
            && category.split('>').any(|segment| segment.trim().is_empty())
        {
            return Err(unusable("$.category", "needs a name between each two `>`"));
        }
        for (position, media) in self.media.iter().enumerate() {
            if !["image", "video", "model_3d"].contains(&media.kind.as_str()) {
                return Err(unusable(format!("$.media[{position}].type"), "must be `image`, `video` or `model_3d`"));
            }
            address(&format!("$.media[{position}].url"), &media.url)?;
        }
        let mut ids = HashSet::new();
        let mut set_aside = Vec::new();
        for (position, location) in self.locations.iter_mut().enumerate() {
            let at = |member: &str| format!("$.locations[{position}].{member}");
            identifier(&at("id"), &location.id)?;
            if !ids.insert(location.id.clone()) {
                return Err(unusable(at("id"), format!("`{}` is used twice", location.id)));
            }
            location.check(&at)?;
            set_aside.extend(location.set_aside(&at));
        }
        Ok((self, set_aside))
    }

    /// Returns the fulfillment methods of a location of this merchant.
    pub fn methods_at<'a>(&'a self, location: &'a Location) -> &'a [Method] {
        location.methods.as_deref().unwrap_or(&self.methods)
    }
}

impl Location {
    /// Returns the coordinates of the location, if they are stated and valid.
    pub fn point(&self) -> Option<Point> {
        self.geo.as_ref().and_then(|geo| Point::new(geo.latitude, geo.longitude))
    }

    /// Returns the schedule of the location; `None` if it is unknown. Fails with [`Unusable`] for the first invalid
    /// member, with its path from the location.
    pub fn schedule(&self) -> Result<Option<Schedule>, Unusable> {
        if self.hours.is_none() && self.exception_hours.is_empty() {
            return Ok(None);
        }
        let zone = self.timezone.as_deref().ok_or_else(|| unusable("timezone", "is needed to read the hours"))?;
        Schedule::new(zone, self.hours.as_deref(), &self.exception_hours).map(Some)
    }

    fn check(&self, at: &impl Fn(&str) -> String) -> Result<(), Unusable> {
        name(&at("name"), &self.name)?;
        for (tag, text) in &self.names {
            name(&at(&format!("names['{tag}']")), text)?;
        }
        for (place, alias) in self.aliases.iter().enumerate() {
            identifier(&at(&format!("aliases[{place}]")), alias)?;
        }
        for (key, amenity) in &self.amenities {
            if !is_reverse_domain(key) {
                return Err(unusable(
                    at(&format!("amenities['{key}']")),
                    "must be a reverse-domain name such as `dev.ucp.amenity.wi_fi`",
                ));
            }
            if amenity.description.trim().is_empty() {
                return Err(unusable(at(&format!("amenities['{key}'].description")), "must not be empty"));
            }
        }
        Ok(())
    }

    /// Removes invalid coordinates and hours, and returns the reasons.
    fn set_aside(&mut self, at: &impl Fn(&str) -> String) -> Vec<Unusable> {
        let mut reasons = Vec::new();
        if self.geo.is_some() && self.point().is_none() {
            self.geo = None;
            reasons.push(unusable(
                at("geo"),
                "the latitude must be from -90 to 90, the longitude from -180 to 180, and not both 0",
            ));
        }
        if let Err(Unusable { path, reason }) = self.schedule() {
            (self.timezone, self.hours, self.exception_hours) = (None, None, Vec::new());
            reasons.push(unusable(at(&path), reason));
        } else if let Some(zone) = &self.timezone
            && let Err(Unusable { path, reason }) = super::schedule::zone(zone)
        {
            self.timezone = None;
            reasons.push(unusable(at(&path), reason));
        }
        reasons
    }
}

fn unusable(path: impl Into<String>, reason: impl Into<String>) -> Unusable {
    Unusable { path: path.into(), reason: reason.into() }
}

fn identifier(path: &str, id: &str) -> Result<(), Unusable> {
    match id {
        _ if id.trim().is_empty() => Err(unusable(path, "must not be empty")),
        _ if id.len() > MAX_ID => Err(unusable(path, format!("must not be longer than {MAX_ID} bytes"))),
        _ => Ok(()),
    }
}

fn name(path: &str, name: &str) -> Result<(), Unusable> {
    match name {
        _ if name.trim().is_empty() => Err(unusable(path, "must not be empty")),
        _ if name.len() > MAX_NAME => Err(unusable(path, format!("must not be longer than {MAX_NAME} bytes"))),
        _ => Ok(()),
    }
}

/// Adds plain text to a description without it, so that answers always have one.
fn complete(path: &str, description: &mut Description) -> Result<(), Unusable> {
    if description.is_empty() {
        return Err(unusable(path, "needs a text in `plain`, `html` or `markdown`"));
    }
    if description.plain.is_none() {
        let formatted = description.markdown.as_deref().or(description.html.as_deref()).unwrap_or_default();
        description.plain = Some(plain_text(formatted));
    }
    Ok(())
}

/// Returns the text of HTML or Markdown without its markup. For comparison and as a fallback, not for display as markup.
fn plain_text(formatted: &str) -> String {
    let mut plain = String::with_capacity(formatted.len());
    let mut rest = formatted;
    while let Some(mark) = rest.find(['<', '&', '*', '_', '#', '`', '[', ']', '>']) {
        plain.push_str(&rest[..mark]);
        let (sign, after) = (&rest[mark..=mark], &rest[mark + 1..]);
        rest = match sign {
            // A tag separates words; a lone bracket is text.
            "<" if after.starts_with(|next: char| next.is_ascii_alphabetic() || "/!?".contains(next)) => {
                plain.push(' ');
                after.find('>').map_or("", |end| &after[end + 1..])
            }
            "<" => {
                plain.push('<');
                after
            }
            "&" => {
                let entities = [
                    ("amp;", "&"),
                    ("lt;", "<"),
                    ("gt;", ">"),
                    ("quot;", "\""),
                    ("#39;", "'"),
                    ("apos;", "'"),
                    ("nbsp;", " "),
                ];
                let (text, length) = entities
                    .into_iter()
                    .find(|(name, _)| after.starts_with(name))
                    .map_or(("&", 0), |(name, text)| (text, name.len()));
                plain.push_str(text);
                &after[length..]
            }
            // The address of a Markdown link.
            "]" if after.starts_with('(') => after.find(')').map_or("", |end| &after[end + 1..]),
            // A mark inside a word is a letter of it.
            "_" if plain.ends_with(char::is_alphanumeric) && after.starts_with(char::is_alphanumeric) => {
                plain.push('_');
                after
            }
            _ => after,
        };
    }
    plain.push_str(rest);
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn address(path: &str, url: &str) -> Result<(), Unusable> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    if rest.is_some_and(|rest| !rest.is_empty() && !url.contains(char::is_whitespace)) {
        Ok(())
    } else {
        Err(unusable(path, "must be an absolute http or https address"))
    }
}

/// Returns `true` for a reverse-domain name such as `dev.ucp.amenity.wi_fi`.
pub fn is_reverse_domain(name: &str) -> bool {
    let segment = |(place, segment): (usize, &str)| {
        let (first, last) = (segment.bytes().next().unwrap_or(b'-'), segment.bytes().next_back().unwrap_or(b'-'));
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        match place {
            0 => first.is_ascii_lowercase() && last != b'-' && segment.bytes().all(inner),
            _ => !b"-_".contains(&first) && last != b'-' && segment.bytes().all(|byte| inner(byte) || byte == b'_'),
        }
    };
    name.contains('.') && name.split('.').enumerate().all(segment)
}

#[cfg(test)]
mod tests;
