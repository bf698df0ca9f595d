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
        ("winter boot", &["boot", "hat"]),
        ("the boot for the winter", &["boot", "hat"]),
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

/// A shop of this language whose products have these titles, and are named by them.
fn shop_of(directory: &Path, language: &str, titles: &[&str]) -> EmbeddedShop {
    let market = json!({ "name": "Example", "currency": "USD", "language": language });
    let market: Market = serde_json::from_value(market).expect("a market");
    let records = titles.iter().enumerate().map(|(at, title)| {
        let mut record = simple(&format!("p{at}"), title);
        record.handle = Some(format!("handle-{at}"));
        record
    });
    let opening = Opening { records: records.collect(), ..Opening::of(market) };
    EmbeddedShop::open_or_create(&Options::new(directory), || opening).expect("opens")
}

/// Checks the first titles that queries find in such a shop, as many as are expected.
async fn finds(language: &str, titles: &[&str], queries: &[(&str, &[&str])]) {
    let directory = tempfile::tempdir().expect("directory");
    let shop = shop_of(directory.path(), language, titles);
    for (text, expected) in queries {
        let page = shop.find(&query(Some(text)), &BuyerSignals::default()).await.expect("finds");
        let mut found: Vec<_> = page.products.iter().map(|product| product.title.as_str()).collect();
        if !expected.is_empty() {
            found.truncate(expected.len());
        }
        assert_eq!(found, *expected, "{language}: {text}");
    }
}

#[tokio::test]
async fn products_with_all_words_come_before_those_with_most() {
    let titles = ["Red wool scarf", "Blue wool scarf", "Red cotton scarf", "Red umbrella", "Teapot"];
    let queries: &[(&str, &[&str])] = &[
        ("red wool scarf", &["Red wool scarf", "Blue wool scarf"]),
        ("what is a good wool scarf in blue", &["Blue wool scarf", "Red wool scarf"]),
    ];
    finds("en", &titles, queries).await;
    let directory = tempfile::tempdir().expect("directory");
    let shop = shop_of(directory.path(), "en", &titles);
    let page = shop.find(&query(Some("red wool scarf")), &BuyerSignals::default()).await.expect("finds");
    assert!(!ids(&page).contains(&"p4"), "nothing of it: {:?}", ids(&page));
    assert_eq!(page.total, Some(page.products.len() as u64));
    assert_eq!(page.messages.len(), 1, "{:?}", page.messages);
    let first = Query { limit: 1, ..query(Some("red wool scarf")) };
    let page = shop.find(&first, &BuyerSignals::default()).await.expect("finds");
    assert_eq!(page.messages.len(), 0, "the page has all words: {:?}", page.messages);
}

#[tokio::test]
async fn words_are_split_and_joined_as_the_shop_has_them() {
    finds(
        "de",
        &[
            "Jacke aus Leder",
            "Regenjacke Damen",
            "Wanderschuh",
            "Laufschuhe für Herren",
            "Kaffeemaschine",
            "Bücherregal",
        ],
        &[
            ("jacke", &["Jacke aus Leder", "Regenjacke Damen"]),
            ("schuhe", &["Wanderschuh", "Laufschuhe für Herren"]),
            ("Maschine für Kaffee", &["Kaffeemaschine"]),
            ("Kaffemaschiene", &["Kaffeemaschine"]),
            ("Regal", &["Bücherregal"]),
        ],
    )
    .await;
    finds(
        "en",
        &["Wi-Fi router", "Kitchen knives", "T-Shirt", "Cookbook stand", "iPhone 15", "Toothbrush"],
        &[
            ("wifi", &["Wi-Fi router"]),
            ("wi fi", &["Wi-Fi router"]),
            ("knife", &["Kitchen knives"]),
            ("tshirts", &["T-Shirt"]),
            ("cook book", &["Cookbook stand"]),
            ("iphone15", &["iPhone 15"]),
            ("tooth brush", &["Toothbrush"]),
        ],
    )
    .await;
}

#[tokio::test]
async fn amounts_and_counts_are_one_however_they_are_spelled() {
    finds(
        "en",
        &[
            "Rice 5kg bag",
            "Rice 1 kg bag",
            "Disk 1 TB",
            "Disk 500 GB",
            "Bottle 0.5 l",
            "Glasses, set of 6",
            "Shoes 10½",
        ],
        &[
            ("5kg", &["Rice 5kg bag"]),
            ("5 kg", &["Rice 5kg bag"]),
            ("rice 1000 g", &["Rice 1 kg bag"]),
            ("1tb disk", &["Disk 1 TB", "Disk 500 GB"]),
            ("500ml bottle", &["Bottle 0.5 l"]),
            ("six piece glasses", &["Glasses, set of 6"]),
            ("shoes 10.5", &["Shoes 10½"]),
            ("shoes 10,5", &["Shoes 10½"]),
        ],
    )
    .await;
}

#[tokio::test]
async fn languages_are_folded_as_they_are_written() {
    finds("fr", &["Œufs de Pâques", "Cœur en bois"], &[("oeuf", &["Œufs de Pâques"]), ("coeur", &["Cœur en bois"])])
        .await;
    finds(
        "en",
        &["Straße map", "Smørrebrød board"],
        &[("strasse", &["Straße map"]), ("smorrebrod", &["Smørrebrød board"])],
    )
    .await;
    finds("ja", &["緑茶 ティーバッグ", "靴下"], &[("緑", &["緑茶 ティーバッグ"]), ("ﾃｨｰ", &["緑茶 ティーバッグ"])])
        .await;
    finds("zh", &["电动车", "雨傘"], &[("電動車", &["电动车"]), ("雨伞", &["雨傘"])]).await;
    finds("ko", &["노트북 가방", "우산"], &[("노트북을", &["노트북 가방"]), ("가방", &["노트북 가방"])]).await;
    finds("ar", &["الكتاب الأحمر", "قلم"], &[("كتاب", &["الكتاب الأحمر"]), ("احمر", &["الكتاب الأحمر"])]).await;
    finds("he", &["הספר האדום", "עט"], &[("ספר", &["הספר האדום"])]).await;
    finds("en", &["Leather boots for men", "Mensa badge"], &[("men's boots", &["Leather boots for men"])]).await;
}

