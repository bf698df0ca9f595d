//! What buyers do themselves, on the page that the shop has for it (UCP *Checkout*, *Continue URL*).
//!
//! Whoever has the token may do here what the platform could do, and what it could not: prove to the bank that it is
//! them. Everything goes through the same prices, states and commits as a call of the platform, which sees what became of
//! it when it looks. A buyer agrees to what is on the screen: every step names the version that was shown, and is not
//! taken when there is another one by now.

use std::sync::Arc;

use super::{Checkout, Complete, Status, operations::unreachable_transition};
use crate::{
    Refusal,
    cart::Cart,
    message::{Message, Severity},
    negotiation::{Active, Declaration, Requirements},
    operation::{DISCOUNT, FULFILLMENT},
    order::Order,
    purchase::{
        buyer::{Buyer, PostalAddress},
        caller::Caller,
        desk::Desk,
        draft::{DestinationDraft, FulfillmentDraft, GroupDraft, MethodDraft},
        fulfillment::MethodKind,
        ledger::{Change, Committed, Stored},
        payment::Tender,
        totals::{TotalKind, amount_of},
    },
};

/// What a token opens.
#[derive(Clone, Debug)]
pub enum Page {
    /// What a buyer thinks of buying.
    Cart(Box<Cart>),
    /// What a buyer is buying.
    Checkout(Box<Desktop>),
    /// What was given up, by somebody or by time.
    Over(Over),
}

impl Page {
    /// The platform it belongs to.
    #[must_use]
    pub fn owner(&self) -> &str {
        match self {
            Self::Cart(cart) => &cart.owner,
            Self::Checkout(desktop) => &desktop.checkout.owner,
            Self::Over(over) => &over.owner,
        }
    }
}

/// What was given up, and can be neither looked at nor gone on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Over {
    /// The platform it belongs to.
    pub owner: String,
    /// Whether it was a purchase, and not only a cart.
    pub purchase: bool,
    /// Whether it was time, and not somebody, that ended it.
    pub expired: bool,
}

/// A checkout as it lies in front of its buyer.
#[derive(Clone, Debug)]
pub struct Desktop {
    /// The checkout as it is at this moment.
    pub checkout: Checkout,
    /// The version of it that is shown.
    pub version: u64,
    /// What can be said about where the goods go.
    pub delivery: Delivery,
    /// How it is paid from here.
    pub payment: Payment,
    /// The page of the order, once there is one.
    pub permalink_url: Option<String>,
}

/// What can be said about where the goods go.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delivery {
    /// Whether they can be sent to an address that the buyer states.
    pub shipping: bool,
    /// The places where they can be picked up, by identifier, each with its name.
    pub places: Vec<(String, String)>,
}

impl Delivery {
    /// Whether there is anything to say.
    #[must_use]
    pub fn is_some(&self) -> bool {
        self.shipping || !self.places.is_empty()
    }
}

/// How a checkout is paid from its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payment {
    /// It costs nothing.
    Free,
    /// The buyer confirms it here.
    Here,
    /// It cannot be paid from here: that goes on where the platform is.
    Elsewhere,
}

/// What a buyer does.
#[derive(Clone, Debug)]
pub enum Step {
    /// Says who they are, and where the goods go.
    Details(Box<Details>),
    /// Chooses how packages travel.
    Options(Vec<Chosen>),
    /// Approves what is shown, where the shop wants that; the platform goes on.
    Approve,
    /// Agrees to what is shown, and pays.
    Pay,
    /// Gives the purchase up.
    Cancel,
}

/// What a buyer says about themselves. Nothing but what is here is changed; what is `None` is taken away.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// Given name.
    pub first_name: Option<String>,
    /// Family name.
    pub last_name: Option<String>,
    /// E-mail address.
    pub email: Option<String>,
    /// Telephone number.
    pub phone_number: Option<String>,
    /// Where the goods go; `None` leaves that as it is.
    pub destination: Option<Goal>,
}

/// Where goods go.
#[derive(Clone, Debug, PartialEq)]
pub enum Goal {
    /// To an address.
    Address(Box<PostalAddress>),
    /// To one of the places of the shop, by identifier.
    Place(String),
}

/// How one package travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The position of the method.
    pub method: usize,
    /// The identifier of the group.
    pub group: String,
    /// The identifier of the option.
    pub option: String,
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// It was carried out. What there is to say about it is with the checkout.
    Taken,
    /// The checkout is another one than was shown: nothing was changed.
    Stale,
    /// The checkout does not take this step where it stands: nothing was changed.
    Closed,
    /// There is nothing that this token opens.
    Nothing,
}

