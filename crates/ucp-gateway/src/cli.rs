//! The command line. Options of `serve`, the data directory and the profile of the agent can also be set in the
//! environment.

use clap::{Parser, Subcommand};

use crate::{
    command::{
        explain::ExplainOptions, import::ImportOptions, keys::OwnKeysCommand, mcp::McpOptions, orders::OrdersCommand,
        sign::SignOptions, spec::SpecOptions, terms::TermsOptions, verify::VerifyOptions, webhooks::WebhooksCommand,
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
    /// Serve the shop (what happens without a command, too).
    Serve(ServeOptions),
    /// Load products into the shop from a file, or merchants into the directory beside it; what is there already is
    /// updated.
    Import(ImportOptions),
    /// Show on what terms the shop sells (taxes, fees, discounts, deliveries), or set them from a file.
    Terms(TermsOptions),
    /// Serve one agent over standard input and output.
    Mcp(McpOptions),
    /// Check the configuration as `serve` would read it, and show what it amounts to.
    CheckConfig(ServeOptions),
    /// Help with writing the configuration file.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Make and list keys: the gateway's own, and API keys for platforms.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Look at orders and move them along. The platform that placed an order is told of every step.
    #[command(subcommand)]
    Orders(OrdersCommand),
    /// Look at what platforms are told about their orders.
    #[command(subcommand)]
    Webhooks(WebhooksCommand),
    /// Sign an HTTP message in a file.
    Sign(SignOptions),
    /// Verify the signatures of an HTTP message in a file, and say what differs.
    Verify(VerifyOptions),
    /// Lay a decision of the gateway open.
    Explain(ExplainOptions),
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
    /// Make an API key for a platform, and the line of the configuration that registers it.
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
