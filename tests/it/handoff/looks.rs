//! Language, look and progress on the pages.

use std::{collections::BTreeSet, fs};

use serde_json::json;

use super::browser::{Browser, call, complete, flowers, path, ready, text};
use crate::{
    harness::{Ends as _, binary, folder},
    purchase::shopper::Flowers,
    setup::Setup,
};

#[test]
fn a_page_has_the_language_of_the_purchase_or_else_of_the_browser() {
    let gateway = flowers();
    let wish = json!({
        "line_items": [{ "item": { "id": "bouquet_tulips" }, "quantity": 1 }],
        "context": { "language": "es-MX" },
    });
    let checkout = call(&gateway, "POST", "/checkout-sessions", &wish);
    let mut browser = Browser::new(&gateway);
    let page = browser.open(&path(&checkout["continue_url"]));
    for shown in ["<html lang=\"es\">", "Termine su compra", "Elija una forma de entrega.", "\u{a0}US$", "Alemania"] {
        page.shows(shown);
    }
    page.hides("What you are buying");
    let saved = browser.fill(&page, "details", &[("email", "zoe@example.com")]);
    saved.shows("Sus datos están guardados.");
    let long = "x".repeat(201);
    let refused = browser.submit(&saved, "details", &[("first_name", &long)]);
    assert_eq!(refused.status, 422);
    assert!(refused.body.contains("Nombre: demasiado largo; use como máximo 200 caracteres"), "{}", refused.body);

    // The browser says its language where no purchase is known.
    let nothing = browser.send("GET", "/continue/nothing", &[("Accept-Language", "fr, es;q=0.5, en;q=0.1")], b"");
    assert!(nothing.body.contains("<html lang=\"es\">") && nothing.body.contains("Esta página no existe"));
    let completed = complete(&gateway, &ready(&gateway), "success_token");
    let place = path(&completed["order"]["permalink_url"]);
    let receipt = browser.send("GET", &place, &[("Accept-Language", "es")], b"");
    assert!(
        receipt.body.contains("En preparación") && receipt.body.contains("Se enviará a Springfield"),
        "{receipt:?}"
    );
    let receipt = browser.send("GET", &place, &[], b"");
    assert!(receipt.body.contains("<html lang=\"en\">"), "{receipt:?}");
}

#[test]
fn an_operator_gives_the_pages_a_name_a_color_a_logo_and_languages() {
    let (files, languages) = (folder(), folder());
    let german = "[texts]\nmissing_title = \"Schließen Sie Ihren Einkauf ab\"\n";
    fs::write(languages.path().join("de.toml"), german).expect("a file");
    let configuration = files.path().join("gateway.toml");
    let pages = format!(
        "[pages]\nname = \"Rosen & mehr\"\ncolor = \"#c2185b\"\nlogo_url = \"https://cdn.example/logo.svg\"\ntexts_dir = {:?}\n",
        languages.path()
    );
    fs::write(&configuration, pages).expect("a file");
    let shop = Flowers::with(&["--config", configuration.to_str().expect("UTF-8")]);
    let wish = json!({
        "line_items": [{ "item": { "id": "bouquet_tulips" }, "quantity": 1 }],
        "context": { "language": "de" },
    });
    let checkout = call(&shop, "POST", "/checkout-sessions", &wish);
    let page = Browser::new(&shop).open(&path(&checkout["continue_url"]));
    page.shows("Schließen Sie Ihren Einkauf ab");
    page.shows("src=\"https://cdn.example/logo.svg\" alt=\"Rosen &amp; mehr\"");
    page.shows("--accent:#c2185b;--on-accent:#ffffff");
    let policy = page.response.header("content-security-policy").expect("a policy");
    let pictures = policy.split("; ").find_map(|part| part.strip_prefix("img-src ")).expect("pictures");
    let own = format!("http://{}", shop.address);
    let sources: BTreeSet<&str> = pictures.split(' ').collect();
    assert_eq!(sources, BTreeSet::from(["https://cdn.example", own.as_str()]), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
}

#[test]
fn pages_that_cannot_be_made_are_refused_at_the_start() {
    for (section, key, expected) in [
        ("color = \"red\"", "pages.color", "expected `#` and six hexadecimal digits"),
        ("logo_url = \"ftp://x\"", "pages.logo_url", "expected an https address"),
        ("texts_dir = \"/does/not/exist\"", "pages.texts_dir", "/does/not/exist cannot be used"),
    ] {
        let said = Setup::new(&format!("[pages]\n{section}\n")).run("check-config").expect_err("refused");
        assert!(said.contains(key) && said.contains(expected), "{said}");
    }
}

/// The page of an order says where the goods are, and no more than that.
#[test]
fn an_order_is_where_its_events_say() {
    let shop = Flowers::open();
    let completed = complete(&shop, &ready(&shop), "success_token");
    let (order, place) = (text(&completed["order"]["id"]), path(&completed["order"]["permalink_url"]));
    let step = |arguments: &[&str]| {
        let output = binary().arg("orders").args(arguments).arg("--data-dir").arg(shop.data()).ends();
        assert!(output.status.success(), "{output:?}");
    };
    let mut browser = Browser::new(&shop);
    let mut shows = |now: &str, line: &str, delivery: &str| {
        let page = browser.open(&place);
        page.shows(&format!("<span class=\"unseen\">{now}, now</span>"));
        page.shows(&format!(", {line}</small>"));
        page.shows(delivery);
    };
    shows("Being prepared", "being prepared", "Will be sent to Springfield, OR, United States of America");
    step(&["ship", order, "--line", "li_1=1"]);
    shows("Being prepared", "partly shipped", "Will be sent to Springfield");
    step(&["ship", order, "--line", "li_1=1"]);
    shows("On its way", "on its way", "On its way to Springfield");
    step(&["deliver", order]);
    shows("Delivered", "delivered", "Delivered to Springfield");
    let page = browser.open(&place);
    page.shows(": Shipped</li>");
    page.shows("@media print");
}

#[test]
fn the_button_that_pays_comes_last() {
    let gateway = flowers();
    let mut browser = Browser::new(&gateway);
    let page = browser.open(&path(&ready(&gateway)["continue_url"]));
    let order: Vec<_> = ["id=\"lines\"", "id=\"details\"", "id=\"delivery\"", "id=\"pay\""]
        .map(|part| page.response.body.find(part).unwrap_or_else(|| panic!("{part} in {}", page.response.body)))
        .into();
    assert!(order.is_sorted(), "{order:?}");
    let after = &page.response.body[order[3]..];
    assert!(after.contains("view=confirm") && !after.contains("<button"), "{after}");
    let confirmation = browser.open(&format!("{}?view=confirm", page.place));
    let pay = confirmation.response.body.rfind("<button").expect("a button");
    assert!(confirmation.response.body.rfind("class=\"button").is_none_or(|other| other < pay));
}