impl Desk {
    /// What a token opens; `None` for tokens of nothing, and of what was given up so long ago that it is forgotten.
    ///
    /// # Errors
    /// What the ports fail with.
    pub async fn page(&self, token: &str) -> Result<Option<Page>, Refusal> {
        if let Some(Stored { document, version }) = self.ledger.checkout_by_token(token).await? {
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

    /// The order whose page a token opens.
    ///
    /// # Errors
    /// What the ports fail with.
    pub async fn order_page(&self, token: &str) -> Result<Option<Order>, Refusal> {
        Ok(self.ledger.order_by_token(token).await?.map(|stored| stored.document))
    }

    /// What a buyer who has seen the checkout in a version does with it.
    ///
    /// # Errors
    /// What the ports fail with, and what cannot be priced.
    pub async fn hand_in(&self, token: &str, seen: u64, step: Step) -> Result<Done, Refusal> {
        let Some(Stored { document, version }) = self.ledger.checkout_by_token(token).await? else {
            return Ok(Done::Nothing);
        };
        if version != seen {
            return Ok(Done::Stale);
        }
        let mut checkout = self.as_of_now(document);
        if !checkout.status().is_open() {
            return Ok(Done::Closed);
        }
        let caller = in_person(&checkout);
        let change = match step {
            Step::Details(details) => {
                state(&mut checkout, *details);
                self.restated(checkout, version, &caller).await?
            }
            Step::Options(chosen) => {
                choose(&mut checkout, &chosen);
                self.restated(checkout, version, &caller).await?
            }
            Step::Approve => {
                checkout.approve(self.now());
                self.restated(checkout, version, &caller).await?
            }
            Step::Cancel => {
                checkout.state = checkout.state.cancel().map_err(|illegal| unreachable_transition(&illegal))?;
                checkout.messages.clear();
                Change { checkout: Some(Stored { document: checkout, version }), ..Change::default() }
            }
            Step::Pay => {
                if self.payment(&checkout) == Payment::Elsewhere {
                    return Ok(Done::Closed);
                }
                let request = Complete {
                    id: checkout.id.clone(),
                    tenders: self.tender(&checkout).into_iter().collect(),
                    mandate: None,
                    call: None,
                };
                match self.complete_seen(&caller, request, Some(seen)).await? {
                    Some(decision) => decision.change,
                    None => return Ok(Done::Stale),
                }
            }
        };
        Ok(match self.ledger.commit(change, None).await? {
            Committed::Done => Done::Taken,
            // Somebody else was faster. What was paid is written down, and whoever looks next brings it to its end.
            Committed::Stale | Committed::Kept(_) => Done::Stale,
        })
    }

    fn desktop(&self, checkout: Checkout, version: u64) -> Desktop {
        Desktop {
            delivery: self.deliverable(&checkout),
            payment: self.payment(&checkout),
            permalink_url: checkout.state.order().map(|order| self.permalink(&order.token)),
            version,
            checkout,
        }
    }

    /// What the buyer can say about where the goods go: one destination for all of them. Whoever had the platform send
    /// them to several has to say so there.
    fn deliverable(&self, checkout: &Checkout) -> Delivery {
        let stated = checkout.draft.fulfillment.as_ref().map_or(0, |fulfillment| fulfillment.methods.len());
        if stated > 1 || !checkout.line_items.iter().any(|line| line.item.needs_fulfillment) {
            return Delivery::default();
        }
        let places = self.terms.pickup.places.iter().map(|place| (place.id.clone(), place.name.clone()));
        Delivery { shipping: !self.terms.shipping.rates.is_empty(), places: places.collect() }
    }

    fn payment(&self, checkout: &Checkout) -> Payment {
        if checkout.mandated {
            // Only the platform has the proof that is wanted (rule AP2-01).
            Payment::Elsewhere
        } else if amount_of(&checkout.totals, TotalKind::Total) == 0 {
            Payment::Free
        } else if self.tender(checkout).is_some() {
            Payment::Here
        } else {
            Payment::Elsewhere
        }
    }

    /// What a buyer pays with here: the instrument that the platform submitted, if its handler takes a confirmation for
    /// it, or else what the first handler has that does.
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

    /// A checkout whose draft the buyer has changed, at its new price.
    async fn restated(&self, mut checkout: Checkout, version: u64, caller: &Caller) -> Result<Change, Refusal> {
        let draft = checkout.draft.clone();
        self.restate(caller, &mut checkout, draft).await?;
        Ok(Change { checkout: Some(Stored { document: checkout, version }), ..Change::default() })
    }
}

impl Desktop {
    /// Whether nothing is missing but the buyer's word: what is wrong, if anything, goes away with paying.
    #[must_use]
    pub fn is_payable(&self) -> bool {
        let over = |message: &Message| match message {
            Message::Error { code, severity, .. } => {
                matches!(code.as_str(), "payment_failed" | "requires_3ds") || *severity == Severity::RequiresBuyerReview
            }
            Message::Warning { .. } | Message::Info { .. } => true,
        };
        self.checkout.status().is_open() && self.checkout.messages.iter().all(over)
    }

    /// Why the buyer has to approve it before it is completed; nothing where that is not wanted, or has happened.
    pub fn reasons_to_approve(&self) -> impl Iterator<Item = &str> {
        self.checkout.messages.iter().filter_map(|message| match message {
            Message::Error { severity: Severity::RequiresBuyerReview, content, .. } => Some(content.as_str()),
            _ => None,
        })
    }

    /// Whether the buyer has to approve it before it is completed.
    #[must_use]
    pub fn wants_approval(&self) -> bool {
        self.checkout.status().is_open() && self.reasons_to_approve().next().is_some()
    }

    /// Whether the payment is on its way, and nobody knows yet what became of it.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.checkout.status() == Status::CompleteInProgress
    }
}

/// The buyer in person, who acts for the platform that the checkout belongs to. What was negotiated with that shows in the
/// checkout; where goods go can be said here in any case.
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
        visitor: crate::purchase::caller::Visitor::default(),
        notary: None,
    }
}

/// Writes down what a buyer says about themselves.
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
            // The form does not ask for the recipient, who may have been named.
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

/// Writes down how a buyer wants packages to travel.
fn choose(checkout: &mut Checkout, chosen: &[Chosen]) {
    let methods = checkout.draft.fulfillment.iter_mut().flat_map(|fulfillment| &mut fulfillment.methods);
    for (position, method) in methods.enumerate() {
        for Chosen { group, option, .. } in chosen.iter().filter(|chosen| chosen.method == position) {
            // The platform may have meant its first group without naming it.
            method.groups.retain(|stated| stated.id.as_ref().is_some_and(|id| id != group));
            method.groups.push(GroupDraft { id: Some(group.clone()), selected_option_id: Some(option.clone()) });
        }
    }
}
