//! What goes into the [handler](crate::handle) and what comes out of it.

use serde_json::Value;
use ucp_core::{Operation, Refusal, Release, port::Trace};
use ucp_wire::encoded::Encoded;

use crate::{access::Admission, agent::Stated};

/// One call of an operation, as a binding understood it.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is asked.
    pub operation: Operation,
    /// The endpoint it came to.
    pub endpoint: Endpoint,
    /// Which resource it is about, if the operation takes one.
    pub id: Option<String>,
    /// The payload, as sent.
    pub payload: Value,
    /// Everything the request says about whose profile the caller's is.
    pub profiles: Vec<Stated>,
    /// Everything the request says about its idempotency key.
    pub idempotency_keys: Vec<Stated>,
    /// The languages named by the transport, in order of preference.
    pub languages: Vec<String>,
    /// Who was let in. Held for as long as the call is worked on.
    pub admission: Admission,
    /// What it is called in logs.
    pub trace: Trace,
}

/// Where calls come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// The endpoint of all releases: callers are answered in the one that their profile names.
    Root,
    /// The endpoint of one release.
    Of(Release),
}

impl Endpoint {
    /// The release that is spoken here as long as nothing is known about the caller.
    #[must_use]
    pub fn release(self) -> Release {
        match self {
            Self::Root => Release::NEWEST,
            Self::Of(release) => release,
        }
    }
}

/// What a call that was carried out comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The answer, in the caller's release.
    pub encoded: Encoded,
    /// That release.
    pub release: Release,
}

/// What a call that was not carried out comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Why.
    pub refusal: Refusal,
    /// The caller's release, as far as it is known.
    pub release: Release,
}
