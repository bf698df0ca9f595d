//! Where the operator's own calls are taken, and what they have to show.

use std::{ffi::OsString, fs, net::SocketAddr, path::Path};

use ucp_payment::Secret;

use super::{Environment, Problems};

/// Where operators call.
#[derive(Debug)]
pub(crate) struct Admin {
    /// The address to listen on.
    pub(crate) listen: SocketAddr,
    /// What every call has to show: also from this machine, where a page in a browser could call as well.
    pub(crate) token: Secret,
}

/// What is configured; `None` for nothing.
pub(super) fn resolve(
    listen: Option<SocketAddr>,
    file: Option<&Path>,
    variable: Option<&str>,
    problems: &mut Problems<'_>,
    environment: Environment<'_>,
) -> Option<Admin> {
    let (key, text) = match (listen, file, variable) {
        (None, None, None) => return None,
        (None, ..) => {
            problems.add("server.admin_listen", "a token means nothing without this");
            return None;
        }
        (_, Some(path), None) => {
            let path = problems.document.relative(path);
            let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()));
            ("server.admin_token_file", text)
        }
        (_, None, Some(variable)) => {
            let text = match environment(variable).map(OsString::into_string) {
                Some(Ok(text)) => Ok(text),
                Some(Err(_)) => Err(format!("the value of `{variable}` is not UTF-8")),
                None => Err(format!("the environment has no variable `{variable}`")),
            };
            ("server.admin_token_env", text)
        }
        _ => {
            let problem = "this needs either `server.admin_token_file` or `server.admin_token_env`".to_owned();
            ("server.admin_listen", Err(problem))
        }
    };
    let token = text.and_then(|text| text.parse::<Secret>().map_err(|error| error.to_string()));
    let token = token.map_err(|problem| problems.add(key, problem)).ok()?;
    Some(Admin { listen: listen?, token })
}
