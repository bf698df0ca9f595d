//! The shops that the process serves, and the shop that a request is for.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, PoisonError, RwLock},
};

use http::{HeaderMap, Request, Uri, header::HOST};
use ucp_core::ShopId;
use ucp_service::ingress::Target;
use ucp_trust::host::Authority;

use crate::slot::Slot;

/// The served shops. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Shops(Arc<RwLock<Arc<Table>>>);

/// Shops by where they are reached.
#[derive(Debug, Default)]
struct Table {
    /// The only shop, which takes all requests.
    single: Option<Arc<Slot>>,
    all: BTreeMap<ShopId, Arc<Slot>>,
    /// Shops by host and path.
    by_host: HashMap<String, Paths>,
    /// Shops by path, on hosts that no other shop has.
    elsewhere: Paths,
}

type Paths = HashMap<String, Arc<Slot>>;

impl Shops {
    /// Serves these shops from now on, and no others. Calls in flight end in the shop in which they began.
    pub(crate) fn replace(&self, shops: impl IntoIterator<Item = Arc<Slot>>) {
        let mut table = Table::default();
        for slot in shops {
            let mount = &slot.settings.mount;
            table.all.insert(slot.id.clone(), Arc::clone(&slot));
            if !mount.is_one_of_several {
                table.single = Some(slot);
                continue;
            }
            for host in &mount.hosts {
                let paths = table.by_host.entry(host.clone()).or_default();
                paths.insert(mount.path.clone(), Arc::clone(&slot));
            }
            if mount.hosts.is_empty() {
                table.elsewhere.insert(mount.path.clone(), slot);
            }
        }
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
    }

    /// Returns all shops.
    pub fn all(&self) -> Vec<Arc<Slot>> {
        self.table().all.values().cloned().collect()
    }

    /// Returns the shop of this identifier.
    pub fn named(&self, id: &str) -> Option<Arc<Slot>> {
        self.table().all.get(&id.parse::<ShopId>().ok()?).cloned()
    }

    /// Returns the only shop of a process that does not have several.
    pub fn single(&self) -> Option<Arc<Slot>> {
        self.table().single.clone()
    }

    /// Returns the shop that a request is for, by its host and the longest path that begins its target. The path is cut
    /// off; the whole target is kept as [`Target`].
    pub fn of<B>(&self, request: &mut Request<B>) -> Option<Arc<Slot>> {
        let table = self.table();
        if let Some(single) = &table.single {
            return Some(Arc::clone(single));
        }
        let host = host(request.headers(), request.uri())?;
        let path = request.uri().path();
        let found = table.by_host.get(&host).and_then(|paths| longest(paths, path));
        let slot = Arc::clone(found.or_else(|| longest(&table.elsewhere, path))?);
        let prefix = slot.settings.mount.path.len();
        if prefix > 0 {
            let target = request.uri().clone();
            *request.uri_mut() = without(&target, prefix)?;
            request.extensions_mut().insert(Target(target));
        }
        Some(slot)
    }

    fn table(&self) -> Arc<Table> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the host that a request names, in lower case and without port; `None` if it names none or different ones.
fn host(headers: &HeaderMap, target: &Uri) -> Option<String> {
    let read = |text: &str| Some(Authority::read(text).ok()?.host().to_ascii_lowercase());
    let mut named = headers.get_all(HOST).iter().map(|host| read(host.to_str().ok()?));
    let host = named.next()??;
    let is_same = |other: Option<String>| other.as_ref() == Some(&host);
    (named.all(is_same) && target.authority().is_none_or(|authority| is_same(read(authority.as_str())))).then_some(host)
}

/// Returns the shop with the longest path that is `path`, or is followed by a slash in it.
fn longest<'a>(paths: &'a Paths, path: &str) -> Option<&'a Arc<Slot>> {
    let ends = path.match_indices('/').map(|(end, _)| end).filter(|end| *end > 0).chain([path.len()]);
    // Not longer than a path may be, so that a long target costs no more than a short one.
    let found = ends.take(MOST_SEGMENTS).filter_map(|end| paths.get(&path[..end])).last();
    found.or_else(|| paths.get(""))
}

