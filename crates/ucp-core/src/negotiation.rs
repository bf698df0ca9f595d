//! Negotiation: computes the capabilities that are active between a platform and the business (UCP overview,
//! *Intersection Algorithm*; rules NEG-03 to NEG-05).
//!
//! A pure function of the declarations of both sides. Their order never matters, negotiating a result again changes
//! nothing, and no extension remains without a parent.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// A range of dated versions, both ends inclusive. Dates in `YYYY-MM-DD` are compared as text (trap T-45).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionRange {
    /// Oldest accepted version.
    pub min: String,
    /// Newest accepted version; `None` for no upper limit.
    pub max: Option<String>,
}

impl VersionRange {
    /// Returns `true` if a version is in the range.
    pub fn contains(&self, version: &str) -> bool {
        self.min.as_str() <= version && self.max.as_deref().is_none_or(|max| version <= max)
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.max {
            Some(max) => write!(f, "{} to {max}", self.min),
            None => write!(f, "{} or later", self.min),
        }
    }
}

/// Requirements of an extension's schema (UCP overview, *Version Requirements*).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// Accepted releases of the protocol.
    pub protocol: Option<VersionRange>,
    /// Accepted versions of capabilities, by name. The entry of a capability that is not active is ignored.
    pub capabilities: BTreeMap<String, VersionRange>,
}

/// One capability in one version, as a party declares it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declaration {
    /// Reverse-domain name.
    pub name: String,
    /// Version: a date, compared as text.
    pub version: String,
    /// Capabilities that it extends; empty for a root capability.
    pub extends: Vec<String>,
    /// Requirements of its schema.
    pub requires: Requirements,
}

/// Result for one capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The capability is active: both sides declare this version, the newest they share.
    Active {
        /// Negotiated version.
        version: String,
    },
    /// The platform does not declare the capability.
    NotTheirs,
    /// The business does not declare the capability.
    NotOurs,
    /// Both sides declare the capability, but no common version.
    NoCommonVersion,
    /// The extension extends only capabilities that are not active.
    Orphaned {
        /// Capabilities that it extends.
        extends: Vec<String>,
    },
    /// The requirements of its schema are not met by what was negotiated.
    Unmet {
        /// Capability that does not meet the requirement; `None` for the protocol.
        capability: Option<String>,
        /// Accepted versions.
        range: VersionRange,
    },
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Active { version } => write!(f, "active at {version}"),
            Self::NotTheirs => f.write_str("not declared by the platform"),
            Self::NotOurs => f.write_str("not offered here"),
            Self::NoCommonVersion => f.write_str("no common version"),
            Self::Orphaned { extends } => write!(f, "extends only what is not active ({})", extends.join(", ")),
            Self::Unmet { capability: None, range } => write!(f, "needs protocol {range}"),
            Self::Unmet { capability: Some(name), range } => write!(f, "needs {name} {range}"),
        }
    }
}

/// Negotiation of one capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Name of the capability.
    pub name: String,
    /// Versions that the business declares, oldest first.
    pub ours: BTreeSet<String>,
    /// Versions that the platform declares, oldest first.
    pub theirs: BTreeSet<String>,
    /// Result.
    pub verdict: Verdict,
}

/// Names that a business uses instead of those in the operation table, for capabilities and services that are not part
/// of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(BTreeMap<String, OwnName>);

/// A name that a business uses, with its documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnName {
    /// Reverse-domain name.
    pub name: String,
    /// URL of the specification; default: the published one.
    pub spec: Option<String>,
    /// URL of the schema; default: the published one.
    pub schema: Option<String>,
}

impl Names {
    /// Replaces a name of the operation table.
    pub fn replace(&mut self, name: &str, own: OwnName) {
        self.0.insert(name.to_owned(), own);
    }

    /// Returns the replacement of a name of the operation table, if there is one.
    pub fn own(&self, name: &str) -> Option<&OwnName> {
        self.0.get(name)
    }

    /// Returns the name used for a capability or service of the operation table.
    pub fn of<'a>(&'a self, name: &'a str) -> &'a str {
        self.own(name).map_or(name, |own| &own.name)
    }
}

/// Capabilities that are active between two parties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Active {
    selected: BTreeMap<String, Selected>,
    names: Names,
}

/// A capability that is active.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Selected {
    version: String,
    extends: Vec<String>,
}

