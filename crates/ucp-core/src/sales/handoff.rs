//! Steps that buyers take themselves on the shop's page (UCP *Checkout*, *Continue URL*).
//!
//! The holder of the token can do what the platform can, and what it cannot: authenticate to the bank. Every step goes
//! through the same prices, states and commits as a call of the platform, which sees the result when it reads the
//! checkout. A buyer agrees to what is on the screen: every step names the version that was shown, and is rejected if
//! the checkout has another version by now.

use std::sync::Arc;

use super::{SalesService, settlement::Why};
use crate::{
    Refusal,
    cart::Cart,
    checkout::{Checkout, Complete, Status},
    message::{Message, Severity},
    negotiation::{Active, Declaration, Requirements},
    operation::{DISCOUNT, FULFILLMENT},
    order::Order,
    ports::{
        Decision, Then,
        caller::Caller,
        ledger::{Committed, Stored},
    },
    pricing::terms::PickupPlace,
    purchase::{
        buyer::{Buyer, PostalAddress},
        draft::{DestinationDraft, FulfillmentDraft, GroupDraft, MethodDraft},
        fulfillment::MethodKind,
        payment::{AuthenticationStep, Tender},
        totals::{TotalKind, amount_of},
    },
};

/// Content of the page that a token opens.
#[derive(Clone, Debug)]
pub enum Page {
    /// A cart.
    Cart(Box<Cart>),
    /// A checkout, including a completed or canceled one.
    Checkout(Box<Desktop>),
    /// An expired checkout, or a canceled or expired cart.
    Over(Over),
}

impl Page {
    /// Returns the platform that the page belongs to.
    pub fn owner(&self) -> &str {
        match self {
            Self::Cart(cart) => &cart.owner,
            Self::Checkout(desktop) => &desktop.checkout.owner,
            Self::Over(over) => &over.owner,
        }
    }
}

/// An expired checkout, or a canceled or expired cart, which can be neither viewed nor continued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Over {
    /// Platform that it belongs to.
    pub owner: String,
    /// `true` for a checkout, `false` for a cart.
    pub purchase: bool,
    /// `true` if it expired, `false` if it was canceled.
    pub expired: bool,
}

/// A checkout as shown to its buyer.
#[derive(Clone, Debug)]
pub struct Desktop {
    /// The checkout as of now.
    pub checkout: Checkout,
    /// Version of the checkout that is shown.
    pub version: u64,
    /// Delivery choices on the page.
    pub delivery: Delivery,
    /// Means of payment on the page.
    pub payment: Payment,
    /// URL of the page of the order; `None` before completion.
    pub permalink_url: Option<String>,
}

/// Delivery choices on the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delivery {
    /// `true` if the goods can be sent to an address that the buyer states.
    pub shipping: bool,
    /// Pickup places: identifier and name.
    pub places: Vec<(String, String)>,
}

impl Delivery {
    /// Returns `true` if there is anything to choose.
    pub fn is_some(&self) -> bool {
        self.shipping || !self.places.is_empty()
    }
}

/// Means of paying for a checkout from its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payment {
    /// The checkout costs nothing.
    Free,
    /// The buyer confirms the payment on the page.
    Here,
    /// The checkout cannot be paid on the page: the buyer has to go back to the platform.
    Elsewhere,
}

/// A step of a buyer.
#[derive(Clone, Debug)]
pub enum Step {
    /// State contact data and destination.
    Details(Box<Details>),
    /// Choose delivery options.
    Options(Vec<Chosen>),
    /// Approve what is shown, if the shop requires that; the platform continues.
    Approve,
    /// Agree to what is shown, and pay.
    Pay,
    /// Cancel the checkout.
    Cancel,
}

/// Contact data of a buyer. They replace the previous ones: a member that is `None` is removed. Other members of the
/// buyer are kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// Given name.
    pub first_name: Option<String>,
    /// Family name.
    pub last_name: Option<String>,
    /// Email address.
    pub email: Option<String>,
    /// Telephone number.
    pub phone_number: Option<String>,
    /// Destination of the goods; `None` leaves it unchanged.
    pub destination: Option<Goal>,
}

/// Destination of the goods.
#[derive(Clone, Debug, PartialEq)]
pub enum Goal {
    /// A postal address.
    Address(Box<PostalAddress>),
    /// A pickup place of the shop, by identifier.
    Place(String),
}

