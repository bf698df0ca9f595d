//! Callers whose room for carts, checkouts and stored responses is used up.

use crate::{
    client::{Call, Way, contents, payment, text},
    postgres::on_each_database,
    process::World,
    random::Random,
};

/// Number of small purchases that are begun.
const SMALL: usize = 40;

/// Number of requests by which the room of a caller has to be used up.
const MOST: usize = 400;

/// A caller whose room is used up completes a checkout: it is refused before anything is charged.
pub(crate) fn before_charge(world: &World, random: &Random) -> String {
    world.amend("limits", "max_open_carts_mb = 1");
    let found = on_each_database(world, |name, gateways| {
        let send = |call: &Call| {
            let (answer, document) =
                world.clients.send(gateways[0].address, Way::Rest, call).expect("nothing breaks here");
            (answer.status, text(&document, "id").to_owned())
        };
        let create =
            |lines: usize| Call::keyed("create_checkout", "", contents(&vec![("pot_ceramic", 1); lines]), random.key());
        let complete = |id: &str, word| send(&Call::keyed("complete_checkout", id, payment(word), random.key()));
        // Small checkouts, and then large ones until there is no room for more.
        let small: Vec<_> = (0..SMALL).map(|_| send(&create(1)).1).collect();
        let created = (0..MOST).map(|_| send(&create(60)));
        let large: Vec<_> = created.take_while(|(status, _)| *status != 429).map(|(_, id)| id).collect();
        assert!((2..MOST).contains(&large.len()), "{name}: {} large checkouts", large.len());
        // The completion of a purchase has twice the room: declined payments use it up, large ones and then small ones,
        // and then purchases.
        let (small, filling) = small.split_at(SMALL / 2);
        let declined =
            |ids: &[String]| ids.iter().cycle().take(MOST).take_while(|id| complete(id, "decline").0 != 429).count();
        let declines = declined(&large) + declined(filling);
        let served = small.iter().take_while(|id| complete(id, "ok").0 != 429).count();
        assert!(declines < MOST && served < small.len(), "{name}: there is always room");
        let report = world.report();
        let charged = report.payments.values().filter(|payment| payment.checkout_id == small[served]).count();
        (
            format!(
                "{name}: {charged} payments of the purchase refused after {declines} declines and {served} purchases"
            ),
            charged,
        )
    });
    let (said, charged): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    assert!(charged.iter().all(|charged| *charged == 0), "a caller without room is refused before it pays: {said:?}");
    said.join(", ")
}
