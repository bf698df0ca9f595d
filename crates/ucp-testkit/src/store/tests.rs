//! The suite, and the part of it that the double of the ledger keeps.

use std::sync::Arc;

use crate::{MemoryLedger, store::StoreUnderTest};

struct InMemory(Arc<MemoryLedger>);

impl StoreUnderTest for InMemory {
    type Store = MemoryLedger;

    async fn create() -> Self {
        Self(Arc::default())
    }

    async fn open(&self) -> Arc<MemoryLedger> {
        Arc::clone(&self.0)
    }

    async fn count(&self, stock: &[(&str, u64)]) {
        for (variant, quantity) in stock {
            self.0.count(variant, *quantity);
        }
    }
}

crate::ledger_suite!(InMemory);

#[test]
fn every_rule_is_in_the_suite() {
    let suite = include_str!("mod.rs");
    let parts = [include_str!("ledger.rs"), include_str!("outbox.rs"), include_str!("owners.rs")];
    let rule = |line: &'static str| {
        let signature = line.strip_prefix("pub async fn ").or_else(|| line.strip_prefix("pub fn "))?;
        signature.split_once('<').map(|(name, _)| name)
    };
    let rules: Vec<_> = parts.into_iter().flat_map(str::lines).filter_map(rule).collect();
    assert!(rules.len() >= 27, "{rules:?}");
    for rule in rules {
        let is_listed = suite.contains(&format!(" {rule},\n")) || suite.contains(&format!("::{rule}::<$subject>()"));
        assert!(is_listed, "{rule} is in no suite");
    }
}
