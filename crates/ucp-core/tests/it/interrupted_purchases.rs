//! Purchases by two platforms that are interrupted anywhere, against what has to hold whatever happens.
//!
//! A story is a list of steps: calls, changes of prices and stock, time that passes. Calls are cut off after any number
//! of polls, fail on any commit before or after it took effect, and race each other; payments go every way they can.
//! After every step the books have to balance; in the end, when everything works again and payments are asked after,
//! they have to be settled as well.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use ucp_core::{
    Answer, Outcome,
    call::SaleRequest,
    cart,
    checkout::{self, Checkout, Status},
    operation::ById,
    ports::caller::Caller,
    pricing::terms::Terms,
    purchase::totals::{TotalKind, amount_of},
};
use ucp_testkit::{
    Course, Fate, TestShop, interrupted,
    shop::{card, draft, platform},
};

const GOODS: [(&str, i64, Option<u64>); 3] = [("rose", 350, Some(6)), ("tulip", 120, None), ("gift", 0, Some(3))];

/// Fate of a call.
#[derive(Clone, Copy, Debug)]
enum Luck {
    Good,
    /// The process dies after so many polls.
    Dies(usize),
    /// A commit fails: the first, the second…
    Fails(usize, Fate),
}

#[derive(Clone, Debug)]
enum Step {
    CreateCart {
        lines: Lines,
    },
    UpdateCart {
        cart: usize,
        lines: Lines,
    },
    CancelCart {
        cart: usize,
    },
    Create {
        lines: Lines,
    },
    CreateOfCart {
        cart: usize,
    },
    Update {
        checkout: usize,
        lines: Lines,
    },
    Cancel {
        checkout: usize,
    },
    Complete {
        checkout: usize,
    },
    /// Two completions and a reconciliation at once, with a head start of some polls.
    Race {
        checkout: usize,
        starts: [usize; 3],
    },
    Reconcile,
    Reprice {
        good: usize,
        cents: i64,
    },
    Restock {
        good: usize,
    },
    Pass {
        seconds: u32,
    },
}

type Lines = Vec<(usize, u64)>;

fn lines() -> impl Strategy<Value = Lines> {
    // One more than there are: something that is not sold.
    prop::collection::vec((0..=GOODS.len(), 1..4_u64), 1..4)
}

fn step() -> impl Strategy<Value = Step> {
    let any = 0..6_usize;
    prop_oneof![
        2 => lines().prop_map(|lines| Step::CreateCart { lines }),
        1 => (any.clone(), lines()).prop_map(|(cart, lines)| Step::UpdateCart { cart, lines }),
        1 => any.clone().prop_map(|cart| Step::CancelCart { cart }),
        5 => lines().prop_map(|lines| Step::Create { lines }),
        2 => any.clone().prop_map(|cart| Step::CreateOfCart { cart }),
        2 => (any.clone(), lines()).prop_map(|(checkout, lines)| Step::Update { checkout, lines }),
        1 => any.clone().prop_map(|checkout| Step::Cancel { checkout }),
        8 => any.clone().prop_map(|checkout| Step::Complete { checkout }),
        2 => (any, prop::array::uniform3(0..8_usize)).prop_map(|(checkout, starts)| Step::Race { checkout, starts }),
        2 => Just(Step::Reconcile),
        2 => (0..2_usize, 1..900_i64).prop_map(|(good, cents)| Step::Reprice { good, cents }),
        1 => prop::sample::select(vec![0_usize, 2]).prop_map(|good| Step::Restock { good }),
        2 => prop::sample::select(vec![1_u32, 61, 7 * 60 * 60, 31 * 24 * 60 * 60])
            .prop_map(|seconds| Step::Pass { seconds }),
    ]
}

fn luck() -> impl Strategy<Value = Luck> {
    prop_oneof![
        4 => Just(Luck::Good),
        2 => (0..24_usize).prop_map(Luck::Dies),
        1 => (0..2_usize, prop::sample::select(vec![Fate::FailsBefore, Fate::FailsAfter]))
            .prop_map(|(commit, fate)| Luck::Fails(commit, fate)),
    ]
}

fn course() -> impl Strategy<Value = Course> {
    prop::sample::select(vec![
        Course::Captured,
        Course::Captured,
        Course::Declined,
        Course::Challenged,
        Course::AnswerLost,
        Course::RequestLost,
        Course::Slow(2),
        Course::Late(1),
        Course::Late(3),
        Course::LateDeclined(2),
    ])
}

