//! Two gateways in a row in front of a shop: what is said over one transport travels over the other and over the first
//! again, and is the same.

use serde_json::{Value, json};
use ucp_core::Release;

use super::{LOOPBACK, Recorder, WAYS, directory, in_front_of, payload};
use crate::{
    purchase::shopper::{Said, Shopper, id, lines, new_key, ready},
    setup::{Configured, Setup, Transport},
};

/// A shop, a gateway that asks it over one transport, and one that asks that over the other.
struct Chain {
    shop: Configured,
    middle: Configured,
    front: Configured,
    own: Transport,
    /// Between the middle and the shop.
    _recorder: Recorder,
}

impl Chain {
    /// A chain whose callers come over `own`, whose first gateway asks over `between`, and whose second asks over `own`
    /// again.
    fn of(between: Transport, own: Transport, shop: &str) -> Self {
        let recorder = Recorder::start(Release::NEWEST);
        let setup = Setup::new(&format!("{LOOPBACK}{shop}"));
        let setup = setup.arguments(&["--sample", "flower-shop", "--public-url", &recorder.url()]);
        let shop = setup.start_at(&recorder.behind(), directory());
        let middle = in_front_of(&[&recorder.url()], "", own, "", directory());
        let sites = [format!("http://{}", middle.address), recorder.url()];
        let front = in_front_of(&sites.each_ref().map(String::as_str), "", between, "", directory());
        Self { shop, middle, front, own, _recorder: recorder }
    }

    /// A caller of the first gateway.
    fn through(&self) -> Shopper<'_> {
        Shopper::new(&self.front, Release::NEWEST, self.own)
    }

    /// A caller of the shop.
    fn direct(&self) -> Shopper<'_> {
        Shopper::new(&self.shop, Release::NEWEST, self.own)
    }

    /// The second gateway, asked at the shop itself: whose everything is there.
    fn known(&self) -> Shopper<'_> {
        let profile = format!("http://{}/upstream/{}/.well-known/ucp", self.middle.address, Release::NEWEST);
        self.direct().named(&profile)
    }
}

/// Result: a document without the parts of this response, or an error; with its status and `Retry-After`.
fn told(said: &Said) -> (u16, Value, Option<String>) {
    let mut failure = said.failure.clone();
    for member in ["request_id", "data"] {
        // The request has another name.
        match failure.as_mut().and_then(|failure| failure.get_mut(member)) {
            Some(data) if member == "data" => drop(data.as_object_mut().map(|data| data.remove("request_id"))),
            _ => {}
        }
    }
    let document = failure.unwrap_or_else(|| payload(said.document()));
    (said.status, document, said.response.header("retry-after").map(str::to_owned))
}

#[test]
fn what_is_found_and_refused_is_the_same_over_two_as_over_none() {
    for (between, own) in WAYS {
        let chain = Chain::of(between, own, "");
        let (through, direct) = (chain.through(), chain.direct());
        let many: Vec<_> = (0..80).map(|number| format!("id-{number}")).collect();
        for (operation, id, asked) in [
            ("search_catalog", None, json!({ "query": "roses", "pagination": { "limit": 2 } })),
            ("search_catalog", None, json!({ "query": "there is no such thing" })),
            ("search_catalog", None, json!({})),
            ("search_catalog", None, json!({ "query": "roses", "pagination": { "cursor": "nonsense" } })),
            ("search_catalog", None, json!({ "query": 1 })),
            ("lookup_catalog", None, json!({ "ids": ["bouquet_roses", "pot_ceramic", "nothing", "pot_ceramic"] })),
            ("lookup_catalog", None, json!({ "ids": many })),
            ("lookup_catalog", None, json!({ "ids": [] })),
            ("get_product", None, json!({ "id": "bouquet_roses" })),
            ("get_product", None, json!({ "id": "nothing" })),
            ("get_product", None, json!({})),
            ("get_cart", Some("nothing"), Value::Null),
            ("update_cart", Some("nothing"), json!({ "line_items": lines(&[("pot_ceramic", 1)]) })),
            ("cancel_cart", Some("no/thing?x"), Value::Null),
            ("get_checkout", Some("nothing"), Value::Null),
            ("update_checkout", Some("nothing"), json!({ "line_items": lines(&[("pot_ceramic", 1)]) })),
            ("complete_checkout", Some("nothing"), through.paying("success_token")),
            ("cancel_checkout", Some("nothing"), Value::Null),
            ("get_order", Some("nothing"), Value::Null),
            ("create_checkout", None, json!({ "line_items": "none" })),
            ("create_cart", None, json!({ "line_items": [{ "item": { "id": "x" }, "quantity": 0 }] })),
        ] {
            let id = id.map(|id| id.replace('/', "%2F").replace('?', "%3F"));
            let (there, here) =
                (through.call(operation, id.as_deref(), &asked), direct.call(operation, id.as_deref(), &asked));
            let ((status, mut said, wait), (expected, mut known, _)) = (told(&there), told(&here));
            // A missing resource is reported in the words of its source.
            for document in [&mut said, &mut known] {
                if let Some(message) =
                    document.pointer_mut("/messages/0").filter(|message| message["code"] == "not_found")
                {
                    message["content"] = Value::Null;
                }
            }
            assert_eq!((status, &said), (expected, &known), "{operation} {asked} by way of {between:?}");
            assert_eq!(wait, None);
        }
    }
}

