//! Who a caller is known to be, and what that allows (UCP overview, *Identity & Authentication*; rules AGT-09 and SIG-07).

use std::sync::Arc;

use ucp_core::{Code, Refusal, operation::Class};
use ucp_trust::{address::ProfileUrl, limit::Permit};

/// What is known of a caller by more than its own word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Principal {
    /// Nothing.
    Anonymous,
    /// The request is signed with a key of this profile.
    Signed(ProfileUrl),
    /// The request carries an API key of this registered platform.
    Keyed(Registered),
    /// The process that started this one.
    Local,
}

/// A platform that the operator registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// Its position among the registered ones.
    pub index: usize,
    /// The profile it may act for.
    pub profile: ProfileUrl,
}

impl Principal {
    /// Checks that the caller is who it says it is (rule AGT-09).
    ///
    /// # Errors
    /// [`Code::Forbidden`].
    pub fn may_act_for(&self, profile: &ProfileUrl) -> Result<(), Refusal> {
        let own = match self {
            Self::Anonymous | Self::Local => return Ok(()),
            Self::Signed(own) | Self::Keyed(Registered { profile: own, .. }) => own,
        };
        if own == profile {
            return Ok(());
        }
        Err(Refusal::new(
            Code::Forbidden,
            "The credential of the request belongs to another platform than the one it names.",
        )
        .accepting("the profile that the credential was issued for"))
    }
}

/// What a class of operations asks of signatures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignatureRule {
    /// Nothing: signatures are not looked at.
    Off,
    /// A signature that is there has to be right.
    #[default]
    Verify,
    /// There has to be one.
    Enforce,
}

/// Which classes of operations are open to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Whether callers that prove nothing may do more than look around.
    pub anonymous_purchases: bool,
    /// What browsing asks of signatures.
    pub browsing: SignatureRule,
    /// What carts and checkouts ask of signatures.
    pub purchase: SignatureRule,
    /// What orders ask of signatures.
    pub order: SignatureRule,
}

impl Access {
    /// Everything is open to anyone.
    pub const OPEN: Self = Self {
        anonymous_purchases: true,
        browsing: SignatureRule::Verify,
        purchase: SignatureRule::Verify,
        order: SignatureRule::Verify,
    };

    fn rule(self, class: Class) -> SignatureRule {
        match class {
            Class::Browsing => self.browsing,
            Class::Purchase => self.purchase,
            Class::Order => self.order,
        }
    }

    /// Whether signatures are looked at at all. Which operation a request asks for is not known when they are.
    #[must_use]
    pub fn verifies(self) -> bool {
        [self.browsing, self.purchase, self.order].iter().any(|rule| *rule != SignatureRule::Off)
    }

    /// Decides whether a caller may ask for an operation of a class.
    ///
    /// # Errors
    /// [`Code::SignatureMissing`] or [`Code::Unauthorized`].
    pub(crate) fn check(self, class: Class, principal: &Principal) -> Result<(), Refusal> {
        match principal {
            Principal::Local | Principal::Signed(_) => Ok(()),
            _ if self.rule(class) == SignatureRule::Enforce => {
                Err(Refusal::new(Code::SignatureMissing, "This operation is for signed requests only.")
                    .accepting("an HTTP Message Signature (RFC 9421) by a key of the platform's profile"))
            }
            Principal::Anonymous if class != Class::Browsing && !self.anonymous_purchases => {
                Err(Refusal::new(Code::Unauthorized, "This operation is for identified platforms only.").accepting(
                    "an HTTP Message Signature (RFC 9421) by a key of the platform's profile, or an API key",
                ))
            }
            Principal::Anonymous | Principal::Keyed(_) => Ok(()),
        }
    }
}

/// A request that got in. It takes a place inside until the last copy of it is dropped.
#[derive(Clone, Debug)]
pub struct Admission {
    /// Who sent it.
    pub principal: Principal,
    _permit: Option<Arc<Permit>>,
}

impl Admission {
    /// The admission of a caller to a place inside.
    #[must_use]
    pub fn new(principal: Principal, permit: Permit) -> Self {
        Self { principal, _permit: Some(Arc::new(permit)) }
    }
}

impl From<Principal> for Admission {
    /// The admission of a caller for whom no places are counted, such as the process that started this one.
    fn from(principal: Principal) -> Self {
        Self { principal, _permit: None }
    }
}

#[cfg(test)]
mod tests {
    use ucp_trust::address::Reach;

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
    fn a_credential_acts_for_its_own_platform_only() {
        let url = |text: &str| ProfileUrl::parse(text, Reach::Public).expect("an address");
        let signed = Principal::Signed(url("https://a.example.com/p"));
        assert_eq!(signed.may_act_for(&url("https://a.example.com/p")), Ok(()));
        assert_eq!(signed.may_act_for(&url("https://b.example.com/p")).expect_err("refused").code, Code::Forbidden);
        assert_eq!(Principal::Anonymous.may_act_for(&url("https://b.example.com/p")), Ok(()));
    }
}
