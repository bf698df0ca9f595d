//! Rules about attempts, orders, and the reasons for which something is not sold.

use serde::Deserialize;
use serde_json::{Value, json};
use ucp_core::{
    money::Amount,
    order::report::OccurrenceKind,
    purchase::buyer::{Buyer, PostalAddress},
};
use uuid::Uuid;

use super::trial::{CheckedShop, Judged, NOTHING};
use crate::{
    documents::{Cart, Order, OrderChanged, Outcome, Payment},
    orders,
    transport::Question,
};

/// Countries that hardly anybody delivers to: Antarctica and Bouvet Island.
const REMOTE: [&str; 2] = ["AQ", "BV"];

/// A purchase that the rules about orders are tried with.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Purchase {
    /// Buyer.
    pub buyer: Option<Buyer>,
    /// Address to deliver to, for shops that deliver.
    pub address: Option<PostalAddress>,
    /// Payment, as `/place` states it.
    pub payment: Option<Payment>,
}
ucp_core::opaque!(Purchase);

/// An order that was placed to try the rules.
pub(super) struct TriedOrder {
    reference: String,
    cart: Cart,
    order: Order,
}

/// Returns `true` for the outcome of an attempt that placed no order, and will place none.
fn places_nothing(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Declined { .. } | Outcome::Refused { .. } | Outcome::Challenged { .. })
}

