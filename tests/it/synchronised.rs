//! `catalog.source`: a copy of the shop's catalog in the local index, from the shop's pages or a feed.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::Output,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use ucp_contract::http::SigningSecret;
use ucp_testkit::{
    PATIENCE, eventually,
    leash::Leashed,
    server::{Answer, Server},
};
use ucp_trust::api_key::ApiKey;

use crate::{
    harness::{Ends as _, Gateway, REST_HEADERS, binary, codes, elements, folder, texts},
    purchase::shopper::new_key,
    setup::{Ask, Setup, Transport},
};

const SECRET: &str = "a-secret-that-shop-and-gateway-share";

/// A product with the time of its last change; `None` for one that is no longer sold.
type Goods = BTreeMap<String, (Option<Value>, Timestamp)>;

/// Content of a shop, and its requests.
#[derive(Default)]
struct Stock {
    goods: Goods,
    /// Questions: `since` or `all` with the position, and identifiers that were resolved.
    asked: Vec<String>,
    /// Duration of a page.
    slow: Duration,
    /// `true` if the shop has forgotten everything.
    empty: bool,
    /// `true` if `/resolve` is no path of the shop.
    unresolved: bool,
    /// Delay of the shop's clock.
    behind: Duration,
    /// `true` if it sells in dollars, too, to buyers who are shown them.
    abroad: bool,
}

/// A shop behind the backend contract that cannot search.
struct CopiedShop {
    server: Server,
    stock: Arc<Mutex<Stock>>,
}

fn product(id: &str, title: &str, price: u64) -> Value {
    json!({
        "id": id, "title": title, "description": { "plain": title },
        "variants": [{ "id": format!("{id}-1"), "price": { "amount": price, "currency": "EUR" } }],
    })
}

impl CopiedShop {
    fn with(count: usize) -> Self {
        let stock = Arc::new(Mutex::new(Stock::default()));
        let of_server = Arc::clone(&stock);
        let server = Server::start(move |request| {
            let asked: Value = serde_json::from_slice(request.body()).unwrap_or_default();
            let mut stock = of_server.lock().unwrap_or_else(PoisonError::into_inner);
            let document = match request.uri().path() {
                "/backend" => {
                    let mut market = json!({ "name": "Vases", "currency": "EUR", "language": "en" });
                    if stock.abroad {
                        market["currencies"] = json!(["USD"]);
                        market["countries"] = json!({ "US": "USD" });
                    }
                    json!({ "contract": "1", "market": market, "catalog": { "updated_since": true } })
                }
                "/find" => {
                    let slow = stock.slow;
                    let page = stock.page(&asked);
                    drop(stock);
                    thread::sleep(slow);
                    return Answer::json(&page);
                }
                _ if stock.unresolved => return Answer::status(404),
                _ => stock.resolved(&asked),
            };
            let date =
                jiff::fmt::rfc2822::to_string(&(Timestamp::now() - stock.behind).to_zoned(jiff::tz::TimeZone::UTC));
            let dated = vec!["Content-Type: application/json".to_owned(), format!("Date: {}", date.expect("a date"))];
            Answer::Whole(200, dated, document.to_string().into_bytes())
        });
        let shop = Self { server, stock };
        for number in 0..count {
            shop.sell(&format!("vase{number:03}"), &format!("Vase number{number}"), 1_000);
        }
        shop
    }

    fn stock(&self) -> MutexGuard<'_, Stock> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time of the shop's clock.
    fn now(&self) -> Timestamp {
        Timestamp::now() - self.stock().behind
    }

    fn sell(&self, id: &str, title: &str, price: u64) {
        let now = self.now();
        self.stock().goods.insert(id.to_owned(), (Some(product(id, title, price)), now));
    }

    fn stop_selling(&self, id: &str) {
        self.stock().goods.insert(id.to_owned(), (None, Timestamp::now()));
    }

