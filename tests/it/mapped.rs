//! `backend`: mappings of shops behind other APIs, and what their programs may do to the gateway.

use std::{fs, process::Output};

use serde_json::Value;

use crate::{
    harness::{Ends as _, binary, repository},
    setup::Setup,
};

const HEAD: &str = r#"
[market]
name = "Test"
currency = "EUR"
language = "en"
[source.shop]
address = "https://shop.example/"
[resolve]
answer = "{products: []}"
"#;

/// Tries a mapping whose `find` asks nobody, and is answered by this program.
fn tried(program: &str) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("shop.toml");
    fs::write(&file, format!("{HEAD}[find]\nanswer = '{program}'\n")).expect("written");
    binary().args(["backend", "try"]).arg(file).ends()
}

#[test]
fn the_examples_can_be_used_and_are_what_the_schema_says() {
    let schema = binary().args(["backend", "schema"]).ends();
    let schema: Value = serde_json::from_slice(&schema.stdout).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    for entry in fs::read_dir(repository().join("examples")).expect("examples") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let path_of = path.to_str().expect("a path");
        let setup = Setup::new(&format!("[upstream]\nbackend = \"mapped\"\nmapping_file = {path_of:?}\n"));
        setup.run("check-config").unwrap_or_else(|said| panic!("{path_of}: {said}"));
        let checked = binary().args(["backend", "check", "--offline", path_of]).ends();
        assert!(checked.status.success(), "{path_of}: {}", String::from_utf8_lossy(&checked.stdout));
        let mapping: toml::Value = toml::from_str(&fs::read_to_string(&path).expect("a file")).expect("TOML");
        let mapping = serde_json::to_value(mapping).expect("JSON");
        if let Err(error) = validator.validate(&mapping) {
            panic!("{}: {}: {error}", path.display(), error.instance_path());
        }
    }
}

/// A mapping whose search shows the question that it is asked.
fn shows_the_question(more: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("shop.toml");
    let find = r#"[find]
answer = '{products: [{id: "p", title: ($question | tojson), description: {plain: "."}, variants: [{id: "v", title: "v", price: {amount: 1, currency: $question.context.currency}}]}]}'
"#;
    fs::write(&file, format!("{HEAD}{find}{more}")).expect("written");
    (folder, file)
}

fn printed(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat()
}

