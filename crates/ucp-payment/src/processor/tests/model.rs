//! Model test: whatever happens in whatever order, money moves at most once, no statement turns out wrong, and in the
//! end every handler agrees with the provider.

use proptest::prelude::*;

use super::*;

/// Actions on the single attempt. It is paid at most once, as the contract requires.
#[derive(Clone, Copy, Debug)]
enum Act {
    Inquire,
    Forget,
    /// Delayed requests arrive.
    Deliver,
}

#[derive(Clone, Debug)]
struct Case {
    token: &'static str,
    /// Time of the payment, in milliseconds; `None` if the gateway dies before it.
    paid_at: Option<u64>,
    /// Time for which the gateway pays until it dies, in milliseconds; `None` if it does not die.
    killed_at: Option<u64>,
    acts: Vec<(u64, Act)>,
    orders: Vec<String>,
    weather: Vec<Weather>,
}

fn order() -> impl Strategy<Value = String> {
    let step = prop::sample::select(vec!["authorize", "capture", "inquire", "void"]);
    (step, prop::sample::select(Fault::ALL.to_vec()), 1_u32..5)
        .prop_map(|(step, (fault, _), times)| format!("{step}:{fault}:{times}"))
}

fn weather() -> impl Strategy<Value = Weather> {
    (0_u64..12_000, 0_u64..12_000, prop::bool::weighted(0.1)).prop_map(|(before, after, cut)| Weather {
        before: before.saturating_sub(8_000),
        after: after.saturating_sub(8_000),
        cut,
    })
}

fn case() -> impl Strategy<Value = Case> {
    let token = prop::sample::select(vec!["ok", "ok", "ok", "decline", "challenge", "pending", "refuse_capture"]);
    let act = prop::sample::select(vec![Act::Inquire, Act::Inquire, Act::Forget, Act::Deliver]);
    (
        token,
        prop::option::weighted(0.9, 0_u64..3_000),
        prop::option::weighted(0.3, 0_u64..20_000),
        prop::collection::vec((0_u64..30_000, act), 0..8),
        prop::collection::vec(order(), 0..6),
        prop::collection::vec(weather(), 0..20),
    )
        .prop_map(|(token, paid_at, killed_at, acts, orders, weather)| Case {
            token,
            paid_at,
            killed_at,
            acts,
            orders,
            weather,
        })
}

/// Statement of a handler.
#[derive(Clone, Debug, PartialEq)]
enum Claim {
    Settled(Settlement),
    Forgotten(bool),
}

async fn run(case: Case) -> Result<(), TestCaseError> {
    let memory = Memory::new();
    memory.inject(&case.orders.iter().map(String::as_str).collect::<Vec<_>>());
    memory.weather.lock().expect("unpoisoned").extend(case.weather.iter().copied());
    let mut running = Vec::new();
    if let Some(paid_at) = case.paid_at {
        let memory = Arc::clone(&memory);
        running.push(tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(paid_at)).await;
            let life = case.killed_at.map_or(Duration::MAX, Duration::from_millis);
            let (processor, attempt, tender) = (processor(&memory), attempt("a"), tender(case.token));
            let paid = tokio::time::timeout(life, processor.pay(&attempt, &tender)).await;
            Claim::Settled(paid.unwrap_or(Settlement::Unknown))
        }));
    }
    for (when, act) in case.acts.clone() {
        let memory = Arc::clone(&memory);
        running.push(tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(when)).await;
            // A processor for each action, as in separate processes.
            let processor = processor(&memory);
            match act {
                Act::Inquire => Claim::Settled(processor.inquire(&attempt("a")).await),
                Act::Forget => Claim::Forgotten(processor.forget(&attempt("a")).await),
                Act::Deliver => {
                    memory.deliver();
                    Claim::Settled(Settlement::Unknown)
                }
            }
        }));
    }
    let mut claims = Vec::new();
    for act in running {
        claims.push(act.await.expect("no panic"));
    }

    // Without further faults, repeated inquiries have to reach a final outcome.
    memory.weather.lock().expect("unpoisoned").clear();
    while ["authorize", "capture", "inquire", "void"].iter().any(|step| drained(&memory, step)) {}
    let attempt = attempt("a");
    let mut end = Settlement::Unknown;
    for _ in 0..3 {
        end = processor(&memory).inquire(&attempt).await;
        claims.push(Claim::Settled(end.clone()));
    }
    if end == Settlement::Absent {
        let forgotten = processor(&memory).forget(&attempt).await;
        prop_assert!(forgotten, "an unknown payment could not be called off");
        claims.push(Claim::Forgotten(forgotten));
    }
    memory.deliver();
    end = processor(&memory).inquire(&attempt).await;
    claims.push(Claim::Settled(end));

    let truth = memory.psp.report().payments.get("a").cloned();
    let status = truth.as_ref().map_or("absent", |payment| payment.status.as_str());
    let money = truth.as_ref().map_or(0, |payment| payment.captures);
    prop_assert!(money <= 1, "captured {money} times");
    prop_assert!(["captured", "declined", "challenge", "voided"].contains(&status), "left {status}");
    for claim in &claims {
        let fits = match claim {
            Claim::Settled(Settlement::Captured { reference }) => money == 1 && reference == "psp_a",
            Claim::Settled(Settlement::Declined { .. } | Settlement::Unsent | Settlement::Challenged { .. })
            | Claim::Forgotten(true) => money == 0,
            Claim::Settled(Settlement::AwaitingBuyer { .. } | Settlement::Authorized { .. }) => false,
            Claim::Settled(Settlement::Unknown | Settlement::Absent) | Claim::Forgotten(false) => true,
        };
        prop_assert!(fits, "{claim:?} was said, but the provider says {status}; all: {claims:?}");
    }
    prop_assert!(
        !matches!(claims.last(), Some(Claim::Settled(Settlement::Unknown | Settlement::Absent))),
        "nobody knows how it ended: {status}"
    );
    Ok(())
}

/// Uses up one order to misbehave at a step; returns `true` if there was one left.
fn drained(memory: &Memory, step: &str) -> bool {
    let (method, path) = match step {
        "authorize" => ("POST", "/payments".to_owned()),
        "inquire" => ("GET", "/payments/a".to_owned()),
        step => ("POST", format!("/payments/a/{step}")),
    };
    let url = format!("https://psp.example{path}");
    let request = Request { method: method.into(), url, headers: Default::default(), body: Vec::new() };
    memory.psp.fault(&request).is_some()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_faults_moves_the_money_at_most_once(case in case()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(run(case))?;
    }
}
