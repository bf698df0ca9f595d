//! Authentication and authorization of callers (UCP overview, *Identity & Authentication*; rules AGT-09 and SIG-07).

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use ucp_core::{
    Code, Refusal,
    operation::{Class, Effect},
    ports::ledger::{Bound, Holder},
};
use ucp_net::Scope;
use ucp_trust::{
    address::ProfileUrl,
    limit::{HeldBody, Permit, Share, Stranger},
};

/// Maximum length of the name of a registered platform under which what it holds is counted; of a longer one, the digest is
/// the name.
const MAX_NAME: usize = 400;

/// The authenticated identity of a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Principal {
    /// No credential was verified.
    Anonymous,
    /// The request is signed with a key of this platform profile.
    Signed(ProfileUrl),
    /// The request carries an API key of this registered platform, or came over a connection with its certificate.
    Keyed(Registered),
    /// The parent process, over stdio.
    Local,
}

/// A platform that the operator registered in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// Position in the list of registered platforms, from 0.
    pub index: usize,
    /// The profile that the platform may act for, or its identity if it publishes none.
    pub profile: ProfileUrl,
}

impl Principal {
    /// Returns the identity of a platform that is registered without a profile.
    pub(crate) fn unpublished(&self) -> Option<&ProfileUrl> {
        match self {
            Self::Keyed(Registered { profile, .. }) if !profile.is_published() => Some(profile),
            _ => None,
        }
    }

    /// Checks that the caller's credential belongs to the profile that the request names (rule AGT-09). Anonymous and
    /// local callers may name any profile, and so may a platform that is registered without one: it says what the
    /// platform can do, not who it is.
    ///
    /// # Errors
    /// [`Code::Forbidden`] if the credential belongs to another profile.
    pub fn may_act_for(&self, profile: &ProfileUrl) -> Result<(), Refusal> {
        let own = match self {
            Self::Anonymous | Self::Local => return Ok(()),
            Self::Keyed(Registered { profile, .. }) if !profile.is_published() => return Ok(()),
            Self::Signed(own) | Self::Keyed(Registered { profile: own, .. }) => own,
        };
        if own == profile {
            return Ok(());
        }
        Err(Refusal::new(Code::Forbidden, "The credential and the profile belong to different platforms.")
            .accepting("the profile that the credential was issued for"))
    }
}

/// Signature requirement of a class of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignatureRule {
    /// Signatures are not required. They are not verified either if all classes are `Off`.
    Off,
    /// Signatures are optional; a signature that is present must be valid.
    #[default]
    Verify,
    /// A valid signature is required.
    Enforce,
}

/// Access requirements of each class of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// `true` if callers without a credential may call operations other than browsing.
    pub anonymous_purchases: bool,
    /// Signature requirement of browsing the catalog and the directory.
    pub browsing: SignatureRule,
    /// Signature requirement of carts and checkouts.
    pub purchase: SignatureRule,
    /// Signature requirement of orders.
    pub order: SignatureRule,
    /// Bound on the rows of an unregistered caller in the store; `None` for no bound.
    pub held: Option<CallerQuota>,
    /// Bound on the rows of a registered platform in the store; `None` for no bound.
    pub keyed_quota: Option<CallerQuota>,
}

/// Bound on the rows of one caller in the store. Wider networks of strangers may hold a multiple
/// ([`Step::factor`](ucp_net::shares::Step::factor)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerQuota {
    /// Maximum number of carts and checkouts that led to no order.
    pub open: u64,
    /// Maximum size of their documents and of the answers recorded under idempotency keys, in bytes.
    pub bytes: u64,
}

impl Access {
    /// All operations are open to anonymous callers; signatures that are present are verified.
    pub const OPEN: Self = Self {
        anonymous_purchases: true,
        browsing: SignatureRule::Verify,
        purchase: SignatureRule::Verify,
        order: SignatureRule::Verify,
        held: None,
        keyed_quota: None,
    };

    fn rule(self, class: Class) -> SignatureRule {
        match class {
            Class::Browsing => self.browsing,
            Class::Purchase => self.purchase,
            Class::Order => self.order,
        }
    }

    /// Returns `true` if any class requires that signatures be verified. One setting for all classes, because
    /// signatures are verified before the operation of the request is known.
    pub fn verifies(self) -> bool {
        [self.browsing, self.purchase, self.order].iter().any(|rule| *rule != SignatureRule::Off)
    }