/// Delivery option chosen for one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Position of the fulfillment method.
    pub method: usize,
    /// Identifier of the group.
    pub group: String,
    /// Identifier of the option.
    pub option: String,
}

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// The step was carried out. Its problems, if any, are in the messages of the checkout.
    Taken,
    /// The checkout has another version than was shown. The step was not carried out, unless it paid: then the payment
    /// is stored and settled later.
    Stale,
    /// The current status of the checkout does not allow the step: nothing was changed.
    Closed,
    /// The token opens no checkout.
    Nothing,
}

impl SalesService {
    /// Returns the page that a token opens; `None` for an unknown token, and for a cart or checkout that was removed
    /// from the store.
    pub async fn page(&self, token: &str) -> Result<Option<Page>, Refusal> {
        if let Some(stored) = self.ledger.checkout_by_token(token).await? {
            let asked = match stored.document.state.challenge() {
                Some(_) => self.looked_after(stored.clone(), Why::Buyer).await?,
                None => None,
            };
            let Stored { document, version } = asked.unwrap_or(stored);
            let was_open = document.status().is_open();
            let checkout = self.as_of_now(document);
            return Ok(Some(if was_open && !checkout.status().is_open() {
                Page::Over(Over { owner: checkout.owner, purchase: true, expired: true })
            } else {
                Page::Checkout(Box::new(self.desktop(checkout, version)))
            }));
        }
        let Some(Stored { document: cart, .. }) = self.ledger.cart_by_token(token).await? else { return Ok(None) };
        Ok(Some(if cart.canceled || cart.expires_at <= self.now() {
            Page::Over(Over { owner: cart.owner, purchase: false, expired: !cart.canceled })
        } else {
            Page::Cart(Box::new(cart))
        }))
    }

    /// Returns the order whose page a token opens.
    pub async fn order_page(&self, token: &str) -> Result<Option<Order>, Refusal> {
        Ok(self.ledger.order_by_token(token).await?.map(|stored| stored.document))
    }

    /// Carries out a step of a buyer who was shown version `seen` of the checkout.
    pub async fn hand_in(&self, token: &str, seen: u64, step: Step) -> Result<Done, Refusal> {
        let Some(stored) = self.ledger.checkout_by_token(token).await? else { return Ok(Done::Nothing) };
        if stored.version != seen {
            return Ok(Done::Stale);
        }
        let waits = stored.document.state.challenge().is_some();
        let mut checkout = self.as_of_now(stored.document.clone());
        let is_called_off = waits && matches!(step, Step::Cancel);
        if !is_called_off && !checkout.status().is_open() {
            return Ok(Done::Closed);
        }
        let caller = in_person(&checkout);
        let decision = match step {
            Step::Details(details) => {
                state(&mut checkout, *details);
                self.restated(checkout, seen, &caller).await?
            }
            Step::Options(chosen) => {
                choose(&mut checkout, &chosen);
                self.restated(checkout, seen, &caller).await?
            }
            Step::Approve => {
                checkout.approve(self.now());
                self.restated(checkout, seen, &caller).await?
            }
            Step::Cancel => self.canceled(stored)?,
            Step::Pay => {
                if self.payment(&checkout) == Payment::Elsewhere {
                    return Ok(Done::Closed);
                }
                let tenders = self.tender(&checkout).into_iter().collect();
                let request = Complete { id: checkout.id, tenders, mandate: None, call: None };
                self.completed(&caller, &request, stored, true).await?
            }
        };
        self.taken(&caller, token, decision).await
    }

    /// Commits a step, and carries out what follows from it.
    async fn taken(&self, caller: &Caller, token: &str, decision: Decision) -> Result<Done, Refusal> {
        // A concurrent change may be committed first. A payment is stored by then, and the agenda settles it.
        let done = |committed| if committed == Committed::Done { Done::Taken } else { Done::Stale };
        let committed = self.ledger.commit(*decision.change, None).await?;
        let (Committed::Done, Some(then)) = (&committed, decision.then) else { return Ok(done(committed)) };
        let called_off = matches!(then, Then::CallOff(_));
        if let Some(ended) = self.followed(caller, then).await? {
            return Ok(done(self.ledger.commit(*ended.change, None).await?));
        }
        if !called_off {
            return Ok(Done::Taken);
        }
        let Some(stored) = self.ledger.checkout_by_token(token).await? else { return Ok(Done::Nothing) };
        if !stored.document.status().is_open() {
            return Ok(Done::Closed);
        }
        Ok(done(self.ledger.commit(*self.canceled(stored)?.change, None).await?))
    }

