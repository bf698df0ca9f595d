use proptest::prelude::*;
use serde_json::json;

use super::*;

fn address(value: serde_json::Value) -> PostalAddress {
    serde_json::from_value(value).expect("an address")
}

fn read(rows: &str) -> Result<Table, TableError> {
    Table::read(rows.as_bytes())
}

fn row(country: &str, code: &str, place: &str, region: (&str, &str), point: (f64, f64)) -> String {
    format!("{country}\t{code}\t{place}\t{}\t{}\t\t\t\t\t{}\t{}\t4\n", region.0, region.1, point.0, point.1)
}

fn degrees(point: Option<Point>) -> Option<(f64, f64)> {
    point.map(|point| (point.latitude(), point.longitude()))
}

fn postal(table: &Table, country: &str, code: &str) -> Option<(f64, f64)> {
    degrees(table.postal_code(&AddressPlace::new(Some(country), None, None, Some(code))))
}

fn town(table: &Table, country: &str, region: &str, locality: &str) -> Option<(f64, f64)> {
    degrees(table.locality(&AddressPlace::new(Some(country), Some(region), Some(locality), None)))
}

#[test]
fn the_gateways_own_table_is_readable() {
    let table = read(include_str!("fixture.tsv")).expect("readable");
    assert_eq!(table.len(), Table::fixture().len());
    assert_eq!(postal(&table, "US", "94105"), Some((37.7898, -122.3942)));
    assert_eq!(town(&table, "GB", "England", "London").map(|(latitude, _)| latitude.round()), Some(52.0));
    assert_eq!(town(&table, "US", "Oregon", "portland"), Some((45.531, -122.684)));
    assert_eq!(town(&table, "US", "ME", "Portland"), Some((43.659, -70.257)));
    assert_eq!(town(&table, "US", "TX", "Portland"), None);
}

#[test]
fn postal_codes_have_many_spellings() {
    let table = Table::fixture();
    for (country, code) in [("US", "94105-1234"), ("USA", "94105"), ("united states", " 94105 ")] {
        assert_eq!(postal(&table, country, code), Some((37.7898, -122.3942)), "{country} {code}");
    }
    for (country, code) in [("JP", "150-0002"), ("JP", "1500002"), ("Japan", "１５０ー０００２".trim_matches('x'))]
    {
        if !code.contains('ー') {
            assert_eq!(postal(&table, country, code), Some((35.659, 139.705)), "{country} {code}");
        }
    }
    // Full codes are found by their area.
    assert_eq!(postal(&table, "UK", "ec1v 2nx"), Some((51.526, -0.099)));
    assert_eq!(postal(&table, "GB", "E1 6AN"), Some((51.517, -0.058)));
    assert_eq!(postal(&table, "CA", "M5V 3L9"), Some((43.64, -79.4)));
    // Areas of other countries mean nothing.
    for (country, code) in
        [("US", "9410"), ("DE", "94105"), ("GB", "ZZ9 9ZZ"), ("GB", "6AN"), ("JP", "150"), ("US", "")]
    {
        assert_eq!(postal(&table, country, code), None, "{country} {code}");
    }
}

#[test]
fn regions_go_by_name_and_code() {
    let table = read(&row("FR", "75011", "Paris 11", ("Île-de-France", "11"), (48.858, 2.38))).expect("readable");
    for region in ["Île-de-France", "ILE-DE-FRANCE", "IDF", "FR-IDF"] {
        assert_eq!(town(&table, "France", region, "paris 11"), Some((48.858, 2.38)), "{region}");
    }
    assert_eq!(town(&table, "FR", "Bretagne", "Paris 11"), None);
}

#[test]
fn rows_of_one_name_become_their_middle_unless_they_lie_apart() {
    let near = row("US", "1", "A", ("", "CA"), (37.0, -122.0)) + &row("US", "1", "B", ("", "CA"), (37.1, -122.0));
    let (latitude, longitude) = postal(&read(&near).expect("readable"), "US", "1").expect("a middle");
    assert!((latitude - 37.05).abs() < 1e-6 && (longitude + 122.0).abs() < 1e-6, "{latitude} {longitude}");
    let apart = row("US", "1", "Springfield", ("", "CA"), (37.0, -122.0))
        + &row("US", "2", "Springfield", ("", "CA"), (40.0, -122.0));
    let table = read(&apart).expect("readable");
    assert_eq!(town(&table, "US", "CA", "Springfield"), None);
    assert_eq!(postal(&table, "US", "2"), Some((40.0, -122.0)));
    // On both sides of the date line.
    let line = row("FJ", "1", "A", ("", "N"), (-17.0, 179.9)) + &row("FJ", "1", "B", ("", "N"), (-17.0, -179.9));
    let (_, longitude) = postal(&read(&line).expect("readable"), "FJ", "1").expect("a middle");
    assert!((longitude.abs() - 180.0).abs() < 1e-6, "{longitude}");
}

