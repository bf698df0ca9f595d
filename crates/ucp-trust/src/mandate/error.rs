//! Reasons why a checkout is not completed under AP2.

/// Reason why there is no proof that the buyer agreed to the terms. Each variant is one of the extension's error codes;
/// its text states the fault and what would be accepted, and quotes the platform only in escaped and shortened form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MandateError {
    /// The completion carries no mandate (AP2-03).
    #[error(
        "The checkout was negotiated with AP2 and is completed only with `ap2.checkout_mandate`: \
         the SD-JWT with key binding by which the buyer agrees to the checkout."
    )]
    Required,
    /// The mandate names no key, or one that the platform does not publish or that is of an unsupported type (AP2-04).
    #[error("{0}")]
    MissingKey(String),
    /// The mandate cannot be read, or a signature in it does not hold (AP2-04).
    #[error("{0}")]
    InvalidSignature(String),
    /// The mandate or its key binding is expired, not valid yet or too old, or the mandate states no expiry.
    #[error("{0}")]
    Expired(String),
    /// The mandate is for another checkout, other terms, or another business.
    #[error("{0}")]
    ScopeMismatch(String),
    /// The checkout in the mandate is not as this business signed it.
    #[error("{0}")]
    AuthorizationInvalid(String),
    /// The checkout in the mandate lacks the signature of this business.
    #[error(
        "The checkout in the mandate has no `ap2.merchant_authorization`. It has to be the whole checkout as it was \
         answered, with that member."
    )]
    AuthorizationMissing,
}

impl MandateError {
    /// Returns the error code of the extension (AP2-05).
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Required => "mandate_required",
            Self::MissingKey(_) => "agent_missing_key",
            Self::InvalidSignature(_) => "mandate_invalid_signature",
            Self::Expired(_) => "mandate_expired",
            Self::ScopeMismatch(_) => "mandate_scope_mismatch",
            Self::AuthorizationInvalid(_) => "merchant_authorization_invalid",
            Self::AuthorizationMissing => "merchant_authorization_missing",
        }
    }
}
