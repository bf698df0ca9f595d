//! Rules of the protocol about carts and checkouts, as far as they show on the wire.

use serde_json::{Value, json};
use ucp_core::Release;

use super::shopper::{Flowers, Shopper, address, flowers, id, lines, ready, said_at, shipping, total, ways};
use crate::{
    harness::{Gateway, elements, texts},
    setup::Transport,
};

fn modern() -> impl Iterator<Item = (Release, Transport)> {
    ways().filter(|(release, _)| *release >= Release::V2026_04_08)
}

/// CRT-04, T-14: the contents of the cart win over everything else in the request.
#[test]
fn a_checkout_made_of_a_cart_has_its_contents() {
    let shop = flowers();
    for (release, transport) in modern() {
        let shopper = Shopper::new(&shop, release, transport);
        let cart = json!({
            "line_items": lines(&[("bouquet_roses", 2)]),
            "buyer": { "email": "cart@example.com" },
            "context": { "address_country": "US", "language": "en" },
            "discounts": { "codes": ["WELCOME20"] },
        });
        let cart = shopper.call("create_cart", None, &cart).document();
        for others in [None, Some(json!([])), Some(lines(&[("pot_ceramic", 9)]))] {
            let mut request = json!({
                "cart_id": id(&cart),
                "buyer": { "email": "request@example.com" },
                "context": { "address_country": "DE" },
            });
            if let Some(others) = others {
                request["line_items"] = others;
            }
            let checkout = shopper.create(&request);
            assert_eq!(texts(&checkout["line_items"], "id").len(), 1, "{checkout}");
            assert_eq!(checkout["line_items"][0]["item"]["id"], "bouquet_roses", "{checkout}");
            assert_eq!(checkout["buyer"]["email"], "cart@example.com", "{checkout}");
            assert_eq!(checkout["context"]["address_country"], "US", "{checkout}");
            assert_eq!(checkout["discounts"]["codes"], json!(["WELCOME20"]), "codes come along (CRT-07): {checkout}");
            assert_eq!(total(&checkout, "discount"), -1_400);
        }
    }
}

/// CRT-05, T-15: one cart, one open checkout; 200 for the one that is there.
#[test]
fn a_cart_leads_to_one_open_checkout() {
    let shop = flowers();
    for (release, transport) in modern() {
        let shopper = Shopper::new(&shop, release, transport);
        let cart = shopper.call("create_cart", None, &json!({ "line_items": lines(&[("pot_ceramic", 1)]) })).document();
        let convert = || shopper.call("create_checkout", None, &json!({ "cart_id": id(&cart) }));
        let (first, second) = (convert(), convert());
        assert_eq!(id(&first.document()), id(&second.document()));
        if transport == Transport::Rest {
            assert_eq!((first.status, second.status), (201, 200));
        }
        let canceled = shopper.call("cancel_checkout", Some(id(&first.document())), &json!({})).document();
        assert_eq!(canceled["status"], "canceled");
        assert_ne!(id(&convert().document()), id(&canceled), "what is over is not opened again");
        for wrong in ["cart_nothing", id(&canceled), ""] {
            let said = shopper.call("create_checkout", None, &json!({ "cart_id": wrong }));
            assert_eq!((said.status, said.errors()), (200, vec!["not_found".to_owned()]), "{wrong}: {said:?}");
        }
    }
}

/// In releases without carts, `cart_id` is a word like any other.
#[test]
fn carts_mean_nothing_before_there_were_any() {
    let shop = flowers();
    let cart = Shopper::rest(&shop).call("create_cart", None, &json!({ "line_items": lines(&[("pot_ceramic", 1)]) }));
    for (release, transport) in ways().filter(|(release, _)| *release < Release::V2026_04_08) {
        let shopper = Shopper::new(&shop, release, transport);
        let request = json!({ "cart_id": id(&cart.document()), "line_items": lines(&[("bouquet_roses", 1)]) });
        assert_eq!(shopper.create(&request)["line_items"][0]["item"]["id"], "bouquet_roses");
        let alone = shopper.call("create_checkout", None, &json!({ "cart_id": id(&cart.document()) }));
        assert_eq!((alone.status, alone.refusal().0.as_str()), (400, "invalid_request"), "{alone:?}");
        let call = shopper.call("get_cart", Some(id(&cart.document())), &json!({}));
        assert!([400, 404].contains(&call.status), "{call:?}");
    }
}

