//! The merchant captures and releases what was authorized, while the provider misbehaves and the command that asks for it
//! is killed.

use std::{process::Stdio, thread, time::Duration};

use serde_json::Value;

use crate::{
    client::{Call, contents, payment, text},
    process::{Tally, World, ended},
    provider::FAULTS,
    random::Random,
};

/// Times after its start at which the command is killed, in milliseconds; `None` for not at all.
const KILLS: &[Option<u64>] = &[None, Some(60), Some(150), Some(350), Some(800)];

/// Number of commands that run at the same time.
const AT_ONCE: usize = 4;

/// Maximum number of times that a command is given until the outcome of the payment is known.
const TRIES: usize = 20;

/// Something that a merchant does with the money of an order.
struct Errand {
    checkout: String,
    order: String,
    /// The command and its arguments, but for the order.
    words: Vec<String>,
    /// Amount that is captured in the end, in minor units.
    taken: i64,
    fault: String,
}

/// All faults at captures and releases, for each moment of a kill.
pub(crate) fn killed(world: &World, random: &Random) -> String {
    world.configure("capture = \"manual\"\n");
    let _gateway = world.start(false);
    let mut combinations = 0;
    for kill in KILLS {
        let errands: Vec<_> = [("capture", "capture"), ("release", "void")]
            .iter()
            .flat_map(|step| FAULTS.iter().flat_map(move |fault| [1, 4].map(|times| (*step, *fault, times))))
            .map(|((command, step), fault, times)| bought(world, random, command, &format!("{step}:{fault}:{times}")))
            .collect();
        combinations += errands.len();
        for some in errands.chunks(AT_ONCE) {
            thread::scope(|scope| {
                for errand in some {
                    scope.spawn(move || run(world, errand, *kill));
                }
            });
        }
        // Late results are there by now.
        thread::sleep(Duration::from_millis(700));
        let report = world.report();
        for Errand { checkout, taken, fault, .. } in &errands {
            let mut payments = report.payments.values().filter(|payment| payment.checkout_id == *checkout);
            let payment = payments.next().expect("a payment");
            assert!(payments.next().is_none(), "{fault}: one purchase, one payment");
            let moved = (payment.taken, payment.captures, payment.voids);
            assert_eq!(
                moved,
                (*taken, u32::from(*taken > 0), u32::from(*taken == 0)),
                "{fault}, {kill:?}: {payment:?}"
            );
        }
    }
    format!("{combinations} combinations of fault and kill")
}

/// Buys something whose capture or release goes wrong that way.
fn bought(world: &World, random: &Random, command: &str, fault: &str) -> Errand {
    let create = Call::keyed("create_checkout", "", contents(&[("pot_ceramic", 1)]), random.key());
    let checkout = text(&world.clients.ask(random, &create), "id").to_owned();
    let complete = Call::keyed("complete_checkout", &checkout, payment(&format!("ok+{fault}")), random.key());
    let answer = world.clients.ask(random, &complete);
    assert_eq!(text(&answer, "status"), "completed", "{fault}: {answer}");
    let totals = answer["totals"].as_array().into_iter().flatten();
    let total = totals.filter(|total| total["type"] == "total").find_map(|total| total["amount"].as_i64());
    let part = total.expect("a total") - 7;
    let (mut words, mut taken) = (vec!["orders".to_owned(), command.to_owned()], 0);
    if command == "capture" {
        words.push(format!("--amount={part}"));
        taken = part;
    }
    Errand { checkout, order: text(&answer["order"], "id").to_owned(), words, taken, fault: fault.to_owned() }
}

/// Gives the command, kills it, and gives it again until it is known what became of the money.
fn run(world: &World, Errand { order, words, taken, fault, .. }: &Errand, kill: Option<u64>) {
    let config = world.folder().join("gateway.toml");
    let command = || {
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let mut command = world.command(&words);
        command.args([order.as_str(), "--json", "--config"]).arg(&config);
        command
    };
    if let Some(after) = kill {
        let mut child = command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        thread::sleep(Duration::from_millis(after));
        child.kill().expect("it is killed");
        child.wait().expect("it has ended");
        Tally::add(&world.tally().kills);
    }
    let mut said = String::new();
    for _ in 0..TRIES {
        let output = ended(&command());
        if output.status.success() {
            let shown: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            assert_eq!(shown["captured"], *taken, "{fault}, {kill:?}: {shown}");
            return;
        }
        said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("it is not known"), "{fault}, {kill:?}: {said}");
    }
    panic!("{fault}, {kill:?}: nobody knows what became of it: {said}");
}
