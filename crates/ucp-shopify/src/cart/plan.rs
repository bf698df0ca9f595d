//! Changes that bring the shop's cart to the draft of a platform.
//!
//! A platform states the whole draft each time; the API changes single parts. The plan is the difference, and empty if
//! there is none: a cart that is as it should be is not written to.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Map, Value, json};
use ucp_core::{
    operation::{DISCOUNT, FULFILLMENT},
    ports::remote_cart::PriceRequest,
    purchase::{
        buyer::PostalAddress,
        draft::Draft,
        fulfillment::MethodKind,
        quote::{Previous, Purpose},
    },
};

use super::{
    delivery::{destinations, kind_of, methods},
    shape::{Address, Attribute, Buyer, Cart},
};
use crate::{
    catalog::build::{VARIANT, is_id},
    documents::CartChange,
};

/// Changes in the order in which they are made, each with its new value. Its `Debug` form contains no values: they hold
/// the buyer's data, and identifiers of lines contain that of the cart.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Plan {
    pub(super) changes: Vec<CartChange>,
    pub(super) variables: Map<String, Value>,
    /// Items of the lines of a change, in their order, by the name of the change.
    goods: BTreeMap<&'static str, Vec<String>>,
}
ucp_core::opaque!(Plan { changes });

impl Plan {
    pub(super) fn add(&mut self, change: CartChange, wanted: Value) {
        self.changes.push(change);
        self.variables.insert(change.as_str().to_owned(), wanted);
    }

    /// Returns the items of the lines of a change, in their order.
    pub(super) fn goods(&self, change: CartChange) -> &[String] {
        self.goods.get(change.as_str()).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the plan with its changes of lines alone.
    pub(super) fn of_lines(mut self) -> Self {
        let about = |change: &CartChange| matches!(change, CartChange::Remove | CartChange::Update | CartChange::Add);
        self.changes.retain(about);
        let changes = &self.changes;
        self.variables.retain(|name, _| changes.iter().any(|change| change.as_str() == name));
        self
    }
}

/// Content of a draft as the API takes it. Its `Debug` form contains nothing about the buyer.
#[derive(Clone, PartialEq)]
pub(super) struct Wish {
    /// Lines, each with the platform's identifier.
    pub(super) lines: Vec<WishedLine>,
    /// Wanted items that are not variants of this shop.
    pub(super) foreign: BTreeSet<String>,
    /// Items that the shop refused as they are wanted; lines of them in the cart stay as they are.
    pub(super) refused: BTreeSet<String>,
    /// Discount codes, each once; `None` if the platform does not use the extension, or the shop refused them.
    pub(super) codes: Option<Vec<String>>,
    pub(super) buyer: Buyer,
    pub(super) goal: Goal,
    pub(super) attributes: Vec<Attribute>,
}
ucp_core::opaque!(Wish { lines, refused });

/// A wanted line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WishedLine {
    pub(super) id: Option<String>,
    pub(super) item: String,
    pub(super) quantity: u64,
}

/// Destination of the goods.
#[derive(Clone, PartialEq)]
pub(super) enum Goal {
    /// The draft says nothing about it: an estimate, a platform without the extension, or a pick-up.
    Unsaid,
    /// The draft states no address.
    Nowhere,
    /// The address.
    To(Box<Address>),
}

/// Wanted state of one line of a cart. Wanted lines of the same item are one line, as in the shop's cart, unless that
/// has several of them already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target<'a> {
    pub(super) item: &'a str,
    pub(super) quantity: u64,
    /// Position of the line in the cart; `None` for a new line.
    pub(super) there: Option<usize>,
    /// Position of the first of the wanted lines.
    pub(super) wished: usize,
}

