//! A shop to stand in front of, which answers at once: it speaks UCP over REST, and as much of Shopify's Storefront API
//! as a lookup takes. It has every product that is asked for, all of them alike but for their identifiers.
//!
//! It is a process of its own, so that its processor time can be told from that of whoever asks, and does as little as
//! it can: one thread, answers that are made beforehand, and requests that are read no further than to what they ask
//! for.

use std::{
    cell::{Cell, RefCell},
    net::SocketAddr,
    path::Path,
    rc::Rc,
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::LocalSet,
};

use crate::{Done, load::Connection, scenario::get, server::Server};

/// The release that it speaks.
const RELEASE: &str = "2026-08-25";

/// For how long a look-up is held back once that was asked for: much longer than it takes to ask for it many times.
const HELD: Duration = Duration::from_millis(300);

/// The path below which the Storefront API is.
const STOREFRONT: &[u8] = b"POST /api/";

/// Placeholder of the product's number in prepared responses.
const NUMBER: &str = "1234567890";

/// Number of option values of its products on the Storefront API.
const COLORS: usize = 2;
const SIZES: usize = 4;

/// An answer in which identifiers differ.
struct Template {
    pieces: Vec<Vec<u8>>,
}

impl Template {
    /// The text, with what differs wherever it has `placeholder`.
    fn new(text: &str, placeholder: &str) -> Self {
        Self { pieces: text.split(placeholder).map(|piece| piece.as_bytes().to_vec()).collect() }
    }

    fn write(&self, id: &[u8], to: &mut Vec<u8>) {
        let holes = self.pieces.len().saturating_sub(1) * id.len();
        head(self.pieces.iter().map(Vec::len).sum::<usize>() + holes, to);
        for (place, piece) in self.pieces.iter().enumerate() {
            if place > 0 {
                to.extend_from_slice(id);
            }
            to.extend_from_slice(piece);
        }
    }
}

fn head(length: usize, to: &mut Vec<u8>) {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n");
    to.extend_from_slice(head.as_bytes());
}

fn whole(body: &str, to: &mut Vec<u8>) {
    head(body.len(), to);
    to.extend_from_slice(body.as_bytes());
}

struct Upstream {
    lookup: Template,
    nodes: Template,
    profile: String,
    market: String,
    types: String,
    /// Response to a search, by which a client that waits for a server sees that it is up: empty, in both languages.
    page: String,
    found: String,
    /// Number of lookups so far.
    calls: Cell<u64>,
    /// `true` if the next of them is to be held back.
    hold: Cell<bool>,
    /// Duration of each lookup.
    slow: Cell<Duration>,
    /// The body of the last one.
    asked: RefCell<Vec<u8>>,
}

/// Serves until the process is killed. `answer` is what a gateway answers to the lookup of the product `id`.
pub(crate) fn serve(answer: &Path, id: &str) -> Done<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(LocalSet::new().run_until(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let upstream = Rc::new(Upstream {
            lookup: Template::new(&std::fs::read_to_string(answer)?, id),
            nodes: Template::new(&nodes().to_string(), NUMBER),
            profile: profile(address).to_string(),
            market: market().to_string(),
            types: json!({ "data": { "productTypes": { "edges": [{ "node": "Running Shoes" }] } } }).to_string(),
            page: json!({ "data": { "page": {
                "totalCount": 0, "pageInfo": { "hasNextPage": false, "endCursor": null }, "edges": [],
            } } })
            .to_string(),
            found: json!({
                "ucp": { "version": RELEASE, "status": "success", "capabilities": {} }, "products": [],
            })
            .to_string(),
            calls: Cell::default(),
            hold: Cell::default(),
            slow: Cell::default(),
            asked: RefCell::default(),
        });
        println!("REST http://{address}");
        loop {
            let (stream, _) = listener.accept().await?;
            // A client that disconnects has sent its last request.
            tokio::task::spawn_local(attend(stream, Rc::clone(&upstream)));
        }
    }))
}

/// Answers one request after the other.
async fn attend(mut stream: TcpStream, upstream: Rc<Upstream>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut buffer, mut answer) = (vec![0; 64 << 10], Vec::new());
    let mut filled = 0;
    loop {
        let read = stream.read(&mut buffer[filled..]).await?;
        if read == 0 {
            return Ok(());
        }
        filled += read;
        while let Some((body, end)) = request(&buffer[..filled]) {
            answer.clear();
            let wait = upstream.answer(&buffer[..end], body, &mut answer);
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
            stream.write_all(&answer).await?;
            buffer.copy_within(end..filled, 0);
            filled -= end;
        }
    }
}

