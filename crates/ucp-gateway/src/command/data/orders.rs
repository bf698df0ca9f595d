//! `orders`: shows orders and takes their steps. A gateway can run on the same data directory at the same time.

use std::{process::ExitCode, sync::Arc};

use clap::{Args, Subcommand};
use ucp_config::{Configuration, ServeOptions, shop_named};
use ucp_core::{
    ShopId,
    order::{Hold, LineQuantity, Order},
    ports::{
        ledger::Stored,
        outbox::{State, WebhookEvent},
    },
    purchase::totals::{TotalKind, amount_of},
};
use ucp_host::{
    backend::embedded,
    clock,
    orders::{self, Details, Once, Step},
};

use crate::command::{
    Done,
    output::say,
    place::{self, StoreOptions},
    runtime::{runtime, wait},
};

#[derive(Debug, Subcommand)]
pub(crate) enum OrdersCommand {
    /// List the newest orders.
    #[command(after_help = examples!("orders list --data-dir ./shop --limit 50"))]
    List(ListOptions),
    /// Show an order.
    #[command(after_help = examples!("orders show ORDER_ID --data-dir ./shop"))]
    Show(ShowOptions),
    /// Record a shipment of the given line items, or of all that were not shipped yet.
    #[command(after_help = examples!(
        "orders ship ORDER_ID --carrier DHL --tracking-number 00340434161094000000",
        "orders ship ORDER_ID --line li_1=2"
    ))]
    Ship(ShipOptions),
    /// Record the delivery of the given line items, or of all that were not delivered yet.
    #[command(after_help = examples!("orders deliver ORDER_ID --data-dir ./shop"))]
    Deliver(StepOptions),
    /// Cancel the given line items, or all that were not shipped yet. The refund is a separate step.
    #[command(after_help = examples!("orders cancel ORDER_ID --line li_1=1 --reason Unavailable"))]
    Cancel(CancelOptions),
    /// Capture an amount of an authorized payment, or all of it. The rest is released.
    #[command(after_help = examples!(
        "orders capture ORDER_ID --config gateway.toml",
        "orders capture ORDER_ID --config gateway.toml --amount 1250"
    ))]
    Capture(CaptureOptions),
    /// Release an authorized payment without a capture.
    #[command(after_help = examples!("orders release ORDER_ID --config gateway.toml"))]
    Release(DrawOptions),
    /// Record a refund of an amount, or of the remaining amount. No money is moved: to refund through the payment provider,
    /// use `POST /orders/ID/refund` on the admin API.
    #[command(after_help = examples!("orders refund ORDER_ID --data-dir ./shop --amount 1250"))]
    Refund(RefundOptions),
    /// Confirm a refund that was made manually at the payment provider.
    #[command(after_help = examples!("orders confirm ORDER_ID --data-dir ./shop --refund adj_1"))]
    Confirm(ConfirmOptions),
}

