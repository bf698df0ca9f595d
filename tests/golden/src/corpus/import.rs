//! Catalogs and merchants of one's own: what the command says, and what is served of them.

use serde_json::{Value, json};

use crate::{
    Done,
    operation::{Caller, NEWEST, Way},
    process::Gateway,
    stage::{Setup, Stage},
    wire::Request,
};

/// Shopify's export, as people edit it.
const SHOPIFY: &str = "\
Handle,Title,Body (HTML),Vendor,Type,Tags,Published,Option1 Name,Option1 Value,Option2 Name,Option2 Value,Variant SKU,Variant Inventory Qty,Variant Inventory Policy,Variant Price,Variant Compare At Price,Variant Barcode,Image Src,Image Alt Text,Status
mug,Stone Mug,\"<p>A <b>\"\"hand made\"\"</b> mug.</p>\n<ul><li>clay</li></ul>\",Potters,Kitchen,\"kitchen, clay\",true,Color,Grey,Size,S,MUG-G-S,4,deny,12.50,15.00,4006381333931,https://cdn.example/mug.jpg,A mug,active
mug,,,,,,,,Grey,,L,MUG-G-L,0,deny,14.00,,,https://cdn.example/mug2.jpg,,
mug,,,,,,,,Blue,,S,MUG-B-S,0,continue,12.50,,,,,
plate,Plate,<p>Flat.</p>,Potters,Kitchen,,true,Title,Default Title,,,PLATE,7,deny,9.00,,,,,active
bad,Bad,<p>x</p>,Potters,Kitchen,,true,Title,Default Title,,,BAD,7,deny,nine,,,,,active
draft,Draft,<p>x</p>,Potters,Kitchen,,false,Title,Default Title,,,DRAFT,7,deny,9.00,,,,,draft
";

/// A product of one variant.
fn product(id: &str, title: &str, amount: i64) -> Value {
    json!({
        "id": format!("prod_{id}"), "handle": id, "title": title, "description": { "plain": format!("About the {title}.") },
        "categories": [{ "value": "Home > Lamps", "taxonomy": "merchant" }],
        "translations": { "es": { "title": format!("{title} (es)") } },
        "variants": [{
            "id": format!("var_{id}"), "sku": format!("SKU-{id}"), "title": "Default", "description": { "plain": "The only one." },
            "price": { "amount": amount, "currency": "USD" }, "prices": [{ "amount": amount * 2, "currency": "EUR" }],
        }],
    })
}

/// Plays imports of every kind, and looks at what came of them.
pub(crate) fn play(stage: &mut Stage<'_>) -> Done {
    lines(stage)?;
    shopify(stage)?;
    mistakes(stage)?;
    merchants(stage)
}

/// Imports a file, and writes down what is said.
fn import(stage: &mut Stage<'_>, name: &str, data: &str, file: (&str, &str), arguments: &[&str]) -> Done {
    let path = stage.file(file.0, file.1)?.display().to_string();
    let whole = [&["import", path.as_str(), "--data-dir", data], arguments].concat();
    stage.run(name, &whole, b"").map(drop)
}

fn look(stage: &mut Stage<'_>, gateway: &Gateway, label: &str, ids: &[&str]) {
    let asked = [
        ("search_catalog", json!({ "filters": { "available": false }, "pagination": { "limit": 50 } })),
        ("search_catalog", json!({ "query": "lamp" })),
        ("lookup_catalog", json!({ "ids": ids })),
        (
            "lookup_catalog",
            json!({ "ids": ids, "context": { "language": "es", "currency": "EUR", "address_country": "DE" } }),
        ),
    ];
    let pages = ids.iter().map(|id| ("get_product", json!({ "id": id })));
    for (name, payload) in asked.into_iter().chain(pages) {
        for endpoint in [None, Some("2026-01-11"), Some("2026-04-08")] {
            let caller = Caller::new(endpoint, Way::Rest);
            stage.ask(&format!("{label}/{}/{name}", caller.label()), gateway, &caller.call(name, None, &payload));
        }
    }
    stage.ask(&format!("{label}/profile"), gateway, &Request::get("/.well-known/ucp"));
}

