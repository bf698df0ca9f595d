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

    fn admit(&mut self) -> Result<Permit, Duration> {
        self.breaker.admit(self.now)
    }

    fn permit(&mut self) -> Permit {
        self.admit().expect("a permit")
    }

    fn call(&mut self, outcome: Outcome) -> Option<Change> {
        let permit = self.permit();
        self.breaker.report(permit, outcome, self.now)
    }

    fn calls(&mut self, count: usize, outcome: Outcome) -> Option<Change> {
        (0..count).map(|_| self.call(outcome)).last().flatten()
    }
}

const OPENED: Option<Change> = Some(Change::Opened(RULES.open));

#[test]
fn half_of_twenty_failures_open_it() {
    let mut bench = Bench::new();
    bench.calls(10, Outcome::Good);
    assert_eq!(bench.calls(9, Outcome::Failed), None);
    assert_eq!(bench.call(Outcome::Failed), OPENED);
    assert_eq!(bench.admit(), Err(RULES.open));
    assert_eq!(bench.after(4_999).admit(), Err(millis(1)));
}

#[test]
fn fewer_than_twenty_or_than_half_do_not() {
    let mut bench = Bench::new();
    assert_eq!(bench.calls(19, Outcome::Failed), None);
    let mut bench = Bench::new();
    bench.calls(11, Outcome::Good);
    assert_eq!(bench.calls(10, Outcome::Failed), None);
    assert_eq!(bench.call(Outcome::Failed), OPENED);
}

#[test]
fn what_is_older_than_the_window_is_forgotten() {
    let mut bench = Bench::new();
    bench.calls(19, Outcome::Failed);
    assert_eq!(bench.after(10_000).call(Outcome::Failed), None);
    let mut bench = Bench::new();
    bench.calls(19, Outcome::Failed);
    assert_eq!(bench.after(9_999).call(Outcome::Failed), OPENED);
}

#[test]
fn one_probe_decides() {
    for (outcome, change) in [(Outcome::Good, Some(Change::Closed)), (Outcome::Failed, OPENED)] {
        let mut bench = Bench::new();
        bench.calls(20, Outcome::Failed);
        let probe = bench.after(5_000).permit();
        assert_eq!(bench.after(60_000).admit(), Err(PROBE), "there is a probe already");
        assert_eq!(bench.breaker.report(probe, outcome, bench.now), change);
        assert_eq!(bench.admit().is_ok(), outcome == Outcome::Good);
    }
}

#[test]
fn a_probe_that_is_given_up_makes_room_for_another() {
    let mut bench = Bench::new();
    bench.calls(20, Outcome::Failed);
    let probe = bench.after(5_000).permit();
    assert_eq!(bench.breaker.report(probe, Outcome::Unknown, bench.now), None);
    assert_eq!(bench.call(Outcome::Good), Some(Change::Closed));
}

#[test]
fn what_began_before_the_circuit_changed_says_nothing() {
    let mut bench = Bench::new();
    let late: Vec<_> = (0..40).map(|_| bench.permit()).collect();
    bench.calls(20, Outcome::Failed);
    bench.after(5_000).call(Outcome::Good);
    for permit in late {
        assert_eq!(bench.breaker.report(permit, Outcome::Failed, bench.now), None);
    }
    assert_eq!(bench.breaker.circuit(bench.now), Circuit::Closed);
}

#[test]
fn an_upstream_that_wants_to_be_left_alone_is() {
    let mut bench = Bench::new();
    let late = bench.permit();
    assert_eq!(bench.call(Outcome::Shut(millis(300_000))), Some(Change::Opened(millis(300_000))));
    // A shorter wish does not shorten it, whoever has it.
    assert_eq!(bench.breaker.report(late, Outcome::Shut(millis(1)), bench.now), None);
    assert_eq!(bench.after(299_000).admit(), Err(millis(1_000)));
    assert_eq!(bench.after(1_000).call(Outcome::Shut(Duration::MAX)), Some(Change::Opened(LONGEST)));
}

