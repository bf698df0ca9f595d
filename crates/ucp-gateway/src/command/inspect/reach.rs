//! Options that `doctor` and `rehearse` share, with which they reach a shop.

use std::{fs, path::PathBuf};

use clap::Args;
use ucp_client::http::{Http, Token};
use ucp_core::Release;
use ucp_host::address::web_url;
use url::Url;

/// Profile that calls name where no other is stated. A gateway for development takes it unread.
pub(super) const AGENT: &str = "https://agent.example.com/profile.json";

#[derive(Debug, Args)]
pub(crate) struct ReachOptions {
    /// URL of the shop, or of its profile.
    #[arg(value_parser = web_url)]
    pub(super) url: Url,
    /// UCP version of the requests, as a date [default: that of its profile].
    #[arg(long, value_name = "DATE", value_parser = release)]
    pub(super) release: Option<Release>,
    /// UCP profile stated in requests. A shop that fetches profiles needs an existing one.
    #[arg(long, env = "UCP_GATEWAY_AGENT_PROFILE", default_value = AGENT, value_name = "URL")]
    pub(super) profile: String,
    /// File with the bearer token. It is sent to the origin of the URL only.
    #[arg(long, value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
}

impl ReachOptions {
    /// Creates the client.
    pub(super) fn http(&self) -> Result<Http, Box<dyn std::error::Error>> {
        let read = |file: &PathBuf| {
            fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))
        };
        let token = self.token_file.as_ref().map(read).transpose()?.map(|text| Token::new(&text));
        let http = Http::new(&self.url, self.profile.clone(), token);
        Ok(http.map_err(|error| format!("{}: the address {error}", self.url))?)
    }
}

fn release(text: &str) -> Result<Release, String> {
    let known = || Release::ALL.iter().map(|release| release.date()).collect::<Vec<_>>().join(", ");
    Release::from_date(text).ok_or_else(|| format!("must be one of {}", known()))
}
