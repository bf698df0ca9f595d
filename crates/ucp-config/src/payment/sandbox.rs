//! The sandbox, which needs nothing but an identifier.

use std::sync::Arc;

use ucp_core::purchase::payment::Declaration;
use ucp_payment::{Sandbox, sandbox};

use super::{Entry, Open, sections};

/// Returns what the sandbox declares where the file leaves it out.
pub(super) fn usual(id: &str) -> Option<Declaration> {
    Some(sandbox::declaration(id))
}

pub(super) fn resolve(_: &mut Entry<'_, '_>, said: &mut sections::Payment) -> Option<Open> {
    let capture = said.capture.into();
    Some(Arc::new(move |declaration, clock, _| {
        Ok(Arc::new(Sandbox::new(declaration, clock, sandbox::SLOW).capturing(capture)))
    }))
}
