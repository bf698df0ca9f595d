//! The platform behind a call: its profile, the release it speaks, and what is active between it and the business (UCP
//! overview, *Negotiation Protocol*; rules AGT-04 and NEG-01 to NEG-03).
//!
//! What follows from a profile is worked out once, when it is fetched, and kept with it in the directory: a call of a
//! known platform costs a look-up.

use std::{fmt, sync::Arc};

use serde_json::Value;
use ucp_core::{
    Code, Operation, Outcome, Refusal, Release,
    message::Message,
    negotiation::{Active, Declaration, Names, negotiate},
    operation::{Class, Offering},
    port::Carried,
    purchase::{
        caller::{Caller, Visitor},
        notary::Notary,
    },
};
use ucp_trust::{
    address::{ProfileUrl, Reach},
    directory::{Directory, Known},
    profile::PlatformProfile,
};
use ucp_wire::{dialect, dialect::offered, encoded::Encoded, offer::Offer};

use crate::{
    access::Principal,
    agent,
    call::{Call, Endpoint},
    mandate::{self, Seal, Witness},
    standing::Standing,
};

/// What happens to a platform whose profile cannot be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// It is refused.
    Require,
    /// It is served what is open to anyone, with the capabilities of the business, and told so.
    Lenient,
    /// Its address counts as its identity, for everything, with the capabilities of the business.
    Development,
}

/// What the business declares in each release.
#[derive(Clone, Debug)]
pub struct Business {
    declared: Vec<Vec<Declaration>>,
    /// The same with what is offered only where there is a key to sign with.
    signing: Vec<Vec<Declaration>>,
    everything: Vec<Arc<Active>>,
    names: Vec<Names>,
    seal: Option<Seal>,
    /// Where a buyer can go on whatever happens here.
    pub home: Option<String>,
}

impl Business {
    /// A business that offers this.
    #[must_use]
    pub fn new(offering: &Offering, home: Option<String>) -> Self {
        Self::under(&Names::default(), offering, home)
    }

    /// The same for a business that uses names of its own.
    #[must_use]
    pub fn under(names: &Names, offering: &Offering, home: Option<String>) -> Self {
        let declared = |signing: bool| -> Vec<Vec<Declaration>> {
            let of = |release: &Release| {
                let offers = offered(dialect(*release), offering).filter(|offer| signing || !offer.signed);
                offers.map(|offer: &Offer| offer.declaration_under(names)).collect()
            };
            Release::ALL.iter().map(of).collect()
        };
        let (declared, signing) = (declared(false), declared(true));
        let names: Vec<_> = Release::ALL.iter().map(|release| dialect::names(dialect(*release), names)).collect();
        let everything = declared.iter().zip(&names);
        let everything = everything.map(|(declared, names)| Arc::new(Active::all(declared).under(names))).collect();
        Self { declared, signing, everything, names, seal: None, home }
    }

    /// The same for a business that proves itself with keys, as far as there are any: what is signed by both sides is
    /// offered then. A key may come and go while it runs.
    #[must_use]
    pub fn sealing(self, seal: Seal) -> Self {
        Self { seal: Some(seal), ..self }
    }

    fn declared(&self, release: Release) -> &[Declaration] {
        &self.declared[release.ordinal()]
    }

    /// What is declared in a release while there is a key to sign with.
    #[must_use]
    pub fn declared_with_key(&self, release: Release) -> &[Declaration] {
        &self.signing[release.ordinal()]
    }

    /// What follows from a platform's profile.
    #[must_use]
    pub fn standing(&self, profile: &PlatformProfile) -> Standing {
        let Some(release) = Release::from_date(&profile.version) else {
            return Standing { release: None, active: Arc::default(), signing: None };
        };
        let negotiated = |declared: &[Declaration]| {
            let negotiation = negotiate(release.date(), declared, &profile.capabilities);
            negotiation.active().under(&self.names[release.ordinal()])
        };
        let active = negotiated(self.declared(release));
        let signing = self.seal.is_some().then(|| negotiated(&self.signing[release.ordinal()]));
        let signing = signing.filter(|signing| *signing != active).map(Arc::new);
        // Most platforms declare all that is here: they share one value.
        let everything = &self.everything[release.ordinal()];
        let active = if active == **everything { Arc::clone(everything) } else { Arc::new(active) };
        Standing { release: Some(release), active, signing }
    }
}

