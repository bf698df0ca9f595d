//! Feeds in both forms.

use std::io::Cursor;

use jiff::Timestamp;
use proptest::prelude::*;
use ucp_core::catalog::{market::Market, record::Record};

use super::super::{Change, Format, Import, Unimportable};

const RSS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE rss [<!ENTITY x "boom">]>
<rss xmlns:g="http://base.google.com/ns/1.0" version="2.0"><channel>
<title>Flowers &amp; Co</title><link>https://shop.example.com</link>
<item>
  <g:id>R40</g:id><g:item_group_id>rose</g:item_group_id>
  <title>Rose &#x2013; 40 cm</title><description><![CDATA[<p>A <b>red</b> rose.</p>]]></description>
  <link>https://shop.example.com/rose?length=40&amp;x=1</link>
  <g:image_link>https://cdn.example.com/rose.jpg</g:image_link>
  <g:additional_image_link>https://cdn.example.com/rose-2.jpg</g:additional_image_link>
  <g:price>3.50 EUR</g:price><g:sale_price>2.95 EUR</g:sale_price>
  <g:sale_price_effective_date>2026-01-01T00:00Z/2026-02-01T00:00Z</g:sale_price_effective_date>
  <g:availability>in stock</g:availability>
  <g:gtin>4006381333931</g:gtin><g:mpn>ROSE-40</g:mpn><g:brand>Garden</g:brand>
  <g:size>40 cm</g:size><g:color>Red</g:color>
  <g:google_product_category>Home &amp; Garden &gt; Plants &gt; Flowers</g:google_product_category>
  <g:product_type>Flowers &gt; Roses</g:product_type>
  <g:shipping><g:country>DE</g:country><g:price>4.90 EUR</g:price></g:shipping>
  <g:shipping_weight>60 g</g:shipping_weight>
</item>
<item>
  <g:id>V1</g:id><title>Vase</title><description>A vase.</description><link>https://shop.example.com/vase</link>
  <g:price>19.00 EUR</g:price><g:availability>out_of_stock</g:availability><g:gtin>123</g:gtin>
</item>
<item>
  <g:id>R60</g:id><g:item_group_id>rose</g:item_group_id><title>Rose – 60 cm</title>
  <link>https://shop.example.com/rose?length=60</link><g:price>4.90 EUR</g:price>
  <g:availability>preorder</g:availability><g:availability_date>2026-12-24T08:00+0100</g:availability_date><g:max_handling_time>3</g:max_handling_time><g:size>60 cm</g:size><g:color>Red</g:color>
</item>
<item>
  <g:id>OLD</g:id><title>Old</title><g:price>1.00 EUR</g:price><g:availability>in_stock</g:availability>
  <g:expiration_date>2026-01-10</g:expiration_date>
</item>
<item><g:id>BAD</g:id><title>Bad</title><g:price>1.00 USD</g:price><g:availability>in_stock</g:availability></item>
</channel></rss>
"#;

fn market() -> Market {
    serde_json::from_str(r#"{"name":"Flowers","currency":"EUR","language":"en"}"#).expect("a market")
}

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

/// The products of a file, in any order of its groups, and what was left out.
fn file(name: &str, content: &str, now: Timestamp) -> (Vec<Record>, Vec<String>) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(name);
    std::fs::write(&path, content).expect("written");
    sorted(Import::open(&path, None, &market(), now).expect("opened"))
}

fn sorted(import: Import) -> (Vec<Record>, Vec<String>) {
    let (mut records, mut faults) = (Vec::new(), Vec::new());
    for item in import {
        match item {
            Ok((_, Change::Put(record))) => records.push(*record),
            Ok((_, Change::Remove(id))) => panic!("`{id}` is removed"),
            Err(bad) => faults.push(bad.to_string()),
        }
    }
    (records, faults)
}

