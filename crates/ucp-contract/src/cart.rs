//! Carts of a shop behind the contract.
//!
//! The shop states goods, prices, discounts, delivery options, fees, taxes and a total. From these the core's pricing
//! engine makes the answer, as it does on the terms of the embedded shop: identifiers of lines, destinations and groups,
//! what is missing, what is reduced to the stock. The total of the engine has to be the one that the shop states.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use futures_util::future::join_all;
use jiff::Timestamp;
use ucp_core::{
    catalog::market::{Market, Presentation},
    message::{Message, Severity},
    money::{Amount, Currency},
    operation::{DISCOUNT, FULFILLMENT},
    ports::{
        self, Catalog, CatalogCapabilities, Named, Page, PortError, Query, SalesCapabilities,
        caller::BuyerSignals,
        remote_cart::{OrderOutcome, OrderRefusal, PlaceRequest, PriceQuote, PriceRequest, RemoteCart, ShopOrder},
    },
    pricing::{
        quote,
        terms::{
            Amounts, Combines, Discount, Fee, PercentOrAmount, Pickup, PickupPlace, Shipping, ShippingRate, Target,
            Terms,
        },
    },
    purchase::{
        buyer::PostalAddress,
        discount::Method,
        draft::{Draft, LineDraft},
        fulfillment::{self, MethodKind, destination_path},
        payment,
        quote::{Credit, Facts, ItemFacts, LineProblem, NamedItem, Previous, Purpose, Quote, UnmetCode},
        remote_cart_ref::RemoteCartRef,
        totals::{TotalKind, amount_of},
    },
    sales::goods,
};
use ucp_net::{Failure, Scope, deadline, failure::Reach, lock::ResourceLock};
use ucp_record as record;
use uuid::Uuid;

use crate::{
    documents::{
        Abandon, Attempt, Cart, CartAbilities, CartLine, CartPurpose, CartQuestion, Completion, FieldProblemKind,
        Order, Outcome, Payment, PaymentProgress, PlaceOrder, WantedLine,
    },
    shop::ContractShop,
    transport::{Question, Reply, is_definite},
};

/// Time that a call waits for another one on the same cart.
const PATIENCE: Duration = Duration::from_secs(10);

/// Longest pause of a shop that throttles after which it is told within the same call to forget an attempt.
const SHORT_PAUSE: Duration = Duration::from_secs(5);

/// Pauses before each question for a cart whose making was not answered.
const SEARCHES: [Duration; 3] = [Duration::from_secs(2), Duration::from_secs(15), Duration::from_secs(60)];

/// A country that nobody lives in (ISO 3166-1, user-assigned): the rate that stands for delivery as such reaches
/// nowhere, so that the engine asks for an address and says where there is no way.
const NOWHERE: &str = "ZZ";

/// Maximum number of problems of fields that are told of one cart.
const MOST_PROBLEMS: usize = 20;

/// Maximum length of the name of a member, in bytes.
const LONGEST_MEMBER: usize = 40;

/// Number of goods that the shop is asked about at once because kept facts say that they cannot be bought.
const ASKED_ANEW: usize = 8;

const NEITHER: &[&str] = &[];
const CODES: &[&str] = &[DISCOUNT];
const DELIVERY: &[&str] = &[FULFILLMENT];
const BOTH: &[&str] = &[FULFILLMENT, DISCOUNT];

/// Request for a price, with what the catalog says about its goods.
struct Inquiry<'a> {
    request: PriceRequest<'a>,
    abilities: CartAbilities,
    currency: Currency,
    /// Country of the address, if it alone decides about the currency.
    moved_to: Option<String>,
    goods: Vec<NamedItem>,
    now: Timestamp,
}

/// Quote of the pricing engine, and what the shop is asked for because of it.
struct Priced {
    quote: Quote,
    address: Option<PostalAddress>,
    option: Option<String>,
    place: Option<String>,
}

impl ContractShop {
    /// Waits for exclusive access to a cart. Fails with [`Unavailable`](ucp_core::Code::Unavailable) if other calls
    /// hold the cart for longer than [`PATIENCE`].
    async fn lock(&self, cart: &str) -> Result<ResourceLock, PortError> {
        self.locks().lock(cart.to_owned(), PATIENCE).await.ok_or_else(|| {
            PortError::unavailable("Another call is changing the same cart. Nothing was done; repeat the call.", 1)
        })
    }

