//! Rules of the contract, tried on a shop.
//!
//! Each rule asks the shop and judges the answers. Rules that make carts or attempts are tried only if writing is
//! allowed. One order is placed if that is allowed as well.

mod orders;
mod trial;

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Value, json};
use ucp_core::{catalog::record::Record, money::Currency};
use uuid::Uuid;

use self::trial::{CheckedShop, Judged, NOTHING, Trial};
pub use self::{orders::Purchase, trial::Finding};
use crate::{
    documents::{Backend, Cart, CatalogAbilities, Completion, Found, Resolved},
    shop::{market, price_in},
    transport::{Question, Transport},
};

/// Maximum number of products that the rules about pages look at.
const MOST_PRODUCTS: usize = 60;

/// Maximum number of currencies and countries in which the shop is asked.
const MOST_REGIONS: usize = 20;

/// Result of trying the rules.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Rules that the shop keeps.
    pub kept: Vec<&'static str>,
    /// Rules that it does not keep.
    pub findings: Vec<Finding>,
    /// Rules that were not tried, each with the reason.
    pub skipped: Vec<(&'static str, String)>,
}

/// What may be done at a shop, beside reading.
#[derive(Clone, Debug, Default)]
pub struct Permissions {
    /// `true` if carts and attempts may be made.
    pub writes: bool,
    /// One order may be placed with this.
    pub order: Option<Purchase>,
    /// A discount code that exists and does not apply.
    pub unmet_code: Option<String>,
}

/// Tries the rules on a shop, as far as they are permitted.
pub async fn check(transport: &dyn Transport, permissions: &Permissions) -> Report {
    let mut report = Report::default();
    let mut trial = Trial::of(
        transport,
        "backend_is_described",
        "answer `GET /backend` with `contract` and `market` as openapi/backend-contract.json describes them",
    );
    let described = async {
        let backend: Backend = trial.ask_existing(Question::Backend, Value::Null).await?;
        let market = market(&backend).map_err(|problem| trial.finding(problem))?;
        Ok::<_, Box<Finding>>((backend, market))
    };
    let (backend, market) = match described.await {
        Ok(described) => described,
        Err(finding) => {
            report.findings.push(*finding);
            return report;
        }
    };
    report.kept.push("backend_is_described");
    let context = json!({ "language": market.language, "currency": market.currency });
    let mut shop = CheckedShop { transport, backend, market, context, products: Vec::new() };

    let listed = shop.products_are_usable().await;
    shop.products = report.note("products_are_usable", listed).unwrap_or_default();
    if shop.products.is_empty() {
        let reason = "no product could be read".to_owned();
        report.skipped.push(("everything else", reason));
        return report;
    }
    macro_rules! rules {
        ($($rule:ident),+ $(,)?) => {$(
            let judged = shop.$rule().await;
            report.note(stringify!($rule), judged);
        )+};
    }
    rules! {
        pages_hold_every_product_once,
        titles_find_their_products,
        unknown_positions_are_gone,
        identifiers_name_their_products,
        unknown_identifiers_name_nothing,
        one_product_is_the_same_everywhere,
    }
    if shop.market.currencies.is_empty() && shop.market.countries.is_empty() {
        report.skipped.push(("every_currency_is_priced", "the market has one currency".to_owned()));
    } else {
        rules! { every_currency_is_priced }
    }
    if shop.backend.cart.is_none() {
        report.skipped.push(("carts and attempts", "the shop has a catalog alone".to_owned()));
    } else if permissions.writes {
        rules! {
            amounts_add_up,
            what_is_stated_last_is_in_the_cart,
            unknown_carts_are_gone,
            unknown_variants_are_left_out,
            abandoned_carts_are_gone,
        }
        if shop.backend.cart.as_ref().is_some_and(|cart| cart.keys) {
            rules! { a_key_makes_one_cart }
        } else {
            report.skipped.push(("a_key_makes_one_cart", "the shop does not state `cart.keys`".to_owned()));
        }
        if shop.sold_out().is_some() {
            rules! { what_is_sold_out_is_not_sold }
        } else {
            report.skipped.push(("what_is_sold_out_is_not_sold", "every variant can be bought".to_owned()));
        }
        if shop.backend.cart.as_ref().is_some_and(|cart| cart.completion == Completion::HandOff) {
            rules! { carts_lead_to_a_page }
            report.skipped.push(("attempts", "buyers pay on a page of the shop".to_owned()));
        } else {
            rules! { unknown_attempts_are_absent, canceled_attempts_place_nothing }
        }
        if !shop.regions().is_empty() {
            rules! { carts_are_in_the_currency_that_is_shown }
        }
        shop.reasons(&mut report, permissions).await;
        shop.orders(&mut report, permissions).await;
    } else {
        report.skipped.push(("carts and attempts", "they write at the shop; `--allow-writes` permits it".to_owned()));
    }
    report
}

