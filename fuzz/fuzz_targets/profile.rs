//! The profile of a platform: a document that a stranger wrote, fetched from an address that a stranger named.
//!
//! Invariants: any bytes get a verdict, and the same one each time. What is kept is bounded, by the document and in
//! all; it is of a form that negotiation and verification rely on, and what goes into the log cannot break its lines.

#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use ucp_core::Code;
use ucp_trust::{jwk::MAX_KEYS, profile::PlatformProfile};

/// Maximum number of stored bytes for one byte of a document. The worst is a name of 253 bytes with many empty
/// versions.
const PER_BYTE: usize = 32;

/// Maximum number of bytes of one profile: 256 entries with 16 parents each, all names of full length.
const IN_ALL: usize = 2 * 1024 * 1024;

fuzz_target!(|document: &[u8]| {
    let read = PlatformProfile::read(document);
    assert_eq!(read, PlatformProfile::read(document));
    let (profile, notes) = match read {
        Ok(read) => read,
        Err(refusal) => {
            assert_eq!(refusal.code, Code::ProfileMalformed);
            let path = refusal.path.expect("a path");
            return assert!(path.starts_with('$') && !path.chars().any(char::is_control), "{path}");
        }
    };
    let weight = profile.weight();
    assert!(weight <= size_of::<PlatformProfile>() + PER_BYTE * document.len() && weight <= IN_ALL, "{weight}");
    assert!(notes.len() <= 32 && notes.iter().all(|note| note.len() < 4_096), "{notes:?}");
    assert!(notes.iter().all(|note| !note.chars().any(char::is_control)), "{notes:?}");

    assert_eq!(profile.version.len(), 10);
    for declared in &profile.capabilities {
        let printable = declared.name.bytes().all(|byte| byte.is_ascii_graphic());
        assert!(printable && declared.name.contains('.') && declared.version.len() <= 32, "{declared:?}");
    }
    let names: HashSet<_> = profile.keys.iter().map(|key| key.kid()).collect();
    assert!(names.len() == profile.keys.len() && names.len() <= MAX_KEYS, "{names:?}");
    for key in &profile.keys {
        assert_eq!(profile.key(key.kid()), Some(key));
        assert_eq!(key.to_jwk().is_some(), key.algorithm().is_some());
        assert!(key.verify(b"", &[0; 64]).is_err());
    }
});