#[test]
fn tables_are_read_with_all_that_files_hold() {
    let file = format!(
        "\u{feff}# ours\r\n\n{}US\t00000\tNowhere\t\t\t\t\t\t\t\t\t\n{}",
        row("US", "1", "A", ("", "CA"), (1.5, 2.5)).replace('\n', "\r\n"),
        // Without the last column.
        row("US", "2", "B", ("", "CA"), (3.5, 4.5)).replace("\t4\n", "")
    );
    let table = read(&file).expect("readable");
    assert_eq!((postal(&table, "US", "1"), postal(&table, "US", "2")), (Some((1.5, 2.5)), Some((3.5, 4.5))));
    assert_eq!(postal(&table, "US", "00000"), None);
    assert!(read("").expect("empty").is_empty());
}

#[test]
fn a_bad_line_of_a_table_is_named() {
    let good = row("US", "1", "A", ("", "CA"), (1.5, 2.5));
    for (bad, reason) in [
        ("US 1 A".to_owned(), "12 columns"),
        (good.trim_end().to_owned() + "\tmore", "12 columns"),
        (good.replace("US", "usa"), "column 1"),
        (good.replace("1.5", "north"), "column 10"),
        (good.replace("2.5", ""), "column 11"),
        (good.replace("1.5", "95"), "-90 to 90"),
        (good.replace("1.5", "NaN"), "-90 to 90"),
        (good.replace("1.5", "0").replace("2.5", "0"), "not both 0"),
        (good.replace('A', &"A".repeat(5_000)), "longer than"),
    ] {
        let error = read(&format!("{good}{bad}\n")).expect_err(&bad).to_string();
        assert!(error.starts_with("line 2 ") && error.contains(reason), "{error}");
    }
    assert!(Table::read(b"US\t\xff".as_slice()).expect_err("bytes").to_string().contains("UTF-8"));
}

fn merchant() -> Merchant {
    let located = |id: &str, street: &str, geo: serde_json::Value, public: bool| {
        json!({
            "id": id, "name": id, "public": public, "geo": geo,
            "address": {
                "street_address": street, "address_locality": "San Francisco", "address_region": "CA",
                "address_country": "US", "postal_code": "94105",
            },
        })
    };
    let geo = |latitude: f64| json!({"latitude": latitude, "longitude": -122.4});
    serde_json::from_value(json!({
        "id": "m", "name": "M",
        "locations": [
            located("open", "1 Invented Alley", geo(37.79), true),
            located("hidden", "2 Invented Alley", geo(37.79), false),
            located("coarse", "3 Invented Alley", json!({"latitude": 37.79, "longitude": -122.4, "precision": "postal_code"}), true),
            located("unlocated", "4 Invented Alley", json!(null), true),
            located("torn-1", "5 Invented Alley", geo(37.79), true),
            located("torn-2", "5 Invented Alley", geo(37.90), true),
            located("shared-1", "6 Invented Alley", geo(37.79), true),
            located("shared-2", "6 Invented Alley", geo(37.7901), true),
            located("street", "Invented Alley", geo(37.79), true),
        ],
    }))
    .expect("a merchant")
}

fn known() -> KnownPlaces {
    let mut known = KnownBuilder::default();
    known.add(&merchant());
    known.finish()
}

#[test]
fn streets_of_public_locations_are_known() {
    let at = |street: &str| json!({"street_address": street, "postal_code": "94105-0001", "address_country": "usa"});
    let find = |value| known().find(&address(value)).map(|resolved| resolved.point.latitude());
    assert_eq!(find(at("1 INVENTED alley.")), Some(37.79));
    assert_eq!(find(at("6 Invented Alley")), Some(37.79));
    let town = json!({
        "street_address": "1 Invented Alley", "address_locality": "san francisco", "address_region": "California",
        "address_country": "US",
    });
    assert_eq!(find(town), Some(37.79));
    for street in [
        "2 Invented Alley",
        "3 Invented Alley",
        "4 Invented Alley",
        "5 Invented Alley",
        "Invented Alley",
        "11 Invented Alley",
        "",
    ] {
        assert_eq!(find(at(street)), None, "{street}");
    }
    for elsewhere in [
        json!({"street_address": "1 Invented Alley", "postal_code": "94105"}),
        json!({"street_address": "1 Invented Alley", "postal_code": "94105", "address_country": "CA"}),
        json!({"street_address": "1 Invented Alley", "address_locality": "San Francisco", "address_country": "US"}),
        json!({"street_address": "1 Invented Alley", "address_region": "CA", "address_country": "US"}),
    ] {
        assert_eq!(find(elsewhere.clone()), None, "{elsewhere}");
    }
}

/// A source that says one thing.
struct Says(Result<Option<Resolved>, PortError>);

