//! Results of a rehearsal: text for a terminal, and the figures that the other formats show.

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
    time::Duration,
};

use super::session::{End, Obstacle, Persona, Session, Step};
use crate::http::tokens;

/// Number of the slowest calls that are shown.
const SLOWEST: usize = 5;

/// Report of a rehearsal.
#[derive(Clone, Debug)]
pub struct Report {
    /// Address of the shop.
    pub shop: String,
    /// Transport of the calls.
    pub transport: &'static str,
    /// Release in which it was called.
    pub release: &'static str,
    /// Seed of chance.
    pub seed: u64,
    /// Time that it took.
    pub took: Duration,
    /// Sessions, by number.
    pub sessions: Vec<Session>,
}

/// Number of sessions by their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// Sessions.
    pub sessions: usize,
    /// Those with an order.
    pub ordered: usize,
    /// Those with a checkout that only has to be paid.
    pub ready: usize,
    /// Those that go on at the shop's page.
    pub handed_over: usize,
    /// Those that were given up.
    pub given_up: usize,
}

impl Ends {
    fn count(&mut self, end: &End) {
        self.sessions += 1;
        match end {
            End::Ordered => self.ordered += 1,
            End::Ready => self.ready += 1,
            End::HandedOver => self.handed_over += 1,
            End::GaveUp { .. } => self.given_up += 1,
        }
    }
}

/// Cost of a step over all sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepCost {
    /// Sessions that came so far.
    pub reached: usize,
    /// Sessions that gave up there.
    pub given_up: usize,
    /// Calls.
    pub calls: usize,
    /// Bytes that were sent.
    pub sent: usize,
    /// Bytes that came back.
    pub received: usize,
}

/// Place and reason of giving up, with the number of sessions and an example of what was seen.
pub type Reasons = BTreeMap<(Step, String), (usize, String)>;

impl Report {
    /// Returns the sessions of each persona by their end.
    pub fn personas(&self) -> BTreeMap<Persona, Ends> {
        let mut personas: BTreeMap<Persona, Ends> = BTreeMap::new();
        for session in &self.sessions {
            personas.entry(session.persona).or_default().count(&session.end);
        }
        personas
    }

    /// Returns all sessions by their end.
    pub fn ends(&self) -> Ends {
        let mut ends = Ends::default();
        self.sessions.iter().for_each(|session| ends.count(&session.end));
        ends
    }

    /// Returns the funnel: each step with what it cost.
    pub fn funnel(&self) -> BTreeMap<Step, StepCost> {
        let mut funnel: BTreeMap<Step, StepCost> =
            Step::ALL.into_iter().map(|step| (step, StepCost::default())).collect();
        for session in &self.sessions {
            for (step, cost) in &mut funnel {
                cost.reached += usize::from(session.reached >= *step);
            }
            if let End::GaveUp { step, .. } = &session.end {
                funnel.entry(*step).or_default().given_up += 1;
            }
            for call in &session.calls {
                let cost = funnel.entry(call.step).or_default();
                cost.calls += 1;
                cost.sent += call.sent;
                cost.received += call.received;
            }
        }
        funnel
    }

    /// Returns why shoppers gave up, and where.
    pub fn reasons(&self) -> Reasons {
        let mut reasons = Reasons::new();
        for session in &self.sessions {
            if let End::GaveUp { step, reason, seen } = &session.end {
                reasons.entry((*step, reason.clone())).or_insert_with(|| (0, seen.clone())).0 += 1;
            }
        }
        reasons
    }

    /// Returns what hindered shoppers, with the number of sessions and an example.
    pub fn obstacles(&self) -> BTreeMap<Obstacle, (usize, String)> {
        let mut obstacles: BTreeMap<Obstacle, (usize, String)> = BTreeMap::new();
        for (obstacle, seen) in self.sessions.iter().flat_map(|session| &session.obstacles) {
            obstacles.entry(obstacle.clone()).or_insert_with(|| (0, seen.clone())).0 += 1;
        }
        obstacles
    }

    /// Returns the slowest calls: session, operation, step and time.
    pub fn slowest(&self) -> Vec<(usize, &'static str, Step, Duration)> {
        let each = self.sessions.iter().flat_map(|session| {
            session.calls.iter().map(|call| (session.number, call.operation.row().name, call.step, call.took))
        });
        let mut calls: Vec<_> = each.collect();
        calls.sort_by_key(|(number, .., took)| (std::cmp::Reverse(*took), *number));
        calls.truncate(SLOWEST);
        calls
    }

    /// Returns the number of sessions per minute.
    pub fn per_minute(&self) -> u128 {
        self.sessions.len() as u128 * 60_000 / self.took.as_millis().max(1)
    }