/// CRT-02, CHK-06, T-11: what is left out is gone.
#[test]
fn an_update_replaces_everything() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let mut whole = ready(&[("bouquet_roses", 1), ("pot_ceramic", 1)]);
        whole["discounts"] = json!({ "codes": ["10OFF"] });
        let checkout = shopper.create(&whole);
        assert_eq!(checkout["status"], "ready_for_complete", "{checkout}");
        let bare = shopper.update(&checkout, &json!({ "line_items": lines(&[("pot_ceramic", 2)]) }));
        assert_eq!(id(&bare), id(&checkout));
        assert_eq!((elements(&bare["line_items"]).len(), total(&bare, "subtotal")), (1, 3_000));
        assert!(bare.get("buyer").is_none(), "{bare}");
        assert!(elements(&bare["totals"]).iter().all(|total| total["type"] != "discount"), "{bare}");
        assert_eq!(bare["status"], "incomplete", "{bare}");
        assert_eq!(shopper.call("get_checkout", Some(id(&checkout)), &json!({})).document(), bare);
        // Nothing depends on what it was before (CHK-01).
        let again = shopper.update(&bare, &whole);
        let same = |name: &str| assert_eq!(again[name], checkout[name], "{name}: {again}");
        ["totals", "status", "buyer", "discounts", "currency", "links"].into_iter().for_each(same);
    }
}

/// FUL-06: a new checkout has no methods and groups to name, so identifiers of such mean nothing; in an update they have to
/// be known.
#[test]
fn identifiers_of_groups_mean_nothing_in_a_new_checkout() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let mut wanted = ready(&[("bouquet_roses", 1)]);
        let method = &mut wanted["fulfillment"]["methods"][0];
        method["id"] = json!("method_1");
        method["groups"] = json!([{ "id": "group_1", "selected_option_id": "exp-ship-us" }]);
        let checkout = shopper.create(&wanted);
        let group = &checkout["fulfillment"]["methods"][0]["groups"][0];
        assert_eq!(group["selected_option_id"], "exp-ship-us", "{release} {transport:?}: {checkout}");
        assert_ne!(group["id"], "group_1");
        let completed = shopper.complete(&checkout, "success_token");
        assert_eq!(completed["status"], "completed", "{release} {transport:?}: {completed}");
        let other = shopper.create(&wanted);
        let (code, _, refused) = shopper.call("update_checkout", Some(id(&other)), &wanted).refusal();
        assert_eq!(code, "invalid_request", "{release} {transport:?}: {refused}");
        assert_eq!(refused["path"], "$.fulfillment.methods[0].groups[0].id", "{release} {transport:?}: {refused}");
    }
}

