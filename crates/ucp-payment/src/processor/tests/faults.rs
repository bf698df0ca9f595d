//! Tests of every fault at every step, and of the conclusions drawn from it.

use proptest::strategy::Strategy as _;

use super::*;

const ALWAYS: u32 = 1_000;

async fn pay(memory: &Arc<Memory>, token: &str) -> Settlement {
    processor(memory).pay(&attempt("a"), &tender(token)).await
}

async fn inquire(memory: &Arc<Memory>) -> Settlement {
    processor(memory).inquire(&attempt("a")).await
}

fn captures(memory: &Memory) -> u32 {
    memory.psp.report().captures_of("a")
}

#[tokio::test(start_paused = true)]
async fn outcomes_of_the_provider_become_settlements() {
    for (token, paid, money) in [
        ("tok_1", captured("a"), 1),
        ("decline", Settlement::Declined { reason: "The bank refused the payment.".into() }, 0),
        ("refuse_capture", Settlement::Declined { reason: "The bank refused the payment.".into() }, 0),
        ("challenge", Settlement::Challenged { reason: "The bank asks the buyer to confirm the payment.".into() }, 0),
    ] {
        let memory = Memory::new();
        assert_eq!(pay(&memory, token).await, paid, "{token}");
        assert_eq!(inquire(&memory).await, paid, "{token}, asked again");
        assert_eq!(captures(&memory), money, "{token}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_payment_that_is_not_decided_yet_is_captured_once_it_is() {
    let memory = Memory::new();
    assert_eq!(pay(&memory, "pending").await, Settlement::Unknown);
    assert_eq!(inquire(&memory).await, Settlement::Unknown);
    assert_eq!(captures(&memory), 0);
    assert_eq!(inquire(&memory).await, captured("a"));
    assert_eq!(inquire(&memory).await, captured("a"));
    assert_eq!(captures(&memory), 1);
}

#[tokio::test(start_paused = true)]
async fn one_fault_is_overcome_under_the_same_key() {
    for (name, fault) in Fault::ALL {
        for step in ["authorize", "capture"] {
            let memory = Memory::new();
            memory.inject(&[&format!("{step}:{name}")]);
            assert_eq!(pay(&memory, "tok_1").await, captured("a"), "{step}:{name}");
            memory.deliver();
            assert_eq!(captures(&memory), 1, "{step}:{name}");
            let repeated = memory.psp.report().replays;
            let expected = u32::from((fault.acts() && *fault != Fault::Slow) || *fault == Fault::Late);
            assert_eq!(repeated, expected, "{step}:{name} was repeated under another key, or carried out twice");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_fault_that_stays_leaves_the_end_unknown_until_the_provider_is_asked() {
    for (name, fault) in Fault::ALL.iter().filter(|(_, fault)| *fault != Fault::Slow) {
        for step in ["authorize", "capture"] {
            let memory = Memory::new();
            memory.inject(&[&format!("{step}:{name}:3")]);
            assert_eq!(pay(&memory, "tok_1").await, Settlement::Unknown, "{step}:{name}");
            let arrived = step == "capture" || fault.acts();
            let expected = if arrived { captured("a") } else { Settlement::Absent };
            assert_eq!(inquire(&memory).await, expected, "{step}:{name}, asked");
            if !arrived {
                assert!(processor(&memory).forget(&attempt("a")).await, "{step}:{name}");
                assert!(matches!(inquire(&memory).await, Settlement::Declined { .. }), "{step}:{name}, called off");
            }
            memory.deliver();
            assert_eq!(captures(&memory), u32::from(arrived), "{step}:{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn inquiring_and_voiding_never_guess() {
    for (name, fault) in Fault::ALL.iter().filter(|(_, fault)| *fault != Fault::Slow) {
        let memory = Memory::new();
        memory.inject(&["capture:reset_before:3", &format!("inquire:{name}:3"), &format!("void:{name}:3")]);
        assert_eq!(pay(&memory, "tok_1").await, Settlement::Unknown, "{name}");
        assert_eq!(inquire(&memory).await, Settlement::Unknown, "{name}");
        assert!(!processor(&memory).forget(&attempt("a")).await, "{name}");
        let voided = fault.acts();
        assert_eq!(matches!(inquire(&memory).await, Settlement::Declined { .. }), voided, "{name}");
        memory.deliver();
        assert_eq!(captures(&memory), u32::from(!voided), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_captured_cannot_be_called_off() {
    let memory = Memory::new();
    memory.inject(&["capture:reset_after:3"]);
    assert_eq!(pay(&memory, "tok_1").await, Settlement::Unknown);
    assert!(!processor(&memory).forget(&attempt("a")).await);
    assert_eq!(inquire(&memory).await, captured("a"));
    assert_eq!(memory.psp.report().payments["a"].voids, 0);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_was_called_off_does_not_count_when_it_arrives_late() {
    let memory = Memory::new();
    memory.inject(&["authorize:late:3"]);
    assert_eq!(pay(&memory, "tok_1").await, Settlement::Unknown);
    assert_eq!(inquire(&memory).await, Settlement::Absent);
    assert!(processor(&memory).forget(&attempt("a")).await);
    memory.deliver();
    assert!(matches!(inquire(&memory).await, Settlement::Declined { .. }));
    assert_eq!(memory.psp.report().payments["a"].authorizations, 0);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_cannot_be_reached_was_not_asked_to_pay() {
    let memory = Memory::new();
    let cut = Weather { cut: true, ..Weather::default() };
    memory.weather.lock().expect("unpoisoned").extend([cut; 3]);
    assert_eq!(pay(&memory, "tok_1").await, Settlement::Unsent);
    assert!(memory.psp.report().payments.is_empty());
    // Once a request may have arrived, a broken connection proves nothing.
    memory.inject(&["authorize:reset_after"]);
    memory.weather.lock().expect("unpoisoned").extend([Weather::default(), cut, cut]);
    assert_eq!(pay(&memory, "tok_1").await, Settlement::Unknown);
    assert_eq!(inquire(&memory).await, captured("a"));
    memory.weather.lock().expect("unpoisoned").extend([cut; 6]);
    assert_eq!(inquire(&memory).await, Settlement::Unknown);
    assert!(!processor(&memory).forget(&attempt("a")).await);
}

#[tokio::test(start_paused = true)]
async fn a_definite_refusal_declines_unless_something_may_have_arrived() {
    let wrong = |memory: &Arc<Memory>| {
        let options = Options { api_key: "other".parse().expect("a secret"), ..options("https://psp.example/v1") };
        Processor::over(options, Arc::clone(memory) as Arc<dyn Transport>).expect("a processor")
    };
    let memory = Memory::new();
    assert!(matches!(wrong(&memory).pay(&attempt("a"), &tender("tok_1")).await, Settlement::Declined { .. }));
    assert_eq!(wrong(&memory).inquire(&attempt("a")).await, Settlement::Unknown);
    assert!(!wrong(&memory).forget(&attempt("a")).await);
    assert!(memory.psp.report().payments.is_empty());
    memory.inject(&["authorize:reset_before"]);
    assert_eq!(wrong(&memory).pay(&attempt("a"), &tender("tok_1")).await, Settlement::Unknown);
}

#[tokio::test(start_paused = true)]
async fn signatures_are_checked_and_cover_what_matters() {
    let memory = Memory::new();
    assert_eq!(pay(&memory, "tok_1").await, captured("a"));
    let sent = memory.sent.lock().expect("unpoisoned").clone();
    assert_eq!(sent.len(), 2);
    assert_eq!(memory.psp.answer(&sent[0]).status, 200);
    let changes: [fn(&mut Request); 5] = [
        |request| request.body.push(b' '),
        |request| request.url = request.url.replace("payments", "payments/x/capture"),
        |request| request.method = "PUT".into(),
        |request| drop(request.headers.insert("idempotency-key".into(), "other".into())),
        |request| drop(request.headers.insert("signature".into(), "sig1=:AAAA:".into())),
    ];
    for change in changes {
        let mut forged = sent[0].clone();
        change(&mut forged);
        assert_eq!(memory.psp.answer(&forged).status, 401);
    }
}

#[tokio::test(start_paused = true)]
async fn everything_ends_by_its_deadline() {
    for fault in ["hang_before", "hang_after", "error_before", "busy"] {
        let memory = Memory::new();
        let orders: Vec<String> =
            ["authorize", "inquire", "void"].iter().map(|step| format!("{step}:{fault}:{ALWAYS}")).collect();
        memory.inject(&orders.iter().map(String::as_str).collect::<Vec<_>>());
        let started = Instant::now();
        let mut processor = processor(&memory);
        processor.options.tries = u32::MAX;
        assert_eq!(processor.pay(&attempt("a"), &tender("tok_1")).await, Settlement::Unknown);
        let paid = Instant::now();
        assert!(paid - started <= processor.deadline(), "{fault}: {:?}", paid - started);
        assert_eq!(processor.inquire(&attempt("a")).await, Settlement::Unknown);
        assert!(!processor.forget(&attempt("a")).await);
        assert!(paid.elapsed() <= 2 * processor.deadline(), "{fault}: {:?}", paid.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_whose_time_is_over_is_not_sent() {
    let memory = Memory::new();
    let old = Attempt { begun_at: at(NOW - 20), ..attempt("a") };
    assert_eq!(processor(&memory).pay(&old, &tender("tok_1")).await, Settlement::Unsent);
    assert!(memory.sent.lock().expect("unpoisoned").is_empty());
    // Only the rest of the time is available.
    memory.inject(&["authorize:hang_before:1000"]);
    let started = Instant::now();
    let late = Attempt { begun_at: at(NOW - 15), ..attempt("a") };
    assert_eq!(processor(&memory).pay(&late, &tender("tok_1")).await, Settlement::Unknown);
    assert!(started.elapsed() <= Duration::from_secs(5));
    // An attempt lies in the future if the clock went back.
    let early = Attempt { begun_at: at(NOW + 60), ..attempt("b") };
    assert_eq!(processor(&memory).pay(&early, &tender("tok_1")).await, Settlement::Unknown);
}

#[tokio::test(start_paused = true)]
async fn payments_of_another_provider_stay_unknown() {
    let memory = Memory::new();
    let moved = |previous_urls: &[&str]| {
        let previous_urls =
            previous_urls.iter().map(|text| Endpoint::parse(text, false).expect("an address")).collect();
        let options = Options { previous_urls, ..options("https://new.example/") };
        Processor::over(options, Arc::clone(&memory) as Arc<dyn Transport>).expect("a processor")
    };
    assert_eq!(pay(&memory, "tok_1").await, captured("a"));
    let before = memory.sent.lock().expect("unpoisoned").len();
    assert_eq!(moved(&[]).inquire(&attempt("a")).await, Settlement::Unknown);
    assert!(!moved(&[]).forget(&attempt("a")).await);
    assert_eq!(memory.sent.lock().expect("unpoisoned").len(), before);
    assert_eq!(moved(&["https://psp.example/v1/"]).inquire(&attempt("a")).await, captured("a"));
}

#[test]
fn options_that_leave_no_room_are_refused() {
    let memory = Memory::new();
    let over = |options: Options| Processor::over(options, Arc::clone(&memory) as Arc<dyn Transport>).map(|_| ());
    let base = || options("https://psp.example/v1");
    for key_id in ["", "quo\"te", "back\\slash", "\n", &"x".repeat(129)] {
        assert!(matches!(over(Options { key_id: key_id.into(), ..base() }), Err(SetupError::KeyId)));
    }
    for wrong in [
        Options { tries: 0, ..base() },
        Options { deadline: Duration::ZERO, ..base() },
        Options { request_timeout: Duration::ZERO, ..base() },
        Options { connect_timeout: Duration::ZERO, ..base() },
    ] {
        assert!(matches!(over(wrong), Err(SetupError::NoRoom)));
    }
    assert!(over(base()).is_ok());
}

proptest::proptest! {
    #[test]
    fn any_answer_gets_a_verdict_and_only_a_whole_one_is_believed(
        status in 100_u16..600,
        body in proptest::prop_oneof![
            proptest::collection::vec(proptest::num::u8::ANY, 0..80),
            (0_usize..110).prop_map(|length| {
                let whole = br#"{"id":"a","status":"captured","amount":3500,"currency":"USD","reference":"psp_a","reason":null}"#;
                whole[..length.min(whole.len())].to_vec()
            }),
        ],
    ) {
        let whole = body.ends_with(b"null}");
        let verdict = wire::read(&Answer { status, body: body.into() }, (&attempt("a")).into());
        let believed = matches!(verdict, Verdict::Stands(_));
        proptest::prop_assert_eq!(believed, whole && status == 200);
    }
}