#[test]
fn a_question_is_tried_as_words_or_as_json() {
    let (_folder, file) = shows_the_question("");
    let tried = |arguments: &[&str]| {
        let output = binary().args(["backend", "try"]).arg(&file).args(arguments).ends();
        (output.status.code(), printed(&output))
    };
    for (arguments, shown) in [
        (
            &["find", "blue", "vase"][..],
            r#""title": "{\"words\":\"blue vase\",\"limit\":10,\"available\":false,\"context\":{\"language\":\"en\",\"currency\":\"EUR\"}}""#,
        ),
        (
            &["find", r#"{"words": "vase", "limit": 3, "context": {"country": "AT"}}"#],
            r#""title": "{\"words\":\"vase\",\"limit\":3,\"context\":{\"country\":\"AT\",\"language\":\"en\",\"currency\":\"EUR\"},\"available\":false}""#,
        ),
    ] {
        let (code, printed) = tried(arguments);
        assert!(code == Some(0) && printed.contains(shown), "{arguments:?}: {printed}");
    }
    for (arguments, reason) in [
        (&["find", r#"{"limit": "many"}"#][..], "the question cannot be asked: $.limit: invalid type"),
        (&["find", "vase", r#"{"limit": 3}"#], "the question must be one JSON document, or words"),
        (&["find", r#"{"limit": 3"#], "the question must be JSON: EOF"),
        (&["cart/sync", "v=many"], "`v=many` must be VARIANT or VARIANT=QUANTITY"),
        (&["order", "o1"], "the question `order` must be a JSON document"),
        (&["order"], "the question cannot be asked: $: missing field `reference`"),
    ] {
        let (code, printed) = tried(arguments);
        assert!(code == Some(1) && printed.contains(reason), "{arguments:?}: {printed}");
    }
    // What the gateway would leave out is said, with the path.
    let text = fs::read_to_string(&file).expect("a file").replace("id: \"p\"", "id: \" \"");
    fs::write(&file, text).expect("written");
    let (code, printed) = tried(&["find"]);
    let left_out = "rejected $.products[0].id: left out: must not be empty";
    assert!(code == Some(1) && printed.contains(left_out), "{printed}");
}

#[test]
fn a_mapping_is_checked_without_its_shop() {
    let checked = |more: &str| {
        let (_folder, file) = shows_the_question(more);
        let output = binary().args(["backend", "check", "--offline"]).arg(&file).ends();
        (output.status.code(), printed(&output))
    };
    let (code, said) = checked("");
    assert!(code == Some(0) && said.contains("ok       the_file_is_a_mapping"), "{said}");
    let cart = "[cart]\ncompletion = \"hand_off\"\ncodes = true\nsync.answer = \"null\"\nfetch.answer = \"null\"\nabandon.answer = \"null\"\n";
    let (code, said) = checked(cart);
    for rule in ["links_are_stated", "codes_are_sent", "a_page_is_stated"] {
        assert!(code == Some(1) && said.contains(&format!("failed   {rule}: ")), "{rule}: {said}");
    }
    let (code, said) = checked("[order]\n");
    assert!(code == Some(1) && said.contains("order: must have a step or an answer"), "{said}");
    // What a program cannot make is the reason of the rule that fails.
    let (_folder, file) = shows_the_question("");
    let text = fs::read_to_string(&file).expect("a file").replace("($question | tojson)", "($question.limit | plain)");
    fs::write(&file, text).expect("written");
    let output = binary().args(["backend", "check"]).arg(&file).ends();
    let said = printed(&output);
    let reason = "found  `find.answer`: failed: 20 must be a text";
    assert!(output.status.code() == Some(1) && said.contains(reason), "{said}");
    let output = binary().args(["backend", "check", "--offline", "http://127.0.0.1:1"]).ends();
    assert!(!output.status.success() && printed(&output).contains("is for mapping files"), "{}", printed(&output));
}

/// A block of the reference of mappings.
fn block(name: &str) -> String {
    let page = fs::read_to_string(repository().join("docs/mapping-reference.md")).expect("a page");
    let opening = format!("```toml {name}\n");
    let text = page.split(&opening).nth(1).and_then(|rest| rest.split("```").next());
    text.unwrap_or_else(|| panic!("a block `{name}`")).to_owned()
}

#[test]
fn the_parts_in_the_reference_are_of_mappings() {
    let carts = "[find]\nanswer = '{products: []}'\n[cart]\ncompletion = 'hand_off'\n[cart.sync]\nanswer = 'null'\n[cart.fetch]\nanswer = 'null'\n[cart.abandon]\nanswer = 'null'\n";
    let setup = Setup::new("[upstream]\nbackend = \"mapped\"\nmapping_file = \"shop.toml\"\n");
    let setup = setup.file("shop.toml", &format!("{HEAD}{carts}{}", block("mapping-part")));
    setup.run("check-config").unwrap_or_else(|said| panic!("{said}"));
}

#[test]
fn a_program_cannot_take_the_gateway_with_it() {
    // The first bound that is reached depends on the machine.
    let ends = ["took more memory or stack than programs may", "did not end within 2s"];
    for program in
        ["[range(1e12)]", "\"x\" * 1000000000000", "reduce range(10000000) as $i (null; [.])", "last(range(1e18))"]
    {
        let output = tried(program);
        let printed = String::from_utf8_lossy(&output.stdout);
        let ended = ends.iter().any(|end| printed.contains(&format!("problem  `find.answer`: {end}")));
        assert!(ended && output.status.code() == Some(1), "{program}: {printed}");
    }
    let output = tried("{products: [], total: ([range(100000)] | length)}");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("\"total\": 100000"), "{printed}");
}