impl CheckedShop<'_> {
    pub(super) async fn unknown_attempts_are_absent(&self) -> Judged<()> {
        let cure = "answer `/order` with `{\"status\": \"absent\"}` for a reference that no `/place` had";
        let mut trial = self.trial("unknown_attempts_are_absent", cure);
        let outcome: Outcome = trial.ask_existing(Question::Order, json!({ "reference": NOTHING })).await?;
        trial.must(outcome == Outcome::Absent, "an attempt that was never made has an outcome")
    }

    pub(super) async fn canceled_attempts_place_nothing(&self) -> Judged<()> {
        let cure = "remember the references of `/cancel`, and answer a `/place` with one of them with `declined` or \
                    `refused`";
        let mut trial = self.trial("canceled_attempts_place_nothing", cure);
        let [one, _] = self.bought(&trial)?;
        let made: Cart = trial.ask_existing(Question::CartSync, self.cart(None, &[(one, 1)])).await?;
        let reference = format!("{NOTHING}-{}", made.cart);
        let outcome: Outcome =
            trial.ask_existing(Question::Cancel, json!({ "reference": reference, "cart": made.cart })).await?;
        let given_up = outcome == Outcome::Absent || places_nothing(&outcome);
        trial.must(given_up, "an attempt that was never made cannot be canceled")?;
        // The total is wrong as well, so that no shop that reads it places an order.
        let place = json!({
            "reference": reference,
            "cart": made.cart,
            "lines": made.lines,
            "currency": made.currency,
            "total": made.total.minor() + 1,
        });
        let outcome: Option<Outcome> = trial.ask(Question::Place, place).await?;
        let nothing = outcome.as_ref().is_none_or(places_nothing);
        trial.must(nothing, "an attempt that was canceled is carried out")?;
        let _: Option<Value> = trial.ask(Question::CartAbandon, json!({ "cart": made.cart })).await?;
        Ok(())
    }

    /// Places an order.
    pub(super) async fn orders_are_placed(&self, purchase: &Purchase) -> Judged<TriedOrder> {
        let cure =
            "place the order of the cart for the total that `/cart/sync` has stated, and answer `placed` with its id";
        let mut trial = self.trial("orders_are_placed", cure);
        let [one, _] = self.bought(&trial)?;
        let reference = format!("check-{}", Uuid::new_v4().simple());
        let mut asked = self.cart(None, &[(one, 1)]);
        asked["purpose"] = json!("checkout");
        asked["reference"] = json!(reference);
        asked["buyer"] = json!(purchase.buyer);
        asked["address"] = json!(purchase.address);
        let mut cart: Cart = trial.ask_existing(Question::CartSync, asked.clone()).await?;
        let option = cart.delivery_option.clone().or_else(|| Some(cart.delivery_options.first()?.id.clone()));
        if option != cart.delivery_option {
            asked["cart"] = json!(cart.cart);
            asked["delivery_option"] = json!(option);
            cart = trial.ask_existing(Question::CartSync, asked.clone()).await?;
        }
        let place = json!({
            "reference": reference,
            "cart": cart.cart,
            "lines": cart.lines,
            "currency": cart.currency,
            "total": cart.total,
            "buyer": purchase.buyer,
            "address": purchase.address,
            "delivery_option": option,
            "payment": purchase.payment,
        });
        match trial.ask(Question::Place, place).await? {
            Some(Outcome::Placed { order, .. }) => Ok(TriedOrder { reference, cart, order }),
            _ => Err(trial.finding("the order is not placed")),
        }
    }

    /// Looks a placed order up by its reference.
    pub(super) async fn placed_orders_are_found(&self, tried: &TriedOrder) -> Judged<()> {
        let cure = "answer `/order` with `placed` and the same order as `/place` for its reference";
        let mut trial = self.trial("placed_orders_are_found", cure);
        let asked = json!({ "reference": tried.reference, "cart": tried.cart.cart });
        let Outcome::Placed { order, bought } = trial.ask_existing(Question::Order, asked).await? else {
            return Err(trial.finding("an order that was placed is not `placed`"));
        };
        trial.must(
            order.id == tried.order.id,
            format_args!("the order is `{}`, and was `{}`", order.id, tried.order.id),
        )?;
        let (paid, total) = (tried.cart.total, bought.map(|bought| bought.total));
        let differs = format!("the total is {:?}, and {} was paid", total.map(Amount::minor), paid.minor());
        trial.must(total.is_none_or(|total| total == paid), differs)
    }

    /// Asks what has become of a placed order.
    pub(super) async fn order_status_fits_what_was_paid(&self, tried: &TriedOrder) -> Judged<()> {
        let cure = "answer `/order/status` with the order, its currency and its events, whose amounts and pieces are at most \
                    those that were bought";
        let mut trial = self.trial("order_status_fits_what_was_paid", cure);
        let changed: OrderChanged =
            trial.ask_existing(Question::OrderStatus, json!({ "order": tried.order.id })).await?;
        let same = changed.order.id == tried.order.id && changed.currency == tried.cart.currency;
        trial.must(same, "it is about another order, or in another currency")?;
        orders::check(json!(changed).to_string().as_bytes()).map_err(|fault| trial.finding(fault))?;
        let paid = i128::from(tried.cart.total.minor());
        for kind in [OccurrenceKind::Captured, OccurrenceKind::Refunded] {
            let of_kind = changed.events.iter().filter(|event| event.kind == kind).filter_map(|event| event.amount);
            let sum: i128 = of_kind.map(|amount| i128::from(amount.minor())).sum();
            trial.must(
                sum <= paid,
                format_args!("the amounts of `{}` are {sum}, of {paid} that was paid", kind.as_str()),
            )?;
        }
        for line in
            changed.events.iter().filter(|event| event.kind != OccurrenceKind::Added).flat_map(|event| &event.lines)
        {
            let held = tried.cart.lines.iter().filter(|own| own.variant == line.variant).map(|own| own.quantity).sum();
            trial.must(
                line.quantity <= held,
                format_args!("an event is about {} of `{}`, of which {held} were bought", line.quantity, line.variant),
            )?;
        }
        Ok(())
    }

    pub(super) async fn unknown_orders_are_gone(&self) -> Judged<()> {
        let cure = "answer `/order/status` with status 404 for an order that does not exist";
        let mut trial = self.trial("unknown_orders_are_gone", cure);
        let status: Option<Value> = trial.ask(Question::OrderStatus, json!({ "order": NOTHING })).await?;
        trial.must(status.is_none(), "an order that was never placed has a status")
    }

    /// Tries a code that exists and does not apply.
    pub(super) async fn codes_that_do_not_apply_say_why(&self, code: &str) -> Judged<()> {
        let cure = "state a code that is known and does not apply among `unmet_codes`, with the kind of the reason";
        let mut trial = self.trial("codes_that_do_not_apply_say_why", cure);
        let [one, _] = self.bought(&trial)?;
        let mut asked = self.cart(None, &[(one, 1)]);
        asked["codes"] = json!([code]);
        let cart: Cart = trial.ask_existing(Question::CartSync, asked).await?;
        let is_it = |own: &str| own.eq_ignore_ascii_case(code);
        let applies = cart.discounts.iter().filter_map(|discount| discount.code.as_deref()).any(is_it);
        let says_why = cart.unmet_codes.iter().any(|unmet| is_it(&unmet.code));
        let judged = trial
            .must(!applies, format_args!("`{code}` applies"))
            .and_then(|()| trial.must(says_why, format_args!("`{code}` does not apply, and no reason is stated")));
        let _: Option<Value> = trial.ask(Question::CartAbandon, json!({ "cart": cart.cart })).await?;
        judged
    }

    /// Tries addresses that nobody lives at. Returns `false` if the shop delivers there.
    pub(super) async fn addresses_that_are_not_served_are_refused(&self) -> Judged<bool> {
        let cure = "answer `/cart/sync` with the cart without delivery options for an address that is not served, and say why \
                    in `field_problems`, such as `{\"field\": \"address.address_country\", \"kind\": \"undeliverable\"}`";
        let mut trial = self.trial("addresses_that_are_not_served_are_refused", cure);
        let [one, _] = self.bought(&trial)?;
        for country in REMOTE {
            let mut asked = self.cart(None, &[(one, 1)]);
            asked["purpose"] = json!("checkout");
            asked["reference"] = json!(format!("{NOTHING}-{country}"));
            asked["address"] = json!({
                "first_name": "Ada", "last_name": "Byron", "street_address": "Station 1", "address_locality": "Station",
                "postal_code": "0001", "address_country": country,
            });
            asked["context"]["country"] = json!(country);
            let cart: Cart = trial.ask_existing(Question::CartSync, asked).await?;
            let names_member =
                |field: &str| ["address", "buyer"].contains(&field.split('.').next().unwrap_or_default());
            let stray = cart.field_problems.iter().find(|problem| !names_member(&problem.field));
            let stray = stray.map(|problem| problem.field.as_str());
            let judged = trial.must(
                stray.is_none(),
                format_args!("`{}` is neither of the address nor of the buyer", stray.unwrap_or_default()),
            );
            let judged = judged.and_then(|()| cart.add_up().map_err(|fault| trial.finding(fault)));
            let _: Option<Value> = trial.ask(Question::CartAbandon, json!({ "cart": cart.cart })).await?;
            if cart.delivery_options.is_empty() {
                return judged.map(|()| true);
            }
        }
        Ok(false)
    }
}
