//! Examination of a shop, or of the profile of a platform, by rules that each have a name and a cure.
//!
//! Nothing is written unless that is allowed, and then a checkout is made and canceled; nothing is ever paid. A rule
//! that cannot be looked at is told with the reason.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`rule`] | the rules |
//! | [`report`] | findings and figures |
//! | `profile` | rules of profiles |
//! | `answers` | rules that hold for every answer |
//! | `transport` | tools, errors, parity of REST and MCP |
//! | `catalog` | products as agents find them |
//! | `purchase` | carts and checkouts |
//! | `platform` | profiles of platforms |

mod answers;
mod catalog;
mod platform;
mod profile;
mod purchase;
pub mod report;
pub mod rule;
mod transport;

use ucp_core::Release;
use url::Url;

use self::{answers::Answers, report::Examination};
pub use self::{platform::platform, report::Report, rule::Rule};
use crate::{
    http::Http,
    shop::{CalledShop, TRANSPORTS, profile_url},
};

/// Options of an examination.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `true` to make a checkout and to cancel it.
    pub allow_writes: bool,
    /// Release to call the shop in; that of its profile, if it is known, where none is named.
    pub release: Option<Release>,
    /// Identifier of something to buy, for a shop without a catalog.
    pub item: Option<String>,
}

/// Examines a shop.
pub async fn shop(http: Http, address: &Url, options: &Options) -> Report {
    let address = profile_url(address);
    let at = address.as_str();
    let mut examination = Examination::of(at.to_owned());
    let Some((_, document)) = profile::fetch(&http, &address, &mut examination).await else {
        return examination.finish();
    };
    profile::release(&document, at, &mut examination);
    profile::declarations(&document, at, &mut examination);
    profile::business(&document, at, &mut examination);
    profile::versions(&http, &document, &address, &mut examination).await;
    let shop = match CalledShop::find(http, &address, options.release).await {
        Ok(shop) => shop,
        Err(lost) => {
            examination.check(Rule::ProfileOperations, false, at, || lost.to_string());
            return examination.finish();
        }
    };
    examination.release(shop.release.date());
    let operations = &shop.profile.offering.operations;
    let reached = shop.rest.is_some() || shop.mcp.is_some();
    examination.check(Rule::ProfileOperations, reached && !operations.is_empty(), at, || {
        let over = if reached { "endpoints, and no operation that is known" } else { "no endpoint for REST or MCP" };
        over.to_owned()
    });
    for operation in operations {
        examination.offers(operation.row().name.to_owned());
    }
    let mut answers = Answers::default();
    transport::tools(&shop, &mut examination).await;
    transport::both(&shop, &mut answers, &mut examination).await;
    if let Some(transport) = TRANSPORTS.into_iter().find(|transport| shop.has(*transport)) {
        let products = catalog::examine(&shop, transport, &mut answers, &mut examination).await;
        if options.allow_writes {
            let item = options.item.as_deref();
            purchase::examine(&shop, transport, &products, item, &mut answers, &mut examination).await;
        } else {
            purchase::skipped(&mut examination);
        }
    }
    answers.finish(&mut examination);
    examination.finish()
}