    async fn inquiry<'a>(&self, request: PriceRequest<'a>) -> Result<Inquiry<'a>, PortError> {
        let abilities = self.cart_abilities().ok_or_else(PortError::internal)?;
        let PriceRequest { draft, caller, .. } = request;
        let mut of_draft = goods::of(self, draft, &caller.buyer_signals).await?;
        let lines = draft.line_items.iter().zip(&of_draft.by_line);
        let refused: HashSet<_> =
            lines.filter(|(line, named)| is_refused(line, named)).map(|(line, _)| line.item.as_str()).collect();
        if !refused.is_empty() {
            // What the shop said a while ago is no reason to refuse anything.
            of_draft = goods::of(&Anew { shop: self, ids: refused }, draft, &caller.buyer_signals).await?;
        }
        let (currency, mut goods) = (of_draft.currency, of_draft.by_line);
        if !abilities.delivery && !abilities.pickup && abilities.completion == Completion::Place {
            // What no delivery can be stated for needs none.
            for named in &mut goods {
                if let NamedItem::One(good) = named {
                    good.needs_fulfillment = false;
                }
            }
        }
        Ok(Inquiry { request, abilities, currency, moved_to: None, goods, now: self.now() })
    }

    /// Returns the country of the address of a draft, if buyers there are shown another currency than the context asks
    /// for, which states none.
    fn moved(&self, draft: &Draft, wanted: &Priced) -> Option<String> {
        if draft.context.currency.is_some() {
            return None;
        }
        let country = wanted.address.as_ref()?.address_country.clone()?;
        let market = self.market();
        let currency = |country: Option<&str>| {
            let country = country.map(str::to_ascii_uppercase);
            let own = country.and_then(|country| market.countries.get(&country).copied());
            own.filter(|own| market.trades_in(*own)).unwrap_or(market.currency)
        };
        (currency(Some(&country)) != currency(draft.context.country.as_deref())).then_some(country)
    }

    /// Asks for the price of a draft by `question`; `None` if the shop no longer has the cart.
    async fn price(&self, request: PriceRequest<'_>, question: Question) -> Result<Option<PriceQuote>, PortError> {
        let mut inquiry = self.inquiry(request).await?;
        // Refuses what no shop could price, and finds out where the goods are to go.
        let mut wanted = inquiry.price(None)?;
        // Where they go decides about the currency of whoever asks for none.
        let there;
        if let Some(country) = self.moved(request.draft, &wanted) {
            let mut draft = request.draft.clone();
            draft.context.country = Some(country.clone());
            there = draft;
            let before = inquiry.currency;
            inquiry = self.inquiry(PriceRequest { draft: &there, ..request }).await?;
            inquiry.moved_to = Some(country).filter(|_| inquiry.currency != before);
            wanted = inquiry.price(None)?;
        }
        let held = request.remote_cart.map(|cart| cart.reference.clone());
        // Without anything to buy, a cart would be made to be given up.
        if inquiry.wanted().is_empty() && held.is_none() {
            return Ok(Some(PriceQuote { quote: wanted.quote, purchasable: false, remote_cart: None }));
        }
        let mut cart = held;
        // The engine may choose another delivery option than the shop: the shop is told, and asked again.
        for last in [false, true] {
            let document = self.question(&inquiry, &wanted, cart.clone());
            let asked = match &document.cart {
                None if question == Question::CartSync => self.make(&document).await,
                _ => self.ask::<Cart>(question, &document).await,
            };
            let answer = match asked {
                Ok(answer) => answer,
                Err(failure) => {
                    if last
                        && request.remote_cart.is_none()
                        && let Some(cart) = cart
                    {
                        self.give_up(cart).await;
                    }
                    return Err(unanswered(question, failure));
                }
            };
            let Some(answer) = answer else { return Ok(None) };
            let priced = match inquiry.price(Some(&answer)) {
                Ok(priced) => priced,
                Err(error) => {
                    if request.remote_cart.is_none() {
                        self.give_up(answer.cart).await;
                    }
                    return Err(error);
                }
            };
            cart = Some(answer.cart.clone());
            let chosen = (&priced.option, &priced.place);
            if !last && question == Question::CartSync && chosen != (&answer.delivery_option, &answer.pickup_place) {
                wanted = priced;
                continue;
            }
            return self.answered(&inquiry, priced, answer).await.map(Some);
        }
        Ok(None)
    }

    /// Returns the price of a cart as the shop states it.
    async fn answered(&self, inquiry: &Inquiry<'_>, priced: Priced, answer: Cart) -> Result<PriceQuote, PortError> {
        let PriceRequest { purpose, .. } = inquiry.request;
        let mut quote = priced.quote;
        let (sum, stated) = (amount_of(&quote.totals, TotalKind::Total), answer.total.minor());
        let minor = |kind| i128::from(amount_of(&quote.totals, kind));
        let due = minor(TotalKind::Total) - minor(TotalKind::GiftCard) - minor(TotalKind::StoreCredit);
        let credits: i128 = answer.credits.iter().map(|credit| i128::from(credit.amount.minor())).sum();
        // A line that the shop does not have is in the sum of the engine, and an error already.
        let complete = !quote.messages.iter().any(|message| matches!(message, Message::Error { .. }));
        if purpose == Purpose::Checkout && complete && (sum != stated || credits > due) {
            self.counters().note("cart totals that do not add up");
            let fault = answer.add_up().err();
            tracing::error!(stated, sum, fault, currency = %answer.currency, "upstream total is not the sum of its parts");
            let content = if credits > due {
                "The shop's gift cards and store credit pay more than is due, so that this purchase cannot be made."
            } else {
                "The shop's total differs from the sum of what it states, so that this purchase cannot be made."
            };
            let message = Message::error("total_differs", content, Severity::Unrecoverable);
            quote.messages.push(message.at("$.totals"));
        }
        if purpose == Purpose::Checkout && inquiry.abilities.completion == Completion::HandOff {
            quote.reviews.push(match &answer.continue_url {
                Some(_) => Message::error(
                    "payment_on_shop_page",
                    "The shop takes payments on its own page only.",
                    Severity::RequiresBuyerReview,
                ),
                None => Message::error(
                    "payment_unavailable",
                    "The shop takes payments on its own page only, and states none.",
                    Severity::Unrecoverable,
                ),
            });
        }
        let purchasable = answer.lines.iter().any(|line| line.quantity > 0);
        let remote_cart = RemoteCartRef {
            reference: answer.cart,
            lines: BTreeMap::new(),
            continue_url: answer.continue_url.and_then(|url| ucp_import::text::address(&url)),
        };
        if !purchasable && inquiry.request.remote_cart.is_none() {
            self.give_up(remote_cart.reference).await;
            return Ok(PriceQuote { quote, purchasable, remote_cart: None });
        }
        Ok(PriceQuote { quote, purchasable, remote_cart: Some(remote_cart) })
    }

    /// Returns the end of an attempt to place an order that the shop refused: `whole`, or not known if it refused a part
    /// alone. The shop is told to forget it, and says so if there is an order all the same.
    async fn refused(
        &self,
        attempt: &payment::Attempt,
        cart: &RemoteCartRef,
        whole: Option<OrderOutcome>,
    ) -> OrderOutcome {
        tracing::warn!(attempt = attempt.id, "upstream refused to place an order");
        let question = asked_for(attempt, Some(cart));
        let mut said = self.ask::<Outcome>(Question::Cancel, &question).await;
        // A shop that throttles is left alone until it can be told.
        if let Err(Failure::Open { wait } | Failure::Limited { wait }) = said
            && wait <= SHORT_PAUSE
        {
            tokio::time::sleep(wait).await;
            said = self.ask::<Outcome>(Question::Cancel, &question).await;
        }
        match said {
            Ok(Some(Outcome::Absent | Outcome::Declined { .. } | Outcome::Refused { .. })) => {
                whole.unwrap_or_else(not_taken)
            }
            Ok(outcome @ Some(Outcome::Placed { .. } | Outcome::Pending | Outcome::Challenged { .. })) => {
                ended(outcome, &attempt.id)
            }
            Ok(None) | Err(_) => whole.unwrap_or(OrderOutcome::Unknown),
        }
    }

    /// Asks for a new cart. The question goes on when the time of the call is up: a cart that is made too late, or that
    /// nobody was told of, is abandoned, because the call is repeated for another one.
    async fn make(&self, document: &CartQuestion) -> Result<Option<Cart>, Failure> {
        let (asking, keeping, document) = (self.clone(), self.clone(), document.clone());
        let work = async move {
            let made = asking.ask::<Cart>(Question::CartSync, &document).await;
            if document.key.is_some() && made.as_ref().is_err_and(|failure| failure.reach() == Reach::Perhaps) {
                tokio::spawn(record::inherit_trace(Scope::current().run(asking.abandon_unknown(document))));
            }
            made
        };
        deadline::outlast(work, move |made: Option<Cart>| async move {
            if let Some(cart) = made {
                tracing::warn!("upstream created a cart after the deadline; abandoning it");
                keeping.give_up(cart.cart).await;
            }
        })
        .await
    }

    /// Finds a cart by its key, and abandons it.
    async fn abandon_unknown(self, document: CartQuestion) {
        let Ok(_place) = self.searches().try_acquire() else {
            tracing::warn!("too many carts with unknown outcome; not looking for another one");
            return;
        };
        for pause in SEARCHES {
            tokio::time::sleep(pause).await;
            if let Ok(made) = self.ask::<Cart>(Question::CartSync, &document).await {
                if let Some(cart) = made {
                    self.give_up(cart.cart).await;
                }
                return;
            }
        }
        tracing::warn!("cart with unknown outcome not found at the upstream");
    }

    /// Abandons a cart that nothing will refer to.
    async fn give_up(&self, cart: String) {
        if let Err(failure) = self.ask::<serde_json::Value>(Question::CartAbandon, &Abandon { cart }).await {
            tracing::warn!(%failure, "orphaned cart left at the upstream");
        }
    }

    fn question(&self, inquiry: &Inquiry<'_>, wanted: &Priced, cart: Option<String>) -> CartQuestion {
        let PriceRequest { purpose, draft, caller, reference, .. } = inquiry.request;
        let mut presentation = self.market().presentation(&draft.context.of_catalog());
        presentation.currency = inquiry.currency;
        let country = wanted.address.as_ref().and_then(|address| address.address_country.clone());
        let country = country.or_else(|| draft.context.country.clone());
        CartQuestion {
            key: (inquiry.abilities.keys && cart.is_none()).then(|| Uuid::new_v4().simple().to_string()),
            cart,
            purpose: if purpose == Purpose::Cart { CartPurpose::Cart } else { CartPurpose::Checkout },
            reference: reference.map(str::to_owned),
            lines: inquiry.wanted(),
            codes: if inquiry.abilities.codes { draft.codes.clone().unwrap_or_default() } else { Vec::new() },
            buyer: draft.buyer.clone().filter(|_| purpose == Purpose::Checkout),
            address: wanted.address.clone(),
            delivery_option: wanted.option.clone(),
            pickup_place: wanted.place.clone(),
            context: self.context(&presentation, country, &caller.buyer_signals),
        }
    }
}