    fn desktop(&self, checkout: Checkout, version: u64) -> Desktop {
        Desktop {
            delivery: self.deliverable(&checkout),
            payment: self.payment(&checkout),
            permalink_url: checkout.state.order().map(|order| order.permalink(|token| self.permalink(token))),
            version,
            checkout,
        }
    }

    /// Returns the delivery choices on the page: one destination for all goods, which a pickup place has to have. If the
    /// platform stated several methods, the choice is left to the platform.
    fn deliverable(&self, checkout: &Checkout) -> Delivery {
        let stated = checkout.draft.fulfillment.as_ref().map_or(0, |fulfillment| fulfillment.methods.len());
        if stated > 1 || !checkout.line_items.iter().any(|line| line.item.needs_fulfillment) {
            return Delivery::default();
        }
        let pickup = checkout
            .fulfillment
            .as_ref()
            .map(|fulfillment| fulfillment.available_methods.iter().find(|method| method.kind == MethodKind::Pickup));
        let has_all = |place: &PickupPlace| match pickup {
            Some(Some(method)) => method.place_ids.as_ref().is_none_or(|able| able.contains(&place.id)),
            Some(None) => false,
            None => true,
        };
        let places = self.terms.pickup.places.iter().filter(|place| has_all(place));
        let places = places.map(|place| (place.id.clone(), place.name.clone())).collect();
        Delivery { shipping: !self.terms.shipping.rates.is_empty(), places }
    }

    fn payment(&self, checkout: &Checkout) -> Payment {
        if checkout.mandated {
            // Only the platform can obtain the required mandate (rule AP2-01).
            Payment::Elsewhere
        } else if amount_of(&checkout.totals, TotalKind::Total) == 0 {
            Payment::Free
        } else if self.tender(checkout).is_some() {
            Payment::Here
        } else {
            Payment::Elsewhere
        }
    }

    /// Returns the tender for a confirmation on the page: the instrument that the platform submitted, if its handler
    /// accepts a confirmation, or the tender of the first handler that does if none was submitted.
    fn tender(&self, checkout: &Checkout) -> Option<Tender> {
        let instruments = &checkout.draft.instruments;
        let submitted =
            instruments.iter().find(|instrument| instrument.selected == Some(true)).or_else(|| instruments.first());
        match submitted {
            Some(instrument) => {
                let tender = self.handler(&instrument.handler_id)?.confirmed_in_person()?;
                let mut instrument = instrument.clone();
                instrument.selected = Some(true);
                Some(Tender { instrument, ..tender })
            }
            None => self.handlers.iter().find_map(|handler| handler.confirmed_in_person()),
        }
    }

    /// Prices a checkout whose draft the buyer has changed.
    async fn restated(&self, mut checkout: Checkout, version: u64, caller: &Caller) -> Result<Decision, Refusal> {
        let draft = checkout.draft.clone();
        self.restate(caller, &mut checkout, draft).await?;
        Ok(self.changed_checkout(checkout, version))
    }
}

impl Desktop {
    /// Returns `true` if the checkout only lacks the buyer's confirmation: its remaining errors, if any, go away by
    /// paying.
    pub fn is_payable(&self) -> bool {
        let over = |message: &Message| match message {
            Message::Error { code, severity, .. } => {
                matches!(code.as_str(), "payment_failed" | "requires_3ds") || *severity == Severity::RequiresBuyerReview
            }
            Message::Warning { .. } | Message::Info { .. } => true,
        };
        self.checkout.status().is_open() && self.checkout.messages.iter().all(over)
    }

    /// Returns the reasons for which the buyer has to approve the checkout before it is completed; none if no approval
    /// is required or it was given.
    pub fn reasons_to_approve(&self) -> impl Iterator<Item = &str> {
        self.checkout.messages.iter().filter_map(|message| match message {
            Message::Error { severity: Severity::RequiresBuyerReview, content, .. } => Some(content.as_str()),
            _ => None,
        })
    }

