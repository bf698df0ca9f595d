//! `get_product`: selection, relaxation, signals.

use super::*;

fn select(pairs: &[(&str, &str)]) -> Value {
    pairs.iter().map(|(name, label)| json!({ "name": name, "label": label })).collect()
}

fn open(gateway: &Gateway, payload: &Value) -> Value {
    gateway.product(payload)["product"].take()
}

fn variants(product: &Value) -> Vec<&str> {
    texts(&product["variants"], "id")
}

#[test]
fn prd_01_only_product_and_variant_ids_open_a_product() {
    let gateway = Gateway::shared();
    for id in ["prod_abc123", "var_abc123_blue_8"] {
        assert_eq!(open(&gateway, &json!({ "id": id }))["id"], "prod_abc123");
    }
    for id in ["runner-pro", "RP-BLU-10", "nothing", ""] {
        let answer = gateway.product(&json!({ "id": id }));
        assert_eq!((&answer["ucp"]["status"], codes(&answer)), (&json!("error"), vec!["not_found"]), "{id}");
        assert_eq!(answer["messages"][0]["severity"], "unrecoverable", "PRD-02");
    }
}

#[test]
fn prd_07_a_variant_id_comes_first_and_overrules_the_selection() {
    let gateway = Gateway::shared();
    let plain = open(&gateway, &json!({ "id": "var_abc123_red_10" }));
    assert_eq!(variants(&plain)[0], "var_abc123_red_10");
    assert_eq!(plain["selected"], select(&[("Color", "Red"), ("Size", "10")]));
    for selected in [
        select(&[("Color", "Blue")]),
        select(&[("Color", "Blue"), ("Size", "11")]),
        select(&[("Color", "Mauve"), ("Weight", "heavy")]),
    ] {
        let payload = json!({ "id": "var_abc123_red_10", "selected": selected, "preferences": ["Size"] });
        assert_eq!(open(&gateway, &payload), plain, "{selected}");
    }
    // A sold-out variant is still the one that was asked for.
    assert_eq!(variants(&open(&gateway, &json!({ "id": "var_abc123_green_9" })))[0], "var_abc123_green_9");
}

#[test]
fn prd_03_an_option_is_selected_at_most_once() {
    let gateway = Gateway::shared();
    for (selected, place) in [
        (select(&[("Color", "Blue"), ("Color", "Red")]), 1),
        (select(&[("Color", "Blue"), ("Size", "8"), ("Color", "Blue")]), 2),
        (select(&[("Color", "Blue"), ("color", "Blue")]), 1),
        (select(&[("Nothing", "a"), ("Nothing", "b")]), 1),
    ] {
        for id in ["prod_abc123", "var_abc123_blue_8"] {
            let payload = json!({ "id": id, "selected": selected });
            let path = format!("$.selected[{place}].name");
            let verdict = gateway.rest("get_product", &payload);
            assert_eq!(refused(&verdict), ("invalid_request", path.as_str()), "{payload}");
        }
    }
}

