//! A shop behind Shopify's Storefront GraphQL API: its goods, and a desk that lets its cart say what they cost. Buyers pay on
//! the shop's own page.

use std::{error::Error, sync::Arc};

use ucp_proxy::{
    resilience::shared::Capacity,
    storefront::{Storefront, Token, catalog::Options},
};

use super::{Opened, Place, chance, monotonic, reached};
use crate::config::upstream::{TokenKind, UpstreamKind};

pub(super) async fn open(place: &Place<'_>) -> Result<Opened, Box<dyn Error>> {
    let Place { upstream, database, .. } = place;
    let UpstreamKind::Shopify { token_kind, api_version } = &upstream.kind else {
        return Err("this backend is for Shopify's Storefront API".into());
    };
    let token = match (&upstream.token, token_kind) {
        (None, _) => Token::None,
        (Some(token), TokenKind::Private) => Token::private(token.reveal())?,
        (Some(token), TokenKind::Public) => Token::public(token.reveal())?,
    };
    let mut options =
        Options::new(reached("shopify", place), token, database.cursor_key().clone(), monotonic(), chance());
    options.version.clone_from(api_version);
    options.capacity = Capacity { bytes: u64::from(upstream.cache_mb) << 20, ..options.capacity };
    let storefront = Storefront::connect(options).await?;
    let counters = Arc::clone(storefront.counters());
    Ok(Opened::at_a_desk(place, storefront, counters))
}
