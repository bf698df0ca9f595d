//! Verdicts with their reasons laid open: for somebody who has a signature and wants to know why it does not hold.
//!
//! The base that the other side signed cannot be recovered from its signature. So this shows the base of this side, to
//! be laid beside the other ([`difference`]), and what of the message already speaks against it.

use std::{fmt, time::SystemTime};

use super::{
    base::{self, Message},
    digest::{self, CONTENT_DIGEST},
    verify::{Flaw, Signed, Verifier},
};
use crate::jwk::PublicKey;

/// All about one signature.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Its label.
    pub label: String,
    /// Which key it names.
    pub keyid: Option<String>,
    /// What it covers, as in `Signature-Input`.
    pub covered: Vec<String>,
    /// What it would have to cover and does not.
    pub missing: Vec<String>,
    /// The signature base on this side, or why there is none.
    pub base: Result<String, String>,
    /// Whether it holds, and if not, why.
    pub verdict: Result<(), Flaw>,
    /// What could help, beside the verdict.
    pub hints: Vec<String>,
}

/// Explains every signature of a message. Takes what [`Signed::verify`] takes, and judges as it does.
#[must_use]
pub fn explain(
    signed: &Signed,
    message: &Message<'_>,
    body: &[u8],
    keys: &[PublicKey],
    now: SystemTime,
) -> Vec<Explanation> {
    let verifier = Verifier::new(message, body, keys, now);
    let digest_hints = digest_hints(message, body);
    let explained = signed.candidates().iter().map(|candidate| {
        let input = candidate.input.as_ref();
        let base = input.map_err(Clone::clone).and_then(|input| {
            let base = base::build(&input.covered, &input.parameters, message)?;
            Ok(String::from_utf8_lossy(&base).into_owned())
        });
        Explanation {
            label: candidate.label.clone(),
            keyid: input.ok().and_then(|input| input.keyid.clone()),
            covered: input.map(|input| input.covered.iter().map(ToString::to_string).collect()).unwrap_or_default(),
            missing: input.map(|input| verifier.missing(&candidate.label, input)).unwrap_or_default(),
            base,
            verdict: verifier.check(candidate).map(drop),
            hints: digest_hints.clone(),
        }
    });
    explained.collect()
}

/// What to know about a body that does not fit its digest.
fn digest_hints(message: &Message<'_>, body: &[u8]) -> Vec<String> {
    if !message.headers.contains_key(CONTENT_DIGEST) || digest::check(message.headers, body).is_ok() {
        return Vec::new();
    }
    let mut hints = vec![format!("the body is {}", String::from_utf8_lossy(digest::make(body).as_bytes()))];
    let without = body.strip_suffix(b"\n").map(|body| body.strip_suffix(b"\r").unwrap_or(body));
    if without.is_some_and(|body| digest::check(message.headers, body).is_ok()) {
        hints.push("the body fits without its last line break; was that added by an editor?".to_owned());
    }
    hints
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_nothing = |list: &[String]| if list.is_empty() { "nothing".to_owned() } else { list.join(" ") };
        writeln!(f, "signature {}", self.label)?;
        writeln!(f, "  key:     {}", self.keyid.as_deref().unwrap_or("not named"))?;
        writeln!(f, "  covers:  {}", or_nothing(&self.covered))?;
        writeln!(f, "  missing: {}", or_nothing(&self.missing))?;
        match &self.base {
            Ok(base) => {
                writeln!(f, "  base:")?;
                for line in base.lines() {
                    writeln!(f, "    {line}")?;
                }
            }
            Err(why) => writeln!(f, "  base:    none, because {why}")?,
        }
        for hint in &self.hints {
            writeln!(f, "  note:    {hint}")?;
        }
        match &self.verdict {
            Ok(()) => write!(f, "  verdict: valid"),
            Err(flaw) => write!(f, "  verdict: {}: {}", flaw.code, flaw.text),
        }
    }
}

/// What differs between two signature bases, line by line; empty when they are the same.
#[must_use]
pub fn difference(ours: &str, theirs: &str) -> Vec<String> {
    // A base does not end with a line break, but a file with one does.
    let (mut ours, mut theirs) = (ours.trim_end_matches('\n').split('\n'), theirs.trim_end_matches('\n').split('\n'));
    let mut differing = Vec::new();
    for number in 1.. {
        match (ours.next(), theirs.next()) {
            (None, None) => break,
            (ours, theirs) if ours == theirs => {}
            (ours, theirs) => {
                let shown = |line: Option<&str>| line.map_or_else(|| "nothing".to_owned(), |line| format!("{line:?}"));
                differing.push(format!("line {number}: here {}, there {}", shown(ours), shown(theirs)));
            }
        }
    }
    differing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_are_compared_line_by_line() {
        assert!(difference("a\nb", "a\nb\n").is_empty());
        assert_eq!(
            difference("a\nb\nc", "a\nb\r"),
            [r#"line 2: here "b", there "b\r""#, r#"line 3: here "c", there nothing"#]
        );
    }
}
