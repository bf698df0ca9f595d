//! What a gateway prints when it starts: where everything is, what it made, and calls to try.

use std::{
    io::Write,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use ucp_shop::sample::SAMPLES;
use ucp_trust::api_key::ApiKey;

use crate::{
    callers::example_profile,
    config::{Policy, Settings},
    first_key,
    shop::Shop,
    terminal::Paint,
};

/// Name of the database in the data directory.
const DATABASE: &str = "shop.db";

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
                format!("{path} (new: the sample shop `{sample}` was made here; `ucp-gateway import` makes your own)")
            }
        }
    }
}

/// What is told beside the shop.
pub(super) struct Told<'a> {
    pub(super) settings: &'a Settings,
    /// Address under which clients reach the gateway, without trailing slash.
    pub(super) base: &'a str,
    pub(super) data: &'a DataFound,
    pub(super) admin: Option<SocketAddr>,
    pub(super) first_key: Option<&'a ApiKey>,
}

/// Writes the addresses of the gateway, the policy, and two calls for the person who started it.
pub(super) fn welcome(mut to: impl Write, shop: &Shop, told: &Told<'_>, paint: Paint) -> std::io::Result<()> {
    let Told { settings, base, data, admin, first_key } = told;
    let (version, name) = (env!("CARGO_PKG_VERSION"), &shop.name);
    writeln!(to, "ucp-gateway {version} serves {}", paint.strong(name))?;
    if !shop.ready {
        let problem = "NOT READY: the shop is down; it is tried again until it answers";
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
        let file = settings.sections.data.dir.join(first_key::FILE);
        writeln!(to, "  API key  {}", key.reveal())?;
        writeln!(to, "           It is shown this once; empty {} to revoke it.", file.display())?;
    }
    let search = search(&shop.name);
    // Of a public URL, the certificate is one that clients trust.
    let tls = settings.tls.as_ref().filter(|_| settings.sections.server.public_url.is_none());
    let trusted = tls.map(|tls| format!("--cacert '{}' ", tls.files.certificate.display())).unwrap_or_default();
    let caller = match first_key {
        Some(key) => format!("Authorization: Bearer {}", key.reveal()),
        None => format!("UCP-Agent: profile=\"{}\"", example_profile(settings.policy)),
    };
    writeln!(to, "Try it:")?;
    writeln!(to, "  curl -s {trusted}{base}/catalog/search -H 'Content-Type: application/json' \\")?;
    writeln!(to, "    -H '{caller}' -d '{search}'")?;
    writeln!(to, "Over MCP:")?;
    writeln!(to, "  curl -s {trusted}{base}/mcp -H 'Content-Type: application/json' \\")?;
    let arguments = match first_key {
        Some(_) => json!({ "catalog": search }),
        None => json!({ "meta": { "ucp-agent": { "profile": example_profile(settings.policy) } }, "catalog": search }),
    };
    let params = json!({ "name": "search_catalog", "arguments": arguments });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let key = first_key.map(|_| format!("-H '{caller}' ")).unwrap_or_default();
    writeln!(to, "    {key}-d '{message}'")
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
        Policy::Require => "need a UCP profile that can be fetched (policy require)",
        Policy::Lenient => "may browse without a profile that can be fetched (policy lenient)",
        Policy::Development => "are taken at their word: no profile has to be fetched (policy development)",
    }
}