/// A shop, and what its two customers know.
struct Story {
    shop: TestShop,
    platforms: [Caller; 2],
    carts: [Vec<String>; 2],
    checkouts: [Vec<String>; 2],
    /// Total that a platform was last told; `None` if the last response was lost.
    shown: BTreeMap<String, i64>,
    /// Total that a platform agreed to pay; not certain when it completed twice at once, and the first one may have
    /// been told a new total.
    agreed: BTreeMap<String, Option<i64>>,
    completed: BTreeMap<String, Checkout>,
    canceled: BTreeSet<String>,
    supplied: BTreeMap<&'static str, u64>,
}

impl Story {
    fn new(courses: Vec<Course>) -> Self {
        let shop = TestShop::new(Terms::default());
        let mut supplied = BTreeMap::new();
        for (good, cents, count) in GOODS {
            shop.shelf.put(good, cents);
            shop.shelf.change(good, |variant| variant.digital = true);
            if let Some(count) = count {
                shop.ledger.count(good, count);
                supplied.insert(good, count);
            }
        }
        shop.handler.script(courses);
        Self {
            shop,
            platforms: ["https://a.example/ucp", "https://b.example/ucp"].map(|owner| platform(owner, &[])),
            carts: Default::default(),
            checkouts: Default::default(),
            shown: BTreeMap::new(),
            agreed: BTreeMap::new(),
            completed: BTreeMap::new(),
            canceled: BTreeSet::new(),
            supplied,
        }
    }

    async fn take(&mut self, who: usize, step: Step, luck: Luck) {
        let request = match step {
            Step::Reprice { good, cents } => return self.shop.shelf.reprice(GOODS[good].0, cents),
            Step::Restock { good } => {
                let good = GOODS[good].0;
                let remaining = self.shop.ledger.remaining(good).expect("counted");
                self.shop.ledger.count(good, remaining + 2);
                *self.supplied.get_mut(good).expect("counted") += 2;
                return;
            }
            Step::Pass { seconds } => return self.shop.clock.advance(seconds),
            Step::Reconcile => {
                let shop = self.shop.clone();
                self.cut(luck, async move { shop.carry_out_all().await.map(drop) }).await;
                return;
            }
            Step::Race { checkout, starts } => {
                if let Some(id) = self.named(who, checkout) {
                    self.agree(who, &id).await;
                    self.agreed.insert(id.clone(), None);
                    self.race(who, &id, starts, luck).await;
                }
                return;
            }
            Step::CreateCart { lines } => SaleRequest::CreateCart(cart::Create { draft: wanted(&lines) }),
            Step::UpdateCart { cart, lines } => {
                let Some(id) = pick(&self.carts[who], cart) else { return };
                SaleRequest::UpdateCart(cart::Update { id, draft: wanted(&lines) })
            }
            Step::CancelCart { cart } => {
                let Some(id) = pick(&self.carts[who], cart) else { return };
                SaleRequest::CancelCart(ById { id })
            }
            Step::Create { lines } => {
                SaleRequest::CreateCheckout(checkout::Create { draft: wanted(&lines), cart_id: None })
            }
            Step::CreateOfCart { cart } => {
                let Some(id) = pick(&self.carts[who], cart) else { return };
                SaleRequest::CreateCheckout(checkout::Create { draft: draft(&[("tulip", 9)]), cart_id: Some(id) })
            }
            Step::Update { checkout, lines } => {
                let Some(id) = self.named(who, checkout) else { return };
                SaleRequest::UpdateCheckout(checkout::Update { id, draft: wanted(&lines) })
            }
            Step::Cancel { checkout } => {
                let Some(id) = self.named(who, checkout) else { return };
                SaleRequest::CancelCheckout(ById { id })
            }
            Step::Complete { checkout } => {
                let Some(id) = self.named(who, checkout) else { return };
                self.agree(who, &id).await;
                completion(&id)
            }
        };
        let (shop, caller, call) = (self.shop.clone(), self.platforms[who].clone(), request.clone());
        match self.cut(luck, async move { shop.call(&caller, call).await }).await {
            Some(outcome) => self.learn(who, &outcome),
            None => self.forget(&request),
        }
    }

    /// Result of a call, unless its response is lost.
    async fn cut<T>(
        &self,
        luck: Luck,
        call: impl Future<Output = Result<T, ucp_core::Refusal>> + Send + 'static,
    ) -> Option<T> {
        let polls = match luck {
            Luck::Good => usize::MAX,
            Luck::Dies(polls) => polls,
            Luck::Fails(commit, fate) => {
                self.shop.ledger.decide_fates(move |number| if number == commit { fate } else { Fate::Succeeds });
                usize::MAX
            }
        };
        let outcome = interrupted(call, polls).await;
        self.shop.ledger.recover();
        outcome?.ok()
    }

