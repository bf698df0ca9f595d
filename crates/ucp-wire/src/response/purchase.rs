//! Encoding of answers about carts, checkouts and orders.

use std::{borrow::Cow, collections::BTreeMap};

use ucp_core::{
    Operation, Release, cart, checkout,
    message::{Message, Severity},
    negotiation::Active,
    operation::{BUYER_CONSENT, CART, CHECKOUT, DISCOUNT, FULFILLMENT, PAYMENT_AUTHENTICATION},
    order,
    purchase::{buyer, discount, fulfillment, fulfillment::MethodKind, line_item, totals},
};

use crate::{
    envelope::Success,
    purchase::{
        payment::Payment,
        shape::{
            Action, ActionConfig, Adjustment, Allocation, AppliedDiscount, Buyer, Cart, Checkout, CheckoutSuccess,
            Described, Discounts, Expectation, Fulfillment, FulfillmentAvailableMethod, FulfillmentDestination,
            FulfillmentEvent, FulfillmentGroup, FulfillmentMethod, FulfillmentOption, ItemShape, LineItem,
            LineQuantity, Order, OrderConfirmation, OrderFulfillment, OrderLineItem, OrderQuantity, Total,
        },
    },
    splice::json,
};

/// Members of a destination besides those of its address.
const OF_DESTINATIONS: [&str; 4] = ["type", "id", "name", "address"];

/// Encodes a cart. `active` are the capabilities negotiated with the caller.
pub(crate) fn cart(operation: Operation, view: &cart::View, active: &Active) -> String {
    let cart = &view.cart;
    let extended = |extension: &str| active.relevant_to(CART).any(|(name, _)| name == extension);
    json(&Cart {
        ucp: Success::new(Release::NEWEST, operation, active),
        id: &cart.id,
        line_items: lines(&cart.line_items),
        buyer: cart.draft.buyer.as_ref().map(|stated| buyer(stated, extended(BUYER_CONSENT))),
        context: cart.draft.context_stated.as_ref(),
        attribution: cart.draft.attribution.as_ref(),
        currency: cart.currency,
        totals: totals(&cart.totals),
        discounts: cart.discounts.as_ref().filter(|_| extended(DISCOUNT)).map(discounts),
        messages: &view.messages,
        links: &view.links,
        continue_url: view.continue_url.as_deref(),
        expires_at: cart.expires_at.to_string(),
    })
}

/// Encodes a checkout. `active` are the capabilities negotiated with the caller.
pub(crate) fn checkout(operation: Operation, view: &checkout::View, active: &Active) -> String {
    let checkout = &view.checkout;
    let extended = |extension: &str| active.relevant_to(CHECKOUT).any(|(name, _)| name == extension);
    let order = checkout.state.order().zip(view.permalink_url.as_deref());
    let action = view.action.as_ref().filter(|_| extended(PAYMENT_AUTHENTICATION));
    json(&Checkout {
        ucp: CheckoutSuccess::new(Release::NEWEST, operation, active, &view.handlers),
        id: &checkout.id,
        status: if action.is_some() { checkout.status() } else { view.status }.as_str(),
        line_items: lines(&checkout.line_items),
        buyer: checkout.draft.buyer.as_ref().map(|stated| buyer(stated, extended(BUYER_CONSENT))),
        context: checkout.draft.context_stated.as_ref(),
        attribution: checkout.draft.attribution.as_ref(),
        currency: checkout.currency,
        totals: totals(&checkout.totals),
        discounts: checkout.discounts.as_ref().filter(|_| extended(DISCOUNT)).map(discounts),
        fulfillment: checkout.fulfillment.as_ref().filter(|_| extended(FULFILLMENT)).map(fulfillment),
        payment: Payment::of(&checkout.draft.instruments),
        actions: action.map(actions),
        messages: match action {
            // The platform shows the page itself.
            Some(_) => view.messages.iter().filter(|message| !is_escalation(message)).cloned().collect(),
            None => Cow::Borrowed(&*view.messages),
        },
        links: &view.links,
        continue_url: view.continue_url.as_deref(),
        expires_at: checkout.expires_at.to_string(),
        order: order.map(|(confirmation, permalink_url)| OrderConfirmation {
            id: &confirmation.id,
            label: Some(&confirmation.label),
            permalink_url,
        }),
        ap2: None,
    })
}

