//! The breaker against a list of everything that was reported.

use proptest::prelude::*;

use super::*;

const RULES: Rules = Rules { window: Duration::from_secs(10), least: 20, percent: 50, open: Duration::from_secs(5) };

fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A breaker and the time.
struct Bench {
    breaker: Breaker,
    now: Instant,
}

impl Bench {
    fn new() -> Self {
        let now = Instant::now();
        Self { breaker: Breaker::new(RULES, now), now }
    }

    fn after(&mut self, milliseconds: u64) -> &mut Self {
        self.now += millis(milliseconds);
        self
    }

    fn admit(&mut self) -> Admission {
        self.breaker.admit(self.now)
    }

    fn permit(&mut self) -> Permit {
        match self.admit() {
            Admission::Granted(permit) => permit,
            other => panic!("a permit, not {other:?}"),
        }
    }

    /// Returns `true` if the call makes the upstream suspect.
    fn call(&mut self, outcome: Outcome) -> bool {
        let permit = self.permit();
        self.breaker.report(permit, outcome, self.now)
    }

    fn calls(&mut self, count: usize, outcome: Outcome) -> bool {
        (0..count).map(|_| self.call(outcome)).last().unwrap_or_default()
    }

    fn conclude(&mut self, outcome: Outcome) -> Option<Change> {
        self.breaker.conclude(outcome, self.now)
    }
}

const OPENED: Option<Change> = Some(Change::Opened(RULES.open));

#[test]
fn half_of_twenty_failures_are_suspicious_and_open_nothing() {
    let mut bench = Bench::new();
    bench.calls(10, Outcome::Good);
    assert!(!bench.calls(9, Outcome::Failed));
    assert!(bench.call(Outcome::Failed));
    assert!(matches!(bench.admit(), Admission::Granted(_)), "callers alone open nothing");
    assert!(!bench.calls(19, Outcome::Failed), "suspicion begins anew");
    assert!(bench.call(Outcome::Failed));
}

#[test]
fn fewer_than_twenty_or_than_half_are_not() {
    let mut bench = Bench::new();
    assert!(!bench.calls(19, Outcome::Failed));
    let mut bench = Bench::new();
    bench.calls(11, Outcome::Good);
    assert!(!bench.calls(10, Outcome::Failed));
    assert!(bench.call(Outcome::Failed));
}

#[test]
fn what_is_older_than_the_window_is_forgotten() {
    let mut bench = Bench::new();
    bench.calls(19, Outcome::Failed);
    assert!(!bench.after(10_000).call(Outcome::Failed));
    let mut bench = Bench::new();
    bench.calls(19, Outcome::Failed);
    assert!(bench.after(9_999).call(Outcome::Failed));
}

#[test]
fn the_gateways_own_question_decides() {
    let mut bench = Bench::new();
    assert_eq!(bench.conclude(Outcome::Good), None);
    assert_eq!(bench.conclude(Outcome::Failed), OPENED);
    assert_eq!(bench.admit(), Admission::Refused(RULES.open));
    assert_eq!(bench.after(4_999).admit(), Admission::Refused(millis(1)));
    assert_eq!(bench.after(1).admit(), Admission::Due);
    assert_eq!(bench.conclude(Outcome::Unknown), None);
    assert_eq!(bench.admit(), Admission::Refused(PROBE), "it is asked again soon");
    assert_eq!(bench.after(1_000).admit(), Admission::Due);
    assert_eq!(bench.conclude(Outcome::Good), Some(Change::Closed));
    assert!(matches!(bench.admit(), Admission::Granted(_)));
}

#[test]
fn what_began_before_the_circuit_changed_says_nothing() {
    let mut bench = Bench::new();
    let late: Vec<_> = (0..40).map(|_| bench.permit()).collect();
    bench.conclude(Outcome::Failed);
    bench.after(5_000).conclude(Outcome::Good);
    for permit in late {
        assert!(!bench.breaker.report(permit, Outcome::Failed, bench.now));
    }
    assert_eq!(bench.breaker.circuit(bench.now), Circuit::Closed);
}

#[test]
fn an_upstream_that_refuses_the_gateway_is_left_alone() {
    let mut bench = Bench::new();
    assert!(bench.call(Outcome::Refused(millis(300_000))), "one refusal is enough to ask");
    assert_eq!(bench.conclude(Outcome::Refused(millis(300_000))), Some(Change::Opened(millis(300_000))));
    // A shorter wish does not shorten it.
    assert_eq!(bench.conclude(Outcome::Refused(millis(1))), None);
    assert_eq!(bench.after(299_000).admit(), Admission::Refused(millis(1_000)));
    assert_eq!(bench.after(1_000).conclude(Outcome::Good), Some(Change::Closed));
    assert_eq!(bench.conclude(Outcome::Refused(Duration::MAX)), Some(Change::Opened(LONGEST)));
}

#[test]
fn a_pause_that_the_upstream_asks_for_is_kept_and_ends_by_itself() {
    let mut bench = Bench::new();
    bench.breaker.pause(millis(30_000), false, bench.now);
    bench.breaker.pause(millis(1_000), true, bench.now);
    assert_eq!(bench.admit(), Admission::Refused(millis(30_000)));
    assert_eq!(bench.breaker.circuit(bench.now), Circuit::Open(bench.now + millis(30_000)));
    assert!(matches!(bench.after(30_000).admit(), Admission::Granted(_)));
    bench.breaker.pause(Duration::MAX, true, bench.now);
    assert_eq!(bench.admit(), Admission::Limited(LONGEST_PAUSE));
}

