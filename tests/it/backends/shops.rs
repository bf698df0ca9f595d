//! Shops that nobody here wrote, behind the mappings and adapters of `examples`: they run as their makers ship them, on sample goods
//! (`tests/upstreams`). Whole purchases in every release, with the orders looked up in the shop; a shop that restarts, is
//! slow, throttles, and answers what no shop should; orders whose answer is lost and orders that do not arrive.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use ucp_core::Release;
use ucp_testkit::{
    PATIENCE, eventually,
    host::Request,
    leash::{Leashed, Lines},
    server::{Answer, Server},
};

use super::{CONFIGURATION, End, Goods, UPSTREAM};
use crate::{
    harness::{copy, folder, repository},
    purchase::shopper::{Said, Shopper, id, new_key, paying_by, ready, total, ways},
    setup::{Configured, Setup, Transport},
};

/// Deadlines that a test can wait for.
const IMPATIENT: &str = "
    [upstream]
    connect_timeout_ms = 2000
    read_timeout_ms = 8000
    write_timeout_ms = 20000
    complete_timeout_ms = 22000
";

/// Longest time after which an attempt that never arrived is given up, on a machine that is busy.
const GIVEN_UP: Duration = Duration::from_secs(240);

/// Goods of the sample shop by their usual names, ordered on account.
const GOODS: Goods = Goods {
    word: "cotton",
    choices: "13",
    plenty: ["1-1", "2-2"],
    sold_out: "3-3",
    code: Some("WELCOME10"),
    secret: Some("m1."),
    end: End::Paid { handler: "on_account", kind: "invoice", token: "none" },
};

/// A kind of shop.
#[derive(Debug)]
pub(super) struct Kind {
    /// Name of its mapping, and in the variables that say how it is started.
    name: &'static str,
    behind: Behind,
    pub(super) goods: Goods,
    /// Text in the request, and in no other, that places an order.
    placing: &'static str,
    /// Returns the email address and the total of each order that it has.
    orders: fn(&BackendShop) -> Vec<(String, i64)>,
}

/// Layer in front of a shop.
#[derive(Debug)]
enum Behind {
    Mapping {
        /// Origin that the mapping names.
        origin: &'static str,
        /// Secrets that the mapping names.
        secrets: &'static [(&'static str, &'static str)],
    },
    /// An adapter that implements the backend contract.
    Contract {
        /// Secret that it shares with the gateway.
        secret: &'static str,
    },
}

pub(super) static OSCAR: Kind = Kind {
    name: "oscar",
    behind: Behind::Mapping {
        origin: "http://127.0.0.1:18765",
        secrets: &[("OSCAR_STAFF_PASSWORD", "staff-password")],
    },
    goods: Goods { code: None, ..GOODS },
    placing: "/checkout/",
    orders: |shop| {
        let answer = shop.asked("GET", "/api/admin/orders/", Some("Basic c3RhZmY6c3RhZmYtcGFzc3dvcmQ="), None);
        let order = |order: &Value| {
            let total = order["total_incl_tax"].as_str().expect("a total").replace('.', "");
            (order["email"].as_str().expect("an address").to_owned(), total.parse().expect("cents"))
        };
        answer.as_array().expect("orders").iter().map(order).collect()
    },
};

pub(super) static VENDURE: Kind = Kind {
    name: "vendure",
    behind: Behind::Mapping { origin: "http://127.0.0.1:18766", secrets: &[] },
    goods: Goods { end: End::Paid { handler: "cards", kind: "card", token: "success_token" }, ..GOODS },
    placing: "addPaymentToOrder",
    orders: |shop| {
        shop.recorded(
            "shop.sqlite3",
            "SELECT customer.emailAddress, \"order\".subTotalWithTax + \"order\".shippingWithTax FROM \"order\" JOIN \
             customer ON customer.id = \"order\".customerId WHERE \"order\".orderPlacedAt IS NOT NULL",
        )
    },
};

pub(super) static EVERSHOP: Kind = Kind {
    name: "evershop",
    behind: Behind::Mapping {
        origin: "http://127.0.0.1:18767",
        secrets: &[("EVERSHOP_STAFF_TOKEN", include_str!("../../upstreams/evershop/staff-token"))],
    },
    goods: Goods {
        plenty: ["v1", "v2"],
        sold_out: "v3",
        secret: None,
        end: End::Paid { handler: "cod", kind: "cash", token: "none" },
        ..GOODS
    },
    placing: "/checkout",
    orders: |shop| shop.counted("SELECT customer_email, round(grand_total * 100)::bigint FROM \"order\""),
};

