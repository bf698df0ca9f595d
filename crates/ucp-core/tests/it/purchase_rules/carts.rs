//! Carts.

use super::*;

#[tokio::test]
async fn a_cart_is_replaced_as_a_whole_and_keeps_its_name() {
    let shop = shop();
    let first = fill(&shop, Draft { codes: Some(vec!["TEN".into()]), ..draft(&[("rose", 2), ("ticket", 1)]) }).await;
    assert!(first.created && first.cart.id.starts_with("cart_"));
    assert_eq!(amount_of(&first.cart.totals, TotalKind::Total), 2_430);
    let id = &first.cart.id;
    let request = SaleRequest::UpdateCart(cart::Update { id: id.clone(), draft: draft(&[("ticket", 3)]) });
    let second = cart_of(answered(&shop, &caller(), request).await);
    assert!(!second.created);
    assert_eq!((&second.cart.id, second.cart.created_at), (id, first.cart.created_at));
    assert_eq!(amount_of(&second.cart.totals, TotalKind::Total), 6_000, "the code is gone too");
    assert_eq!(second.cart.line_items[0].id, first.cart.line_items[1].id, "the line is still the same");
    let third = cart_of(answered(&shop, &caller(), SaleRequest::GetCart(by(id))).await);
    assert_eq!(third.cart, second.cart);
    assert_eq!(third.continue_url, Some(format!("https://shop.example/continue/{}", third.cart.token)));
    assert_eq!(shop.ledger.remaining("rose"), Some(6), "nothing is reserved");
}

#[tokio::test]
async fn a_canceled_or_expired_cart_is_not_there() {
    let shop = shop();
    let cart = fill(&shop, draft(&[("ticket", 1)])).await.cart;
    let canceled = cart_of(answered(&shop, &caller(), SaleRequest::CancelCart(by(&cart.id))).await);
    assert_eq!(canceled.cart, cart, "as it was before");
    assert_eq!(canceled.continue_url, None);
    let expired = fill(&shop, draft(&[("ticket", 1)])).await.cart.id;
    for (id, later) in [(&cart.id, 0), (&expired, 30 * 24 * 60 * 60)] {
        shop.clock.advance(later);
        for request in [
            SaleRequest::GetCart(by(id)),
            SaleRequest::CancelCart(by(id)),
            SaleRequest::UpdateCart(cart::Update { id: id.clone(), draft: draft(&[("ticket", 1)]) }),
            SaleRequest::CreateCheckout(checkout::Create { draft: Draft::default(), cart_id: Some(id.clone()) }),
        ] {
            let outcome = answered(&shop, &caller(), request).await;
            assert_eq!(nothing(outcome), (vec!["not_found".to_owned()], false));
        }
    }
}

#[tokio::test]
async fn a_cart_of_nothing_that_is_sold_is_not_made() {
    let shop = shop();
    shop.ledger.count("rose", 0);
    let request = || cart::Create { draft: draft(&[("weed", 1), ("rose", 1)]) };
    let (mut codes, conflict) = nothing(answered(&shop, &caller(), SaleRequest::CreateCart(request())).await);
    codes.sort();
    assert_eq!((codes, conflict), (vec!["item_unavailable".to_owned(), "out_of_stock".to_owned()], false));
    let request = checkout::Create { draft: request().draft, cart_id: None };
    let (codes, _) = nothing(answered(&shop, &caller(), SaleRequest::CreateCheckout(request)).await);
    assert_eq!(codes.len(), 2);
    assert_eq!(shop.ledger.commits(), 0);
}
