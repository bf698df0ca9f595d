//! An agent on the desktop: `mcp --stdio`.

use serde_json::json;

use super::{
    id,
    payloads::{lines, paying, ready},
    text,
};
use crate::{
    Done,
    operation::{Caller, NEWEST, Way, envelope, rpc},
    stage::Stage,
};

/// Plays conversations over standard input and output.
pub(crate) fn play(stage: &mut Stage<'_>) -> Done {
    for (label, arguments) in [("usual", &[][..]), ("own-profile", &["--profile", "https://desk.example.com/p.json"])] {
        let mut pipe = stage.pipe(arguments, "flower-shop")?;
        let mut say = |stage: &mut Stage<'_>, name: &str, line: &str| -> Done<serde_json::Value> {
            let answer = pipe.ask(line)?;
            let shown = stage.normal.text(&answer);
            stage.write(&format!("{label}/{name}"), line.chars().take(500).collect(), shown);
            Ok(serde_json::from_str(&answer).unwrap_or_default())
        };
        for version in ["2025-11-25", "2024-11-05", "1999-01-01"] {
            let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "golden", "version": "1" } });
            say(stage, &format!("initialize/{version}"), &rpc("initialize", &params).to_string())?;
        }
        for method in ["ping", "tools/list", "rpc.discover", "unheard_of", "server/discover"] {
            say(stage, method, &rpc(method, &json!({})).to_string())?;
        }
        for method in ["server/discover", "tools/list"] {
            say(stage, &format!("stateless/{method}"), &rpc(method, &json!({ "_meta": envelope() })).to_string())?;
        }
        for (name, line) in [
            ("open", "{"),
            ("list", "[]"),
            ("number", "3"),
            ("twice", "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}"),
        ] {
            say(stage, &format!("broken/{name}"), line)?;
        }
        for (named, caller) in
            [("named", Caller::new(None, Way::Tool)), ("nobody", Caller::new(None, Way::Tool).unnamed())]
        {
            for way in [Way::Tool, Way::Stateless, Way::Named, Way::Positional, Way::Flat] {
                let caller = caller.over(way);
                let mut call = |stage: &mut Stage<'_>,
                                step: &str,
                                name: &str,
                                about: Option<&str>,
                                payload: &serde_json::Value| {
                    let key = format!("{named}-{}-{step}", way.name());
                    let request = caller.keyed(Some(&key), name, about, payload);
                    let line = String::from_utf8_lossy(&request.body).into_owned();
                    let mut answer = say(stage, &format!("{named}/{}/{step}", way.name()), &line)?;
                    let mut result = answer["result"].take();
                    Ok::<_, String>(if result.get("structuredContent").is_some() {
                        result["structuredContent"].take()
                    } else {
                        result
                    })
                };
                call(stage, "search", "search_catalog", None, &json!({ "query": "roses" }))?;
                call(stage, "lookup", "lookup_catalog", None, &json!({ "ids": ["pot_ceramic", "nothing"] }))?;
                call(stage, "product", "get_product", None, &json!({ "id": "bouquet_roses" }))?;
                call(stage, "wrong", "get_product", None, &json!({ "id": 3 }))?;
                let cart = id(&call(
                    stage,
                    "cart",
                    "create_cart",
                    None,
                    &json!({ "line_items": lines(&[("pot_ceramic", 1)]) }),
                )?);
                call(stage, "cart-again", "get_cart", Some(&cart), &json!({}))?;
                let checkout = id(&call(stage, "checkout", "create_checkout", None, &ready(&[("pot_ceramic", 1)]))?);
                let paid = call(stage, "pay", "complete_checkout", Some(&checkout), &paying(NEWEST, "success_token"))?;
                call(stage, "order", "get_order", Some(text(&paid, "/order/id")), &json!({}))?;
            }
        }
        pipe.tell(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string())?;
        let status = pipe.finish()?;
        stage.note(&format!("{label}/end"), &format!("{:?}", status.code()));
    }
    stage.run("without-stdio", &["mcp"], b"")?;
    stage.run("help", &["mcp", "--help"], b"")?;
    Ok(())
}
