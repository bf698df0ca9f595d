//! `init`: writes a commented configuration, from flags and from answers on a terminal.

use std::{
    fmt::Write as _,
    fs::OpenOptions,
    io::{self, BufRead as _, IsTerminal as _, Write as _, stderr, stdin},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use toml::Value;
use ucp_host::clock;
use url::Url;

use crate::{
    command::{Done, output::say},
    terminal::Paint,
};
use ucp_config::{BackendKind, Configuration, Policy, ServeOptions, listen, public_url};

#[derive(Debug, Args)]
pub(crate) struct InitOptions {
    /// File to write. An existing file is not overwritten.
    #[arg(default_value = "gateway.toml", value_name = "FILE")]
    file: PathBuf,
    /// Backend type.
    #[arg(long, value_name = "BACKEND")]
    backend: Option<BackendKind>,
    /// URL of the upstream shop.
    #[arg(long, value_name = "URL", required_if_eq_any([("backend", "shopify"), ("backend", "http"), ("backend", "ucp")]))]
    upstream_url: Option<Url>,
    /// Mapping file, for the backend `mapped`.
    #[arg(long, value_name = "FILE", required_if_eq("backend", "mapped"))]
    mapping: Option<PathBuf>,
    /// File with the upstream access token.
    #[arg(long, value_name = "FILE")]
    upstream_token_file: Option<PathBuf>,
    /// Listen address.
    #[arg(long, value_name = "ADDRESS", value_parser = listen)]
    listen: Option<std::net::SocketAddr>,
    /// Public base URL of the gateway.
    #[arg(long, value_name = "URL", value_parser = public_url)]
    public_url: Option<Url>,
    /// Data directory.
    #[arg(long, value_name = "DIRECTORY")]
    data_dir: Option<PathBuf>,
    /// Treatment of callers whose UCP profile cannot be fetched.
    #[arg(long, value_name = "POLICY")]
    policy: Option<Policy>,
    /// Do not ask questions, even on a terminal.
    #[arg(long)]
    yes: bool,
}

/// Values for the file.
#[derive(Debug)]
struct Answers {
    backend: BackendKind,
    upstream_url: Option<String>,
    mapping: Option<String>,
    upstream_token_file: Option<String>,
    listen: String,
    public_url: Option<String>,
    data_dir: String,
    policy: Option<Policy>,
}

pub(crate) fn run(options: &InitOptions) -> Done {
    let file = &options.file;
    let asks = !options.yes && stdin().is_terminal() && stderr().is_terminal();
    if file.exists() {
        return Err(format!("{} is there already; remove it, or name another file", file.display()).into());
    }
    let answers = if asks { ask(options)? } else { Answers::of(options) };
    let text = answers.text();
    write(file, &text).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    // What was written is read as `serve` reads it. A secret that is not there yet does not make the file wrong.
    let read = ServeOptions { config: Some(file.clone()), ..ServeOptions::default() };
    let paint = Paint::of_stdout();
    say!("wrote {}", paint.strong(file.display()));
    match Configuration::resolve(&read, clock::now()) {
        Ok(configuration) => {
            for warning in &configuration.warnings {
                say!("{} {warning}", paint.doubtful("note"));
            }
            say!("start it with: ucp-gateway serve --config {}", file.display());
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            say!("{} before it starts, this has to be put right:\n{error}", paint.doubtful("note"));
            say!("then check it with: ucp-gateway check-config --config {}", file.display());
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Writes a new file that others cannot read: secrets may be added to it.
fn write(file: &Path, text: &str) -> io::Result<()> {
    let mut written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    written.write_all(text.as_bytes())
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

impl Answers {
    fn of(options: &InitOptions) -> Self {
        Self {
            backend: options.backend.unwrap_or_default(),
            upstream_url: options.upstream_url.as_ref().map(Url::to_string),
            mapping: options.mapping.as_deref().map(shown),
            upstream_token_file: options.upstream_token_file.as_deref().map(shown),
            listen: options.listen.map_or_else(|| "127.0.0.1:8080".to_owned(), |address| address.to_string()),
            public_url: options.public_url.as_ref().map(Url::to_string),
            data_dir: options.data_dir.as_deref().map_or_else(|| "data".to_owned(), shown),
            policy: options.policy,
        }
    }

    /// Formats the file: what was answered, with the reason of each key, and where the other keys are.
    fn text(&self) -> String {
        let mut text = "\
# The configuration of ucp-gateway: `ucp-gateway serve --config FILE`; `ucp-gateway check-config --config FILE` shows the
# resulting settings. Every other key has a default: docs/gateway.example.toml lists them.
# Flags and environment variables override this file.
"
        .to_owned();
        let mut section = |name: &str, keys: &[(&str, &str, Option<String>, &str)]| {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "\n[{name}]");
            for (comment, key, value, example) in keys {
                let _ = match value {
                    Some(value) => writeln!(text, "# {comment}\n{key} = {}", Value::from(value.as_str())),
                    None => writeln!(text, "# {comment}\n# {key} = \"{example}\""),
                };
            }
        };
        let listens = "Listen address. Any address except loopback can be reached from other machines.";
        let public = "Public https URL of the gateway, behind the reverse proxy.";
        section(
            "server",
            &[
                (listens, "listen", Some(self.listen.clone()), ""),
                (public, "public_url", self.public_url.clone(), "https://shop.example.com"),
            ],
        );
        let kept = "Orders, carts, keys, and the products of the embedded shop. Back it up: `ucp-gateway data backup`.";
        section("data", &[(kept, "dir", Some(self.data_dir.clone()), "")]);
        if self.backend != BackendKind::Embedded {
            let mut keys = vec![("Backend type.", "backend", Some(name(&self.backend)), "")];
            if let Some(mapping) = &self.mapping {
                keys.push(("Mapping file.", "mapping", Some(mapping.clone()), ""));
            } else {
                keys.push(("URL of the upstream shop.", "url", self.upstream_url.clone(), "https://shop.example.com"));
            }
            let token = "File with the upstream access token.";
            keys.push((token, "token_file", self.upstream_token_file.clone(), "/run/secrets/shop-token"));
            section("upstream", &keys);
        }
        let policy = "Treatment of callers whose UCP profile cannot be fetched. Default: `development` on loopback, else `require`.";
        section("callers", &[(policy, "policy", self.policy.map(|policy| name(&policy)), "require")]);
        text
    }
}

/// Returns the word of a choice.
fn name(choice: &impl clap::ValueEnum) -> String {
    choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Asks for what no flag says.
fn ask(options: &InitOptions) -> Result<Answers, Box<dyn std::error::Error>> {
    let mut answers = Answers::of(options);
    if options.backend.is_none() {
        let kinds = "embedded, shopify, http, mapped or ucp";
        let read =
            |text: &str| <BackendKind as clap::ValueEnum>::from_str(text, true).map_err(|_| format!("must be {kinds}"));
        answers.backend = question(&format!("Backend type ({kinds}):"), "embedded", read)?;
    }
    let remote = !matches!(answers.backend, BackendKind::Embedded | BackendKind::Mapped);
    if remote && answers.upstream_url.is_none() {
        let read = |text: &str| Url::parse(text).map(|url| Some(url.to_string())).map_err(|error| error.to_string());
        answers.upstream_url = question("URL of the upstream shop (https://…):", "", read)?;
    }
    if answers.backend == BackendKind::Mapped && answers.mapping.is_none() {
        answers.mapping = question("Mapping file:", "mapping.toml", |text| Ok(Some(text.to_owned())))?;
    }
    if options.listen.is_none() {
        let read = |text: &str| listen(text).map(|address| address.to_string());
        answers.listen = question("Listen address:", "127.0.0.1:8080", read)?;
    }
    if options.public_url.is_none() {
        let read = |text: &str| match text {
            "" => Ok(None),
            text => public_url(text).map(|url| Some(url.to_string())),
        };
        answers.public_url = question("Public https URL (empty if there is none yet):", "", read)?;
    }
    if options.data_dir.is_none() {
        answers.data_dir = question("Data directory:", "data", |text| Ok(text.to_owned()))?;
    }
    Ok(answers)
}

/// Asks until the answer can be read. An empty one stands for `usual`.
fn question<T>(text: &str, usual: &str, read: impl Fn(&str) -> Result<T, String>) -> io::Result<T> {
    loop {
        let hint = if usual.is_empty() { String::new() } else { format!(" [{usual}]") };
        eprint!("{text}{hint} ");
        let mut line = String::new();
        if stdin().lock().read_line(&mut line)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the questions were not answered"));
        }
        let answer = line.trim();
        match read(if answer.is_empty() { usual } else { answer }) {
            Ok(value) => return Ok(value),
            Err(problem) => eprintln!("  {problem}"),
        }
    }
}
