//! `ucp-gateway import --merchants`, also while a gateway serves.

use std::{collections::BTreeSet, fs, path::Path, time::Duration};

use serde_json::{Value, json};

use super::{ask, ids};
use crate::harness::{Ends as _, Gateway, binary, elements, eventually, sample_shop};

/// Maximum time until a running gateway notices an import.
const NOTICE: Duration = Duration::from_secs(30);

struct Report {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn import(data: &Path, content: &str, arguments: &[&str]) -> Report {
    let folder = crate::harness::folder();
    let file = folder.path().join("merchants.jsonl");
    fs::write(&file, content).expect("a file");
    let mut command = binary();
    command.args(["import", "--merchants"]).arg(&file).arg("--data-dir").arg(data).args(arguments);
    let output = command.ends();
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Report { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn line(number: usize) -> String {
    let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    json!({
        "id": format!("mch_new_{number:03}"),
        "name": format!("Imported Kitchen {number:03}"),
        "category": "Imported > Kitchens",
        "locations": [{
            "id": format!("loc_new_{number:03}"),
            "name": "Counter",
            "geo": { "latitude": 10.0, "longitude": 10.0 + 0.001 * number as f64 },
            "timezone": "Africa/Lagos",
            "hours": days.map(|day| json!({ "day": day, "opens": "08:00", "closes": "20:00" }))
        }]
    })
    .to_string()
}

#[test]
fn what_is_wrong_with_a_line_is_said_and_good_lines_are_kept() {
    let folder = crate::harness::folder();
    let data = folder.path().join("shop");
    let with = |location: Value| json!({ "id": "m", "name": "M", "locations": [location] }).to_string();
    let lines = [
        line(1),
        with(json!({ "id": "a", "name": "A", "timezone": "America/Gotham", "hours": [] })),
        with(json!({ "id": "b", "name": "B", "timezone": "Europe/Paris",
            "hours": [{ "day": "monday", "opens": "09:00", "closes": "09:00" }] })),
        with(json!({ "id": "c", "name": "C", "geo": { "latitude": 91.0, "longitude": 0.0 } })),
        with(json!({ "id": "d", "name": "D", "opening_hours": "Mo-Su 08:00-20:00" })),
        line(1),
        "{".to_owned(),
    ];
    let report = import(&data, &lines.join("\n"), &[]);
    assert_eq!(report.code, Some(2), "{}", report.stderr);
    assert!(report.stdout.contains("1 new, 0 changed, 0 unchanged, 0 skipped, 6 rejected"), "{}", report.stdout);
    for (number, reason) in [
        (2, "America/Gotham"),
        (3, "$.locations[0].hours"),
        (4, "latitude"),
        (5, "$.locations[0].opening_hours"),
        (6, "mch_new_001"),
        (7, "line 7"),
    ] {
        let told = report.stderr.lines().any(|told| told.contains(&format!("line {number}")) && told.contains(reason));
        assert!(told, "line {number}: {}", report.stderr);
    }
    let again = import(&data, &line(1), &[]);
    assert!(again.stdout.contains("0 new, 0 changed, 1 unchanged"), "{}", again.stdout);
    let lenient = import(&data, &lines[1], &["--lenient"]);
    assert_eq!(lenient.code, Some(0), "{}", lenient.stderr);
    assert!(lenient.stderr.contains("America/Gotham"), "{}", lenient.stderr);
}

#[test]
fn the_command_line_wants_one_kind_of_file() {
    for arguments in
        [vec!["import"], vec!["import", "a.jsonl", "--merchants", "b.jsonl"], vec!["import", "a.jsonl", "--lenient"]]
    {
        let output = binary().args(&arguments).ends();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn pages_neither_repeat_nor_skip_while_merchants_come_in() {
    let data = sample_shop();
    let gateway = Gateway::on(data.path(), &[]);
    let asked = |cursor: Option<&Value>| {
        let mut asked = json!({ "query": "", "pagination": { "limit": 7 } });
        if let Some(cursor) = cursor {
            asked["pagination"]["cursor"] = cursor.clone();
        }
        asked
    };
    let all = |gateway: &Gateway| ask(gateway, "search_merchants", &asked(None))["pagination"]["total_count"].clone();
    let before = all(&gateway).as_u64().expect("a number");
    let (mut seen, mut cursor, mut added): (Vec<String>, Option<Value>, usize) = (Vec::new(), None, 0);
    loop {
        let answer = ask(&gateway, "search_merchants", &asked(cursor.as_ref()));
        seen.extend(ids(&answer["merchants"]).into_iter().map(str::to_owned));
        cursor = answer["pagination"].get("cursor").cloned();
        if cursor.is_none() {
            break;
        }
        if added < 30 {
            let lines: Vec<_> = (added..added + 10).map(line).collect();
            let report = import(data.path(), &lines.join("\n"), &[]);
            assert_eq!(report.code, Some(0), "{}", report.stderr);
            added += 10;
            let expected = before + added as u64;
            eventually("the gateway notices", NOTICE, || (all(&gateway) == json!(expected)).then_some(()));
        }
    }
    let different: BTreeSet<_> = seen.iter().collect();
    assert_eq!(different.len(), seen.len(), "nothing is repeated");
    let old = seen.iter().filter(|id| !id.starts_with("mch_new_")).count();
    assert_eq!(old as u64, before, "nothing is skipped");
    let imported = ask(&gateway, "get_merchant", &json!({ "id": "mch_new_003" }));
    assert_eq!(elements(&imported["merchant"]["locations"][0]["hours"]).len(), 7);
    let open = json!({ "ids": ["loc_new_003"], "filters": { "hours": { "open_at": "2026-11-23T07:00:00Z" } } });
    assert_eq!(ids(&ask(&gateway, "lookup_locations", &open)["locations"]), ["loc_new_003"]);
}

/// Over a directory with nothing in it, nothing is offered; an import changes that while the gateway runs.
#[test]
fn an_empty_directory_is_not_offered_until_something_is_in_it() {
    let folder = crate::harness::folder();
    let data = folder.path().join("shop");
    let gateway = Gateway::on(&data, &["--sample", "flower-shop"]);
    let offered = || {
        let tools = gateway.result("tools/list", &json!({}));
        let services = gateway.get("/.well-known/ucp").json()["ucp"]["services"].take();
        let tool = |name: &str| elements(&tools["tools"]).iter().any(|tool| tool["name"] == name);
        let tools = ["search_merchants", "get_merchant", "search_locations", "lookup_locations"].map(tool);
        (tools, services.get("dev.ucp.restaurant").is_some(), services.get("dev.ucp.common").is_some())
    };
    assert_eq!(offered(), ([false; 4], false, false));
    let merchant = json!({ "id": "mch_only", "name": "No Place" }).to_string();
    let report = import(&data, &merchant, &[]);
    assert_eq!(report.code, Some(0), "{}", report.stderr);
    eventually("the merchant is offered", NOTICE, || {
        (offered() == ([true, true, false, false], true, false)).then_some(())
    });
    assert_eq!(ids(&ask(&gateway, "search_merchants", &json!({ "query": "" }))["merchants"]), ["mch_only"]);
    let report = import(&data, &line(1), &[]);
    assert_eq!(report.code, Some(0), "{}", report.stderr);
    eventually("the location is offered", NOTICE, || (offered() == ([true; 4], true, true)).then_some(()));
}
