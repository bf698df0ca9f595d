use proptest::prelude::*;
use ucp_core::{
    ports::caller::Caller,
    purchase::{
        buyer,
        draft::{DestinationDraft, FulfillmentDraft, MethodDraft},
        fulfillment::{Destination, Fulfillment, Method},
    },
};
use ucp_testkit::shop::{draft, platform};

use super::*;

fn item(number: u8) -> String {
    format!("gid://shopify/ProductVariant/{number}")
}

/// Model of the shop's cart, as far as a plan changes it. Added lines of the same item are merged.
#[derive(Clone, Debug)]
struct Model {
    lines: Vec<(String, String, u64)>,
    codes: Vec<String>,
    email: Option<String>,
    phone: Option<String>,
    country: Option<String>,
    address: Option<Value>,
    attributes: Vec<(String, String)>,
    named: usize,
}

impl Model {
    fn empty() -> Self {
        Self {
            lines: Vec::new(),
            codes: Vec::new(),
            email: None,
            phone: None,
            country: None,
            address: None,
            attributes: Vec::new(),
            named: 0,
        }
    }

    fn push(&mut self, item: String, quantity: u64) {
        self.named += 1;
        self.lines.push((format!("line {}", self.named), item, quantity));
    }

    fn cart(&self) -> Cart {
        let money = json!({ "amount": "1.0", "currencyCode": "USD" });
        let cost = json!({ "amountPerQuantity": money, "subtotalAmount": money, "totalAmount": money });
        let lines = self.lines.iter().map(|(id, item, quantity)| {
            json!({ "id": id, "quantity": quantity, "cost": cost, "merchandise": { "id": item, "product": { "title": "P" } } })
        });
        let address = self.address.iter().map(|address| json!({ "address": address })).collect::<Vec<_>>();
        let attributes = self.attributes.iter().map(|(key, value)| json!({ "key": key, "value": value }));
        serde_json::from_value(json!({
            "id": "cart", "checkoutUrl": "https://shop.example/", "cost": { "totalAmount": money },
            "lines": { "nodes": lines.collect::<Vec<_>>() },
            "discountCodes": self.codes.iter().map(|code| json!({ "code": code })).collect::<Vec<_>>(),
            "buyerIdentity": { "email": self.email, "phone": self.phone, "countryCode": self.country },
            "delivery": { "addresses": address }, "attributes": attributes.collect::<Vec<_>>(),
        }))
        .expect("a cart")
    }

    fn apply(&mut self, plan: &Plan) {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        for change in &plan.changes {
            let wanted = &plan.variables[change.as_str()];
            match change {
                CartChange::Remove => {
                    for id in wanted.as_array().expect("a list") {
                        let place = self.lines.iter().position(|(own, ..)| own == id).expect("a line that is there");
                        self.lines.remove(place);
                    }
                }
                CartChange::Update => {
                    for update in wanted.as_array().expect("a list") {
                        let line = self.lines.iter_mut().find(|(own, ..)| *own == update["id"]);
                        line.expect("a line that is there").2 = update["quantity"].as_u64().expect("a number");
                    }
                }
                CartChange::Add => {
                    for line in wanted.as_array().expect("a list") {
                        let (item, quantity) =
                            (text(&line["merchandiseId"]), line["quantity"].as_u64().expect("a number"));
                        match self.lines.iter_mut().find(|(_, own, _)| *own == item) {
                            Some(line) => line.2 += quantity,
                            None => self.push(item, quantity),
                        }
                    }
                }
                CartChange::Codes => self.codes = wanted.as_array().expect("a list").iter().map(text).collect(),
                CartChange::Buyer => {
                    // An absent member stays, a `null` member is removed.
                    for (name, own) in
                        [("email", &mut self.email), ("phone", &mut self.phone), ("countryCode", &mut self.country)]
                    {
                        if let Some(said) = wanted.get(name) {
                            *own = said.as_str().map(str::to_owned);
                        }
                    }
                }
                CartChange::Address => {
                    self.address = wanted.as_array().expect("a list").first().map(|own| {
                        assert_eq!(own["selected"], true);
                        own["address"]["deliveryAddress"].clone()
                    });
                }
                CartChange::Attributes => {
                    let read = |own: &Value| (text(&own["key"]), text(&own["value"]));
                    self.attributes = wanted.as_array().expect("a list").iter().map(read).collect();
                }
                CartChange::Delivery => panic!("that depends on what the shop offers"),
            }
        }
    }
}

