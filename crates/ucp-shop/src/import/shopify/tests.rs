//! The rules of the export, one by one.

use std::io;

use proptest::prelude::*;
use serde_json::Value;
use ucp_core::{
    catalog::{
        product::{Availability, Barcode, Description},
        record::Record,
    },
    money::{Amount, Currency},
};
use ucp_import::Verdict;

use super::{
    build::{barcode, token},
    row::{LONGEST_ROW, amount},
    *,
};

fn market(currency: &str) -> Market {
    serde_json::from_value(serde_json::json!({ "name": "Example", "currency": currency, "language": "en" }))
        .expect("a market")
}

fn read(file: impl AsRef<[u8]>) -> Vec<ImportedProduct> {
    Products::new(file.as_ref(), market("USD")).expect("a header").collect()
}

/// The only product of a file.
fn one(file: &str) -> Record {
    let mut items = read(file);
    assert_eq!(items.len(), 1, "{items:?}");
    items.remove(0).expect("usable").1
}

/// The line, column and reason of the only item of a file.
fn bad(file: &str) -> (u64, String, String) {
    let mut items = read(file);
    assert_eq!(items.len(), 1, "{items:?}");
    let bad = items.remove(0).expect_err(file);
    (bad.line, bad.place.unwrap_or_default(), bad.reason)
}

const OLD: &str = "Handle,Title,Body (HTML),Vendor,Product Category,Type,Tags,Published,Option1 Name,Option1 Value,Option2 Name,\
    Option2 Value,Variant SKU,Variant Inventory Tracker,Variant Inventory Qty,Variant Inventory Policy,Variant Price,\
    Variant Compare At Price,Variant Barcode,Image Src,Image Position,Image Alt Text,Variant Image,Status,Price / International\n";

#[test]
fn rows_of_a_handle_make_a_product() {
    let record = one(&format!(
        "{OLD}\
         tee,Tee,\"<p>Soft &amp; warm.</p>\n<script>x</script>\",Example Mill,Apparel & Accessories > Clothing,Shirts,\"soft, cotton, soft\",true,\
         Color,Red,Size,S,TEE-R-S,shopify,3,deny,19.99,25,4006381333931,https://cdn.example.com/b.jpg,2,Back,https://cdn.example.com/r.jpg,active,99\n\
         tee,,,,,,,,,Red,,M,TEE-R-M,shopify,0,deny,19.99,19.99,,https://cdn.example.com/a.jpg,1,Front,,,\n\
         tee,,,,,,,,,Blue,,S,,shopify,-2,continue,21.5,,,//cdn.example.com/c.jpg,3,,https://cdn.example.com/a.jpg,,\n\
         tee,,,,,,,,,,,,,,,,,,,https://cdn.example.com/a.jpg,4,Again,,,\n"
    ));
    assert_eq!((record.id.as_str(), record.handle.as_deref(), record.title.as_str()), ("prod_tee", Some("tee"), "Tee"));
    assert_eq!(record.description.plain.as_deref(), Some("Soft & warm."));
    assert_eq!(record.description.html, None);
    assert_eq!(record.tags, ["soft", "cotton"]);
    assert_eq!(record.metadata.as_ref().map(|metadata| &metadata["vendor"]), Some(&Value::from("Example Mill")));
    let categories: Vec<_> =
        record.categories.iter().map(|category| (category.value.as_str(), category.taxonomy.as_deref())).collect();
    assert_eq!(categories, [("Apparel & Accessories > Clothing", Some("shopify")), ("Shirts", Some("merchant"))]);
    let media: Vec<_> = record.media.iter().map(|media| (media.url.as_str(), media.alt_text.as_deref())).collect();
    let expected = [
        ("https://cdn.example.com/a.jpg", Some("Front")),
        ("https://cdn.example.com/b.jpg", Some("Back")),
        ("https://cdn.example.com/c.jpg", None),
    ];
    assert_eq!(media, expected);
    let axes: Vec<_> = record.options.iter().map(|axis| (axis.name.as_str(), axis.values.len())).collect();
    assert_eq!(axes, [("Color", 2), ("Size", 2)]);

    let [first, second, third] = record.variants.as_slice() else { panic!("three variants") };
    assert_eq!([&first.id, &second.id, &third.id], ["var_tee_TEE-R-S", "var_tee_TEE-R-M", "var_tee_Blue_S"]);
    assert_eq!((first.price.amount.minor(), first.list_price.map(|list| list.amount.minor())), (1999, Some(2500)));
    assert_eq!((second.price.amount.minor(), second.list_price), (1999, None));
    assert_eq!(third.price.amount.minor(), 2150);
    assert_eq!(first.barcodes, [Barcode { kind: "EAN".into(), value: "4006381333931".into() }]);
    assert_eq!(first.seller.as_ref().and_then(|seller| seller.name.as_deref()), Some("Example Mill"));
    let stock: Vec<_> = record
        .variants
        .iter()
        .map(|variant| (variant.availability.available, variant.availability.status.as_deref()))
        .collect();
    assert_eq!(stock, [(true, Some("in_stock")), (false, Some("out_of_stock")), (true, Some("backorder"))]);
    // What is sold on without an end is not counted.
    assert_eq!([first.inventory, second.inventory, third.inventory], [Some(3), Some(0), None]);
    assert_eq!(third.media[0].alt_text.as_deref(), Some("Front"));
    assert_eq!(first.media[0].url, "https://cdn.example.com/r.jpg");
}