pub(super) static SALEOR: Kind = Kind {
    name: "saleor",
    behind: Behind::Mapping {
        origin: "http://127.0.0.1:18768",
        secrets: &[("SALEOR_APP_TOKEN", "token0of0the0gateway0for0tests")],
    },
    goods: Goods {
        choices: "UHJvZHVjdDoxMw==",
        plenty: ["UHJvZHVjdFZhcmlhbnQ6MQ==", "UHJvZHVjdFZhcmlhbnQ6Mg=="],
        sold_out: "UHJvZHVjdFZhcmlhbnQ6Mw==",
        secret: Some("Q2hlY2tvdXQ6"),
        end: End::Paid { handler: "com.example.cards", kind: "card", token: "success_token" },
        ..GOODS
    },
    // A checkout that is paid for becomes an order, whoever asks.
    placing: "transactionInitialize",
    orders: |shop| shop.counted("SELECT user_email, round(total_gross_amount * 100)::bigint FROM order_order"),
};

pub(super) static TRYTON: Kind = Kind {
    name: "tryton",
    behind: Behind::Contract { secret: "secret-of-the-shop" },
    goods: Goods { secret: Some("sale-"), ..GOODS },
    placing: "/place",
    orders: |shop| {
        shop.recorded(
            "shop.sqlite",
            "SELECT email.value, CAST(ROUND(sale.total_amount_cache * 100) AS INTEGER) FROM sale_sale AS sale JOIN \
             party_contact_mechanism AS email ON email.party = sale.party WHERE sale.state IN ('confirmed', \
             'processing', 'done')",
        )
    },
};

pub(super) static PHP: Kind = Kind {
    name: "php",
    behind: Behind::Contract { secret: "secret-of-the-shop" },
    goods: Goods {
        choices: "shirt",
        plenty: ["socks-1", "mug-1"],
        sold_out: "robe-1",
        secret: Some("starter-cart"),
        end: End::Paid { handler: "starter_pay", kind: "card", token: "success_token" },
        ..GOODS
    },
    placing: "/place",
    orders: |shop| shop.kept("starter-shop.json"),
};

pub(super) static COMMERCETOOLS: Kind = Kind {
    name: "commercetools",
    behind: Behind::Mapping {
        origin: "http://127.0.0.1:18767",
        secrets: &[("COMMERCETOOLS_CLIENT_SECRET", "secret-of-the-client")],
    },
    goods: Goods {
        choices: "00000000-0000-4000-8000-000000000013",
        plenty: ["UP1", "UP2"],
        sold_out: "UP3",
        secret: None,
        ..GOODS
    },
    placing: "orderNumber",
    orders: |shop| {
        shop.recorded(
            "shop.sqlite",
            "SELECT json_extract(data, '$.customerEmail'), json_extract(data, '$.totalPrice.centAmount') FROM \
             resources WHERE type_id = 'order'",
        )
    },
};

pub(super) static SALESMAN: Kind = Kind {
    name: "salesman",
    behind: Behind::Mapping {
        origin: "http://127.0.0.1:18768",
        secrets: &[("SALESMAN_STAFF_PASSWORD", "staff-password")],
    },
    goods: GOODS,
    placing: "/checkout/",
    orders: |shop| {
        shop.recorded("shop.sqlite3", "SELECT email, CAST(ROUND(total * 100) AS INTEGER) FROM salesmanorders_order")
    },
};

/// A stand-in for WooCommerce, made from what is public about its Store API.
pub(super) static WOOCOMMERCE: Kind = Kind {
    name: "woocommerce",
    behind: Behind::Mapping {
        origin: "http://127.0.0.1:18769",
        secrets: &[("WOOCOMMERCE_CONSUMER_SECRET", "cs_of_the_test_shop")],
    },
    goods: Goods { end: End::Paid { handler: "bacs", kind: "invoice", token: "none" }, ..GOODS },
    placing: "/checkout",
    orders: |shop| shop.kept("shop.json"),
};

