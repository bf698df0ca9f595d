//! What has to be changed so that the shop's cart is what a platform stated.
//!
//! A platform states everything anew; the API changes bit by bit. The plan is what differs, and nothing where nothing does:
//! a cart that is as it should be is not written to.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value, json};
use ucp_core::{
    operation::{DISCOUNT, FULFILLMENT},
    purchase::{buyer::PostalAddress, draft::Draft, pricer::Inquiry, pricing::Purpose},
};

use super::shape::{Address, Attribute, Buyer, Cart};
use crate::storefront::documents::CartChange;

/// Changes in the order in which they are made, with what each is to lead to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    pub(super) changes: Vec<CartChange>,
    pub(super) variables: Map<String, Value>,
}

impl Plan {
    fn add(&mut self, change: CartChange, wanted: Value) {
        self.changes.push(change);
        self.variables.insert(change.name().to_owned(), wanted);
    }
}

/// What a platform states, in the API's words.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wish {
    /// The lines, each with its identifier as the platform knows it.
    pub(super) lines: Vec<WishedLine>,
    /// The codes; `None` where they are not the platform's to state.
    pub(super) codes: Option<Vec<String>>,
    pub(super) buyer: Buyer,
    /// Where it is sent; `None` where nothing is said about it.
    pub(super) address: Option<Address>,
    pub(super) attributes: Vec<Attribute>,
}

/// A line that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WishedLine {
    pub(super) id: Option<String>,
    pub(super) item: String,
    pub(super) quantity: u64,
}

impl Wish {
    /// What an inquiry states. `country` is the one that prices are shown for.
    pub(super) fn of(inquiry: &Inquiry<'_>, country: Option<&str>) -> Self {
        let Inquiry { purpose, draft, caller, .. } = *inquiry;
        let line = |line: &ucp_core::purchase::draft::LineDraft| WishedLine {
            id: line.id.clone(),
            item: line.item.clone(),
            quantity: line.quantity,
        };
        let address = (purpose == Purpose::Checkout && caller.has(FULFILLMENT)).then(|| shipped_to(draft)).flatten();
        let stated = draft.buyer.as_ref();
        let filled = |text: Option<&String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        Self {
            lines: draft.line_items.iter().map(line).collect(),
            codes: caller.has(DISCOUNT).then(|| draft.codes.clone().unwrap_or_default()),
            buyer: Buyer {
                email: filled(stated.and_then(|buyer| buyer.email.as_ref())),
                phone: filled(stated.and_then(|buyer| buyer.phone_number.as_ref())),
                country_code: address
                    .as_ref()
                    .and_then(|address| address.country_code.clone())
                    .or_else(|| country.map(str::to_owned)),
            },
            address,
            attributes: attributes(draft),
        }
    }

    /// What a new cart is made of.
    pub(super) fn input(&self) -> Value {
        let mut input = json!({ "lines": self.lines.iter().map(WishedLine::new_line).collect::<Vec<_>>() });
        if let Some(codes) = self.codes.as_ref().filter(|codes| !codes.is_empty()) {
            input["discountCodes"] = json!(codes);
        }
        if self.buyer != Buyer::default() {
            input["buyerIdentity"] = json!(self.buyer);
        }
        if let Some(address) = &self.address {
            input["delivery"] = json!({ "addresses": [selected(address)] });
        }
        if !self.attributes.is_empty() {
            input["attributes"] = json!(self.attributes);
        }
        input
    }

    /// What has to be changed in a cart. `known` are the shop's names of lines by ours.
    pub(super) fn plan(&self, cart: &Cart, known: &BTreeMap<String, String>) -> Plan {
        let mut plan = Plan::default();
        let matched = self.matched(cart, known);
        let kept: HashSet<_> = matched.iter().flatten().map(|place| cart.lines.nodes[*place].id.as_str()).collect();
        let gone: Vec<_> =
            cart.lines.nodes.iter().map(|line| &line.id).filter(|id| !kept.contains(id.as_str())).collect();
        if !gone.is_empty() {
            plan.add(CartChange::Remove, json!(gone));
        }
        let differing = self.lines.iter().zip(&matched).filter_map(|(line, place)| {
            let there = &cart.lines.nodes[(*place)?];
            (there.quantity != line.quantity).then(|| json!({ "id": there.id, "quantity": line.quantity }))
        });
        let differing: Vec<_> = differing.collect();
        if !differing.is_empty() {
            plan.add(CartChange::Update, json!(differing));
        }
        let new = self.lines.iter().zip(&matched).filter(|(_, place)| place.is_none());
        let new: Vec<_> = new.map(|(line, _)| line.new_line()).collect();
        if !new.is_empty() {
            plan.add(CartChange::Add, json!(new));
        }
        if !self.attributes.is_empty() && self.attributes != cart.attributes {
            plan.add(CartChange::Attributes, json!(self.attributes));
        }
        if let Some(codes) = &self.codes {
            let same = codes.len() == cart.discount_codes.len()
                && codes.iter().all(|code| cart.discount_codes.iter().any(|own| own.code.eq_ignore_ascii_case(code)));
            if !same {
                plan.add(CartChange::Codes, json!(codes));
            }
        }
        let there = cart.buyer_identity.clone().unwrap_or_default();
        let says = |wanted: &Option<String>, there: &Option<String>| wanted.is_some() && wanted != there;
        let buyer = &self.buyer;
        if says(&buyer.email, &there.email)
            || says(&buyer.phone, &there.phone)
            || says(&buyer.country_code, &there.country_code)
        {
            plan.add(CartChange::Buyer, json!(buyer));
        }
        if let Some(address) = &self.address
            && cart.address() != Some(address)
        {
            plan.add(CartChange::Address, json!([selected(address)]));
        }
        plan
    }