#[derive(Clone, Debug)]
enum Step {
    Pass(u64),
    Admit,
    Report(prop::sample::Index, Outcome),
    Conclude(Outcome),
    Pause(u64, bool),
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        8 => Just(Outcome::Good),
        16 => Just(Outcome::Failed),
        1 => (0_u64..30_000).prop_map(|wish| Outcome::Refused(millis(wish))),
        3 => Just(Outcome::Unknown),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => prop_oneof![3 => 0_u64..400, 1 => 0_u64..12_000].prop_map(Step::Pass),
        24 => Just(Step::Admit),
        24 => (any::<prop::sample::Index>(), outcome()).prop_map(|(which, outcome)| Step::Report(which, outcome)),
        2 => outcome().prop_map(Step::Conclude),
        1 => (0_u64..9_000, any::<bool>()).prop_map(|(time, is_limit)| Step::Pause(time, is_limit)),
    ]
}

/// The rules, told as a story: what was reported since the circuit closed or the upstream was suspected.
enum Story {
    Closed { reported: Vec<(u128, bool)> },
    Open { until: Duration },
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn it_does_what_the_rules_say(steps in prop::collection::vec(step(), 0..400)) {
        let mut bench = Bench::new();
        let closed = || Story::Closed { reported: Vec::new() };
        let (mut passed, mut story, mut chapter, mut pause) = (Duration::ZERO, closed(), 0, (Duration::ZERO, false));
        let mut permits: Vec<(Permit, u32)> = Vec::new();
        for step in steps {
            match step {
                Step::Pass(milliseconds) => {
                    bench.after(milliseconds);
                    passed += millis(milliseconds);
                }
                Step::Pause(milliseconds, is_limit) => {
                    bench.breaker.pause(millis(milliseconds), is_limit, bench.now);
                    let until = passed + millis(milliseconds);
                    pause = if pause.0 < until { (until, is_limit) } else { pause };
                }
                Step::Admit => {
                    let open_until = match story {
                        Story::Closed { .. } => None,
                        Story::Open { until } => Some(until),
                    };
                    let open = open_until.unwrap_or_default();
                    let wait = open.max(pause.0).saturating_sub(passed);
                    let is_limit = pause.1 && pause.0 >= open;
                    match bench.admit() {
                        Admission::Granted(permit) => {
                            prop_assert!(open_until.is_none() && wait.is_zero());
                            permits.push((permit, chapter));
                        }
                        Admission::Refused(told) => prop_assert_eq!((told, false), (wait, is_limit)),
                        Admission::Limited(told) => prop_assert_eq!((told, true), (wait, is_limit)),
                        Admission::Due => prop_assert!(open_until.is_some() && wait.is_zero()),
                    }
                }
                Step::Report(_, _) if permits.is_empty() => {}
                Step::Report(which, outcome) => {
                    let (permit, of) = permits.swap_remove(which.index(permits.len()));
                    let suspected = bench.breaker.report(permit, outcome, bench.now);
                    let expected = match (&mut story, outcome) {
                        (Story::Closed { .. }, Outcome::Refused(_)) => of == chapter,
                        (Story::Closed { reported }, Outcome::Good | Outcome::Failed) if of == chapter => {
                            let slice = passed.as_millis() / 1_000;
                            reported.push((slice, outcome == Outcome::Failed));
                            let recent = || reported.iter().filter(|(at, _)| at + 10 > slice);
                            let (all, failed) = (recent().count(), recent().filter(|(_, failed)| *failed).count());
                            outcome == Outcome::Failed && all >= 20 && failed * 2 >= all
                        }
                        _ => false,
                    };
                    prop_assert_eq!(suspected, expected);
                    if expected && outcome == Outcome::Failed {
                        (story, chapter) = (closed(), chapter + 1);
                    }
                }
                Step::Conclude(outcome) => {
                    let change = bench.conclude(outcome);
                    let opens = match (&story, outcome) {
                        (Story::Open { .. }, Outcome::Good) => {
                            (story, chapter) = (closed(), chapter + 1);
                            prop_assert_eq!(change, Some(Change::Closed));
                            continue;
                        }
                        (_, Outcome::Failed) => Some(RULES.open),
                        (_, Outcome::Refused(wish)) => Some(wish.max(RULES.open)),
                        (Story::Open { .. }, Outcome::Unknown) => Some(PROBE),
                        (Story::Closed { .. }, Outcome::Good | Outcome::Unknown) => None,
                    };
                    match (&mut story, opens) {
                        (Story::Open { until }, Some(time)) => {
                            *until = (*until).max(passed + time);
                            prop_assert_eq!(change, None);
                        }
                        (Story::Closed { .. }, Some(time)) => {
                            (story, chapter) = (Story::Open { until: passed + time }, chapter + 1);
                            prop_assert_eq!(change, Some(Change::Opened(time)));
                        }
                        (_, None) => prop_assert_eq!(change, None),
                    }
                }
            }
        }
    }
}