/// CHK-16: a quantity in another unit than the shop's is never taken for one in the shop's. Units are of the newest release.
#[test]
fn quantities_in_other_units_have_no_effect() {
    let shop = flowers();
    for (release, transport) in modern() {
        let shopper = Shopper::new(&shop, release, transport);
        let in_unit = |item: &str, quantity: u64, unit: Value| json!({ "item": { "id": item, "quantity_unit": unit }, "quantity": quantity });
        let kilos = || json!({ "unit": "KGM", "scale": 3, "display_text": "kg" });
        let quantities = |document: &Value| -> Vec<(String, u64)> {
            let line = |line: &Value| (id(&line["item"]).to_owned(), line["quantity"].as_u64().expect("a quantity"));
            elements(&document["line_items"]).iter().map(line).collect()
        };
        let of = |entries: &[(&str, u64)]| entries.iter().map(|(id, n)| ((*id).to_owned(), *n)).collect::<Vec<_>>();
        let heard = release == Release::NEWEST;
        for (create, update) in [("create_checkout", "update_checkout"), ("create_cart", "update_cart")] {
            let mixed = json!({ "line_items": [
                in_unit("bouquet_roses", 2, json!({ "unit": "C62" })), in_unit("pot_ceramic", 275, kilos()),
            ] });
            let made = shopper.call(create, None, &mixed).document();
            let expected =
                if heard { of(&[("bouquet_roses", 2)]) } else { of(&[("bouquet_roses", 2), ("pot_ceramic", 275)]) };
            assert_eq!(quantities(&made), expected, "{release} {transport:?} {create}: {made}");
            assert_eq!(shopper_codes(&made).contains(&"quantity_unit_mismatch".to_owned()), heard, "{made}");
            let line = |unit| json!({ "line_items": [in_unit("bouquet_roses", 30, unit)] });
            let kept = shopper.call(update, Some(id(&made)), &line(kilos())).document();
            assert_eq!(quantities(&kept), of(&[("bouquet_roses", if heard { 2 } else { 30 })]), "{kept}");
            let mended = shopper.call(update, Some(id(&made)), &line(json!({ "unit": "C62", "scale": 0 }))).document();
            assert_eq!(quantities(&mended), of(&[("bouquet_roses", 30)]), "{mended}");
            assert!(!shopper_codes(&mended).contains(&"quantity_unit_mismatch".to_owned()), "{mended}");
            let nothing = shopper.call(create, None, &line(kilos()));
            assert_eq!(
                nothing.errors().contains(&"quantity_unit_mismatch".to_owned()),
                heard,
                "{:?}",
                nothing.response
            );
        }
    }
}

/// FUL-08: an unknown destination is not replaced by another one.
#[test]
fn an_update_with_an_unknown_destination_changes_nothing() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let checkout = shopper.create(&ready(&[("bouquet_roses", 1)]));
        let mut wanted = ready(&[("bouquet_roses", 3)]);
        wanted["fulfillment"]["methods"][0] = json!({
            "id": checkout["fulfillment"]["methods"][0]["id"], "type": "shipping", "selected_destination_id": "dest_unknown",
        });
        let updated = shopper.update(&checkout, &wanted);
        let error = "destination_unknown $.fulfillment.methods[0].selected_destination_id".to_owned();
        assert_eq!(said_at(&updated, "error"), [error], "{release} {transport:?}: {updated}");
        let whole = release == Release::NEWEST;
        assert_eq!(
            updated["line_items"][0]["quantity"],
            if whole { 1 } else { 3 },
            "{release} {transport:?}: {updated}"
        );
        let seen = shopper.call("get_checkout", Some(id(&checkout)), &json!({})).document();
        if whole {
            assert_eq!(seen, checkout, "{transport:?}");
            assert_eq!((&updated["status"], &updated["fulfillment"]), (&checkout["status"], &checkout["fulfillment"]));
        } else {
            assert_eq!(seen["line_items"][0]["quantity"], 3, "{release} {transport:?}: {seen}");
        }
    }
}

/// CHK-17: the newest release knows no choice among several instruments.
#[test]
fn several_instruments_are_refused_where_one_is_submitted() {
    let shop = flowers();
    for (release, transport) in ways().filter(|(release, _)| *release > Release::V2026_01_11) {
        let shopper = Shopper::new(&shop, release, transport);
        let checkout = shopper.create(&ready(&[("bouquet_roses", 1)]));
        let mut payment = shopper.paying("success_token");
        let instruments = payment["payment"]["instruments"].as_array_mut().expect("a list");
        let mut other = instruments[0].clone();
        other["id"] = json!("instrument_2");
        other["selected"] = json!(false);
        instruments.push(other);
        let completed = shopper.call("complete_checkout", Some(id(&checkout)), &payment).document();
        let (status, codes) = match release {
            Release::NEWEST => ("incomplete", vec!["payment_failed".to_owned()]),
            _ => ("completed", vec![]),
        };
        assert_eq!(
            (&completed["status"], shopper_codes(&completed)),
            (&json!(status), codes),
            "{release}: {completed}"
        );
    }
}

