//! The files of a crate build on each other in one direction: following what each of them names, from file to file,
//! never leads back to where one began. So do the folders: of the files and folders in a folder, the crate's own `src`
//! included, each is taken as a whole with all that is in it.
//!
//! A file names another one in an import or with a path. What a file imports from one that only hands it on counts as
//! named where it comes from. A folder's own file is there to put together what is in the folder: what it names there
//! does not count, and what is in the folder may name it.

mod source;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs, iter,
    path::Path,
};

use self::source::Source;
use crate::harness::repository;

/// Maximum number of re-exports of a name, before it counts as unresolved.
const STEPS: usize = 16;

/// A place in a crate: `["purchase", "terms"]`, and nothing for the crate itself.
type Module = Vec<String>;

/// The files of a crate, by their places in it.
struct Files(BTreeMap<Module, Source>);

impl Files {
    /// Files with these paths below `src`, and with these texts.
    fn of(files: impl IntoIterator<Item = (String, String)>) -> Self {
        let files =
            files.into_iter().filter(|(path, _)| !path.split('/').any(|part| matches!(part, "tests" | "tests.rs")));
        Self(files.map(|(path, text)| (module(&path), Source::read(&text))).collect())
    }

    /// The file that a path leads to which is written in the file `at`: that file itself if it leads out of the crate.
    fn target(&self, at: &[String], path: &[String], steps: usize) -> Module {
        let (mut place, mut rest) = (at.to_vec(), path);
        while let Some((name, after)) = rest.split_first() {
            match name.as_str() {
                "crate" => place.clear(),
                "super" => drop(place.pop()),
                "self" => {}
                _ if self.0.contains_key(&inside(&place, name)) => place.push(name.clone()),
                _ => return self.handed_on(&place, name, after, steps).unwrap_or(place),
            }
            rest = after;
        }
        place
    }

    /// The file that a name leads to which the file `at` has imported, with the path behind it.
    fn handed_on(&self, at: &[String], name: &str, rest: &[String], steps: usize) -> Option<Module> {
        let imported = &self.0.get(at)?.imports.iter().find(|import| import.name == name)?.path;
        Some(self.target(at, &[imported, rest].concat(), steps.checked_sub(1)?))
    }

    /// The other files that the file `at` names, but for those in its own folder.
    fn named(&self, at: &Module) -> BTreeSet<Module> {
        let paths = self.0[at].paths();
        paths.map(|path| self.target(at, path, STEPS)).filter(|other| !other.starts_with(at)).collect()
    }

    /// Names in each file.
    fn all_named(&self) -> Named {
        self.0.keys().map(|at| (at.clone(), self.named(at))).collect()
    }
}

/// Names in each file, or in each folder as a whole.
type Named = BTreeMap<Module, BTreeSet<Module>>;

/// Names between the files and folders of each folder, each taken as a whole.
fn as_wholes(files: &Named) -> Named {
    let mut folders = Named::new();
    for (at, named) in files {
        for other in named {
            let shared = at.iter().zip(other).take_while(|(own, other)| own == other).count();
            // Names of a folder's own file, in either direction, do not count for the wholes in that folder.
            if shared < at.len().min(other.len()) {
                folders.entry(at[..=shared].to_vec()).or_default().insert(other[..=shared].to_vec());
            }
        }
    }
    folders
}

/// The shortest circle through each file or folder that is in one, for people to read.
fn circles_of(named: &Named) -> BTreeSet<String> {
    named.keys().filter_map(|at| way_back(at, named)).map(|circle| shown(&circle)).collect()
}

/// The place of a file that has this path below `src`.
fn module(path: &str) -> Module {
    let mut module: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    module.pop_if(|last| matches!(last.as_str(), "lib" | "main" | "mod"));
    module
}

fn inside(folder: &[String], name: &str) -> Module {
    folder.iter().cloned().chain([name.to_owned()]).collect()
}

/// The shortest way from a file or folder back to itself.
fn way_back<'a>(start: &'a Module, named: &'a Named) -> Option<Vec<&'a Module>> {
    let mut ways = VecDeque::from([vec![start]]);
    let mut reached = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in way.last().and_then(|last| named.get(*last)).into_iter().flatten() {
            if next == start {
                return Some(way);
            }
            if reached.insert(next) {
                ways.push_back(way.iter().copied().chain([next]).collect());
            }
        }
    }
    None
}

/// A circle as people read it, which is the same wherever in it one begins.
fn shown(circle: &[&Module]) -> String {
    let first = (0..circle.len()).min_by_key(|place| circle[*place]).unwrap_or_default();
    let places = circle.iter().cycle().skip(first).take(circle.len() + 1);
    let names: Vec<_> =
        places.map(|place| if place.is_empty() { "lib".to_owned() } else { place.join("::") }).collect();
    names.join(" -> ")
}

/// The files in a folder and those inside it, with their paths from `src` and their texts.
fn read(src: &Path, folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let files = entries.flat_map(|path| {
        if path.is_dir() {
            return read(src, &path);
        }
        let name = path.strip_prefix(src).expect("a path below the folder").to_str().expect("a name").to_owned();
        if name.ends_with(".rs") { vec![(name, fs::read_to_string(path).expect("a text"))] } else { Vec::new() }
    });
    files.collect()
}

/// The files of every crate, by its name.
fn crates() -> BTreeMap<String, Files> {
    let mut crates = BTreeMap::new();
    for folder in fs::read_dir(repository().join("crates")).expect("the crates") {
        let folder = folder.expect("a crate");
        let name = folder.file_name().into_string().expect("a name");
        let src = folder.path().join("src");
        let mut files = read(&src, &src);
        // A program beside a library is a crate of its own, and one file.
        if files.iter().any(|(path, _)| path == "lib.rs") {
            files.retain(|(path, _)| path != "main.rs");
        }
        assert!(!files.is_empty(), "{name} has no files");
        crates.insert(name, Files::of(files));
    }
    crates
}

