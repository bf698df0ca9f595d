//! `verify`: what the signatures of an HTTP message in a file prove, and what is wrong with them.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, ValueEnum};
use ucp_trust::{
    jwk,
    signature::{
        Scheme, Signed,
        explain::{difference, explain},
        message::RawMessage,
    },
};

use super::{Done, sign::time};
use crate::app::shown;

#[derive(Debug, Args)]
pub(crate) struct VerifyOptions {
    /// The message: a request or status line, headers, an empty line, the body. `-` reads standard input.
    message: PathBuf,
    /// The sender's public keys: its UCP profile, a JWK Set or a JWK, as file.
    #[arg(long, value_name = "FILE")]
    keys: PathBuf,
    #[command(flatten)]
    scheme: SchemeOption,
    /// The signature base of the other side, as file, to be compared.
    #[arg(long, value_name = "FILE")]
    base: Option<PathBuf>,
    /// The time to judge at, in seconds since 1970 [default: now].
    #[arg(long, value_name = "SECONDS")]
    at: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct SchemeOption {
    /// How the request reaches its server, where it does not say so itself. Decides which port is not written.
    #[arg(long, default_value = "https", value_name = "SCHEME")]
    scheme: SchemeName,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SchemeName {
    /// With TLS.
    Https,
    /// Without TLS.
    Http,
}

impl SchemeOption {
    pub(super) fn get(&self) -> Scheme {
        match self.scheme {
            SchemeName::Https => Scheme::Https,
            SchemeName::Http => Scheme::Http,
        }
    }
}

pub(crate) fn run(options: &VerifyOptions) -> Done {
    let message = RawMessage::parse(&read_message(&options.message)?)
        .map_err(|error| format!("{}: {error}", shown(&options.message)))?;
    let document: serde_json::Value = serde_json::from_str(&read_text(&options.keys)?)
        .map_err(|error| format!("{} is not JSON: {error}", shown(&options.keys)))?;
    let mut notes = Vec::new();
    let keys = jwk::read_document(&document, &mut notes)
        .ok_or_else(|| format!("{} holds no keys (keys or signing_keys)", shown(&options.keys)))?;
    for note in notes {
        println!("note: {note}");
    }
    let theirs = options.base.as_deref().map(read_text).transpose()?;

    let (view, now) = (message.view(options.scheme.get()), time(options.at));
    let signed = match Signed::read(message.headers()) {
        Ok(Some(signed)) => signed,
        Ok(None) => {
            println!("The message is not signed.");
            return Ok(ExitCode::from(2));
        }
        Err(refusal) => {
            println!("{refusal}");
            return Ok(ExitCode::from(2));
        }
    };
    for explanation in explain(&signed, &view, message.body(), &keys, now) {
        println!("{explanation}");
        if let (Some(theirs), Ok(ours)) = (&theirs, &explanation.base) {
            let differing = difference(ours, theirs);
            if differing.is_empty() {
                println!("  compared: the other side signed the same base");
            }
            for line in differing {
                println!("  compared: {line}");
            }
        }
    }
    match signed.verify(&view, message.body(), &keys, now) {
        Ok(verified) => {
            println!("valid: signed with the key {} ({})", verified.keyid, verified.label);
            Ok(ExitCode::SUCCESS)
        }
        Err(refusal) => {
            println!("{refusal}");
            Ok(ExitCode::from(2))
        }
    }
}

/// The bytes of a message, from a file or from standard input.
pub(super) fn read_message(file: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = match file.to_str() {
        Some("-") => std::io::stdin().read_to_end(&mut bytes),
        _ => fs::File::open(file).and_then(|mut file| file.read_to_end(&mut bytes)),
    };
    read.map(|_| bytes).map_err(|error| format!("{} cannot be read: {error}", shown(file)))
}

fn read_text(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{} cannot be read: {error}", shown(file)))
}
