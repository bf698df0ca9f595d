//! The yardstick: the same listener as the gateway's, and behind it one handler that parses a JSON body and serializes
//! ten products, as a program would that has nothing else to do.
//!
//! The products are those of the gateway's own answer, read into plain structures, so that both send the same bytes.

use std::{path::Path, sync::Arc, time::Duration};

use axum::{Json, Router, body::Body, extract::State, routing::post};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use tokio::net::TcpListener;
use tokio_io_timeout::TimeoutStream;
use tower::ServiceExt as _;

use crate::Done;

/// Serves until the process is killed.
pub(crate) fn serve(answer: &Path) -> Done<()> {
    let answer: Answer = serde_json::from_slice(&std::fs::read(answer)?)?;
    let answer = Arc::new(answer);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("REST http://{}", listener.local_addr()?);
        // The second path only tells whoever waits for the server that it is up.
        let router = Router::new()
            .route("/catalog/lookup", post(lookup))
            .route("/catalog/search", post(async || "{}"))
            .with_state(answer);
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(15));
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let mut stream = TimeoutStream::new(stream);
            stream.set_write_timeout(Some(Duration::from_secs(30)));
            let service = TowerToHyperService::new(
                router.clone().map_request(|request: axum::http::Request<Incoming>| request.map(Body::new)),
            );
            tokio::spawn(http.serve_connection(TokioIo::new(Box::pin(stream)), service));
        }
    })
}

async fn lookup(State(answer): State<Arc<Answer>>, Json(request): Json<Request>) -> Json<Shared> {
    // So that what was parsed is used.
    debug_assert!(!request.ids.is_empty());
    std::hint::black_box(&request.ids);
    Json(Shared(answer))
}

/// An answer that is serialized anew each time.
struct Shared(Arc<Answer>);

impl Serialize for Shared {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

#[derive(Deserialize)]
struct Request {
    ids: Vec<String>,
}

#[derive(Deserialize, Serialize)]
struct Answer {
    ucp: Metadata,
    products: Vec<Product>,
}

#[derive(Deserialize, Serialize)]
struct Metadata {
    version: String,
    status: String,
    capabilities: Map<String, Value>,
}

#[derive(Deserialize, Serialize)]
struct Product {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<String>,
    title: String,
    description: Description,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    categories: Vec<Category>,
    price_range: Range,
    #[serde(skip_serializing_if = "Option::is_none")]
    list_price_range: Option<Range>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    media: Vec<Media>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rating: Option<Rating>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    options: Vec<Axis>,
    variants: Vec<Variant>,
}

#[derive(Deserialize, Serialize)]
struct Variant {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    sku: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    barcodes: Vec<Barcode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<String>,
    title: String,
    description: Description,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    categories: Vec<Category>,
    price: Price,
    #[serde(skip_serializing_if = "Option::is_none")]
    list_price: Option<Price>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit_price: Option<Value>,
    availability: Availability,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    options: Vec<Choice>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    media: Vec<Media>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rating: Option<Rating>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seller: Option<Seller>,
    inputs: Vec<Input>,
}

#[derive(Deserialize, Serialize)]
struct Description {
    #[serde(skip_serializing_if = "Option::is_none")]
    plain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    markdown: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct Category {
    value: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    taxonomy: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct Range {
    min: Price,
    max: Price,
}

#[derive(Deserialize, Serialize)]
struct Price {
    amount: i64,
    currency: String,
}

#[derive(Deserialize, Serialize)]
struct Media {
    #[serde(rename = "type")]
    kind: String,
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    alt_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<u32>,
}

#[derive(Deserialize, Serialize)]
struct Rating {
    value: Number,
    #[serde(skip_serializing_if = "Option::is_none")]
    scale_min: Option<Number>,
    scale_max: Number,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
}

#[derive(Deserialize, Serialize)]
struct Axis {
    name: String,
    values: Vec<AxisValue>,
}

#[derive(Deserialize, Serialize)]
struct AxisValue {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    label: String,
}

#[derive(Deserialize, Serialize)]
struct Barcode {
    #[serde(rename = "type")]
    kind: String,
    value: String,
}

#[derive(Deserialize, Serialize)]
struct Availability {
    available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct Choice {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    label: String,
}

#[derive(Deserialize, Serialize)]
struct Seller {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    links: Vec<Link>,
}

#[derive(Deserialize, Serialize)]
struct Link {
    #[serde(rename = "type")]
    kind: String,
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct Input {
    id: String,
    #[serde(rename = "match")]
    kind: String,
}
