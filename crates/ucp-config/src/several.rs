//! All shops of a process, and what they have in common. What a shop does not state is inherited from the sections
//! outside of it, as it stands in the file: whatever follows from the values is decided for each shop.

use std::{
    collections::BTreeSet,
    fs, mem,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use toml::de::DeTable;
use ucp_core::ShopId;

use super::{
    ConfigError, Environment, Mount, Policy, ServeOptions, Settings,
    document::{Document, File, Values},
    mount,
    process::Process,
    sections::{Sections, Server},
    value::WebUrl,
    warnings,
};

/// Ending of the files in a folder of shops.
const ENDING: &str = "toml";

/// Complete and checked configuration of a process.
#[derive(Debug)]
pub struct Configuration {
    /// Settings of the process.
    pub process: Arc<Process>,
    /// Its shops, at least one, in the order in which they are stated.
    pub shops: Vec<Arc<Settings>>,
    /// Warnings about settings that are valid and seldom wanted.
    pub warnings: Vec<String>,
}

impl Configuration {
    /// Resolves `flags`, the environment and the files that they name, at the time `now`.
    pub fn resolve(flags: &ServeOptions, now: SystemTime) -> Result<Self, ConfigError> {
        Self::resolve_in(flags, &|name| std::env::var_os(name), now)
    }

    pub(super) fn resolve_in(
        flags: &ServeOptions,
        environment: Environment<'_>,
        now: SystemTime,
    ) -> Result<Self, ConfigError> {
        let path = flags.config.as_deref();
        let text = text(path)?;
        let (mut document, mut values, mut sections) = Document::read(path, &text, environment);
        flags.put_over(&mut sections, &|_| false);
        let files = shop_files(&sections, &mut document);
        if values.shops.is_empty() && files.is_empty() {
            let settings = Settings::complete(sections, Mount::default(), None, document, now)?;
            let (process, warnings) = (Arc::clone(&settings.process), settings.warnings.clone());
            return Ok(Self { process, shops: vec![Arc::new(settings)], warnings });
        }
        let process = Arc::new(Process::resolve(sections, &mut document));
        warnings::of_process(&process, &mut document);
        let (mut taken, mut problems, mut found) = (mount::Taken::default(), Vec::new(), Vec::new());
        let mut warnings = document.warnings();
        let tables = mem::take(&mut values.shops);
        let common = Common { flags, process: &process, file: &document.into_file()?, values: &values, now };
        let mut take = |shop: Result<Settings, ConfigError>| match shop {
            Ok(settings) => found.push(Arc::new(settings)),
            Err(ConfigError(more)) => problems.extend(more),
        };
        for table in tables {
            take(common.shop(Document::of_shop(path, &text, environment), table, "", &mut taken));
        }
        for ShopFile { path, name, text } in &files {
            let table = Document::shop_file(path, text, environment);
            let document = Document::of_shop(Some(path), text, environment);
            take(table.and_then(|table| common.shop(document, table, name, &mut taken)));
        }
        if !problems.is_empty() {
            return Err(ConfigError(problems));
        }
        warnings.extend(found.iter().flat_map(|shop| shop.warnings.iter().cloned()));
        Ok(Self { process, shops: found, warnings })
    }

    /// Returns the shop of a process that has one only.
    pub fn single(&self) -> Option<&Arc<Settings>> {
        self.shops.first().filter(|shop| !shop.mount.is_one_of_several)
    }

    /// Returns `true` if all shops are under the policy `development`.
    pub fn is_development(&self) -> bool {
        self.shops.iter().all(|shop| shop.policy == Policy::Development)
    }

    /// Returns the data directories of all shops.
    pub fn directories(&self) -> BTreeSet<&Path> {
        self.shops.iter().map(|shop| &*shop.sections.data.dir).collect()
    }

    /// Returns the time that requests in flight have to finish after a shutdown.
    pub fn drain(&self) -> Duration {
        self.shops.iter().map(|shop| shop.drain).max().unwrap_or_default()
    }
}

/// A file that is about one shop.
struct ShopFile {
    path: PathBuf,
    /// Name of the file without its ending.
    name: String,
    text: String,
}

/// Inputs that all shops of a process share.
struct Common<'a> {
    flags: &'a ServeOptions,
    process: &'a Arc<Process>,
    file: &'a File<'a>,
    values: &'a Values<'a>,
    now: SystemTime,
}

