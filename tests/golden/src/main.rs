//! Compares two gateway binaries, call by call.
//!
//! The tool knows the gateway from outside only: its command line, and the bytes that it answers with. Read on in the
//! order of a comparison: [`corpus`] sends calls scene by scene, [`stage`] starts what a scene needs and writes a
//! [`transcript`], [`normal`] takes out of it what differs from run to run, and [`compare`] holds two of them side by
//! side. [`instructions`] counts what the main calls cost.

mod allow;
mod compare;
mod corpus;
mod host;
mod instructions;
mod normal;
mod operation;
mod process;
mod stage;
mod transcript;
mod wire;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Result of a step that may fail, with a text that says what must be.
pub(crate) type Done<T = ()> = Result<T, String>;

/// Compares two binaries of the gateway: what they answer, and what that costs.
#[derive(Debug, Parser)]
#[command(name = "golden")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Send the same calls to two binaries and compare the answers byte by byte.
    Compare(compare::CompareOptions),
    /// Write the normalized answers of one binary to a file.
    Record(compare::RecordOptions),
    /// Count the instructions of the main calls in two binaries.
    Instructions(instructions::InstructionsOptions),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Compare(options) => compare::compare(&options),
        Command::Record(options) => compare::record(&options),
        Command::Instructions(options) => instructions::run(&options),
    };
    done.unwrap_or_else(|fault| {
        eprintln!("golden: {fault}");
        ExitCode::from(2)
    })
}
