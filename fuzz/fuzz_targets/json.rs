//! The guard in front of everything that is JSON.
//!
//! Invariants: it accepts exactly what `serde_json` accepts, is within the limits and has no member twice or by a name
//! that `serde_json` keeps for itself; it reads the same value from it, and does so inside of an envelope too. What a
//! text holds is counted here by a scanner that knows nothing but quotes and brackets.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use ucp_core::{
    Code, Refusal,
    json::{Limits, parse, parse_around},
};

/// Limits that inputs as small as those of a fuzzer exceed.
const SMALL: Limits = Limits { depth: 4, values: 24 };

/// Depth of a document in its envelope.
const ENVELOPE: usize = 3;

fuzz_target!(|document: &[u8]| {
    let oracle = serde_json::from_slice::<Value>(document);
    for limits in [Limits::REQUEST, SMALL] {
        match (parse(document, limits), &oracle) {
            (Ok(read), Ok(value)) => {
                assert_eq!(&read, value);
                let counted = Counted::in_text(document);
                assert_eq!(counted.members, members(&read), "a member was named twice");
                assert!(counted.depth <= limits.depth && counted.values <= limits.values, "{counted:?}");
            }
            (Ok(read), Err(error)) => panic!("{read} was read, but: {error}"),
            (Err(refusal), oracle) => {
                assert!(matches!(refusal.code, Code::MalformedJson | Code::RequestTooLarge), "{refusal:?}");
                let path = refusal.path.expect("a path");
                assert!(path.starts_with('$') && !path.chars().any(char::is_control), "{path}");
                if let Ok(value) = oracle {
                    let counted = Counted::in_text(document);
                    let reason = counted.depth > limits.depth
                        || counted.values > limits.values
                        || counted.members > members(value)
                        || holds(document, b"\"$serde_json::private::")
                        || (refusal.content.contains("reserved") && holds(document, b"\\u"));
                    assert!(reason, "refused for nothing: {counted:?} {}", refusal.content);
                }
            }
        }
    }

    if oracle.is_ok() {
        let wrapped = [&b"{\"params\":[["[..], document, b"]]}"].concat();
        let inside = parse_around(&wrapped, Limits::REQUEST, ENVELOPE).map(|mut value| value["params"][0][0].take());
        let code = |refusal: Refusal| refusal.code;
        assert_eq!(parse(document, Limits::REQUEST).map_err(code), inside.map_err(code));
    }
});

/// Content of a valid document.
#[derive(Debug, Default)]
struct Counted {
    depth: usize,
    members: usize,
    values: usize,
}

impl Counted {
    fn in_text(document: &[u8]) -> Self {
        let (mut counted, mut depth, mut quoted, mut previous) =
            (Self { values: 1, ..Self::default() }, 0, false, b' ');
        let mut bytes = document.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
        while let Some(byte) = bytes.next() {
            match byte {
                b'"' => quoted = !quoted,
                b'\\' => drop(bytes.next()),
                _ if quoted => {}
                b'[' | b'{' => {
                    depth += 1;
                    counted.depth = counted.depth.max(depth);
                    // The first of its values, which no comma precedes. Taken back if it has none.
                    counted.values += 1;
                }
                b']' | b'}' => {
                    depth -= 1;
                    counted.values -= usize::from(matches!((previous, byte), (b'[', b']') | (b'{', b'}')));
                }
                b',' => counted.values += 1,
                b':' => counted.members += 1,
                _ => {}
            }
            previous = byte;
        }
        counted
    }
}

fn members(value: &Value) -> usize {
    match value {
        Value::Array(elements) => elements.iter().map(members).sum(),
        Value::Object(object) => object.len() + object.values().map(members).sum::<usize>(),
        _ => 0,
    }
}

fn holds(document: &[u8], part: &[u8]) -> bool {
    document.windows(part.len()).any(|window| window == part)
}
