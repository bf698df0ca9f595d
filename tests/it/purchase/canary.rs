//! Credentials are used once: they are in no response, no log, and no file (rule PAY-01).

use serde_json::{Value, json};

use super::shopper::{Shopper, flower_shop, id, new_key, ready, ways};
use crate::{harness::Gateway, harness::binary};

/// Looks like a card, and like a token.
const CANARY: [&str; 3] = ["4111111111111111", "tok_canary_5d1f0a", "canary-cryptogram-77"];

/// Returns `true` if bytes hold a canary, as text or in the wide form of some encodings.
fn holds(bytes: &[u8]) -> Option<&'static str> {
    CANARY.into_iter().find(|canary| {
        let wide: Vec<u8> = canary.bytes().flat_map(|byte| [byte, 0]).collect();
        [canary.as_bytes(), &wide].iter().any(|needle| bytes.windows(needle.len()).any(|window| window == *needle))
    })
}

/// Payment; a whole card with `card`, which is always rejected.
fn paying(shopper: &Shopper<'_>, token: &str, card: bool) -> Value {
    let mut payload = shopper.paying(token);
    let instrument = match payload.get_mut("payment_data") {
        Some(instrument) => instrument,
        None => &mut payload["payment"]["instruments"][0],
    };
    instrument["credential"] = json!({ "type": "token", "token": token, "cryptogram": CANARY[2] });
    if card {
        instrument["credential"] =
            json!({ "type": "card", "number": CANARY[0], "nested": { "deeper": [CANARY[0], CANARY[1]] } });
    }
    payload
}

#[test]
fn what_pays_is_never_seen_again() {
    let data = crate::harness::folder();
    let mut command = binary();
    command.args(["serve", "--sample", "flower-shop", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data.path());
    command.env("RUST_LOG", "trace");
    let mut shop = Gateway::spawn(&command, None);
    let mut answers = 0;
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let mut request = ready(&[("pot_ceramic", 1)]);
        // Also where nothing that pays belongs.
        request["payment"] = paying(&shopper, CANARY[1], false)["payment"].clone();
        if request["payment"].is_null() {
            request["payment"] = json!({ "instruments": [paying(&shopper, CANARY[1], false)["payment_data"]] });
        }
        let created = shopper.call("create_checkout", None, &request);
        let checkout = created.document();
        let updated = shopper.call("update_checkout", Some(id(&checkout)), &request);
        let mut said = vec![created, updated];
        for payload in [
            paying(&shopper, CANARY[1], false),
            paying(&shopper, "fail_token", true),
            paying(&shopper, "challenge_token", false),
            json!({ "payment": { "instruments": [{ "id": CANARY[1], "credential": { "number": CANARY[0] } }] } }),
            json!({ "payment": { "instruments": [{ "credential": [CANARY[0]] }] } }),
            json!({ "payment": CANARY[0], "payment_data": CANARY[1] }),
            paying(&shopper, "success_token", false),
        ] {
            let key = new_key();
            said.push(shopper.keyed(Some(&key), "complete_checkout", Some(id(&checkout)), &payload));
            said.push(shopper.keyed(Some(&key), "complete_checkout", Some(id(&checkout)), &payload));
        }
        assert_eq!(said.last().expect("an answer").document()["status"], "completed");
        said.push(shopper.call("get_checkout", Some(id(&checkout)), &json!({})));
        for said in &said {
            let whole = format!("{:?}", said.response);
            assert_eq!(holds(whole.as_bytes()), None, "{whole}");
            answers += 1;
        }
        assert!(holds(said[0].response.body.as_bytes()).is_none());
    }
    assert!(answers > 150, "{answers}");
    let seen = |data: &std::path::Path| {
        let mut size = 0;
        let mut folders = vec![data.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
                if entry.file_type().expect("a type").is_dir() {
                    folders.push(entry.path());
                    continue;
                }
                let bytes = std::fs::read(entry.path()).expect("a file");
                assert_eq!(holds(&bytes), None, "{}", entry.path().display());
                size += bytes.len();
            }
        }
        size
    };
    // Both while the log of the database is still being written, and after it was merged.
    assert!(seen(data.path()) > 10_000);
    assert!(shop.terminate().success());
    assert!(seen(data.path()) > 10_000);
    let log = shop.stderr();
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "the log says everything: {log:.300}");
    assert_eq!(holds(log.as_bytes()), None, "the log");
    // The buyer is in the files: the search is able to find things.
    let found = std::fs::read_dir(data.path()).expect("a folder").flatten().any(|entry| {
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        bytes.windows(17).any(|window| window == b"buyer@example.com")
    });
    assert!(found, "buyers are kept");
    drop(flower_shop(data.path(), &[]));
}
