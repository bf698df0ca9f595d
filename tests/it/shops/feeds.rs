//! Shops of one data directory that read feeds at the same time sell what is in their own.

use std::{collections::BTreeSet, sync::Barrier, thread};

use serde_json::json;
use ucp_testkit::server::{Answer, Server};

use super::{send, several};
use crate::{
    harness::{elements, eventually},
    wire::PATIENCE,
};

/// Number of products in each feed.
const GOODS: usize = 3_000;

/// A feed of products whose identifiers begin with a name.
fn feed(name: &str) -> Vec<u8> {
    let lines = (0..GOODS).map(|number| {
        let product = json!({
            "id": format!("{name}-{number}"), "title": format!("Vase {number}"),
            "description": { "plain": "Turned by hand. ".repeat(20) },
            "variants": [{ "id": format!("{name}-{number}-v"), "price": { "amount": 900, "currency": "EUR" } }],
        });
        format!("{product}\n")
    });
    lines.collect::<String>().into_bytes()
}

#[test]
fn downloads_of_two_shops_at_once_stay_apart() {
    let both = Barrier::new(2);
    let feeds = Server::start(move |request| {
        let name = if request.uri().path().starts_with("/one") { "one" } else { "two" };
        let feed = feed(name);
        // Neither download begins before both have.
        both.wait();
        Answer::Whole(200, Vec::new(), feed)
    });
    let shop = |name: &str| {
        let url = feeds.url(&format!("/{name}/products.jsonl"));
        format!(
            "[[shop]]\nname = \"{name}\"\nhosts = [\"{name}.localhost\"]\n[shop.catalog]\nsource = \"feed\"\n\
             feed_url = \"{url}\"\ncurrency = \"EUR\"\ninterval_s = 86400\n"
        )
    };
    let (_setup, data, gateway) = several(&format!("{}{}", shop("one"), shop("two")));
    let found = |name: &str| {
        let payload = json!({ "query": "vase", "pagination": { "limit": 50 } });
        let answer = send(&gateway, &format!("{name}.localhost"), "POST", "/catalog/search", &payload).json();
        let ids = elements(&answer["products"]).iter().filter_map(|product| product["id"].as_str()?.split('-').next());
        let owners: BTreeSet<_> = ids.map(str::to_owned).collect();
        (answer["pagination"]["total_count"].as_u64(), owners)
    };
    thread::scope(|scope| {
        for name in ["one", "two"] {
            let found = &found;
            scope.spawn(move || {
                let own = (Some(GOODS as u64), BTreeSet::from([name.to_owned()]));
                eventually(&format!("the goods of shop {name}, and no others"), PATIENCE, || {
                    (found(name) == own).then_some(())
                });
            });
        }
    });
    let left = std::fs::read_dir(data.path()).expect("a directory").filter_map(Result::ok);
    let left: Vec<_> = left.map(|entry| entry.file_name().into_string().expect("UTF-8")).collect();
    assert!(!left.iter().any(|name| name.starts_with("feed.")), "a feed lies in the folder of its shop: {left:?}");
}
