//! The page of the metrics: the figures that an operator looks at first, from the registry behind `/metrics`.

use std::collections::BTreeMap;

use maud::{Markup, html};
use prometheus::proto::{LabelPair, Metric, MetricFamily, MetricType};

use super::{
    View,
    part::{Figure, bar, bytes, cell, count, number, numbers, seconds, table, tiles},
};
use crate::admin::Failure;

/// Maximum number of operations and outcomes in a table.
const LISTED: usize = 40;

/// Metrics of a process at one moment; of one shop if one is named.
struct Read<'a> {
    families: &'a [MetricFamily],
    shop: Option<&'a str>,
}

impl<'a> Read<'a> {
    /// Returns the metrics of a family, without those of other shops.
    fn of(&self, name: &str) -> impl Iterator<Item = &'a Metric> {
        let family = self.families.iter().find(|family| family.name() == name);
        let shop = self.shop.map(str::to_owned);
        let metrics = family.map(MetricFamily::get_metric).unwrap_or_default().iter();
        metrics.filter(move |metric| match (&shop, label(metric, "shop")) {
            (Some(shop), Some(other)) => shop == other,
            _ => true,
        })
    }

    /// Returns the sum of a family.
    fn sum(&self, name: &str) -> f64 {
        let family = self.families.iter().find(|family| family.name() == name);
        let is_gauge = family.is_some_and(|family| family.get_field_type() == MetricType::GAUGE);
        self.of(name)
            .map(|metric| if is_gauge { metric.get_gauge().get_value() } else { metric.get_counter().get_value() })
            .sum()
    }

    /// Returns the values of a counter by one of its labels, the largest first.
    fn by(&self, name: &str, of: &str) -> Vec<(String, u64)> {
        let mut sums = BTreeMap::<String, f64>::new();
        for metric in self.of(name) {
            *sums.entry(label(metric, of).unwrap_or_default().to_owned()).or_default() +=
                metric.get_counter().get_value();
        }
        let mut sums: Vec<_> = sums.into_iter().map(|(label, sum)| (label, whole(sum))).collect();
        sums.sort_by_key(|(_, sum)| std::cmp::Reverse(*sum));
        sums.truncate(LISTED);
        sums
    }

    /// Returns the durations of the calls of an operation, or of all.
    fn durations(&self, operation: Option<&str>) -> Durations {
        let mut durations = Durations::default();
        for metric in self.of("ucp_call_duration_seconds") {
            if operation.is_none_or(|operation| label(metric, "operation") == Some(operation)) {
                durations.add(metric);
            }
        }
        durations
    }
}

/// Durations of calls, as a histogram counts them.
#[derive(Default)]
struct Durations {
    calls: u64,
    total: f64,
    /// Upper bounds in seconds, and the calls up to them.
    buckets: Vec<(f64, u64)>,
}

impl Durations {
    fn add(&mut self, metric: &Metric) {
        let histogram = metric.get_histogram();
        self.calls += histogram.get_sample_count();
        self.total += histogram.get_sample_sum();
        for (place, bucket) in histogram.get_bucket().iter().enumerate() {
            match self.buckets.get_mut(place) {
                Some((_, calls)) => *calls += bucket.cumulative_count(),
                None => self.buckets.push((bucket.upper_bound(), bucket.cumulative_count())),
            }
        }
    }

