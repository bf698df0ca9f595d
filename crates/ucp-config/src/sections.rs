//! The sections of the configuration file. A key is a field here; its documentation is that of the example file and of
//! the JSON Schema, for operators to read.
//!
//! The same structs hold what flags and defaults add to the file, and are what is shown of the settings. A key whose
//! default depends on others is an `Option`. A key that leads to a secret is not serialized; a [`Remark`] beside it
//! says what there is.
//!
//! | `#[schemars(..)]` | says |
//! | :-- | :-- |
//! | `example` | the value in the example file, of a key without a default |
//! | `extend("x-without")` | what holds without a value, where that is shown |
//! | `extend("x-only")` | the value of the section's first key with which alone the key means something |
//! | `extend("writeOnly")` | that the value is shown as a remark |
//! | `extend("x-process")` | that the key is the same for all shops of a process |

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use ucp_core::{
    Release,
    money::Currency,
    operation::{MERCHANT, RESTAURANT},
};

use super::{
    choice::{
        Anonymous, BackendKind, Capture, CatalogSource, CatalogView, Check, FeedFormat, HandlerKind, LogFormat,
        LogLevel, McpErrorStatus, Policy, Preset, Signed, TlsVersion, TokenKind, Transport, WebhookId, WebhookRefusal,
        WebhookTimestamp,
    },
    value::{
        DatabaseAddress, FilePath, HexColor, Limit, Listen, Megabytes, Milliseconds, Number, Rate, SampleName, WebUrl,
    },
};

/// Comment that stands for a secret, or for the content of a file.
pub(super) type Remark = Option<String>;

/// The version of the Storefront API that is asked where nothing else is said. The documents are checked against its
/// schema.
pub(super) const API_VERSION: &str = "2026-04";

/// All sections.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
#[schemars(title = "The configuration of ucp-gateway")]
pub struct Sections {
    /// Listeners, TLS and connections.
    pub server: Server,
    /// Log lines on standard error.
    #[schemars(extend("x-process" = true))]
    pub(crate) log: Log,
    /// Trace export to an OpenTelemetry collector.
    #[schemars(extend("x-process" = true))]
    pub(crate) telemetry: Telemetry,
    /// Analytics events about platforms and purchases. They contain no personal data.
    #[schemars(extend("x-process" = true))]
    pub(crate) events: Events,
    /// Data directory or database.
    pub data: Data,
    /// Upstream commerce API, instead of the embedded shop.
    #[serde(skip_serializing_if = "Upstream::is_embedded")]
    pub upstream: Upstream,
    /// Synced copy of the upstream catalog, for shops whose API cannot search or that have only a feed. Searches and
    /// lookups use the copy; product pages and carts use the upstream, if there is one.
    #[serde(skip_serializing_if = "Catalog::is_none")]
    pub catalog: Catalog,
    /// Search in the embedded shop and in a synced copy.
    pub(crate) search: Search,
    /// Access for anonymous callers, and for callers whose profile cannot be fetched.
    pub callers: Callers,
    /// Fetching and caching of platform profiles.
    pub profiles: Profiles,
    /// A registered platform. Its requests never wait for a profile fetch. Repeat the section for each.
    pub(crate) platform: Vec<Platform>,
    /// Limits per caller: a rate, or "none". Under the policy `development` the default is "none".
    pub limits: Limits,
    /// Checking and creating HTTP message signatures.
    pub signatures: Signatures,
    /// Checkout pages for buyers.
    pub pages: Pages,
    /// A payment handler. Repeat the section for each. Without one, a gateway on loopback has a sandbox, and every
    /// other gateway sends buyers to the shop's own page to pay.
    pub(crate) payment: Vec<Payment>,
    /// Directory of merchants beside the shop; `ucp-gateway import --merchants FILE` fills it.
    pub(crate) merchants: Merchants,
    /// Lookup of addresses that buyers name. Locations of the directory are found by their streets without it.
    pub(crate) geocoder: Geocoder,
    /// One of several shops, each with its own backend, keys, platforms and limits. It also has sections of its own,
    /// such as `[shop.data]` and `[[shop.platform]]`, with all keys that do not belong to the process. Omitted keys are
    /// inherited from the sections outside. Without any, there is one shop.
    #[serde(skip_serializing)]
    pub(super) shop: Vec<ShopEntry>,
}

/// Selection of a shop among several.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
#[schemars(extend("required" = ["name"]))]
pub(crate) struct ShopEntry {
    /// Name in commands, the log, metrics and stored data: 1 to 64 of a to z, 0 to 9 and `-`. The shop `default` owns
    /// the data of a gateway with a single shop.
    #[schemars(example = &"flowers")]
    pub(crate) name: Option<String>,
    /// Host names of the shop, without port.
    #[schemars(example = ["flowers.example.com"])]
    pub(crate) hosts: Vec<String>,
    /// Path prefix of the shop, on its hosts or else on those that no other shop has. Platforms find such a shop by the
    /// URL of its profile, not by the host.
    #[schemars(example = &"/shops/flowers", extend("x-without" = "none"))]
    pub(crate) path: Option<String>,
}

