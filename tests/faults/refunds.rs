//! Refunds over the admin endpoint, while Stripe misbehaves and the gateway is killed.

use std::{net::SocketAddr, thread, time::Duration};

use serde_json::{Value, json};

use crate::{
    client::{Call, contents, exchange, payment, text},
    process::{Gateway, World, eventually},
    provider::FAULTS,
    random::Random,
};

/// Time from the requests to the kill, in milliseconds; `None` for no kill.
const KILLS: &[Option<u64>] = &[None, Some(3), Some(8), Some(15), Some(30), Some(60), Some(150), Some(400), Some(900)];

/// Amount of the refund that is interrupted, and of the one that follows it, in minor units.
const AMOUNTS: [i64; 2] = [500, 700];

/// A refund of one order.
struct Errand {
    checkout: String,
    order: String,
    fault: String,
    key: String,
    /// `true` if the operator repeats the request.
    is_repeated: bool,
}

/// All faults at refunds, for each moment of a kill, with operators who repeat their request and others who do not.
pub(crate) fn killed(world: &World, random: &Random) -> String {
    world.configure("\n[server]\nadmin_listen = \"127.0.0.1:0\"\n");
    let mut gateway = world.start(false);
    let (mut combinations, mut finished) = (0, 0);
    for kill in KILLS {
        let faults = FAULTS.iter().flat_map(|fault| [1, 4].map(|times| format!("refund:{fault}:{times}")));
        let errands: Vec<_> =
            faults.flat_map(|fault| [true, false].map(|again| bought(world, random, &fault, again))).collect();
        combinations += errands.len();
        let admin = admin(&gateway);
        let mut running = Some(gateway);
        let first: Vec<_> = thread::scope(|scope| {
            let asked: Vec<_> =
                errands.iter().map(|errand| scope.spawn(move || refund(admin, errand, AMOUNTS[0]))).collect();
            if let Some(after) = kill {
                thread::sleep(Duration::from_millis(*after));
                running.take().into_iter().for_each(|gateway| world.kill(gateway));
            }
            asked.into_iter().map(|asked| asked.join().expect("an operator")).collect()
        });
        gateway = running.unwrap_or_else(|| world.start(false));
        let admin = self::admin(&gateway);
        for (errand, first) in errands.iter().zip(first) {
            let told = format!("{}, killed after {kill:?} ms, first told {first:?}", errand.fault);
            if errand.is_repeated {
                eventually(&format!("a repeated refund is known to be given: {told}"), || {
                    (refund(admin, errand, AMOUNTS[0]) == Some(200)).then_some(())
                });
            }
            let booked = settled(admin, errand, &told);
            let expected = if errand.is_repeated || first == Some(200) { vec![AMOUNTS[0]] } else { booked.clone() };
            assert_eq!(booked, expected, "{told}");
            assert!(booked.is_empty() || booked == [AMOUNTS[0]], "{told}: {booked:?}");
            finished += usize::from(!errand.is_repeated && !booked.is_empty() && first != Some(200));
            // Another refund of the order is another.
            let next = Errand {
                key: random.key(),
                checkout: String::new(),
                fault: String::new(),
                order: errand.order.clone(),
                ..*errand
            };
            eventually(&format!("another refund is given: {told}"), || {
                (refund(admin, &next, AMOUNTS[1]) == Some(200)).then_some(())
            });
            let booked = settled(admin, errand, &told).iter().sum::<i64>();
            assert_eq!(booked, expected.iter().sum::<i64>() + AMOUNTS[1], "{told}");
            let report = world.report();
            let given = report.payments.values().filter(|payment| payment.checkout_id == errand.checkout);
            assert_eq!(given.map(|payment| payment.refunded).sum::<i64>(), booked, "{told}");
        }
    }
    assert!(finished > 0, "the gateway finished no refund by itself");
    format!("{combinations} combinations of fault and kill, {finished} refunds finished by themselves")
}

fn admin(gateway: &Gateway) -> SocketAddr {
    gateway.admin.expect("an admin listener")
}

/// Buys something whose refund goes wrong that way.
fn bought(world: &World, random: &Random, fault: &str, is_repeated: bool) -> Errand {
    let create = Call::keyed("create_checkout", "", contents(&[("pot_ceramic", 1)]), random.key());
    let checkout = text(&world.clients.ask(random, &create), "id").to_owned();
    let complete = Call::keyed("complete_checkout", &checkout, payment(&format!("ok+{fault}")), random.key());
    let answer = world.clients.ask(random, &complete);
    assert_eq!(text(&answer, "status"), "completed", "{fault}: {answer}");
    let order = text(&answer["order"], "id").to_owned();
    Errand { checkout, order, fault: fault.to_owned(), key: random.key(), is_repeated }
}

/// Requests a refund, and returns the status of the response if there is one.
fn refund(admin: SocketAddr, Errand { order, key, .. }: &Errand, amount: i64) -> Option<u16> {
    let body = json!({ "amount": amount }).to_string();
    let request = format!(
        "POST /orders/{order}/refund HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nIdempotency-Key: {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = exchange(admin, request.as_bytes()).ok()?;
    assert!(matches!(answer.status, 200 | 502 | 503), "{answer:?}");
    Some(answer.status)
}

/// Amounts of the refunds in the books once none of them is pending.
fn settled(admin: SocketAddr, Errand { order, .. }: &Errand, told: &str) -> Vec<i64> {
    let request = format!("GET /orders/{order} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    eventually(&format!("no refund is pending: {told}"), || {
        let answer = exchange(admin, request.as_bytes()).ok().filter(|answer| answer.status == 200)?;
        let order: Value = serde_json::from_str(&answer.body).expect("JSON");
        let refunds = order["adjustments"].as_array().expect("adjustments");
        let amount = |refund: &Value| refund["totals"][0]["amount"].as_i64().map(|amount| -amount);
        let completed = |refund: &Value| (refund["status"] == "completed").then(|| amount(refund)).flatten();
        refunds.iter().map(completed).collect()
    })
}
