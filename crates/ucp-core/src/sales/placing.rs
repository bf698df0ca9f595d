//! Orders that buyers place on pages of a shop behind another API.
//!
//! Once the buyer has been sent there, the shop alone knows how a purchase ends. A cart that is gone says nothing: it
//! was paid for, or given up. The checkout therefore stays open until the shop tells about its order, or until it
//! expires.

use super::{ORPHANED_AFTER, SalesService, checkouts::unreachable_transition};
use crate::{
    Refusal,
    checkout::{Checkout, status::Illegal},
    message::{Message, Severity},
    order::{Confirmation, Hold, Order, Payment, RemoteOrder},
    ports::{
        PlacedLine, PlacedOrder,
        agenda::{Kind, Plan},
        ledger::{Change, Committed, Stored},
    },
    purchase::line_item::LineItem,
};

/// Maximum number of attempts to commit an order while other calls change its checkout.
const TRIES: usize = 16;

/// Time after which an order is to be reported again whose checkout may still be about to be stored, in seconds.
const RETRY_SECONDS: u32 = 60;

/// Result of placing an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// The checkout was completed with the order, and the platform is told about it. Both are on disk.
    Completed,
    /// The checkout is completed with this order already: nothing was changed.
    Known,
    /// The checkout is completed with another order: nothing was changed.
    Another,
    /// No checkout has the reference, and none will: the call that could store one has ended.
    Unknown,
}

impl SalesService {
    /// Completes the checkout of an order that was placed at the shop, and queues the webhook event about it, in one
    /// commit.
    ///
    /// # Errors
    /// Errors of the ledger, and [`Unavailable`](crate::Code::Unavailable) if concurrent changes persist, or if no checkout
    /// has the reference and the order is so recent that one may still be about to be stored.
    pub async fn place(&self, placed: &PlacedOrder) -> Result<Placed, Refusal> {
        for _ in 0..TRIES {
            let Some(Stored { document, version }) = self.ledger.checkout_by_token(&placed.reference).await? else {
                if self.now().duration_since(placed.placed_at).abs() < ORPHANED_AFTER {
                    return Err(Refusal::unavailable(
                        "No checkout has the reference of this order yet.",
                        RETRY_SECONDS,
                    ));
                }
                return Ok(Placed::Unknown);
            };
            if let Some(order) = document.state.order() {
                return Ok(if order.label == placed.label { Placed::Known } else { Placed::Another });
            }
            let (checkout, order) =
                self.placed(document, placed).map_err(|illegal| unreachable_transition(&illegal))?;
            let mut plans = vec![Plan::Done(Kind::FindOrder, checkout.id.clone())];
            plans.extend(self.to_follow(&order));
            let change = Change {
                checkout: Some(Stored { document: checkout, version }),
                order: Some(Stored { document: order, version: 0 }),
                plans,
                ..Change::default()
            };
            if self.ledger.commit(change, None).await? == Committed::Done {
                return Ok(Placed::Completed);
            }
        }
        Err(Refusal::unavailable("Too many concurrent changes to this checkout.", 1))
    }

    /// Returns a checkout completed with an order of the shop, and that order.
    fn placed(&self, mut checkout: Checkout, placed: &PlacedOrder) -> Result<(Checkout, Order), Illegal> {
        checkout.remote_cart = None;
        let permalink_url = placed.permalink_url.clone();
        let confirmation = Confirmation {
            id: self.unguessable("ord_"),
            label: placed.label.clone(),
            token: self.unguessable(""),
            permalink_url: permalink_url.clone(),
        };
        checkout.state = checkout.state.place(confirmation.clone())?;
        checkout.messages.clear();
        checkout.line_items = lines(&mut checkout, &placed.line_items);
        checkout.currency = placed.currency;
        checkout.totals.clone_from(&placed.totals);
        let remote = Some(RemoteOrder::new(placed.id.clone(), permalink_url, self.now()));
        let hold = placed.is_authorized.then_some(Hold::Authorized);
        let payment = Payment { hold, ..Payment::default() };
        let order = Order { remote, payment, ..checkout.ordered(confirmation, placed.placed_at) };
        Ok((checkout, order))
    }

    /// Returns `true` if the buyer may have paid the cart of a checkout, which the shop no longer has, on a page of the
    /// shop. A shop that knows the orders of its carts is asked.
    pub(super) async fn may_be_paid(&self, checkout: &Checkout) -> bool {
        let Some(cart) = checkout.remote_cart.as_ref().filter(|cart| cart.continue_url.is_some()) else { return false };
        match self.order_inbox.as_ref().filter(|inbox| inbox.ways().finds) {
            Some(inbox) => !matches!(inbox.order(&checkout.token, Some(cart)).await, Ok(None)),
            None => true,
        }
    }

    /// Records that the shop no longer has the cart of an open checkout which the buyer could pay there. It is not known
    /// whether that happened: the checkout stays open until the shop tells, or until it expires. Another cart in its
    /// place could be paid a second time.
    pub(super) fn lose_cart(&self, checkout: &mut Checkout) -> Result<(), Illegal> {
        let ways = self.order_ways();
        let content = if ways.tells || ways.finds {
            "The shop no longer has the cart of this checkout: the buyer has paid on the shop's page, or the shop gave the \
             cart up. The checkout becomes `completed` when the shop reports the order, and `canceled` at `expires_at` \
             if it reports none. Look at it again before buying the same elsewhere."
        } else {
            "The shop no longer has the cart of this checkout: the buyer has paid on the shop's page, or the shop gave the \
             cart up. This gateway hears of no orders of the shop, so that the checkout becomes `canceled` at \
             `expires_at` in either case. Ask the buyer before buying the same elsewhere."
        };
        checkout.messages = vec![Message::error("purchase_unconfirmed", content, Severity::RequiresBuyerReview)];
        checkout.state = checkout.state.judge(&checkout.messages)?;
        Ok(())
    }
}

/// Returns the lines of a placed order. A line of the same item keeps the identifier that it has in the checkout, and
/// what the checkout knows about the item beyond the order.
fn lines(checkout: &mut Checkout, placed: &[PlacedLine]) -> Vec<LineItem> {
    let mut before = std::mem::take(&mut checkout.line_items);
    let mut line = |PlacedLine { item, quantity, totals }: &PlacedLine| {
        let (quantity, totals, mut item) = (*quantity, totals.clone(), item.clone());
        let own = before.iter().position(|own| own.item.id == item.id).map(|place| before.remove(place));
        let (id, parent_id) = match own {
            Some(own) => {
                item.image_url = item.image_url.or(own.item.image_url);
                (own.id, own.parent_id)
            }
            None => {
                checkout.lines_ever += 1;
                (format!("li_{}", checkout.lines_ever), None)
            }
        };
        LineItem { id, item, quantity, totals, parent_id }
    };
    placed.iter().map(&mut line).collect()
}
