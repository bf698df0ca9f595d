//! Processes that are killed: what they leave behind is whole.
//!
//! The processes are this test binary, started again for one of the ignored tests below.

use std::{
    env,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use ucp_sqlite::{StoreError, revision::count_since};
use ucp_testkit::leash::{Leashed, Lines};

use super::*;
use crate::Database;

const DIRECTORY: &str = "UCP_STORE_TEST_DIRECTORY";

const COUNT: usize = 2_000;

fn goods() -> impl Iterator<Item = Record> {
    (0..COUNT).map(|number| simple(&format!("p{number}"), &format!("Thing number {number}")))
}

fn directory() -> Option<PathBuf> {
    env::var_os(DIRECTORY).map(Into::into)
}

/// Returns `true` if a process says with this line that it begins.
fn begins(line: &str) -> bool {
    line.ends_with("begins")
}

/// Runs a test below in a process that is killed `after` it has begun.
fn run_and_kill(test: &str, directory: &Path, after: Duration) {
    let mut command = Command::new(env::current_exe().expect("this binary"));
    command.args(["--exact", &format!("tests::killing::{test}"), "--ignored", "--nocapture"]).env(DIRECTORY, directory);
    let mut child = Leashed::start(&command, Stdio::piped(), Stdio::null());
    // It says when it begins; the test harness says something before.
    let said = Lines::of(child.stdout()).until("a process begins", begins);
    assert!(said.last().is_some_and(|line| begins(line)), "{said:?}");
    std::thread::sleep(after);
    child.kill();
}

#[test]
#[ignore = "run by the tests that kill it"]
fn fill() {
    let Some(directory) = directory() else { return };
    let goods: Vec<_> = goods().collect();
    println!("begins");
    drop(Database::open_or_create(&directory, || opening(&goods)));
    std::thread::sleep(Duration::from_secs(60));
}

#[tokio::test]
#[ignore = "run by the tests that kill it"]
async fn import() {
    let Some(directory) = directory() else { return };
    let shop = EmbeddedShop::open(&Options::new(&directory)).expect("opens");
    println!("begins");
    let goods: Vec<_> = goods().collect();
    for batch in goods.chunks(20) {
        put(&shop, batch).await;
    }
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_first_start_that_is_killed_leaves_all_or_nothing() {
    for after in [0, 5, 20, 40, 60, 80, 120, 200, 400] {
        let directory = tempfile::tempdir().expect("directory");
        run_and_kill("fill", directory.path(), Duration::from_millis(after));
        match Database::open(directory.path()) {
            Ok(database) => {
                let count = database.store().snapshot(|db| count_since(db, 0)).expect("count");
                assert_eq!(count, i64::try_from(COUNT).expect("small"), "after {after} ms");
            }
            Err(error) => assert!(matches!(error, StoreError::Missing { .. }), "after {after} ms: {error}"),
        }
        // And the next start is like a first one.
        let database =
            Database::open_or_create(directory.path(), || opening(&goods().collect::<Vec<_>>())).expect("opens");
        let count = database.store().snapshot(|db| count_since(db, 0)).expect("count");
        assert_eq!(count, i64::try_from(COUNT).expect("small"), "after {after} ms");
    }
}

#[tokio::test]
async fn a_shop_that_is_killed_finds_what_it_stored() {
    let directory = tempfile::tempdir().expect("directory");
    drop(open(directory.path()));
    for after in [30, 150, 90, 300] {
        run_and_kill("import", directory.path(), Duration::from_millis(after));
        let shop = open(directory.path());
        let count = shop.database().store().snapshot(|db| count_since(db, 0)).expect("count");
        let found = all_pages(&shop, query(Some("things"))).await;
        assert_eq!(i64::try_from(found.len()).expect("small"), count, "after {after} ms");
        assert_eq!(all_pages(&shop, query(None)).await.len(), found.len());
    }
}
