//! Fulfillment methods of a draft: their lines and destinations, and what is missing.

use super::{
    destination::{self, Choice},
    lines::{Lines, Named},
    option::{self, Offers, Package},
    pickup,
    terms::{AddressField, CountryRegion, PickupPlace, Terms, is_country},
    too_large,
};
use crate::{
    Refusal,
    message::{Message, Severity},
    operation::FULFILLMENT,
    ports::caller::Caller,
    purchase::{
        buyer::PostalAddress,
        draft::{Draft, MethodDraft},
        fulfillment::{
            AvailableMethod, DeliveryOption, Destination, Fulfillment, Group, Method, MethodKind, fulfillable_on,
        },
        quote::{Facts, Previous},
        totals::{TotalKind, amount_of},
    },
};

/// Input of the calculation of a delivery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) draft: &'a Draft,
    pub(crate) facts: &'a Facts,
    pub(crate) terms: &'a Terms,
    pub(crate) caller: &'a Caller,
    pub(crate) previous: &'a Previous,
    pub(crate) lines: &'a Lines<'a>,
    /// Price of each line after all discounts, in minor units.
    pub(crate) left: &'a [i128],
}

/// Delivery of a purchase.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivery {
    /// Delivery as shown to the platform.
    pub(crate) fulfillment: Option<Fulfillment>,
    /// `true` if everything that needs delivery has a destination and a chosen option.
    pub(crate) deliverable: bool,
    /// Charges for the chosen options, by method.
    pub(crate) charges: Vec<Charge>,
    /// Place of delivery by line, if known.
    pub(crate) places: Vec<Option<CountryRegion>>,
}

/// Charge for the chosen options of a method.
#[derive(Clone, Debug)]
pub(crate) struct Charge {
    pub(crate) kind: MethodKind,
    /// Amount in minor units.
    pub(crate) amount: i128,
    /// Place of delivery.
    pub(crate) place: Option<CountryRegion>,
}

/// Works out the delivery of a purchase, and adds an error message for everything that is missing. Fails with
/// [`InvalidRequest`](crate::Code::InvalidRequest) for a method, group or line that does not exist or is ambiguous, or
/// for a charge beyond [`MAX_AMOUNT`](crate::money::MAX_AMOUNT).
pub(crate) fn deliver(scene: Scene<'_>, messages: &mut Vec<Message>) -> Result<Delivery, Refusal> {
    let Scene { draft, terms, caller, lines, .. } = scene;
    let needing: Vec<usize> =
        lines.priced.iter().enumerate().filter(|(_, line)| line.good.needs_fulfillment).map(|(at, _)| at).collect();
    let mut delivery =
        Delivery { deliverable: needing.is_empty(), places: vec![None; lines.priced.len()], ..Delivery::default() };
    if needing.is_empty() {
        return Ok(delivery);
    }
    if terms.shipping.rates.is_empty() && terms.pickup.places.is_empty() {
        let content = "Delivery has to be arranged with the shop, on its own pages.";
        messages.push(Message::error("fulfillment_unavailable", content, Severity::RequiresBuyerInput));
        return Ok(delivery);
    }
    // Without the extension there may still be a choice that the buyer made on the shop's own pages.
    if !caller.has(FULFILLMENT) && draft.fulfillment.is_none() {
        let content = "The buyer has to choose on the shop's own pages how the goods are delivered.";
        messages.push(Message::error("fulfillment_required", content, Severity::RequiresBuyerInput));
        return Ok(delivery);
    }
    let stated = draft.fulfillment.as_ref().map_or(&[][..], |fulfillment| &fulfillment.methods);
    let mut fulfillment = Fulfillment { methods: Vec::new(), available_methods: available(&scene, &needing) };
    delivery.deliverable = true;
    if stated.is_empty() {
        let content = "Choose a fulfillment method.";
        messages
            .push(Message::error("fulfillment_required", content, Severity::Recoverable).at("$.fulfillment.methods"));
        delivery.deliverable = false;
    } else {
        let identities = identify(stated, scene.previous)?;
        let assigned = assign(stated, lines, &needing)?;
        let all = stated.iter().zip(identities).zip(assigned).enumerate();
        for (position, ((method, identity), inside)) in all {
            let mut work = Work { scene, position, messages, delivery: &mut delivery };
            let method = work.method(method, identity, &inside)?;
            fulfillment.methods.push(method);
        }
        combine(&fulfillment, terms, messages);
        for position in needing {
            let id = &lines.priced[position].id;
            if !fulfillment.methods.iter().any(|method| method.line_item_ids.contains(id)) {
                let content = format!("Choose how {} is delivered.", lines.priced[position].good.title);
                messages.push(
                    Message::error("fulfillment_required", content, Severity::Recoverable)
                        .at(format!("$.line_items[{position}]")),
                );
                delivery.deliverable = false;
            }
        }
    }
    delivery.fulfillment = Some(fulfillment);
    Ok(delivery)
}

