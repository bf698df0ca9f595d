use super::*;

fn run(code: &str, input: &str) -> Result<String, Stopped> {
    run_with(code, input, &[])
}

fn run_with(code: &str, input: &str, variables: &[(&str, &str)]) -> Result<String, Stopped> {
    let names: Vec<_> = variables.iter().map(|(name, _)| (*name).to_owned()).collect();
    let values: Vec<_> = variables.iter().map(|(_, value)| json(value.as_bytes()).expect("JSON")).collect();
    let program = Program::compile(code, &names).unwrap_or_else(|fault| panic!("{code}: {fault}"));
    let value = program.run(&json(input.as_bytes()).expect("JSON"), &values, 1 << 20)?;
    Ok(String::from_utf8(value).expect("UTF-8"))
}

fn fault(code: &str) -> (usize, String) {
    let fault = check(code, &["$question".to_owned()]).expect_err(code);
    (fault.offset, fault.reason)
}

fn error(code: &str, input: &str) -> String {
    match run(code, input) {
        Err(Stopped::Error(thrown)) => thrown.text,
        other => panic!("{code}: {other:?}"),
    }
}

#[test]
fn a_program_maps_json_to_json() {
    let code = r#"{id: (.id | tostring), tags: [.tags[] | ascii_downcase], lang: $question.language}"#;
    let mapped = run_with(code, r#"{"id":7,"tags":["A","B"]}"#, &[("$question", r#"{"language":"de"}"#)]);
    assert_eq!(mapped.as_deref(), Ok(r#"{"id":"7","tags":["a","b"],"lang":"de"}"#));
    assert_eq!(run("@uri \"products/\\(.)\"", "\"a/b?\"").as_deref(), Ok("\"products/a%2Fb%3F\""));
    assert_eq!(run("def twice(f): f | f; twice(. + 1)", "1").as_deref(), Ok("3"));
    assert_eq!(run("[..] | length", "[[1],2]").as_deref(), Ok("4"));
    assert_eq!(run("[.[] | IN(1, 3)]", "[1,2]").as_deref(), Ok("[true,false]"));
    assert_eq!(run("INDEX(.id)", r#"[{"id":7}]"#).as_deref(), Ok(r#"{"7":{"id":7}}"#));
    assert_eq!(run("[toarray, ([.] | toarray)]", "1").as_deref(), Ok("[[1],[1]]"));
    assert_eq!(run("[.[] | flatten(2)] | add", "[[[1]],[2]]").as_deref(), Ok("[1,2]"));
}

#[test]
fn numbers_keep_their_text() {
    let numbers = "[19.99,100.0,1e2,12345678901234567890123,0.1]";
    assert_eq!(run(".", numbers).as_deref(), Ok(numbers));
}

#[test]
fn money_is_made_exactly() {
    for (code, input, units) in [
        (r#"minor("EUR")"#, "19.99", "1999"),
        (r#"minor("eur")"#, "\"0.29\"", "29"),
        (r#"minor("JPY")"#, "100.00", "100"),
        (r#"minor("KWD")"#, "1.5", "1500"),
        (r#"minor("USD")"#, "12", "1200"),
        (r#"decimal("EUR")"#, "1999", "\"19.99\""),
        (r#"decimal("JPY")"#, "1999", "\"1999\""),
        (r#"minor("EUR"; ",")"#, "\"1.234,50 €\"", "123450"),
    ] {
        assert_eq!(run(code, input).as_deref(), Ok(units), "{code} of {input}");
    }
    for (code, input, reason) in [
        (r#"decimal("EUR")"#, "19.99", "must be an integer of minor units"),
        (r#". * 3 | minor("EUR")"#, "0.1", "floating-point"),
        (r#"minor("EUR")"#, "1.005", "more decimal places than EUR has"),
        (r#"minor("XXL")"#, "1", "must be an ISO 4217 currency code"),
        (r#"minor("EUR")"#, "\"12,50\"", "must be a decimal"),
        (r#"minor("EUR")"#, "null", "must be a text"),
        (r#"minor("EUR"; ";")"#, "\"1\"", "must be the decimal mark"),
        ("currency", "\"EURO\"", "must be an ISO 4217 currency code"),
    ] {
        let text = error(code, input);
        assert!(text.contains(reason), "{code} of {input}: {text}");
    }
    assert_eq!(run("currency", "\"eur\"").as_deref(), Ok("\"EUR\""));
}

#[test]
fn money_is_rounded_by_name() {
    for (code, input, units) in [
        (r#"rounded("EUR"; "half_up")"#, "12.345", "1235"),
        (r#"rounded("EUR"; "half_even")"#, "\"12.345\"", "1234"),
        (r#"rounded("JPY"; "down")"#, "99.9", "99"),
        (r#"times(0.19; "half_up")"#, "1999", "380"),
        (r#"times("0.05"; "half_even")"#, "1050", "52"),
        ("per_piece(3)", "1000", r#"{"price":334,"discount":2}"#),
        ("per_piece(4)", "1000", r#"{"price":250}"#),
    ] {
        assert_eq!(run(code, input).as_deref(), Ok(units), "{code} of {input}");
    }
    for (code, input, reason) in [
        (r#"rounded("EUR"; "bankers")"#, "1", "must be one of \"half_up\", \"half_even\", \"up\", \"down\""),
        (r#". * 3 | rounded("EUR"; "up")"#, "0.1", "floating-point"),
        (r#"times(0.1 * 3; "up")"#, "1", "floating-point"),
        (r#"times("1"; "up")"#, "1.5", "must be an integer of minor units"),
        ("per_piece(0)", "1", "the quantity an integer from 1"),
        ("per_piece(1)", "-1", "an amount from 0"),
    ] {
        let text = error(code, input);
        assert!(text.contains(reason), "{code} of {input}: {text}");
    }
}

#[test]
fn what_rounding_leaves_goes_where_the_mapping_says() {
    let cart = |total: i64, taxes: &str| {
        format!(
            r#"{{"lines":[{{"price":333,"quantity":3,"discount":9}}],"delivery_options":[{{"id":"a","amount":7}},{{"id":"b","amount":1000}}],"delivery_option":"a","taxes":{taxes},"total":{total}}}"#
        )
    };
    let taxes = r#"[{"title":"A","amount":1},{"title":"B","amount":2}]"#;
    // 3 * 333 - 9 + 7 + 3 is 1000.
    for (total, code, part, expected) in [
        (1000, r#"balanced("taxes")"#, ".taxes", taxes),
        (1001, r#"balanced("taxes")"#, ".taxes", r#"[{"title":"A","amount":1},{"title":"B","amount":3}]"#),
        (998, r#"balanced("taxes")"#, ".taxes", r#"[{"title":"A","amount":1},{"title":"B","amount":0}]"#),
        (1002, r#"balanced("fees")"#, ".fees", r#"[{"title":"Rounding","amount":2}]"#),
        (998, r#"balanced("fees"; "Rundung")"#, ".discounts", r#"[{"title":"Rundung","amount":2}]"#),
    ] {
        let made = run(&format!("{code} | {part}"), &cart(total, taxes));
        assert_eq!(made.as_deref(), Ok(expected), "{total} {code}");
    }
    for (total, taxes, code, reason) in [
        (1100, taxes, r#"balanced("taxes")"#, "it must be at most half a minor unit for each amount"),
        (996, "[]", r#"balanced("taxes")"#, "the largest of the taxes must be as large"),
        (1001, taxes, r#"balanced("lines")"#, "must be \"taxes\" or \"fees\""),
    ] {
        let text = error(code, &cart(total, taxes));
        assert!(text.contains(reason), "{total} {code}: {text}");
    }
}

#[test]
fn rules_say_nothing_of_the_input() {
    let secret = r#"{"name":"Jane must be \"Doe\" as with","list":["Jane"]}"#;
    for (code, rule) in [
        (r#"error("no price")"#, "no price"),
        ("error(.name)", "it ended with an `error` whose text is made of its input"),
        (r#"error("for \(.list)")"#, "it ended with an `error` whose text is made of its input"),
        (".name.first", "a text cannot be indexed with \"first\""),
        (r#".list | .["x" + .[0]]"#, "an array cannot be indexed with a text"),
        (".name | keys", "a text cannot be used as iterable (array or object)"),
        (".name - 1", "cannot calculate a text -"),
        (r#".name | minor("EUR")"#, "a text must be a decimal such as 12.50"),
        (".list | plain", "an array must be a text"),
        (r#"1.005 | minor("EUR")"#, "round it in the shop's own way, by `rounded(currency; \"half_up\")`"),
        (r#"1e300 | minor("EUR")"#, "a number must be at most 9007199254740991 minor units"),
        (
            r#"0.1 * 3 | minor("EUR")"#,
            "a number must be made into minor units before computing: it was computed with floating-point arithmetic",
        ),
        (r#""1" | minor("EUR"; "-")"#, "a text must be the decimal mark, \".\" or \",\""),
        (".name as $code | 1 | minor($code)", "a text must be an ISO 4217 currency code"),
        (r#"1 | rounded("EUR"; "x")"#, "the way to round must be one of \"half_up\", \"half_even\", \"up\", \"down\""),
        (r#".name | decimal("EUR")"#, "must be an integer of minor units"),
        ("-1 | per_piece(1)", "must be an amount from 0, and the quantity an integer from 1"),
        (".name | boolean", "a text must be true or false"),
        (".name | timestamp", "a text must be a time with its offset (RFC 3339), seconds since 1970, or a date"),
        (r#"{total: 99} | balanced("fees")"#, "it must be at most half a minor unit for each amount"),
        (
            r#"{total: 1} | balanced("taxes")"#,
            "the largest of the taxes must be as large as the difference that it takes",
        ),
        (r#"{total: 1} | balanced("lines")"#, "what takes the difference must be \"taxes\" or \"fees\""),
    ] {
        match run(code, secret) {
            Err(Stopped::Error(thrown)) => {
                assert_eq!(thrown.rule, rule, "{code}: {}", thrown.text);
                assert!(!thrown.rule.contains("Jane"), "{code}: {}", thrown.rule);
            }
            other => panic!("{code}: {other:?}"),
        }
    }
}

#[test]
fn the_examples_of_filters_hold() {
    for FilterOfOurs { call, example: [code, input, value], .. } in FILTERS {
        assert_eq!(run(code, input).as_deref(), Ok(value), "{code} of {input}");
        assert!(code.contains(call.split('(').next().expect("a name")), "{call}: {code}");
    }
}

#[test]
fn a_computed_float_is_no_amount() {
    let refused = run("{lines: [{price: (.price * 100)}]}", r#"{"price":12.5}"#);
    assert!(
        matches!(&refused, Err(Stopped::Unusable(reason)) if reason.starts_with("$.lines[0].price was computed with")),
        "{refused:?}"
    );
    assert_eq!(run("{rating: (.sum / 2)}", r#"{"sum":9}"#).as_deref(), Ok(r#"{"rating":4.5}"#));
    assert!(
        matches!(run("{x: (1 / 0)}", "null"), Err(Stopped::Unusable(reason)) if reason == "$.x must be a finite number")
    );
}

#[test]
fn booleans_dates_and_html_have_one_form() {
    for (code, input, value) in [
        ("boolean", "1", "true"),
        ("boolean", "\"No\"", "false"),
        ("boolean", "true", "true"),
        ("timestamp", "\"2026-01-31T10:00:00+02:00\"", "\"2026-01-31T08:00:00Z\""),
        ("timestamp", "1767225600", "\"2026-01-01T00:00:00Z\""),
        ("timestamp", "\"2026-01-31\"", "\"2026-01-31T00:00:00Z\""),
        ("plain", "\"<p>Red &amp; warm</p><script>x</script>\"", "\"Red & warm\""),
    ] {
        assert_eq!(run(code, input).as_deref(), Ok(value), "{code} of {input}");
    }
    assert!(error("boolean", "2").contains("must be true or false"));
    assert!(error("timestamp", "\"2026-01-31T10:00:00\"").contains("with its offset"));
}

#[test]
fn what_reads_the_outside_or_has_no_bound_is_not_available() {
    for (code, offset, reason) in [
        (". | env", 4, "`env` is not available: programs read no environment"),
        ("$ENV", 0, "variable `$ENV` is not defined"),
        ("[inputs]", 1, "`inputs` is not available"),
        ("now", 0, "`now` is not available: use `$now`"),
        ("{a: \"x\\(halt)\"}", 8, "`halt` is not available"),
        ("first(repeat(1))", 6, "`repeat` is not available: it has no bound"),
        ("[.[] | recurse(.a)]", 7, "`recurse` is not available"),
        (".a as [$x, {(until(true; .)): $y}] | 1", 13, "`until` is not available"),
        ("try debug catch .", 4, "`debug` is not available"),
        ("import \"a\" as a; .", 0, "`import` is not available"),
        ("include \"a\"; .", 0, "`include` is not available"),
        ("input_line_number", 0, "`input_line_number` is not available"),
    ] {
        let (at, text) = fault(code);
        assert!(text.starts_with(reason), "{code}: {text}");
        assert_eq!(at, offset, "{code}: {text}");
    }
}

#[test]
fn a_program_must_not_call_itself() {
    for code in [
        "def f: f; f",
        "def f: 1 | f; f",
        "def f($x): def g: f($x); g; f(1)",
        "def f(g): [g, f(g)]; f(1)",
        "def f: def f: f; f; f",
    ] {
        assert!(fault(code).1.ends_with("must not call itself"), "{code}");
    }
    for code in
        ["def f: 1; def f: f + 1; f", "def f(f): f; f(2)", "def f: 1; def f($x): f; f(1)", "def repeat: 1; repeat"]
    {
        // A definition of the same name and another number of arguments, or an argument, is another filter.
        let known = check(code, &[]);
        assert!(known.is_ok() || code.starts_with("def f: 1; def f: f"), "{code}: {known:?}");
    }
}

#[test]
fn faults_say_where_they_are() {
    for (code, offset, reason) in [
        ("", 0, "expected term"),
        (".a | ", 5, "expected term"),
        ("{a: }", 4, "expected term"),
        (". | nosuch(1)", 4, "filter `nosuch` is not defined"),
        ("1;", 1, "expected the end of the program"),
        ("$other", 0, "variable `$other` is not defined"),
        ("\"abc", 4, "expected closing quote"),
        ("[1, 2", 5, "expected closing bracket"),
    ] {
        assert_eq!(fault(code), (offset, reason.to_owned()), "{code}");
    }
    assert_eq!(fault(&" ".repeat(MAX_PROGRAM + 1)), (0, format!("must be at most {MAX_PROGRAM} bytes long")));
}

#[test]
fn no_program_of_the_permitted_size_exhausts_the_compiler() {
    for piece in
        ["[", "(", "-", "try ", "{a:", "1|", "if 1 then ", "def f: ", "reduce ", "\"\\(", ".a as $x|", "label $x|", "."]
    {
        let mut code = piece.repeat(MAX_PROGRAM / piece.len());
        let _ = check(&code, &[]);
        let closing = match piece {
            "[" => "]",
            "(" => ")",
            "{a:" => "}",
            _ => "",
        };
        code.truncate(code.len() / 2 / piece.len() * piece.len());
        code.truncate(MAX_PROGRAM / 2 - 2);
        code.push('1');
        let closed = code + &closing.repeat(MAX_PROGRAM / 2 / piece.len().max(1));
        let _ = check(&closed, &[]);
    }
}

#[test]
fn a_program_yields_one_value() {
    assert_eq!(run("empty", "1"), Err(Stopped::Empty));
    assert!(
        matches!(run(".[]", "[1,2]"), Err(Stopped::Unusable(reason)) if reason.starts_with("must yield one value"))
    );
    assert_eq!(
        run("error(\"no price\")", "1"),
        Err(Stopped::Error(Thrown { text: "no price".to_owned(), rule: "no price".to_owned() }))
    );
}

#[test]
fn values_that_json_cannot_state_are_refused() {
    for (code, reason) in [
        ("{(\"a\" | tobytes): 1}", "must have names of members that are text"),
        ("[\"a\" | tobytes]", "must be text, not bytes"),
        ("reduce range(200) as $i (1; [.])", "must be nested at most"),
        ("[range(1000000)]", "must be at most 1048576 bytes"),
        ("\"x\" * 2000000", "must be at most 1048576 bytes"),
    ] {
        assert!(matches!(run(code, "null"), Err(Stopped::Unusable(text)) if text.contains(reason)), "{code}");
    }
}

#[test]
fn errors_are_cut_to_a_line() {
    let long = format!("\"{}\\n\"", "x".repeat(10_000));
    assert!(error(". + 1", &long).len() < 500);
}
