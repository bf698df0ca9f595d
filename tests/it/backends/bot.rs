//! Identity of the requesting bot for a shop behind the Storefront API (Web Bot Auth).

use std::time::UNIX_EPOCH;

use http::HeaderMap;
use serde_json::{Value, json};
use ucp_testkit::{
    PATIENCE,
    server::{Answer, Server},
};
use ucp_trust::{
    jwk::read_set,
    signature::{Message, RequestLine, Scheme, Start, base, input},
};

use crate::{
    harness::{Ends as _, Gateway, binary, eventually},
    setup::Setup,
    signatures::now,
    wire::{Connection, request},
};

const DIRECTORY: &str = "/.well-known/http-message-signatures-directory";

/// The parts of [`given`] that nobody else may see.
const SECRETS: [&str; 3] = ["7f3a91", "c2lnbmF0dXJlLTdmM2E5MQ", "sig1="];

/// Data from the shop's admin, valid for a number of days.
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

/// A shop that says where it sells, and remembers who asked.
struct BotShop(Server);

impl BotShop {
    fn open() -> Self {
        let country = json!({ "isoCode": "US", "currency": { "isoCode": "USD" } });
        let document = json!({ "data": {
            "shop": { "name": "Stub" },
            "localization": {
                "availableCountries": [country], "availableLanguages": [{ "isoCode": "EN" }], "country": country,
                "language": { "isoCode": "EN" },
            },
        } });
        Self(Server::start(move |_| Answer::json(&document)))
    }

    fn asked(&self) -> Vec<HeaderMap> {
        self.0.requests().into_iter().map(|request| request.into_parts().0.headers).collect()
    }

    /// A gateway that is about to stand in front of it.
    fn behind(&self, configuration: &str) -> Setup {
        let upstream = format!(
            "\n[upstream]\nbackend = \"shopify\"\nurl = \"http://{}\"\nconnect_timeout_ms = 20000\nread_timeout_ms = 30000\n",
            self.0.address()
        );
        Setup::new(&(configuration.replace("[upstream]\n", &upstream)))
    }
}

#[test]
fn the_signature_of_the_merchant_is_shown_to_the_shop_and_to_nobody_else() {
    let shop = BotShop::open();
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

    let gateway = setup().start_on(crate::harness::folder());
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
    let log = eventually("the log warns", PATIENCE, || {
        Some(gateway.stderr()).filter(|log| log.contains("bot signature for the upstream expires soon"))
    });
    for shown in [settings, upstream.to_string(), log] {
        assert!(!SECRETS.iter().any(|secret| shown.contains(secret)), "{shown}");
    }
}

#[test]
fn a_signature_that_has_expired_is_no_configuration() {
    let text: String = given(0).iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    let shop = BotShop::open();
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
    let shop = BotShop::open();
    let listen = ucp_testkit::leash::free_address();
    let configuration = format!("[server]\npublic_url = \"http://{listen}\"\n[upstream]\nsign_as_bot = true\n");
    let data = crate::harness::folder();
    let setup = shop.behind(&configuration).arguments(&["--data-dir", data.path().to_str().expect("a path")]);
    let problem = setup.run("serve").expect_err("no key");
    assert!(problem.contains("`upstream.sign_as_bot`") && problem.contains("ucp-gateway keys generate"), "{problem}");

    let made = binary().args(["keys", "generate", "--data-dir"]).arg(data.path()).ends();
    assert!(made.status.success());
    let mut command = setup.command("serve");
    command.args(["--listen", &listen.to_string()]);
    let gateway = Gateway::spawn(&command, Some(listen));
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
        let authority = shop.0.address().to_string();
        let line = RequestLine { method: "POST", scheme: Scheme::Http, authority: &authority, path: "/", query: None };
        let message = Message { start: Start::Request(line), headers: &headers };
        let base = base::build(&input.covered, &input.parameters, &message).expect("what is covered");
        keys[0].verify(&base, &input.signature).expect("it holds");
    }
}
