//! The suite, and the part of it that the double of the ledger keeps.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use ucp_core::ShopId;

use crate::{MemoryLedger, store::StoreUnderTest};

#[derive(Default)]
struct InMemory(Mutex<HashMap<ShopId, Arc<MemoryLedger>>>);

impl StoreUnderTest for InMemory {
    type Store = MemoryLedger;

    async fn create() -> Self {
        Self::default()
    }

    async fn open_shop(&self, shop: ShopId) -> Arc<MemoryLedger> {
        Arc::clone(self.0.lock().expect("unpoisoned").entry(shop).or_default())
    }

    async fn count(&self, stock: &[(&str, u64)]) {
        for (variant, quantity) in stock {
            self.open().await.count(variant, *quantity);
        }
    }
}

crate::ledger_suite!(InMemory);

#[test]
fn every_rule_is_in_the_suite() {
    let suite = include_str!("mod.rs");
    let parts = [
        include_str!("ledger.rs"),
        include_str!("agenda.rs"),
        include_str!("outbox.rs"),
        include_str!("owners.rs"),
        include_str!("shops.rs"),
        include_str!("operator.rs"),
    ];
    let rule = |line: &'static str| {
        let signature = line.strip_prefix("pub async fn ").or_else(|| line.strip_prefix("pub fn "))?;
        signature.split_once('<').map(|(name, _)| name)
    };
    let rules: Vec<_> = parts.into_iter().flat_map(str::lines).filter_map(rule).collect();
    assert!(rules.len() >= 32, "{rules:?}");
    for rule in rules {
        let is_listed = suite.contains(&format!(" {rule},\n")) || suite.contains(&format!("::{rule}::<$subject>()"));
        assert!(is_listed, "{rule} is in no suite");
    }
}
