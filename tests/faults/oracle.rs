//! Whether what is wrong would be noticed: books and journals are spoiled, and have to be found so.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
};

use rusqlite::Connection;

use crate::{
    books::settle,
    client::{Call, contents, payment, text},
    process::World,
    random::Random,
};

/// What is done to the database.
const SPOILED_BOOKS: &[&str] = &[
    "DELETE FROM orders",
    "UPDATE stock SET quantity = quantity + 1 WHERE variant = 'pot_ceramic'",
    "UPDATE checkouts SET document = json_set(document, '$.status', 'ready_for_complete')",
    "UPDATE orders SET document = json_set(document, '$.payment.attempt_id', 'another')",
    "INSERT INTO orders (shop, id, owner, version, checkout_id, document) \
     SELECT shop, 'again', owner, 1, 'another', json_set(document, '$.id', 'again') FROM orders",
    "INSERT INTO orders (shop, id, owner, version, checkout_id, document) \
     SELECT shop, 'again', owner, 1, 'another', json_set(document, '$.payment.attempt_id', 'b') FROM orders",
];

/// What is done to the provider's journal: one text for another.
const SPOILED_JOURNALS: &[(&str, &str)] =
    &[("\"captures\":1", "\"captures\":2"), ("\"captures\":1", "\"captures\":0"), ("\"amount\":2000", "\"amount\":1")];

/// A purchase in which nothing went wrong, until it is spoiled. To be called while no other scenario runs.
pub(crate) fn notices(world: &World, random: &Random) -> String {
    let gateway = world.start(false);
    let create = Call::keyed("create_checkout", "", contents(&[("pot_ceramic", 1)]), random.key());
    let id = text(&world.clients.ask(random, &create), "id").to_owned();
    world.clients.ask(random, &Call::keyed("complete_checkout", &id, payment("ok"), random.key()));
    drop(gateway);
    let books = settle(world);
    assert_eq!(books.orders_of(&id), 1);

    let noticed = || {
        let hook = take_hook();
        set_hook(Box::new(|_| {}));
        let found = catch_unwind(AssertUnwindSafe(|| settle(world)));
        set_hook(hook);
        found.is_err()
    };
    let database = world.data().join("shop.db");
    let whole = fs::read(&database).expect("the database");
    for spoil in SPOILED_BOOKS {
        // What is in it is in this one file: nobody else has it open.
        Connection::open(&database).and_then(|db| db.execute(spoil, ())).expect("it is spoiled");
        assert!(noticed(), "{spoil}");
        fs::write(&database, &whole).expect("it is repaired");
    }
    let journal = world.folder().join("provider.journal");
    let whole = fs::read_to_string(&journal).expect("the journal");
    for (text, other) in SPOILED_JOURNALS {
        let spoiled = whole.replace(text, other);
        assert_ne!(spoiled, whole, "{text}");
        fs::write(&journal, spoiled).expect("it is spoiled");
        assert!(noticed(), "{text} instead of {other}");
        fs::write(&journal, &whole).expect("it is repaired");
    }
    settle(world);
    format!("{} spoiled states noticed", SPOILED_BOOKS.len() + SPOILED_JOURNALS.len())
}