/// Listeners, TLS and connections.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Server {
    /// Listen address. A bare port listens on loopback only. (`--listen`, `UCP_GATEWAY_LISTEN`)
    #[schemars(extend("x-process" = true))]
    pub listen: Listen,
    /// PEM file with the TLS certificate and its chain, the leaf first. The gateway then speaks https on `listen`,
    /// HTTP/2 and HTTP/1.1. It is reloaded when it changes, like the two files that follow. Without it, the gateway
    /// speaks http, for a proxy in front of it.
    #[schemars(example = "/run/secrets/tls/tls.crt", extend("x-without" = "http"), extend("x-process" = true))]
    pub(super) tls_certificate_file: Option<FilePath>,
    /// PEM file with the private key of that certificate.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/tls/tls.key", extend("x-process" = true))]
    pub(super) tls_key_file: Option<FilePath>,
    /// PEM file with the authorities of client certificates. Client certificates are optional; a platform is recognized
    /// by its own, see `platform.certificate_sha256`.
    #[schemars(example = "/run/secrets/tls/clients.crt", extend("x-without" = "none"), extend("x-process" = true))]
    pub(super) tls_client_ca_file: Option<FilePath>,
    /// Minimum TLS version: "1.3", which UCP requires, or "1.2" for older clients.
    #[schemars(extend("x-process" = true))]
    pub(super) tls_min_version: TlsVersion,
    /// Listen address of the admin API (orders, webhooks, health) and of the operator pages. Unset: disabled. Requests
    /// require the admin token, except on loopback under the policy `development`. From other machines, put TLS in
    /// front. (`--admin-listen`, `UCP_GATEWAY_ADMIN_LISTEN`)
    #[schemars(example = "127.0.0.1:8081", extend("x-without" = "none"), extend("x-process" = true))]
    pub admin_listen: Option<Listen>,
    /// File with the admin token.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/admin-token", extend("x-process" = true))]
    pub(super) admin_token_file: Option<FilePath>,
    /// Environment variable with the admin token, instead of the file.
    #[serde(skip_serializing)]
    #[schemars(example = &"UCP_GATEWAY_ADMIN_TOKEN", extend("x-process" = true))]
    pub(super) admin_token_env: Option<String>,
    #[serde(rename = "admin token", skip_deserializing)]
    #[schemars(extend("x-process" = true))]
    pub(super) admin_token: Remark,
    /// If `true`, also serve `/livez` and `/readyz` on the public listener, without details.
    #[schemars(extend("x-process" = true))]
    pub probes: bool,
    /// Maximum requests per second that the inspector records; further ones are only counted. 0 disables the inspector.
    #[schemars(extend("x-process" = true))]
    pub inspected_per_second: Number<0, 1_000, 20>,
    /// Disk space in MB for recorded, masked requests, in the directory `inspector` of `data.dir`; the oldest are
    /// removed first. 0 keeps the last 1,000 in memory only.
    #[schemars(extend("x-process" = true))]
    pub inspected_mb: Number<0, 65_536, 32>,
    /// If `true`, the inspector also records under policies other than `development`, masked. The admin listener shows
    /// the requests.
    #[schemars(extend("x-process" = true))]
    pub inspect: bool,
    /// If `true`, the inspector also keeps unmasked requests in memory under the policy `development`, so that
    /// `ucp-gateway replay` can resend them.
    #[schemars(extend("x-process" = true, "x-former" = "record_whole"))]
    pub record_unmasked: bool,
    /// Public base URL of the gateway. Unset: the listen address. (`--public-url`, `UCP_GATEWAY_PUBLIC_URL`)
    #[schemars(example = "https://shop.example.com", extend("x-without" = "the address it listens on"))]
    pub public_url: Option<WebUrl>,
    /// Additional host names of the gateway, without port, such as names of a compose or Kubernetes service that a
    /// proxy sends as `Host`. Requests for other hosts are rejected.
    #[schemars(example = ["ucp-gateway", "ucp-gateway.shops.svc"])]
    pub hosts: Vec<String>,
    /// Origins of web pages that may call REST and MCP and read the responses (CORS), such as
    /// `https://app.example.com`. Cookies and other browser credentials are not allowed. Pages of all sites may read
    /// the profile and the API documents.
    #[schemars(example = ["https://app.example.com"])]
    pub allowed_origins: Vec<String>,
    /// URL of the shop's website, to which buyers can go when a platform cannot be served.
    #[schemars(example = "https://www.example.com/", extend("x-without" = "none"))]
    pub storefront: Option<WebUrl>,
    /// Maximum number of connections. Idle connections make room for new ones, which wait if there are none.
    /// (`--max-connections`, `UCP_GATEWAY_MAX_CONNECTIONS`)
    #[schemars(extend("x-process" = true))]
    pub max_connections: Number<1, 1_000_000, 1_024>,
    /// Keep-alive timeout in seconds. A proxy in front must use a shorter one. Idle connections make room for new ones
    /// at `max_connections`.
    #[schemars(extend("x-process" = true))]
    pub idle_timeout_s: Number<1, 86_400, 75>,
    /// Time for requests in progress after SIGTERM, in milliseconds. Unset: the longest duration of a request (10
    /// seconds to arrive, the time to fetch a profile, and the time to complete a checkout or to pay).
    #[schemars(example = 40_000, extend("x-process" = true))]
    pub(crate) drain_timeout_ms: Option<Number<0, 600_000>>,
    /// Time after SIGTERM in which requests are still accepted while `/readyz` fails, in milliseconds.
    #[schemars(extend("x-process" = true))]
    pub shutdown_delay_ms: Number<0, 600_000, 0>,
    /// Maximum number of concurrent requests; further ones get 503. With several shops, one shop may use at most half
    /// of the slots that are free. Under the policy `development` there is no limit by default.
    #[schemars(extend("x-without" = "no limit"), extend("x-process" = true))]
    pub max_in_flight: Option<Number<1, 1_000_000, 512>>,
    /// Memory for request bodies in MB. One caller may use a quarter of it, and gets 429 beyond that.
    #[schemars(extend("x-process" = true))]
    pub bodies_mb: Number<4, 65_536, 64>,
    /// Directory of files (*.toml), one shop each, with the keys of a `[[shop]]` at the root. The file name is the
    /// default name of the shop.
    #[schemars(example = "shops.d", extend("x-without" = "none"), extend("x-process" = true))]
    pub(super) shops_dir: Option<FilePath>,
    /// Maximum number of open shops, each with its index, caches and background work. The least recently used one is
    /// closed first.
    #[schemars(extend("x-process" = true))]
    pub open_shops: Number<1, 100_000, 100>,
    /// Time without requests after which one of several shops is closed, in seconds. The next request opens it again.
    #[schemars(extend("x-process" = true))]
    pub close_idle_s: Number<1, 86_400, 300>,
    /// Trusted proxies, as addresses or networks such as 10.0.0.0/8. Their X-Forwarded-For, X-Forwarded-Host and
    /// Forwarded headers are used.
    #[schemars(extend("x-process" = true))]
    pub(super) trusted_proxies: Vec<String>,
    /// HTTP status of errors over MCP: "auto" or "always". With "always", every client gets the status that matches the
    /// error. With "auto", MCP libraries get 200, with a rejected tool call as the result of the tool.
    /// (`--mcp-error-status`, `UCP_GATEWAY_MCP_ERROR_STATUS`)
    pub mcp_error_status: McpErrorStatus,
}