impl CheckedShop<'_> {
    /// Tries the rules about reasons.
    async fn reasons(&self, report: &mut Report, permissions: &Permissions) {
        let cart = self.backend.cart.as_ref();
        let rule = "codes_that_do_not_apply_say_why";
        match &permissions.unmet_code {
            _ if cart.is_none_or(|cart| !cart.codes) => report.skip(rule, "the shop does not state `cart.codes`"),
            Some(code) => {
                let judged = self.codes_that_do_not_apply_say_why(code).await;
                report.note(rule, judged);
            }
            None => report.skip(rule, "`--unmet-code` names no code"),
        }
        let rule = "addresses_that_are_not_served_are_refused";
        if cart.is_none_or(|cart| !cart.delivery) {
            report.skip(rule, "the shop does not state `cart.delivery`");
            return;
        }
        match self.addresses_that_are_not_served_are_refused().await {
            Ok(false) => report.skip(rule, "the shop delivers to the countries that were tried"),
            judged => drop(report.note(rule, judged)),
        }
    }

    /// Tries the rules about orders.
    async fn orders(&self, report: &mut Report, permissions: &Permissions) {
        let cart = self.backend.cart.as_ref();
        let has_status = cart.is_some_and(|cart| cart.order_status);
        if has_status {
            let judged = self.unknown_orders_are_gone().await;
            report.note("unknown_orders_are_gone", judged);
        } else {
            report.skip("unknown_orders_are_gone", "the shop does not state `cart.order_status`");
        }
        let Some(purchase) = &permissions.order else {
            report.skip("orders", "no order is placed; `--place-order` permits one");
            return;
        };
        if cart.is_some_and(|cart| cart.completion == Completion::HandOff) {
            report.skip("orders", "buyers place orders on a page of the shop");
            return;
        }
        let placed = self.orders_are_placed(purchase).await;
        let Some(tried) = report.note("orders_are_placed", placed) else { return };
        let judged = self.placed_orders_are_found(&tried).await;
        report.note("placed_orders_are_found", judged);
        if has_status {
            let judged = self.order_status_fits_what_was_paid(&tried).await;
            report.note("order_status_fits_what_was_paid", judged);
        }
    }
}

impl Report {
    fn skip(&mut self, rule: &'static str, reason: &str) {
        self.skipped.push((rule, reason.to_owned()));
    }

    fn note<T>(&mut self, rule: &'static str, judged: Judged<T>) -> Option<T> {
        match judged {
            Ok(value) => {
                self.kept.push(rule);
                Some(value)
            }
            Err(finding) => {
                self.findings.push(*finding);
                None
            }
        }
    }
}

impl<'a> CheckedShop<'a> {
    fn find(&self, more: Value) -> Value {
        let mut find = json!({ "context": self.context, "available": false });
        if let (Value::Object(find), Value::Object(more)) = (&mut find, more) {
            find.extend(more);
        }
        find
    }

    /// Returns all products that a question finds, page by page, up to [`MOST_PRODUCTS`].
    async fn pages(&self, trial: &mut Trial<'_>, limit: usize) -> Judged<Vec<Value>> {
        let (mut products, mut after) = (Vec::new(), None::<String>);
        while products.len() < MOST_PRODUCTS {
            let mut find = self.find(json!({ "limit": limit }));
            if let Some(after) = &after {
                find["after"] = json!(after);
            }
            let Found { products: page, next, .. } = trial.ask_existing(Question::Find, find).await?;
            trial.must(page.len() <= limit, format_args!("{} products on a page of {limit}", page.len()))?;
            trial.must(!page.is_empty() || next.is_none(), "a page without products has a `next`")?;
            products.extend(page);
            match next {
                Some(next) if after.as_ref() != Some(&next) => after = Some(next),
                Some(_) => return Err(trial.finding("`next` does not advance")),
                None => break,
            }
        }
        products.truncate(MOST_PRODUCTS);
        Ok(products)
    }