impl Active {
    /// Returns all capabilities that one party declares, each in its newest version: those active with a party of which
    /// nothing is known.
    pub fn all(declared: &[Declaration]) -> Self {
        negotiate("", &without_requirements(declared), declared).active()
    }

    /// Returns the same capabilities for a business that uses names of its own. The result of a negotiation contains
    /// these names already.
    #[must_use]
    pub fn under(self, names: &Names) -> Self {
        Self { names: names.clone(), ..self }
    }

    /// Returns the name used between the two parties for a capability of the operation table.
    pub fn name_of<'a>(&'a self, name: &'a str) -> &'a str {
        self.names.of(name)
    }

    /// Returns `true` if a capability of the operation table is active.
    pub fn contains(&self, name: &str) -> bool {
        self.selected.contains_key(self.name_of(name))
    }

    /// Returns names and versions of the capabilities that an answer of an operation declares: its root capability and
    /// the extensions of that (rule NEG-05).
    pub fn relevant_to<'a>(&'a self, root: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let root = self.name_of(root);
        self.selected
            .iter()
            .filter(move |(name, selected)| *name == root || selected.extends.iter().any(|parent| parent == root))
            .map(|(name, selected)| (name.as_str(), selected.version.as_str()))
    }

    /// Returns names and versions of all active capabilities.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.selected.iter().map(|(name, selected)| (name.as_str(), selected.version.as_str()))
    }
}

/// Result of a negotiation: the active capabilities, and the reasons why others are not active.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Negotiation {
    active: Active,
    /// One entry for each capability that either side declares, sorted by name.
    pub lines: Vec<Line>,
}

impl Negotiation {
    /// Returns the active capabilities.
    pub fn active(self) -> Active {
        self.active
    }
}

/// Negotiates the capabilities that `ours` and `theirs` have in common at a release of the protocol.
pub fn negotiate(protocol: &str, ours: &[Declaration], theirs: &[Declaration]) -> Negotiation {
    let mut lines: BTreeMap<&str, Line> = BTreeMap::new();
    for (declarations, mine) in [(ours, true), (theirs, false)] {
        for declaration in declarations {
            let line = lines.entry(&declaration.name).or_insert_with(|| Line {
                name: declaration.name.clone(),
                ours: BTreeSet::new(),
                theirs: BTreeSet::new(),
                verdict: Verdict::NotOurs,
            });
            if mine { &mut line.ours } else { &mut line.theirs }.insert(declaration.version.clone());
        }
    }
    let mut selected: BTreeMap<&str, Vec<&Declaration>> = BTreeMap::new();
    for (name, line) in &mut lines {
        line.verdict = match line.ours.intersection(&line.theirs).last() {
            Some(version) => {
                // The same version may be declared more than once, with different parents.
                selected.insert(name, ours.iter().filter(|own| own.name == *name && own.version == *version).collect());
                Verdict::Active { version: version.clone() }
            }
            None if line.ours.is_empty() => Verdict::NotOurs,
            None if line.theirs.is_empty() => Verdict::NotTheirs,
            None => Verdict::NoCommonVersion,
        };
    }
    drop_orphans(&mut selected, &mut lines);
    drop_unmet(protocol, &mut selected, &mut lines);
    drop_orphans(&mut selected, &mut lines);
    let active = selected.into_iter().map(|(name, declarations)| {
        let version = declarations.first().map(|declaration| declaration.version.clone()).unwrap_or_default();
        (name.to_owned(), Selected { version, extends: parents(&declarations) })
    });
    let active = Active { selected: active.collect(), names: Names::default() };
    Negotiation { active, lines: lines.into_values().collect() }
}

/// Returns the parents named by the declarations of one capability, sorted.
fn parents(declarations: &[&Declaration]) -> Vec<String> {
    let parents: BTreeSet<_> = declarations.iter().flat_map(|declaration| &declaration.extends).cloned().collect();
    parents.into_iter().collect()
}

/// Removes extensions without an active parent, repeatedly, until none is left.
fn drop_orphans<'a>(selected: &mut BTreeMap<&'a str, Vec<&'a Declaration>>, lines: &mut BTreeMap<&str, Line>) {
    loop {
        let orphans: Vec<_> = selected
            .iter()
            .map(|(name, declarations)| (*name, parents(declarations)))
            .filter(|(_, parents)| {
                !parents.is_empty() && !parents.iter().any(|parent| selected.contains_key(parent.as_str()))
            })
            .collect();
        if orphans.is_empty() {
            return;
        }
        for (name, extends) in orphans {
            selected.remove(name);
            if let Some(line) = lines.get_mut(name) {
                line.verdict = Verdict::Orphaned { extends };
            }
        }
    }
}