/// Checkout pages for buyers.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Pages {
    /// Name of the shop on its pages. Unset: the name of its market.
    #[schemars(example = &"Flowers & Co", extend("x-without" = "name of the market"))]
    pub name: Option<String>,
    /// Color of links and buttons, `#` and six hexadecimal digits. It is adjusted where the contrast would be too low.
    #[schemars(example = &"#0b57c2", extend("x-without" = "blue"))]
    pub color: Option<HexColor>,
    /// URL of a logo, 40 pixels high, instead of the name.
    #[schemars(example = "https://shop.example.com/logo.svg", extend("x-without" = "shop name shown"))]
    pub logo_url: Option<WebUrl>,
    /// One or two sentences about the shop and its products, for agents that choose between several shops. At most 400
    /// characters are used.
    #[schemars(example = &"Cut flowers and potted plants, delivered the same day.", extend("x-without" = "the categories of its products"))]
    pub description: Option<String>,
    /// Directory with translations besides English and Spanish: TOML files named after their BCP 47 tag, such as
    /// de.toml, with the differences from English or from the language that `base` names.
    #[schemars(example = "/etc/ucp-gateway/languages", extend("x-without" = "none"))]
    pub(super) texts_dir: Option<FilePath>,
}

/// Search in the embedded shop and in a synced copy.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub(crate) struct Search {
    /// Files with names that mean the same, one statement per line: `sofa, couch` or `settee => sofa`. They add to
    /// those of `ucp-gateway import --synonyms`. A reload reads them again.
    #[schemars(example = ["synonyms.txt"])]
    pub(super) synonyms: Vec<FilePath>,
    /// Directory of a model of static embeddings in the form of model2vec: `model.safetensors` and `tokenizer.json`. Searches
    /// then also find products by meaning. Each shop has the model in memory. A change takes effect at the next start.
    #[schemars(example = "/var/lib/ucp-gateway/model", extend("x-without" = "words alone"))]
    pub(super) model: Option<FilePath>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Log {
    /// Log format: "auto" (plain text on a terminal, else JSON), "json" or "pretty". (`--log-format`,
    /// `UCP_GATEWAY_LOG_FORMAT`)
    pub format: LogFormat,
    /// Minimum level: "off", "error", "warn", "info" (with one line per request), "debug" or "trace". `RUST_LOG`
    /// overrides it. (`--log-level`, `UCP_GATEWAY_LOG_LEVEL`)
    pub level: LogLevel,
    /// If `true`, the log line of a search includes its query.
    pub searches: bool,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Events {
    /// A file that events are added to, as a JSON object in each line. Off by default.
    #[schemars(example = "/var/log/ucp-gateway/events.jsonl", extend("x-without" = "none"))]
    pub file: Option<FilePath>,
    /// URL that receives events by POST as JSON Lines (`application/x-ndjson`), up to 512 per request. Events that it
    /// does not accept within about a minute are dropped and counted. Unset: disabled.
    #[schemars(example = "https://analytics.example.com/events", extend("x-without" = "none"))]
    pub(crate) url: Option<WebUrl>,
    /// File with the bearer token for that URL.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/events-token")]
    pub(super) token_file: Option<FilePath>,
    #[serde(skip_deserializing)]
    pub(super) token: Remark,
    /// If `true`, events are also sent to the collector of `telemetry`, as logs.
    pub(crate) otlp: bool,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Telemetry {
    /// OTLP/HTTP endpoint (http/protobuf): spans go to `v1/traces` below it, events to `v1/logs`. Unset:
    /// `OTEL_EXPORTER_OTLP_ENDPOINT` and the other OTLP variables of OpenTelemetry, or else disabled.
    /// (`--otlp-endpoint`, `UCP_GATEWAY_OTLP_ENDPOINT`)
    #[schemars(example = "http://collector.example.com:4318", extend("x-without" = "none"))]
    pub(super) otlp_endpoint: Option<WebUrl>,
    /// File with the bearer token for that endpoint.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/collector-token")]
    pub(super) token_file: Option<FilePath>,
    #[serde(skip_deserializing)]
    pub(super) token: Remark,
    /// Trace sampling rate in percent, for requests without a `traceparent` header.
    pub sampled_percent: Number<0, 100, 100>,
}

/// Data directory or database.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Data {
    /// Data directory. (`--data-dir`, `UCP_GATEWAY_DATA_DIR`)
    #[schemars(example = &"data", extend("default" = null))]
    pub dir: FilePath,
    /// PostgreSQL database shared by several gateways, for sales, stock and products:
    /// `postgres://user:password@host/database`. Several hosts, separated by commas, are tried in turn for a writable
    /// one. (`--database`, `UCP_GATEWAY_DATABASE`)
    #[serde(skip_serializing)]
    #[schemars(with = "Option<String>", example = "postgres://ucp:secret@db.example.com/ucp")]
    pub(super) database: Option<DatabaseAddress>,
    /// File with that URL. (`--database-file`, `UCP_GATEWAY_DATABASE_FILE`)
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/database")]
    pub(super) database_file: Option<FilePath>,
    #[serde(skip_deserializing)]
    pub(super) database_place: Remark,
    /// File with additional CA certificates (PEM) for the connection to the database. (`--database-ca-file`,
    /// `UCP_GATEWAY_DATABASE_CA_FILE`)
    #[schemars(example = "/etc/ssl/database-ca.pem")]
    pub(super) database_ca_file: Option<FilePath>,
    /// Maximum number of database connections per gateway.
    pub(super) database_connections: Number<1, 1_000, 16>,
    /// Statement timeout in milliseconds. After a timeout the gateway checks whether the write was applied.
    pub(super) database_timeout_ms: Milliseconds<10_000>,
    /// If `true`, statements are prepared on the database, which saves it work. A connection pooler must support that
    /// across transactions, as pgbouncer does from 1.21 on.
    pub(super) database_prepares: bool,
    /// Directory of the signing keys. Unset: `keys` in `dir`. Gateways with one database share it, or have copies of
    /// its files. Keys of one of several shops are in `shops/NAME` below it.
    #[schemars(example = "/etc/ucp-gateway/keys")]
    pub(crate) keys_dir: Option<FilePath>,
    /// Memory for products in MB. (`--cache-mb`, `UCP_GATEWAY_CACHE_MB`)
    pub cache_mb: Megabytes<64>,
    /// Maximum size of the database in MB. Beyond it, new carts and checkouts get 503.
    #[schemars(extend("x-without" = "no limit"), extend("x-process" = true))]
    pub max_mb: Option<Megabytes<16_384>>,
    /// Minimum free disk space in MB. Below it, new carts and checkouts get 503.
    #[schemars(extend("x-process" = true))]
    pub min_free_mb: Megabytes<256>,
    /// Retention of expired carts, and of checkouts without an order, in hours. Those that `limits.max_open_carts` counts are
    /// kept for one hour.
    pub keep_unfinished_hours: Number<1, 87_600, 720>,
    /// Retention of completed checkouts after their expiry, in hours.
    pub keep_completed_hours: Number<1, 87_600, 720>,
    /// Retention of addresses in orders, in days; longer while a refund or a webhook event is pending.
    #[schemars(extend("x-without" = "kept forever"))]
    pub keep_addresses_days: Option<Number<1, 36_500, 365>>,
    /// Sample shop for an empty data directory: "outfitters" or "flower-shop". (`--sample`, `UCP_GATEWAY_SAMPLE`)
    pub sample: SampleName,
}

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Upstream {
    /// Backend type: "embedded", "shopify", "http", "mapped" or "ucp". "shopify" is Shopify's Storefront GraphQL API,
    /// or a compatible one; "http" an adapter that implements the backend API. "mapped" is any REST or GraphQL API, by
    /// a mapping file; "ucp" a UCP shop. With "embedded", the other keys here have no effect. (`--backend`,
    /// `UCP_GATEWAY_BACKEND`)
    pub backend: BackendKind,
    /// URL of the upstream. Use http only on a trusted network. (`--upstream-url`, `UCP_GATEWAY_UPSTREAM_URL`)
    #[schemars(example = "https://shop.example.com")]
    pub(super) url: Option<WebUrl>,
    /// File with the upstream access token. With "shopify" it is reloaded when it changes. (`--upstream-token-file`,
    /// `UCP_GATEWAY_UPSTREAM_TOKEN_FILE`)
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/shop-token")]
    pub(super) token_file: Option<FilePath>,
    /// Environment variable with the upstream access token, instead of the file.
    #[serde(skip_serializing)]
    #[schemars(example = &"SHOP_TOKEN")]
    pub(super) token_env: Option<String>,
    /// PEM file with the client certificate for the upstream and its chain (mutual TLS).
    #[schemars(example = "/etc/ucp-gateway/gateway.crt")]
    pub(super) client_certificate_file: Option<FilePath>,
    /// PEM file with the private key of that certificate, unencrypted.
    #[schemars(example = "/run/secrets/gateway.key")]
    pub(super) client_key_file: Option<FilePath>,
    #[serde(skip_deserializing)]
    pub(super) token: Remark,
    /// With "shopify": kind of the token, "private" (for servers) or "public" (for browsers).
    #[schemars(extend("x-only" = "shopify"))]
    pub token_kind: TokenKind,
    /// With "shopify": API version, a year and a month. Unset: the version that the gateway was built for.
    #[schemars(example = API_VERSION, regex(pattern = r"^(unstable|\d{4}-\d{2})$"), extend("x-only" = "shopify"))]
    pub(super) api_version: Option<String>,
    /// With "shopify": file with the Web Bot Auth signature from the shop's admin (Online Store > Preferences > Crawler
    /// access): the headers Signature-Agent, Signature-Input and Signature, one per line. (`--upstream-signature-file`,
    /// `UCP_GATEWAY_UPSTREAM_SIGNATURE_FILE`)
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/shop-signature", extend("x-only" = "shopify"))]
    pub(super) signature_file: Option<FilePath>,
    #[serde(skip_deserializing)]
    pub(super) signature: Remark,
    /// With "shopify", instead of that file: if `true`, the gateway signs its requests as a bot, with its own key.
    #[schemars(extend("x-only" = "shopify"))]
    pub(crate) sign_as_bot: bool,
    /// With "shopify": file with the secret of the webhook `orders/create`, which the shop sends to `/upstream/orders`
    /// of the gateway. Without it, a checkout that the buyer pays on the shop's page is never completed.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/shop-webhooks", extend("x-only" = "shopify"))]
    pub(super) webhook_secret_file: Option<FilePath>,
    #[serde(skip_deserializing)]
    pub(super) webhook_secret: Remark,
    /// With "http", instead of the token: file with a secret that the gateway and the shop share. It signs requests,
    /// and the shop's events about orders from its own pages, which it sends to `/upstream/orders` of the gateway.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/shop-signing", extend("x-only" = "http"))]
    pub(super) signing_secret_file: Option<FilePath>,
    #[serde(skip_deserializing)]
    pub(super) signing_secret: Remark,
    /// With "mapped": mapping file. It names the URLs of the shop instead of `url`, and its secrets are environment
    /// variables.
    #[schemars(example = "shop.mapping.toml", extend("x-only" = "mapped"))]
    pub(super) mapping_file: Option<FilePath>,
    /// With "ucp": transport, "rest" or "mcp". Unset: REST where the shop's profile has both.
    #[schemars(example = Transport::Mcp, extend("x-only" = "ucp", "x-without" = "by the shop's profile"))]
    pub transport: Option<Transport>,
    /// With "ucp": UCP version of the requests. Unset: the newest common one.
    #[schemars(
        example = Release::NEWEST.date(),
        extend("x-only" = "ucp", "x-without" = "the newest common version", "enum" = Release::ALL.iter().map(|release| release.date()).collect::<Vec<_>>())
    )]
    pub(super) release: Option<String>,
    /// With "ucp": maximum number of IDs per lookup. Larger lookups are split. Unset: the usual limit of such an API.
    #[schemars(example = 10, extend("x-only" = "ucp", "x-without" = "the usual limit"))]
    pub max_lookup_ids: Option<Number<1, 250>>,
    /// With "ucp": additional origins (scheme, host and port) of the shop's site to which its responses may send
    /// buyers, besides those of its profile and its endpoint. A `continue_url` elsewhere is rejected; other links may
    /// lead anywhere.
    #[schemars(example = &["https://checkout.example.com"], extend("x-only" = "ucp"))]
    pub origins: Vec<WebUrl>,
    /// Connect timeout in milliseconds.
    pub connect_timeout_ms: Milliseconds<500>,
    /// Timeout of a catalog request with all its upstream requests, in milliseconds.
    pub read_timeout_ms: Milliseconds<3_000>,
    /// Timeout of a cart, checkout or order request with all its upstream requests, in milliseconds.
    pub write_timeout_ms: Milliseconds<10_000>,
    /// Timeout for placing an order, in milliseconds. A preceding update has its own timeout.
    pub complete_timeout_ms: Milliseconds<25_000>,
    /// With "http" and "mapped": time in seconds after which an attempt to place an order that the shop doesn't know
    /// counts as lost. Until then, the checkout stays `complete_in_progress` if a response was lost. At least
    /// `complete_timeout_ms` and 5 s.
    pub lost_attempt_s: Number<1, 3_600, 90>,
    /// Maximum number of concurrent catalog requests. Unregistered callers together use at most three quarters of them, and
    /// one of them three eighths.
    pub reads_in_flight: Number<1, 100_000, 32>,
    /// Maximum number of concurrent cart requests, and as many for payments and orders.
    pub writes_in_flight: Number<1, 100_000, 16>,
    /// Maximum number of requests per second.
    #[schemars(example = 100, extend("x-without" = "no limit"))]
    pub per_second: Option<Number<1, 1_000_000>>,
    /// Memory for upstream responses in MB.
    pub cache_mb: Megabytes<64>,
}