#[test]
fn newer_exports_are_read_too() {
    let record = one(
        "\u{feff}Title,URL handle,Description,Vendor,Product category,Type,Tags,Published on online store,Status,SKU,Barcode,Option1 name,\
         Option1 value,Option1 Linked To,Price,Compare-at price,Inventory tracker,Inventory quantity,Continue selling when out of stock,\
         Product image URL,Image position,Image alt text,Variant image URL,Gift card\r\n\
         Mug,mug,Holds coffee.,,,,,TRUE,Active,M-1,,Title,Default Title,,12.00,,shopify,,DENY,,,,,FALSE\r\n",
    );
    assert_eq!((record.options.len(), record.variants.len()), (0, 1));
    assert_eq!(record.description, Description::plain("Holds coffee."));
    assert_eq!(record.variants[0].id, "var_mug_M-1");
    assert_eq!(record.variants[0].availability, Availability::default());
    assert_eq!((record.metadata, record.variants[0].seller.clone()), (None, None));
}

#[test]
fn stock_and_weight_are_taken_over() {
    let header = "Handle,Title,Variant Price,Option1 Name,Option1 Value,Variant Inventory Tracker,Variant Inventory Qty,\
        Variant Inventory Policy,Variant Grams,Variant Requires Shipping\n";
    let record = one(&format!(
        "{header}a,A,1.00,Size,1,shopify,7,deny,450,true\n\
         a,,1.00,,2,shopify,-3,deny,0.0,TRUE\n\
         a,,1.00,,3,,7,deny,453.592,\n\
         a,,1.00,,4,shopify,7,continue,,true\n\
         a,,1.00,,5,shopify,,deny,20,false\n"
    ));
    let goods: Vec<_> =
        record.variants.iter().map(|variant| (variant.inventory, variant.weight_grams, variant.digital)).collect();
    let expected = [
        (Some(7), Some(450), false),
        (Some(0), None, false),
        (None, Some(454), false),
        (None, None, false),
        (None, None, true),
    ];
    assert_eq!(goods, expected);
    for (cells, column) in [
        ("shopify,7,deny,heavy,true", "Variant Grams"),
        ("shopify,7,deny,-1,true", "Variant Grams"),
        ("shopify,7,deny,1.2.3,true", "Variant Grams"),
        ("shopify,7,deny,99999999999999999999,true", "Variant Grams"),
        ("shopify,7,deny,1,perhaps", "Variant Requires Shipping"),
        ("shopify,99999999999999999999,deny,1,true", "Variant Inventory Qty"),
    ] {
        let (line, found, reason) = bad(&format!("{header}a,A,1.00,,,{cells}\n"));
        assert_eq!((line, found.as_str()), (2, column), "{cells}: {reason}");
    }
    // More than a shop can count.
    let (line, place, reason) = bad(&format!("{header}a,A,1.00,,,shopify,9000000000000,deny,1,true\n"));
    assert_eq!(line, 2, "{place}: {reason}");
    assert!(format!("{place} {reason}").contains("inventory"), "{place}: {reason}");
}

