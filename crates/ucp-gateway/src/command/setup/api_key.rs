//! `keys api`: generates an API key for a platform.

use std::process::ExitCode;

use ucp_trust::api_key::ApiKey;

use crate::command::{Done, output::say};

pub(crate) fn run() -> Done {
    let key = ApiKey::generate()?;
    // Explanations go to standard error, so that scripts read only the key and its hash.
    eprintln!("API key (shown once; send it to the platform securely):");
    say!("{}", key.reveal());
    eprintln!("Hash for [[platform]] in the configuration:");
    say!("api_key_hash = \"{}\"", key.hash());
    Ok(ExitCode::SUCCESS)
}
