//! Webhook events for platforms, and the commands and requests that move orders along.

use serde_json::{Value, json};

use super::{
    id,
    negotiation::{host, open},
    payloads::{paying, ready},
    purchase::Shopper,
    text,
};
use crate::{
    Done,
    host::{EVERYTHING, Host, Visit, listening},
    operation::{Caller, RELEASES, Way},
    process::{Gateway, eventually},
    stage::{Setup, Stage},
    wire::{Client, Request},
};

/// Writes down what a host was sent behind the first so many posts, once there are `count` more.
pub(crate) fn told(stage: &mut Stage<'_>, name: &str, host: &Host, count: usize) -> Done {
    let before = stage.told;
    let posts = host.posts(before + count)?;
    for (number, Visit { line, headers, body }) in posts.iter().skip(before).enumerate() {
        let headers = headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let response = crate::wire::Response { status: 0, headers, body: body.clone() };
        stage.answered(&format!("{name}/{number}"), &Request::new("told", line), &response);
    }
    stage.told = posts.len();
    Ok(())
}

/// An order of a platform; its identifier.
fn order(stage: &mut Stage<'_>, gateway: &Gateway, release: &'static str, url: &str, label: &str) -> String {
    let caller = Caller::new(Some(release), Way::Rest).named(url);
    let shopper = Shopper::new(gateway, caller, &format!("/{label}"));
    let checkout =
        id(&shopper.step(stage, "create_checkout", "ready", None, &ready(&[("pot_ceramic", 2), ("orchid_white", 1)])));
    let paid = shopper.step(stage, "complete_checkout", "paid", Some(&checkout), &paying(release, "success_token"));
    let found =
        [text(&paid, "/order/id"), text(&paid, "/order_id")].into_iter().find(|order| order.starts_with("ord_"));
    found.unwrap_or("ord_nothing").to_owned()
}

/// Plays orders of platforms of every release, moved by commands.
pub(crate) fn play(stage: &mut Stage<'_>) -> Done {
    let gateway = stage.start(&Setup::new(&open("development")).signing())?;
    let data = gateway.data.display().to_string();
    for release in RELEASES {
        let host = host(stage)?;
        stage.told = 0;
        let url = host.profile(&format!("/{release}"), &listening(release, &EVERYTHING, &host.url("/orders?of=ucp")));
        let order = order(stage, &gateway, release, &url, "moved");
        settled(stage, &data)?;
        told(stage, &format!("{release}/placed"), &host, 1)?;
        let steps: [(&str, Vec<&str>); 16] = [
            (
                "ship-one",
                vec![
                    "ship",
                    &order,
                    "--line",
                    "li_1=1",
                    "--carrier",
                    "Post",
                    "--tracking-number",
                    "T1",
                    "--tracking-url",
                    "https://post.example/T1",
                ],
            ),
            ("deliver-one", vec!["deliver", &order, "--line", "li_1=1"]),
            ("cancel-one", vec!["cancel", &order, "--line", "li_1=1", "--reason", "It is broken"]),
            ("ship-too-many", vec!["ship", &order, "--line", "li_1=3"]),
            ("ship-unknown-line", vec!["ship", &order, "--line", "li_9=1"]),
            ("ship-odd-line", vec!["ship", &order, "--line", "li_1"]),
            ("ship-odd-url", vec!["ship", &order, "--tracking-url", "javascript:alert(1)"]),
            ("refund-some", vec!["refund", &order, "--amount", "100", "--reason", "Sorry"]),
            ("refund-too-much", vec!["refund", &order, "--amount", "99999999"]),
            ("refund-negative", vec!["refund", &order, "--amount", "-1"]),
            ("refund-line", vec!["refund", &order, "--line", "li_1=1"]),
            ("ship-rest", vec!["ship", &order]),
            ("ship-nothing-left", vec!["ship", &order]),
            ("deliver-rest", vec!["deliver", &order]),
            ("refund-rest", vec!["refund", &order]),
            ("cancel-nothing-left", vec!["cancel", &order]),
        ];
        for (step, arguments) in steps {
            let mut whole = vec!["orders"];
            whole.extend(arguments);
            whole.extend(["--data-dir", &data]);
            // A text for people now and then, JSON otherwise.
            if !step.starts_with("refund") {
                whole.push("--json");
            }
            stage.run(&format!("{release}/{step}"), &whole, b"")?;
            settled(stage, &data)?;
            told(stage, &format!("{release}/{step}"), &host, 0)?;
        }
        for arguments in [
            vec!["orders", "show", &order, "--data-dir", &data],
            vec!["orders", "show", &order, "--json", "--data-dir", &data],
            vec!["orders", "show", &order, "--mandate", "--data-dir", &data],
            vec!["orders", "show", "ord_nothing", "--data-dir", &data],
            vec!["orders", "ship", "ord_nothing", "--data-dir", &data],
        ] {
            stage.run(&format!("{release}/command"), &arguments, b"")?;
        }
        let caller = Caller::new(Some(release), Way::Rest).named(&url);
        for way in [Way::Rest, Way::Tool, Way::Flat] {
            let request = caller.over(way).call("get_order", Some(&order), &json!({}));
            stage.ask(&format!("{release}/get_order/{}", way.name()), &gateway, &request);
        }
        settled(stage, &data)?;
    }
    trouble(stage, &gateway, &data)?;
    for arguments in [
        vec!["orders", "list", "--data-dir", &data],
        vec!["orders", "list", "--json", "--limit", "2", "--data-dir", &data],
        vec!["webhooks", "list", "--data-dir", &data],
        vec!["webhooks", "list", "--json", "--limit", "50", "--data-dir", &data],
        vec!["webhooks", "resend", "nothing", "--data-dir", &data],
    ] {
        stage.run("lists", &arguments, b"")?;
    }
    Ok(())
}

