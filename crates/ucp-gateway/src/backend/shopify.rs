//! Backend for shops behind Shopify's Storefront GraphQL API: the shop's catalog, and a sales service that takes prices
//! from the shop's cart. Buyers pay on a page of the shop.

use std::{error::Error, sync::Arc};

use axum::{Router, response::IntoResponse as _, routing::get};
use http::header;
use ucp_net::coalescing::Capacity;
use ucp_rest::publication::MAX_AGE;
use ucp_service::signing::CurrentKey;
use ucp_shopify::{Bot, Storefront, Token, bot::Signing, catalog::Options};
use ucp_trust::signature::bot::{DIRECTORY_PATH, DIRECTORY_TYPE, directory};

use super::{Opened, Place, chance, monotonic, reached};
use crate::{
    clock,
    config::{self, TokenKind},
};

pub(super) async fn open(place: &Place<'_>) -> Result<Opened, Box<dyn Error>> {
    let Place { upstream, .. } = place;
    let section = &place.settings.sections.upstream;
    let token = match (&upstream.token, section.token_kind) {
        (None, _) => Token::None,
        (Some(token), TokenKind::Private) => Token::private(token.reveal())?,
        (Some(token), TokenKind::Public) => Token::public(token.reveal())?,
    };
    let mut options = Options::new(reached("shopify", place), token, monotonic(), chance());
    options.version.clone_from(&upstream.api_version);
    options.bot = identity(place, &upstream.bot).map(Arc::new);
    options.capacity = Capacity { bytes: section.cache_mb.bytes(), ..options.capacity };
    let storefront = Storefront::connect(options).await?;
    let counters = Arc::clone(storefront.counters());
    let router = match upstream.bot {
        config::Bot::Own => keys(Arc::clone(place.signing_key)),
        config::Bot::Given(_) | config::Bot::Unknown => Router::new(),
    };
    Ok(Opened { router, ..Opened::of_remote_carts(place, storefront, counters) })
}

/// Returns the identity that the gateway states to the shop as a bot, if it is configured to state one.
fn identity(place: &Place<'_>, bot: &config::Bot) -> Option<Bot> {
    let now = Arc::new(clock::now);
    match bot {
        config::Bot::Unknown => None,
        config::Bot::Given(signature) => Some(Bot::given(signature.clone(), now)),
        config::Bot::Own => {
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

/// Builds the route of the key directory, whose URL the gateway states as a bot: its published keys, cacheable for
/// [`MAX_AGE`] seconds.
fn keys(signing_key: Arc<CurrentKey>) -> Router {
    let answer = async move || {
        let keys = directory(signing_key.published().iter()).to_string();
        let cached = format!("public, max-age={MAX_AGE}");
        ([(header::CONTENT_TYPE, DIRECTORY_TYPE.to_owned()), (header::CACHE_CONTROL, cached)], keys).into_response()
    };
    Router::new().route(DIRECTORY_PATH, get(answer))
}