impl Inquiry<'_> {
    /// Returns the wanted variants, each once, with its quantity over all lines.
    fn wanted(&self) -> Vec<WantedLine> {
        let mut wanted: Vec<WantedLine> = Vec::new();
        for (line, named) in self.request.draft.line_items.iter().zip(&self.goods) {
            let Some(good) = named.one().filter(|good| good.available) else { continue };
            let Some(quantity) = good.quantity_rule.at_most(line.quantity) else { continue };
            match wanted.iter_mut().find(|wanted| wanted.variant == good.id) {
                Some(same) => same.quantity = same.quantity.saturating_add(quantity),
                None => wanted.push(WantedLine { variant: good.id.clone(), quantity }),
            }
        }
        wanted
    }

    /// Prices the draft by the core's engine on what the shop states; on the catalog's prices alone if it was not asked
    /// yet.
    fn price(&self, answer: Option<&Cart>) -> Result<Priced, PortError> {
        let PriceRequest { purpose, draft, caller, previous, .. } = self.request;
        let currency = answer.map_or(self.currency, |answer| answer.currency);
        let goods = self.goods.iter().zip(&draft.line_items).map(|(named, line)| match (named, answer) {
            (NamedItem::One(good), Some(answer)) => {
                let good = ItemFacts { stock_by_location: Some(stock_by_location(answer)), ..good.clone() };
                // What is below the smallest quantity was not asked for.
                let is_asked_for = good.quantity_rule.at_most(line.quantity).is_some();
                NamedItem::One(if is_asked_for { stated(good, answer) } else { good })
            }
            _ => named.clone(),
        });
        let goods = goods.collect();
        let taxes = answer.iter().flat_map(|answer| &answer.taxes);
        let taxes = taxes.map(|tax| (tax.title.clone(), tax.amount)).collect();
        let credits = answer.iter().flat_map(|answer| &answer.credits).map(|credit| Credit {
            kind: credit.kind,
            title: credit.title(),
            code: credit.code.clone(),
            amount: credit.amount,
        });
        let credits = credits.collect();
        let unmet_codes = answer.iter().flat_map(|answer| &answer.unmet_codes).map(|unmet| UnmetCode {
            code: unmet.code.clone(),
            kind: unmet.kind,
            text: unmet.text.as_deref().and_then(ucp_import::text::line),
        });
        let unmet_codes = unmet_codes.collect();
        let facts = Facts { currency, own_currency: currency, goods, taxes, credits, unmet_codes, now: self.now };
        let terms = self.terms(answer);
        let mut quote = quote(purpose, draft, &facts, &terms, caller, previous)?;
        if let Some(answer) = answer {
            if purpose == Purpose::Checkout {
                tell_problems(answer, &mut quote);
            }
            if let Some(country) = &self.moved_to {
                let content = format!("Prices are in {currency}, because the goods go to {country}.");
                quote.messages.push(Message::warning("currency_changed", content).at("$.currency"));
            }
        }
        let method = quote.fulfillment.iter().flat_map(|fulfillment| &fulfillment.methods).next();
        let Chosen { address, option, place } = method.map(chosen).unwrap_or_default();
        let before = previous.fulfillment.iter().flat_map(|before| &before.methods);
        let mut before = before.filter(|before| method.is_some_and(|method| method.kind == before.kind));
        let before = before.next().map(chosen).unwrap_or_default();
        // What the engine does not know yet is what the platform states, or stated before.
        let (option, place) = match (answer, method.map(|method| method.kind)) {
            // A place that the shop no longer states is chosen in vain.
            (Some(answer), _) => (option, place.filter(|id| answer.pickup_places.iter().any(|own| own.id == *id))),
            (None, Some(MethodKind::Pickup)) => (None, place_in(draft).or(before.place)),
            (None, _) => (option_in(draft).or(before.option), None),
        };
        Ok(Priced { address, option, place, quote })
    }

    /// Returns what the shop states as terms.
    fn terms(&self, answer: Option<&Cart>) -> Terms {
        let amount = |amount: Amount| Amounts::Own(amount);
        let nowhere = ShippingRate {
            id: String::new(),
            title: String::new(),
            countries: vec![NOWHERE.to_owned()],
            ..rate(Amount::ZERO)
        };
        let options = answer.iter().flat_map(|answer| &answer.delivery_options).map(|option| ShippingRate {
            id: option.id.clone(),
            title: option.title.clone(),
            description: option.description.clone(),
            carrier: option.carrier.clone(),
            min_days: option.min_days,
            max_days: option.max_days,
            ..rate(option.amount)
        });
        let rates = options.chain([nowhere]).filter(|_| self.abilities.delivery).collect();
        // A place that no goods are at stands for pickup as such, as the rate to nowhere does for delivery.
        let nowhere = PickupPlace {
            id: String::new(),
            name: String::new(),
            address: PostalAddress::default(),
            price: None,
            description: None,
            ready_after_days: None,
        };
        let places = answer.iter().flat_map(|answer| &answer.pickup_places).map(|place| PickupPlace {
            id: place.id.clone(),
            name: ucp_import::text::line(&place.name).unwrap_or_else(|| place.id.clone()),
            address: place.address.clone(),
            price: Some(amount(place.amount)),
            ready_after_days: place.ready_in_days,
            ..nowhere.clone()
        });
        let places = places.chain([nowhere.clone()]).filter(|_| self.abilities.pickup).collect();
        let mut discounts = Vec::new();
        for line in answer.iter().flat_map(|answer| &answer.lines) {
            if let Some(off) = line.discount.filter(|off| *off != Amount::ZERO) {
                let items = vec![line.variant.clone()];
                discounts.push(Discount {
                    items,
                    target: Target::Lines,
                    ..discount(discounts.len(), "Discount", None, off)
                });
            }
        }
        for off in answer.iter().flat_map(|answer| &answer.discounts).filter(|off| off.amount != Amount::ZERO) {
            discounts.push(discount(discounts.len(), &off.title, off.code.as_deref(), off.amount));
        }
        let fees = answer.iter().flat_map(|answer| &answer.fees).map(|fee| Fee {
            title: fee.title.clone(),
            charge: PercentOrAmount::Fixed(amount(fee.amount)),
            countries: Vec::new(),
            taxed: false,
        });
        Terms {
            shipping: Shipping { rates, ..Shipping::default() },
            pickup: Pickup { places, ..Pickup::default() },
            discounts,
            fees: fees.collect(),
            ..Terms::default()
        }
    }
}

