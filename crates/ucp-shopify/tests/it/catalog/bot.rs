//! As which bot the shop is asked, and until when.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, UNIX_EPOCH},
};

use http::HeaderMap;
use ucp_shopify::{
    Bot,
    bot::{Now, Signing},
};
use ucp_testkit::Log;
use ucp_trust::{
    jwk::Algorithm,
    signature::{
        Message, RequestLine, Scheme, SigningKey, Start, base,
        bot::BotSignature,
        input::{self, Input},
    },
};

use super::{
    TestShop,
    refusals::nodes,
    stub::{Reply, Stub, product_id},
};

const EXPIRES: u64 = 1_797_000_000;
const DAY: u64 = 24 * 60 * 60;
const AGENT: &str = "https://gateway.example.com/.well-known/http-message-signatures-directory";

/// Objects that the merchant has created.
const GIVEN: [(&str, &str); 3] = [
    ("signature-agent", "\"https://shopify.com\""),
    (
        "signature-input",
        "sig1=(\"@authority\" \"signature-agent\");keyid=\"k-7f3a91\";nonce=\"n-7f3a91\";tag=\"web-bot-auth\";\
         created=1790000000;expires=1797000000",
    ),
    ("signature", "sig1=:c2lnbmF0dXJlLTdmM2E5MQ==:"),
];

/// The parts of it that nobody else may see.
const SECRETS: [&str; 3] = ["7f3a91", "c2lnbmF0dXJlLTdmM2E5MQ", "sig1="];

/// A clock on the wall that is set by hand.
#[derive(Clone, Default)]
struct Wall(Arc<AtomicU64>);

impl Wall {
    fn at(seconds: u64) -> Self {
        Self(Arc::new(AtomicU64::new(seconds)))
    }

    fn set(&self, seconds: u64) {
        self.0.store(seconds, Ordering::Relaxed);
    }

    fn now(&self) -> Now {
        let Self(seconds) = self.clone();
        Arc::new(move || UNIX_EPOCH + Duration::from_secs(seconds.load(Ordering::Relaxed)))
    }
}

/// Number of log lines about it.
fn count(log: &Log, words: &str) -> usize {
    log.text().matches(words).count()
}

async fn stub() -> Stub {
    Stub::serve(|asked| if asked.operation == "Nodes" { nodes(asked) } else { Reply::Usual }).await
}

/// Asks for a product that was not asked for, and tells what the shop was shown.
async fn shown(shop: &TestShop, stub: &Stub, number: u64) -> HeaderMap {
    shop.lookup(&[product_id(number)]).await.expect("carried out");
    let asked = stub.asked("Nodes").pop().expect("a request");
    assert_eq!(asked.variables["ids"][0], product_id(number));
    asked.headers
}

fn is_signed(headers: &HeaderMap) -> bool {
    let fields = GIVEN.iter().filter(|(name, _)| headers.contains_key(*name)).count();
    assert!(fields == 0 || fields == 3, "{headers:?}");
    fields == 3
}

#[tokio::test(start_paused = true)]
async fn the_signature_of_the_merchant_goes_with_every_request_until_it_expires() {
    let (log, _guard) = Log::of_this_thread();
    let stub = stub().await;
    let wall = Wall::at(EXPIRES - 15 * DAY);
    let text: String = GIVEN.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    let bot = Arc::new(Bot::given(BotSignature::read(&text).expect("a signature"), wall.now()));
    let shop = TestShop::connect(&stub, |options| {
        options.bot = Some(bot);
        assert!(format!("{options:?}").contains("Bot(given)"), "{options:?}");
    });
    let shop = shop.await.expect("the shop says where it sells");
    for headers in [stub.asked("Shop").remove(0).headers, shown(&shop, &stub, 1).await] {
        for (name, value) in GIVEN {
            let values: Vec<_> = headers.get_all(name).iter().collect();
            assert_eq!(values, [value], "{name}");
        }
    }
    assert_eq!(count(&log, "bot signature"), 0, "{}", log.text());

    wall.set(EXPIRES - 14 * DAY);
    assert!(is_signed(&shown(&shop, &stub, 2).await));
    wall.set(EXPIRES - 1);
    assert!(is_signed(&shown(&shop, &stub, 3).await));
    assert_eq!(count(&log, "expires soon"), 1, "{}", log.text());
    assert_eq!(count(&log, "expired and is no longer sent"), 0, "{}", log.text());

    wall.set(EXPIRES);
    for number in 4..6 {
        assert!(!is_signed(&shown(&shop, &stub, number).await));
    }
    assert_eq!(count(&log, "expired and is no longer sent"), 1, "{}", log.text());
    let text = log.text();
    assert!(text.contains("2026-12-11T14:40:00Z"), "{text}");
    assert!(!SECRETS.iter().any(|secret| text.contains(secret)), "{text}");
}