/// The platform behind a call.
#[derive(Clone, Debug)]
pub struct Platform {
    /// The address of its profile, which is its identity.
    pub profile: ProfileUrl,
    /// The release it is served in.
    pub release: Release,
    /// What is active with it.
    pub active: Arc<Active>,
    /// What it should know about how it was identified.
    pub note: Option<Message>,
    /// Whether it can show several groups per fulfillment method.
    pub multi_group: bool,
    /// The buyer in whose name it asks.
    pub visitor: Visitor,
    /// What is known of it; nothing when its profile is out of reach.
    known: Option<Arc<Known<Standing>>>,
    /// Among which platforms it was found.
    platforms: Platforms,
}

impl Platform {
    /// An outcome as this platform gets it: in its release, with what was negotiated with it, and signed where that is
    /// part of it.
    ///
    /// # Errors
    /// It has to be signed, and cannot be.
    pub fn answer(&self, operation: Operation, outcome: Outcome) -> Result<Encoded, Refusal> {
        let outcome = match &self.note {
            Some(note) => outcome.noting(note.clone()),
            None => outcome,
        };
        let encoded = ucp_wire::encode(dialect(self.release), operation, &outcome, &self.active);
        if !mandate::is_signed(&outcome, &self.active) {
            return Ok(encoded);
        }
        match &self.platforms.business().seal {
            Some(seal) => seal.put_on(encoded),
            None => Err(mandate::unsigned()),
        }
    }

    /// What a shop answered that speaks UCP itself, as this platform gets it.
    #[must_use]
    pub fn relayed(&self, operation: Operation, carried: &Carried) -> Encoded {
        ucp_wire::relay::encode(dialect(self.release), operation, carried, &self.active, self.note.as_ref())
    }

    /// The platform, as far as carts, checkouts and orders depend on it.
    #[must_use]
    pub fn caller(&self) -> Caller {
        Caller {
            owner: self.profile.as_str().to_owned(),
            active: Arc::clone(&self.active),
            multi_group: self.multi_group,
            visitor: self.visitor,
            notary: self.platforms.business().seal.as_ref().map(|seal| {
                Arc::new(Witness {
                    seal: seal.clone(),
                    dialect: dialect(self.release),
                    active: Arc::clone(&self.active),
                    known: self.known.clone(),
                    directory: self.platforms.directory().clone(),
                }) as Arc<dyn Notary>
            }),
        }
    }
}

/// Finds out which platform is calling; cheap to clone.
#[derive(Clone)]
pub struct Platforms(Arc<Inner>);

struct Inner {
    business: Arc<Business>,
    policy: Policy,
    reach: Reach,
    directory: Directory<Standing>,
}

impl fmt::Debug for Platforms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Platforms").field("policy", &self.0.policy).finish_non_exhaustive()
    }
}

impl Platforms {
    /// The platforms that `directory` knows or finds, under a policy for those that cannot be found.
    #[must_use]
    pub fn new(business: Arc<Business>, policy: Policy, reach: Reach, directory: Directory<Standing>) -> Self {
        Self(Arc::new(Inner { business, policy, reach, directory }))
    }

    /// What the business declares.
    #[must_use]
    pub fn business(&self) -> &Business {
        &self.0.business
    }

    /// Where profiles are known.
    #[must_use]
    pub fn directory(&self) -> &Directory<Standing> {
        &self.0.directory
    }

    /// A platform that nobody is calling for at the moment: what is known of its profile, which is fetched if need be, the
    /// release it speaks and what is active with it.
    ///
    /// # Errors
    /// As [`Self::identify`], whatever the policy is.
    pub async fn known(&self, profile: &str) -> Result<(Arc<Known<Standing>>, Release, Arc<Active>), Refusal> {
        let profile = ProfileUrl::parse(profile, self.0.reach)?;
        let known = self.0.directory.get(&profile).await?;
        let Standing { release, active, .. } = &known.derived;
        let (release, active) = (*release, Arc::clone(active));
        match release {
            Some(release) => Ok((known, release, active)),
            None => Err(self.unsupported(&known.profile.version, Endpoint::Root)),
        }
    }

    /// Which addresses may be named.
    #[must_use]
    pub fn reach(&self) -> Reach {
        self.0.reach
    }

    /// The platform of a call, if that is known without waiting.
    ///
    /// # Errors
    /// The same as [`Self::identify`].
    pub fn recognize(&self, call: &Call) -> Option<Result<Platform, Refusal>> {
        let stated = agent::stated_profile(&call.profiles).ok()?;
        if call.admission.principal == Principal::Local {
            return None;
        }
        let known = self.0.directory.peek(&stated.text)?;
        Some(self.served(call, &known))
    }