/// Returns `true` if what is known of the goods of a line refuses it.
fn is_refused(line: &LineDraft, named: &NamedItem) -> bool {
    match named {
        NamedItem::One(good) => !good.available || good.quantity_rule.at_most(line.quantity).is_none(),
        NamedItem::Nothing => true,
        NamedItem::Several(_) => false,
    }
}

/// The catalog of a shop, some of whose goods are asked for anew, whatever was kept of them.
struct Anew<'a> {
    shop: &'a ContractShop,
    /// Identifiers that are asked for.
    ids: HashSet<&'a str>,
}

#[async_trait]
impl Catalog for Anew<'_> {
    fn capabilities(&self) -> CatalogCapabilities {
        Catalog::capabilities(self.shop)
    }

    fn market(&self) -> Arc<Market> {
        self.shop.market()
    }

    async fn find(&self, query: &Query, buyer_signals: &BuyerSignals) -> Result<Page, PortError> {
        self.shop.find(query, buyer_signals).await
    }

    async fn resolve(
        &self,
        ids: &[&str],
        presentation: &Presentation,
        buyer_signals: &BuyerSignals,
    ) -> Result<Vec<Named>, PortError> {
        let (anew, kept): (Vec<_>, Vec<_>) = ids.iter().partition(|id| self.ids.contains(**id));
        let mut named = Vec::new();
        if !kept.is_empty() {
            named = self.shop.resolve(&kept, presentation, buyer_signals).await?;
        }
        let mut fresh = Vec::with_capacity(anew.len());
        for ids in anew.chunks(ASKED_ANEW) {
            let asked = ids.iter().map(|id| self.shop.opened_anew(id, presentation));
            fresh.extend(join_all(asked).await);
        }
        let fresh: Vec<_> = fresh.into_iter().collect::<Result<_, Failure>>()?;
        let (mut kept, mut fresh) = (named.into_iter(), fresh.into_iter());
        let next = |id: &&str| if self.ids.contains(*id) { fresh.next() } else { kept.next() };
        Ok(ids.iter().filter_map(next).collect())
    }

    async fn open(
        &self,
        id: &str,
        presentation: &Presentation,
        buyer_signals: &BuyerSignals,
    ) -> Result<Named, PortError> {
        self.shop.open(id, presentation, buyer_signals).await
    }
}

