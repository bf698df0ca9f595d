//! Tests of the directory as a whole, on real files.

use std::path::Path;

use serde_json::{Value, json};
use ucp_core::merchant::criteria::Criteria;
use ucp_sqlite::Put;
use ucp_testkit::{PATIENCE, until};

use super::{
    import::{Import, Tolerance},
    *,
};

fn create(directory: &Path) -> SqliteStore {
    SqliteStore::open_or_create(directory).expect("a store")
}

fn open(store: &SqliteStore) -> Directory {
    Directory::open(store, Policy::default(), 1 << 20).expect("a directory")
}

fn merchant(id: &str, locations: &[Value]) -> Merchant {
    serde_json::from_value(json!({"id": id, "name": format!("Merchant {id}"), "locations": locations}))
        .expect("a merchant")
}

fn location(id: &str) -> Value {
    json!({"id": id, "name": id})
}

async fn put(store: &SqliteStore, merchants: &[Merchant]) -> Vec<Result<Put, String>> {
    let merchants = merchants.to_vec();
    let outcomes = store.execute(move |db| merchants::put_within(db, merchants)).await.expect("puts");
    outcomes.into_iter().map(|outcome| outcome.map_err(|rejected| rejected.reason)).collect()
}

async fn found(directory: &Directory, text: Option<&str>) -> Vec<String> {
    let query = Query { text: text.map(str::to_owned), limit: 1_000, ..Query::default() };
    let page = directory.find(&query).await.expect("finds");
    page.hits.into_iter().map(|hit| hit.merchant).collect()
}

async fn owners(directory: &Directory, location: &str) -> Vec<String> {
    let mut owners = directory.fetch_by_location(&[location]).await.expect("fetches");
    owners.remove(0).iter().map(|merchant| merchant.id.clone()).collect()
}

#[tokio::test]
async fn merchants_survive_as_they_were_stated() {
    let files = tempfile::tempdir().expect("a directory");
    let merchants = sample::merchants();
    {
        let store = create(files.path());
        assert!(put(&store, &merchants).await.iter().all(|outcome| *outcome == Ok(Put::Created)));
    }
    let directory = open(&create(files.path()));
    let ids: Vec<_> = merchants.iter().map(|merchant| merchant.id.as_str()).collect();
    // The first time from the file, the second time from memory.
    for _ in 0..2 {
        let fetched = directory.fetch(&ids).await.expect("fetches");
        for (stated, fetched) in merchants.iter().zip(fetched) {
            assert_eq!(fetched.as_deref(), Some(stated));
        }
    }
    assert_eq!(found(&directory, None).await.len(), merchants.len());
    let long = "x".repeat(5_000);
    assert_eq!(directory.fetch(&["mch_nobody", "", &long]).await.expect("fetches"), [None, None, None]);
}

#[tokio::test]
async fn a_merchant_is_created_changed_or_left_alone() {
    let files = tempfile::tempdir().expect("a directory");
    let store = create(files.path());
    let first = merchant("m", &[location("a"), location("b")]);
    assert_eq!(put(&store, std::slice::from_ref(&first)).await, [Ok(Put::Created)]);
    assert_eq!(put(&store, std::slice::from_ref(&first)).await, [Ok(Put::Unchanged)]);
    let second = merchant("m", &[location("b"), location("c")]);
    assert_eq!(put(&store, std::slice::from_ref(&second)).await, [Ok(Put::Updated)]);
    let directory = open(&store);
    let mut owned = Vec::new();
    for id in ["a", "b", "c"] {
        owned.push(owners(&directory, id).await.len());
    }
    assert_eq!(owned, [0, 1, 1]);
    assert_eq!(directory.fetch(&["m"]).await.expect("fetches")[0].as_deref(), Some(&second));
}

