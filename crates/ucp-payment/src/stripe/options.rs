//! Options of a Stripe account, and the mode of its keys.

use std::time::Duration;

use ucp_core::purchase::payment::{CaptureMode, Declaration};
use ucp_net::outbound::Certificate;

use crate::{Clock, Endpoint, Secret};

/// Address of Stripe.
pub const API: &str = "https://api.stripe.com";

/// Origin of the pages on which Stripe authenticates buyers.
pub(super) const PAGES: &str = "https://hooks.stripe.com";

/// Options of a Stripe account.
#[derive(Clone)]
pub struct Options {
    /// Declaration of the handler in the profile.
    pub declaration: Declaration,
    /// Address of Stripe, such as [`API`].
    pub endpoint: Endpoint,
    /// Secret or restricted API key.
    pub api_key: Secret,
    /// Signing secret of the webhook endpoint; `None` if there is none.
    pub webhook_secret: Option<Secret>,
    /// Timeout of DNS, connecting and the TLS handshake together.
    pub connect_timeout: Duration,
    /// Timeout of a request up to the last byte of the response.
    pub request_timeout: Duration,
    /// Time after its start for which an attempt may be sent or awaited.
    pub deadline: Duration,
    /// Maximum number of times that a request is sent.
    pub tries: u32,
    /// Capture mode, which determines when the money is captured.
    pub capture: CaptureMode,
    /// Certificates that are trusted beside those of the system.
    pub roots: Vec<Certificate>,
    /// Source of the current time.
    pub clock: Clock,
}

impl Options {
    /// Returns options with the defaults: 3 s to connect, 8 s for a request, 20 s in total, 3 attempts; the
    /// certificates of the system.
    pub fn new(declaration: Declaration, endpoint: Endpoint, api_key: Secret, clock: Clock) -> Self {
        Self {
            declaration,
            endpoint,
            api_key,
            webhook_secret: None,
            connect_timeout: Duration::from_secs(3),
            request_timeout: Duration::from_secs(8),
            deadline: Duration::from_secs(20),
            tries: 3,
            capture: CaptureMode::Automatic,
            roots: Vec::new(),
            clock,
        }
    }
}

/// Kind of an API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It moves no money.
    Test,
    /// It moves money.
    Live,
}

impl Mode {
    /// Returns the mode of a key, by its prefix; `None` for a text that is not a key of Stripe.
    pub fn of(key: &str) -> Option<Self> {
        let (kind, rest) = key.split_once('_')?;
        if !["sk", "rk", "pk"].contains(&kind) {
            return None;
        }
        match rest.split_once('_')?.0 {
            "test" => Some(Self::Test),
            "live" => Some(Self::Live),
            _ => None,
        }
    }
}
