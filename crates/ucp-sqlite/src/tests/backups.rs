//! Copies of a database: made, checked, put back.

use std::{fs, os::unix::fs::PermissionsExt as _};

use super::count;
use crate::{
    BackupError, SqliteStore, StoreError,
    backup::before_migration,
    store::{FILE, connect},
};

fn products(store: &SqliteStore) -> i64 {
    store.snapshot(|db| crate::revision::count_since(db, 0)).expect("counts")
}

#[test]
fn a_copy_is_what_was_there_and_only_its_owner_can_read_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let (data, other, file) =
        (directory.path().join("data"), directory.path().join("other"), directory.path().join("copy"));
    let store = SqliteStore::open_or_create(&data).expect("creates");
    count(&store, &[("a", 1), ("b", 2)]);
    let bytes = store.back_up(&file).expect("copies");
    count(&store, &[("c", 3)]);

    let written = fs::metadata(&file).expect("a file");
    assert_eq!((written.len(), written.permissions().mode() & 0o777), (bytes, 0o600));
    assert!(matches!(store.back_up(&file), Err(BackupError::Exists(name)) if name == file));
    assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 2, "nothing else is left beside");

    SqliteStore::restore(&file, &other).expect("restores");
    let restored = SqliteStore::open(&other).expect("opens");
    assert_eq!((products(&restored), products(&store)), (2, 3));
    assert_eq!(restored.faults().expect("checks"), Vec::<String>::new());
    assert!(matches!(SqliteStore::restore(&file, &other), Err(BackupError::Occupied(_))), "it is in use");
}

#[test]
fn what_is_damaged_or_newer_is_not_restored() {
    let directory = tempfile::tempdir().expect("a directory");
    let (data, other, file) =
        (directory.path().join("data"), directory.path().join("other"), directory.path().join("copy"));
    let store = SqliteStore::open_or_create(&data).expect("creates");
    count(&store, &[("a", 1)]);
    store.back_up(&file).expect("copies");
    let whole = fs::read(&file).expect("reads");

    // The newest page is overwritten.
    let mut damaged = whole.clone();
    let last = damaged.len() - 4_096;
    damaged[last..].fill(0xff);
    fs::write(&file, damaged).expect("writes");
    let error = SqliteStore::restore(&file, &other).expect_err("damaged");
    assert!(matches!(&error, BackupError::Damaged { .. }), "{error}");

    fs::write(&file, &whole).expect("writes");
    connect(&file).and_then(|newer| newer.pragma_update(None, "user_version", 99)).expect("a newer gateway");
    let error = SqliteStore::restore(&file, &other).expect_err("newer");
    assert!(matches!(&error, BackupError::Store(StoreError::Newer { found: 99, .. })), "{error}");

    fs::write(&file, "no database at all").expect("writes");
    let error = SqliteStore::restore(&file, &other).expect_err("no database");
    assert!(matches!(&error, BackupError::Store(StoreError::NoDatabase { .. })), "{error}");
    assert!(!other.join(FILE).exists(), "nothing was restored");
}

#[test]
fn documents_that_lack_what_they_need_are_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = SqliteStore::open_or_create(directory.path()).expect("creates");
    connect(store.path())
        .and_then(|connection| {
            connection.execute_batch(
                "INSERT INTO checkouts (shop, id, owner, version, status, expires_at, document)
                 VALUES ('default', 'chk_1', 'p', 1, 'completed', 1, '{}');
                 INSERT INTO carts (shop, id, owner, version, expires_at, document)
                 VALUES ('default', 'cart_1', 'p', 1, 1, '{\"id\":');
                 INSERT INTO carts (shop, id, owner, version, expires_at, document)
                 VALUES ('default', 'cart_2', 'p', 1, 1, '{\"totals\":[{\"kind\":\"subtotal\",\"amount\":7},{\"kind\":\"total\",\"amount\":7}]}'),
                 ('default', 'cart_3', 'p', 1, 1, '{\"totals\":[{\"kind\":\"subtotal\",\"amount\":7},{\"kind\":\"total\",\"amount\":5}]}');
                 INSERT INTO kept (shop, owner, operation, resource, key, identity, answer, at)
                 VALUES ('default', 'p', 'create_cart', '', 'whole', zeroblob(32), '{}' || char(10) || '{}', 1),
                 ('default', 'p', 'create_cart', '', 'half', zeroblob(32), '{}' || char(10) || '{', 1);",
            )
        })
        .expect("writes");
    assert_eq!(
        store.faults().expect("checks"),
        [
            "cart `cart_1`: its document is not JSON",
            "the answer under the idempotency key `half` is not JSON",
            "checkout `chk_1` is completed and has no order",
            "cart `cart_3`: its totals do not add up",
        ]
    );
}

#[test]
fn a_copy_is_made_before_the_schema_changes() {
    let directory = tempfile::tempdir().expect("a directory");
    drop(SqliteStore::open_or_create(directory.path()).expect("creates"));
    let names = || {
        let mut names: Vec<_> = fs::read_dir(directory.path())
            .expect("a directory")
            .map(|file| file.expect("a file").file_name().into_string().expect("UTF-8"))
            .filter(|name| !["-wal", "-shm", "-commits"].iter().any(|suffix| name.ends_with(suffix)))
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(), [FILE], "a new database has nothing to copy");
    let file = directory.path().join(FILE);
    let connection = connect(&file).expect("opens");
    let write = |file: &std::path::Path, seconds| {
        let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        fs::File::options().append(true).open(file).and_then(|file| file.set_modified(time)).expect("a time");
    };
    let log = directory.path().join(format!("{FILE}-wal"));
    for number in 1..=2 {
        // Written since the copy was made.
        for written in [&file, &log] {
            write(written, u64::pow(2, 33));
        }
        let copy = before_migration(&connection, &file, 7).expect("copies");
        assert_eq!(SqliteStore::restore(&copy, &directory.path().join(number.to_string())).map_err(drop), Ok(()));
    }
    assert_eq!(names(), ["1", "2", FILE, "shop.db.version-7", "shop.db.version-7.2"]);
    // An attempt that was broken off after its copy.
    for written in [&file, &log] {
        write(written, 1);
    }
    before_migration(&connection, &file, 7).expect("is there");
    assert_eq!(names(), ["1", "2", FILE, "shop.db.version-7", "shop.db.version-7.2"]);
}