/// Returns the offsets of the beginning and the end of the first request's body, once all of it is there.
fn request(bytes: &[u8]) -> Option<(usize, usize)> {
    const LENGTH: &[u8] = b"content-length:";
    let body = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let mut lines = bytes[..body].split(|byte| *byte == b'\n');
    let length = lines.find_map(|line| {
        let stated = line.get(LENGTH.len()..)?;
        let named = line[..LENGTH.len()].eq_ignore_ascii_case(LENGTH);
        std::str::from_utf8(stated).ok().filter(|_| named)?.trim().parse::<usize>().ok()
    });
    let end = body + length.unwrap_or(0);
    (bytes.len() >= end).then_some((body, end))
}

/// The first identifier in what is asked.
fn id(body: &[u8]) -> Option<&[u8]> {
    const IDS: &[u8] = b"\"ids\":[\"";
    let start = body.windows(IDS.len()).rposition(|window| window == IDS)? + IDS.len();
    let length = body[start..].iter().position(|byte| *byte == b'"')?;
    Some(&body[start..start + length])
}

impl Upstream {
    /// Answers a request; how long that is to be held back.
    fn answer(&self, request: &[u8], body: usize, to: &mut Vec<u8>) -> Duration {
        let body = &request[body..];
        if let Some(id) = id(body) {
            self.calls.set(self.calls.get() + 1);
            if request.starts_with(STOREFRONT) {
                let mut asked = self.asked.borrow_mut();
                asked.clear();
                asked.extend_from_slice(body);
                self.nodes.write(id.rsplit(|byte| *byte == b'/').next().unwrap_or_default(), to);
            } else {
                self.lookup.write(id, to);
            }
            return if self.hold.take() { HELD } else { self.slow.get() };
        }
        if request.starts_with(b"GET /calls ") {
            whole(&self.calls.get().to_string(), to);
        } else if request.starts_with(b"GET /asked ") {
            whole(&String::from_utf8_lossy(&self.asked.borrow()), to);
        } else if let Some(milliseconds) = request.strip_prefix(b"GET /slow/") {
            let digits = milliseconds.iter().map_while(|byte| char::from(*byte).to_digit(10));
            self.slow.set(Duration::from_millis(digits.fold(0, |sum, digit| sum * 10 + u64::from(digit))));
            whole("{}", to);
        } else if request.starts_with(b"GET /hold ") {
            self.hold.set(true);
            whole("{}", to);
        } else if request.starts_with(b"GET ") {
            whole(&self.profile, to);
        } else if request.starts_with(STOREFRONT) {
            let names = |name: &[u8]| body.windows(name.len()).any(|window| window == name);
            if names(b"query Shop ") {
                whole(&self.market, to);
            } else if names(b"query Types(") {
                whole(&self.types, to);
            } else {
                whole(&self.page, to);
            }
        } else {
            whole(&self.found, to);
        }
        Duration::ZERO
    }
}

/// Returns the number of lookups that the upstream has received.
pub(crate) async fn calls(upstream: &Server) -> Done<u64> {
    let calls = Connection::open(upstream.address).await?.body(&get("/calls")).await?;
    Ok(String::from_utf8(calls)?.parse()?)
}

/// Has the upstream hold back its next look-up.
pub(crate) async fn hold(upstream: &Server) -> Done<()> {
    Connection::open(upstream.address).await?.body(&get("/hold")).await.map(drop)
}

/// Has each look-up take so long from now on.
pub(crate) async fn slow(upstream: &Server, each: Duration) -> Done<()> {
    let path = format!("/slow/{}", each.as_millis());
    Connection::open(upstream.address).await?.body(&get(&path)).await.map(drop)
}

/// Returns the last request to the upstream over the Storefront API.
pub(crate) async fn asked(upstream: &Server) -> Done<String> {
    let asked = Connection::open(upstream.address).await?.body(&get("/asked")).await?;
    Ok(String::from_utf8(asked)?)
}