impl<'a> Common<'a> {
    /// Completes and checks one shop, which is called `name` where its table does not say it.
    fn shop(
        &self,
        mut document: Document<'a>,
        mut table: DeTable<'a>,
        name: &str,
        taken: &mut mount::Taken,
    ) -> Result<Settings, ConfigError> {
        let entry = document.selected(&mut table, name);
        let mount = mount::resolve(&entry, taken, &mut document);
        let mut sections = document.inherit(table, self.file, self.values);
        self.flags.put_over(&mut sections, &|key| document.states(key));
        // The same for all shops; only the process has it completed.
        sections.server.trusted_proxies.clone_from(&self.process.server.trusted_proxies);
        Settings::complete(sections, mount, Some(self.process), document, self.now)
    }
}

/// Returns the address to listen on, and what one has to ask for to hear of a shop: `true` if TLS is spoken there, a host
/// and the path of a shop. Whether the files are in order that the configuration names makes no difference.
pub fn listener(flags: &ServeOptions) -> Result<Listener, ConfigError> {
    let environment = |name: &str| std::env::var_os(name);
    let path = flags.config.as_deref();
    let text = text(path)?;
    let (mut document, mut values, mut sections) = Document::read(path, &text, &environment);
    flags.put_over(&mut sections, &|_| false);
    let files = shop_files(&sections, &mut document);
    let mut mount = Mount::default();
    if let Some(mut table) = mem::take(&mut values.shops).into_iter().next() {
        let mut shop = Document::of_shop(path, &text, &environment);
        let entry = shop.selected(&mut table, "");
        mount = mount::resolve(&entry, &mut mount::Taken::default(), &mut shop);
    } else if let Some(file) = files.first() {
        let mut table = Document::shop_file(&file.path, &file.text, &environment)?;
        let mut shop = Document::of_shop(Some(&file.path), &file.text, &environment);
        let entry = shop.selected(&mut table, &file.name);
        mount = mount::resolve(&entry, &mut mount::Taken::default(), &mut shop);
    }
    let tls = sections.server.tls_certificate_file.is_some();
    document.settle(Listener { address: sections.server.listen.0, tls, mount })
}

/// Listen address of a process, and the mount point of its first shop.
#[derive(Debug)]
pub struct Listener {
    /// Address that it listens on.
    pub address: SocketAddr,
    /// `true` if it speaks TLS there.
    pub tls: bool,
    /// Place of its first shop.
    pub mount: Mount,
}

/// Reads the configuration file; there is nothing in it if there is none.
fn text(path: Option<&Path>) -> Result<String, ConfigError> {
    path.map_or(Ok(String::new()), |path| {
        fs::read_to_string(path).map_err(|error| ConfigError(vec![format!("cannot read {}: {error}", path.display())]))
    })
}

/// Reads the files in the folder of shops, in the order of their names.
fn shop_files(sections: &Sections, document: &mut Document<'_>) -> Vec<ShopFile> {
    let Some(folder) = &sections.server.shops_dir else { return Vec::new() };
    let read = || -> std::io::Result<Vec<ShopFile>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&**folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == ENDING) {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let text = fs::read_to_string(&path)
                    .map_err(|error| std::io::Error::other(format!("cannot read {}: {error}", path.display())))?;
                files.push(ShopFile { path, name, text });
            }
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(files)
    };
    read().unwrap_or_else(|error| {
        document.add("server.shops_dir", format_args!("{}: {error}", folder.display()));
        Vec::new()
    })
}

/// Completes the public URL of a shop that states hosts of its own and no URL: its first host, where others reach the
/// gateway, or over https if nobody says how. A name of this machine is reached where the process listens.
pub(super) fn address(server: &mut Server, mount: &Mount, document: &Document<'_>) {
    let Some(host) = mount.hosts.first().filter(|_| !document.states("server.public_url")) else { return };
    match &mut server.public_url {
        Some(WebUrl(url)) => {
            let is_own = url.host_str().is_some_and(|host| mount.hosts.iter().any(|own| own == host));
            if !is_own {
                // A host name that was read from a URL is one of a URL.
                let _ = url.set_host(Some(host));
            }
        }
        None if mount.is_local() => {}
        none => *none = url::Url::parse(&format!("https://{host}")).ok().map(WebUrl),
    }
}

/// Returns the shop that a command names, or the only one of the configuration.
pub fn shop_named(configuration: &Configuration, name: Option<&ShopId>) -> Result<Arc<Settings>, String> {
    let names = || configuration.shops.iter().map(|shop| shop.mount.id.to_string()).collect::<Vec<_>>().join(", ");
    match name {
        Some(name) => {
            let found = configuration.shops.iter().find(|shop| shop.mount.id == *name).cloned();
            found.ok_or_else(|| format!("there is no shop `{name}` in the configuration; there are {}", names()))
        }
        None => configuration
            .single()
            .cloned()
            .ok_or_else(|| format!("the configuration has several shops; choose one with --shop: {}", names())),
    }
}
