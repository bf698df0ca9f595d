//! Existing combinations of options, as an upstream writes them.
//!
//! Invariants: any text is read or refused. What is read are combinations of the options there are, each once and no
//! more than asked for, and writing them down again, one after the other, says the same.

#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;

/// The module without its crate, which would bring a client of HTTP into the build.
#[allow(dead_code)]
#[path = "../../crates/ucp-shopify/src/encoded.rs"]
mod encoded;

const LIMIT: usize = 500;

fuzz_target!(|input: &[u8]| {
    // The first bytes say how many values each option has.
    let Some((&[options, first, second, third], text)) = input.split_first_chunk() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let values = [first, second, third, 3].map(|values| usize::from(values % 40));
    let axes = &values[..usize::from(options % 5)];
    let Ok(found) = encoded::decode(text, axes, LIMIT) else { return };

    assert!(found.len() <= LIMIT);
    for combination in &found {
        assert_eq!(combination.len(), axes.len());
        assert!(combination.iter().zip(axes).all(|(position, values)| position < values), "{text} {axes:?}");
    }
    let unique: BTreeSet<_> = found.iter().collect();
    assert_eq!(unique.len(), found.len(), "{text}");

    // Every combination with its whole prefix is a text too.
    let written: String = found
        .iter()
        .map(|combination| {
            combination.iter().map(usize::to_string).collect::<Vec<_>>().join(":") + &",".repeat(axes.len() - 1)
        })
        .collect::<Vec<_>>()
        .join(if axes.len() == 1 { " " } else { "" });
    assert_eq!(encoded::decode(&format!("v1_{written}"), axes, LIMIT).as_ref(), Ok(&found), "{text}");
    assert_eq!(encoded::decode(text, axes, 0).is_ok(), unique.is_empty());
});
