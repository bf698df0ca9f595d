//! The calls that are counted.

use std::cell::RefCell;

use serde_json::{Value, json};

use crate::{
    Done,
    corpus::{
        id,
        payloads::{lines, paying, ready},
    },
    host::{EVERYTHING, Host, profile},
    operation::{Caller, NEWEST, Way},
    process::Gateway,
    wire::Request,
};

/// Creation of the resource of a call: an operation and its payload.
type Maker = (&'static str, Value);

/// A call that is sent again and again.
pub(super) struct Call {
    pub(super) name: String,
    caller: Caller,
    /// The operation; none for the profile of the gateway.
    operation: Option<&'static str>,
    payload: Value,
    maker: Option<Maker>,
    /// `true` if every call is about a resource of its own.
    is_once: bool,
    resources: RefCell<Vec<String>>,
    /// Keeps the profile of the caller there.
    _host: Option<Host>,
}

impl Call {
    /// Makes the resources that so many calls are about.
    pub(super) fn prepare(&self, count: u32, gateway: &Gateway) -> Done {
        let Some((operation, payload)) = &self.maker else { return Ok(()) };
        let rest = self.caller.over(Way::Rest);
        for _ in 0..if self.is_once { count } else { 1 } {
            let made = gateway.send(&rest.call(operation, None, payload))?.document();
            self.resources.borrow_mut().push(id(&made));
        }
        Ok(())
    }

    /// The request of a round.
    pub(super) fn request(&self, round: u32) -> Request {
        let Some(operation) = self.operation else { return Request::get("/.well-known/ucp") };
        let resources = self.resources.borrow();
        let place = if self.is_once { round as usize } else { 0 };
        let resource = resources.get(place).map(String::as_str);
        let key = format!("round-{round}-{}", self.name.replace([' ', ',', '/'], "-"));
        let writes = !operation.starts_with("get") && !operation.ends_with("catalog");
        self.caller.keyed(Some(&*key).filter(|_| writes), operation, resource, &self.payload)
    }
}

fn call(name: &str, way: Way, operation: &'static str, payload: Value) -> Call {
    Call {
        name: name.to_owned(),
        caller: Caller::new(None, way),
        operation: Some(operation),
        payload,
        maker: None,
        is_once: false,
        resources: RefCell::default(),
        _host: None,
    }
}

/// The calls to the shop with a sample.
pub(super) fn calls(sample: &str) -> Vec<Call> {
    if sample == "outfitters" { browsing() } else { buying() }
}

fn browsing() -> Vec<Call> {
    let ten = json!({ "ids": ["prod_abc123", "prod_def456", "var_xyz789", "RP-BLU-10", "runner-pro", "prod_blue_runner_pro",
        "TMX-GRN-11", "blue-runner-pro", "var_abc123_red_10", "var_abc123_blue_10"] });
    let search = json!({ "query": "blue running shoes", "pagination": { "limit": 10 } });
    let product = json!({ "id": "prod_abc123", "selected": [{ "name": "Color", "label": "Blue" }], "preferences": ["Color", "Size"] });
    let mut calls = vec![
        Call { operation: None, ..call("GET /.well-known/ucp", Way::Rest, "get_product", Value::Null) },
        call("REST lookup_catalog, 10 ids", Way::Rest, "lookup_catalog", ten.clone()),
        call("REST search_catalog", Way::Rest, "search_catalog", search.clone()),
        call("REST get_product", Way::Rest, "get_product", product.clone()),
        call("REST get_product, unknown", Way::Rest, "get_product", json!({ "id": "nothing" })),
        call("tools/call lookup_catalog, 10 ids", Way::Tool, "lookup_catalog", ten.clone()),
        call("tools/call search_catalog", Way::Tool, "search_catalog", search),
        call("tools/call get_product, stateless", Way::Stateless, "get_product", product.clone()),
        call("JSON-RPC get_product, flat", Way::Flat, "get_product", product),
    ];
    // Platforms of single releases at the root, which are answered in theirs.
    for release in ["2026-01-11", "2026-04-08", NEWEST] {
        let Ok(host) = Host::start() else { continue };
        let url = host.profile("/p", &profile(release, &EVERYTHING));
        let mut own =
            call(&format!("REST lookup_catalog, {release} at root"), Way::Rest, "lookup_catalog", ten.clone());
        own.caller = own.caller.named(&url);
        calls.push(Call { _host: Some(host), ..own });
    }
    calls
}

fn buying() -> Vec<Call> {
    let goods = json!({ "line_items": lines(&[("pot_ceramic", 1), ("orchid_white", 1)]) });
    let whole = ready(&[("pot_ceramic", 1), ("orchid_white", 1)]);
    let about = |call: Call, maker: Maker, is_once: bool| Call { maker: Some(maker), is_once, ..call };
    let cart = ("create_cart", goods.clone());
    let checkout = ("create_checkout", whole.clone());
    vec![
        call("REST create_cart", Way::Rest, "create_cart", goods.clone()),
        about(call("REST get_cart", Way::Rest, "get_cart", Value::Null), cart.clone(), false),
        about(call("REST update_cart", Way::Rest, "update_cart", goods.clone()), cart, false),
        call("REST create_checkout", Way::Rest, "create_checkout", whole.clone()),
        about(call("REST get_checkout", Way::Rest, "get_checkout", Value::Null), checkout.clone(), false),
        about(call("REST update_checkout", Way::Rest, "update_checkout", whole.clone()), checkout.clone(), false),
        about(
            call("REST complete_checkout", Way::Rest, "complete_checkout", paying(NEWEST, "success_token")),
            checkout.clone(),
            true,
        ),
        call("tools/call create_checkout", Way::Tool, "create_checkout", whole),
        about(
            call("tools/call complete_checkout", Way::Tool, "complete_checkout", paying(NEWEST, "success_token")),
            checkout,
            true,
        ),
    ]
}
