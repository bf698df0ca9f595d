//! Tests that the [judgment of a run](history) finds every planted fault, and no other.

mod history;

use std::time::Duration;

use serde_json::{Value, json};

use crate::history::{Call, History, Message, Order, Payment, Statement, Told, digest, summary};

/// A request that was sent at a second and ended at the next one.
fn call(operation: &'static str, checkout: &str, key: &str, second: u64, told: Told) -> Call {
    let (sent, ended) = (Duration::from_secs(second), Duration::from_secs(second + 1));
    Call { operation, checkout: checkout.to_owned(), cart: String::new(), key: key.to_owned(), sent, ended, told }
}

/// A creation from the cart `crt`.
fn created(key: &str, checkout: &str, second: u64) -> Call {
    let told = said(checkout, "ready_for_complete", &Value::Null);
    Call { cart: "crt".to_owned(), ..call("create_checkout", "", key, second, told) }
}

/// A document of a checkout over 1,500.
fn said(checkout: &str, status: &str, order: &Value) -> Told {
    let totals = json!([{ "type": "subtotal", "amount": 1000 }, { "type": "total", "amount": 1500 }]);
    Told::of(200, &json!({ "ucp": {}, "id": checkout, "status": status, "order": order, "totals": totals }))
}

fn payment(attempt: &str, checkout: &str, status: &str) -> Payment {
    let captures = u32::from(status == "captured");
    let (attempt, checkout, status) = (attempt.to_owned(), checkout.to_owned(), status.to_owned());
    Payment { attempt, checkout, status, captures, taken: 1500 * i64::from(captures) }
}

/// Two purchases of one cart, one after the other: the first is declined and paid in another way, the answer to the
/// second is lost. A third one is canceled.
fn orderly() -> History {
    let order = |id: &str, checkout: &str, attempt: &str, platform: &str| Order {
        id: id.to_owned(),
        checkout: checkout.to_owned(),
        attempt: attempt.to_owned(),
        total: 1500,
        platform: platform.to_owned(),
    };
    let message =
        || Message { id: "evt".to_owned(), platform: "august".to_owned(), order: "ord_2".to_owned(), digest: 7 };
    let completed = || said("chk_1", "completed", &json!({ "id": "ord_1" }));
    History {
        calls: vec![
            created("k1", "chk_1", 0),
            created("k2", "chk_1", 0),
            call("complete_checkout", "chk_1", "k3", 2, said("chk_1", "incomplete", &Value::Null)),
            call("complete_checkout", "chk_1", "k4", 4, Told::Nothing),
            call("complete_checkout", "chk_1", "k4", 6, completed()),
            call("complete_checkout", "chk_1", "k4", 8, completed()),
            created("k5", "chk_2", 10),
            call("complete_checkout", "chk_2", "k6", 12, Told::Refused(429)),
            call("complete_checkout", "chk_2", "k6", 14, Told::Nothing),
            call("complete_checkout", "chk_2", "k7", 16, Told::Nothing),
            call("cancel_checkout", "chk_3", "k8", 18, said("chk_3", "canceled", &Value::Null)),
        ],
        payments: vec![
            payment("pay_1", "chk_1", "declined"),
            payment("pay_2", "chk_1", "captured"),
            payment("pay_3", "chk_2", "captured"),
            payment("pay_4", "chk_3", "voided"),
        ],
        orders: vec![order("ord_1", "chk_1", "pay_2", ""), order("ord_2", "chk_2", "pay_3", "august")],
        messages: vec![message(), message()],
    }
}

#[test]
fn a_double_charge_a_lost_order_and_whatever_else_is_planted_are_found() {
    assert!(orderly().planted() > 15);
}

#[test]
fn nothing_is_wrong_where_nothing_happened() {
    assert_eq!(History::default().judge(), Vec::<String>::new());
}

#[test]
fn a_cart_has_a_second_checkout_once_the_first_may_be_over() {
    let beside = |second: u64| {
        let told = said("chk_1", "canceled", &Value::Null);
        let calls = vec![
            created("k1", "chk_1", 0),
            call("cancel_checkout", "chk_1", "k2", 10, told),
            created("k3", "chk_2", second),
        ];
        History { calls, ..History::default() }.judge()
    };
    assert_eq!(beside(10), Vec::<String>::new());
    assert!(summary(&beside(9)).starts_with("\n1 times, such as: cart crt has several open checkouts at once"));
}

#[test]
fn responses_state_what_they_say() {
    let Told::Document(statement) = said("chk_1", "completed", &json!({ "id": "ord_1" })) else { panic!("a document") };
    let document = json!({ "ucp": { "status": "error" }, "status": "completed" });
    let error = Statement { digest: digest(&document.to_string()), ..Statement::default() };
    assert_eq!((&*statement.checkout, &*statement.order, statement.total), ("chk_1", "ord_1", 1500));
    assert_eq!(Told::of(409, &document), Told::Document(error));
    assert_eq!(Told::of(503, &json!({ "code": "unavailable" })), Told::Nothing);
    assert_eq!(Told::of(200, &json!({ "code": "unavailable" })), Told::Nothing);
    assert_eq!(Told::of(429, &json!({ "code": "rate_limited" })), Told::Refused(429));
}
