//! The command line. Options of `serve`, the data directory and the profile of the agent can also be set in the
//! environment.

use clap::{Parser, Subcommand};

use crate::command::{
    data::{
        buyers::BuyersCommand, catalog::CatalogCommand, holders::HoldersCommand, import::ImportOptions,
        orders::OrdersCommand, store::StoreCommand, terms::TermsOptions, webhooks::WebhooksCommand,
    },
    examples,
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
    #[command(after_help = examples!("serve --config gateway.toml", "serve --listen 8081 --data-dir ./shop"))]
    Serve(ServeOptions),
    /// Check that a running gateway is healthy; exit code 1 if it is not.
    #[command(after_help = examples!("healthcheck --config gateway.toml"))]
    Healthcheck(ServeOptions),
    /// Import products or merchants from a file; existing ones are updated.
    #[command(after_help = examples!(
        "import products.csv --data-dir ./shop",
        "import products.csv --data-dir ./shop --replace",
        "import goods.jsonl --data-dir ./mugs --name Mugs --currency EUR",
        "import --merchants merchants.jsonl --data-dir ./shop"
    ))]
    Import(ImportOptions),
    /// Synchronize the copy of an upstream catalog, or show its state.
    #[command(subcommand)]
    Catalog(CatalogCommand),
    /// Show or set sales terms: taxes, shipping rates, discounts and fees.
    #[command(after_help = examples!(
        "terms --data-dir ./shop",
        "terms terms.json --data-dir ./shop",
        "terms --schema"
    ))]
    Terms(TermsOptions),
    /// Run as a local MCP server over stdio.
    #[command(after_help = examples!("mcp --stdio --data-dir ./shop"))]
    Mcp(McpOptions),
    /// Create a configuration file, interactively on a terminal.
    #[command(after_help = examples!(
        "init",
        "init shop.toml --yes --backend ucp --upstream-url https://shop.example.com"
    ))]
    Init(InitOptions),
    /// Check the configuration that `serve` would use, and show the resulting settings.
    #[command(after_help = examples!("check-config --config gateway.toml"))]
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
    #[command(subcommand, name = "data", alias = "store")]
    Store(StoreCommand),
    /// Check a UCP endpoint for conformance, read-only; exit code 1 on errors.
    #[command(after_help = examples!(
        "doctor https://shop.example.com",
        "doctor http://127.0.0.1:8080 --allow-writes"
    ))]
    Doctor(DoctorOptions),
    /// Run scripted test shoppers against a UCP endpoint.
    #[command(after_help = examples!("rehearse http://127.0.0.1:8080 --sessions 20 --html report.html"))]
    Rehearse(RehearseOptions),
    /// Sign an HTTP message in a file.
    #[command(after_help = examples!(
        "sign request.http --data-dir ./shop",
        "sign request.http --key key.jwk --explain"
    ))]
    Sign(SignOptions),
    /// Verify the signatures of an HTTP message in a file, and show any differences.
    #[command(after_help = examples!("verify request.http --keys profile.json"))]
    Verify(VerifyOptions),
    /// Show the requests of a gateway as they arrive.
    #[command(after_help = examples!("tail", "tail --operation create_checkout --outcome failed --last 20"))]
    Tail(TailOptions),
    /// Resend a recorded call and compare the responses; exit code 1 if they differ.
    #[command(after_help = examples!(
        "replay REQUEST_ID --save call.json",
        "replay call.json --against http://127.0.0.1:8081"
    ))]
    Replay(ReplayOptions),
    /// Explain a decision or a recorded call of the gateway.
    Explain(ExplainOptions),
    /// Print shell completions.
    #[command(after_help = examples!("completions bash"))]
    Completions(CompletionsOptions),
    /// Write the manual pages, one per command, to a directory.
    #[command(after_help = examples!("man ./man"))]
    Man(ManOptions),
    /// Write or check the generated documents of this repository: OpenAPI, OpenRPC, JSON Schema, the example
    /// configuration and pages of the reference.
    #[command(after_help = examples!("spec", "spec --write"))]
    Spec(SpecOptions),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the JSON Schema of the configuration file, for editors.
    #[command(after_help = examples!("config schema"))]
    Schema,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Generate an API key for a platform, and the configuration line that registers it.
    #[command(after_help = examples!("keys api"))]
    Api,
    #[command(flatten)]
    Own(OwnKeysCommand),
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _, Parser as _};

    use super::Cli;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Checks the examples of a command and of those below it. The gateway runs a hidden one itself.
    fn check_examples(command: &Command) {
        if command.is_hide_set() || command.get_name() == "help" {
            return;
        }
        if !command.is_subcommand_required_set() {
            let examples = command.get_after_help().unwrap_or_else(|| panic!("{command} has no example")).to_string();
            let name = command.get_bin_name().expect("a name");
            for example in examples.lines().skip(1).map(str::trim) {
                assert!(example.starts_with(name), "{example}");
                Cli::try_parse_from(example.split(' ')).unwrap_or_else(|error| panic!("{example}: {error}"));
            }
        }
        command.get_subcommands().for_each(check_examples);
    }

    #[test]
    fn every_command_has_examples_that_parse() {
        let mut command = Cli::command();
        command.build();
        command.get_subcommands().for_each(check_examples);
    }

    #[test]
    fn no_command_means_serve() {
        let cli = Cli::try_parse_from(["ucp-gateway", "--listen", "127.0.0.1:0"]).expect("parses");
        assert!(cli.command.is_none());
        assert_eq!(cli.serve.listen.map(|listen| listen.port()), Some(0));
    }
}
