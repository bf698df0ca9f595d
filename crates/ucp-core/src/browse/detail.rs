//! `get_product`: one product in full, narrowed by option choices (UCP *Catalog Lookup*, *Get Product*).

use crate::{
    Refusal,
    catalog::{
        detail::{Detail, Request},
        featured::{Words, featured},
        filter::Criteria,
        product::{Product, ProductOption, SelectedOption},
        selection::{self, Cell, Selection},
    },
    message::{Message, Severity},
    outcome::Outcome,
    ports::{Catalog, Match, Named, Target, caller::BuyerSignals},
    text::{fold, quoted},
};

/// Number of variants that are requested of a product that does not contain all of its variants.
const MOST_COMPLETED: usize = 20;

/// Opens a product.
///
/// # Errors
/// An option chosen twice (rule PRD-03), or whatever the backend reports. An id that names nothing is an outcome.
pub async fn detail(
    catalog: &dyn Catalog,
    request: &Request,
    buyer_signals: &BuyerSignals,
) -> Result<Outcome<Detail>, Refusal> {
    let market = catalog.market();
    let presentation = market.presentation(&request.context);
    let (matches, age) = match catalog.open(&request.id, &presentation, buyer_signals).await? {
        Named::Found(matches) => (matches, None),
        Named::Stale(matches, message) | Named::Dated(matches, message) => (matches, Some(message)),
        Named::Unchecked => return Err(Refusal::unavailable("The shop is temporarily unavailable.", 1)),
    };
    let named = |found: &Match| matches!(found.target, Target::Product | Target::Variant(_));
    let Some(Match { mut product, target }) = matches.into_iter().find(named) else {
        return Ok(Outcome::nothing_under(
            &request.id,
            Message::error("not_found", "No product or variant of this shop has this id.", Severity::Unrecoverable),
        ));
    };
    let (criteria, mut messages) = request.filters.criteria(&market, &request.context, &presentation);
    messages.extend(age);
    messages.extend(unknown_choices(&product, &request.selected));
    let requested = match target {
        Target::Variant(position) => Some(product.variants[position].id.clone()),
        _ => None,
    };

    let mut effective = configure(&product, requested.as_deref(), request, &criteria)?;
    if let Some(missing) = missing(&product, effective.as_deref()) {
        product = catalog.complete(&product, &missing, &presentation, buyer_signals).await?;
        if effective.is_none() {
            effective = configure(&product, requested.as_deref(), request, &criteria)?;
        }
    }
    let shown = effective.map(|effective| (variants(&product, requested.as_deref(), &effective, &criteria), effective));
    let Some((variants, effective)) = shown.filter(|(variants, _)| !variants.is_empty()) else {
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
    let signals = selection::signals(&axes, &cells(&product), &effective);
    let selected = product
        .options
        .iter()
        .zip(&effective)
        .filter_map(|(axis, value)| value.map(|value| axis.selected(value)))
        .collect();
    Ok(Outcome::Answer(Detail { product, selected, signals, variants, messages }))
}

/// Returns all existing combinations of option values.
fn cells(product: &Product) -> Vec<Cell<'_>> {
    match &product.combinations {
        Some(combinations) => {
            combinations.iter().map(|cell| Cell { values: &cell.values, available: cell.available }).collect()
        }
        None => held(product),
    }
}

/// Returns the combinations of option values whose variants the product contains.
fn held(product: &Product) -> Vec<Cell<'_>> {
    product
        .variants
        .iter()
        .map(|variant| Cell { values: &variant.values, available: variant.availability.available })
        .collect()
}

/// The combinations that match a selection, or any where there is none yet, whose variants the product does not hold:
/// those that can be bought first, and not more than can well be asked for. `None` when it holds what is needed.
fn missing<'a>(product: &'a Product, selection: Option<&[Option<usize>]>) -> Option<Vec<&'a [usize]>> {
    product.combinations.as_ref()?;
    let any = vec![None; product.options.len()];
    let (cells, held) = (cells(product), held(product));
    let matching = selection::matching(&cells, selection.unwrap_or(&any)).into_iter().map(|position| cells[position]);
    let mut missing: Vec<_> =
        matching.filter(|cell| held.iter().all(|variant| variant.values != cell.values)).collect();
    missing.sort_by_key(|cell| !cell.available);
    missing.truncate(MOST_COMPLETED);
    (!missing.is_empty()).then(|| missing.into_iter().map(|cell| cell.values).collect())
}

