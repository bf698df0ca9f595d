//! Orders at a shop behind another API: those that buyers place on its pages are found, and what becomes of all of them is
//! followed.
//!
//! A notice of the shop and an answer to a question lead to the same: an order is placed ([`placing`](super::placing)), or a
//! [`Report`] is applied to it. The commit of an order that has changed queues the webhook event for its platform.

use jiff::{SignedDuration, Timestamp};

use super::SalesService;
use crate::{
    Refusal,
    checkout::Checkout,
    order::{
        Order,
        report::{Misfit, Report},
    },
    ports::{
        FoundOrder, PlacedLine, PlacedOrder, Search,
        agenda::{Claimed, Next, Plan},
        follow_again, following,
        ledger::{Change, Committed, Stored},
        remote_cart::ShopOrder,
    },
};

/// Maximum number of attempts to commit a report while others change the order.
const TRIES: usize = 16;

/// Maximum number of orders that one name of the shop's is looked for among.
const NAMESAKES: usize = 16;

/// First pause between two questions for the order of a cart.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(15);

/// Number of times that the pause doubles: up to 8 minutes.
const DOUBLED: u32 = 5;

/// Time after the expiry of a checkout during which its order is still asked for: the buyer may have paid at the last moment.
const GRACE: SignedDuration = SignedDuration::from_mins(30);

/// Time after which a report about an order of this gateway that it does not know is to be repeated, in seconds.
const RETRY_SECONDS: u32 = 60;

/// Result of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reported {
    /// The order has changed, and the platform is told about it. Both are on disk.
    Changed,
    /// Everything was known: nothing was changed.
    Known,
    /// No order of this gateway has the identifier.
    Stranger,
    /// Something does not fit the order: this is the first. Of an answer to a question the rest was applied, of a notice
    /// nothing.
    Unfit(Misfit),
}

impl SalesService {
    /// Applies a notice of the shop, as a whole or not at all.
    ///
    /// # Errors
    /// Errors of the ledger, and [`Unavailable`](crate::Code::Unavailable) if concurrent changes persist, or if the order is
    /// one of this gateway that it does not know yet.
    pub async fn report(&self, report: &Report) -> Result<Reported, Refusal> {
        self.reported(report, true).await
    }

    /// Applies a report; as a whole or not at all if `whole` is `true`.
    async fn reported(&self, report: &Report, whole: bool) -> Result<Reported, Refusal> {
        for _ in 0..TRIES {
            let named = self.ledger.orders_named(&report.order, NAMESAKES).await?;
            let own = named
                .into_iter()
                .find(|order| order.document.remote.as_ref().is_some_and(|remote| remote.reference == report.order));
            let Some(Stored { document: before, version }) = own else {
                let content = "No order of this gateway has this identifier yet.";
                return if report.is_ours {
                    Err(Refusal::unavailable(content, RETRY_SECONDS))
                } else {
                    Ok(Reported::Stranger)
                };
            };
            let mut order = before.clone();
            let unfit = order.apply(report, self.now()).into_iter().next();
            let ended = unfit.map_or(Reported::Known, Reported::Unfit);
            if order == before || (whole && ended != Reported::Known) {
                return Ok(ended);
            }
            if let Some(remote) = &mut order.remote {
                remote.reported_at = self.now();
            }
            // What was captured or released changes nothing that a platform sees.
            let quiet = order.events == before.events && order.adjustments == before.adjustments;
            let plans = self.to_follow(&order).into_iter().collect();
            let changed = Some(Stored { document: order, version });
            let change = Change { order: changed, quiet, plans, ..Change::default() };
            if self.ledger.commit(change, None).await? == Committed::Done {
                return Ok(if ended == Reported::Known { Reported::Changed } else { ended });
            }
        }
        Err(Refusal::unavailable("Too many concurrent changes to this order.", 1))
    }

    /// Returns the plan that follows an order, if it is one of a shop that can be asked about it.
    pub(super) fn to_follow(&self, order: &Order) -> Option<Plan> {
        let follows = order.remote.is_some() && self.order_ways().follows;
        follows.then(|| Plan::Due(following(&order.id, order.owner.clone(), self.now())))
    }

    /// Returns the plan that finds the order of a checkout, if its buyer can pay on a page of a shop that can be asked.
    pub(super) fn to_find(&self, checkout: &Checkout) -> Option<Plan> {
        self.order_ways().finds.then(|| checkout.search(self.now()))?.map(Plan::Due)
    }

    /// Asks the shop for the order of a checkout whose buyer pays on its page.
    pub(super) async fn find_order(&self, task: &Claimed) -> Result<Next, Refusal> {
        let (Some(inbox), Ok(search)) = (&self.order_inbox, serde_json::from_str::<Search>(&task.body)) else {
            return Ok(Next::Done);
        };
        let Some(stored) = self.ledger.checkout(&search.owner, &task.key).await? else { return Ok(Next::Done) };
        let checkout = stored.document;
        if checkout.state.order().is_some() || checkout.state.attempt().is_some() {
            return Ok(Next::Done);
        }
        let problem = match inbox.order(&checkout.token, Some(&search.cart)).await {
            Ok(Some(found)) => {
                let placed = match found {
                    FoundOrder::Whole(placed) => *placed,
                    FoundOrder::Named(order) => self.as_agreed(&checkout, order),
                };
                self.place(&placed).await?;
                return Ok(Next::Done);
            }
            Ok(None) if self.now().duration_since(checkout.expires_at) >= GRACE => return Ok(Next::Done),
            Ok(None) => None,
            Err(error) => Some(error.to_string()),
        };
        let pause = FIRST_PAUSE * (1 << task.tries.min(DOUBLED));
        Ok(Next::At { at: self.now().checked_add(pause).unwrap_or(Timestamp::MAX), problem })
    }

    /// Returns the order of a checkout as its buyer was sent to the shop with it.
    fn as_agreed(&self, checkout: &Checkout, order: ShopOrder) -> PlacedOrder {
        let lines = checkout.line_items.iter().map(|line| PlacedLine {
            item: line.item.clone(),
            quantity: line.quantity,
            totals: line.totals.clone(),
        });
        PlacedOrder {
            reference: checkout.token.clone(),
            label: order.label.unwrap_or_else(|| order.id.clone()),
            id: order.id,
            permalink_url: order.permalink_url,
            currency: checkout.currency,
            line_items: lines.collect(),
            totals: checkout.totals.clone(),
            is_authorized: order.is_authorized,
            placed_at: self.now(),
        }
    }

    /// Asks the shop what has become of an order.
    pub(super) async fn follow_order(&self, task: &Claimed) -> Result<Next, Refusal> {
        let Some(inbox) = &self.order_inbox else { return Ok(Next::Done) };
        let Some(stored) = self.ledger.order(&task.body, &task.key).await? else { return Ok(Next::Done) };
        let Some(remote) = &stored.document.remote else { return Ok(Next::Done) };
        let problem = match inbox.status(remote).await {
            Ok(Some(report)) => match self.reported(&report, false).await? {
                // The commit has planned the next question.
                Reported::Changed => return Ok(Next::At { at: self.now(), problem: None }),
                Reported::Unfit(misfit) => Some(misfit.reason.to_string()),
                Reported::Known | Reported::Stranger => None,
            },
            Ok(None) => None,
            Err(error) => Some(error.to_string()),
        };
        Ok(match follow_again(stored.document.changed_at(), self.now()) {
            Some(at) => Next::At { at, problem },
            None => Next::Done,
        })
    }
}
