//! Rates of the store, printed and not judged. Run with `--ignored --nocapture --release`.

use std::{fs::File, io::Write as _, time::Instant};

use super::*;

/// A checkout of an ordinary size.
fn ordinary(number: usize) -> Checkout {
    let mut checkout = checkout(ALICE, &format!("chk_{number:032x}"), None);
    let line = checkout.line_items[0].clone();
    checkout.line_items = vec![line; 4];
    checkout.draft = serde_json::from_value(json!({
        "line_items": [{"item": "a-0", "quantity": 2}, {"item": "b-0", "quantity": 1}],
        "buyer": {"first_name": "Ada", "last_name": "Example", "email": "ada@example.com"},
        "fulfillment": {"methods": [{"kind": "shipping", "destinations": [{"address": {
            "street_address": "1 Main Street", "address_locality": "Springfield", "address_country": "US",
        }}]}]},
    }))
    .expect("a draft");
    checkout
}

#[expect(clippy::cast_precision_loss, reason = "a figure to look at")]
fn report(what: &str, count: usize, started: Instant) {
    let seconds = started.elapsed().as_secs_f64();
    println!("{what}: {:.0}/s ({:.1} µs each)", count as f64 / seconds, seconds * 1e6 / count as f64);
}

fn bare_fsyncs(directory: &Path, bytes: usize) {
    const COUNT: usize = 400;
    let mut file = File::create(directory.join("bare")).expect("creates");
    let block = vec![7; bytes];
    let started = Instant::now();
    for _ in 0..COUNT {
        file.write_all(&block).expect("writes");
        file.sync_data().expect("syncs");
    }
    report(&format!("bare write of {bytes} bytes and fdatasync"), COUNT, started);
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes: Option<u64> = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kilobytes.unwrap_or_default() / 1024
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "reports figures"]
async fn rates() {
    // Beside the build, not in memory.
    let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("directory");
    bare_fsyncs(directory.path(), 4096);
    bare_fsyncs(directory.path(), 65_536);
    let store = open(directory.path(), &[("a-0", 1_000_000)]);
    let answer = "x".repeat(6_000);
    let mut made = 0;
    for callers in [1, 16, 64, 256, 1024] {
        let each = (callers * 20).clamp(400, 20_480) / callers;
        let started = Instant::now();
        let tasks: Vec<_> = (0..callers)
            .map(|caller| {
                let (store, answer, first) = (store.clone(), answer.clone(), made + caller * each);
                tokio::spawn(async move {
                    for number in first..first + each {
                        let change = Change { checkout: at(ordinary(number), 0), ..Change::default() };
                        let key = key(ALICE, "", &format!("{:032x}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
                        assert_eq!(store.keeps(change, key, kept(&answer)).await, Committed::Done);
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("commits");
        }
        made += callers * each;
        report(&format!("creates by {callers} callers"), callers * each, started);
    }
    println!("{made} checkouts, {} MiB resident", resident());
    while made < 100_000 {
        let tasks: Vec<_> = (made..made + 1_000)
            .map(|number| {
                let store = store.clone();
                let change = Change { checkout: at(ordinary(number), 0), ..Change::default() };
                tokio::spawn(async move { store.commits(change).await })
            })
            .collect();
        for task in tasks {
            assert_eq!(task.await.expect("commits"), Committed::Done);
        }
        made += 1_000;
    }
    println!("{made} checkouts, {} MiB resident", resident());
    let length = serde_json::to_string(&ordinary(0)).expect("writes").len();
    const READS: usize = 20_000;
    let id = |number: usize| format!("chk_{:032x}", number.wrapping_mul(7919) % made);
    let started = Instant::now();
    for number in 0..READS {
        assert!(store.checkout(ALICE, &id(number)).await.expect("reads").is_some());
    }
    report(&format!("reads of {length} bytes by one caller, on its thread"), READS, started);
    let started = Instant::now();
    for number in 0..READS {
        let (store, id) = (store.clone(), id(number));
        let read = move || {
            let columns = super::super::stored_columns("checkouts");
            let sql = format!("SELECT {columns} FROM checkouts WHERE shop = ? AND id = ? AND owner = ?");
            store.snapshot(|db| {
                db.prepare_cached(&sql)?.query_row((db.shop(), &id, ALICE), super::super::stored::<Checkout>)
            })
        };
        tokio::task::spawn_blocking(read).await.expect("reads").expect("reads");
    }
    report("the same by one caller, on another thread", READS, started);
    let started = Instant::now();
    let text = serde_json::to_string(&ordinary(0)).expect("writes");
    for _ in 0..READS {
        std::hint::black_box(serde_json::from_str::<Checkout>(&text).expect("reads"));
    }
    report("parsing alone", READS, started);
    for callers in [2, 64] {
        let started = Instant::now();
        let tasks: Vec<_> = (0..callers)
            .map(|caller| {
                let store = store.clone();
                tokio::spawn(async move {
                    for number in 0..READS / callers {
                        let id = format!("chk_{:032x}", (number * callers + caller).wrapping_mul(7919) % made);
                        assert!(store.checkout(ALICE, &id).await.expect("reads").is_some());
                        tokio::task::yield_now().await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("reads");
        }
        report(&format!("reads by {callers} callers"), READS, started);
    }
    println!("{} MiB resident", resident());
}