#[tokio::test]
async fn a_location_belongs_to_one_merchant() {
    let files = tempfile::tempdir().expect("a directory");
    let store = create(files.path());
    let hidden = json!({"id": "hidden", "name": "Dark kitchen", "public": false, "aliases": ["secret"]});
    let with_alias = |id: &str| json!({"id": id, "name": id, "aliases": ["station"]});
    let outcomes = put(
        &store,
        &[
            merchant("m1", &[with_alias("a"), hidden.clone()]),
            merchant("m2", &[location("a")]),
            merchant("m3", &[hidden]),
            merchant("m4", &[with_alias("b")]),
            // An id that is somebody's alias.
            merchant("m5", &[location("station")]),
        ],
    )
    .await;
    let taken = |id: &str| Err(format!("the location `{id}` belongs to merchant `m1` already"));
    assert_eq!(outcomes, [Ok(Put::Created), taken("a"), taken("hidden"), Ok(Put::Created), Ok(Put::Created)]);
    let directory = open(&store);
    assert_eq!(owners(&directory, "station").await, ["m5", "m1", "m4"]);
    assert_eq!(owners(&directory, "a").await, ["m1"]);
    // What buyers may not know of names nothing.
    assert!(owners(&directory, "hidden").await.is_empty() && owners(&directory, "secret").await.is_empty());
    assert!(owners(&directory, &"x".repeat(5_000)).await.is_empty());
    assert_eq!(found(&directory, None).await, ["m1", "m4", "m5"]);
}

#[tokio::test]
async fn a_merchant_that_means_nothing_is_rejected_alone() {
    let files = tempfile::tempdir().expect("a directory");
    let store = create(files.path());
    let torn = merchant("m1", &[json!({"id": "a", "name": "A", "geo": {"latitude": 97.0, "longitude": 0.0}})]);
    let outcomes = put(&store, &[torn, merchant("m2", &[])]).await;
    assert!(outcomes[0].as_ref().expect_err("torn").contains("$.locations[0].geo"));
    assert_eq!(outcomes[1], Ok(Put::Created));
    assert_eq!(found(&open(&store), None).await, ["m2"]);
}

#[tokio::test]
async fn what_another_process_writes_is_noticed() {
    let files = tempfile::tempdir().expect("a directory");
    let (here, elsewhere) = (create(files.path()), create(files.path()));
    let directory = open(&here);
    assert!(found(&directory, None).await.is_empty());
    let mut changed = merchant("m", &[location("a")]);
    put(&elsewhere, std::slice::from_ref(&changed)).await;
    directory.refresh().await;
    assert_eq!(found(&directory, Some("merchant")).await, ["m"]);
    assert_eq!(directory.fetch(&["m"]).await.expect("fetches")[0].as_deref(), Some(&changed));
    changed.name = "Renamed".to_owned();
    put(&elsewhere, std::slice::from_ref(&changed)).await;
    directory.refresh().await;
    assert_eq!(directory.fetch(&["m"]).await.expect("fetches")[0].as_deref(), Some(&changed));
    assert_eq!(found(&directory, Some("renamed")).await, ["m"]);
    // Without being asked to look, too.
    put(&elsewhere, &[merchant("n", &[])]).await;
    until("the new merchant to be found", PATIENCE, async || (found(&directory, None).await.len() == 2).then_some(()))
        .await;
}

#[tokio::test]
async fn directories_of_shops_in_one_file_share_no_merchant() {
    let files = tempfile::tempdir().expect("a directory");
    let store = create(files.path());
    let stores = [store.of("flowers".parse().expect("valid")).expect("opens"), store];
    let locations = [vec![location("l1")], vec![location("l1"), location("l2")]];
    for (store, locations) in stores.iter().zip(&locations) {
        assert_eq!(put(store, &[merchant("m", locations)]).await, [Ok(Put::Created)]);
    }
    for (store, locations) in stores.iter().zip(&locations) {
        let directory = open(store);
        let fetched = directory.fetch(&["m"]).await.expect("fetches").remove(0).expect("stored");
        assert_eq!(fetched.locations.len(), locations.len());
        assert_eq!(found(&directory, None).await, ["m"]);
        assert_eq!(owners(&directory, "l1").await, ["m"]);
        assert_eq!(owners(&directory, "l2").await.len(), locations.len() - 1);
        assert_eq!(put(store, &[merchant("m", locations)]).await, [Ok(Put::Unchanged)]);
    }
    assert_eq!(put(&stores[0], &[merchant("n", &[location("l2")])]).await, [Ok(Put::Created)], "it is free there");
    assert!(put(&stores[1], &[merchant("n", &[location("l2")])]).await[0].is_err(), "it is another merchant's");
}

