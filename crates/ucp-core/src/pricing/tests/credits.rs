//! Gift cards and store credit.

use super::*;
use crate::purchase::quote::{Credit, CreditKind};

fn credit(kind: CreditKind, code: Option<&str>, amount: i64) -> Credit {
    let title = format!("{kind:?}");
    Credit { kind, title, code: code.map(str::to_owned), amount: Amount::new(amount).expect("an amount") }
}

fn bought(credits: &[Credit]) -> (Draft, Facts) {
    let (draft, facts) = purchase(&[(ItemFacts { needs_fulfillment: false, ..good("a", 1_000) }, 2)]);
    (
        draft,
        Facts { credits: credits.to_vec(), taxes: vec![("Tax".to_owned(), Amount::new(100).expect("a tax"))], ..facts },
    )
}

#[test]
fn credits_pay_what_is_due_after_everything_else() {
    let (draft, facts) = bought(&[credit(CreditKind::GiftCard, None, 500), credit(CreditKind::StoreCredit, None, 0)]);
    let quote = priced(&draft, &facts, &Terms::default());
    let expected = [("subtotal", 2_000), ("tax", 100), ("gift_card", -500), ("total", 1_600)];
    assert_eq!(amounts(&quote.totals), expected);
    assert_eq!(quote.totals[2].display_text.as_deref(), Some("GiftCard"));
    assert!(quote.messages.is_empty());
}

#[test]
fn credits_never_pay_more_than_is_due() {
    let (draft, facts) =
        bought(&[credit(CreditKind::GiftCard, None, 2_000), credit(CreditKind::StoreCredit, None, 500)]);
    let quote = priced(&draft, &facts, &Terms::default());
    let expected = [("subtotal", 2_000), ("tax", 100), ("gift_card", -2_000), ("store_credit", -100), ("total", 0)];
    assert_eq!(amounts(&quote.totals), expected);
}

#[test]
fn the_code_of_a_credit_is_recognised_and_others_are_not() {
    let (mut draft, facts) = bought(&[credit(CreditKind::GiftCard, Some("GIFT-1"), 500)]);
    draft.codes = Some(vec!["nope".to_owned(), " gift-1".to_owned()]);
    let quote = priced(&draft, &facts, &Terms::default());
    let expected =
        [pair("discount_code_invalid", "$.discounts.codes[0]"), pair("credit_applied", "$.discounts.codes[1]")];
    assert_eq!(said(&quote), expected);
    let content = serde_json::to_value(&quote.messages[1]).expect("JSON")["content"].clone();
    assert_eq!(content, "5.00 USD of the total are paid by \"GiftCard\".");
    let discounts = quote.discounts.expect("discounts");
    assert!(discounts.applied.is_empty(), "a credit is no discount");
}
