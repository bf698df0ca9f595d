use super::*;

#[test]
fn identifiers_are_those_of_the_api() {
    assert!(is_id("gid://shopify/Product/1", PRODUCT));
    assert!(is_id("gid://shopify/ProductVariant/9223372036854775807", VARIANT));
    for (id, of) in [
        ("gid://shopify/ProductVariant/1", PRODUCT),
        ("gid://shopify/Product/1", VARIANT),
        ("gid://shopify/Product/", PRODUCT),
        ("gid://shopify/Product/+1", PRODUCT),
        ("gid://shopify/Product/01", PRODUCT),
        ("gid://shopify/Product/1 ", PRODUCT),
        ("gid://shopify/Product/9223372036854775808", PRODUCT),
        ("gid://Shopify/Product/1", PRODUCT),
        ("1", PRODUCT),
        ("", PRODUCT),
    ] {
        assert!(!is_id(id, of), "{id}");
    }
}

#[test]
fn a_variant_is_chosen_on_the_page_of_its_product() {
    for (page, chosen) in [
        ("https://shop.example/products/a", "https://shop.example/products/a?variant=7"),
        ("https://shop.example/products/a?ref=x#details", "https://shop.example/products/a?ref=x&variant=7#details"),
    ] {
        let page = Page::of(page).expect("an address");
        assert_eq!(page.with("gid://shopify/ProductVariant/7").as_deref(), Some(chosen));
    }
    assert!(Page::of("a page").is_none());
}

#[test]
fn barcodes_are_told_by_length_and_check_digit() {
    for (code, kind) in [
        ("4006381333931", Some("EAN")),
        (" 96385074 ", Some("EAN")),
        ("036000291452", Some("UPC")),
        ("9780306406157", Some("ISBN")),
        ("4901234567894", Some("JAN")),
        ("10012345678902", Some("GTIN")),
        ("4006381333932", None),
        ("400638133393", None),
        ("40063813339311", None),
        ("４006381333931", None),
        ("ABC-1", None),
        ("", None),
        ("0", None),
    ] {
        assert_eq!(barcode(code).map(|code| code.kind).as_deref(), kind, "{code}");
    }
}

#[test]
fn list_prices_span_what_is_reduced_and_what_is_not() {
    let range = |min: i64, max: i64| {
        let price =
            |minor| Price { amount: ucp_core::money::Amount::new(minor).expect("in range"), currency: Currency::USD };
        PriceRange { min: price(min), max: price(max) }
    };
    for (prices, before, listed) in [
        (range(100, 500), range(0, 0), None),
        (range(100, 500), range(0, 500), None),
        (range(100, 500), range(0, 800), Some(range(100, 800))),
        (range(100, 500), range(200, 800), Some(range(200, 800))),
    ] {
        assert_eq!(reduced(prices, before), listed, "{before:?}");
    }
}

#[test]
fn a_category_comes_with_what_it_lies_in() {
    let values = |id: &str, own: Option<&str>| {
        let category = shape::Category { id: Lenient(Some(id.to_owned())) };
        categories(Some(&category), own).into_iter().map(|category| category.value).collect::<Vec<_>>()
    };
    assert_eq!(values("gid://shopify/TaxonomyCategory/aa-1-13", Some("Shirts\n")), ["aa-1-13", "aa-1", "aa", "Shirts"]);
    assert_eq!(values("gid://shopify/TaxonomyCategory/sg", None), ["sg"]);
    for strange in
        ["", "aa-1", "gid://shopify/TaxonomyCategory/", "gid://shopify/TaxonomyCategory/a/b", "gid://shopify/Product/1"]
    {
        assert!(values(strange, Some(" ")).is_empty(), "{strange}");
    }
}
