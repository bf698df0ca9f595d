//! The pages of a shop beside its operations, which other crates make.

use axum::Router;
use ucp_config::Settings;
use ucp_core::Operation;
use ucp_service::negotiated_profile::NegotiatedProfile;
use ucp_trust::directory::Directory;
use url::Url;

/// A shop that pages are about.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Configuration of the shop.
    pub settings: &'a Settings,
    /// URL under which clients reach it.
    pub public_url: &'a Url,
    /// Display name.
    pub name: &'a str,
    /// Operations that it offers; none where pages do not depend on them.
    pub operations: &'a [Operation],
}

/// The pages of shops. By default there are none.
pub trait Pages: Send + Sync {
    /// Returns the documentation, as a shop serves it.
    fn manual(&self, shop: &Subject<'_>) -> Router {
        let _ = shop;
        Router::new()
    }

    /// Returns the files that the pages load, which are the same for all shops.
    fn files(&self) -> Router {
        Router::new()
    }

    /// Returns the pages about a shop. While it is open, it knows the platforms in `platforms`, to which the pages may
    /// add their own.
    fn about(&self, shop: &Subject<'_>, platforms: Option<&Directory<NegotiatedProfile>>) -> Router {
        let _ = (shop, platforms);
        Router::new()
    }
}

/// No pages.
impl Pages for () {}
