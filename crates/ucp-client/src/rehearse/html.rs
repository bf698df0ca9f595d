//! The report as one HTML page that loads nothing.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{
    report::{Ends, Report, StepCost},
    session::Obstacle,
};
use crate::http::tokens;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c2733}\
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;width:100%}\
th,td{text-align:right;padding:.3rem .6rem;border-bottom:1px solid #dde3ea}th:first-child,td:first-child,.text{text-align:left}\
.bar{background:#2f6fdb;height:.9rem;border-radius:2px}.track{background:#eef1f5;width:14rem;border-radius:2px}\
code{font:13px ui-monospace,monospace;word-break:break-word;color:#54616f}.bad{color:#b3261e}\
@media(prefers-color-scheme:dark){body{background:#14191f;color:#dfe6ee}th,td{border-color:#2b3540}.track{background:#222b35}code{color:#9fb0c2}.bad{color:#ff8a80}}";

/// Formats the report as a page.
pub fn page(report: &Report) -> String {
    let Ends { sessions, ordered, ready, handed_over, given_up } = report.ends();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Rehearsal of " (report.shop) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Rehearsal of " (report.shop) }
                p {
                    (sessions) " shoppers over " (report.transport) " in UCP version " (report.release) ", seed " (report.seed) ": "
                    (ordered) " ordered, " (ready) " ready to pay, " (handed_over) " handed off, "
                    span.bad { (given_up) " abandoned" } ". " (report.per_minute()) " per minute."
                }
                h2 { "Funnel" }
                (funnel(report, sessions))
                h2 { "Shoppers" }
                table {
                    tr { th { "shopper" } th { "came" } th { "ordered" } th { "ready" } th { "handed off" } th { "abandoned" } }
                    @for (persona, ends) in report.personas() {
                        tr { td { (persona.as_str()) } td { (ends.sessions) } td { (ends.ordered) } td { (ends.ready) } td { (ends.handed_over) } td { (ends.given_up) } }
                    }
                }
                h2 { "Where they gave up" }
                @if report.reasons().is_empty() { p { "Nowhere." } } @else {
                    table {
                        tr { th { "step" } th { "shoppers" } th.text { "reason, and an example of what was seen" } }
                        @for ((step, reason), (count, seen)) in report.reasons() {
                            tr { td { (step.as_str()) } td { (count) } td.text { (reason) br; code { (seen) } } }
                        }
                    }
                }
                h2 { "What could not be acted upon" }
                @if report.obstacles().is_empty() { p { "Nothing." } } @else {
                    table {
                        tr { th { "operation" } th { "shoppers" } th.text { "what was said, and why that does not help" } }
                        @for (Obstacle { operation, code, why }, (count, seen)) in report.obstacles() {
                            tr { td { (operation) } td { (count) } td.text { (code) ": " (why) br; code { (seen) } } }
                        }
                    }
                }
                h2 { "Slowest calls" }
                table {
                    tr { th { "operation" } th { "step" } th { "shopper" } th { "ms" } }
                    @for (number, operation, step, took) in report.slowest() {
                        tr { td { (operation) } td { (step.as_str()) } td { (number) } td { (took.as_millis()) } }
                    }
                }
            }
        }
    };
    page.into_string()
}

fn funnel(report: &Report, sessions: usize) -> Markup {
    html! {
        table {
            tr { th { "step" } th { "reached" } th.text { "" } th { "gave up" } th { "calls" } th { "bytes sent" } th { "bytes received" } th { "tokens per shopper" } }
            @for (step, StepCost { reached, given_up, calls, sent, received }) in report.funnel() {
                tr {
                    td { (step.as_str()) } td { (reached) }
                    td { div.track { div.bar style={ "width:" (reached * 100 / sessions.max(1)) "%" } {} } }
                    td { (given_up) } td { (calls) } td { (sent) } td { (received) } td { (tokens(sent + received) / reached.max(1)) }
                }
            }
        }
    }
}