    /// Returns whom the writes of a call are counted to: the groups of a caller that is not registered, or a registered
    /// platform; nobody without a limit. What concludes a purchase may take twice the room, so that a full caller can
    /// still pay.
    pub(crate) fn holder(self, admission: &Admission, effect: Effect) -> Option<Holder> {
        let twice = u64::from(effect == Effect::Concluding) + 1;
        let bound = |name: String, CallerQuota { open, bytes }: CallerQuota, times: u64| Bound {
            name,
            open: open.saturating_mul(times * twice),
            bytes: bytes.saturating_mul(times * twice),
        };
        if let Some(stranger) = stranger(admission) {
            let held = self.held?;
            let groups = stranger.groups();
            return Some(Holder {
                bounds: groups.map(|(step, group)| bound(group.to_string(), held, step.factor().into())).collect(),
            });
        }
        let (Principal::Signed(profile) | Principal::Keyed(Registered { profile, .. })) = &admission.principal else {
            return None;
        };
        let name = match profile.as_str() {
            short if short.len() <= MAX_NAME => short.to_owned(),
            long => Sha256::digest(long).iter().fold("sha256:".to_owned(), |hex, byte| format!("{hex}{byte:02x}")),
        };
        let name = format!("{}{name}", Holder::REGISTERED);
        Some(Holder { bounds: vec![bound(name, self.keyed_quota?, 1)] })
    }

    /// Checks that a caller may call operations of a class.
    ///
    /// # Errors
    /// [`Code::SignatureMissing`] if the class requires a signature and the caller has none; [`Code::Unauthorized`] if
    /// the class is closed to anonymous callers.
    pub(crate) fn check(self, class: Class, principal: &Principal) -> Result<(), Refusal> {
        match principal {
            Principal::Local | Principal::Signed(_) => Ok(()),
            _ if self.rule(class) == SignatureRule::Enforce => {
                Err(Refusal::new(Code::SignatureMissing, "This operation requires a signed request.")
                    .accepting("an HTTP Message Signature (RFC 9421) by a key of the platform's profile"))
            }
            Principal::Anonymous if class != Class::Browsing && !self.anonymous_purchases => {
                Err(Refusal::new(Code::Unauthorized, "This operation requires an identified platform.").accepting(
                    "an HTTP Message Signature (RFC 9421) by a key of the platform's profile, or an API key",
                ))
            }
            Principal::Anonymous | Principal::Keyed(_) => Ok(()),
        }
    }
}

/// An admitted request. It counts as in flight until its last clone is dropped.
#[derive(Clone, Debug)]
pub struct Admission {
    /// The authenticated caller.
    pub principal: Principal,
    /// Share that the request counts to; `None` for callers such as the parent process.
    share: Option<Share>,
    _permit: Option<Arc<Permit>>,
    _body: Option<Arc<HeldBody>>,
}

/// Returns the caller of a call, if the operator does not know it.
pub(crate) fn stranger(admission: &Admission) -> Option<&Stranger> {
    match admission.share() {
        Some(Share::Stranger(stranger)) => Some(stranger),
        _ => None,
    }
}

impl Admission {
    /// Creates the admission of a caller of this share, which holds a permit of the in-flight limit.
    pub fn new(principal: Principal, share: Share, permit: Permit) -> Self {
        Self { principal, share: Some(share), _permit: Some(Arc::new(permit)), _body: None }
    }

    /// Returns the share that the request is counted to; `None` for callers such as the parent process.
    pub const fn share(&self) -> Option<&Share> {
        self.share.as_ref()
    }

    /// Returns the circumstances of what is done for the caller: the share of places that it takes.
    pub fn scope(&self) -> Scope {
        Scope { stranger: stranger(self).map(Stranger::shares), ..Scope::default() }
    }

    /// Returns the same admission, which also holds the room of the request's body.
    #[must_use]
    pub fn holding(self, body: HeldBody) -> Self {
        Self { _body: Some(Arc::new(body)), ..self }
    }
}

impl From<Principal> for Admission {
    /// Creates an admission that does not count towards the in-flight limit, for callers such as the parent process.
    fn from(principal: Principal) -> Self {
        Self { principal, share: None, _permit: None, _body: None }
    }
}

