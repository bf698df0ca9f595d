//! Answers that are signed, and requests that are.

use serde_json::json;

use super::negotiation::{host, open};
use crate::{
    Done,
    host::{EVERYTHING, profile},
    operation::{Caller, MAIN, NEWEST, RELEASES, Way, rpc},
    stage::{Setup, Stage},
    wire::Request,
};

/// Plays gateways that sign all answers, some and none.
pub(crate) fn play(stage: &mut Stage<'_>) -> Done {
    let host = host(stage)?;
    for rule in ["all", "completing", "none"] {
        let configuration = format!("{}\n[signatures]\nresponses = \"{rule}\"\n", open("require"));
        let gateway = stage.start(&Setup::new(&configuration).outfitters().signing())?;
        stage.ask(&format!("{rule}/profile"), &gateway, &Request::get("/.well-known/ucp"));
        for release in RELEASES {
            stage.ask(
                &format!("{rule}/profile/{release}"),
                &gateway,
                &Request::get(&format!("/ucp/{release}/.well-known/ucp")),
            );
            let url = host.profile(&format!("/{release}"), &profile(release, &EVERYTHING));
            for way in MAIN {
                for endpoint in [None, Some(release)] {
                    let caller = Caller::new(endpoint, way).named(&url);
                    for (label, payload) in [
                        ("good", json!({ "id": "prod_abc123" })),
                        ("unknown", json!({ "id": "nothing" })),
                        ("wrong", json!({})),
                    ] {
                        let name = format!("{rule}/{release}/{}/{label}", caller.label());
                        stage.ask(&name, &gateway, &caller.call("get_product", None, &payload));
                    }
                    let asking = caller
                        .clone()
                        .header("Accept-Signature", "sig1=(\"@status\" \"content-digest\");keyid=\"any\"");
                    let name = format!("{rule}/{release}/{}/asked-for", caller.label());
                    stage.ask(&name, &gateway, &asking.call("get_product", None, &json!({ "id": "prod_abc123" })));
                    let shopper =
                        super::purchase::Shopper::new(&gateway, caller, &format!("/{rule}/{release}")).of(release);
                    super::purchase::buy(stage, &shopper, "var_abc123_red_10", "var_def456_green_9", "WELCOME10");
                }
            }
        }
        let ping = Request::post("/mcp", rpc("ping", &json!({})).to_string()).header("Accept", "text/event-stream");
        stage.ask(&format!("{rule}/event"), &gateway, &ping);
        stage.ask(&format!("{rule}/nowhere"), &gateway, &Request::get("/nowhere"));
    }
    requests(stage)
}

/// Requests that the binary itself signs, and what the rules for signatures make of them.
fn requests(stage: &mut Stage<'_>) -> Done {
    let host = host(stage)?;
    for rule in ["off", "verify", "enforce"] {
        let configuration = format!(
            "{}\n[signatures]\nbrowsing = \"{rule}\"\npurchase = \"{rule}\"\norder = \"{rule}\"\n",
            open("require")
        );
        let gateway = stage.start(&Setup::new(&configuration).outfitters())?;
        let keys = stage.place("keys").display().to_string();
        stage.run(&format!("{rule}/keys/generate"), &["keys", "generate", "--data-dir", &keys], b"")?;
        let listed = stage.run(&format!("{rule}/keys/list"), &["keys", "list", "--json", "--data-dir", &keys], b"")?;
        let mut known = profile(NEWEST, &EVERYTHING);
        known["keys"] = serde_json::from_str::<serde_json::Value>(&listed.stdout).unwrap_or_default()["keys"].take();
        let url = host.profile(&format!("/{rule}"), &known);
        for way in [Way::Rest, Way::Tool] {
            let caller = Caller::new(None, way).named(&url);
            let plain = caller.call("get_product", None, &json!({ "id": "prod_abc123" }));
            stage.ask(&format!("{rule}/{}/unsigned", way.name()), &gateway, &plain);
            let head: String = plain.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            let body = String::from_utf8_lossy(&plain.body).into_owned();
            let message = format!(
                "POST {} HTTP/1.1\r\nHost: {}\r\n{head}Content-Length: {}\r\n\r\n{body}",
                plain.path,
                gateway.address,
                body.len()
            );
            let sign = ["sign", "--data-dir", &keys, "--scheme", "http", "-"];
            let signed = stage.run_quietly(&sign, message.as_bytes())?.stdout;
            let request = parsed(&signed);
            stage.ask(&format!("{rule}/{}/signed", way.name()), &gateway, &request);
            for (label, request) in [
                ("other-body", request.clone().body(body.replace("prod_abc123", "prod_abc124"))),
                ("without-digest", request.clone().without("content-digest")),
                ("without-input", request.clone().without("signature-input")),
                ("without-signature", request.clone().without("signature")),
                (
                    "other-type",
                    request.clone().without("content-type").header("Content-Type", "application/json; charset=utf-8"),
                ),
                ("other-path", Request { path: format!("{}?x=1", request.path), ..request.clone() }),
                ("garbled", request.clone().without("signature").header("Signature", "sig1=:AAAA:")),
            ] {
                stage.ask(&format!("{rule}/{}/{label}", way.name()), &gateway, &request);
            }
            let file = stage.file("jwks.json", &listed.stdout)?.display().to_string();
            stage.run(
                &format!("{rule}/{}/verify", way.name()),
                &["verify", "--keys", &file, "--scheme", "http", "-"],
                signed.as_bytes(),
            )?;
            let spoiled = signed.replace("prod_abc123", "prod_abc124");
            stage.run(
                &format!("{rule}/{}/verify-spoiled", way.name()),
                &["verify", "--keys", &file, "--scheme", "http", "-"],
                spoiled.as_bytes(),
            )?;
            stage.run(
                &format!("{rule}/{}/explain", way.name()),
                &["sign", "--data-dir", &keys, "--scheme", "http", "--explain", "-"],
                message.as_bytes(),
            )?;
        }
    }
    Ok(())
}

/// A request from the text of one.
fn parsed(text: &str) -> Request {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let mut lines = head.lines();
    let line = lines.next().unwrap_or_default();
    let mut words = line.split(' ');
    let mut request = Request::new(words.next().unwrap_or("GET"), words.next().unwrap_or("/")).body(body);
    for (name, value) in
        lines.filter_map(|line| line.split_once(": ")).filter(|(name, _)| !name.eq_ignore_ascii_case("content-length"))
    {
        request = request.header(name, value);
    }
    request
}
