//! Clients that are slow, silent or hostile, over TLS and HTTP/2.

use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use ucp_testkit::wait::{all, within};

use super::{
    Secured,
    host::{Http2, connect},
};
/// The beginning of a handshake: the head of a record, which announces more than comes.
const HALF_HANDSHAKE: &[u8] = &[22, 3, 1, 1, 0, 1, 0];

/// Maximum lifetime of a stalled connection, with some room.
const LIMIT: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread")]
async fn slow_handshakes_keep_nobody_out() {
    let secured = Secured::with("max_connections = 8\n", "");
    for sent in [&b""[..], HALF_HANDSHAKE] {
        let held: Vec<_> = (0..50)
            .map(|_| {
                let mut connection = secured.gateway.connect();
                connection.write(sent);
                connection
            })
            .collect();
        for _ in 0..10 {
            let connection = Http2::open(&secured.gateway, secured.authority.config(&["h2"], None)).await;
            assert_eq!(connection.post("/catalog/search", "{\"query\":\"runner\"}").await.0, 200);
        }
        drop(held);
    }
}

/// Waited for together, because each takes as long as the gateway is patient.
#[tokio::test(flavor = "multi_thread")]
async fn connections_that_stall_are_closed() {
    let secured = Secured::with("idle_timeout_s = 2\n", "");
    let (gateway, config) = (&secured.gateway, |name| secured.authority.config(&[name], None));
    let handshake = async {
        let mut stream = tokio::net::TcpStream::connect(gateway.address).await.expect("a connection");
        stream.write_all(HALF_HANDSHAKE).await.expect("written");
        let _ = within("the end of a handshake", LIMIT, stream.read_to_end(&mut Vec::new())).await;
    };
    let half_head = async {
        let mut stream = connect(gateway, config("http/1.1")).await.expect("a connection");
        stream.write_all(b"POST /catalog/search HTTP/1.1\r\nHost: localhost\r\nX-Half").await.expect("written");
        let _ = within("the end of half a head", LIMIT, stream.read_to_end(&mut Vec::new())).await;
    };
    let silent = async {
        let mut stream = connect(gateway, config("h2")).await.expect("a connection");
        let _ = within("the end of a silent connection", LIMIT, stream.read_to_end(&mut Vec::new())).await;
    };
    let idle = async {
        let connection = Http2::open(gateway, config("h2")).await;
        assert_eq!(connection.post("/catalog/search", "{\"query\":\"runner\"}").await.0, 200);
        within("the end of an idle connection", LIMIT, connection.dismissed()).await;
    };
    let unread = async {
        let mut settings = h2::client::Builder::new();
        let connection = Http2::begin(gateway, config("h2"), settings.initial_window_size(1_000)).await;
        let connection = connection.expect("a connection");
        let request = http::Request::get("https://localhost/openapi.json").body(()).expect("a request");
        let (answer, _) = connection.requests().send_request(request, true).expect("it is sent");
        let answer = within("an answer", LIMIT, answer).await.expect("an answer");
        assert_eq!(answer.status(), 200);
        // Its body is held, and nothing of it read.
        let error = within("the end of a connection whose answer is not read", LIMIT, connection.ended()).await;
        drop(answer);
        assert!(error.is_err(), "it is closed");
    };
    tokio::join!(handshake, half_head, silent, idle, unread);
    // Others are served meanwhile and afterwards.
    let connection = Http2::open(gateway, config("h2")).await;
    assert_eq!(connection.post("/catalog/search", "{\"query\":\"runner\"}").await.0, 200);
}

/// A request that is under way keeps its connection; an idle one makes room.
#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_of_http2_make_room() {
    let secured = Secured::with("max_connections = 2\n", "");
    let open = async || {
        let connection = Http2::open(&secured.gateway, secured.authority.config(&["h2"], None)).await;
        assert_eq!(connection.post("/catalog/search", "{\"query\":\"runner\"}").await.0, 200);
        connection
    };
    let (first, second, _third) = (open().await, open().await, open().await);
    let _ = within("the oldest one is closed", LIMIT, first.ended()).await;
    assert_eq!(second.post("/catalog/search", "{\"query\":\"runner\"}").await.0, 200, "the others are not");
}