    /// The questions since the last call.
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.stock().asked)
    }

    fn setup(&self, more: &str) -> Setup {
        let configuration = format!(
            "[upstream]\nsigning_secret_file = \"secret\"\nconnect_timeout_ms = 30000\nread_timeout_ms = 30000\n\
             [limits]\nunverified = \"none\"\n[catalog]\nsource = \"backend\"\npage_size = 10\n{more}"
        );
        let url = self.server.url("");
        Setup::new(&configuration).file("secret", SECRET).arguments(&["--backend", "http", "--upstream-url", &url])
    }
}

impl Stock {
    fn page(&mut self, asked: &Value) -> Value {
        let since = asked["updated_since"].as_str().map(|since| since.parse::<Timestamp>().expect("a time"));
        let after = asked["after"].as_str().unwrap_or_default();
        self.asked.push(format!("{} {after}", if since.is_some() { "since" } else { "all" }));
        assert!(asked.get("words").is_none(), "{asked}");
        let limit = usize::try_from(asked["limit"].as_u64().expect("a limit")).expect("a size");
        let shown = |(id, (product, changed)): (&String, &(Option<Value>, Timestamp))| match (product, since) {
            (Some(product), None) => Some(product.clone()),
            (product, Some(since)) if *changed >= since => {
                Some(product.clone().unwrap_or_else(|| json!({ "id": id, "deleted": true })))
            }
            _ => None,
        };
        let mut products: Vec<_> =
            self.goods.iter().filter(|(id, _)| id.as_str() > after).filter_map(shown).take(limit + 1).collect();
        if self.empty {
            products.clear();
        }
        let more = products.len() > limit;
        products.truncate(limit);
        let next = products.last().filter(|_| more).map(|last| last["id"].clone());
        json!({ "products": products, "next": next })
    }

    fn resolved(&mut self, asked: &Value) -> Value {
        let ids: Vec<_> = elements(&asked["ids"]).iter().map(|id| id.as_str().expect("a text").to_owned()).collect();
        let abroad = self.abroad && asked["context"]["currency"] == "USD";
        self.asked.push(format!("ids {}{}", if abroad { "in USD " } else { "" }, ids.join(" ")));
        let named = |(id, (product, _)): (&String, &(Option<Value>, Timestamp))| {
            let is_named = ids.iter().any(|own| own == id || *own == format!("{id}-1"));
            product.clone().filter(|_| is_named)
        };
        let mut products: Vec<_> = self.goods.iter().filter(|_| !self.empty).filter_map(named).collect();
        if asked["context"]["customer_group"] == "trade" {
            products.iter_mut().for_each(|product| product["variants"][0]["price"]["amount"] = json!(800));
        }
        if abroad {
            let price = json!({ "amount": 1_200, "currency": "USD" });
            products.iter_mut().for_each(|product| product["variants"][0]["price"] = price.clone());
        }
        json!({ "products": products })
    }
}

/// Runs `catalog sync` or `catalog status`.
fn catalog(setup: &Setup, data: &Path, arguments: &[&str]) -> Output {
    command(setup, data, arguments).ends()
}

fn command(setup: &Setup, data: &Path, arguments: &[&str]) -> std::process::Command {
    let mut command = binary();
    command.arg("catalog").args(arguments).arg("--config").arg(setup.path("gateway.toml"));
    command.arg("--data-dir").arg(data).args(setup.own_arguments());
    command
}

#[track_caller]
fn told(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    out.into_owned()
}

/// The products that a search finds.
fn found(gateway: &Gateway, words: &str) -> Vec<String> {
    let answer = gateway.search(&json!({ "query": words }));
    texts(&answer["products"], "id").into_iter().map(str::to_owned).collect()
}

fn all(gateway: &Gateway) -> usize {
    gateway.search_all(&json!({ "filters": { "price": { "min": 0 } } }), 25).0.len()
}

