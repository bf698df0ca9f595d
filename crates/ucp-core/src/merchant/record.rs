//! A merchant as the operator of a directory states it.
//!
//! The document is the merchant of the draft capability with what it leaves out: per location the coordinates, time
//! zone, opening hours, ways to hand goods over and amenities, in the shapes of UCP's *Location*; texts in other
//! languages; and whether a location may be shown at all. This is the line format of `ucp-gateway import --merchants`
//! and the form in which a directory keeps merchants. A merchant that passed [`Merchant::check`] holds nothing that an
//! answer must not.

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    geo::Point,
    hours::{DailyHours, ExceptionHours},
    schedule::Schedule,
    words::plain_text,
};
use crate::catalog::product::{Description, Media};

pub use crate::catalog::record::Unusable;

/// How many bytes an identifier has at most.
pub const MAX_ID: usize = 255;

/// How many bytes a name has at most.
pub const MAX_NAME: usize = 500;

/// A merchant of a directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Merchant {
    /// The identifier, unique in the directory.
    pub id: String,
    /// The name buyers know.
    pub name: String,
    /// What the merchant offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// The merchant's own page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Where the merchant stands in a taxonomy, such as `Restaurants > Pizza`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// Pictures; the first one stands for the merchant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
    /// Tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Where the merchant is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// How goods are handed over at every location that does not say otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<Method>,
    /// Which destinations and methods one order may combine. It does not say which methods there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fulfillment_config: Option<FulfillmentConfig>,
    /// What the merchant keeps beside the standard model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// The BCP 47 tag of the language the texts are in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The texts in other languages, by BCP 47 tag.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub translations: BTreeMap<String, Translation>,
    /// Members that no rule speaks about, carried as they came.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A place where a merchant can be found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Location {
    /// The identifier, unique in the directory.
    pub id: String,
    /// Other identifiers that lead to it. They may be shared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The name buyers know.
    pub name: String,
    /// The name in other languages, by BCP 47 tag.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, String>,
    /// Its postal address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<PostalAddress>,
    /// Where it is on the map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geo: Option<Geo>,
    /// The IANA time zone that its hours are in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// The weekly hours; unknown where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hours: Option<Vec<DailyHours>>,
    /// What replaces the weekly hours on single dates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exception_hours: Vec<ExceptionHours>,
    /// How goods are handed over here; where absent, as everywhere at this merchant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub methods: Option<Vec<Method>>,
    /// What it has, by reverse-domain name, such as `dev.ucp.amenity.wi_fi`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub amenities: BTreeMap<String, Amenity>,
    /// Whether buyers may know of it. A kitchen without a counter is not public.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub public: bool,
    /// Members that no rule speaks about, carried as they came.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// How goods reach the buyer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The buyer comes for them.
    Pickup,
    /// The location brings them.
    Delivery,
    /// A carrier brings them.
    Shipping,
}

/// Coordinates and where they come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Geo {
    /// WGS 84 latitude in degrees.
    pub latitude: f64,
    /// WGS 84 longitude in degrees.
    pub longitude: f64,
    /// Who says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How exact they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
}

/// How exactly coordinates name a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// The middle of a town.
    Locality,
    /// The middle of the area of a postal code.
    PostalCode,
    /// A street address.
    Street,
}

/// A feature of a location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amenity {
    /// What it is, for buyers.
    pub description: String,
    /// Members that no rule speaks about, carried as they came.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A postal address.
///
/// Requests hold the addresses of buyers, so that no address is ever printed: `Debug` shows nothing of it.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the members of the specification's postal address, which explain themselves")]
pub struct PostalAddress {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended_address: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub street_address: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address_locality: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address_region: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address_country: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postal_code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone_number: Option<String>,
    /// Members that no rule speaks about, carried as they came.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl fmt::Debug for PostalAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PostalAddress(..)")
    }
}

/// Which destinations and methods one order may combine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FulfillmentConfig {
    /// By method, whether one order may have several destinations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allows_multi_destination: Option<MultiDestination>,
    /// The sets of methods that one order may combine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allows_method_combinations: Option<Vec<Vec<CombinedMethod>>>,
    /// Members that no rule speaks about, carried as they came.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// By method, whether one order may have several destinations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MultiDestination {
    /// Several addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping: Option<bool>,
    /// Several locations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pickup: Option<bool>,
}

/// A method as the draft's schema knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CombinedMethod {
    /// To the buyer.
    Shipping,
    /// By the buyer.
    Pickup,
}

/// The texts of a merchant in another language. What is absent stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Translation {
    /// The name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the merchant offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    /// The merchant, if nothing at all is wrong with it.
    ///
    /// # Errors
    /// The first member that is wrong.
    pub fn check(self) -> Result<Self, Unusable> {
        let (merchant, mut set_aside) = self.salvage()?;
        if set_aside.is_empty() { Ok(merchant) } else { Err(set_aside.swap_remove(0)) }
    }

    /// The merchant without the coordinates and hours of locations that mean nothing, and why each was set aside. Such
    /// a location can still be found by what is left of it, but never as near or as open.
    ///
    /// # Errors
    /// The first member that makes the merchant as a whole unusable.
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

    /// How goods are handed over at a location of this merchant.
    #[must_use]
    pub fn methods_at<'a>(&'a self, location: &'a Location) -> &'a [Method] {
        location.methods.as_deref().unwrap_or(&self.methods)
    }
}

impl Location {
    /// Where it is, if it says so and that can be.
    #[must_use]
    pub fn point(&self) -> Option<Point> {
        self.geo.as_ref().and_then(|geo| Point::new(geo.latitude, geo.longitude))
    }

    /// Its schedule; `None` where it is unknown.
    ///
    /// # Errors
    /// The first member from which no schedule can be made, with its path from the location.
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

    /// Takes away coordinates and hours that mean nothing, and says why.
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

/// Gives a description its plain text, so that answers always have one.
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

fn address(path: &str, url: &str) -> Result<(), Unusable> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    if rest.is_some_and(|rest| !rest.is_empty() && !url.contains(char::is_whitespace)) {
        Ok(())
    } else {
        Err(unusable(path, "must be an absolute http or https address"))
    }
}

/// Whether this is a name such as `dev.ucp.amenity.wi_fi`.
#[must_use]
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
