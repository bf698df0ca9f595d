//! The composition: a backend, the pipeline in front of it, and the bindings in front of that.

use std::path::Path;

use axum::Router;
use ucp_core::{Operation, Release, port::Backend};
use ucp_mcp::{
    Server,
    http::{Config, ErrorStatus},
};
use ucp_rest::publication::Publication;
use ucp_service::{Pipeline, pipeline};
use ucp_store::{Options, Shop, StoreError, sample};
use url::Url;

use crate::{cli::DataOptions, docs};

/// The release that is served.
const RELEASE: Release = Release::V2026_04_08;

/// The operations that are mounted.
const OPERATIONS: &[Operation] = Operation::ALL;

/// A gateway that is ready to be put behind a listener.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) shop: Shop,
    pipeline: Pipeline,
}

impl App {
    /// Opens the shop of `data`, or creates the sample shop there.
    pub(crate) fn open(data: &DataOptions) -> Result<Self, StoreError> {
        let options = Options { cache_bytes: u64::from(data.cache_mb) << 20, ..Options::new(&data.data_dir) };
        let shop = Shop::open_or_create(&options, || (sample::market(), sample::records()))?;
        let backend = Backend { catalog: std::sync::Arc::new(shop.clone()) };
        Ok(Self { shop, pipeline: pipeline(backend) })
    }

    /// Everything under one router: REST, MCP, the documents, and the page that shows them.
    pub(crate) fn router(&self, public_url: &Url, error_status: ErrorStatus) -> Router {
        let base = base(public_url);
        let publication = Publication::new(RELEASE, OPERATIONS, &base);
        let mcp = Server::new(self.pipeline.clone(), RELEASE, OPERATIONS, publication.openrpc().bytes(), false);
        let config = Config { hosts: public_url.host_str().map(str::to_owned).into_iter().collect(), error_status };
        let router = ucp_rest::router(&self.pipeline, RELEASE, OPERATIONS)
            .merge(publication.router())
            .merge(ucp_mcp::http::router(mcp, config))
            .merge(docs::router());
        ucp_rest::with_fallbacks(router)
    }

    /// The MCP server for an agent that started this process.
    pub(crate) fn desktop_server(&self) -> Server {
        let publication = Publication::new(RELEASE, OPERATIONS, ucp_wire::documents::DEFAULT_PUBLIC_URL);
        Server::new(self.pipeline.clone(), RELEASE, OPERATIONS, publication.openrpc().bytes(), true)
    }
}

/// A public address as paths are appended to it.
pub(crate) fn base(public_url: &Url) -> String {
    public_url.as_str().trim_end_matches('/').to_owned()
}

/// A path as people write it.
pub(crate) fn shown(path: &Path) -> String {
    path.display().to_string()
}
