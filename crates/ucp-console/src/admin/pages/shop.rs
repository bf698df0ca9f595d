//! The page of a shop.

use std::collections::BTreeMap;

use maud::{Markup, html};
use prometheus::proto::MetricFamily;
use ucp_core::{
    ports::{
        agenda::{Kind, Tally},
        outbox::State as WebhookState,
    },
    purchase::totals::{TotalKind, amount_of},
};
use ucp_host::{address::base, clock, orders, shop::Shop, slot::Slot};
use ucp_record::Step;
use ucp_sync::Synchroniser;
use ucp_trust::limit::Quota;

use super::{
    View, button, hidden,
    metrics::counts,
    part::{Figure, cell, number, numbers, table, tiles, when},
    state,
};
use crate::admin::{Failure, LISTED, Of, session::FormKey};

/// Renders the page.
pub(super) async fn page(view: &View, of: &Of, key: &FormKey, done: &Markup) -> Result<Markup, Failure> {
    let slot = &of.0;
    let id = slot.id.as_str();
    let shop = of.opened(view.running()).await?;
    let paused = slot.decisions.is_paused(&slot.id);
    let families = view.metrics.families().await?;
    let sections = [
        ("upstream", "Backend", upstream(&shop, slot, key).await),
        ("orders", "Orders", placed(&shop, id).await?),
        ("webhooks", "Webhooks", webhooks(&shop, id, key).await?),
        ("agenda", "Tasks", agenda(&shop, id, key).await?),
        ("payments", "Payments", payments(&shop)),
        ("platforms", "Platforms", platforms(slot, key)),
        ("keys", "Keys", keys(slot)),
        ("buyers", "Funnel", funnel(&families, id)),
        ("caches", "Caches and replays", caches(&families, &shop, id)),
    ];
    let figures = figures(&shop, slot).await?;
    Ok(html! {
        main.operator #main tabindex="-1" {
            p.crumbs { a href="../../operator" { "All shops" } }
            (done)
            div.heading {
                h1 { (shop.name) }
                div.state {
                    (state(Some(shop.ready), paused))
                    @if paused { (button(key, "resume", id, &[], "Resume", &shop.name)) }
                    @else { (button(key, "pause", id, &[], "Pause", &shop.name)) }
                }
            }
            p { code { (base(&slot.public_url)) } }
            (tiles(&figures))
            div.beside {
                nav.contents aria-label="On this page" {
                    ul { @for (anchor, title, _) in &sections { li { a href={ "#" (anchor) } { (title) } } } }
                }
                div {
                    @for (anchor, title, section) in &sections {
                        section.card aria-labelledby=(anchor) { h2 id=(anchor) { (title) } (section) }
                    }
                }
            }
        }
    })
}

/// Returns the figures that are looked at first.
async fn figures(shop: &Shop, slot: &Slot) -> Result<[Figure; 4], Failure> {
    let (backlog, tallies) = (shop.store.backlog().await?, shop.store.tallies().await?);
    let sum = |number: fn(&Tally) -> u64| tallies.iter().map(number).sum::<u64>();
    let (waiting, given_up) = (sum(|tally| tally.waiting), sum(|tally| tally.given_up));
    let oldest = backlog.since.map(|since| clock::timestamp().duration_since(since).as_secs());
    let open = shop.counters.as_ref().map(|counters| counters.snapshot().is_open());
    let backend = match open {
        Some(true) => ("circuit open", "too many failures; a trial request follows"),
        Some(false) => ("healthy", "the upstream responds"),
        None => ("embedded", "the shop is part of the gateway"),
    };
    let blocked = slot.decisions.blocked().len();
    Ok([
        Figure::new("Backend", backend.0, backend.1).alarming(open == Some(true)),
        Figure::new(
            "Pending webhooks",
            backlog.waiting.to_string(),
            match oldest {
                Some(seconds) => format!("the oldest for {} s", seconds.max(0)),
                None => "none is overdue".to_owned(),
            },
        )
        .alarming(oldest.is_some_and(|seconds| seconds > 300)),
        Figure::new(
            "Tasks",
            waiting.to_string(),
            match given_up {
                0 => "payments, refunds and carts in progress; none abandoned".to_owned(),
                given_up => format!("{given_up} abandoned"),
            },
        )
        .alarming(given_up > 0),
        Figure::new("Platforms", slot.settings.platforms.len().to_string(), format!("registered, {blocked} blocked"))
            .alarming(blocked > 0),
    ])
}

