//! The command line. Every option can come from the environment too.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use serde::Deserialize;
use ucp_core::money::Currency;
use ucp_store::sample::{self, SAMPLES, Sample};
use url::Url;

use crate::{
    command::{
        explain::ExplainOptions, keys::OwnKeysCommand, orders::OrdersCommand, sign::SignOptions, verify::VerifyOptions,
        webhooks::WebhooksCommand,
    },
    compat::{Compat, SimulationSecret},
    config::{Policy, upstream::BackendKind},
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
    /// Load products into the shop from a file, or merchants into the directory beside it; what is there already is updated.
    Import(ImportOptions),
    /// Show on what terms the shop sells (taxes, fees, discounts, deliveries), or set them from a file.
    Terms(TermsOptions),
    /// Serve one agent over standard input and output.
    Mcp(McpOptions),
    /// Check the configuration as `serve` would read it, and show what it amounts to.
    CheckConfig(ServeOptions),
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
    /// Write or check the OpenAPI, OpenRPC and JSON Schema documents of this repository.
    Spec(SpecOptions),
}

#[derive(Debug, Args)]
pub(crate) struct ServeOptions {
    /// The configuration file (TOML). Flags and the environment go before what it says.
    #[arg(long, env = "UCP_GATEWAY_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The address to listen on [default: 127.0.0.1:8080].
    #[arg(long, env = "UCP_GATEWAY_LISTEN", value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) data: DataOptions,
    #[command(flatten)]
    pub(crate) upstream: UpstreamOptions,
    /// The address under which clients reach the gateway, where that is not the one it listens on.
    #[arg(long, env = "UCP_GATEWAY_PUBLIC_URL", value_name = "URL", value_parser = public_url)]
    pub(crate) public_url: Option<Url>,
    /// The HTTP status of JSON-RPC errors [default: fitting].
    #[arg(long, env = "UCP_GATEWAY_MCP_ERROR_STATUS", value_name = "WHICH")]
    pub(crate) mcp_error_status: Option<McpErrorStatus>,
    /// How many connections are served at once [default: 1024].
    #[arg(
        long,
        env = "UCP_GATEWAY_MAX_CONNECTIONS",
        value_name = "NUMBER",
        value_parser = value_parser!(u32).range(1..=1_000_000)
    )]
    pub(crate) max_connections: Option<u32>,
    /// What a caller's profile has to be good for [default: development when only this machine can reach the
    /// gateway, else require].
    #[arg(long, env = "UCP_GATEWAY_POLICY", value_name = "WHICH")]
    pub(crate) policy: Option<Policy>,
    /// Whose expectations to meet beyond UCP, for testing on this machine [default: none].
    #[arg(long, env = "UCP_GATEWAY_COMPAT", value_name = "WHICH")]
    pub(crate) compat: Option<Compat>,
    /// With `--compat conformance`: what whoever simulates the course of an order has to show.
    #[arg(long, env = "UCP_GATEWAY_SIMULATION_SECRET", value_name = "SECRET", hide_env_values = true)]
    pub(crate) simulation_secret: Option<SimulationSecret>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum McpErrorStatus {
    /// The status that says the same as the error, except towards clients that name a version of MCP, which get 200.
    Fitting,
    /// The status that says the same as the error, whoever calls.
    Matching,
}

#[derive(Debug, Args)]
pub(crate) struct DataOptions {
    /// The directory that holds the shop; created and filled with a sample shop when it is not there
    /// [default: ./data].
    #[arg(long, env = "UCP_GATEWAY_DATA_DIR", value_name = "DIRECTORY")]
    pub(crate) data_dir: Option<PathBuf>,
    /// How many megabytes of products to keep in memory [default: 64].
    #[arg(long, env = "UCP_GATEWAY_CACHE_MB", value_name = "MEGABYTES")]
    pub(crate) cache_mb: Option<u32>,
    /// The sample that fills the directory when there is no shop in it: `outfitters` or `flower-shop`
    /// [default: outfitters].
    #[arg(long, env = "UCP_GATEWAY_SAMPLE", value_name = "NAME", value_parser = sample)]
    pub(crate) sample: Option<&'static Sample>,
}

#[derive(Debug, Default, Args)]
pub(crate) struct UpstreamOptions {
    /// What the gateway stands in front of [default: embedded].
    #[arg(long, env = "UCP_GATEWAY_BACKEND", value_name = "WHICH")]
    pub(crate) backend: Option<BackendKind>,
    /// Where the shop is that the gateway stands in front of: https, or http on this machine.
    #[arg(long, env = "UCP_GATEWAY_UPSTREAM_URL", value_name = "URL")]
    pub(crate) upstream_url: Option<Url>,
    /// The file with the token that the gateway has to show there.
    #[arg(long, env = "UCP_GATEWAY_UPSTREAM_TOKEN_FILE", value_name = "FILE")]
    pub(crate) upstream_token_file: Option<PathBuf>,
    /// The file with the signature that lets the gateway ask a Shopify shop as a bot: the header fields `Signature-Agent`,
    /// `Signature-Input` and `Signature`, a line each.
    #[arg(long, env = "UCP_GATEWAY_UPSTREAM_SIGNATURE_FILE", value_name = "FILE")]
    pub(crate) upstream_signature_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make an API key for a platform, and the line of the configuration that registers it.
    Api,
    #[command(flatten)]
    Own(OwnKeysCommand),
}

