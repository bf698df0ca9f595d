//! Signatures that identify the gateway to the shop as a known bot (Web Bot Auth): the shop is less strict with such a
//! bot.
//!
//! One signature serves all requests until it expires. Either the merchant creates it in the shop's admin for some
//! months and replaces it in time, or the gateway creates it for five minutes and renews it by itself. An expired
//! signature is not sent: it would prove nothing.

use std::{
    fmt,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU8, Ordering},
    },
    time::{Duration, SystemTime},
};

use jiff::Timestamp;
use ucp_trust::signature::{Scheme, SigningKey, bot::BotSignature};
use url::Url;

/// Source of the time at which a signature is created and checked for expiry.
pub type Now = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// Time before expiry from which the log warns about a signature that a person has to replace.
const NOTICE: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// Lifetime of a signature that the gateway creates.
const LIFETIME: Duration = Duration::from_secs(300);

/// Time before expiry at which a signature of the gateway is replaced: clocks differ, and requests are retried.
const MARGIN: Duration = Duration::from_secs(60);

/// Inputs of a signature that the gateway creates.
pub struct Signing {
    /// Address at which the gateway publishes its keys.
    pub agent: String,
    /// Address of the shop.
    pub shop: Url,
    /// Returns the current signing key, if there is one.
    pub key: Arc<dyn Fn() -> Option<Arc<SigningKey>> + Send + Sync>,
}

/// Identity of the gateway as a bot. Its `Debug` form does not contain the signature.
pub struct Bot {
    source: Source,
    now: Now,
    /// Most serious [`Remark`] logged so far; reset when the gateway signs again.
    remarked: AtomicU8,
}

/// Source of signatures.
enum Source {
    /// One signature, created elsewhere.
    Given(Arc<BotSignature>),
    /// Signatures created here, with the last one and its key: it is reused as long as that key is the current one.
    Own(Signing, RwLock<Option<(Arc<SigningKey>, Arc<BotSignature>)>>),
}

/// State of a signature that the log reports, least serious first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Remark {
    Nothing,
    EndsSoon,
    Ended,
}

impl Bot {
    /// Creates an identity with a signature that was created elsewhere and is sent until it expires.
    pub fn given(signature: BotSignature, now: Now) -> Self {
        Self::of(Source::Given(Arc::new(signature)), now)
    }

    /// Creates an identity that signs by itself.
    pub fn signing(signing: Signing, now: Now) -> Self {
        Self::of(Source::Own(signing, RwLock::default()), now)
    }

    fn of(source: Source, now: Now) -> Self {
        Self { source, now, remarked: AtomicU8::new(Remark::Nothing as u8) }
    }

    /// Returns the signature for a request sent now; `None` if there is no valid one.
    pub(super) fn signature(&self) -> Option<Arc<BotSignature>> {
        let now = (self.now)();
        let left = |signature: &BotSignature| signature.expires().duration_since(now).unwrap_or_default();
        match &self.source {
            Source::Given(signature) => {
                let remark = match left(signature) {
                    Duration::ZERO => Remark::Ended,
                    left if left <= NOTICE => Remark::EndsSoon,
                    _ => Remark::Nothing,
                };
                self.remark(remark, signature);
                (remark != Remark::Ended).then(|| Arc::clone(signature))
            }
            Source::Own(signing, last) => {
                let Some(key) = (signing.key)() else {
                    self.report("there is no key; make one with `ucp-gateway keys generate`");
                    return None;
                };
                if let Some((by, made)) = &*last.read().unwrap_or_else(PoisonError::into_inner)
                    && Arc::ptr_eq(by, &key)
                    // More than the whole lifetime is left if the clock was set back.
                    && (MARGIN..=LIFETIME).contains(&left(made))
                {
                    return Some(Arc::clone(made));
                }
                let made = Arc::new(self.sign(signing, &key, now)?);
                *last.write().unwrap_or_else(PoisonError::into_inner) = Some((key, Arc::clone(&made)));
                Some(made)
            }
        }
    }

    fn sign(&self, Signing { agent, shop, .. }: &Signing, key: &SigningKey, now: SystemTime) -> Option<BotSignature> {
        let scheme = if shop.scheme() == "https" { Scheme::Https } else { Scheme::Http };
        match BotSignature::make(agent, scheme, shop.authority(), key, now, LIFETIME) {
            Ok(made) => {
                self.remarked.store(Remark::Nothing as u8, Ordering::Relaxed);
                Some(made)
            }
            Err(error) => {
                self.report(&error.to_string());
                None
            }
        }
    }

    /// Logs once why requests are not signed.
    fn report(&self, reason: &str) {
        if self.is_news(Remark::Ended) {
            tracing::error!(reason, "upstream requests are no longer signed as a bot");
        }
    }

    /// Logs once that a signature, which a person has to replace, expires soon or has expired.
    fn remark(&self, remark: Remark, signature: &BotSignature) {
        if !self.is_news(remark) {
            return;
        }
        let expires = Timestamp::try_from(signature.expires()).unwrap_or(Timestamp::MAX);
        if remark == Remark::Ended {
            tracing::warn!(
                %expires,
                "bot signature for the upstream expired and is no longer sent; create another one in the shop's admin, save it to `upstream.signature_file`, and restart the gateway"
            );
        } else {
            tracing::warn!(
                %expires,
                "bot signature for the upstream expires soon; create another one in the shop's admin, save it to `upstream.signature_file`, and restart the gateway"
            );
        }
    }

    /// Returns `true` if neither this remark nor a more serious one has been logged.
    fn is_news(&self, remark: Remark) -> bool {
        self.remarked.fetch_max(remark as u8, Ordering::Relaxed) < remark as u8
    }
}

impl fmt::Debug for Bot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.source {
            Source::Given(_) => "Bot(given)",
            Source::Own(..) => "Bot(signing)",
        })
    }
}