    async fn race(&mut self, who: usize, id: &str, starts: [usize; 3], luck: Luck) {
        let late = async |polls: usize| {
            for _ in 0..polls {
                tokio::task::yield_now().await;
            }
        };
        let completed = async |start| {
            late(start).await;
            let complete = completion(id);
            let (shop, caller) = (self.shop.clone(), self.platforms[who].clone());
            interrupted(
                async move { shop.call(&caller, complete).await.ok() },
                match luck {
                    Luck::Dies(polls) => polls,
                    Luck::Good | Luck::Fails(..) => usize::MAX,
                },
            )
            .await
            .flatten()
        };
        let reconciled = async {
            late(starts[2]).await;
            let settled = self.shop.carry_out_all().await;
            settled.expect("the books are fine");
        };
        let (one, other, ()) = tokio::join!(completed(starts[0]), completed(starts[1]), reconciled);
        self.shown.remove(id);
        for outcome in [one, other].into_iter().flatten() {
            // Their order is unknown.
            if let Some(view) = view(&outcome) {
                self.see(&view.checkout);
            }
        }
        self.shown.remove(id);
    }

    /// Has a look at a checkout if the last answer was lost, and agrees to what it costs.
    async fn agree(&mut self, who: usize, id: &str) {
        if !self.shown.contains_key(id) {
            let get = SaleRequest::GetCheckout(ById { id: id.to_owned() });
            let outcome = self.shop.call(&self.platforms[who], get).await.expect("the books are fine");
            self.learn(who, &outcome);
        }
        self.agreed.insert(id.to_owned(), Some(self.shown[id]));
    }

    fn named(&self, who: usize, checkout: usize) -> Option<String> {
        pick(&self.checkouts[who], checkout)
    }

    /// Facts that a platform learns from a response.
    fn learn(&mut self, who: usize, outcome: &Outcome) {
        match outcome {
            Outcome::Answer(Answer::Cart(view)) => self.carts[who].push(view.cart.id.clone()),
            Outcome::NoResource { messages, .. } => assert!(!messages.is_empty()),
            _ => {}
        }
        if let Some(view) = view(outcome) {
            let checkout = &view.checkout;
            if !self.checkouts[who].contains(&checkout.id) {
                self.checkouts[who].push(checkout.id.clone());
            }
            assert_eq!(view.continue_url.is_some(), !checkout.status().is_terminal());
            assert_eq!(view.permalink_url.is_some(), checkout.status() == Status::Completed);
            self.shown.insert(checkout.id.clone(), total(checkout));
            self.see(checkout);
        }
    }

    fn see(&mut self, checkout: &Checkout) {
        match checkout.status() {
            Status::Completed => {
                self.completed.entry(checkout.id.clone()).or_insert_with(|| checkout.clone());
            }
            Status::Canceled => {
                self.canceled.insert(checkout.id.clone());
            }
            _ => {}
        }
    }

    /// An answer that never came may have changed what something costs.
    fn forget(&mut self, request: &SaleRequest) {
        let id = match request {
            SaleRequest::UpdateCheckout(request) => &request.id,
            SaleRequest::CompleteCheckout(request) => &request.id,
            SaleRequest::CancelCheckout(request) => &request.id,
            _ => return,
        };
        self.shown.remove(id);
    }

    /// Checks the invariants that hold at any time.
    async fn balance(&mut self) {
        let (ledger, handler) = (&self.shop.ledger, &self.shop.handler);
        let (checkouts, orders, captures) = (ledger.checkouts(), ledger.orders(), handler.captures());
        for checkout in &checkouts {
            let id = &checkout.id;
            let sold: Vec<_> = orders.iter().filter(|order| order.checkout_id == *id).collect();
            let paid: Vec<_> = captures.iter().filter(|capture| capture.checkout_id == *id).collect();
            assert!(sold.len() <= 1 && paid.len() <= 1, "bought {} times, paid {} times", sold.len(), paid.len());
            let order = checkout.state.order().map(|order| &order.id);
            assert_eq!(order, sold.first().map(|order| &order.id));
            for capture in paid {
                assert_eq!(capture.amount.minor(), total(checkout));
                if let Some(agreed) = self.agreed[id] {
                    assert_eq!(capture.amount.minor(), agreed, "nobody agreed to that");
                }
                assert!(
                    matches!(checkout.status(), Status::CompleteInProgress | Status::Completed),
                    "paid, and {:?}",
                    checkout.status()
                );
            }
            if let Some(order) = sold.first() {
                assert_eq!(amount_of(&order.totals, TotalKind::Total), total(checkout));
                assert_eq!(order.owner, checkout.owner);
            }
            if let Some(before) = self.completed.get(id) {
                assert_eq!(checkout, before, "completed once and for all");
            }
            if self.canceled.contains(id) {
                assert!(
                    checkout.status().is_open() || checkout.status() == Status::Canceled,
                    "canceled once and for all"
                );
            }
            if checkout.status() == Status::Completed {
                self.completed.entry(id.clone()).or_insert_with(|| checkout.clone());
            }
            if checkout.status() == Status::Canceled {
                self.canceled.insert(id.clone());
            }
        }
        for (good, supplied) in &self.supplied {
            let of = |checkout: &Checkout| -> u64 {
                let lines = checkout.line_items.iter().filter(|line| line.item.id == *good);
                lines.map(|line| line.quantity).sum()
            };
            let gone =
                |checkout: &&Checkout| matches!(checkout.status(), Status::Completed | Status::CompleteInProgress);
            let taken: u64 = checkouts.iter().filter(gone).map(of).sum();
            assert_eq!(ledger.remaining(good), Some(supplied - taken), "{good}");
        }
        self.look(&checkouts).await;
    }