fn actions(action: &checkout::Action) -> BTreeMap<&'static str, [Action<'_>; 1]> {
    let config = ActionConfig { payment_instrument_id: &action.payment_instrument_id, url: &action.url };
    BTreeMap::from([(action.step.action_type(), [Action { id: &action.id, config }])])
}

/// Returns `true` for the message that sends the buyer to the page of the checkout to be authenticated.
fn is_escalation(message: &Message) -> bool {
    matches!(message, Message::Error { code, severity: Severity::RequiresBuyerInput, .. } if code == "requires_3ds")
}

/// Encodes an order. `active` are the capabilities negotiated with the caller.
pub(crate) fn order(operation: Operation, view: &order::View, active: &Active) -> String {
    let order = &view.order;
    json(&Order {
        ucp: Success::new(Release::NEWEST, operation, active),
        id: &order.id,
        label: &order.label,
        checkout_id: &order.checkout_id,
        permalink_url: &view.permalink_url,
        line_items: order.line_items.iter().map(order_line).collect(),
        fulfillment: OrderFulfillment {
            expectations: order.expectations.iter().map(expectation).collect(),
            events: order.events.iter().map(event).collect(),
        },
        adjustments: order.adjustments.iter().map(adjustment).collect(),
        currency: order.currency,
        totals: totals(&order.totals),
        messages: &view.messages,
        attribution: order.attribution.as_ref(),
    })
}

fn lines(lines: &[line_item::LineItem]) -> Vec<LineItem<'_>> {
    lines.iter().map(line).collect()
}

fn line(line: &line_item::LineItem) -> LineItem<'_> {
    LineItem {
        id: &line.id,
        item: item(&line.item),
        quantity: line.quantity,
        totals: totals(&line.totals),
        parent_id: line.parent_id.as_deref(),
    }
}

fn item(item: &line_item::PurchasedItem) -> ItemShape<'_> {
    ItemShape { id: &item.id, title: &item.title, price: item.price, image_url: item.image_url.as_deref() }
}

fn totals(totals: &[totals::Total]) -> Vec<Total<'_>> {
    totals
        .iter()
        .map(|entry| Total {
            kind: entry.kind.as_str(),
            display_text: entry.display_text.as_deref(),
            amount: entry.amount,
        })
        .collect()
}

fn buyer(buyer: &buyer::Buyer, consent: bool) -> Buyer<'_> {
    Buyer {
        first_name: buyer.first_name.as_deref(),
        last_name: buyer.last_name.as_deref(),
        email: buyer.email.as_deref(),
        phone_number: buyer.phone_number.as_deref(),
        consent: buyer.consent.as_ref().filter(|_| consent).map(Into::into),
        extra: &buyer.extra,
    }
}

fn discounts(discounts: &discount::Discounts) -> Discounts<'_> {
    Discounts {
        codes: &discounts.codes,
        applied: discounts
            .applied
            .iter()
            .map(|discount| AppliedDiscount {
                code: discount.code.as_deref(),
                title: &discount.title,
                amount: discount.amount,
                automatic: discount.automatic,
                method: match discount.method {
                    discount::Method::Each => "each",
                    discount::Method::Across => "across",
                },
                priority: discount.priority.max(1),
                provisional: discount.eligibility.is_some(),
                eligibility: discount.eligibility.as_deref(),
                allocations: discount
                    .allocations
                    .iter()
                    .map(|part| Allocation { path: &part.path, amount: part.amount })
                    .collect(),
            })
            .collect(),
    }
}

fn fulfillment(fulfillment: &fulfillment::Fulfillment) -> Fulfillment<'_> {
    Fulfillment {
        methods: fulfillment.methods.iter().map(method).collect(),
        available_methods: fulfillment.available_methods.iter().map(available_method).collect(),
    }
}

fn available_method(method: &fulfillment::AvailableMethod) -> FulfillmentAvailableMethod<'_> {
    FulfillmentAvailableMethod {
        kind: method.kind.as_str(),
        line_item_ids: &method.line_item_ids,
        fulfillable_on: method.fulfillable_on.as_deref(),
        description: method.description.as_deref(),
    }
}

