//! What `serve` prints for the person who started it.

use std::{
    io::{self, Write},
    net::SocketAddr,
};

use ucp_trust::api_key::ApiKey;

use crate::{
    address::base,
    config::{Policy, Settings},
    first_key,
    running::Running,
    shop::Shop,
    slot::Slot,
};

/// Maximum number of shops that are listed.
const LISTED: usize = 10;

/// Writes the addresses of the only shop, the policy, and an example call.
pub(super) fn one(
    mut to: impl Write,
    slot: &Slot,
    shop: &Shop,
    admin: Option<SocketAddr>,
    first_key: Option<&ApiKey>,
) -> io::Result<()> {
    let (version, name, settings, base) =
        (env!("CARGO_PKG_VERSION"), &shop.name, &slot.settings, base(&slot.public_url));
    writeln!(to, "ucp-gateway {version} serves {name}")?;
    if !shop.ready {
        writeln!(to, "  NOT READY: the shop is down; it is tried again until it answers")?;
    }
    writeln!(to, "  profile  {base}/.well-known/ucp")?;
    writeln!(to, "  REST     {base}")?;
    writeln!(to, "  MCP      {base}/mcp")?;
    writeln!(to, "  docs     {base}/docs")?;
    writeln!(to, "  callers  {}", callers(settings.policy))?;
    if let Some(address) = admin {
        writeln!(to, "  admin    http://{address}")?;
    }
    if let Some(key) = first_key {
        let file = settings.sections.data.dir.join(first_key::FILE);
        writeln!(to, "  API key  {}", key.reveal())?;
        writeln!(to, "           It is shown this once; empty {} to revoke it.", file.display())?;
    }
    example(to, settings, &base, None, first_key)
}

/// Writes the addresses of the first of several shops, and an example call of one.
pub(super) fn several(mut to: impl Write, running: &Running, admin: Option<SocketAddr>) -> io::Result<()> {
    let (version, shops, local) = (env!("CARGO_PKG_VERSION"), running.shops.all(), base(running.local_url()));
    writeln!(to, "ucp-gateway {version} serves {} shops", shops.len())?;
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
    example(to, &slot.settings, &format!("{local}{}", mount.path), host, None)
}

/// Writes an example call of a shop that is reached under `base`, where `host` has to be named if it is given.
fn example(
    mut to: impl Write,
    settings: &Settings,
    base: &str,
    host: Option<&str>,
    first_key: Option<&ApiKey>,
) -> io::Result<()> {
    writeln!(to, "Try it:")?;
    write!(to, "  curl -s ")?;
    // Of a public URL, the certificate is one that clients trust.
    if let Some(tls) = settings.process.tls.as_ref().filter(|_| settings.sections.server.public_url.is_none()) {
        write!(to, "--cacert '{}' ", tls.files.certificate.display())?;
    }
    if let Some(host) = host {
        write!(to, "-H 'Host: {host}' ")?;
    }
    writeln!(to, "{base}/catalog/search -H 'Content-Type: application/json' \\")?;
    let caller = match first_key {
        Some(key) => format!("Authorization: Bearer {}", key.reveal()),
        None => format!("UCP-Agent: profile=\"{}\"", example_profile(settings.policy)),
    };
    writeln!(to, "    -H '{caller}' -d '{{\"query\":\"blue running shoes\"}}'")
}

/// Returns the profile URL of the example call: one that calls can name as it is, or a placeholder if the policy
/// requires that the profile exists.
fn example_profile(policy: Policy) -> &'static str {
    match policy {
        Policy::Require => "https://YOUR-PLATFORM/profile.json",
        Policy::Lenient | Policy::Development => "https://agent.example.com/profile.json",
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
