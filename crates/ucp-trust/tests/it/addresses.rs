//! Names whose addresses a test says.

use std::{
    io,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use futures_util::future::BoxFuture;
use ucp_trust::fetch::Resolver;

/// A resolver that gives one answer after the other, and the last one for ever.
pub(crate) struct Script {
    answers: Vec<Vec<IpAddr>>,
    asked: Arc<AtomicUsize>,
}

impl Script {
    /// Returns the resolver, and how often it was asked.
    pub(crate) fn new(answers: &[&[&str]]) -> (Arc<Self>, Arc<AtomicUsize>) {
        let address = |text: &&str| text.parse().expect("an address");
        let answers = answers.iter().map(|answer| answer.iter().map(address).collect()).collect();
        let asked = Arc::<AtomicUsize>::default();
        (Arc::new(Self { answers, asked: Arc::clone(&asked) }), asked)
    }
}

impl Resolver for Script {
    fn resolve(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let turn = self.asked.fetch_add(1, SeqCst).min(self.answers.len() - 1);
        let answer = self.answers[turn].clone();
        Box::pin(async { Ok(answer) })
    }
}