#[derive(Debug, Args)]
pub(crate) struct ImportOptions {
    /// The file: JSON Lines of UCP products, or Shopify's product CSV export.
    #[arg(required_unless_present = "merchants", conflicts_with = "merchants")]
    pub(crate) file: Option<PathBuf>,
    /// Load merchants into the directory beside the shop instead, from a file with a merchant a line (JSON Lines).
    #[arg(long, value_name = "FILE", conflicts_with = "format")]
    pub(crate) merchants: Option<PathBuf>,
    /// Load merchants whose hours or coordinates mean nothing without them, instead of leaving the merchant out.
    #[arg(long, conflicts_with = "file")]
    pub(crate) lenient: bool,
    /// The directory that holds the shop; created as an empty shop when it is not there.
    #[arg(long, env = "UCP_GATEWAY_DATA_DIR", default_value = "./data", value_name = "DIRECTORY")]
    pub(crate) data_dir: PathBuf,
    /// The format, where neither the name nor the beginning of the file tells.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<ImportFormat>,
    /// The name of a new shop [default: Shop].
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The currency of a new shop [default: USD].
    #[arg(long)]
    pub(crate) currency: Option<Currency>,
    /// Other currencies that products of a new shop are priced in.
    #[arg(long, value_delimiter = ',', value_name = "CURRENCIES")]
    pub(crate) currencies: Vec<Currency>,
    /// The language of a new shop [default: en].
    #[arg(long, value_name = "TAG")]
    pub(crate) language: Option<String>,
    /// Other languages that texts of a new shop are in.
    #[arg(long, value_delimiter = ',', value_name = "TAGS")]
    pub(crate) languages: Vec<String>,
    /// What a new shop speaks and trades in, as JSON file: `name`, `currency`, `currencies`, `language`, `languages`,
    /// `countries` (currency by country), `rates` (by currency) and `links`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "currency", "currencies", "language", "languages"])]
    pub(crate) market: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct TermsOptions {
    /// The file with the terms to set, JSON as this command shows it; without it, the present terms are shown.
    pub(crate) file: Option<PathBuf>,
    /// The directory that holds the shop.
    #[arg(long, env = "UCP_GATEWAY_DATA_DIR", default_value = "./data", value_name = "DIRECTORY")]
    pub(crate) data_dir: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// JSON Lines of UCP products.
    Jsonl,
    /// Shopify's product CSV export.
    Shopify,
}

#[derive(Debug, Args)]
pub(crate) struct McpOptions {
    /// Speak over standard input and output.
    #[arg(long, required = true)]
    pub(crate) stdio: bool,
    #[command(flatten)]
    pub(crate) data: DataOptions,
    /// The UCP profile of the agent that starts this process, for calls that do not name one.
    #[arg(
        long,
        env = "UCP_GATEWAY_AGENT_PROFILE",
        default_value = "https://desktop-agent.invalid/profile.json",
        value_name = "URL"
    )]
    pub(crate) profile: String,
}

#[derive(Debug, Args)]
pub(crate) struct SpecOptions {
    /// Write the documents; without it they are only compared with what is there.
    #[arg(long)]
    pub(crate) write: bool,
    /// The root of the repository.
    #[arg(long, default_value = ".", value_name = "DIRECTORY")]
    pub(crate) root: PathBuf,
}

/// A sample, by its name.
pub(crate) fn sample(name: &str) -> Result<&'static Sample, String> {
    sample::named(name).ok_or_else(|| {
        let known: Vec<_> = SAMPLES.iter().map(|sample| format!("{} ({})", sample.name, sample.summary)).collect();
        format!("there are {}", known.join(" and "))
    })
}

/// A public address: http or https, and nothing behind the path, so that paths can be appended to it.
pub(crate) fn public_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("{error}; expected something like https://shop.example.com"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err("expected an https address (or http, for trying it out)".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() || url.password().is_some() {
        return Err("expected an address without user, query and fragment".to_owned());
    }
    if url.path() != "/" {
        return Err("expected an address without a path: the profile has to be at the root of the site".to_owned());
    }
    Ok(url)
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

    #[test]
    fn public_addresses_are_roots() {
        assert!(public_url("https://shop.example.com").is_ok());
        for wrong in
            ["shop.example.com", "ftp://shop.example.com", "https://shop.example.com/x", "https://u@shop.example.com"]
        {
            assert!(public_url(wrong).is_err(), "{wrong}");
        }
    }
}