#[test]
fn a_copy_follows_its_shop_by_full_runs_and_by_changes() {
    let (shop, data) = (CopiedShop::with(35), folder());
    let setup = shop.setup("");
    assert!(told(&catalog(&setup, data.path(), &["status"])).contains("no run has ended yet"));
    let first = told(&catalog(&setup, data.path(), &["sync"]));
    assert_eq!(first, "full: 35 new, 0 changed, 0 unchanged, 0 removed, 0 rejected\n");
    assert_eq!(shop.asked(), ["all ", "all vase009", "all vase019", "all vase029"]);
    // All changes of the last minute are asked for again, since clocks differ.
    shop.stock().goods.values_mut().for_each(|(_, changed)| *changed = Timestamp::UNIX_EPOCH);
    shop.sell("vase001", "Amphora", 2_000);
    shop.sell("vase900", "Carafe", 3_000);
    shop.stop_selling("vase002");
    let changes = told(&catalog(&setup, data.path(), &["sync"]));
    assert_eq!(changes, "changes: 1 new, 1 changed, 0 unchanged, 1 removed, 0 rejected\n");
    assert_eq!(shop.asked(), ["since "]);
    // A full run finds changes that a shop does not report.
    shop.stock().goods.remove("vase003");
    let full = told(&catalog(&setup, data.path(), &["sync", "--full"]));
    assert_eq!(full, "full: 0 new, 0 changed, 34 unchanged, 1 removed, 0 rejected\n");
    assert_eq!(shop.asked().last().map(String::as_str), Some("ids vase003"), "it is asked for before it is removed");
    assert!(told(&catalog(&setup, data.path(), &["status"])).contains("last run"));

    let gateway = setup.spawn("127.0.0.1:0", data.path());
    assert_eq!(all(&gateway), 34);
    assert_eq!(
        (found(&gateway, "amphora"), found(&gateway, "carafe")),
        (vec!["vase001".into()], vec!["vase900".into()])
    );
    assert!(found(&gateway, "number2").is_empty() && found(&gateway, "number3").is_empty());
    assert!(shop.asked().iter().all(|asked| !asked.starts_with("ids")), "searches ask nobody");
    let searched = gateway.search(&json!({ "query": "amphora" }));
    assert_eq!(codes(&searched), ["facts_as_of"], "{searched}");
    let looked_up = gateway.lookup(&json!({ "ids": ["vase001"] }));
    assert_eq!(codes(&looked_up), ["facts_as_of"], "{looked_up}");
    // `get_product` returns the current price.
    shop.sell("vase001", "Amphora", 2_500);
    let opened = gateway.product(&json!({ "id": "vase001" }));
    assert_eq!(opened["product"]["variants"][0]["price"]["amount"], 2_500, "{opened}");
    assert!(codes(&opened).is_empty() && shop.asked().contains(&"ids vase001".to_owned()), "{opened}");
}

#[test]
fn a_copy_is_searched_with_the_synonyms_of_the_configuration() {
    let (shop, data) = (CopiedShop::with(3), folder());
    shop.sell("vase900", "Carafe", 3_000);
    let setup = shop.setup("[search]\nsynonyms = [\"ours.txt\"]\n").file("ours.txt", "decanter => carafe\n");
    told(&catalog(&setup, data.path(), &["sync"]));
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    assert_eq!(found(&gateway, "decanter"), ["vase900"]);
    assert!(found(&gateway, "flagon").is_empty());
}

#[test]
fn a_customer_group_is_told_its_prices_by_the_shop() {
    let (shop, data) = (CopiedShop::with(12), folder());
    let key = ApiKey::generate().expect("random bytes");
    let credential = format!("api_key_hash = \"{}\"", key.hash());
    let setup = shop.setup(&format!("[[platform]]\nname = \"Trader\"\n{credential}\ncustomer_group = \"trade\"\n"));
    told(&catalog(&setup, data.path(), &["sync"]));
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    shop.asked();
    let price = |answer: &Value| answer["products"][0]["variants"][0]["price"]["amount"].clone();
    // The copy is brought up to date beside.
    let resolved = || -> Vec<String> { shop.asked().into_iter().filter(|asked| asked.starts_with("ids")).collect() };
    let everyone = gateway.search(&json!({ "query": "number3" }));
    assert_eq!((price(&everyone), resolved().len()), (json!(1_000), 0), "{everyone}");
    for (operation, payload, asked) in [
        ("search_catalog", json!({ "query": "number3" }), "ids vase003"),
        ("lookup_catalog", json!({ "ids": ["vase004"] }), "ids vase004"),
    ] {
        let ask = Ask::new(Transport::Rest, "").unnamed().of(operation, payload);
        let trade = ask.header("X-API-Key", key.reveal()).answer(&gateway);
        assert_eq!((price(&trade), codes(&trade).len()), (json!(800), 0), "{trade}");
        assert_eq!(resolved(), [asked]);
    }
    let again = gateway.lookup(&json!({ "ids": ["vase004"] }));
    assert_eq!((price(&again), codes(&again)), (json!(1_000), vec!["facts_as_of"]), "{again}");
}

