//! The examples of the founding documents, as they stand there.

use std::{fs, path::PathBuf};

use serde_json::Value;

use crate::{
    Done,
    operation::{Caller, Way, endpoints},
    stage::{Setup, Stage},
    wire::Request,
};

/// The product of the examples about checkouts.
const JEANS: &str = r#"{"id":"prod_jeans","handle":"blue-jeans","title":"Blue Jeans","description":{"plain":"Jeans."},"variants":[{"id":"item_123","sku":"J1","title":"Blue Jeans","description":{"plain":"The only ones."},"price":{"amount":5000,"currency":"USD"}}]}"#;

/// Plays every message of the documents at every endpoint. Without the documents there is nothing to send.
pub(crate) fn play(stage: &mut Stage<'_>) -> Done {
    let usual = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/founding");
    let folder = std::env::var_os("UCP_FOUNDING_DIR").map_or(usual, PathBuf::from);
    if !folder.is_dir() {
        println!("skipped: founding, because UCP_FOUNDING_DIR does not name the folder of the documents");
        return Ok(());
    }
    let fault = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut files: Vec<_> = fs::read_dir(&folder).map_err(fault)?.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let gateway = stage.start(&Setup::new("").outfitters())?;
    let data = gateway.data.clone();
    gateway.stop()?;
    let jeans = stage.file("jeans.jsonl", JEANS)?.display().to_string();
    stage.run("import", &["import", &jeans, "--data-dir", &data.display().to_string()], b"")?;
    let gateway = stage.start(&Setup::new("").outfitters().on(&data))?;
    for endpoint in endpoints() {
        let path = Caller::new(endpoint, Way::Tool).path("/mcp");
        for file in &files {
            let text = fs::read_to_string(file).map_err(fault)?;
            let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            // The examples go on with the checkout that the first of them created.
            let mut checkout = "checkout_abc123".to_owned();
            let blocks = text.split("```json").skip(1).filter_map(|rest| rest.split("```").next());
            for (number, block) in blocks.enumerate().filter(|(_, block)| block.contains("\"method\"")) {
                let message = block.replace("checkout_abc123", &checkout);
                // The same key at every endpoint would ask for one checkout again and again.
                let message = message.replace("550e8400-", endpoint.map_or("00000000-", |release| &release[2..]));
                let called = format!("{}/{name}/{number}", endpoint.unwrap_or("root"));
                let response = stage.ask(&called, &gateway, &Request::post(&path, message.trim()));
                let made = response.document();
                if let Some(id) = made.get("id").and_then(Value::as_str).filter(|id| id.starts_with("chk_")) {
                    checkout = id.to_owned();
                }
            }
        }
    }
    Ok(())
}
