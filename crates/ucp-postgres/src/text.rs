//! Texts and times as they are stored.
//!
//! A text of PostgreSQL holds no NUL, and a key of an index at most some 2,700 bytes. Identifiers come from outside and can
//! be anything, so they are stored in a form that has neither.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};
pub(crate) use ucp_core::ports::rows::{nanoseconds, signed, timestamp};

/// Maximum length of a text in a key, in bytes. Of a longer one, the digest is the key.
const LONGEST: usize = 480;

/// Introduces what stands for something else: a NUL, itself, or a digest.
const ESCAPE: char = '\u{1}';

/// Returns a text without NUL, from which [`plain`] makes the text again. Different texts stay different.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 2);
    for character in text.chars() {
        match character {
            '\0' => escaped.extend([ESCAPE, '0']),
            ESCAPE => escaped.extend([ESCAPE, '1']),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}

/// Returns the text that [`escaped`] was given.
pub(crate) fn plain(stored: String) -> String {
    if !stored.contains(ESCAPE) {
        return stored;
    }
    let mut text = String::with_capacity(stored.len());
    let mut characters = stored.chars();
    while let Some(character) = characters.next() {
        match character {
            ESCAPE => text.push(if characters.next() == Some('0') { '\0' } else { ESCAPE }),
            other => text.push(other),
        }
    }
    text
}

/// Returns a text as part of a key, in which long ones are represented by their digest.
pub(crate) fn key(text: &str) -> Cow<'_, str> {
    let escaped = escaped(text);
    if escaped.len() <= LONGEST {
        return escaped;
    }
    let digest = Sha256::digest(text.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Cow::Owned(format!("{ESCAPE}#{hex}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_nul_come_back_and_stay_different() {
        let texts = ["", "plain", "\0", "\u{1}", "\u{1}0", "\u{1}1", "a\0b\u{1}c", "\0\0", "é\u{1}\u{1}"];
        for (nth, text) in texts.iter().enumerate() {
            assert!(!escaped(text).contains('\0'), "{text:?}");
            assert_eq!(plain(escaped(text).into_owned()), *text);
            for other in &texts[nth + 1..] {
                assert_ne!(escaped(text), escaped(other));
            }
        }
    }

    #[test]
    fn long_keys_are_digests_that_no_short_key_can_be() {
        let (long, other) = ("x".repeat(5_000), "x".repeat(5_001));
        assert_ne!(key(&long), key(&other));
        assert!(key(&long).len() <= LONGEST);
        let forged = key(&long).into_owned();
        assert_ne!(key(&forged), key(&long), "a text that looks like a digest is escaped");
        assert_eq!(key(&"x".repeat(LONGEST)), "x".repeat(LONGEST));
    }
}
