//! Cursors, which anyone can read and only the shop can make.
//!
//! Invariants: a cursor opens with the position it was sealed with, under its own key and query only, and not with a
//! bit or a letter changed. Text from outside opens only if it is, letter for letter, what the shop would have sealed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ucp_core::{
    Code,
    catalog::cursor::{CursorSecret, Cursors as _},
};
use ucp_trust::cursor::SealedCursors;

const KEY: SealedCursors = SealedCursors::new(CursorSecret::new([7; 32]));
const FOREIGN: SealedCursors = SealedCursors::new(CursorSecret::new([8; 32]));

fuzz_target!(|data: &[u8]| {
    let query = "trail shoes";
    if let Ok(text) = str::from_utf8(data) {
        match KEY.open(query, text) {
            Ok(position) => assert_eq!(KEY.seal(query, &position), text),
            Err(refusal) => assert_eq!(refusal.code, Code::InvalidCursor),
        }
        assert!(FOREIGN.open(query, text).is_err());
    }

    // The same bytes as a position, with the first two saying where the cursor is damaged.
    let cursor = KEY.seal(query, data);
    assert_eq!(KEY.open(query, &cursor).as_deref(), Ok(data));
    assert!(FOREIGN.open(query, &cursor).is_err());
    assert!(KEY.open("trail shoe", &cursor).is_err());
    let (place, letter) = (data.first().copied().unwrap_or_default(), data.get(1).copied().unwrap_or_default());
    let at = usize::from(place) % cursor.len();
    assert!(KEY.open(query, &cursor[..at]).is_err());
    let letter = char::from(letter);
    if !cursor[at..].starts_with(letter) {
        let damaged = format!("{}{letter}{}", &cursor[..at], &cursor[at + 1..]);
        assert!(KEY.open(query, &damaged).is_err(), "{damaged} instead of {cursor}");
    }
});
