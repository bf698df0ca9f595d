//! Composition of the webhook dispatcher, which sends platforms events about their orders.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::AtomicBool},
};

use async_trait::async_trait;
use http::HeaderValue;
use ucp_config::{Settings, WebhookId, WebhookRefusal, WebhookTimestamp};
use ucp_core::{Refusal, Release, ports::store::Store, sales::permalink};
use ucp_record::Tracer;
use ucp_rest::publication::PROFILE_PATH;
use ucp_service::{platform::Platforms, signing::CurrentKey};
use ucp_trust::{address::is_unpublished, post::Poster};
use ucp_webhook::{
    dispatcher::{Attempts, WebhookDispatcher},
    recipient::{Delivery, Recipient, Recipients},
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
        recipients: Arc::new(KnownRecipients { platforms, stated: stated(settings) }),
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
struct KnownRecipients {
    platforms: Platforms,
    /// What the operator states of registered platforms, by the URL of the profile or the identity.
    stated: HashMap<String, Stated>,
}

/// What the operator states of the webhooks of a platform.
struct Stated {
    url: Option<String>,
    release: Release,
    delivery: Arc<Delivery>,
}

/// Returns what the settings state of each platform.
fn stated(settings: &Settings) -> HashMap<String, Stated> {
    let of = |platform: &ucp_config::Platform| {
        let ucp_config::Webhook { url, headers, release, timestamp, id, refusal } = &platform.webhook;
        let delivery = Delivery {
            headers: headers.clone(),
            has_rfc3339_time: *timestamp == WebhookTimestamp::Rfc3339,
            names_entry: *id == WebhookId::Entry,
            parks_refused: *refusal == WebhookRefusal::Park,
        };
        let url = url.as_ref().map(|url| url.as_str().to_owned());
        (platform.profile.as_str().to_owned(), Stated { url, release: *release, delivery: Arc::new(delivery) })
    };
    settings.platforms.iter().map(of).collect()
}

#[async_trait]
impl Recipients for KnownRecipients {
    async fn find(&self, owner: &str) -> Result<Recipient, Refusal> {
        let stated = self.stated.get(owner);
        let delivery = stated.map(|stated| Arc::clone(&stated.delivery)).unwrap_or_default();
        let url = stated.and_then(|stated| stated.url.clone());
        let (known, release, active) = match self.platforms.known(owner).await {
            // It is told in every detail, like a caller whose profile is not known.
            Err(_) if is_unpublished(owner) => {
                let release = stated.map_or(Release::NEWEST, |stated| stated.release);
                let active = self.platforms.business().everything(release);
                return Ok(Recipient { webhook: url, release, active, delivery });
            }
            known => known?,
        };
        let webhook = url.or_else(|| known.profile.order_webhook.clone());
        Ok(Recipient { webhook, release, active, delivery })
    }
}