/// Returns the effective selection; `None` if the filters exclude all variants that the product contains.
fn configure(
    product: &Product,
    requested: Option<&str>,
    request: &Request,
    criteria: &Criteria,
) -> Result<Option<Selection>, Refusal> {
    let choice = Choice::read(product, &request.selected)?;
    let exactly = |position: usize| product.variants[position].values.iter().copied().map(Some).collect::<Selection>();
    // A variant id decides alone (rule PRD-07); without a choice the product shows itself (trap T-17).
    if let Some(position) = requested.and_then(|id| position_of(product, id)) {
        return Ok(Some(exactly(position)));
    }
    if request.selected.is_empty() {
        return Ok(featured(product, criteria, &Words::default()).map(exactly));
    }
    let preferences: Vec<_> = request.preferences.iter().filter_map(|name| axis_named(product, name)).collect();
    let sacrifice = selection::sacrifice(&choice.axes, &preferences);
    Ok(Some(selection::relax(&cells(product), choice.wanted, sacrifice)))
}

fn position_of(product: &Product, id: &str) -> Option<usize> {
    product.variants.iter().position(|variant| variant.id == id)
}

/// Returns the positions of the variants to show, the featured one first; none if the filters exclude all.
fn variants(
    product: &Product,
    requested: Option<&str>,
    effective: &[Option<usize>],
    criteria: &Criteria,
) -> Vec<usize> {
    let requested = requested.and_then(|id| position_of(product, id));
    // Filters come last, and never take away the variant that was asked for by id (trap T-19).
    let passes =
        |position: &usize| requested == Some(*position) || criteria.admit(product, &product.variants[*position]);
    let mut variants: Vec<_> = selection::matching(&held(product), effective).into_iter().filter(passes).collect();
    let first = requested.or_else(|| {
        let available = |position: &&usize| product.variants[**position].availability.available;
        variants.iter().find(available).or(variants.first()).copied()
    });
    if let Some(place) = first.and_then(|first| variants.iter().position(|position| *position == first)) {
        variants[..=place].rotate_right(1);
    }
    variants
}

/// The choices of a request as positions. What names nothing is not wanted by any variant and has been given up
/// already.
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

/// Maximum number of choices that name nothing and are told, and of names that each is answered with.
const MOST_TOLD: usize = 20;

/// Returns a warning for each choice whose option or value the product does not have, with those that it has.
fn unknown_choices(product: &Product, selected: &[SelectedOption]) -> Vec<Message> {
    let told = |choice: &SelectedOption| {
        let Some(axis) = axis_named(product, &choice.name) else {
            let options = names(product.options.iter().map(|axis| axis.name.as_str()));
            let content = if options.is_empty() {
                format!("This product has no option `{}`, nor any other.", quoted(&choice.name))
            } else {
                format!("This product has no option `{}`; its options are {options}.", quoted(&choice.name))
            };
            return Some(Message::warning("option_unknown", content).at("$.product.options"));
        };
        if value_chosen(product, axis, choice).is_some() {
            return None;
        }
        let ProductOption { name, values, .. } = &product.options[axis];
        let values = names(values.iter().map(|value| value.label.as_str()));
        let content = format!("`{name}` cannot be `{}` here; its values are {values}.", quoted(&choice.label));
        Some(Message::warning("option_value_unknown", content).at(format!("$.product.options[{axis}].values")))
    };
    selected.iter().filter_map(told).take(MOST_TOLD).collect()
}

/// Returns the first names of a list as text.
fn names<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(MOST_TOLD);
    let first: Vec<_> = names.take(MOST_TOLD).map(|name| format!("`{name}`")).collect();
    if more == 0 { first.join(", ") } else { format!("{} and {more} more", first.join(", ")) }
}

/// Returns the axis of a name: as written, in the default language, or in other letter case.
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