impl Wish {
    /// Creates the wish for a request. `country` is the one that prices are shown for.
    pub(super) fn of(request: &PriceRequest<'_>, country: Option<&str>) -> Self {
        let PriceRequest { purpose, draft, caller, previous, reference, .. } = *request;
        let (own, foreign): (Vec<_>, Vec<_>) = draft.line_items.iter().partition(|line| is_id(&line.item, VARIANT));
        let line = |line: &ucp_core::purchase::draft::LineDraft| WishedLine {
            id: line.id.clone(),
            item: line.item.clone(),
            quantity: line.quantity,
        };
        let goal = match purpose {
            Purpose::Checkout if caller.has(FULFILLMENT) => shipped_to(draft, previous),
            _ => Goal::Unsaid,
        };
        let of_goal = match &goal {
            Goal::To(address) => address.country_code.clone(),
            Goal::Unsaid | Goal::Nowhere => None,
        };
        let stated = draft.buyer.as_ref();
        Self {
            lines: own.into_iter().map(line).collect(),
            foreign: foreign.into_iter().map(|line| line.item.clone()).collect(),
            refused: BTreeSet::new(),
            codes: caller.has(DISCOUNT).then(|| once(draft.codes.as_deref().unwrap_or_default())),
            buyer: Buyer {
                email: filled(stated.and_then(|buyer| buyer.email.as_ref())),
                phone: filled(stated.and_then(|buyer| buyer.phone_number.as_ref())),
                country_code: of_goal.or_else(|| country.map(str::to_owned)),
            },
            goal,
            attributes: attributes(draft, reference),
        }
    }

    /// Returns the input for a new cart, and the items of its lines in their order.
    pub(super) fn input(&self) -> (Value, Vec<String>) {
        let targets = self.targets(&[], &BTreeMap::new());
        let lines: Vec<_> = targets.iter().map(Target::new_line).collect();
        let goods = targets.iter().map(|target| target.item.to_owned()).collect();
        let mut input = json!({ "lines": lines });
        if let Some(codes) = self.codes.as_ref().filter(|codes| !codes.is_empty()) {
            input["discountCodes"] = json!(codes);
        }
        if self.buyer != Buyer::default() {
            input["buyerIdentity"] = json!(self.buyer);
        }
        if let Goal::To(address) = &self.goal {
            input["delivery"] = json!({ "addresses": [selected(address)] });
        }
        if !self.attributes.is_empty() {
            input["attributes"] = json!(self.attributes);
        }
        (input, goods)
    }

    /// Returns the changes for a cart. `known` maps the gateway's identifiers of lines to the shop's.
    pub(super) fn plan(&self, cart: &Cart, known: &BTreeMap<String, String>) -> Plan {
        let mut plan = Plan::default();
        self.plan_lines(cart, known, &mut plan);
        if let Some(attributes) = self.other_attributes(cart) {
            plan.add(CartChange::Attributes, json!(attributes));
        }
        if let Some(codes) = &self.codes {
            let own: Vec<_> = cart.discount_codes.iter().map(|own| own.code.as_str()).collect();
            if folded(codes) != folded(&own) {
                plan.add(CartChange::Codes, json!(codes));
            }
        }
        if let Some(buyer) = self.buyer.instead_of(&cart.buyer_identity.clone().unwrap_or_default()) {
            plan.add(CartChange::Buyer, buyer);
        }
        match &self.goal {
            Goal::To(address) if cart.address() != Some(address) => {
                plan.add(CartChange::Address, json!([selected(address)]));
            }
            Goal::Nowhere if cart.address().is_some() => plan.add(CartChange::Address, json!([])),
            Goal::Unsaid | Goal::Nowhere | Goal::To(_) => {}
        }
        plan
    }

    fn plan_lines(&self, cart: &Cart, known: &BTreeMap<String, String>, plan: &mut Plan) {
        let there: Vec<_> =
            cart.lines.nodes.iter().map(|line| (line.id.as_str(), line.merchandise.id.as_str())).collect();
        let targets = self.targets(&there, known);
        let kept: HashSet<_> = targets.iter().filter_map(|target| target.there).collect();
        let gone = there.iter().enumerate().filter(|(place, _)| !kept.contains(place)).map(|(_, (id, _))| *id);
        let gone: Vec<_> = gone.collect();
        if !gone.is_empty() {
            plan.add(CartChange::Remove, json!(gone));
        }
        let refused = |target: &&Target<'_>| self.refused.contains(target.item);
        let differing = targets.iter().filter(|target| !refused(target)).filter_map(|target| {
            let line = &cart.lines.nodes[target.there?];
            let update = json!({ "id": line.id, "quantity": target.quantity });
            (line.quantity != target.quantity).then(|| (target.item.to_owned(), update))
        });
        let (goods, differing): (Vec<_>, Vec<_>) = differing.unzip();
        if !differing.is_empty() {
            plan.add(CartChange::Update, json!(differing));
            plan.goods.insert(CartChange::Update.as_str(), goods);
        }
        let new: Vec<_> = targets.iter().filter(|target| target.there.is_none()).collect();
        if !new.is_empty() {
            plan.add(CartChange::Add, new.iter().map(|target| target.new_line()).collect());
            plan.goods.insert(CartChange::Add.as_str(), new.iter().map(|target| target.item.to_owned()).collect());
        }
    }