#[async_trait]
impl Geocoder for Says {
    async fn resolve(&self, _: &PostalAddress) -> Result<Option<Resolved>, PortError> {
        self.0.clone()
    }
}

fn everything() -> PostalAddress {
    address(json!({
        "street_address": "1 Invented Alley", "address_locality": "San Francisco", "address_region": "CA",
        "address_country": "US", "postal_code": "94105",
    }))
}

#[tokio::test]
async fn the_most_exact_source_answers() {
    let table = Arc::new(Table::fixture());
    let chain = Chain::usual(Arc::new(known()), None, &table);
    let precision = async |address: PostalAddress| {
        chain.resolve(&address).await.expect("an answer").map(|resolved| resolved.precision)
    };
    assert_eq!(precision(everything()).await, Some(Precision::Street));
    let elsewhere = PostalAddress { street_address: Some("99 Other Road".into()), ..everything() };
    assert_eq!(precision(elsewhere.clone()).await, Some(Precision::PostalCode));
    assert_eq!(precision(PostalAddress { postal_code: None, ..elsewhere.clone() }).await, Some(Precision::Locality));
    let unknown_code = PostalAddress { postal_code: Some("99999".into()), ..elsewhere };
    assert_eq!(precision(unknown_code).await, Some(Precision::Locality));
}

#[tokio::test]
async fn what_is_too_coarse_is_unresolved() {
    let chain = Chain::usual(Arc::new(known()), None, &Arc::new(Table::fixture()));
    for coarse in [
        json!({}),
        json!({"address_country": "US"}),
        json!({"address_country": "US", "address_region": "CA"}),
        json!({"address_country": "US", "address_locality": "Portland"}),
        json!({"postal_code": "94105"}),
        json!({"address_region": "CA", "address_locality": "San Francisco"}),
        json!({"address_country": "Atlantis", "postal_code": "94105"}),
        json!({"full_name": "94105", "address_country": "US"}),
    ] {
        assert_eq!(chain.resolve(&address(coarse.clone())).await, Ok(None), "{coarse}");
    }
}

#[tokio::test]
async fn a_geocoder_on_the_network_stands_between_exact_and_coarse() {
    let table = Arc::new(Table::fixture());
    let point = Point::new(1.0, 2.0).expect("a point");
    let found = Resolved { point, precision: Precision::Street };
    let failure = PortError::unavailable("Down.", 1);
    let chain = |says| Chain::usual(Arc::new(known()), Some(Arc::new(Says(says))), &table);
    let elsewhere = PostalAddress { street_address: Some("99 Other Road".into()), ..everything() };
    let nowhere = address(json!({"address_country": "US", "postal_code": "99999"}));

    assert_ne!(chain(Ok(Some(found))).resolve(&everything()).await, Ok(Some(found)));
    assert_eq!(chain(Ok(Some(found))).resolve(&elsewhere).await, Ok(Some(found)));
    // When it fails, what is known without it still counts; what is not known then may be known later.
    let coarse = chain(Err(failure.clone())).resolve(&elsewhere).await.expect("an answer").expect("a place");
    assert_eq!(coarse.precision, Precision::PostalCode);
    assert_eq!(chain(Err(failure.clone())).resolve(&nowhere).await, Err(failure));
    assert_eq!(chain(Ok(None)).resolve(&nowhere).await, Ok(None));
}

proptest! {
    #[test]
    fn any_file_is_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        drop(Table::read(bytes.as_slice()));
    }

    #[test]
    fn every_row_is_found(
        rows in proptest::collection::btree_map("[A-Z0-9]{4,7}", (-89.0..89.0_f64, 1.0..179.0_f64), 1..40),
    ) {
        let file: String = rows.iter().map(|(code, point)| row("DE", code, "X", ("", "B"), *point)).collect();
        let table = read(&file).expect("readable");
        for (code, (latitude, longitude)) in &rows {
            let (found_latitude, found_longitude) = postal(&table, "DE", code).expect("a row");
            prop_assert!((found_latitude - latitude).abs() < 1e-7 && (found_longitude - longitude).abs() < 1e-7);
        }
        prop_assert_eq!(postal(&table, "DE", "ABC"), None);
    }

    #[test]
    fn any_address_is_resolved_or_not(street in "\\PC{0,30}", town in "\\PC{0,20}", code in "\\PC{0,12}", country in "\\PC{0,4}|US|GB|CA") {
        let address = address(json!({
            "street_address": street, "address_locality": town, "address_region": town, "postal_code": code,
            "address_country": country,
        }));
        let (table, place) = (Table::fixture(), AddressPlace::of(&address));
        let found = (known().find(&address), table.postal_code(&place), table.locality(&place));
        prop_assert!(country != "US" || code.trim() == "94105" || found.0.is_none());
    }
}
