//! Countries and their regions by code and name: ISO 3166-1 and 3166-2.
//!
//! Both tables come from the crate `rust_iso3166` 0.2.0 (Apache-2.0), of which everything else is left out: a row of
//! `countries.tsv` has alpha-2 code, alpha-3 code and name, a row of `regions.tsv` has code and name. Rows are in the
//! order of their codes.

use std::{iter, sync::LazyLock};

use crate::text::fold;

static COUNTRIES: LazyLock<Vec<Country>> = LazyLock::new(|| {
    let mut regions = include_str!("country/regions.tsv").lines().peekable();
    include_str!("country/countries.tsv")
        .lines()
        .map(|row| {
            let mut columns = row.split('\t');
            let [alpha2, alpha3, name] = std::array::from_fn(|_| columns.next().unwrap_or_default());
            let regions = iter::from_fn(|| regions.next_if(|row| row.starts_with(alpha2)))
                .filter_map(|row| row.split_once('\t'))
                .map(|(code, name)| Region { code, folded: fold(name) })
                .collect();
            Country { alpha2, alpha3, name, folded: fold(name), regions }
        })
        .collect()
});

/// A country of ISO 3166-1.
#[derive(Debug)]
pub struct Country {
    /// Two capitals.
    pub alpha2: &'static str,
    /// Three capitals.
    pub alpha3: &'static str,
    /// The short name in English.
    pub name: &'static str,
    folded: String,
    regions: Vec<Region>,
}

/// A subdivision of ISO 3166-2.
#[derive(Debug)]
struct Region {
    /// The country's alpha-2 code, a hyphen and the region's own code.
    code: &'static str,
    folded: String,
}

impl Country {
    /// Returns all countries in the order of their alpha-2 codes.
    pub fn all() -> &'static [Self] {
        &COUNTRIES
    }

    /// Returns the country with an alpha-2 code in capitals.
    pub fn with_alpha2(code: &str) -> Option<&'static Self> {
        COUNTRIES.binary_search_by(|country| country.alpha2.cmp(code)).ok().map(|place| &COUNTRIES[place])
    }

    /// Returns the country with an alpha-3 code in capitals.
    pub fn with_alpha3(code: &str) -> Option<&'static Self> {
        COUNTRIES.iter().find(|country| country.alpha3 == code)
    }

    /// Returns the country with a [folded](fold) name.
    pub fn with_name(folded: &str) -> Option<&'static Self> {
        COUNTRIES.iter().find(|country| country.folded == folded)
    }

    /// Returns the code, without the country's, of the region with a [folded](fold) code or name. Of regions with one
    /// name, such as a town and its district, the first counts.
    pub fn region(&self, folded: &str) -> Option<&'static str> {
        let own = |code: &'static str| code.split_once('-').map_or(code, |(_, own)| own);
        let code = folded.to_ascii_uppercase();
        self.regions
            .iter()
            .find(|region| region.code == code || own(region.code) == code)
            .or_else(|| self.regions.iter().find(|region| region.folded == folded))
            .map(|region| own(region.code))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_row_of_both_tables_is_read() {
        assert_eq!(Country::all().len(), 249);
        assert_eq!(Country::all().iter().map(|country| country.regions.len()).sum::<usize>(), 5_046);
        assert!(Country::all().is_sorted_by_key(|country| country.alpha2));
        for country in Country::all() {
            assert_eq!((country.alpha2.len(), country.alpha3.len()), (2, 3), "{country:?}");
            assert!(!country.name.is_empty(), "{country:?}");
            assert!(
                country.regions.iter().all(|region| region.code.as_bytes()[2] == b'-' && !region.folded.is_empty())
            );
        }
        let codes: BTreeSet<_> = Country::all().iter().map(|country| country.alpha3).collect();
        let names: BTreeSet<_> = Country::all().iter().map(|country| &country.folded).collect();
        assert_eq!((codes.len(), names.len()), (249, 249));
    }

    #[test]
    fn countries_and_regions_are_found_by_code_and_name() {
        let brazil = Country::with_alpha2("BR").expect("listed");
        assert_eq!((brazil.alpha3, brazil.name), ("BRA", "Brazil"));
        for same in [Country::with_alpha3("BRA"), Country::with_name("brazil")] {
            assert_eq!(same.map(|country| country.alpha2), Some("BR"));
        }
        for region in ["sp", "br-sp", "sao paulo"] {
            assert_eq!(brazil.region(region), Some("SP"), "{region}");
        }
        assert_eq!(brazil.region("california"), None);
        for unknown in ["br", "ZZ", ""] {
            assert!(Country::with_alpha2(unknown).is_none(), "{unknown}");
        }
    }
}
