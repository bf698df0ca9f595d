//! The sections of the configuration file. A key is a field here; its documentation is that of the example file and of
//! the JSON Schema, for operators to read.
//!
//! The same structs hold what flags and defaults add to the file, and are what is shown of the settings. A key whose
//! default depends on others is an `Option`. A key that leads to a secret is not serialised; a [`Remark`] beside it
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
        LogLevel, McpErrorStatus, Policy, Signed, TlsVersion, TokenKind, Transport,
    },
    value::{
        DatabaseAddress, FilePath, HexColor, Limit, Listen, Megabytes, Milliseconds, Number, Rate, SampleName, WebUrl,
    },
};

/// What is said about a secret, or about what a file holds, in its place.
pub(super) type Remark = Option<String>;

/// The version of the Storefront API that is asked where nothing else is said. The documents are checked against its
/// schema.
pub(super) const API_VERSION: &str = "2026-04";

/// All sections.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
#[schemars(title = "The configuration of ucp-gateway")]
pub(crate) struct Sections {
    /// How the gateway is reached.
    pub(crate) server: Server,
    /// What is logged, to standard error.
    #[schemars(extend("x-process" = true))]
    pub(crate) log: Log,
    /// Traces of calls, for a collector of OpenTelemetry.
    #[schemars(extend("x-process" = true))]
    pub(crate) telemetry: Telemetry,
    /// What platforms and their buyers do in the shop, for those who analyse it. No buyer is named.
    #[schemars(extend("x-process" = true))]
    pub(crate) events: Events,
    /// The shop, or what is kept beside the upstream.
    pub(crate) data: Data,
    /// A commerce API that the gateway stands in front of, instead of the embedded shop.
    #[serde(skip_serializing_if = "Upstream::is_embedded")]
    pub(crate) upstream: Upstream,
    /// A copy of the shop's catalog, for shops whose API cannot search or that have only a feed. Searches and lookups are
    /// answered from the copy; a product that is opened, and carts, are asked for at the shop, if there is one.
    #[serde(skip_serializing_if = "Catalog::is_none")]
    pub(crate) catalog: Catalog,
    /// What callers may do that are nobody in particular, and whose profiles are out of reach.
    pub(crate) callers: Callers,
    /// How the profiles of platforms are fetched and kept.
    pub(crate) profiles: Profiles,
    /// A platform that you know. Its calls never wait for a fetch. Repeat the section for each.
    pub(crate) platform: Vec<Platform>,
    /// How much one caller may send: a rate, or "none". These are the defaults; under the policy `development` it is
    /// "none".
    pub(crate) limits: Limits,
    /// What becomes of signatures.
    pub(crate) signatures: Signatures,
    /// The pages on which buyers go on in person.
    pub(crate) pages: Pages,
    /// How buyers can pay. Repeat the section for each way. Where there is none, a gateway that only this machine can
    /// reach has a sandbox, and every other one sends buyers to the shop's own page to pay.
    pub(crate) payment: Vec<Payment>,
    /// A directory of merchants, beside the shop: `ucp-gateway import --merchants FILE` fills it.
    pub(crate) merchants: Merchants,
    /// Where the addresses are that buyers name. Locations of the directory are known by their streets without any of
    /// this.
    pub(crate) geocoder: Geocoder,
    /// A shop of several that the gateway serves, each with a backend, keys, platforms and limits of its own. Besides the
    /// keys here, it has sections of its own, such as `[shop.data]` and `[[shop.platform]]`, with all keys that do not
    /// belong to the process; what it does not state is inherited from the sections outside. Without any, there is one
    /// shop.
    #[serde(skip_serializing)]
    pub(super) shop: Vec<ShopEntry>,
}

