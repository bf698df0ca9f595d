//! What is shown to a payment service provider and to nobody else.

use std::{fmt, str::FromStr, sync::Arc};

/// An API key or a signing secret. Prints as its type only, and has no serialised form.
#[derive(Clone)]
pub struct Secret(Arc<str>);

/// A text that cannot be a secret. It does not repeat the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a secret is 1 to 1024 visible ASCII characters without spaces")]
pub struct Unusable;

/// How long a secret may be, in bytes.
const MAX_LENGTH: usize = 1024;

impl Secret {
    /// The secret itself.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl FromStr for Secret {
    type Err = Unusable;

    /// Reads a secret. White space around it, such as the line break at the end of a file, is no part of it.
    fn from_str(text: &str) -> Result<Self, Unusable> {
        let text = text.trim();
        let usable = (1..=MAX_LENGTH).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if usable { Ok(Self(text.into())) } else { Err(Unusable) }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_without_white_space_around_it_and_never_printed() {
        let secret: Secret = "  s3cret-key\n".parse().expect("a secret");
        assert_eq!(secret.reveal(), "s3cret-key");
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        for wrong in ["", " \n", "two words", "line\nbreak", "schlüssel", &"x".repeat(1025)] {
            assert_eq!(wrong.parse::<Secret>().map(|_| ()), Err(Unusable), "{wrong}");
        }
    }
}
