//! `get_product`: one product in full, narrowed by option choices (UCP *Catalog Lookup*, *Get Product*).

use std::sync::Arc;

use super::{
    Context,
    featured::{Words, featured},
    filter::{Criteria, Filters},
    product::{Product, SelectedOption},
    selection::{self, Cell, Selection, Signal},
};
use crate::{
    Outcome, Refusal,
    message::{Message, Severity},
    operation::Answer,
    port::{Catalog, Match, Target},
    text::fold,
};

/// Which product, and what the buyer chose so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// A product id or a variant id (rule PRD-01).
    pub id: String,
    /// The choices so far, at most one per option.
    pub selected: Vec<SelectedOption>,
    /// Names of options, the most important first: the last one is given up first.
    pub preferences: Vec<String>,
    /// What variants have to be.
    pub filters: Filters,
    /// The buyer's circumstances.
    pub context: Context,
}

/// A product in full.
#[derive(Debug)]
pub struct Detail {
    /// The product.
    pub product: Arc<Product>,
    /// The effective selection, in the order of the product's options.
    pub selected: Vec<SelectedOption>,
    /// For each option, for each of its values, what choosing it would lead to.
    pub signals: Vec<Vec<Signal>>,
    /// The positions of the variants that match, the featured one first.
    pub variants: Vec<usize>,
    /// Notes.
    pub messages: Vec<Message>,
}

/// Opens a product.
///
/// # Errors
/// An option chosen twice (rule PRD-03), or whatever the backend reports. An id that names nothing is an outcome.
pub async fn detail(catalog: &dyn Catalog, request: &Request) -> Result<Outcome, Refusal> {
    let market = catalog.market();
    let presentation = market.presentation(&request.context);
    let matches = catalog.resolve(&[&request.id], &presentation).await?.into_iter().next().unwrap_or_default();
    let named = |found: &Match| matches!(found.target, Target::Product | Target::Variant(_));
    let Some(Match { product, target }) = matches.into_iter().find(named) else {
        return Ok(Outcome::nothing_under(
            &request.id,
            Message::error("not_found", "No product or variant of this shop has this id.", Severity::Unrecoverable),
        ));
    };
    let (criteria, messages) = request.filters.criteria(&market, &request.context, &presentation);
    let requested = match target {
        Target::Variant(position) => Some(position),
        _ => None,
    };
    let cells = cells(&product);
    let Some((effective, variants)) = configure(&product, &cells, requested, request, &criteria)? else {
        return Ok(Outcome::nothing_under(
            &request.id,
            Message::error(
                "not_found",
                "No variant of this product passes the filters. The product can be had without them.",
                Severity::Recoverable,
            ),
        ));
    };
    let axes: Vec<_> = product.options.iter().map(|axis| axis.values.len()).collect();
    let signals = selection::signals(&axes, &cells, &effective);
    let selected = product
        .options
        .iter()
        .zip(&effective)
        .filter_map(|(axis, value)| value.map(|value| axis.selected(value)))
        .collect();
    Ok(Outcome::Answer(Answer::GetProduct(Detail { product, selected, signals, variants, messages })))
}

fn cells(product: &Product) -> Vec<Cell<'_>> {
    product
        .variants
        .iter()
        .map(|variant| Cell { values: &variant.values, available: variant.availability.available })
        .collect()
}

/// The effective selection and the variants to show, the featured one first; `None` when the filters leave none.
fn configure(
    product: &Product,
    cells: &[Cell<'_>],
    requested: Option<usize>,
    request: &Request,
    criteria: &Criteria,
) -> Result<Option<(Selection, Vec<usize>)>, Refusal> {
    let choice = Choice::read(product, &request.selected)?;
    let exactly = |position: usize| product.variants[position].values.iter().copied().map(Some).collect::<Selection>();

    // A variant id decides alone (rule PRD-07); without a choice the product shows itself (trap T-17).
    let effective = match requested {
        Some(position) => exactly(position),
        None if request.selected.is_empty() => {
            let shown = featured(product, criteria, &Words::default());
            match shown {
                Some(position) => exactly(position),
                None => return Ok(None),
            }
        }
        None => {
            let preferences: Vec<_> = request.preferences.iter().filter_map(|name| axis_named(product, name)).collect();
            selection::relax(cells, choice.wanted, selection::sacrifice(&choice.axes, &preferences))
        }
    };

    // Filters come last, and never take away the variant that was asked for by id (trap T-19).
    let passes =
        |position: &usize| requested == Some(*position) || criteria.admit(product, &product.variants[*position]);
    let mut variants: Vec<_> = selection::matching(cells, &effective).into_iter().filter(passes).collect();
    let first = requested.or_else(|| {
        let available = |position: &&usize| product.variants[**position].availability.available;
        variants.iter().find(available).or(variants.first()).copied()
    });
    let Some(place) = first.and_then(|first| variants.iter().position(|position| *position == first)) else {
        return Ok(None);
    };
    variants[..=place].rotate_right(1);
    Ok(Some((effective, variants)))
}

/// The choices of a request as positions. What names nothing is not wanted by any variant and has been given up already.
struct Choice {
    wanted: Selection,
    /// The chosen axes, in the order of the request.
    axes: Vec<usize>,
}

impl Choice {
    fn read(product: &Product, selected: &[SelectedOption]) -> Result<Self, Refusal> {
        let mut choice = Self { wanted: vec![None; product.options.len()], axes: Vec::new() };
        let mut seen: Vec<Result<usize, &str>> = Vec::new();
        for (place, option) in selected.iter().enumerate() {
            let axis = axis_named(product, &option.name);
            let name = axis.ok_or(option.name.as_str());
            if seen.contains(&name) {
                return Err(Refusal::invalid(format!("$.selected[{place}].name"), "An option is selected twice.")
                    .accepting("each option name at most once in `selected`"));
            }
            seen.push(name);
            if let Some(axis) = axis
                && let Some(value) = value_chosen(product, axis, option)
            {
                choice.wanted[axis] = Some(value);
                choice.axes.push(axis);
            }
        }
        Ok(choice)
    }
}

/// The axis a name means: as written, in the shop's own language, or in other letter case.
fn axis_named(product: &Product, name: &str) -> Option<usize> {
    let folded = fold(name);
    let by = |same: &dyn Fn(&str) -> bool| {
        product.options.iter().position(|axis| same(&axis.name) || axis.canonical.as_deref().is_some_and(same))
    };
    by(&|own| own == name).or_else(|| by(&|own| fold(own) == folded))
}

/// The value a choice means on an axis: by id where the axis has ids and the choice gives one (rule PRD-09), else by
/// label, as written, in the shop's own language, or in other letter case.
fn value_chosen(product: &Product, axis: usize, choice: &SelectedOption) -> Option<usize> {
    let values = &product.options[axis].values;
    if let Some(id) = &choice.id
        && values.iter().any(|value| value.id.is_some())
    {
        return values.iter().position(|value| value.id.as_ref() == Some(id));
    }
    let folded = fold(&choice.label);
    let by = |same: &dyn Fn(&str) -> bool| {
        values.iter().position(|value| same(&value.label) || value.canonical.as_deref().is_some_and(same))
    };
    by(&|own| own == choice.label).or_else(|| by(&|own| fold(own) == folded))
}
