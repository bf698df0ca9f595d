//! The engine of the directory: what the operations on merchants and locations answer, by the facts of a store of
//! merchants and of a geocoder.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`port`] | what the operations ask of a store of merchants and of a geocoder |
//! | [`index`] | a whole directory in memory, and how it answers queries |
//! | `words` | texts as words for comparison |
//! | [`search`], [`detail`] | the operations of the draft |
//! | [`location`] | the operations of the standard |
//! | `paging` | positions in their answers |

pub mod detail;
pub mod index;
pub mod location;
mod paging;
pub mod port;
pub mod search;
mod words;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use ucp_core::{Answer, Refusal, call::DirectoryRequest, catalog::cursor::Cursors, ports::Directory};

use self::port::{Geocoder, Merchants};

/// A directory that answers by these facts.
pub struct Engine {
    /// Merchants and their locations.
    pub merchants: Arc<dyn Merchants>,
    /// Geocoder of the addresses that callers name.
    pub geocoder: Arc<dyn Geocoder>,
}
ucp_core::opaque!(Engine);

#[async_trait]
impl Directory for Engine {
    async fn answer(
        &self,
        request: DirectoryRequest,
        cursors: &dyn Cursors,
        now: Timestamp,
    ) -> Result<Answer, Refusal> {
        let (merchants, geocoder) = (&*self.merchants, &*self.geocoder);
        Ok(match request {
            DirectoryRequest::SearchMerchants(request) => {
                search::search(merchants, cursors, geocoder, &request, now).await?.into()
            }
            DirectoryRequest::GetMerchant(request) => detail::detail(merchants, &request, now).await?.into(),
            DirectoryRequest::SearchLocations(request) => {
                location::search(merchants, cursors, &request, now).await?.into()
            }
            DirectoryRequest::LookupLocations(request) => location::lookup(merchants, &request, now).await?.into(),
        })
    }
}
