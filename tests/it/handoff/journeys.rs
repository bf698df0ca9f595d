//! Actions of buyers on the pages, and their effects for platforms.

use serde_json::{Value, json};

use super::browser::{Browser, bare, call, complete, flowers, look, path, ready, text};
use crate::{
    harness::{Ends as _, binary},
    purchase::{conditions::directory, shopper::flower_shop},
};

#[test]
fn a_buyer_confirms_what_the_bank_asks_for() {
    let gateway = flowers();
    let checkout = complete(&gateway, &ready(&gateway), "challenge_token");
    assert_eq!(checkout["status"], "requires_escalation", "{checkout}");
    assert_eq!(checkout["messages"][0]["code"], "requires_3ds");
    let mut browser = Browser::new(&gateway);
    let page = browser.open(&path(&checkout["continue_url"]));
    assert_eq!(page.response.status, 200);
    page.shows("Your bank asks you to confirm the payment");
    page.shows("Bouquet of Red Roses");
    let confirmation = browser.open(&format!("{}?view=confirm", page.place));
    confirmation.shows("The test bank asks");
    assert_eq!(look(&gateway, &checkout)["status"], "requires_escalation", "looking at it pays nothing");
    let thanks = browser.fill(&confirmation, "pay", &[]);
    thanks.shows("Thank you for your order");
    let completed = look(&gateway, &checkout);
    assert_eq!(completed["status"], "completed", "{completed}");
    assert_eq!(completed["totals"], checkout["totals"]);
    thanks.shows(text(&completed["order"]["permalink_url"]));

    let receipt = browser.open(&path(&completed["order"]["permalink_url"]));
    assert_eq!(receipt.response.status, 200);
    receipt.shows(text(&completed["order"]["label"]));
    receipt.shows("being prepared");
    receipt.shows("Will be sent to Springfield, OR, United States");
    receipt.hides("1 Main St");
    receipt.hides("buyer@example.com");
    // The order is one, and its page stays what it is.
    let order = call(&gateway, "GET", &format!("/orders/{}", text(&completed["order"]["id"])), &Value::Null);
    assert_eq!(order["checkout_id"], checkout["id"]);
}

#[test]
fn a_buyer_says_what_is_missing() {
    let gateway = flowers();
    let checkout = bare(&gateway);
    assert_eq!(checkout["status"], "incomplete", "{checkout}");
    let mut browser = Browser::new(&gateway);
    let page = browser.open(&path(&checkout["continue_url"]));
    page.shows("Still needed");
    page.hides("?view=confirm");
    let page = browser.fill(
        &page,
        "details",
        &[
            ("first_name", "Zoë"),
            ("email", "zoe@example.com"),
            ("street_address", "2 Elm St"),
            ("address_locality", "Salem"),
            ("address_region", "OR"),
            ("postal_code", "97301"),
            ("address_country", "US"),
        ],
    );
    page.shows("Your details are saved.");
    page.shows("value=\"2 Elm St\"");
    page.hides("Still needed");
    let seen = look(&gateway, &checkout);
    assert_eq!(seen["status"], "ready_for_complete", "{seen}");
    assert_eq!(seen["buyer"]["first_name"], "Zoë");
    let method = &seen["fulfillment"]["methods"][0];
    let options = method["groups"][0]["options"].as_array().expect("options");
    assert!(options.len() > 1, "{method}");
    let selected = method["groups"][0]["selected_option_id"].clone();
    let other = options.iter().find(|option| option["id"] != selected).expect("another option");
    let group = text(&method["groups"][0]["id"]);
    let page = browser.fill(&page, "delivery", &[(&format!("option:0:{group}"), text(&other["id"]))]);
    page.shows("Your delivery choice is saved.");
    let seen = look(&gateway, &checkout);
    assert_eq!(seen["fulfillment"]["methods"][0]["groups"][0]["selected_option_id"], other["id"], "{seen}");
    // Choices remain when other things change.
    let page = browser.fill(&page, "details", &[("last_name", "Quiñones")]);
    let seen = look(&gateway, &checkout);
    assert_eq!(seen["buyer"]["last_name"], "Quiñones");
    assert_eq!(seen["fulfillment"]["methods"][0]["groups"][0]["selected_option_id"], other["id"], "{seen}");
    let confirmation = browser.open(&format!("{}&view=confirm", page.place));
    confirmation.shows("2 Elm St");
    browser.fill(&confirmation, "pay", &[]).shows("The payment went through.");
    assert_eq!(look(&gateway, &checkout)["status"], "completed");
}