/// Returns the profile of the upstream.
fn profile(address: SocketAddr) -> Value {
    let entry = |name: &str| {
        json!([{
            "version": RELEASE,
            "spec": format!("https://ucp.dev/{RELEASE}/specification/{name}"),
            "schema": format!("https://ucp.dev/{RELEASE}/schemas/shopping/{name}.json"),
        }])
    };
    json!({ "ucp": {
        "version": RELEASE,
        "services": { "dev.ucp.shopping": [{
            "version": RELEASE,
            "spec": format!("https://ucp.dev/{RELEASE}/specification/overview"),
            "transport": "rest",
            "endpoint": format!("http://{address}"),
            "schema": format!("https://ucp.dev/{RELEASE}/services/shopping/rest.openapi.json"),
        }] },
        "capabilities": {
            "dev.ucp.shopping.catalog.search": entry("catalog_search"),
            "dev.ucp.shopping.catalog.lookup": entry("catalog_lookup"),
        },
        "payment_handlers": {},
    } })
}

/// Returns the market of the shop, as on the Storefront API.
fn market() -> Value {
    let home = json!({ "isoCode": "US", "currency": { "isoCode": "USD" } });
    json!({ "data": {
        "shop": { "name": "Upstream" },
        "localization": {
            "availableCountries": [home],
            "availableLanguages": [{ "isoCode": "EN" }],
            "country": home,
            "language": { "isoCode": "EN" },
        },
    } })
}

/// Returns the nodes of a lookup on the Storefront API, with one product.
fn nodes() -> Value {
    let money = |amount: &str| json!({ "amount": amount, "currencyCode": "USD" });
    let axis = |name: &str, values: Vec<String>| {
        let value = |(place, value): (usize, &String)| json!({ "id": format!("gid://shopify/ProductOptionValue/{}{place}", name.len()), "name": value });
        json!({ "name": name, "optionValues": values.iter().enumerate().map(value).collect::<Vec<_>>() })
    };
    let (color, size) = (|place: usize| format!("Color {place}"), |place: usize| format!("{}", 38 + place));
    let picture = |name: &str| {
        json!({
            "url": format!("https://cdn.example.com/files/runner-{NUMBER}-{name}.jpg?v=1700000000"),
            "altText": format!("Runner, {name}"), "width": 1200, "height": 1200,
        })
    };
    let variants: Vec<_> = (0..COLORS * SIZES)
        .map(|number| {
            let (one, other) = (color(number / SIZES), size(number % SIZES));
            json!({
                "id": format!("gid://shopify/ProductVariant/{NUMBER}{number}"),
                "title": format!("{one} / {other}"), "sku": format!("RUN-{NUMBER}-{number}"), "barcode": null,
                "availableForSale": number % 3 > 0, "currentlyNotInStock": false, "requiresShipping": true,
                "price": money("129.95"), "compareAtPrice": money("149.95"),
                "unitPrice": null, "unitPriceMeasurement": null, "image": picture(&number.to_string()),
                "selectedOptions": [{ "name": "Color", "value": one }, { "name": "Size", "value": other }],
            })
        })
        .collect();
    let range = |amount: &str| json!({ "minVariantPrice": money(amount), "maxVariantPrice": money(amount) });
    let combinations = format!("v1_0:0-{0},1:0-{0},", SIZES - 1);
    let media = |name: &str| json!({ "__typename": "MediaImage", "alt": name, "image": picture(name) });
    json!({ "data": { "nodes": [{
        "__typename": "Product", "id": format!("gid://shopify/Product/{NUMBER}"), "handle": format!("runner-{NUMBER}"),
        "title": format!("Runner {NUMBER}"),
        "descriptionHtml": "<p>A light shoe for <strong>long runs</strong> on roads and paths, with a sole that gives back \
            what it takes and a heel that holds.</p><ul><li>Drop: 8 mm</li><li>Weight: 240 g</li></ul>",
        "onlineStoreUrl": format!("https://shop.example.com/products/runner-{NUMBER}"),
        "productType": "Running Shoes", "vendor": "Upstream",
        "encodedVariantExistence": combinations, "encodedVariantAvailability": combinations,
        "category": { "id": "gid://shopify/TaxonomyCategory/aa-8-8" },
        "priceRange": range("129.95"), "compareAtPriceRange": range("149.95"),
        "options": [axis("Color", (0..COLORS).map(color).collect()), axis("Size", (0..SIZES).map(size).collect())],
        "media": { "nodes": [media("front"), media("side"), media("sole")] },
        "featured": variants[1],
        "variants": { "pageInfo": { "hasNextPage": false }, "nodes": variants },
    }] } })
}