    /// Formats what is the same in every rehearsal with this seed.
    pub fn counts(&self) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = self.write_counts(&mut text);
        text
    }

    fn write_counts(&self, f: &mut impl fmt::Write) -> fmt::Result {
        let Ends { sessions, ordered, ready, handed_over, given_up } = self.ends();
        writeln!(f, "{sessions} shoppers over {} in UCP version {}, seed {}", self.transport, self.release, self.seed)?;
        write!(f, "{ordered} ordered, {ready} ready to pay, ")?;
        writeln!(f, "{handed_over} handed off, {given_up} abandoned")?;
        writeln!(
            f,
            "\n{:<24} {:>8} {:>8} {:>8} {:>8} {:>8}",
            "shopper", "came", "ordered", "ready", "page", "gave up"
        )?;
        for (persona, ends) in self.personas() {
            let Ends { sessions, ordered, ready, handed_over, given_up } = ends;
            writeln!(f, "{persona:<24} {sessions:>8} {ordered:>8} {ready:>8} {handed_over:>8} {given_up:>8}")?;
        }
        writeln!(
            f,
            "\n{:<10} {:>8} {:>8} {:>8} {:>10} {:>10} {:>14}",
            "step", "reached", "gave up", "calls", "sent B", "got B", "tokens/shopper"
        )?;
        for (step, cost) in self.funnel() {
            let StepCost { reached, given_up, calls, sent, received } = cost;
            let each = tokens(sent + received) / reached.max(1);
            writeln!(f, "{step:<10} {reached:>8} {given_up:>8} {calls:>8} {sent:>10} {received:>10} {each:>14}")?;
        }
        let reasons = self.reasons();
        if !reasons.is_empty() {
            writeln!(f, "\nwhere they gave up")?;
        }
        for ((step, reason), (count, _)) in &reasons {
            writeln!(f, "{count:>6} x  {step:<10} {reason}")?;
        }
        let obstacles = self.obstacles();
        if !obstacles.is_empty() {
            writeln!(f, "\nwhat could not be acted upon")?;
        }
        for (Obstacle { operation, code, why }, (count, _)) in &obstacles {
            writeln!(f, "{count:>6} x  {operation}: {code}: {why}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "rehearsal of {}", self.shop)?;
        let mut counts = String::new();
        self.write_counts(&mut counts)?;
        f.write_str(&counts)?;
        let examples =
            self.reasons().into_iter().map(|((step, reason), (_, seen))| (format!("{step}: {reason}"), seen));
        let hindered = self
            .obstacles()
            .into_iter()
            .map(|(obstacle, (_, seen))| (format!("{}: {}", obstacle.operation, obstacle.code), seen));
        let examples: Vec<_> = examples.chain(hindered).collect();
        if !examples.is_empty() {
            writeln!(f, "\nan example of each")?;
        }
        for (what, seen) in examples {
            writeln!(f, "  {what}\n    {seen}")?;
        }
        writeln!(f, "\nslowest calls")?;
        for (number, operation, step, took) in self.slowest() {
            writeln!(f, "  {:>6} ms  {operation} of shopper {number} ({step})", took.as_millis())?;
        }
        writeln!(f, "\n{} ms, {} shoppers per minute", self.took.as_millis(), self.per_minute())
    }
}

/// Formats the report as `JUnit` XML: a test case per session, grouped by persona.
pub fn junit(report: &Report) -> String {
    let Ends { sessions, given_up, .. } = report.ends();
    let seconds = |time: Duration| format!("{:.3}", time.as_secs_f64());
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"rehearsal\" tests=\"{sessions}\" failures=\"{given_up}\" \
         time=\"{}\">\n",
        seconds(report.took)
    );
    for (persona, ends) in report.personas() {
        // Writing to a text cannot fail.
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{persona}\" tests=\"{}\" failures=\"{}\">",
            ends.sessions, ends.given_up
        );
        for session in report.sessions.iter().filter(|session| session.persona == persona) {
            let took = session.calls.iter().map(|call| call.took).sum();
            let _ = write!(
                xml,
                "    <testcase classname=\"{persona}\" name=\"shopper {}\" time=\"{}\"",
                session.number,
                seconds(took)
            );
            let _ = match &session.end {
                End::GaveUp { step, reason, seen } => writeln!(
                    xml,
                    ">\n      <failure type=\"{step}\" message=\"{}\">{}</failure>\n    </testcase>",
                    escaped(reason),
                    escaped(seen)
                ),
                _ => writeln!(xml, "/>"),
            };
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

/// Escapes a text for XML 1.0, in which most control characters cannot stand at all.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if (c.is_control() && !matches!(c, '\t' | '\n')) || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                escaped.push('\u{fffd}');
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xml_holds_whatever_a_shop_says() {
        let end =
            End::GaveUp { step: Step::Find, reason: "<no> & \"yes\"".to_owned(), seen: "\u{1}\u{fffe}a".to_owned() };
        let session = Session {
            number: 1,
            persona: Persona::Gift,
            calls: Vec::new(),
            reached: Step::Find,
            obstacles: Vec::new(),
            end,
        };
        let (shop, took) = (String::new(), Duration::from_millis(1_500));
        let report = Report { shop, transport: "rest", release: "2026-08-25", seed: 1, took, sessions: vec![session] };
        let xml = junit(&report);
        assert!(xml.contains("message=\"&lt;no&gt; &amp; &quot;yes&quot;\">\u{fffd}\u{fffd}a</failure>"), "{xml}");
        assert!(xml.contains("tests=\"1\" failures=\"1\" time=\"1.500\""), "{xml}");
        assert_eq!(report.per_minute(), 40);
    }
}