const SMALL: &str = "Handle,Title,Variant Price,Option1 Name,Option1 Value,Option2 Name,Option2 Value,Variant SKU,Variant Inventory Qty,Image Src,Published,Status\n";

fn small(rows: &str) -> String {
    format!("{SMALL}{rows}\n")
}

#[test]
fn a_bad_row_leaves_out_its_product_and_nothing_else() {
    let items = read(small(
        "a,A,1.00,,,,,,,,,\n\
         b,B,1.00,Size,S,,,,,,,\n\
         b,,free,,M,,,,,,,\n\
         b,,1.00,,L,,,,,,,\n\
         c,C,1.00,,,,,,,,,",
    ));
    let found: Vec<_> = items
        .iter()
        .map(|item| item.as_ref().map(|(line, record)| (*line, record.id.as_str())).map_err(|bad| bad.line))
        .collect();
    assert_eq!(found, [Ok((2, "prod_a")), Err(4), Ok((6, "prod_c"))]);
    let bad = items[1].as_ref().expect_err("bad");
    assert_eq!(
        bad.to_string(),
        "line 4: Variant Price: `free` is not an amount: it must be digits with a decimal point, such as `19.99`"
    );
}

#[test]
fn faults_are_named_with_line_and_column() {
    for (rows, line, column) in [
        ("a,,1.00,,,,,,,,,", 2, "Title"),
        ("a,A,,,,,,,,,,", 2, "Variant Price"),
        ("a,A,-1.00,,,,,,,,,", 2, "Variant Price"),
        ("a,A,1.00,Size,,,,,,,,", 2, "Option1 Value"),
        ("a,A,1.00,,S,,,,,,,", 2, "Option1 Value"),
        ("a,A,1.00,,,Color,Red,,,,,", 2, "Option2 Name"),
        ("a,A,1.00,Size,S,,,,,,,\na,,1.00,Colour,M,,,,,,,", 3, "Option1 Name"),
        ("a,A,1.00,Size,S,,,,,,,\na,,1.00,,S,,,,,,,", 3, "Option1 Value"),
        ("a,A,1.00,Size,S,,,,,,,\na,,,,M,,,,,,,", 3, "Variant Price"),
        ("a,A,1.00,Title,Default Title,,,,,,,\na,,1.00,,Default Title,,,,,,,", 3, "Option1 Value"),
        ("a,A,1.00,,,,,,many,,,", 2, "Variant Inventory Qty"),
        ("a,A,1.00,,,,,,,javascript:alert(1),,", 2, "Image Src"),
        ("a,A,1.00,,,,,,,,,broken", 2, "Status"),
        ("a,\"A\nB\",1.00,Size,S,,,,,,,\n\na,,x,,M,,,,,,,", 5, "Variant Price"),
        ("a,A,1.00,Size,S,,,,,,,\n,,1.00,,M,,,,,,,", 3, "Handle"),
        ("a,A,1.00,Size,S,,,,,,,\na,,1.00", 3, ""),
    ] {
        let (found_line, found_column, reason) = bad(&small(rows));
        assert_eq!((found_line, found_column.as_str()), (line, column), "{rows}: {reason}");
    }
}

#[test]
fn lines_are_counted_in_every_kind_of_file() {
    let rows = "a,A,1.00,,,,,,,,,\n\nb,\"B\nb\",x,,,,,,,,,\nc,C,x,,,,,,,,,";
    let crlf = small(rows).replace('\n', "\r\n");
    let files = [
        small(rows),
        small(rows).trim_end().to_owned(),
        format!("\u{feff}{}", small(rows)),
        crlf.trim_end().to_owned(),
        crlf.replace("\r\n\r\n", "\r\n,,,,,,,,,,,\r\n"),
        crlf,
    ];
    for file in files {
        let lines: Vec<_> =
            read(&file).into_iter().map(|item| item.map(|(line, _)| line).map_err(|bad| bad.line)).collect();
        assert_eq!(lines, [Ok(2), Err(4), Err(6)], "{file:?}");
    }
}

#[test]
fn what_is_not_offered_is_skipped_and_said() {
    for rows in [
        "a,A,1.00,,,,,,,,,draft",
        "a,A,x,,,,,,,,,Archived",
        "a,A,1.00,,,,,,,,,unlisted",
        "a,A,1.00,,,,,,,,false,active",
        "a,A,1.00,,,,,,,,FALSE,\na,,y,,,,,,,,,",
    ] {
        let item = read(small(rows)).remove(0).expect_err(rows);
        assert_eq!((item.verdict, item.line), (Verdict::Skipped, 2), "{rows}");
    }
}

