//! Operation on orders: get.

use super::{SalesService, not_found};
use crate::{
    Answer, Outcome, Refusal,
    operation::ById,
    order::View,
    ports::{Decision, caller::Caller},
};

impl SalesService {
    /// Returns an order (rules ORD-02 and ORD-04).
    pub async fn get_order(&self, caller: &Caller, request: ById) -> Result<Decision, Refusal> {
        Ok(Decision::unchanged(match self.ledger.order(&caller.owner, &request.id).await? {
            Some(stored) => Outcome::Answer(Answer::Order(View {
                permalink_url: stored.document.permalink(|token| self.permalink(token)),
                order: Box::new(stored.document),
                messages: Vec::new(),
            })),
            None => not_found("order", &request.id),
        }))
    }
}
