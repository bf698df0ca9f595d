//! Pictures of the goods of the data sets, drawn as SVG: one for each product, and one for each of its colors.
//!
//! `sample/pictures/drawings.svg` has a drawing for each kind of thing, with placeholders for its colors: `$a` is the
//! main one, `$b` a darker and `$c` a lighter one, `$d` the darkest, `$w` that of paper, `$m` of metal and `$o` of wood.
//! `sample/pictures/products.json` says which drawing and color a product has. Records name pictures below
//! [`SAMPLE_PICTURES`]; whoever serves them says where with [`crate::EmbeddedShop::show_pictures_below`].

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;

use super::recipe;

/// Address below which the records of the data sets name their pictures.
pub const SAMPLE_PICTURES: &str = "https://pictures.example.com/";

const DRAWINGS: &str = include_str!("../../sample/pictures/drawings.svg");

static TABLE: LazyLock<Table> = LazyLock::new(|| recipe(include_str!("../../sample/pictures/products.json")));

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// Colors by name, as `#rrggbb`.
    colors: BTreeMap<String, String>,
    /// Drawing and color of each product, by handle.
    products: BTreeMap<String, (String, String)>,
}

/// Returns the picture of a file name, such as `runner-pro.svg` or `runner-pro-red.svg`; `None` if there is no such
/// product, or no such color.
pub fn picture(file: &str) -> Option<String> {
    let name = file.strip_suffix(".svg")?;
    let (drawing, color) = match TABLE.products.get(name) {
        Some((drawing, color)) => (drawing, color.as_str()),
        None => TABLE.products.iter().find_map(|(handle, (drawing, _))| {
            let color = name.strip_prefix(handle.as_str())?.strip_prefix('-')?;
            TABLE.colors.contains_key(color).then_some((drawing, color))
        })?,
    };
    let main = Color::parse(TABLE.colors.get(color)?)?;
    let start = DRAWINGS.split_once(&format!("<symbol id=\"{drawing}\">"))?.1;
    let mut content = start.split_once("</symbol>")?.0.to_owned();
    for (placeholder, color) in [
        ("$a", main),
        ("$b", main.mixed(Color(0x20, 0x22, 0x30), 28)),
        ("$c", main.mixed(Color(0xff, 0xfb, 0xf2), 42)),
        ("$d", Color(0x2b, 0x2e, 0x36)),
        ("$w", Color(0xfd, 0xfb, 0xf6)),
        ("$m", Color(0xa7, 0xae, 0xb6)),
        ("$o", Color(0xb8, 0x85, 0x55)),
    ] {
        content = content.replace(placeholder, &color.to_string());
    }
    let ground = main.mixed(Color(0xf4, 0xf1, 0xec), 84);
    let (shadow, halo) = (main.mixed(Color(0x80, 0x7c, 0x76), 60), main.mixed(Color(0xff, 0xff, 0xff), 86));
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 400 400\" width=\"800\" height=\"800\">\
         <path fill=\"{ground}\" d=\"M0 0h400v400H0z\"/><circle cx=\"200\" cy=\"196\" r=\"164\" fill=\"{halo}\"/>\
         <ellipse cx=\"200\" cy=\"330\" rx=\"136\" ry=\"13\" fill=\"{shadow}\" opacity=\".22\"/>\
         <g fill=\"none\">{content}</g></svg>"
    ))
}

/// A color in red, green and blue.
#[derive(Clone, Copy)]
struct Color(u8, u8, u8);

impl Color {
    /// Parses `#rrggbb`.
    fn parse(text: &str) -> Option<Self> {
        let [_, red, green, blue] = u32::from_str_radix(text.strip_prefix('#')?, 16).ok()?.to_be_bytes();
        Some(Self(red, green, blue))
    }

    /// Mixes in `percent` of another color.
    fn mixed(self, other: Self, percent: u16) -> Self {
        let mix = |one: u8, other: u8| {
            let sum = u16::from(one) * (100 - percent) + u16::from(other) * percent;
            u8::try_from(sum / 100).unwrap_or(u8::MAX)
        };
        Self(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }
}

impl std::fmt::Display for Color {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::sample::SAMPLES;

    #[test]
    fn every_picture_that_a_record_names_is_drawn_and_no_other() {
        let mut used = BTreeSet::new();
        for sample in SAMPLES {
            for record in sample.opening().records {
                let of_variants = record.variants.iter().flat_map(|variant| &variant.media);
                assert!(!record.media.is_empty(), "{} has a picture", record.id);
                for media in record.media.iter().chain(of_variants) {
                    let file = media.url.strip_prefix(SAMPLE_PICTURES).expect("an address of a picture");
                    let text = picture(file).unwrap_or_else(|| panic!("{file} is drawn"));
                    assert!(!text.contains('$') && text.ends_with("</g></svg>"), "{file}: {text}");
                }
                used.insert(record.handle.expect("a handle"));
            }
        }
        assert_eq!(used, TABLE.products.keys().cloned().collect());
        for unknown in ["runner-pro", "runner-pro-purple.svg", "../runner-pro.svg", ".svg", "", "mug.svg"] {
            assert!(picture(unknown).is_none(), "{unknown}");
        }
    }

    #[test]
    fn colors_differ_where_products_do() {
        let [red, blue] = ["runner-pro-red.svg", "runner-pro-blue.svg"].map(|file| picture(file).expect("a picture"));
        assert_ne!(red, blue);
        assert_eq!(picture("runner-pro.svg").expect("a picture"), blue, "its first color");
    }
}
