//! Listen address of the admin API, and the token that its requests must carry.

use std::net::SocketAddr;

use ucp_payment::Secret;

use super::{document::Document, sections::Server, value::Listen};

/// Listen address and authentication of the admin API.
#[derive(Debug)]
pub struct Admin {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// Token that every request must carry. Without it, requests have to come from this machine, and not from a page in a
    /// browser.
    pub token: Option<Secret>,
}

/// Returns the configured admin API; `None` if there is none. A token is needed unless `development` is `true` and the
/// address is a loopback address.
pub(super) fn resolve(said: &mut Server, development: bool, document: &mut Document<'_>) -> Option<Admin> {
    let (file, variable) = (said.admin_token_file.as_deref(), said.admin_token_env.as_deref());
    let Some(Listen(listen)) = said.admin_listen else {
        let is_stated = file.is_some() || variable.is_some();
        return is_stated.then(|| document.none("server.admin_listen", "a token means nothing without this")).flatten();
    };
    if file.is_none() && variable.is_none() && development && listen.ip().to_canonical().is_loopback() {
        return Some(Admin { listen, token: None });
    }
    if file.is_some() == variable.is_some() {
        let problem = "this needs either `server.admin_token_file` or `server.admin_token_env`";
        return document.none("server.admin_listen", problem);
    }
    let token = document.secret("server.admin_token", file, variable)?;
    said.admin_token = Some("set".to_owned());
    Some(Admin { listen, token: Some(token) })
}
