//! Mount point of one of several shops: its host names, and its path prefix.

use std::{collections::HashSet, fmt};

use ucp_core::ShopId;
use ucp_trust::host::without_dot;
use url::{Host, Url};

use super::{document::Document, is_loopback_host, sections::ShopEntry};

/// Maximum length of a path, in bytes.
const MAX_PATH: usize = 200;

/// Paths at which the process itself answers, whatever the host.
const OWN: [&str; 3] = ["/inspector", "/livez", "/readyz"];

/// Identifier of a shop, and where it is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mount {
    /// Identifier of the shop.
    pub id: ShopId,
    /// Its host names, in lower case; none if it is reached under all names that no other shop has.
    pub hosts: Vec<String>,
    /// The path below which it lies, without trailing slash; empty at the root.
    pub path: String,
    /// `true` for the shop of a process that has several.
    pub is_one_of_several: bool,
}

impl Mount {
    /// Returns the URL of the shop where clients reach the process under `url`.
    pub(crate) fn below(&self, mut url: Url) -> Url {
        if !self.path.is_empty() {
            url.set_path(&self.path);
        }
        url
    }

    /// Returns the URL of the shop for clients that reach the listener under `local`, for a shop without a public URL.
    pub(super) fn on(&self, mut local: Url) -> Url {
        if let Some(host) = self.hosts.first() {
            // A host name that was read from a URL is one of a URL.
            let _ = local.set_host(Some(host));
        }
        self.below(local)
    }

    /// Returns `true` if only this machine has the names under which the shop is reached.
    pub(super) fn is_local(&self) -> bool {
        self.hosts.iter().all(|host| Host::parse(host).is_ok_and(|host| is_loopback_host(&host)))
    }
}

/// Names of the shop, for operators: `flowers.example.com` or `/shops/flowers`.
impl fmt::Display for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.hosts {
            [] => f.write_str(&self.path),
            hosts => write!(f, "{}{}", hosts.join(&format!("{}, ", self.path)), self.path),
        }
    }
}

/// Names and mount points that are taken; each has to be unique among several shops.
#[derive(Debug, Default)]
pub(super) struct Taken {
    names: HashSet<ShopId>,
    /// Hosts, each with a path; no host for all of them.
    places: HashSet<(Option<String>, String)>,
}

/// Checks what selects a shop among several.
pub(super) fn resolve(entry: &ShopEntry, taken: &mut Taken, document: &mut Document<'_>) -> Mount {
    let mut mount = Mount { is_one_of_several: true, ..Mount::default() };
    match entry.name.as_deref().unwrap_or_default().parse::<ShopId>() {
        Ok(id) => {
            if !taken.names.insert(id.clone()) {
                document.unfit("name", "another shop has the same name");
            }
            mount.id = id;
        }
        Err(error) => document.unfit("name", error),
    }
    for host in &entry.hosts {
        match Host::parse(without_dot(host)) {
            Ok(parsed) => mount.hosts.push(parsed.to_string()),
            Err(_) => document
                .unfit("hosts", format_args!("{host:?} must be a host name without port, such as shop.example.com")),
        }
    }
    if let Some(path) = &entry.path {
        if OWN.iter().any(|own| is_below(path, own)) {
            document.unfit("path", format_args!("{path} is the gateway's own; {} are", OWN.join(", ")));
            return mount;
        }
        if !is_path(path) {
            let problem = format_args!(
                "the path must be segments of letters, digits, `-`, `.`, `_` and `~`, each after a `/`, at most {MAX_PATH} \
                 characters: such as /shops/flowers"
            );
            document.unfit("path", problem);
            return mount;
        }
        mount.path.clone_from(path);
    }
    if entry.hosts.is_empty() && entry.path.is_none() {
        document.unfit("name", "one of several shops must have `hosts` or a `path`");
        return mount;
    }
    let hosts = mount.hosts.iter().cloned().map(Some);
    let places: Vec<_> = if mount.hosts.is_empty() { vec![None] } else { hosts.collect() };
    for host in places {
        let key = if host.is_some() { "hosts" } else { "path" };
        let shown = format!("{}{}", host.as_deref().unwrap_or_default(), mount.path);
        if !taken.places.insert((host, mount.path.clone())) {
            document.unfit(key, format_args!("another shop has the same place, {shown}"));
        }
    }
    mount
}

/// Returns `true` if a path is `other` or lies below it.
fn is_below(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns `true` for a path of one or more plain segments.
fn is_path(path: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let segment = |segment: &str| !matches!(segment, "" | "." | "..") && segment.bytes().all(plain);
    path.len() <= MAX_PATH && path.strip_prefix('/').is_some_and(|path| path.split('/').all(segment))
}