    /// Returns the time in seconds within which a share of the calls ended, estimated within its bucket; `None` if it is
    /// beyond the last one, or there was no call.
    fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = share * as_float(self.calls);
        let (mut low, mut below) = (0.0, 0);
        for (bound, calls) in &self.buckets {
            if self.calls > 0 && as_float(*calls) >= wanted {
                let inside = as_float(calls - below).max(1.0);
                return Some(low + (bound - low) * (wanted - as_float(below)) / inside);
            }
            (low, below) = (*bound, *calls);
        }
        None
    }

    fn shown(&self, share: f64) -> String {
        match (self.quantile(share), self.buckets.last()) {
            (Some(value), _) => seconds(value),
            (None, Some((bound, _))) if self.calls > 0 => format!("over {}", seconds(*bound)),
            _ => "–".to_owned(),
        }
    }

    /// Returns the calls in each bucket, with its upper bound; the last one has none.
    fn each(&self) -> Vec<(String, u64)> {
        let mut below = 0;
        let mut each: Vec<_> = self
            .buckets
            .iter()
            .map(|(bound, calls)| {
                let inside = calls - below;
                below = *calls;
                (format!("up to {}", seconds(*bound)), inside)
            })
            .collect();
        each.push(("more".to_owned(), self.calls - below));
        each
    }
}

fn label<'a>(metric: &'a Metric, name: &str) -> Option<&'a str> {
    metric.get_label().iter().find(|label| label.name() == name).map(LabelPair::value)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a counter of whole numbers")]
fn whole(value: f64) -> u64 {
    value as u64
}

#[expect(clippy::cast_precision_loss, reason = "a count for a share of it")]
fn as_float(value: u64) -> f64 {
    value as f64
}

/// Returns a part of a whole, between 0 and 1.
fn share(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { as_float(part) / as_float(of) }
}

/// Returns the values of a counter in a shop, each with those of its other labels, in the order of the labels' names.
pub(super) fn counts(families: &[MetricFamily], name: &str, shop: &str) -> Vec<(Vec<String>, u64)> {
    let read = Read { families, shop: Some(shop) };
    let values = read.of(name).map(|metric| {
        let others = metric.get_label().iter().filter(|label| label.name() != "shop");
        (others.map(|label| label.value().to_owned()).collect(), whole(metric.get_counter().get_value()))
    });
    values.collect()
}

