//! Carts and checkouts in front of a shop that answers late, by half, wrongly or not at all.
//!
//! They are asked through a sales service, as the gateway has it, with the shop's carts behind. After every call it is
//! looked whether the name of a cart, which opens it, can be read in what was answered, refused or logged. The clock of
//! tokio is paused.

mod faithful;
mod faults;
mod partial;
mod stub;

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use ucp_core::{
    Answer, Outcome, Refusal,
    call::SaleRequest,
    cart, checkout,
    message::Message,
    operation::ById,
    ports::caller::Caller,
    pricing::terms::Terms,
    purchase::{
        draft::{DestinationDraft, Draft, FulfillmentDraft, GroupDraft, MethodDraft},
        totals::{TotalKind, amount_of},
    },
};
use ucp_shopify::{Storefront, Token, catalog::Options};
use ucp_testkit::{Log, TestShop, shop::platform};

use self::stub::{CANARY, Stub};

/// A sales service in front of a stub.
struct Counter {
    shop: TestShop,
    storefront: Storefront,
    caller: Caller,
    log: &'static Log,
}

/// A cart or a checkout as it was answered.
#[derive(Debug)]
struct Shown {
    id: String,
    status: Option<&'static str>,
    /// The lines: identifiers, items and quantities.
    lines: Vec<(String, String, u64)>,
    total: i64,
    continue_url: Option<String>,
    messages: Vec<Message>,
    /// The first method: the chosen destination, and the chosen options of its groups.
    delivery: Option<(Option<String>, Vec<Option<String>>)>,
}

impl Counter {
    async fn behind(stub: &Stub) -> Self {
        Self::with(stub, |_| {}).await
    }

    /// One that is patient with writes for no longer than that.
    async fn impatient(stub: &Stub, answer: Duration) -> Self {
        Self::with(stub, |upstream| upstream.timeouts.write.answer = answer).await
    }

    async fn with(stub: &Stub, change: impl FnOnce(&mut ucp_net::Options)) -> Self {
        let log = Log::of_everything();
        let mut upstream = ucp_net::Options::new("stub", stub.url.clone());
        upstream.timeouts.connect = Duration::from_secs(20);
        upstream.timeouts.read.answer = Duration::from_secs(20);
        upstream.timeouts.read.total = Duration::from_secs(30);
        upstream.timeouts.write.answer = Duration::from_secs(20);
        upstream.timeouts.write.total = Duration::from_secs(30);
        change(&mut upstream);
        let (clock, random) = (Arc::new(Instant::now), Arc::new(|| 0));
        let options = Options::new(upstream, Token::None, clock, random, jiff::Timestamp::now);
        let storefront = Storefront::connect(options).await.expect("the shop says where it sells");
        let mut shop = TestShop::new(Terms::default());
        shop.sales.catalog = Arc::new(storefront.clone());
        shop.sales.remote_carts = Some(Arc::new(storefront.clone()));
        shop.sales.handlers = Arc::new([]);
        Self { shop, storefront, caller: platform("https://platform.example/profile", &[]), log }
    }

    /// Carries out a call, and looks for the name of a cart in all that came of it.
    async fn call(&self, request: SaleRequest) -> Result<Outcome, Refusal> {
        let result = self.shop.call(&self.caller, request).await;
        let printed = format!("{result:?} {:?} {:?}", self.storefront, self.storefront.client().counters().snapshot());
        assert!(!printed.contains(CANARY), "{printed}");
        assert!(!self.log.has(CANARY), "the name of a cart was logged");
        result
    }

    async fn create_cart(&self, draft: Draft) -> Shown {
        shown(self.call(SaleRequest::CreateCart(cart::Create { draft })).await.expect("carried out"))
    }

    async fn get_cart(&self, id: &str) -> Result<Outcome, Refusal> {
        self.call(SaleRequest::GetCart(ById { id: id.to_owned() })).await
    }

    async fn try_update_cart(&self, id: &str, draft: Draft) -> Result<Shown, Refusal> {
        self.call(SaleRequest::UpdateCart(cart::Update { id: id.to_owned(), draft })).await.map(shown)
    }

    async fn update_cart(&self, id: &str, draft: Draft) -> Shown {
        self.try_update_cart(id, draft).await.expect("carried out")
    }

