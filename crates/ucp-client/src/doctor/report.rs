//! Findings of an examination, and its report.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::rule::{Rule, Severity};
use crate::http::shortened;

/// Maximum number of findings of one rule; more of the same are counted.
const MOST: usize = 5;

/// Maximum length of what was seen, in characters.
const SEEN: usize = 400;

/// A rule that is not kept.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Rule.
    pub rule: Rule,
    /// Weight.
    pub severity: Severity,
    /// Place: an address, an operation or a product.
    pub at: String,
    /// Value or behavior that was observed.
    pub seen: String,
    /// Value or behavior that is required.
    pub must: &'static str,
    /// Suggested fix.
    pub cure: &'static str,
}

/// A figure that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// Name with unit.
    pub name: String,
    /// Number.
    pub value: u64,
}

/// Report of an examination.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Address that was examined.
    pub subject: String,
    /// Release in which it was called, or that it states.
    pub release: Option<String>,
    /// Operations that can be called, or that were negotiated.
    pub offers: Vec<String>,
    /// Rules that were looked at and are kept.
    pub kept: Vec<Rule>,
    /// Rules that could not be looked at, with the reason.
    pub skipped: BTreeMap<&'static str, String>,
    /// Figures.
    pub figures: Vec<Figure>,
    /// Rules that are not kept, errors first.
    pub findings: Vec<Finding>,
    /// Numbers of further findings, by rule.
    pub more: BTreeMap<&'static str, usize>,
}

impl Report {
    /// Returns `true` if a rule with the weight of an error is not kept.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }

    /// Returns the number of findings of a weight.
    pub fn count(&self, severity: Severity) -> usize {
        let further = |finding: &Finding| self.more.get(finding.rule.name()).copied().unwrap_or_default();
        let mut seen = BTreeSet::new();
        let of = self.findings.iter().filter(|finding| finding.severity == severity);
        of.map(|finding| 1 + if seen.insert(finding.rule) { further(finding) } else { 0 }).sum()
    }
}

/// An examination under way.
#[derive(Debug, Default)]
pub(super) struct Examination {
    report: Report,
    looked_at: BTreeSet<Rule>,
}

impl Examination {
    pub(super) fn of(subject: String) -> Self {
        Self { report: Report { subject, ..Report::default() }, looked_at: BTreeSet::new() }
    }

    /// Takes down that a rule was looked at, and what was seen if it is not kept.
    pub(super) fn check(&mut self, rule: Rule, kept: bool, at: &str, seen: impl FnOnce() -> String) -> bool {
        self.looked_at.insert(rule);
        self.report.skipped.remove(rule.name());
        if kept {
            return true;
        }
        let (at, seen) = (shortened(at, SEEN), shortened(&seen(), SEEN));
        let Report { findings, more, .. } = &mut self.report;
        let mut of_rule = findings.iter().filter(|finding| finding.rule == rule);
        let told = of_rule.clone().any(|finding| finding.at == at);
        if of_rule.nth(MOST - 1).is_some() || (told && rule == Rule::AnswersSchema) {
            *more.entry(rule.name()).or_default() += 1;
            return false;
        }
        findings.push(Finding { rule, severity: rule.severity(), at, seen, must: rule.says(), cure: rule.cure() });
        false
    }

    /// Takes down that rules cannot be looked at.
    pub(super) fn skip(&mut self, rules: &[Rule], reason: &str) {
        for rule in rules.iter().filter(|rule| !self.looked_at.contains(rule)) {
            self.report.skipped.entry(rule.name()).or_insert_with(|| reason.to_owned());
        }
    }

    pub(super) fn figure(&mut self, name: impl Into<String>, value: usize) {
        self.report.figures.push(Figure { name: name.into(), value: value as u64 });
    }

    pub(super) fn release(&mut self, release: &str) {
        self.report.release = Some(release.to_owned());
    }

    pub(super) fn offers(&mut self, what: String) {
        self.report.offers.push(what);
    }

    pub(super) fn finish(self) -> Report {
        let Self { mut report, looked_at } = self;
        report.findings.sort_by_key(|finding| (finding.severity, finding.rule));
        let broken: BTreeSet<_> = report.findings.iter().map(|finding| finding.rule).collect();
        report.kept = looked_at.difference(&broken).copied().collect();
        report
    }
}
