//! A table of postal codes and towns with their coordinates.
//!
//! A table is a text file in the format of the postal code files of `GeoNames`, so that one of those can be used as it
//! is: UTF-8, one place a line, twelve columns with tabs between them.
//!
//! | column | holds |
//! | --: | :-- |
//! | 1 | the country, two letters |
//! | 2 | the postal code |
//! | 3 | the name of the place |
//! | 4, 5 | the name and the code of the region, such as `California` and `CA` |
//! | 6 to 9 | smaller regions, which are not used |
//! | 10, 11 | latitude and longitude in degrees |
//! | 12 | how exact they are, which is not used and may be absent |
//!
//! Empty lines and lines that start with `#` are passed over, and so are places without coordinates. Several rows of
//! one name become their middle; where they lie far apart they are different places, and the name resolves to neither.

use std::{
    collections::HashMap,
    io::{self, BufRead, Read as _},
};

use ucp_core::merchant::{address::AddressPlace, geo::Point};

/// Built-in table: a dozen places of the sample directory, for trying it out.
const FIXTURE: &str = include_str!("fixture.tsv");

/// Maximum length of a line, in bytes.
const LONGEST_LINE: u64 = 4 << 10;

/// Maximum distance of the rows of one name from their center, in meters.
const SPREAD: f64 = 75_000.0;

/// Units per degree: about a centimeter each.
const UNITS: f64 = 1e7;

/// Separator of the parts of a key, which contain no such character.
const SEPARATOR: char = '\t';

/// Error of a table that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file cannot be read.
    #[error("the table of postal codes cannot be read")]
    Io(#[from] io::Error),
    /// A line is invalid.
    #[error("line {line} of the table of postal codes: {reason}")]
    Line {
        /// The line, counted from 1.
        line: u64,
        /// Description of the fault.
        reason: String,
    },
    /// The table has more entries than can be addressed.
    #[error("the table of postal codes is larger than 4 GiB")]
    TooLarge,
}

/// Places by postal code, and by name and region.
#[derive(Clone, Debug)]
pub struct Table {
    /// Keys of all entries, concatenated.
    keys: String,
    /// Entries, in the order of their keys.
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u32,
    length: u16,
    /// Coordinates, in units of which [`UNITS`] are a degree.
    latitude: i32,
    longitude: i32,
}

impl Entry {
    fn key<'a>(&self, keys: &'a str) -> &'a str {
        let start = self.start as usize;
        keys.get(start..start + usize::from(self.length)).unwrap_or_default()
    }

    fn point(&self) -> Option<Point> {
        Point::new(f64::from(self.latitude) / UNITS, f64::from(self.longitude) / UNITS)
    }
}

impl Table {
    /// Returns the built-in table.
    pub fn fixture() -> Self {
        Self::read(FIXTURE.as_bytes()).unwrap_or_else(|error| {
            // It is part of the program; that it can be read is a matter of its tests.
            tracing::error!(error = &error as &dyn std::error::Error, "built-in table of places is unreadable");
            Self { keys: String::new(), entries: Vec::new() }
        })
    }

    /// Reads a table. Fails with an error for the first invalid line, or if the table cannot be read.
    pub fn read(mut reader: impl BufRead) -> Result<Self, TableError> {
        let mut table = Self { keys: String::new(), entries: Vec::new() };
        let mut regions = Regions::default();
        let mut text = Vec::new();
        for line in 1.. {
            text.clear();
            let read = reader.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut text)?;
            if read == 0 {
                break;
            }
            if read as u64 > LONGEST_LINE {
                return Err(TableError::Line { line, reason: format!("longer than {LONGEST_LINE} bytes") });
            }
            let bytes = if line == 1 { text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text) } else { &text };
            let text = std::str::from_utf8(bytes)
                .map_err(|_| TableError::Line { line, reason: "not UTF-8".to_owned() })?
                .trim_end_matches(['\n', '\r']);
            if text.trim().is_empty() || text.starts_with('#') {
                continue;
            }
            if let Some(row) = Row::parse(text).map_err(|reason| TableError::Line { line, reason })? {
                table.add(&row, &mut regions)?;
            }
        }
        table.settle();
        Ok(table)
    }

    /// Returns the number of names in the table.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if the table is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the center of a postal code.
    pub fn postal_code(&self, place: &AddressPlace) -> Option<Point> {
        let (country, code) = (place.country.as_deref()?, place.postal_code.as_deref()?);
        let whole = self.find(&postal_key(country, code));
        whole.or_else(|| self.find(&postal_key(country, area_of(country, code)?)))
    }

    /// Returns the center of a town, if the region is stated too: many towns of a country share a name.
    pub fn locality(&self, place: &AddressPlace) -> Option<Point> {
        let region = place.region.as_deref()?;
        self.find(&locality_key(place.country.as_deref()?, region, place.locality.as_deref()?))
    }

    fn find(&self, key: &str) -> Option<Point> {
        let at = self.entries.binary_search_by(|entry| entry.key(&self.keys).cmp(key)).ok()?;
        self.entries[at].point()
    }

    fn add(&mut self, row: &Row<'_>, regions: &mut Regions) -> Result<(), TableError> {
        let place = AddressPlace::new(Some(row.country), None, Some(row.place), Some(row.code));
        let mut keys = Vec::new();
        keys.extend(place.postal_code.map(|code| postal_key(row.country, &code)));
        if let Some(locality) = place.locality {
            let [name, code] = row.regions.map(|region| regions.form(row.country, region));
            keys.extend(name.iter().map(|region| locality_key(row.country, region, &locality)));
            keys.extend(
                code.filter(|code| name.as_ref() != Some(code)).map(|code| locality_key(row.country, &code, &locality)),
            );
        }
        for key in keys {
            let start = u32::try_from(self.keys.len()).map_err(|_| TableError::TooLarge)?;
            let Ok(length) = u16::try_from(key.len()) else { continue };
            self.keys.push_str(&key);
            self.entries.push(Entry { start, length, latitude: row.latitude, longitude: row.longitude });
        }
        Ok(())
    }

    /// Sorts the entries, and merges those of one name.
    fn settle(&mut self) {
        let keys = std::mem::take(&mut self.keys);
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_unstable_by(|a, b| {
            let order = a.key(&keys).cmp(b.key(&keys));
            order.then((a.latitude, a.longitude).cmp(&(b.latitude, b.longitude)))
        });
        for group in entries.chunk_by(|a, b| a.key(&keys) == b.key(&keys)) {
            let Some((latitude, longitude)) = middle(group) else { continue };
            let Ok(start) = u32::try_from(self.keys.len()) else { break };
            self.keys.push_str(group[0].key(&keys));
            self.entries.push(Entry { start, length: group[0].length, latitude, longitude });
        }
        self.keys.shrink_to_fit();
        self.entries.shrink_to_fit();
    }
}