#[test]
fn search_and_product_page_are_in_one_currency() {
    let (shop, data) = (CopiedShop::with(25), folder());
    shop.stock().abroad = true;
    let setup = shop.setup("");
    told(&catalog(&setup, data.path(), &["sync", "--full"]));
    let asked = shop.asked();
    let pages = asked.iter().filter(|asked| asked.starts_with("all")).count();
    let priced = asked.iter().filter(|asked| asked.starts_with("ids in USD")).count();
    assert_eq!((pages, priced), (3, 3), "one more question for each page: {asked:?}");
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    eventually("the copy", PATIENCE, || (all(&gateway) == 25).then_some(()));
    for (context, expected) in [
        (json!({ "address_country": "US" }), json!({ "amount": 1_200, "currency": "USD" })),
        (json!({ "currency": "USD" }), json!({ "amount": 1_200, "currency": "USD" })),
        (json!({}), json!({ "amount": 1_000, "currency": "EUR" })),
    ] {
        let query = json!({ "query": "number7", "context": context });
        let found = gateway.search(&query)["products"][0]["variants"][0]["price"].clone();
        let page = gateway.rest("get_product", &json!({ "id": "vase007", "context": context }));
        let shown = page.answer()["product"]["variants"][0]["price"].clone();
        assert_eq!((&found, &shown), (&expected, &expected), "{context}");
    }
}

#[test]
fn a_run_that_is_killed_goes_on_where_it_was() {
    let (shop, data) = (CopiedShop::with(60), folder());
    let setup = shop.setup("");
    shop.stock().slow = Duration::from_millis(300);
    let mut run = Leashed::start(
        &command(&setup, data.path(), &["sync"]),
        std::process::Stdio::null(),
        std::process::Stdio::null(),
    );
    eventually("the third page of the run", PATIENCE, || (shop.stock().asked.len() >= 4).then_some(()));
    run.kill();
    shop.asked();
    shop.stock().slow = Duration::ZERO;
    assert!(told(&catalog(&setup, data.path(), &["status"])).contains("under way    full"));
    shop.asked();
    told(&catalog(&setup, data.path(), &["sync"]));
    let asked = shop.asked();
    assert!(asked.len() < 6 && asked.iter().all(|page| page.starts_with("all vase")), "{asked:?}");
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    assert_eq!(all(&gateway), 60);
}

#[test]
fn a_run_that_loses_too_much_is_held_until_the_operator_releases_it() {
    let (shop, data) = (CopiedShop::with(20), folder());
    let setup = shop.setup("max_loss_percent = 25\n[server]\nadmin_listen = \"127.0.0.1:0\"\n");
    told(&catalog(&setup, data.path(), &["sync"]));
    shop.stock().empty = true;
    let held = catalog(&setup, data.path(), &["sync", "--full"]);
    let printed = String::from_utf8_lossy(&held.stdout);
    assert_eq!(held.status.code(), Some(3), "{printed}");
    assert!(printed.contains("held: 20 of 20 products would be removed"), "{printed}");
    assert!(told(&catalog(&setup, data.path(), &["status"])).contains("held         20 of 20 products"));
    let changes = catalog(&setup, data.path(), &["sync"]);
    assert_eq!(changes.status.code(), Some(3), "a run that loses nothing does not hide what is held: {changes:?}");
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    assert_eq!(all(&gateway), 20, "nothing is removed");
    let line = gateway.welcome.iter().find_map(|line| line.trim().strip_prefix("admin    http://"));
    let admin = line.expect("where the operator calls").parse().expect("an address");
    let ask = |method: &str, path: &str| {
        let mut connection = crate::wire::Connection::open(admin);
        assert!(connection.write(&crate::wire::request(method, path, &[], b"")));
        connection.read().expect("an answer")
    };
    let metrics = ask("GET", "/metrics").body;
    assert!(metrics.contains("ucp_catalog_sync_held_products{shop=\"default\"} 20"), "{metrics}");
    assert_eq!(ask("GET", "/catalog").json()["held"]["lost"], 20);
    assert_eq!(ask("POST", "/catalog/release").json(), json!({ "removed": 20 }));
    eventually("the end of all products", PATIENCE, || (all(&gateway) == 0).then_some(()));
    drop(gateway);
    // Within the share, products go by themselves.
    shop.stock().empty = false;
    told(&catalog(&setup, data.path(), &["sync", "--full"]));
    (0..5).for_each(|number| drop(shop.stock().goods.remove(&format!("vase{number:03}"))));
    assert!(told(&catalog(&setup, data.path(), &["sync", "--full"])).contains("5 removed"));
    shop.stock().empty = true;
    assert!(told(&catalog(&setup, data.path(), &["sync", "--full", "--accept-loss"])).contains("15 removed"));
}