    /// Assigns the wanted lines to lines of a cart, given as identifier and item: first by the shop's identifier of the
    /// wanted line, then by item. Refused items are not added.
    pub(super) fn targets(&self, there: &[(&str, &str)], known: &BTreeMap<String, String>) -> Vec<Target<'_>> {
        let mut taken = HashSet::new();
        let mut matched = vec![None; self.lines.len()];
        for (line, place) in self.lines.iter().zip(&mut matched) {
            let own = line.id.as_ref().and_then(|id| known.get(id));
            let found = own.and_then(|own| there.iter().position(|(id, _)| id == own));
            *place = found.filter(|place| there[*place].1 == line.item && taken.insert(*place));
        }
        for (line, place) in self.lines.iter().zip(&mut matched).filter(|(_, place)| place.is_none()) {
            let mut same = (0..there.len()).filter(|place| there[*place].1 == line.item);
            *place = same.find(|place| taken.insert(*place));
        }
        let mut targets: Vec<Target<'_>> = Vec::with_capacity(self.lines.len());
        let whole = self.lines.iter().zip(matched).enumerate();
        let (own, more): (Vec<_>, Vec<_>) = whole.partition(|(_, (_, place))| place.is_some());
        for (wished, (line, there)) in own {
            targets.push(Target { item: &line.item, quantity: line.quantity, there, wished });
        }
        for (wished, (line, _)) in more {
            match targets.iter_mut().find(|target| target.item == line.item) {
                Some(target) => target.quantity = target.quantity.saturating_add(line.quantity),
                None if self.refused.contains(&line.item) => {}
                None => targets.push(Target { item: &line.item, quantity: line.quantity, there: None, wished }),
            }
        }
        targets.sort_by_key(|target| target.wished);
        targets
    }

    /// Returns the wanted quantity of each item.
    pub(super) fn wanted(&self) -> BTreeMap<&str, u64> {
        let mut wanted: BTreeMap<&str, u64> = BTreeMap::new();
        for line in &self.lines {
            let sum = wanted.entry(&line.item).or_default();
            *sum = sum.saturating_add(line.quantity);
        }
        wanted
    }

    /// Returns the new attributes of a cart; `None` if they do not change. Attributes that no platform can have stated
    /// stay.
    fn other_attributes(&self, cart: &Cart) -> Option<Vec<Attribute>> {
        let stated = |attribute: &&Attribute| attribute.key.starts_with(HIDDEN);
        let sorted = |attributes: &mut Vec<&Attribute>| attributes.sort_by(|one, other| one.key.cmp(&other.key));
        let mut own: Vec<_> = cart.attributes.iter().filter(stated).collect();
        let mut wanted: Vec<_> = self.attributes.iter().collect();
        sorted(&mut own);
        sorted(&mut wanted);
        let others = cart.attributes.iter().filter(|attribute| !stated(attribute));
        (own != wanted).then(|| others.chain(&self.attributes).cloned().collect())
    }
}

impl Target<'_> {
    fn new_line(&self) -> Value {
        json!({ "merchandiseId": self.item, "quantity": self.quantity })
    }
}

impl Buyer {
    /// Returns the change from `there` to this buyer; `None` if there is no difference. Members that the draft no
    /// longer states are removed, except for the country: a cart always has one.
    fn instead_of(&self, there: &Self) -> Option<Value> {
        let digits = |text: &Option<String>| -> Option<String> {
            text.as_ref().map(|text| text.chars().filter(char::is_ascii_digit).collect())
        };
        let lower = |text: &Option<String>| text.as_ref().map(|text| text.to_lowercase());
        let differs = lower(&self.email) != lower(&there.email)
            || digits(&self.phone) != digits(&there.phone)
            || self.country_code.is_some() && self.country_code != there.country_code;
        differs.then(|| {
            let mut wanted = json!(self);
            for (name, own, other) in [("email", &self.email, &there.email), ("phone", &self.phone, &there.phone)] {
                if own.is_none() && other.is_some() {
                    wanted[name] = Value::Null;
                }
            }
            wanted
        })
    }
}

