//! Bits that flip on the disk, in the database and in its log.

use std::fs;

use rusqlite::{Connection, config::DbConfig};
use tempfile::TempDir;
use ucp_core::{Code, ports::PortError};

use super::{failures, *};
use crate::{StoreError, checksum, store::FILE};

/// The files of a database that are there after a process was killed.
const FILES: [&str; 3] = [FILE, "shop.db-wal", "shop.db-commits"];

/// Everything that a purchase leaves in the store, with an answer as it is kept.
fn purchase(number: usize) -> (Change, Option<(Key, Kept)>) {
    let (change, keep) = failures::purchase(number);
    let kept = |(key, _)| (key, kept(&format!("{{}}\n\"{}\"", "answer ".repeat(500))));
    (change, keep.map(kept))
}

/// A data directory as a process that was killed leaves it after so many purchases.
async fn killed(purchases: usize) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path(), &[("a-0", 1_000)]);
    buy(&store, 0..purchases).await;
    copy_of(directory.path())
}

async fn buy(store: &SqliteStore, numbers: std::ops::Range<usize>) {
    for number in numbers {
        let (change, keep) = purchase(number);
        assert_eq!(store.commit(change, keep).await.expect("commits"), Committed::Done);
    }
}

fn copy_of(directory: &Path) -> TempDir {
    let copy = tempfile::tempdir().expect("a directory");
    for name in FILES {
        if directory.join(name).exists() {
            fs::copy(directory.join(name), copy.path().join(name)).expect("copies");
        }
    }
    copy
}

/// Changes the bytes of a file.
fn change(path: &Path, change: impl FnOnce(&mut [u8])) {
    let mut bytes = fs::read(path).expect("reads");
    change(&mut bytes);
    fs::write(path, bytes).expect("writes");
}

/// Everything in a database, row by row.
fn contents(directory: &Path) -> Vec<String> {
    let connection = Connection::open(directory.join(FILE)).expect("opens");
    let mut tables = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")
        .expect("a statement");
    let tables: Vec<String> = tables.query_map((), |row| row.get(0)).expect("tables").flatten().collect();
    let mut found = Vec::new();
    for table in tables {
        let mut statement = connection.prepare(&format!("SELECT * FROM {table}")).expect("a statement");
        let columns = statement.column_count();
        let mut rows = statement.query(()).expect("rows");
        while let Some(row) = rows.next().expect("a row") {
            let values: Vec<_> = (0..columns).map(|column| row.get_ref(column).expect("a value")).collect();
            found.push(format!("{table} {values:?}"));
        }
    }
    found
}

/// Fault that opening and checking a data directory finds; `None` if there is none.
fn named(directory: &Path) -> Option<String> {
    let store = match SqliteStore::open(directory) {
        Ok(store) => store,
        Err(error) => return Some(error.to_string()),
    };
    match store.faults() {
        Ok(faults) => faults.into_iter().next(),
        Err(error) => Some(error.to_string()),
    }
}

#[tokio::test]
async fn orders_that_the_log_has_lost_are_missed_and_the_loss_can_be_accepted() {
    const HEADER: usize = 32;
    const FRAME: usize = 24 + 4_096;
    let directory = killed(40).await;
    let log = fs::read(directory.path().join("shop.db-wal")).expect("a log");
    let frames = (log.len() - HEADER) / FRAME;
    let places = [
        ("the salt of the log", 17),
        ("the first frame", HEADER + 100),
        ("a salt of a frame", HEADER + frames / 2 * FRAME + 9),
        ("a frame in the middle", HEADER + frames / 2 * FRAME + 2_000),
        ("the last frame", HEADER + (frames - 1) * FRAME + 2_000),
    ];
    for (what, at) in places {
        for has_witness in [true, false] {
            let damaged = copy_of(directory.path());
            let path = damaged.path();
            change(&path.join("shop.db-wal"), |log| log[at] ^= 4);
            if !has_witness {
                fs::remove_file(path.join("shop.db-commits")).expect("removes");
            }
            let before = fs::read(path.join("shop.db-wal")).expect("reads");
            // Without the number beside it, a log that ends early is one whose last commit was under way.
            let opened = SqliteStore::open(path);
            if !has_witness && (at < HEADER || at > log.len() - FRAME) {
                opened.expect("it opens");
                continue;
            }
            let error = opened.expect_err(what);
            assert!(matches!(error, StoreError::Lost { .. }), "{what}: {error}");
            assert!(error.to_string().contains(" commits "), "{what}: {error}");
            assert!(fs::read(path.join("shop.db-wal")).expect("reads") == before, "{what}: it is left as it was");

            let copy = SqliteStore::accept_loss(path).expect("accepts").expect("a copy of the log");
            assert!(fs::read(copy).expect("reads") == before, "{what}");
            let store = SqliteStore::open(path).expect("opens");
            assert!(store.rows("orders") < 40, "{what}");
            buy(&store, 100..110).await;
            drop(store);
            assert_eq!(named(path), None, "{what}");
        }
    }
}

#[tokio::test]
async fn a_log_that_is_gone_is_missed_and_a_restored_copy_is_not_mistaken_for_a_loss() {
    let directory = killed(3).await;
    let kept = copy_of(directory.path());
    fs::remove_file(directory.path().join("shop.db-wal")).expect("removes");
    let error = SqliteStore::open(directory.path()).expect_err("it is gone");
    assert!(matches!(error, StoreError::Lost { .. }), "{error}");

    let store = SqliteStore::open(kept.path()).expect("opens");
    let backup = kept.path().join("backup");
    store.back_up(&backup).expect("copies");
    buy(&store, 10..20).await;
    drop(store);
    fs::remove_file(kept.path().join(FILE)).expect("removes");
    SqliteStore::restore(&backup, kept.path()).expect("restores");
    let store = SqliteStore::open(kept.path()).expect("opens");
    assert_eq!((store.rows("orders"), store.faults().expect("checks")), (3, vec![]));
}

