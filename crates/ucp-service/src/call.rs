//! What goes into the pipeline and what comes out of it.

use serde_json::Value;
use ucp_core::{Operation, Release};

use crate::agent::Claim;

/// One call of an operation, as a binding understood it.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is asked.
    pub operation: Operation,
    /// In which release.
    pub release: Release,
    /// Which resource it is about, if the operation takes one.
    pub id: Option<String>,
    /// The payload, as sent.
    pub payload: Value,
    /// Everything the request says about who is calling.
    pub claims: Vec<Claim>,
    /// The languages named by the transport, in order of preference.
    pub languages: Vec<String>,
}

/// What a call that was carried out comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The answer, a JSON object in the caller's release.
    pub document: String,
}