fn line(id: Option<&str>, number: u8, quantity: u64) -> WishedLine {
    WishedLine { id: id.map(str::to_owned), item: item(number), quantity }
}

fn wish(lines: Vec<WishedLine>) -> Wish {
    Wish {
        lines,
        foreign: BTreeSet::new(),
        refused: BTreeSet::new(),
        codes: Some(Vec::new()),
        buyer: Buyer::default(),
        goal: Goal::Unsaid,
        attributes: Vec::new(),
    }
}

fn known(names: &[(&str, &str)]) -> BTreeMap<String, String> {
    names.iter().map(|(ours, theirs)| ((*ours).to_owned(), (*theirs).to_owned())).collect()
}

fn models() -> impl Strategy<Value = Model> {
    let lines = prop::collection::vec((1_u8..5, 0_u64..5), 0..6);
    let codes = prop::sample::subsequence(vec!["ten".to_owned(), "SHIP".to_owned(), "Vip".to_owned()], 0..=3);
    let buyer = (
        prop::option::of(prop::sample::select(vec!["a@b.example".to_owned(), "c@d.example".to_owned()])),
        prop::option::of(prop::sample::select(vec!["+15551234567".to_owned(), "+4930123456".to_owned()])),
        prop::option::of(prop::sample::select(vec!["US".to_owned(), "DE".to_owned()])),
    );
    let address =
        prop::option::of(prop::sample::select(vec![json!({ "city": "A" }), json!({ "city": "B", "zip": "1" })]));
    let attributes = prop::sample::subsequence(
        vec![
            ("_ref".to_owned(), "1".to_owned()),
            ("_utm".to_owned(), "x".to_owned()),
            ("note".to_owned(), "!".to_owned()),
        ],
        0..=3,
    );
    (lines, codes, buyer, address, attributes).prop_map(
        |(lines, codes, (email, phone, country), address, attributes)| {
            let mut model = Model { codes, email, phone, country, address, attributes, ..Model::empty() };
            for (number, quantity) in lines {
                model.push(item(number), quantity);
            }
            model
        },
    )
}

