//! The platform behind a call: its profile, the release it speaks, and the capabilities active between it and the
//! business (UCP overview, *Negotiation Protocol*; rules AGT-04 and NEG-01 to NEG-03).
//!
//! The negotiation runs once, when a profile is fetched, and its result is cached with the profile in the directory: a
//! call of a known platform costs one look-up.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use serde_json::{Map, Value};
use ucp_core::{
    Answer, Code, Operation, Outcome, Refusal, Release,
    cart::Cart,
    checkout::{Checkout, Status},
    message::Message,
    negotiation::{Active, Declaration, Names, negotiate},
    operation::{Class, SupportedOperations},
    ports::{
        ForwardedAnswer,
        caller::{BuyerSignals, Caller},
        mandate_verifier::MandateVerifier,
    },
    purchase::{
        payment,
        totals::{Total, TotalKind},
    },
};
use ucp_record::{self as record, Sale, Stage};
use ucp_trust::{
    address::{ProfileUrl, Reach},
    directory::{Directory, KnownPlatform},
    limit::Share,
    profile::PlatformProfile,
};
use ucp_wire::{dialect, dialect::offered, encoded::Encoded, offer::Offer, view::View};

use crate::{
    access::{Principal, Registered},
    agent,
    call::{Call, Endpoint},
    mandate::{self, MerchantSigner, PlatformMandateVerifier},
    negotiated_profile::NegotiatedProfile,
};

/// Treatment of platforms whose profile cannot be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Their calls are refused.
    Require,
    /// Their browsing calls are answered with all capabilities of the business and a warning; other calls are refused.
    Lenient,
    /// All their calls are handled, with all capabilities of the business; the profile URL counts as identity. Callers
    /// that name no profile are one anonymous platform.
    Development,
}

/// The capabilities that the business declares in each release.
#[derive(Clone, Debug)]
pub struct Business {
    declared: Vec<Vec<Declaration>>,
    /// `declared` plus the capabilities that need a signing key.
    signing: Vec<Vec<Declaration>>,
    everything: Vec<Arc<Active>>,
    names: Vec<Names>,
    merchant_signer: Option<MerchantSigner>,
    /// URL where a buyer can continue if a call fails.
    pub home: Option<String>,
}

impl Business {
    /// Creates a business with the capabilities of an offering, under their standard names.
    pub fn new(offering: &SupportedOperations, home: Option<String>) -> Self {
        Self::under(&Names::default(), offering, home)
    }

    /// Creates a business with the capabilities of an offering, under names of its own.
    pub fn under(names: &Names, offering: &SupportedOperations, home: Option<String>) -> Self {
        let declared = |signing: bool| -> Vec<Vec<Declaration>> {
            let of = |release: &Release| {
                let offers = offered(dialect(*release), offering).filter(|offer| signing || !offer.signed);
                offers.map(|offer: &Offer| offer.declaration_under(names)).collect()
            };
            Release::ALL.iter().map(of).collect()
        };
        let unstated = |release: &Release| -> Vec<Declaration> {
            let offers = offered(dialect(*release), offering).filter(|offer| !offer.signed && !offer.stated);
            offers.map(|offer: &Offer| offer.declaration_under(names)).collect()
        };
        let unstated: Vec<_> = Release::ALL.iter().map(unstated).collect();
        let (declared, signing) = (declared(false), declared(true));
        let names: Vec<_> = Release::ALL.iter().map(|release| dialect::names(dialect(*release), names)).collect();
        let everything = unstated.iter().zip(&names);
        let everything = everything.map(|(declared, names)| Arc::new(Active::all(declared).under(names))).collect();
        Self { declared, signing, everything, names, merchant_signer: None, home }
    }

    /// Adds signing keys. Capabilities that need a signature are offered whenever there is a key; the key may come and
    /// go while the gateway runs.
    #[must_use]
    pub fn sealing(self, merchant_signer: MerchantSigner) -> Self {
        Self { merchant_signer: Some(merchant_signer), ..self }
    }

