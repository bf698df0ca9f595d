//! Flags of the configuration, each of which can be set in the environment too.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, value_parser};
use url::Url;

use super::{
    BackendKind, LogFormat, LogLevel, McpErrorStatus, Policy,
    sections::{Data, Sections, Upstream},
    value::{DatabaseAddress, FilePath, Listen, Number, SampleName, WebUrl, listen, public_url, sample},
};

/// The flags of `serve`.
#[derive(Clone, Debug, Default, Args)]
pub struct ServeOptions {
    /// Configuration file (TOML). Flags and environment variables override it.
    #[arg(long, env = "UCP_GATEWAY_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Listen address. A bare port listens on loopback only [default: 127.0.0.1:8080].
    #[arg(long, env = "UCP_GATEWAY_LISTEN", value_name = "ADDRESS", value_parser = listen)]
    pub listen: Option<SocketAddr>,
    /// Listen address of the admin API and operator pages [default: disabled].
    #[arg(long, env = "UCP_GATEWAY_ADMIN_LISTEN", value_name = "ADDRESS", value_parser = listen)]
    pub admin_listen: Option<SocketAddr>,
    /// Data directory and database.
    #[command(flatten)]
    pub data: DataOptions,
    /// Shop behind the gateway.
    #[command(flatten)]
    pub upstream: UpstreamOptions,
    /// Public base URL of the gateway, where it differs from the listen address.
    #[arg(long, env = "UCP_GATEWAY_PUBLIC_URL", value_name = "URL", value_parser = public_url)]
    pub public_url: Option<Url>,
    /// HTTP status of JSON-RPC errors [default: auto].
    #[arg(long, env = "UCP_GATEWAY_MCP_ERROR_STATUS", value_name = "STATUS")]
    pub mcp_error_status: Option<McpErrorStatus>,
    /// Maximum number of connections [default: 1024].
    #[arg(
        long,
        env = "UCP_GATEWAY_MAX_CONNECTIONS",
        value_name = "NUMBER",
        value_parser = value_parser!(u32).range(1..=1_000_000)
    )]
    pub max_connections: Option<u32>,
    /// Treatment of callers whose UCP profile cannot be fetched [default: development on loopback, else require].
    #[arg(long, env = "UCP_GATEWAY_POLICY", value_name = "POLICY")]
    pub policy: Option<Policy>,
    /// Format of the log [default: auto].
    #[arg(long, env = "UCP_GATEWAY_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// Minimum level of log lines [default: info].
    #[arg(long, env = "UCP_GATEWAY_LOG_LEVEL", value_name = "LEVEL")]
    pub log_level: Option<LogLevel>,
    /// OTLP/HTTP endpoint for trace spans [default: disabled].
    #[arg(long, env = "UCP_GATEWAY_OTLP_ENDPOINT", value_name = "URL")]
    pub otlp_endpoint: Option<Url>,
}

/// The data of a gateway.
#[derive(Clone, Debug, Default, Args)]
pub struct DataOptions {
    /// Data directory. Created with a sample shop if it does not exist [default: ./data].
    #[arg(long, env = "UCP_GATEWAY_DATA_DIR", value_name = "DIRECTORY")]
    pub data_dir: Option<PathBuf>,
    /// The database, if there is one.
    #[command(flatten)]
    pub database: DatabaseOptions,
    /// Size of the product cache in MB [default: 64].
    #[arg(long, env = "UCP_GATEWAY_CACHE_MB", value_name = "MEGABYTES")]
    pub(crate) cache_mb: Option<u32>,
    /// Sample shop for an empty data directory: `outfitters` or `flower-shop` [default: outfitters].
    #[arg(long, env = "UCP_GATEWAY_SAMPLE", value_name = "NAME", value_parser = sample)]
    pub(crate) sample: Option<SampleName>,
}

/// The database of a gateway, or of a command on what it stores.
#[derive(Clone, Debug, Default, Args)]
pub struct DatabaseOptions {
    /// PostgreSQL database shared by several gateways: `postgres://user:password@host/database`. Other users of this
    /// machine can read flags: keep passwords in a file or in the environment.
    #[arg(
        long,
        env = "UCP_GATEWAY_DATABASE",
        hide_env_values = true,
        value_name = "URL",
        conflicts_with = "database_file"
    )]
    pub(crate) database: Option<DatabaseAddress>,
    /// File with the URL of that database.
    #[arg(long, env = "UCP_GATEWAY_DATABASE_FILE", value_name = "FILE")]
    pub(crate) database_file: Option<PathBuf>,
    /// File with additional CA certificates (PEM) for the connection to the database.
    #[arg(long, env = "UCP_GATEWAY_DATABASE_CA_FILE", value_name = "FILE")]
    pub(crate) database_ca_file: Option<PathBuf>,
}

