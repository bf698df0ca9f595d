//! Authentications of the buyer that a platform shows (rules PAY-09 to PAY-11): actions, their surfaces, and what becomes
//! of the payment.

use serde_json::{Value, json};
use ucp_core::Release;

use super::shopper::{Shopper, errors, id, ready};
use crate::{
    handoff::browser::path,
    harness::{flower_shop, repository},
    platforms::host::{Host, profile_with},
    setup::{Configured, Setup, Transport},
    wire::Response,
};

const EXTENSION: &str = "dev.ucp.common.payment.authentication";
const CHALLENGE: &str = "dev.ucp.common.payment.three_ds_challenge";
const DEVICE: &str = "dev.ucp.common.payment.device_data_collection";

const DEVELOPMENT: &str = "[callers]\npolicy = \"development\"\n[limits]\nanonymous = \"none\"\n";

struct Stage {
    _host: Host,
    gateway: Configured,
    /// Profile of a platform that shows authentications, and of one that does not.
    profiles: [String; 2],
}

impl Stage {
    fn set() -> Self {
        let host = Host::start();
        let shopping = ["dev.ucp.shopping.checkout", "dev.ucp.shopping.cart", "dev.ucp.shopping.fulfillment"];
        let mut shows = profile_with(Release::NEWEST, &[&shopping[..], &[EXTENSION]].concat());
        shows["ucp"]["capabilities"][EXTENSION][0]["extends"] = json!("dev.ucp.shopping.checkout");
        let profiles =
            [host.profile("/shows", &shows), host.profile("/bare", &profile_with(Release::NEWEST, &shopping))];
        Self { gateway: Setup::new(DEVELOPMENT).start_on(flower_shop()), profiles, _host: host }
    }

    fn shopper(&self, shows: bool, transport: Transport) -> Shopper<'_> {
        Shopper::new(&self.gateway, Release::NEWEST, transport).named(&self.profiles[usize::from(!shows)])
    }

    /// A page that an answer gives the address of.
    fn page(&self, url: &Value) -> Response {
        self.gateway.get(&path(url))
    }

    /// The answer of a buyer on the page that plays the bank.
    fn confirm(&self, page: &str, action: &str, confirmed: &str) -> Response {
        let body = format!("action={action}&confirmed={confirmed}");
        let headers = [("Content-Type", "application/x-www-form-urlencoded")];
        self.gateway.send("POST", &format!("{page}/bank"), &headers, body.as_bytes())
    }
}

/// The one action of a checkout: its identifier, and the path of its surface.
#[track_caller]
fn action(checkout: &Value, kind: &str) -> (String, Value) {
    let actions = checkout["actions"].as_object().unwrap_or_else(|| panic!("actions: {checkout}"));
    assert_eq!(actions.len(), 1, "one interaction at a time: {checkout}");
    let occurrences = actions[kind].as_array().unwrap_or_else(|| panic!("{kind}: {checkout}"));
    assert_eq!(occurrences.len(), 1, "{checkout}");
    assert_eq!(occurrences[0]["config"]["payment_instrument_id"], "instrument_1");
    (id(&occurrences[0]).to_owned(), occurrences[0]["config"]["url"].clone())
}

fn seen(shopper: &Shopper<'_>, checkout: &Value) -> Value {
    shopper.call("get_checkout", Some(id(checkout)), &json!({})).document()
}

fn policy(response: &Response) -> &str {
    response.header("content-security-policy").expect("a policy")
}