/// Returns the kinds of method that the shop offers: shipping for all lines that need delivery, and pickup for those that
/// some place has.
fn available(scene: &Scene<'_>, needing: &[usize]) -> Vec<AvailableMethod> {
    let Scene { terms, lines, facts, .. } = scene;
    let method = |kind, inside: &[usize], description| {
        let lead_times = inside.iter().map(|position| lines.priced[*position].good.lead_time);
        AvailableMethod {
            kind,
            line_item_ids: inside.iter().map(|position| lines.priced[*position].id.clone()).collect(),
            fulfillable_on: Some(fulfillable_on(lead_times, facts.now)),
            description: Some(description),
            place_ids: None,
        }
    };
    let shipping = (!terms.shipping.rates.is_empty())
        .then(|| method(MethodKind::Shipping, needing, "The goods can be sent to an address.".to_owned()));
    let has = |place: &PickupPlace, line: usize| pickup::lacking(&lines.priced, &[line], &place.id).is_empty();
    let places = &terms.pickup.places;
    let there: Vec<_> = needing.iter().copied().filter(|line| places.iter().any(|place| has(place, *line))).collect();
    let able = places.iter().filter(|place| pickup::lacking(&lines.priced, needing, &place.id).is_empty());
    let able: Vec<_> = able.map(|place| place.id.clone()).collect();
    let places = places.iter().filter(|place| there.iter().any(|line| has(place, *line)));
    let places: Vec<_> = places.map(|place| place.name.as_str()).collect();
    let goods = if there.len() == needing.len() { "The goods" } else { "Some of the goods" };
    let description = format!("{goods} can be picked up at {}.", places.join(" or "));
    let pickup = (!places.is_empty())
        .then(|| AvailableMethod { place_ids: Some(able), ..method(MethodKind::Pickup, &there, description) });
    shipping.into_iter().chain(pickup).collect()
}

/// Identity of a method, and its previous state if it existed before.
struct Identity<'a> {
    id: String,
    kind: MethodKind,
    before: Option<&'a Method>,
}

/// Matches the stated methods with the previous ones: by identifier, otherwise with the first unmatched one of the same
/// kind.
fn identify<'a>(stated: &[MethodDraft], previous: &'a Previous) -> Result<Vec<Identity<'a>>, Refusal> {
    let known: Vec<&Method> = previous.fulfillment.iter().flat_map(|fulfillment| &fulfillment.methods).collect();
    let mut claimed = vec![false; known.len()];
    let mut found: Vec<(MethodKind, Option<usize>)> = Vec::with_capacity(stated.len());
    for (position, method) in stated.iter().enumerate() {
        let at = |member: &str| format!("$.fulfillment.methods[{position}].{member}");
        if let Some(id) = &method.id
            && stated.iter().take(position).any(|other| other.id.as_ref() == Some(id))
        {
            return Err(Refusal::invalid(at("id"), format!("Two methods have the id `{id}`."))
                .accepting("an id of its own for each method; new methods have none"));
        }
        let by_id = method.id.as_deref().and_then(|id| known.iter().position(|known| known.id == id));
        let kind = match method.kind.as_deref() {
            Some("shipping") => MethodKind::Shipping,
            Some("pickup") => MethodKind::Pickup,
            Some(other) => {
                return Err(Refusal::invalid(at("type"), format!("Unknown fulfillment method `{other}`."))
                    .accepting("`shipping` or `pickup`"));
            }
            None => match by_id.and_then(|at| known.get(at)).map(|known| known.kind).or_else(|| kind_of(method)) {
                Some(kind) => kind,
                None => {
                    return Err(Refusal::invalid(at("type"), "Missing fulfillment method: set `type` or `id`.")
                        .accepting("`shipping` or `pickup`, or the id of a method that is there"));
                }
            },
        };
        let by_id = by_id.filter(|at| known.get(*at).is_some_and(|known| known.kind == kind));
        if let Some(claim) = by_id.and_then(|at| claimed.get_mut(at)) {
            *claim = true;
        }
        found.push((kind, by_id));
    }
    let mut taken: Vec<String> = known.iter().map(|method| method.id.clone()).collect();
    taken.extend(stated.iter().filter_map(|method| method.id.clone()));
    let mut identities = Vec::with_capacity(found.len());
    for (kind, by_id) in found {
        let free = || known.iter().zip(&claimed).position(|(known, claimed)| known.kind == kind && !claimed);
        let at = by_id.or_else(free);
        if let Some(claim) = at.and_then(|at| claimed.get_mut(at)) {
            *claim = true;
        }
        let before = at.and_then(|at| known.get(at)).copied();
        let id = before.map_or_else(|| unused(kind, &mut taken), |method| method.id.clone());
        identities.push(Identity { id, kind, before });
    }
    Ok(identities)
}

