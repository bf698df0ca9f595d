//! Several shops in one data directory.

use ucp_core::{ShopId, ports::ledger::Ledger as _};

use super::*;

fn options(directory: &Path, shop: &str) -> Options {
    Options { shop: shop.parse().expect("valid"), ..Options::new(directory) }
}

/// Two products with the names that both shops use, told apart by their titles.
fn goods(shop: &str, in_stock: u64) -> [Record; 2] {
    let product = |id: &str, variant: &str, sku: &str| {
        record(json!({
            "id": id, "handle": format!("{id}-handle"), "title": format!("Lamp of {shop}"), "description": {"plain": "A lamp."},
            "variants": [{"id": variant, "sku": sku, "price": {"amount": 1_000, "currency": "USD"}, "inventory": in_stock}],
        }))
    };
    [product("a", "a-v", "sku"), product("b", "b-v", "sku")]
}

#[tokio::test]
async fn shops_in_one_directory_share_no_product() {
    let directory = tempfile::tempdir().expect("directory");
    for round in 0..2 {
        let shops: Vec<_> = [("default", 3), ("flowers", 0), ("empty", 0)]
            .into_iter()
            .map(|(name, in_stock)| {
                let records = if name == "empty" { Vec::new() } else { goods(name, in_stock).to_vec() };
                EmbeddedShop::open_or_create(&options(directory.path(), name), || opening(&records)).expect("opens")
            })
            .collect();
        for (shop, name) in shops.iter().zip(["default", "flowers"]) {
            let title = format!("Lamp of {name}");
            for id in ["a", "a-v", "a-handle", "sku"] {
                let found = named(shop, &[id], &presentation("en", "USD")).await.remove(0);
                let expected = if id == "sku" { 2 } else { 1 };
                assert_eq!(found.len(), expected, "{name}: {id}");
                for found in found {
                    assert_eq!(found.product.title, title, "{name}: {id}");
                    let available = found.product.variants[0].availability.available;
                    assert_eq!(available, name == "default", "{name}: its own count decides");
                }
            }
            assert_eq!(search(shop, "lamp").await, ["a", "b"], "{name}");
            let page = shop.find(&query(None), &BuyerSignals::default()).await.expect("finds");
            assert!(page.products.iter().all(|product| product.title == title), "{name}, round {round}");
        }
        assert_eq!(search(&shops[2], "lamp").await, [""; 0]);
        assert!(named(&shops[2], &["a", "sku"], &presentation("en", "USD")).await.iter().all(Vec::is_empty));
    }
}

#[tokio::test]
async fn a_change_in_one_shop_is_none_in_another() {
    let directory = tempfile::tempdir().expect("directory");
    let [one, two] = ["default", "flowers"].map(|name| {
        EmbeddedShop::open_or_create(&options(directory.path(), name), || opening(&goods(name, 3))).expect("opens")
    });
    let [mut renamed, _] = goods("default", 7);
    renamed.title = "Chandelier".into();
    assert_eq!(put(&one, &[renamed]).await, [Ok(Put::Updated)]);
    two.refresh().await;
    assert_eq!(search(&one, "chandelier").await, ["a"]);
    assert_eq!(search(&two, "chandelier").await, [""; 0]);
    assert_eq!(search(&two, "lamp").await, ["a", "b"]);
    let stock = async |shop: &EmbeddedShop| shop.database().store().stock(&["a-v", "b-v"]).await.expect("reads");
    assert_eq!(stock(&one).await, [Some(7), Some(3)]);
    assert_eq!(stock(&two).await, [Some(3), Some(3)]);
    assert_eq!(put(&two, &[simple("c", "Vase")]).await, [Ok(Put::Created)]);
    assert_eq!(put(&one, &[simple("c", "Vase")]).await, [Ok(Put::Created)], "the identifier is free there");
    assert_ne!(one.database().store().cursor_secret().reveal(), two.database().store().cursor_secret().reveal());
    assert_eq!(one.database().store().shop(), &ShopId::default());
}