    /// For each wanted line, the place of the one in the cart that it is: the one it was, or else one of the same goods.
    pub(super) fn matched(&self, cart: &Cart, known: &BTreeMap<String, String>) -> Vec<Option<usize>> {
        let there = &cart.lines.nodes;
        let mut taken = HashSet::new();
        let mut matched = vec![None; self.lines.len()];
        for (line, place) in self.lines.iter().zip(&mut matched) {
            let own = line.id.as_ref().and_then(|id| known.get(id));
            let found = own.and_then(|own| there.iter().position(|line| line.id == *own));
            *place = found.filter(|place| there[*place].merchandise.id == line.item && taken.insert(*place));
        }
        for (line, place) in self.lines.iter().zip(&mut matched).filter(|(_, place)| place.is_none()) {
            let mut same = (0..there.len()).filter(|place| there[*place].merchandise.id == line.item);
            *place = same.find(|place| taken.insert(*place));
        }
        matched
    }
}

impl WishedLine {
    fn new_line(&self) -> Value {
        json!({ "merchandiseId": self.item, "quantity": self.quantity })
    }
}

impl Cart {
    /// The address that it is sent to.
    pub(super) fn address(&self) -> Option<&Address> {
        self.delivery.as_ref().and_then(|delivery| delivery.addresses.first()).map(|selectable| &selectable.address)
    }

    /// What has to be changed so that groups travel as a platform chose; groups go by their places, and options by their
    /// handles.
    pub(super) fn deliver(&self, draft: &Draft) -> Plan {
        let mut plan = Plan::default();
        let groups = self.delivery_groups.as_ref().map(|groups| groups.nodes.as_slice()).unwrap_or_default();
        let chosen = groups.iter().enumerate().filter_map(|(place, group)| {
            let handle = chosen(draft, place)?;
            let offered = group.delivery_options.iter().any(|option| option.handle == handle);
            let selected = group.selected_delivery_option.as_ref().is_some_and(|own| own.handle == handle);
            (offered && !selected).then(|| json!({ "deliveryGroupId": group.id, "deliveryOptionHandle": handle }))
        });
        let chosen: Vec<_> = chosen.collect();
        if !chosen.is_empty() {
            plan.add(CartChange::Delivery, json!(chosen));
        }
        plan
    }
}

/// What a group of lines goes by here: the shop's own names of groups hold the secret of the cart.
pub(super) fn group_id(place: usize) -> String {
    format!("group_{}", place + 1)
}

/// The option that a platform chose for the group at `place`: of pick-up, the place where the goods are picked up.
fn chosen(draft: &Draft, place: usize) -> Option<&str> {
    let methods = draft.fulfillment.as_ref().map(|fulfillment| fulfillment.methods.as_slice()).unwrap_or_default();
    methods.iter().find_map(|method| {
        let named = method.groups.iter().find(|group| group.id.as_deref() == Some(group_id(place).as_str()));
        let first = || method.groups.first().filter(|group| group.id.is_none() && place == 0);
        let option = named.or_else(first).and_then(|group| group.selected_option_id.as_deref());
        let picked_up = (method.kind.as_deref() == Some("pickup")).then_some(method.selected_destination_id.as_deref());
        option.or(picked_up.flatten())
    })
}

/// The address of the method that ships.
fn shipped_to(draft: &Draft) -> Option<Address> {
    let methods = draft.fulfillment.as_ref().map(|fulfillment| fulfillment.methods.as_slice()).unwrap_or_default();
    let method = methods.iter().find(|method| method.kind.as_deref().is_none_or(|kind| kind == "shipping"))?;
    let wanted = method.selected_destination_id.as_deref();
    let destination = method
        .destinations
        .iter()
        .enumerate()
        .find(|(place, destination)| wanted.is_some_and(|id| destination_id(*place, destination.id.as_deref()) == id))
        .map(|(_, destination)| destination)
        .or_else(|| method.destinations.first())?;
    Some(address(&destination.address, draft))
}

/// What a destination goes by: what the platform calls it, or its place.
pub(super) fn destination_id(place: usize, stated: Option<&str>) -> String {
    stated.map_or_else(|| format!("dest_{}", place + 1), str::to_owned)
}

fn address(stated: &PostalAddress, draft: &Draft) -> Address {
    let buyer = draft.buyer.as_ref();
    let filled = |text: Option<&String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
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

/// Referral parameters, noted where buyers do not see them.
fn attributes(draft: &Draft) -> Vec<Attribute> {
    let parameters = draft.attribution.iter().flatten();
    let texts = parameters.filter_map(|(name, value)| match value {
        Value::String(text) => Some((name, text.clone())),
        Value::Number(number) => Some((name, number.to_string())),
        Value::Bool(_) | Value::Null | Value::Array(_) | Value::Object(_) => None,
    });
    texts.map(|(name, value)| Attribute { key: format!("_{name}"), value: Some(value) }).collect()
}
