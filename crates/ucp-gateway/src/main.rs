//! `ucp-gateway`: a gateway for the Universal Commerce Protocol in front of a shop.
//!
//! The binary reads the command line, composes a backend, the call handler and the bindings, and runs them. It is the
//! only crate that depends on all of these.

mod address;
mod admin;
mod audit;
mod backend;
mod callers;
mod calls;
mod cause;
mod cli;
mod clock;
mod command;
mod decisions;
mod directory;
mod docs;
mod ended;
mod events;
mod export;
mod files;
mod front;
mod happenings;
mod health;
mod inspector;
mod line_writer;
mod local;
mod machine;
mod metrics;
mod openings;
mod orders;
mod payments;
mod pool;
mod progress;
mod reading;
mod reception;
mod reference;
mod running;
mod sampling;
mod shop;
mod shops;
mod slot;
mod spans;
mod telemetry;
mod terminal;
mod upkeep;
mod webhooks;
mod workbench;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use rustix::{fs::Mode, process::umask};
use ucp_config::environment;

use crate::cli::{Cli, Command, ConfigCommand, KeysCommand};

/// Allocator of the process. Responses are allocated and freed as texts of many sizes, and a static build would
/// otherwise use the slow allocator of musl.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let command = cli.command.unwrap_or(Command::Serve(cli.serve));
    // What the gateway writes is for its own user, but for the documents of the repository.
    if !matches!(command, Command::Spec(_)) {
        umask(Mode::RWXG | Mode::RWXO);
    }
    let warnings = environment::warnings(&Cli::command());
    // `serve` logs as its settings say.
    if !matches!(command, Command::Serve(_)) {
        telemetry::start();
        warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    }
    let done = match command {
        Command::Serve(options) => command::serve::run(&options, &warnings),
        Command::Healthcheck(options) => command::healthcheck::run(&options),
        Command::Import(options) => command::import::run(&options),
        Command::Catalog(command) => command::catalog::run(&command),
        Command::Terms(options) => command::terms::run(&options),
        Command::Mcp(options) => command::mcp::run(&options),
        Command::Init(options) => command::init::run(&options),
        Command::Completions(options) => command::manual::completions(&options, Cli::command()),
        Command::Man(options) => command::manual::man(&options, Cli::command()),
        Command::CheckConfig(options) => command::check_config::run(&options),
        Command::Config(ConfigCommand::Schema) => command::config_schema::run(),
        Command::Keys(KeysCommand::Api) => command::api_key::run(),
        Command::Keys(KeysCommand::Own(command)) => command::keys::run(&command),
        Command::Orders(command) => command::orders::run(command),
        Command::Webhooks(command) => command::webhooks::run(&command),
        Command::Buyers(command) => command::buyers::run(&command),
        Command::Holders(command) => command::holders::run(&command),
        Command::Backend(command) => command::backend::run(&command),
        Command::Store(command) => command::store::run(&command),
        Command::Doctor(options) => command::doctor::run(&options),
        Command::Rehearse(options) => command::rehearse::run(&options),
        Command::Sign(options) => command::sign::run(&options),
        Command::Verify(options) => command::verify::run(&options),
        Command::Tail(options) => command::inspect::tail(&options),
        Command::Replay(options) => command::replay::run(&options),
        Command::Explain(options) => command::explain::run(&options),
        Command::Spec(options) => command::spec::run(&options, Cli::command()),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            command::output::remark!("ucp-gateway: {}", cause::chain(&*error));
            ExitCode::FAILURE
        }
    }
}
