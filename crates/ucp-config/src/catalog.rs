//! The copy of the shop's catalog, with the place of its feed and its secret.

use std::path::PathBuf;

use ucp_net::outbound::check_address;
use ucp_payment::Secret;
use url::Url;

use super::{
    choice::{BackendKind, CatalogSource},
    document::Document,
    sections,
};

/// A copy of the shop's catalog.
#[derive(Debug)]
pub struct CatalogCopy {
    /// Feed; `None` if the shop is asked page by page.
    pub feed: Option<FeedPlace>,
    /// Secret with which the shop signs its events about changed products, if it is not that of the upstream.
    pub webhook_secret: Option<Secret>,
}

/// Place of a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedPlace {
    /// A file.
    File(PathBuf),
    /// An address.
    Web(Url),
}

/// Resolves the section; `None` if nothing is copied.
pub(super) fn resolve(
    said: &mut sections::Catalog,
    backend: BackendKind,
    document: &mut Document<'_>,
) -> Option<CatalogCopy> {
    document.refuse_foreign("catalog", said.source, None);
    let webhook_secret = document.secret("catalog.webhook_secret", said.webhook_secret_file.as_deref(), None);
    said.webhook_secret = Some(if webhook_secret.is_some() { "set" } else { "none" }.to_owned());
    let is_contract = matches!(backend, BackendKind::Http | BackendKind::Mapped);
    let feed = match said.source {
        CatalogSource::None => return None,
        CatalogSource::Backend if is_contract => None,
        CatalogSource::Backend => {
            return document.none("catalog.source", "\"backend\" needs the backend \"http\" or \"mapped\"");
        }
        CatalogSource::Feed if is_contract || backend == BackendKind::Embedded => Some(feed(said, document)?),
        CatalogSource::Feed => {
            return document.none("catalog.source", "\"feed\" needs the backend \"embedded\", \"http\" or \"mapped\"");
        }
    };
    Some(CatalogCopy { feed, webhook_secret })
}

fn feed(said: &sections::Catalog, document: &mut Document<'_>) -> Option<FeedPlace> {
    match (&said.feed_file, &said.feed_url) {
        (Some(file), None) => Some(FeedPlace::File(file.to_path_buf())),
        (None, Some(url)) if check_address(&url.0, false).is_ok() => Some(FeedPlace::Web(url.0.clone())),
        (None, Some(_)) => {
            document.unfit("catalog.feed_url", "expected an https address without a user or password in it");
            None
        }
        _ => document.none("catalog.source", "this needs either `catalog.feed_file` or `catalog.feed_url`"),
    }
}