#[test]
fn prd_04_relaxation_follows_the_preferences_from_the_end() {
    let gateway = Gateway::shared();
    for (selected, preferences, effective) in [
        (vec![("Color", "Blue"), ("Size", "8")], json!(["Color", "Size"]), vec![("Color", "Blue"), ("Size", "8")]),
        // Blue has no size 11.
        (vec![("Color", "Blue"), ("Size", "11")], json!(["Color", "Size"]), vec![("Color", "Blue")]),
        (vec![("Color", "Blue"), ("Size", "11")], json!(["Size", "Color"]), vec![("Size", "11")]),
        // T-18: what is not preferred goes first, the last one sent before the others.
        (vec![("Color", "Blue"), ("Size", "11")], json!(["Size"]), vec![("Size", "11")]),
        (vec![("Color", "Blue"), ("Size", "11")], json!([]), vec![("Color", "Blue")]),
        (vec![("Size", "11"), ("Color", "Blue")], json!([]), vec![("Size", "11")]),
        (vec![("Size", "11"), ("Color", "Blue")], json!(["Weight", "Weight"]), vec![("Size", "11")]),
        // T-18: unknown names and labels match nothing and are given up.
        (vec![("Color", "Mauve"), ("Size", "9")], json!(["Color", "Size"]), vec![("Size", "9")]),
        (vec![("Weight", "heavy"), ("Size", "9")], json!(["Weight"]), vec![("Size", "9")]),
        (vec![("Color", "Mauve")], json!([]), vec![]),
        // Being sold out is no reason to relax.
        (vec![("Color", "Green"), ("Size", "8")], json!([]), vec![("Color", "Green"), ("Size", "8")]),
    ] {
        let payload = json!({ "id": "prod_abc123", "selected": select(&selected), "preferences": preferences });
        let product = open(&gateway, &payload);
        assert_eq!(product["selected"], select(&effective), "{payload}");
        let matching = elements(&product["variants"]);
        assert!(!matching.is_empty());
        for variant in matching {
            for option in elements(&product["selected"]) {
                assert!(elements(&variant["options"]).contains(option), "{payload}: {variant}");
            }
        }
    }
}

/// PRD-08, computed again from the matrix of variants, for every product and a choice of selections.
#[test]
fn prd_08_signals_agree_with_the_variants_of_the_product() {
    let gateway = Gateway::shared();
    let (products, _) = gateway.search_all(&everything(), 50);
    let (mut judged, mut holes, mut sold_out) = (0, 0, 0);
    for listed in &products {
        let Some(axes) = listed.get("options").map(elements) else { continue };
        // A label that matches nothing is given up: every variant comes back.
        let all = open(&gateway, &json!({ "id": listed["id"], "selected": select(&[("No such option", "x")]) }));
        assert_eq!(all["selected"], json!([]), "{}", listed["id"]);
        let cells: Vec<(Vec<&str>, bool)> = elements(&all["variants"])
            .iter()
            .map(|variant| {
                let by_axis = axes.iter().map(|axis| {
                    let own = elements(&variant["options"]).iter().find(|own| own["name"] == axis["name"]);
                    own.expect("a value on every axis")["label"].as_str().expect("a label")
                });
                (by_axis.collect(), variant["availability"]["available"] == true)
            })
            .collect();
        for (place, (cell, _)) in cells.iter().enumerate().step_by(cells.len().div_ceil(3)) {
            // One axis, and all axes.
            for count in BTreeSet::from([1, axes.len()]) {
                let chosen: Vec<_> =
                    (0..count).map(|axis| (axes[axis]["name"].as_str().expect("a name"), cell[axis])).collect();
                let product = open(&gateway, &json!({ "id": listed["id"], "selected": select(&chosen) }));
                let effective: Vec<_> = elements(&product["selected"])
                    .iter()
                    .map(|option| {
                        (option["name"].as_str().expect("a name"), option["label"].as_str().expect("a label"))
                    })
                    .collect();
                assert_eq!(effective, chosen, "{} {place}", listed["id"]);
                let matches = |other: &[&str]| (0..count).all(|axis| other[axis] == cell[axis]);
                let expected = cells.iter().filter(|(other, _)| matches(other)).count();
                assert_eq!(elements(&product["variants"]).len(), expected, "{} {chosen:?}", listed["id"]);
                for (axis, option) in elements(&product["options"]).iter().enumerate() {
                    for value in elements(&option["values"]) {
                        let reachable = || {
                            cells.iter().filter(|(other, _)| {
                                other[axis] == value["label"]
                                    && (0..count).all(|own| own == axis || other[own] == cell[own])
                            })
                        };
                        let exists = reachable().next().is_some();
                        let available = reachable().any(|(_, available)| *available);
                        assert_eq!(
                            (value["exists"].as_bool(), value["available"].as_bool()),
                            (Some(exists), Some(available)),
                            "{} {chosen:?} {} {}",
                            listed["id"],
                            option["name"],
                            value["label"]
                        );
                        judged += 1;
                        holes += usize::from(!exists);
                        sold_out += usize::from(exists && !available);
                    }
                }
            }
        }
    }
    assert!(judged > 2_000 && holes > 50 && sold_out > 50, "{judged} signals, {holes} holes, {sold_out} sold out");
}