/// Fields that only the shop sets are ignored in requests.
#[test]
fn members_of_the_shop_in_requests_mean_nothing() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let mut forged = ready(&[("bouquet_roses", 2)]);
        let honest = shopper.create(&forged);
        let foreign = json!({
            "ucp": { "version": "2031-01-01", "status": "error" }, "status": "completed",
            "currency": "JPY", "totals": [{ "type": "total", "amount": 1 }], "messages": [], "links": [],
            "expires_at": "2099-01-01T00:00:00Z", "continue_url": "https://evil.example/",
            "order": { "id": "ord_mine", "permalink_url": "https://evil.example/" }, "token": "t", "owner": "me",
        });
        forged.as_object_mut().expect("an object").extend(foreign.as_object().expect("an object").clone());
        let line = &mut forged["line_items"][0];
        line["totals"] = json!([{ "type": "total", "amount": 1 }]);
        line["item"] =
            json!({ "id": "bouquet_roses", "price": 1, "title": "Cheap", "image_url": "https://evil.example/" });
        forged["discounts"] =
            json!({ "codes": [], "applied": [{ "title": "All of it", "amount": 7000, "automatic": true }] });
        forged["fulfillment"]["methods"][0]["groups"] =
            json!([{ "options": [{ "id": "free", "title": "Free", "totals": [] }], "line_item_ids": ["li_1"] }]);
        forged["fulfillment"]["available_methods"] = json!([{ "type": "pickup", "line_item_ids": [] }]);
        for mut checkout in [shopper.create(&forged), shopper.update(&honest, &forged)] {
            // Said of those members that not even an answer has.
            let messages = checkout["messages"].as_array_mut().expect("messages");
            assert_eq!(messages.pop().expect("a note")["code"], "member_ignored", "{checkout}");
            for name in ["status", "currency", "totals", "line_items", "fulfillment", "links", "messages", "ucp"] {
                assert_eq!(checkout.get(name), honest.get(name), "{release} {transport:?} {name}: {checkout}");
            }
            assert!(checkout.get("order").is_none() && !checkout.to_string().contains("evil"), "{checkout}");
            assert!(!checkout["expires_at"].as_str().expect("a time").starts_with("2099"));
        }
    }
}

/// Everything that is missing is told at once, with its place.
#[test]
fn all_that_is_missing_is_named_with_its_place() {
    let shop = Gateway::start();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let checkout = shopper.create(&json!({ "line_items": lines(&[("var_abc123_blue_8", 1)]) }));
        assert_eq!(checkout["status"], "incomplete");
        let errors = said_at(&checkout, "error").join("; ");
        for place in ["$.buyer.email", "$.fulfillment.methods"] {
            assert!(errors.contains(place), "{place} in {errors}: {checkout}");
        }
        let half = shopper.update(
            &checkout,
            &json!({
                "line_items": lines(&[("var_abc123_blue_8", 1)]),
                "fulfillment": shipping(&json!({ "address_country": "US", "postal_code": "97477" })),
            }),
        );
        let errors = said_at(&half, "error").join("; ");
        for place in ["$.buyer.email", "street_address", "address_locality"] {
            assert!(errors.contains(place), "{place} in {errors}: {half}");
        }
    }
}

