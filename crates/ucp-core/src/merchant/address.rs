//! Geographic part of an address, in words that can be compared.
//!
//! People write one country, region or postal code in several ways. An [`AddressPlace`] holds the geographic part of an address
//! with the differences taken out; streets and names are no part of it.

use super::record::PostalAddress;
use crate::{country::Country, text::fold};

/// Names of countries that people use beside the standard's own.
const COMMON_NAMES: &[(&str, &str)] = &[
    ("america", "US"),
    ("bolivia", "BO"),
    ("britain", "GB"),
    ("czech republic", "CZ"),
    ("england", "GB"),
    ("great britain", "GB"),
    ("holland", "NL"),
    ("iran", "IR"),
    ("laos", "LA"),
    ("moldova", "MD"),
    ("netherlands", "NL"),
    ("north korea", "KP"),
    ("philippines", "PH"),
    ("russia", "RU"),
    ("south korea", "KR"),
    ("syria", "SY"),
    ("taiwan", "TW"),
    ("tanzania", "TZ"),
    ("turkey", "TR"),
    ("u.k.", "GB"),
    ("u.s.", "US"),
    ("u.s.a.", "US"),
    ("uk", "GB"),
    ("united arab emirates", "AE"),
    ("united kingdom", "GB"),
    ("united states", "US"),
    ("venezuela", "VE"),
    ("vietnam", "VN"),
];

/// The geographic part of an address, each member folded.
///
/// A buyer's place is as private as the buyer's address: `Debug` shows nothing of it.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressPlace {
    /// The country: ISO 3166-1 alpha-2 in capitals where it is known, else as written.
    pub country: Option<String>,
    /// The region: the part after the hyphen of ISO 3166-2 in capitals where it is known, else as written.
    pub region: Option<String>,
    /// The town.
    pub locality: Option<String>,
    /// The postal code, without spaces and hyphens.
    pub postal_code: Option<String>,
}

crate::opaque!(AddressPlace);

impl AddressPlace {
    /// Returns the geographic part of an address.
    pub fn of(address: &PostalAddress) -> Self {
        Self::new(
            address.address_country.as_deref(),
            address.address_region.as_deref(),
            address.address_locality.as_deref(),
            address.postal_code.as_deref(),
        )
    }

    /// The place with these members, as written. Blank ones count as absent.
    pub fn new(country: Option<&str>, region: Option<&str>, locality: Option<&str>, postal_code: Option<&str>) -> Self {
        let country = country.and_then(written).map(|name| country_code(&name).map_or(name, str::to_owned));
        let region = region.and_then(written).map(|region| region_code(country.as_deref(), region));
        let locality = locality.and_then(written);
        let postal_code = postal_code.and_then(written).map(|code| compact_postal_code(country.as_deref(), &code));
        Self { country, region, locality, postal_code: postal_code.filter(|code| !code.is_empty()) }
    }

    /// Every member, for telling queries apart.
    pub fn members(&self) -> [Option<&str>; 4] {
        [&self.country, &self.region, &self.locality, &self.postal_code].map(|member| member.as_deref())
    }

    /// Returns `true` if nothing at all is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The same place if it were in `country`, in which its other members may read differently.
    pub fn read_in(&self, country: Option<&str>) -> Self {
        Self {
            country: self.country.clone().or_else(|| country.map(str::to_owned)),
            region: self.region.as_ref().map(|region| match &self.country {
                Some(_) => region.clone(),
                None => region_code(country, fold(region)),
            }),
            locality: self.locality.clone(),
            postal_code: self.postal_code.as_ref().map(|code| match &self.country {
                Some(_) => code.clone(),
                None => compact_postal_code(country, code),
            }),
        }
    }

    /// Returns `true` if `location` is in this place: whatever this place says, it says too.
    pub fn holds(&self, location: &Self) -> bool {
        let sought = self.read_in(location.country.as_deref());
        let pairs = [
            (&sought.country, &location.country),
            (&sought.region, &location.region),
            (&sought.locality, &location.locality),
            (&sought.postal_code, &location.postal_code),
        ];
        pairs.into_iter().all(|(sought, own)| sought.is_none() || sought == own)
    }
}

