//! The command line. Options of `serve`, the data directory and the profile of the agent can also be set in the
//! environment.

use clap::{Parser, Subcommand};

use crate::command::{
    data::{
        buyers::BuyersCommand, catalog::CatalogCommand, holders::HoldersCommand, import::ImportOptions,
        orders::OrdersCommand, store::StoreCommand, terms::TermsOptions, webhooks::WebhooksCommand,
    },
    inspect::{
        backend::BackendCommand, doctor::DoctorOptions, explain::ExplainOptions, recorded::TailOptions,
        rehearse::RehearseOptions, replay::ReplayOptions, sign::SignOptions, verify::VerifyOptions,
    },
    mcp::McpOptions,
    setup::{
        init::InitOptions,
        keys::OwnKeysCommand,
        manual::{CompletionsOptions, ManOptions},
    },
    spec::SpecOptions,
};
use ucp_config::ServeOptions;

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
    /// Check that a running gateway is healthy; exit code 1 if it is not.
    Healthcheck(ServeOptions),
    /// Import products or merchants from a file; existing ones are updated.
    Import(ImportOptions),
    /// Synchronize the copy of an upstream catalog, or show its state.
    #[command(subcommand)]
    Catalog(CatalogCommand),
    /// Show or set sales terms: taxes, shipping rates, discounts and fees.
    Terms(TermsOptions),
    /// Run as a local MCP server over stdio.
    Mcp(McpOptions),
    /// Create a configuration file, interactively on a terminal.
    Init(InitOptions),
    /// Check the configuration that `serve` would use, and show the resulting settings.
    CheckConfig(ServeOptions),
    /// Support for editing the configuration file.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Generate and list keys: the gateway's own, and API keys for platforms.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// List orders; ship, deliver, cancel, capture or refund them. Platforms are notified of every step.
    #[command(subcommand)]
    Orders(OrdersCommand),
    /// Show and resend the webhook events that platforms receive about their orders.
    #[command(subcommand)]
    Webhooks(WebhooksCommand),
    /// Show or erase what is stored about a buyer.
    #[command(subcommand)]
    Buyers(BuyersCommand),
    /// Show who holds carts and checkouts, and free what one holds.
    #[command(subcommand)]
    Holders(HoldersCommand),
    /// Test a backend or mapping file.
    #[command(subcommand)]
    Backend(BackendCommand),
    /// Back up, verify, restore or migrate data.
    #[command(subcommand)]
    Store(StoreCommand),
    /// Check a UCP endpoint for conformance, read-only; exit code 1 on errors.
    Doctor(DoctorOptions),
    /// Run scripted test shoppers against a UCP endpoint.
    Rehearse(RehearseOptions),
    /// Sign an HTTP message in a file.
    Sign(SignOptions),
    /// Verify the signatures of an HTTP message in a file, and show any differences.
    Verify(VerifyOptions),
    /// Show the requests of a gateway as they arrive.
    Tail(TailOptions),
    /// Resend a recorded call and compare the responses; exit code 1 if they differ.
    Replay(ReplayOptions),
    /// Explain a decision or a recorded call of the gateway.
    Explain(ExplainOptions),
    /// Print shell completions.
    Completions(CompletionsOptions),
    /// Write the manual pages, one per command, to a directory.
    Man(ManOptions),
    /// Write or check the generated documents of this repository: OpenAPI, OpenRPC, JSON Schema, the example
    /// configuration and pages of the reference.
    Spec(SpecOptions),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the JSON Schema of the configuration file, for editors.
    Schema,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Generate an API key for a platform, and the configuration line that registers it.
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
