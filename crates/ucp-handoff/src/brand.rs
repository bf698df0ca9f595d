//! The look of the shop on its pages: color and logo.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha256};
use url::Url;

const STYLE: &str = include_str!("style.css");

/// Backgrounds of the pages by day and by night, as in `style.css`.
const GROUNDS: [Color; 2] = [Color([0xff, 0xff, 0xff]), Color([0x16, 0x18, 0x1b])];

/// Minimum contrast of text and its background (WCAG 2.2, 1.4.3).
const MIN_CONTRAST: f64 = 4.5;

/// A color in sRGB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Color(pub [u8; 3]);

impl Color {
    const BLACK: Self = Self([0; 3]);
    const WHITE: Self = Self([0xff; 3]);

    /// Returns the color of `#` and six hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6 && digits.is_ascii())?;
        let part = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
        digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(())?;
        Some(Self([part(0)?, part(2)?, part(4)?]))
    }

    /// Returns the relative luminance, from 0 to 1.
    fn luminance(self) -> f64 {
        let [red, green, blue] = self.0.map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// Returns the contrast with another color, from 1 to 21.
    fn contrast(self, other: Self) -> f64 {
        let (one, two) = (self.luminance(), other.luminance());
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }

    /// Returns the color nearest to this one that can be read on a background, mixed with black or white.
    fn on(self, ground: Self) -> Self {
        let ink = if ground.luminance() > 0.5 { Self::BLACK } else { Self::WHITE };
        let mixed = |part: u16| {
            let mix = |at: usize| {
                let sum = u16::from(self.0[at]) * (20 - part) + u16::from(ink.0[at]) * part;
                u8::try_from(sum / 20).unwrap_or(u8::MAX)
            };
            Self([mix(0), mix(1), mix(2)])
        };
        (0..=20).map(mixed).find(|color| color.contrast(ground) >= MIN_CONTRAST).unwrap_or(ink)
    }

    /// Returns black or white, whichever can be read better on this color.
    fn ink(self) -> Self {
        if self.contrast(Self::BLACK) > self.contrast(Self::WHITE) { Self::BLACK } else { Self::WHITE }
    }

    fn hexadecimal(self) -> String {
        self.0.iter().fold("#".to_owned(), |mut text, part| {
            let _ = write!(text, "{part:02x}");
            text
        })
    }
}

/// Style of the pages, with the color and the logo of the shop.
#[derive(Debug)]
pub struct Brand {
    pub(crate) style: String,
    /// Source of the style for the content security policy.
    pub(crate) style_source: String,
    pub(crate) logo: Option<Url>,
}

impl Brand {
    /// Returns the look of a shop with its color for links and buttons, and the URL of its logo.
    pub fn new(color: Option<Color>, logo: Option<Url>) -> Self {
        let mut style = STYLE.to_owned();
        if let Some(color) = color {
            let [day, night] = GROUNDS.map(|ground| color.on(ground)).map(|accent| {
                format!(":root{{--accent:{};--on-accent:{}}}", accent.hexadecimal(), accent.ink().hexadecimal())
            });
            style.push_str(&format!("{day}\n@media (prefers-color-scheme:dark){{{night}}}\n"));
        }
        let style_source = format!("'sha256-{}'", STANDARD.encode(Sha256::digest(&style)));
        Self { style, style_source, logo }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_color_can_be_read_by_day_and_by_night() {
        for text in ["#000000", "#ffffff", "#ffee00", "#0b57c2", "#808080", "#ff0000", "#123456"] {
            let color = Color::parse(text).expect("a colour");
            for ground in GROUNDS {
                let accent = color.on(ground);
                assert!(accent.contrast(ground) >= MIN_CONTRAST, "{text} on {ground:?}: {accent:?}");
                assert!(accent.ink().contrast(accent) >= MIN_CONTRAST, "{text}: text on {accent:?}");
            }
        }
        let blue = Color([0x0b, 0x57, 0xc2]);
        assert_eq!(blue.on(GROUNDS[0]), blue, "what can be read stays as it is");
    }

    #[test]
    fn a_color_is_six_hexadecimal_digits() {
        for text in ["", "red", "#fff", "#12345g", "123456", "#+12345", "#1234567", "#\u{e9}\u{e9}\u{e9}"] {
            assert_eq!(Color::parse(text), None, "{text}");
        }
        assert_eq!(Color::parse("#0B57c2").map(Color::hexadecimal).as_deref(), Some("#0b57c2"));
    }

    #[test]
    fn background_colors_are_those_of_the_style_sheet() {
        for ground in GROUNDS {
            let text = ground.hexadecimal();
            let short = if text == "#ffffff" { "#fff" } else { &text };
            assert!(STYLE.contains(&format!("--ground:{short};")), "{text}");
        }
    }
}