/// The shop behind a gateway.
#[derive(Clone, Debug, Default, Args)]
pub struct UpstreamOptions {
    /// Backend type [default: embedded].
    #[arg(long, env = "UCP_GATEWAY_BACKEND", value_name = "BACKEND")]
    pub backend: Option<BackendKind>,
    /// URL of the upstream shop. Use http only on a trusted network.
    #[arg(long, env = "UCP_GATEWAY_UPSTREAM_URL", value_name = "URL")]
    pub upstream_url: Option<Url>,
    /// File with the upstream access token.
    #[arg(long, env = "UCP_GATEWAY_UPSTREAM_TOKEN_FILE", value_name = "FILE")]
    pub upstream_token_file: Option<PathBuf>,
    /// File with the Web Bot Auth signature for a Shopify upstream: the headers `Signature-Agent`, `Signature-Input`
    /// and `Signature`, one per line.
    #[arg(long, env = "UCP_GATEWAY_UPSTREAM_SIGNATURE_FILE", value_name = "FILE")]
    pub(crate) upstream_signature_file: Option<PathBuf>,
}

impl ServeOptions {
    /// Puts what the flags say over what the file says, but for the keys that one of several shops `states` itself.
    pub(super) fn put_over(&self, sections: &mut Sections, states: &dyn Fn(&str) -> bool) {
        let Sections { server, log, telemetry, data, upstream, callers, .. } = sections;
        put(self.listen.map(Listen), &mut server.listen);
        put(self.admin_listen.map(|address| Some(Listen(address))), &mut server.admin_listen);
        put(self.max_connections.map(Number), &mut server.max_connections);
        put(self.log_format, &mut log.format);
        put(self.log_level, &mut log.level);
        put(self.otlp_endpoint.clone().map(|url| Some(WebUrl(url))), &mut telemetry.otlp_endpoint);
        if !states("server.public_url") {
            put(self.public_url.clone().map(|url| Some(WebUrl(url))), &mut server.public_url);
        }
        if !states("server.mcp_error_status") {
            put(self.mcp_error_status, &mut server.mcp_error_status);
        }
        if !states("callers.policy") {
            put(self.policy.map(Some), &mut callers.policy);
        }
        self.data.put_over(data, states);
        self.upstream.put_over(upstream, states);
    }
}

impl DataOptions {
    fn put_over(&self, data: &mut Data, states: &dyn Fn(&str) -> bool) {
        if !states("data.dir") {
            put(self.data_dir.clone().map(FilePath), &mut data.dir);
        }
        let DatabaseOptions { database, database_file, database_ca_file } = self.database.clone();
        if (database.is_some() || database_file.is_some()) && !states("data.database") && !states("data.database_file")
        {
            (data.database, data.database_file) = (database, database_file.map(FilePath));
        }
        if !states("data.database_ca_file") {
            put(database_ca_file.map(|path| Some(FilePath(path))), &mut data.database_ca_file);
        }
        if !states("data.cache_mb") {
            put(self.cache_mb.map(Number), &mut data.cache_mb);
        }
        if !states("data.sample") {
            put(self.sample, &mut data.sample);
        }
    }
}

impl UpstreamOptions {
    fn put_over(&self, upstream: &mut Upstream, states: &dyn Fn(&str) -> bool) {
        // A shop with a backend of its own has nothing in common with the one that the flags are about.
        if states("upstream.backend") {
            return;
        }
        put(self.backend, &mut upstream.backend);
        if !states("upstream.url") {
            put(self.upstream_url.clone().map(|url| Some(WebUrl(url))), &mut upstream.url);
        }
        if !states("upstream.signature_file") {
            put(self.upstream_signature_file.clone().map(|path| Some(FilePath(path))), &mut upstream.signature_file);
        }
        if !states("upstream.token_file")
            && !states("upstream.token_env")
            && let Some(path) = &self.upstream_token_file
        {
            (upstream.token_file, upstream.token_env) = (Some(FilePath(path.clone())), None);
        }
    }
}

fn put<T>(flag: Option<T>, key: &mut T) {
    if let Some(flag) = flag {
        *key = flag;
    }
}
