use proptest::prelude::*;
use serde_json::{Value, json};
use ucp_core::{
    ports::remote_cart::PriceRequest,
    purchase::{
        draft::Draft,
        quote::{Previous, Purpose},
    },
};
use ucp_testkit::shop::{draft, platform};

use super::*;

const MUG: &str = "gid://shopify/ProductVariant/1";
const TEE: &str = "gid://shopify/ProductVariant/2";

fn told(errors: Value, warnings: Value) -> Told {
    let members = [("userErrors".to_owned(), errors), ("warnings".to_owned(), warnings)];
    serde_json::from_value(Value::Object(members.into_iter().collect())).expect("an outcome")
}

fn error(code: &str, field: &[&str]) -> Value {
    json!({ "code": code, "field": field, "message": "The shop's words." })
}

fn warning(code: &str, target: &str) -> Value {
    json!({ "code": code, "target": target, "message": "The shop's words." })
}

fn cart(lines: &[(&str, &str, u64)]) -> Cart {
    let money = json!({ "amount": "1.0", "currencyCode": "USD" });
    let cost = json!({ "amountPerQuantity": money, "subtotalAmount": money, "totalAmount": money });
    let lines = lines.iter().map(|(id, item, quantity)| {
        json!({ "id": id, "quantity": quantity, "cost": cost, "merchandise": { "id": item, "product": { "title": "P" } } })
    });
    serde_json::from_value(json!({
        "id": "cart", "checkoutUrl": "https://shop.example/", "cost": { "totalAmount": money },
        "lines": { "nodes": lines.collect::<Vec<_>>() },
    }))
    .expect("a cart")
}

fn wish(draft: &Draft) -> Wish {
    let (caller, previous) = (platform("https://platform.example/profile", &[]), Previous::default());
    Wish::of(
        &PriceRequest {
            purpose: Purpose::Cart,
            draft,
            caller: &caller,
            previous: &previous,
            remote_cart: None,
            reference: None,
        },
        None,
    )
}

/// Returns codes and paths of the messages about a cart, given the wanted quantities by item.
fn about(notes: Notes, there: &[(&str, &str, u64)], wanted: &[(&str, u64)]) -> Vec<(String, String)> {
    let cart = cart(there);
    let lines: Vec<_> = cart
        .lines
        .nodes
        .iter()
        .filter(|line| line.quantity > 0)
        .map(|line| (format!("li of {}", line.id), line))
        .collect();
    let messages = notes.about(&lines, Some(&cart), &wish(&draft(wanted)));
    messages.iter().map(|message| (code(message), message.path().unwrap_or_default().to_owned())).collect()
}

fn code(message: &Message) -> String {
    match message {
        Message::Error { code, .. } => format!("error {code}"),
        Message::Warning { code, .. } => format!("warning {code}"),
        Message::Info { code, .. } => format!("info {}", code.as_deref().unwrap_or_default()),
    }
}

fn said(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(code, path)| ((*code).to_owned(), (*path).to_owned())).collect()
}