/// Sends an event of the shop.
fn event(gateway: &Gateway, products: &Value, secret: &str) -> u16 {
    let body = json!({ "products": products }).to_string();
    let timestamp = Timestamp::now().as_second().to_string();
    let signature = SigningSecret::new(secret).sign(&timestamp, "POST", "/upstream/catalog", body.as_bytes());
    let headers = [("X-Signature-Timestamp", &*timestamp), ("X-Signature", &*signature)];
    gateway.send("POST", "/upstream/catalog", &headers, body.as_bytes()).status
}

#[test]
fn an_event_of_the_shop_changes_what_it_names() {
    let (shop, data) = (CopiedShop::with(12), folder());
    let setup = shop.setup("");
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    eventually("the first run of the gateway", PATIENCE, || (all(&gateway) == 12).then_some(()));
    shop.sell("vase001", "Amphora", 2_000);
    shop.stop_selling("vase002");
    assert_eq!(event(&gateway, &json!(["vase001", "vase002"]), "another-secret-than-the-shop-has"), 401);
    assert_eq!(event(&gateway, &json!([]), SECRET), 400);
    assert!(found(&gateway, "amphora").is_empty());
    assert_eq!(event(&gateway, &json!(["vase001", "vase002"]), SECRET), 200);
    eventually("the change of the products that were named", PATIENCE, || {
        (found(&gateway, "amphora") == ["vase001"] && found(&gateway, "number2").is_empty()).then_some(())
    });
}

#[test]
fn an_event_about_products_that_the_shop_cannot_be_asked_for_removes_none() {
    let (shop, data) = (CopiedShop::with(20), folder());
    let setup = shop.setup("");
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    eventually("the first run of the gateway", PATIENCE, || (all(&gateway) == 20).then_some(()));
    shop.stock().unresolved = true;
    let ids: Vec<_> = (0..18).map(|number| format!("vase{number:03}")).collect();
    shop.sell("vase001", "Amphora", 2_000);
    shop.asked();
    assert_eq!(event(&gateway, &json!(ids), SECRET), 200);
    eventually("a run that fails", PATIENCE, || {
        told(&catalog(&setup, data.path(), &["status"]));
        gateway.stderr().contains("catalog synchronization failed").then_some(())
    });
    assert_eq!(all(&gateway), 20);
    // The event is not forgotten.
    shop.stock().unresolved = false;
    eventually("the change", PATIENCE, || (found(&gateway, "amphora") == ["vase001"]).then_some(()));
    assert_eq!(all(&gateway), 20);
}

#[test]
fn changes_are_asked_for_by_the_clock_of_the_shop() {
    let (shop, data) = (CopiedShop::with(0), folder());
    shop.stock().behind = Duration::from_secs(120);
    (0..3).for_each(|number| shop.sell(&format!("vase{number:03}"), "Vase", 1_000));
    let setup = shop.setup("");
    told(&catalog(&setup, data.path(), &["sync"]));
    shop.stock().goods.values_mut().for_each(|(_, changed)| *changed = Timestamp::UNIX_EPOCH);
    shop.sell("vase001", "Amphora", 2_000);
    let changes = told(&catalog(&setup, data.path(), &["sync"]));
    assert_eq!(changes, "changes: 0 new, 1 changed, 0 unchanged, 0 removed, 0 rejected\n");
}