    /// Returns `true` if the buyer has to approve the checkout before it is completed.
    pub fn wants_approval(&self) -> bool {
        self.checkout.status().is_open() && self.reasons_to_approve().next().is_some()
    }

    /// Returns `true` if a payment is in progress and its result is unknown.
    pub fn is_waiting(&self) -> bool {
        self.checkout.status() == Status::CompleteInProgress && self.bank().is_none()
    }

    /// Returns the URL of the page of the bank or the processor on which the buyer has to confirm the payment in
    /// progress.
    pub fn bank(&self) -> Option<&str> {
        self.authentication(AuthenticationStep::ThreeDsChallenge)
    }

    /// Returns the URL of the page on which the processor looks at the buyer's device, without anything to see.
    pub fn device(&self) -> Option<&str> {
        self.authentication(AuthenticationStep::DeviceDataCollection)
    }

    fn authentication(&self, step: AuthenticationStep) -> Option<&str> {
        let challenge = self.checkout.state.challenge().filter(|challenge| challenge.step == step)?;
        Some(&challenge.url)
    }
}

/// Returns a caller for the buyer in person, who acts for the platform that the checkout belongs to. The capabilities
/// negotiated with the platform are derived from the checkout; fulfillment is always available here.
fn in_person(checkout: &Checkout) -> Caller {
    let declaration = |name: &str| Declaration {
        name: name.to_owned(),
        version: String::new(),
        extends: Vec::new(),
        requires: Requirements::default(),
    };
    let mut capabilities = vec![declaration(FULFILLMENT)];
    capabilities.extend(checkout.discounts.is_some().then(|| declaration(DISCOUNT)));
    let mut methods = checkout.fulfillment.iter().flat_map(|fulfillment| &fulfillment.methods);
    Caller {
        owner: checkout.owner.clone(),
        active: Arc::new(Active::all(&capabilities)),
        multi_group: methods.any(|method| method.groups.len() > 1),
        buyer_signals: crate::ports::caller::BuyerSignals::default(),
        customer_group: checkout.draft.context.customer_group.clone(),
        mandate_verifier: None,
    }
}

/// Writes contact data and destination into the draft.
fn state(checkout: &mut Checkout, details: Details) {
    let Details { first_name, last_name, email, phone_number, destination } = details;
    let earlier = checkout.draft.buyer.take().unwrap_or_default();
    checkout.draft.buyer = Some(Buyer { first_name, last_name, email, phone_number, ..earlier });
    let Some(destination) = destination else { return };
    let earlier = checkout.fulfillment.as_ref().and_then(|fulfillment| fulfillment.methods.first());
    let mut method = MethodDraft::default();
    let kind = match destination {
        Goal::Address(mut address) => {
            let stated = earlier.and_then(|method| {
                let id = method.selected_destination_id.as_ref()?;
                method.destinations.iter().find(|destination| destination.id == *id)
            });
            // The form does not ask for the recipient, whom the platform may have stated.
            if let Some(earlier) = stated.map(|destination| destination.address.clone()) {
                address.first_name = address.first_name.or(earlier.first_name);
                address.last_name = address.last_name.or(earlier.last_name);
                address.phone_number = address.phone_number.or(earlier.phone_number);
                address.extra = earlier.extra;
            }
            method.destinations = vec![DestinationDraft { id: None, name: None, address: *address }];
            MethodKind::Shipping
        }
        Goal::Place(place) => {
            method.selected_destination_id = Some(place);
            MethodKind::Pickup
        }
    };
    method.kind = Some(kind.as_str().to_owned());
    method.id = earlier.filter(|earlier| earlier.kind == kind).map(|earlier| earlier.id.clone());
    checkout.draft.fulfillment = Some(FulfillmentDraft { methods: vec![method] });
}

/// Writes chosen delivery options into the draft.
fn choose(checkout: &mut Checkout, chosen: &[Chosen]) {
    let methods = checkout.draft.fulfillment.iter_mut().flat_map(|fulfillment| &mut fulfillment.methods);
    for (position, method) in methods.enumerate() {
        for Chosen { group, option, .. } in chosen.iter().filter(|chosen| chosen.method == position) {
            // The platform may have chosen for the first group without naming it.
            method.groups.retain(|stated| stated.id.as_ref().is_some_and(|id| id != group));
            method.groups.push(GroupDraft { id: Some(group.clone()), selected_option_id: Some(option.clone()) });
        }
    }
}
