//! Sampling of log lines that callers can cause: of each kind a burst is written, then one a second, and the others are
//! counted.

use std::{
    collections::HashMap,
    fmt,
    hash::Hash,
    mem,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use tracing::{
    Event, Level, Metadata, Subscriber,
    callsite::Identifier,
    field::{Field, Visit},
};
use tracing_subscriber::layer::{Context, Layer};

/// Target of the lines that state how many others were left out, which are not sampled themselves.
pub(crate) const TARGET: &str = "ucp_gateway::sampling";

/// Maximum number of lines of a kind at once.
const BURST: u32 = 100;

/// Time after which a further line of a kind is written.
const REFILL: Duration = Duration::from_secs(1);

/// Minimum time between two statements of how many lines of a kind were left out.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// Sampler of lines by their kind. Kinds are few: constants of the program.
#[derive(Debug)]
pub(crate) struct Sampler<K>(Mutex<HashMap<K, Kind>>);

impl<K> Default for Sampler<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

#[derive(Debug)]
struct Kind {
    /// Number of lines that can be written at once.
    room: u32,
    filled: Instant,
    left_out: u64,
    told: Option<Instant>,
    /// The first line that was left out and not told yet.
    first: String,
}

/// Lines of one kind that were left out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LeftOut<K> {
    pub(crate) kind: K,
    pub(crate) count: u64,
    /// Text of the first of them.
    pub(crate) first: String,
}

impl<K: Clone + Eq + Hash> Sampler<K> {
    /// Returns `true` if a line is to be written; else it is counted, with `text` for the first one.
    pub(crate) fn admits(&self, kind: K, now: Instant, text: impl FnOnce() -> String) -> bool {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = kinds.entry(kind).or_insert_with(|| Kind {
            room: BURST,
            filled: now,
            left_out: 0,
            told: None,
            first: String::new(),
        });
        let refilled = now.saturating_duration_since(kind.filled).as_secs() / REFILL.as_secs();
        if refilled > 0 {
            kind.room = kind.room.saturating_add(u32::try_from(refilled).unwrap_or(u32::MAX)).min(BURST);
            kind.filled += REFILL * u32::try_from(refilled).unwrap_or(u32::MAX);
        }
        if kind.room > 0 {
            kind.room -= 1;
            return true;
        }
        if kind.left_out == 0 {
            kind.first = text();
        }
        kind.left_out += 1;
        false
    }

    /// Returns what was left out since it was returned last, of kinds that were not returned for a while; of `all` kinds at
    /// the end of a process.
    pub(crate) fn left_out(&self, now: Instant, all: bool) -> Vec<LeftOut<K>> {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let due = |told: Instant| now.saturating_duration_since(told) >= TOLD_EVERY;
        let told = kinds.iter_mut().filter(|(_, kind)| kind.left_out > 0 && (all || kind.told.is_none_or(due)));
        told.map(|(name, kind)| {
            kind.told = Some(now);
            LeftOut { kind: name.clone(), count: mem::take(&mut kind.left_out), first: mem::take(&mut kind.first) }
        })
        .collect()
    }
}

/// Kind of an event: the place in the program that makes it.
#[derive(Clone, Debug)]
pub(crate) struct Place(pub(crate) &'static Metadata<'static>);

impl Place {
    fn identifier(&self) -> Identifier {
        self.0.callsite()
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.identifier() == other.identifier()
    }
}

impl Eq for Place {}

impl Hash for Place {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.identifier().hash(state);
    }
}

/// Samples events from `INFO` on by the place that makes them. What developers ask for beyond that is written whole.
impl<S: Subscriber> Layer<S> for &'static Sampler<Place> {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let metadata = event.metadata();
        *metadata.level() > Level::INFO
            || metadata.target() == TARGET
            || self.admits(Place(metadata), Instant::now(), || {
                let mut message = Message(String::new());
                event.record(&mut message);
                message.0
            })
    }
}

/// Takes the message of an event.
pub(crate) struct Message(pub(crate) String);

/// Name of the field that holds it.
pub(crate) const MESSAGE: &str = "message";

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == MESSAGE {
            self.0 = format!("{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, atomic::AtomicU64};

    use tracing_subscriber::{layer::SubscriberExt as _, registry};

    use super::*;

    #[test]
    fn of_a_kind_a_burst_is_written_and_the_rest_counted() {
        let (sampler, begun) = (Sampler::default(), Instant::now());
        let at = |seconds| begun + Duration::from_secs(seconds);
        let admits = |kind: &'static str, second: u64, text: &str| sampler.admits(kind, at(second), || text.to_owned());
        assert!((0..BURST).all(|_| admits("one", 0, "")));
        assert!(!admits("one", 0, "first") && !admits("one", 0, "second"));
        assert!(admits("other", 0, ""), "kinds do not take each other's lines");
        let left_out = |second, all| sampler.left_out(at(second), all);
        let told = |count, first: &str| vec![LeftOut { kind: "one", count, first: first.to_owned() }];
        assert_eq!(left_out(0, false), told(2, "first"));
        assert_eq!(left_out(1, false), []);
        assert!(admits("one", 1, "") && !admits("one", 1, "third"), "one a second");
        assert_eq!(left_out(2, false), [], "it was told a moment ago");
        assert_eq!(left_out(10, false), told(1, "third"));
        assert_eq!((0..BURST).filter(|_| admits("one", 10, "late")).count(), 9);
        assert_eq!(left_out(11, true), told(u64::from(BURST) - 9, "late"), "at the end everything is told");
        assert_eq!((0..=BURST).filter(|_| admits("one", 100_000, "")).count(), BURST as usize);
    }

    /// Counts events.
    struct Counting(Arc<AtomicU64>);

    impl<S: Subscriber> Layer<S> for Counting {
        fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }

    #[test]
    fn every_place_that_makes_events_is_sampled_whatever_their_level_and_fields() {
        let sampler: &'static Sampler<Place> = Box::leak(Box::default());
        let written = Arc::new(AtomicU64::new(0));
        let subscriber = registry().with(Counting(Arc::clone(&written))).with(sampler);
        tracing::subscriber::with_default(subscriber, || {
            for number in 0..u64::from(BURST) * 3 {
                tracing::error!(number, "an error");
                tracing::warn!(target: "elsewhere", "a warning about {number}");
                tracing::info!(number);
                tracing::debug!("for developers");
                tracing::warn!(target: TARGET, "what was left out");
            }
        });
        let left_out = sampler.left_out(Instant::now(), true);
        let count: u64 = left_out.iter().map(|left_out| left_out.count).sum();
        let (whole, sampled) = (u64::from(BURST) * 6, u64::from(BURST) * 9);
        assert_eq!(written.load(std::sync::atomic::Ordering::Relaxed) + count, whole + sampled);
        assert!(count > u64::from(BURST) * 5, "{count}");
        let mut told: Vec<_> = left_out.iter().map(|left| (left.kind.0.level().as_str(), &*left.first)).collect();
        told.sort_unstable();
        assert_eq!(told[0], ("ERROR", "an error"));
        assert_eq!(told[1], ("INFO", ""));
        assert!(told[2].1.starts_with("a warning about "), "{told:?}");
    }
}