/// A stand-in for Magento, which executes documents against its schema.
pub(super) static MAGENTO: Kind = Kind {
    name: "magento",
    behind: Behind::Mapping {
        origin: "http://127.0.0.1:18770",
        secrets: &[("MAGENTO_ACCESS_TOKEN", "token-of-the-test-shop")],
    },
    goods: Goods {
        choices: "SHIRT",
        plenty: ["UP1:UP1", "UP2:UP2"],
        sold_out: "UP3:UP3",
        secret: None,
        end: End::Paid { handler: "purchaseorder", kind: "invoice", token: "none" },
        ..GOODS
    },
    placing: "placeOrder",
    orders: |shop| shop.kept("shop.json"),
};

impl Kind {
    fn variable(&self, what: &str) -> Option<String> {
        std::env::var(format!("UCP_{}_{what}", self.name.to_uppercase())).ok()
    }

    /// Returns `true` if it can be started here. Otherwise says why not.
    pub(super) fn installed(&self) -> bool {
        let installed = self.variable("SHOP").is_some() && self.variable("DATA").is_some();
        if !installed {
            let name = self.name.to_uppercase();
            println!(
                "skipped: UCP_{name}_SHOP and UCP_{name}_DATA do not say how the shop is started, and on what data"
            );
        }
        installed
    }

    /// A gateway behind the mapping, with the shop at some origin.
    pub(super) fn gateway(&self, origin: &str, upstream: &str) -> Configured {
        self.setup(origin, upstream).start_on(folder())
    }

    fn setup(&self, origin: &str, upstream: &str) -> Setup {
        match self.behind {
            Behind::Mapping { origin: named, secrets } => {
                let mapping = repository().join(format!("examples/{}.toml", self.name));
                let mapping = std::fs::read_to_string(mapping).expect("a mapping").replace(named, origin);
                let setup = Setup::new(&format!("{CONFIGURATION}{upstream}\nmapping_file = \"shop.toml\"\n"))
                    .file("shop.toml", &mapping)
                    .arguments(&["--backend", "mapped"]);
                secrets.iter().fold(setup, |setup, (name, value)| setup.variable(name, value))
            }
            Behind::Contract { secret } => {
                Setup::new(&format!("{CONFIGURATION}{upstream}\nsigning_secret_file = \"secret\"\n"))
                    .file("secret", secret)
                    .arguments(&["--backend", "http", "--upstream-url", origin])
            }
        }
    }
}

/// A shop of its own data.
#[derive(Debug)]
pub(super) struct BackendShop {
    kind: &'static Kind,
    data: TempDir,
    port: u16,
    process: Leashed,
}

impl BackendShop {
    /// Starts one on a copy of the sample.
    pub(super) fn start(kind: &'static Kind) -> Self {
        let data = folder();
        copy(&PathBuf::from(kind.variable("DATA").expect("its data")), data.path());
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        let process = Self::process(kind, data.path(), port);
        Self { kind, data, port, process }
    }

    fn process(kind: &Kind, data: &Path, port: u16) -> Leashed {
        let words = kind.variable("SHOP").expect("how it is started");
        let mut words = words.split(' ');
        let mut command = Command::new(words.next().expect("a program"));
        command.args(words).arg(data).arg(port.to_string());
        if let Behind::Contract { secret } = kind.behind {
            command.env("BACKEND_SECRET", secret);
        }
        let mut process = Leashed::start(&command, Stdio::piped(), Stdio::null());
        Lines::of(process.stdout()).until("where the shop listens", |line| line.starts_with("http://"));
        process
    }

    /// Ends it without warning, and starts it again where it was, after `meanwhile`.
    fn restart(&mut self, meanwhile: impl FnOnce()) {
        self.process.kill();
        meanwhile();
        self.process = Self::process(self.kind, self.data.path(), self.port);
    }

    pub(super) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Asks the shop itself.
    fn asked(&self, method: &str, path: &str, authorization: Option<&str>, body: Option<&Value>) -> Value {
        let body = body.map(Value::to_string).unwrap_or_default();
        let authorization = authorization.map(|value| format!("Authorization: {value}\r\n")).unwrap_or_default();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n{authorization}Content-Type: \
             application/json\r\nContent-Length: {}\r\n\r\n",
            self.port,
            body.len()
        );
        let answer = passed_on(self.port, head.as_bytes(), body.as_bytes()).expect("an answer");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let from = answer.find(['{', '[']).unwrap_or(answer.len());
        let to = answer.rfind(['}', ']']).map_or(from, |last| last + 1);
        serde_json::from_str(&answer[from..to]).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    /// Reads email addresses and totals of orders from its database.
    fn recorded(&self, database: &str, query: &str) -> Vec<(String, i64)> {
        let database = rusqlite::Connection::open(self.data.path().join(database)).expect("its database");
        database.busy_timeout(PATIENCE).expect("patience");
        let mut orders = database.prepare(query).expect("a query");
        let rows = orders.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("orders");
        rows.map(|row| row.expect("an order")).collect()
    }

