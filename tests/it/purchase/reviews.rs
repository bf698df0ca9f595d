//! Purchases that their buyer has to look at on the shop's page, as platforms meet them (severity
//! `requires_buyer_review`; rule CHK-02): over every transport, in every release.

use serde_json::{Value, json};

use super::{
    conditions::shop,
    shopper::{Shopper, errors, id, ready, said_at, ways},
};
use crate::handoff::browser::{Browser, path};

/// The roses in this shop cost 35.00; orders from 60.00 are looked at.
fn high_value(terms: &mut Value) {
    let review =
        json!({ "code": "high_value_order", "reason": "Orders from $60 need your own word.", "min_total": 6_000 });
    terms["reviews"] = json!([review]);
}

#[test]
fn a_platform_hands_over_and_goes_on_when_the_buyer_has_approved() {
    let (gateway, _data) = shop(high_value);
    for (release, transport) in ways() {
        let shopper = Shopper::new(&gateway, release, transport);
        let small = shopper.create(&ready(&[("bouquet_roses", 1)]));
        assert_eq!(small["status"], "ready_for_complete", "{small}");
        let checkout = shopper.update(&small, &ready(&[("bouquet_roses", 3)]));
        assert_eq!(checkout["status"], "requires_escalation", "{checkout}");
        assert_eq!(said_at(&checkout, "error"), ["high_value_order $.totals"]);
        let error = &errors(&checkout)[0];
        assert_eq!(error["severity"], "requires_buyer_review");
        assert_eq!(error["content"], "Orders from $60 need your own word.");
        // The platform cannot do it alone.
        let refused = shopper.complete(&checkout, "success_token");
        assert_eq!(said_at(&refused, "error"), ["high_value_order $.totals"], "{refused}");
        assert_eq!((&refused["status"], refused.get("order")), (&json!("requires_escalation"), None));

        let mut browser = Browser::new(&gateway);
        let back = "continue_to=https%3A%2F%2Fagent.example.com%2Fchat";
        let page = browser.open(&format!("{}?{back}", path(&checkout["continue_url"])));
        page.shows("Please review your purchase");
        page.shows("Orders from $60 need your own word.");
        let summary = browser.open(&format!("{}?view=confirm&{back}", path(&checkout["continue_url"])));
        for shown in ["Bouquet of Red Roses", "1 Main St", "buyer@example.com", "I approve this purchase"] {
            summary.shows(shown);
        }
        let approved = browser.fill(&summary, "approve", &[]);
        approved.shows("Your assistant can continue now");
        approved.shows("<a class=\"button\" href=\"https://agent.example.com/chat\"");
        approved.hides("I approve this purchase");
        assert_eq!(browser.submit(&summary, "approve", &[]).status, 409, "a form is taken once");

        let seen = shopper.call("get_checkout", Some(id(&checkout)), &json!({})).document();
        assert_eq!((&seen["status"], errors(&seen).len()), (&json!("ready_for_complete"), 0), "{seen}");
        assert_eq!(seen["totals"], checkout["totals"]);
        // Anything else than was approved has to be looked at again.
        let more = shopper.update(&checkout, &ready(&[("bouquet_roses", 4)]));
        assert_eq!(more["status"], "requires_escalation", "{more}");
        let same = shopper.update(&checkout, &ready(&[("bouquet_roses", 3)]));
        assert_eq!(same["status"], "ready_for_complete", "{same}");
        assert_eq!(shopper.complete(&checkout, "success_token")["status"], "completed");
    }
}

#[test]
fn a_buyer_who_pays_on_the_page_has_approved_it() {
    let (gateway, _data) = shop(high_value);
    let shopper = Shopper::rest(&gateway);
    let checkout = shopper.create(&ready(&[("bouquet_roses", 3)]));
    let mut browser = Browser::new(&gateway);
    let summary = browser.open(&format!("{}?view=confirm", path(&checkout["continue_url"])));
    summary.shows("Or finish it here yourself");
    browser.fill(&summary, "pay", &[]).shows("Thank you for your order");
    let seen = shopper.call("get_checkout", Some(id(&checkout)), &json!({})).document();
    assert_eq!(seen["status"], "completed", "{seen}");
}

#[test]
fn what_is_missing_comes_first() {
    let (gateway, _data) = shop(|terms| {
        terms["required"] = json!(["email"]);
        terms["reviews"] = json!([{ "reason": "Always.", "items": ["bouquet_roses"] }]);
    });
    let shopper = Shopper::rest(&gateway);
    let mut wanted = ready(&[("bouquet_tulips", 1), ("bouquet_roses", 1)]);
    wanted["buyer"] = json!({});
    let checkout = shopper.create(&wanted);
    assert_eq!(said_at(&checkout, "error"), ["field_required $.buyer.email"], "{checkout}");
    let mut browser = Browser::new(&gateway);
    let page = browser.open(&path(&checkout["continue_url"]));
    let page = browser.fill(&page, "details", &[("email", "bea@example.com")]);
    page.shows("Please review your purchase");
    let seen = shopper.call("get_checkout", Some(id(&checkout)), &json!({})).document();
    assert_eq!(said_at(&seen, "error"), ["buyer_review $.line_items[1]"], "{seen}");
    assert_eq!(shopper.update(&checkout, &ready(&[("bouquet_tulips", 1)]))["status"], "ready_for_complete");
}
