//! Disks that are full or broken, and processes that are killed.
//!
//! The processes are this test binary, started again for one of the ignored tests below.

use std::{
    collections::HashSet,
    env,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use ucp_core::{Code, ports::PortError};
use ucp_testkit::{
    PATIENCE,
    leash::{self, Leashed, Lines},
    within,
};

use super::*;

const DIRECTORY: &str = "UCP_STORE_TEST_DIRECTORY";

/// Quantity in stock at the beginning.
const STOCK: u64 = 1_000_000;

fn directory() -> Option<PathBuf> {
    env::var_os(DIRECTORY).map(Into::into)
}

/// Lets a command run one of the tests below.
fn running<'a>(command: &'a mut Command, test: &str, directory: &Path) -> &'a mut Command {
    let test = format!("ledger::tests::failures::{test}");
    command.args(["--exact", &test, "--ignored", "--nocapture"]).env(DIRECTORY, directory)
}

fn this_binary() -> PathBuf {
    env::current_exe().expect("this binary")
}

/// Everything that a purchase leaves in the store.
pub(super) fn purchase(number: usize) -> (Change, Option<(Key, Kept)>) {
    let id = number.to_string();
    let change = Change {
        cart: at(cart(ALICE, &id), 0),
        checkout: at(checkout(ALICE, &id, Some(&id)), 0),
        order: at(order(ALICE, &id, &id), 0),
        stock: vec![movement("a-0", -1)],
        ..Change::default()
    };
    (change, Some((key(ALICE, &id, &id), kept(&"answer ".repeat(500)))))
}

/// Returns `true` if a purchase is in the store, and checks that it is there as a whole or not at all.
async fn is_there(store: &SqliteStore, number: usize) -> bool {
    let id = number.to_string();
    let parts = [
        store.cart(ALICE, &id).await.expect("reads").is_some(),
        store.checkout(ALICE, &id).await.expect("reads").is_some(),
        store.order(ALICE, &id).await.expect("reads").is_some(),
        store.kept(&key(ALICE, &id, &id)).await.expect("reads").is_some(),
    ];
    assert!(parts.iter().all(|part| *part == parts[0]), "{number}: {parts:?}");
    parts[0]
}

async fn in_stock(store: &SqliteStore) -> u64 {
    store.stock(&["a-0"]).await.expect("reads")[0].expect("counted")
}