#[test]
fn items_of_a_group_are_variants_of_one_product_wherever_they_stand() {
    let (records, faults) = file("feed.xml", RSS, at("2026-01-15T00:00:00Z"));
    let [vase, rose] = records.as_slice() else { panic!("{records:#?}") };
    assert_eq!((rose.id.as_str(), rose.title.as_str()), ("prod_rose", "Rose – 40 cm"));
    assert_eq!(rose.description.plain.as_deref(), Some("A red rose."));
    assert_eq!(rose.url.as_deref(), Some("https://shop.example.com/rose?length=40&x=1"));
    let media: Vec<_> = rose.media.iter().map(|media| media.url.as_str()).collect();
    assert_eq!(media, ["https://cdn.example.com/rose.jpg", "https://cdn.example.com/rose-2.jpg"]);
    let categories: Vec<_> = rose.categories.iter().map(|category| category.value.as_str()).collect();
    assert_eq!(categories, ["Home & Garden > Plants > Flowers", "Flowers > Roses"]);
    assert_eq!(rose.metadata.as_ref().expect("metadata")["brand"], "Garden");
    let options: Vec<_> = rose.options.iter().map(|axis| (axis.name.as_str(), axis.values.len())).collect();
    assert_eq!(options, [("Color", 1), ("Size", 2)]);
    let [short, long] = rose.variants.as_slice() else { panic!("{rose:#?}") };
    assert_eq!((short.id.as_str(), long.id.as_str()), ("R40", "R60"));
    assert_eq!((short.price.amount.minor(), short.list_price.expect("a list price").amount.minor()), (295, 350));
    assert_eq!((long.price.amount.minor(), long.list_price), (490, None));
    assert_eq!(long.availability.status.as_deref(), Some("preorder"));
    assert_eq!(long.lead_days, Some(3));
    assert_eq!(long.available_on, Some(jiff::civil::date(2026, 12, 24)));
    let barcodes: Vec<_> = short.barcodes.iter().map(|code| (code.kind.as_str(), code.value.as_str())).collect();
    assert_eq!(barcodes, [("EAN", "4006381333931"), ("MPN", "ROSE-40")]);
    assert_eq!((short.weight_grams, long.weight_grams), (Some(60), None));
    assert_eq!((vase.id.as_str(), vase.variants[0].id.as_str()), ("prod_V1", "V1"));
    assert!(!vase.variants[0].availability.available && vase.variants[0].barcodes.is_empty());
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(
        faults[0].contains("expiration_date: `OLD`") && faults[1].contains("price: must be in the shop's own currency")
    );
    assert!(faults[1].starts_with("line 34: "), "{faults:?}");
}

#[test]
fn a_sale_price_holds_in_its_period() {
    for (now, minor) in [("2025-12-31T23:59:59Z", 350), ("2026-01-01T00:00:00Z", 295), ("2026-02-01T00:00:00Z", 350)] {
        let (records, _) = file("feed.xml", RSS, at(now));
        let rose = records.iter().find(|record| record.id == "prod_rose").expect("the rose");
        assert_eq!(rose.variants[0].price.amount.minor(), minor, "{now}");
    }
}

#[test]
fn the_same_feed_as_text_gives_the_same_products() {
    let tsv = "id\titem group id\ttitle\tdescription\tlink\tprice\tavailability\tsize\tcolor\n\
               R40\trose\tRose\tA rose.\thttps://shop.example.com/r\t3.50 EUR\tin_stock\t40 cm\tRed\n\
               \n\
               R60\trose\tRose\tA rose.\thttps://shop.example.com/r\t4.90 EUR\tin_stock\t60 cm\tRed\n\
               X\t\t\t\t\t1 EUR\tin_stock\t\t\n";
    let rss = tsv
        .lines()
        .skip(1)
        .filter(|line| !line.is_empty())
        .map(|line| {
            let names =
                ["id", "item_group_id", "title", "description", "link", "price", "availability", "size", "color"];
            let cells = names.iter().zip(line.split('\t')).map(|(name, cell)| format!("<g:{name}>{cell}</g:{name}>"));
            format!("<item>{}</item>", cells.collect::<String>())
        })
        .collect::<String>();
    let atom = rss.replace("item>", "entry>").replace("<g:link>", "<link href=\"").replace("</g:link>", "\"/>");
    let (records, faults) = file("feed.tsv", tsv, Timestamp::UNIX_EPOCH);
    assert_eq!((records.len(), records[0].variants.len(), faults.len()), (1, 2, 1), "{faults:?}");
    assert_eq!(faults, ["line 5: title: is missing"]);
    assert_eq!(file("feed.xml", &format!("<rss><channel>{rss}</channel></rss>"), Timestamp::UNIX_EPOCH).0, records);
    assert_eq!(file("feed.atom", &format!("<feed>{atom}</feed>"), Timestamp::UNIX_EPOCH).0, records);
}