    /// Looking changes nothing and shows the same twice, and nothing at all to the wrong platform.
    async fn look(&self, checkouts: &[Checkout]) {
        let before = self.shop.ledger.commits();
        for checkout in checkouts {
            let get = || SaleRequest::GetCheckout(ById { id: checkout.id.clone() });
            for caller in &self.platforms {
                let once = self.shop.call(caller, get()).await.expect("the books are fine");
                let twice = self.shop.call(caller, get()).await.expect("the books are fine");
                assert_eq!(format!("{once:?}"), format!("{twice:?}"));
                let mine = caller.owner == checkout.owner;
                assert_eq!(view(&once).is_some(), mine);
                if let Some(view) = view(&once) {
                    let status = view.checkout.status();
                    assert!(!self.canceled.contains(&checkout.id) || status == Status::Canceled, "was canceled");
                } else {
                    let codes = format!("{once:?}");
                    assert!(codes.contains("not_found") && codes.contains("conflict: false"), "{codes}");
                    for denied in [
                        completion(&checkout.id),
                        SaleRequest::CancelCheckout(ById { id: checkout.id.clone() }),
                        SaleRequest::UpdateCheckout(checkout::Update {
                            id: checkout.id.clone(),
                            draft: draft(&[("tulip", 1)]),
                        }),
                    ] {
                        let denied = self.shop.call(caller, denied).await.expect("the books are fine");
                        assert_eq!(format!("{denied:?}"), codes);
                    }
                }
            }
        }
        assert_eq!(self.shop.ledger.commits(), before, "looking changes nothing");
    }

    /// Checks the invariants that hold in the end, when everything works again.
    async fn end(&mut self) {
        self.shop.clock.advance(61);
        for _ in 0..6 {
            self.shop.carry_out_all().await.expect("the books are fine");
            self.balance().await;
        }
        let (checkouts, captures) = (self.shop.ledger.checkouts(), self.shop.handler.captures());
        for checkout in &checkouts {
            assert_ne!(checkout.status(), Status::CompleteInProgress, "settled");
            let paid = captures.iter().any(|capture| capture.checkout_id == checkout.id);
            let bought = checkout.status() == Status::Completed;
            assert_eq!(bought && total(checkout) > 0, paid);
        }
        for order in self.shop.ledger.orders() {
            for caller in &self.platforms {
                let get = SaleRequest::GetOrder(ById { id: order.id.clone() });
                let outcome = self.shop.call(caller, get).await.expect("the books are fine");
                assert_eq!(matches!(outcome, Outcome::Answer(Answer::Order(_))), caller.owner == order.owner);
            }
        }
    }
}

fn pick(ids: &[String], position: usize) -> Option<String> {
    // The latest ones are the most interesting.
    ids.iter().rev().nth(position % ids.len().max(1)).cloned()
}

fn wanted(lines: &Lines) -> ucp_core::purchase::draft::Draft {
    let name = |position: usize| GOODS.get(position).map_or("weed", |(name, ..)| name);
    draft(&lines.iter().map(|(good, quantity)| (name(*good), *quantity)).collect::<Vec<_>>())
}

fn completion(id: &str) -> SaleRequest {
    SaleRequest::CompleteCheckout(checkout::Complete {
        id: id.to_owned(),
        tenders: vec![card("scripted")],
        mandate: None,
        call: None,
    })
}

fn view(outcome: &Outcome) -> Option<&checkout::View> {
    match outcome {
        Outcome::Answer(Answer::Checkout(view)) => Some(view),
        _ => None,
    }
}

fn total(checkout: &Checkout) -> i64 {
    amount_of(&checkout.totals, TotalKind::Total)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_bought_twice_and_nothing_is_lost(
        steps in prop::collection::vec((0..2_usize, step(), luck()), 1..40),
        courses in prop::collection::vec(course(), 0..12),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let mut story = Story::new(courses);
            for (who, step, luck) in steps {
                story.take(who, step, luck).await;
                story.balance().await;
            }
            story.end().await;
        });
    }
}