#[test]
fn every_gateway_of_a_database_hears_of_an_event() {
    let Some(database) = crate::database::database() else { return };
    let (shop, one, two) = (CopiedShop::with(12), folder(), folder());
    let setup = shop.setup("").arguments(&["--database", &database]);
    let gateways = [&one, &two].map(|data| setup.spawn("127.0.0.1:0", data.path()));
    for gateway in &gateways {
        eventually("the first run of the gateway", PATIENCE, || (all(gateway) == 12).then_some(()));
    }
    shop.sell("vase001", "Amphora", 2_000);
    shop.stop_selling("vase002");
    assert_eq!(event(&gateways[0], &json!(["vase001", "vase002"]), SECRET), 200);
    for gateway in &gateways {
        eventually("what the event named", PATIENCE, || {
            (found(gateway, "amphora") == ["vase001"] && found(gateway, "number2").is_empty()).then_some(())
        });
    }
}

#[test]
fn a_shop_that_is_down_is_searched_in_its_copy() {
    let (shop, data) = (CopiedShop::with(12), folder());
    let setup = shop.setup("");
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    eventually("the first run of the gateway", PATIENCE, || (all(&gateway) == 12).then_some(()));
    drop(shop);
    assert_eq!(found(&gateway, "number7"), ["vase007"]);
    let opened = gateway.product(&json!({ "id": "vase007" }));
    assert_eq!(opened["product"]["variants"][0]["price"]["amount"], 1_000, "{opened}");
    assert_eq!(codes(&opened), ["stale"], "{opened}");
}

const GOOGLE_XML: &str = r#"<?xml version="1.0"?><rss xmlns:g="http://base.google.com/ns/1.0" version="2.0"><channel>
<item><g:id>A-40</g:id><g:item_group_id>amphora</g:item_group_id><g:title>Amphora</g:title><g:price>20.00 EUR</g:price>
<g:availability>in_stock</g:availability><g:size>40 cm</g:size></item>
<item><g:id>A-60</g:id><g:item_group_id>amphora</g:item_group_id><g:title>Amphora</g:title><g:price>30.00 EUR</g:price>
<g:availability>out_of_stock</g:availability><g:size>60 cm</g:size></item></channel></rss>"#;

/// A gateway whose embedded shop sells what a feed has.
fn of_feed(name: &str, content: &str) -> (Setup, TempDir) {
    let configuration =
        format!("[catalog]\nsource = \"feed\"\nfeed_file = \"{name}\"\ncurrency = \"EUR\"\nmax_loss_percent = 60\n");
    (Setup::new(&configuration).file(name, content), folder())
}

#[test]
fn a_feed_is_read_in_each_format() {
    let jsonl = product("amphora", "Amphora", 2_000).to_string();
    let csv = "Handle,Title,Variant Price\namphora,Amphora,20.00\n";
    let tsv = "id\ttitle\tprice\tavailability\nA\tAmphora\t20.00 EUR\tin stock\n";
    for (name, content, id) in [
        ("feed.jsonl", &*jsonl, "amphora"),
        ("feed.csv", csv, "prod_amphora"),
        ("feed.xml", GOOGLE_XML, "prod_amphora"),
        ("feed.tsv", tsv, "prod_A"),
    ] {
        let (setup, data) = of_feed(name, content);
        let gateway = setup.spawn("127.0.0.1:0", data.path());
        eventually("the product of the feed", PATIENCE, || (found(&gateway, "amphora") == [id]).then_some(()));
        let opened = gateway.product(&json!({ "id": id }));
        assert_eq!(opened["product"]["price_range"]["min"], json!({ "amount": 2_000, "currency": "EUR" }), "{opened}");
        assert_eq!(codes(&opened), ["facts_as_of"], "{name}: {opened}");
    }
}