#[tokio::test]
async fn a_commit_that_the_power_failed_under_is_no_loss() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path(), &[("a-0", 1_000)]);
    buy(&store, 0..5).await;
    let before = copy_of(directory.path());
    buy(&store, 5..6).await;
    let after = copy_of(directory.path());
    let whole = fs::read(before.path().join("shop.db-wal")).expect("a log").len();
    fs::copy(before.path().join("shop.db-commits"), after.path().join("shop.db-commits")).expect("copies");
    // Its first frame never reached the disk, its last one did.
    change(&after.path().join("shop.db-wal"), |log| log[whole..whole + 4_000].fill(0));
    let store = SqliteStore::open(after.path()).expect("opens");
    assert_eq!((store.rows("orders"), store.faults().expect("checks")), (5, vec![]));
}

#[tokio::test]
async fn a_row_that_is_not_as_it_was_written_is_refused_and_the_rest_sells() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path(), &[("a-0", 1_000), ("a-1", 5)]);
    buy(&store, 0..3).await;
    let raw = Connection::open(store.path()).expect("opens");
    // As a disk does it, which knows nothing of triggers.
    raw.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).expect("without triggers");
    raw.execute_batch(
        "UPDATE orders SET document = replace(document, '1001', '1009') WHERE id = '1';
         UPDATE kept SET answer = replace(answer, 'answer answer', 'answer answeR') WHERE key = '2';
         UPDATE stock SET quantity = quantity + 1024 WHERE variant = 'a-1';",
    )
    .expect("damages");
    drop(raw);
    let refused = |error: PortError| match error {
        PortError::Refused(refusal) => refusal.code,
        error => panic!("{error:?}"),
    };
    assert_eq!(refused(store.order(ALICE, "1").await.expect_err("damaged")), Code::StoredDataDamaged);
    assert_eq!(refused(store.kept(&key(ALICE, "2", "2")).await.expect_err("damaged")), Code::StoredDataDamaged);
    let (change, keep) = purchase(2);
    assert_eq!(refused(store.commit(change, keep).await.expect_err("bought before")), Code::StoredDataDamaged);
    let taken = Change { stock: vec![movement("a-1", -1)], ..Change::default() };
    assert_eq!(refused(store.commit(taken, None).await.expect_err("damaged")), Code::StoredDataDamaged);
    buy(&store, 3..5).await;
    assert!(store.order(ALICE, "0").await.expect("reads").is_some());
    assert_eq!(
        store.faults().expect("checks"),
        [
            "`stock`: the row `a-1` is not as it was written",
            "`orders`: the row `1` is not as it was written",
            "`kept`: the row `2` is not as it was written",
        ]
    );
}

#[tokio::test]
async fn a_row_that_another_program_writes_has_no_checksum_until_it_is_written_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path(), &[("a-0", 1_000)]);
    buy(&store, 0..1).await;
    let raw = Connection::open(store.path()).expect("opens");
    let sums = || {
        let sql = format!("SELECT (SELECT sum = {0} FROM stock), (SELECT sum = {0} FROM orders)", checksum::NONE);
        raw.query_row(&sql, (), |row| Ok((row.get(0)?, row.get(1)?))).expect("two")
    };
    assert_eq!(sums(), (false, false));
    raw.execute_batch("UPDATE stock SET quantity = 9; UPDATE orders SET document = replace(document, '1001', '1009')")
        .expect("writes");
    assert_eq!(sums(), (true, true));
    assert_eq!(store.order(ALICE, "0").await.expect("reads").expect("an order").document.label, "1009");
    buy(&store, 1..2).await;
    assert_eq!((sums(), store.faults().expect("checks")), ((false, true), vec![]));
}

/// `UCP_FLIPS_SEED` repeats how chance began.
#[tokio::test]
async fn each_of_twenty_flipped_bits_is_named_or_has_no_effect() {
    let mut random = [0; 8];
    getrandom::fill(&mut random).expect("random numbers");
    let seed = std::env::var("UCP_FLIPS_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or(u64::from_le_bytes(random) >> 16);
    println!("UCP_FLIPS_SEED={seed}");
    let mut state = seed;
    let mut chance = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % below
    };
    let killed = killed(60).await;
    let closed = copy_of(killed.path());
    drop(SqliteStore::open(closed.path()).expect("opens"));
    let whole = contents(copy_of(killed.path()).path());
    assert_eq!(contents(closed.path()), whole);
    assert_eq!((named(copy_of(killed.path()).path()), named(copy_of(closed.path()).path())), (None, None));
    for number in 0..20 {
        let (directory, file) = if number % 2 == 0 { (&killed, "shop.db-wal") } else { (&closed, FILE) };
        let damaged = copy_of(directory.path());
        let (mut at, bit) = (0, chance(8));
        change(&damaged.path().join(file), |bytes| {
            at = chance(bytes.len());
            bytes[at] ^= 1 << bit;
        });
        if named(damaged.path()).is_none() {
            assert!(contents(damaged.path()) == whole, "seed {seed}: bit {bit} of byte {at} of {file} went unnoticed");
        }
    }
}
