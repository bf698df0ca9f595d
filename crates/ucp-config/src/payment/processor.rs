//! A payment service provider, with the secrets that requests to it need.

use std::sync::Arc;

use ucp_core::purchase::payment::Declaration;
use ucp_payment::processor::{Options, Processor};

use super::{Entry, Open, sections};

/// Returns nothing: platforms have to know what to send.
pub(super) fn usual(_: &str) -> Option<Declaration> {
    None
}

pub(super) fn resolve(entry: &mut Entry<'_, '_>, said: &mut sections::Payment) -> Option<Open> {
    let endpoint = match &said.url {
        Some(url) => entry.endpoint("url", url),
        None => entry.none("url", "a processor needs the address of its provider"),
    };
    let previous_urls: Vec<_> =
        said.previous_urls.iter().filter_map(|url| entry.endpoint("previous_urls", url)).collect();
    let api_key = entry.secret("api_key", said.api_key_file.as_deref(), said.api_key_env.as_deref());
    let signing_secret =
        entry.secret("signing_secret", said.signing_secret_file.as_deref(), said.signing_secret_env.as_deref());
    said.secrets = Some("set".to_owned());
    let signing_key_id = said.signing_key_id.clone();
    if !signing_key_id.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\')) {
        entry.wrong("signing_key_id", "expected visible ASCII characters without quotes and backslashes");
    }
    let (endpoint, api_key, signing_secret) = (endpoint?, api_key?, signing_secret?);
    let [connect_timeout, request_timeout, deadline] = entry.times(said);
    let capture = said.capture.into();
    said.url = Some(endpoint.as_str().to_owned());
    said.previous_urls = previous_urls.iter().map(|endpoint| endpoint.as_str().to_owned()).collect();
    Some(Arc::new(move |declaration, clock, roots| {
        let (endpoint, key_id) = (endpoint.clone(), signing_key_id.clone());
        let options = Options::new(declaration, endpoint, api_key.clone(), key_id, signing_secret.clone(), clock);
        let previous_urls = previous_urls.clone();
        let options = Options {
            previous_urls,
            connect_timeout,
            request_timeout,
            deadline,
            capture,
            roots: roots.to_vec(),
            ..options
        };
        Ok(Arc::new(Processor::new(options)?))
    }))
}