    /// Returns all its capabilities in a release, for platforms of which no profile is known.
    pub fn everything(&self, release: Release) -> Arc<Active> {
        Arc::clone(&self.everything[release.ordinal()])
    }

    fn declared(&self, release: Release) -> &[Declaration] {
        &self.declared[release.ordinal()]
    }

    /// Returns the capabilities declared in a release while there is a signing key.
    pub fn declared_with_key(&self, release: Release) -> &[Declaration] {
        &self.signing[release.ordinal()]
    }

    /// Negotiates with a platform's profile.
    pub fn negotiated_profile(&self, profile: &PlatformProfile) -> NegotiatedProfile {
        let Some(release) = Release::from_date(&profile.version) else {
            return NegotiatedProfile { release: None, active: Arc::default(), signing: None };
        };
        let negotiated = |declared: &[Declaration]| {
            let negotiation = negotiate(release.date(), declared, &profile.capabilities);
            negotiation.active().under(&self.names[release.ordinal()])
        };
        let active = negotiated(self.declared(release));
        let signing = self.merchant_signer.is_some().then(|| negotiated(&self.signing[release.ordinal()]));
        let signing = signing.filter(|signing| *signing != active).map(Arc::new);
        // Most platforms declare every capability of the business: they share one value.
        let everything = &self.everything[release.ordinal()];
        let active = if active == **everything { Arc::clone(everything) } else { Arc::new(active) };
        NegotiatedProfile { release: Some(release), active, signing }
    }
}

/// The platform behind a call.
#[derive(Clone, Debug)]
pub struct Platform {
    /// URL of its profile, which identifies it.
    pub profile: ProfileUrl,
    /// The release it is answered in.
    pub release: Release,
    /// The capabilities active with it.
    pub active: Arc<Active>,
    /// Warning about its identification, added to every answer.
    pub note: Option<Message>,
    /// `true` if it can show several groups per fulfillment method.
    pub multi_group: bool,
    /// The buyer on whose behalf it calls.
    pub buyer_signals: BuyerSignals,
    /// Customer group that the operator states for it, if a credential proves that it calls.
    pub customer_group: Option<String>,
    /// Its cached profile; `None` if its profile could not be fetched.
    pub(crate) known: Option<Arc<KnownPlatform<NegotiatedProfile>>>,
    /// The registry that identified it.
    pub(crate) platforms: Platforms,
}

impl Platform {
    /// Returns `true` if its profile was fetched or pinned.
    pub const fn is_known(&self) -> bool {
        self.known.is_some()
    }

    /// Encodes an outcome for this platform: in its release, with the capabilities active with it, and signed if that
    /// is required.
    ///
    /// # Errors
    /// [`Code::Unavailable`] or an internal error if the answer has to be signed and cannot be.
    pub fn answer(&self, operation: Operation, outcome: Outcome, view: View) -> Result<Encoded, Refusal> {
        record::enter(Stage::Encode);
        match &outcome {
            Outcome::NoResource { messages, .. } => {
                if let Some(Message::Error { code, .. }) = messages.first() {
                    record::note(|facts| facts.error = Some(code.clone()));
                }
            }
            Outcome::Answer(Answer::Checkout(view)) => {
                record::note(|facts| {
                    let declined =
                        |message: &Message| matches!(message, Message::Error { code, .. } if code == "payment_failed");
                    facts.declined = view.messages.iter().any(declined);
                    facts.sale = Some(sale_of_checkout(&view.checkout));
                });
                let named =
                    |handler: &payment::Declaration| format!("{} ({} {})", handler.id, handler.name, handler.version);
                record::tell("payment", || handlers(&view.handlers.iter().map(named).collect::<Vec<_>>()));
            }
            Outcome::Answer(Answer::Cart(view)) => record::note(|facts| facts.sale = Some(sale_of_cart(&view.cart))),
            Outcome::Answer(_) => {}
        }
        let outcome = match &self.note {
            Some(note) => outcome.noting(note.clone()),
            None => outcome,
        };
        let encoded = ucp_wire::encode_view(dialect(self.release), operation, &outcome, &self.active, view);
        if !mandate::is_signed(&outcome, &self.active) {
            return Ok(encoded);
        }
        match &self.platforms.business().merchant_signer {
            Some(merchant_signer) => merchant_signer.put_on(encoded),
            None => Err(mandate::unsigned()),
        }
    }

