//! First contact: what a start prints and makes, the configuration that `init` writes, completions, manual pages, and
//! mistakes in flags and variables.

use std::{
    fs,
    io::Read as _,
    process::{Command, Stdio},
};

use serde_json::Value;
use ucp_testkit::leash::Leashed;

use crate::harness::{Ends as _, Gateway, binary, copy, elements, flower_shop, folder, sample_shop};

/// The calls that a gateway prints at its start, as a person would copy them.
fn calls(gateway: &Gateway) -> Vec<String> {
    let lines = gateway.printed_until("the call over MCP", |line| line.contains("\"tools/call\""));
    let mut calls: Vec<String> = Vec::new();
    for line in lines.iter().skip_while(|line| *line != "Try it:") {
        if line.trim_start().starts_with("curl ") {
            calls.push(line.clone());
        } else if let Some(call) = calls.last_mut().filter(|call| call.ends_with('\\')) {
            call.push('\n');
            call.push_str(line);
        }
    }
    calls
}

fn has_curl() -> bool {
    let there = Command::new("curl").arg("--version").ends().status.success();
    if !there {
        println!("skipped: there is no curl on this machine");
    }
    there
}

#[test]
fn the_calls_of_a_start_find_something_in_that_very_shop() {
    if !has_curl() {
        return;
    }
    let own = folder();
    let catalog = own.path().join("catalog.jsonl");
    let mug = r#"{"id":"p1","title":"It's a Mug","description":{"plain":"Holds tea."},"variants":[{"id":"v1","price":{"amount":1200,"currency":"EUR"}}]}"#;
    fs::write(&catalog, mug).expect("written");
    let data = own.path().join("data");
    let imported =
        binary().args(["import", "--name", "Mugs", "--currency", "EUR", "--data-dir"]).arg(&data).arg(&catalog).ends();
    assert!(imported.status.success(), "{imported:?}");
    let (sample, flowers) = (sample_shop(), flower_shop());
    for data in [sample.path(), flowers.path(), &data] {
        let gateway = Gateway::on(data, &[]);
        let calls = calls(&gateway);
        assert_eq!(calls.len(), 2, "one over REST and one over MCP: {calls:?}");
        for call in calls {
            let output = Command::new("bash").args(["-c", &call]).ends();
            let answer: Value =
                serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {call}"));
            let document = answer.pointer("/result/structuredContent").unwrap_or(&answer);
            assert!(!elements(&document["products"]).is_empty(), "{call}: {answer}");
        }
    }
}

#[test]
fn a_first_start_names_what_it_made_and_a_second_does_not() {
    let folder = folder();
    let data = folder.path().join("new");
    let line = |gateway: &Gateway| gateway.welcome.iter().find(|line| line.starts_with("  data ")).expect("it").clone();
    let mut first = Gateway::on(&data, &["--sample", "flower-shop"]);
    let told = line(&first);
    assert!(told.contains(data.to_str().expect("text")) && told.contains("new: sample shop `flower-shop`"), "{told}");
    assert!(first.terminate().success());
    let again = line(&Gateway::on(&data, &[]));
    assert!(again.ends_with("/new"), "{again}");
}

#[test]
fn a_port_is_an_address() {
    let free = ucp_testkit::leash::free_address().port();
    for listen in [free.to_string(), format!("localhost:{free}")] {
        let output = binary().args(["check-config", "--listen", &listen]).ends();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && printed.contains(&format!("127.0.0.1:{free}")), "{printed}");
    }
    let output = binary().args(["check-config", "--listen", "shop.example"]).ends();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("such as 127.0.0.1:8080"), "{said}");
}

#[test]
fn a_misspelt_variable_is_named_with_the_one_that_is_meant() {
    let mut command = binary();
    command.args(["check-config"]).env("UCP_GATEWAY_LISTN", "127.0.0.1:1");
    let output = command.ends();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success() && said.contains("UCP_GATEWAY_LISTN is not read; did you mean UCP_GATEWAY_LISTEN?"),
        "{said}"
    );
}

