//! Composition of the webhook dispatcher, which sends platforms events about their orders.

use std::sync::{Arc, atomic::AtomicBool};

use async_trait::async_trait;
use http::HeaderValue;
use ucp_config::Settings;
use ucp_core::{Refusal, Release, ports::store::Store, sales::permalink};
use ucp_record::Tracer;
use ucp_rest::publication::PROFILE_PATH;
use ucp_service::{platform::Platforms, signing::CurrentKey};
use ucp_trust::{address::is_unpublished, post::Poster};
use ucp_webhook::{
    dispatcher::{Attempts, WebhookDispatcher},
    recipient::{Recipient, Recipients},
};

use crate::{callers::fetch_options, clock};

/// Builds the dispatcher of a shop whose base URL is `base`. Its requests are signed with `signing_key`, and name the
/// gateway's profile in `UCP-Agent`.
pub(crate) fn dispatcher(
    store: Arc<dyn Store>,
    platforms: Platforms,
    settings: &Settings,
    signing_key: &Arc<CurrentKey>,
    base: &str,
    attempts: &Arc<Attempts>,
    tracer: Option<Arc<dyn Tracer>>,
) -> Result<WebhookDispatcher, Box<dyn std::error::Error>> {
    let (pages, signing_key) = (base.to_owned(), Arc::clone(signing_key));
    Ok(WebhookDispatcher {
        attempts: Arc::clone(attempts),
        outbox: store,
        recipients: Arc::new(KnownRecipients(platforms)),
        post: Arc::new(Poster::new(&fetch_options(settings))?),
        agent: HeaderValue::from_str(&format!("profile=\"{base}{PROFILE_PATH}\""))?,
        key: Arc::new(move || signing_key.get()),
        permalink: Arc::new(move |token| permalink(&pages, token)),
        clock: Arc::new(clock::timestamp),
        random: Arc::new(clock::jitter),
        tracer,
        warned: AtomicBool::new(false),
    })
}

/// Recipients looked up among the platforms of the gateway; a profile that is not cached is fetched.
struct KnownRecipients(Platforms);

#[async_trait]
impl Recipients for KnownRecipients {
    async fn find(&self, owner: &str) -> Result<Recipient, Refusal> {
        let (known, release, active) = match self.0.known(owner).await {
            Err(_) if is_unpublished(owner) => {
                return Ok(Recipient { webhook: None, release: Release::NEWEST, active: Arc::default() });
            }
            known => known?,
        };
        Ok(Recipient { webhook: known.profile.order_webhook.clone(), release, active })
    }
}