fn wishes() -> impl Strategy<Value = Wish> {
    let line = (prop::option::of(1_usize..7), 1_u8..6, 1_u64..5);
    let codes = prop::option::of(prop::collection::vec(
        prop::sample::select(vec!["ten".to_owned(), "TEN".to_owned(), "ship".to_owned(), "new".to_owned()]),
        0..4,
    ));
    let buyer = (
        prop::option::of(prop::sample::select(vec!["A@b.example".to_owned(), "e@f.example".to_owned()])),
        prop::option::of(prop::sample::select(vec!["+1 (555) 123-4567".to_owned(), "+33 1".to_owned()])),
        prop::option::of(prop::sample::select(vec!["US".to_owned(), "FR".to_owned()])),
    );
    let goal = prop::sample::select(vec![None, Some(None), Some(Some("A")), Some(Some("C"))]);
    let attributes = prop::sample::subsequence(vec![("_utm", "x"), ("_ref", "2")], 0..=2);
    (prop::collection::vec(line, 0..6), codes, buyer, goal, attributes).prop_map(
        |(lines, codes, (email, phone, country_code), goal, attributes)| {
            // No two lines have the same identifier: such a draft is refused earlier.
            let mut ids = HashSet::new();
            let line = |(id, number, quantity): (Option<usize>, u8, u64)| WishedLine {
                id: id.filter(|id| ids.insert(*id)).map(|id| format!("li_{id}")),
                item: item(number),
                quantity,
            };
            let attribute =
                |(key, value): (&str, &str)| Attribute { key: key.to_owned(), value: Some(value.to_owned()) };
            Wish {
                lines: lines.into_iter().map(line).collect(),
                codes: codes.map(|codes| once(&codes)),
                buyer: Buyer { email, phone, country_code },
                goal: match goal {
                    None => Goal::Unsaid,
                    Some(None) => Goal::Nowhere,
                    Some(Some(city)) => {
                        Goal::To(Box::new(Address { city: Some(city.to_owned()), ..Address::default() }))
                    }
                },
                attributes: attributes.into_iter().map(attribute).collect(),
                ..wish(Vec::new())
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Applying a plan to any cart leads to the wish, after which nothing is left to plan.
    #[test]
    fn a_plan_leads_to_what_was_stated(before in models(), wish in wishes()) {
        let names: Vec<_> = (1..=before.lines.len()).map(|number| (format!("li_{number}"), format!("line {number}"))).collect();
        let known: BTreeMap<_, _> = names.into_iter().collect();
        let mut model = before.clone();
        let cart = model.cart();
        let plan = wish.plan(&cart, &known);
        model.apply(&plan);

        let mut there: BTreeMap<&str, u64> = BTreeMap::new();
        for (_, item, quantity) in &model.lines {
            *there.entry(item).or_default() += quantity;
        }
        prop_assert_eq!(&there, &wish.wanted());
        if let Some(codes) = &wish.codes {
            prop_assert_eq!(folded(codes), folded(&model.codes));
            prop_assert_eq!(codes.len(), model.codes.len());
        } else {
            prop_assert_eq!(&model.codes, &before.codes);
        }
        prop_assert_eq!(model.email.as_ref().map(|text| text.to_lowercase()), wish.buyer.email.as_ref().map(|text| text.to_lowercase()));
        prop_assert_eq!(model.phone.is_some(), wish.buyer.phone.is_some());
        prop_assert_eq!(&model.country, if wish.buyer.country_code.is_some() { &wish.buyer.country_code } else { &before.country });
        match &wish.goal {
            Goal::Unsaid => prop_assert_eq!(&model.address, &before.address),
            Goal::Nowhere => prop_assert_eq!(&model.address, &None),
            Goal::To(address) => prop_assert_eq!(&model.address, &Some(json!(address))),
        }
        let hidden = |model: &Model| -> BTreeMap<String, String> {
            model.attributes.iter().filter(|(key, _)| key.starts_with('_')).cloned().collect()
        };
        let wanted: BTreeMap<_, _> = wish.attributes.iter().map(|own| (own.key.clone(), own.value.clone().expect("a value"))).collect();
        prop_assert_eq!(hidden(&model), wanted);
        let shown = |model: &Model| -> Vec<(String, String)> {
            model.attributes.iter().filter(|(key, _)| !key.starts_with('_')).cloned().collect()
        };
        prop_assert_eq!(shown(&model), shown(&before));

        // An item that stays wanted stays on the same line.
        for (id, item, _) in &before.lines {
            let only = before.lines.iter().filter(|(_, own, _)| own == item).count() == 1;
            if only && wish.lines.iter().any(|line| line.item == *item) {
                prop_assert!(model.lines.iter().any(|(own, ..)| own == id), "{} is not the line that it was", id);
            }
        }
        let again = wish.plan(&model.cart(), &known);
        prop_assert!(again.changes.is_empty(), "{:?} is still planned", again);
    }

    /// Changes are in the order of [`CartChange::ALL`], and none is empty.
    #[test]
    fn changes_are_in_order_and_never_of_nothing(before in models(), wish in wishes()) {
        let plan = wish.plan(&before.cart(), &BTreeMap::new());
        let places: Vec<_> = plan.changes.iter().map(|change| CartChange::ALL.iter().position(|own| own == change)).collect();
        prop_assert!(places.is_sorted_by(|one, other| one < other), "{:?}", plan);
        prop_assert_eq!(plan.changes.len(), plan.variables.len());
        for lines in [CartChange::Remove, CartChange::Update, CartChange::Add] {
            if let Some(wanted) = plan.variables.get(lines.as_str()) {
                prop_assert!(!wanted.as_array().expect("a list").is_empty());
            }
        }
        for lines in [CartChange::Update, CartChange::Add] {
            let wanted = plan.variables.get(lines.as_str()).and_then(Value::as_array).map_or(0, Vec::len);
            prop_assert_eq!(plan.goods(lines).len(), wanted);
        }
    }

    /// The input for a new cart equals the changes of an empty one.
    #[test]
    fn a_new_cart_is_an_empty_one_that_was_changed(wish in wishes()) {
        let (input, goods) = wish.input();
        let plan = wish.plan(&Model::empty().cart(), &BTreeMap::new());
        prop_assert_eq!(input["lines"].as_array().map_or(0, Vec::len), goods.len());
        prop_assert_eq!(plan.goods(CartChange::Add), goods.as_slice());
        prop_assert_eq!(input["lines"].as_array().filter(|lines| !lines.is_empty()), plan.variables.get("add").and_then(Value::as_array));
        prop_assert_eq!(input.get("discountCodes"), plan.variables.get("codes"));
        prop_assert_eq!(input.get("attributes"), plan.variables.get("attributes"));
        prop_assert_eq!(input.get("buyerIdentity"), plan.variables.get("buyer"));
        let address = plan.variables.get("address");
        prop_assert_eq!(input.get("delivery").map(|delivery| &delivery["addresses"]), address);
    }
}

#[test]
fn lines_of_the_same_goods_are_one_and_keep_their_places() {
    let wish = wish(vec![line(None, 2, 1), line(Some("li_7"), 1, 2), line(None, 2, 3), line(None, 1, 5)]);
    let (input, goods) = wish.input();
    assert_eq!(goods, [item(2), item(1)]);
    assert_eq!(
        input["lines"],
        json!([{ "merchandiseId": item(2), "quantity": 4 }, { "merchandiseId": item(1), "quantity": 7 }])
    );
    // Two lines that the shop keeps apart stay apart.
    let there = [("line a", item(1)), ("line b", item(1))];
    let there: Vec<_> = there.iter().map(|(id, item)| (*id, item.as_str())).collect();
    let names = known(&[("li_1", "line b"), ("li_2", "line a")]);
    let apart =
        self::wish(vec![line(Some("li_1"), 1, 4), line(None, 1, 1), line(Some("li_2"), 1, 9), line(None, 1, 2)]);
    let targets = apart.targets(&there, &names);
    let found: Vec<_> = targets.iter().map(|target| (target.wished, target.there, target.quantity)).collect();
    assert_eq!(found, [(0, Some(1), 7), (2, Some(0), 9)]);
}

#[test]
fn a_line_that_becomes_something_else_is_another() {
    let mut model = Model::empty();
    model.push(item(1), 2);
    model.push(item(2), 2);
    // The identifiers are swapped: lines are matched by item.
    let names = known(&[("li_1", "line 1"), ("li_2", "line 2")]);
    let wish = wish(vec![line(Some("li_1"), 2, 2), line(Some("li_2"), 3, 1)]);
    let plan = wish.plan(&model.cart(), &names);
    assert_eq!(plan.changes, [CartChange::Remove, CartChange::Add]);
    assert_eq!(plan.variables["remove"], json!(["line 1"]));
    assert_eq!(plan.variables["add"], json!([{ "merchandiseId": item(3), "quantity": 1 }]));
}

#[test]
fn what_is_refused_is_neither_asked_for_again_nor_taken_away() {
    let mut model = Model::empty();
    model.push(item(1), 6);
    let mut wish = wish(vec![line(None, 1, 7), line(None, 2, 1), line(None, 3, 1)]);
    wish.refused.extend([item(1), item(2)]);
    let plan = wish.plan(&model.cart(), &BTreeMap::new());
    assert_eq!(plan.changes, [CartChange::Add]);
    assert_eq!(plan.variables["add"], json!([{ "merchandiseId": item(3), "quantity": 1 }]));
    let (_, goods) = wish.input();
    assert_eq!(goods, [item(3)]);
}

#[test]
fn codes_differ_by_what_they_say() {
    let plans = |wanted: &[&str], there: &[&str]| {
        let texts = |codes: &[&str]| codes.iter().map(|code| (*code).to_owned()).collect::<Vec<_>>();
        let wish = Wish { codes: Some(once(&texts(wanted))), ..wish(Vec::new()) };
        let model = Model { codes: texts(there), ..Model::empty() };
        wish.plan(&model.cart(), &BTreeMap::new()).variables.remove("codes")
    };
    assert_eq!(plans(&["TEN", "ship"], &["Ship", "ten"]), None);
    assert_eq!(plans(&["TEN", "ten"], &["ten"]), None);
    // The same number of codes, but not the same codes.
    assert_eq!(plans(&["ten", "ten"], &["ten", "ship"]), Some(json!(["ten"])));
    assert_eq!(plans(&["ten", "vip"], &["ten", "ship"]), Some(json!(["ten", "vip"])));
    assert_eq!(plans(&[], &["ten"]), Some(json!([])));
    assert_eq!(plans(&[], &[]), None);
}

#[test]
fn nothing_of_a_plan_can_be_read_in_a_log() {
    let mut model = Model::empty();
    model.lines.push(("gid://shopify/CartLine/1?cart=canary".to_owned(), item(1), 1));
    let wish = Wish {
        buyer: Buyer { email: Some("canary@b.example".to_owned()), ..Buyer::default() },
        goal: Goal::To(Box::new(Address { address1: Some("canary".to_owned()), ..Address::default() })),
        ..wish(Vec::new())
    };
    let plan = wish.plan(&model.cart(), &BTreeMap::new());
    assert_eq!(plan.changes, [CartChange::Remove, CartChange::Buyer, CartChange::Address]);
    assert!(!format!("{plan:?} {:?}", model.cart()).contains("canary"));
}

/// Returns the wish for a draft, given the previous answer.
fn inquired(purpose: Purpose, caller: &Caller, draft: &Draft, previous: &Previous) -> Wish {
    Wish::of(&PriceRequest { purpose, draft, caller, previous, remote_cart: None, reference: None }, Some("DE"))
}

fn street(text: &str) -> PostalAddress {
    PostalAddress {
        street_address: Some(text.to_owned()),
        address_country: Some("us".to_owned()),
        ..Default::default()
    }
}

fn to(wish: &Wish) -> Option<&str> {
    match &wish.goal {
        Goal::To(address) => address.address1.as_deref(),
        Goal::Unsaid | Goal::Nowhere => None,
    }
}

#[test]
fn goods_go_where_the_platform_says_or_said() {
    let caller = platform("https://platform.example/profile", &[]);
    let destination =
        |id: &str, text: &str| Destination { id: id.into(), name: None, address: street(text), stored: false };
    let method = |id: &str, kind, destinations| Method {
        id: id.into(),
        kind,
        line_item_ids: Vec::new(),
        destinations,
        selected_destination_id: None,
        groups: Vec::new(),
    };
    let before = Previous {
        fulfillment: Some(Fulfillment {
            methods: vec![
                method("m1", MethodKind::Shipping, vec![destination("dest_1", "Old 1"), destination("d2", "Old 2")]),
                method("m2", MethodKind::Pickup, Vec::new()),
            ],
            available_methods: Vec::new(),
        }),
        ..Previous::default()
    };
    let stated = |methods: Vec<MethodDraft>| Draft {
        fulfillment: Some(FulfillmentDraft { methods }),
        ..draft(&[("gid://shopify/ProductVariant/1", 1)])
    };
    let shipping = MethodDraft { kind: Some("shipping".into()), ..MethodDraft::default() };
    let new = |id: Option<&str>, text: &str| DestinationDraft {
        id: id.map(str::to_owned),
        address: street(text),
        ..DestinationDraft::default()
    };
    let bare = |id: &str| DestinationDraft { id: Some(id.into()), ..DestinationDraft::default() };
    for (methods, expected) in [
        (vec![MethodDraft { destinations: vec![new(None, "New 1")], ..shipping.clone() }], Some("New 1")),
        (
            vec![MethodDraft {
                destinations: vec![new(None, "New 1"), new(Some("x"), "New 2")],
                selected_destination_id: Some("x".into()),
                ..shipping.clone()
            }],
            Some("New 2"),
        ),
        (
            vec![MethodDraft {
                destinations: vec![new(None, "New 1"), new(None, "New 2")],
                selected_destination_id: Some("dest_2".into()),
                ..shipping.clone()
            }],
            Some("New 2"),
        ),
        // What was stated before is kept if it is not stated again.
        (vec![MethodDraft { selected_destination_id: Some("d2".into()), ..shipping.clone() }], Some("Old 2")),
        (vec![MethodDraft { destinations: vec![bare("d2")], ..shipping.clone() }], Some("Old 2")),
        (vec![MethodDraft { id: Some("m1".into()), ..MethodDraft::default() }], Some("Old 1")),
        // A pick-up says nothing about an address.
        (vec![MethodDraft { id: Some("m2".into()), ..MethodDraft::default() }], None),
        (
            vec![MethodDraft {
                kind: Some("pickup".into()),
                destinations: vec![new(None, "New 1")],
                ..MethodDraft::default()
            }],
            None,
        ),
    ] {
        let draft = stated(methods);
        let wish = inquired(Purpose::Checkout, &caller, &draft, &before);
        assert_eq!(to(&wish), expected, "{draft:?}");
        let country = if expected.is_some() { "US" } else { "DE" };
        assert_eq!(wish.buyer.country_code.as_deref(), Some(country));
        assert!(matches!(wish.goal, Goal::To(_) | Goal::Unsaid));
    }
    // A draft without a delivery clears the earlier one; without the extension, nothing is said about it.
    let silent = draft(&[("gid://shopify/ProductVariant/1", 1)]);
    assert!(matches!(inquired(Purpose::Checkout, &caller, &silent, &before).goal, Goal::Nowhere));
    let bare = platform("https://platform.example/profile", &[FULFILLMENT, DISCOUNT]);
    let unsaid = inquired(Purpose::Checkout, &bare, &silent, &before);
    assert!(matches!(unsaid.goal, Goal::Unsaid) && unsaid.codes.is_none());
    let cart = stated(vec![MethodDraft { destinations: vec![new(None, "New 1")], ..shipping }]);
    assert!(matches!(inquired(Purpose::Cart, &caller, &cart, &before).goal, Goal::Unsaid));
}

#[test]
fn what_is_of_no_shop_like_this_is_not_asked_about() {
    let caller = platform("https://platform.example/profile", &[]);
    let own = "gid://shopify/ProductVariant/1";
    let foreign = ["oil", "gid://shopify/Product/1", "gid://shopify/ProductVariant/1 ", "gid://shopify/Cart/1?key=2"];
    let lines: Vec<_> = foreign.iter().chain([&own]).chain(&foreign[..1]).map(|item| (*item, 1)).collect();
    let wish = inquired(Purpose::Cart, &caller, &draft(&lines), &Previous::default());
    assert_eq!(wish.lines.iter().map(|line| line.item.as_str()).collect::<Vec<_>>(), [own]);
    assert_eq!(wish.foreign, foreign.map(str::to_owned).into());
}

#[test]
fn blank_is_as_good_as_nothing_and_names_come_from_the_buyer() {
    let caller = platform("https://platform.example/profile", &[]);
    let buyer = buyer::Buyer {
        email: Some("  ".into()),
        phone_number: Some(" +1 555 ".into()),
        first_name: Some("Bea".into()),
        ..buyer::Buyer::default()
    };
    let destination = DestinationDraft {
        address: PostalAddress { last_name: Some("Own".into()), first_name: Some(" ".into()), ..street("S") },
        ..DestinationDraft::default()
    };
    let method = MethodDraft { destinations: vec![destination], ..MethodDraft::default() };
    let stated = Draft {
        buyer: Some(buyer),
        fulfillment: Some(FulfillmentDraft { methods: vec![method] }),
        attribution: Some(Map::from_iter([
            ("utm".to_owned(), json!("x")),
            ("n".to_owned(), json!(7)),
            ("no".to_owned(), json!({})),
        ])),
        ..draft(&[("gid://shopify/ProductVariant/1", 1)])
    };
    let wish = inquired(Purpose::Checkout, &caller, &stated, &Previous::default());
    assert_eq!((wish.buyer.email.as_deref(), wish.buyer.phone.as_deref()), (None, Some("+1 555")));
    let Goal::To(address) = &wish.goal else { panic!("nowhere") };
    let names = [&address.first_name, &address.last_name, &address.phone].map(Option::as_deref);
    assert_eq!(names, [Some("Bea"), Some("Own"), Some("+1 555")]);
    let mut attributes: Vec<_> = wish.attributes.iter().map(|own| (own.key.as_str(), own.value.as_deref())).collect();
    attributes.sort_unstable();
    assert_eq!(attributes, [("_n", Some("7")), ("_utm", Some("x"))]);
}
