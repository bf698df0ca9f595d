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
        let mapping: toml::Value = toml::from_str(&fs::read_to_string(&path).expect("a file")).expect("TOML");
        let mapping = serde_json::to_value(mapping).expect("JSON");
        if let Err(error) = validator.validate(&mapping) {
            panic!("{}: {}: {error}", path.display(), error.instance_path());
        }
    }
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