#[test]
fn a_platform_shows_the_challenge_and_reads_what_became_of_it() {
    let stage = Stage::set();
    for transport in Transport::ALL {
        let shopper = stage.shopper(true, transport);
        for (confirmed, status) in [("yes", "completed"), ("no", "incomplete")] {
            let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
            assert_eq!(checkout.get("actions"), None, "{checkout}");
            let begun = shopper.complete(&checkout, "three_ds_token");
            assert_eq!(begun["status"], "complete_in_progress", "{begun}");
            assert!(begun["ucp"]["capabilities"].get(EXTENSION).is_some(), "{begun}");
            assert!(errors(&begun).is_empty(), "{begun}");
            let (action_id, url) = action(&begun, CHALLENGE);
            let origins =
                &begun["ucp"]["payment_handlers"]["com.example.sandbox_payment"][0]["config"]["action_origins"];
            let origin = url::Url::parse(url.as_str().expect("a URL")).expect("a URL").origin().ascii_serialization();
            assert_eq!(*origins, json!([origin]), "{begun}");

            // The same while it is outstanding, and a call that has no effect says why.
            assert_eq!(action(&seen(&shopper, &checkout), CHALLENGE).0, action_id);
            let again = shopper.complete(&checkout, "three_ds_token");
            assert_eq!(action(&again, CHALLENGE).0, action_id);
            let why = &errors(&again)[0];
            assert_eq!(
                (&why["code"], &why["severity"], &why["path"]),
                (&json!("action_outstanding"), &json!("recoverable"), &json!(format!("$.actions['{CHALLENGE}'][0]")))
            );

            let surface = stage.page(&url);
            assert_eq!(surface.status, 200, "{surface:?}");
            let bank =
                format!("data-begin=\"{}", url.as_str().expect("a URL").split("/actions/").next().expect("a page"));
            assert!(surface.body.contains(&bank) && surface.body.contains("action.ready"), "{surface:?}");
            assert!(policy(&surface).contains("script-src 'sha256-") && !policy(&surface).contains("frame-src"));
            let page = path(&begun["continue_url"]);
            let shown = stage.gateway.get(&format!("{page}/bank"));
            assert!(shown.body.contains("The test bank asks"), "{shown:?}");
            assert!(!policy(&shown).contains("script-src"), "{shown:?}");
            assert_eq!(stage.confirm(&page, "act_0123", "yes").status, 409, "nobody answers for the buyer");
            assert_eq!(seen(&shopper, &checkout)["status"], "complete_in_progress");

            let answered = stage.confirm(&page, &action_id, confirmed);
            assert_eq!((answered.status, answered.header("location")), (303, Some("returned")), "{answered:?}");
            let over = stage.gateway.get(&format!("{page}/returned"));
            assert!(over.status == 200 && over.body.contains("action.done"), "{over:?}");
            let after = seen(&shopper, &checkout);
            assert_eq!((&after["status"], after.get("actions")), (&json!(status), None), "{after}");
            assert_eq!(stage.confirm(&page, &action_id, "yes").status, 409, "it is answered once");
            let gone = stage.page(&url);
            assert!(gone.status == 200 && !gone.body.contains("data-begin"), "{gone:?}");
        }
    }
}

/// The names of the members of a document, at any depth.
fn members(document: &Value) -> Vec<String> {
    let Some(members_of) = document.as_object() else {
        return document.as_array().into_iter().flatten().flat_map(members).collect();
    };
    members_of.iter().flat_map(|(name, value)| std::iter::once(name.clone()).chain(members(value))).collect()
}

#[test]
fn the_documentation_shows_what_an_action_is() {
    let page = std::fs::read_to_string(repository().join("docs/payments.md")).expect("a page");
    let documented = |name: &str| {
        let block = page.split(&format!("```json {name}\n")).nth(1).and_then(|rest| rest.split("```").next());
        serde_json::from_str::<Value>(block.expect("a block")).expect("JSON")
    };
    let shown = documented("action");
    let stage = Stage::set();
    let shopper = stage.shopper(true, Transport::Rest);
    let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
    assert_eq!(members(&shown), members(&shopper.complete(&checkout, "three_ds_token")["actions"]));
}

