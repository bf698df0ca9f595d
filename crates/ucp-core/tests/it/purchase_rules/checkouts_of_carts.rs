//! Checkouts that are made of a cart.

use super::*;

#[tokio::test]
async fn the_contents_of_the_cart_win() {
    let shop = shop();
    let mut stated = draft(&[("ticket", 2)]);
    stated.codes = Some(vec!["TEN".into()]);
    stated.context.country = Some("CA".into());
    let cart = fill(&shop, stated).await.cart;
    let mut other = draft(&[("rose", 1)]);
    other.context.country = Some("DE".into());
    other.buyer = Some(Buyer { email: Some("other@example.com".into()), ..Buyer::default() });
    let view = begin_by(&shop, &caller(), other, Some(&cart.id)).await;
    let checkout = &view.checkout;
    assert_eq!(checkout.cart_id.as_ref(), Some(&cart.id));
    assert_eq!((checkout.line_items.len(), &checkout.line_items[0].item.id[..]), (1, "ticket"));
    assert_eq!(checkout.line_items[0].id, cart.line_items[0].id);
    assert_eq!(checkout.draft.context.country.as_deref(), Some("CA"));
    assert_eq!(checkout.draft.buyer, cart.draft.buyer);
    assert_eq!(total(&view), 3_600, "the code goes with it");
    // A cart is enough.
    let cart = fill(&shop, draft(&[("ticket", 1)])).await.cart;
    assert_eq!(total(&begin_by(&shop, &caller(), Draft::default(), Some(&cart.id)).await), 2_000);
}

#[tokio::test]
async fn a_cart_has_one_open_checkout() {
    let shop = shop();
    let cart = fill(&shop, draft(&[("ticket", 1)])).await.cart.id;
    let begin = async || begin_by(&shop, &caller(), Draft::default(), Some(&cart)).await;
    let first = begin().await;
    let again = begin().await;
    assert_eq!((first.created, again.created), (true, false));
    assert_eq!(first.checkout, again.checkout);
    answered(&shop, &caller(), SaleRequest::CancelCheckout(by(&first.checkout.id))).await;
    let second = begin().await;
    assert!(second.created && second.checkout.id != first.checkout.id);
    shop.clock.advance(6 * 60 * 60);
    let third = begin().await;
    assert!(third.created, "the second one has expired");
    shop.handler.script([Course::Slow(9)]);
    assert_eq!(complete(&shop, &third.checkout.id).await.checkout.status(), Status::CompleteInProgress);
    assert_eq!(begin().await.checkout.id, third.checkout.id, "it may be bought already");
}

#[tokio::test]
async fn a_cart_means_nothing_to_a_platform_without_carts() {
    let shop = shop();
    let cart = fill(&shop, draft(&[("ticket", 1)])).await.cart.id;
    let without = platform("https://a.example/ucp", &[CART]);
    let view = begin_by(&shop, &without, draft(&[("leaflet", 1)]), Some(&cart)).await;
    assert_eq!((&view.checkout.cart_id, total(&view)), (&None, 0));
    let request = checkout::Create { draft: Draft::default(), cart_id: Some(cart) };
    let refusal = shop.call(&without, SaleRequest::CreateCheckout(request)).await.expect_err("nothing to buy");
    assert_eq!((refusal.code, refusal.path.as_deref()), (Code::InvalidRequest, Some("$.line_items")));
}

#[tokio::test]
async fn a_checkout_of_an_empty_cart_says_what_is_missing() {
    let shop = shop();
    let cart = fill(&shop, draft(&[("ticket", 1)])).await.cart.id;
    let request = SaleRequest::UpdateCart(cart::Update { id: cart.clone(), draft: draft(&[("weed", 1)]) });
    assert!(cart_of(answered(&shop, &caller(), request).await).cart.line_items.is_empty());
    let request = checkout::Create { draft: Draft::default(), cart_id: Some(cart) };
    let outcome = answered(&shop, &caller(), SaleRequest::CreateCheckout(request)).await;
    assert_eq!(nothing(outcome), (vec!["item_unavailable".to_owned()], false));
}

#[tokio::test]
async fn a_purchase_is_a_purchase_of_something() {
    let shop = shop();
    let id = begin(&shop, draft(&[("ticket", 1)])).await.checkout.id;
    for request in [
        SaleRequest::CreateCheckout(checkout::Create { draft: draft(&[]), cart_id: None }),
        SaleRequest::UpdateCheckout(checkout::Update { id: id.clone(), draft: draft(&[]) }),
    ] {
        let refusal = shop.call(&caller(), request).await.expect_err("nothing to buy");
        assert_eq!((refusal.code, refusal.path.as_deref()), (Code::InvalidRequest, Some("$.line_items")));
    }
    assert!(update(&shop, &id, draft(&[("weed", 1)])).await.checkout.line_items.is_empty());
    assert_eq!(complete(&shop, &id).await.checkout.status(), Status::Incomplete);
}
