//! Secrets that only a payment service provider may see.

use std::{str::FromStr, sync::Arc};

/// API key or signing secret. `Debug` prints only the type; there is no serialized form.
#[derive(Clone)]
pub struct Secret(Arc<str>);

/// Error of a text that cannot be a secret, without that text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a secret is 1 to 1024 visible ASCII characters without spaces")]
pub struct Unusable;

/// Maximum length of a secret, in bytes.
const MAX_LENGTH: usize = 1024;

impl Secret {
    /// Returns the secret.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl FromStr for Secret {
    type Err = Unusable;

    /// Parses a secret. Surrounding white space, such as the line break at the end of a file, is removed.
    fn from_str(text: &str) -> Result<Self, Unusable> {
        let text = text.trim();
        let usable = (1..=MAX_LENGTH).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if usable { Ok(Self(text.into())) } else { Err(Unusable) }
    }
}

ucp_core::opaque!(Secret);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_without_white_space_around_it_and_never_printed() {
        let secret: Secret = "  s3cret-key\n".parse().expect("a secret");
        assert_eq!(secret.reveal(), "s3cret-key");
        assert_eq!(format!("{secret:?}"), "Secret { .. }");
        for wrong in ["", " \n", "two words", "line\nbreak", "schlüssel", &"x".repeat(1025)] {
            assert_eq!(wrong.parse::<Secret>().map(|_| ()), Err(Unusable), "{wrong}");
        }
    }
}