/// The signature that a request carries, when it holds: under this key, at this time, for the host that was asked.
fn verified(headers: &HeaderMap, key: &SigningKey, now: u64) -> Input {
    let candidates = input::read(headers).expect("a signature");
    let [candidate] = candidates.as_slice() else { panic!("{candidates:?}") };
    let input = candidate.input.clone().expect("a signature");
    let authority = headers["host"].to_str().expect("a host");
    let line = RequestLine { method: "POST", scheme: Scheme::Http, authority, path: "/", query: None };
    let message = Message { start: Start::Request(line), headers };
    let base = base::build(&input.covered, &input.parameters, &message).expect("what is covered");
    key.public().verify(&base, &input.signature).expect("it holds");
    assert_eq!(
        input.covered.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["\"@authority\"", "\"signature-agent\";key=\"sig1\"",]
    );
    assert_eq!((input.tag.as_deref(), input.keyid.clone()), (Some("web-bot-auth"), key.public().thumbprint()));
    let (created, expires) = (input.created.expect("a time"), input.expires.expect("a time"));
    let now = i64::try_from(now).expect("a time");
    assert!(created <= now && now + 60 <= expires && expires - created == 300, "{created} {now} {expires}");
    assert_eq!(headers["signature-agent"], format!("sig1=\"{AGENT}\""));
    input
}

#[tokio::test(start_paused = true)]
async fn a_signature_of_the_gateways_own_is_used_for_minutes_and_then_made_anew() {
    let (log, _guard) = Log::of_this_thread();
    let stub = stub().await;
    let wall = Wall::at(EXPIRES);
    let key = Arc::new(SigningKey::generate(Algorithm::Es256).expect("a key"));
    let held = Arc::new(Mutex::new(Some(Arc::clone(&key))));
    let shelf = Arc::clone(&held);
    let signing = Signing {
        agent: AGENT.to_owned(),
        shop: stub.url.clone(),
        key: Arc::new(move || shelf.lock().expect("not poisoned").clone()),
    };
    let bot = Arc::new(Bot::signing(signing, wall.now()));
    let shop = TestShop::connect(&stub, |options| options.bot = Some(bot)).await.expect("the shop says where it sells");
    let first = verified(&stub.asked("Shop").remove(0).headers, &key, EXPIRES).signature;
    // A signature with ECDSA is never the same twice.
    let at = |seconds: u64| {
        wall.set(seconds);
        seconds
    };
    let now = at(EXPIRES + 240);
    assert_eq!(verified(&shown(&shop, &stub, 1).await, &key, now).signature, first);
    let now = at(EXPIRES + 241);
    let second = verified(&shown(&shop, &stub, 2).await, &key, now).signature;
    assert_ne!(second, first);
    // A clock that is put back does not leave a signature from the future.
    let now = at(EXPIRES - 1_000);
    assert_ne!(verified(&shown(&shop, &stub, 3).await, &key, now).signature, second);

    // Neither does another key leave one that is no longer published.
    let other = Arc::new(SigningKey::generate(Algorithm::Es256).expect("a key"));
    *held.lock().expect("not poisoned") = Some(Arc::clone(&other));
    verified(&shown(&shop, &stub, 4).await, &other, now);

    // Without a key the shop is asked as anybody asks it.
    held.lock().expect("not poisoned").take();
    for number in 5..7 {
        assert!(!is_signed(&shown(&shop, &stub, number).await));
    }
    assert_eq!(count(&log, "no longer signed as a bot"), 1, "{}", log.text());
    *held.lock().expect("not poisoned") = Some(key.clone());
    verified(&shown(&shop, &stub, 7).await, &key, now);
}

#[tokio::test(start_paused = true)]
async fn a_shop_is_told_of_no_bot_where_there_is_none() {
    let stub = stub().await;
    let shop = TestShop::behind(&stub).await;
    assert!(!is_signed(&shown(&shop, &stub, 1).await));
}
