//! The pages of shops beside their operations: documentation, first page, reference of the API, playground.

use axum::Router;
use ucp_host::pages::{self, Subject};
use ucp_service::negotiated_profile::NegotiatedProfile;
use ucp_trust::directory::Directory;

use crate::{docs, workbench};

/// The pages of shops.
pub(crate) struct Pages;

impl pages::Pages for Pages {
    fn manual(&self, path: &str) -> Router {
        docs::router(path)
    }

    fn files(&self) -> Router {
        ucp_workbench::files()
    }

    fn about(&self, shop: &Subject<'_>, platforms: Option<&Directory<NegotiatedProfile>>) -> Router {
        workbench::router(shop, platforms)
    }
}