#[test]
fn a_platform_pays_for_what_a_buyer_has_filled_in() {
    let gateway = flowers();
    let checkout = bare(&gateway);
    let mut browser = Browser::new(&gateway);
    let page = browser.open(&path(&checkout["continue_url"]));
    let address = [("email", "ana@example.com"), ("street_address", "3 Oak St"), ("address_country", "US")];
    browser.fill(&page, "details", &address);
    let completed = complete(&gateway, &checkout, "success_token");
    assert_eq!(completed["status"], "completed", "{completed}");
    let page = browser.open(&page.place);
    page.shows("Thank you for your order");
    page.hides("<form");
}

#[test]
fn a_buyer_cancels() {
    let gateway = flowers();
    let checkout = ready(&gateway);
    let mut browser = Browser::new(&gateway);
    let page = browser.open(&path(&checkout["continue_url"]));
    browser.fill(&page, "cancel", &[]).shows("This purchase was canceled");
    assert_eq!(look(&gateway, &checkout)["status"], "canceled");
}

#[test]
fn a_cart_is_shown() {
    let gateway = flowers();
    let cart = call(
        &gateway,
        "POST",
        "/carts",
        &json!({
            "line_items": [{ "item": { "id": "orchid_white" }, "quantity": 3 }],
        }),
    );
    let mut browser = Browser::new(&gateway);
    let page = browser.open(&path(&cart["continue_url"]));
    assert_eq!(page.response.status, 200);
    page.shows("White Orchid");
    page.shows("$135.00");
    page.hides("<form");
    call(&gateway, "POST", &format!("/carts/{}/cancel", text(&cart["id"])), &json!({}));
    let page = browser.open(&page.place);
    assert_eq!(page.response.status, 410);
    page.shows("Your assistant canceled it");
    page.hides("White Orchid");
}

#[test]
fn the_way_back_leads_to_the_platform() {
    let gateway = flowers();
    let checkout = ready(&gateway);
    let mut browser = Browser::new(&gateway);
    let place = format!("{}?continue_to=https%3A%2F%2Fagent.example.com%2Fchat%2F7", path(&checkout["continue_url"]));
    let page = browser.open(&place);
    page.shows("href=\"https://agent.example.com/chat/7\"");
    let page = browser.fill(&page, "details", &[("first_name", "Bo")]);
    page.shows("href=\"https://agent.example.com/chat/7\"");
    page.shows("Back to agent.example.com");
}

#[test]
fn a_buyer_picks_up_where_all_of_the_goods_are() {
    let data = directory(|terms| {
        let place = |id: &str, name: &str| json!({ "id": id, "name": name, "address": { "address_country": "US" } });
        terms["pickup"]["places"] = json!([place("uptown", "Uptown Store"), place("harbour", "Harbour Store")]);
    });
    let vase = json!({
        "id": "vase", "title": "Vase", "description": { "plain": "Blue." },
        "variants": [{
            "id": "vase_blue", "price": { "amount": 1_000, "currency": "USD" },
            "stock_by_location": { "uptown": 1, "harbour": 2 },
        }],
    });
    let file = data.path().join("vase.jsonl");
    std::fs::write(&file, vase.to_string()).expect("a file");
    let imported = binary().arg("import").arg("--data-dir").arg(data.path()).arg(&file).ends();
    assert!(imported.status.success(), "{imported:?}");
    let gateway = flower_shop(data.path(), &[]);
    let goods = json!({ "line_items": [{ "item": { "id": "vase_blue" }, "quantity": 2 }] });
    let checkout = call(&gateway, "POST", "/checkout-sessions", &goods);
    let mut browser = Browser::new(&gateway);
    let page = browser.open(&path(&checkout["continue_url"]));
    page.shows("Pick up at Harbour Store");
    page.hides("Uptown Store");
    let page = browser.fill(&page, "details", &[("email", "zoe@example.com"), ("destination", "place:harbour")]);
    page.shows("Your details are saved.");
    let seen = look(&gateway, &checkout);
    let method = &seen["fulfillment"]["methods"][0];
    assert_eq!((&method["type"], &method["selected_destination_id"]), (&json!("pickup"), &json!("harbour")), "{seen}");
    let confirmation = browser.open(&format!("{}&view=confirm", page.place));
    confirmation.shows("Harbour Store");
    browser.fill(&confirmation, "pay", &[]).shows("The payment went through.");
    assert_eq!(look(&gateway, &checkout)["status"], "completed");
}
