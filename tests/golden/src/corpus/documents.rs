//! Documents of the gateway: profiles, OpenAPI, OpenRPC, schemas, the documentation page.

use crate::{
    Done,
    operation::{NEWEST, OPERATIONS, RELEASES},
    process::Gateway,
    stage::{Setup, Stage},
    wire::Request,
};

/// Plays requests for all documents, behind an address that is the same in every run, so that entity tags are, too.
pub(crate) fn play(stage: &mut Stage<'_>) -> Done {
    stage.normal.exact = true;
    let development = ["--policy", "development"];
    let public = Setup::new("").public("https://shop.example.com").arguments(&development);
    let outfitters = stage.start(&public.clone().outfitters().fresh())?;
    stage.note("welcome/outfitters", &outfitters.welcome.join("\n"));
    every(stage, &outfitters, "outfitters");
    let flowers = stage.start(&public.clone().fresh())?;
    stage.note("welcome/flowers", &flowers.welcome.join("\n"));
    every(stage, &flowers, "flowers");
    let require = stage.start(&Setup::new("").public("http://shop.example.com:8080"))?;
    // The first key is made by the start.
    let words = require.welcome.iter().flat_map(|line| line.split_whitespace());
    for key in words.filter(|word| word.starts_with("ucpk_")) {
        stage.normal.know(key.trim_matches('\''), "api_key");
    }
    stage.note("welcome/require", &require.welcome.join("\n"));
    profiles(stage, &require, "require");
    let usual = stage.start(&Setup::new("[server]\nstorefront = \"https://www.example.com/\"\n"))?;
    stage.note("welcome/usual", &usual.welcome.join("\n"));
    stage.normal.exact = false;
    profiles(stage, &usual, "usual");
    Ok(())
}

/// A request under an identifier that does not change from run to run.
fn get(path: &str) -> Request {
    Request::get(path).header("Request-Id", "golden")
}

fn profiles(stage: &mut Stage<'_>, gateway: &Gateway, label: &str) {
    stage.ask(&format!("{label}/.well-known/ucp"), gateway, &get("/.well-known/ucp"));
    for release in RELEASES {
        let path = format!("/ucp/{release}/.well-known/ucp");
        stage.ask(&format!("{label}{path}"), gateway, &get(&path));
    }
}

fn every(stage: &mut Stage<'_>, gateway: &Gateway, label: &str) {
    let mut paths: Vec<String> = [
        "/.well-known/ucp",
        "/openapi.json",
        "/openrpc.json",
        "/docs",
        "/docs/",
        "/docs/index.html",
        "/docs/api",
        "/docs/rest",
        "/",
        "/robots.txt",
        "/favicon.ico",
        "/healthz",
        "/livez",
        "/readyz",
        "/metrics",
        "/schemas/",
        "/schemas/error.json",
        "/schemas/unheard_of.json",
    ]
    .map(str::to_owned)
    .to_vec();
    let schemas = |prefix: &str| {
        let names = OPERATIONS.map(|operation| operation.name);
        let files = names.into_iter().flat_map(|name| [format!("{name}.request"), format!("{name}.response")]);
        let files = files.chain(["error".to_owned(), "profile".to_owned()]);
        files.map(|file| format!("{prefix}/schemas/{file}.json")).collect::<Vec<_>>()
    };
    paths.extend(schemas(""));
    for release in RELEASES {
        let prefix = format!("/ucp/{release}");
        paths.extend(
            ["/.well-known/ucp", "/openapi.json", "/openrpc.json", "/docs"].map(|path| format!("{prefix}{path}")),
        );
        paths.extend(schemas(&prefix));
    }
    for path in paths {
        let response = stage.ask(&format!("{label}/GET {path}"), gateway, &get(&path));
        if let Some(tag) = response.header("etag").map(str::to_owned) {
            for (name, value) in [
                ("equal", tag.clone()),
                ("weak", format!("W/{tag}")),
                ("any", "*".to_owned()),
                ("other", "\"x\"".to_owned()),
            ] {
                let request = get(&path).header("If-None-Match", &value);
                stage.ask(&format!("{label}/GET {path}/if-none-match/{name}"), gateway, &request);
            }
            let head = Request::new("HEAD", &path).header("Request-Id", "golden");
            stage.ask(&format!("{label}/HEAD {path}"), gateway, &head);
        }
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        for path in ["/.well-known/ucp", "/openapi.json", "/openrpc.json", "/docs", "/schemas/error.json"] {
            let request =
                Request::new(method, path).header("Request-Id", "golden").header("Origin", "https://a.example");
            stage.ask(&format!("{label}/{method} {path}"), gateway, &request);
        }
    }
    let gzip = get(&format!("/ucp/{NEWEST}/openapi.json")).header("Accept-Encoding", "gzip, br, zstd");
    stage.ask(&format!("{label}/compressed"), gateway, &gzip);
}
