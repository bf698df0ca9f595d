//! Which bot is asking, as a shop behind the Storefront API sees it (Web Bot Auth).

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, UNIX_EPOCH},
};

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use ucp_trust::{
    jwk::read_set,
    signature::{Message, RequestLine, Scheme, Start, base, input},
};

use crate::{
    harness::{Gateway, binary, eventually},
    setup::Setup,
    signatures::now,
    wire::{Connection, request},
};

const DIRECTORY: &str = "/.well-known/http-message-signatures-directory";

/// The parts of [`given`] that nobody else may see.
const SECRETS: [&str; 3] = ["7f3a91", "c2lnbmF0dXJlLTdmM2E5MQ", "sig1="];

/// What a merchant gets in the shop's admin, good for so many days.
fn given(days: u64) -> [(&'static str, String); 3] {
    let now = now().duration_since(UNIX_EPOCH).expect("a time").as_secs();
    let (created, expires) = (now - 60, now + days * 24 * 60 * 60);
    let input = format!(
        "sig1=(\"@authority\" \"signature-agent\");keyid=\"k-7f3a91\";nonce=\"n-7f3a91\";tag=\"web-bot-auth\";\
         created={created};expires={expires}"
    );
    [
        ("Signature-Agent", "\"https://shopify.com\"".to_owned()),
        ("Signature-Input", input),
        ("Signature", "sig1=:c2lnbmF0dXJlLTdmM2E5MQ==:".to_owned()),
    ]
}

/// A shop that says where it sells, and remembers who asked. It ends with the tests.
struct Shop {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<HeaderMap>>>,
}

impl Shop {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let log = Arc::clone(&log);
                // Whoever hangs up early is no failure of the shop.
                std::thread::spawn(move || answer(stream, &log).ok());
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<HeaderMap> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A gateway that is about to stand in front of it.
    fn behind(&self, configuration: &str) -> Setup {
        let upstream = format!(
            "\n[upstream]\nbackend = \"shopify\"\nurl = \"http://{}\"\nconnect_timeout_ms = 20000\nread_timeout_ms = 30000\n",
            self.address
        );
        Setup::new(&(configuration.replace("[upstream]\n", &upstream)))
    }
}

fn answer(stream: TcpStream, log: &Mutex<Vec<HeaderMap>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    reader.read_line(&mut String::new())?;
    let mut headers = HeaderMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
        headers.append(name, HeaderValue::from_str(value.trim()).expect("a value"));
    }
    let length = headers.get("content-length").and_then(|length| length.to_str().ok()?.parse().ok());
    reader.read_exact(&mut vec![0; length.unwrap_or(0)])?;
    log.lock().unwrap_or_else(PoisonError::into_inner).push(headers);
    let country = json!({ "isoCode": "US", "currency": { "isoCode": "USD" } });
    let body = json!({ "data": {
        "shop": { "name": "Stub" },
        "localization": {
            "availableCountries": [country], "availableLanguages": [{ "isoCode": "EN" }], "country": country,
            "language": { "isoCode": "EN" },
        },
    } });
    let body = body.to_string();
    write!(
        reader.get_mut(),
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn the_signature_of_the_merchant_is_shown_to_the_shop_and_to_nobody_else() {
    let shop = Shop::open();
    let fields = given(10);
    let text: String = fields.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    let configuration = "[server]\nadmin_listen = \"127.0.0.1:0\"\nadmin_token_file = \"admin\"\n\
                         [upstream]\nsignature_file = \"signature\"\n";
    let setup = || {
        let setup = shop.behind(configuration).file("signature", &text).file("admin", "admin-token");
        setup.variable("RUST_LOG", "trace")
    };
    let settings = setup().run("check-config").expect("settings");
    assert!(settings.contains("# signature: set, until "), "{settings}");

    let gateway = setup().start_on(tempfile::tempdir().expect("a directory"));
    let asked = shop.asked();
    assert!(!asked.is_empty());
    for headers in asked {
        for (name, value) in &fields {
            assert_eq!(headers.get_all(*name).iter().collect::<Vec<_>>(), [value], "{name}");
        }
    }
    let line = gateway.welcome.iter().find_map(|line| line.trim().strip_prefix("admin    http://"));
    let mut connection = Connection::open(line.expect("where it listens").parse().expect("an address"));
    assert!(connection.write(&request("GET", "/upstream", &[("Authorization", "Bearer admin-token")], b"")));
    let upstream = connection.read().expect("an answer").json();
    assert!(upstream["sent"].as_u64() >= Some(1), "{upstream}");
    // The keys of a gateway that does not sign are nobody's business.
    assert_eq!(gateway.get(DIRECTORY).status, 404);
    let log = eventually("the log warns", Duration::from_secs(60), || {
        Some(gateway.stderr()).filter(|log| log.contains("the bot signature for the shop expires soon"))
    });
    for shown in [settings, upstream.to_string(), log] {
        assert!(!SECRETS.iter().any(|secret| shown.contains(secret)), "{shown}");
    }
}

#[test]
fn a_signature_that_has_expired_is_no_configuration() {
    let text: String = given(0).iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    let shop = Shop::open();
    let setup = shop.behind("[upstream]\nsignature_file = \"signature\"\n").file("signature", &text);
    for command in ["check-config", "serve"] {
        let problem = setup.run(command).expect_err("a problem");
        assert!(problem.contains("`upstream.signature_file`") && problem.contains("create another one"), "{problem}");
        assert!(!SECRETS.iter().any(|secret| problem.contains(secret)), "{problem}");
    }
    assert!(shop.asked().is_empty());
}

#[test]
fn what_the_gateway_signs_as_a_bot_holds_under_the_keys_that_it_publishes() {
    let shop = Shop::open();
    let listen = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
    let configuration = format!("[server]\npublic_url = \"http://{listen}\"\n[upstream]\nsign_as_bot = true\n");
    let data = tempfile::tempdir().expect("a directory");
    let setup = shop.behind(&configuration).arguments(&["--data-dir", data.path().to_str().expect("a path")]);
    let problem = setup.run("serve").expect_err("no key");
    assert!(problem.contains("`upstream.sign_as_bot`") && problem.contains("ucp-gateway keys generate"), "{problem}");

    let made = binary().args(["keys", "generate", "--data-dir"]).arg(data.path()).output().expect("it runs");
    assert!(made.status.success());
    let mut command = setup.command("serve");
    command.args(["--listen", &listen.to_string()]);
    let gateway = Gateway::spawn(command, Some(listen));
    let directory = gateway.get(DIRECTORY);
    assert_eq!(directory.status, 200);
    assert_eq!(directory.header("content-type"), Some("application/http-message-signatures-directory+json"));
    assert_eq!(directory.header("cache-control"), Some("public, max-age=300"));
    let document: Value = serde_json::from_str(&directory.body).expect("JSON");
    let keys = read_set(&document["keys"], &mut Vec::new());
    assert_eq!(keys.len(), 1);

    let asked = shop.asked();
    assert!(!asked.is_empty());
    for headers in asked {
        assert_eq!(headers["signature-agent"], format!("sig1=\"http://{listen}{DIRECTORY}\""));
        let candidates = input::read(&headers).expect("a signature");
        let input = candidates[0].input.as_ref().expect("a signature");
        assert_eq!((input.tag.as_deref(), input.keyid.as_deref()), (Some("web-bot-auth"), Some(keys[0].kid())));
        let authority = shop.address.to_string();
        let line = RequestLine { method: "POST", scheme: Scheme::Http, authority: &authority, path: "/", query: None };
        let message = Message { start: Start::Request(line), headers: &headers };
        let base = base::build(&input.covered, &input.parameters, &message).expect("what is covered");
        keys[0].verify(&base, &input.signature).expect("it holds");
    }
}