    async fn cancel_cart(&self, id: &str) -> Result<Outcome, Refusal> {
        self.call(SaleRequest::CancelCart(ById { id: id.to_owned() })).await
    }

    async fn create_checkout(&self, draft: Draft, cart_id: Option<&str>) -> Shown {
        let cart_id = cart_id.map(str::to_owned);
        shown(self.call(SaleRequest::CreateCheckout(checkout::Create { draft, cart_id })).await.expect("carried out"))
    }

    async fn update_checkout(&self, id: &str, draft: Draft) -> Shown {
        let request = SaleRequest::UpdateCheckout(checkout::Update { id: id.to_owned(), draft });
        shown(self.call(request).await.expect("carried out"))
    }

    async fn get_checkout(&self, id: &str) -> Result<Outcome, Refusal> {
        self.call(SaleRequest::GetCheckout(ById { id: id.to_owned() })).await
    }
}

/// Response, for any operation.
fn shown(outcome: Outcome) -> Shown {
    let of_lines = |lines: &[ucp_core::purchase::line_item::LineItem]| {
        lines.iter().map(|line| (line.id.clone(), line.item.id.clone(), line.quantity)).collect()
    };
    match outcome {
        Outcome::Answer(Answer::Cart(view)) => Shown {
            id: view.cart.id.clone(),
            status: None,
            lines: of_lines(&view.cart.line_items),
            total: amount_of(&view.cart.totals, TotalKind::Total),
            continue_url: view.continue_url,
            messages: view.messages,
            delivery: None,
        },
        Outcome::Answer(Answer::Checkout(view)) => Shown {
            id: view.checkout.id.clone(),
            status: Some(view.checkout.status().as_str()),
            lines: of_lines(&view.checkout.line_items),
            total: amount_of(&view.checkout.totals, TotalKind::Total),
            continue_url: view.continue_url,
            messages: view.messages,
            delivery: view.checkout.fulfillment.as_ref().map(|fulfillment| {
                let method = &fulfillment.methods[0];
                let options = method.groups.iter().map(|group| group.selected_option_id.clone());
                (method.selected_destination_id.clone(), options.collect())
            }),
        },
        other => panic!("{other:?}"),
    }
}

impl Shown {
    /// Returns the items in it, with their quantities.
    fn goods(&self) -> Vec<(&str, u64)> {
        self.lines.iter().map(|(_, item, quantity)| (item.as_str(), *quantity)).collect()
    }

    /// Returns the codes of its messages.
    fn codes(&self) -> Vec<&str> {
        codes(&self.messages)
    }
}

fn codes(messages: &[Message]) -> Vec<&str> {
    fn code(message: &Message) -> &str {
        match message {
            Message::Info { code, .. } => code.as_deref().expect("a code"),
            Message::Warning { code, .. } | Message::Error { code, .. } => code,
        }
    }
    messages.iter().map(code).collect()
}

/// The identifier of an item.
fn item(number: u32) -> String {
    format!("gid://shopify/ProductVariant/{number}")
}

/// So many of each of these items.
fn goods(lines: &[(u32, u64)]) -> Draft {
    let lines: Vec<_> = lines.iter().map(|(number, quantity)| (item(*number), *quantity)).collect();
    ucp_testkit::shop::draft(&lines.iter().map(|(item, quantity)| (item.as_str(), *quantity)).collect::<Vec<_>>())
}

/// The same, sent to a street in this country, by this option.
fn sent(draft: Draft, country: &str, option: Option<&str>) -> Draft {
    let address = ucp_core::purchase::buyer::PostalAddress {
        street_address: Some("1 Main St".into()),
        address_country: Some(country.into()),
        ..Default::default()
    };
    let method = MethodDraft {
        kind: Some("shipping".into()),
        destinations: vec![DestinationDraft { id: Some("home".into()), address, ..DestinationDraft::default() }],
        groups: option
            .map(|option| GroupDraft { id: None, selected_option_id: Some(option.to_owned()) })
            .into_iter()
            .collect(),
        ..MethodDraft::default()
    };
    Draft { fulfillment: Some(FulfillmentDraft { methods: vec![method] }), ..draft }
}
