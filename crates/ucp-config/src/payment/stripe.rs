//! A Stripe account, with the keys that requests to Stripe and events of Stripe need.

use std::sync::Arc;

use serde_json::{Map, Value};
use ucp_core::purchase::payment::Declaration;
use ucp_payment::{
    Secret, Stripe,
    stripe::{API, Mode, Options},
};

use super::{Entry, Open, sections};

/// Returns what is known of Stripe's handler. Version and schema come with the access to its preview.
pub(super) fn usual(id: &str) -> Option<Declaration> {
    Some(Declaration {
        name: "com.stripe.payments".to_owned(),
        id: id.to_owned(),
        version: String::new(),
        spec: "https://docs.stripe.com/agentic-commerce/protocols/ucp/stripe-payments-handler".to_owned(),
        schema: String::new(),
        instruments: vec!["card".to_owned()],
        config: Map::new(),
    })
}

pub(super) fn resolve(entry: &mut Entry<'_, '_>, said: &mut sections::Payment) -> Option<Open> {
    let endpoint = entry.endpoint("url", said.url.get_or_insert_with(|| API.to_owned()));
    let api_key = entry.secret("api_key", said.api_key_file.as_deref(), said.api_key_env.as_deref());
    let (file, variable) = (said.webhook_secret_file.as_deref(), said.webhook_secret_env.as_deref());
    if file.is_some() && variable.is_some() {
        entry.wrong("webhook_secret_file", "expected either this or `webhook_secret_env`");
    }
    let webhook_secret = entry.document.secret(&format!("{}.webhook_secret", entry.at), file, variable);
    said.secrets = Some(if webhook_secret.is_some() { "set, with one for events" } else { "set" }.to_owned());
    let (endpoint, api_key) = (endpoint?, api_key?);
    modes(entry, said, &api_key);
    let [connect_timeout, request_timeout, deadline] = entry.times(said);
    let capture = said.capture.into();
    said.url = Some(endpoint.as_str().to_owned());
    Some(Arc::new(move |declaration, clock, roots| {
        let options = Options::new(declaration, endpoint.clone(), api_key.clone(), clock);
        let (webhook_secret, roots) = (webhook_secret.clone(), roots.to_vec());
        let options = Options { webhook_secret, connect_timeout, request_timeout, deadline, capture, roots, ..options };
        Ok(Arc::new(Stripe::new(options)?))
    }))
}

/// Warns about keys of different modes, and about money that moves in development.
fn modes(entry: &mut Entry<'_, '_>, said: &sections::Payment, api_key: &Secret) {
    let key = if said.api_key_file.is_some() { "api_key_file" } else { "api_key_env" };
    let Some(mode) = Mode::of(api_key.reveal()) else {
        return entry.warn(key, "the key does not begin with `sk_` or `rk_` and its mode, as keys of Stripe do");
    };
    if entry.development && mode == Mode::Live {
        entry.warn(key, "the key moves money, and callers are not authenticated; it should be a test key");
    }
    let config = said.config.iter().flatten();
    let published = config.filter_map(|(_, value)| value.as_str().filter(|text| text.starts_with("pk_")));
    for published in published {
        if Mode::of(published) != Some(mode) {
            entry.warn("config", "the publishable key is of the other mode, test or live, than the secret one");
        }
    }
    let environment = said.config.as_ref().and_then(|config| config.get("environment")).and_then(Value::as_str);
    let other = match mode {
        Mode::Test => ["live", "production"],
        Mode::Live => ["test", "sandbox"],
    };
    if environment.is_some_and(|environment| other.contains(&environment.to_ascii_lowercase().as_str())) {
        entry.warn("config", "`environment` says another mode, test or live, than the secret key has");
    }
}