/// Removes capabilities whose requirements are not met. All are checked against the same set, so that the order does
/// not matter.
fn drop_unmet<'a>(
    protocol: &str,
    selected: &mut BTreeMap<&'a str, Vec<&'a Declaration>>,
    lines: &mut BTreeMap<&str, Line>,
) {
    let unmet: Vec<_> = selected
        .iter()
        .filter_map(|(name, declarations)| {
            let unmet = declarations.iter().filter_map(|declaration| unmet(protocol, &declaration.requires, selected));
            // The verdict must not depend on the order of the declarations.
            unmet.min_by_key(|(capability, range)| (capability.clone(), range.to_string())).map(|unmet| (*name, unmet))
        })
        .collect();
    for (name, (capability, range)) in unmet {
        selected.remove(name);
        if let Some(line) = lines.get_mut(name) {
            line.verdict = Verdict::Unmet { capability, range };
        }
    }
}

fn unmet(
    protocol: &str,
    requires: &Requirements,
    selected: &BTreeMap<&str, Vec<&Declaration>>,
) -> Option<(Option<String>, VersionRange)> {
    if let Some(range) = requires.protocol.as_ref().filter(|range| !range.contains(protocol)) {
        return Some((None, range.clone()));
    }
    requires.capabilities.iter().find_map(|(name, range)| {
        let negotiated = &selected.get(name.as_str())?.first()?.version;
        (!range.contains(negotiated)).then(|| (Some(name.clone()), range.clone()))
    })
}