    /// Encodes the answer of a shop that speaks UCP itself for this platform.
    pub fn relayed(&self, operation: Operation, carried: &ForwardedAnswer, view: View) -> Encoded {
        record::enter(Stage::Encode);
        if operation.row().class == Class::Purchase {
            record::note(|facts| facts.sale = sale_of_body(&carried.body));
            if let Some(Value::Object(named)) = carried.body.get("ucp").and_then(|ucp| ucp.get("payment_handlers")) {
                record::tell("payment", || handlers(&named.keys().cloned().collect::<Vec<_>>()));
            }
        }
        let encoded =
            ucp_wire::relay::encode(dialect(self.release), operation, carried, &self.active, self.note.as_ref());
        Encoded { document: view.show(operation, encoded.document), ..encoded }
    }

    /// Returns the data of the platform that carts, checkouts and orders depend on.
    pub fn caller(&self) -> Caller {
        Caller {
            owner: self.profile.as_str().to_owned(),
            active: Arc::clone(&self.active),
            multi_group: self.multi_group,
            buyer_signals: self.buyer_signals,
            customer_group: self.customer_group.clone(),
            mandate_verifier: self.platforms.business().merchant_signer.as_ref().map(|merchant_signer| {
                Arc::new(PlatformMandateVerifier {
                    merchant_signer: merchant_signer.clone(),
                    dialect: dialect(self.release),
                    active: Arc::clone(&self.active),
                    known: self.known.clone(),
                    directory: self.platforms.directory().clone(),
                }) as Arc<dyn MandateVerifier>
            }),
        }
    }
}

/// Describes the payment handlers that a checkout names.
fn handlers(named: &[String]) -> String {
    match &*named.join(", ") {
        "" => "no handler: the buyer pays on a page of the shop".to_owned(),
        named => format!("{named}: all of the shop, which are not negotiated"),
    }
}

/// Returns the facts of a checkout.
fn sale_of_checkout(checkout: &Checkout) -> Sale {
    Sale {
        id: checkout.id.clone(),
        status: Some(checkout.status()),
        order_id: checkout.state.order().map(|order| order.id.clone()),
        currency: checkout.currency.to_string(),
        total: total(&checkout.totals),
        lines: checkout.line_items.len(),
    }
}

/// Returns the facts of a cart.
fn sale_of_cart(cart: &Cart) -> Sale {
    Sale {
        id: cart.id.clone(),
        status: None,
        order_id: None,
        currency: cart.currency.to_string(),
        total: total(&cart.totals),
        lines: cart.line_items.len(),
    }
}

fn total(totals: &[Total]) -> Option<i64> {
    totals.iter().find(|total| total.kind == TotalKind::Total).map(|total| total.amount)
}

/// Returns the facts of a cart or checkout that a shop elsewhere answered with; `None` if it has no identifier.
fn sale_of_body(body: &Map<String, Value>) -> Option<Sale> {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let list = |name: &str| body.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Some(Sale {
        id: text("id")?.to_owned(),
        status: Status::ALL.iter().find(|status| Some(status.as_str()) == text("status")).copied(),
        order_id: body.get("order").and_then(|order| order["id"].as_str()).map(str::to_owned),
        currency: text("currency").unwrap_or_default().to_owned(),
        total: list("totals").iter().find(|total| total["type"] == "total").and_then(|total| total["amount"].as_i64()),
        lines: list("line_items").len(),
    })
}

/// Profile URLs of platforms that the operator has blocked. Clones share one set.
#[derive(Clone, Debug, Default)]
pub struct Blocked(Arc<RwLock<BTreeSet<String>>>);

impl Blocked {
    /// Replaces the set.
    pub fn set(&self, profiles: BTreeSet<String>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = profiles;
    }

