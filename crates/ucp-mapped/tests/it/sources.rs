//! Authentication of sources.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use ucp_contract::{Question, Reply};
use ucp_testkit::{host::Request, server::Answer};

use super::{MappedShop, find};

const QUESTIONS: &str = r#"
[find]
answer = "{products: []}"
[[find.step]]
name = "page"
path = "products"
headers.X-Language = "$question.context.language"
headers.X-Country = "$question.context.country"
[resolve]
answer = "{products: []}"
"#;

fn header<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    request.headers().get(name).and_then(|value| value.to_str().ok())
}

#[tokio::test]
async fn tokens_and_passwords_are_sent() {
    for (auth, name, value) in [
        ("{ kind = \"token\", secret = \"A\" }", "authorization", "Bearer A-value"),
        ("{ kind = \"token\", secret = \"A\", header = \"X-Key\", prefix = \"\" }", "x-key", "A-value"),
        ("{ kind = \"basic\", user = \"me\", secret = \"A\" }", "authorization", "Basic bWU6QS12YWx1ZQ=="),
    ] {
        let mapping = format!("headers = {{ X-Channel = \"web\" }}\nauth = {auth}\n{QUESTIONS}");
        let shop = MappedShop::new(&mapping, |_| Answer::json(&json!({})));
        shop.answer(Question::Find, find(&json!({}))).await;
        let request = &shop.server.requests()[0];
        assert_eq!(header(request, name), Some(value));
        assert_eq!((header(request, "x-channel"), header(request, "x-language")), (Some("web"), Some("en")));
        assert_eq!(header(request, "x-country"), None);
    }
}

#[tokio::test]
async fn oauth_tokens_are_fetched_once_and_again_when_they_are_ended() {
    let grants = AtomicUsize::new(0);
    let mapping = format!(
        "auth = {{ kind = \"oauth\", token_address = \"ADDRESStoken\", client = \"me\", secret = \"A\", scope = \"all\" }}\n{QUESTIONS}"
    );
    let shop = MappedShop::new(&mapping, move |request| {
        if request.uri().path() == "/api/token" {
            let form = String::from_utf8_lossy(request.body());
            assert_eq!(form, "grant_type=client_credentials&client_id=me&client_secret=A-value&scope=all");
            let number = grants.fetch_add(1, Ordering::Relaxed);
            return Answer::json(&json!({"access_token": format!("t{number}"), "expires_in": 3600}));
        }
        // The first token is ended after one request.
        let asked =
            header(request, "x-language") == Some("fr") || header(request, "authorization") == Some("Bearer t1");
        if asked { Answer::json(&json!({})) } else { Answer::status(401) }
    });
    for _ in 0..2 {
        shop.answer(Question::Find, find(&json!({}))).await;
    }
    let expected =
        ["POST /api/token", "GET /api/products", "POST /api/token", "GET /api/products", "GET /api/products"];
    assert_eq!(shop.asked(), expected);
}

#[tokio::test]
async fn a_client_is_stated_in_the_header_where_the_file_says_so() {
    let auth = "auth = { kind = \"oauth\", token_address = \"ADDRESStoken\", client = \"m e:\", secret = \"A\", \
                credentials = \"header\" }";
    let shop = MappedShop::new(&format!("{auth}\n{QUESTIONS}"), |request| {
        if request.uri().path() == "/api/token" {
            assert_eq!(String::from_utf8_lossy(request.body()), "grant_type=client_credentials");
            // `m+e%3A:A-value`, in base64.
            assert_eq!(header(request, "authorization"), Some("Basic bStlJTNBOkEtdmFsdWU="));
            return Answer::json(&json!({"access_token": "t0", "expires_in": 3600}));
        }
        if header(request, "authorization") == Some("Bearer t0") {
            Answer::json(&json!({}))
        } else {
            Answer::status(401)
        }
    });
    shop.answer(Question::Find, find(&json!({}))).await;
    assert_eq!(shop.asked(), ["POST /api/token", "GET /api/products"]);
}

#[tokio::test]
async fn paths_stay_below_the_address() {
    for (words, good) in [
        ("shoes", true),
        ("...", true),
        ("a/b", true),
        ("..", false),
        (".", false),
        ("a/../../b", false),
        ("a\\..\\b", false),
        ("%2e%2e", false),
        ("%252E.", false),
        ("a%2f..%2Fb", false),
        (".\t.", false),
        ("..;a", false),
    ] {
        let mapping = QUESTIONS.replace("path = \"products\"", "path = \"search/{$question.words}\"");
        let shop = MappedShop::new(&mapping, |_| Answer::json(&json!({})));
        let asked = shop.ask(Question::Find, find(&json!({"words": words}))).await;
        assert_eq!(matches!(asked, Ok(Reply::Answer(_))), good, "{words}: {asked:?}");
        assert!(shop.asked().iter().all(|line| line.starts_with("GET /api/search/")), "{:?}", shop.asked());
    }
}

#[tokio::test]
async fn a_request_whose_header_cannot_be_made_is_not_sent() {
    let mapping = QUESTIONS.replace("$question.context.country", "$question.words");
    let shop = MappedShop::new(&mapping, |_| Answer::json(&json!({})));
    shop.ask(Question::Find, find(&json!({ "words": "one\ntwo" }))).await.expect_err("no header");
    assert!(shop.asked().is_empty(), "{:?}", shop.asked());
    shop.answer(Question::Find, find(&json!({ "words": "one two" }))).await;
    assert_eq!(shop.asked(), ["GET /api/products"]);
}

/// A shop with a token endpoint that answers like this.
fn with_tokens(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> MappedShop {
    let auth = "auth = { kind = \"oauth\", token_address = \"ADDRESStoken\", client = \"me\", secret = \"A\" }";
    MappedShop::new(&format!("{auth}\n{QUESTIONS}"), answer)
}

fn count(shop: &MappedShop, line: &str) -> usize {
    shop.asked().iter().filter(|asked| *asked == line).count()
}

#[tokio::test]
async fn a_token_is_asked_for_once_for_all_who_wait_and_its_failure_is_kept() {
    let shop = with_tokens(|_| {
        std::thread::sleep(std::time::Duration::from_millis(200));
        Answer::status(500)
    });
    let asked = (0..20).map(|_| shop.ask(Question::Find, find(&json!({}))));
    assert!(ucp_testkit::wait::all(asked).await.iter().all(Result::is_err));
    assert!(shop.ask(Question::Find, find(&json!({}))).await.is_err());
    assert_eq!(shop.asked(), ["POST /api/token"]);
}

#[tokio::test]
async fn an_api_that_takes_no_token_is_left_alone() {
    let shop = with_tokens(|request| match request.uri().path() {
        "/api/token" => Answer::json(&json!({"access_token": "t", "expires_in": 3600})),
        _ => Answer::status(401),
    });
    ucp_testkit::until("a pause", ucp_testkit::PATIENCE, async || {
        let asked = shop.ask(Question::Find, find(&json!({}))).await;
        matches!(asked, Err(ucp_net::Failure::Open { .. })).then_some(())
    })
    .await;
    let before = count(&shop, "GET /api/products");
    for _ in 0..20 {
        assert!(shop.ask(Question::Find, find(&json!({}))).await.is_err());
    }
    assert_eq!(count(&shop, "GET /api/products"), before);
}
