//! Two versions of the gateway on one database.

use ucp_core::ports::{
    ledger::{Change, Committed, Ledger as _},
    store::Store as _,
};
use ucp_testkit::{
    postgres::{self, Cluster},
    store::fixtures::{ALICE, at, cart, checkout},
};

use crate::{
    OpenError, Options, PostgresStore,
    migrations::{MIGRATIONS, Migration, migrate},
    transaction::Database,
};

/// Number of the steps that this gateway knows.
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "a few")]
const KNOWN: i32 = MIGRATIONS.len() as i32;

/// A later version adds a column, which this one does not know.
const NOTED: Migration = Migration { sql: "ALTER TABLE carts ADD COLUMN note text", minimum: 1 };

/// Returns the steps of a later version.
fn later(more: &[Migration]) -> &'static [Migration] {
    Box::leak([MIGRATIONS, more].concat().into())
}

/// Opens a database of its own, in a cluster of its own: the schema of the others is left alone.
fn cluster() -> Option<(Cluster, Options)> {
    postgres::database()?;
    let cluster = Cluster::start(&[])?;
    let options = cluster.url("postgres").parse().expect("an address");
    Some((cluster, options))
}

#[tokio::test]
async fn two_versions_share_a_database_until_the_older_one_is_gone() {
    let Some((cluster, options)) = cluster() else { return };
    let expanded = later(&[NOTED]);
    // The one after it does not need what this one does.
    let dropped = Migration { sql: "ALTER TABLE carts DROP COLUMN holder CASCADE", minimum: KNOWN + 1 };
    let contracted = later(&[NOTED, dropped]);
    let change = |id: &str| Change { cart: at(cart(ALICE, id), 0), ..Change::default() };
    let shop = ucp_core::ShopId::default;
    let older = PostgresStore::open(&options, shop()).await.expect("opens");
    assert_eq!(older.commit(change("1"), None).await.expect("commits"), Committed::Done);

    // Expand: the new version starts beside the old one, which goes on, and can be started again.
    let newer = PostgresStore::open_with(&options, shop(), expanded).await.expect("expands");
    assert_eq!(older.commit(change("2"), None).await.expect("commits"), Committed::Done);
    assert_eq!(newer.commit(change("3"), None).await.expect("commits"), Committed::Done);
    let restarted = PostgresStore::open(&options, shop()).await.expect("the old version still fits");
    for store in [&older, &newer, &restarted] {
        for id in ["1", "2", "3"] {
            assert!(store.cart(ALICE, id).await.expect("reads").is_some(), "{id}");
        }
    }
    assert_eq!(cluster.psql("SELECT version, minimum FROM schema_version"), format!("{}|1", KNOWN + 1));

    // Contract, a version later: the oldest is refused from now on, with both versions, and nothing is changed by that.
    PostgresStore::open_with(&options, shop(), contracted).await.expect("contracts");
    let refused = PostgresStore::open(&options, shop()).await.expect_err("too old");
    let OpenError::Newer { found, minimum, supported, .. } = refused else { panic!("{refused}") };
    assert_eq!((found, minimum, supported), (KNOWN + 2, KNOWN + 1, KNOWN));
    let text = refused.to_string();
    assert!(text.contains(&format!("version {}", KNOWN + 2)) && text.contains("use a newer gateway"), "{text}");
    PostgresStore::open_with(&options, shop(), expanded).await.expect("the one between still fits");
    assert_eq!(cluster.psql("SELECT version, minimum FROM schema_version"), format!("{}|{}", KNOWN + 2, KNOWN + 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_gateways_that_start_at_once_one_makes_the_schema() {
    let Some((cluster, options)) = cluster() else { return };
    let opened: Vec<_> = (0..8)
        .map(|_| {
            let options = options.clone();
            tokio::spawn(async move { PostgresStore::open(&options, ucp_core::ShopId::default()).await })
        })
        .collect();
    let mut secrets = Vec::new();
    for opened in opened {
        let store = ucp_testkit::within("a gateway to start", ucp_testkit::PATIENCE, opened).await.expect("no panic");
        secrets.push(*store.expect("opens").cursor_secret().reveal());
    }
    secrets.dedup();
    assert_eq!(secrets.len(), 1, "all of them seal cursors with the same key");
    assert_eq!(cluster.psql("SELECT version, minimum FROM schema_version"), format!("{KNOWN}|1"));
}

#[tokio::test]
async fn a_failed_migration_leaves_everything_as_it_was() {
    let broken = later(&[NOTED, Migration { sql: "ALTER TABLE nothing ADD COLUMN note text", minimum: 1 }]);
    let Some((cluster, options)) = cluster() else { return };
    PostgresStore::open(&options, ucp_core::ShopId::default()).await.expect("opens");
    PostgresStore::open_with(&options, ucp_core::ShopId::default(), broken).await.expect_err("fails");
    assert_eq!(cluster.psql("SELECT version, minimum FROM schema_version"), format!("{KNOWN}|1"));
    let columns = "SELECT count(*) FROM information_schema.columns WHERE table_name = 'carts' AND column_name = 'note'";
    assert_eq!(cluster.psql(columns), "0");
}

#[tokio::test]
async fn what_orders_have_taken_is_known_of_an_older_database() {
    const OLDER: &[Migration] = &[MIGRATIONS[0]];
    let Some((cluster, options)) = cluster() else { return };
    let database = Database::new(&options).expect("a database");
    migrate(&database, OLDER).await.expect("the version before");
    let made = "gen_random_uuid()";
    let columns = "shop, id, owner, token, version, made, held";
    for (id, status, attempted, document) in [
        (
            "held",
            "complete_in_progress",
            "7",
            r#"{"line_items": [{"item": {"id": "a-0"}, "quantity": 2}, {"item": {"id": "b"}, "quantity": 1}]}"#,
        ),
        ("open", "incomplete", "NULL", r#"{"line_items": [{"item": {"id": "a-0"}, "quantity": 4}]}"#),
    ] {
        drop(cluster.psql(&format!(
            "INSERT INTO checkouts ({columns}, status, attempted_at, expires_at, document) \
             VALUES ('default', '{id}', 'o', '{id}', 1, {made}, 0, '{status}', {attempted}, 9, '{document}')"
        )));
    }
    drop(cluster.psql("INSERT INTO stock (shop, variant, product, quantity) VALUES ('default', 'a-0', 'a', 5)"));
    for (id, age) in [("new", 1), ("old", 40)] {
        drop(cluster.psql(&format!(
            "INSERT INTO orders (shop, id, owner, token, version, made, checkout_id, placed_at, document) \
             VALUES ('default', '{id}', 'o', '{id}', 1, {made}, 'of {id}', \
                 (extract(epoch FROM now())::bigint - {age} * 86400) * 1000000000, \
                 '{{\"line_items\": [{{\"item\": {{\"id\": \"a-0\"}}, \"total\": 3}}]}}')"
        )));
    }
    PostgresStore::open(&options, ucp_core::ShopId::default()).await.expect("the newest version");
    let taken = "SELECT string_agg(variant || ' ' || checkout || ' ' || quantity || ' ' || (at = 9223372036854775807), ', ' ORDER BY checkout) \
                 FROM takings";
    assert_eq!(cluster.psql(taken), "a-0 held 2 true, a-0 of new 3 false");
}

/// A gateway of the version before goes on beside this one, and plans nothing: what it leaves behind is adopted.
#[tokio::test]
async fn what_older_gateways_leave_is_on_the_agenda() {
    const OLDER: &[Migration] = &[MIGRATIONS[0], MIGRATIONS[1], MIGRATIONS[2]];
    let Some((cluster, options)) = cluster() else { return };
    let database = Database::new(&options).expect("a database");
    migrate(&database, OLDER).await.expect("the version before");
    let begins = |id: &str, cart: &str, attempt: &str, made: u32| {
        drop(cluster.psql(&format!(
            "INSERT INTO checkouts (shop, id, owner, token, version, made, held, status, cart_id, attempted_at, expires_at, document) \
             VALUES ('default', '{id}', 'o', '{id}', 1, '00000000-0000-7000-8000-00000000000{made}', 0, 'complete_in_progress', \
                 {cart}, 7, 9, '{{\"attempt\": {{\"id\": \"{attempt}\", \"handler_id\": \"stripe\"}}}}')"
        )));
    };
    begins("before", "'c1'", "pay_1", 1);
    begins("again", "'c1'", "pay_2", 2);
    drop(cluster.psql(
        "INSERT INTO orders (shop, id, owner, token, version, made, checkout_id, placed_at, document) \
         VALUES ('default', 'ord_1', 'o', 'o', 1, gen_random_uuid(), 'k', 7, \
             '{\"payment\": {\"handler_id\": \"stripe\", \"attempt_id\": \"pay_3\", \"hold\": {\"status\": \"capturing\"}}}')",
    ));
    let store = PostgresStore::open(&options, ucp_core::ShopId::default()).await.expect("the newest version");
    begins("beside", "NULL", "pay_4", 3);
    let note = |reference: &str, at: &str| {
        drop(cluster.psql(&format!("INSERT INTO remote_carts VALUES ('default', '{reference}', '{{}}', {at})")));
    };
    note("old", "5");
    note("new", "extract(epoch FROM now())::bigint * 1000000000");
    for _ in 0..2 {
        store.prune(jiff::Timestamp::now()).await.expect("prunes");
        let tasks = "SELECT string_agg(concat_ws('|', kind, key, lane, name, body), ' ' ORDER BY kind, key) FROM tasks";
        assert_eq!(
            cluster.psql(tasks),
            "abandon|old|abandon|{} move_money|ord_1|move_money:stripe|pay_3|o settle|again|settle:stripe|pay_2|o \
             settle|before|settle:stripe|pay_1|o settle|beside|settle:stripe|pay_4|o"
        );
    }
    assert_eq!(cluster.psql("SELECT string_agg(id, ',') FROM checkouts WHERE open_cart = 'c1'"), "again");
    assert_eq!(cluster.psql("SELECT reference FROM remote_carts"), "new", "a call may be about to name it");
    // It ends a checkout without giving its cart free.
    drop(
        cluster.psql("UPDATE checkouts SET status = 'completed', attempted_at = NULL, version = 2 WHERE id = 'again'"),
    );
    let made = Change { checkout: at(checkout(ALICE, "later", Some("c1")), 0), ..Change::default() };
    assert_eq!(store.commit(made, None).await.expect("commits"), Committed::Done);
    assert_eq!(cluster.psql("SELECT string_agg(id, ',') FROM checkouts WHERE open_cart = 'c1'"), "later");
}

#[tokio::test]
async fn every_key_begins_with_the_shop() {
    let Some((cluster, options)) = cluster() else { return };
    PostgresStore::open(&options, ucp_core::ShopId::default()).await.expect("opens");
    let keys = "SELECT string_agg(DISTINCT (SELECT attname FROM pg_attribute WHERE attrelid = indrelid AND attnum = indkey[0]), ',') \
                || ' of ' || count(*) FROM pg_index JOIN pg_class ON pg_class.oid = indrelid \
                JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = 'public' AND relname <> 'schema_version'";
    let keys = cluster.psql(keys);
    assert!(keys.starts_with("shop of ") && keys.len() > "shop of 9".len(), "{keys}");
    let objects = "SELECT (SELECT count(*) FROM pg_trigger) || ' ' || (SELECT count(*) FROM pg_sequence) || ' ' \
                   || (SELECT count(*) FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace WHERE nspname = 'public')";
    assert_eq!(cluster.psql(objects), "0 0 0", "no triggers, sequences or functions");
}