/// Returns the kind of a method that no longer exists, taken from the beginning of its identifier.
fn kind_of(method: &MethodDraft) -> Option<MethodKind> {
    let id = method.id.as_deref()?;
    [MethodKind::Shipping, MethodKind::Pickup]
        .into_iter()
        .find(|kind| id.strip_prefix(kind.as_str()).is_some_and(|rest| rest.starts_with('_')))
}

fn unused(kind: MethodKind, taken: &mut Vec<String>) -> String {
    let mut number = 0_u64;
    loop {
        number += 1;
        let id = format!("{}_{number}", kind.as_str());
        if !taken.contains(&id) {
            taken.push(id.clone());
            return id;
        }
    }
}

/// Returns the positions of the lines of each method: those that it names, or all that need delivery and that no other
/// method names (trap T-13).
fn assign(stated: &[MethodDraft], lines: &Lines<'_>, needing: &[usize]) -> Result<Vec<Vec<usize>>, Refusal> {
    let mut owner: Vec<Option<usize>> = vec![None; lines.priced.len()];
    for (method, draft) in stated.iter().enumerate() {
        for (position, id) in draft.line_item_ids.iter().flatten().enumerate() {
            let refuse = |content: String| {
                Refusal::invalid(format!("$.fulfillment.methods[{method}].line_item_ids[{position}]"), content)
                    .accepting("ids of lines, each in one method")
            };
            match lines.named(id) {
                Named::Line(line) => match owner[line] {
                    Some(other) if other != method => {
                        return Err(refuse(format!("The line `{id}` is in two methods.")));
                    }
                    _ => owner[line] = Some(method),
                },
                Named::Gone => {}
                Named::Unknown => return Err(refuse(format!("There is no line `{id}`."))),
            }
        }
    }
    if let Some(rest) = stated.iter().position(|method| method.line_item_ids.is_none()) {
        for owner in owner.iter_mut().filter(|owner| owner.is_none()) {
            *owner = Some(rest);
        }
    }
    let of = |method| needing.iter().copied().filter(|line| owner[*line] == Some(method)).collect();
    Ok((0..stated.len()).map(of).collect())
}

/// Adds an error message for each method that the terms do not allow together with an earlier one.
fn combine(fulfillment: &Fulfillment, terms: &Terms, messages: &mut Vec<Message>) {
    let used: Vec<(usize, &Method)> =
        fulfillment.methods.iter().enumerate().filter(|(_, method)| !method.line_item_ids.is_empty()).collect();
    for (nth, (position, method)) in used.iter().enumerate() {
        let content = used.iter().take(nth).find_map(|(_, other)| {
            if other.kind != method.kind {
                return (!terms.shipping_with_pickup)
                    .then_some("Goods cannot be shipped and picked up in one checkout.");
            }
            let elsewhere = match (&other.selected_destination_id, &method.selected_destination_id) {
                (Some(one), Some(other)) => one != other,
                _ => false,
            };
            let (several, content) = match method.kind {
                MethodKind::Shipping => (
                    terms.shipping.several_destinations,
                    "Goods of one checkout cannot be shipped to several destinations.",
                ),
                MethodKind::Pickup => {
                    (terms.pickup.several_destinations, "Goods of one checkout cannot be picked up at several places.")
                }
            };
            (elsewhere && !several).then_some(content)
        });
        if let Some(content) = content {
            messages.push(
                Message::error("fulfillment_combination_disallowed", content, Severity::Recoverable)
                    .at(format!("$.fulfillment.methods[{position}]")),
            );
        }
    }
}

/// A method in progress, with the collected results.
struct Work<'a, 'b> {
    scene: Scene<'a>,
    position: usize,
    messages: &'b mut Vec<Message>,
    delivery: &'b mut Delivery,
}

impl Work<'_, '_> {
    /// Adds an error message and marks the purchase as not deliverable.
    fn missing(&mut self, code: &str, path: &str, content: impl Into<String>) {
        self.wrong(code, path, content);
        self.delivery.deliverable = false;
    }