#[test]
fn a_purchase_is_the_same_over_two_as_at_the_shop() {
    for (between, own) in WAYS {
        let chain = Chain::of(between, own, "");
        let (through, known) = (chain.through(), chain.known());
        let same = |said: &Value, operation: &str| {
            let there = known.call(operation, Some(id(said)), &Value::Null).document();
            assert_eq!(payload(said.clone()), payload(there), "{operation} by way of {between:?}");
        };
        let made = through.call("create_cart", None, &json!({ "line_items": lines(&[("bouquet_roses", 2)]) }));
        assert_eq!(made.status, if own == Transport::Rest { 201 } else { 200 });
        let cart = made.document();
        same(&cart, "get_cart");
        let asked =
            json!({ "line_items": lines(&[("bouquet_roses", 1)]), "discounts": { "codes": ["10OFF", "BOGUS"] } });
        same(&through.call("update_cart", Some(id(&cart)), &asked).document(), "get_cart");
        let other =
            through.call("create_cart", None, &json!({ "line_items": lines(&[("pot_ceramic", 1)]) })).document();
        let canceled = through.call("cancel_cart", Some(id(&other)), &Value::Null);
        assert_eq!(canceled.status, 200);
        let checkout = through.create(&json!({ "cart_id": id(&cart) }));
        same(&checkout, "get_checkout");
        let checkout = through.update(&checkout, &ready(&[("bouquet_roses", 1)]));
        same(&checkout, "get_checkout");
        let declined = through.call("complete_checkout", Some(id(&checkout)), &through.paying("fail_token"));
        assert_eq!((declined.status, declined.errors()), (200, vec!["payment_failed".to_owned()]));
        // A retry gets the same bytes, whoever kept them.
        let key = new_key();
        let complete =
            |token: &str| through.keyed(Some(&key), "complete_checkout", Some(id(&checkout)), &through.paying(token));
        let done = complete("success_token");
        assert_eq!(complete("success_token").text(), done.text());
        assert_eq!(complete("fail_token").refusal().0, "idempotency_conflict");
        let done = done.document();
        assert_eq!(done["status"], "completed", "{done}");
        same(&done, "get_checkout");
        same(&through.call("get_order", done["order"]["id"].as_str(), &Value::Null).document(), "get_order");
        let over = through.call("cancel_checkout", Some(id(&done)), &Value::Null);
        let there = known.call("cancel_checkout", Some(id(&done)), &Value::Null);
        assert_eq!(told(&over), told(&there));
        assert_eq!(
            (over.status, over.errors()),
            (if own == Transport::Rest { 409 } else { 200 }, vec!["checkout_completed".to_owned()])
        );
        // And what was canceled is.
        let left = through.create(&ready(&[("pot_ceramic", 1)]));
        let canceled = through.call("cancel_checkout", Some(id(&left)), &Value::Null).document();
        assert_eq!(canceled["status"], "canceled", "{canceled}");
        same(&canceled, "get_checkout");
    }
}

#[test]
fn whoever_has_to_wait_is_told_for_how_long() {
    for (between, own) in WAYS {
        let chain = Chain::of(between, own, "[limits]\nanonymous = { per_second = 1, burst = 1 }\n");
        let through = chain.through();
        let asked = json!({ "line_items": lines(&[("pot_ceramic", 1)]) });
        let answers: Vec<Said> = std::thread::scope(|scope| {
            let calls: Vec<_> = (0..6).map(|_| scope.spawn(|| through.call("create_cart", None, &asked))).collect();
            calls.into_iter().map(|call| call.join().expect("an answer")).collect()
        });
        let refused: Vec<_> = answers.iter().filter(|said| said.failure.is_some()).collect();
        assert!(!refused.is_empty(), "some were too many");
        for said in refused {
            let (code, _, body) = said.refusal();
            assert_eq!((said.status, code.as_str()), (429, "rate_limited"), "{said:?}");
            let wait = said.response.header("retry-after").and_then(|wait| wait.parse::<u64>().ok());
            assert_eq!((wait, body["retry_after"].as_u64()), (Some(1), Some(1)), "{said:?}");
        }
    }
}