impl Cart {
    /// Returns the delivery address.
    pub(super) fn address(&self) -> Option<&Address> {
        self.delivery.as_ref().and_then(|delivery| delivery.addresses.first()).map(|selectable| &selectable.address)
    }

    /// Returns the changes that select the delivery options that the platform chose.
    pub(super) fn deliver(&self, request: &PriceRequest<'_>) -> Plan {
        let mut plan = Plan::default();
        let selections = self.selections(request);
        if !selections.is_empty() {
            plan.add(CartChange::Delivery, json!(selections));
        }
        plan
    }
}

/// Returns the destination of the method that ships goods.
fn shipped_to(draft: &Draft, previous: &Previous) -> Goal {
    let methods = methods(draft);
    let Some(method) = methods.iter().find(|method| kind_of(method, previous) == MethodKind::Shipping) else {
        // A pick-up says nothing about a delivery address.
        return if methods.is_empty() { Goal::Nowhere } else { Goal::Unsaid };
    };
    let (destinations, selected) = destinations(method, previous);
    let chosen = selected.and_then(|place| destinations.get(place));
    chosen.map_or(Goal::Nowhere, |chosen| Goal::To(Box::new(address(&chosen.address, draft))))
}

fn filled(text: Option<&String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn address(stated: &PostalAddress, draft: &Draft) -> Address {
    let buyer = draft.buyer.as_ref();
    let or = |own: &Option<String>, of_buyer: Option<&String>| filled(own.as_ref()).or_else(|| filled(of_buyer));
    Address {
        address1: filled(stated.street_address.as_ref()),
        address2: filled(stated.extended_address.as_ref()),
        city: filled(stated.address_locality.as_ref()),
        province_code: filled(stated.address_region.as_ref()),
        zip: filled(stated.postal_code.as_ref()),
        country_code: filled(stated.address_country.as_ref()).map(|country| country.to_ascii_uppercase()),
        first_name: or(&stated.first_name, buyer.and_then(|buyer| buyer.first_name.as_ref())),
        last_name: or(&stated.last_name, buyer.and_then(|buyer| buyer.last_name.as_ref())),
        phone: or(&stated.phone_number, buyer.and_then(|buyer| buyer.phone_number.as_ref())),
    }
}

fn selected(address: &Address) -> Value {
    json!({ "selected": true, "address": { "deliveryAddress": address } })
}

/// Returns codes without repetitions: the API ignores case.
fn once(codes: &[String]) -> Vec<String> {
    let mut seen = HashSet::new();
    codes.iter().filter(|code| seen.insert(code.to_lowercase())).cloned().collect()
}

fn folded<T: AsRef<str>>(codes: &[T]) -> BTreeSet<String> {
    codes.iter().map(|code| code.as_ref().to_lowercase()).collect()
}

/// First character of attributes that are not shown to buyers.
const HIDDEN: char = '_';

/// Name of the attribute by which an order is recognized as that of a checkout: an order states the attributes of its
/// cart.
pub(crate) const REFERENCE: &str = "_ucp_checkout";

/// Returns the referral parameters of a draft, and the reference of its checkout, as attributes that are not shown to
/// buyers.
fn attributes(draft: &Draft, reference: Option<&str>) -> Vec<Attribute> {
    let texts = draft.attribution.iter().flatten().filter_map(|(name, value)| match value {
        Value::String(text) => Some((name, text.clone())),
        Value::Number(number) => Some((name, number.to_string())),
        Value::Bool(_) | Value::Null | Value::Array(_) | Value::Object(_) => None,
    });
    let stated = texts.map(|(name, value)| Attribute { key: format!("{HIDDEN}{name}"), value: Some(value) });
    let reference =
        reference.map(|reference| Attribute { key: REFERENCE.to_owned(), value: Some(reference.to_owned()) });
    stated.filter(|attribute| attribute.key != REFERENCE).chain(reference).collect()
}

#[cfg(test)]
mod tests;
