//! Backend for shops behind Shopify's Storefront GraphQL API: the shop's catalog, and a sales service that takes prices
//! from the shop's cart. Buyers pay on a page of the shop.

use std::{error::Error, fs, path::PathBuf, sync::Arc, time::Duration};

use axum::{Router, response::IntoResponse as _, routing::get};
use http::{HeaderValue, header};
use ucp_config::TokenKind;
use ucp_core::ports::OrderInbox;
use ucp_net::coalescing::Capacity;
use ucp_payment::Secret;
use ucp_rest::publication::CACHED;
use ucp_service::signing::CurrentKey;
use ucp_shopify::{
    Bot, OrderNotices, Storefront, Token,
    bot::Signing,
    catalog::Options,
    client::{Client, NoToken},
};
use ucp_trust::signature::bot::{DIRECTORY_PATH, DIRECTORY_TYPE, directory};

use super::{Opened, RemotePlace, chance, down, monotonic, reached};
use crate::clock;

/// Interval at which the file of the access token is read again.
const TOKEN_INTERVAL: Duration = Duration::from_secs(5);

pub(super) async fn open(place: &RemotePlace<'_>) -> Result<Opened, Box<dyn Error>> {
    let RemotePlace { upstream, .. } = place;
    let section = &place.settings.sections.upstream;
    let kind = section.token_kind;
    let token = upstream.token.as_ref().map_or(Ok(Token::None), |shown| token(shown, kind))?;
    let mut options = Options::new(
        reached("shopify", place.settings, &place.upstream.url),
        token,
        monotonic(),
        chance(),
        clock::timestamp,
    );
    options.version.clone_from(&upstream.api_version);
    options.bot = identity(place, &upstream.bot).map(Arc::new);
    options.capacity = Capacity { bytes: section.cache_mb.bytes(), ..options.capacity };
    options.last.clone_from(&place.last);
    let storefront = Storefront::connect(options).await.map_err(|error| down(error.is_passing(), error))?;
    let (counters, stated) = (Arc::clone(storefront.counters()), storefront.clone());
    let statement = Arc::new(move || stated.standing().document().cloned());
    let router = match upstream.bot {
        ucp_config::Bot::Own => keys(Arc::clone(place.signing_key)),
        ucp_config::Bot::Given(_) | ucp_config::Bot::Unknown => Router::new(),
    };
    let client = storefront.client().clone();
    let secret = upstream.webhook_secret.as_ref();
    if secret.is_none() {
        tracing::warn!(
            "upstream sends no order events: checkouts paid on its pages are `canceled` when they expire; register a webhook, and set `upstream.webhook_secret_file` to the file with its secret"
        );
    }
    let order_inbox = secret.map(|secret| Arc::new(OrderNotices::new(secret.reveal())) as Arc<dyn OrderInbox>);
    let mut opened = Opened::of_remote_carts(place, storefront, Vec::new(), order_inbox, counters, statement);
    opened.router = opened.router.merge(router);
    if let (Some(file), Some(shown)) = (&upstream.token_file, &upstream.token) {
        opened.tasks.spawn(follow_token(client, file.clone(), shown.clone(), kind));
    }
    Ok(opened)
}

/// Converts a secret to an access token.
fn token(secret: &Secret, kind: TokenKind) -> Result<Token, NoToken> {
    match kind {
        TokenKind::Private => Token::private(secret.reveal()),
        TokenKind::Public => Token::public(secret.reveal()),
    }
}

/// Reads the file of the access token at intervals, and shows the shop the new token when it has changed. A file that
/// cannot be read, or has no token in it, is logged once, and the token from before stays.
async fn follow_token(client: Client, file: PathBuf, mut shown: Secret, kind: TokenKind) {
    let mut complaint = None;
    loop {
        tokio::time::sleep(TOKEN_INTERVAL).await;
        let path = file.clone();
        // A file system can keep a read waiting.
        let read = match tokio::task::spawn_blocking(move || fs::read_to_string(path)).await {
            Ok(Ok(text)) => text.parse::<Secret>().map_err(|error| error.to_string()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let checked = read.and_then(|secret| match token(&secret, kind) {
            Ok(token) => Ok((secret, token)),
            Err(error) => Err(error.to_string()),
        });
        match checked {
            Ok((secret, token)) => {
                complaint = None;
                if secret.reveal() != shown.reveal() {
                    client.set_token(token);
                    shown = secret;
                    tracing::info!(file = %file.display(), "upstream access token reloaded");
                }
            }
            Err(problem) => {
                if complaint.as_ref() != Some(&problem) {
                    tracing::error!(file = %file.display(), problem, "reloading the upstream access token failed, keeping the previous one");
                    complaint = Some(problem);
                }
            }
        }
    }
}

/// Returns the identity that the gateway states to the shop as a bot, if it is configured to state one.
fn identity(place: &RemotePlace<'_>, bot: &ucp_config::Bot) -> Option<Bot> {
    let now = Arc::new(clock::now);
    match bot {
        ucp_config::Bot::Unknown => None,
        ucp_config::Bot::Given(signature) => Some(Bot::given(signature.clone(), now)),
        ucp_config::Bot::Own => {
            let signing_key = Arc::clone(place.signing_key);
            let signing = Signing {
                agent: format!("{}{DIRECTORY_PATH}", place.base),
                shop: place.upstream.url.clone(),
                key: Arc::new(move || signing_key.get()),
            };
            Some(Bot::signing(signing, now))
        }
    }
}

/// Builds the route of the key directory, whose URL the gateway states as a bot: its published keys.
fn keys(signing_key: Arc<CurrentKey>) -> Router {
    let answer = async move || {
        let keys = directory(signing_key.published().iter()).to_string();
        let media_type = HeaderValue::from_static(DIRECTORY_TYPE);
        ([(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, CACHED)], keys).into_response()
    };
    Router::new().route(DIRECTORY_PATH, get(answer))
}