/// Makes purchases at once, and checks that they are there or not, as was said of each. Yields how many are not.
async fn purchases(store: &SqliteStore, numbers: std::ops::Range<usize>) -> usize {
    let before = in_stock(store).await;
    let tasks: Vec<_> = numbers
        .clone()
        .map(|number| {
            let (store, (change, keep)) = (store.clone(), purchase(number));
            tokio::spawn(async move { store.commit(change, keep).await })
        })
        .collect();
    let mut made = 0;
    for (task, number) in tasks.into_iter().zip(numbers.clone()) {
        let committed = match within("a purchase", PATIENCE, task).await.expect("no panic") {
            Ok(committed) => {
                assert_eq!(committed, Committed::Done);
                made += 1;
                true
            }
            Err(error) => {
                assert!(matches!(error, PortError::Unavailable { .. }), "{error:?}");
                false
            }
        };
        assert_eq!(is_there(store, number).await, committed, "{number}");
    }
    assert_eq!(in_stock(store).await, before - made);
    numbers.len() - usize::try_from(made).expect("small")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_and_recovers() {
    let directory = tempfile::tempdir().expect("directory");
    let store = open(directory.path(), &[("a-0", STOCK)]);
    let limit = |pages: i64| {
        let set = move |db: ShopConnection<'_>| {
            let held: i64 = db.pragma_query_value(None, "page_count", |row| row.get(0))?;
            let limit = if pages == 0 { i64::from(u32::MAX) - 1 } else { held + pages };
            Ok(db.pragma_update_and_check(None, "max_page_count", limit, |_| Ok(()))?)
        };
        store.execute_blocking(set).expect("sets");
    };
    let mut next = 0;
    for (room, count) in [(20, 64), (1, 8), (150, 200)] {
        tokio::task::block_in_place(|| limit(room));
        let failed = purchases(&store, next..next + count).await;
        assert!(failed > 0, "{room} pages were enough for {count} purchases");
        next += count;
        tokio::task::block_in_place(|| limit(0));
        assert_eq!(purchases(&store, next..next + 8).await, 0);
        next += 8;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by the test that limits what it can write"]
async fn limited() {
    let Some(directory) = directory() else { return };
    let store = open(&directory, &[]);
    let mut next = 0;
    // Beyond the limit every write of a file fails, as on a disk that is broken.
    while purchases(&store, next..next + 20).await < 20 {
        next += 20;
        assert!(next < 20_000, "there was room for {next} purchases");
    }
    next += 20;
    let raised = Command::new("prlimit")
        .args(["--fsize=unlimited", "--pid", &std::process::id().to_string()])
        .status()
        .expect("prlimit of util-linux");
    assert!(raised.success());
    assert_eq!(purchases(&store, next..next + 20).await, 0);
    println!("recovered");
}

#[tokio::test]
async fn a_disk_that_fails_refuses_and_recovers() {
    let directory = tempfile::tempdir().expect("directory");
    drop(open(directory.path(), &[("a-0", STOCK)]));
    // In units of 512 bytes; the signal is ignored, so that the write itself fails.
    let limited = "trap '' XFSZ; ulimit -S -f 4000; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.arg("-c").arg(limited).arg(this_binary());
    let output = leash::run(running(&mut command, "limited", directory.path()), |_| Ok(()));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("recovered"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by the test that kills it"]
async fn buy() {
    let Some(directory) = directory() else { return };
    let store = open(&directory, &[]);
    // Where the one before it was killed.
    let first = usize::try_from(STOCK - in_stock(&store).await).expect("small") * 10;
    println!("begins");
    let tasks: Vec<_> = (0..8)
        .map(|caller| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in (first + caller..).step_by(8) {
                    let (change, keep) = purchase(number);
                    if store.commit(change, keep).await.expect("commits") == Committed::Done {
                        println!("bought {number}.");
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("buys");
    }
}

#[tokio::test]
async fn a_purchase_is_all_there_or_not_at_all_whenever_the_process_is_killed() {
    let directory = tempfile::tempdir().expect("directory");
    drop(open(directory.path(), &[("a-0", STOCK)]));
    let mut acknowledged = HashSet::new();
    for after in [1, 7, 20, 45, 90, 10, 150, 30, 4, 60] {
        let mut command = Command::new(this_binary());
        let command = running(&mut command, "buy", directory.path());
        let mut child = Leashed::start(command, Stdio::piped(), Stdio::null());
        let lines = Lines::of(child.stdout());
        let begun = lines.until("a process begins", |line| line.ends_with("begins"));
        assert!(begun.last().is_some_and(|line| line.ends_with("begins")), "{begun:?}");
        std::thread::sleep(Duration::from_millis(after));
        child.kill();
        let said = lines.until("a killed process has said all", |_| false);
        let numbers = said.iter().filter_map(|line| line.strip_prefix("bought ")?.strip_suffix('.')?.parse().ok());
        acknowledged.extend(numbers.collect::<Vec<usize>>());

        let store = open(directory.path(), &[]);
        let sold = STOCK - in_stock(&store).await;
        let rows = ["carts", "checkouts", "orders", "kept"].map(|table| store.rows(table).unsigned_abs());
        assert_eq!(rows, [sold; 4], "after {after} ms");
        for number in &acknowledged {
            assert!(is_there(&store, *number).await, "{number} was acknowledged");
        }
        let intact = |db: ShopConnection<'_>| db.query_row("PRAGMA integrity_check", (), |row| row.get::<_, String>(0));
        assert_eq!(store.snapshot(intact).expect("checks"), "ok");
    }
    assert!(!acknowledged.is_empty());
}

#[tokio::test]
async fn a_document_that_cannot_be_read_is_no_answer_and_not_logged() {
    let directory = tempfile::tempdir().expect("directory");
    let store = open(directory.path(), &[]);
    assert_eq!(store.commits(Change { cart: at(cart(ALICE, "c"), 0), ..Change::default() }).await, Committed::Done);
    let damage = |db: ShopConnection<'_>| {
        Ok(db.execute("UPDATE carts SET document = json_set(document, '$.lines_ever', 'canary')", ())?)
    };
    store.execute(damage).await.expect("damages");
    let error = store.cart(ALICE, "c").await.expect_err("damaged");
    let PortError::Refused(refusal) = error else { panic!("{error:?}") };
    assert_eq!(refusal.code, Code::StoredDataDamaged);
    let read = |db: ShopConnection<'_>| {
        let sql = format!("SELECT {} FROM carts", super::super::stored_columns("carts"));
        db.query_row(&sql, (), super::super::stored::<Cart>)
    };
    let error = store.snapshot(read).expect_err("damaged");
    assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
}
