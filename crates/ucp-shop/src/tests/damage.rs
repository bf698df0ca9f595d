//! Indexes that are missing, torn, foreign, behind or ahead.

use std::{fs, path::PathBuf};

use ucp_sqlite::{SqliteStore, StoreError};
use ucp_testkit::{PATIENCE, until};

use super::*;
use crate::Database;

async fn finds_all(directory: &Path) {
    let shop = open(directory);
    assert_eq!(search(&shop, "walnut").await, ["a"]);
    assert_eq!(ids(&shop.find(&query(None), &BuyerSignals::default()).await.expect("finds")), ["a", "b"]);
    // And it goes on working.
    let id = format!("new-{}", fs::read_dir(directory.join("index")).expect("index").count());
    put(&shop, &[simple(&id, "Fresh Lime")]).await;
    assert_eq!(search(&shop, "lime").await, [id.as_str()]);
}

fn index_files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory.join("index")).expect("index");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.extension().is_none_or(|extension| extension != "lock"))
        .collect();
    files.sort();
    files
}

fn catalog() -> [Record; 2] {
    [simple("a", "Walnut Table"), simple("b", "Birch Chair")]
}

#[tokio::test]
async fn a_torn_index_is_rebuilt() {
    let template = tempfile::tempdir().expect("directory");
    drop(open_with(template.path(), &catalog()));
    let names: Vec<_> =
        index_files(template.path()).iter().map(|path| path.file_name().expect("name").to_owned()).collect();
    assert!(names.len() >= 6, "{names:?}");
    let copy = |to: &Path| {
        fs::copy(template.path().join("shop.db"), to.join("shop.db")).expect("copies");
        fs::create_dir_all(to.join("index")).expect("directory");
        for path in index_files(template.path()) {
            fs::copy(&path, to.join("index").join(path.file_name().expect("name"))).expect("copies");
        }
    };
    for name in &names {
        for damage in ["removed", "emptied", "cut", "flipped"] {
            let directory = tempfile::tempdir().expect("directory");
            copy(directory.path());
            let path = directory.path().join("index").join(name);
            let mut bytes = fs::read(&path).expect("reads");
            match damage {
                "removed" => fs::remove_file(&path).expect("removes"),
                "emptied" => fs::write(&path, "").expect("writes"),
                "cut" => fs::write(&path, &bytes[..bytes.len() / 2]).expect("writes"),
                _ => {
                    let middle = bytes.len() / 2;
                    bytes[middle] ^= 0xff;
                    fs::write(&path, bytes).expect("writes");
                }
            }
            let shop = open(directory.path());
            // Some damage shows only when it is looked for, which happens right after opening.
            until(&format!("a good to be found with {name:?} {damage}"), PATIENCE, async || {
                let page = shop.find(&query(Some("walnut")), &BuyerSignals::default()).await.ok()?;
                (ids(&page) == ["a"]).then_some(())
            })
            .await;
            put(&shop, &[simple("c", "Lime")]).await;
            assert_eq!(search(&shop, "lime").await, ["c"], "{name:?} {damage}");
        }
    }
}

#[tokio::test]
async fn a_missing_index_is_rebuilt() {
    let directory = tempfile::tempdir().expect("directory");
    drop(open_with(directory.path(), &catalog()));
    fs::remove_dir_all(directory.path().join("index")).expect("removes");
    finds_all(directory.path()).await;
}

#[tokio::test]
async fn an_index_that_is_behind_reads_on() {
    let directory = tempfile::tempdir().expect("directory");
    drop(open_with(directory.path(), &catalog()[..1]));
    let statistics = |directory: &Path| {
        index_files(directory)
            .into_iter()
            .filter(|path| path.to_string_lossy().contains("statistics"))
            .collect::<Vec<_>>()
    };
    let before = statistics(directory.path());
    let database = Database::open(directory.path()).expect("opens");
    database.put(catalog()[1..].to_vec(), Timestamp::UNIX_EPOCH).await.expect("puts");
    drop(database);
    finds_all(directory.path()).await;
    assert_eq!(statistics(directory.path()), before, "it was not built anew");
}