    async fn products_are_usable(&self) -> Judged<Vec<Record>> {
        let cure = "answer `POST /find` without words with every product, each with at least one variant and a price in \
                    the market's currency";
        let mut trial = self.trial("products_are_usable", cure);
        let values = self.pages(&mut trial, 20).await?;
        let products = trial.products(values, &self.market)?;
        trial.must(!products.is_empty(), "there are no products")?;
        Ok(products)
    }

    async fn pages_hold_every_product_once(&self) -> Judged<()> {
        let cure = "order the result by something stable, and start the page of `after` behind the product that it stands \
                    for";
        let mut trial = self.trial("pages_hold_every_product_once", cure);
        let values = self.pages(&mut trial, 3).await?;
        let ids: Vec<_> = values.iter().map(|product| product["id"].as_str().unwrap_or_default()).collect();
        trial.must(ids.iter().collect::<HashSet<_>>().len() == ids.len(), "a product is on two pages")?;
        let whole: Vec<_> = self.products.iter().map(|product| product.id.as_str()).collect();
        trial.must(ids == whole, "pages of 3 hold other products than pages of 20, or in another order")
    }

    async fn titles_find_their_products(&self) -> Judged<()> {
        let mut trial = self.trial("titles_find_their_products", "search the titles of products for `words`");
        for product in self.products.iter().take(3) {
            let found: Found =
                trial.ask_existing(Question::Find, self.find(json!({ "words": product.title, "limit": 20 }))).await?;
            let there = found.products.iter().any(|found| found["id"] == json!(product.id));
            trial.must(there, format_args!("the title of `{}` does not find it among the first 20", product.id))?;
        }
        Ok(())
    }

    async fn unknown_positions_are_gone(&self) -> Judged<()> {
        let cure = "answer a `/find` with an `after` that is not one of yours with status 404";
        let mut trial = self.trial("unknown_positions_are_gone", cure);
        let find = self.find(json!({ "after": NOTHING, "limit": 3 }));
        let found: Option<Value> = trial.ask(Question::Find, find).await?;
        trial.must(found.is_none(), "a position that the shop never gave is answered")
    }

    fn resolve(&self, ids: &[&str]) -> Value {
        json!({ "ids": ids, "context": self.context })
    }

    async fn identifiers_name_their_products(&self) -> Judged<()> {
        let cure = "look up products by their id and by the ids of their variants, and answer whole products";
        let mut trial = self.trial("identifiers_name_their_products", cure);
        let mut ids = Vec::new();
        let CatalogAbilities { most_ids, .. } = self.backend.catalog;
        for product in &self.products {
            ids.extend([product.id.as_str(), product.variants[0].id.as_str()]);
        }
        ids.truncate(most_ids.map_or(50, usize::from).min(100));
        let answer: Resolved = trial.ask_existing(Question::Resolve, self.resolve(&ids)).await?;
        let found = trial.products(answer.products, &self.market)?;
        for id in ids {
            let named = found.iter().any(|product| product.id == id || product.variants.iter().any(|own| own.id == id));
            trial.must(named, format_args!("`{id}` is not found"))?;
        }
        Ok(())
    }

    async fn unknown_identifiers_name_nothing(&self) -> Judged<()> {
        let cure = "leave out of `products` what an identifier does not name; it is no failure";
        let mut trial = self.trial("unknown_identifiers_name_nothing", cure);
        for question in [Question::Resolve, Question::Open] {
            for ids in [
                &[NOTHING][..],
                &["", "../../etc/passwd", "' OR 1=1 --", "\u{1F600}"],
                &[NOTHING, &self.products[0].id],
            ] {
                let known = ids.iter().filter(|id| **id == self.products[0].id).count();
                let answer: Resolved = trial.ask_existing(question, self.resolve(ids)).await?;
                let expected = format_args!("{known} products were expected").to_string();
                trial.must(answer.products.len() == known, expected)?;
            }
        }
        Ok(())
    }

