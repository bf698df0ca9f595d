//! The merchant captures, releases and gives back money, while the provider misbehaves and the command that asks for it is
//! killed.

use std::{
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;
use ucp_testkit::eventually;

use crate::{
    client::{Call, contents, payment, text},
    process::{PATIENCE, Provider, Tally, World, ended},
    provider::FAULTS,
    random::Random,
};

/// How long after its start the command is killed, in milliseconds; `None` for not at all.
const KILLS: &[Option<u64>] = &[None, Some(60), Some(150), Some(350), Some(800)];

/// How many commands run at the same time.
const AT_ONCE: usize = 4;

/// How often a command is given until it is known what became of the money.
const TRIES: usize = 20;

/// Something that a merchant does with the money of an order.
struct Errand {
    checkout: String,
    order: String,
    /// The command and its arguments, but for the order.
    words: Vec<String>,
    /// How much of the money is taken in the end, and how much of that is given back, in minor units.
    taken: i64,
    refunded: i64,
    fault: String,
}

/// All faults at captures, releases and refunds, for each moment of a kill.
pub(crate) fn killed(world: &World, random: &Random) -> String {
    world.configure("capture = \"manual\"\n");
    let _gateway = world.start(false);
    let mut combinations = 0;
    for kill in KILLS {
        let refunds = (world.provider() == Provider::Stripe).then_some(("refund", "refund"));
        let errands: Vec<_> = [("capture", "capture"), ("release", "void")]
            .into_iter()
            .chain(refunds)
            .flat_map(|step| FAULTS.iter().flat_map(move |fault| [1, 4].map(|times| (step, *fault, times))))
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
        // What was late is there by now.
        thread::sleep(Duration::from_millis(700));
        let report = world.report();
        for Errand { checkout, taken, refunded, fault, .. } in &errands {
            let mut payments = report.payments.values().filter(|payment| payment.checkout_id == *checkout);
            let payment = payments.next().expect("a payment");
            assert!(payments.next().is_none(), "{fault}: one purchase, one payment");
            let moved = (payment.taken, payment.captures, payment.voids, payment.refunded);
            assert_eq!(
                moved,
                (*taken, u32::from(*taken > 0), u32::from(*taken == 0), *refunded),
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
    let (words, order) = (vec!["orders".to_owned(), command.to_owned()], text(&answer["order"], "id").to_owned());
    let mut errand = Errand { checkout, order, words, taken: 0, refunded: 0, fault: fault.to_owned() };
    if command == "capture" {
        errand.words.push(format!("--amount={part}"));
        errand.taken = part;
    }
    if command == "refund" {
        let words = ["orders", "capture", &errand.order];
        assert!(ended(&given(world, &words)).status.success(), "{fault}: it is captured");
        errand.words.push("--amount=300".to_owned());
        (errand.taken, errand.refunded) = (part + 7, 300);
    }
    errand
}

/// A command as it is given.
fn given(world: &World, words: &[&str]) -> Command {
    let mut command = world.command(words);
    command.args(["--json", "--config"]).arg(world.folder().join("gateway.toml"));
    command
}

/// Gives the command, kills it, and gives it again until it is known what became of the money.
fn run(world: &World, Errand { order, words, taken, refunded, fault, .. }: &Errand, kill: Option<u64>) {
    let command = || {
        let words: Vec<_> = words.iter().chain([order]).map(String::as_str).collect();
        given(world, &words)
    };
    let shown = |output: &Output| -> Value { serde_json::from_slice(&output.stdout).expect("JSON") };
    if let Some(after) = kill {
        let mut child = command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        thread::sleep(Duration::from_millis(after));
        child.kill().expect("it is killed");
        child.wait().expect("it has ended");
        Tally::add(&world.tally().kills);
    }
    if *refunded > 0 {
        // A refund that has begun goes on by itself: given again, it is another one.
        return eventually(&format!("{fault}, {kill:?}: the money to be given back"), PATIENCE, || {
            let order = shown(&ended(&world.command(&["orders", "show", order, "--json"])));
            match order["adjustments"].as_array().expect("a list").as_slice() {
                [] => drop(ended(&command())),
                [refund] if refund["status"] == "completed" => return Some(()),
                [refund] => assert_eq!(refund["status"], "pending", "{fault}, {kill:?}: {order}"),
                several => panic!("{fault}, {kill:?}: {several:?}"),
            }
            None
        });
    }
    let mut said = String::new();
    for _ in 0..TRIES {
        let output = ended(&command());
        if output.status.success() {
            let shown = shown(&output);
            assert_eq!(shown["captured"], *taken, "{fault}, {kill:?}: {shown}");
            return;
        }
        said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("it is not known"), "{fault}, {kill:?}: {said}");
    }
    panic!("{fault}, {kill:?}: nobody knows what became of it: {said}");
}
