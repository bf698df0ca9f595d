//! Saying which bot is asking (Web Bot Auth): a shop that knows it is less strict with it.
//!
//! What is said is one signature for all requests, until it expires. The merchant makes it for some months, and puts
//! another one in its place in time; or the gateway makes it for some minutes, and makes another one by itself. A
//! signature that has expired is not sent: it would say less than none.

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

/// The time, as signatures have it.
pub type Now = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// How long before its end the log speaks of a signature that a person has to replace.
const NOTICE: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// For how long the gateway signs.
const LIFETIME: Duration = Duration::from_secs(300);

/// How long before its end a signature of the gateway's own is replaced: clocks differ, and requests are tried again.
const MARGIN: Duration = Duration::from_secs(60);

/// What signs, and where it says that its keys are.
pub struct Signing {
    /// The address of the gateway's keys.
    pub agent: String,
    /// The address of the shop.
    pub shop: Url,
    /// The key at the moment, if there is one.
    pub key: Arc<dyn Fn() -> Option<Arc<SigningKey>> + Send + Sync>,
}

/// How the gateway says which bot it is. Its `Debug` form has no signature.
pub struct Bot {
    source: Source,
    now: Now,
    /// The last [`Remark`] that the log got.
    remarked: AtomicU8,
}

/// Where signatures come from.
enum Source {
    /// There is one.
    Given(Arc<BotSignature>),
    /// They are made, and the last one is used again for as long as its key is the one that signs.
    Own(Signing, RwLock<Option<(Arc<SigningKey>, Arc<BotSignature>)>>),
}

/// What a person should know.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Remark {
    Nothing,
    EndsSoon,
    Ended,
}

impl Bot {
    /// One with a signature that was made elsewhere, and is sent until it expires.
    #[must_use]
    pub fn given(signature: BotSignature, now: Now) -> Self {
        Self::of(Source::Given(Arc::new(signature)), now)
    }

    /// One that signs by itself.
    #[must_use]
    pub fn signing(signing: Signing, now: Now) -> Self {
        Self::of(Source::Own(signing, RwLock::default()), now)
    }

    fn of(source: Source, now: Now) -> Self {
        Self { source, now, remarked: AtomicU8::new(Remark::Nothing as u8) }
    }

    /// What a request that is sent now should carry; `None` where there is nothing that is good.
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
                    // More than all of it is left where the clock was put back.
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

    /// Tells the log once why requests are not signed.
    fn report(&self, reason: &str) {
        if self.is_news(Remark::Ended) {
            tracing::error!(reason, "requests to the shop no longer say which bot is asking");
        }
    }

    /// Tells the log once how it stands with a signature that a person has to replace.
    fn remark(&self, remark: Remark, signature: &BotSignature) {
        if !self.is_news(remark) {
            return;
        }
        let expires = Timestamp::try_from(signature.expires()).unwrap_or(Timestamp::MAX);
        if remark == Remark::Ended {
            tracing::warn!(
                %expires,
                "the bot signature for the shop has expired and is no longer sent; create another one in the shop's admin, \
                 put it into `upstream.signature_file`, and start the gateway anew"
            );
        } else {
            tracing::warn!(
                %expires,
                "the bot signature for the shop expires soon; create another one in the shop's admin, put it into \
                 `upstream.signature_file`, and start the gateway anew"
            );
        }
    }

    /// Whether the log has not been told so far.
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