fn lines(stage: &mut Stage<'_>) -> Done {
    let data = stage.place("shop");
    let folder = data.display().to_string();
    let bad = |variants: Value| {
        json!({ "id": "prod_x", "title": "X", "description": { "plain": "x" }, "variants": variants }).to_string()
    };
    let good =
        [product("lamp", "Arc Lamp", 4_900), product("chair", "Cane Chair", 12_900)].map(|product| product.to_string());
    let market = [
        "--name",
        "Test Shop",
        "--currency",
        "USD",
        "--currencies",
        "EUR,JPY",
        "--language",
        "en",
        "--languages",
        "es",
    ];
    import(stage, "lines/new", &folder, ("goods.jsonl", &good.join("\n\n")), &market)?;
    import(stage, "lines/again", &folder, ("goods.jsonl", &good.join("\n")), &[])?;
    let twice = json!({ "id": "v", "price": { "amount": 1, "currency": "USD" } });
    let rows = [
        "{\"id\":\"prod_x\",\"title\"".to_owned(),
        "[1]".to_owned(),
        "{\"id\":\"prod_x\",\"id\":\"prod_y\"}".to_owned(),
        "{\"id\":\"prod_x\",\"title\":\"X\"}".to_owned(),
        bad(json!([])),
        bad(json!([twice, twice])),
        bad(json!([{ "id": "v", "price": { "amount": -1, "currency": "USD" } }])),
        bad(json!([{ "id": "v", "price": { "amount": 1.5, "currency": "USD" } }])),
        bad(json!([{ "id": "v", "price": { "amount": 1, "currency": "XXZ" } }])),
        bad(json!([{ "id": "v", "price": { "amount": 1, "currency": "CHF" } }])),
        bad(json!([{ "id": "var_lamp", "price": { "amount": 1, "currency": "USD" } }])),
        product("lamp", "Arc Lamp", 5_100).to_string(),
        product("rug", "Rug", 100).to_string(),
        product("rug", "Rug again", 100).to_string(),
    ];
    import(stage, "lines/mixed", &folder, ("goods.jsonl", &rows.join("\n")), &[])?;
    import(stage, "lines/market-again", &folder, ("goods.jsonl", &good[0]), &["--currency", "EUR"])?;
    let gateway = stage.start(&Setup::new("").on(&data))?;
    stage.note("lines/welcome", &gateway.welcome.join("\n"));
    look(stage, &gateway, "lines", &["prod_lamp", "SKU-chair", "var_rug", "prod_x", "prod_abc123"]);
    let buyer = Caller::new(None, Way::Rest);
    let checkout = super::payloads::ready(&[("var_lamp", 1), ("var_chair", 2)]);
    stage.ask("lines/checkout", &gateway, &buyer.call("create_checkout", None, &checkout));
    stage.run("lines/terms", &["terms", "--data-dir", &folder], b"").map(drop)
}

fn shopify(stage: &mut Stage<'_>) -> Done {
    let data = stage.place("shop");
    let folder = data.display().to_string();
    import(stage, "shopify/new", &folder, ("products_export.csv", SHOPIFY), &[])?;
    import(stage, "shopify/again", &folder, ("products_export.csv", &SHOPIFY.replace("9.00", "8.50")), &[])?;
    let gateway = stage.start(&Setup::new("").on(&data))?;
    look(stage, &gateway, "shopify", &["prod_mug", "mug", "MUG-B-S", "4006381333931", "plate", "prod_plate", "draft"]);
    import(stage, "shopify/other-format", &folder, ("goods.txt", SHOPIFY), &["--format", "shopify"])?;
    import(stage, "shopify/no-columns", &folder, ("products_export.csv", "a,b\n1,2\n"), &[])?;
    import(stage, "shopify/broken", &folder, ("products_export.csv", "Handle,Title\n\"x"), &[])
}