/// The circles of every crate, with its name.
fn everywhere(circles: impl Fn(&Files) -> BTreeSet<String>) -> Vec<String> {
    let named = |(name, files)| circles(&files).into_iter().map(move |circle| format!("{name}: {circle}"));
    crates().into_iter().flat_map(named).collect()
}

#[test]
fn no_files_of_a_crate_name_each_other_in_a_circle() {
    let found = everywhere(|files| circles_of(&files.all_named()));
    let advice = "move what they share to the lowest of them, or to a file of its own";
    assert!(found.is_empty(), "files name each other in a circle; {advice}:\n{}", found.join("\n"));
}

#[test]
fn no_folders_of_a_crate_name_each_other_in_a_circle() {
    let found = everywhere(|files| circles_of(&as_wholes(&files.all_named())));
    let advice = "move the files that lead back to the folder that they build on, or to one of their own";
    assert!(found.is_empty(), "folders name each other in a circle; {advice}:\n{}", found.join("\n"));
}

/// No circle.
const NONE: [&str; 0] = [];

/// Names in a crate that has these files beside an empty `lib.rs`.
fn named<const N: usize>(files: [(&str, &str); N]) -> Named {
    let files = iter::once(("lib.rs", "")).chain(files);
    Files::of(files.map(|(path, text)| (path.to_owned(), text.to_owned()))).all_named()
}

/// The circles of such a crate.
fn circles<const N: usize>(files: [(&str, &str); N]) -> Vec<String> {
    circles_of(&named(files)).into_iter().collect()
}

#[test]
fn two_files_that_name_each_other_are_a_circle() {
    let one = "use crate::two::Two;\npub struct One(Two);";
    for two in [
        "use crate::one::One;",
        "use super::{one::{self as other, One}};",
        "pub(crate) use crate::{one::*, three};",
        "fn two(_: &crate::one::One) {}",
        "use crate::one;\nfn two() { one::begin() }",
        "macro_rules! two { () => { $crate::one::One } }",
        "fn two() { let quote = '\"'; super::one::begin(quote) } // \"",
    ] {
        assert_eq!(circles([("one.rs", one), ("two.rs", two)]), ["one -> two -> one"], "{two}");
    }
}

#[test]
fn files_that_are_named_in_one_direction_are_none() {
    let one = "use crate::two::Two;";
    for two in [
        "use std::one::One;",
        "use std::{one::One as _,};\nfn two() -> impl Two + use<'_> {}",
        "// use crate::one::One;",
        "/* crate::one */ const TEXT: &str = \"crate::one\\\"crate::one\";",
        "const TEXT: &str = r#\"\"crate::one\"#;",
        "#[cfg(test)]\nmod tests { use crate::one::One; mod more {} }\nstruct Two;",
        "#[cfg(test)]\nmod tests;",
    ] {
        let tests = ("two/tests.rs", "use crate::one::One;");
        assert_eq!(circles([("one.rs", one), ("two.rs", two), tests]), NONE, "{two}");
    }
}

#[test]
fn what_is_handed_on_is_named_where_it_comes_from() {
    let files = [
        ("goods.rs", "pub use self::price::Price as Cost;\nmod price;"),
        ("goods/price.rs", "use crate::order;\nfn price() { order::place() }"),
        ("order.rs", "use crate::goods::Cost;"),
    ];
    assert_eq!(circles(files), ["goods::price -> order -> goods::price"]);
}

#[test]
fn a_folder_and_its_own_file_are_no_circle_but_one_through_another_file_is() {
    let (goods, price) =
        (("goods/mod.rs", "mod price;\nuse self::price::Price;"), ("goods/price.rs", "use super::Goods;"));
    assert_eq!(circles([goods, price]), NONE);
    let goods = ("goods/mod.rs", "mod price;\nuse self::price::Price;\nuse crate::order::Order;");
    assert_eq!(
        circles([goods, price, ("order.rs", "use crate::goods::price::Price;")]),
        ["goods -> order -> goods::price -> goods"]
    );
}

/// The circles of the folders of such a crate.
fn circles_of_folders<const N: usize>(files: [(&str, &str); N]) -> Vec<String> {
    circles_of(&as_wholes(&named(files))).into_iter().collect()
}

#[test]
fn folders_that_name_each_other_are_a_circle_though_their_files_are_none() {
    let files = [
        ("goods.rs", ""),
        ("goods/price.rs", "use crate::order::Order;"),
        ("goods/tax.rs", ""),
        ("order.rs", "use crate::goods::tax::Tax;"),
    ];
    assert_eq!(circles(files), NONE);
    assert_eq!(circles_of_folders(files), ["goods -> order -> goods"]);
}

#[test]
fn folders_in_a_folder_are_wholes_there() {
    let files = [
        ("shop.rs", ""),
        ("shop/goods.rs", ""),
        ("shop/goods/price.rs", "use crate::shop::order;"),
        ("shop/goods/tax.rs", ""),
        ("shop/order.rs", "use super::goods::tax;"),
    ];
    assert_eq!(circles(files), NONE);
    assert_eq!(circles_of_folders(files), ["shop::goods -> shop::order -> shop::goods"]);
}

#[test]
fn what_a_folder_has_in_its_own_file_is_no_circle_of_folders() {
    let goods = ("goods/mod.rs", "pub mod price;\npub mod tax;\nuse self::price::Price;");
    let (price, tax) = (("goods/price.rs", "use super::{Goods, tax::Tax};"), ("goods/tax.rs", "use crate::Shop;"));
    assert_eq!(circles_of_folders([goods, price, tax]), NONE);
}