/// Choices of the platform in a fulfillment method.
#[derive(Default)]
struct Chosen {
    /// Address to deliver to.
    address: Option<PostalAddress>,
    /// Identifier of the delivery option.
    option: Option<String>,
    /// Identifier of the pickup place.
    place: Option<String>,
}

/// Returns the choices in a method.
fn chosen(method: &fulfillment::Method) -> Chosen {
    let id = method.selected_destination_id.as_ref();
    match method.kind {
        MethodKind::Pickup => Chosen { place: id.filter(|id| !id.is_empty()).cloned(), ..Chosen::default() },
        MethodKind::Shipping => {
            let destination = method.destinations.iter().find(|own| Some(&own.id) == id);
            Chosen {
                address: destination.map(|destination| destination.address.clone()),
                option: method.groups.first().and_then(|group| group.selected_option_id.clone()),
                place: None,
            }
        }
    }
}

/// Returns the delivery option that a draft chooses.
fn option_in(draft: &Draft) -> Option<String> {
    let methods = draft.fulfillment.iter().flat_map(|fulfillment| &fulfillment.methods);
    methods.flat_map(|method| &method.groups).find_map(|group| group.selected_option_id.clone())
}

/// Returns the pickup place that a draft chooses.
fn place_in(draft: &Draft) -> Option<String> {
    let mut methods = draft.fulfillment.iter().flat_map(|fulfillment| &fulfillment.methods);
    methods.find_map(|method| method.selected_destination_id.clone())
}