#[test]
fn rows_that_stand_apart_are_not_put_together() {
    let items = read(small("a,A,1.00,Size,S,,,,,,,\nb,B,1.00,,,,,,,,,\na,,1.00,,M,,,,,,,"));
    assert!(items[0].is_ok() && items[1].is_ok());
    let bad = items[2].as_ref().expect_err("apart");
    assert_eq!(bad.line, 4);
    assert!(bad.reason.contains("already on line 2"), "{}", bad.reason);
}

#[test]
fn bytes_that_are_no_text_are_a_fault_of_their_product() {
    let items = read([small("a,A\u{1},1.00,,,,,,,,,").as_bytes(), b"b,\xff,1.00,,,,,,,,,\nc,C,1,,,,,,,,,\n"].concat());
    let bad = items[0].as_ref().expect_err("a control character");
    assert_eq!(bad.to_string(), "line 2: Title: must not hold the character U+0001");
    let bad = items[1].as_ref().expect_err("bytes");
    assert_eq!((bad.line, bad.place.as_deref(), bad.reason.as_str()), (3, Some("Title"), "not UTF-8"));
    assert!(items[2].is_ok());
}

#[test]
fn missing_columns_are_named() {
    let missing = |header: &str| Products::new(header.as_bytes(), market("USD")).expect_err(header).to_string();
    assert_eq!(
        missing("Handle,Name\n"),
        "not a Shopify product export: no column `title`, no `variant price` or `price`; the columns are `Handle`, `Name`"
    );
    assert!(missing("Handle;Title;Price\n").contains("`Handle;Title;Price`"));
    assert!(missing("").contains("no column `handle` or `url handle`"));
    assert!(missing("Handle,Title,Price,price\n").contains("two columns"));
    assert!(recognises(b"\"Title\",\"URL handle\",Price") && !recognises(b"id,title,price"));
}

#[test]
fn a_quote_that_is_never_closed_ends_the_import() {
    let filler = std::io::repeat(b'x').take(LONGEST_ROW * 2);
    let file = io::Cursor::new(small("a,A,1.00,,,,,,,,,\nb,\"")).chain(filler);
    let items: Vec<_> = Products::new(file, market("USD")).expect("a header").collect();
    assert_eq!(items.len(), 2);
    let bad = items[1].as_ref().expect_err("endless");
    assert_eq!(bad.verdict, Verdict::Unreadable);
    assert!(bad.reason.contains("closing quote"), "{}", bad.reason);
}

#[test]
fn amounts_are_exact() {
    let read = |text: &str, currency: &str| amount(text, currency.parse().expect("a currency")).map(Amount::minor).ok();
    for (text, currency, minor) in [
        ("19.99", "USD", Some(1999)),
        ("0", "USD", Some(0)),
        ("5", "USD", Some(500)),
        ("5.5", "USD", Some(550)),
        ("5.", "USD", Some(500)),
        ("5.990", "USD", Some(599)),
        ("0.29", "USD", Some(29)),
        ("1,299.00", "USD", Some(129_900)),
        ("1,234,567.89", "USD", Some(123_456_789)),
        ("1500.00", "JPY", Some(1500)),
        ("12.5", "KWD", Some(12_500)),
        ("12.345", "KWD", Some(12_345)),
        ("90071992547409.91", "USD", Some(9_007_199_254_740_991)),
        ("90071992547409.92", "USD", None),
        ("5.995", "USD", None),
        ("1500.5", "JPY", None),
        ("1,299", "USD", None),
        ("19,99", "USD", None),
        ("1,29.00", "USD", None),
        (",299.00", "USD", None),
        ("1.299,00", "USD", None),
        ("-5", "USD", None),
        ("+5", "USD", None),
        (".5", "USD", None),
        ("$5", "USD", None),
        ("1e3", "USD", None),
        ("٣", "USD", None),
    ] {
        assert_eq!(read(text, currency), minor, "{text} {currency}");
    }
}