#[test]
fn prd_09_an_option_is_matched_by_its_id_before_its_label() {
    let gateway = Gateway::shared();
    let id = "prod_everyday-tee";
    let tee = open(&gateway, &json!({ "id": id }));
    let colours = elements(&tee["options"][0]["values"]);
    let (first, second) = (&colours[0], &colours[1]);
    assert!(first["id"].is_string() && second["id"].is_string(), "the sample shop has options with ids");
    let selected = |choice: Value| open(&gateway, &json!({ "id": id, "selected": [choice] }))["selected"].take();
    let by_id = selected(json!({ "name": "Color", "id": second["id"], "label": first["label"] }));
    assert_eq!(by_id, json!([{ "name": "Color", "id": second["id"], "label": second["label"] }]));
    let by_label = selected(json!({ "name": "Color", "label": second["label"] }));
    assert_eq!(by_label, by_id);
    assert_eq!(selected(json!({ "name": "Color", "id": "unheard of", "label": first["label"] })), json!([]));
    // An option without ids has nothing but labels.
    let payload = json!({ "id": "prod_abc123", "selected": [{ "name": "Color", "id": "x", "label": "Red" }] });
    assert_eq!(open(&gateway, &payload)["selected"], select(&[("Color", "Red")]));
}

#[test]
fn t_17_without_a_selection_the_featured_variant_shows_itself() {
    let gateway = Gateway::shared();
    let (products, _) = gateway.search_all(&everything(), 50);
    for listed in &products {
        let product = open(&gateway, &json!({ "id": listed["id"] }));
        let whole = &product["variants"][0];
        let shown = listed["variants"][0].as_object().expect("a variant");
        assert_eq!(whole.as_object(), Some(shown), "the same variant that a search shows");
        assert_eq!(product.get("selected"), product["variants"][0].get("options"), "PRD-05");
        assert_eq!(product["price_range"], listed["price_range"], "PRD-11");
    }
}

#[test]
fn prd_05_a_product_without_options_has_no_selection() {
    let gateway = Gateway::shared();
    let (products, _) = gateway.search_all(&everything(), 50);
    let plain = products.iter().find(|product| product.get("options").is_none()).expect("one without options");
    for selected in [json!([]), select(&[("Color", "Blue")])] {
        let product = open(&gateway, &json!({ "id": plain["id"], "selected": selected }));
        assert_eq!((product.get("options"), product.get("selected")), (None, None));
        assert_eq!(elements(&product["variants"]).len(), 1);
    }
}

#[test]
fn prd_10_filters_come_after_the_selection() {
    let gateway = Gateway::shared();
    let open_with = |id: &str, selected: Value, filters: Value| {
        gateway.product(&json!({ "id": id, "selected": selected, "filters": filters }))
    };
    let dear = open_with("prod_abc123", select(&[("Color", "Blue")]), json!({ "price": { "min": 15_000 } }));
    assert_eq!(variants(&dear["product"]), ["var_abc123_blue_12"]);
    assert_eq!(dear["product"]["selected"], select(&[("Color", "Blue")]), "filters do not relax");
    assert_eq!(dear["product"]["price_range"]["min"]["amount"], 12_000, "PRD-11");

    // T-19: the variant that was asked for is never filtered out, the others are.
    let asked = open_with("var_abc123_blue_8", json!([]), json!({ "price": { "max": 1 }, "available": true }));
    assert_eq!(variants(&asked["product"]), ["var_abc123_blue_8"]);

    // T-19: nothing left of a product is an outcome that another call can mend.
    for (selected, filters) in [
        (json!([]), json!({ "price": { "max": 1 } })),
        (json!([]), json!({ "categories": ["Hardware"] })),
        (select(&[("Color", "Green")]), json!({ "available": true })),
    ] {
        let answer = open_with("prod_abc123", selected, filters.clone());
        assert_eq!((&answer["ucp"]["status"], codes(&answer)), (&json!("error"), vec!["not_found"]), "{filters}");
        assert_eq!(answer["messages"][0]["severity"], "recoverable", "{filters}");
    }
    let notes = open_with("prod_abc123", json!([]), json!({ "unheard_of": 1 }));
    assert_eq!(codes(&notes), ["filter_ignored"]);
}