    /// The platform of a call.
    ///
    /// # Errors
    /// [`Code::InvalidProfileUrl`], [`Code::ProfileUnreachable`], [`Code::ProfileMalformed`],
    /// [`Code::VersionUnsupported`] or [`Code::Forbidden`].
    pub async fn identify(&self, call: &Call) -> Result<Platform, Refusal> {
        let profile = agent::profile(&call.profiles, self.0.reach)?;
        call.admission.principal.may_act_for(&profile)?;
        if call.admission.principal == Principal::Local {
            return Ok(self.opaque(call, profile, None));
        }
        let refusal = match self.look_up(&profile).await {
            Ok(known) => return self.served(call, &known),
            Err(refusal) => refusal,
        };
        match self.0.policy {
            Policy::Development if self.overlooks(&refusal) => Ok(self.opaque(call, profile, None)),
            Policy::Lenient if self.overlooks(&refusal) && call.operation.row().class == Class::Browsing => {
                let note = Message::warning(
                    Code::ProfileUnreachable.as_str(),
                    "The platform's profile could not be fetched; the answer assumes that the platform has every \
                     capability of this business.",
                );
                Ok(self.opaque(call, profile, Some(note)))
            }
            _ => Err(refusal),
        }
    }

    /// Whether a platform that this refusal is about is served something all the same, as one that has proven nothing.
    /// What is wrong with the address or the profile itself stays wrong under any policy.
    #[must_use]
    pub fn overlooks(&self, refusal: &Refusal) -> bool {
        self.0.policy != Policy::Require && matches!(refusal.code, Code::ProfileUnreachable | Code::Unavailable)
    }

    /// What is known about a platform. Where an unknown platform is served all the same, nobody waits for one that was
    /// just found to be out of reach.
    async fn look_up(&self, profile: &ProfileUrl) -> Result<Arc<Known<Standing>>, Refusal> {
        match self.0.policy {
            Policy::Require => self.0.directory.get(profile).await,
            Policy::Lenient | Policy::Development => self.0.directory.get_or_last_failure(profile).await,
        }
    }

    /// A platform whose profile is known, in the release it speaks.
    fn served(&self, call: &Call, known: &Arc<Known<Standing>>) -> Result<Platform, Refusal> {
        call.admission.principal.may_act_for(&known.url)?;
        let Standing { release, active, signing } = &known.derived;
        let fits = |release: &Release| call.endpoint == Endpoint::Root || call.endpoint == Endpoint::Of(*release);
        match release.filter(fits) {
            Some(release) => {
                let signs = || self.0.business.seal.as_ref().is_some_and(|seal| seal.signer().is_some());
                let active = signing.as_ref().filter(|_| signs()).unwrap_or(active);
                Ok(Platform {
                    profile: known.url.clone(),
                    release,
                    active: Arc::clone(active),
                    note: None,
                    multi_group: known.profile.multi_group,
                    visitor: visitor(call),
                    known: Some(Arc::clone(known)),
                    platforms: self.clone(),
                })
            }
            None => Err(self.unsupported(&known.profile.version, call.endpoint)),
        }
    }

    /// A platform of which nothing but the address is known.
    fn opaque(&self, call: &Call, profile: ProfileUrl, note: Option<Message>) -> Platform {
        let release = call.endpoint.release();
        let active = Arc::clone(&self.0.business.everything[release.ordinal()]);
        Platform {
            profile,
            release,
            active,
            note,
            multi_group: false,
            visitor: visitor(call),
            known: None,
            platforms: self.clone(),
        }
    }

    fn unsupported(&self, theirs: &str, endpoint: Endpoint) -> Refusal {
        let ours = Release::ALL.iter().map(|release| release.date()).collect::<Vec<_>>().join(", ");
        // What a profile says is repeated only in the form of a version.
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

/// The buyer in whose name a call is made, which only those may say who have shown who they are.
fn visitor(call: &Call) -> Visitor {
    let signals = match call.admission.principal {
        Principal::Signed(_) | Principal::Keyed(_) => call.payload.get("signals"),
        Principal::Anonymous | Principal::Local => None,
    };
    let ip = signals.and_then(|signals| signals.get("dev.ucp.buyer_ip")).and_then(Value::as_str);
    Visitor { ip: ip.and_then(|ip| ip.parse().ok()) }
}
