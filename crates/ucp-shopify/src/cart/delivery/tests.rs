use ucp_core::{
    ports::caller::Caller,
    purchase::{
        draft::{FulfillmentDraft, GroupDraft},
        quote::Purpose,
    },
};
use ucp_testkit::shop::platform;

use super::*;

/// A group with options of these handles, the first of which is selected; `places` are pick-up locations.
fn group(id: &str, handles: &[&str], places: &[&str]) -> Value {
    let option = |(handle, kind): (&&str, &str)| json!({ "handle": handle, "deliveryMethodType": kind, "estimatedCost": { "amount": "1.0", "currencyCode": "USD" } });
    let options =
        handles.iter().map(|handle| (handle, "SHIPPING")).chain(places.iter().map(|handle| (handle, "PICK_UP")));
    let options: Vec<_> = options.map(option).collect();
    let selected = options.first().map(|option| json!({ "handle": option["handle"] }));
    json!({ "id": id, "cartLines": { "nodes": [] }, "selectedDeliveryOption": selected, "deliveryOptions": options })
}

fn delivered(groups: &[Value]) -> Cart {
    let delivery_groups = serde_json::from_value(json!({ "nodes": groups })).expect("groups");
    let money = json!({ "amount": "1.0", "currencyCode": "USD" });
    let cart = json!({
        "id": "cart", "checkoutUrl": "https://shop.example/", "cost": { "totalAmount": money }, "lines": { "nodes": [] },
    });
    Cart { delivery_groups, ..serde_json::from_value(cart).expect("a cart") }
}

fn chosen_option(id: Option<&str>, option: &str) -> GroupDraft {
    GroupDraft { id: id.map(str::to_owned), selected_option_id: Some(option.to_owned()) }
}

/// Returns the delivery options selected for a method, on a platform that can show several groups or only one.
fn travels(cart: &Cart, multi_group: bool, method: Option<MethodDraft>) -> Option<Value> {
    let caller = Caller { multi_group, ..platform("https://platform.example/profile", &[]) };
    let fulfillment = method.map(|method| FulfillmentDraft { methods: vec![method] });
    let (draft, previous) = (Draft { fulfillment, ..Draft::default() }, Previous::default());
    let request = PriceRequest {
        purpose: Purpose::Checkout,
        draft: &draft,
        caller: &caller,
        previous: &previous,
        remote_cart: None,
        reference: None,
    };
    cart.deliver(&request).variables.remove("delivery")
}

fn select(group: &str, option: &str) -> Value {
    json!({ "deliveryGroupId": group, "deliveryOptionHandle": option })
}

fn shipping(groups: Vec<GroupDraft>) -> Option<MethodDraft> {
    Some(MethodDraft { groups, ..MethodDraft::default() })
}

#[test]
fn groups_travel_as_was_chosen_by_place_and_handle() {
    let cart = delivered(&[group("g1", &["a", "b"], &[]), group("g2", &["c", "d"], &[])]);
    for (groups, expected) in [
        (vec![chosen_option(None, "b")], Some(json!([select("g1", "b")]))),
        (
            vec![chosen_option(Some("group_2"), "d"), chosen_option(Some("group_1"), "b")],
            Some(json!([select("g1", "b"), select("g2", "d")])),
        ),
        // Already selected, not offered, and of another group.
        (vec![chosen_option(None, "a")], None),
        (vec![chosen_option(None, "z")], None),
        (vec![chosen_option(Some("group_2"), "b")], None),
        (Vec::new(), None),
    ] {
        assert_eq!(travels(&cart, true, shipping(groups.clone())), expected, "{groups:?}");
    }
    assert_eq!(travels(&cart, true, None), None);
}

#[test]
fn groups_travel_together_for_whoever_can_show_only_one() {
    let cart = delivered(&[group("g1", &["a", "b"], &["p"]), group("g2", &["c", "d"], &[])]);
    let ids = |kind| together(cart.groups(), kind).into_iter().map(|way| way.id).collect::<Vec<_>>();
    assert_eq!(ids(MethodKind::Shipping), ["a+c", "a+d", "b+c", "b+d"]);
    assert_eq!(ids(MethodKind::Pickup), ["p"]);
    for (id, expected) in [
        ("a+c", None),
        ("b+c", Some(json!([select("g1", "b")]))),
        ("b+d", Some(json!([select("g1", "b"), select("g2", "d")]))),
        ("b+p", None),
        ("b+", None),
    ] {
        for group in [None, Some("group_1")] {
            assert_eq!(travels(&cart, false, shipping(vec![chosen_option(group, id)])), expected, "{id}");
        }
    }
    // Even among too many combinations, the selected one is shown, and none twice.
    let many: Vec<String> = (0..40).map(|number| format!("o{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut groups = [group("g1", &many, &[]), group("g2", &many, &[]), group("g3", &many, &[])];
    for group in &mut groups {
        group["selectedDeliveryOption"] = json!({ "handle": "o39" });
    }
    let cart = delivered(&groups);
    let ways = together(cart.groups(), MethodKind::Shipping);
    assert_eq!((ways.len(), ways[0].id.as_str()), (MOST_WAYS + 1, "o39+o39+o39"));
    assert!(together(&[], MethodKind::Shipping).is_empty());
}

#[test]
fn goods_travel_in_the_way_that_the_platform_speaks_of() {
    let pickup = |destination: Option<&str>| {
        Some(MethodDraft {
            kind: Some("pickup".into()),
            selected_destination_id: destination.map(str::to_owned),
            ..MethodDraft::default()
        })
    };
    for multi_group in [true, false] {
        let one = delivered(&[group("g1", &["a", "b"], &["p"])]);
        let two = delivered(&[group("g1", &["a", "b"], &["p", "q"])]);
        // For a pick-up, the location is the option; the only one is selected without being requested.
        assert_eq!(travels(&two, multi_group, pickup(Some("q"))), Some(json!([select("g1", "q")])));
        assert_eq!(travels(&two, multi_group, pickup(None)), None);
        assert_eq!(travels(&one, multi_group, pickup(None)), Some(json!([select("g1", "p")])));
        assert_eq!(travels(&one, multi_group, pickup(Some("a"))), Some(json!([select("g1", "p")])));
        let named = MethodDraft { kind: None, id: Some("pickup_1".into()), ..pickup(Some("q")).expect("a method") };
        assert_eq!(travels(&two, multi_group, Some(named.clone())), Some(json!([select("g1", "q")])));
        assert_eq!(travels(&two, multi_group, Some(MethodDraft { id: Some("pickups".into()), ..named })), None);
        // From pick-up back to shipping.
        let mut picked_up = group("g1", &["a", "b"], &["p"]);
        picked_up["selectedDeliveryOption"] = json!({ "handle": "p" });
        let cart = delivered(&[picked_up]);
        assert_eq!(travels(&cart, multi_group, shipping(Vec::new())), Some(json!([select("g1", "a")])));
        assert_eq!(travels(&cart, multi_group, None), None);
        // Nothing is selected, or there is nothing to select.
        let mut open = group("g1", &["a"], &[]);
        open["selectedDeliveryOption"] = Value::Null;
        assert_eq!(travels(&delivered(&[open]), multi_group, shipping(Vec::new())), Some(json!([select("g1", "a")])));
        assert_eq!(travels(&delivered(&[group("g1", &[], &[])]), multi_group, shipping(Vec::new())), None);
    }
}
