//! Circumstances of a call of the gateway that everything below it shares: kind of traffic, caller, time.
//!
//! One operation of the gateway is many calls to an upstream. Whoever begins it states the circumstances once;
//! every request, batch and step below follows them, without an argument everywhere. A read that several callers share
//! counts as the traffic of the one who began it, and has as much time as each of them, from its own beginning.

use std::{future::Future, time::Duration};

use tokio::{task::futures::TaskLocalFuture, time::Instant};

use super::{Lane, shares::Groups};

/// Circumstances of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Lane that requests take at least.
    pub lane: Option<Lane>,
    /// Stranger whose share of places requests take; `None` for registered platforms and the gateway itself.
    pub stranger: Option<Groups>,
    /// Time that the call may take.
    pub allowance: Option<Duration>,
    /// `true` if changes may take as long as the completion of a purchase: nobody waits for their end.
    pub outlasting: bool,
    /// Time by which everything ends.
    pub deadline: Option<Instant>,
}

tokio::task_local! {
    static SCOPE: Scope;
}

impl Scope {
    /// Returns the circumstances that are in force here.
    pub fn current() -> Self {
        SCOPE.try_with(|scope| *scope).unwrap_or_default()
    }

    /// Runs `operation` under these circumstances, within what is left of the [allowance](Self::allowance) from now on.
    pub fn run<F: Future>(self, operation: F) -> TaskLocalFuture<Self, F> {
        let own = self.allowance.map(|allowance| Instant::now() + allowance);
        let deadline = [self.deadline, own].into_iter().flatten().min();
        SCOPE.scope(Self { deadline, ..self }, operation)
    }

    /// Returns the circumstances of work that goes on by itself: as much time as before, from its own beginning.
    #[must_use]
    pub fn shared(self) -> Self {
        Self { deadline: None, ..self }
    }

    /// Runs `operation` under these circumstances, with an earlier deadline.
    pub(super) fn by<F: Future>(self, deadline: Instant, operation: F) -> TaskLocalFuture<Self, F> {
        let deadline = self.deadline.map_or(deadline, |earlier| earlier.min(deadline));
        SCOPE.scope(Self { deadline: Some(deadline), ..self }, operation)
    }
}
