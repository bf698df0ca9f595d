//! Figures as people read them.

use std::time::Duration;

use crate::{load::Run, server::Memory};

/// Several runs of the same.
#[derive(Debug, Default)]
pub(crate) struct Series {
    rates: Vec<f64>,
    costs: Vec<f64>,
    bytes: f64,
}

impl Series {
    pub(crate) fn add(&mut self, run: &Run) {
        self.rates.push(run.rate());
        self.costs.push(run.cpu_per_request());
        self.bytes = float(run.bytes) / run.requests();
    }

    /// The median of the rates.
    pub(crate) fn rate(&self) -> f64 {
        median(self.rates.clone())
    }

    /// The median of the processor times per request, in seconds.
    pub(crate) fn cost(&self) -> f64 {
        median(self.costs.clone())
    }
}

/// The value in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// A line of a table.
pub(crate) struct Row {
    name: String,
    cells: [String; 9],
}

impl Row {
    /// A scenario: its runs at full load, one at half load, and its share of the yardstick's rate and cost.
    pub(crate) fn new(name: &str, series: &Series, paced: &[Run], memory: Memory, shares: Option<(f64, f64)>) -> Self {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let [p50, p99] = percentiles(paced, |_| true);
        Self {
            name: name.to_owned(),
            cells: [
                format!("{:.0}", series.rate()),
                shares.map_or_else(String::new, |(rate, _)| percent(rate)),
                format!("{:.1}", series.cost() * 1e6),
                shares.map_or_else(String::new, |(_, cost)| percent(cost)),
                p50,
                p99,
                format!("{:.0}", series.bytes),
                format!("{:.0}", mebibytes(memory.resident)),
                format!("{:.0}", mebibytes(memory.anonymous)),
            ],
        }
    }

    /// The latencies of one kind of requests in a scenario.
    pub(crate) fn part(name: &str, paced: &[Run], kind: usize) -> Self {
        let [p50, p99] = percentiles(paced, |of| of == kind);
        let mut cells = <[String; 9]>::default();
        (cells[4], cells[5]) = (p50, p99);
        Self { name: format!("  {name}"), cells }
    }
}

/// Prints a table.
pub(crate) fn table(rows: &[Row]) {
    let heads = ["req/s", "of bare", "CPU us", "of bare", "p50 ms", "p99 ms", "bytes", "RSS MiB", "anon MiB"];
    let line = |name: &str, cells: &[String]| {
        println!("{name:<28}{}", cells.iter().map(|cell| format!("{cell:>10}")).collect::<String>());
    };
    line("", &heads.map(str::to_owned));
    rows.iter().for_each(|row| line(&row.name, &row.cells));
}

/// Says on what this runs, and how busy it is with other things.
pub(crate) fn machine() {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown").to_owned();
    println!("{cores} cores, shared by server and load generator; load of the last minute {load}");
    println!("req/s: highest rate over 16 connections, median of rounds taken in turns with the bare handler;");
    println!("CPU us: processor time of the server per request; p50, p99: at half of that rate, from when each");
    println!("request was due; anon: memory that is the process's own, without mapped files.");
}

/// Memory in words.
pub(crate) fn memory(memory: Memory) -> String {
    format!("RSS {:.1} MiB ({:.1} MiB anonymous)", mebibytes(memory.resident), mebibytes(memory.anonymous))
}

/// A duration in words.
pub(crate) fn milliseconds(duration: Duration) -> String {
    if duration.as_secs() >= 10 {
        format!("{:.1} s", duration.as_secs_f64())
    } else {
        format!("{:.0} ms", duration.as_secs_f64() * 1e3)
    }
}

/// The medians of the runs' 50th and 99th percentiles, of requests of some kinds, in milliseconds.
pub(crate) fn percentiles(runs: &[Run], wanted: impl Fn(usize) -> bool) -> [String; 2] {
    [50, 99].map(|percent| {
        let of = |run: &Run| {
            let mut latencies: Vec<_> =
                run.latencies.iter().filter(|(kind, _)| wanted(*kind)).map(|(_, latency)| *latency).collect();
            latencies.sort_unstable();
            let rank = latencies.len() * percent / 100;
            latencies.get(rank).copied().unwrap_or_default().as_secs_f64() * 1e3
        };
        format!("{:.2}", median(runs.iter().map(of).collect()))
    })
}

/// As people count memory.
pub(crate) fn mebibytes(bytes: u64) -> f64 {
    float(bytes) / f64::from(1 << 20)
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
const fn float(number: u64) -> f64 {
    number as f64
}