    /// Adds an error message about the method.
    fn wrong(&mut self, code: &str, path: &str, content: impl Into<String>) {
        let path = format!("$.fulfillment.methods[{}]{path}", self.position);
        self.messages.push(Message::error(code, content, Severity::Recoverable).at(path));
    }

    fn method(&mut self, draft: &MethodDraft, identity: Identity<'_>, inside: &[usize]) -> Result<Method, Refusal> {
        let Scene { terms, lines, .. } = self.scene;
        let Identity { id, kind, before } = identity;
        let path = format!("$.fulfillment.methods[{}]", self.position);
        for (position, group) in draft.groups.iter().enumerate() {
            if let Some(id) = group.id.as_deref().filter(|id| !could_be(id, terms)) {
                return Err(Refusal::invalid(
                    format!("{path}.groups[{position}].id"),
                    format!("Unknown group `{id}`."),
                )
                .accepting("the id of a group of this method, or none for its first one"));
            }
        }
        let Choice { destinations, selected, unknown, gone } = match kind {
            MethodKind::Shipping => destination::choose(draft, &path, self.scene.draft, terms, before)?,
            MethodKind::Pickup => pickup::choose(draft, terms, &lines.priced, inside, before),
        };
        let line_ids = |inside: &[usize]| inside.iter().map(|position| lines.priced[*position].id.clone()).collect();
        let mut method = Method {
            id,
            kind,
            line_item_ids: line_ids(inside),
            selected_destination_id: selected.and_then(|at| destinations.get(at)).map(|chosen| chosen.id.clone()),
            destinations,
            groups: Vec::new(),
        };
        if unknown {
            let content = "There is no such destination; choose one of those that are listed.";
            self.wrong("destination_unknown", ".selected_destination_id", content);
        }
        if inside.is_empty() {
            return Ok(method);
        }
        if let Some(content) = gone {
            self.missing("fulfillment_unavailable", ".selected_destination_id", content);
            return Ok(method);
        }
        let offered = match kind {
            MethodKind::Shipping => !terms.shipping.rates.is_empty(),
            MethodKind::Pickup => !terms.pickup.places.is_empty(),
        };
        let Some(at) = selected.filter(|_| offered) else {
            match (offered, method.destinations.is_empty()) {
                (false, _) => {
                    self.missing("fulfillment_unavailable", "", format!("The shop has no {} to offer.", kind.as_str()));
                }
                (true, true) if kind == MethodKind::Pickup => {
                    self.missing("fulfillment_unavailable", "", "No place has all of these goods to be picked up.");
                }
                (true, true) => self.missing("field_required", ".destinations", "Say where the goods are to be sent."),
                (true, false) => {
                    let content = "Choose one of the destinations.";
                    self.missing("field_required", ".selected_destination_id", content);
                }
            }
            return Ok(method);
        };
        let destination = method.destinations[at].clone();
        let Some(place) = self.reachable_place(kind, &destination, at) else { return Ok(method) };
        for position in inside {
            self.delivery.places[*position] = Some(place.clone());
        }
        let mut amount = 0;
        for (number, inside) in self.packages(kind, inside) {
            let mut group = Group {
                id: group_id(number),
                line_item_ids: line_ids(&inside),
                options: Vec::new(),
                selected_option_id: None,
            };
            let earlier = before.and_then(|before| before.groups.iter().find(|earlier| earlier.id == group.id));
            let earlier = earlier.and_then(|earlier| earlier.selected_option_id.as_deref());
            let nth = method.groups.len();
            let wanted = draft.groups.iter().find(|stated| match &stated.id {
                Some(id) => *id == group.id,
                None => nth == 0,
            });
            let wanted = wanted.and_then(|stated| stated.selected_option_id.as_deref());
            let chosen = self.travel(kind, &destination, (at, nth), &mut group, &inside, (wanted, earlier))?;
            amount += chosen;
            method.groups.push(group);
        }
        // Where nothing can be delivered, nothing is charged for it either: 0 would say that it is free.
        if method.groups.iter().any(|group| group.selected_option_id.is_some()) {
            self.delivery.charges.push(Charge { kind, amount, place: Some(place) });
        }
        Ok(method)
    }

