//! The option engine: select, relax, signal (UCP *Get Product*, *Option Selection*; rules PRD-03 to PRD-08).
//!
//! A product with options is a sparse matrix: one axis per option, one cell per variant. A buyer narrows it step by
//! step. The engine turns what the buyer chose into the *effective selection* (what is left of the choice after
//! relaxation), into a signal on every option value, and into the variants that match.
//!
//! Everything here is a pure function of positions in that matrix; it knows no names, labels and prices.

/// One variant as a cell of the matrix: its value on every axis, and whether it can be bought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell<'a> {
    /// Position of the value on each axis.
    pub values: &'a [usize],
    /// `true` if the variant can be bought.
    pub available: bool,
}

/// For each axis, the chosen value, or `None` where anything goes.
pub type Selection = Vec<Option<usize>>;

/// Effect of choosing a value, given the rest of the effective selection (rule PRD-08).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signal {
    /// `true` if a variant has this value.
    pub exists: bool,
    /// `true` if such a variant can be bought.
    pub available: bool,
}

fn matches(cell: &Cell<'_>, selection: &[Option<usize>]) -> bool {
    cell.values.iter().zip(selection).all(|(value, chosen)| chosen.is_none_or(|chosen| chosen == *value))
}

/// Returns the effective selection: `wanted` without the axes that had to be given up for a variant to match.
///
/// Axes go in the order of `sacrifice`, the first one first. Being sold out is no reason to relax.
pub fn relax(cells: &[Cell<'_>], mut wanted: Selection, sacrifice: impl IntoIterator<Item = usize>) -> Selection {
    let mut sacrifice = sacrifice.into_iter();
    while !cells.iter().any(|cell| matches(cell, &wanted)) {
        match sacrifice.next() {
            Some(axis) => wanted[axis] = None,
            None => return vec![None; wanted.len()],
        }
    }
    wanted
}

/// In which order the axes of a choice are given up (rule PRD-04, trap T-18): first those without a preference, the
/// last one chosen first; then those with one, from the end of the list of preferences.
pub fn sacrifice(chosen: &[usize], preferences: &[usize]) -> Vec<usize> {
    let unlisted = chosen.iter().rev().filter(|axis| !preferences.contains(axis));
    // An axis named twice counts where it is named first.
    let listed = preferences
        .iter()
        .enumerate()
        .rev()
        .filter(|(place, axis)| chosen.contains(axis) && !preferences[..*place].contains(axis));
    unlisted.copied().chain(listed.map(|(_, axis)| *axis)).collect()
}

/// The signal on every value of every axis, relative to the effective selection: for a value of an axis, what matches
/// once that axis is set to it and all others stay as selected.
///
/// One pass: a cell that differs from the selection nowhere speaks for all its values, one that differs on a single
/// axis only for its value there.
pub fn signals(axes: &[usize], cells: &[Cell<'_>], selection: &[Option<usize>]) -> Vec<Vec<Signal>> {
    let mut signals: Vec<Vec<Signal>> = axes.iter().map(|values| vec![Signal::default(); *values]).collect();
    let mut mark = |axis: usize, cell: &Cell<'_>| {
        let signal = &mut signals[axis][cell.values[axis]];
        signal.exists = true;
        signal.available |= cell.available;
    };
    for cell in cells {
        let mut differing =
            (0..axes.len()).filter(|axis| selection[*axis].is_some_and(|chosen| chosen != cell.values[*axis]));
        match (differing.next(), differing.next()) {
            (None, _) => (0..axes.len()).for_each(|axis| mark(axis, cell)),
            (Some(axis), None) => mark(axis, cell),
            (Some(_), Some(_)) => {}
        }
    }
    signals
}

/// Returns the positions of the cells that match the selection, in stored order.
pub fn matching(cells: &[Cell<'_>], selection: &[Option<usize>]) -> Vec<usize> {
    cells.iter().enumerate().filter(|(_, cell)| matches(cell, selection)).map(|(position, _)| position).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell as Count;

    use proptest::prelude::*;

    use super::*;

    /// A random matrix with holes: sizes of the axes, cells, and what a buyer asks for.
    #[derive(Clone, Debug)]
    struct Case {
        axes: Vec<usize>,
        cells: Vec<(Vec<usize>, bool)>,
        /// (axis, value) in the order chosen.
        chosen: Vec<(usize, usize)>,
        preferences: Vec<usize>,
    }

    impl Case {
        fn cells(&self) -> Vec<Cell<'_>> {
            self.cells.iter().map(|(values, available)| Cell { values, available: *available }).collect()
        }

        fn wanted(&self) -> Selection {
            let mut wanted = vec![None; self.axes.len()];
            self.chosen.iter().for_each(|(axis, value)| wanted[*axis] = Some(*value));
            wanted
        }

        fn relaxed(&self) -> Selection {
            let chosen: Vec<_> = self.chosen.iter().map(|(axis, _)| *axis).collect();
            relax(&self.cells(), self.wanted(), sacrifice(&chosen, &self.preferences))
        }
    }

    fn case() -> impl Strategy<Value = Case> {
        prop::collection::vec(1_usize..5, 1..5).prop_flat_map(|axes| {
            let count = axes.len();
            let cell = (axes.iter().map(|values| 0..*values).collect::<Vec<_>>(), prop::bool::weighted(0.7));
            let order = Just((0..count).collect::<Vec<_>>()).prop_shuffle();
            let values = axes.iter().map(|values| 0..*values).collect::<Vec<_>>();
            (
                Just(axes),
                prop::collection::vec(cell, 1..30),
                (order, values, 0..=count).prop_map(|(order, values, take)| {
                    order.into_iter().take(take).map(|axis| (axis, values[axis])).collect()
                }),
                prop::collection::vec(0..count, 0..=count + 1),
            )
                .prop_map(|(axes, cells, chosen, preferences)| Case { axes, cells, chosen, preferences })
        })
    }

    /// The rules, said once more by brute force.
    mod oracle {
        use super::*;

        pub(super) fn fits(values: &[usize], selection: &[Option<usize>]) -> bool {
            (0..values.len()).all(|axis| selection[axis].is_none() || selection[axis] == Some(values[axis]))
        }

        /// Tries the shrinking list of chosen axes, most sacrificed first, by sorting axes once by how long they are
        /// kept.
        pub(super) fn effective(case: &Case) -> Selection {
            let mut kept: Vec<(usize, usize)> = case.chosen.clone();
            let rank = |axis: usize, place: usize| match case.preferences.iter().position(|listed| *listed == axis) {
                Some(preferred) => (0, preferred),
                None => (1, place),
            };
            let places: Vec<usize> = case.chosen.iter().map(|(axis, _)| *axis).collect();
            kept.sort_by_key(|(axis, _)| rank(*axis, places.iter().position(|chosen| chosen == axis).expect("chosen")));
            for length in (0..=kept.len()).rev() {
                let mut selection = vec![None; case.axes.len()];
                kept[..length].iter().for_each(|(axis, value)| selection[*axis] = Some(*value));
                if case.cells.iter().any(|(values, _)| fits(values, &selection)) {
                    return selection;
                }
            }
            unreachable!("every matrix has a cell, and the empty selection matches it")
        }

        pub(super) fn signal(case: &Case, selection: &[Option<usize>], axis: usize, value: usize) -> Signal {
            let mut replaced = selection.to_vec();
            replaced[axis] = Some(value);
            let fitting: Vec<_> = case.cells.iter().filter(|(values, _)| fits(values, &replaced)).collect();
            Signal { exists: !fitting.is_empty(), available: fitting.iter().any(|(_, available)| *available) }
        }
    }

    #[test]
    fn the_engine_agrees_with_brute_force_on_a_corpus_that_means_something() {
        let (relaxed, holes, sold_out, narrowed, kept_by_preference) =
            (Count::new(0), Count::new(0), Count::new(0), Count::new(0), Count::new(0));
        let bump = |count: &Count<u32>, when: bool| count.set(count.get() + u32::from(when));
        let cases = 4_000;
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
            cases,
            failure_persistence: None,
            ..ProptestConfig::default()
        });
        runner
            .run(&case(), |case| {
                let effective = case.relaxed();
                prop_assert_eq!(&effective, &oracle::effective(&case));

                let cells = case.cells();
                let signals = signals(&case.axes, &cells, &effective);
                for (axis, values) in signals.iter().enumerate() {
                    for (value, signal) in values.iter().enumerate() {
                        prop_assert_eq!(*signal, oracle::signal(&case, &effective, axis, value));
                        bump(&holes, !signal.exists);
                        bump(&sold_out, signal.exists && !signal.available);
                    }
                }

                let found = matching(&cells, &effective);
                let fitting: Vec<_> =
                    (0..cells.len()).filter(|position| oracle::fits(cells[*position].values, &effective)).collect();
                prop_assert!(!found.is_empty());
                prop_assert_eq!(&found, &fitting);

                bump(&relaxed, effective != case.wanted());
                bump(&narrowed, found.len() < cells.len());
                let without_preferences = Case { preferences: vec![], ..case.clone() }.relaxed();
                bump(&kept_by_preference, without_preferences != effective);
                Ok(())
            })
            .expect("the engine and the oracle agree");
        // A weak generator would make all of the above vacuous.
        for (what, count, least) in [
            ("relaxed", &relaxed, cases / 10),
            ("holes", &holes, cases / 2),
            ("sold out", &sold_out, cases / 4),
            ("narrowed", &narrowed, cases / 3),
            ("decided by preferences", &kept_by_preference, cases / 50),
        ] {
            assert!(count.get() >= least, "{what}: only {} of {cases} cases", count.get());
        }
    }

    proptest! {
        #[test]
        fn relaxing_only_gives_up_and_never_more_than_needed(case in case()) {
            let (wanted, effective) = (case.wanted(), case.relaxed());
            for (axis, chosen) in effective.iter().enumerate() {
                prop_assert!(chosen.is_none() || *chosen == wanted[axis]);
            }
            let cells = case.cells();
            if !matching(&cells, &wanted).is_empty() {
                prop_assert_eq!(&effective, &wanted);
            }
            prop_assert_eq!(relax(&cells, effective.clone(), 0..case.axes.len()), effective);
        }
    }
}