#[tokio::test]
async fn an_index_of_another_or_newer_database_is_rebuilt() {
    let (directory, other) = (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    drop(open_with(directory.path(), &catalog()));
    let shop = open_with(other.path(), &[simple("x", "Walnut X")]);
    put(&shop, &[simple("y", "Walnut Y")]).await;
    drop(shop);
    fs::remove_dir_all(directory.path().join("index")).expect("removes");
    fs::rename(other.path().join("index"), directory.path().join("index")).expect("moves");
    finds_all(directory.path()).await;

    // A backup of the database comes back, the index stays.
    let directory = tempfile::tempdir().expect("directory");
    drop(open_with(directory.path(), &catalog()));
    let backup = fs::read(directory.path().join("shop.db")).expect("reads");
    let shop = open(directory.path());
    put(&shop, &[simple("lost", "Walnut Lost")]).await;
    drop(shop);
    fs::write(directory.path().join("shop.db"), backup).expect("writes");
    let error = Database::open(directory.path()).expect_err("it lacks what was put since");
    assert!(matches!(error, StoreError::Lost { .. }), "{error}");
    SqliteStore::accept_loss(directory.path()).expect("accepts");
    finds_all(directory.path()).await;
}

#[tokio::test]
async fn an_index_made_in_another_way_is_rebuilt() {
    let directory = tempfile::tempdir().expect("directory");
    drop(open_with(directory.path(), &catalog()));
    let connection = rusqlite::Connection::open(directory.path().join("shop.db")).expect("database");
    connection
        .execute("UPDATE shop SET market = json_set(market, '$.currencies', json('[\"GBP\"]'))", ())
        .expect("another market");
    drop(connection);
    finds_all(directory.path()).await;
}

#[tokio::test]
async fn a_lock_file_that_is_left_over_stops_nobody() {
    let directory = tempfile::tempdir().expect("directory");
    drop(open_with(directory.path(), &catalog()));
    fs::write(directory.path().join("index/.tantivy-writer.lock"), "left by a process that was killed")
        .expect("writes");
    finds_all(directory.path()).await;
}

#[tokio::test]
async fn a_shop_whose_index_another_process_holds_waits_its_turn() {
    use tantivy::{
        Directory as _,
        directory::{INDEX_WRITER_LOCK, MmapDirectory},
    };
    let directory = tempfile::tempdir().expect("directory");
    let shop = open_with(directory.path(), &catalog());
    let other = MmapDirectory::open(directory.path().join("index")).expect("opens");
    let lock = other.acquire_lock(&INDEX_WRITER_LOCK).expect("locks");
    put(&shop, &[simple("c", "Walnut Cabinet")]).await;
    // Stored and looked up, not yet found; and what was found before still is.
    assert_eq!(named(&shop, &["c"], &presentation("en", "USD")).await[0].len(), 1);
    assert_eq!(search(&shop, "walnut").await, ["a"]);
    drop(lock);
    shop.refresh().await;
    assert_eq!(search(&shop, "walnut").await, ["a", "c"]);
}

#[tokio::test]
async fn a_shop_without_an_index_says_that_it_cannot_search() {
    let directory = tempfile::tempdir().expect("directory");
    fs::write(directory.path().join("index"), "in the way").expect("writes");
    let shop = open_with(directory.path(), &catalog());
    let error = shop.find(&query(Some("walnut")), &BuyerSignals::default()).await.expect_err("no index");
    assert!(matches!(error, ucp_core::ports::PortError::Unavailable { .. }), "{error:?}");
    assert_eq!(named(&shop, &["a"], &presentation("en", "USD")).await[0].len(), 1);
    fs::remove_file(directory.path().join("index")).expect("removes");
    shop.refresh().await;
    assert_eq!(search(&shop, "walnut").await, ["a"]);
}

#[tokio::test]
async fn a_damaged_product_is_not_sold_and_the_others_are() {
    let directory = tempfile::tempdir().expect("directory");
    drop(open_with(directory.path(), &catalog()));
    let raw = rusqlite::Connection::open(directory.path().join("shop.db")).expect("database");
    raw.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).expect("as a disk does it");
    raw.execute("UPDATE products SET document = replace(document, 'Walnut', 'Wallnut') WHERE id = 'a'", ())
        .expect("damages");
    drop(raw);
    for has_index in [true, false] {
        if !has_index {
            fs::remove_dir_all(directory.path().join("index")).expect("removes");
        }
        let shop = open(directory.path());
        assert_eq!(ids(&shop.find(&query(None), &BuyerSignals::default()).await.expect("finds")), ["b"]);
        assert_eq!(search(&shop, "birch").await, ["b"]);
        let found = named(&shop, &["a", "b"], &presentation("en", "USD")).await;
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1]);
    }
    let faults = SqliteStore::open(directory.path()).expect("opens").faults().expect("checks");
    assert_eq!(faults, ["`products`: the row `a` is not as it was written"]);
}

