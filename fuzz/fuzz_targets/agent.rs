//! `UCP-Agent`, from the bytes of the header to the address of a profile.
//!
//! Invariants: any bytes get a verdict. What is read is printable, and reading it back from a header that says nothing
//! else gives the same. Members that mean nothing change nothing, and of two members with one name the last counts.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ucp_core::Code;
use ucp_trust::address::{ProfileUrl, Reach};

use self::agent::Stated;

/// The module without its crate, which would bring the validation of schemas into the build and double its time.
#[allow(dead_code)]
#[path = "../../crates/ucp-service/src/agent.rs"]
mod agent;

fuzz_target!(|header: &[u8]| {
    let stated = match agent::profile_of_header(header) {
        Ok(Some(stated)) => stated,
        // Other members than the profile, which say nothing about it.
        Ok(None) => return,
        Err(refusal) => return assert_eq!(refusal.code, Code::InvalidProfileUrl),
    };
    assert!(stated.text.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{stated:?}");
    assert!(header.windows(8).any(|window| window == b"profile="), "{stated:?} was read from something else");

    let again = |header: Vec<u8>| agent::profile_of_header(&header).map(|stated| stated.expect("a profile").text);
    let quoted = stated.text.replace('\\', "\\\\").replace('"', "\\\"");
    assert_eq!(again(format!("profile=\"{quoted}\"").into_bytes()).as_ref(), Ok(&stated.text));
    assert_eq!(again([header, b", zz=(1 \"profile\");profile=\"x\""].concat()).as_ref(), Ok(&stated.text));
    assert_eq!(again([header, b",profile=\"https://last.example/\""].concat()).as_deref(), Ok("https://last.example/"));
    assert!(again([header, b",profile=token"].concat()).is_err());

    // The address is judged later, and by the rules of addresses alone.
    let judged = agent::profile(&[stated.clone(), Stated { place: "elsewhere", ..stated.clone() }], Reach::Public);
    assert_eq!(judged.is_ok(), ProfileUrl::parse(&stated.text, Reach::Public).is_ok());
});