#[tokio::test]
async fn writing_the_shop_does_not_read_the_directory_anew() {
    let files = tempfile::tempdir().expect("a directory");
    let store = create(files.path());
    put(&store, &[merchant("m", &[])]).await;
    let directory = open(&store);
    let before = directory.inner.snapshot();
    let product = "INSERT INTO products (shop, id, revision, document) VALUES ('default', 'p', 1, '{}')";
    assert_eq!(store.execute(move |db| Ok(db.execute(product, ())?)).await.expect("writes"), 1);
    directory.refresh().await;
    assert!(Arc::ptr_eq(&before, &directory.inner.snapshot()));
}

#[tokio::test]
async fn documents_in_memory_are_bounded() {
    let files = tempfile::tempdir().expect("a directory");
    let store = create(files.path());
    let merchants = sample::merchants();
    put(&store, &merchants).await;
    let directory = Directory::open(&store, Policy::default(), 20_000).expect("a directory");
    let ids: Vec<_> = merchants.iter().map(|merchant| merchant.id.as_str()).collect();
    assert!(directory.fetch(&ids).await.expect("fetches").iter().all(Option::is_some));
    let snapshot = directory.inner.snapshot();
    assert!(snapshot.documents.weight() <= 20_000, "{}", snapshot.documents.weight());
    // Nothing at all may be remembered either.
    let directory = Directory::open(&store, Policy::default(), 0).expect("a directory");
    assert!(directory.fetch(&ids).await.expect("fetches").iter().all(Option::is_some));
}

#[tokio::test]
async fn an_import_of_the_sample_can_be_repeated_and_searched() {
    let files = tempfile::tempdir().expect("a directory");
    let store = create(files.path());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample/merchants.jsonl");
    for expected in [Put::Created, Put::Unchanged] {
        let import = Import::open(&file, Tolerance::Lenient).expect("opened");
        let rows: Vec<_> = import.map(|row| row.expect("usable").merchant).collect();
        assert!(put(&store, &rows).await.iter().all(|outcome| *outcome == Ok(expected)));
    }
    let directory = open(&store);
    assert_eq!(found(&directory, Some("night owl")).await[0], "mch_abc123");
    assert_eq!(found(&directory, Some("寿司")).await, ["mch_tsukimi_sushi"]);
    let open_now = Query {
        criteria: Criteria {
            // A Saturday, half past one in San Francisco.
            open_at: Some("2026-11-21T09:30:00Z".parse().expect("an instant")),
            category: Some(ucp_core::catalog::filter::CategoryPath::new("Restaurants > Pizza")),
            ..Criteria::default()
        },
        limit: 10,
        ..Query::default()
    };
    let page = directory.find(&open_now).await.expect("finds");
    assert_eq!(page.hits[0].merchant, "mch_abc123");
    let address = serde_json::from_value(json!({
        "street_address": "1 Invented Alley", "address_country": "US", "postal_code": "94105",
    }));
    let resolved = directory.resolve(&address.expect("an address")).await.expect("an answer").expect("a place");
    assert_eq!(resolved.point.latitude(), 37.793);
}

#[test]
fn an_import_needs_no_runtime() {
    let files = tempfile::tempdir().expect("a directory");
    let store = create(files.path());
    let outcomes = merchants::put_blocking(&store, sample::merchants()).expect("puts");
    assert!(outcomes.iter().all(|outcome| outcome.as_ref() == Ok(&Put::Created)));
}

#[tokio::test]
async fn a_read_that_fails_takes_no_thread_with_it() {
    let files = tempfile::tempdir().expect("a directory");
    let store = create(files.path());
    put(&store, &[merchant("m", &[])]).await;
    let directory = open(&store);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).max(2);
    for _ in 0..=threads {
        let failed = directory.workers.run::<()>(|_| panic!("as it is meant to")).await;
        assert_eq!(failed.map_err(|error| ucp_core::Refusal::from(error).code), Err(ucp_core::Code::InternalError));
    }
    assert_eq!(found(&directory, None).await, ["m"]);
    // Who goes away before it is answered leaves nothing undone for others.
    let gone = directory.clone();
    drop(tokio::time::timeout(std::time::Duration::ZERO, async move { gone.fetch(&["m"]).await }).await);
    assert_eq!(owners(&directory, "m").await, [""; 0]);
    assert!(directory.fetch(&["m"]).await.expect("fetches")[0].is_some());
}