#[tokio::test]
async fn parts_of_identifiers_find_what_they_name() {
    let directory = tempfile::tempdir().expect("directory");
    let of = |id: &str, sku: &str, barcode: &str| {
        let mut value = serde_json::to_value(simple(id, "Board")).expect("json");
        value["variants"][0]["sku"] = json!(sku);
        value["variants"][0]["barcodes"] = json!([{"type": "UPC", "value": barcode}]);
        record(value)
    };
    let shop = open_with(
        directory.path(),
        &[of("other", "KT-OUT220-DRE", "036000291452"), of("this", "KT-INS114-DRE", "012345678905")],
    );
    for text in ["KT-INS114-DRE", "ktins114dre", "kt ins114", "INS114", "ins114-dre", "KT-INS1", "0012345678905"] {
        assert_eq!(search(&shop, text).await.first().map(String::as_str), Some("this"), "{text}");
    }
}

#[tokio::test]
async fn the_thing_comes_before_what_is_for_it() {
    finds(
        "en",
        &["Cover for phone X1", "Phone X1", "Charger for phones"],
        &[("phone", &["Phone X1"]), ("phone x1", &["Phone X1", "Cover for phone X1"])],
    )
    .await;
}

#[tokio::test]
async fn what_is_not_asked_for_comes_last() {
    finds(
        "en",
        &["Almond biscuit", "Nut free biscuit", "Biscuit with nuts"],
        &[("biscuit without nuts", &["Nut free biscuit", "Almond biscuit", "Biscuit with nuts"])],
    )
    .await;
}

#[tokio::test]
async fn right_words_are_not_corrected_and_others_have_names() {
    let titles = ["Travel sofa", "Chili powder", "Over ear headphones", "Sun hat"];
    let queries: &[(&str, &[&str])] = &[
        ("couch", &["Travel sofa"]),
        ("headfones", &["Over ear headphones"]),
        ("child", &[]),
        ("what", &[]),
        ("lover", &[]),
    ];
    finds("en", &titles, queries).await;
}

#[tokio::test]
async fn an_intent_changes_the_order_and_nothing_else() {
    let directory = tempfile::tempdir().expect("directory");
    let shop = shop_of(directory.path(), "en", &["Desk lamp", "Garden lamp", "Teapot"]);
    let asked = |intent: &str| Query { intent: Some(intent.into()), ..query(Some("lamp")) };
    for (intent, expected) in
        [("light for my garden", ["p1", "p0"]), ("reading at the desk", ["p0", "p1"]), ("teapot", ["p0", "p1"])]
    {
        let page = shop.find(&asked(intent), &BuyerSignals::default()).await.expect("finds");
        assert_eq!(ids(&page), expected, "{intent}");
    }
}

#[tokio::test]
async fn of_equal_products_the_available_ones_come_first() {
    let directory = tempfile::tempdir().expect("directory");
    let mut sold_out = simple("first", "Brass lantern");
    sold_out.variants[0].availability.available = false;
    let shop =
        open_with(directory.path(), &[sold_out.clone(), simple("second", "Brass lantern"), simple("mat", "Mat")]);
    assert_eq!(search(&shop, "lantern").await, ["second", "first"]);
    // A better match is better, available or not.
    assert_eq!(search(&shop, "mat lantern").await.len(), 3);
    sold_out.title = "Lantern".to_owned();
    put(&shop, &[sold_out]).await;
    assert_eq!(search(&shop, "lantern").await, ["first", "second"]);
}

#[tokio::test]
async fn a_number_alone_finds_nothing_where_there_are_words_and_grammar_hides_no_kind() {
    let directory = tempfile::tempdir().expect("directory");
    let mut lit = simple("pillow", "Pillow");
    lit.description.plain = Some("Lies on a bed, below a lamp.".to_owned());
    let shop = open_with(
        directory.path(),
        &[lit, simple("lamp", "Copper lamp"), simple("cakes", "6 pieces of cake"), simple("cups", "Cup set")],
    );
    assert_eq!(search(&shop, "a lamp for the bed").await, ["lamp", "pillow"], "what has it in its title is one");
    assert_eq!(search(&shop, "set of 6 cups").await, ["cups"]);
    // Sentences that end where a kind would be, or name grammar of another language.
    for text in [
        "something for",
        "something for the",
        "etwas for",
        "anything in",
        "for",
        "a",
        "something for the lamp of a bed",
    ] {
        search(&shop, text).await;
    }
    assert_eq!(search(&shop, "6 pieces").await, ["cakes"]);
}

#[tokio::test]
async fn what_says_that_it_is_without_something_is_not_excluded_for_it() {
    let directory = tempfile::tempdir().expect("directory");
    let shop = open_with(
        directory.path(),
        &[simple("plain", "Milk with lactose"), simple("free", "Lactose-free milk"), simple("oat", "Oat milk")],
    );
    assert_eq!(search(&shop, "milk without lactose").await, ["free", "oat", "plain"]);
}