/// A frame of HTTP/2 (RFC 9113, 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short payload").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Written frame by frame, because a client library sends nothing of what is taken back before it was written.
#[tokio::test(flavor = "multi_thread")]
async fn requests_that_are_taken_back_at_once_end_the_connection() {
    const HEADERS: u8 = 1;
    const RST_STREAM: u8 = 3;
    const SETTINGS: u8 = 4;
    const GOAWAY: u8 = 7;
    const CANCEL: [u8; 4] = 8_u32.to_be_bytes();
    const ENHANCE_YOUR_CALM: [u8; 4] = 11_u32.to_be_bytes();
    let secured = Secured::start();
    let mut stream = connect(&secured.gateway, secured.authority.config(&["h2"], None)).await.expect("a connection");
    // GET https://localhost/, all of it but the host from the static table (RFC 7541, A).
    let request = [&[0x82, 0x87, 0x84, 0x41, 9][..], b"localhost"].concat();
    let mut abuse = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(SETTINGS, 0, 0, &[])].concat();
    for number in 0..1_000 {
        abuse.extend(frame(HEADERS, 0x5, 2 * number + 1, &request));
        abuse.extend(frame(RST_STREAM, 0, 2 * number + 1, &CANCEL));
    }
    let (mut reading, mut writing) = tokio::io::split(&mut stream);
    let mut read = Vec::new();
    // It may be closed before all of it is written.
    let (_, _) = within("the end of the connection", LIMIT, async {
        tokio::join!(writing.write_all(&abuse), reading.read_to_end(&mut read))
    })
    .await;
    let mut rest = &read[..];
    let mut reason = None;
    while let [a, b, c, kind, _, _, _, _, _, more @ ..] = rest {
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        if *kind == GOAWAY {
            reason = more.get(4..8).map(<[u8]>::to_vec);
        }
        rest = more.get(length..).unwrap_or_default();
    }
    assert_eq!(reason.as_deref(), Some(&ENHANCE_YOUR_CALM[..]), "{read:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_and_bodies_are_limited() {
    let secured = Secured::start();
    // Names, values and 32 bytes for each header (RFC 9113, 6.5.2), of the four that begin with a colon as well.
    let others = ":methodGET:schemehttps:authoritylocalhost:path/.well-known/ucpx-large".len() + 5 * 32;
    // `h2` takes less than the limit.
    for (more, expected) in [(0, 200), (1, 431), (16 * 1024, 431)] {
        let connection = Http2::open(&secured.gateway, secured.authority.config(&["h2"], None)).await;
        let large = "x".repeat(16 * 1024 - 1 - others + more);
        let request = http::Request::get("https://localhost/.well-known/ucp")
            .header("x-large", &large)
            .body(())
            .expect("a request");
        let status = match connection.requests().send_request(request, true) {
            Ok((answer, _)) => within("an answer", LIMIT, answer).await.map(|answer| answer.status().as_u16()),
            Err(error) => Err(error),
        };
        let is_unsent = expected == 431 && status.is_err();
        assert!(is_unsent || status.as_ref().is_ok_and(|status| *status == expected), "{more}: {status:?}");
    }

    let connection = Http2::open(&secured.gateway, secured.authority.config(&["h2"], None)).await;
    let mut request = http::Request::post("https://localhost/catalog/search");
    for (name, value) in crate::harness::REST_HEADERS {
        request = request.header(*name, *value);
    }
    let request = request.body(()).expect("a request");
    let (answer, mut sending) = connection.requests().send_request(request, false).expect("it is sent");
    sending.send_data(Bytes::from(vec![b' '; 2 << 20]), true).expect("it is sent");
    assert_eq!(within("an answer", LIMIT, answer).await.expect("an answer").status(), 413);
    let calls = (0..200).map(|_| connection.post("/catalog/search", "{\"query\":\"runner\"}"));
    assert!(all(calls).await.iter().all(|(status, _)| *status == 200), "further requests wait for a place");
}

/// Ends of the requests of a client of HTTP/2.
#[derive(Default)]
struct Calls {
    answered: usize,
    /// Those that the gateway has said it did not look at, by its last words on the connection: they can be sent again.
    untouched: usize,
    lost: Vec<String>,
}

/// Calls, after a pause on each connection, until the kernel takes no more connections for the gateway.
async fn call_until_refused(secured: &Secured, pause: Duration) -> Calls {
    let mut calls = Calls::default();
    let config = secured.authority.config(&["h2"], None);
    'connections: loop {
        let stream = match connect(&secured.gateway, config.clone()).await {
            Ok(stream) => stream,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => return calls,
            Err(error) => {
                calls.lost.push(format!("a handshake of TLS: {error}"));
                continue;
            }
        };
        let (requests, connection) = match h2::client::handshake(stream).await {
            Ok(opened) => opened,
            Err(error) => {
                calls.lost.push(format!("a connection: {error}"));
                continue;
            }
        };
        tokio::spawn(connection);
        tokio::time::sleep(pause).await;
        // Until the client has heard that the connection takes no more.
        while let Ok(mut place) = requests.clone().ready().await {
            let request = http::Request::get("https://localhost/.well-known/ucp").body(()).expect("a request");
            let Ok((answer, _)) = place.send_request(request, true) else { continue 'connections };
            match within("an answer", LIMIT, answer).await {
                Ok(answer) if answer.status() == 200 => calls.answered += 1,
                Ok(answer) => calls.lost.push(answer.status().to_string()),
                Err(error) => {
                    let is_untouched = error.is_remote() && (error.is_go_away() || error.is_reset());
                    match error.reason() {
                        Some(h2::Reason::NO_ERROR | h2::Reason::REFUSED_STREAM) if is_untouched => calls.untouched += 1,
                        _ => calls.lost.push(format!("a request: {error}")),
                    }
                    continue 'connections;
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_answers_what_was_sent_over_http2() {
    for delay in [0, 300] {
        let secured = Secured::with(&format!("shutdown_delay_ms = {delay}\n"), "");
        // Some have sent nothing when the signal comes.
        let clients = [0, 0, 0, 20, 20, 20, 1_500, 1_500].map(Duration::from_millis);
        let (_, calls) = tokio::join!(
            async {
                tokio::time::sleep(Duration::from_millis(300)).await;
                secured.gateway.signal("TERM");
            },
            all(clients.map(|pause| call_until_refused(&secured, pause))),
        );
        let sum = |count: fn(&Calls) -> usize| calls.iter().map(count).sum::<usize>();
        let (answered, untouched) = (sum(|calls| calls.answered), sum(|calls| calls.untouched));
        let lost: Vec<_> = calls.iter().flat_map(|calls| &calls.lost).collect();
        println!("{answered} answered, {untouched} to be sent again");
        assert!(lost.is_empty(), "{} of {} were lost: {lost:#?}", lost.len(), lost.len() + answered + untouched);
    }
}
