//! `ucp-gateway import`: a merchant's own catalog.

use std::{fs, path::Path, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    harness::{Ends as _, Gateway, binary, codes, elements, eventually, texts},
    purchase::shopper::{Shopper, lines},
    synchronised::{buy, counted, is_available},
};

/// Maximum time until a running gateway notices an import.
const NOTICE: Duration = Duration::from_secs(15);

struct Report {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Writes `content` to a file of that name and imports it into `data`.
fn import(data: &Path, name: &str, content: &str, arguments: &[&str]) -> Report {
    let folder = crate::harness::folder();
    let file = folder.path().join(name);
    fs::write(&file, content).expect("a file");
    let mut command = binary();
    command.arg("import").arg(&file).arg("--data-dir").arg(data).args(arguments);
    let output = command.ends();
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Report { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn fresh() -> (TempDir, std::path::PathBuf) {
    let folder = crate::harness::folder();
    let data = folder.path().join("shop");
    (folder, data)
}

/// A product of one variant as a line.
fn line(id: &str, title: &str, amount: i64) -> String {
    json!({
        "id": id,
        "handle": id.trim_start_matches("prod_"),
        "title": title,
        "description": { "plain": format!("About the {title}.") },
        "variants": [{
            "id": format!("var_{id}"),
            "sku": format!("SKU-{id}"),
            "title": "Default",
            "description": { "plain": "The only one." },
            "price": { "amount": amount, "currency": "USD" }
        }]
    })
    .to_string()
}

fn price(gateway: &Gateway, id: &str) -> Option<i64> {
    gateway.product(&json!({ "id": id }))["product"]["variants"][0]["price"]["amount"].as_i64()
}

#[test]
fn json_lines_into_a_fresh_directory_make_a_shop_without_the_sample() {
    let (_folder, data) = fresh();
    let lines =
        [line("prod_lamp", "Arc Lamp", 4_900), String::new(), line("prod_chair", "Cane Chair", 12_900)].join("\n");
    let report = import(&data, "goods.jsonl", &lines, &["--name", "Test Shop"]);
    assert_eq!((report.code, report.stderr.as_str()), (Some(0), ""), "{}", report.stdout);
    assert!(report.stdout.contains("2 new, 0 changed, 0 unchanged, 0 skipped, 0 rejected"), "{}", report.stdout);
    let gateway = Gateway::on(&data, &[]);
    assert!(gateway.welcome[0].contains("Test Shop"), "{:?}", gateway.welcome);
    let (products, _) = gateway.search_all(&json!({ "filters": { "available": true } }), 50);
    assert_eq!(products.iter().map(|product| product["id"].clone()).collect::<Vec<_>>(), ["prod_lamp", "prod_chair"]);
    assert_eq!(texts(&gateway.search(&json!({ "query": "arc lamps" }))["products"], "id"), ["prod_lamp"]);
    let answer = gateway.lookup(&json!({ "ids": ["SKU-prod_chair", "lamp", "prod_abc123"] }));
    crate::official::check("lookup_catalog", &answer);
    assert_eq!((elements(&answer["products"]).len(), codes(&answer)), (2, vec!["not_found"]));
}

#[test]
fn bad_lines_are_reported_with_number_and_reason_and_good_ones_kept() {
    let (_folder, data) = fresh();
    let variants = |variants: Value| {
        json!({ "id": "prod_x", "title": "X", "description": { "plain": "x" }, "variants": variants }).to_string()
    };
    let twice = json!({ "id": "v", "price": { "amount": 1, "currency": "USD" } });
    let bad = [
        ("{\"id\":\"prod_x\",\"title\"".to_owned(), "JSON"),
        ("[1]".to_owned(), "$"),
        ("{\"id\":\"prod_x\",\"id\":\"prod_y\"}".to_owned(), "$.id"),
        ("{\"id\":\"prod_x\",\"title\":\"X\"}".to_owned(), "description"),
        (variants(json!([])), "$.variants"),
        (variants(json!([twice, twice])), "$.variants[1].id"),
        (variants(json!([{ "id": "v", "price": { "amount": -1, "currency": "USD" } }])), "$.variants[0].price.amount"),
        (variants(json!([{ "id": "v", "price": { "amount": 1.5, "currency": "USD" } }])), "$.variants[0].price.amount"),
        (variants(json!([{ "id": "v", "price": { "amount": 1, "currency": "XXZ" } }])), "$.variants[0].price.currency"),
        (variants(json!([{ "id": "v", "price": { "amount": 1, "currency": "EUR" } }])), "$.variants[0].price"),
    ];
    let mut lines = vec![line("prod_first", "First", 1)];
    lines.extend(bad.iter().map(|(line, _)| line.clone()));
    lines.push(line("prod_last", "Last", 2));
    let report = import(&data, "goods.jsonl", &lines.join("\n"), &[]);
    assert_eq!(report.code, Some(2), "some rows were rejected: {}", report.stderr);
    let summary = format!("2 new, 0 changed, 0 unchanged, 0 skipped, {} rejected", bad.len());
    assert!(report.stdout.contains(&summary), "{}", report.stdout);
    let reported: Vec<_> = report.stderr.lines().collect();
    assert_eq!(reported.len(), bad.len(), "{}", report.stderr);
    for (place, ((_, reason), reported)) in bad.iter().zip(reported).enumerate() {
        assert!(reported.starts_with(&format!("line {}: ", place + 2)), "{reported}");
        assert!(reported.contains(reason), "{reason}: {reported}");
    }
    let (products, _) = Gateway::on(&data, &[]).search_all(&json!({ "filters": { "available": true } }), 50);
    assert_eq!(products.iter().map(|product| product["id"].clone()).collect::<Vec<_>>(), ["prod_first", "prod_last"]);
}

#[test]
fn a_later_import_updates_and_leaves_the_rest() {
    let (_folder, data) = fresh();
    import(&data, "a.jsonl", &[line("prod_a", "Apple", 100), line("prod_b", "Beetroot", 200)].join("\n"), &[]);
    let report =
        import(&data, "b.jsonl", &[line("prod_a", "Apple", 150), line("prod_c", "Carrot", 300)].join("\n"), &[]);
    assert!(report.stdout.contains("1 new, 1 changed, 0 unchanged"), "{}", report.stdout);
    let gateway = Gateway::on(&data, &[]);
    let prices = ["prod_a", "prod_b", "prod_c"].map(|id| price(&gateway, id));
    assert_eq!(prices, [Some(150), Some(200), Some(300)]);
    let again = import(&data, "b.jsonl", &line("prod_a", "Apple", 150), &[]);
    assert!(again.stdout.contains("0 new, 0 changed, 1 unchanged"), "{}", again.stdout);
}

#[test]
fn a_running_gateway_notices_an_import() {
    let (_folder, data) = fresh();
    import(&data, "a.jsonl", &line("prod_a", "Apple", 100), &[]);
    let gateway = Gateway::on(&data, &[]);
    // Asked for before, so that it is remembered.
    assert_eq!(price(&gateway, "prod_a"), Some(100));
    assert!(elements(&gateway.search(&json!({ "query": "zucchini" }))["products"]).is_empty());
    let lines = [line("prod_a", "Apple", 175), line("prod_z", "Zucchini", 500)].join("\n");
    assert_eq!(import(&data, "b.jsonl", &lines, &[]).code, Some(0));
    eventually("the new price is shown", NOTICE, || (price(&gateway, "prod_a") == Some(175)).then_some(()));
    let found = || {
        let answer = gateway.search(&json!({ "query": "zucchini" }));
        (texts(&answer["products"], "id") == ["prod_z"]).then_some(())
    };
    eventually("the new product is found", NOTICE, found);
    assert_eq!(price(&gateway, "prod_z"), Some(500));
}

#[test]
fn imported_synonyms_are_used_at_once_and_faults_are_told_by_line() {
    let (folder, data) = fresh();
    let file = folder.path().join("synonyms.txt");
    let synonyms = |content: &str| {
        fs::write(&file, content).expect("a file");
        let output = binary().arg("import").arg("--synonyms").arg(&file).arg("--data-dir").arg(&data).ends();
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Report { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    };
    let early = synonyms("glowstick, arc lamp\n");
    assert!(early.code == Some(1) && early.stderr.contains("there is no shop"), "{}", early.stderr);
    assert!(!data.exists() || fs::read_dir(&data).expect("a directory").next().is_none(), "nothing was made");

    let lines = [line("prod_lamp", "Arc Lamp", 4_900), line("prod_chair", "Cane Chair", 12_900)].join("\n");
    import(&data, "goods.jsonl", &lines, &[]);
    let gateway = Gateway::on(&data, &[]);
    let found = |words: &str| {
        let answer = gateway.search(&json!({ "query": words }));
        texts(&answer["products"], "id").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(found("glowstick").is_empty() && found("perch").is_empty());
    let report = synonyms("# ours\nglowstick, arc lamp\nperch => cane chair\n");
    assert_eq!((report.code, report.stderr.as_str()), (Some(0), ""), "{}", report.stdout);
    assert!(report.stdout.ends_with(": lines of synonyms: 2\n"), "{}", report.stdout);
    eventually("the synonyms are used", NOTICE, || (found("glowstick") == ["prod_lamp"]).then_some(()));
    assert_eq!(found("PERCHES"), ["prod_chair"]);

    // One that cannot be used leaves those that are there.
    let report = synonyms("glowstick\nperch => cane => chair\n");
    assert_eq!(report.code, Some(1));
    for fault in ["synonyms.txt: line 1: `glowstick` alone", "synonyms.txt: line 2: more than one `=>`"] {
        assert!(report.stderr.contains(fault), "{}", report.stderr);
    }
    assert_eq!(found("glowstick"), ["prod_lamp"]);
    drop(gateway);
    let gateway = Gateway::on(&data, &[]);
    let ids = |words: &str| gateway.search(&json!({ "query": words }))["products"].as_array().map(Vec::len);
    assert_eq!(ids("glowstick"), Some(1), "a start finds them");
    assert_eq!(synonyms("").code, Some(0));
    eventually("there are none any more", NOTICE, || (ids("glowstick") == Some(0)).then_some(()));
}

#[test]
fn a_replacing_import_removes_what_the_file_does_not_state() {
    let (_folder, data) = fresh();
    let [apple, beetroot, carrot] =
        [("prod_a", "Apple"), ("prod_b", "Beetroot"), ("prod_c", "Carrot")].map(|(id, title)| line(id, title, 100));
    import(&data, "a.jsonl", &[&*apple, &beetroot, &carrot].join("\n"), &[]);
    let gateway = Gateway::on(&data, &[]);
    let shopper = Shopper::rest(&gateway);
    let wanted = json!({ "line_items": lines(&[("var_prod_a", 1), ("var_prod_b", 1)]) });
    let cart = shopper.call("create_cart", None, &wanted).document();
    assert_eq!(elements(&cart["line_items"]).len(), 2, "{cart}");
    assert_eq!(texts(&gateway.search(&json!({ "query": "beetroot" }))["products"], "id"), ["prod_b"]);

    let next = [&*apple, &line("prod_d", "Daikon", 400)].join("\n");
    let report = import(&data, "b.jsonl", &next, &["--replace"]);
    assert_eq!((report.code, report.stderr.as_str()), (Some(0), ""), "{}", report.stdout);
    assert!(
        report.stdout.contains("1 new, 0 changed, 1 unchanged, 2 removed, 0 skipped, 0 rejected"),
        "{}",
        report.stdout
    );
    let is_gone = || price(&gateway, "prod_b").is_none().then_some(());
    eventually("the removed product is gone", NOTICE, is_gone);
    let none_found = || elements(&gateway.search(&json!({ "query": "beetroot" }))["products"]).is_empty().then_some(());
    eventually("the removed product is not found", NOTICE, none_found);
    let answer = gateway.lookup(&json!({ "ids": ["SKU-prod_b", "c", "var_prod_c", "prod_a"] }));
    assert_eq!((elements(&answer["products"]).len(), codes(&answer)), (1, vec!["not_found"; 3]));
    let now = shopper.call("update_cart", cart["id"].as_str(), &wanted).document();
    assert_eq!(elements(&now["line_items"]).len(), 1, "{now}");
    assert_eq!(codes(&now), ["item_unavailable"], "{now}");
    assert!(now["messages"][0]["content"].as_str().expect("a text").contains("var_prod_b"), "{now}");

    let again = import(&data, "b.jsonl", &next, &["--replace"]);
    assert!(again.stdout.contains("0 new, 0 changed, 2 unchanged, 0 skipped"), "{}", again.stdout);
    let back = import(&data, "c.jsonl", &beetroot, &[]);
    assert!(back.stdout.contains("1 new, 0 changed, 0 unchanged"), "{}", back.stdout);
    eventually("the product is back", NOTICE, || price(&gateway, "prod_b"));
    assert_eq!(gateway.stderr(), "");
    drop(gateway);
    let (products, _) = Gateway::on(&data, &[]).search_all(&json!({ "filters": { "available": true } }), 50);
    let sold: Vec<_> = products.iter().map(|product| product["id"].clone()).collect();
    assert_eq!(sold.len(), 3, "{sold:?}");
}

/// A product that is known by another identifier from now on may take the names of the one that it was.
#[test]
fn a_replacing_import_gives_names_of_the_removed_to_others() {
    let (_folder, data) = fresh();
    import(&data, "a.jsonl", &line("prod_a", "Apple", 100), &[]);
    let renamed = line("prod_a", "Apple", 100).replace("\"id\":\"prod_a\"", "\"id\":\"prod_new\"");
    let refused = import(&data, "b.jsonl", &renamed, &[]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(refused.stderr.contains("belongs to product `prod_a`"), "{}", refused.stderr);
    let report = import(&data, "b.jsonl", &renamed, &["--replace"]);
    assert_eq!((report.code, report.stderr.as_str()), (Some(0), ""), "{}", report.stdout);
    assert!(report.stdout.contains("1 new, 0 changed, 0 unchanged, 1 removed"), "{}", report.stdout);
    let answer = Gateway::on(&data, &[]).lookup(&json!({ "ids": ["a", "prod_a"] }));
    assert_eq!((texts(&answer["products"], "id"), codes(&answer)), (vec!["prod_new"], vec!["not_found"]));
}

/// Half a file, or the wrong one, empties no shop.
#[test]
fn a_replacing_import_removes_nothing_if_a_row_is_rejected_or_none_is_there() {
    let (_folder, data) = fresh();
    let goods = [line("prod_a", "Apple", 100), line("prod_b", "Beetroot", 200)];
    import(&data, "a.jsonl", &goods.join("\n"), &[]);
    let cut = [line("prod_a", "Apple", 150), "{\"id\":\"prod_b\",\"ti".to_owned()].join("\n");
    let report = import(&data, "b.jsonl", &cut, &["--replace"]);
    assert_eq!(report.code, Some(2), "{}", report.stdout);
    assert!(report.stdout.contains("0 new, 1 changed, 0 unchanged, 0 skipped, 1 rejected"), "{}", report.stdout);
    assert!(report.stderr.contains("nothing was removed, because rows were rejected"), "{}", report.stderr);
    let empty = import(&data, "c.jsonl", "\n", &["--replace"]);
    assert_eq!(empty.code, Some(0), "{}", empty.stdout);
    assert!(empty.stderr.contains("nothing was removed, because there is no product in the file"), "{}", empty.stderr);
    let gateway = Gateway::on(&data, &[]);
    assert_eq!(["prod_a", "prod_b"].map(|id| price(&gateway, id)), [Some(150), Some(200)]);
}

#[test]
fn a_line_with_the_mark_deleted_removes_its_product() {
    let (_folder, data) = fresh();
    let goods = [line("prod_a", "Apple", 100), line("prod_b", "Beetroot", 200)];
    import(&data, "a.jsonl", &goods.join("\n"), &[]);
    let changes = [
        json!({ "id": "prod_a", "deleted": true }).to_string(),
        json!({ "id": "prod_x", "deleted": true }).to_string(),
        line("prod_c", "Carrot", 300),
    ]
    .join("\n");
    let report = import(&data, "b.jsonl", &changes, &[]);
    assert_eq!(report.code, Some(0), "{}", report.stderr);
    assert!(
        report.stdout.contains("1 new, 0 changed, 0 unchanged, 1 removed, 1 skipped, 0 rejected"),
        "{}",
        report.stdout
    );
    assert!(report.stderr.starts_with("line 2: $.id") && report.stderr.contains("`prod_x`"), "{}", report.stderr);
    let gateway = Gateway::on(&data, &[]);
    assert_eq!(["prod_a", "prod_b", "prod_c"].map(|id| price(&gateway, id)), [None, Some(200), Some(300)]);
}

/// Products that come meanwhile are neither a reason to repeat nor to skip one that was there (CSR-06).
#[test]
fn an_import_while_somebody_pages_repeats_and_skips_nothing() {
    let (_folder, data) = fresh();
    let goods = |range: std::ops::Range<usize>| {
        range
            .map(|number| line(&format!("prod_{number:03}"), "Widget", 100 + number as i64))
            .collect::<Vec<_>>()
            .join("\n")
    };
    import(&data, "a.jsonl", &goods(100..140), &[]);
    let gateway = Gateway::on(&data, &[]);
    for query in [json!({ "filters": { "available": true } }), json!({ "query": "widget" })] {
        let (before, _) = gateway.search_all(&query, 50);
        let mut payload = query.clone();
        payload["pagination"] = json!({ "limit": 7 });
        let mut seen = Vec::new();
        let mut round = 0;
        loop {
            let mut answer = gateway.search(&payload);
            seen.extend(texts(&answer["products"], "id").into_iter().map(str::to_owned));
            let Some(cursor) = answer["pagination"].get_mut("cursor").map(Value::take) else { break };
            payload["pagination"]["cursor"] = cursor;
            round += 1;
            if round == 2 {
                let more = if query.get("query").is_some() { 200..210 } else { 0..10 };
                let expected = format!("prod_{:03}", more.start);
                assert_eq!(import(&data, "b.jsonl", &goods(more), &[]).code, Some(0));
                eventually("the import is noticed", NOTICE, || price(&gateway, &expected));
            }
        }
        let distinct: std::collections::BTreeSet<_> = seen.iter().collect();
        assert_eq!(distinct.len(), seen.len(), "{query}: {seen:?}");
        for product in before {
            assert!(seen.contains(&product["id"].as_str().expect("an id").to_owned()), "{query}: {}", product["id"]);
        }
    }
}

const SHOPIFY: &str = r#"Handle,Title,Body (HTML),Vendor,Product Category,Type,Tags,Published,Option1 Name,Option1 Value,Option2 Name,Option2 Value,Variant SKU,Variant Inventory Tracker,Variant Inventory Qty,Variant Inventory Policy,Variant Price,Variant Compare At Price,Image Src,Image Position,Image Alt Text,Status
mug,Stone Mug,"<p>A <b>mug</b>,
""hand made"".</p>",Potter,Home > Mugs,Mugs,"kitchen, clay",TRUE,Color,Grey,Size,S,MUG-G-S,shopify,3,deny,12.50,15.00,https://cdn.example.com/mug.jpg,1,A mug,active
mug,,,,,,,,,Grey,,L,MUG-G-L,shopify,0,deny,14.50,,https://cdn.example.com/mug2.jpg,2,,
mug,,,,,,,,,Blue,,S,MUG-B-S,shopify,0,continue,12.50,,,,,
bowl,Bowl,<p>Bowl</p>,Potter,,Bowls,,TRUE,Title,Default Title,,,BOWL,,,,abc,,,,,active
draft,Draft,,Potter,,Plates,,FALSE,Title,Default Title,,,DRAFT,,,,9.99,,,,,draft
plate,Plate,<p>Plate</p>,Potter,,Plates,,TRUE,Title,Default Title,,,PLATE,,,,9.99,,,,,active
"#;

#[test]
fn shopify_exports_become_products_with_variants_options_and_pictures() {
    let (_folder, data) = fresh();
    let report = import(&data, "products_export.csv", SHOPIFY, &[]);
    assert_eq!(report.code, Some(2), "{}", report.stderr);
    assert!(report.stdout.contains("2 new, 0 changed, 0 unchanged, 1 skipped, 1 rejected"), "{}", report.stdout);
    assert!(report.stderr.contains("line 6: Variant Price"), "lines count as an editor shows them: {}", report.stderr);
    assert!(report.stderr.contains("line 7:") && report.stderr.contains("(skipped)"), "{}", report.stderr);

    let gateway = Gateway::on(&data, &[]);
    let answer = gateway.product(&json!({ "id": "prod_mug", "selected": [{ "name": "Color", "label": "Grey" }] }));
    crate::official::check("get_product", &answer);
    let mug = &answer["product"];
    assert_eq!((&mug["title"], &mug["handle"]), (&json!("Stone Mug"), &json!("mug")));
    let plain = mug["description"]["plain"].as_str().expect("a text");
    assert!(plain.contains("\"hand made\"") && !plain.contains('<'), "{plain}");
    assert_eq!(mug["tags"], json!(["kitchen", "clay"]));
    assert_eq!(elements(&mug["media"]).len(), 2);
    assert_eq!(texts(&mug["options"], "name"), ["Color", "Size"]);
    assert_eq!(texts(&mug["variants"], "sku"), ["MUG-G-S", "MUG-G-L"]);
    let variants = elements(&mug["variants"]);
    assert_eq!(variants[0]["price"], json!({ "amount": 1250, "currency": "USD" }));
    assert_eq!(variants[0]["list_price"], json!({ "amount": 1500, "currency": "USD" }));
    assert_eq!(variants[0]["availability"]["available"], true);
    assert_eq!(variants[1]["availability"]["available"], false, "none left, and no more are sold");
    let blue = gateway.lookup(&json!({ "ids": ["MUG-B-S"] }));
    let blue = &blue["products"][0]["variants"][0];
    assert_eq!(blue["availability"], json!({ "available": true, "status": "backorder" }), "sold on when none is left");
    assert_eq!(mug["options"][1]["values"][1], json!({ "label": "L", "available": false, "exists": true }));
    let plate = gateway.product(&json!({ "id": "prod_plate" }))["product"].take();
    assert!(plate.get("options").is_none(), "`Default Title` is no option");
    assert_eq!(codes(&gateway.lookup(&json!({ "ids": ["DRAFT", "BOWL"] }))), ["not_found", "not_found"]);

    let cheaper = SHOPIFY.replace("9.99", "8.50");
    let report = import(&data, "products_export.csv", &cheaper, &[]);
    assert!(report.stdout.contains("0 new, 1 changed, 1 unchanged"), "{}", report.stdout);
    eventually("the new price is shown", NOTICE, || (price(&gateway, "prod_plate") == Some(850)).then_some(()));
}

/// A mistyped name must not leave an empty shop where the sample would have been.
#[test]
fn a_file_that_cannot_be_imported_creates_nothing() {
    let (folder, data) = fresh();
    let missing = folder.path().join("missing.jsonl");
    let mut command = binary();
    let output = command.arg("import").arg(&missing).arg("--data-dir").arg(&data).ends();
    let stderr = String::from_utf8(output.stderr).expect("text");
    assert_eq!((output.status.code(), stderr.lines().count()), (Some(1), 1), "{stderr}");
    assert!(stderr.contains("missing.jsonl"), "{stderr}");
    assert!(!data.exists(), "no shop for a file that is not there");

    let report = import(&data, "notes.txt", "hello\n", &[]);
    assert_eq!((report.code, report.stderr.lines().count()), (Some(1), 1), "{}", report.stderr);
    assert!(!data.exists(), "no shop for a file of no known format");
}

#[test]
fn a_format_may_be_named_when_the_file_does_not_tell() {
    let (_folder, data) = fresh();
    let report = import(&data, "goods.txt", &line("prod_a", "Apple", 100), &["--format", "jsonl"]);
    assert_eq!(report.code, Some(0), "{}", report.stderr);
    let report = import(&data, "goods.dat", SHOPIFY, &["--format", "shopify"]);
    assert!(report.stdout.contains("2 new"), "{}", report.stdout);
}

#[test]
fn an_import_that_is_repeated_gives_no_sold_goods_back() {
    let (folder, data) = fresh();
    let [two, seven] = [2, 7].map(|count| format!("{}\n{}\n", counted("vase", 2_000, count), counted("bowl", 500, 4)));
    assert_eq!(import(&data, "goods.jsonl", &two, &["--currency", "EUR"]).code, Some(0));
    let gateway = Gateway::on(&data, &[]);
    buy(&gateway, "vase-1", 2);
    let again = import(&data, "goods.jsonl", &two, &[]);
    let said = "0 new, 0 changed, 2 unchanged, 0 skipped, 0 rejected; 1 stock number is as before, and what was sold since stays sold";
    assert!(again.stdout.contains(said), "{}", again.stdout);
    eventually("nothing to be left", NOTICE, || (!is_available(&gateway, "vase")).then_some(()));
    // Nor does one into a backup that was restored.
    let (backup, restored) = (folder.path().join("backup.db"), folder.path().join("restored"));
    for (command, data) in [("backup", &data), ("restore", &restored)] {
        let output = binary().args(["data", command]).arg(&backup).arg("--data-dir").arg(data).ends();
        assert!(output.status.success(), "{output:?}");
    }
    let again = import(&restored, "goods.jsonl", &two, &[]);
    assert!(again.stdout.contains(said), "{}", again.stdout);
    assert!(!is_available(&Gateway::on(&restored, &[]), "vase"));
    // A number that is corrected takes effect.
    let corrected = import(&data, "goods.jsonl", &seven, &[]);
    assert!(
        corrected.stdout.ends_with("0 new, 1 changed, 1 unchanged, 0 skipped, 0 rejected\n"),
        "{}",
        corrected.stdout
    );
    eventually("the new goods", NOTICE, || is_available(&gateway, "vase").then_some(()));
    buy(&gateway, "vase-1", 7);
}