/// Returns the stock at the places of an answer: as much as the cart has of everything.
fn stock_by_location(answer: &Cart) -> BTreeMap<String, u64> {
    answer.pickup_places.iter().map(|place| (place.id.clone(), u64::MAX)).collect()
}

/// Returns a good with the price and the quantity that the shop's cart has.
fn stated(good: ItemFacts, answer: &Cart) -> ItemFacts {
    let lines: Vec<_> = answer.lines.iter().filter(|line| line.variant == good.id).collect();
    let quantity = lines.iter().map(|line| line.quantity).fold(0, u64::saturating_add);
    let problem = lines.iter().find_map(|line| line.problem.as_ref()).map(|problem| LineProblem {
        kind: problem.kind,
        text: problem.text.as_deref().and_then(ucp_import::text::line),
    });
    match lines.first() {
        Some(line) if quantity > 0 => ItemFacts { price: line.price, stock: Some(quantity), problem, ..good },
        _ => ItemFacts { available: false, problem, ..good },
    }
}

fn rate(price: Amount) -> ShippingRate {
    ShippingRate {
        id: String::new(),
        title: String::new(),
        description: None,
        carrier: None,
        countries: Vec::new(),
        except: Vec::new(),
        price: Amounts::Own(price),
        min_subtotal: None,
        below_subtotal: None,
        min_grams: None,
        max_grams: None,
        min_days: None,
        max_days: None,
    }
}

/// Returns a discount on the whole order, automatic or for a code.
fn discount(number: usize, title: &str, code: Option<&str>, off: Amount) -> Discount {
    Discount {
        id: format!("discount_{number}"),
        title: title.to_owned(),
        codes: code.map(str::to_owned).into_iter().collect(),
        off: PercentOrAmount::Fixed(Amounts::Own(off)),
        target: Target::Order,
        items: Vec::new(),
        method: Method::Across,
        from: None,
        until: None,
        min_subtotal: None,
        combines: Combines::default(),
        priority: 100,
        buyers: Vec::new(),
        claim: None,
    }
}

/// Returns the error for a question about a cart that was not answered.
fn unanswered(question: Question, failure: Failure) -> PortError {
    let unknown = question == Question::CartSync && failure.reach() == Reach::Perhaps;
    let error = PortError::from(failure);
    match error {
        PortError::Unavailable { retry_after, cause, .. } if unknown => PortError::Unavailable {
            content:
                "The shop did not say whether it made this change. Repeat the call with the same idempotency key, if \
                      it has one."
                    .into(),
            retry_after,
            cause,
        },
        other => other,
    }
}

#[async_trait]
impl RemoteCart for ContractShop {
    fn capabilities(&self) -> SalesCapabilities {
        let abilities = self.cart_abilities();
        let purchases = abilities.is_some();
        let completion = Completion::HandOff;
        let catalog = CartAbilities {
            completion,
            codes: false,
            delivery: false,
            pickup: false,
            keys: false,
            finds_orders: false,
            order_status: false,
        };
        let CartAbilities { completion, codes, delivery, pickup, .. } = abilities.unwrap_or(catalog);
        SalesCapabilities {
            purchases,
            completion: match completion {
                Completion::Place => ports::Completion::Native,
                Completion::HandOff => ports::Completion::HandOff,
            },
            orders: completion == Completion::Place,
            extensions: match (delivery || pickup, codes) {
                (true, true) => BOTH,
                (true, false) => DELIVERY,
                (false, true) => CODES,
                (false, false) => NEITHER,
            },
        }
    }

    async fn sync(&self, request: PriceRequest<'_>) -> Result<Option<PriceQuote>, PortError> {
        let Some(cart) = request.remote_cart else { return self.price(request, Question::CartSync).await };
        let _lock = self.lock(&cart.reference).await?;
        match self.price(request, Question::CartSync).await? {
            None if request.purpose == Purpose::Cart => {
                // Nothing is bought with a cart: another one can take its place.
                self.price(PriceRequest { remote_cart: None, ..request }, Question::CartSync).await
            }
            priced => Ok(priced),
        }
    }

