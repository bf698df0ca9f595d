//! `instructions`: what the main calls cost, in instructions that valgrind's callgrind counts.
//!
//! Times depend on the machine and on what else it does; instructions hardly do. Every call is sent until caches are
//! warm, and then in batches while callgrind counts: starting up and warming up stay outside of the figures.

mod callgrind;
mod calls;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;

use self::{callgrind::Counted, calls::calls};
use crate::{
    Done,
    process::{command, run as run_to_end},
    stage::{Setup, Stage, Tools},
};

/// Options of the count.
#[derive(Debug, Args)]
pub(crate) struct InstructionsOptions {
    /// The binary to compare with.
    old: PathBuf,
    /// The binary that should not cost more.
    new: PathBuf,
    /// Fail when a call costs more by this much.
    #[arg(long, value_name = "PERCENT")]
    most: Option<f64>,
    /// Count only the calls whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// The log level of the new binary; the old one logs warnings. `info`, of the same binary twice, is the price of the line
    /// about each call.
    #[arg(long, default_value = "warn", value_name = "LEVEL")]
    log: String,
    /// Number of calls in a batch.
    #[arg(long, default_value_t = 10, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    times: u32,
}

/// Counts both, and prints them side by side.
pub(crate) fn run(options: &InstructionsOptions) -> Done<ExitCode> {
    let count = |binary: &PathBuf, log: &str| -> Done<Vec<(String, u64)>> {
        let tools = Tools::new(binary, binary)?;
        let mut stage = Stage::new("instructions", &tools)?;
        count(&mut stage, options, &setup(binary)?.variable("RUST_LOG", log))
    };
    // Side by side, as long as there are two processors: what each does is counted apart.
    let (old, new) = std::thread::scope(|scope| {
        let other = scope.spawn(|| count(&options.new, &options.log));
        (count(&options.old, "warn"), other.join())
    });
    let (old, new) = (old?, new.map_err(|_| "counting panicked")??);
    println!("{:<40} {:>12} {:>12} {:>8}", "instructions per call", "old", "new", "change");
    let mut worst = f64::MIN;
    for ((name, old), (_, new)) in old.iter().zip(&new) {
        let change = percent(*old, *new);
        worst = worst.max(change);
        println!("{name:<40} {old:>12} {new:>12} {change:>+7.1}%");
    }
    match options.most {
        Some(most) if worst > most => {
            println!("a call costs {worst:+.1}% more, {most}% is allowed");
            Ok(ExitCode::FAILURE)
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// By how much something grew, in percent.
fn percent(old: u64, new: u64) -> f64 {
    let (old, new) = (old.max(1) as f64, new as f64);
    (new / old - 1.0) * 100.0
}

/// The configuration of a binary that is counted: without the inspector, if it has one.
fn setup(binary: &Path) -> Done<Setup> {
    let mut schema = command(binary);
    schema.args(["config", "schema"]);
    let has_inspector = run_to_end(schema, b"")?.stdout.contains("\"inspected_per_second\"");
    let without = if has_inspector { "[server]\ninspected_per_second = 0\n" } else { "" };
    Ok(Setup::new(&format!("[profiles]\nloopback = true\n{without}")))
}

/// Instructions by call.
fn count(stage: &mut Stage<'_>, options: &InstructionsOptions, setup: &Setup) -> Done<Vec<(String, u64)>> {
    let mut counts = Vec::new();
    for sample in ["outfitters", "flower-shop"] {
        let wanted = |name: &str| name.contains(options.only.as_deref().unwrap_or_default());
        let calls: Vec<_> = calls(sample).into_iter().filter(|call| wanted(&call.name)).collect();
        if calls.is_empty() {
            continue;
        }
        let setup = if sample == "outfitters" { setup.clone().outfitters() } else { setup.clone() };
        let counted = Counted::start(stage, &setup)?;
        for call in calls {
            let count = counted.count(&call, options.times)?;
            counts.push((call.name, count));
        }
    }
    Ok(counts)
}