#[test]
fn errors_are_about_what_they_name() {
    let goods = [TEE.to_owned(), MUG.to_owned()];
    for (code, field, expected) in [
        ("INVALID", &["input", "lines", "1", "merchandiseId"][..], ("error item_unavailable", "$.line_items")),
        ("INVALID", &["lines", "1", "quantity"], ("error quantity_invalid", "$.line_items[0]")),
        ("LESS_THAN", &["lines", "1", "quantity"], ("error quantity_invalid", "$.line_items[0]")),
        ("MINIMUM_NOT_MET", &["lines", "1", "quantity"], ("error quantity_invalid", "$.line_items[0]")),
        ("MAXIMUM_EXCEEDED", &["lines", "1", "quantity"], ("error quantity_invalid", "$.line_items[0]")),
        ("INVALID_INCREMENT", &[], ("error quantity_invalid", "$.line_items")),
        (
            "VARIANT_REQUIRES_SELLING_PLAN",
            &["input", "lines", "1", "sellingPlanId"],
            ("error item_unavailable", "$.line_items[0]"),
        ),
        ("MERCHANDISE_NOT_APPLICABLE", &[], ("error item_unavailable", "$.line_items")),
        ("INVALID", &["input", "buyerIdentity", "email"], ("error field_invalid", "$.buyer.email")),
        ("INVALID", &["buyerIdentity", "phone"], ("error field_invalid", "$.buyer.phone_number")),
        ("INVALID", &["buyerIdentity", "countryCode"], ("error field_invalid", "$.context.address_country")),
        (
            "INVALID",
            &["input", "delivery", "addresses", "0", "address", "deliveryAddress", "phone"],
            ("error address_undeliverable", "$.fulfillment.methods[0].destinations"),
        ),
        (
            "ADDRESS_FIELD_IS_REQUIRED",
            &["addresses", "0", "address", "deliveryAddress", "zip"],
            ("error address_undeliverable", "$.fulfillment.methods[0].destinations"),
        ),
        ("INVALID_ZIP_CODE_FOR_COUNTRY", &[], ("error address_undeliverable", "$.fulfillment.methods[0].destinations")),
        ("PROVINCE_NOT_FOUND", &[], ("error address_undeliverable", "$.fulfillment.methods[0].destinations")),
        (
            "INVALID_DELIVERY_OPTION",
            &["selectedDeliveryOptions", "0", "deliveryOptionHandle"],
            ("error fulfillment_invalid", "$.fulfillment.methods[0].groups"),
        ),
        ("PENDING_DELIVERY_GROUPS", &["cartId"], ("error fulfillment_pending", "$.fulfillment.methods[0].groups")),
        ("INVALID", &["discountCodes", "0"], ("warning discount_code_invalid", "$.discounts.codes")),
        ("CART_TOO_LARGE", &[], ("error shop_error", "")),
        ("SERVICE_UNAVAILABLE", &[], ("error shop_error", "")),
        ("OF_ANOTHER_YEAR", &["somewhere"], ("error shop_error", "")),
        ("", &[], ("error shop_error", "")),
    ] {
        let mut notes = Notes::default();
        notes.hear(&told(json!([error(code, field)]), json!([])), &goods);
        assert_eq!(
            about(notes, &[("a", MUG, 1), ("b", TEE, 1)], &[(MUG, 1), (TEE, 1)]),
            said(&[expected]),
            "{code} {field:?}"
        );
    }
    // Errors without a code and a field are reported too.
    let mut notes = Notes::default();
    notes.hear(&told(json!([{ "message": "No." }]), json!([])), &[]);
    assert_eq!(about(notes, &[("a", MUG, 1)], &[(MUG, 1)]), said(&[("error shop_error", "")]));
}

#[test]
fn warnings_are_about_lines_or_codes() {
    for (code, target, expected) in [
        ("MERCHANDISE_NOT_ENOUGH_STOCK", "b", ("warning quantity_adjusted", "$.line_items[1].quantity")),
        ("MERCHANDISE_NOT_ENOUGH_STOCK", "x", ("warning quantity_adjusted", "$.line_items")),
        ("MERCHANDISE_OUT_OF_STOCK", "a", ("error out_of_stock", "$.line_items[0]")),
        ("MERCHANDISE_OUT_OF_STOCK", "none", ("error out_of_stock", "$.line_items")),
        ("DISCOUNT_NOT_FOUND", "cart", ("warning discount_code_invalid", "$.discounts.codes")),
        ("DISCOUNT_CURRENTLY_INACTIVE", "cart", ("warning discount_code_expired", "$.discounts.codes")),
        ("DISCOUNT_CUSTOMER_NOT_ELIGIBLE", "cart", ("warning discount_code_user_ineligible", "$.discounts.codes")),
        (
            "DISCOUNT_ELIGIBLE_CUSTOMER_MISSING",
            "cart",
            ("warning discount_code_user_not_logged_in", "$.discounts.codes"),
        ),
        ("DISCOUNT_OF_ANOTHER_YEAR", "cart", ("warning discount_code_not_applied", "$.discounts.codes")),
        ("PRODUCT_UNAVAILABLE_IN_BUYER_LOCATION", "a", ("warning shop_warning", "")),
    ] {
        let mut notes = Notes::default();
        // Every mutation of a request repeats the warning; it is reported once.
        let both = told(json!([]), json!([warning(code, target), warning(code, target)]));
        notes.hear(&both, &[]);
        notes.hear(&both, &[]);
        let there = [("a", MUG, 1), ("b", TEE, 3), ("none", "gid://shopify/ProductVariant/3", 0)];
        assert_eq!(about(notes, &there, &[(MUG, 1), (TEE, 3)]), said(&[expected]), "{code}");
    }
}

