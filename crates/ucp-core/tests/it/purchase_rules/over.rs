//! Finished resources, resources of others, and a shop that is unavailable.

use super::*;

#[tokio::test]
async fn nothing_can_be_done_to_what_is_over() {
    let shop = shop();
    let completed = begin(&shop, draft(&[("ticket", 1)])).await.checkout.id;
    complete(&shop, &completed).await;
    let canceled = begin(&shop, draft(&[("ticket", 1)])).await.checkout.id;
    let view = checkout_of(answered(&shop, &caller(), SaleRequest::CancelCheckout(by(&canceled))).await);
    assert_eq!((view.checkout.status(), view.continue_url, view.messages.len()), (Status::Canceled, None, 0));
    let expired = begin(&shop, draft(&[("ticket", 1)])).await.checkout.id;
    shop.clock.advance(6 * 60 * 60);
    let view = look(&shop, &expired).await;
    assert_eq!((view.checkout.status(), view.continue_url), (Status::Canceled, None));
    assert_eq!(codes(&view.messages), ["expired"]);
    let commits = shop.ledger.commits();
    for (id, code) in
        [(&completed, "checkout_completed"), (&canceled, "checkout_canceled"), (&expired, "checkout_canceled")]
    {
        let before = look(&shop, id).await.checkout;
        for request in [
            SaleRequest::CancelCheckout(by(id)),
            SaleRequest::UpdateCheckout(checkout::Update { id: id.clone(), draft: draft(&[("leaflet", 1)]) }),
            SaleRequest::CompleteCheckout(checkout::Complete {
                id: id.clone(),
                tenders: vec![card("scripted")],
                mandate: None,
                call: None,
            }),
        ] {
            let outcome = answered(&shop, &caller(), request).await;
            assert!(matches!(&outcome, Outcome::NoResource { id: named, .. } if named.as_ref() == Some(id)));
            assert_eq!(nothing(outcome), (vec![code.to_owned()], true), "trap T-21");
        }
        assert_eq!(look(&shop, id).await.checkout, before);
    }
    assert_eq!((shop.ledger.commits(), shop.handler.attempts()), (commits, 1));
}

#[tokio::test]
async fn a_checkout_lives_on_with_every_change() {
    let shop = shop();
    let id = begin(&shop, draft(&[("ticket", 1)])).await.checkout.id;
    for _ in 0..3 {
        shop.clock.advance(6 * 60 * 60 - 1);
        update(&shop, &id, draft(&[("ticket", 1)])).await;
    }
    assert_eq!(look(&shop, &id).await.checkout.status(), Status::ReadyForComplete);
    shop.clock.advance(6 * 60 * 60);
    assert_eq!(look(&shop, &id).await.checkout.status(), Status::Canceled);
}

#[tokio::test]
async fn what_belongs_to_others_is_not_found() {
    let shop = shop();
    let cart = fill(&shop, draft(&[("ticket", 1)])).await.cart.id;
    let checkout = begin(&shop, draft(&[("ticket", 1)])).await.checkout.id;
    let order = complete(&shop, &checkout).await.checkout.state.order().expect("an order").id.clone();
    let stranger = platform("https://b.example/ucp", &[]);
    let told = |outcome: Outcome, id: &str| format!("{outcome:?}").replace(id, "ID");
    for (mine, unknown) in [
        (SaleRequest::GetCart(by(&cart)), SaleRequest::GetCart(by("cart_0"))),
        (SaleRequest::CancelCart(by(&cart)), SaleRequest::CancelCart(by("cart_0"))),
        (SaleRequest::GetCheckout(by(&checkout)), SaleRequest::GetCheckout(by("chk_0"))),
        (SaleRequest::CancelCheckout(by(&checkout)), SaleRequest::CancelCheckout(by("chk_0"))),
        (SaleRequest::GetOrder(by(&order)), SaleRequest::GetOrder(by("ord_0"))),
    ] {
        let (mine, unknown) = (answered(&shop, &stranger, mine).await, answered(&shop, &stranger, unknown).await);
        let id = match &mine {
            Outcome::NoResource { id: Some(id), .. } => id.clone(),
            other => panic!("{other:?}"),
        };
        let other = format!("{}_0", id.split('_').next().unwrap_or_default());
        assert_eq!(told(mine, &id), told(unknown, &other));
    }
    let request = checkout::Create { draft: draft(&[("ticket", 1)]), cart_id: Some(cart) };
    let outcome = answered(&shop, &stranger, SaleRequest::CreateCheckout(request)).await;
    assert_eq!(nothing(outcome), (vec!["not_found".to_owned()], false));
}

#[tokio::test]
async fn a_shop_that_cannot_be_asked_refuses_and_changes_nothing() {
    let shop = shop();
    let id = begin(&shop, draft(&[("ticket", 1)])).await.checkout.id;
    let commits = shop.ledger.commits();
    let unavailable = async |request: SaleRequest| -> Refusal {
        shop.call(&caller(), request).await.expect_err("cannot be carried out")
    };
    let completion =
        || checkout::Complete { id: id.clone(), tenders: vec![card("scripted")], mandate: None, call: None };
    for broken in 0..2 {
        shop.shelf.close(broken == 0);
        shop.ledger.fail_reads(broken == 1);
        let create = checkout::Create { draft: draft(&[("ticket", 1)]), cart_id: None };
        assert_eq!(unavailable(SaleRequest::CreateCheckout(create)).await.code, Code::Unavailable);
        assert_eq!(unavailable(SaleRequest::CompleteCheckout(completion())).await.code, Code::Unavailable);
    }
    shop.ledger.fail_reads(false);
    assert_eq!((shop.ledger.commits(), shop.handler.attempts()), (commits, 0));
    assert_eq!(complete(&shop, &id).await.checkout.status(), Status::Completed);
}