#[test]
fn goods_that_are_short_are_cut_and_goods_that_are_out_stay_with_an_error() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        // CHK-13: 500 are there at most.
        let mut request = ready(&[("bouquet_sunflowers", 9_000)]);
        let checkout = shopper.create(&request);
        let quantity = checkout["line_items"][0]["quantity"].as_u64().expect("a quantity");
        assert!(quantity <= 500, "{checkout}");
        assert_eq!(said_at(&checkout, "warning"), ["quantity_adjusted $.line_items[0].quantity"], "{checkout}");
        assert_eq!(checkout["status"], "ready_for_complete", "{checkout}");

        request["line_items"] = lines(&[("pot_ceramic", 1), ("gardenias", 1)]);
        let checkout = shopper.create(&request);
        assert_eq!(said_at(&checkout, "error"), ["out_of_stock $.line_items[1]"], "{checkout}");
        assert_eq!((&checkout["status"], elements(&checkout["line_items"]).len()), (&json!("incomplete"), 2));

        request["line_items"] = lines(&[("pot_ceramic", 1), ("no_such_thing", 1)]);
        let checkout = shopper.create(&request);
        assert_eq!(shopper_codes(&checkout), ["item_unavailable"], "{checkout}");
        assert_eq!((&checkout["status"], elements(&checkout["line_items"]).len()), (&json!("incomplete"), 1));
        assert!(checkout["messages"].to_string().contains("no_such_thing"), "{checkout}");
        // It is settled by an update without it.
        request["line_items"] = lines(&[("pot_ceramic", 1)]);
        assert_eq!(shopper.update(&checkout, &request)["status"], "ready_for_complete");

        // CRT-09: nothing at all.
        for nothing in [vec![("no_such_thing", 1)], vec![("gardenias", 1)], vec![("gardenias", 1), ("x", 2)]] {
            let said = shopper.call("create_checkout", None, &json!({ "line_items": lines(&nothing) }));
            assert!(said.errors().iter().all(|code| ["item_unavailable", "out_of_stock"].contains(&code.as_str())));
            let made = said.failure.is_none() && said.document().get("id").is_some();
            assert!(!made, "nothing is made: {said:?}");
        }
    }
}

/// Totals count every line that is shown (TOT-03), so a line that cannot be bought says that it is among them.
#[test]
fn a_line_that_is_sold_out_says_that_the_totals_count_it() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
        let updated = shopper.update(&checkout, &ready(&[("pot_ceramic", 1), ("gardenias", 2)]));
        let mut shown = vec![
            shopper.call("get_checkout", Some(id(&checkout)), &json!({})).document(),
            shopper.create(&ready(&[("pot_ceramic", 1), ("gardenias", 2)])),
            updated,
        ];
        if release >= Release::V2026_04_08 {
            let cart = json!({ "line_items": lines(&[("pot_ceramic", 1), ("gardenias", 2)]) });
            shown.push(shopper.call("create_cart", None, &cart).document());
        }
        for document in shown {
            assert_eq!(total(&document, "subtotal"), 1_500 + 2 * 2_000, "{release} {transport:?}: {document}");
            let out: Vec<_> = elements(&document["messages"])
                .iter()
                .filter(|message| message["code"] == "out_of_stock")
                .map(|message| (message["path"].as_str(), message["content"].as_str()))
                .collect();
            let said = "Gardenias is out of stock; the totals count it as long as it is a line.";
            assert_eq!(out, [(Some("$.line_items[1]"), Some(said))], "{release} {transport:?}: {document}");
        }
        let without = shopper.update(&checkout, &ready(&[("pot_ceramic", 1)]));
        assert_eq!(total(&without, "subtotal"), 1_500, "{release} {transport:?}: {without}");
        assert_eq!(without["status"], "ready_for_complete", "{release} {transport:?}: {without}");
    }
}

fn shopper_codes(document: &Value) -> Vec<String> {
    super::shopper::errors(document).iter().map(|error| error["code"].as_str().unwrap_or_default().to_owned()).collect()
}

/// DSC-01 to DSC-04.
#[test]
fn discount_codes_are_tried_in_order_and_rejected_with_their_place() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let mut request = ready(&[("bouquet_roses", 2)]);
        for (codes, rejected) in [
            (json!(["10off"]), vec![]),
            (json!(["  10Off "]), vec!["discount_code_invalid $.discounts.codes[0]"]),
            (json!(["nope"]), vec!["discount_code_invalid $.discounts.codes[0]"]),
            (json!(["10OFF", "10off"]), vec!["discount_code_already_applied $.discounts.codes[1]"]),
            (json!([]), vec![]),
        ] {
            request["discounts"] = json!({ "codes": codes });
            let checkout = shopper.create(&request);
            assert_eq!(checkout["discounts"]["codes"], codes, "codes are given back as they came: {checkout}");
            if codes != json!(["  10Off "]) {
                assert_eq!(said_at(&checkout, "warning"), rejected, "{codes}: {checkout}");
            }
            let applied: i64 = elements(&checkout["discounts"]["applied"])
                .iter()
                .map(|discount| discount["amount"].as_i64().expect("an amount"))
                .sum();
            let shown: i64 = elements(&checkout["totals"])
                .iter()
                .filter(|total| ["discount", "items_discount"].contains(&total["type"].as_str().expect("text")))
                .map(|total| total["amount"].as_i64().expect("an amount").abs())
                .sum();
            assert_eq!(applied, shown, "{checkout}");
            assert_eq!(checkout["status"], "ready_for_complete", "no code stops a purchase: {checkout}");
        }
    }
}

