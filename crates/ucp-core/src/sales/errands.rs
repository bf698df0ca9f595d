//! Tasks of the agenda carried out.

use super::SalesService;
use crate::{
    Refusal,
    ports::{
        agenda::{Claimed, Kind, Next},
        caller::BuyerSignals,
    },
};

impl SalesService {
    /// Carries out a task of the agenda that was claimed.
    ///
    /// # Errors
    /// Errors of the ledger, after which the task is carried out again.
    pub async fn carry_out(&self, task: &Claimed) -> Result<Next, Refusal> {
        match task.kind {
            Kind::Settle => self.settle(task, None).await,
            Kind::MoveMoney => self.move_money(task).await,
            Kind::Abandon => Ok(self.abandon(task).await),
            // Platforms are told by whoever knows them.
            Kind::Tell => Ok(Next::Done),
            Kind::FindOrder => self.find_order(task).await,
            Kind::FollowOrder => self.follow_order(task).await,
        }
    }

    /// Abandons a cart at the shop that no document names: because it was canceled, or because a crash, a failure or a
    /// concurrent write prevented the commit.
    async fn abandon(&self, task: &Claimed) -> Next {
        let (Some(shop), Ok(cart)) = (&self.remote_carts, serde_json::from_str(&task.body)) else { return Next::Done };
        match shop.abandon(&cart, &BuyerSignals::default()).await {
            Ok(()) => Next::Done,
            Err(error) => Next::Later { by: None, problem: Some(error.to_string()) },
        }
    }
}