    /// Reads the same from the PostgreSQL server of a shop that has one in its directory, under the shop's name.
    fn counted(&self, query: &str) -> Vec<(String, i64)> {
        let mut psql = Command::new("psql");
        psql.args(["-h", self.data.path().to_str().expect("a path"), "-U", self.kind.name, "-d", self.kind.name]);
        let answer = psql.args(["-Atq", "-F", "\t", "-c", query]).output().expect("psql");
        assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
        let order = |line: &str| {
            let (email, total) = line.split_once('\t')?;
            Some((email.to_owned(), total.parse().ok()?))
        };
        let rows = String::from_utf8(answer.stdout).expect("text");
        rows.lines().map(|line| order(line).unwrap_or_else(|| panic!("an order: {line}"))).collect()
    }

    /// Reads email addresses and totals of orders from a file that it keeps.
    fn kept(&self, file: &str) -> Vec<(String, i64)> {
        let kept = std::fs::read(self.data.path().join(file)).expect("what the shop keeps");
        let kept: Value = serde_json::from_slice(&kept).expect("JSON");
        let order = |order: &Value| {
            (order["email"].as_str().expect("an address").to_owned(), order["total"].as_i64().expect("cents"))
        };
        kept["orders"].as_array().expect("orders").iter().map(order).collect()
    }

    /// Totals of the orders of a buyer.
    fn bought(&self, email: &str) -> Vec<i64> {
        (self.kind.orders)(self).into_iter().filter(|(own, _)| own == email).map(|(_, total)| total).collect()
    }
}

/// Sends a request whose connection ends with it, and returns the answer as it comes.
fn passed_on(port: u16, head: &[u8], body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(&[head, body].concat())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}

/// Changes of requests by a proxy.
#[derive(Clone, Debug)]
enum Fault {
    /// Nothing.
    Sound,
    /// Answers all by itself.
    Says(Answer),
    /// Answers so many by itself, and passes the others on.
    Begins(usize, Answer),
    /// Keeps those with the text in them from the shop, and hangs up.
    Stopped(&'static str),
    /// Passes those with the text in them on, and loses the answer.
    Lost(&'static str),
    /// Passes those with the text in them on, and holds the answer back for so long.
    Late(&'static str, Duration),
}

/// A proxy between the gateway and a shop.
struct Proxy {
    server: Server,
    fault: Arc<Mutex<Fault>>,
}

impl Proxy {
    fn before(shop: &BackendShop) -> Self {
        let fault = Arc::new(Mutex::new(Fault::Sound));
        let (told, port) = (Arc::clone(&fault), shop.port);
        let server = Server::start(move |request| {
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            let has = |text: &str| {
                request.uri().path().contains(text) || String::from_utf8_lossy(request.body()).contains(text)
            };
            let fault = told.clone();
            if let Fault::Begins(left, _) = &mut *told {
                *left = left.saturating_sub(1);
            }
            drop(told);
            match fault {
                Fault::Says(answer) => answer,
                Fault::Begins(left, answer) if left > 0 => answer,
                Fault::Stopped(text) if has(text) => Answer::HangUp,
                Fault::Lost(text) if has(text) => {
                    drop(forwarded(port, request));
                    Answer::HangUp
                }
                Fault::Late(text, by) if has(text) => {
                    let answer = forwarded(port, request).map_or(Answer::HangUp, Answer::Bytes);
                    thread::sleep(by);
                    answer
                }
                _ => forwarded(port, request).map_or(Answer::HangUp, Answer::Bytes),
            }
        });
        Self { server, fault }
    }

    fn is(&self, fault: Fault) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }

    fn origin(&self) -> String {
        self.server.url("")
    }
}

fn forwarded(port: u16, request: &Request) -> std::io::Result<Vec<u8>> {
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method(), request.uri()).into_bytes();
    for (name, value) in request.headers() {
        if name != "connection" {
            head.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
        }
    }
    head.extend(b"Connection: close\r\n\r\n");
    passed_on(port, &head, request.body())
}

/// A purchase of a buyer with an address of its own.
fn wanted(goods: &Goods, email: &str) -> Value {
    let mut wanted = ready(&[(goods.plenty[0], 2), (goods.plenty[1], 1)]);
    wanted["buyer"] = json!({ "email": email, "first_name": "Bea", "last_name": "Buyer" });
    wanted
}

#[track_caller]
fn prepared(shopper: &Shopper<'_>, kind: &Kind, email: &str) -> Value {
    let checkout = shopper.create(&wanted(&kind.goods, email));
    assert_eq!(checkout["status"], "ready_for_complete", "{checkout}");
    checkout
}

fn completed(shopper: &Shopper<'_>, kind: &Kind, checkout: &Value) -> Said {
    let End::Paid { handler, kind, token } = kind.goods.end else { panic!("it takes payments") };
    shopper.call("complete_checkout", Some(id(checkout)), &paying_by(kind, shopper.release, handler, token))
}

/// Status and document or refusal of a call over REST, which may come to nothing because of the shop.
fn asked(shopper: &Shopper<'_>, operation: &str, of: Option<&str>, payload: &Value) -> (u16, Value) {
    let (method, path, headers, body) = shopper.request(Some(&new_key()), operation, of, payload);
    let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let answer = shopper.gateway.send(method, &path, &headers, &body);
    (answer.status, answer.json())
}

fn standing(shopper: &Shopper<'_>, checkout: &Value) -> Value {
    shopper.call("get_checkout", Some(id(checkout)), &json!({})).document()
}

fn newest(gateway: &Configured) -> Shopper<'_> {
    Shopper::new(gateway, Release::NEWEST, Transport::Rest)
}

