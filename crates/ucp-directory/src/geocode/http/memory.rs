//! Answers that are remembered, under digests of their questions.
//!
//! The digests are keyed with numbers that no other process knows, so that nothing here says whose addresses were looked
//! up. The same question is on its way only once; whoever else asks it meanwhile waits for that answer.

use std::{future::Future, time::Duration};

use quick_cache::sync::Cache;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use ucp_core::merchant::port::Resolved;

/// A digest of a question.
type Key = [u8; 32];

#[derive(Clone, Copy)]
struct Remembered {
    resolved: Option<Resolved>,
    until: Instant,
}

/// An answer, and where it comes from.
pub(crate) enum Recalled {
    /// The service gave it just now, to this or another caller.
    Asked(Option<Resolved>),
    /// It was given before.
    Remembered(Option<Resolved>),
}

/// Answers by the digests of their questions.
pub(crate) struct Memory {
    key: [u8; 32],
    answers: Cache<Key, Remembered>,
}

impl Memory {
    pub(crate) fn new(capacity: usize) -> Result<Self, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Self { key, answers: Cache::new(capacity) })
    }

    /// The answer to a question, from memory or else by asking. Failures are not remembered.
    pub(crate) async fn recall<E, F: Future<Output = Result<Option<Resolved>, E>>>(
        &self,
        question: &[(&'static str, String)],
        (hit, miss): (Duration, Duration),
        ask: impl FnOnce() -> F,
    ) -> Result<Recalled, E> {
        let key = self.digest(question);
        if let Some(known) = self.answers.get(&key) {
            if Instant::now() < known.until {
                return Ok(Recalled::Remembered(known.resolved));
            }
            self.answers.remove(&key);
        }
        let asked = async {
            let resolved = ask().await?;
            let lifetime = if resolved.is_some() { hit } else { miss };
            Ok(Remembered { resolved, until: Instant::now() + lifetime })
        };
        self.answers.get_or_insert_async(&key, asked).await.map(|answer| Recalled::Asked(answer.resolved))
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.answers.len()
    }

    fn digest(&self, question: &[(&'static str, String)]) -> Key {
        let mut digest = Sha256::new_with_prefix(self.key);
        for (name, text) in question {
            // Lengths keep the parts apart.
            let text = text.to_lowercase();
            digest.update(name.as_bytes());
            digest.update((text.len() as u64).to_le_bytes());
            digest.update(text.as_bytes());
        }
        digest.finalize().into()
    }
}
