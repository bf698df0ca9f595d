//! `keys api`: generates an API key for a platform.

use std::process::ExitCode;

use ucp_trust::api_key::ApiKey;

use super::{Done, output::say};

pub(crate) fn run() -> Done {
    let key = ApiKey::generate()?;
    // Explanations go to standard error, so that scripts read only the key and its hash.
    eprintln!("The key, for the platform, over a channel that nobody else reads. It is shown this once:");
    say!("{}", key.reveal());
    eprintln!("Its hash, for the [[platform]] of the configuration:");
    say!("api_key_hash = \"{}\"", key.hash());
    Ok(ExitCode::SUCCESS)
}