/// In every release and over every transport: what the platform is told was bought is what the shop has.
fn every_release_buys(kind: &'static Kind) {
    let shop = BackendShop::start(kind);
    let gateway = kind.gateway(&shop.origin(), UPSTREAM);
    for (number, (release, transport)) in ways().enumerate() {
        let email = format!("buyer-{number}@example.com");
        let shopper = Shopper::new(&gateway, release, transport);
        let checkout = prepared(&shopper, kind, &email);
        assert!(shop.bought(&email).is_empty());
        let done = completed(&shopper, kind, &checkout).document();
        assert_eq!(done["status"], "completed", "{release} {transport:?}: {done}");
        assert_eq!(shop.bought(&email), [total(&checkout, "total")], "{release} {transport:?}");
    }
}

/// A shop that goes away and comes back: nothing is lost, and nobody is told what is not true.
fn a_restart_loses_nothing(kind: &'static Kind) {
    let mut shop = BackendShop::start(kind);
    let gateway = kind.gateway(&shop.origin(), IMPATIENT);
    let shopper = newest(&gateway);
    let checkout = prepared(&shopper, kind, "restart@example.com");
    let pay = || {
        let End::Paid { handler, kind, token } = kind.goods.end else { panic!("it takes payments") };
        asked(&shopper, "complete_checkout", Some(id(&checkout)), &paying_by(kind, shopper.release, handler, token))
    };
    shop.restart(|| {
        let (status, said) = pay();
        assert_eq!((status, &said["code"]), (503, &json!("unavailable")), "{said}");
    });
    // A shop that has just started may take its time, so that it is asked what became of the order.
    eventually("the purchase goes on", GIVEN_UP, || {
        pay();
        let (_, said) = asked(&shopper, "get_checkout", Some(id(&checkout)), &json!({}));
        (said["status"] == "completed").then_some(())
    });
    assert_eq!(shop.bought("restart@example.com"), [total(&checkout, "total")]);
}

