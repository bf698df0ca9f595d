//! Fingerprints of client certificates, by which a platform is recognized that shows one instead of signing its requests.

use std::{fmt, str::FromStr};

use sha2::{Digest as _, Sha256};

use crate::api_key::digest;

/// SHA-256 of a certificate in DER. Its text form is 64 hexadecimal digits, with or without colons between the bytes, as
/// `openssl x509 -noout -fingerprint -sha256` prints it, and with or without `sha256:` before them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Returns the fingerprint of a certificate in DER.
    pub fn of(certificate: &[u8]) -> Self {
        Self(Sha256::digest(certificate).into())
    }
}

impl FromStr for Fingerprint {
    type Err = NotAFingerprint;

    fn from_str(text: &str) -> Result<Self, NotAFingerprint> {
        let digits = text.strip_prefix("sha256:").unwrap_or(text).replace(':', "");
        digest(&digits).map(Self).ok_or(NotAFingerprint)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprint(")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

/// Error of a text that is not a [`Fingerprint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the SHA-256 of a certificate, as `openssl x509 -noout -fingerprint -sha256` prints it")]
pub struct NotAFingerprint;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_as_other_tools_print_it() {
        // printf %s abc | sha256sum
        let plain = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let pairs: Vec<_> = (0..32).map(|at| plain[2 * at..2 * at + 2].to_uppercase()).collect();
        for text in [plain.to_owned(), format!("sha256:{plain}"), pairs.join(":")] {
            assert_eq!(text.parse(), Ok(Fingerprint::of(b"abc")), "{text}");
        }
        for wrong in ["", "sha256:", "00", &format!("sha1:{plain}"), &format!("{plain}00"), &"g".repeat(64)] {
            assert_eq!(wrong.parse::<Fingerprint>(), Err(NotAFingerprint), "{wrong}");
        }
    }
}