/// The files of a database, with what is in them.
fn database_files(directory: &Path) -> Vec<(String, Option<Vec<u8>>)> {
    ["", "-wal", "-shm"]
        .map(|suffix| format!("shop.db{suffix}"))
        .map(|name| (name.clone(), fs::read(directory.join(name)).ok()))
        .into()
}

/// A directory as a killed process leaves it: with a log that is needed.
fn killed() -> tempfile::TempDir {
    let (directory, copy) = (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    let database = Database::open_or_create(directory.path(), || opening(&catalog())).expect("opens");
    for (name, content) in database_files(directory.path()) {
        fs::write(copy.path().join(name), content.expect("a file")).expect("copies");
    }
    drop(database);
    assert!(!directory.path().join("shop.db-wal").exists(), "the last one to close the database puts the log away");
    copy
}

fn refused(directory: &Path) -> String {
    let before = database_files(directory);
    let open = Database::open(directory).expect_err("no database");
    let create = Database::open_or_create(directory, || panic!("there is something")).expect_err("no database");
    assert_eq!(open.to_string(), create.to_string());
    assert!(matches!(open, StoreError::NoDatabase { .. }), "{open:?}");
    assert!(database_files(directory) == before, "whatever may be worth rescuing is left as it is");
    open.to_string()
}

#[test]
fn a_file_that_is_no_database_is_refused_whatever_its_log_says() {
    let whole = fs::read(killed().path().join("shop.db")).expect("reads");
    let changed = |place: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[place] = byte;
        bytes
    };
    for (content, said) in [
        (b"garbage".repeat(1_000), "it must begin with the header of one (`SQLite format 3`)"),
        (b"SQLite format 3\0".to_vec(), "it must begin with the header of one"),
        (vec![0; 4_096], "it must begin with the header of one"),
        (changed(0, b's'), "it must begin with the header of one"),
        (changed(16, 3), "it must begin with the header of one"),
        (changed(19, 3), "it must begin with the header of one"),
        (changed(22, 33), "it must begin with the header of one"),
        (whole[..4_095].to_vec(), "it must hold at least one page of 4096 bytes"),
        (Vec::new(), "shop.db-wal belongs to"),
    ] {
        let directory = killed();
        let log = directory.path().join("shop.db-wal");
        fs::write(directory.path().join("shop.db"), &content).expect("writes");
        for has_log in [true, false] {
            if !has_log {
                fs::remove_file(&log).expect("removes");
                if content.is_empty() {
                    continue;
                }
            }
            let error = refused(directory.path());
            assert!(error.contains("shop.db is not an SQLite database: ") && error.contains(said), "{error}");
        }
    }
    let directory = killed();
    fs::remove_file(directory.path().join("shop.db")).expect("removes");
    assert!(refused(directory.path()).contains("shop.db-wal belongs to"));
}

#[tokio::test]
async fn an_odd_name_a_log_and_an_empty_file_are_no_reason_to_refuse() {
    let directory = killed();
    let odd = directory.path().join("50% off? #1 & more é");
    fs::create_dir(&odd).expect("directory");
    for (name, content) in database_files(directory.path()) {
        fs::write(odd.join(name), content.expect("a file")).expect("copies");
    }
    for directory in [directory.path(), &odd] {
        let database = Database::open(directory).expect("opens");
        // Opened while it is open: the first one keeps its locks, and so its log.
        drop(Database::open(directory).expect("opens"));
        assert!(directory.join("shop.db-wal").exists());
        drop(database);
        finds_all(directory).await;
    }
    let empty = tempfile::tempdir().expect("directory");
    fs::write(empty.path().join("shop.db"), "").expect("writes");
    drop(Database::open_or_create(empty.path(), || opening(&catalog())).expect("opens"));
    finds_all(empty.path()).await;
}
