//! The mappings of the documentation.

use super::MARKET;

const SOURCE: &str = "[source.shop]\naddress = \"https://shop.example/api\"\n";

/// Blocks of `info` of a page.
fn blocks(page: &str, info: &str) -> Vec<String> {
    let fence = format!("```{info}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("```").next().expect("a block").to_owned()).collect()
}

#[test]
fn the_pieces_of_the_reference_are_pieces_of_mappings() {
    let page = include_str!("../../src/page.md");
    let pieces = blocks(page, "toml mapping");
    assert!(pieces.len() >= 7, "{}", pieces.len());
    for piece in pieces {
        let source = if piece.contains("[source.") { "" } else { SOURCE };
        let find = "[find]\nanswer = \"{products: []}\"\n[resolve]\nanswer = \"{products: []}\"\n";
        let file = format!("{MARKET}{source}{find}{piece}");
        if let Err(faulty) = ucp_mapped::read(&file) {
            panic!("{faulty}:\n{piece}");
        }
    }
}

#[test]
fn the_mapping_that_is_written_step_by_step_is_the_example() {
    let written = blocks(include_str!("../../../../docs/mapping.md"), "toml shop.toml").join("\n");
    assert_eq!(written, include_str!("../../../../examples/first.toml"));
}

#[test]
fn the_checked_in_reference_is_what_the_code_generates() {
    let checked_in = include_str!("../../../../docs/mapping-reference.md");
    assert!(checked_in == ucp_mapped::page(), "run `cargo run -p ucp-gateway -- spec --write`");
}
