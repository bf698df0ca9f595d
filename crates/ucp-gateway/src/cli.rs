//! The command line. Options of `serve`, the data directory and the profile of the agent can also be set in the
//! environment.

use clap::{Parser, Subcommand};

use crate::{
    command::{
        backend::BackendCommand, buyers::BuyersCommand, catalog::CatalogCommand, doctor::DoctorOptions,
        explain::ExplainOptions, holders::HoldersCommand, import::ImportOptions, init::InitOptions,
        inspect::TailOptions, keys::OwnKeysCommand, manual::CompletionsOptions, manual::ManOptions, mcp::McpOptions,
        orders::OrdersCommand, rehearse::RehearseOptions, replay::ReplayOptions, sign::SignOptions, spec::SpecOptions,
        store::StoreCommand, terms::TermsOptions, verify::VerifyOptions, webhooks::WebhooksCommand,
    },
    config::ServeOptions,
};

/// Puts a shop on the Universal Commerce Protocol (UCP), over REST and MCP.
#[derive(Debug, Parser)]
#[command(name = "ucp-gateway", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) serve: ServeOptions,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the shop; the default without a command.
    Serve(ServeOptions),
    /// Ask the gateway that this configuration is of whether it serves; exit code 1 if it does not.
    Healthcheck(ServeOptions),
    /// Load products into the shop from a file, or merchants into the directory beside it; existing ones are updated.
    Import(ImportOptions),
    /// Synchronise the copy of a shop's catalog, or show its state.
    #[command(subcommand)]
    Catalog(CatalogCommand),
    /// Show the terms on which the shop sells (taxes, fees, discounts, deliveries), or set them from a file.
    Terms(TermsOptions),
    /// Serve one agent over standard input and output.
    Mcp(McpOptions),
    /// Write a commented configuration file. On a terminal it asks for what no flag says.
    Init(InitOptions),
    /// Check the configuration as `serve` would read it, and show the resulting settings.
    CheckConfig(ServeOptions),
    /// Help with writing the configuration file.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Generate and list keys: the gateway's own, and API keys for platforms.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Show orders and take their steps. The platform that placed an order is notified of every step.
    #[command(subcommand)]
    Orders(OrdersCommand),
    /// Show and resend the webhook events that platforms get about their orders.
    #[command(subcommand)]
    Webhooks(WebhooksCommand),
    /// Show or erase what is stored about a buyer.
    #[command(subcommand)]
    Buyers(BuyersCommand),
    /// Show who holds carts and checkouts, and free what one holds.
    #[command(subcommand)]
    Holders(HoldersCommand),
    /// Check and try a shop that is asked the questions of the backend contract, by itself or by a mapping.
    #[command(subcommand)]
    Backend(BackendCommand),
    /// Back up the data directory, check it, or restore it.
    #[command(subcommand)]
    Store(StoreCommand),
    /// Examine any UCP endpoint by rules, without writing; exit code 1 if one with the weight of an error is not kept.
    Doctor(DoctorOptions),
    /// Send scripted shoppers to any UCP endpoint, and report where they gave up and why.
    Rehearse(RehearseOptions),
    /// Sign an HTTP message in a file.
    Sign(SignOptions),
    /// Verify the signatures of an HTTP message in a file, and show the differences.
    Verify(VerifyOptions),
    /// Show the calls of a gateway as they come.
    Tail(TailOptions),
    /// Send a call that was recorded whole again, and show where the answers differ; exit code 1 if they do.
    Replay(ReplayOptions),
    /// Explain a decision of the gateway, or a call.
    Explain(ExplainOptions),
    /// Print the completions of a shell.
    Completions(CompletionsOptions),
    /// Write the manual pages, one of each command, to a directory.
    Man(ManOptions),
    /// Write or check the documents of this repository that the code generates: OpenAPI, OpenRPC, JSON Schema, and the
    /// example of the configuration.
    Spec(SpecOptions),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the JSON Schema of the configuration file, for editors.
    Schema,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Generate an API key for a platform, and the line of the configuration that registers it.
    Api,
    #[command(flatten)]
    Own(OwnKeysCommand),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_command_means_serve() {
        let cli = Cli::try_parse_from(["ucp-gateway", "--listen", "127.0.0.1:0"]).expect("parses");
        assert!(cli.command.is_none());
        assert_eq!(cli.serve.listen.map(|listen| listen.port()), Some(0));
    }
}
