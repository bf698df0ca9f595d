//! Against a service on this machine that misbehaves in every way.

use std::sync::atomic::{AtomicBool, Ordering};

use ucp_core::{Code, Refusal, merchant::record::Precision};
use ucp_testkit::{Host, PATIENCE, host::answer, until, wait};

use super::*;

fn options(service: &Host) -> Options {
    Options::new(service.url("/search?key=secret").parse().expect("an address"))
}

fn geocoder(service: &Host) -> HttpGeocoder {
    HttpGeocoder::new(options(service)).expect("a geocoder")
}

fn json(body: &str) -> Vec<u8> {
    response(200, ("content-type", "application/json; charset=utf-8"), body)
}

fn response(status: u16, header: (&str, &str), body: &str) -> Vec<u8> {
    answer(status, &[header, ("connection", "close")], body)
}

const HOUSE: &str = r#"[{"place_id":1,"lat":"37.7930","lon":"-122.4161","category":"place","type":"house","place_rank":30,"addresstype":"place"}]"#;

fn address() -> PostalAddress {
    PostalAddress {
        street_address: Some("1  Invented Alley".into()),
        address_locality: Some("San Francisco".into()),
        address_region: Some("CA".into()),
        address_country: Some("USA".into()),
        postal_code: Some("94105".into()),
        full_name: Some("Erika Mustermann".into()),
        phone_number: Some("+1 555 0100".into()),
        ..PostalAddress::default()
    }
}

#[tokio::test]
async fn a_service_is_asked_for_a_place_and_for_nothing_else() {
    let service = Host::answering(json(HOUSE)).await;
    let resolved = geocoder(&service).resolve(&address()).await.expect("an answer").expect("a place");
    assert_eq!((resolved.point.latitude(), resolved.point.longitude()), (37.793, -122.4161));
    assert_eq!(resolved.precision, Precision::Street);
    let question = service.requests().remove(0);
    assert_eq!(
        format!("{} {}", question.method(), question.uri()),
        "GET /search?key=secret&format=jsonv2&limit=1&street=1+Invented+Alley&city=San+Francisco&postalcode=94105\
         &state=CA&countrycodes=us"
    );
    let whole = format!("{question:?}");
    // Spelled out, because the number of the port can have some of the digits.
    for hidden in ["Mustermann", "555 0100", "555+0100", "555%200100", "5550100"] {
        assert!(!whole.contains(hidden), "{whole}");
    }
}

