//! Inverted index: the texts that contain a term, with its weight.

use std::collections::HashMap;

/// Number of bits of an entry that hold the weight.
const WEIGHT_BITS: u32 = 3;

/// Maximum number of different terms of one query.
pub(super) const MAX_TERMS: usize = 64;

/// Terms and where they occur. A place of occurrence and its weight share one number.
#[derive(Debug, Default)]
pub(super) struct Terms {
    /// By term, the stretch of `postings` that belongs to it.
    stretches: HashMap<Box<str>, (u32, u32)>,
    postings: Box<[u32]>,
}

impl Terms {
    /// Returns `true` if one of the terms occurs.
    pub(super) fn any(&self, terms: &[String]) -> bool {
        terms.iter().take(MAX_TERMS).any(|term| self.stretches.contains_key(term.as_str()))
    }

    /// Adds up into `scores`, by ordinal, the weights of the terms.
    pub(super) fn score(&self, terms: &[String], scores: &mut [u16]) {
        for term in terms.iter().take(MAX_TERMS) {
            let Some((start, end)) = self.stretches.get(term.as_str()) else { continue };
            for posting in &self.postings[*start as usize..*end as usize] {
                let weight = (posting & ((1 << WEIGHT_BITS) - 1)) as u16;
                scores[(posting >> WEIGHT_BITS) as usize] += weight;
            }
        }
    }
}

/// Collects terms.
#[derive(Debug, Default)]
pub(super) struct TermsBuilder {
    postings: HashMap<Box<str>, Vec<u32>>,
}

impl TermsBuilder {
    /// Notes that the text of `ordinal` holds a term with this weight, from 1 to 7. Once per term and text.
    pub(super) fn add(&mut self, term: String, ordinal: u32, weight: u8) {
        let posting = ordinal << WEIGHT_BITS | u32::from(weight);
        self.postings.entry(term.into()).or_default().push(posting);
    }

    pub(super) fn finish(self) -> Terms {
        let mut all = Vec::with_capacity(self.postings.values().map(Vec::len).sum());
        let place = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let stretches = self
            .postings
            .into_iter()
            .map(|(term, postings)| {
                let start = place(all.len());
                all.extend(postings);
                (term, (start, place(all.len())))
            })
            .collect();
        Terms { stretches, postings: all.into() }
    }
}
