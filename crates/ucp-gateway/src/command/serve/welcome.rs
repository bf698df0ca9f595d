//! Startup banner of a gateway: URLs, files that it has created, and calls to try.

use std::{
    io::{self, Write},
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use ucp_config::{Policy, Settings, first_key};
use ucp_host::{address::base, callers::example_profile, running::Running, shop::Shop, slot::Slot};
use ucp_shop::sample::SAMPLES;
use ucp_trust::api_key::ApiKey;

use crate::terminal::Paint;

/// Name of the database in the data directory.
const DATABASE: &str = "shop.db";

/// Maximum number of shops that are listed.
const LISTED: usize = 10;

/// The data directory as a start found it.
#[derive(Debug)]
pub(super) struct DataFound {
    path: PathBuf,
    /// `true` if nothing was stored in it.
    is_new: bool,
}

impl DataFound {
    /// Looks at the data directory before it is opened.
    pub(super) fn look(dir: &Path) -> Self {
        let is_new = !dir.join(DATABASE).exists();
        Self { path: std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned()), is_new }
    }

    fn told(&self, settings: &Settings) -> String {
        let path = self.path.display();
        match (self.is_new, &settings.upstream) {
            (false, _) => path.to_string(),
            (true, Some(_)) => format!("{path} (new: holds orders, and whose carts and checkouts there are)"),
            (true, None) => {
                let sample = settings.sections.data.sample.0.name;
                format!(
                    "{path} (new: sample shop `{sample}`; for your catalog: `ucp-gateway import FILE --data-dir NEW_DIR`)"
                )
            }
        }
    }
}

/// Facts about the only shop that the welcome tells.
pub(super) struct Told<'a> {
    pub(super) slot: &'a Slot,
    pub(super) data: &'a DataFound,
    pub(super) admin: Option<SocketAddr>,
    pub(super) first_key: Option<&'a ApiKey>,
}

/// Writes the addresses of the only shop, the policy, and two calls for the person who started it.
pub(super) fn one(mut to: impl Write, shop: &Shop, told: &Told<'_>, paint: Paint) -> io::Result<()> {
    let Told { slot, data, admin, first_key } = told;
    let (version, name, settings) = (env!("CARGO_PKG_VERSION"), &shop.name, &slot.settings);
    let base = base(&slot.public_url);
    writeln!(to, "ucp-gateway {version} serves {}", paint.strong(name))?;
    if !shop.ready {
        let problem = "NOT READY: the upstream is down; the gateway retries until it responds";
        writeln!(to, "  {}", paint.bad(problem))?;
    }
    writeln!(to, "  data     {}", data.told(settings))?;
    writeln!(to, "  profile  {base}/.well-known/ucp")?;
    writeln!(to, "  REST     {base}")?;
    writeln!(to, "  MCP      {base}/mcp")?;
    writeln!(to, "  docs     {base}/docs")?;
    if settings.policy == Policy::Development {
        writeln!(to, "  browser  {base}/playground (from this machine)")?;
    }
    writeln!(to, "  callers  {}", callers(settings.policy))?;
    if let Some(address) = admin {
        writeln!(to, "  admin    http://{address}")?;
    }
    if let Some(key) = first_key {
        let file = settings.dir().join(first_key::FILE);
        writeln!(to, "  API key  {}", key.reveal())?;
        writeln!(to, "           It is shown this once; empty {} to revoke it.", file.display())?;
    }
    let example = Example { settings, base: &base, host: None, first_key: *first_key, search: search(name) };
    example.write(to)
}

/// Writes the addresses of the first of several shops, and two calls of one.
pub(super) fn several(
    mut to: impl Write,
    running: &Running,
    admin: Option<SocketAddr>,
    paint: Paint,
) -> io::Result<()> {
    let (version, shops, local) = (env!("CARGO_PKG_VERSION"), running.shops.all(), base(running.local_url()));
    writeln!(to, "ucp-gateway {version} serves {}", paint.strong(format!("{} shops", shops.len())))?;
    writeln!(to, "  listens  {local}")?;
    for slot in shops.iter().take(LISTED) {
        writeln!(to, "  shop     {} at {}", slot.id, base(&slot.public_url))?;
    }
    if shops.len() > LISTED {
        writeln!(to, "           and {} more; `ucp-gateway check-config` shows all", shops.len() - LISTED)?;
    }
    if let Some(address) = admin {
        writeln!(to, "  admin    http://{address}")?;
    }
    let Some(slot) = shops.first() else { return Ok(()) };
    let mount = &slot.settings.mount;
    let host = mount.hosts.first().map(String::as_str);
    let base = format!("{local}{}", mount.path);
    Example { settings: &slot.settings, base: &base, host, first_key: None, search: search("") }.write(to)
}

/// Two calls of a shop.
struct Example<'a> {
    settings: &'a Settings,
    /// Address under which this machine reaches the shop.
    base: &'a str,
    /// Host to name in the calls, if it is not that of the address.
    host: Option<&'a str>,
    first_key: Option<&'a ApiKey>,
    /// Search that finds something.
    search: Value,
}

impl Example<'_> {
    fn write(&self, mut to: impl Write) -> io::Result<()> {
        let Self { settings, base, host, first_key, search } = self;
        // Of a public URL, the certificate is one that clients trust.
        let tls = settings.process.tls.as_ref().filter(|_| settings.sections.server.public_url.is_none());
        let mut begun = "curl -s ".to_owned();
        if let Some(tls) = tls {
            begun.push_str(&format!("--cacert '{}' ", tls.files.certificate.display()));
        }
        if let Some(host) = host {
            begun.push_str(&format!("-H 'Host: {host}' "));
        }
        let caller = match first_key {
            Some(key) => format!("Authorization: Bearer {}", key.reveal()),
            None => format!("UCP-Agent: profile=\"{}\"", example_profile(settings.policy)),
        };
        writeln!(to, "Try it:")?;
        writeln!(to, "  {begun}{base}/catalog/search -H 'Content-Type: application/json' \\")?;
        writeln!(to, "    -H '{caller}' -d '{search}'")?;
        writeln!(to, "Over MCP:")?;
        writeln!(to, "  {begun}{base}/mcp -H 'Content-Type: application/json' \\")?;
        let arguments = match first_key {
            Some(_) => json!({ "catalog": search }),
            None => {
                json!({ "meta": { "ucp-agent": { "profile": example_profile(settings.policy) } }, "catalog": search })
            }
        };
        let params = json!({ "name": "search_catalog", "arguments": arguments });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let key = first_key.map(|_| format!("-H '{caller}' ")).unwrap_or_default();
        writeln!(to, "    {key}-d '{message}'")
    }
}

/// Returns a search that finds something in this shop: its own words for a sample, and what is available for any other.
fn search(name: &str) -> Value {
    let sample = SAMPLES.iter().find(|sample| sample.opening().market.name == name);
    match sample {
        Some(sample) => json!({ "query": sample.query }),
        None => json!({ "filters": { "available": true }, "pagination": { "limit": 3 } }),
    }
}

/// Describes the policy for people.
fn callers(policy: Policy) -> &'static str {
    match policy {
        Policy::Require => "need a UCP profile (policy require)",
        Policy::Lenient => "may browse without a UCP profile (policy lenient)",
        Policy::Development => "are not authenticated: any profile is accepted unverified (policy development)",
    }
}