#[derive(Debug, Args)]
pub(crate) struct PlaceOptions {
    #[command(flatten)]
    store: StoreOptions,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// Maximum number of orders.
    #[arg(long, default_value_t = 20, value_name = "NUMBER")]
    limit: u16,
    #[command(flatten)]
    place: PlaceOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ShowOptions {
    /// ID of the order, its ID at the shop behind the gateway, or its label.
    id: String,
    /// Print only the AP2 mandate of the buyer, as it was presented. It reveals who bought what.
    #[arg(long, conflicts_with = "json")]
    mandate: bool,
    #[command(flatten)]
    place: PlaceOptions,
}

#[derive(Debug, Args)]
pub(crate) struct StepOptions {
    /// ID of the order, its ID at the shop behind the gateway, or its label.
    id: String,
    /// Line item and quantity, such as `li_1=2`; repeatable.
    #[arg(long = "line", value_name = "LINE=QUANTITY", value_parser = line)]
    lines: Vec<LineQuantity>,
    #[command(flatten)]
    place: PlaceOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ShipOptions {
    #[command(flatten)]
    step: StepOptions,
    /// Carrier.
    #[arg(long)]
    carrier: Option<String>,
    /// Tracking number.
    #[arg(long, value_name = "NUMBER")]
    tracking_number: Option<String>,
    /// URL of the tracking page.
    #[arg(long, value_name = "URL")]
    tracking_url: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CancelOptions {
    #[command(flatten)]
    step: StepOptions,
    /// Reason, shown to the buyer.
    #[arg(long)]
    reason: Option<String>,
}

/// An order whose payment handler is asked, which the configuration describes.
#[derive(Debug, Args)]
pub(crate) struct DrawOptions {
    /// ID of the order, its ID at the shop behind the gateway, or its label.
    id: String,
    #[command(flatten)]
    serve: ServeOptions,
    /// Name of the shop, if the configuration has several.
    #[arg(long, value_name = "NAME")]
    shop: Option<ShopId>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CaptureOptions {
    #[command(flatten)]
    of: DrawOptions,
    /// Amount in minor units: 1250 is USD 12.50.
    #[arg(long, value_name = "MINOR-UNITS", allow_negative_numbers = true)]
    amount: Option<i64>,
}

#[derive(Debug, Args)]
pub(crate) struct RefundOptions {
    #[command(flatten)]
    step: StepOptions,
    /// Amount in minor units: 1250 is USD 12.50.
    #[arg(long, value_name = "MINOR-UNITS", allow_negative_numbers = true)]
    amount: Option<i64>,
    /// Reason, shown to the buyer.
    #[arg(long)]
    reason: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ConfirmOptions {
    #[command(flatten)]
    step: StepOptions,
    /// ID of the refund, such as `adj_1`.
    #[arg(long, value_name = "ADJUSTMENT")]
    refund: String,
}

pub(crate) fn run(command: OrdersCommand) -> Done {
    let runtime = runtime(1)?;
    match command {
        OrdersCommand::List(ListOptions { limit, place }) => {
            let store = place.store.locate()?.open(&runtime)?;
            let orders = wait(&runtime, store.newest_orders(limit.into())).map_err(|error| error.to_string())?;
            if place.json {
                let orders: Vec<_> = orders.iter().map(orders::shown).collect();
                say!("{}", serde_json::to_string_pretty(&orders)?);
            } else {
                orders.iter().for_each(|order| say!("{}", summary(&order.document)));
            }
        }
        OrdersCommand::Show(ShowOptions { id, mandate, place }) => {
            let location = place.store.locate()?;
            let store = location.open(&runtime)?;
            let order = wait(&runtime, orders::named(&*store, &id))?;
            if mandate {
                let mandate =
                    wait(&runtime, store.mandate(&order.document.checkout_id)).map_err(|error| error.to_string())?;
                let mandate = mandate.ok_or_else(|| format!("no mandate is kept for the order `{id}`"))?;
                say!("{}", mandate.reveal());
            } else {
                show(&order, place.json)?;
                if !place.json {
                    let events = wait(&runtime, store.webhook_events(NEWEST)).map_err(|error| error.to_string())?;
                    waiting(&order.document.id, &events, location.can_sign());
                }
            }
        }
        OrdersCommand::Ship(ShipOptions { step, carrier, tracking_number, tracking_url }) => {
            take(&runtime, "ship", step, |details| Details { carrier, tracking_number, tracking_url, ..details })?;
        }
        OrdersCommand::Deliver(step) => take(&runtime, "deliver", step, |details| details)?,
        OrdersCommand::Cancel(CancelOptions { step, reason }) => {
            take(&runtime, "cancel", step, |details| Details { reason, ..details })?;
        }
        OrdersCommand::Capture(CaptureOptions { of, amount }) => draw(&runtime, "capture", &of, amount)?,
        OrdersCommand::Release(of) => draw(&runtime, "release", &of, None)?,
        OrdersCommand::Refund(RefundOptions { step, amount, reason }) => {
            take(&runtime, "refund", step, |details| Details { amount, reason, ..details })?;
        }
        OrdersCommand::Confirm(ConfirmOptions { step, refund }) => {
            take(&runtime, "confirm", step, |details| Details { refund: Some(refund), ..details })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn take(
    runtime: &tokio::runtime::Runtime,
    name: &str,
    options: StepOptions,
    more: impl FnOnce(Details) -> Details,
) -> Result<(), Box<dyn std::error::Error>> {
    let StepOptions { id, lines, place } = options;
    let step = Step::of(name, more(Details::of_lines(lines)))?;
    let store = place.store.locate()?.open(runtime)?;
    let order = wait(runtime, orders::take(&*store, &[], &id, &step, Once::default(), clock::timestamp))?;
    show(&order, place.json)
}

/// Takes a step for which the payment handler of the order is asked.
fn draw(
    runtime: &tokio::runtime::Runtime,
    name: &str,
    options: &DrawOptions,
    amount: Option<i64>,
) -> Result<(), Box<dyn std::error::Error>> {
    let step = Step::of(name, Details { amount, ..Details::default() })?;
    let configuration = Configuration::resolve(&options.serve, clock::now())?;
    let settings = shop_named(&configuration, options.shop.as_ref())?;
    let store = place::of(&settings, runtime)?;
    let _within = runtime.enter();
    let handlers = embedded::handlers(&settings.payments, &settings.extra_roots, &Arc::default())?;
    let order = wait(runtime, orders::take(&*store, &handlers, &options.id, &step, Once::default(), clock::timestamp))?;
    show(&order, options.json)
}

/// Number of the newest webhook events among which those of an order are looked for.
const NEWEST: usize = 10_000;

/// Prints the webhook events of an order that wait, each with the reason.
fn waiting(order: &str, events: &[WebhookEvent], can_sign: bool) {
    for event in events.iter().filter(|event| *event.order_id == *order && event.state == State::Waiting) {
        let reason = match &event.problem {
            _ if !can_sign => "there is no signing key; make one with `ucp-gateway keys generate`",
            Some(problem) => problem,
            None => "it is the next, or an earlier one of the order waits",
        };
        say!("  webhook {} waits: {reason}", event.id);
    }
}

fn show(order: &Stored<Order>, json: bool) -> Result<(), Box<dyn std::error::Error>> {
    if json {
        say!("{}", serde_json::to_string_pretty(&orders::shown(order))?);
        return Ok(());
    }
    let order = &order.document;
    say!("{}", summary(order));
    if let Some(remote) = &order.remote {
        say!("  {}  {} at the shop", order.label, remote.reference);
    }
    for line in &order.line_items {
        let (status, title) = (line.status().as_str(), &line.item.title);
        say!("  {}  {}/{} {status}  {title}", line.id, line.fulfilled, line.total);
    }
    for event in &order.events {
        say!("  {}  {}", event.occurred_at, event.kind);
    }
    for adjustment in &order.adjustments {
        let amount = order.currency.amount(amount_of(&adjustment.totals, TotalKind::Total));
        let reason = adjustment.description.as_deref().unwrap_or_default();
        let (kind, status) = (&adjustment.kind, adjustment.status.as_str());
        let by_hand = if adjustment.by_hand { ", to be given at the provider and confirmed" } else { "" };
        say!("  {}  {} {kind} {status}{by_hand} {amount} {reason}", adjustment.occurred_at, adjustment.id);
    }
    if let Some(hold) = &order.payment.hold {
        let what = match hold {
            Hold::Authorized => "authorized; capture or release it".to_owned(),
            Hold::Capturing { amount, .. } => {
                format!("{} are being captured; the provider is asked again by itself", order.currency.amount(*amount))
            }
            Hold::Captured { amount } => format!("{} captured", order.currency.amount(*amount)),
            Hold::Releasing { .. } => "being released; the provider is asked again by itself".to_owned(),
            Hold::Released => "released, nothing captured".to_owned(),
        };
        say!("  payment: {what}");
    }
    if let Some(evidence) = &order.payment.mandate {
        let kept = if evidence.kept { "kept; `--mandate` writes it" } else { "not kept" };
        say!("  {}  mandate {} signed with {} ({kept})", evidence.verified_at, evidence.reference, evidence.kid);
    }
    Ok(())
}

/// Formats an order in one line.
fn summary(order: &Order) -> String {
    let total = order.currency.amount(amount_of(&order.totals, TotalKind::Total));
    format!("{}  {}  {}  {total}  {}", order.id, order.placed_at, orders::status(order), order.owner)
}

/// Parses a line item and its quantity, such as `li_1=2`.
fn line(text: &str) -> Result<LineQuantity, String> {
    let (id, quantity) = text.split_once('=').unwrap_or((text, ""));
    let quantity = quantity.parse::<i64>().ok().filter(|quantity| *quantity > 0 && !id.is_empty());
    let quantity = quantity.ok_or("expected a line and a quantity above zero, such as li_1=2")?;
    Ok(LineQuantity { id: id.to_owned(), quantity })
}