    /// Returns the place of a destination whose country is valid, and adds an error message for each missing member of
    /// its address.
    fn reachable_place(&mut self, kind: MethodKind, destination: &Destination, at: usize) -> Option<CountryRegion> {
        let PostalAddress { address_country, address_region, .. } = &destination.address;
        let country = address_country.as_deref().map(str::trim).filter(|country| !country.is_empty());
        let filled = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.trim().is_empty());
        if kind == MethodKind::Shipping {
            for field in &self.scene.terms.shipping.required {
                let (name, value) = field_of(*field, &destination.address);
                if !filled(value) {
                    let content = format!("The address needs `{name}`.");
                    self.missing("field_required", &format!(".destinations[{at}].{name}"), content);
                }
            }
        }
        let path = format!(".destinations[{at}].address_country");
        match country {
            None => {
                self.missing("field_required", &path, "The address needs a country.");
                None
            }
            Some(country) if !is_country(country) => {
                let content =
                    format!("`{country}` is not a country code; it must be an ISO 3166-1 alpha-2 code such as `US`.");
                self.missing("address_undeliverable", &path, content);
                None
            }
            Some(country) => {
                let region = address_region.clone().filter(|region| !region.trim().is_empty());
                Some(CountryRegion { country: country.to_ascii_uppercase(), region })
            }
        }
    }

    /// Returns the lines that are delivered together, with the number of their package.
    fn packages(&self, kind: MethodKind, inside: &[usize]) -> Vec<(usize, Vec<usize>)> {
        let Scene { terms, caller, lines, .. } = self.scene;
        if !caller.multi_group || kind == MethodKind::Pickup {
            return vec![(1, inside.to_vec())];
        }
        let package = |position: usize| {
            let line = &lines.priced[position];
            terms.shipping.separate.iter().position(|items| line.is_one_of(items)).map_or(1, |at| at + 2)
        };
        let mut packages: std::collections::BTreeMap<usize, Vec<usize>> = std::collections::BTreeMap::new();
        for position in inside {
            packages.entry(package(*position)).or_default().push(*position);
        }
        packages.into_iter().collect()
    }

    /// Works out the options of a group and chooses one. Returns the price of the chosen option.
    fn travel(
        &mut self,
        kind: MethodKind,
        destination: &Destination,
        (at, nth): (usize, usize),
        group: &mut Group,
        inside: &[usize],
        (wanted, earlier): (Option<&str>, Option<&str>),
    ) -> Result<i128, Refusal> {
        let Scene { facts, terms, lines, left, .. } = self.scene;
        let package = Package { lines: &lines.priced, left, inside };
        let Offers { options, free, reachable } =
            option::offers(kind, destination, package, facts, terms).map_err(|_| too_large("$.fulfillment"))?;
        for (option, free) in free.into_iter().enumerate() {
            if let Some(free) = free {
                let path = format!("$.fulfillment.methods[{}].groups[{nth}].options[{option}]", self.position);
                self.messages.push(Message::info("free_shipping", free).at(path));
            }
        }
        let find = |id: &str| options.iter().find(|option| option.id == id);
        let asked = wanted.and_then(find);
        let chosen: Option<&DeliveryOption> = asked.or_else(|| earlier.and_then(find)).or(options.first());
        let amount = chosen.map_or(0, |option| i128::from(amount_of(&option.totals, TotalKind::Total)));
        group.selected_option_id = chosen.map(|option| option.id.clone());
        if options.is_empty() {
            let (code, content) = if reachable {
                ("fulfillment_unavailable", "The shop has no way to deliver these goods to this destination.")
            } else {
                ("address_undeliverable", "The shop does not deliver to this country.")
            };
            self.missing(code, &format!(".destinations[{at}]"), content);
        } else if wanted.is_some() && asked.is_none() {
            let content = "There is no such option for this destination; choose one of those that are listed.";
            self.wrong("option_unknown", &format!(".groups[{nth}].selected_option_id"), content);
        }
        group.options = options;
        Ok(amount)
    }
}

fn group_id(number: usize) -> String {
    format!("package_{number}")
}

/// Returns `true` if an identifier is that of a possible group on these terms, whatever the goods are.
fn could_be(id: &str, terms: &Terms) -> bool {
    (1..=terms.shipping.separate.len() + 1).any(|number| group_id(number) == id)
}

fn field_of(field: AddressField, address: &PostalAddress) -> (&'static str, &Option<String>) {
    match field {
        AddressField::StreetAddress => ("street_address", &address.street_address),
        AddressField::AddressLocality => ("address_locality", &address.address_locality),
        AddressField::AddressRegion => ("address_region", &address.address_region),
        AddressField::PostalCode => ("postal_code", &address.postal_code),
        AddressField::FirstName => ("first_name", &address.first_name),
        AddressField::LastName => ("last_name", &address.last_name),
        AddressField::PhoneNumber => ("phone_number", &address.phone_number),
    }
}
