//! Input and output of the [handler](crate::handle): calls, replies and faults.

use serde_json::Value;
use ucp_core::{Operation, Refusal, Release, ports::Trace};
use ucp_wire::{encoded::Encoded, view::View};

use crate::{access::Admission, agent::Stated};

/// One call of an operation, independent of the transport it came by.
#[derive(Clone, Debug)]
pub struct Call {
    /// The called operation.
    pub operation: Operation,
    /// The endpoint that received the call.
    pub endpoint: Endpoint,
    /// ID of the resource, if the operation takes one.
    pub id: Option<String>,
    /// The payload, as sent.
    pub payload: Value,
    /// `true` if a model wrote the payload: what it left empty is absent, and JSON text is what it says.
    pub lenient: bool,
    /// All statements of the platform profile URL in the request.
    pub profiles: Vec<Stated>,
    /// All statements of the idempotency key in the request.
    pub idempotency_keys: Vec<Stated>,
    /// Language tags from the transport, in order of preference.
    pub languages: Vec<String>,
    /// The view that the caller chose, by the query of the URL.
    pub view: Option<View>,
    /// The authenticated caller and its in-flight permit, held until the call is done.
    pub admission: Admission,
    /// Request ID and trace context, for logs and upstream requests.
    pub trace: Trace,
}

/// The endpoint that received a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// The endpoint of all releases: the release is the one that the platform's profile names.
    Root,
    /// The endpoint of one release.
    Of(Release),
}

impl Endpoint {
    /// Returns the release to use before the caller's profile is known.
    pub fn release(self) -> Release {
        match self {
            Self::Root => Release::NEWEST,
            Self::Of(release) => release,
        }
    }
}

/// The result of a call that was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The encoded answer, in the caller's release.
    pub encoded: Encoded,
    /// The caller's release.
    pub release: Release,
}

/// The result of a call that was refused or failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The reason.
    pub refusal: Refusal,
    /// The caller's release, or that of the endpoint if the caller's is not known.
    pub release: Release,
}