#[test]
fn prd_06_the_first_variant_is_one_that_can_be_bought() {
    let gateway = Gateway::shared();
    // Green is sold out, and comes last in the selection of a size.
    let product = open(&gateway, &json!({ "id": "prod_abc123", "selected": select(&[("Size", "11")]) }));
    assert_eq!(product["variants"][0]["id"], "var_abc123_red_11");
    assert_eq!(variants(&product).len(), 2);
}

#[test]
fn a_product_of_2048_variants_is_served_whole_and_narrowed() {
    let gateway = Gateway::shared();
    let id = "prod_fathom-machine-screw";
    let all = open(&gateway, &json!({ "id": id, "selected": select(&[("None", "x")]) }));
    assert_eq!(elements(&all["variants"]).len(), 2_048);
    let one = open(
        &gateway,
        &json!({ "id": id, "selected": select(&[("Material", "Brass"), ("Thread", "M6"), ("Length", "40 mm")]) }),
    );
    assert_eq!(elements(&one["variants"]).len(), 1);
    let variant = &elements(&all["variants"])[2_047]["id"];
    let last = open(&gateway, &json!({ "id": variant }));
    assert_eq!(last["variants"][0]["id"], *variant);
    let listed = gateway.lookup(&json!({ "ids": [variant, id] }));
    assert_eq!(elements(&listed["products"][0]["variants"]).len(), 2);
    let nylon = open(&gateway, &json!({ "id": id, "selected": select(&[("Material", "Nylon")]) }));
    assert_eq!(elements(&nylon["variants"]).len(), 256);
    assert_eq!(nylon["variants"][0]["availability"]["available"], true);
}

#[test]
fn choices_that_name_nothing_are_answered_with_what_there_is() {
    let gateway = Gateway::shared();
    let said = |selected: &[(&str, &str)]| {
        let answer = gateway.product(&json!({ "id": "prod_abc123", "selected": select(selected) }));
        let messages: Vec<Value> = answer.get("messages").map(elements).unwrap_or_default().to_vec();
        messages
            .into_iter()
            .map(|message| {
                assert_eq!(message["type"], "warning", "{message}");
                let text = |name: &str| message[name].as_str().expect("a text").to_owned();
                (text("code"), text("path"), text("content"))
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(said(&[("color", "BLUE"), ("Size", "9")]), []);
    assert_eq!(said(&[("Size", "11"), ("Color", "Blue")]), [], "a combination that does not exist names what there is");
    let [(code, path, content)] = &said(&[("Weight", "heavy"), ("Size", "9")])[..] else { panic!("one") };
    assert_eq!((code.as_str(), path.as_str()), ("option_unknown", "$.product.options"));
    assert!(content.contains("`Weight`") && content.contains("`Color`") && content.contains("`Size`"), "{content}");
    let [(code, path, content)] = &said(&[("Color", "Mauve")])[..] else { panic!("one") };
    assert_eq!((code.as_str(), path.as_str()), ("option_value_unknown", "$.product.options[0].values"));
    assert!(content.contains("`Mauve`") && content.contains("`Blue`") && content.contains("`Red`"), "{content}");
}