impl Upstream {
    /// Returns `true` if there is none.
    pub(crate) fn is_embedded(&self) -> bool {
        self.backend == BackendKind::Embedded
    }
}

/// Synced copy of the upstream catalog.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Catalog {
    /// Source of the copy: "none", "backend" or "feed". "backend" is the upstream's `/find`, page by page, with the
    /// backends "http" and "mapped". "feed" is a file or an https URL, also for the embedded shop, which then sells the
    /// feed.
    pub(crate) source: CatalogSource,
    /// With "feed": feed file.
    #[schemars(example = "products.xml", extend("x-only" = "feed"))]
    pub(super) feed_file: Option<FilePath>,
    /// With "feed", instead of the file: https URL. Redirects are not followed.
    #[schemars(example = "https://shop.example.com/products.xml", extend("x-only" = "feed"))]
    pub(super) feed_url: Option<WebUrl>,
    /// With "feed": format, "jsonl", "shopify", "google-xml" or "google-tsv". Unset: detected from the name or content.
    #[schemars(example = FeedFormat::GoogleXml, extend("x-only" = "feed", "x-without" = "detected"))]
    pub format: Option<FeedFormat>,
    /// With "feed": maximum size of the feed in MB.
    #[schemars(extend("x-only" = "feed"))]
    pub max_feed_mb: Number<1, 1_048_576, 4_096>,
    /// With "feed": timeout of the download in seconds.
    #[schemars(extend("x-only" = "feed"))]
    pub feed_timeout_s: Number<1, 86_400, 1_800>,
    /// With "feed" and the embedded shop: name of a new shop.
    #[schemars(example = &"Flowers & Co", extend("x-only" = "feed", "x-without" = "Shop"))]
    pub name: Option<String>,
    /// With "feed" and the embedded shop: currency of a new shop.
    #[schemars(example = &"EUR", extend("x-only" = "feed", "x-without" = "USD"))]
    pub currency: Option<Currency>,
    /// With "feed" and the embedded shop: language of a new shop.
    #[schemars(example = &"de", extend("x-only" = "feed", "x-without" = "en"))]
    pub language: Option<String>,
    /// Interval of incremental syncs in seconds. A feed is downloaded only if it has changed; an upstream is asked for
    /// changes if it supports that in `GET /backend`.
    pub interval_s: Number<1, 2_592_000, 900>,
    /// Interval of full syncs in hours; with a feed, whenever it has changed.
    pub full_interval_hours: Number<1, 8_760, 24>,
    /// Maximum share of products, in percent, that one sync may remove. Beyond it, none is removed until you run
    /// `ucp-gateway catalog sync --accept-loss`.
    pub max_loss_percent: Number<0, 100, 20>,
    /// Number of products per upstream request.
    pub page_size: Number<1, 500, 100>,
    /// File with the secret that signs the upstream's events about changed products, sent to `/upstream/catalog` of the
    /// gateway. Unset: the secret of `upstream.signing_secret_file`.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/shop-signing")]
    pub(super) webhook_secret_file: Option<FilePath>,
    #[serde(skip_deserializing)]
    pub(super) webhook_secret: Remark,
}

