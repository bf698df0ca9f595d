//! Rules for every backend.
//!
//! The rules here know a shop by what anybody can ask of it, over REST and as a tool, and by the few facts in
//! [`Goods`]. They work out for themselves what has to be true: which combinations of options there are by asking for
//! each of them, what a filter has to find by looking at everything, what a purchase costs by adding up. A backend
//! joins with one line in [`backends!`] and a function in [`subjects`] that starts the gateway in front of it.
//!
//! | module | rules about |
//! | :-- | :-- |
//! | [`browsing`] | what is offered, searching, paging, filters, looking up |
//! | [`choosing`] | options: what exists, what can be had, what is given up |
//! | [`buying`] | carts and checkouts: contents, amounts, retries, ownership, how purchases end |
//! | [`strangers`] | identifiers that are not of this shop, and words that nobody means well |
//!
//! [`afterwards`] is about what becomes of orders.
//! Four are about one backend alone: [`bot`] about how it says to the shop which bot is asking, [`notices`] about orders
//! that buyers place there, [`orphans`] about carts there that no document names, [`token`] about another access token.
//! [`placing`] is about orders that the gateway places, while it is killed; [`reasons`] about what a shop has to tell;
//! [`shops`] about shops that nobody here wrote;
//! [`down`] is about a start while a shop is down; [`one_caller`] about what goes wrong for one caller or one kind of call.

mod afterwards;
mod bot;
mod browsing;
mod buying;
mod choosing;
mod down;
mod notices;
mod one_caller;
mod orphans;
mod placing;
mod reasons;
mod shops;
mod strangers;
mod subjects;
mod token;

use serde_json::{Value, json};
use ucp_core::Release;

use crate::{
    harness::{Gateway, Lent, Runs, Shared, elements},
    purchase::shopper::{Said, Shopper},
    setup::{Configured, Transport},
    wire::{Connection, request},
};

/// Nobody asks too often here, and a machine that is busy has its time.
const CONFIGURATION: &str = "
    [profiles]
    loopback = true
    [limits]
    anonymous = \"none\"
    signed = \"none\"
    keyed = \"none\"
    unverified = \"none\"
";
const UPSTREAM: &str = "
    [upstream]
    connect_timeout_ms = 20000
    read_timeout_ms = 30000
    write_timeout_ms = 30000
    complete_timeout_ms = 60000
";

/// A gateway in front of some shop.
#[derive(Debug)]
struct Subject {
    gateway: Configured,
    goods: Goods,
    /// The shop behind it, where that is another gateway.
    _behind: Option<Configured>,
    /// The shop behind it, where that is a program of others.
    _shop: Option<shops::BackendShop>,
}

