//! Options: what exists, what can be had, what is given up (UCP *Get Product*).
//!
//! Existing combinations are determined the long way: each is requested, and exists if nothing had to be removed. Every
//! signal and every relaxation is then computed from that.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Subject, asked};
use crate::{
    harness::{elements, texts},
    purchase::shopper::Shopper,
};

/// The options of a product, and which combinations of their values there are.
struct Matrix {
    id: String,
    axes: Vec<(String, Vec<String>)>,
    /// Positions on each axis, and whether it can be had.
    cells: BTreeMap<Vec<usize>, bool>,
}

/// Chosen value of each axis.
type Choice = Vec<Option<usize>>;

impl Matrix {
    fn of(shopper: &Shopper<'_>, id: &str) -> Self {
        let product = asked(shopper, "get_product", json!({ "id": id }))["product"].take();
        let axes: Vec<(String, Vec<String>)> = elements(&product["options"])
            .iter()
            .map(|axis| {
                let values = texts(&axis["values"], "label").into_iter().map(str::to_owned).collect();
                (axis["name"].as_str().expect("a name").to_owned(), values)
            })
            .collect();
        assert!(axes.len() >= 2, "{product}");
        let mut matrix = Self { id: id.to_owned(), axes, cells: BTreeMap::new() };
        for cell in matrix.combinations(false) {
            let shown = matrix.open(shopper, &cell, &[]);
            if matrix.effective(&shown) == cell {
                let featured = &shown["variants"][0];
                let whole: Vec<usize> = cell.into_iter().flatten().collect();
                assert_eq!(matrix.position(&featured["options"]), whole, "{featured}");
                matrix.cells.insert(whole, featured["availability"]["available"] == true);
            }
        }
        let all: usize = matrix.axes.iter().map(|(_, values)| values.len()).product();
        assert!(matrix.cells.len() < all, "a product without gaps proves little");
        assert!(matrix.cells.values().any(|available| !available), "a product that is never sold out proves little");
        assert!(matrix.cells.values().any(|available| *available), "{id}");
        matrix
    }

    /// Every choice of values, with or without those that leave axes open.
    fn combinations(&self, open: bool) -> Vec<Choice> {
        self.axes.iter().fold(vec![Vec::new()], |choices, (_, values)| {
            let own: Vec<Option<usize>> = open.then_some(None).into_iter().chain((0..values.len()).map(Some)).collect();
            choices.iter().flat_map(|choice| own.iter().map(move |value| [&choice[..], &[*value]].concat())).collect()
        })
    }

    fn selected(&self, choice: &[Option<usize>]) -> Value {
        let named = self.axes.iter().zip(choice);
        named.filter_map(|((name, values), value)| Some(json!({ "name": name, "label": values[(*value)?] }))).collect()
    }

    #[track_caller]
    fn open(&self, shopper: &Shopper<'_>, choice: &[Option<usize>], preferences: &[&str]) -> Value {
        let payload = json!({ "id": self.id, "selected": self.selected(choice), "preferences": preferences });
        asked(shopper, "get_product", payload)["product"].take()
    }

    /// Positions of options that a document names.
    #[track_caller]
    fn choice(&self, options: &Value) -> Choice {
        let mut choice = vec![None; self.axes.len()];
        for option in elements(options) {
            let axis = self.axes.iter().position(|(name, _)| option["name"] == **name).expect("an option it has");
            let value = self.axes[axis].1.iter().position(|label| option["label"] == **label);
            choice[axis] = Some(value.expect("a value it has"));
        }
        choice
    }

    #[track_caller]
    fn position(&self, options: &Value) -> Vec<usize> {
        self.choice(options).into_iter().map(|value| value.expect("a value on every axis")).collect()
    }

    #[track_caller]
    fn effective(&self, product: &Value) -> Choice {
        self.choice(&product["selected"])
    }

    /// Returns `true` if any combination fits, and any that can be had.
    fn there_is(&self, choice: &[Option<usize>]) -> (bool, bool) {
        let fits = |cell: &[usize]| cell.iter().zip(choice).all(|(own, wanted)| wanted.is_none_or(|it| it == *own));
        let mut fitting = self.cells.iter().filter(|(cell, _)| fits(cell)).peekable();
        (fitting.peek().is_some(), fitting.any(|(_, available)| *available))
    }