impl Catalog {
    /// Returns `true` if nothing is copied.
    pub(crate) fn is_none(&self) -> bool {
        self.source == CatalogSource::None
    }
}

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Callers {
    /// Treatment of callers whose profile cannot be fetched: "require" rejects them, "lenient" allows catalog requests,
    /// "development" allows everything, also without a profile. Unset: "development" if only this machine can reach the
    /// gateway (it listens on loopback without another public URL), else "require". (`--policy`, `UCP_GATEWAY_POLICY`)
    #[schemars(example = Policy::Require)]
    pub(super) policy: Option<Policy>,
    /// Access for anonymous callers outside of development: "browsing" (the catalog) or "everything".
    pub anonymous: Anonymous,
    /// Extent of catalog responses for callers without `?view=`: "standard", "full" (everything) or "compact" (what
    /// helps an agent to choose). With "standard", product pages have everything. Searches and lookups omit long
    /// descriptions and their other forms, further pictures and links of sellers. They also omit barcodes, IDs of
    /// option values, and options in the title of a variant.
    pub view: CatalogView,
}

/// Fetching and caching of platform profiles.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Profiles {
    /// If `true`, profiles may be on this machine, also over plain http. Unset: `true` under the policy "development"
    /// if only this machine can reach the gateway, else `false`.
    #[schemars(example = false)]
    pub(super) loopback: Option<bool>,
    /// Timeout for resolving and connecting to the host of a profile, in milliseconds.
    pub connect_timeout_ms: Milliseconds<2_000>,
    /// Timeout for fetching a profile, in milliseconds.
    pub timeout_ms: Milliseconds<5_000>,
    /// Rate of profile fetches for unknown platforms, over all callers.
    pub fetches: Rate,
    /// PEM files of additional certificate authorities.
    #[schemars(extend("x-former" = "extra_roots"))]
    pub(super) ca_files: Vec<FilePath>,
    /// Memory for profiles in MB.
    pub cache_mb: Number<1, 65_536, 64>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(extend("anyOf" = [
    { "required": ["profile"] },
    { "required": ["api_key_hash"] },
    { "required": ["api_key_file"] },
    { "required": ["api_key_env"] },
    { "required": ["certificate_sha256"] },
    { "required": ["signature_agent"] },
    { "required": ["client_id"] },
]))]
pub(crate) struct Platform {
    /// Platform whose known demands are the defaults of the keys below that begin with `webhook_`: "google".
    #[schemars(example = Preset::Google, extend("x-without" = "as the protocol says"))]
    pub(super) preset: Option<Preset>,
    /// Name for the log and the operator pages.
    #[schemars(length(min = 1, max = 100), example = "Example Agent")]
    pub(super) name: String,
    /// URL of its profile. Without it, the platform is known by its API key, client or certificate, may use all
    /// capabilities of the shop, and receives webhooks only at `webhook_url`.
    #[schemars(example = "https://agent.example.com/profile.json", extend("x-without" = "no profile"))]
    pub(super) profile: Option<String>,
    /// File with its profile. Without it, the profile is fetched at the start and refreshed.
    #[schemars(example = "example-agent.json", extend("x-without" = "the profile is fetched"))]
    pub(super) profile_file: Option<FilePath>,
    /// SHA-256 of its API key, as `ucp-gateway keys api` prints it. For other keys: printf %s "$KEY" | sha256sum
    #[serde(skip_serializing)]
    #[schemars(example = "sha256:0000000000000000000000000000000000000000000000000000000000000000")]
    pub(super) api_key_hash: Option<String>,
    /// File with its API key or hash; several during a rotation.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/example-agent")]
    pub(super) api_key_file: Option<FilePath>,
    /// Environment variable with its API key or hash, instead of the file.
    #[serde(skip_serializing)]
    #[schemars(example = &"EXAMPLE_AGENT_API_KEY")]
    pub(super) api_key_env: Option<String>,
    #[serde(rename = "API keys", skip_deserializing)]
    pub(super) api_keys: Remark,
    /// Client identifier with which it asks for access tokens at `/oauth/token` (OAuth 2.0 client credentials).
    #[schemars(length(min = 1, max = 256), example = &"example-agent", extend("x-without" = "no access tokens"))]
    pub(super) client_id: Option<String>,
    /// File with the secret of that client, of 16 to 256 characters; several during a rotation.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/example-agent-client")]
    pub(super) client_secret_file: Option<FilePath>,
    /// Environment variable with that secret, instead of the file.
    #[serde(skip_serializing)]
    #[schemars(example = &"EXAMPLE_AGENT_CLIENT_SECRET")]
    pub(super) client_secret_env: Option<String>,
    #[serde(rename = "client secrets", skip_deserializing)]
    pub(super) client_secrets: Remark,
    /// SHA-256 of its client certificate, as `openssl x509 -noout -fingerprint -sha256` prints it; two, separated by a
    /// space, during a rotation. Requires `server.tls_client_ca_file`.
    #[schemars(example = ["00"; 32].join(":"))]
    pub(super) certificate_sha256: Option<String>,
    /// Origin of its Web Bot Auth keys, as in `Signature-Agent`, or the URL of its keys if it names that (`jwks_uri`).
    /// Requests of that bot belong to this platform.
    #[schemars(example = "https://bot.example.com")]
    pub(super) signature_agent: Option<String>,
    /// Customer group, for shops with group prices. Requests that are authenticated by its signature, key or
    /// certificate pass it to the shop.
    #[schemars(length(min = 1, max = 100), example = &"trade", extend("x-without" = "no group prices"))]
    pub(super) customer_group: Option<String>,
    /// Rate limit of the platform. Unset: `limits.keyed`.
    #[schemars(example = Rate::of(500, 1_000))]
    pub(super) limit: Option<Limit>,
    /// URL that receives the events of its orders, in place of the one in its profile.
    #[schemars(
        example = "https://shoppingdataintegration.googleapis.com/v1/webhooks/partners/PARTNER_ID/events/order",
        extend("x-without" = "that of its profile")
    )]
    pub(super) webhook_url: Option<String>,
    /// File with header fields of these events, such as a key that the platform gave out: `Name: value`, one per line.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/example-agent-webhook")]
    pub(super) webhook_headers_file: Option<FilePath>,
    #[serde(rename = "webhook headers", skip_deserializing)]
    pub(super) webhook_headers: Remark,
    /// Release in which the events of a platform are written of which no profile is known.
    #[schemars(
        example = Release::V2026_04_08.date(),
        extend("x-without" = "the newest", "enum" = Release::ALL.iter().map(|release| release.date()).collect::<Vec<_>>())
    )]
    pub(super) webhook_release: Option<String>,
    /// Form of `Webhook-Timestamp`: "unix" (seconds, as UCP says) or "rfc3339". (google: "rfc3339")
    #[schemars(example = WebhookTimestamp::Unix)]
    pub(super) webhook_timestamp: Option<WebhookTimestamp>,
    /// Value of `Webhook-Id`: "event", an ID of each event, or "entry", the ID of the newest fulfillment event or adjustment
    /// of the order, and before the first of them the ID of the order. (google: "entry")
    #[schemars(example = WebhookId::Event)]
    pub(super) webhook_id: Option<WebhookId>,
    /// What an answer of 4xx means, except for 408, 425 and 429: "retry", or "park" until the operator sends the event again
    /// (`ucp-gateway webhooks resend`). (google: "park")
    #[schemars(example = WebhookRefusal::Retry)]
    pub(super) webhook_refusal: Option<WebhookRefusal>,
}

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Limits {
    /// Rate limit of anonymous requests per network address (IPv6: per /64 network). IPv4 /24 and IPv6 /56 networks have four
    /// times the limit, IPv6 /48 networks sixteen times. The same factors apply to `signed`, `unverified`,
    /// `max_open_carts` and `max_open_carts_mb`.
    pub(super) anonymous: Option<Limit<50, 100>>,
    /// Rate limit of signed requests per domain of the profile, and per network address. Unregistered platforms only.
    pub(super) signed: Option<Limit<100, 200>>,
    /// Rate limit per registered platform.
    pub(super) keyed: Option<Limit<200, 400>>,
    /// Rate limit of requests with invalid signatures per network address.
    pub(super) unverified: Option<Limit<20, 40>>,
    /// Maximum number of concurrent requests of the shop, within `server.max_in_flight` of all shops.
    #[schemars(example = 64, extend("x-without" = "no limit"))]
    pub in_flight: Option<Number<1, 1_000_000>>,
    /// Maximum number of carts and open checkouts per network address, and per domain of signed requests. Registered platforms
    /// are exempt. They are removed an hour after they expire. Under the policy `development` there is no limit by default.
    #[schemars(extend("x-without" = "no limit", "x-former" = "held"))]
    pub max_open_carts: Option<Number<1, 1_000_000, 1_000>>,
    /// Maximum size of these in MB, including stored responses of idempotency keys. Under the policy `development` there is no
    /// limit by default.
    #[schemars(extend("x-without" = "no limit", "x-former" = "held_mb"))]
    pub max_open_carts_mb: Option<Number<1, 65_536, 64>>,
    /// Maximum number of carts and open checkouts per registered platform. Under the policy `development` there is no limit by
    /// default.
    #[schemars(extend("x-without" = "no limit", "x-former" = "keyed_quota"))]
    pub max_open_carts_keyed: Option<Number<1, 100_000_000, 1_000_000>>,
    /// Maximum size of these in MB, including stored responses of idempotency keys. Under the policy `development` there is no
    /// limit by default.
    #[schemars(extend("x-without" = "no limit", "x-former" = "keyed_held_mb"))]
    pub max_open_carts_keyed_mb: Option<Number<1, 1_048_576, 16_384>>,
}

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Signatures {
    /// Signature check for catalog requests: `off`, `verify` or `enforce`.
    pub browsing: Check,
    /// Signature check for cart and checkout requests: `off`, `verify` or `enforce`.
    pub purchase: Check,
    /// Signature check for order requests: `off`, `verify` or `enforce`.
    pub order: Check,
    /// Responses that are signed: "completing" (those that place an order), "all" or "none".
    pub responses: Signed,
}

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(crate) struct Payment {
    /// Kind: "sandbox" (no money moves; each token states its result), "processor" (a payment provider), "stripe" or
    /// `google_pay` (Google Pay tokens, which another entry processes).
    #[schemars(example = HandlerKind::Processor)]
    pub(super) kind: HandlerKind,
    /// Handler ID, sent by platforms as `handler_id`.
    #[schemars(length(min = 1, max = 100), example = &"card")]
    pub(super) id: String,
    /// Reverse-domain name of the handler's specification. Required by a processor, with the three keys that follow;
    /// "stripe" requires version and schema, which come with the access to Stripe's preview.
    #[schemars(example = "com.example.card")]
    pub(super) name: Option<String>,
    /// Handler version.
    #[schemars(example = "2026-01-01")]
    pub(super) version: Option<String>,
    /// Specification URL.
    #[schemars(example = "https://example.com/card")]
    pub(super) spec: Option<String>,
    /// URL of the schema of `config`.
    #[schemars(example = "https://example.com/card.json")]
    pub(super) schema: Option<String>,
    /// Accepted instrument types.
    #[schemars(example = ["card"])]
    pub(super) instruments: Option<Vec<String>>,
    /// Public handler configuration for platforms.
    #[schemars(example = serde_json::json!({ "environment": "production" }))]
    pub(super) config: Option<Map<String, Value>>,
    /// With "processor": base URL of the provider. With "stripe": base URL instead of Stripe's own.
    #[schemars(example = "https://psp.example.com/v1", extend("x-only" = ["processor", "stripe"]))]
    pub(super) url: Option<String>,
    /// With "processor": previous base URLs, used to look up earlier payments.
    #[serde(default)]
    #[schemars(extend("x-only" = "processor", "x-former" = "formerly"))]
    pub(super) previous_urls: Vec<String>,
    /// With "processor" and "stripe": file with the API key.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/psp-api-key", extend("x-only" = ["processor", "stripe"]))]
    pub(super) api_key_file: Option<FilePath>,
    /// Environment variable with the API key, instead of the file.
    #[serde(skip_serializing)]
    #[schemars(example = &"PSP_API_KEY", extend("x-only" = ["processor", "stripe"]))]
    pub(super) api_key_env: Option<String>,
    /// With "processor": key ID of the request signatures.
    #[serde(default = "signing_key_id")]
    #[schemars(extend("x-only" = "processor"))]
    pub(super) signing_key_id: String,
    /// With "processor": file with the secret that signs requests.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/psp-signing-secret", extend("x-only" = "processor"))]
    pub(super) signing_secret_file: Option<FilePath>,
    /// With "processor": environment variable with that secret, instead of the file.
    #[serde(skip_serializing)]
    #[schemars(example = &"PSP_SIGNING_SECRET", extend("x-only" = "processor"))]
    pub(super) signing_secret_env: Option<String>,
    /// With "stripe": file with the signing secret of the webhook endpoint `/payments/ID/events`. Without it, events
    /// are rejected.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/stripe-webhook-secret", extend("x-only" = "stripe"))]
    pub(super) webhook_secret_file: Option<FilePath>,
    /// With "stripe": environment variable with that secret, instead of the file.
    #[serde(skip_serializing)]
    #[schemars(example = &"STRIPE_WEBHOOK_SECRET", extend("x-only" = "stripe"))]
    pub(super) webhook_secret_env: Option<String>,
    /// With `google_pay`: ID of an earlier entry of kind "stripe" or "processor" that processes the tokens.
    #[schemars(example = &"stripe", extend("x-only" = "google_pay", "x-former" = "through"))]
    pub(super) processed_by: Option<String>,
    /// Capture of payments: "automatic" (with the purchase) or "manual" (the purchase authorizes, and the merchant
    /// captures all or a part by `ucp-gateway orders capture`).
    #[serde(default)]
    #[schemars(extend("x-only" = ["sandbox", "processor", "stripe"]))]
    pub(super) capture: Capture,
    #[serde(rename = "API key and signing secret", skip_deserializing)]
    pub(super) secrets: Remark,
    /// With "processor" and "stripe": connect timeout in milliseconds.
    #[serde(default)]
    #[schemars(extend("x-only" = ["processor", "stripe"]))]
    pub(super) connect_timeout_ms: Milliseconds<3_000>,
    /// With "processor" and "stripe": timeout of one request in milliseconds.
    #[serde(default)]
    #[schemars(extend("x-only" = ["processor", "stripe"]))]
    pub(super) timeout_ms: Milliseconds<8_000>,
    /// With "processor" and "stripe": deadline of a payment in milliseconds.
    #[serde(default)]
    #[schemars(extend("x-only" = ["processor", "stripe"]))]
    pub(super) deadline_ms: Milliseconds<20_000>,
}

