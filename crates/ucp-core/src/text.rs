//! Folding text for comparison, and text without invisible characters.
//!
//! Buyers and agents write names as they please. Everything that compares words (option labels, search terms, language
//! tags) folds them the same way: compatibility decomposition, accents dropped, lower case.

use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

/// `text` without accents and letter case, for comparison only.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfkd().filter(|letter| !is_combining_mark(*letter)).flat_map(char::to_lowercase).collect()
}

/// The words of `text`, folded: runs of letters and digits.
pub fn words(text: &str) -> Vec<String> {
    words_of(&fold(text)).map(str::to_owned).collect()
}

/// The words of a text that is folded.
pub fn words_of(folded: &str) -> impl Iterator<Item = &str> {
    folded.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// `text` without characters that no one sees; line breaks and tabs stay.
pub fn clean(text: &str) -> String {
    text.chars()
        .filter(|letter| !is_invisible(*letter) && (!letter.is_control() || matches!(letter, '\n' | '\t')))
        .collect()
}

/// A name that a caller made up, as messages quote it: at most 64 characters, none of them a control character.
pub fn quoted(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control()).take(64).collect()
}

/// Returns `true` if no text needs a character: a control character other than tab and line breaks, or a noncharacter of
/// Unicode.
/// Databases, XML and terminals stumble over them.
pub const fn is_unfit(letter: char) -> bool {
    let control = matches!(letter, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}');
    control || matches!(letter, '\u{fdd0}'..='\u{fdef}') || letter as u32 & 0xfffe == 0xfffe
}

/// The first character of `text` that [no text needs](is_unfit).
pub fn unfit(text: &str) -> Option<char> {
    // Most texts are plain, and are compared byte by byte.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')) {
        return None;
    }
    text.chars().find(|letter| is_unfit(*letter))
}

/// Returns `true` if a character shows nothing but steers or hides what is around it.
pub const fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_drops_case_accents_and_width() {
        assert_eq!(fold("ÉCLAIR Ｎº1"), "eclair no1");
        assert_eq!(words("Zapatillas niño, talla 42½"), ["zapatillas", "nino", "talla", "421", "2"]);
    }

    #[test]
    fn characters_that_no_text_needs_are_found() {
        for good in ["", "a\tb\r\nc", "Ünï ½ 👩‍🌾 \u{a0}\u{fffd}\u{202e}\u{feff}\u{fdf0}", "\u{e000}\u{10fffd}"]
        {
            assert_eq!(unfit(good), None, "{good:?}");
        }
        for bad in
            ['\0', '\u{1}', '\u{b}', '\u{1b}', '\u{7f}', '\u{80}', '\u{9f}', '\u{fdd0}', '\u{ffff}', '\u{10fffe}']
        {
            assert_eq!(unfit(&format!("aé{bad}b")), Some(bad), "{bad:?}");
            assert_eq!(unfit(&format!("a{bad}")), Some(bad), "{bad:?}");
        }
    }

    #[test]
    fn clean_text_has_no_invisible_characters() {
        assert_eq!(clean("a\u{202e}b\u{200b}c\0d\u{e0041}\te\r\nf"), "abcd\te\nf");
    }
}