/// What selects a shop among several.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
#[schemars(extend("required" = ["name"]))]
pub(crate) struct ShopEntry {
    /// What it is called in commands, the log and metrics, and what it stores belongs to: 1 to 64 of a to z, 0 to 9 and
    /// `-`. The shop `default` has what a gateway with a single shop has stored.
    #[schemars(example = &"flowers")]
    pub(crate) name: Option<String>,
    /// The host names under which clients reach it, without port.
    #[schemars(example = ["flowers.example.com"])]
    pub(crate) hosts: Vec<String>,
    /// The path below which it is reached, on its hosts or else on those that no other shop has. Platforms find such a
    /// shop by the address of its profile, not by the host.
    #[schemars(example = &"/shops/flowers", extend("x-without" = "none"))]
    pub(crate) path: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub(crate) struct Server {
    /// The address to listen on; a port alone is one of this machine. (`--listen`, `UCP_GATEWAY_LISTEN`)
    #[schemars(extend("x-process" = true))]
    pub(crate) listen: Listen,
    /// A PEM file with the certificate for TLS and those of its issuers, its own first: the gateway then speaks https on
    /// `listen`, HTTP/2 and HTTP/1.1. It is read again when it changes, and so are the two files that follow. By default
    /// the gateway speaks http, for a proxy in front of it.
    #[schemars(example = "/run/secrets/tls/tls.crt", extend("x-without" = "http"), extend("x-process" = true))]
    pub(super) tls_certificate_file: Option<FilePath>,
    /// A PEM file with the private key of that certificate.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/tls/tls.key", extend("x-process" = true))]
    pub(super) tls_key_file: Option<FilePath>,
    /// A PEM file with the authorities whose client certificates are taken. Nobody has to show one; a platform is
    /// recognised by its own, see `platform.certificate_sha256`.
    #[schemars(example = "/run/secrets/tls/clients.crt", extend("x-without" = "none is asked for"), extend("x-process" = true))]
    pub(super) tls_client_ca_file: Option<FilePath>,
    /// The oldest version of TLS that is spoken: "1.3", which UCP demands, or "1.2" for clients that have nothing newer.
    #[schemars(extend("x-process" = true))]
    pub(super) tls_min_version: TlsVersion,
    /// Where the operator's own calls are taken: orders that move, webhooks, and whether the gateway is ready. Off by
    /// default. Every call shows a token; from other machines, put TLS in front. Under the policy `development`, none is
    /// needed on a loopback address. (`--admin-listen`, `UCP_GATEWAY_ADMIN_LISTEN`)
    #[schemars(example = "127.0.0.1:8081", extend("x-without" = "none"), extend("x-process" = true))]
    pub(crate) admin_listen: Option<Listen>,
    /// A file with the token that the operator's calls show.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/admin-token", extend("x-process" = true))]
    pub(super) admin_token_file: Option<FilePath>,
    /// An environment variable with the same, instead of the file.
    #[serde(skip_serializing)]
    #[schemars(example = &"UCP_GATEWAY_ADMIN_TOKEN", extend("x-process" = true))]
    pub(super) admin_token_env: Option<String>,
    #[serde(rename = "admin token", skip_deserializing)]
    #[schemars(extend("x-process" = true))]
    pub(super) admin_token: Remark,
    /// Whether /livez and /readyz are answered where clients call, too: yes or no, without reasons.
    #[schemars(extend("x-process" = true))]
    pub(crate) probes: bool,
    /// How many calls the inspector keeps each second, whole; of further ones it tells the number. 0 for none.
    #[schemars(extend("x-process" = true))]
    pub(crate) inspected_per_second: Number<0, 1_000, 20>,
    /// How many megabytes of calls the inspector keeps on disk, masked, in the folder `inspector` of `data.dir`, so that they
    /// are there after a restart; the oldest make room for new ones. 0 keeps the last 1,000 in memory alone.
    #[schemars(extend("x-process" = true))]
    pub(crate) inspected_mb: Number<0, 65_536, 32>,
    /// Whether the inspector keeps calls under other policies than `development`, too, masked. They are shown on the admin
    /// listener.
    #[schemars(extend("x-process" = true))]
    pub(crate) inspect: bool,
    /// Whether the inspector also keeps, under the policy `development` and in memory, calls as they came, without masking, so
    /// that `ucp-gateway replay` can send them again.
    #[schemars(extend("x-process" = true))]
    pub(crate) record_whole: bool,
    /// The address under which clients reach the gateway; by default the one it listens on. (`--public-url`,
    /// `UCP_GATEWAY_PUBLIC_URL`)
    #[schemars(example = "https://shop.example.com", extend("x-without" = "the address it listens on"))]
    pub(crate) public_url: Option<WebUrl>,
    /// Further host names under which clients or proxies reach the gateway, without port: names that a proxy sends as `Host`,
    /// of a compose service or of a Kubernetes service. A request that names another host is refused.
    #[schemars(example = ["ucp-gateway", "ucp-gateway.shops.svc"])]
    pub(crate) hosts: Vec<String>,
    /// Origins of web pages of other sites that may call REST and MCP and read the answers (CORS), such as
    /// `https://app.example.com`. Cookies and other credentials of a browser are not allowed. Pages of all sites may read the
    /// profile and the API documents.
    #[schemars(example = ["https://app.example.com"])]
    pub(crate) allowed_origins: Vec<String>,
    /// The pages of the shop, where a buyer can go on when a platform cannot be served.
    #[schemars(example = "https://www.example.com/", extend("x-without" = "none"))]
    pub(crate) storefront: Option<WebUrl>,
    /// How many connections are served at once. Idle ones make room for new ones, which wait if there are none.
    /// (`--max-connections`, `UCP_GATEWAY_MAX_CONNECTIONS`)
    #[schemars(extend("x-process" = true))]
    pub(crate) max_connections: Number<1, 1_000_000, 1_024>,
    /// How many seconds a connection stays open after its last answer. A proxy in front has to keep its connections for a
    /// shorter time. Idle connections make room for new ones where `max_connections` is reached.
    #[schemars(extend("x-process" = true))]
    pub(crate) idle_timeout_s: Number<1, 86_400, 75>,
    /// How long requests that are under way may go on after SIGTERM, in milliseconds; by default as long as one may take:
    /// 10 seconds to arrive, the time to fetch a profile, and the time to complete a purchase or to pay.
    #[schemars(example = 40_000, extend("x-process" = true))]
    pub(crate) drain_timeout_ms: Option<Number<0, 600_000>>,
    /// How long requests are still accepted after SIGTERM, while /readyz says that no more should be sent, in milliseconds.
    #[schemars(extend("x-process" = true))]
    pub(crate) shutdown_delay_ms: Number<0, 600_000, 0>,
    /// How many requests run at once; others are turned away with 503. Under the policy `development` there is no limit
    /// by default. Of several shops, each may have as many as are still free, so that room is left for the others.
    #[schemars(extend("x-without" = "no limit"), extend("x-process" = true))]
    pub(crate) max_in_flight: Option<Number<1, 1_000_000, 512>>,
    /// How many megabytes of request bodies are held at once; one caller may take a quarter of them, and is answered 429
    /// beyond that.
    #[schemars(extend("x-process" = true))]
    pub(crate) bodies_mb: Number<4, 65_536, 64>,
    /// A folder of files (*.toml), each of which is a shop of several: what a `[[shop]]` holds, at the root of the file. Its
    /// name is by default that of the file.
    #[schemars(example = "shops.d", extend("x-without" = "none"), extend("x-process" = true))]
    pub(super) shops_dir: Option<FilePath>,
    /// How many of several shops are open at once: with their index, caches and background work. The one that was called
    /// least lately makes room.
    #[schemars(extend("x-process" = true))]
    pub(crate) open_shops: Number<1, 100_000, 100>,
    /// After how many seconds without calls one of several shops is closed. The next call opens it again.
    #[schemars(extend("x-process" = true))]
    pub(crate) close_idle_s: Number<1, 86_400, 300>,
    /// The proxies whose X-Forwarded-For, X-Forwarded-Host and Forwarded are believed: networks such as 10.0.0.0/8, or
    /// addresses.
    #[schemars(extend("x-process" = true))]
    pub(super) trusted_proxies: Vec<String>,
    /// HTTP status of errors over MCP: "auto" (for MCP libraries 200, with a rejected tool call as the result of the tool;
    /// for other clients the status that matches the error) or "always" (the matching status for all clients).
    /// (`--mcp-error-status`, `UCP_GATEWAY_MCP_ERROR_STATUS`)
    pub(crate) mcp_error_status: McpErrorStatus,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub(crate) struct Pages {
    /// The name of the shop on its pages; by default that of its market.
    #[schemars(example = &"Flowers & Co", extend("x-without" = "that of the market"))]
    pub(crate) name: Option<String>,
    /// The color of links and buttons, `#` and six hexadecimal digits. It is made lighter or darker where it could not be
    /// read.
    #[schemars(example = &"#0b57c2", extend("x-without" = "blue"))]
    pub(crate) color: Option<HexColor>,
    /// The address of a picture that stands for the name of the shop, 40 pixels high.
    #[schemars(example = "https://shop.example.com/logo.svg", extend("x-without" = "the name"))]
    pub(crate) logo_url: Option<WebUrl>,
    /// A sentence or two about the shop and what it sells, for agents that choose between several shops. The first 400
    /// characters count.
    #[schemars(example = &"Cut flowers and potted plants, delivered the same day.", extend("x-without" = "the categories of its products"))]
    pub(crate) description: Option<String>,
    /// A directory with further languages, besides English and Spanish: TOML files named after their BCP 47 tag, such as
    /// de.toml, with what differs from English or from the language that `base` names.
    #[schemars(example = "/etc/ucp-gateway/languages", extend("x-without" = "none"))]
    pub(super) texts_dir: Option<FilePath>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub(crate) struct Log {
    /// The form: "auto" (lines for people on a terminal, else JSON), "json" or "pretty". (`--log-format`,
    /// `UCP_GATEWAY_LOG_FORMAT`)
    pub(crate) format: LogFormat,
    /// What is logged: "off", "error", "warn", "info" (with a line about each call), "debug" or "trace". `RUST_LOG` goes
    /// before it. (`--log-level`, `UCP_GATEWAY_LOG_LEVEL`)
    pub(crate) level: LogLevel,
    /// Whether the line about a search says the words that were searched for.
    pub(crate) searches: bool,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub(crate) struct Events {
    /// A file that events are added to, as a JSON object in each line. Off by default.
    #[schemars(example = "/var/log/ucp-gateway/events.jsonl", extend("x-without" = "none"))]
    pub(crate) file: Option<FilePath>,
    /// An address that events are posted to, as JSON Lines (`application/x-ndjson`), up to 512 at once. What it does not
    /// take within about a minute is dropped and counted. Off by default.
    #[schemars(example = "https://analytics.example.com/events", extend("x-without" = "none"))]
    pub(crate) url: Option<WebUrl>,
    /// A file with the token that the gateway shows there (`Authorization: Bearer`).
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/events-token")]
    pub(super) token_file: Option<FilePath>,
    #[serde(skip_deserializing)]
    pub(super) token: Remark,
    /// Whether events are also sent to the collector of `telemetry`, as logs.
    pub(crate) otlp: bool,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub(crate) struct Telemetry {
    /// Where the collector takes OTLP over HTTP (http/protobuf): spans are posted to `v1/traces` below it, and events to
    /// `v1/logs`. Off by default; `OTEL_EXPORTER_OTLP_ENDPOINT` and the other variables of OpenTelemetry for OTLP hold where
    /// nothing is said here. (`--otlp-endpoint`, `UCP_GATEWAY_OTLP_ENDPOINT`)
    #[schemars(example = "http://collector.example.com:4318", extend("x-without" = "none"))]
    pub(super) otlp_endpoint: Option<WebUrl>,
    /// A file with the token that the gateway shows there (`Authorization: Bearer`).
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/collector-token")]
    pub(super) token_file: Option<FilePath>,
    #[serde(skip_deserializing)]
    pub(super) token: Remark,
    /// How many percent of the calls are traced of those whose callers do not say by `traceparent` whether to.
    pub(crate) sampled_percent: Number<0, 100, 100>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub(crate) struct Data {
    /// The directory that holds the shop; by default ./data where the gateway is started. (`--data-dir`,
    /// `UCP_GATEWAY_DATA_DIR`)
    #[schemars(example = &"data", extend("default" = null))]
    pub(crate) dir: FilePath,
    /// A PostgreSQL database for what several gateways share, instead of the directory: sales, stock and products; of the form
    /// `postgres://user:password@host/database`. Several hosts, separated by commas, are tried in turn for the one that can be
    /// written. (`--database`, `UCP_GATEWAY_DATABASE`)
    #[serde(skip_serializing)]
    #[schemars(with = "Option<String>", example = "postgres://ucp:secret@db.example.com/ucp")]
    pub(super) database: Option<DatabaseAddress>,
    /// A file with the same, instead. (`--database-file`, `UCP_GATEWAY_DATABASE_FILE`)
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/database")]
    pub(super) database_file: Option<FilePath>,
    #[serde(skip_deserializing)]
    pub(super) database_place: Remark,
    /// A file with certificates (PEM) of authorities that may certify the database, beside those of the system.
    /// (`--database-ca-file`, `UCP_GATEWAY_DATABASE_CA_FILE`)
    #[schemars(example = "/etc/ssl/database-ca.pem")]
    pub(super) database_ca_file: Option<FilePath>,
    /// How many connections to the database each gateway holds at most.
    pub(super) database_connections: Number<1, 1_000, 16>,
    /// How long the database may take for a statement. What became of one that took longer is found out.
    pub(super) database_timeout_ms: Milliseconds<10_000>,
    /// Whether statements are prepared on the database, which saves it work. A pooler in between has to support that across
    /// transactions, as pgbouncer does from 1.21 on.
    pub(super) database_prepares: bool,
    /// The directory of the signing keys; by default `keys` in `dir`. Gateways that share a database share it, or have copies of
    /// its files. Those of one of several shops are in `shops/NAME` of it.
    #[schemars(example = "/etc/ucp-gateway/keys")]
    pub(crate) keys_dir: Option<FilePath>,
    /// How many megabytes of products to keep in memory. (`--cache-mb`, `UCP_GATEWAY_CACHE_MB`)
    pub(crate) cache_mb: Megabytes<64>,
    /// How many megabytes the database may have before new carts and checkouts are turned away with 503.
    #[schemars(extend("x-without" = "no limit"), extend("x-process" = true))]
    pub(crate) max_mb: Option<Megabytes<16_384>>,
    /// How many megabytes of the disk stay free: below that, new carts and checkouts are turned away with 503.
    #[schemars(extend("x-process" = true))]
    pub(crate) min_free_mb: Megabytes<256>,
    /// How many hours carts, and checkouts that led to no order, stay after they expire. Those that
    /// `limits.held` counts stay an hour.
    pub(crate) keep_unfinished_hours: Number<1, 87_600, 720>,
    /// How many hours completed checkouts stay after the time at which they would have expired.
    pub(crate) keep_completed_hours: Number<1, 87_600, 720>,
    /// How many days the addresses of an order stay after the purchase, or longer while a refund or a webhook event is
    /// pending.
    #[schemars(extend("x-without" = "for ever"))]
    pub(crate) keep_addresses_days: Option<Number<1, 36_500, 365>>,
    /// What fills the directory when there is no shop in it: "outfitters" or "flower-shop". (`--sample`,
    /// `UCP_GATEWAY_SAMPLE`)
    pub(crate) sample: SampleName,
}

impl Default for Data {
    fn default() -> Self {
        Self {
            dir: FilePath("./data".into()),
            database: None,
            database_file: None,
            database_place: None,
            database_ca_file: None,
            database_connections: Number::default(),
            database_timeout_ms: Number::default(),
            database_prepares: false,
            keys_dir: None,
            cache_mb: Number::default(),
            max_mb: None,
            min_free_mb: Number::default(),
            keep_unfinished_hours: Number::default(),
            keep_completed_hours: Number::default(),
            keep_addresses_days: None,
            sample: SampleName::default(),
        }
    }
}

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub(crate) struct Upstream {
    /// "embedded" (nothing else in this section means anything then), "shopify" (Shopify's Storefront GraphQL API, or
    /// one that is compatible), "http" (a shop that implements the backend contract, in any language), "mapped" (a
    /// shop behind any REST or GraphQL API, by a mapping file) or "ucp" (a shop that speaks UCP itself). (`--backend`, `UCP_GATEWAY_BACKEND`)
    pub(crate) backend: BackendKind,
    /// Where it is: https, or http in a network that nobody else is in. (`--upstream-url`, `UCP_GATEWAY_UPSTREAM_URL`)
    #[schemars(example = "https://shop.example.com")]
    pub(super) url: Option<WebUrl>,
    /// A file with the token that the gateway has to show there. With "shopify" it is read again when it changes.
    /// (`--upstream-token-file`, `UCP_GATEWAY_UPSTREAM_TOKEN_FILE`)
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/shop-token")]
    pub(super) token_file: Option<FilePath>,
    /// An environment variable with the same, instead of the file.
    #[serde(skip_serializing)]
    #[schemars(example = &"SHOP_TOKEN")]
    pub(super) token_env: Option<String>,
    /// A file with the certificate in PEM, and its chain, that the gateway shows to the shop (mutual TLS).
    #[schemars(example = "/etc/ucp-gateway/gateway.crt")]
    pub(super) client_certificate_file: Option<FilePath>,
    /// A file with the private key of that certificate in PEM, not encrypted.
    #[schemars(example = "/run/secrets/gateway.key")]
    pub(super) client_key_file: Option<FilePath>,
    #[serde(skip_deserializing)]
    pub(super) token: Remark,
    /// With "shopify": whether the token is one for servers ("private") or for browsers ("public").
    #[schemars(extend("x-only" = "shopify"))]
    pub(crate) token_kind: TokenKind,
    /// With "shopify": the version of the API, a year and a month; by default the one that the gateway was made for.
    #[schemars(example = API_VERSION, regex(pattern = r"^(unstable|\d{4}-\d{2})$"), extend("x-only" = "shopify"))]
    pub(super) api_version: Option<String>,
    /// With "shopify": the signature with which the merchant lets the gateway in as a bot, from the shop's admin
    /// (Online Store > Preferences > Crawler access). A file with the header fields Signature-Agent, Signature-Input
    /// and Signature, a line each. (`--upstream-signature-file`, `UCP_GATEWAY_UPSTREAM_SIGNATURE_FILE`)
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/shop-signature", extend("x-only" = "shopify"))]
    pub(super) signature_file: Option<FilePath>,
    #[serde(skip_deserializing)]
    pub(super) signature: Remark,
    /// With "shopify", instead of that: whether the gateway signs what it asks, as a bot, with its own key.
    #[schemars(extend("x-only" = "shopify"))]
    pub(crate) sign_as_bot: bool,
    /// With "shopify": a file with the secret of the webhook `orders/create`, which the shop sends to `/upstream/orders`
    /// of the gateway. Without it a checkout that its buyer pays on the shop's page is never completed.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/shop-webhooks", extend("x-only" = "shopify"))]
    pub(super) webhook_secret_file: Option<FilePath>,
    #[serde(skip_deserializing)]
    pub(super) webhook_secret: Remark,
    /// With "http", instead of the token: a file with a secret that the gateway and the shop share. Requests are signed
    /// with it, and so are the shop's events about orders that buyers place on its pages, which it sends to
    /// `/upstream/orders` of the gateway.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/shop-signing", extend("x-only" = "http"))]
    pub(super) signing_secret_file: Option<FilePath>,
    #[serde(skip_deserializing)]
    pub(super) signing_secret: Remark,
    /// With "mapped": the mapping, which names the addresses of the shop in place of `url`; its secrets are variables of the
    /// environment.
    #[schemars(example = "shop.mapping.toml", extend("x-only" = "mapped"))]
    pub(super) mapping_file: Option<FilePath>,
    /// With "ucp": whether it is asked over "rest" or "mcp"; by default REST where its profile has both.
    #[schemars(example = Transport::Mcp, extend("x-only" = "ucp", "x-without" = "what its profile has"))]
    pub(crate) transport: Option<Transport>,
    /// With "ucp": the release in which it is asked; by default the newest that both sides speak.
    #[schemars(
        example = Release::NEWEST.date(),
        extend("x-only" = "ucp", "x-without" = "the newest that both sides speak", "enum" = Release::ALL.iter().map(|release| release.date()).collect::<Vec<_>>())
    )]
    pub(super) release: Option<String>,
    /// With "ucp": how many different identifiers one lookup may name there. Larger ones are split. By default what is
    /// usual.
    #[schemars(example = 10, extend("x-only" = "ucp", "x-without" = "what is usual for such an API"))]
    pub(crate) max_lookup_ids: Option<Number<1, 250>>,
    /// With "ucp": further addresses (scheme, host and port) of the shop's site to which its answers may send buyers,
    /// besides those of its profile and its endpoint. An answer with a `continue_url` elsewhere is refused; other links
    /// may lead anywhere.
    #[schemars(example = &["https://checkout.example.com"], extend("x-only" = "ucp"))]
    pub(crate) origins: Vec<WebUrl>,
    /// How long connecting may take, in milliseconds.
    pub(crate) connect_timeout_ms: Milliseconds<500>,
    /// How long a call about the catalog may take, with all that is asked for it, in milliseconds.
    pub(crate) read_timeout_ms: Milliseconds<3_000>,
    /// How long a call about a cart, a checkout or an order may take, with all that is asked for it, in milliseconds.
    pub(crate) write_timeout_ms: Milliseconds<10_000>,
    /// How long placing an order may take, in milliseconds. Completing a purchase may take as long as a change before.
    pub(crate) complete_timeout_ms: Milliseconds<25_000>,
    /// How many reads of the catalog are under way at once. Callers that are not registered take three quarters at most, and one
    /// of them three eighths.
    pub(crate) reads_in_flight: Number<1, 100_000, 32>,
    /// How many calls about carts are under way at once, and as many about payments and orders.
    pub(crate) writes_in_flight: Number<1, 100_000, 16>,
    /// How many calls begin per second. By default there is no limit.
    #[schemars(example = 100, extend("x-without" = "no limit"))]
    pub(crate) per_second: Option<Number<1, 1_000_000>>,
    /// How many megabytes of its answers are kept in memory.
    pub(crate) cache_mb: Megabytes<64>,
}

impl Upstream {
    /// Whether there is none.
    pub(crate) fn is_embedded(&self) -> bool {
        self.backend == BackendKind::Embedded
    }
}

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub(crate) struct Catalog {
    /// "none" (nothing is copied), "backend" (the shop's own `/find`, page by page; with the backends "http" and
    /// "mapped") or "feed" (a file or an https address; also with the embedded shop, which then sells what the feed has).
    pub(crate) source: CatalogSource,
    /// With "feed": a file.
    #[schemars(example = "products.xml", extend("x-only" = "feed"))]
    pub(super) feed_file: Option<FilePath>,
    /// With "feed", instead of that: an https address. Redirects are not followed.
    #[schemars(example = "https://shop.example.com/products.xml", extend("x-only" = "feed"))]
    pub(super) feed_url: Option<WebUrl>,
    /// With "feed": its format: "jsonl", "shopify", "google-xml" or "google-tsv"; by default what its name or beginning
    /// shows.
    #[schemars(example = FeedFormat::GoogleXml, extend("x-only" = "feed", "x-without" = "what its name or beginning shows"))]
    pub(crate) format: Option<FeedFormat>,
    /// With "feed": the largest feed that is read, in megabytes.
    #[schemars(extend("x-only" = "feed"))]
    pub(crate) max_feed_mb: Number<1, 1_048_576, 4_096>,
    /// With "feed": how long fetching it may take, in seconds.
    #[schemars(extend("x-only" = "feed"))]
    pub(crate) feed_timeout_s: Number<1, 86_400, 1_800>,
    /// With "feed" and the embedded shop: the name of a new shop.
    #[schemars(example = &"Flowers & Co", extend("x-only" = "feed", "x-without" = "Shop"))]
    pub(crate) name: Option<String>,
    /// With "feed" and the embedded shop: the currency of a new shop.
    #[schemars(example = &"EUR", extend("x-only" = "feed", "x-without" = "USD"))]
    pub(crate) currency: Option<Currency>,
    /// With "feed" and the embedded shop: the language of a new shop.
    #[schemars(example = &"de", extend("x-only" = "feed", "x-without" = "en"))]
    pub(crate) language: Option<String>,
    /// How often the copy is brought up to date, in seconds. A feed is fetched only if it has changed; a shop is asked for
    /// what has changed, if it says so in `GET /backend`.
    pub(crate) interval_s: Number<1, 2_592_000, 900>,
    /// How often everything is asked for, in hours; with a feed, whenever it has changed.
    pub(crate) full_interval_hours: Number<1, 8_760, 24>,
    /// The share of the products, in per cent, that may be gone at once. If more are, none is removed until you release
    /// them: `ucp-gateway catalog sync --accept-loss`.
    pub(crate) max_loss_percent: Number<0, 100, 20>,
    /// How many products are asked for at once.
    pub(crate) page_size: Number<1, 500, 100>,
    /// A file with the secret with which the shop signs its events about changed products, which it sends to
    /// `/upstream/catalog` of the gateway; by default that of `upstream.signing_secret_file`.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/shop-signing")]
    pub(super) webhook_secret_file: Option<FilePath>,
    #[serde(skip_deserializing)]
    pub(super) webhook_secret: Remark,
}

impl Catalog {
    /// Whether nothing is copied.
    pub(crate) fn is_none(&self) -> bool {
        self.source == CatalogSource::None
    }
}

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub(crate) struct Callers {
    /// What becomes of a caller whose profile cannot be fetched: "require" refuses it, "lenient" serves it the catalog,
    /// "development" serves it everything, and callers without a profile as well. The default is "development" when only this machine can reach the gateway:
    /// it listens on loopback and has no other public address. Otherwise it is "require". (`--policy`,
    /// `UCP_GATEWAY_POLICY`)
    #[schemars(example = Policy::Require)]
    pub(super) policy: Option<Policy>,
    /// What callers may use that are nobody in particular, outside development: "browsing" (the catalog) or
    /// "everything".
    pub(crate) anonymous: Anonymous,
    /// Extent of catalog responses to callers that do not choose one by `?view=`: "standard" for everything on a product
    /// page, to which searches and lookups leave long descriptions and their other forms, further pictures, links
    /// of sellers, barcodes, ids of option values and options that the title of a variant spells
    /// out, "full" for everything, or "compact" for what helps an agent to choose.
    pub(crate) view: CatalogView,
}

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub(crate) struct Profiles {
    /// Whether profiles may lie on this machine, also over plain http. The default is true under the policy
    /// "development" where only this machine can reach the gateway, which it needs; otherwise it is false.
    #[schemars(example = false)]
    pub(super) loopback: Option<bool>,
    /// How long looking up and connecting to the host of a profile may take, in milliseconds.
    pub(crate) connect_timeout_ms: Milliseconds<2_000>,
    /// How long fetching a profile may take altogether, in milliseconds.
    pub(crate) timeout_ms: Milliseconds<5_000>,
    /// How many profiles of unknown platforms are fetched, over all callers.
    pub(crate) fetches: Rate,
    /// PEM files of authorities to trust beside those of the system.
    pub(super) extra_roots: Vec<FilePath>,
    /// How many megabytes of profiles to keep in memory.
    pub(crate) cache_mb: Number<1, 65_536, 64>,
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
]))]
pub(crate) struct Platform {
    /// What you call it.
    #[schemars(length(min = 1, max = 100), example = "Example Agent")]
    pub(super) name: String,
    /// The address of its profile. Without it, the platform is known by its API key or certificate, gets everything that
    /// the shop can do, and hears of its orders by no webhook.
    #[schemars(example = "https://agent.example.com/profile.json", extend("x-without" = "it publishes none"))]
    pub(super) profile: Option<String>,
    /// Its profile, from a file; without it, the profile is fetched when the gateway starts and kept fresh.
    #[schemars(example = "example-agent.json", extend("x-without" = "the profile is fetched"))]
    pub(super) profile_file: Option<FilePath>,
    /// The SHA-256 of its API key, as `ucp-gateway keys api` prints it. Of a key made elsewhere: printf %s "$KEY" |
    /// sha256sum
    #[serde(skip_serializing)]
    #[schemars(example = "sha256:0000000000000000000000000000000000000000000000000000000000000000")]
    pub(super) api_key_hash: Option<String>,
    /// A file with its API key or hash; with several, while the platform changes keys.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/example-agent")]
    pub(super) api_key_file: Option<FilePath>,
    /// An environment variable with the same.
    #[serde(skip_serializing)]
    #[schemars(example = &"EXAMPLE_AGENT_API_KEY")]
    pub(super) api_key_env: Option<String>,
    #[serde(rename = "API keys", skip_deserializing)]
    pub(super) api_keys: Remark,
    /// The SHA-256 of its client certificate, as `openssl x509 -noout -fingerprint -sha256` prints it; two
    /// with a space between them while the platform changes certificates. This needs `server.tls_client_ca_file`.
    #[schemars(example = ["00"; 32].join(":"))]
    pub(super) certificate_sha256: Option<String>,
    /// Where it publishes the keys with which it signs as a bot (Web Bot Auth): the origin that it names in
    /// `Signature-Agent`, or the address of its keys if it names that (`jwks_uri`). A request of that bot is one of this
    /// platform.
    #[schemars(example = "https://bot.example.com")]
    pub(super) signature_agent: Option<String>,
    /// Customer group that it belongs to, for shops that have prices by group: calls that its signature, key or certificate
    /// proves to be its own state it to the shop.
    #[schemars(length(min = 1, max = 100), example = &"trade", extend("x-without" = "it has the prices of everyone"))]
    pub(super) customer_group: Option<String>,
    /// How much it may send, however it is recognised; by default what `limits.keyed` says.
    #[schemars(example = Rate::of(500, 1_000))]
    pub(super) limit: Option<Limit>,
}

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub(crate) struct Limits {
    /// Of one network address (of one /64 network of IPv6), for its anonymous requests. A /24 network of IPv4 or a /56 network
    /// of IPv6 may send four times as much, and a /48 network sixteen times; so it is with `signed`, `unverified`, `held` and
    /// `held_mb`.
    pub(super) anonymous: Option<Limit<50, 100>>,
    /// Of the platforms of one domain that sign their requests, and of one network address that sends them.
    pub(super) signed: Option<Limit<100, 200>>,
    /// Of one registered platform.
    pub(super) keyed: Option<Limit<200, 400>>,
    /// Of one network address, for signatures that turn out wrong.
    pub(super) unverified: Option<Limit<20, 40>>,
    /// How many requests of the shop run at once, of those that `server.max_in_flight` allows to all shops together.
    #[schemars(example = 64, extend("x-without" = "no limit"))]
    pub(crate) in_flight: Option<Number<1, 1_000_000>>,
    /// How many carts and checkouts one caller may have that is not a registered platform, those that led to an order left
    /// out: its network address, and its domain if it signs. They go an hour after they expire. Under the policy `development`
    /// there is no limit by default.
    #[schemars(extend("x-without" = "no limit"))]
    pub(crate) held: Option<Number<1, 1_000_000, 1_000>>,
    /// How many megabytes they may take, with the answers that are kept for idempotency keys. The same default.
    #[schemars(extend("x-without" = "no limit"))]
    pub(crate) held_mb: Option<Number<1, 65_536, 64>>,
    /// How many carts and checkouts one registered platform may have, those that led to an order left out. The same default.
    #[schemars(extend("x-without" = "no limit"))]
    pub(crate) keyed_held: Option<Number<1, 100_000_000, 1_000_000>>,
    /// How many megabytes they may take, with the answers that are kept for idempotency keys. The same default.
    #[schemars(extend("x-without" = "no limit"))]
    pub(crate) keyed_held_mb: Option<Number<1, 1_048_576, 16_384>>,
}

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub(crate) struct Signatures {
    /// What becomes of the signatures of requests for the catalog: "off", "verify" (if there is one) or "enforce".
    pub(crate) browsing: Check,
    /// The same, of requests for carts and checkouts.
    pub(crate) purchase: Check,
    /// The same, of requests for orders.
    pub(crate) order: Check,
    /// Which answers are signed: "completing" (those that place an order), "all" or "none".
    pub(crate) responses: Signed,
}

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(crate) struct Payment {
    /// "sandbox" moves no money and does what its tokens say; "processor" authorises and captures at a payment service
    /// provider, "stripe" at Stripe; `google_pay` takes tokens of Google Pay, with which another entry pays.
    #[schemars(example = HandlerKind::Processor)]
    pub(super) kind: HandlerKind,
    /// What platforms name it by, as `handler_id`.
    #[schemars(length(min = 1, max = 100), example = &"card")]
    pub(super) id: String,
    /// The reverse-domain name of what it speaks. A processor needs it, and the three keys that follow; "stripe" needs the
    /// version and the schema, which come with the access to Stripe's preview.
    #[schemars(example = "com.example.card")]
    pub(super) name: Option<String>,
    /// The version of that.
    #[schemars(example = "2026-01-01")]
    pub(super) version: Option<String>,
    /// Where that is described.
    #[schemars(example = "https://example.com/card")]
    pub(super) spec: Option<String>,
    /// Where the schema of its configuration is.
    #[schemars(example = "https://example.com/card.json")]
    pub(super) schema: Option<String>,
    /// The kinds of instruments that it takes.
    #[schemars(example = ["card"])]
    pub(super) instruments: Option<Vec<String>>,
    /// What platforms need to know to use it. Public.
    #[schemars(example = serde_json::json!({ "environment": "production" }))]
    pub(super) config: Option<Map<String, Value>>,
    /// With "processor": where the provider is. With "stripe": another address than that of Stripe itself.
    #[schemars(example = "https://psp.example.com/v1", extend("x-only" = ["processor", "stripe"]))]
    pub(super) url: Option<String>,
    /// With "processor": where the provider was before. Payments made there are asked after here.
    #[serde(default)]
    #[schemars(extend("x-only" = "processor"))]
    pub(super) formerly: Vec<String>,
    /// With "processor" and "stripe": a file with the API key.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/psp-api-key", extend("x-only" = ["processor", "stripe"]))]
    pub(super) api_key_file: Option<FilePath>,
    /// An environment variable with the same, instead of the file.
    #[serde(skip_serializing)]
    #[schemars(example = &"PSP_API_KEY", extend("x-only" = ["processor", "stripe"]))]
    pub(super) api_key_env: Option<String>,
    /// With "processor": the name of the secret that requests are signed with.
    #[serde(default = "signing_key_id")]
    #[schemars(extend("x-only" = "processor"))]
    pub(super) signing_key_id: String,
    /// With "processor": a file with that secret.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/psp-signing-secret", extend("x-only" = "processor"))]
    pub(super) signing_secret_file: Option<FilePath>,
    /// With "processor": an environment variable with the same, instead of the file.
    #[serde(skip_serializing)]
    #[schemars(example = &"PSP_SIGNING_SECRET", extend("x-only" = "processor"))]
    pub(super) signing_secret_env: Option<String>,
    /// With "stripe": a file with the signing secret of the webhook endpoint `/payments/ID/events`; without it events are
    /// not taken.
    #[serde(skip_serializing)]
    #[schemars(example = "/run/secrets/stripe-webhook-secret", extend("x-only" = "stripe"))]
    pub(super) webhook_secret_file: Option<FilePath>,
    /// With "stripe": an environment variable with the same, instead of the file.
    #[serde(skip_serializing)]
    #[schemars(example = &"STRIPE_WEBHOOK_SECRET", extend("x-only" = "stripe"))]
    pub(super) webhook_secret_env: Option<String>,
    /// With `google_pay`: the id of the entry above this one that pays with the tokens, of the kind "stripe" or
    /// "processor".
    #[schemars(example = &"stripe", extend("x-only" = "google_pay"))]
    pub(super) through: Option<String>,
    /// When the money is captured: "automatic" does it with the purchase; "manual" authorises it, and the merchant captures
    /// all or a part of it (`ucp-gateway orders capture`).
    #[serde(default)]
    #[schemars(extend("x-only" = ["sandbox", "processor", "stripe"]))]
    pub(super) capture: Capture,
    #[serde(rename = "API key and signing secret", skip_deserializing)]
    pub(super) secrets: Remark,
    /// With "processor" and "stripe": how long connecting may take, in milliseconds.
    #[serde(default)]
    #[schemars(extend("x-only" = ["processor", "stripe"]))]
    pub(super) connect_timeout_ms: Milliseconds<3_000>,
    /// With "processor" and "stripe": how long one request may take altogether, in milliseconds.
    #[serde(default)]
    #[schemars(extend("x-only" = ["processor", "stripe"]))]
    pub(super) timeout_ms: Milliseconds<8_000>,
    /// With "processor" and "stripe": how long a payment may take altogether, in milliseconds.
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
    /// Whether to offer the draft *Merchant* capability, which is part of no release of UCP. By default only under the
    /// policy `development`, so that it can be tried out with the invented merchants of the sample.
    #[schemars(example = true)]
    pub(super) enabled: Option<bool>,
    /// Whether to offer Location Search and Location Lookup, which are part of release 2026-08-25. The same default.
    #[schemars(example = true)]
    pub(super) locations: Option<bool>,
    /// What the capability of the draft is called. Names below `dev.ucp.` are reserved to the governing body of UCP:
    /// take names of your own domain, and say where the specification and the schema are.
    pub(super) capability: String,
    /// What the service of the draft is called. The same holds.
    pub(super) service: String,
    /// Where the specification of names of your own is.
    #[schemars(example = "https://www.example.com/directory")]
    pub(super) spec: Option<WebUrl>,
    /// Where the schema of names of your own is.
    #[schemars(example = "https://www.example.com/directory.json")]
    pub(super) schema: Option<WebUrl>,
    /// The largest radius that may be asked for, in kilometres; larger ones are refused. By default there is no limit.
    #[schemars(example = 100, extend("x-without" = "no limit"))]
    pub(super) max_radius_km: Option<Number<1, 25_000>>,
    /// Countries (US) and regions (US-CA) whose buyers are shown no merchants.
    pub(super) restricted_regions: Vec<String>,
    /// How many megabytes of merchants to keep in memory, beside the index of all of them.
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
    /// A file of postal codes and towns in the tab-separated format of geonames.org; by default only the places of the
    /// sample are known.
    #[schemars(example = "/usr/share/places/allCountries.txt", extend("x-without" = "the places of the sample"))]
    pub(super) places: Option<FilePath>,
    #[serde(rename = "names of places", skip_deserializing)]
    pub(super) names: Remark,
    /// The search interface of a Nominatim service. It is told the streets, towns and postal codes that buyers are at,
    /// over TLS; by default nobody is asked.
    #[serde(serialize_with = "host")]
    #[schemars(
        example = "https://geocoder.example.com/search",
        extend("x-without" = "nobody is asked", "writeOnly" = true)
    )]
    pub(super) url: Option<WebUrl>,
    /// How long asking it may take altogether, in milliseconds; without an answer, an address is looked up in the file.
    pub(super) timeout_ms: Option<Milliseconds<2_000>>,
}

/// Only the host: the address may hold a key.
#[expect(clippy::ref_option, reason = "this is how serde calls it")]
fn host<S: Serializer>(url: &Option<WebUrl>, serializer: S) -> Result<S::Ok, S::Error> {
    url.as_ref().and_then(|url| url.0.host_str()).map(|host| format!("at {host:?}")).serialize(serializer)
}