/// Returns the declarations without their requirements.
fn without_requirements(declared: &[Declaration]) -> Vec<Declaration> {
    let free = |declaration: &Declaration| Declaration { requires: Requirements::default(), ..declaration.clone() };
    declared.iter().map(free).collect()
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, option, prelude::*, sample::select};

    use super::*;

    fn root(name: &str, version: &str) -> Declaration {
        Declaration { name: name.into(), version: version.into(), ..Declaration::default() }
    }

    fn extension(name: &str, version: &str, extends: &[&str]) -> Declaration {
        Declaration { extends: extends.iter().map(|&parent| parent.into()).collect(), ..root(name, version) }
    }

    fn verdicts(ours: &[Declaration], theirs: &[Declaration]) -> BTreeMap<String, String> {
        let lines = negotiate("2026-04-08", ours, theirs).lines;
        lines.into_iter().map(|line| (line.name, line.verdict.to_string())).collect()
    }

    #[test]
    fn the_newest_common_version_is_taken_and_everything_else_is_explained() {
        let ours = [root("a", "1"), root("a", "2"), root("a", "3"), root("b", "1"), root("c", "1")];
        let theirs = [root("a", "2"), root("a", "1"), root("b", "2"), root("d", "1")];
        assert_eq!(
            verdicts(&ours, &theirs).into_iter().collect::<Vec<_>>(),
            [
                ("a".into(), "active at 2".into()),
                ("b".into(), "no common version".into()),
                ("c".into(), "not declared by the platform".into()),
                ("d".into(), "not offered here".to_owned()),
            ]
        );
    }

    #[test]
    fn extensions_go_with_their_last_parent_also_along_chains() {
        let ours = [
            root("checkout", "1"),
            root("cart", "1"),
            extension("discount", "1", &["checkout", "cart"]),
            extension("fulfillment", "1", &["checkout"]),
            extension("lockers", "1", &["fulfillment"]),
        ];
        let without =
            |name: &str| -> Vec<Declaration> { ours.iter().filter(|own| own.name != name).cloned().collect() };
        let active = negotiate("1", &ours, &without("checkout")).active();
        assert_eq!(active.iter().collect::<Vec<_>>(), [("cart", "1"), ("discount", "1")]);
        assert_eq!(active.relevant_to("cart").collect::<Vec<_>>(), [("cart", "1"), ("discount", "1")]);
        assert_eq!(active.relevant_to("checkout").collect::<Vec<_>>(), [("discount", "1")]);
        assert_eq!(Active::all(&ours).relevant_to("checkout").count(), 3);
    }

    #[test]
    fn requirements_are_checked_against_what_was_negotiated() {
        let mut loyalty = extension("loyalty", "1", &["checkout"]);
        loyalty.requires.protocol = Some(VersionRange { min: "2026-01-23".into(), max: Some("2026-09-01".into()) });
        let range = VersionRange { min: "2026-06-01".into(), max: None };
        loyalty.requires.capabilities.insert("checkout".into(), range);
        let with = |protocol: &str, checkout: &str| {
            let both = [root("checkout", checkout), loyalty.clone()];
            let line = negotiate(protocol, &both, &both).lines.pop();
            line.map(|line| line.verdict.to_string()).unwrap_or_default()
        };
        assert_eq!(with("2026-04-08", "2026-06-01"), "active at 1");
        assert_eq!(with("2026-04-08", "2026-05-31"), "needs checkout 2026-06-01 or later");
        assert_eq!(with("2026-01-11", "2026-06-01"), "needs protocol 2026-01-23 to 2026-09-01");
        assert_eq!(with("2026-10-01", "2026-06-01"), "needs protocol 2026-01-23 to 2026-09-01");
    }

    const NAMES: &[&str] = &["a", "b", "c", "d", "e"];
    const VERSIONS: &[&str] = &["1", "2", "3"];

    fn range() -> impl Strategy<Value = VersionRange> {
        (select(VERSIONS), option::of(select(VERSIONS)))
            .prop_map(|(min, max)| VersionRange { min: min.into(), max: max.map(Into::into) })
    }

    fn declarations() -> impl Strategy<Value = Vec<Declaration>> {
        let requires = (option::weighted(0.2, range()), option::weighted(0.3, (select(NAMES), range())));
        let declaration = (select(NAMES), select(VERSIONS), vec(select(NAMES), 0..3), requires).prop_map(
            |(name, version, extends, (protocol, capability))| Declaration {
                requires: Requirements {
                    protocol,
                    capabilities: capability.into_iter().map(|(name, range)| (name.into(), range)).collect(),
                },
                ..extension(name, version, &extends)
            },
        );
        vec(declaration, 0..12)
    }

    proptest! {
        #[test]
        fn the_order_of_declarations_never_matters(
            (ours, shuffled) in declarations().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
            (theirs, other) in declarations().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        ) {
            prop_assert_eq!(negotiate("2", &ours, &theirs), negotiate("2", &shuffled, &other));
        }

        #[test]
        fn negotiating_again_what_is_active_changes_nothing(ours in declarations(), theirs in declarations()) {
            let active = negotiate("2", &ours, &theirs).active();
            let is_active = |declaration: &&Declaration| {
                active.iter().any(|(name, version)| name == declaration.name && version == declaration.version)
            };
            let kept: Vec<_> = ours.iter().filter(is_active).cloned().collect();
            let again = negotiate("2", &kept, &kept).active();
            prop_assert_eq!(&again, &active);
        }

        #[test]
        fn what_is_active_is_common_wanted_and_has_a_parent(ours in declarations(), theirs in declarations()) {
            let negotiation = negotiate("2", &ours, &theirs);
            let lines = negotiation.lines.clone();
            let active = negotiation.active();
            for (name, version) in active.iter() {
                let at = |declared: &&Declaration| declared.name == name && declared.version == version;
                prop_assert!(theirs.iter().any(|declared| at(&declared)));
                prop_assert!(!ours.iter().any(|own| own.name == name
                    && own.version.as_str() > version
                    && theirs.iter().any(|their| their.name == name && their.version == own.version)));
                let own: Vec<_> = ours.iter().filter(at).collect();
                let parents: Vec<_> = own.iter().flat_map(|own| &own.extends).collect();
                prop_assert!(parents.is_empty() || parents.iter().any(|parent| active.contains(parent)));
                prop_assert!(own.iter().all(|own| own.requires.protocol.iter().all(|range| range.contains("2"))));
            }
            let said: BTreeSet<_> = lines.iter().map(|line| line.name.as_str()).collect();
            let declared: BTreeSet<_> = ours.iter().chain(&theirs).map(|declared| declared.name.as_str()).collect();
            prop_assert_eq!(said, declared);
            for line in &lines {
                prop_assert_eq!(matches!(line.verdict, Verdict::Active { .. }), active.contains(&line.name));
            }
        }
    }
}