#[test]
fn what_is_missing_is_explained_by_what_happened() {
    let wanted = [(MUG, 2), (TEE, 1)];
    let sold_out = ("error out_of_stock", "$.line_items");
    // The shop leaves the item out, or empties the line, without an error.
    assert_eq!(about(Notes::default(), &[("a", MUG, 2)], &wanted), said(&[sold_out]));
    assert_eq!(about(Notes::default(), &[("a", MUG, 2), ("b", TEE, 0)], &wanted), said(&[sold_out]));
    // The change was not made as a whole: the item need not be sold out.
    let mut broken = Notes::default();
    broken.broken();
    let uncertain = ("error change_uncertain", "$.line_items");
    assert_eq!(about(broken, &[("a", MUG, 2)], &wanted), said(&[uncertain, ("error change_uncertain", "")]));
    // An error about the cart as a whole prevented the change.
    let mut notes = Notes::default();
    notes.hear(&told(json!([error("CART_TOO_LARGE", &[])]), json!([])), &[]);
    assert_eq!(about(notes, &[("a", MUG, 2)], &wanted), said(&[("error shop_error", ""), uncertain]));
    // An item with an error of its own is reported once, and the error does not explain other items.
    let mut notes = Notes::default();
    notes.hear(&told(json!([error("INVALID", &["lines", "0", "merchandiseId"])]), json!([])), &[MUG.to_owned()]);
    assert_eq!(about(notes, &[], &wanted), said(&[("error item_unavailable", "$.line_items"), sold_out]));
    // The buyer may have removed the item on the shop's page.
    let removed = ("warning item_removed", "$.line_items");
    assert_eq!(about(Notes::looked(), &[("a", MUG, 2)], &wanted), said(&[removed]));
    assert_eq!(about(Notes::looked(), &[("a", MUG, 2), ("b", TEE, 0)], &wanted), said(&[sold_out]));
}

#[test]
fn quantities_are_compared_over_all_lines_of_the_same_goods() {
    let adjusted = |place: usize| format!("$.line_items[{place}].quantity");
    let there = [("a", TEE, 1), ("b", MUG, 2), ("c", MUG, 3)];
    for (wanted, path) in [(5, None), (6, Some(adjusted(1))), (4, Some(adjusted(1)))] {
        let found = about(Notes::default(), &there, &[(MUG, wanted - 1), (TEE, 1), (MUG, 1)]);
        let expected: Vec<_> = path.map(|path| ("warning quantity_adjusted".to_owned(), path)).into_iter().collect();
        assert_eq!(found, expected, "{wanted}");
    }
}

#[test]
fn codes_that_take_nothing_off_are_told_where_the_shop_says_nothing() {
    let mut cart = cart(&[("a", MUG, 1)]);
    cart.discount_codes = serde_json::from_value(json!([
        { "code": "GOOD", "applicable": true }, { "code": "BAD\u{202e}", "applicable": false }, { "code": "UNKNOWN" },
    ]))
    .expect("codes");
    let lines = vec![("li_1".to_owned(), &cart.lines.nodes[0])];
    let wish = wish(&draft(&[(MUG, 1)]));
    let messages = Notes::looked().about(&lines, Some(&cart), &wish);
    let content = "The code `BAD` takes nothing off what is in the cart.";
    assert_eq!(messages, [Message::warning("discount_code_not_applied", content).at("$.discounts.codes")]);
    // The shop's own warning is more precise and replaces the general one.
    let mut notes = Notes::default();
    notes.hear(&told(json!([]), json!([warning("DISCOUNT_CURRENTLY_INACTIVE", "cart")])), &[]);
    let messages = notes.about(&lines, Some(&cart), &wish);
    assert_eq!(messages.iter().map(code).collect::<Vec<_>>(), ["warning discount_code_expired"]);
    // A platform that does not use codes gets no messages about them.
    let silent = Wish { codes: None, ..wish };
    assert!(Notes::looked().about(&lines, Some(&cart), &silent).is_empty());
}

#[test]
fn a_cart_that_is_gone_is_told_from_goods_that_are() {
    let gone = |errors: Value| {
        let mut notes = Notes::default();
        notes.hear(&told(errors, json!([])), &[]);
        notes.gone()
    };
    let missing =
        |field: Value| json!([{ "code": "INVALID", "field": field, "message": "The specified cart does not exist." }]);
    assert!(gone(missing(json!(["cartId"]))) && gone(missing(Value::Null)));
    let goods = "The merchandise with id gid://shopify/ProductVariant/1 does not exist.";
    assert!(!gone(json!([{ "code": "INVALID", "field": ["lines", "0", "merchandiseId"], "message": goods }])));
    assert!(!gone(
        json!([{ "code": "INVALID_MERCHANDISE_LINE", "field": ["lineIds"], "message": "It does not exist." }])
    ));
    assert!(!gone(json!([])));
}

