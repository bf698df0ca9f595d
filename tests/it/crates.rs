//! The picture of the crates in `docs/architecture.md` is what the manifests say.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use crate::harness::repository;

/// A crate, and those of the workspace that it is built on.
type Dependencies = BTreeMap<String, BTreeSet<String>>;

/// Crates for tests alone, which nothing in the picture is built on.
const FOR_TESTS: [&str; 2] = ["ucp-fake-psp", "ucp-testkit"];

/// Dependencies in the manifests below `crates`, except the crates for tests.
fn manifests() -> Dependencies {
    let crates =
        fs::read_dir(repository().join("crates")).expect("crates").map(|entry| entry.expect("an entry").path());
    let crates = crates.map(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let manifest = fs::read_to_string(path.join("Cargo.toml")).expect("a manifest");
        let of = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
        let of = of.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split(['.', ' ']).next());
        (name, of.filter(|name| name.starts_with("ucp-")).map(str::to_owned).collect())
    });
    crates.filter(|(name, _): &(String, _)| !FOR_TESTS.contains(&name.as_str())).collect()
}

/// The arrows of the first picture of the page.
fn picture(page: &str) -> BTreeSet<(String, String)> {
    let block = page.split("```mermaid\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a picture");
    let arrows = block.lines().filter_map(|line| line.split_once("-->"));
    arrows.map(|(from, to)| (from.trim().to_owned(), to.trim().to_owned())).collect()
}

/// Returns `true` if a crate is built on another one by way of a third.
fn follows(of: &Dependencies, from: &str, to: &str) -> bool {
    of[from].iter().filter(|next| *next != to).any(|next| of[next].contains(to) || follows(of, next, to))
}

#[test]
fn the_picture_of_the_crates_is_what_their_manifests_say() {
    let of = manifests();
    let arrows = of.iter().flat_map(|(from, on)| on.iter().map(move |to| (from.clone(), to.clone())));
    let needed: BTreeSet<_> = arrows.filter(|(from, to)| !follows(&of, from, to)).collect();
    let page = fs::read_to_string(repository().join("docs/architecture.md")).expect("the page");
    let drawn = picture(&page);
    let (missing, wrong): (Vec<_>, Vec<_>) = (needed.difference(&drawn).collect(), drawn.difference(&needed).collect());
    assert!(missing.is_empty() && wrong.is_empty(), "not drawn: {missing:?}; drawn, but not so: {wrong:?}");
}