/// Known facts about a shop.
#[derive(Clone, Copy, Debug)]
struct Goods {
    /// A word that finds at least ten products with different prices.
    word: &'static str,
    /// A product with two or more options, some of whose combinations do not exist and some of which are sold out.
    choices: &'static str,
    /// Two variants of different products of which at least ten of each can be bought.
    plenty: [&'static str; 2],
    /// A variant that is sold out.
    sold_out: &'static str,
    /// A code that makes the first of `plenty` cheaper, where the shop knows codes.
    code: Option<&'static str>,
    /// Common part of the shop's own cart IDs, if it has carts: they are secrets.
    secret: Option<&'static str>,
    /// End of a purchase.
    end: End,
}

/// End of a purchase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Through the API, with this handler, a type of instrument that it takes, and a token.
    Paid { handler: &'static str, kind: &'static str, token: &'static str },
    /// On a page of the shop.
    HandedOff,
}

/// The transports that the rules are tried over.
const TRANSPORTS: [Transport; 2] = [Transport::Rest, Transport::Tool];

impl Runs for Subject {
    fn gateways(&self) -> Vec<&Gateway> {
        self._behind.iter().chain([&self.gateway]).map(|one| &**one).collect()
    }
}

impl Subject {
    /// Platforms that ask it, one per transport.
    fn shoppers(&self) -> [Shopper<'_>; 2] {
        TRANSPORTS.map(|transport| Shopper::new(&self.gateway, Release::NEWEST, transport))
    }
}

/// Location of the buyer, for every request here.
fn context() -> Value {
    json!({ "address_country": "US", "currency": "USD" })
}

/// Asks about the catalog, and gets an answer.
#[track_caller]
fn asked(shopper: &Shopper<'_>, operation: &str, mut payload: Value) -> Value {
    payload["context"] = context();
    shopper.call(operation, None, &payload).document()
}

/// Every product that a search finds, page by page.
#[track_caller]
fn found(shopper: &Shopper<'_>, mut payload: Value, limit: u64) -> Vec<Value> {
    payload["pagination"] = json!({ "limit": limit });
    let mut products = Vec::new();
    for _ in 0..1_000 {
        let page = asked(shopper, "search_catalog", payload.clone());
        let own = elements(&page["products"]);
        assert!(own.len() as u64 <= limit, "{page}");
        products.extend(own.iter().cloned());
        let pagination = &page["pagination"];
        if pagination["has_next_page"] != true {
            assert!(pagination.get("cursor").is_none(), "{pagination}");
            return products;
        }
        payload["pagination"]["cursor"] = pagination["cursor"].clone();
    }
    panic!("paging does not end: {payload}");
}

/// A whole amount of the smallest unit, never less than nothing.
#[track_caller]
fn amount(price: &Value) -> i64 {
    let amount = price["amount"].as_i64().unwrap_or_else(|| panic!("an amount: {price}"));
    assert!(amount >= 0, "{price}");
    assert_eq!(price["currency"], "USD", "{price}");
    amount
}

/// Checks that a call failed in a way that tells its caller why, and not by accident.
#[track_caller]
fn came_to_nothing(said: &Said) {
    let errors = said.errors();
    assert!(!errors.is_empty(), "{said:?}");
    assert!(errors.iter().all(|code| !["unavailable", "internal_error"].contains(&code.as_str())), "{said:?}");
}

/// The backends, each with how it is started. Every rule is a test of each of them.
macro_rules! backends {
    ($($backend:ident: $start:path),+ $(,)?) => {$(
        mod $backend {
            use super::{Lent, Shared, Subject, browsing, buying, choosing, strangers};

            /// One for all rules; `None`, with the reason on the screen, where it cannot be started here.
            fn subject() -> Option<Lent<Subject>> {
                static SHARED: Shared<Subject> = Shared::new();
                $start(&SHARED)
            }

            super::rules! {
                browsing::what_is_offered_is_answered_and_nothing_else,
                browsing::pages_hold_every_product_once,
                browsing::positions_belong_to_their_question,
                browsing::all_operations_say_the_same_of_a_product,
                browsing::a_price_filter_finds_what_is_within_and_nothing_else,
                browsing::a_lookup_says_what_each_identifier_became,
                browsing::a_lookup_has_room_for_ten_and_an_end,
                browsing::both_transports_give_the_same_answers,
                choosing::signals_are_those_of_the_combinations_there_are,
                choosing::choices_are_given_up_in_order,
                choosing::a_variant_overrules_the_choices,
                buying::what_is_shown_is_what_is_sold,
                buying::a_cart_is_what_was_stated_last,
                buying::nothing_is_lost_on_the_way,
                buying::lines_keep_their_names,
                buying::amounts_add_up,
                buying::what_cannot_be_bought_is_said,
                buying::a_code_is_taken_off_or_refused,
                buying::a_retry_is_the_same_call,
                buying::what_is_somebody_elses_does_not_exist,
                buying::a_purchase_ends_as_the_shop_can,
                buying::what_is_canceled_stays_so,
                buying::a_checkout_is_not_its_cart,
                buying::what_is_over_stays_so,
                buying::names_of_the_shops_carts_stay_inside,
                buying::both_transports_see_the_same_cart,
                strangers::identifiers_of_nobody_find_nothing,
                strangers::identifiers_of_nobody_are_not_sold,
                strangers::words_are_only_words,
                strangers::a_buyer_may_be_anywhere,
            }
        }
    )+};
}

/// A test for every rule, of the backend in whose module this stands.
macro_rules! rules {
    ($($module:ident::$rule:ident),+ $(,)?) => {$(
        #[test]
        fn $rule() {
            if let Some(subject) = subject() {
                $module::$rule(&subject);
            }
        }
    )+};
}
use rules;

backends! {
    embedded: super::subjects::embedded,
    storefront: super::subjects::storefront,
    starter_in_typescript: super::subjects::starter_in_typescript,
    starter_in_python: super::subjects::starter_in_python,
    starter_in_typescript_synchronised: super::subjects::starter_in_typescript_synchronised,
    ucp_over_rest: super::subjects::ucp_over_rest,
    ucp_over_mcp: super::subjects::ucp_over_mcp,
    oscar: super::subjects::oscar,
    vendure: super::subjects::vendure,
    evershop: super::subjects::evershop,
    saleor: super::subjects::saleor,
    tryton: super::subjects::tryton,
    php: super::subjects::php,
    commercetools: super::subjects::commercetools,
    salesman: super::subjects::salesman,
    woocommerce: super::subjects::woocommerce,
    magento: super::subjects::magento,
}

/// Exchanges with an upstream shop are visible to its operator only.
#[test]
fn an_operator_sees_what_happens_between_gateway_and_shop() {
    let subject =
        subjects::in_front_of_ucp("rest", "[server]\nadmin_listen = \"127.0.0.1:0\"\nadmin_token_file = \"token\"\n");
    let [shopper, _] = subject.shoppers();
    for _ in 0..3 {
        asked(&shopper, "lookup_catalog", json!({ "ids": [subject.goods.plenty[0]] }));
    }
    let line = subject.gateway.welcome.iter().find_map(|line| line.trim().strip_prefix("admin    http://"));
    let address = line.expect("where it listens").parse().expect("an address");
    let ask = |token: &str| {
        let mut connection = Connection::open(address);
        let shown = [("Authorization", token)];
        assert!(connection.write(&request("GET", "/upstream", &shown, b"")));
        connection.read().expect("an answer")
    };
    assert_eq!(ask("Bearer wrong").status, 401);
    let counted = ask(&format!("Bearer {}", subjects::ADMIN_TOKEN)).json();
    assert_eq!((&counted["cached"], &counted["failed"]), (&json!(2), &json!(0)), "{counted}");
    assert!(counted["sent"].as_u64() >= Some(1), "{counted}");
}
