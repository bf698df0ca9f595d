//! The gateways that the rules are tried on, each in front of another backend.

use std::fs;

use serde_json::{Value, json};
use ucp_testkit::{PATIENCE, eventually};

use super::{CONFIGURATION, End, Goods, Lent, Shared, Subject, UPSTREAM, shops};
use crate::setup::{Configured, Setup};

/// Location of the sample shop's terms.
const PAGES: &str = "origins = [\"https://business.example.com\"]\n";

/// The sample shop.
const SAMPLE: Goods = Goods {
    word: "cotton",
    choices: "prod_abc123",
    plenty: ["var_abc123_red_10", "var_def456_green_9"],
    sold_out: "var_abc123_green_9",
    code: Some("WELCOME10"),
    secret: None,
    end: End::Paid { handler: "mock_payment_handler", kind: "card", token: "success_token" },
};

/// The embedded shop.
pub(super) fn embedded(shared: &'static Shared<Subject>) -> Option<Lent<Subject>> {
    Some(shared.get(|| Subject {
        gateway: Configured::start(CONFIGURATION),
        goods: SAMPLE,
        _behind: None,
        _shop: None,
    }))
}

/// A shop that speaks UCP over REST: another gateway with the sample.
pub(super) fn ucp_over_rest(shared: &'static Shared<Subject>) -> Option<Lent<Subject>> {
    Some(shared.get(|| in_front_of_ucp("rest", "")))
}

/// A shop that speaks UCP over MCP.
pub(super) fn ucp_over_mcp(shared: &'static Shared<Subject>) -> Option<Lent<Subject>> {
    Some(shared.get(|| in_front_of_ucp("mcp", "")))
}

/// The token of the admin endpoint, where there is one.
pub(super) const ADMIN_TOKEN: &str = "admin-token-of-the-test-shop";

/// A gateway with more configuration in front of another one.
pub(super) fn in_front_of_ucp(transport: &str, more: &str) -> Subject {
    let shop = Configured::start(CONFIGURATION);
    let gateway = Setup::new(&format!("{CONFIGURATION}{UPSTREAM}transport = \"{transport}\"\n{PAGES}{more}"))
        .file("token", ADMIN_TOKEN)
        .arguments(&["--backend", "ucp", "--upstream-url", &format!("http://{}", shop.address)])
        .start_on(crate::harness::folder());
    Subject { gateway, goods: SAMPLE, _behind: Some(shop), _shop: None }
}

/// A shop behind the Storefront API: `tests/upstreams/storefront`, where `UCP_STOREFRONT_URL` says that it listens.
pub(super) fn storefront(shared: &'static Shared<Subject>) -> Option<Lent<Subject>> {
    let Ok(upstream) = std::env::var("UCP_STOREFRONT_URL") else {
        println!("skipped: UCP_STOREFRONT_URL does not say where tests/upstreams/storefront listens");
        return None;
    };
    Some(shared.get(|| in_front_of_storefront(&upstream)))
}

fn in_front_of_storefront(upstream: &str) -> Subject {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let made = runtime.block_on(async {
        let client = reqwest::Client::builder().no_proxy().timeout(crate::wire::PATIENCE).build().expect("a client");
        let answer = client.post(format!("{upstream}/shops")).json(&json!({})).send().await.expect("an answer");
        answer.json::<Value>().await.expect("JSON")
    });
    let token = crate::harness::folder();
    let file = token.path().join("token");
    fs::write(&file, "private-token-of-the-test-shop").expect("a file");
    let url = made["url"].as_str().expect("an address").to_owned();
    let gateway = Setup::new(&format!("{CONFIGURATION}{UPSTREAM}"))
        .arguments(&["--backend", "shopify", "--upstream-url", &url])
        .arguments(&["--upstream-token-file", file.to_str().expect("a path")])
        .start_on(crate::harness::folder());
    let goods = Goods {
        word: "cotton",
        choices: "gid://shopify/Product/1003",
        plenty: ["gid://shopify/ProductVariant/10050001", "gid://shopify/ProductVariant/10080001"],
        sold_out: "gid://shopify/ProductVariant/10060001",
        code: Some("WELCOME10"),
        secret: Some("shopify/Cart"),
        end: End::HandedOff,
    };
    Subject { gateway, goods, _behind: None, _shop: None }
}

/// A shop behind the backend contract: the starter in TypeScript, where `UCP_STARTER_TYPESCRIPT_URL` says that it listens.
pub(super) fn starter_in_typescript(shared: &'static Shared<Subject>) -> Option<Lent<Subject>> {
    starter(shared, "UCP_STARTER_TYPESCRIPT_URL", "")
}

/// The same, searched in a copy of its catalog.
pub(super) fn starter_in_typescript_synchronised(shared: &'static Shared<Subject>) -> Option<Lent<Subject>> {
    starter(shared, "UCP_STARTER_TYPESCRIPT_URL", "[catalog]\nsource = \"backend\"\n")
}

