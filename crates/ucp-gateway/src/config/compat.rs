//! Whose expectations are met beyond UCP, and the secret that goes with it.

use std::{fmt, str::FromStr, sync::Arc};

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

/// Whose expectations are met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Compat {
    /// Nobody's but those of UCP.
    #[default]
    None,
    /// Those of the conformance suite of the Universal Commerce Protocol.
    Conformance,
}

/// What whoever simulates the course of an order has to show. It is never printed.
#[derive(Clone)]
pub(crate) struct SimulationSecret(Arc<str>);

impl FromStr for SimulationSecret {
    type Err = std::convert::Infallible;

    /// Takes any text, so that no error message has to be made of one; nothing matches an empty one.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.into()))
    }
}

impl SimulationSecret {
    /// Whether this is it. How long that takes tells nothing but its length.
    pub(crate) fn is(&self, presented: &[u8]) -> bool {
        !self.0.is_empty() && bool::from(self.0.as_bytes().ct_eq(presented))
    }
}

impl fmt::Debug for SimulationSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimulationSecret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> SimulationSecret {
        text.parse().expect("any text is one")
    }

    #[test]
    fn a_secret_matches_itself_only_and_is_not_printed() {
        let own = secret("super-secret");
        assert!(own.is(b"super-secret"));
        for other in ["", "super-secre", "super-secret ", "Super-secret"] {
            assert!(!own.is(other.as_bytes()), "{other}");
        }
        assert!(!secret("").is(b""), "an empty secret lets nobody in");
        assert!(!format!("{own:?}").contains("super"));
    }
}
