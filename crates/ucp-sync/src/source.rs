//! Sources of a run: pages of a shop behind the backend contract, or a feed.

use std::{path::Path, time::Duration};

use jiff::Timestamp;
use ucp_contract::ContractShop;
use ucp_core::catalog::market::Market;
use ucp_net::Failure;
use ucp_shop::import::{BadRow, Change, Format, Import, Verdict, jsonl};

use crate::{error::SyncError, feed::Feed, state::UnderWay};

/// Number of attempts to get a page.
const ATTEMPTS: u32 = 5;

/// Pause before the second attempt; it doubles with each one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Source of a catalog.
#[derive(Clone, Debug)]
pub enum Source {
    /// A shop that is asked page by page.
    Shop(ContractShop),
    /// A feed.
    Feed(Feed),
}

/// A page of a run.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) changes: Vec<Change>,
    pub(crate) rejected: u64,
    /// Products that are sold, and cannot be used.
    pub(crate) unusable: Vec<String>,
    /// Position after the page; `None` if it is the last one.
    pub(crate) next: Option<String>,
    /// Number of products of the whole run, if it is known.
    pub(crate) total: Option<u64>,
    /// Bytes of a feed that were read, and all.
    pub(crate) bytes: Option<(u64, u64)>,
    /// Time as of which the products are stated: a page of a shop that of the question, a feed that of its last change.
    pub(crate) as_of: Timestamp,
}

/// Pages of a run that has begun.
pub(crate) enum Pages {
    Shop(ContractShop),
    Feed { import: Option<Box<Import>>, read: u64 },
}

impl Pages {
    /// Opens a feed at the position of a run.
    pub(crate) async fn of_feed(
        path: &Path,
        format: Option<Format>,
        market: &Market,
        run: &UnderWay,
    ) -> Result<Self, SyncError> {
        let (path, market, now) = (path.to_owned(), market.clone(), run.begun_at);
        let read: u64 = run.after.as_deref().and_then(|after| after.parse().ok()).unwrap_or_default();
        let opened = blocking(move || {
            let mut import = Import::open(&path, format, &market, now)?;
            // What was stored before the run was interrupted.
            for _ in 0..read {
                if import.next().is_none() {
                    break;
                }
            }
            Ok::<_, ucp_shop::import::Unimportable>(import)
        });
        let import = opened.await?.map_err(SyncError::Unreadable)?;
        Ok(Self::Feed { import: Some(Box::new(import)), read })
    }

    /// Returns the page after a position, asked for at the time `now`; `None` if the shop no longer knows the position.
    pub(crate) async fn page(
        &mut self,
        run: &UnderWay,
        limit: usize,
        market: &Market,
        now: Timestamp,
    ) -> Result<Option<Page>, SyncError> {
        match self {
            Self::Shop(shop) => {
                let (since, after) = (run.since, run.after.as_deref());
                let Some(found) = patiently(|| shop.page_of_all(since, after, limit)).await? else { return Ok(None) };
                let page = Page { next: found.next, total: found.total, ..Page::of(now) };
                read(found.products, market, page).await.map(Some)
            }
            Self::Feed { import, read } => {
                let mut own = import.take().ok_or(SyncError::Panicked)?;
                let as_of = run.changed_at.unwrap_or(run.begun_at);
                let (own, mut page, count) = blocking(move || {
                    let (mut page, mut count) = (Page::of(as_of), 0);
                    while count < limit as u64 {
                        let Some(item) = own.next() else { break };
                        count += 1;
                        match item {
                            Ok((_, change)) => page.changes.push(change),
                            Err(bad) if bad.verdict == Verdict::Unreadable => return Err(SyncError::BrokenOff(bad)),
                            Err(bad) => page.reject(&bad),
                        }
                    }
                    page.bytes = own.progress().total.map(|total| (own.progress().bytes(), total));
                    Ok((own, page, count))
                })
                .await??;
                *import = Some(own);
                *read += count;
                page.next = (count == limit as u64).then(|| read.to_string());
                Ok(Some(page))
            }
        }
    }
}

impl Page {
    const fn of(as_of: Timestamp) -> Self {
        Self { changes: Vec::new(), rejected: 0, unusable: Vec::new(), next: None, total: None, bytes: None, as_of }
    }

    fn reject(&mut self, bad: &BadRow) {
        // What the merchant does not offer is not a fault.
        if bad.verdict == Verdict::Faulty {
            self.rejected += 1;
            tracing::warn!(reason = %bad, "invalid product, left out of the catalog");
        }
    }
}

/// Adds what a shop states about products to a page. A product without variants is not sold.
async fn read(products: Vec<serde_json::Value>, market: &Market, mut page: Page) -> Result<Page, SyncError> {
    let market = market.clone();
    // Hundreds of products take long enough to hold up calls.
    blocking(move || {
        for (line, product) in (1..).zip(products) {
            let id = product["id"].as_str().map(str::to_owned);
            if let Some(id) = &id
                && (product["variants"].is_null() || product["variants"].as_array().is_some_and(Vec::is_empty))
            {
                page.changes.push(Change::Remove(id.clone()));
                continue;
            }
            match jsonl::change(product, line, &market) {
                Ok(change) => page.changes.push(change),
                Err(bad) => {
                    page.reject(&bad);
                    page.unusable.extend(id);
                }
            }
        }
        page
    })
    .await
}

/// Asks a shop for products by name. Those that it does not know are gone.
pub(crate) async fn named(
    shop: &ContractShop,
    ids: &[String],
    market: &Market,
    now: Timestamp,
) -> Result<Page, SyncError> {
    let products = patiently(|| shop.stated(ids)).await?;
    // A product that is stated, and cannot be used, is not gone.
    let stated: Vec<_> = products.iter().filter_map(|product| product["id"].as_str().map(str::to_owned)).collect();
    let mut page = read(products, market, Page::of(now)).await?;
    let gone = ids.iter().filter(|id| !stated.contains(id) && !names(&page.changes, id));
    let gone: Vec<_> = gone.map(|id| Change::Remove(id.clone())).collect();
    page.changes.extend(gone);
    Ok(page)
}

/// Returns `true` if an identifier names a variant of one of the products.
fn names(changes: &[Change], id: &str) -> bool {
    changes.iter().any(|change| match change {
        Change::Put(record) => record.variants.iter().any(|variant| variant.id == *id),
        Change::Remove(_) => false,
    })
}

/// Asks a shop, several times if it is down or busy.
async fn patiently<T, F: Future<Output = Result<T, Failure>>>(ask: impl Fn() -> F) -> Result<T, SyncError> {
    let mut pause = FIRST_PAUSE;
    for _ in 1..ATTEMPTS {
        match ask().await {
            Err(failure) if failure.is_passing() => {
                tracing::debug!(%failure, "retrying a page of the catalog");
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            done => return done.map_err(SyncError::Shop),
        }
    }
    ask().await.map_err(SyncError::Shop)
}

/// Runs work on the blocking pool.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, SyncError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| SyncError::Panicked)
}

/// Returns the time from which changes are asked for, so that none is missed although the shop's clock is read a little late.
pub(crate) fn since(as_of: Timestamp) -> Timestamp {
    as_of.checked_sub(jiff::SignedDuration::from_secs(60)).unwrap_or(Timestamp::MIN)
}
