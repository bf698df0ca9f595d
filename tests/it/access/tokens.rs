//! Access tokens by OAuth client credentials (RFC 6749): a platform that has one is the platform that it was issued for.

use base64::{Engine as _, prelude::BASE64_STANDARD};

use super::*;
use crate::{harness::Lent, harness::Shared, wire::Response};

const SECRET: &str = "the+secret&of%this=client";
const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

/// A gateway that knows a platform by its client, and an older secret of it.
fn shop() -> Lent<Configured> {
    static SHARED: Shared<Configured> = Shared::new();
    SHARED.get(|| {
        let client = "client_id = \"agent\"\nclient_secret_env = \"AGENT_SECRET\"";
        let configuration = format!("{REQUIRE}\n[[platform]]\nname = \"Agent\"\n{client}\n");
        Setup::new(&configuration).variable("AGENT_SECRET", &format!("{SECRET} an-older-secret-of-it")).start()
    })
}

fn asked(gateway: &Configured, headers: &[(&str, &str)], body: &str) -> Response {
    gateway.send("POST", "/oauth/token", headers, body.as_bytes())
}

fn basic(id: &str, secret: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{id}:{secret}")))
}

/// The token of an answer that has one.
fn token(answer: &Response) -> String {
    assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-store")), "{answer:?}");
    let issued = answer.json();
    assert_eq!((&issued["token_type"], &issued["expires_in"]), (&"Bearer".into(), &3600.into()));
    issued["access_token"].as_str().expect("a token").to_owned()
}

/// The secret as a form writes it.
fn escaped(secret: &str) -> String {
    secret.replace('%', "%25").replace('+', "%2B").replace('&', "%26").replace('=', "%3D")
}

#[test]
fn a_client_gets_a_token_in_each_way_of_oauth_and_calls_with_it() {
    let gateway = shop();
    let json = ("Content-Type", "application/json; charset=utf-8");
    let grant = "grant_type=client_credentials";
    let in_form = format!("{grant}&client_id=agent&client_secret={}&audience=", escaped(SECRET));
    let in_json =
        serde_json::json!({ "grant_type": "client_credentials", "client_id": "agent", "client_secret": SECRET });
    let plain = basic("agent", "an-older-secret-of-it");
    let encoded = basic("agent", &escaped(SECRET));
    let by_json = serde_json::json!({ "grant_type": "client_credentials" }).to_string();
    for answer in [
        asked(&gateway, &[FORM], &in_form),
        asked(&gateway, &[json], &in_json.to_string()),
        asked(&gateway, &[FORM, ("Authorization", &plain)], grant),
        asked(&gateway, &[FORM, ("Authorization", &encoded)], &format!("{grant}&client_id=agent")),
        asked(&gateway, &[json, ("Authorization", &encoded)], &by_json),
    ] {
        let bearer = format!("Bearer {}", token(&answer));
        for transport in Transport::ALL {
            let called = Ask::new(transport, "").unnamed();
            called.clone().header("Authorization", &bearer).answer(&gateway);
            assert_eq!(called.refusal(&gateway).verdict(), (400, "invalid_profile_url"), "without it");
        }
    }
}

#[test]
fn what_is_wrong_with_a_request_for_a_token_is_said_as_oauth_does() {
    let gateway = shop();
    let grant = "grant_type=client_credentials";
    let proven = basic("agent", &escaped(SECRET));
    let other = basic("agent", "another-secret-of-others");
    for (headers, body, status, error) in [
        (&[FORM, ("Authorization", &*proven)][..], "", 400, "invalid_request"),
        (&[FORM, ("Authorization", &proven)], "grant_type=password", 400, "unsupported_grant_type"),
        (&[FORM, ("Authorization", &proven)], &format!("{grant}&{grant}"), 400, "invalid_request"),
        (&[FORM, ("Authorization", &proven)], &format!("{grant}&client_id=other"), 400, "invalid_request"),
        (&[FORM, ("Authorization", &proven)], &format!("{grant}&client_secret=x"), 400, "invalid_request"),
        (
            &[FORM, ("Authorization", &proven)],
            &format!("{grant}&audience=https://other.example"),
            400,
            "invalid_target",
        ),
        (&[("Content-Type", "text/plain"), ("Authorization", &proven)], grant, 400, "invalid_request"),
        (&[FORM, ("Authorization", &other)], grant, 401, "invalid_client"),
        (&[FORM, ("Authorization", "Bearer x")], grant, 401, "invalid_client"),
        (&[FORM, ("Authorization", "Basic !")], grant, 401, "invalid_client"),
        (&[FORM], grant, 401, "invalid_client"),
        (&[FORM], &format!("{grant}&client_id=agent&client_secret=agent"), 401, "invalid_client"),
    ] {
        let answer = asked(&gateway, headers, body);
        assert_eq!((answer.status, &answer.json()["error"]), (status, &error.into()), "{body}: {answer:?}");
        assert_eq!(answer.header("www-authenticate").is_some(), status == 401, "{answer:?}");
        assert!(!answer.body.contains(SECRET) && !answer.body.contains("another-secret"), "{answer:?}");
    }
}

#[test]
fn a_bearer_that_is_nobodys_is_unauthorized_whether_there_are_keys_or_not() {
    let open = Setup::new(REQUIRE).start();
    let known = shop();
    for gateway in [&open, &*known] {
        for bearer in ["eyJhbGciOiJFUzI1NiJ9.e30.x", "ucpt_MCBhZ2VudA.AAAA", "ucpk_unknown"] {
            for transport in Transport::ALL {
                let asked = Ask::new(transport, "https://agent.example.com/p")
                    .header("Authorization", &format!("Bearer {bearer}"));
                assert_eq!(asked.refusal(gateway).verdict(), (401, "unauthorized"), "{bearer}");
            }
        }
    }
    assert_eq!(asked(&open, &[FORM], "grant_type=client_credentials").status, 404, "no client, no endpoint");
}

#[test]
fn a_client_needs_an_identifier_and_a_secret_that_is_no_guess() {
    for (client, problem) in [
        ("client_id = \"agent\"", "a client must have a secret"),
        ("client_secret_env = \"AGENT_SECRET\"", "a client secret must have its `client_id`"),
        ("client_id = \"an agent\"\nclient_secret_env = \"AGENT_SECRET\"", "visible ASCII"),
        ("client_id = \"agent\"\nclient_secret_env = \"SHORT_SECRET\"", "16 to 256 visible ASCII"),
    ] {
        let platform = format!("[[platform]]\nname = \"Agent\"\nprofile = \"https://agent.example.com/p\"\n{client}\n");
        let setup = Setup::new(&platform).variable("AGENT_SECRET", SECRET).variable("SHORT_SECRET", "hunter2");
        let said = setup.run("check-config").expect_err("refused");
        assert!(said.contains(problem) && !said.contains("hunter2") && !said.contains(SECRET), "{said}");
    }
}
