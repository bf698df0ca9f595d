//! Costs of the domain, without transport and store: `cargo bench -p ucp-core`.
//!
//! The product is the largest that shops are known to have: 2,048 variants, a full matrix of 8 by 16 by 16 values, a
//! quarter of it sold out.

#![allow(missing_docs, reason = "criterion's macros document nothing")]

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use ucp_core::{
    catalog::{
        featured::{Words, featured},
        filter::Criteria,
        market::Presentation,
        product::Product,
        record::Record,
        selection::{Cell, matching, relax, sacrifice, signals},
    },
    json::{Limits, parse},
};

const AXES: [(&str, usize); 3] = [("Material", 8), ("Thread", 16), ("Length", 16)];

fn record(axes: &[(&str, usize)]) -> Record {
    let mut cells = vec![Vec::new()];
    for (_, values) in axes {
        cells = cells
            .iter()
            .flat_map(|cell: &Vec<usize>| (0..*values).map(|value| [&cell[..], &[value]].concat()))
            .collect();
    }
    let label = |axis: usize, value: usize| format!("{} {value}", axes[axis].0);
    let variants: Vec<_> = cells
        .iter()
        .enumerate()
        .map(|(position, cell)| {
            let options: Vec<_> =
                (0..axes.len()).map(|axis| json!({ "name": axes[axis].0, "label": label(axis, cell[axis]) })).collect();
            json!({
                "id": format!("variant-{position}"),
                "sku": format!("SKU-{position}"),
                "barcodes": [{ "type": "EAN", "value": format!("{position:013}") }],
                "price": { "amount": 1_000 + position, "currency": "USD" },
                "prices": [{ "amount": 900 + position, "currency": "EUR" }],
                "availability": { "available": position % 4 > 0 },
                "options": options,
            })
        })
        .collect();
    let record = json!({
        "id": "screw",
        "handle": "screw",
        "title": "Machine screw",
        "description": { "plain": "Hex-socket machine screws in every common material, thread and length." },
        "categories": [{ "value": "Hardware > Screws", "taxonomy": "merchant" }],
        "variants": variants,
    });
    let market =
        serde_json::from_value(json!({ "name": "Bench", "currency": "USD", "currencies": ["EUR"], "language": "en" }));
    let record: Record = serde_json::from_value(record).expect("a record");
    record.check(&market.expect("a market")).expect("a sound record")
}

fn presentation() -> Presentation {
    Presentation {
        language: "en".into(),
        currency: "EUR".parse().expect("a currency"),
        country: None,
        customer_group: None,
    }
}

fn cells(product: &Product) -> Vec<Cell<'_>> {
    let variants = product.variants.iter();
    variants.map(|variant| Cell { values: &variant.values, available: variant.availability.available }).collect()
}

fn options(criterion: &mut Criterion) {
    let product = record(&AXES).present(&presentation());
    let cells = cells(&product);
    let axes = AXES.map(|(_, values)| values);
    let (nothing, one, all) = (vec![None; 3], vec![Some(3), None, None], vec![Some(3), Some(7), Some(11)]);
    let mut group = criterion.benchmark_group("options of 2,048 variants");
    group.bench_function("signals, nothing chosen", |bencher| {
        bencher.iter(|| signals(&axes, black_box(&cells), &nothing));
    });
    group.bench_function("signals, all chosen", |bencher| {
        bencher.iter(|| signals(&axes, black_box(&cells), &all));
    });
    group.bench_function("matching, one chosen", |bencher| {
        bencher.iter(|| matching(black_box(&cells), &one));
    });
    // The worst case: all cells are looked at in vain before each axis that is given up.
    let holes: Vec<_> = cells.iter().filter(|cell| cell.values[0] != 3).copied().collect();
    group.bench_function("relax, all but one given up", |bencher| {
        bencher.iter(|| relax(black_box(&holes), all.clone(), sacrifice(&[2, 1, 0], &[])));
    });
    group.bench_function("featured, no words", |bencher| {
        bencher.iter(|| featured(black_box(&product), &Criteria::default(), &Words::default()));
    });
    let words = Words::of("thread 7 material 3");
    group.bench_function("featured, four words", |bencher| {
        bencher.iter(|| featured(black_box(&product), &Criteria::default(), &words));
    });
}

fn presenting(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("present");
    for (name, axes) in [("10 variants", &[("Color", 2), ("Size", 5)][..]), ("2,048 variants", &AXES)] {
        let record = record(axes);
        group.bench_function(name, |bencher| bencher.iter(|| black_box(&record).present(&presentation())));
    }
}

fn reading(criterion: &mut Criterion) {
    let ids: Vec<_> = (0..10).map(|number| format!("prod_number-{number}")).collect();
    let body = json!({ "ids": ids, "context": { "currency": "EUR", "language": "en-GB" } }).to_string();
    let mut group = criterion.benchmark_group("read a request of 10 ids");
    group.bench_function("strictly", |bencher| {
        bencher.iter(|| parse(black_box(body.as_bytes()), Limits::REQUEST));
    });
    group.bench_function("with serde_json alone", |bencher| {
        bencher.iter(|| serde_json::from_slice::<Value>(black_box(body.as_bytes())));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = options, presenting, reading
}
criterion_main!(benches);