#[derive(Clone, Debug)]
enum Step {
    Pass(u64),
    Admit,
    Report(prop::sample::Index, Outcome),
}

fn step() -> impl Strategy<Value = Step> {
    let outcome = prop_oneof![
        8 => Just(Outcome::Good),
        16 => Just(Outcome::Failed),
        1 => (0_u64..30_000).prop_map(|wish| Outcome::Shut(millis(wish))),
        3 => Just(Outcome::Unknown),
    ];
    prop_oneof![
        2 => prop_oneof![3 => 0_u64..400, 1 => 0_u64..12_000].prop_map(Step::Pass),
        6 => Just(Step::Admit),
        6 => (any::<prop::sample::Index>(), outcome).prop_map(|(which, outcome)| Step::Report(which, outcome)),
    ]
}

/// The rules, told as a story: what was reported since the circuit closed, and which call is the probe.
enum Story {
    Closed { reported: Vec<(u128, bool)> },
    Open { until: Duration },
    Probing,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn it_does_what_the_rules_say(steps in prop::collection::vec(step(), 0..400)) {
        let mut bench = Bench::new();
        let (mut passed, mut story, mut chapter) = (Duration::ZERO, Story::Closed { reported: Vec::new() }, 0);
        let mut permits: Vec<(Permit, u32)> = Vec::new();
        for step in steps {
            match step {
                Step::Pass(milliseconds) => {
                    bench.after(milliseconds);
                    passed += millis(milliseconds);
                }
                Step::Admit => {
                    let expected = match story {
                        Story::Closed { .. } => true,
                        Story::Open { until } => passed >= until,
                        Story::Probing => false,
                    };
                    if expected && matches!(story, Story::Open { .. }) {
                        (story, chapter) = (Story::Probing, chapter + 1);
                    }
                    match bench.admit() {
                        Ok(permit) => {
                            prop_assert!(expected);
                            permits.push((permit, chapter));
                        }
                        Err(wait) => prop_assert!(!expected && wait > Duration::ZERO),
                    }
                }
                Step::Report(_, _) if permits.is_empty() => {}
                Step::Report(which, outcome) => {
                    let (permit, of) = permits.swap_remove(which.index(permits.len()));
                    let change = bench.breaker.report(permit, outcome, bench.now);
                    let mut opens = None;
                    match (&mut story, outcome) {
                        (Story::Open { until }, Outcome::Shut(wish)) => *until = (*until).max(passed + wish.max(RULES.open)),
                        (_, Outcome::Shut(wish)) => opens = Some(wish.max(RULES.open)),
                        _ if of != chapter => {}
                        (Story::Closed { reported }, Outcome::Good | Outcome::Failed) => {
                            let slice = passed.as_millis() / 1_000;
                            reported.push((slice, outcome == Outcome::Failed));
                            let recent = || reported.iter().filter(|(at, _)| at + 10 > slice);
                            let (all, failed) = (recent().count(), recent().filter(|(_, failed)| *failed).count());
                            if outcome == Outcome::Failed && all >= 20 && failed * 2 >= all {
                                opens = Some(RULES.open);
                            }
                        }
                        (Story::Probing, Outcome::Good) => {
                            (story, chapter) = (Story::Closed { reported: Vec::new() }, chapter + 1);
                            prop_assert_eq!(change, Some(Change::Closed));
                            continue;
                        }
                        (Story::Probing, Outcome::Failed) => opens = Some(RULES.open),
                        (Story::Probing, Outcome::Unknown) => {
                            (story, chapter) = (Story::Open { until: passed }, chapter + 1);
                        }
                        (Story::Closed { .. } | Story::Open { .. }, _) => {}
                    }
                    prop_assert_eq!(change, opens.map(Change::Opened));
                    if let Some(time) = opens {
                        (story, chapter) = (Story::Open { until: passed + time }, chapter + 1);
                    }
                }
            }
        }
    }
}
