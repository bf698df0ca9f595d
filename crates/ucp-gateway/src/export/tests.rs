use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    sync::Mutex,
};

use serde_json::{Map, Value, json};

use super::{json_lines::JsonLines, *};

/// A sink that hands its batches to a test, and waits for its word.
struct Held {
    batches: mpsc::UnboundedSender<Vec<usize>>,
    results: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<Result<(), String>>>>,
}

#[async_trait]
impl Sink<usize> for Held {
    async fn send(&self, batch: Vec<usize>) -> Result<(), String> {
        self.batches.send(batch).expect("the test listens");
        self.results.lock().await.recv().await.unwrap_or_else(|| Err("nobody".to_owned()))
    }
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_or_is_not_taken_is_dropped_and_counted_and_nobody_waits() {
    let (batches, mut sent) = mpsc::unbounded_channel();
    let (answer, results) = mpsc::unbounded_channel();
    let mut exports = Exports::default();
    let sink = Held { batches, results: Arc::new(tokio::sync::Mutex::new(results)) };
    let export = Export::start("numbers", sink, &mut exports);
    let counts = Arc::clone(&exports.counts[0]);
    export.tell(vec![1, 2].into_iter());
    export.tell(vec![3].into_iter());
    assert_eq!(sent.recv().await, Some(vec![1, 2, 3]), "what comes within a second is sent together");
    // The receiver does not answer, and the queue fills up.
    for number in 0..WAITING {
        export.tell(std::iter::once(number));
    }
    export.tell(vec![7, 8].into_iter());
    assert_eq!((counts.sent(), counts.dropped(), counts.waiting()), (0, 2, WAITING as u64 + 3));
    answer.send(Ok(())).expect("sent");
    assert_eq!(sent.recv().await.map(|batch| batch.len()), Some(BATCH));
    answer.send(Err("no".to_owned())).expect("sent");
    assert_eq!(sent.recv().await.map(|batch| batch.len()), Some(BATCH));
    assert_eq!((counts.sent(), counts.dropped()), (3, 2 + BATCH as u64));
    // The rest is sent when the process ends, as far as there is time.
    for _ in 0..WAITING / BATCH {
        answer.send(Ok(())).expect("sent");
    }
    exports.finish().await;
    assert_eq!((counts.dropped(), counts.waiting()), (2 + BATCH as u64, 0));
    assert_eq!(counts.sent(), 3 + (WAITING - BATCH) as u64);
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_never_answers_does_not_keep_the_process_alive() {
    let (batches, mut sent) = mpsc::unbounded_channel();
    let (_answer, results) = mpsc::unbounded_channel();
    let mut exports = Exports::default();
    let sink = Held { batches, results: Arc::new(tokio::sync::Mutex::new(results)) };
    let export = Export::start("numbers", sink, &mut exports);
    export.tell(std::iter::once(1));
    assert_eq!(sent.recv().await, Some(vec![1]));
    let begun = Instant::now();
    exports.finish().await;
    assert_eq!(begun.elapsed(), LAST);
}

/// Answers requests with these statuses, one after the other, and returns their heads and bodies.
fn server(statuses: &'static [u16]) -> (Receiver, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/events", listener.local_addr().expect("an address")).parse().expect("a URL");
    let requests = Mutex::new(Vec::new());
    let thread = std::thread::spawn(move || {
        for status in statuses {
            let (mut stream, _) = listener.accept().expect("a connection");
            let (mut text, mut buffer) = (String::new(), [0; 4_096]);
            while !text.ends_with("}\n") {
                let count = stream.read(&mut buffer).expect("a request");
                assert_ne!(count, 0, "the request breaks off: {text}");
                text.push_str(std::str::from_utf8(&buffer[..count]).expect("text"));
            }
            let answer = format!("HTTP/1.1 {status} Answer\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).expect("an answer");
            requests.lock().expect("no panic").push(text);
        }
        requests.into_inner().expect("no panic")
    });
    (Receiver { url, token: Some("hush-hush".parse().expect("a secret")) }, thread)
}

fn events() -> Vec<Map<String, Value>> {
    let event = |id: u32| json!({ "event_id": id }).as_object().cloned().expect("an object");
    vec![event(1), event(2)]
}

#[tokio::test]
async fn events_are_sent_again_while_that_can_help() {
    let (receiver, thread) = server(&[503, 429, 202]);
    assert_eq!(JsonLines::impatient(&receiver).send(events()).await, Ok(()));
    let requests = thread.join().expect("no panic");
    for request in &requests {
        let request = request.to_ascii_lowercase();
        assert!(request.starts_with("post /events http/1.1\r\n"), "{request}");
        assert!(request.contains("content-type: application/x-ndjson\r\n"), "{request}");
        assert!(request.contains("authorization: bearer hush-hush\r\n"), "{request}");
        assert!(request.ends_with("\r\n\r\n{\"event_id\":1}\n{\"event_id\":2}\n"), "{request}");
    }
    let (receiver, thread) = server(&[400]);
    let problem = JsonLines::impatient(&receiver).send(events()).await.expect_err("it is not taken");
    assert_eq!(problem, "it answered with status 400");
    thread.join().expect("no panic");
    let (receiver, thread) = server(&[500; 6]);
    let problem = JsonLines::impatient(&receiver).send(events()).await.expect_err("it is not taken");
    assert_eq!(problem, "it answered with status 500");
    thread.join().expect("no panic");
    assert!(!format!("{receiver:?}").contains("hush"));
}