async fn upstream(shop: &Shop, slot: &Slot, key: &FormKey) -> Markup {
    let lag = match slot.data().and_then(|data| data.products().cloned()) {
        Some(products) => tokio::task::spawn_blocking(move || products.index_lag()).await.ok().and_then(Result::ok),
        None => None,
    };
    let counts = shop.counters.as_ref().map(|counters| counters.snapshot());
    let copy = shop.synchroniser.as_ref().map(Synchroniser::status);
    html! {
        @if let Some(counts) = counts {
            p {
                @if counts.is_open() {
                    span.tag.failed { "circuit open" } " Too many failures; a trial request follows."
                } @else { span.tag.completed { "healthy" } }
            }
            (numbers(counts.events().map(|(name, count)| (name.replace('_', " "), count))))
        } @else { p { "The shop is embedded in the gateway." } }
        @match lag {
            Some(0) => p { "The search index is up to date." },
            Some(products) => p { (number(products)) " products whose last change is not searchable yet." },
            None => {}
        }
        @if let Some(status) = copy {
            h3 { "Synced catalog copy" }
            p {
                @if let Some(at) = status.state.as_of { "As of " (when(at)) "." } @else { "No sync yet." }
                @if let Some(run) = &status.running { " A run is under way, and has read " (run.tally.read()) " products." }
                @if status.failures > 0 { " The last " (status.failures) " runs failed." }
            }
            @if let Some(held) = &status.state.held {
                div.note.alarm {
                    p { "The upstream has no longer listed " (held.lost) " of " (held.of) " products since " (when(held.since)) ". They stay until you remove them." }
                    (button(key, "release", slot.id.as_str(), &[], "Remove them", "from the copy"))
                }
            }
        }
    }
}

async fn placed(shop: &Shop, id: &str) -> Result<Markup, Failure> {
    let orders = shop.store.newest_orders(LISTED).await?;
    let rows: Vec<_> = orders
        .iter()
        .map(|stored| {
            let order = &stored.document;
            vec![
                html! { a href={ (id) "/orders/" (order.id) } { (order.label) } },
                html! { span.tag { (orders::status(order)) } },
                cell(&order.currency.amount(amount_of(&order.totals, TotalKind::Total))),
                when(order.placed_at),
                cell(&order.owner),
            ]
        })
        .collect();
    Ok(table("Orders", &["Order", "State", "Total", "Placed", "Platform"], &rows, "No orders yet."))
}

async fn webhooks(shop: &Shop, id: &str, key: &FormKey) -> Result<Markup, Failure> {
    let (backlog, events) = (shop.store.backlog().await?, shop.store.webhook_events(LISTED).await?);
    let rows: Vec<_> = events
        .iter()
        .map(|event| {
            let class = match event.state {
                WebhookState::Delivered => "tag completed",
                WebhookState::Expired | WebhookState::Gone | WebhookState::Parked => "tag failed",
                WebhookState::Waiting | WebhookState::Unwanted => "tag",
            };
            vec![
                when(event.occurred_at),
                html! { span class=(class) { (event.state.as_str()) } },
                cell(&event.attempts),
                html! { @if let Some(at) = event.next_at { (when(at)) } },
                html! { @if let Some(problem) = &event.problem { (problem) } },
                cell(&format!("{} in version {}", event.order_id, event.order_version)),
                cell(&event.owner),
                button(key, "resend", id, &[("id", &event.id)], "Resend", &event.id),
            ]
        })
        .collect();
    let heads = ["Time", "State", "Attempts", "Next attempt", "Reason", "Order", "Platform", "Actions"];
    Ok(html! {
        p { (backlog.waiting) " wait" @if let Some(since) = backlog.since { ", the oldest since " (when(since)) } "." }
        (table("Webhooks", &heads, &rows, "No webhooks yet."))
    })
}

async fn agenda(shop: &Shop, id: &str, key: &FormKey) -> Result<Markup, Failure> {
    let tasks = shop.store.tasks(LISTED).await?;
    let rows: Vec<_> = tasks
        .iter()
        .map(|task| {
            let what = match task.kind {
                Kind::Settle => "ask what became of the payment of checkout",
                Kind::MoveMoney => "capture, release or give back the money of order",
                Kind::Abandon => "abandon the shop's cart",
                Kind::Tell => "tell the platform of order",
                Kind::FindOrder => "ask the shop for the order of checkout",
                Kind::FollowOrder => "ask the shop what became of order",
            };
            let class = if task.given_up { "tag failed" } else { "tag pending" };
            let named = [("kind", task.kind.as_str()), ("id", &*task.key)];
            vec![
                html! { (what) " " code { (task.key) } },
                html! { span class=(class) { @if task.given_up { "given up" } @else { "waiting" } } },
                number(task.tries.into()),
                when(task.due),
                when(task.since),
                cell(&task.problem.as_deref().unwrap_or_default()),
                button(key, "retry", id, &named, "Retry now", &task.key),
            ]
        })
        .collect();
    let heads = ["Task", "State", "Attempts", "Next attempt", "Since", "Reason", "Actions"];
    Ok(html! {
        p { "Tasks run automatically, with growing pauses between attempts. After three days they are abandoned and can be retried here." }
        (table("Tasks", &heads, &rows, "No pending tasks."))
    })
}

fn payments(shop: &Shop) -> Markup {
    let counts = shop.payments.all().into_iter().map(|(counted, count)| {
        let name = format!("{} {} {}", counted.handler, counted.call, counted.result);
        (name, count)
    });
    let counts: Vec<_> = counts.collect();
    html! {
        @if counts.is_empty() { p { "No handler requests since the start." } }
        @else { h3 { "Handler requests since the start" } (numbers(counts)) }
    }
}