    async fn fetch(&self, request: PriceRequest<'_>) -> Result<Option<PriceQuote>, PortError> {
        let fetched = self.price(request, Question::CartFetch).await?;
        // A cart may lack what nobody took out: an attempt that was called off empties carts of some shops. It is brought
        // up to date before anything is said of it, unless its buyer may have changed it on a page of the shop.
        let is_own = self.cart_abilities().is_some_and(|abilities| abilities.completion == Completion::Place);
        let lacks = fetched.as_ref().is_some_and(|priced| lacks(&priced.quote, request.previous));
        match request.remote_cart.filter(|_| is_own && lacks) {
            Some(cart) => {
                let _lock = self.lock(&cart.reference).await?;
                self.price(request, Question::CartSync).await
            }
            None => Ok(fetched),
        }
    }

    async fn abandon(&self, cart: &RemoteCartRef, _: &BuyerSignals) -> Result<(), PortError> {
        let _lock = self.lock(&cart.reference).await?;
        self.ask::<serde_json::Value>(Question::CartAbandon, &Abandon { cart: cart.reference.clone() }).await?;
        Ok(())
    }

    async fn place(&self, request: PlaceRequest<'_>) -> OrderOutcome {
        let PlaceRequest { attempt, checkout, tender, .. } = request;
        let Some(cart) = &checkout.remote_cart else {
            return OrderOutcome::Declined { reason: "The shop has no cart for this checkout.".to_owned() };
        };
        let method = checkout.fulfillment.iter().flat_map(|fulfillment| &fulfillment.methods).next();
        let Chosen { address, option, place } = method.map(chosen).unwrap_or_default();
        let lines = checkout.line_items.iter().map(|line| CartLine {
            variant: line.item.id.clone(),
            quantity: line.quantity,
            price: line.item.price,
            discount: None,
            problem: None,
        });
        let document = PlaceOrder {
            reference: attempt.id.clone(),
            cart: cart.reference.clone(),
            lines: lines.collect(),
            currency: attempt.currency,
            total: attempt.amount,
            buyer: checkout.draft.buyer.clone(),
            address,
            delivery_option: option,
            pickup_place: place,
            payment: tender.map(|tender| Payment {
                handler: tender.instrument.handler_id.clone(),
                kind: tender.instrument.kind.clone(),
                credential: tender.credential.as_ref().map(|credential| credential.reveal().clone()),
                billing_address: tender.instrument.billing_address.clone(),
            }),
        };
        let reply = match self.reply(Question::Place, &document).await {
            Ok(Reply::Gone | Reply::Refused(_)) => return self.refused(attempt, cart, Some(not_taken())).await,
            Ok(Reply::Unsent(reason)) => {
                tracing::warn!(
                    reason,
                    attempt = attempt.id,
                    "placing an order at the upstream failed before it was sent"
                );
                return self.refused(attempt, cart, Some(OrderOutcome::Unsent)).await;
            }
            Ok(Reply::Halted(_)) => return self.refused(attempt, cart, None).await,
            Err(Failure::Answered(answered)) if is_definite(answered.received.status) => {
                return self.refused(attempt, cart, Some(not_taken())).await;
            }
            Ok(reply) => reply.read::<Outcome>(Question::Place),
            Err(failure) => Err(failure),
        };
        match reply {
            Ok(outcome) => ended(outcome, &attempt.id),
            // A request that never left places no order.
            Err(failure) if failure.reach() == Reach::Never => {
                tracing::warn!(%failure, attempt = attempt.id, "placing an order at the upstream failed before it was sent");
                OrderOutcome::Unsent
            }
            Err(failure) => {
                tracing::warn!(%failure, attempt = attempt.id, "order placement outcome unknown");
                OrderOutcome::Unknown
            }
        }
    }

    async fn placed(&self, attempt: &payment::Attempt, cart: Option<&RemoteCartRef>) -> OrderOutcome {
        match self.ask::<Outcome>(Question::Order, &asked_for(attempt, cart)).await {
            Ok(None | Some(Outcome::Absent)) => OrderOutcome::Absent,
            Ok(outcome) => ended(outcome, &attempt.id),
            Err(_) => OrderOutcome::Unknown,
        }
    }

    async fn cancel(&self, attempt: &payment::Attempt, cart: Option<&RemoteCartRef>) -> bool {
        let canceled = self.ask::<Outcome>(Question::Cancel, &asked_for(attempt, cart)).await;
        matches!(canceled, Ok(Some(Outcome::Absent | Outcome::Declined { .. } | Outcome::Refused { .. })))
    }

    fn place_deadline(&self) -> Duration {
        self.latest_place()
    }
}