    /// Returns `true` if the platform with a profile URL is blocked.
    pub fn contains(&self, profile: &str) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(profile)
    }

    /// Checks that a platform is not blocked.
    ///
    /// # Errors
    /// [`Code::Forbidden`] if it is.
    pub fn admit(&self, profile: &ProfileUrl) -> Result<(), Refusal> {
        if !self.contains(profile.as_str()) {
            return Ok(());
        }
        Err(Refusal::new(Code::Forbidden, "The operator of this shop has blocked the platform."))
    }
}

/// Identifies the platforms of calls; cheap to clone.
#[derive(Clone)]
pub struct Platforms(Arc<Inner>);

struct Inner {
    business: Arc<Business>,
    policy: Policy,
    reach: Reach,
    directory: Directory<NegotiatedProfile>,
    blocked: Blocked,
    /// Customer groups by the URL of the profile, or the identity, of registered platforms.
    customer_groups: HashMap<String, String>,
}

impl fmt::Debug for Platforms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Platforms").field("policy", &self.0.policy).finish_non_exhaustive()
    }
}

impl Platforms {
    /// Creates the registry of the platforms in `directory`, with a policy for those whose profile cannot be fetched.
    pub fn new(business: Arc<Business>, policy: Policy, reach: Reach, directory: Directory<NegotiatedProfile>) -> Self {
        let (blocked, customer_groups) = (Blocked::default(), HashMap::new());
        Self(Arc::new(Inner { business, policy, reach, directory, blocked, customer_groups }))
    }