#[test]
fn barcodes_are_told_by_length_and_check_digit() {
    for (cell, kind) in [
        ("96385074", Some("EAN")),
        ("036000291452", Some("UPC")),
        ("'036000291452", Some("UPC")),
        ("4006381333931", Some("EAN")),
        ("4901234567894", Some("JAN")),
        ("978-0-306-40615-7", Some("ISBN")),
        ("0306406152", Some("ISBN")),
        ("080442957X", Some("ISBN")),
        ("10614141543219", Some("GTIN")),
        ("4006381333932", None),
        ("0306406153", None),
        ("12345", None),
        ("ABCDEFGHIJKLM", None),
        ("４００６３８１３３３９３１", None),
        ("", None),
    ] {
        assert_eq!(barcode(cell).map(|barcode| barcode.kind), kind.map(str::to_owned), "{cell}");
    }
}

#[test]
fn identifiers_are_stable_and_distinct() {
    let file = small(
        "süß-tee,A,1.00,Size,S,Color,Dark red,X,,,,\nsüß-tee,,1.00,,S,,Dark-red,X,,,,\nsüß-tee,,1.00,,S,,Dunkelröt,Y 1,,,,\nsüß-tee,,1.00,,S,,Blau,Z,,,,",
    );
    let record = one(&file);
    assert_eq!(record, one(&file));
    let ids: Vec<_> = record.variants.iter().map(|variant| variant.id.as_str()).collect();
    let stem = record.id.strip_prefix("prod_").expect("a product");
    assert!(stem.starts_with("s-tee~") && stem.is_ascii(), "{stem}");
    assert_eq!(ids[0], format!("var_{stem}_S_Dark-red"));
    assert!(ids[1].starts_with(&format!("var_{stem}_S_Darkred~")), "{}", ids[1]);
    assert!(ids[2].starts_with(&format!("var_{stem}_Y1~")), "{}", ids[2]);
    assert_eq!(ids[3], format!("var_{stem}_Z"));
    // The order of rows and the rows around a variant do not matter.
    let mut rows: Vec<_> = file.lines().collect();
    rows.swap(2, 4);
    let mut again: Vec<_> = one(&rows.join("\n")).variants.into_iter().map(|variant| variant.id).collect();
    again.sort_unstable();
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    assert_eq!(again, sorted);
}

#[test]
fn a_product_may_have_only_so_many_rows() {
    let rows: String = (0..=MOST_ROWS).map(|row| format!("a,A,1.00,Size,{row},,,,,,,\n")).collect();
    let (line, _, reason) = bad(&small(rows.trim_end()));
    assert_eq!(line, 2 + MOST_ROWS as u64, "{reason}");
}

proptest! {
    #[test]
    fn any_rows_are_read_to_the_end(rows in "(a|b|A|1\\.00|,|,,,|\n|\r\n|\"|S|M|Title|Default Title|draft|\\PC|\0){0,60}") {
        let file = small(&rows);
        for item in read(&file) {
            match item {
                Ok((line, record)) => {
                    prop_assert!(line >= 2);
                    prop_assert!(record.clone().check(&market("USD")).is_ok());
                }
                Err(bad) => prop_assert!(!bad.to_string().chars().any(char::is_control)),
            }
        }
        prop_assert_eq!(read(&file), read(&file));
    }

    #[test]
    fn any_bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(products) = Products::new(bytes.as_slice(), market("USD")) {
            products.for_each(drop);
        }
        read([SMALL.as_bytes(), &bytes].concat()).into_iter().for_each(drop);
    }

    #[test]
    fn amounts_read_back(minor in 0_i64..1_000_000_000_000, exponent in prop::sample::select(vec!["USD", "JPY", "KWD"])) {
        let currency: Currency = exponent.parse().expect("a currency");
        let digits = currency.exponent() as usize;
        let text = format!("{minor:0>width$}", width = digits + 1);
        let (whole, fraction) = text.split_at(text.len() - digits);
        prop_assert_eq!(amount(&format!("{whole}.{fraction}"), currency).map(Amount::minor), Ok(minor));
    }

    #[test]
    fn different_texts_make_different_tokens(first in "[aA -_~é]{1,4}", second in "[aA -_~é]{1,4}") {
        let option = |text: &str| token(text, |letter| letter.is_ascii_alphanumeric() || letter == '.', true);
        prop_assert_eq!(option(&first) == option(&second), first == second);
    }
}