/// Waits until every webhook was sent, or given up.
fn settled(stage: &Stage<'_>, data: &str) -> Done {
    eventually("every webhook is settled", std::time::Duration::from_secs(60), || {
        let said = stage.run_quietly(&["webhooks", "list", "--json", "--limit", "100", "--data-dir", data], b"")?;
        let all: Value = serde_json::from_str(&said.stdout).unwrap_or_default();
        let waits = all.as_array().into_iter().flatten().any(|one| one["state"] == "waiting" && one["attempts"] == 0);
        Ok((!waits).then_some(()))
    })
}

/// Platforms that do not take what they are told, and addresses where nothing is sent to.
fn trouble(stage: &mut Stage<'_>, gateway: &Gateway, data: &str) -> Done {
    for status in [204, 400, 401, 404, 410, 301] {
        let host = host(stage)?;
        stage.told = 0;
        host.answer_with(&[status]);
        let url = host.profile("/p", &listening("2026-08-25", &EVERYTHING, &host.url("/orders")));
        order(stage, gateway, "2026-08-25", &url, &format!("answers-{status}"));
        told(stage, &format!("answers-{status}"), &host, 1)?;
    }
    for (label, address) in [
        ("link-local", "http://169.254.169.254/latest/meta-data"),
        ("private", "https://10.0.0.1/x"),
        ("scheme", "file:///etc/passwd"),
        ("user", "http://user:pw@127.0.0.1:1/x"),
        ("nonsense", "nowhere"),
    ] {
        let host = host(stage)?;
        let url = host.profile("/p", &listening("2026-08-25", &EVERYTHING, address));
        order(stage, gateway, "2026-08-25", &url, label);
    }
    settled(stage, data)
}

/// Plays the operator's own calls over HTTP.
pub(crate) fn admin(stage: &mut Stage<'_>) -> Done {
    let configuration =
        open("development") + "[server]\nadmin_listen = \"127.0.0.1:0\"\nadmin_token_file = \"token\"\n";
    let gateway = stage.start(&Setup::new(&configuration).file("token", "operators-only\n"))?;
    let line = gateway.welcome.iter().find_map(|line| line.trim().strip_prefix("admin")).unwrap_or_default();
    let address: std::net::SocketAddr = line
        .trim()
        .trim_start_matches("http://")
        .parse()
        .map_err(|_| format!("the address of the admin calls must be printed: {line}"))?;
    stage.normal.know(&address.to_string(), "admin");
    stage.note("welcome", &gateway.welcome.join("\n"));
    let admin = Client::new(address);
    let order = order(stage, &gateway, "2026-08-25", "https://a.example.com/p.json", "admin");
    let with = |method: &str, path: &str, token: &str, body: &str| {
        let request = Request::new(method, path).header("Content-Type", "application/json").body(body);
        if token.is_empty() { request } else { request.header("Authorization", token) }
    };
    let token = "Bearer operators-only";
    for wrong in ["", "Bearer", "Bearer operators-onl", "Bearer operators-only2", "operators-only", "Basic x"] {
        let request = with("GET", "/orders", wrong, "");
        let response = admin.send(&request)?;
        stage.answered(&format!("token/{wrong}"), &request, &response);
    }
    let one = json!({ "line_items": [{ "id": "li_1", "quantity": 1 }], "carrier": "Post" }).to_string();
    for (method, path, body) in [
        ("GET", "/orders".to_owned(), ""),
        ("GET", format!("/orders/{order}"), ""),
        ("POST", format!("/orders/{order}/ship"), one.as_str()),
        ("POST", format!("/orders/{order}/ship"), "{\"line_items\":[{\"id\":\"li_1\",\"quantity\":2}]}"),
        ("POST", format!("/orders/{order}/ship"), "{\"lines\":[]}"),
        ("POST", format!("/orders/{order}/ship"), "{"),
        ("POST", format!("/orders/{order}/deliver"), "{\"carrier\":\"Post\"}"),
        ("POST", format!("/orders/{order}/deliver"), "{}"),
        ("POST", format!("/orders/{order}/refund"), "{\"amount\":100,\"reason\":\"Sorry\"}"),
        ("POST", format!("/orders/{order}/refund"), "{\"amount\":-1}"),
        ("POST", format!("/orders/{order}/cancel"), "{\"reason\":\"Gone\"}"),
        ("POST", format!("/orders/{order}/burn"), "{}"),
        ("POST", "/orders/ord_nothing/ship".to_owned(), "{}"),
        ("GET", "/orders/ord_nothing".to_owned(), ""),
        ("GET", "/webhooks".to_owned(), ""),
        ("POST", "/webhooks/nothing/resend".to_owned(), "{}"),
        ("DELETE", "/orders".to_owned(), ""),
        ("GET", "/".to_owned(), ""),
        ("GET", "/orders?limit=1".to_owned(), ""),
        ("GET", format!("/orders/{order}"), ""),
    ] {
        let request = with(method, &path, token, body);
        let response = admin.send(&request)?;
        let path = path.replace(&order, "order");
        stage.answered(&format!("{method} {path}"), &request, &response);
    }
    stage.ask("shop-knows-nothing", &gateway, &Request::get("/orders"));
    Ok(())
}
