//! Storing products, in one process and in several.

use rusqlite::Connection;
use ucp_sqlite::StoreError;
use ucp_testkit::{PATIENCE, joined, until};

use super::*;
use crate::Database;

fn seqs(directory: &Path) -> Vec<(i64, String)> {
    let connection = Connection::open(directory.join("shop.db")).expect("database");
    let mut statement = connection.prepare("SELECT seq, id FROM products ORDER BY seq").expect("statement");
    statement
        .query_map((), |row| Ok((row.get(0)?, row.get(1)?)))
        .expect("rows")
        .collect::<Result<_, _>>()
        .expect("rows")
}

#[tokio::test]
async fn importing_again_updates_in_place() {
    let directory = tempfile::tempdir().expect("directory");
    let shop = open(directory.path());
    let first = [simple("a", "A"), simple("b", "B"), simple("c", "C")];
    assert_eq!(put(&shop, &first).await, [const { Ok(Put::Created) }; 3]);
    let before = seqs(directory.path());
    assert_eq!(put(&shop, &first).await, [const { Ok(Put::Unchanged) }; 3]);
    let again = [simple("c", "C"), simple("b", "Better"), simple("d", "D"), simple("d", "Double")];
    assert_eq!(put(&shop, &again).await, [Ok(Put::Unchanged), Ok(Put::Updated), Ok(Put::Created), Ok(Put::Updated)]);
    assert_eq!(seqs(directory.path())[..3], before);
    assert_eq!(ids(&shop.find(&query(None), &BuyerSignals::default()).await.expect("finds")), ["a", "b", "c", "d"]);
    assert_eq!(search(&shop, "better").await, ["b"]);
    assert_eq!(search(&shop, "double").await, ["d"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_product_is_found_by_no_name_and_may_come_again() {
    let directory = tempfile::tempdir().expect("directory");
    let mut counted = simple("b", "Better");
    counted.variants[0].sku = Some("b-sku".into());
    counted.variants[0].inventory = Some(4);
    let shop = open_with(directory.path(), &[simple("a", "A"), counted.clone()]);
    let remove = async |ids: [&str; 2]| {
        let (database, ids) = (shop.database().clone(), ids.map(str::to_owned).to_vec());
        let removed = tokio::task::spawn_blocking(move || database.remove_blocking(ids).expect("removes"));
        let removed = removed.await.expect("removes");
        shop.refresh().await;
        removed
    };
    assert_eq!(search(&shop, "better").await, ["b"]);
    assert_eq!(remove(["b", "nothing"]).await, [true, false]);
    assert_eq!(remove(["b", "b-v"]).await, [false, false], "once, and by its own identifier");
    let here = presentation("en", "USD");
    assert!(named(&shop, &["b", "b-v", "b-sku"], &here).await.iter().all(Vec::is_empty));
    assert!(search(&shop, "better").await.is_empty());
    assert_eq!(ids(&shop.find(&query(None), &BuyerSignals::default()).await.expect("finds")), ["a"]);
    assert_eq!(shop.index_fault().expect("reads"), None);
    let connection = Connection::open(directory.path().join("shop.db")).expect("database");
    let left = |table: &str| -> i64 {
        let sql = format!("SELECT count(*) FROM {table} WHERE product = (SELECT seq FROM products WHERE id = 'b')");
        connection.query_row(&sql, (), |row| row.get(0)).expect("a count")
    };
    // What was counted of it is remembered, so that it comes back without what was sold.
    assert_eq!((left("identifiers"), left("stock")), (0, 1));
    assert_eq!(shop.database().ids().expect("reads"), ["a"]);

    assert_eq!(put(&shop, &[counted]).await, [Ok(Put::Created)]);
    assert_eq!(search(&shop, "better").await, ["b"]);
    assert_eq!(named(&shop, &["b-sku"], &here).await[0].len(), 1);
    assert_eq!(remove(["a", "b"]).await, [true, true]);
    drop(shop);
    let shop = open(directory.path());
    assert_eq!(ids(&shop.find(&query(None), &BuyerSignals::default()).await.expect("finds")), [""; 0]);
    assert_eq!(shop.index_fault().expect("reads"), None);
}

#[tokio::test]
async fn products_that_cannot_be_stored_are_rejected_whole_and_alone() {
    let directory = tempfile::tempdir().expect("directory");
    let mut owner = simple("owner", "Owner");
    owner.handle = Some("taken".into());
    let shop = open_with(directory.path(), &[owner]);
    let variant_id = |id: &str, variant: &str| {
        let mut product = simple(id, "Thief");
        product.variants[0].id = variant.into();
        product.variants[0].sku = Some("loot".into());
        product
    };
    let mut handle = simple("thief", "Thief");
    handle.handle = Some("taken".into());
    let mut price = simple("thief", "Thief");
    price.variants[0].price.currency = "EUR".parse().expect("a currency");
    let mut long = simple("thief", "Thief");
    long.variants[0].sku = Some("x".repeat(2_000));
    let bad = [
        (variant_id("thief", "owner-v"), "variant id `owner-v` belongs to product `owner`"),
        (variant_id("thief", "owner"), "variant id `owner` belongs to product `owner`"),
        (simple("owner-v", "Thief"), "id `owner-v` belongs to product `owner`"),
        (handle, "handle `taken` belongs to product `owner`"),
        (price, "$.variants[0].price"),
        (long, "longer than 1024 bytes"),
    ];
    let mut batch: Vec<_> = bad.iter().map(|(product, _)| product.clone()).collect();
    batch.push(simple("good", "ItemFacts"));
    let outcomes = put(&shop, &batch).await;
    assert_eq!(outcomes.last(), Some(&Ok(Put::Created)));
    for ((_, reason), outcome) in bad.iter().zip(&outcomes) {
        let rejected = outcome.as_ref().expect_err(reason);
        assert!(rejected.reason.contains(reason), "{rejected} / {reason}");
    }
    let found = named(&shop, &["thief", "loot", "taken", "owner-v"], &presentation("en", "USD")).await;
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [0, 0, 1, 1]);
    assert_eq!(search(&shop, "thief").await, [""; 0]);
    // An update that is rejected leaves what was there.
    let mut greedy = simple("good", "Greedy");
    greedy.handle = Some("taken".into());
    assert!(put(&shop, &[greedy]).await[0].is_err());
    assert_eq!(search(&shop, "good").await, ["good"]);
    // What a product gives up, another one can have.
    assert_eq!(put(&shop, &[simple("owner", "Owner")]).await, [Ok(Put::Updated)]);
    let mut heir = simple("heir", "Heir");
    heir.handle = Some("taken".into());
    assert_eq!(put(&shop, &[heir]).await, [Ok(Put::Created)]);
}

#[tokio::test]
async fn a_shop_notices_what_others_write() {
    let directory = tempfile::tempdir().expect("directory");
    let shop = open(directory.path());
    let other = open(directory.path());
    let database = Database::open(directory.path()).expect("opens");
    assert_eq!(search(&shop, "stranger").await, [""; 0]);
    assert!(named(&shop, &["x"], &presentation("en", "USD")).await[0].is_empty());
    database.put(vec![simple("x", "Stranger")], Timestamp::UNIX_EPOCH).await.expect("puts");
    for shop in [&shop, &other] {
        until("what another one wrote", PATIENCE, async || {
            let known = !named(shop, &["x"], &presentation("en", "USD")).await[0].is_empty();
            (known && search(shop, "stranger").await == ["x"]).then_some(())
        })
        .await;
    }
}

#[test]
fn a_creation_that_fails_leaves_no_shop() {
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path().join("data");
    assert!(matches!(Database::open(&path), Err(StoreError::Missing { .. })));
    // A filling that fails leaves nothing that counts as a shop.
    let mut thief = simple("b", "B");
    thief.variants[0].id = "a".into();
    let error = Database::open_or_create(&path, || opening(&[simple("a", "A"), thief])).expect_err("unfit");
    assert!(matches!(&error, StoreError::Unfit { id, .. } if id == "b"), "{error}");
    assert!(matches!(Database::open(&path), Err(StoreError::Missing { .. })));
    // The next one starts from nothing; the one after finds what is there.
    drop(Database::open_or_create(&path, || opening(&[simple("c", "C")])).expect("creates"));
    drop(Database::open_or_create(&path, || panic!("not asked")).expect("opens"));
    assert_eq!(seqs(&path).len(), 1);
}

#[test]
fn terms_are_kept_and_can_be_replaced() {
    let directory = tempfile::tempdir().expect("directory");
    let sample = crate::sample::outfitters::opening();
    let mut terms = sample.terms.clone();
    let opening = || Opening { records: Vec::new(), ..sample };
    let database = Database::open_or_create(directory.path(), opening).expect("creates");
    assert_eq!(*database.terms(), terms);
    drop(database);
    terms.fees.clear();
    let database = Database::open(directory.path()).expect("opens");
    assert_ne!(*database.terms(), terms);
    database.set_terms_blocking(&terms).expect("writes");
    drop(database);
    assert_eq!(*Database::open(directory.path()).expect("opens").terms(), terms);
    let connection = rusqlite::Connection::open(directory.path().join("shop.db")).expect("database");
    connection.execute("UPDATE shop SET terms = '{\"taxes\": 1}'", ()).expect("damages");
    drop(connection);
    let error = Database::open(directory.path()).expect_err("damaged").to_string();
    assert!(error.contains("terms") && error.contains("taxes"), "{error}");
}

#[test]
fn of_several_processes_that_create_a_shop_one_does() {
    // Whether they meet where it matters is chance, and gets many chances.
    for _ in 0..40 {
        let directory = tempfile::tempdir().expect("directory");
        let create = |id: &'static str| {
            let path = directory.path().to_owned();
            std::thread::spawn(move || Database::open_or_create(&path, || opening(&[simple(id, id)])).map(drop))
        };
        for thread in [create("a"), create("b"), create("c")] {
            joined("a shop to be created or opened", PATIENCE, thread).expect("opens");
        }
        assert_eq!(seqs(directory.path()).len(), 1);
    }
}

#[test]
fn unusable_files_are_reported_with_their_place() {
    let directory = tempfile::tempdir().expect("directory");
    let file = directory.path().join("file");
    std::fs::write(&file, "x").expect("writes");
    let error = Database::open_or_create(&file, || opening(&[])).expect_err("a file");
    assert!(error.to_string().contains(&*file.to_string_lossy()), "{error}");
    std::fs::write(
        directory.path().join("shop.db"),
        "this is no database, but it is long enough to be looked at ".repeat(50),
    )
    .expect("writes");
    let error = Database::open(directory.path()).expect_err("no database");
    assert!(error.to_string().contains("shop.db"), "{error}");
}