#[test]
fn init_writes_what_check_config_accepts() {
    for flags in [
        &[][..],
        &["--listen", "9090", "--data-dir", "my data", "--policy", "lenient"],
        &["--backend", "ucp", "--upstream-url", "https://shop.example.com", "--public-url", "https://ucp.example.com"],
        &["--backend", "shopify", "--upstream-url", "https://shop.example.com"],
        &["--backend", "http", "--upstream-url", "https://shop.example.com"],
    ] {
        let here = folder();
        let run = |arguments: &[&str]| binary().current_dir(here.path()).args(arguments).ends();
        let made = run(&[&["init", "made.toml"], flags].concat());
        assert!(made.status.success(), "{flags:?}: {made:?}");
        let checked = run(&["check-config", "--config", "made.toml"]);
        assert!(checked.status.success(), "{flags:?}: {checked:?}");
        let text = fs::read_to_string(here.path().join("made.toml")).expect("the file");
        let commented = text.lines().filter(|line| line.contains(" = ")).count();
        assert!(
            text.lines().filter(|line| line.starts_with("# ") && line.ends_with('.')).count() >= commented,
            "{text}"
        );
        let again = run(&["init", "made.toml"]);
        assert!(
            !again.status.success() && String::from_utf8_lossy(&again.stderr).contains("is there already"),
            "{again:?}"
        );
        assert_eq!(fs::read_to_string(here.path().join("made.toml")).expect("the file"), text);
    }
}

#[test]
fn init_needs_to_know_where_a_shop_is() {
    let here = folder();
    let output = binary().current_dir(here.path()).args(["init", "--backend", "shopify"]).ends();
    assert!(
        !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("--upstream-url"),
        "{output:?}"
    );
    assert!(!here.path().join("gateway.toml").exists());
}

#[test]
fn completions_and_manual_pages_are_of_this_command_line() {
    for (shell, word) in
        [("bash", "--data-dir"), ("zsh", "rehearse"), ("fish", "doctor"), ("powershell", "serve"), ("elvish", "serve")]
    {
        let output = binary().args(["completions", shell]).ends();
        let printed = String::from_utf8(output.stdout).expect("text");
        assert!(output.status.success() && printed.contains(word), "{shell}");
        if shell == "bash" {
            let read = Command::new("bash").arg("-n").ends_with(printed.as_bytes());
            assert!(read.status.success(), "{read:?}");
        }
    }
    let folder = folder();
    let output = binary().arg("man").arg(folder.path().join("man1")).ends();
    assert!(output.status.success(), "{output:?}");
    for page in ["ucp-gateway.1", "ucp-gateway-serve.1", "ucp-gateway-keys-rotate.1", "ucp-gateway-doctor.1"] {
        let text = fs::read_to_string(folder.path().join("man1").join(page)).expect(page);
        assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{page}: {text}");
    }
}

#[test]
fn nothing_is_coloured_where_no_terminal_is() {
    let data = sample_shop();
    let here = folder();
    copy(data.path(), here.path());
    let gateway = Gateway::on(here.path(), &[]);
    assert!(!gateway.welcome.concat().contains('\u{1b}'), "{:?}", gateway.welcome);
}

#[test]
fn the_example_of_an_agent_buys() {
    if !Command::new("python3").arg("--version").ends().status.success() {
        println!("skipped: there is no python3 on this machine");
        return;
    }
    let gateway = Gateway::start();
    let mut python = Command::new("python3");
    let example = crate::harness::repository().join("examples/agent/buy.py");
    let output = python.arg(example).arg(format!("http://{}", gateway.address)).ends();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && printed.contains("completed: order #"), "{output:?}");
}

#[test]
fn a_reader_that_has_gone_ends_a_command_as_sigpipe_does() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = binary();
    command.args(["config", "schema"]);
    let mut process = Leashed::start(&command, writer, Stdio::piped());
    let mut said = String::new();
    process.stderr().read_to_string(&mut said).expect("text");
    assert_eq!((process.wait().code(), &*said), (Some(141), ""));
}