    /// Refuses the platforms in `blocked`. To be called before the registry is cloned.
    #[must_use]
    pub fn refusing(mut self, blocked: Blocked) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.blocked = blocked;
        }
        self
    }

    /// Sets the customer groups of registered platforms, by the URL of the profile or the identity. To be called before the
    /// registry is cloned.
    #[must_use]
    pub fn grouped(mut self, customer_groups: HashMap<String, String>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.customer_groups = customer_groups;
        }
        self
    }

    /// Returns the customer group of the platform that a credential proves to call. A profile that is merely named proves
    /// nothing.
    fn customer_group(&self, call: &Call) -> Option<String> {
        let profile = match &call.admission.principal {
            Principal::Signed(profile) | Principal::Keyed(Registered { profile, .. }) => profile,
            Principal::Anonymous | Principal::Local => return None,
        };
        self.0.customer_groups.get(profile.as_str()).cloned()
    }

    /// Returns the platforms that are refused.
    pub fn blocked(&self) -> &Blocked {
        &self.0.blocked
    }

    /// Returns the capabilities that the business declares.
    pub fn business(&self) -> &Business {
        &self.0.business
    }

    /// Returns the cache of profiles.
    pub fn directory(&self) -> &Directory<NegotiatedProfile> {
        &self.0.directory
    }

    /// Looks a platform up outside of a call: its profile, fetched if necessary, the release it speaks, and the
    /// capabilities active with it.
    ///
    /// # Errors
    /// As [`Self::identify`], but independent of the policy.
    pub async fn known(
        &self,
        profile: &str,
    ) -> Result<(Arc<KnownPlatform<NegotiatedProfile>>, Release, Arc<Active>), Refusal> {
        let known = match self.0.directory.peek(profile) {
            Some(known) => known,
            None => self.0.directory.get(&ProfileUrl::parse(profile, self.0.reach)?).await?,
        };
        let NegotiatedProfile { release, active, .. } = &known.derived;
        let (release, active) = (*release, Arc::clone(active));
        match release {
            Some(release) => Ok((known, release, active)),
            None => Err(self.unsupported(&known.profile.version, Endpoint::Root)),
        }
    }

    /// Returns the kinds of addresses that a profile URL may name.
    pub fn reach(&self) -> Reach {
        self.0.reach
    }

    /// Returns the platform of a call if its profile is cached, or the policy tolerates that it could not be fetched a short
    /// time ago; else `None`.
    ///
    /// # Errors
    /// The same as [`Self::identify`].
    pub fn recognize(&self, call: &Call) -> Option<Result<Platform, Refusal>> {
        let principal = &call.admission.principal;
        let stated = match principal {
            Principal::Local => return None,
            Principal::Keyed(registered) if call.profiles.is_empty() => registered.profile.as_str(),
            _ => &agent::stated_profile(&call.profiles).ok()?.text,
        };
        if let Some(known) = self.0.directory.peek(stated) {
            return Some(self.served(call, &known));
        }
        let failure = self.0.directory.peek_failure(stated).filter(|_| self.0.policy != Policy::Require)?;
        if let Err(refusal) = principal.may_act_for(&failure.url) {
            return Some(Err(refusal));
        }
        let platform = self.unreached(call, &failure.url, &failure.refusal)?;
        tell_unreached(&failure.url, &failure.refusal);
        Some(Ok(platform))
    }

    /// Identifies the platform of a call, fetching its profile if necessary. A credential says who calls as well: of a
    /// call that shows one, the profile is that of the registered platform unless the call states it. If there is none,
    /// the platform is answered in the release of the endpoint, with all capabilities of the business.
    ///
    /// # Errors
    /// [`Code::InvalidProfileUrl`], [`Code::ProfileUnreachable`], [`Code::ProfileMalformed`],
    /// [`Code::VersionUnsupported`] or [`Code::Forbidden`].
    pub async fn identify(&self, call: &Call) -> Result<Platform, Refusal> {
        let principal = &call.admission.principal;
        let profile = match principal {
            Principal::Keyed(registered) if call.profiles.is_empty() => registered.profile.clone(),
            // A browser, or a first call by hand.
            Principal::Anonymous if call.profiles.is_empty() && self.0.policy == Policy::Development => {
                return Ok(self.opaque(call, ProfileUrl::anonymous(), None));
            }
            _ => agent::profile(&call.profiles, self.0.reach)?,
        };
        principal.may_act_for(&profile)?;
        if *principal == Principal::Local {
            return Ok(self.opaque(call, profile, None));
        }
        if !profile.is_published() {
            return match self.0.directory.peek(profile.as_str()) {
                Some(known) => self.served(call, &known),
                None => Ok(self.opaque(call, profile, None)),
            };
        }
        let refusal = match self.look_up(&profile, call.admission.share()).await {
            Ok(known) => return self.served(call, &known),
            Err(refusal) => refusal,
        };
        tell_unreached(&profile, &refusal);
        self.unreached(call, &profile, &refusal).ok_or(refusal)
    }

    /// Returns the platform of a call whose profile cannot be had for a reason; `None` if the call is refused for it.
    fn unreached(&self, call: &Call, profile: &ProfileUrl, refusal: &Refusal) -> Option<Platform> {
        let note = match self.0.policy {
            // Who calls is known without it.
            _ if call.admission.principal.unpublished().is_some() && is_unreachable(refusal) => None,
            Policy::Development if self.overlooks(refusal) => None,
            Policy::Lenient if self.overlooks(refusal) && call.operation.row().class == Class::Browsing => {
                Some(Message::warning(
                    Code::ProfileUnreachable.as_str(),
                    "The platform's profile could not be fetched; the answer assumes that the platform has every \
                     capability of this business.",
                ))
            }
            _ => return None,
        };
        Some(self.opaque(call, profile.clone(), note))
    }

    /// Returns `true` if the policy tolerates this refusal, so that the platform can be served without its profile. An
    /// invalid URL or profile is refused under every policy.
    pub fn overlooks(&self, refusal: &Refusal) -> bool {
        self.0.policy != Policy::Require && is_unreachable(refusal)
    }

    /// Looks a profile up. Where the policy tolerates unreachable profiles, a recent failure is returned at once
    /// instead of being retried.
    async fn look_up(
        &self,
        profile: &ProfileUrl,
        share: Option<&Share>,
    ) -> Result<Arc<KnownPlatform<NegotiatedProfile>>, Refusal> {
        let directory = self.0.directory.charged_to(share);
        match self.0.policy {
            Policy::Require => directory.get(profile).await,
            Policy::Lenient | Policy::Development => directory.get_or_last_failure(profile).await,
        }
    }

    /// Builds the platform of a call from its profile, in the release that the profile names.
    fn served(&self, call: &Call, known: &Arc<KnownPlatform<NegotiatedProfile>>) -> Result<Platform, Refusal> {
        call.admission.principal.may_act_for(&known.url)?;
        let NegotiatedProfile { release, active, signing } = &known.derived;
        let fits = |release: &Release| call.endpoint == Endpoint::Root || call.endpoint == Endpoint::Of(*release);
        match release.filter(fits) {
            Some(release) => {
                let signs = || {
                    self.0
                        .business
                        .merchant_signer
                        .as_ref()
                        .is_some_and(|merchant_signer| merchant_signer.signer().is_some())
                };
                let active = signing.as_ref().filter(|_| signs()).unwrap_or(active);
                Ok(Platform {
                    profile: call.admission.principal.unpublished().unwrap_or(&known.url).clone(),
                    release,
                    active: Arc::clone(active),
                    note: None,
                    multi_group: known.profile.multi_group,
                    buyer_signals: buyer_signals(call),
                    customer_group: self.customer_group(call),
                    known: Some(Arc::clone(known)),
                    platforms: self.clone(),
                })
            }
            None => Err(self.unsupported(&known.profile.version, call.endpoint)),
        }
    }

    /// Builds a platform of which only the profile URL is known, with all capabilities of the business.
    fn opaque(&self, call: &Call, profile: ProfileUrl, note: Option<Message>) -> Platform {
        let release = call.endpoint.release();
        let active = self.0.business.everything(release);
        Platform {
            profile: call.admission.principal.unpublished().cloned().unwrap_or(profile),
            release,
            active,
            note,
            multi_group: false,
            buyer_signals: buyer_signals(call),
            customer_group: self.customer_group(call),
            known: None,
            platforms: self.clone(),
        }
    }

    fn unsupported(&self, theirs: &str, endpoint: Endpoint) -> Refusal {
        let ours = Release::ALL.iter().map(|release| release.date()).collect::<Vec<_>>().join(", ");
        // The version comes from a stranger's profile: only 32 visible ASCII characters of it are repeated.
        let theirs: String = theirs.chars().filter(char::is_ascii_graphic).take(32).collect();
        let (content, accepted) = match endpoint {
            Endpoint::Root => (
                format!("The platform speaks release {theirs}, this business speaks {ours}."),
                format!("a profile whose `ucp.version` is one of {ours}"),
            ),
            Endpoint::Of(own) => (
                format!("The platform speaks release {theirs}, this endpoint speaks {own} only."),
                format!(
                    "a profile whose `ucp.version` is {own}, or the endpoint that speaks {theirs} (this business speaks {ours})"
                ),
            ),
        };
        let refusal = Refusal::new(Code::VersionUnsupported, content).accepting(accepted);
        Refusal { continue_url: self.0.business.home.clone(), ..refusal }
    }
}

/// Tells why a profile cannot be had.
fn tell_unreached(profile: &ProfileUrl, refusal: &Refusal) {
    record::tell("profile", || format!("{profile} cannot be had: {}: {}", refusal.code, refusal.content));
}

/// Returns `true` if a profile could not be fetched, which says nothing about what is in it.
fn is_unreachable(refusal: &Refusal) -> bool {
    matches!(refusal.code, Code::ProfileUnreachable | Code::Unavailable)
}

/// Returns the buyer on whose behalf a call is made. Only authenticated platforms can state one.
fn buyer_signals(call: &Call) -> BuyerSignals {
    let signals = match call.admission.principal {
        Principal::Signed(_) | Principal::Keyed(_) => call.payload.get("signals"),
        Principal::Anonymous | Principal::Local => None,
    };
    let ip = signals.and_then(|signals| signals.get("dev.ucp.buyer_ip")).and_then(Value::as_str);
    BuyerSignals { ip: ip.and_then(|ip| ip.parse().ok()) }
}
