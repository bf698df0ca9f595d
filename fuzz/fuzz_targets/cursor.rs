//! Cursors, which anyone can read and only the shop can make.
//!
//! Invariants: a cursor opens with the position it was sealed with, under its own key and query only, and not with a
//! bit or a letter changed. Text from outside opens only if it is, letter for letter, what the shop would have sealed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ucp_core::{
    Code,
    catalog::cursor::{Binding, CursorKey},
};

const KEY: CursorKey = CursorKey::new([7; 32]);
const FOREIGN: CursorKey = CursorKey::new([8; 32]);

fuzz_target!(|data: &[u8]| {
    let binding = Binding::of(&"trail shoes");
    if let Ok(text) = str::from_utf8(data) {
        match KEY.open(binding, text) {
            Ok(position) => assert_eq!(KEY.seal(binding, &position), text),
            Err(refusal) => assert_eq!(refusal.code, Code::InvalidCursor),
        }
        assert!(FOREIGN.open(binding, text).is_err());
    }

    // The same bytes as a position, with the first two saying where the cursor is damaged.
    let cursor = KEY.seal(binding, data);
    assert_eq!(KEY.open(binding, &cursor).as_deref(), Ok(data));
    assert!(FOREIGN.open(binding, &cursor).is_err());
    assert!(KEY.open(Binding::of(&"trail shoe"), &cursor).is_err());
    let (place, letter) = (data.first().copied().unwrap_or_default(), data.get(1).copied().unwrap_or_default());
    let at = usize::from(place) % cursor.len();
    assert!(KEY.open(binding, &cursor[..at]).is_err());
    let letter = char::from(letter);
    if !cursor[at..].starts_with(letter) {
        let damaged = format!("{}{letter}{}", &cursor[..at], &cursor[at + 1..]);
        assert!(KEY.open(binding, &damaged).is_err(), "{damaged} instead of {cursor}");
    }
});
