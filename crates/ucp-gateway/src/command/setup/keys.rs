//! `keys generate`, `keys list` and `keys rotate`: manage the keys that the gateway signs with.
//!
//! A gateway that serves the same data directory picks the changes up by itself.

use std::{
    path::PathBuf,
    process::ExitCode,
    time::{Duration, UNIX_EPOCH},
};

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use ucp_config::shop_dir;
use ucp_host::clock::now;
use ucp_trust::{
    jwk,
    keyring::{Keyring, OwnKey},
};

use crate::command::{Done, output::say, place::ShopOptions};

#[derive(Debug, Subcommand)]
pub(crate) enum OwnKeysCommand {
    /// Generate a signing key and activate it. Other keys stay published.
    #[command(after_help = examples!("keys generate --data-dir ./shop"))]
    Generate(GenerateOptions),
    /// List the keys, newest first.
    #[command(after_help = examples!("keys list --data-dir ./shop", "keys list --data-dir ./shop --json"))]
    List(ListOptions),
    /// Generate a signing key, activate it, and retire all others.
    #[command(after_help = examples!(
        "keys rotate --data-dir ./shop",
        "keys rotate --data-dir ./shop --grace-days 0"
    ))]
    Rotate(RotateOptions),
}

#[derive(Debug, Args)]
pub(crate) struct GenerateOptions {
    #[command(flatten)]
    place: KeysPlace,
    /// Signature algorithm. Every platform can verify es256.
    #[arg(long, default_value = "es256", value_name = "ALGORITHM")]
    algorithm: Algorithm,
}

#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    #[command(flatten)]
    place: KeysPlace,
    /// Print the public keys as a JWK Set, as in the profile.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RotateOptions {
    #[command(flatten)]
    place: KeysPlace,
    /// Number of days for which the old keys stay published; 0 if they may be compromised.
    #[arg(long, default_value_t = 7, value_name = "DAYS", value_parser = clap::value_parser!(u16).range(0..=3650))]
    grace_days: u16,
    /// Signature algorithm of the new key [default: that of the active key].
    #[arg(long, value_name = "ALGORITHM")]
    algorithm: Option<Algorithm>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Algorithm {
    /// ECDSA with P-256 and SHA-256.
    Es256,
    /// ECDSA with P-384 and SHA-384.
    Es384,
    /// Ed25519 (RFC 8032), for Web Bot Auth. AP2 mandates need another key with another algorithm.
    Ed25519,
}

impl From<Algorithm> for jwk::Algorithm {
    fn from(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Es256 => Self::Es256,
            Algorithm::Es384 => Self::Es384,
            Algorithm::Ed25519 => Self::Ed25519,
        }
    }
}

/// Directory of a shop's keys.
#[derive(Debug, Args)]
pub(crate) struct KeysPlace {
    #[command(flatten)]
    shop: ShopOptions,
    /// Directory of the keys, as in `data.keys_dir` of the configuration [default: that, or `keys` in the data directory].
    #[arg(long, value_name = "DIRECTORY")]
    keys_dir: Option<PathBuf>,
}

impl KeysPlace {
    fn dir(&self) -> Result<PathBuf, Box<dyn std::error::Error>> {
        let location = self.shop.locate()?;
        Ok(match &self.keys_dir {
            Some(dir) => shop_dir(dir, &location.shop),
            None => location.keys,
        })
    }

    /// Opens the keys.
    pub(crate) fn open(&self) -> Result<Keyring, Box<dyn std::error::Error>> {
        Ok(Keyring::open(&self.dir()?)?)
    }
}

pub(crate) fn run(command: &OwnKeysCommand) -> Done {
    match command {
        OwnKeysCommand::Generate(options) => {
            let mut keyring = options.place.open()?;
            let own = keyring.generate(options.algorithm.into(), now())?;
            say!("{} is the active signing key now.", own.kid());
        }
        OwnKeysCommand::List(options) => list(options)?,
        OwnKeysCommand::Rotate(options) => {
            let grace = Duration::from_secs(u64::from(options.grace_days) * 24 * 60 * 60);
            let mut keyring = options.place.open()?;
            let own = keyring.rotate(options.algorithm.map(Into::into), grace, now())?;
            say!("{} is the active signing key now.", own.kid());
            for own in &keyring.list()[1..] {
                say!("{} is {}.", own.kid(), state(own, None));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(options: &ListOptions) -> Result<(), Box<dyn std::error::Error>> {
    let keyring = options.place.open()?;
    if options.json {
        say!("{:#}", json!({ "keys": keyring.published(now()) }));
        return Ok(());
    }
    if keyring.list().is_empty() {
        // On standard error, because scripts count the lines of standard output.
        eprintln!("There are no keys in {}; `keys generate` makes one.", options.place.dir()?.display());
    }
    let signer = keyring.signer().map(|signer| signer.public().kid());
    for own in keyring.list() {
        let age = unix().saturating_sub(own.created) / (24 * 60 * 60);
        say!("{}  {}  {age} days old  {}", own.kid(), own.key.algorithm().as_str(), state(own, signer));
    }
    Ok(())
}

/// Returns the current time in seconds since 1970.
fn unix() -> u64 {
    now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Describes the current state of a key; `signer` is the `kid` of the key that signs.
fn state(own: &OwnKey, signer: Option<&str>) -> String {
    match own.retired {
        Some(retired) => match retired.publish_until.saturating_sub(unix()) {
            0 => "retired, and not published any more".to_owned(),
            seconds => format!("retired, and published for {} more days", seconds.div_ceil(24 * 60 * 60)),
        },
        None if signer == Some(own.kid()) => "signs".to_owned(),
        None => "published".to_owned(),
    }
}