fn mistakes(stage: &mut Stage<'_>) -> Done {
    let data = stage.place("none").display().to_string();
    for (label, arguments) in [
        ("nothing", vec!["import"]),
        ("missing", vec!["import", "missing.jsonl", "--data-dir", &data]),
        ("two-kinds", vec!["import", "a.jsonl", "--merchants", "b.jsonl"]),
        ("lenient-goods", vec!["import", "a.jsonl", "--lenient"]),
        ("unknown-currency", vec!["import", "a.jsonl", "--currency", "gold"]),
        ("unknown-format", vec!["import", "a.jsonl", "--format", "xml"]),
        ("market-and-name", vec!["import", "a.jsonl", "--market", "m.json", "--name", "X"]),
    ] {
        stage.run(&format!("mistakes/{label}"), &arguments, b"")?;
    }
    import(stage, "mistakes/notes", &data, ("notes.txt", "hello\n"), &[])?;
    import(stage, "mistakes/empty", &data, ("empty.jsonl", ""), &[])?;
    let good = product("lamp", "Arc Lamp", 4_900).to_string();
    for (label, market) in [
        (
            "good",
            json!({ "name": "M", "currency": "USD", "currencies": ["EUR"], "language": "en", "languages": ["es"],
            "countries": { "DE": "EUR" }, "rates": { "EUR": 0.9 }, "links": [{ "type": "privacy_policy", "url": "https://a.example/p" }] }),
        ),
        ("unknown", json!({ "odd": 1 })),
        ("empty", json!({})),
        ("wrong-rate", json!({ "name": "M", "currency": "USD", "rates": { "EUR": -1 } })),
    ] {
        let file = stage.file("market.json", &market.to_string())?.display().to_string();
        let data = stage.place("market").display().to_string();
        import(stage, &format!("market/{label}"), &data, ("goods.jsonl", &good), &["--market", &file])?;
    }
    Ok(())
}

fn merchants(stage: &mut Stage<'_>) -> Done {
    let data = stage.place("shop");
    let folder = data.display().to_string();
    let with = |location: Value| json!({ "id": "m", "name": "M", "locations": [location] }).to_string();
    let place = |number: usize| {
        json!({
            "id": format!("mch_new_{number}"), "name": format!("Imported Kitchen {number}"), "category": "Imported > Kitchens",
            "locations": [{ "id": format!("loc_new_{number}"), "name": "Counter", "timezone": "Africa/Lagos",
                "geo": { "latitude": 10.0, "longitude": 10.0 + 0.5 * number as f64 }, "hours": [{ "day": "monday", "opens": "08:00", "closes": "20:00" }] }],
        })
        .to_string()
    };
    let rows = [
        place(1),
        place(2),
        with(json!({ "id": "a", "name": "A", "timezone": "America/Gotham", "hours": [] })),
        with(
            json!({ "id": "b", "name": "B", "timezone": "Europe/Paris", "hours": [{ "day": "monday", "opens": "09:00", "closes": "09:00" }] }),
        ),
        with(json!({ "id": "c", "name": "C", "geo": { "latitude": 91.0, "longitude": 0.0 } })),
        place(1),
        "{".to_owned(),
    ];
    for (label, arguments) in [("new", &[][..]), ("again", &[]), ("lenient", &["--lenient"])] {
        let file = stage.file("merchants.jsonl", &rows.join("\n"))?.display().to_string();
        let whole = [&["import", "--merchants", file.as_str(), "--data-dir", folder.as_str()], arguments].concat();
        stage.run(&format!("merchants/{label}"), &whole, b"")?;
    }
    let gateway = stage.start(&Setup::new("").on(&data))?;
    for (name, resource, payload) in [
        ("search_merchants", None, json!({ "query": "", "pagination": { "limit": 25 } })),
        ("search_merchants", None, json!({ "query": "kitchen" })),
        ("get_merchant", Some("mch_new_1"), json!({})),
        ("search_locations", None, json!({ "filters": { "hours": { "open_at": "2026-11-23T07:00:00Z" } } })),
        ("lookup_locations", None, json!({ "ids": ["loc_new_1", "loc_new_2", "a"] })),
    ] {
        for endpoint in [None, Some("2026-01-23"), Some(NEWEST)] {
            let caller = Caller::new(endpoint, Way::Rest);
            stage.ask(
                &format!("merchants/{}/{name}", caller.label()),
                &gateway,
                &caller.call(name, resource, &payload),
            );
        }
    }
    Ok(())
}