/// Renders the page, of one shop if one is named.
pub(super) async fn page(view: &View, shop: Option<&str>) -> Result<Markup, Failure> {
    let families = view.metrics.families().await?;
    let shops: Vec<_> = view.running().shops.all().iter().map(|slot| slot.id.to_string()).collect();
    let shop = shop.filter(|shop| !shop.is_empty());
    if let Some(unknown) = shop.filter(|shop| !shops.iter().any(|known| known == shop)) {
        return Err(Failure(http::StatusCode::NOT_FOUND, format!("there is no shop `{unknown}`")));
    }
    let read = Read { families: &families, shop };
    Ok(html! {
        main.operator #main tabindex="-1" {
            div.heading { h1 { "Metrics" } p.quiet { "Since this process was started" } }
            @if shops.len() > 1 {
                form.filter method="get" action="metrics" {
                    label { "Shop "
                        select name="shop" {
                            option value="" { "all" }
                            @for id in &shops { option value=(id) selected[shop == Some(id.as_str())] { (id) } }
                        }
                    }
                    button.chip type="submit" { "Show" }
                }
            }
            (tiles(&first(&read)))
            section.card aria-labelledby="operations" { h2 #operations { "Requests by operation" } (operations(&read)) }
            div.cards {
                section.card aria-labelledby="outcomes" { h2 #outcomes { "Outcomes" } (outcomes(&read)) }
                section.card aria-labelledby="durations" { h2 #durations { "Latency" } (durations(&read)) }
                section.card aria-labelledby="stages" { h2 #stages { "Time by stage" } (stages(&read)) }
                section.card aria-labelledby="others" { h2 #others { "External services" } (others(&read)) }
            }
            p.quiet { "All metrics are at " code { "/metrics" } " in the Prometheus text format." }
        }
    })
}

/// Returns the figures that are looked at first.
fn first(read: &Read<'_>) -> Vec<Figure> {
    let durations = read.durations(None);
    let outcomes = read.by("ucp_calls_total", "outcome");
    let calls: u64 = outcomes.iter().map(|(_, count)| count).sum();
    // Refused calls are the caller's fault, these are the gateway's or the shop's.
    let is_ours = |outcome: &str| {
        matches!(outcome, "internal_error" | "unavailable" | "upstream_invalid" | "stored_data_damaged" | "error")
    };
    let faults: u64 = outcomes.iter().filter(|(outcome, _)| is_ours(outcome)).map(|(_, count)| count).sum();
    let of_all = |count: u64| format!("{:.1} % of calls", share(count, calls) * 100.0);
    let refused = calls - faults - outcomes.iter().find(|(outcome, _)| outcome == "ok").map_or(0, |(_, ok)| *ok);
    let waiting = whole(read.sum("ucp_webhooks_waiting"));
    let oldest =
        read.of("ucp_webhooks_oldest_seconds").map(|metric| metric.get_gauge().get_value()).fold(0.0, f64::max);
    let open = read.sum("ucp_upstream_circuit_open") > 0.0;
    let memory = read.sum("process_resident_memory_bytes");
    vec![
        Figure::new("Requests", count(calls), format!("{} in progress", count(whole(read.sum("ucp_calls_in_flight"))))),
        Figure::new("Median latency", durations.shown(0.5), format!("p95 {}", durations.shown(0.95))),
        Figure::new("Rejected", count(refused), of_all(refused)),
        Figure::new("Server errors", count(faults), of_all(faults)).alarming(faults > 0),
        Figure::new(
            "Pending webhooks",
            count(waiting),
            if waiting > 0 { format!("the oldest for {}", seconds(oldest)) } else { "none is overdue".to_owned() },
        )
        .alarming(oldest > 300.0),
        Figure::new(
            "Upstreams",
            if open { "circuit open" } else { "healthy" },
            if open { "a circuit breaker is open" } else { "no circuit breaker is open" },
        )
        .alarming(open),
        Figure::new("Memory", bytes(memory), format!("{} connections", count(whole(read.sum("ucp_connections"))))),
        Figure::new(
            "Store",
            count(whole(read.sum("ucp_store_commits_total"))),
            format!("commits, {} writes wait", count(whole(read.sum("ucp_store_queue")))),
        ),
    ]
}

fn operations(read: &Read<'_>) -> Markup {
    let by_operation = read.by("ucp_calls_total", "operation");
    let most = by_operation.iter().map(|(_, count)| *count).max().unwrap_or_default();
    let mut transports = BTreeMap::<(String, String), u64>::new();
    let mut ok = BTreeMap::<String, u64>::new();
    for metric in read.of("ucp_calls_total") {
        let of = |name| label(metric, name).unwrap_or_default().to_owned();
        let calls = whole(metric.get_counter().get_value());
        *transports.entry((of("operation"), of("transport"))).or_default() += calls;
        if of("outcome") == "ok" {
            *ok.entry(of("operation")).or_default() += calls;
        }
    }
    let rows: Vec<_> = by_operation
        .iter()
        .map(|(operation, calls)| {
            let over = |transport: &str| {
                transports.get(&(operation.clone(), transport.to_owned())).copied().unwrap_or_default()
            };
            let durations = read.durations(Some(operation));
            let failed = calls - ok.get(operation).copied().unwrap_or_default();
            vec![
                html! { @if operation == "none" { "pages and documents" } @else { code { (operation) } } },
                html! { span.with-bar { (number(*calls)) (bar(share(*calls, most))) } },
                number(over("rest")),
                number(over("mcp")),
                number(failed),
                cell(&durations.shown(0.5)),
                cell(&durations.shown(0.95)),
            ]
        })
        .collect();
    let heads = ["Operation", "Requests", "REST", "MCP", "Errors", "p50", "p95"];
    table("Requests by operation", &heads, &rows, "No requests yet.")
}

/// Renders a list of counts as bars.
fn bars(label: &str, counts: &[(String, u64)], none: &str) -> Markup {
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or_default();
    html! {
        @if counts.iter().all(|(_, count)| *count == 0) { p.empty { (none) } } @else {
            ul.bars aria-label=(label) {
                @for (name, calls) in counts { li { span { (name) } (bar(share(*calls, most))) (number(*calls)) } }
            }
        }
    }
}

fn outcomes(read: &Read<'_>) -> Markup {
    bars("Outcomes", &read.by("ucp_calls_total", "outcome"), "No requests yet.")
}

fn durations(read: &Read<'_>) -> Markup {
    bars("Durations", &read.durations(None).each(), "No requests yet.")
}

fn stages(read: &Read<'_>) -> Markup {
    let stages: Vec<_> = read
        .of("ucp_call_stage_seconds_total")
        .map(|metric| (label(metric, "stage").unwrap_or_default(), metric.get_counter().get_value()))
        .collect();
    let total: f64 = stages.iter().map(|(_, spent)| spent).sum();
    html! {
        @if total <= 0.0 { p.empty { "No requests yet." } } @else {
            ul.bars aria-label="Stages" {
                @for (stage, spent) in stages.iter().filter(|(_, spent)| *spent > 0.0) {
                    li { span { (stage) } (bar(spent / total)) span.number { (format!("{:.1} %", spent / total * 100.0)) } }
                }
            }
            p.quiet { "All shops of this process." }
        }
    }
}

/// Counts, by outcome, of requests to shops, platforms (webhooks) and payment handlers, and of reads from the cache.
fn others(read: &Read<'_>) -> Markup {
    let groups = [
        ("Upstreams", read.by("ucp_upstream_events_total", "event")),
        ("Webhooks", read.by("ucp_webhook_attempts_total", "result")),
        ("Payment handlers", read.by("ucp_payment_calls_total", "result")),
        ("Cache reads", read.by("ucp_cache_lookups_total", "result")),
    ];
    let groups: Vec<_> = groups.into_iter().filter(|(_, counts)| counts.iter().any(|(_, count)| *count > 0)).collect();
    html! {
        @if groups.is_empty() { p.empty { "No webhooks, payments or upstream requests yet." } }
        @for (name, counts) in groups {
            h3 { (name) }
            (numbers(counts.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.replace('_', " "), count))))
        }
    }
}

#[cfg(test)]
mod tests {
    use prometheus::{HistogramOpts, HistogramVec, core::Collector as _};

    use super::*;

    #[test]
    fn shares_of_calls_are_estimated_within_their_bucket() {
        let options = HistogramOpts::new("ucp_call_duration_seconds", "Durations").buckets(vec![0.1, 0.2, 1.0]);
        let vec = HistogramVec::new(options, &["shop", "operation"]).expect("a histogram");
        for (shop, seconds, times) in [("a", 0.05, 50), ("a", 0.15, 45), ("b", 0.5, 3), ("b", 5.0, 2)] {
            (0..times).for_each(|_| vec.with_label_values(&[shop, "search_catalog"]).observe(seconds));
        }
        let families = vec.collect();
        let all = Read { families: &families, shop: None }.durations(None);
        assert_eq!(all.calls, 100);
        let near = |share: f64, expected: f64| {
            let value = all.quantile(share).expect("a time");
            assert!((value - expected).abs() < 1e-9, "{share}: {value}, not {expected}");
        };
        near(0.5, 0.1);
        near(0.25, 0.05);
        near(0.95, 0.2);
        assert_eq!((all.quantile(0.99), all.shown(0.99)), (None, "over 1.0 s".to_owned()));
        assert_eq!(all.each().iter().map(|(_, calls)| *calls).collect::<Vec<_>>(), [50, 45, 3, 2]);
        let one = Read { families: &families, shop: Some("b") };
        assert_eq!((one.durations(None).calls, one.durations(Some("get_product")).calls), (5, 0));
        assert_eq!(one.durations(Some("get_product")).shown(0.5), "–");
    }
}