#[test]
fn a_configured_format_overrides_the_name_of_a_feed() {
    let jsonl = product("amphora", "Amphora", 2_000).to_string();
    for (format, name, content) in [
        ("jsonl", "feed.csv", &*jsonl),
        ("shopify", "feed.jsonl", "Handle,Title,Variant Price\namphora,Amphora,20.00\n"),
        ("google-xml", "feed.tsv", GOOGLE_XML),
        ("google-tsv", "feed.xml", "id\ttitle\tprice\tavailability\nA\tAmphora\t20.00 EUR\tin stock\n"),
    ] {
        let configuration = format!(
            "[catalog]\nsource = \"feed\"\nfeed_file = \"{name}\"\nformat = \"{format}\"\ncurrency = \"EUR\"\n"
        );
        let (setup, data) = (Setup::new(&configuration).file(name, content), folder());
        let run = catalog(&setup, data.path(), &["sync"]);
        assert_eq!(told(&run), "full: 1 new, 0 changed, 0 unchanged, 0 removed, 0 rejected\n", "{format}");
    }
}

/// The configuration that `docs/catalog-sync.md` shows.
fn guide() -> &'static str {
    let page = include_str!("../../docs/catalog-sync.md");
    page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a configuration")
}

#[test]
fn a_feed_is_read_again_only_if_it_has_changed() {
    let served = Arc::new(Mutex::new((GOOGLE_XML.to_owned(), 0_u32)));
    let of_server = Arc::clone(&served);
    let server = Server::start(move |request| {
        let (feed, version) = &*of_server.lock().unwrap_or_else(PoisonError::into_inner);
        let etag = format!("\"v{version}\"");
        match request.headers().get("if-none-match").and_then(|value| value.to_str().ok()) {
            Some(known) if known == etag => Answer::status(304),
            _ => Answer::Whole(200, vec![format!("ETag: {etag}")], feed.clone().into_bytes()),
        }
    });
    let change = |feed: String| {
        let mut served = served.lock().unwrap_or_else(PoisonError::into_inner);
        *served = (feed, served.1 + 1);
    };
    let (url, data) = (server.url("/feed.xml"), folder());
    let setup = Setup::new(&guide().replace("https://shop.example.com/products.xml", &url));
    let run = || catalog(&setup, data.path(), &["sync"]);
    assert_eq!(told(&run()), "full: 1 new, 0 changed, 0 unchanged, 0 removed, 0 rejected\n");
    assert_eq!(told(&run()), "The feed has not changed.\n");
    change(GOOGLE_XML.replace("20.00", "21.00"));
    assert_eq!(told(&run()), "full: 0 new, 1 changed, 0 unchanged, 0 removed, 0 rejected\n");
    // A feed that breaks off loses nothing.
    change(GOOGLE_XML[..GOOGLE_XML.len() / 2].to_owned());
    let failed = run();
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(!failed.status.success() && said.contains("breaks off"), "{said}");
    change(GOOGLE_XML.to_owned());
    assert_eq!(told(&run()), "full: 0 new, 1 changed, 0 unchanged, 0 removed, 0 rejected\n");
    assert!(!fs::exists(data.path().join("feed.download")).expect("looked"), "what was read is removed");
}

/// Buys pieces of a variant that needs no shipping.
#[track_caller]
pub(crate) fn buy(gateway: &Gateway, variant: &str, quantity: u64) {
    let post = |path: &str, payload: &Value| {
        let key = new_key();
        let headers = [REST_HEADERS, &[("Idempotency-Key", &*key)]].concat();
        gateway.send("POST", path, &headers, payload.to_string().as_bytes())
    };
    let line = json!({ "item": { "id": variant }, "quantity": quantity });
    let created =
        post("/checkout-sessions", &json!({ "line_items": [line], "buyer": { "email": "buyer@example.com" } }));
    let id = created.json()["id"].as_str().unwrap_or_else(|| panic!("{created:?}")).to_owned();
    let instrument = json!({
        "id": "i1", "handler_id": "mock_payment_handler", "type": "card", "selected": true,
        "credential": { "type": "token", "token": "success_token" },
    });
    let path = format!("/checkout-sessions/{id}/complete");
    let completed = post(&path, &json!({ "payment": { "instruments": [instrument] } }));
    assert_eq!(completed.json()["status"], "completed", "{completed:?}");
}

