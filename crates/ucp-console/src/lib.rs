//! Pages of a gateway in a browser, for developers and operators, with the documentation, and the admin API, which the
//! operator pages call.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `page` | what all pages have in common: frame, headers, blocks to copy |
//! | `facts` | what pages tell about a gateway |
//! | `assets` | style, scripts, icon and `robots.txt` |
//! | `home` | the page at `/`, and `llms.txt` |
//! | `docs` | the documentation, with a search |
//! | [`errors`] | the page of the documentation about codes of errors |
//! | [`sales_terms`] | the page of the documentation about sales terms, and their JSON Schema |
//! | `reference` | every operation over REST and MCP, in all releases |
//! | `playground` | the shop as a buyer would see it, beside what goes over the wire |
//! | [`inspector`] | calls as they happened |
//! | [`admin`] | the admin endpoint, and the pages for operators |
//! | `local` | requests of programs on this machine |
//!
//! Pages are rendered here. Scripts are served files and call the gateway as every other client does; nothing is loaded
//! from elsewhere, and nothing that comes as data is rendered as markup.

pub mod admin;
mod assets;
mod docs;
pub mod errors;
mod facts;
mod home;
pub mod inspector;
mod local;
mod page;
mod playground;
mod reference;
pub mod sales_terms;

use axum::Router;
use ucp_host::pages::{self, Subject};
use ucp_service::negotiated_profile::NegotiatedProfile;
use ucp_trust::directory::Directory;

use self::facts::Facts;

/// The pages of shops: documentation, first page and reference of the API for everyone, the playground under the policy
/// `development`.
#[derive(Debug)]
pub struct Pages;

impl pages::Pages for Pages {
    fn manual(&self, shop: &Subject<'_>) -> Router {
        docs::router(shop)
    }

    fn files(&self) -> Router {
        assets::router()
    }

    fn about(&self, shop: &Subject<'_>, platforms: Option<&Directory<NegotiatedProfile>>) -> Router {
        let facts = Facts::of(shop);
        let pages = home::router(&facts).merge(reference::router(&facts));
        if facts.development { pages.merge(playground::router(shop, &facts, platforms)) } else { pages }
    }
}
