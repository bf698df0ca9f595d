//! Detection of faults: books and journals are spoiled, and the checks have to find it.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
};

use rusqlite::Connection;
use ucp_testkit::postgres::psql;

use crate::{
    books::settle,
    client::{Call, contents, payment, text},
    process::World,
    random::Random,
};

/// Changes that spoil the database.
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

/// Changes that spoil the provider's journal: one text for another.
const SPOILED_JOURNALS: &[(&str, &str)] =
    &[("\"captures\":1", "\"captures\":2"), ("\"captures\":1", "\"captures\":0"), ("\"amount\":2000", "\"amount\":1")];

/// Returns `true` if the books as they are now are found to be wrong. To be called while no other scenario runs.
fn noticed(world: &World) -> bool {
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let found = catch_unwind(AssertUnwindSafe(|| settle(world)));
    set_hook(hook);
    found.is_err()
}

/// Changes that spoil a database that gateways share.
const SPOILED_SHARED: &[&str] = &[
    "DELETE FROM orders",
    "UPDATE stock SET quantity = quantity + 1 WHERE variant = 'pot_ceramic'",
    "UPDATE checkouts SET document = jsonb_set(document::jsonb, '{status}', '\"ready_for_complete\"')::text",
    "UPDATE orders SET document = jsonb_set(document::jsonb, '{payment,attempt_id}', '\"another\"')::text",
    "INSERT INTO orders SELECT shop, 'again', owner, 'again', 1, 'another', \
     jsonb_set(document::jsonb, '{id}', '\"again\"')::text, placed_at, anonymous, made FROM orders",
    "INSERT INTO orders SELECT shop, 'again', owner, 'again', 1, 'another', \
     jsonb_set(document::jsonb, '{payment,attempt_id}', '\"b\"')::text, placed_at, anonymous, made FROM orders",
    "UPDATE checkouts SET document = jsonb_set(document::jsonb, '{order,id}', '\"another\"')::text",
    "DELETE FROM stock",
    "UPDATE orders SET document = jsonb_set(document::jsonb, '{line_items,0,total}', '2')::text",
];

/// The same for a database that gateways share. Nobody writes there meanwhile.
pub(crate) fn notices_shared(world: &World) -> usize {
    let database = world.database.get().expect("it is shared");
    let tables = ["orders", "checkouts", "stock"];
    for table in tables {
        drop(psql(database, &format!("CREATE TABLE whole_{table} AS TABLE {table}")));
    }
    let mut found = 0;
    for spoil in SPOILED_SHARED {
        drop(psql(database, spoil));
        // A checkout whose order has no line of that form is not spoiled by it.
        let spoiled = tables.iter().any(|table| {
            let differ = format!("SELECT count(*) FROM (TABLE {table} EXCEPT TABLE whole_{table}) AS differing");
            let left = format!("SELECT count(*) FROM (TABLE whole_{table} EXCEPT TABLE {table}) AS missing");
            psql(database, &differ) != "0" || psql(database, &left) != "0"
        });
        assert!(spoiled, "{spoil} changes something");
        assert!(noticed(world), "{spoil}");
        found += 1;
        for table in tables {
            drop(psql(database, &format!("DELETE FROM {table}; INSERT INTO {table} TABLE whole_{table}")));
        }
    }
    settle(world);
    for table in tables {
        drop(psql(database, &format!("DROP TABLE whole_{table}")));
    }
    found
}

/// A purchase in which nothing went wrong, until it is spoiled. To be called while no other scenario runs.
pub(crate) fn notices(world: &World, random: &Random) -> String {
    let gateway = world.start(false);
    let create = Call::keyed("create_checkout", "", contents(&[("pot_ceramic", 1)]), random.key());
    let id = text(&world.clients.ask(random, &create), "id").to_owned();
    world.clients.ask(random, &Call::keyed("complete_checkout", &id, payment("ok"), random.key()));
    drop(gateway);
    let books = settle(world);
    assert_eq!(books.orders_of(&id), 1);

    let noticed = || noticed(world);
    let database = world.data().join("shop.db");
    let whole = fs::read(&database).expect("the database");
    for spoil in SPOILED_BOOKS {
        // Its content is in this one file: no other process has it open.
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
