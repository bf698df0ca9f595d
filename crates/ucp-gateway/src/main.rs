//! `ucp-gateway`: a gateway for the Universal Commerce Protocol in front of a shop.
//!
//! The binary reads the command line and carries out its commands. The shops that `serve` serves are those of
//! [`ucp_host`]; the log, metrics and events about their calls are here.

mod calls;
mod cli;
mod command;
mod events;
mod export;
mod line_writer;
mod metrics;
mod order_events;
mod sampling;
mod spans;
mod telemetry;
mod terminal;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use rustix::{fs::Mode, process::umask};
use ucp_config::environment;

use crate::{
    cli::{Cli, Command, ConfigCommand, KeysCommand},
    command::{data, inspect, owner::Handover, setup},
};

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
    let _handover = Handover;
    let done = match command {
        Command::Serve(options) => command::serve::run(&options, &warnings),
        Command::Healthcheck(options) => command::healthcheck::run(&options),
        Command::Import(options) => data::import::run(&options),
        Command::Catalog(command) => data::catalog::run(&command),
        Command::Terms(options) => data::terms::run(&options),
        Command::Mcp(options) => command::mcp::run(&options),
        Command::Init(options) => setup::init::run(&options),
        Command::Completions(options) => setup::manual::completions(&options, Cli::command()),
        Command::Man(options) => setup::manual::man(&options, Cli::command()),
        Command::CheckConfig(options) => setup::check_config::run(&options),
        Command::Config(ConfigCommand::Schema) => setup::config_schema::run(),
        Command::Keys(KeysCommand::Api) => setup::api_key::run(),
        Command::Keys(KeysCommand::Own(command)) => setup::keys::run(&command),
        Command::Orders(command) => data::orders::run(command),
        Command::Webhooks(command) => data::webhooks::run(&command),
        Command::Buyers(command) => data::buyers::run(&command),
        Command::Holders(command) => data::holders::run(&command),
        Command::Backend(command) => inspect::backend::run(&command),
        Command::Store(command) => data::store::run(&command),
        Command::Doctor(options) => inspect::doctor::run(&options),
        Command::Rehearse(options) => inspect::rehearse::run(&options),
        Command::Sign(options) => inspect::sign::run(&options),
        Command::Verify(options) => inspect::verify::run(&options),
        Command::Tail(options) => inspect::recorded::tail(&options),
        Command::Replay(options) => inspect::replay::run(&options),
        Command::Explain(options) => inspect::explain::run(&options),
        Command::Spec(options) => command::spec::run(&options, Cli::command()),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            command::output::remark!("ucp-gateway: {}", ucp_host::cause::chain(&*error));
            ExitCode::FAILURE
        }
    }
}