/// Returns `true` if a quote has fewer of something than the answer before, or no way to deliver that was chosen there.
fn lacks(quote: &Quote, previous: &Previous) -> bool {
    let is_short = |message: &Message| matches!(message, Message::Error { code, .. } if ["out_of_stock", "item_unavailable"].contains(&&**code));
    let fewer = previous.line_items.iter().any(|before| {
        let now = quote.line_items.iter().find(|line| line.id == before.id);
        now.is_none_or(|now| now.quantity < before.quantity)
    });
    let chosen = |fulfillment: Option<&fulfillment::Fulfillment>| {
        let methods = fulfillment.into_iter().flat_map(|fulfillment| &fulfillment.methods);
        methods.flat_map(|method| &method.groups).filter(|group| group.selected_option_id.is_some()).count()
    };
    fewer
        || quote.messages.iter().any(is_short)
        || chosen(quote.fulfillment.as_ref()) < chosen(previous.fulfillment.as_ref())
}

fn asked_for(attempt: &payment::Attempt, cart: Option<&RemoteCartRef>) -> Attempt {
    Attempt { reference: attempt.id.clone(), cart: cart.map(|cart| cart.reference.clone()) }
}

/// Returns the end of an attempt that the shop refuses without a reason for the buyer.
fn not_taken() -> OrderOutcome {
    OrderOutcome::Declined { reason: "The shop does not take the order at the moment. Nothing was charged.".to_owned() }
}

/// Returns the end of an attempt to place an order.
fn ended(outcome: Option<Outcome>, attempt: &str) -> OrderOutcome {
    match outcome {
        Some(Outcome::Placed { order, .. }) => OrderOutcome::Placed(named(order)),
        Some(Outcome::Declined { reason }) => OrderOutcome::Declined { reason: for_buyer(&reason) },
        Some(Outcome::Refused { kind, variants, field, reason }) => OrderOutcome::Refused(OrderRefusal {
            kind,
            variants,
            field: field.filter(|field| is_member(field)),
            reason: reason.as_deref().and_then(ucp_import::text::line),
        }),
        Some(Outcome::Challenged { reason, continue_url }) => OrderOutcome::Challenged {
            reason: for_buyer(&reason),
            continue_url: ucp_import::text::address(&continue_url),
        },
        Some(Outcome::Pending) => OrderOutcome::Unknown,
        Some(Outcome::Absent) | None => {
            tracing::error!(attempt, "upstream answered `/place` as if the attempt were unknown");
            OrderOutcome::Unknown
        }
    }
}

/// Returns `true` for the name of a member of the buyer or of an address.
fn is_member(field: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    (1..=LONGEST_MEMBER).contains(&field.len()) && field.bytes().all(is_letter)
}

/// Returns the messages about values that the shop does not accept, each at its member, and removes what the engine says
/// about the same destination.
fn tell_problems(answer: &Cart, quote: &mut Quote) {
    let to = destination_path(quote.fulfillment.as_ref());
    let mut told = Vec::new();
    for problem in answer.field_problems.iter().take(MOST_PROBLEMS) {
        let (of, member) = problem.field.split_once('.').map_or((&*problem.field, None), |(of, rest)| (of, Some(rest)));
        let root = match of {
            "address" => to.clone(),
            "buyer" => "$.buyer".to_owned(),
            _ => {
                tracing::warn!("upstream states a problem of a field that is neither of the buyer nor of the address");
                continue;
            }
        };
        let member = member.filter(|member| is_member(member));
        let path = member.map_or_else(|| root.clone(), |member| format!("{root}.{member}"));
        let what = member.map_or_else(|| format!("The {of}"), |member| format!("`{member}` of the {of}"));
        let (code, content) = match problem.kind {
            FieldProblemKind::Required => ("field_required", format!("{what} is needed.")),
            FieldProblemKind::Undeliverable => {
                ("address_undeliverable", "The shop does not deliver to this address.".to_owned())
            }
            FieldProblemKind::Invalid => ("field_invalid", format!("{what} is not accepted.")),
        };
        let said = problem.text.as_deref().and_then(ucp_import::text::line);
        told.push(Message::error(code, said.unwrap_or(content), Severity::Recoverable).at(path));
    }
    if told.iter().any(|message| message.path().is_some_and(|path| path.starts_with(&to))) {
        let generic = |message: &Message| {
            let is_code = |code: &str| ["address_undeliverable", "fulfillment_unavailable"].contains(&code);
            matches!(message, Message::Error { code, .. } if is_code(code)) && message.path() == Some(&to)
        };
        quote.messages.retain(|message| !generic(message));
    }
    quote.messages.extend(told);
}

/// Returns an order as the shop names it.
pub(crate) fn named(order: Order) -> ShopOrder {
    ShopOrder {
        id: order.id,
        label: order.label.as_deref().and_then(ucp_import::text::line),
        permalink_url: order.url.as_deref().and_then(ucp_import::text::address),
        is_authorized: order.payment == Some(PaymentProgress::Authorized),
    }
}

/// Returns a reason of the shop as a buyer can be shown it.
fn for_buyer(reason: &str) -> String {
    ucp_import::text::line(reason).unwrap_or_else(|| "The shop declined.".to_owned())
}