/// A product whose only variant, `{id}-1`, is counted and needs no shipping.
pub(crate) fn counted(id: &str, price: u64, inventory: u64) -> Value {
    let mut product = product(id, id, price);
    product["variants"][0]["inventory"] = inventory.into();
    product["variants"][0]["digital"] = true.into();
    product
}

/// Returns `true` if the first variant of a product can be bought.
pub(crate) fn is_available(gateway: &Gateway, id: &str) -> bool {
    let found = gateway.lookup(&json!({ "ids": [id] }));
    found["products"][0]["variants"][0]["availability"]["available"].as_bool().unwrap_or_else(|| panic!("{found}"))
}

#[test]
fn goods_that_are_sold_stay_sold_when_a_feed_comes_again() {
    let feed = |bowl: &str, vases| format!("{}\n{}\n", counted("vase", 2_000, vases), product("bowl", bowl, 500));
    let (setup, data) = of_feed("feed.jsonl", &feed("Bowl", 2));
    let run = || told(&catalog(&setup, data.path(), &["sync"]));
    assert_eq!(run(), "full: 2 new, 0 changed, 0 unchanged, 0 removed, 0 rejected\n");
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    buy(&gateway, "vase-1", 2);
    // Another product changes, and the number is as before.
    fs::write(setup.path("feed.jsonl"), feed("Deep bowl", 2)).expect("a file");
    assert_eq!(run(), "full: 0 new, 1 changed, 1 unchanged, 0 removed, 0 rejected\n");
    eventually("the change of the feed", PATIENCE, || (found(&gateway, "deep").len() == 1).then_some(()));
    eventually("nothing to be left", PATIENCE, || (!is_available(&gateway, "vase")).then_some(()));
    // Another number is news, which knows of the sale if it is younger.
    fs::write(setup.path("feed.jsonl"), feed("Deep bowl", 1)).expect("a file");
    assert_eq!(run(), "full: 0 new, 1 changed, 1 unchanged, 0 removed, 0 rejected\n");
    eventually("the new goods", PATIENCE, || is_available(&gateway, "vase").then_some(()));
    buy(&gateway, "vase-1", 1);
    // One that is older than the sale does not.
    fs::write(setup.path("feed.jsonl"), feed("Deep bowl", 2)).expect("a file");
    let old = fs::File::options().write(true).open(setup.path("feed.jsonl")).expect("the feed");
    old.set_modified((Timestamp::now() - Duration::from_secs(3_600)).into()).expect("an older feed");
    run();
    let checkout = json!({ "line_items": [{ "item": { "id": "vase-1" }, "quantity": 1 }] });
    eventually("nothing to be left", PATIENCE, || (!is_available(&gateway, "vase")).then_some(()));
    let refused = gateway.send(
        "POST",
        "/checkout-sessions",
        &[REST_HEADERS, &[("Idempotency-Key", &*new_key())]].concat(),
        checkout.to_string().as_bytes(),
    );
    assert!(refused.body.contains("out_of_stock"), "{refused:?}");
}

#[test]
fn what_cannot_be_copied_is_said() {
    for (configuration, problem) in [
        ("[catalog]\nsource = \"backend\"\n", "\"backend\" needs the backend"),
        ("[catalog]\nsource = \"feed\"\n", "`catalog.feed_file` or `catalog.feed_url`"),
        ("[catalog]\nfeed_file = \"a.xml\"\n", "this means something with the source `feed` only"),
        ("[catalog]\nsource = \"feed\"\nfeed_url = \"http://shop.example.com/a\"\n", "expected an https address"),
    ] {
        let said = Setup::new(configuration).run("check-config").expect_err(configuration);
        assert!(said.contains(problem), "{configuration}: {said}");
    }
    let without = catalog(&Setup::new(""), folder().path(), &["sync"]);
    assert!(String::from_utf8_lossy(&without.stderr).contains("the configuration copies no catalog"));
}