/// The rejections that depend on the time, the buyer and other codes.
#[test]
fn discount_codes_are_rejected_for_a_reason() {
    let shop = Gateway::start();
    let shopper = Shopper::rest(&shop);
    let said = |codes: &[&str], email: &str| {
        let checkout = shopper.create(&json!({
            "line_items": lines(&[("var_abc123_blue_8", 1)]), "buyer": { "email": email },
            "discounts": { "codes": codes }, "fulfillment": shipping(&address()),
        }));
        said_at(&checkout, "warning")
    };
    assert_eq!(said(&["SUMMER25"], "buyer@example.com"), ["discount_code_expired $.discounts.codes[0]"]);
    assert_eq!(said(&["STAFF30"], "buyer@example.com"), ["discount_code_user_ineligible $.discounts.codes[0]"]);
    assert_eq!(
        said(&["STAFF30", "WELCOME10"], "staff@example.com"),
        ["discount_code_combination_disallowed $.discounts.codes[1]"]
    );
    assert_eq!(said(&["STAFF30"], "staff@example.com"), [""; 0]);
}

/// CHK-03: an address outside of every identifier that is known, on every checkout that is not over.
#[test]
fn the_page_of_a_buyer_is_absolute_and_tells_nothing() {
    let shop = Flowers::open();
    let mut seen = std::collections::BTreeSet::new();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
        let page = checkout["continue_url"].as_str().expect("an address").to_owned();
        assert!(page.starts_with(&format!("http://{}/", shop.address)), "{page}");
        let token = page.rsplit('/').next().expect("a token");
        assert!(token.len() >= 22 && !page.contains(id(&checkout)), "{page}");
        assert!(seen.insert(page.clone()), "{page}");
        assert_eq!(shopper.update(&checkout, &ready(&[("pot_ceramic", 2)]))["continue_url"], page.as_str());
        let canceled = shopper.call("cancel_checkout", Some(id(&checkout)), &json!({})).document();
        assert!(canceled.get("continue_url").is_none(), "{canceled}");
        assert!(texts(&checkout["links"], "type").contains(&"privacy_policy"), "{checkout}");
    }
}

/// 2.13: booleans under short names until 2026-04-08, decisions under reverse-domain names since.
#[test]
fn what_the_buyer_agreed_to_comes_back_in_the_form_of_the_release() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let mut request = ready(&[("pot_ceramic", 1)]);
        let consent = if release == Release::V2026_08_25 {
            json!({ "dev.ucp.consent.marketing": { "granted": true }, "com.example.own": { "granted": false } })
        } else {
            json!({ "marketing": true, "sale_of_data": false })
        };
        request["buyer"]["consent"] = consent.clone();
        let checkout = shopper.create(&request);
        let answer = &checkout["buyer"]["consent"];
        if release == Release::V2026_08_25 {
            assert_eq!(answer["dev.ucp.consent.marketing"]["granted"], true, "{checkout}");
            assert_eq!(answer["com.example.own"]["granted"], false, "{checkout}");
        } else {
            assert_eq!(*answer, consent, "{checkout}");
        }
        // Replaced as a whole.
        request["buyer"].as_object_mut().expect("an object").shift_remove("consent");
        assert_eq!(shopper.update(&checkout, &request)["buyer"].get("consent"), None);
    }
}
