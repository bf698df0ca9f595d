//! Canonical form of JSON documents (RFC 8785, JCS). It is signed instead of the document's own spelling, so that
//! signatures still verify after the document was read and written again.

use serde_json::Value;

/// Returns the document in its canonical form.
///
/// Numbers are written as in JavaScript, as the RFC requires: integers beyond 2^53 lose digits, so that the canonical
/// form alone does not distinguish them.
pub fn canonical(document: &Value) -> Vec<u8> {
    canonical_of(document)
}

/// Returns the canonical form of a value that consists of JSON values.
pub(super) fn canonical_of(document: &impl serde::Serialize) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(document).unwrap_or_else(|_| {
        unreachable!("JSON values have text keys and finite numbers, and memory takes all that is written")
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn of(text: &str) -> String {
        let document: Value = serde_json::from_str(text).expect(text);
        String::from_utf8(canonical(&document)).expect("UTF-8")
    }

    /// Appendix B of the RFC: bits of a double, and how they are written.
    const NUMBERS: [(u64, &str); 24] = [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ];

    #[test]
    fn numbers_are_written_as_the_rfc_lists_them() {
        for (bits, written) in NUMBERS {
            let number = f64::from_bits(bits);
            assert_eq!(canonical(&json!(number)), written.as_bytes(), "{bits:x}");
            // The output is read as the same number.
            assert_eq!(of(written), written);
        }
    }

    #[test]
    fn integers_are_numbers_of_javascript() {
        for (text, written) in [
            ("9007199254740991", "9007199254740991"),
            ("9007199254740993", "9007199254740992"),
            ("18446744073709551615", "18446744073709552000"),
            ("-9223372036854775808", "-9223372036854776000"),
            ("100.0", "100"),
            ("1E30", "1e+30"),
            ("4.50", "4.5"),
            ("2e-3", "0.002"),
            ("0.000000000000000000000000001", "1e-27"),
        ] {
            assert_eq!(of(text), written);
        }
    }

    #[test]
    fn the_example_of_the_rfc_comes_out_as_there() {
        let document = r#"{
            "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        let written = "{\"literals\":[null,true,false],\
            \"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
            \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
        assert_eq!(of(document), written);
    }

    #[test]
    fn members_are_in_the_order_of_their_utf_16_units() {
        let document = r#"{
            "\u20ac": "Euro Sign",
            "\r": "Carriage Return",
            "\ufb33": "Hebrew Letter Dalet With Dagesh",
            "1": "One",
            "\ud83d\ude00": "Emoji: Grinning Face",
            "\u0080": "Control",
            "\u00f6": "Latin Small Letter O With Diaeresis"
        }"#;
        let document: Value = serde_json::from_str(document).expect("JSON");
        let written: Value = serde_json::from_slice(&canonical(&document)).expect("JSON");
        let values: Vec<_> = written.as_object().expect("an object").values().filter_map(Value::as_str).collect();
        assert_eq!(
            values,
            [
                "Carriage Return",
                "One",
                "Control",
                "Latin Small Letter O With Diaeresis",
                "Euro Sign",
                "Emoji: Grinning Face",
                "Hebrew Letter Dalet With Dagesh",
            ]
        );
        assert_eq!(of(r#"{"a":[{"c":1,"b":[]},{}],"":0,"A":{}}"#), r#"{"":0,"A":{},"a":[{"b":[],"c":1},{}]}"#);
    }

    #[test]
    fn strings_are_escaped_where_they_have_to_be_and_nowhere_else() {
        assert_eq!(
            of(r#""\u0000\u0007\b\t\n\u000b\f\r\u001f\u007f\u2028\ud83d\ude00\/é""#),
            "\"\\u0000\\u0007\\b\\t\\n\\u000b\\f\\r\\u001f\u{7f}\u{2028}😀/é\""
        );
    }

    fn documents() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-9_007_199_254_740_991..=9_007_199_254_740_991_i64).prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6).prop_map(|members| members.into_iter().collect()),
            ]
        })
    }

    /// A second implementation of the RFC, except for its numbers.
    fn oracle(document: &Value, written: &mut String) {
        match document {
            Value::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    written.push(if index == 0 { '[' } else { ',' });
                    oracle(element, written);
                }
                written.push_str(if elements.is_empty() { "[]" } else { "]" });
            }
            Value::Object(members) => {
                let mut sorted: Vec<_> = members.iter().collect();
                sorted.sort_by_key(|(name, _)| name.encode_utf16().collect::<Vec<_>>());
                for (index, (name, value)) in sorted.into_iter().enumerate() {
                    written.push(if index == 0 { '{' } else { ',' });
                    oracle(&name.clone().into(), written);
                    written.push(':');
                    oracle(value, written);
                }
                written.push_str(if members.is_empty() { "{}" } else { "}" });
            }
            Value::Number(number) if number.is_f64() => {
                written.push_str(&canonical_number(number));
            }
            other => written.push_str(&other.to_string()),
        }
    }

    fn canonical_number(number: &serde_json::Number) -> String {
        String::from_utf8(canonical(&json!(number))).expect("UTF-8")
    }

    proptest! {
        #[test]
        fn every_document_has_one_form(document in documents()) {
            let mut expected = String::new();
            oracle(&document, &mut expected);
            let written = String::from_utf8(canonical(&document)).expect("UTF-8");
            prop_assert_eq!(&written, &expected);
            let read: Value = serde_json::from_str(&written).expect("JSON");
            prop_assert_eq!(String::from_utf8(canonical(&read)).expect("UTF-8"), written);
        }
    }
}