/// The starter in Python, where `UCP_STARTER_PYTHON_URL` says that it listens.
pub(super) fn starter_in_python(shared: &'static Shared<Subject>) -> Option<Lent<Subject>> {
    starter(shared, "UCP_STARTER_PYTHON_URL", "")
}

/// A gateway with more configuration in front of a starter, which shares the secret `starter-secret` with it.
fn starter(shared: &'static Shared<Subject>, variable: &str, more: &str) -> Option<Lent<Subject>> {
    let Ok(upstream) = std::env::var(variable) else {
        println!("skipped: {variable} does not say where a starter of examples/backend listens");
        return None;
    };
    Some(shared.get(|| {
        let gateway = Setup::new(&format!("{CONFIGURATION}{UPSTREAM}signing_secret_file = \"secret\"\n{more}"))
            .file("secret", "starter-secret")
            .arguments(&["--backend", "http", "--upstream-url", &upstream])
            .start_on(crate::harness::folder());
        eventually("the first product that is found", PATIENCE, || {
            let found = gateway.search(&json!({ "query": "cotton" }));
            (!crate::harness::elements(&found["products"]).is_empty()).then_some(())
        });
        let goods = Goods {
            word: "cotton",
            choices: "shirt",
            plenty: ["socks-1", "mug-1"],
            sold_out: "robe-1",
            code: Some("WELCOME10"),
            secret: Some("starter-cart"),
            end: End::Paid { handler: "starter_pay", kind: "card", token: "success_token" },
        };
        Subject { gateway, goods, _behind: None, _shop: None }
    }))
}

/// A shop made with django-oscar behind `examples/oscar.toml`.
pub(super) fn oscar(shared: &'static Shared<Subject>) -> Option<Lent<Subject>> {
    shops::OSCAR.installed().then(|| shared.get(|| in_front_of(&shops::OSCAR)))
}

/// A shop made with Vendure behind `examples/vendure.toml`.
pub(super) fn vendure(shared: &'static Shared<Subject>) -> Option<Lent<Subject>> {
    shops::VENDURE.installed().then(|| shared.get(|| in_front_of(&shops::VENDURE)))
}

/// A shop made with EverShop behind `examples/evershop.toml`.
pub(super) fn evershop(shared: &'static Shared<Subject>) -> Option<Lent<Subject>> {
    shops::EVERSHOP.installed().then(|| shared.get(|| in_front_of(&shops::EVERSHOP)))
}

/// A shop made with Saleor behind `examples/saleor.toml`.
pub(super) fn saleor(shared: &'static Shared<Subject>) -> Option<Lent<Subject>> {
    shops::SALEOR.installed().then(|| shared.get(|| in_front_of(&shops::SALEOR)))
}

/// A shop made with Tryton behind `examples/tryton.py`.
pub(super) fn tryton(shared: &'static Shared<Subject>) -> Option<Lent<Subject>> {
    shops::TRYTON.installed().then(|| shared.get(|| in_front_of(&shops::TRYTON)))
}

/// The starter in PHP, behind the backend contract.
pub(super) fn php(shared: &'static Shared<Subject>) -> Option<Lent<Subject>> {
    shops::PHP.installed().then(|| shared.get(|| in_front_of(&shops::PHP)))
}

/// A project of commercetools behind `examples/commercetools.toml`.
pub(super) fn commercetools(shared: &'static Shared<Subject>) -> Option<Lent<Subject>> {
    shops::COMMERCETOOLS.installed().then(|| shared.get(|| in_front_of(&shops::COMMERCETOOLS)))
}

/// A shop made with Salesman behind `examples/salesman.toml`.
pub(super) fn salesman(shared: &'static Shared<Subject>) -> Option<Lent<Subject>> {
    shops::SALESMAN.installed().then(|| shared.get(|| in_front_of(&shops::SALESMAN)))
}

/// A stand-in for WooCommerce behind `examples/woocommerce.toml`.
pub(super) fn woocommerce(shared: &'static Shared<Subject>) -> Option<Lent<Subject>> {
    shops::WOOCOMMERCE.installed().then(|| shared.get(|| in_front_of(&shops::WOOCOMMERCE)))
}

/// A stand-in for Magento behind `examples/magento.toml`.
pub(super) fn magento(shared: &'static Shared<Subject>) -> Option<Lent<Subject>> {
    shops::MAGENTO.installed().then(|| shared.get(|| in_front_of(&shops::MAGENTO)))
}

fn in_front_of(kind: &'static shops::Kind) -> Subject {
    let shop = shops::BackendShop::start(kind);
    let gateway = kind.gateway(&shop.origin(), UPSTREAM);
    Subject { gateway, goods: kind.goods, _behind: None, _shop: Some(shop) }
}