/// Callers receive `unavailable` for any invalid response of a shop, and everything works once the shop does.
fn wrong_answers_are_the_shops(kind: &'static Kind) {
    let shop = BackendShop::start(kind);
    let proxy = Proxy::before(&shop);
    let gateway = kind.gateway(&proxy.origin(), IMPATIENT);
    let shopper = newest(&gateway);
    let whole = |status, body: &str| {
        let json = vec!["Content-Type: application/json".to_owned()];
        Answer::Whole(status, json, body.as_bytes().to_vec())
    };
    let throttled = Answer::Whole(429, vec!["Retry-After: 1".to_owned()], Vec::new());
    let answers = [
        Answer::status(500),
        Answer::status(503),
        throttled.clone(),
        Answer::HangUp,
        Answer::Silence,
        whole(200, "<html>Welcome</html>"),
        whole(200, "{\"data\": {\"half\": [1, 2"),
        whole(200, "7"),
        whole(200, "\"\""),
        whole(200, "{\"data\": 7}"),
        Answer::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort".to_vec()),
        Answer::Bytes(b"not HTTP at all\r\n\r\n".to_vec()),
    ];
    for (number, answer) in answers.into_iter().enumerate() {
        let shown = format!("{answer:?}");
        proxy.is(Fault::Says(answer));
        // Words that nobody has asked for yet, so that nothing is kept.
        let searched = asked(&shopper, "search_catalog", None, &json!({ "query": format!("cotton {number}") }));
        let made = asked(&shopper, "create_checkout", None, &wanted(&kind.goods, "wrong@example.com"));
        for (status, said) in [searched, made] {
            assert_eq!((status, &said["code"]), (503, &json!("unavailable")), "{shown}: {said}");
        }
        proxy.is(Fault::Sound);
        eventually("the shop is asked again", PATIENCE, || {
            let right = wanted(&kind.goods, "right@example.com");
            (asked(&shopper, "create_checkout", None, &right).0 == 201).then_some(())
        });
    }
    assert!(shop.bought("wrong@example.com").is_empty());
    // A shop that throttles for a moment is asked again by the gateway itself.
    proxy.is(Fault::Begins(1, throttled));
    let (status, found) = asked(&shopper, "search_catalog", None, &json!({ "query": "cotton towel" }));
    assert_eq!(status, 200, "{found}");
}

/// A shop whose every answer comes late sells as any other; one that confirms an order after the gateway has stopped
/// waiting has one order.
fn a_slow_shop_sells(kind: &'static Kind) {
    let shop = BackendShop::start(kind);
    let proxy = Proxy::before(&shop);
    let gateway = kind.gateway(&proxy.origin(), IMPATIENT);
    let shopper = newest(&gateway);
    proxy.is(Fault::Late("", Duration::from_millis(700)));
    let checkout = prepared(&shopper, kind, "slow@example.com");
    completed(&shopper, kind, &checkout);
    let done = eventually("the shop confirms the order", PATIENCE, || {
        Some(standing(&shopper, &checkout)).filter(|checkout| checkout["status"] == "completed")
    });
    assert!(done["order"]["id"].is_string(), "{done}");
    assert_eq!(shop.bought("slow@example.com"), [total(&checkout, "total")]);

    proxy.is(Fault::Sound);
    let checkout = prepared(&shopper, kind, "later@example.com");
    proxy.is(Fault::Late(kind.placing, Duration::from_secs(28)));
    let said = completed(&shopper, kind, &checkout).document();
    assert_eq!(said["status"], "complete_in_progress", "{said}");
    proxy.is(Fault::Sound);
    eventually("the shop says what became of it", PATIENCE, || {
        completed(&shopper, kind, &checkout);
        (standing(&shopper, &checkout)["status"] == "completed").then_some(())
    });
    assert_eq!(shop.bought("later@example.com"), [total(&checkout, "total")]);
}

/// The answer to an order is lost: the shop is asked, and has one order.
fn a_lost_answer_is_asked_for(kind: &'static Kind) {
    let shop = BackendShop::start(kind);
    let proxy = Proxy::before(&shop);
    let gateway = kind.gateway(&proxy.origin(), IMPATIENT);
    let shopper = newest(&gateway);
    let checkout = prepared(&shopper, kind, "lost@example.com");
    proxy.is(Fault::Lost(kind.placing));
    let said = completed(&shopper, kind, &checkout).document();
    assert_eq!(said["status"], "complete_in_progress", "{said}");
    proxy.is(Fault::Sound);
    let done = eventually("the shop says what became of it", PATIENCE, || {
        completed(&shopper, kind, &checkout);
        Some(standing(&shopper, &checkout)).filter(|checkout| checkout["status"] == "completed")
    });
    assert!(done["order"]["id"].is_string(), "{done}");
    assert_eq!(shop.bought("lost@example.com"), [total(&checkout, "total")]);
}