/// A member of an address, folded and with single spaces; `None` for a blank one.
fn written(text: &str) -> Option<String> {
    let text = fold(text).split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

/// The ISO 3166-1 alpha-2 code of a country by alpha-2, alpha-3 or name, in any letter case.
pub fn country_code(country: &str) -> Option<&'static str> {
    let name = written(country)?;
    let code = name.to_ascii_uppercase();
    let by_code = match code.len() {
        2 => Country::with_alpha2(&code),
        3 => Country::with_alpha3(&code),
        _ => None,
    };
    by_code
        .map(|country| country.alpha2)
        .or_else(|| COMMON_NAMES.iter().find(|(common, _)| *common == name).map(|(_, code)| *code))
        .or_else(|| Country::with_name(&name).map(|country| country.alpha2))
}

/// The code of a region by code or name, or what was written where the country has no such region.
fn region_code(country: Option<&str>, region: String) -> String {
    country.and_then(Country::with_alpha2).and_then(|country| country.region(&region)).map_or(region, str::to_owned)
}

/// A postal code without spaces and hyphens; in the United States without its last four digits too, which name a side
/// of a street.
fn compact_postal_code(country: Option<&str>, code: &str) -> String {
    let mut compact: String = code.chars().filter(|letter| !letter.is_whitespace() && *letter != '-').collect();
    if country == Some("US") && compact.len() == 9 && compact.bytes().all(|byte| byte.is_ascii_digit()) {
        compact.truncate(5);
    }
    compact
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(country: &str, region: &str, locality: &str, postal_code: &str) -> AddressPlace {
        AddressPlace::new(Some(country), Some(region), Some(locality), Some(postal_code))
    }

    #[test]
    fn one_place_has_many_spellings_and_one_form() {
        let expected = place("US", "CA", "san francisco", "94105");
        for spelling in [
            place("us", "ca", "San Francisco", "94105-1234"),
            place("USA", "California", " SAN  FRANCISCO ", "941051234"),
            place("United States of America", "US-CA", "San Francisco", "94105"),
            place("united states", "CALIFORNIA", "San Francisco", "９４１０５"),
        ] {
            assert!(spelling == expected, "{:?} {:?}", spelling.region, spelling.postal_code);
        }
        assert_eq!(place("UK", "", "London", "sw1a 1aa").postal_code.as_deref(), Some("sw1a1aa"));
        assert_eq!(place("BR", "São Paulo", "Sao Paulo", "01310-100").region.as_deref(), Some("SP"));
        assert_eq!(place("Atlantis", "North", "", " ").region.as_deref(), Some("north"));
        assert!(place(" ", "", "", "-").is_empty());
        // A nine-digit code is cut only where it is a ZIP.
        assert_eq!(place("XX", "", "", "123456789").postal_code.as_deref(), Some("123456789"));
    }

    #[test]
    fn a_place_holds_what_agrees_with_everything_it_says() {
        let oakland = place("US", "California", "Oakland", "94612");
        let sought = |country, region, locality, code| AddressPlace::new(country, region, locality, code);
        for (place, holds) in [
            (sought(Some("USA"), None, None, None), true),
            (sought(None, Some("california"), None, None), true),
            (sought(None, Some("CA"), Some("oakland"), Some("94612-0001")), true),
            (sought(Some("US"), Some("CA"), Some("Berkeley"), None), false),
            (sought(Some("CA"), None, None, None), false),
            (sought(Some("MX"), Some("CA"), None, None), false),
            (AddressPlace::default(), true),
        ] {
            assert_eq!(place.holds(&oakland), holds);
        }
        // What a location does not say it does not match.
        assert!(!sought(Some("US"), None, None, None).holds(&AddressPlace::default()));
    }

    #[test]
    fn countries_are_known_by_code_and_name() {
        for (written, code) in
            [("jp", "JP"), ("JPN", "JP"), ("Japan", "JP"), ("Côte d'Ivoire", "CI"), ("Türkiye", "TR"), ("uk", "GB")]
        {
            assert_eq!(country_code(written), Some(code), "{written}");
        }
        for unknown in ["", "ZZ", "Gotham", "日本"] {
            assert_eq!(country_code(unknown), None, "{unknown}");
        }
        for (_, code) in COMMON_NAMES {
            assert!(Country::with_alpha2(code).is_some(), "{code}");
        }
    }

    #[test]
    fn places_are_not_printed() {
        assert_eq!(format!("{:?}", place("US", "CA", "Oakland", "94612")), "AddressPlace { .. }");
    }
}
