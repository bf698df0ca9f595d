//! `keys api`: an API key for a platform.

use std::process::ExitCode;

use ucp_trust::api_key::ApiKey;

use super::Done;

pub(crate) fn run() -> Done {
    let key = ApiKey::generate()?;
    // What is not for scripts goes to the other stream.
    eprintln!("The key, for the platform, over a channel that nobody else reads. It is shown this once:");
    println!("{}", key.reveal());
    eprintln!("Its hash, for the [[platform]] of the configuration:");
    println!("api_key_hash = \"{}\"", key.hash());
    Ok(ExitCode::SUCCESS)
}
