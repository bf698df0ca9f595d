//! Verification results with their reasons, for people who want to know why a signature does not hold.
//!
//! The base that the sender signed cannot be recovered from its signature. So an explanation shows the base computed
//! here, to be compared with the sender's ([`difference`]), and the faults that the message already reveals.

use std::{fmt, time::SystemTime};

use super::{
    base::{self, Message},
    digest::{self, CONTENT_DIGEST},
    verify::{Flaw, Signed, Verifier},
};
use crate::jwk::PublicKey;

/// Explanation of one signature.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Label of the signature.
    pub label: String,
    /// Identifier of the key that it names.
    pub keyid: Option<String>,
    /// Parts that it covers, as in `Signature-Input`.
    pub covered: Vec<String>,
    /// Parts that it would have to cover and does not.
    pub missing: Vec<String>,
    /// Signature base computed here, or the reason why there is none.
    pub base: Result<String, String>,
    /// Result of the verification.
    pub verdict: Result<(), Flaw>,
    /// Hints in addition to the verdict.
    pub hints: Vec<String>,
}

/// Explains every signature of a message. Takes the arguments of [`Signed::verify`], and applies the same checks.
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

/// Returns hints about a body that does not match its digest.
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

/// Returns the differences between two signature bases, line by line; empty if they are equal.
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