#[test]
fn what_keeps_a_cart_from_being_made_is_taken_out_of_it() {
    let stated = Draft { codes: Some(vec!["TEN".into()]), ..draft(&[(MUG, 1), (TEE, 1)]) };
    let spared = |code: &str, field: &[&str]| {
        let mut wish = Wish { goal: Goal::To(Box::default()), ..wish(&stated) };
        let mut notes = Notes::default();
        notes.hear(&told(json!([error(code, field)]), json!([])), &[MUG.to_owned(), TEE.to_owned()]);
        let any = notes.spare(&mut wish);
        // The same error removes nothing a second time: otherwise the attempts would never end.
        assert!(!any || !notes.spare(&mut wish), "{code} {field:?}");
        (any, wish)
    };
    let (any, wish) = spared("INVALID", &["input", "lines", "1", "merchandiseId"]);
    assert!(any && wish.refused == [TEE.to_owned()].into());
    let (any, wish) = spared("INVALID", &["input", "buyerIdentity", "email"]);
    assert!(any && wish.buyer.email.is_none());
    let (any, wish) = spared("ADDRESS_FIELD_IS_REQUIRED", &["input", "delivery"]);
    assert!(any && matches!(wish.goal, Goal::Unsaid));
    let (any, wish) = spared("INVALID", &["input", "discountCodes"]);
    assert!(any && wish.codes.is_none());
    for (code, field) in
        [("CART_TOO_LARGE", &[][..]), ("INVALID", &["input", "lines"]), ("INVALID", &["input", "lines", "9"])]
    {
        assert!(!spared(code, field).0, "{code} {field:?}");
    }
}

#[test]
fn a_cart_that_cannot_be_made_is_refused_with_the_reason() {
    let refusal = |errors: Value| {
        let mut notes = Notes::default();
        notes.hear(&told(errors, json!([])), &[]);
        let refusal = Refusal::from(notes.refusal());
        (refusal.code, refusal.path.unwrap_or_default())
    };
    assert_eq!(refusal(json!([])), (Code::Unavailable, String::new()));
    assert_eq!(refusal(json!([error("SERVICE_UNAVAILABLE", &[])])), (Code::Unavailable, String::new()));
    assert_eq!(refusal(json!([error("CART_TOO_LARGE", &["input"])])), (Code::InvalidRequest, "$.line_items".into()));
    assert_eq!(
        refusal(json!([error("INVALID", &["input", "buyerIdentity", "email"])])),
        (Code::InvalidRequest, "$.buyer.email".into())
    );
}

proptest! {
    /// Any text of the shop yields a message, does not panic, and does not reveal the identifier of a cart.
    #[test]
    fn anything_can_be_said(
        code in prop_oneof!["\\PC{0,100}", Just("a".to_owned() + &"é".repeat(80)), Just("INVALID".to_owned()), Just("MINIMUM_NOT_MET".to_owned())],
        steps in prop::collection::vec(prop::sample::select(vec!["input", "lines", "0", "99999999999999999999", "quantity", "email", "cartId", "é"]), 0..5),
        words in prop_oneof!["\\PC{0,40}", Just("No cart gid://shopify/Cart/abc?key=canary here".to_owned()), Just("line gid://shopify/CartLine/1?cart=canary".to_owned()), Just("?key=canary".to_owned())],
    ) {
        let mut notes = Notes::default();
        let errors = json!([{ "code": code, "field": steps, "message": words }]);
        let warnings = json!([{ "code": code, "target": words, "message": words }]);
        notes.hear(&told(errors, warnings), &[MUG.to_owned()]);
        let refusal = Refusal::from(notes.refusal());
        let leaks = |text: String| text.contains("canary");
        let refused = format!("{refusal:?}");
        prop_assert!(!leaks(refused));
        let cart = cart(&[("a", MUG, 1)]);
        let lines = vec![("li_1".to_owned(), &cart.lines.nodes[0])];
        let messages = notes.about(&lines, Some(&cart), &wish(&draft(&[(MUG, 1)])));
        prop_assert!(messages.len() >= 2);
        let said = format!("{messages:?}");
        prop_assert!(!leaks(said));
    }
}