fn signing_key_id() -> String {
    "ucp-gateway".to_owned()
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub(crate) struct Merchants {
    /// If `true`, offer the draft *Merchant* capability, which is part of no UCP version. Unset: only under the policy
    /// `development`, with the invented merchants of the sample.
    #[schemars(example = true)]
    pub(super) enabled: Option<bool>,
    /// If `true`, offer Location Search and Location Lookup of UCP 2026-08-25. Unset: like `enabled`.
    #[schemars(example = true)]
    pub(super) locations: Option<bool>,
    /// Name of the draft capability. Names below `dev.ucp.` are reserved: use your own domain, and set `spec` and
    /// `schema`.
    pub(super) capability: String,
    /// Name of the draft service, with the same restriction.
    pub(super) service: String,
    /// Specification URL of your own names.
    #[schemars(example = "https://www.example.com/directory")]
    pub(super) spec: Option<WebUrl>,
    /// Schema URL of your own names.
    #[schemars(example = "https://www.example.com/directory.json")]
    pub(super) schema: Option<WebUrl>,
    /// Maximum search radius in kilometers; larger ones are rejected.
    #[schemars(example = 100, extend("x-without" = "no limit"))]
    pub(super) max_radius_km: Option<Number<1, 25_000>>,
    /// Countries (US) and regions (US-CA) whose buyers are shown no merchants.
    pub(super) restricted_regions: Vec<String>,
    /// Memory for merchants in MB, besides their index.
    pub(super) cache_mb: Megabytes<16>,
}

impl Default for Merchants {
    fn default() -> Self {
        Self {
            enabled: None,
            locations: None,
            capability: MERCHANT.to_owned(),
            service: RESTAURANT.to_owned(),
            spec: None,
            schema: None,
            max_radius_km: None,
            restricted_regions: Vec::new(),
            cache_mb: Number::default(),
        }
    }
}

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub(crate) struct Geocoder {
    /// File of postal codes and towns in the tab-separated format of geonames.org. Unset: the places of the sample.
    #[schemars(example = "/usr/share/places/allCountries.txt", extend("x-without" = "the places of the sample"))]
    pub(super) places: Option<FilePath>,
    #[serde(rename = "names of places", skip_deserializing)]
    pub(super) names: Remark,
    /// Search endpoint of a Nominatim service. It receives streets, towns and postal codes of buyers over TLS. Unset:
    /// no geocoder.
    #[serde(serialize_with = "host")]
    #[schemars(
        example = "https://geocoder.example.com/search",
        extend("x-without" = "no geocoder", "writeOnly" = true)
    )]
    pub(super) url: Option<WebUrl>,
    /// Timeout of a geocoder request in milliseconds. Afterwards the address is looked up in the file.
    pub(super) timeout_ms: Option<Milliseconds<2_000>>,
}

/// Only the host: the address may hold a key.
#[expect(clippy::ref_option, reason = "this is how serde calls it")]
fn host<S: Serializer>(url: &Option<WebUrl>, serializer: S) -> Result<S::Ok, S::Error> {
    url.as_ref().and_then(|url| url.0.host_str()).map(|host| format!("at {host:?}")).serialize(serializer)
}
