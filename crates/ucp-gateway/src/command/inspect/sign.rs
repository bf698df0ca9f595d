//! `sign`: signs an HTTP message in a file as the gateway would.

use std::{io::Write as _, path::PathBuf, process::ExitCode, sync::Arc};

use clap::Args;
use http::HeaderName;
use ucp_trust::signature::{SigningKey, message::RawMessage};

use super::message::{SchemeOption, read_message, signing_key, time};
use crate::command::{Done, output::remark, setup::keys::KeysPlace};

#[derive(Debug, Args)]
pub(crate) struct SignOptions {
    /// File with the message: a request or status line, headers, an empty line, the body. `-` reads standard input.
    message: PathBuf,
    /// File with the private key (JWK) [default: the active key of the gateway].
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    #[command(flatten)]
    place: KeysPlace,
    #[command(flatten)]
    scheme: SchemeOption,
    /// Additional headers to sign.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    cover: Vec<HeaderName>,
    /// Creation time of the signature, in seconds since 1970 [default: now].
    #[arg(long, value_name = "SECONDS")]
    at: Option<u32>,
    /// Print the signature base to standard error.
    #[arg(long)]
    explain: bool,
}

pub(crate) fn run(options: &SignOptions) -> Done {
    let mut message = RawMessage::parse(&read_message(&options.message)?)
        .map_err(|error| format!("{}: {error}", options.message.display()))?;
    let key = options.key()?;
    let base = message.sign(options.scheme.get(), &options.cover, &key, time(options.at))?;
    if options.explain {
        remark!("{}", String::from_utf8_lossy(&base));
    }
    std::io::stdout().write_all(&message.to_bytes())?;
    Ok(ExitCode::SUCCESS)
}

impl SignOptions {
    fn key(&self) -> Result<Arc<SigningKey>, Box<dyn std::error::Error>> {
        let Some(file) = &self.key else {
            let keyring = self.place.open()?;
            return keyring
                .signer()
                .cloned()
                .ok_or_else(|| "there is no key to sign with; `keys generate` makes one".into());
        };
        Ok(Arc::new(signing_key(file)?))
    }
}