fn method(method: &fulfillment::Method) -> FulfillmentMethod<'_> {
    let destination = match method.kind {
        MethodKind::Shipping => address,
        MethodKind::Pickup => place,
    };
    FulfillmentMethod {
        id: &method.id,
        kind: method.kind.as_str(),
        line_item_ids: &method.line_item_ids,
        destinations: method.destinations.iter().map(destination).collect(),
        selected_destination_id: method.selected_destination_id.as_deref(),
        groups: method.groups.iter().map(group).collect(),
    }
}

fn address(destination: &fulfillment::Destination) -> FulfillmentDestination<'_> {
    let taken = |name: &str| OF_DESTINATIONS.contains(&name);
    let address = &destination.address;
    let address = if address.extra.keys().any(|name| taken(name)) {
        let mut rest = address.clone();
        rest.extra.retain(|name, _| !taken(name));
        Cow::Owned(rest)
    } else {
        Cow::Borrowed(address)
    };
    FulfillmentDestination::Address { kind: Some("shipping_address"), id: &destination.id, address: Box::new(address) }
}

fn place(destination: &fulfillment::Destination) -> FulfillmentDestination<'_> {
    FulfillmentDestination::Place {
        kind: Some("business_location"),
        id: &destination.id,
        name: destination.name.as_deref().unwrap_or(&destination.id),
        address: &destination.address,
    }
}

fn group(group: &fulfillment::Group) -> FulfillmentGroup<'_> {
    FulfillmentGroup {
        id: &group.id,
        line_item_ids: &group.line_item_ids,
        options: group.options.iter().map(option).collect(),
        selected_option_id: group.selected_option_id.as_deref(),
    }
}

fn option(option: &fulfillment::DeliveryOption) -> FulfillmentOption<'_> {
    FulfillmentOption {
        id: &option.id,
        title: &option.title,
        description: option.description.as_deref().map(|plain| Described { plain }),
        carrier: option.carrier.as_deref(),
        earliest_fulfillment_time: option.earliest.as_ref().map(ToString::to_string),
        latest_fulfillment_time: option.latest.as_ref().map(ToString::to_string),
        totals: totals(&option.totals),
    }
}

fn order_line(line: &order::OrderLine) -> OrderLineItem<'_> {
    OrderLineItem {
        id: &line.id,
        item: item(&line.item),
        quantity: OrderQuantity { original: line.original, total: line.total, fulfilled: line.fulfilled },
        totals: totals(&line.totals),
        status: line.status().as_str(),
        parent_id: line.parent_id.as_deref(),
    }
}

fn quantities(lines: &[order::LineQuantity]) -> Vec<LineQuantity<'_>> {
    lines.iter().map(|line| LineQuantity { id: &line.id, quantity: line.quantity }).collect()
}

fn expectation(expectation: &order::Expectation) -> Expectation<'_> {
    Expectation {
        id: &expectation.id,
        line_items: quantities(&expectation.line_items),
        method_type: expectation.method.map_or("digital", MethodKind::as_str),
        destination: &expectation.destination,
        description: expectation.description.as_deref(),
        fulfillable_on: expectation.fulfillable_on.as_deref(),
    }
}

fn event(event: &order::Event) -> FulfillmentEvent<'_> {
    FulfillmentEvent {
        id: &event.id,
        occurred_at: event.occurred_at.to_string(),
        kind: &event.kind,
        line_items: quantities(&event.line_items),
        tracking_number: event.tracking_number.as_deref(),
        tracking_url: event.tracking_url.as_deref(),
        carrier: event.carrier.as_deref(),
        description: event.description.as_deref(),
    }
}

fn adjustment(adjustment: &order::Adjustment) -> Adjustment<'_> {
    Adjustment {
        id: &adjustment.id,
        kind: &adjustment.kind,
        occurred_at: adjustment.occurred_at.to_string(),
        status: adjustment.status.as_str(),
        line_items: quantities(&adjustment.line_items),
        totals: totals(&adjustment.totals),
        description: adjustment.description.as_deref(),
    }
}