    async fn one_product_is_the_same_everywhere(&self) -> Judged<()> {
        let cure = "answer `/find`, `/resolve` and `/open` from the same facts, with all variants of each product";
        let mut trial = self.trial("one_product_is_the_same_everywhere", cure);
        for listed in self.products.iter().take(5) {
            for question in [Question::Resolve, Question::Open] {
                let answer: Resolved = trial.ask_existing(question, self.resolve(&[&listed.id])).await?;
                let products = trial.products(answer.products, &self.market)?;
                let own = products.iter().find(|product| product.id == listed.id);
                let own = own.ok_or_else(|| trial.finding(format_args!("`{}` is not found", listed.id)))?;
                let variants = |product: &Record| -> Vec<_> {
                    product.variants.iter().map(|variant| (variant.id.clone(), variant.price)).collect()
                };
                let differs = format_args!("`{}` has other variants or prices than in `/find`", listed.id).to_string();
                trial.must(variants(own) == variants(listed), differs)?;
            }
        }
        Ok(())
    }

    /// Returns the contexts in which buyers are shown another currency than the market's own: one for each currency, and
    /// one for each country.
    fn regions(&self) -> Vec<(Currency, Value)> {
        let language = &self.market.language;
        let other = |currency: &&Currency| **currency != self.market.currency;
        let currencies = self.market.currencies.iter().filter(other);
        let by_currency = currencies.map(|own| (*own, json!({ "language": language, "currency": own })));
        let by_country = self
            .market
            .countries
            .iter()
            .map(|(country, own)| (*own, json!({ "language": language, "currency": own, "country": country })));
        by_currency.chain(by_country).take(MOST_REGIONS).collect()
    }

    async fn every_currency_is_priced(&self) -> Judged<()> {
        let cure = "state the prices in `context.currency`, as `price` or among `prices`, in each currency of the market \
                    and for buyers of each of its countries; leave currencies out of `market` that nothing is priced in";
        let mut trial = self.trial("every_currency_is_priced", cure);
        for (currency, context) in self.regions() {
            trial.must(self.market.trades_in(currency), format_args!("{currency} is not among `market.currencies`"))?;
            let of = format!("in {currency}, for the context {context}");
            let found: Found = trial
                .ask_existing(Question::Find, json!({ "context": context, "available": false, "limit": 5 }))
                .await?;
            trial.must(!found.products.is_empty(), format_args!("there are no products {of}"))?;
            let id = found.products[0]["id"].clone();
            let opened: Resolved =
                trial.ask_existing(Question::Open, json!({ "ids": [id], "context": context })).await?;
            for product in found.products.iter().chain(&opened.products) {
                let variants = product["variants"].as_array().into_iter().flatten();
                let unpriced = variants.into_iter().find(|variant| price_in(currency, variant).is_none());
                let unpriced = unpriced.map(|variant| variant["id"].as_str().unwrap_or_default());
                trial.must(unpriced.is_none(), format_args!("`{}` has no price {of}", unpriced.unwrap_or_default()))?;
            }
        }
        Ok(())
    }

    async fn carts_are_in_the_currency_that_is_shown(&self) -> Judged<()> {
        let cure = "price `/cart/sync` in `context.currency`, at the prices that `/open` states in that context";
        let mut trial = self.trial("carts_are_in_the_currency_that_is_shown", cure);
        let [one, _] = self.bought(&trial)?;
        for (currency, context) in self.regions() {
            let mut asked = self.cart(None, &[(one, 1)]);
            asked["context"] = context.clone();
            let cart: Cart = trial.ask_existing(Question::CartSync, asked).await?;
            let problem = format!("the cart is in {}, and {currency} is shown in the context {context}", cart.currency);
            trial.must(cart.currency == currency, problem)?;
            let line = cart.lines.iter().find(|line| line.variant == one && line.quantity > 0).map(|line| line.price);
            let cart_id = json!({ "cart": cart.cart });
            let opened: Resolved =
                trial.ask_existing(Question::Open, json!({ "ids": [one], "context": context })).await?;
            let variants = opened.products.iter().filter_map(|product| product["variants"].as_array()).flatten();
            let shown = variants.into_iter().find(|variant| variant["id"] == one);
            let shown = shown.and_then(|variant| price_in(currency, variant)).map(|price| price["amount"].clone());
            if let (Some(line), Some(shown)) = (line, shown) {
                let problem = format!("`{one}` costs {} in the cart, and {shown} in the catalog", line.minor());
                trial.must(json!(line.minor()) == shown, problem)?;
            }
            let _: Option<Value> = trial.ask(Question::CartAbandon, cart_id).await?;
        }
        Ok(())
    }

