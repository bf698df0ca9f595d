//! Guesses at the admin token.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use super::{ADMIN, admin};
use crate::{
    harness::sample_shop,
    setup::Setup,
    wire::{Connection, Response, request},
};

const TOKEN: &str = "operator-8a1f03bd52c94e76";

/// Sends a request from an address, for which a trusted proxy vouches.
fn send(address: SocketAddr, from: &str, method: &str, path: &str, header: (&str, &str), body: &str) -> Response {
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let mut connection = Connection::open(address);
    let headers = [("X-Forwarded-For", from), form, header];
    assert!(connection.write(&request(method, path, &headers, body.as_bytes())));
    connection.read().expect("an answer")
}

#[test]
fn guesses_at_the_admin_token_are_few_and_lock_no_operator_out() {
    let toml = "[server]\nadmin_token_file = \"token\"\ntrusted_proxies = [\"127.0.0.1\"]\n";
    let setup = Setup::new(toml).file("token", TOKEN).arguments(&ADMIN);
    let data = sample_shop();
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    let (address, none) = (admin(&gateway), ("Accept", "*/*"));
    let login =
        |from: &str, token: &str| send(address, from, "POST", "/operator/login", none, &format!("token={token}"));
    let bearer = |from: &str, token: &str| {
        send(address, from, "GET", "/orders", ("Authorization", &format!("Bearer {token}")), "")
    };
    let opened = login("203.0.113.1", TOKEN);
    let cookie = opened.header("set-cookie").expect("a cookie").split(';').next().expect("a pair").to_owned();

    let begun = Instant::now();
    let by_turns = |way: usize, from: &str, token: &str| {
        if way.is_multiple_of(2) { login(from, token) } else { bearer(from, token) }
    };
    for (way, from) in ["192.0.2.1", "192.0.2.2"].into_iter().enumerate() {
        let statuses: Vec<_> = (0..6).map(|guess| by_turns(way, from, &format!("guess-{guess}")).status).collect();
        // If a minute has passed meanwhile, there are further attempts.
        if begun.elapsed() < Duration::from_secs(60) {
            assert_eq!(statuses, [401, 401, 401, 401, 401, 429]);
        }
    }
    let (mut wrong, mut refused) = (10, None);
    for number in 0..100 {
        let answer = by_turns(number, &format!("198.51.100.{number}"), "guess");
        match answer.status {
            401 => wrong += 1,
            _ => refused = Some(answer),
        }
    }
    let refused = refused.expect("not all are judged");
    assert_eq!(refused.status, 429, "{refused:?}");
    let seconds: u64 = refused.header("retry-after").expect("when").parse().expect("seconds");
    assert!((1..=60).contains(&seconds) && refused.body.contains(&format!("{seconds} seconds")), "{refused:?}");
    if begun.elapsed() < Duration::from_secs(60) {
        assert_eq!(wrong, 60);
        assert_eq!(bearer("192.0.2.1", TOKEN).status, 429, "a guess is not judged, right or wrong");
    }

    // Existing sessions continue.
    assert_eq!(bearer("203.0.113.1", TOKEN).status, 200);
    assert_eq!(login("203.0.113.1", TOKEN).status, 303);
    assert_eq!(send(address, "198.51.100.250", "GET", "/operator", ("Cookie", &cookie), "").status, 200);
    assert_eq!(send(address, "198.51.100.250", "GET", "/orders", none, "").status, 401, "which is no guess");

    let log = gateway.stderr();
    for from in ["192.0.2.1", "192.0.2.2"] {
        let line = |line: &str| line.contains("wrong admin token") && line.contains(&format!("address={from}"));
        assert!(log.lines().any(line), "{from} in {log}");
    }
    assert!(!log.contains("guess"), "{log}");
}
