//! Rehearsal: scripted shoppers buy at a shop, and a report says where they gave up and why.
//!
//! A shopper knows what its platform can read: the profile, the tools, and the answers of the shop. What it does next
//! follows from those and from a seed, so that a rehearsal can be repeated: with one shopper at a time, the same seed
//! leads to the same decisions and counts at a shop in the same state.
//!
//! Orders are placed where the shop has a sandbox for payments, or where a token was named; elsewhere a checkout that
//! is ready is where the rehearsal ends.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `random` | chance that can be repeated |
//! | [`session`](mod@session) | steps, personas, and the record of a session |
//! | `shopper` | finding, opening and choosing |
//! | `knowledge` | what buyers know before they come |
//! | `purchase` | cart, checkout, delivery and payment |
//! | `script` | what each persona does |
//! | [`report`], [`html`] | the report |

pub mod html;
mod knowledge;
mod purchase;
mod random;
pub mod report;
mod script;
pub mod session;
mod shopper;

use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};
use jiff::Timestamp;
use serde_json::Map;

use self::{
    knowledge::Knowledge,
    random::Random,
    report::Report,
    session::{End, Persona, Session, Step},
    shopper::{GivingUp, Shopper},
};
use crate::shop::{CalledShop, Transport};

/// Payment instruments that shoppers use.
#[derive(Clone, Debug, Default)]
pub enum Payment {
    /// The tokens that a sandbox lists in its declaration; nothing at any other handler.
    #[default]
    Sandbox,
    /// A token at a handler.
    With {
        /// Identifier of the payment handler.
        handler: String,
        /// Token that pays.
        token: String,
    },
}

/// Size and course of a rehearsal.
#[derive(Clone, Debug)]
pub struct Options {
    /// Number of sessions.
    pub sessions: usize,
    /// Number of sessions at a time.
    pub at_once: usize,
    /// Seed of chance.
    pub seed: u64,
    /// Identifiers of goods, for a shop without a catalog.
    pub items: Vec<String>,
    /// Payment instruments that shoppers use.
    pub payment: Payment,
    /// Longest wait for a checkout to expire. One that stays open for longer is canceled instead.
    pub patience: Duration,
    /// Clock by which checkouts expire.
    pub now: fn() -> Timestamp,
}

/// Sends the shoppers to the shop; `ended` is told of each that has ended.
pub async fn rehearse(shop: &CalledShop, transport: Transport, options: &Options, ended: impl Fn()) -> Report {
    let began = Instant::now();
    let knowledge = Knowledge::gather(shop, transport, &options.items).await;
    let sessions = stream::iter(0..options.sessions).map(|index| {
        let (knowledge, ended) = (&knowledge, &ended);
        async move {
            let session = session(shop, transport, knowledge, index, options).await;
            ended();
            session
        }
    });
    let sessions = sessions.buffered(options.at_once.max(1)).collect().await;
    Report {
        shop: shop.address.to_string(),
        transport: transport.as_str(),
        release: shop.release.date(),
        seed: options.seed,
        took: began.elapsed(),
        sessions,
    }
}

async fn session(
    shop: &CalledShop,
    transport: Transport,
    knowledge: &Knowledge,
    index: usize,
    options: &Options,
) -> Session {
    let persona = Persona::ALL[index % Persona::ALL.len()];
    let mut shopper = Shopper {
        shop,
        transport,
        knowledge,
        random: Random::of(options.seed, index as u64),
        context: Map::new(),
        step: Step::Find,
        reached: Step::Find,
        calls: Vec::new(),
        obstacles: Vec::new(),
    };
    let end = match shopper.play(persona, options).await {
        Ok(end) => end,
        Err(GivingUp { reason, seen }) => {
            End::GaveUp { step: shopper.step, reason, seen: crate::http::shortened(&seen, 300) }
        }
    };
    let Shopper { calls, reached, obstacles, .. } = shopper;
    Session { number: index + 1, persona, calls, reached, obstacles, end }
}