    async fn amounts_add_up(&self) -> Judged<()> {
        let cure = "state prices per piece, every discount, the chosen delivery, fees, taxes and credits, and their sum as `total`";
        let mut trial = self.trial("amounts_add_up", cure);
        let [one, other] = self.bought(&trial)?;
        for lines in [&[(one, 1)][..], &[(one, 2), (other, 1)]] {
            let lines = if one == other { &lines[..1] } else { lines };
            for codes in [json!([]), json!([NOTHING])] {
                let mut asked = self.cart(None, lines);
                asked["codes"] = codes;
                let cart: Cart = trial.ask_existing(Question::CartSync, asked).await?;
                cart.add_up().map_err(|fault| trial.finding(fault))?;
                let coded = cart.discounts.iter().any(|discount| discount.code.as_deref() == Some(NOTHING));
                trial.must(!coded, "a code that does not exist is the reason of a discount")?;
                for (variant, quantity) in lines {
                    let line = cart.lines.iter().find(|line| line.variant == *variant);
                    // There may be one piece alone.
                    let there = line.is_some_and(|line| (1..=*quantity).contains(&line.quantity));
                    trial.must(
                        there,
                        format_args!("{quantity} of `{variant}` must be in the cart, or as many as there are"),
                    )?;
                }
            }
        }
        Ok(())
    }

    async fn what_is_stated_last_is_in_the_cart(&self) -> Judged<()> {
        let cure =
            "replace the lines of the cart by those of `/cart/sync`, and answer `/cart/fetch` from what is there";
        let mut trial = self.trial("what_is_stated_last_is_in_the_cart", cure);
        let [one, other] = self.bought(&trial)?;
        let made: Cart = trial.ask_existing(Question::CartSync, self.cart(None, &[(one, 2)])).await?;
        let asked = self.cart(Some(&made.cart), &[(other, 1)]);
        let changed: Cart = trial.ask_existing(Question::CartSync, asked.clone()).await?;
        trial.must(changed.cart == made.cart, "the cart has another identifier after a change")?;
        let kept: Vec<_> = changed.lines.iter().filter(|line| line.quantity > 0).collect();
        let replaced = matches!(kept.as_slice(), [line] if line.variant == other && line.quantity == 1);
        trial.must(replaced, format_args!("the cart must hold one `{other}` and nothing else"))?;
        let fetched: Cart = trial.ask_existing(Question::CartFetch, asked).await?;
        trial.must(fetched == changed, "`/cart/fetch` says something else than the `/cart/sync` before it")
    }

    /// Returns a variant that cannot be bought.
    fn sold_out(&self) -> Option<&str> {
        let mut variants = self.products.iter().flat_map(|product| &product.variants);
        variants.find(|variant| !variant.availability.available).map(|variant| variant.id.as_str())
    }

    async fn what_is_sold_out_is_not_sold(&self) -> Judged<()> {
        let cure = "leave a variant that is sold out out of `lines`, or state it with `quantity` 0 and the reason as \
                    `problem`; state `availability.available` of products from the same stock";
        let mut trial = self.trial("what_is_sold_out_is_not_sold", cure);
        let [one, _] = self.bought(&trial)?;
        let Some(other) = self.sold_out() else { return Ok(()) };
        let cart: Cart = trial.ask_existing(Question::CartSync, self.cart(None, &[(one, 1), (other, 1)])).await?;
        let sold = |id: &str| cart.lines.iter().any(|line| line.variant == id && line.quantity > 0);
        trial.must(sold(one), format_args!("`{one}` is missing, because `{other}` is sold out"))?;
        trial.must(!sold(other), format_args!("`{other}` is in the cart, and sold out in `/find`"))
    }

