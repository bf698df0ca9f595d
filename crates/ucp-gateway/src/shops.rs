//! The shops that the process serves.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use ucp_core::ShopId;

use crate::shop::Shop;

/// Map of the served shops by identifier. Clones share one map.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shops(Arc<RwLock<BTreeMap<ShopId, Arc<Shop>>>>);

impl Shops {
    /// Serves `shop` under `id` from now on, and returns the shop that it replaces. Calls in flight end in the shop in
    /// which they began; the background tasks of the replaced shop end when it is dropped.
    pub(crate) fn put(&self, id: ShopId, shop: Arc<Shop>) -> Option<Arc<Shop>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(id, shop)
    }

    /// Returns all shops.
    pub(crate) fn all(&self) -> Vec<Arc<Shop>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Returns the shop that a request is for. There is no rule yet that selects among several: it is the shop with the
    /// default identifier.
    pub(crate) fn of<B>(&self, _request: &http::Request<B>) -> Option<Arc<Shop>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&ShopId::default()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, fs, path::Path};

    use axum::body::{Body, Bytes, to_bytes};
    use clap::Parser as _;
    use http::{Request, StatusCode};
    use serde_json::{Value, json};
    use tempfile::TempDir;
    use tokio::sync::mpsc;
    use tower::ServiceExt as _;
    use ucp_testkit::within;
    use ucp_trust::jwk::Algorithm;
    use url::Url;

    use super::*;
    use crate::{
        backend::DataDirectory,
        cli::{Cli, Command},
        clock,
        config::Settings,
        decisions::Decisions,
        shop::open_keyring,
    };

    const PLATFORM: &str = "profile=\"https://agent.example.com/profile.json\"";

    /// Opens the sample shop at `https://{name}.example` with a data directory of its own.
    async fn open(directory: &Path, name: &str, configuration: &str, signs: bool) -> Arc<Shop> {
        let (file, data) = (directory.join(format!("{name}.toml")), directory.join(name));
        fs::write(&file, configuration).expect("a file");
        let arguments = ["ucp-gateway", "serve", "--sample", "flower-shop", "--config"].map(str::to_owned);
        let paths = [&file, Path::new("--data-dir"), &data].map(|path| path.to_str().expect("UTF-8").to_owned());
        let cli = Cli::try_parse_from(arguments.into_iter().chain(paths)).expect("a command");
        let Some(Command::Serve(options)) = cli.command else { panic!("another command") };
        let settings = Settings::resolve(&options, clock::now()).expect("settings");
        let data = DataDirectory::open(&settings).expect("a store");
        let mut keyring = open_keyring(&settings.sections.data).expect("a keyring");
        if signs {
            keyring.generate(Algorithm::Es256, clock::now()).expect("a-key");
        }
        let public_url = Url::parse(&format!("https://{name}.example")).expect("an address");
        let decisions = Decisions::open(directory).expect("no decisions");
        Arc::new(Shop::open(&data, &settings, &public_url, keyring, &decisions, None, false).await.expect("a shop"))
    }

    async fn call(shop: &Shop, method: &str, path: &str, key: &str, body: Body) -> (StatusCode, Value) {
        let request = Request::builder().method(method).uri(path).header("Host", "localhost");
        let request = request.header("Content-Type", "application/json");
        let request = request.header("UCP-Agent", PLATFORM).header("Idempotency-Key", key).body(body);
        let answer = shop.router.clone().oneshot(request.expect("a request"));
        let answer = within("an answer", ucp_testkit::PATIENCE, answer).await.unwrap_or_else(|never| match never {});
        let (status, body) = (answer.status(), to_bytes(answer.into_body(), usize::MAX).await.expect("a body"));
        (status, serde_json::from_slice(&body).expect("JSON"))
    }

    async fn get(shop: &Shop, path: &str) -> (StatusCode, Value) {
        call(shop, "GET", path, "none", Body::empty()).await
    }

    fn roses(quantity: u32) -> Body {
        json!({ "line_items": [{ "item": { "id": "bouquet_roses" }, "quantity": quantity }] }).to_string().into()
    }

    fn directory() -> TempDir {
        tempfile::tempdir().expect("a directory")
    }

    #[tokio::test]
    async fn two_shops_of_one_process_share_nothing() {
        let directory = directory();
        let one = open(directory.path(), "one", "", true).await;
        let two = open(directory.path(), "two", "", false).await;

        // Profiles: addresses and keys.
        let [first, second] = [&one, &two].map(|shop| get(shop, "/.well-known/ucp"));
        let (first, second) = (first.await.1, second.await.1);
        assert_eq!(first["signing_keys"].as_array().map(Vec::len), Some(1), "{first}");
        assert!(second.get("signing_keys").is_none_or(|keys| keys.as_array().is_some_and(Vec::is_empty)), "{second}");
        assert!(
            first.to_string().contains("https://one.example") && !first.to_string().contains("https://two.example")
        );
        assert!(
            second.to_string().contains("https://two.example") && !second.to_string().contains("https://one.example")
        );

        // Carts, and answers under idempotency keys.
        let (status, made) = call(&one, "POST", "/carts", "a-key", roses(1)).await;
        assert_eq!(status, StatusCode::CREATED, "{made}");
        let path = format!("/carts/{}", made["id"].as_str().expect("an identifier"));
        assert_eq!(get(&one, &path).await.1["id"], made["id"]);
        let foreign = get(&two, &path).await.1;
        assert_eq!(foreign["messages"][0]["code"], "not_found", "{foreign}");
        let (status, other) = call(&two, "POST", "/carts", "a-key", roses(2)).await;
        assert_eq!(status, StatusCode::CREATED, "the key means nothing there: {other}");
        assert_ne!(other["id"], made["id"]);
        assert_eq!(call(&one, "POST", "/carts", "a-key", roses(1)).await.1, made, "and here it replays");
    }

    #[tokio::test]
    async fn the_limits_of_one_shop_do_not_count_in_another() {
        let directory = directory();
        let limited = "[limits]\nanonymous = { per_second = 1, burst = 1 }\n";
        let one = open(directory.path(), "one", limited, false).await;
        let two = open(directory.path(), "two", limited, false).await;
        let mut refused = 0;
        for _ in 0..10 {
            refused += u32::from(get(&one, "/orders/none").await.0 == StatusCode::TOO_MANY_REQUESTS);
        }
        assert!(refused > 0, "the limit of the first shop is reached");
        assert_ne!(get(&two, "/orders/none").await.0, StatusCode::TOO_MANY_REQUESTS);
    }

    #[tokio::test]
    async fn calls_end_in_the_shop_in_which_they_began() {
        let directory = directory();
        let shops = Shops::default();
        let request = Request::new(());
        assert!(shops.of(&request).is_none());
        assert!(shops.put(ShopId::default(), open(directory.path(), "one", "", false).await).is_none());

        // A call whose body has begun.
        let (body, chunks) = mpsc::channel::<Result<Bytes, Infallible>>(1);
        let chunks =
            futures_util::stream::unfold(chunks, async |mut chunks| chunks.recv().await.map(|chunk| (chunk, chunks)));
        let began = shops.of(&request).expect("a shop");
        let slow =
            tokio::spawn(async move { call(&began, "POST", "/carts", "a-key", Body::from_stream(chunks)).await });
        body.send(Ok(Bytes::from_static(b"{\"line_items\":[{\"quantity\":1,\"item\":"))).await.expect("is read");

        let replaced = shops.put(ShopId::default(), open(directory.path(), "two", "", false).await);
        drop(replaced.expect("the first shop"));
        body.send(Ok(Bytes::from_static(b"{\"id\":\"bouquet_roses\"}}]}"))).await.expect("is read");
        drop(body);
        let (status, made) = within("the call", ucp_testkit::PATIENCE, slow).await.expect("no panic");
        assert_eq!(status, StatusCode::CREATED, "{made}");
        assert!(made["continue_url"].as_str().expect("an address").starts_with("https://one.example/"), "{made}");

        let now = shops.of(&request).expect("a shop");
        let path = format!("/carts/{}", made["id"].as_str().expect("an identifier"));
        assert_eq!(get(&now, &path).await.1["messages"][0]["code"], "not_found");
    }
}