    /// Rest of a choice after removing the least preferred values until something fits (rule PRD-04).
    fn relaxed(&self, choice: &[Option<usize>], preferred_last: &[usize]) -> Choice {
        let mut left = choice.to_vec();
        for axis in preferred_last {
            if self.there_is(&left).0 {
                break;
            }
            left[*axis] = None;
        }
        left
    }

    /// Checks that a product shows the values beside the chosen ones (rule PRD-08), and only variants that fit.
    #[track_caller]
    fn judge(&self, product: &Value, chosen: &[Option<usize>]) {
        for (axis, option) in elements(&product["options"]).iter().enumerate() {
            for (value, shown) in elements(&option["values"]).iter().enumerate() {
                let mut beside = chosen.to_vec();
                beside[axis] = Some(value);
                let told = (shown["exists"] == true, shown["available"] == true);
                assert_eq!(told, self.there_is(&beside), "{} of {} beside {chosen:?}", shown["label"], option["name"]);
            }
        }
        for variant in elements(&product["variants"]) {
            let own = self.position(&variant["options"]);
            let fits = own.iter().zip(chosen).all(|(own, wanted)| wanted.is_none_or(|it| it == *own));
            assert!(fits, "{variant} beside {chosen:?}");
            let available = variant["availability"]["available"] == true;
            assert_eq!(self.cells.get(&own), Some(&available), "{variant}");
        }
    }
}

/// Each value states whether it exists and is available beside any choice.
pub(super) fn signals_are_those_of_the_combinations_there_are(subject: &Subject) {
    for shopper in subject.shoppers() {
        let matrix = Matrix::of(&shopper, subject.goods.choices);
        for choice in matrix.combinations(true) {
            if choice.iter().all(Option::is_none) || !matrix.there_is(&choice).0 {
                continue;
            }
            let shown = matrix.open(&shopper, &choice, &[]);
            assert_eq!(matrix.effective(&shown), choice);
            matrix.judge(&shown, &choice);
        }
        // Without a choice, the featured variant is returned.
        let shown = asked(&shopper, "get_product", json!({ "id": subject.goods.choices }))["product"].take();
        let featured: Choice = matrix.position(&shown["variants"][0]["options"]).into_iter().map(Some).collect();
        let chosen = matrix.effective(&shown);
        assert_eq!(chosen, featured, "{shown}");
    }
}

/// Removes choices that exclude each other, the least preferred first.
pub(super) fn choices_are_given_up_in_order(subject: &Subject) {
    for shopper in subject.shoppers() {
        let matrix = Matrix::of(&shopper, subject.goods.choices);
        let names: Vec<&str> = matrix.axes.iter().map(|(name, _)| name.as_str()).collect();
        let gaps: Vec<_> = matrix.combinations(false).into_iter().filter(|choice| !matrix.there_is(choice).0).collect();
        assert!(!gaps.is_empty());
        for gap in gaps.iter().take(12) {
            let forward: Vec<usize> = (0..names.len()).collect();
            let backward: Vec<usize> = forward.iter().rev().copied().collect();
            for (order, given_up) in [(&forward, &backward), (&backward, &forward)] {
                let preferences: Vec<&str> = order.iter().map(|axis| names[*axis]).collect();
                let left = matrix.relaxed(gap, given_up);
                let shown = matrix.open(&shopper, gap, &preferences);
                assert_eq!(matrix.effective(&shown), left, "{gap:?} with {preferences:?}");
                matrix.judge(&shown, &left);
            }
        }
    }
}

/// Returns a requested variant, whatever else is chosen (rule PRD-07).
pub(super) fn a_variant_overrules_the_choices(subject: &Subject) {
    for shopper in subject.shoppers() {
        let matrix = Matrix::of(&shopper, subject.goods.choices);
        let shown = asked(&shopper, "get_product", json!({ "id": subject.goods.choices }));
        let wanted = &elements(&shown["product"]["variants"]).last().expect("a variant")["id"];
        for choice in matrix.combinations(true).into_iter().step_by(3) {
            let payload = json!({ "id": wanted, "selected": matrix.selected(&choice) });
            let product = asked(&shopper, "get_product", payload)["product"].take();
            assert_eq!(product["id"], subject.goods.choices);
            assert_eq!(&product["variants"][0]["id"], wanted);
            let own: Choice = matrix.position(&product["variants"][0]["options"]).into_iter().map(Some).collect();
            assert_eq!(matrix.effective(&product), own);
            matrix.judge(&product, &own);
        }
    }
}