    async fn carts_lead_to_a_page(&self) -> Judged<()> {
        let cure = "state the https URL of the page on which the buyer pays this cart as `continue_url`";
        let mut trial = self.trial("carts_lead_to_a_page", cure);
        let [one, _] = self.bought(&trial)?;
        let mut asked = self.cart(None, &[(one, 1)]);
        asked["purpose"] = json!("checkout");
        asked["reference"] = json!(format!("{NOTHING}-page"));
        let cart: Cart = trial.ask_existing(Question::CartSync, asked).await?;
        let page = cart.continue_url.as_deref().and_then(ucp_import::text::address);
        trial.must(page.is_some(), "buyers pay on a page of the shop, and the cart states none")?;
        let _: Option<Value> = trial.ask(Question::CartAbandon, json!({ "cart": cart.cart })).await?;
        Ok(())
    }

    async fn unknown_carts_are_gone(&self) -> Judged<()> {
        let cure = "answer a cart that does not exist with status 404; do not make another one in its place";
        let mut trial = self.trial("unknown_carts_are_gone", cure);
        let [one, _] = self.bought(&trial)?;
        for question in [Question::CartSync, Question::CartFetch] {
            let cart: Option<Value> = trial.ask(question, self.cart(Some(NOTHING), &[(one, 1)])).await?;
            trial.must(cart.is_none(), "a cart that was never made is there")?;
        }
        Ok(())
    }

    async fn unknown_variants_are_left_out(&self) -> Judged<()> {
        let cure =
            "leave a variant that does not exist out of `lines`, or state it with `quantity` 0; the rest is kept";
        let mut trial = self.trial("unknown_variants_are_left_out", cure);
        let [one, _] = self.bought(&trial)?;
        let cart: Cart = trial.ask_existing(Question::CartSync, self.cart(None, &[(one, 1), (NOTHING, 1)])).await?;
        let there = |id: &str| cart.lines.iter().any(|line| line.variant == id && line.quantity > 0);
        trial.must(there(one), format_args!("`{one}` is missing"))?;
        trial.must(!there(NOTHING), "a variant that does not exist is in the cart")
    }

    async fn abandoned_carts_are_gone(&self) -> Judged<()> {
        let cure = "delete the cart, and answer `/cart/abandon` with success also if it is gone already";
        let mut trial = self.trial("abandoned_carts_are_gone", cure);
        let [one, _] = self.bought(&trial)?;
        let made: Cart = trial.ask_existing(Question::CartSync, self.cart(None, &[(one, 1)])).await?;
        for _ in 0..2 {
            let _: Option<Value> = trial.ask(Question::CartAbandon, json!({ "cart": made.cart })).await?;
        }
        let fetched: Option<Value> = trial.ask(Question::CartFetch, self.cart(Some(&made.cart), &[(one, 1)])).await?;
        trial.must(fetched.is_none(), "a cart that was abandoned is there")
    }

    async fn a_key_makes_one_cart(&self) -> Judged<()> {
        let cure = "answer `/cart/sync` without `cart` and with the `key` of an earlier one with the cart that it has made, \
                    or leave out `cart.keys` of `GET /backend`";
        let mut trial = self.trial("a_key_makes_one_cart", cure);
        let [one, _] = self.bought(&trial)?;
        let mut asked = self.cart(None, &[(one, 1)]);
        asked["key"] = json!(format!("check-{}", Uuid::new_v4().simple()));
        let made: Cart = trial.ask_existing(Question::CartSync, asked.clone()).await?;
        let again: Cart = trial.ask_existing(Question::CartSync, asked).await?;
        for cart in [&made.cart, &again.cart] {
            let _: Option<Value> = trial.ask(Question::CartAbandon, json!({ "cart": cart })).await?;
        }
        trial.must(made.cart == again.cart, "a second question with the same key makes another cart")
    }
}