/// An order does not arrive: after a while it is given up, and cannot arrive any more.
fn an_order_that_does_not_arrive_is_given_up(kind: &'static Kind) {
    let shop = BackendShop::start(kind);
    let proxy = Proxy::before(&shop);
    let gateway = kind.gateway(&proxy.origin(), IMPATIENT);
    let shopper = newest(&gateway);
    let checkout = prepared(&shopper, kind, "never@example.com");
    proxy.is(Fault::Stopped(kind.placing));
    let said = completed(&shopper, kind, &checkout).document();
    assert_eq!(said["status"], "complete_in_progress", "{said}");
    let over = eventually("the attempt is given up", GIVEN_UP, || {
        thread::sleep(Duration::from_secs(1));
        Some(standing(&shopper, &checkout)).filter(|checkout| checkout["status"] != "complete_in_progress")
    });
    assert!(["incomplete", "ready_for_complete"].iter().any(|open| over["status"] == *open), "{over}");
    assert!(shop.bought("never@example.com").is_empty());
    // The buyer tries again, and buys once.
    proxy.is(Fault::Sound);
    let End::Paid { handler, kind: instrument, token } = kind.goods.end else { panic!("it takes payments") };
    let paying = paying_by(instrument, shopper.release, handler, token);
    let done = eventually("the shop is asked again", PATIENCE, || {
        let (status, said) = asked(&shopper, "complete_checkout", Some(id(&checkout)), &paying);
        (status == 200).then_some(said)
    });
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(shop.bought("never@example.com"), [total(&checkout, "total")]);
}

/// The gateway is killed while it places orders: no buyer has two, and all that the shop has are told.
fn a_kill_places_no_order_twice(kind: &'static Kind) {
    let shop = BackendShop::start(kind);
    let data = folder();
    let setup = kind.setup(&shop.origin(), UPSTREAM);
    let mut gateway = setup.spawn("127.0.0.1:0", data.path());
    let mut checkouts = Vec::new();
    for kill in 0..6 {
        let email = format!("kill-{kill}@example.com");
        let shopper = Shopper::new(&gateway, Release::NEWEST, Transport::Rest);
        let checkout = prepared(&shopper, kind, &email);
        let End::Paid { handler, kind: instrument, token } = kind.goods.end else { panic!("it takes payments") };
        let paying = paying_by(instrument, Release::NEWEST, handler, token);
        let (method, path, headers, body) = shopper.request(
            Some(&crate::purchase::shopper::new_key()),
            "complete_checkout",
            Some(id(&checkout)),
            &paying,
        );
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut connection = gateway.connect();
        assert!(connection.write(&crate::wire::request(method, &path, &headers, &body)));
        thread::sleep(Duration::from_millis(kill * 60));
        gateway.kill();
        gateway = setup.spawn("127.0.0.1:0", data.path());
        checkouts.push((email, checkout));
    }
    let shopper = Shopper::new(&gateway, Release::NEWEST, Transport::Rest);
    for (email, checkout) in &checkouts {
        let bought = eventually("what the shop has is what the platform is told", GIVEN_UP, || {
            thread::sleep(Duration::from_millis(300));
            let standing = standing(&shopper, checkout);
            let bought = shop.bought(email);
            let told = standing["status"] == "completed";
            (standing["status"] != "complete_in_progress" && told != bought.is_empty()).then_some(bought)
        });
        assert!(bought.is_empty() || bought == [total(checkout, "total")], "{email}: {bought:?}");
    }
}

macro_rules! of_each {
    ($($rule:ident),+ $(,)?) => {
        of_each!(oscar: OSCAR: $($rule),+);
        of_each!(vendure: VENDURE: $($rule),+);
        of_each!(evershop: EVERSHOP: $($rule),+);
        of_each!(saleor: SALEOR: $($rule),+);
        of_each!(tryton: TRYTON: $($rule),+);
        of_each!(php: PHP: $($rule),+);
        of_each!(commercetools: COMMERCETOOLS: $($rule),+);
        of_each!(salesman: SALESMAN: $($rule),+);
        of_each!(woocommerce: WOOCOMMERCE: $($rule),+);
        of_each!(magento: MAGENTO: $($rule),+);
    };
    ($name:ident: $kind:ident: $($rule:ident),+) => {
        mod $name {
            $(
                #[test]
                fn $rule() {
                    if super::$kind.installed() {
                        super::$rule(&super::$kind);
                    }
                }
            )+
        }
    };
}

of_each! {
    every_release_buys,
    a_restart_loses_nothing,
    wrong_answers_are_the_shops,
    a_slow_shop_sells,
    a_lost_answer_is_asked_for,
    an_order_that_does_not_arrive_is_given_up,
    a_kill_places_no_order_twice,
}