#[cfg(test)]
mod tests {
    use ucp_trust::{address::Reach, client::ClientAddress, limit::InFlight};

    use super::*;

    #[test]
    fn classes_are_open_to_those_who_may_ask() {
        let url = |text: &str| ProfileUrl::parse(text, Reach::Public).expect("an address");
        let signed = Principal::Signed(url("https://a.example.com/"));
        let keyed = Principal::Keyed(Registered { index: 0, profile: url("https://a.example.com/") });
        let access = Access { anonymous_purchases: false, ..Access::OPEN };
        let code =
            |access: Access, class, principal: &Principal| access.check(class, principal).err().map(|no| no.code);
        assert_eq!(code(access, Class::Browsing, &Principal::Anonymous), None);
        for class in [Class::Purchase, Class::Order] {
            assert_eq!(code(access, class, &Principal::Anonymous), Some(Code::Unauthorized));
            assert_eq!(code(Access::OPEN, class, &Principal::Anonymous), None);
            for known in [&signed, &keyed, &Principal::Local] {
                assert_eq!(code(access, class, known), None);
            }
        }
        let enforced = Access { purchase: SignatureRule::Enforce, ..access };
        assert_eq!(code(enforced, Class::Purchase, &keyed), Some(Code::SignatureMissing));
        assert_eq!(code(enforced, Class::Purchase, &signed), None);
        assert_eq!(code(enforced, Class::Browsing, &Principal::Anonymous), None);
    }

    #[test]
    fn writes_are_counted_to_the_groups_of_strangers_and_to_registered_platforms() {
        let profile = ProfileUrl::parse("https://a.example.com/", Reach::Public).expect("an address");
        let held = |open, bytes| Some(CallerQuota { open, bytes });
        let access = Access { held: held(3, 5), keyed_quota: held(70, 90), ..Access::OPEN };
        let address = ClientAddress::new([192, 0, 2, 7].into());
        let admission = |principal: &Principal, share: Share| {
            let permit = InFlight::new(1).try_acquire(None).expect("room");
            Admission::new(principal.clone(), share, permit)
        };
        let of = |access: Access, admission: &Admission, effect| {
            let bounds = access.holder(admission, effect).map(|holder| holder.bounds).unwrap_or_default();
            bounds.into_iter().map(|bound| (bound.name, bound.open, bound.bytes)).collect::<Vec<_>>()
        };
        let bounds = |of: &[(&str, u64, u64)]| {
            of.iter().map(|(name, open, bytes)| ((*name).to_owned(), *open, *bytes)).collect::<Vec<_>>()
        };
        let signed = Principal::Signed(profile.clone());
        let unknown = admission(&signed, Share::Stranger(Stranger::signed(&profile, address)));
        assert_eq!(
            of(access, &unknown, Effect::Creating),
            bounds(&[("example.com", 3, 5), ("192.0.2.7", 3, 5), ("192.0.2.0/24", 12, 20)])
        );
        assert_eq!(of(access, &unknown, Effect::Concluding)[1], ("192.0.2.7".to_owned(), 6, 10));
        let keyed = Principal::Keyed(Registered { index: 0, profile: profile.clone() });
        for principal in [&signed, &keyed] {
            let known = admission(principal, Share::Keyed(0));
            let name = [("~https://a.example.com/", 70, 90)];
            assert_eq!(of(access, &known, Effect::Creating), bounds(&name));
            assert_eq!(of(Access { keyed_quota: None, ..access }, &known, Effect::Creating), []);
        }
        assert_eq!(of(access, &Principal::Local.into(), Effect::Creating), []);
        assert_eq!(of(Access::OPEN, &unknown, Effect::Creating), []);
    }

    #[test]
    fn a_credential_acts_for_its_own_platform_only() {
        let url = |text: &str| ProfileUrl::parse(text, Reach::Public).expect("an address");
        let signed = Principal::Signed(url("https://a.example.com/p"));
        assert_eq!(signed.may_act_for(&url("https://a.example.com/p")), Ok(()));
        assert_eq!(signed.may_act_for(&url("https://b.example.com/p")).expect_err("refused").code, Code::Forbidden);
        assert_eq!(Principal::Anonymous.may_act_for(&url("https://b.example.com/p")), Ok(()));
    }
}