#[tokio::test]
async fn places_have_the_precision_of_their_rank() {
    for (place, expected) in [
        (r#"{"lat":51.5,"lon":-0.05,"place_rank":26,"type":"residential"}"#, Some(Precision::Street)),
        (r#"{"lat":"51.5","lon":"-0.05","place_rank":21,"addresstype":"postcode"}"#, Some(Precision::PostalCode)),
        (r#"{"lat":"51.5","lon":"-0.05","place_rank":16,"addresstype":"city"}"#, Some(Precision::Locality)),
        (r#"{"lat":"51.5","lon":"-0.05","place_rank":8,"addresstype":"state"}"#, None),
        (r#"{"lat":"51.5","lon":"-0.05","place_rank":4,"addresstype":"country"}"#, None),
    ] {
        let service = Host::answering(json(&format!("[{place}]"))).await;
        let resolved = geocoder(&service).resolve(&address()).await.expect("an answer");
        assert_eq!(resolved.map(|resolved| resolved.precision), expected, "{place}");
    }
    let nothing = Host::answering(json("[]")).await;
    assert_eq!(geocoder(&nothing).resolve(&address()).await, Ok(None));
}

#[tokio::test]
async fn whatever_goes_wrong_is_no_answer() {
    let long = format!("[{}]", " ".repeat(70_000));
    let redirect = response(302, ("location", "http://127.0.0.1:1/"), "");
    for (what, answer) in [
        ("a server error", response(500, ("content-type", "application/json"), HOUSE)),
        ("a refusal", response(403, ("content-type", "application/json"), "[]")),
        ("a redirect", redirect),
        ("a page", response(200, ("content-type", "text/html"), HOUSE)),
        ("no type", response(200, ("x-nothing", "1"), HOUSE)),
        ("a long body", json(&long)),
        (
            "an endless body",
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{long}").into(),
        ),
        ("half a body", "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n[".into()),
        ("no HTTP", "hello\r\n\r\n".into()),
        ("no JSON", json("[{")),
        ("no array", json("{}")),
        ("no object", json("[7]")),
        ("no coordinates", json(r#"[{"place_rank":30}]"#)),
        ("coordinates beyond the pole", json(r#"[{"lat":"97","lon":"0","place_rank":30}]"#)),
        ("unset coordinates", json(r#"[{"lat":"0","lon":"0","place_rank":30}]"#)),
        ("no numbers", json(r#"[{"lat":"NaN","lon":"inf","place_rank":30}]"#)),
        ("no rank", json(r#"[{"lat":"1","lon":"1"}]"#)),
        ("a member twice", json(r#"[{"lat":"1","lat":"2","lon":"1","place_rank":30}]"#)),
    ] {
        let service = Host::answering(answer).await;
        let geocoder = geocoder(&service);
        for times in 1..=2 {
            let refusal = Refusal::from(geocoder.resolve(&address()).await.expect_err(what));
            assert_eq!((refusal.code, refusal.retry_after), (Code::Unavailable, Some(RETRY_AFTER)), "{what}");
            assert!(!refusal.content.contains("Invented"), "{what}");
            // It was not remembered, and nothing but the service was asked.
            assert_eq!(service.asked(), times, "{what}");
        }
    }
}

#[tokio::test]
async fn a_service_that_is_not_there_is_no_answer() {
    let endpoint = format!("http://{}/search", Host::nobody());
    let geocoder = HttpGeocoder::new(Options::new(endpoint.parse().expect("an address"))).expect("a geocoder");
    let error = geocoder.resolve(&address()).await.expect_err("nobody");
    assert!(matches!(error, PortError::Unavailable { .. }), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_slow_service_is_given_up_and_gives_its_turn_back() {
    let service = Host::start(async |mut peer| {
        peer.request().await?;
        peer.hangs_up().await
    })
    .await;
    let mut options = options(&service);
    options.at_once = 1;
    let deadline = options.deadline;
    let geocoder = HttpGeocoder::new(options).expect("a geocoder");
    let started = tokio::time::Instant::now();
    // Some wait for the answer to the same question, some for a turn.
    let same = address();
    let other = PostalAddress { street_address: Some("2 Second".into()), ..address() };
    for answer in wait::all([&same, &same, &other, &other].map(|address| geocoder.resolve(address))).await {
        let error = answer.expect_err("slow");
        assert!(matches!(error, PortError::Unavailable { .. }), "{error:?}");
    }
    // By the paused clock: nobody waited for the sum of all.
    assert!(started.elapsed() < deadline * 2);
    let third = PostalAddress { street_address: Some("3 Third".into()), ..address() };
    let asked = service.asked();
    assert!(matches!(geocoder.resolve(&third).await.expect_err("slow"), PortError::Unavailable { .. }));
    assert_eq!(service.asked(), asked + 1);
}

#[tokio::test]
async fn an_answer_is_remembered_for_a_time() {
    let service = Host::answering(json(HOUSE)).await;
    let mut options = options(&service);
    options.freshness = Freshness::seconds(60, 0, 0, 60);
    let geocoder = HttpGeocoder::new(options).expect("a geocoder");
    let first = geocoder.resolve(&address()).await;
    // Whose address it is makes no difference.
    let other = PostalAddress { full_name: None, street_address: Some("1 invented alley".into()), ..address() };
    assert_eq!((geocoder.resolve(&other).await, service.asked()), (first.clone(), 1));
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();
    assert_eq!((geocoder.resolve(&address()).await, service.asked()), (first, 2));
    let elsewhere = PostalAddress { postal_code: Some("94110".into()), ..address() };
    drop(geocoder.resolve(&elsewhere).await);
    assert_eq!(service.asked(), 3);
}

#[tokio::test]
async fn a_question_is_on_its_way_once() {
    let service = Host::answering(json(HOUSE)).await;
    let geocoder = geocoder(&service);
    let address = address();
    let (one, two) = wait::both(geocoder.resolve(&address), geocoder.resolve(&address)).await;
    assert_eq!(one, two);
    assert_eq!(service.asked(), 1);
}

#[tokio::test]
async fn memory_is_bounded() {
    let service = Host::answering(json("[]")).await;
    let mut options = options(&service);
    options.kept.bytes = 10_000;
    let geocoder = HttpGeocoder::new(options).expect("a geocoder");
    for number in 0..50 {
        let address = PostalAddress { street_address: Some(format!("{number} Long Road")), ..address() };
        assert_eq!(geocoder.resolve(&address).await, Ok(None));
    }
    let kept = geocoder.answers.bytes();
    assert!((1..=10_000).contains(&kept), "{kept}");
}

#[tokio::test]
async fn an_answer_that_is_past_its_time_is_renewed_and_stands_in_for_a_failure() {
    let (well, failing) = (json(HOUSE), response(500, ("content-type", "application/json"), "[]"));
    let broken = Arc::new(AtomicBool::new(false));
    let service = {
        let broken = Arc::clone(&broken);
        Host::start(move |mut peer| {
            let answer = if broken.load(Ordering::SeqCst) { failing.clone() } else { well.clone() };
            async move {
                peer.request().await?;
                peer.write(&answer).await
            }
        })
        .await
    };
    let mut options = options(&service);
    options.freshness = Freshness::seconds(60, 60, 600, 60);
    let geocoder = HttpGeocoder::new(options).expect("a geocoder");
    let passes = async |seconds| {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(seconds)).await;
        tokio::time::resume();
    };
    let first = geocoder.resolve(&address()).await;
    assert!(matches!(first, Ok(Some(_))), "{first:?}");
    // Nobody waits for the question that renews it.
    passes(61).await;
    assert_eq!(geocoder.resolve(&address()).await, first);
    until("the answer to be renewed", PATIENCE, async || {
        assert_eq!(geocoder.resolve(&address()).await, first);
        (geocoder.upstream.counters().snapshot().cached > 0).then_some(())
    })
    .await;
    assert_eq!(service.asked(), 2);
    broken.store(true, Ordering::SeqCst);
    passes(300).await;
    assert_eq!((geocoder.resolve(&address()).await, service.asked()), (first, 3));
    passes(600).await;
    assert!(matches!(geocoder.resolve(&address()).await.expect_err("too old"), PortError::Unavailable { .. }));
}

#[tokio::test]
async fn a_service_that_keeps_failing_is_left_alone() {
    let service = Host::answering(response(500, ("content-type", "application/json"), "[]")).await;
    let geocoder = geocoder(&service);
    for number in 0..50 {
        let address = PostalAddress { street_address: Some(format!("{number} Long Road")), ..address() };
        assert!(matches!(geocoder.resolve(&address).await.expect_err("a failure"), PortError::Unavailable { .. }));
    }
    let asked = service.asked();
    assert!((1..50).contains(&asked), "{asked}");
}

#[tokio::test]
async fn what_is_no_place_is_not_asked_about() {
    let service = Host::answering(json(HOUSE)).await;
    let geocoder = geocoder(&service);
    let country = |country: Option<&str>| PostalAddress {
        address_country: country.map(str::to_owned),
        address_region: Some("CA".into()),
        ..PostalAddress::default()
    };
    let no_country = PostalAddress { address_country: None, ..address() };
    let unknown = PostalAddress { address_country: Some("Atlantis".into()), ..address() };
    let endless = PostalAddress {
        street_address: Some("x".repeat(10_000)),
        address_country: Some("US".into()),
        ..PostalAddress::default()
    };
    for address in [country(None), country(Some("US")), no_country, unknown, endless] {
        assert_eq!(geocoder.resolve(&address).await, Ok(None));
    }
    assert_eq!(service.asked(), 0);
}

#[test]
fn endpoints_are_encrypted_unless_they_are_on_this_machine() {
    let judged = |endpoint: &str, plain_http: bool| {
        HttpGeocoder::new(Options { plain_http, ..Options::new(endpoint.parse().expect("an address")) }).map(drop)
    };
    for endpoint in
        ["https://geo.example.com/search", "http://localhost:8080/search", "http://[::1]/", "http://127.0.0.1/"]
    {
        assert!(judged(endpoint, false).is_ok(), "{endpoint}");
    }
    assert!(matches!(judged("http://geo.example.com/", false), Err(SetupError::Unencrypted)));
    assert!(judged("http://geo.example.com/", true).is_ok());
    for endpoint in ["ftp://geo.example.com/", "https://user:pass@geo.example.com/", "data:text/plain,x"] {
        assert!(matches!(judged(endpoint, true), Err(SetupError::Address)), "{endpoint}");
    }
}

#[test]
fn nothing_printed_holds_a_key() {
    let options = Options::new("https://geo.example.com/search?key=secret".parse().expect("an address"));
    assert!(!format!("{options:?}").contains("secret"));
    let geocoder = HttpGeocoder::new(options).expect("a geocoder");
    assert!(!format!("{geocoder:?}").contains("secret"));
}
