//! Private keys for signatures. A key leaves this module only for the file that it is stored in; its `Debug` form has
//! no secrets.

use aws_lc_rs::{
    encoding::AsBigEndian as _,
    error::{KeyRejected, Unspecified},
    rand::SystemRandom,
    signature::{EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, Signature},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::Value;

use crate::jwk::{Algorithm, PublicKey};

/// Reason why a key cannot be used. Never contains key material.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The JWK is malformed, or not a private key on a supported curve.
    #[error("it is not a key on P-256, P-384, P-521 (EC) or Ed25519 (OKP) as JWK (kty, crv, x, y for EC, d and kid)")]
    NotAKey,
    /// The private member does not belong to the public ones.
    #[error("its private member (d) does not fit its public ones (x, y)")]
    Inconsistent,
    /// The cryptographic library failed, for lack of memory or entropy.
    #[error("the cryptographic library failed")]
    Library,
}

/// A key pair for signatures, with the `kid` that its public half is published under.
pub struct SigningKey {
    pair: Pair,
    algorithm: Algorithm,
    public: PublicKey,
}
ucp_core::opaque!(SigningKey { algorithm });

enum Pair {
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl Pair {
    fn generate(algorithm: Algorithm) -> Result<Self, Unspecified> {
        match algorithm.ecdsa() {
            Some(ecdsa) => EcdsaKeyPair::generate(ecdsa).map(Self::Ecdsa),
            None => Ed25519KeyPair::generate().map(Self::Ed25519),
        }
    }

    fn read(algorithm: Algorithm, private: &[u8], public: &[u8]) -> Result<Self, KeyRejected> {
        match algorithm.ecdsa() {
            Some(ecdsa) => EcdsaKeyPair::from_private_key_and_public_key(ecdsa, private, public).map(Self::Ecdsa),
            None => Ed25519KeyPair::from_seed_and_public_key(private, public).map(Self::Ed25519),
        }
    }

    fn public(&self) -> &[u8] {
        match self {
            Self::Ecdsa(pair) => pair.public_key().as_ref(),
            Self::Ed25519(pair) => pair.public_key().as_ref(),
        }
    }

    fn sign(&self, message: &[u8]) -> Result<Signature, Unspecified> {
        match self {
            Self::Ecdsa(pair) => pair.sign(&SystemRandom::new(), message),
            Self::Ed25519(pair) => pair.try_sign(message),
        }
    }
}

impl SigningKey {
    /// Generates a new key pair. Its `kid` is its thumbprint (RFC 7638). Fails with [`KeyError::Library`] if the
    /// cryptographic library fails.
    pub fn generate(algorithm: Algorithm) -> Result<Self, KeyError> {
        let pair = Pair::generate(algorithm).map_err(|_| KeyError::Library)?;
        let kid = PublicKey::from_point("", algorithm, pair.public()).thumbprint();
        Ok(Self::new(pair, algorithm, &kid.ok_or(KeyError::Library)?))
    }

    /// Reads a JWK that holds the private member `d`. Fails with [`KeyError`] if the JWK cannot be used.
    pub fn from_jwk(jwk: &Value) -> Result<Self, KeyError> {
        // Statements of the public half about verification do not apply to a key that signs.
        let mut public = jwk.as_object().ok_or(KeyError::NotAKey)?.clone();
        for member in ["d", "use", "key_ops"] {
            public.remove(member);
        }
        let public = PublicKey::read(&Value::Object(public), "", &mut Vec::new()).map_err(|_| KeyError::NotAKey)?;
        let (Some(algorithm), Some(point)) = (public.algorithm(), public.point()) else {
            return Err(KeyError::NotAKey);
        };
        let scalar = jwk.get("d").and_then(Value::as_str).ok_or(KeyError::NotAKey)?;
        let scalar = BASE64_URL_SAFE_NO_PAD.decode(scalar).map_err(|_| KeyError::NotAKey)?;
        let pair = Pair::read(algorithm, &scalar, point).map_err(|_| KeyError::Inconsistent)?;
        Ok(Self { pair, algorithm, public })
    }

    fn new(pair: Pair, algorithm: Algorithm, kid: &str) -> Self {
        let public = PublicKey::from_point(kid, algorithm, pair.public());
        Self { pair, algorithm, public }
    }

    /// Returns the public half.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Returns the algorithm of its signatures.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Signs the message, which is hashed here. Returns raw `r‖s` (SIG-02), or the 64 bytes of an Ed25519 signature.
    /// Fails with [`KeyError::Library`] if the cryptographic library fails.
    pub fn sign(&self, message: &[u8]) -> Result<impl AsRef<[u8]> + use<>, KeyError> {
        self.pair.sign(message).map_err(|_| KeyError::Library)
    }

    /// Returns the private member of the JWK (`d`), for the file of the key only.
    pub(crate) fn private_member(&self) -> Result<String, KeyError> {
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        match &self.pair {
            Pair::Ecdsa(pair) => pair.private_key().as_be_bytes().map(|scalar| encode(scalar.as_ref())),
            Pair::Ed25519(pair) => pair.seed().and_then(|seed| seed.as_be_bytes()).map(|seed| encode(seed.as_ref())),
        }
        .map_err(|_| KeyError::Library)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_its_jwk_and_shows_nothing_private() {
        for algorithm in Algorithm::ALL {
            let key = SigningKey::generate(algorithm).unwrap();
            let private = key.private_member().unwrap();
            let mut jwk = key.public().to_jwk().unwrap();
            assert!(jwk.get("d").is_none());
            jwk["d"] = private.clone().into();
            let read = SigningKey::from_jwk(&jwk).unwrap();
            assert_eq!(read.public(), key.public());
            assert_eq!(read.public().thumbprint().as_deref(), Some(read.public().kid()));
            let signature = read.sign(b"message").unwrap();
            assert_eq!(signature.as_ref().len(), algorithm.signature_len());
            key.public().verify(b"message", signature.as_ref()).unwrap();

            let scalar = BASE64_URL_SAFE_NO_PAD.decode(&private).unwrap();
            let shown = format!("{key:?} {key:#?}");
            assert!(!shown.contains(&private) && !shown.contains(&format!("{scalar:?}")), "{shown}");

            jwk["d"] = SigningKey::generate(algorithm).unwrap().private_member().unwrap().into();
            assert_eq!(SigningKey::from_jwk(&jwk).unwrap_err(), KeyError::Inconsistent);
        }
    }
}