#[test]
fn an_item_with_a_text_that_cannot_be_kept_is_left_out() {
    let item = |text: &str| {
        format!(
            "<item><g:id>{text}</g:id><g:title>T{text}</g:title><g:price>1 EUR</g:price>\
             <g:availability>in_stock</g:availability></item>"
        )
    };
    let feed = format!("<rss>{}{}{}</rss>", item("a&#1;"), item("b\u{ffff}"), item("c"));
    let (records, faults) = file("feed.xml", &feed, Timestamp::UNIX_EPOCH);
    assert_eq!(records.len(), 1);
    assert_eq!(
        faults,
        ["line 1: id: must not hold the character U+0001", "line 1: id: must not hold the character U+FFFF"]
    );
    let rows = "id\ttitle\tprice\tavailability\na\tT\0\t1 EUR\tin_stock\nc\tT\t1 EUR\tin_stock\n";
    let (records, faults) = file("feed.tsv", rows, Timestamp::UNIX_EPOCH);
    assert_eq!((records.len(), faults), (1, vec!["line 2: title: must not hold the character U+0000".to_owned()]));
}

#[test]
fn a_stream_has_the_items_of_a_group_together() {
    let row = |id: &str, group: &str| format!("{id}\t{group}\tTitle {id}\t1 EUR\tin_stock\n");
    let feed =
        ["id\titem_group_id\ttitle\tprice\tavailability\n".to_owned(), row("a", "x"), row("b", "x"), row("c", "y")];
    let import = Import::read(Cursor::new(feed.concat()), Some("a.tsv"), None, &market(), Timestamp::UNIX_EPOCH);
    let (records, faults) = sorted(import.expect("opened"));
    let of: Vec<_> = records.iter().map(|record| (record.id.as_str(), record.variants.len())).collect();
    assert_eq!((of, faults), (vec![("prod_x", 2), ("prod_y", 1)], Vec::new()));
    // Without options, variants are told apart by their titles.
    assert_eq!(records[0].options[0].name, "Item");
    assert_eq!(records[0].variants[1].options[0].label, "Title b");
}

#[test]
fn a_feed_that_breaks_off_ends_without_the_product_that_was_open() {
    let cut = &RSS[..RSS.find("<g:id>R60").expect("the second rose")];
    let (records, faults) = file("feed.xml", cut, Timestamp::UNIX_EPOCH);
    let ids: Vec<_> = records.iter().map(|record| record.id.as_str()).collect();
    assert_eq!(ids, ["prod_V1"]);
    assert!(faults.len() == 1 && faults[0].contains("the file cannot be read further"), "{faults:?}");
}

#[test]
fn what_is_no_feed_is_refused_and_what_is_too_large_left_out() {
    let refused = |content: &str| {
        Import::read(Cursor::new(content.to_owned()), Some("a.tsv"), None, &market(), Timestamp::UNIX_EPOCH)
    };
    assert!(matches!(refused("id\ttitle\n1\t2\n"), Err(Unimportable::MissingAttributes { .. })));
    let deep = format!("<rss>{}", "<a>".repeat(100));
    let (records, faults) = file("feed.xml", &deep, Timestamp::UNIX_EPOCH);
    assert!(records.is_empty() && faults[0].contains("nested deeper"), "{faults:?}");
    let large = format!("<rss><item><g:id>{}</g:id></item></rss>", "x".repeat(2 << 20));
    let (records, faults) = file("feed.xml", &large, Timestamp::UNIX_EPOCH);
    assert!(records.is_empty() && faults[0].contains("longer than 1 MiB"), "{faults:?}");
    let entity = "<rss><item><g:id>&x;</g:id><g:title>T</g:title><g:price>1 EUR</g:price><g:availability>in_stock</g:availability></item></rss>";
    let (records, _) = file("feed.xml", entity, Timestamp::UNIX_EPOCH);
    assert_eq!(records[0].variants[0].id, "&x;", "an entity is not expanded");
    assert_eq!(Format::detect(Some("a.xml"), b""), Some(Format::GoogleXml));
}

proptest! {
    #[test]
    fn a_damaged_feed_is_read_to_an_end(place in 0..RSS.len(), byte in any::<u8>()) {
        let mut bytes = RSS.as_bytes().to_vec();
        bytes[place] = byte;
        let import = Import::read(Cursor::new(bytes), None, Some(Format::GoogleXml), &market(), Timestamp::UNIX_EPOCH);
        prop_assert!(import.expect("opened").count() < 100);
    }
}