fn limit(quota: Option<Quota>) -> String {
    quota.map_or_else(|| "no limit".to_owned(), |quota| quota.to_string())
}

fn platforms(slot: &Slot, key: &FormKey) -> Markup {
    let (id, blocked, quotas) = (slot.id.as_str(), slot.decisions.blocked(), slot.settings.quotas());
    let of = |profile: &str, name: &str, limit: String| {
        let is_blocked = blocked.iter().any(|other| other == profile);
        let (action, label) = if is_blocked { ("unblock", "Unblock") } else { ("block", "Block") };
        let class = if is_blocked { "tag failed" } else { "tag completed" };
        vec![
            cell(&profile),
            cell(&name),
            cell(&limit),
            html! { span class=(class) { @if is_blocked { "blocked" } @else { "served" } } },
            button(key, action, id, &[("profile", profile)], label, profile),
        ]
    };
    let known = slot.settings.platforms.iter();
    let known = known.map(|platform| of(platform.profile.as_str(), &platform.name, limit(platform.limit)));
    let others = blocked.iter().filter(|profile| !slot.platforms.contains_key(*profile));
    let others = others.map(|profile| of(profile, "not registered", limit(quotas.signed)));
    let rows: Vec<_> = known.chain(others).collect();
    html! {
        (table("Platforms", &["Profile", "Name", "Limit", "State", "Actions"], &rows, "No registered or blocked platforms."))
        p { "Others: " (limit(quotas.anonymous)) " for each anonymous network; " (limit(quotas.signed)) " for each platform that signs." }
        form.panel method="post" action="/operator/do" {
            (hidden(key, "block", id))
            div.field {
                label for="profile" { "Block another platform by the URL of its profile" }
                input #profile name="profile" type="url" required placeholder="https://agent.example.com/profile.json";
            }
            button.button.second type="submit" { "Block" }
        }
    }
}

fn keys(slot: &Slot) -> Markup {
    let keyring = match slot.keyring() {
        Ok(keyring) => keyring,
        Err(error) => return html! { p.note.alarm { (error) } },
    };
    let (now, signer) = (clock::now(), keyring.signer().map(|key| key.public().kid().to_owned()));
    let at = |seconds: u64| i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    let today = clock::timestamp().as_second();
    let rows: Vec<_> = keyring
        .list()
        .iter()
        .map(|own| {
            let days = (today - i64::try_from(own.created).unwrap_or(today)).max(0) / 86_400;
            let state = html! {
                @if signer.as_deref() == Some(own.kid()) { span.tag.completed { "signs" } }
                @else if let Some(retired) = own.retired {
                    "retired, "
                    @if !own.is_published(now) { "no longer published" }
                    @else if let Some(until) = at(retired.publish_until) { "published until " (when(until)) }
                }
                @else { "in service" }
            };
            vec![
                html! { code { (own.kid()) } },
                cell(&own.key.algorithm().as_str()),
                html! { @if let Some(at) = at(own.created) { (when(at)) } },
                cell(&format!("{days} days")),
                state,
            ]
        })
        .collect();
    table("Keys", &["Key", "Algorithm", "Created", "Age", "State"], &rows, "No keys: the gateway signs nothing.")
}

fn funnel(families: &[MetricFamily], id: &str) -> Markup {
    let mut by_platform: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for (labels, count) in counts(families, "ucp_funnel_total", id) {
        if let [platform, step] = &labels[..] {
            by_platform.entry(platform.clone()).or_default().insert(step.clone(), count);
        }
    }
    let steps = Step::ALL.map(Step::as_str);
    let heads: Vec<_> = std::iter::once("Platform").chain(steps).collect();
    let rows: Vec<_> = by_platform
        .iter()
        .map(|(platform, counts)| {
            let counts = steps.iter().map(|step| number(counts.get(*step).copied().unwrap_or_default()));
            std::iter::once(cell(&platform)).chain(counts).collect()
        })
        .collect();
    html! { p { "Since the start of this gateway." } (table("Funnel", &heads, &rows, "No requests yet.")) }
}

fn caches(families: &[MetricFamily], shop: &Shop, id: &str) -> Markup {
    let named = |counts: Vec<(Vec<String>, u64)>| counts.into_iter().map(|(labels, count)| (labels.join(" "), count));
    let cache = counts(families, "ucp_cache_lookups_total", id);
    let repeated = counts(families, "ucp_idempotency_keys_total", id);
    html! {
        @if let Some((bodies, platforms)) = &shop.held {
            (numbers([
                ("profiles of platforms".to_owned(), platforms.directory().len() as u64),
                ("bytes of requests held".to_owned(), bodies.held() as u64),
            ]))
        }
        h3 { "Upstream reads" }
        @if cache.is_empty() { p.empty { "None since the start." } } @else { (numbers(named(cache))) }
        h3 { "Requests with an idempotency key" }
        @if repeated.is_empty() { p.empty { "None since the start." } } @else { (numbers(named(repeated))) }
    }
}