#[test]
fn data_of_the_device_come_before_the_challenge() {
    let stage = Stage::set();
    let shopper = stage.shopper(true, Transport::Rest);
    let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
    let begun = shopper.complete(&checkout, "device_data_token");
    let (device, url) = action(&begun, DEVICE);
    let surface = stage.page(&url);
    assert!(surface.body.contains("data-step=\"device\""), "{surface:?}");
    assert!(policy(&surface).contains("frame-src http://127.0.0.1"), "{}", policy(&surface));
    let page = path(&begun["continue_url"]);
    let collected = stage.gateway.get(&format!("{page}/device"));
    assert_eq!((collected.status, collected.header("location")), (303, Some("returned")));
    let (challenge, _) = action(&seen(&shopper, &checkout), CHALLENGE);
    assert_ne!(challenge, device, "other work has another identifier");
    assert_eq!(stage.confirm(&page, &device, "yes").status, 409);
    assert_eq!(stage.confirm(&page, &challenge, "yes").status, 303);
    assert_eq!(seen(&shopper, &checkout)["status"], "completed");
}

#[test]
fn platforms_that_show_nothing_send_their_buyers_to_the_shop() {
    let stage = Stage::set();
    for (token, device) in [("three_ds_token", false), ("device_data_token", true)] {
        let shopper = stage.shopper(false, Transport::Rest);
        let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
        let begun = shopper.complete(&checkout, token);
        assert_eq!((&begun["status"], begun.get("actions")), (&json!("requires_escalation"), None), "{begun}");
        assert_eq!(errors(&begun)[0]["code"], "requires_3ds", "{begun}");
        let page = path(&begun["continue_url"]);
        if device {
            let shown = stage.gateway.get(&page);
            assert!(shown.body.contains("<iframe hidden"), "{shown:?}");
            assert!(policy(&shown).contains("frame-src") && !shown.body.contains("<script"), "{shown:?}");
            assert_eq!(shown.header("refresh"), Some("3"), "it looks again by itself");
            assert_eq!(stage.gateway.get(&format!("{page}/device")).status, 303);
        }
        let shown = stage.gateway.get(&page);
        assert!(shown.body.contains("Go to your bank") && shown.header("refresh").is_none(), "{shown:?}");
        let bank = stage.gateway.get(&format!("{page}/bank"));
        let action = bank.body.split("value=\"act_").nth(1).and_then(|rest| rest.split('"').next()).expect("an action");
        assert_eq!(stage.confirm(&page, &format!("act_{action}"), "yes").status, 303);
        assert_eq!(seen(&shopper, &checkout)["status"], "completed");
    }
}

#[test]
fn a_change_calls_the_payment_and_its_action_off() {
    let stage = Stage::set();
    let shopper = stage.shopper(true, Transport::Rest);
    let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
    let begun = shopper.complete(&checkout, "three_ds_token");
    let (first, _) = action(&begun, CHALLENGE);
    let updated = shopper.update(&checkout, &ready(&[("pot_ceramic", 2)]));
    assert_eq!((&updated["status"], updated.get("actions")), (&json!("ready_for_complete"), None), "{updated}");
    let page = path(&begun["continue_url"]);
    assert_eq!(stage.confirm(&page, &first, "yes").status, 409, "what was called off cannot be confirmed");
    let again = shopper.complete(&checkout, "three_ds_token");
    assert_ne!(action(&again, CHALLENGE).0, first);
    let canceled = shopper.call("cancel_checkout", Some(id(&checkout)), &json!({})).document();
    assert_eq!((&canceled["status"], canceled.get("actions")), (&json!("canceled"), None), "{canceled}");
}

#[test]
fn strangers_find_no_surface() {
    let stage = Stage::set();
    for place in ["/continue/unknown/actions/act_1", "/continue/unknown/returned", "/continue/unknown/device"] {
        assert_eq!(stage.gateway.get(place).status, 404, "{place}");
    }
    assert_eq!(stage.confirm("/continue/unknown", "act_1", "yes").status, 409);
    let shopper = stage.shopper(true, Transport::Rest);
    let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
    let page = path(&checkout["continue_url"]);
    let surface = stage.gateway.get(&format!("{page}/actions/%22%3E%3Cscript%3E"));
    assert!(surface.status == 200 && !surface.body.contains("\"><script>"), "{surface:?}");
}