/// One line of a table.
struct Row<'a> {
    country: &'a str,
    code: &'a str,
    place: &'a str,
    regions: [&'a str; 2],
    latitude: i32,
    longitude: i32,
}

impl<'a> Row<'a> {
    /// Parses a line; `None` if its place has no coordinates.
    fn parse(line: &'a str) -> Result<Option<Self>, String> {
        let columns: Vec<_> = line.split('\t').map(str::trim).collect();
        let [country, code, place, name, short, _, _, _, _, latitude, longitude] = columns[..columns.len().min(11)]
        else {
            return Err(format!("12 columns with tabs between them are needed, there are {}", columns.len()));
        };
        if columns.len() > 12 {
            return Err(format!("12 columns with tabs between them are needed, there are {}", columns.len()));
        }
        if country.len() != 2 || !country.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err("column 1 must be a country of two capital letters".to_owned());
        }
        if latitude.is_empty() && longitude.is_empty() {
            return Ok(None);
        }
        let degrees = |text: &str, column: u8| {
            text.parse::<f64>().map_err(|_| format!("column {column} must be a number of degrees"))
        };
        let (latitude, longitude) = (degrees(latitude, 10)?, degrees(longitude, 11)?);
        if Point::new(latitude, longitude).is_none() {
            return Err(
                "columns 10 and 11 must be a latitude from -90 to 90 and a longitude from -180 to 180, not both 0"
                    .to_owned(),
            );
        }
        let [latitude, longitude] = [units(latitude), units(longitude)];
        Ok(Some(Self { country, code, place, regions: [name, short], latitude, longitude }))
    }
}

/// Converts degrees to the units of the table.
#[expect(clippy::cast_possible_truncation, reason = "180 degrees fit")]
fn units(degrees: f64) -> i32 {
    (degrees * UNITS).round() as i32
}

/// Returns the center of a group of places; `None` if they are far apart.
fn middle(group: &[Entry]) -> Option<(i32, i32)> {
    let first = group.first()?;
    if group.iter().all(|entry| (entry.latitude, entry.longitude) == (first.latitude, first.longitude)) {
        return Some((first.latitude, first.longitude));
    }
    // As directions, so that the date line and the poles are places like any other.
    let mut sum = [0.0; 3];
    let points: Vec<_> = group.iter().filter_map(Entry::point).collect();
    for point in &points {
        let (latitude, longitude) = (point.latitude().to_radians(), point.longitude().to_radians());
        sum[0] += latitude.cos() * longitude.cos();
        sum[1] += latitude.cos() * longitude.sin();
        sum[2] += latitude.sin();
    }
    let middle = Point::new(sum[2].atan2(sum[0].hypot(sum[1])).to_degrees(), sum[1].atan2(sum[0]).to_degrees())?;
    let together = points.iter().all(|point| point.distance(middle) <= SPREAD);
    together.then(|| (units(middle.latitude()), units(middle.longitude())))
}

/// Cache of the canonical forms of regions, each of which takes a search through all regions of a country.
#[derive(Default)]
struct Regions(HashMap<(String, String), Option<String>>);

impl Regions {
    fn form(&mut self, country: &str, region: &str) -> Option<String> {
        let form = || AddressPlace::new(Some(country), Some(region), None, None).region;
        self.0.entry((country.to_owned(), region.to_owned())).or_insert_with(form).clone()
    }
}

/// Returns the part of a postal code that names an area, for countries whose full codes name streets or houses.
fn area_of<'a>(country: &str, code: &'a str) -> Option<&'a str> {
    let length = match country {
        "US" => 5,
        "CA" | "IE" => 3,
        "NL" => 4,
        "GB" => code.len().checked_sub(3)?,
        _ => return None,
    };
    (length >= 2).then(|| code.get(..length)).flatten()
}

fn postal_key(country: &str, code: &str) -> String {
    format!("{country}{SEPARATOR}{code}")
}

fn locality_key(country: &str, region: &str, locality: &str) -> String {
    format!("{country}{SEPARATOR}{region}{SEPARATOR}{locality}")
}