/// Maximum number of segments of a path that are compared with those of shops: as many as the longest may have.
const MOST_SEGMENTS: usize = 100;

/// Returns a target without the first bytes of its path.
fn without(target: &Uri, prefix: usize) -> Option<Uri> {
    let rest = &target.path()[prefix..];
    let rest = if rest.is_empty() { "/" } else { rest };
    let text = target.query().map_or_else(|| rest.to_owned(), |query| format!("{rest}?{query}"));
    let mut parts = target.clone().into_parts();
    parts.path_and_query = Some(text.parse().ok()?);
    Uri::from_parts(parts).ok()
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
    use ucp_config::{Configuration, ServeOptions};
    use ucp_testkit::within;
    use ucp_trust::jwk::Algorithm;
    use url::Url;

    use super::*;
    use crate::{
        clock,
        decisions::Decisions,
        files::Files,
        pool::Pool,
        shop::{Shop, open_keyring},
    };

    /// A command line.
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        options: ServeOptions,
    }

    const PLATFORM: &str = "profile=\"https://agent.example.com/profile.json\"";

    /// Resolves a configuration with data in a directory of its own.
    fn configured(directory: &Path, name: &str, configuration: &str) -> Configuration {
        let (file, data) = (directory.join(format!("{name}.toml")), directory.join(name));
        fs::write(&file, configuration).expect("a file");
        let arguments = ["ucp-gateway", "--sample", "flower-shop", "--config"].map(str::to_owned);
        let paths = [&file, Path::new("--data-dir"), &data].map(|path| path.to_str().expect("UTF-8").to_owned());
        let line = Line::try_parse_from(arguments.into_iter().chain(paths)).expect("a command line");
        Configuration::resolve(&line.options, clock::now()).expect("settings")
    }

    /// The places of all shops of a configuration, none of which is open.
    fn slots(directory: &Path, configuration: &Configuration, url: &str) -> Vec<Arc<Slot>> {
        let (files, pool) = (Arc::new(Files::default()), Pool::new(&configuration.process.server, None, Arc::new(())));
        let decisions = Decisions::open(directory).expect("no decisions");
        let slot = |settings: &Arc<_>| {
            let url = Url::parse(url).expect("an address");
            Arc::new(Slot::new(Arc::clone(settings), url, decisions.clone(), &pool, Arc::clone(&files), None))
        };
        configuration.shops.iter().map(slot).collect()
    }

    /// Opens the sample shop at `https://{name}.example` with a data directory of its own.
    async fn slot(directory: &Path, name: &str, configuration: &str, signs: bool) -> Arc<Slot> {
        let configuration = configured(directory, name, configuration);
        if signs {
            fs::create_dir_all(directory.join(name)).expect("a directory");
            let settings = configuration.single().expect("one shop");
            open_keyring(settings).expect("keys").generate(Algorithm::Es256, clock::now()).expect("a key");
        }
        let slot = slots(directory, &configuration, &format!("https://{name}.example")).remove(0);
        slot.start(true).await.expect("a shop");
        slot
    }

    async fn open(directory: &Path, name: &str, configuration: &str, signs: bool) -> Arc<Shop> {
        slot(directory, name, configuration, signs).await.shop().expect("is open")
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
        let now = || shops.of(&mut Request::new(())).map(|slot| slot.shop().expect("is open"));
        assert!(now().is_none());
        shops.replace([slot(directory.path(), "one", "", false).await]);

        // A call whose body has begun.
        let (body, chunks) = mpsc::channel::<Result<Bytes, Infallible>>(1);
        let chunks =
            futures_util::stream::unfold(chunks, async |mut chunks| chunks.recv().await.map(|chunk| (chunk, chunks)));
        let began = now().expect("a shop");
        let slow =
            tokio::spawn(async move { call(&began, "POST", "/carts", "a-key", Body::from_stream(chunks)).await });
        body.send(Ok(Bytes::from_static(b"{\"line_items\":[{\"quantity\":1,\"item\":"))).await.expect("is read");

        shops.replace([slot(directory.path(), "two", "", false).await]);
        body.send(Ok(Bytes::from_static(b"{\"id\":\"bouquet_roses\"}}]}"))).await.expect("is read");
        drop(body);
        let (status, made) = within("the call", ucp_testkit::PATIENCE, slow).await.expect("no panic");
        assert_eq!(status, StatusCode::CREATED, "{made}");
        assert!(made["continue_url"].as_str().expect("an address").starts_with("https://one.example/"), "{made}");

        let now = now().expect("a shop");
        let path = format!("/carts/{}", made["id"].as_str().expect("an identifier"));
        assert_eq!(get(&now, &path).await.1["messages"][0]["code"], "not_found");
    }

    #[test]
    fn requests_are_for_the_shop_of_their_host_and_the_longest_path() {
        let directory = directory();
        let configuration = configured(
            directory.path(),
            "several",
            r#"
            [[shop]]
            name = "flowers"
            hosts = ["Flowers.example.", "www.flowers.example"]
            [[shop]]
            name = "bulbs"
            hosts = ["flowers.example"]
            path = "/shops/bulbs"
            [[shop]]
            name = "tea"
            path = "/shops/tea"
            [[shop]]
            name = "green"
            path = "/shops/tea/green"
            [[shop]]
            name = "six"
            hosts = ["[2001:db8::1]"]
            "#,
        );
        let shops = Shops::default();
        shops.replace(slots(directory.path(), &configuration, "https://one.example"));
        let of = |hosts: &[&str], target: &str| {
            let request = hosts.iter().fold(Request::get(target), |request, host| request.header(HOST, *host));
            let mut request = request.body(()).expect("a request");
            let id = shops.of(&mut request)?.id.to_string();
            let whole = request.extensions().get::<Target>().map(|target| target.0.to_string());
            assert_eq!(whole.is_some(), *target != *request.uri(), "{target}");
            assert!(whole.is_none_or(|whole| whole == target), "{target}");
            Some((id, request.uri().to_string()))
        };
        let found = |id: &str, target: &str| Some((id.to_owned(), target.to_owned()));
        for (host, target, expected) in [
            ("flowers.example", "/mcp?a=b", found("flowers", "/mcp?a=b")),
            ("FLOWERS.example:8443", "/", found("flowers", "/")),
            ("flowers.example.:443", "/", found("flowers", "/")),
            ("www.flowers.example", "/shops/bulbs", found("flowers", "/shops/bulbs")),
            ("flowers.example", "/shops/bulbs", found("bulbs", "/")),
            ("flowers.example", "/shops/bulbs/mcp?a=/b", found("bulbs", "/mcp?a=/b")),
            ("flowers.example", "/shops/bulbsandmore", found("flowers", "/shops/bulbsandmore")),
            ("flowers.example", "/shops/tea", found("flowers", "/shops/tea")),
            ("other.example", "/shops/tea", found("tea", "/")),
            ("other.example", "/shops/tea?q", found("tea", "/?q")),
            ("127.0.0.1:80", "/shops/tea/greener", found("tea", "/greener")),
            ("localhost", "/shops/tea/green/x", found("green", "/x")),
            ("[2001:db8::1]:8080", "/x", found("six", "/x")),
            ("other.example", "/", None),
            ("other.example", "/shops/t%65a", None),
            ("other.example", "//shops/tea", None),
            ("flowers.example.", "/", found("flowers", "/")),
            ("flowers.example@evil", "/shops/none", None),
        ] {
            assert_eq!(of(&[host], target), expected, "{host} {target}");
        }
        assert_eq!(of(&[], "/shops/tea"), None, "no host");
        assert_eq!(of(&["flowers.example", "www.flowers.example"], "/"), None, "two hosts");
        assert_eq!(of(&["flowers.example"], "http://www.flowers.example/"), None, "another host as target");
        let whole = of(&["flowers.example"], "http://flowers.example:80/x").expect("the same host");
        assert_eq!(whole.0, "flowers");
    }
}
