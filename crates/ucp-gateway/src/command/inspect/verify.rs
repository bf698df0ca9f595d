//! `verify`: verifies and explains the signatures of an HTTP message in a file.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use ucp_trust::{
    jwk,
    signature::{
        Signed,
        explain::{difference, explain},
        message::RawMessage,
    },
};

use super::message::{SchemeOption, read_message, time};
use crate::command::{Done, output::say};

#[derive(Debug, Args)]
pub(crate) struct VerifyOptions {
    /// File with the message: a request or status line, headers, an empty line, the body. `-` reads standard input.
    message: PathBuf,
    /// File with the sender's public keys: its UCP profile, a JWK Set or a JWK.
    #[arg(long, value_name = "FILE")]
    keys: PathBuf,
    #[command(flatten)]
    scheme: SchemeOption,
    /// File with the signature base of the sender, to compare with.
    #[arg(long, value_name = "FILE")]
    base: Option<PathBuf>,
    /// Time at which the signatures must be valid, in seconds since 1970 [default: now].
    #[arg(long, value_name = "SECONDS")]
    at: Option<u32>,
}

pub(crate) fn run(options: &VerifyOptions) -> Done {
    let message = RawMessage::parse(&read_message(&options.message)?)
        .map_err(|error| format!("{}: {error}", options.message.display()))?;
    let document: serde_json::Value = serde_json::from_str(&read_text(&options.keys)?)
        .map_err(|error| format!("{} is not JSON: {error}", options.keys.display()))?;
    let mut notes = Vec::new();
    let keys = jwk::read_document(&document, &mut notes)
        .ok_or_else(|| format!("{} holds no keys (keys or signing_keys)", options.keys.display()))?;
    for note in notes {
        say!("note: {note}");
    }
    let theirs = options.base.as_deref().map(read_text).transpose()?;

    let (view, now) = (message.view(options.scheme.get()), time(options.at));
    let signed = match Signed::read(message.headers()) {
        Ok(Some(signed)) => signed,
        Ok(None) => {
            say!("The message is not signed.");
            return Ok(ExitCode::from(2));
        }
        Err(refusal) => {
            say!("{refusal}");
            return Ok(ExitCode::from(2));
        }
    };
    for explanation in explain(&signed, &view, message.body(), &keys, now) {
        say!("{explanation}");
        if let (Some(theirs), Ok(ours)) = (&theirs, &explanation.base) {
            let differing = difference(ours, theirs);
            if differing.is_empty() {
                say!("  compared: the other side signed the same base");
            }
            for line in differing {
                say!("  compared: {line}");
            }
        }
    }
    match signed.verify(&view, message.body(), &keys, now) {
        Ok(verified) => {
            say!("valid: signed with the key {} ({})", verified.keyid, verified.label);
            Ok(ExitCode::SUCCESS)
        }
        Err(refusal) => {
            say!("{refusal}");
            Ok(ExitCode::from(2))
        }
    }
}

fn read_text(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{} cannot be read: {error}", file.display()))
}
