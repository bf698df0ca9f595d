//! Deciding writes nothing and asks nobody to do anything: in the core, a few files alone call what does.

use std::{collections::BTreeSet, fs, path::Path};

use crate::harness::repository;

/// Calls of ports that write, move money, or change something at a remote shop.
const WRITES: [&str; 18] = [
    ".commit(",
    ".plan(",
    ".claim_tasks(",
    ".seize(",
    ".extend_tasks(",
    ".record_task(",
    ".wake(",
    ".retry(",
    ".pay(",
    ".inquire(",
    ".forget(",
    ".capture(",
    ".refund(",
    ".placed(",
    ".place(Place",
    ".cancel(attempt",
    ".abandon(&",
    ".sync(",
];

/// Files that carry out what was decided, and the one in which a remote shop is brought to the draft that it is to price.
const CARRYING_OUT: [&str; 7] = [
    "sales/errands.rs",
    "sales/following.rs",
    "sales/handoff.rs",
    "sales/mod.rs",
    "sales/money.rs",
    "sales/placing.rs",
    "sales/settlement.rs",
];

/// Files below `directory` that call one of [`WRITES`] outside of their tests, by their paths below `root`.
fn writing(root: &Path, directory: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            writing(root, &entry, found);
            continue;
        }
        let text = fs::read_to_string(&entry).expect("a file");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        if WRITES.iter().any(|call| code.contains(call)) {
            let path = entry.strip_prefix(root).expect("below it").display().to_string();
            found.insert(path.replace('\\', "/"));
        }
    }
}

#[test]
fn what_decides_calls_nothing_that_writes() {
    let root = repository().join("crates/ucp-core/src");
    let mut found = BTreeSet::new();
    writing(&root, &root, &mut found);
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), CARRYING_OUT);
}
