//! Answers that lead an agent on which called with what it had at hand.

use serde_json::{Value, json};
use ucp_core::Release;

use super::shopper::{Shopper, errors, flowers, lines, of_type, ready, said_at, ways};
use crate::harness::{Gateway, elements};

/// The text of the only message of a type and code.
#[track_caller]
fn told(document: &Value, kind: &str, code: &str) -> String {
    let messages = of_type(document, kind);
    let [message] = messages.iter().filter(|message| message["code"] == code).collect::<Vec<_>>()[..] else {
        panic!("one {code}: {document}")
    };
    message["content"].as_str().expect("a text").to_owned()
}

#[test]
fn an_identifier_of_a_single_variant_is_taken_for_it_and_the_answer_says_so() {
    let shop = Gateway::shared();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let checkout = shopper.create(&json!({ "line_items": lines(&[("var_abc123_blue_8", 1), ("RP-BLU-10", 2)]) }));
        let items: Vec<_> = elements(&checkout["line_items"]).iter().map(|line| line["item"]["id"].clone()).collect();
        assert_eq!(items, ["var_abc123_blue_8", "var_abc123_blue_10"], "{checkout}");
        assert_eq!(said_at(&checkout, "info")[0], "item_resolved $.line_items[1]", "{checkout}");
        let content = told(&checkout, "info", "item_resolved");
        assert!(content.contains("`RP-BLU-10`") && content.contains("`var_abc123_blue_10`"), "{content}");
        // The id of the variant needs no explanation.
        let request = json!({ "line_items": lines(&[("var_abc123_blue_8", 1), ("var_abc123_blue_10", 2)]) });
        let updated = shopper.update(&checkout, &request);
        assert!(of_type(&updated, "info").iter().all(|message| message["code"] != "item_resolved"), "{updated}");
    }
}

#[test]
fn a_product_of_several_variants_is_answered_with_some_of_them_and_the_way_to_choose() {
    let shop = Gateway::shared();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        for item in ["prod_abc123", "runner-pro"] {
            let said = shopper.call("create_checkout", None, &json!({ "line_items": lines(&[(item, 1)]) }));
            assert_eq!(said.errors(), ["item_unavailable"], "{said:?}");
            let both = json!({ "line_items": lines(&[("var_abc123_blue_8", 1), (item, 1)]) });
            let checkout = shopper.create(&both);
            let content = told(&checkout, "error", "item_unavailable");
            for part in
                [&format!("`{item}` is a product with "), " variants", "get_product of `prod_abc123`", "(Color: "]
            {
                assert!(content.contains(part), "{part}: {content}");
            }
            assert_eq!(content.matches("`var_abc123_").count(), 5, "{content}");
            assert!(content.contains("Size: "), "{content}");
        }
    }
}

#[test]
fn a_payment_of_an_unknown_handler_is_answered_with_those_that_are_taken() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
        let paying = super::shopper::paying_in(release, "some_wallet", "success_token");
        let said = shopper.call("complete_checkout", Some(super::shopper::id(&checkout)), &paying).document();
        assert_eq!(errors(&said).len(), 1, "{said}");
        let content = told(&said, "error", "payment_failed");
        assert!(content.contains("`mock_payment_handler`"), "{content}");
    }
}

#[test]
fn members_that_mean_nothing_are_named() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let mut request = ready(&[("pot_ceramic", 1)]);
        let plain = shopper.create(&request);
        assert!(of_type(&plain, "info").iter().all(|message| message["code"] != "member_ignored"), "{plain}");
        // Fields of the response may be sent back.
        for name in ["id", "status", "currency", "totals", "links", "ucp", "messages"] {
            request[name] = plain[name].clone();
        }
        request["line_items"] = plain["line_items"].clone();
        let echoed = shopper.update(&plain, &request);
        assert!(of_type(&echoed, "info").iter().all(|message| message["code"] != "member_ignored"), "{echoed}");

        // A unit is sent as the official types have it, with the text that the shop words itself.
        if release == Release::NEWEST {
            request["line_items"][0]["item"]["quantity_unit"] = json!({ "unit": "C62", "display_text": "piece" });
            let of_unit = shopper.update(&plain, &request);
            assert!(of_type(&of_unit, "info").iter().all(|message| message["code"] != "member_ignored"), "{of_unit}");
        }

        request["coupon_code"] = json!("WELCOME20");
        request["line_items"][0]["note"] = json!("gift wrap");
        request["line_items"][0]["item"]["options"] = json!({ "Color": "Blue" });
        for made in [shopper.create(&request), shopper.update(&plain, &request)] {
            let content = told(&made, "info", "member_ignored");
            for path in ["`$.coupon_code`", "`$.line_items[0].note`", "`$.line_items[0].item.options`"] {
                assert!(content.contains(path), "{path}: {content}");
            }
        }
    }
}
