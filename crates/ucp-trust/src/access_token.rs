//! Access tokens for platforms that prove themselves with a client identifier and a secret (OAuth 2.0 client credentials,
//! RFC 6749, section 4.4).
//!
//! A token is `ucpt_`, its claims and their HMAC-SHA256 under the client's secret, each in base64url. Nothing is stored of
//! it: every gateway that knows the secret accepts the token, and a secret that is withdrawn takes its tokens along. The HMAC
//! also covers the audience, so that a token of one shop is none of another.
//!
//! Neither [`ClientSecret`] nor [`AccessToken`] is ever printed.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use ucp_core::refusal::{Code, Refusal};

/// Prefix of every access token of this gateway.
pub(crate) const PREFIX: &str = "ucpt_";

/// Time for which an access token is valid.
pub const LIFETIME: Duration = Duration::from_secs(60 * 60);

/// Minimum length of a client secret, in bytes.
const MIN_SECRET: usize = 16;

/// Maximum length of a client identifier and of a secret, in bytes.
pub const MAX_CREDENTIAL: usize = 256;

/// Secret that a platform shows to get an access token.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ClientSecret(Box<str>);
ucp_core::opaque!(ClientSecret);

/// Error of a text that is not a client secret. It does not repeat the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a client secret of {MIN_SECRET} to {MAX_CREDENTIAL} visible ASCII characters")]
pub struct NotASecret;

impl std::str::FromStr for ClientSecret {
    type Err = NotASecret;

    fn from_str(text: &str) -> Result<Self, NotASecret> {
        let is_secret =
            (MIN_SECRET..=MAX_CREDENTIAL).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_secret { Ok(Self(text.into())) } else { Err(NotASecret) }
    }
}

impl ClientSecret {
    /// Returns the HMAC of the claims of a token for an audience.
    fn seal(&self, audience: &str, claims: &str) -> Hmac<Sha256> {
        let keyed = Hmac::<Sha256>::new_from_slice(self.0.as_bytes());
        let keyed = keyed.unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
        keyed.chain_update("ucp-gateway access token\0").chain_update(audience).chain_update("\0").chain_update(claims)
    }

    /// Compares with a presented secret in a time that tells nothing of either.
    fn is(&self, presented: &str) -> bool {
        Sha256::digest(self.0.as_bytes()).ct_eq(&Sha256::digest(presented.as_bytes())).into()
    }
}

/// Token that a platform sends as `Authorization: Bearer`.
pub struct AccessToken(String);
ucp_core::opaque!(AccessToken);

impl AccessToken {
    /// Returns the text of the token, for the one time that it is handed out.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// A platform that may ask for access tokens.
#[derive(Clone, Debug)]
pub struct Client<P> {
    /// Client identifier.
    pub id: String,
    /// Its secrets: one, or several during a rotation. Tokens are sealed with the first.
    pub secrets: Vec<ClientSecret>,
    /// The platform.
    pub platform: P,
}

/// Register of the clients of a shop.
#[derive(Clone, Debug)]
pub struct Clients<P> {
    /// Base URL of the shop.
    audience: String,
    clients: Vec<Client<P>>,
}

impl<P> Clients<P> {
    /// Creates a register of these clients, whose identifiers differ, for the shop at a base URL.
    pub fn new(audience: &str, clients: Vec<Client<P>>) -> Self {
        Self { audience: audience.to_owned(), clients }
    }

    /// Returns `true` if no client can ask for a token.
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// Returns the base URL of the shop for which tokens are issued.
    pub fn audience(&self) -> &str {
        &self.audience
    }

    /// Returns a token for the client with this identifier and secret.
    ///
    /// # Errors
    /// [`Code::Unauthorized`] if there is none.
    pub fn issue(&self, id: &str, secret: &str, now: SystemTime) -> Result<AccessToken, Refusal> {
        let known = self.clients.iter().find(|client| {
            // All secrets are compared, so that the time does not tell which one is right.
            let is_one = client.secrets.iter().fold(false, |found, own| own.is(secret) | found);
            is_one && client.id == id
        });
        let sealing = known.and_then(|client| client.secrets.iter().find(|own| own.is(secret)));
        let sealing = sealing.ok_or_else(|| {
            Refusal::new(Code::Unauthorized, "Invalid client identifier or secret.")
                .accepting("the client identifier and secret that this gateway's operator gave to the platform")
        })?;
        let expiry = now.duration_since(UNIX_EPOCH).unwrap_or_default() + LIFETIME;
        let claims = BASE64_URL_SAFE_NO_PAD.encode(format!("{} {id}", expiry.as_secs()));
        let seal = sealing.seal(&self.audience, &claims).finalize().into_bytes();
        Ok(AccessToken(format!("{PREFIX}{claims}.{}", BASE64_URL_SAFE_NO_PAD.encode(seal))))
    }

    /// Returns the platform to which a token was issued.
    ///
    /// # Errors
    /// [`Code::Unauthorized`] if it is no token of this shop, or has expired.
    pub fn find(&self, token: &str, now: SystemTime) -> Result<&P, Refusal> {
        let refused = |content| {
            Refusal::new(Code::Unauthorized, content)
                .accepting("an access token of `POST /oauth/token` of this shop, which is valid for an hour")
        };
        let (platform, expiry) = self.read(token).ok_or_else(|| refused("Invalid access token."))?;
        if now.duration_since(UNIX_EPOCH).unwrap_or_default() < Duration::from_secs(expiry) {
            Ok(platform)
        } else {
            Err(refused("The access token has expired."))
        }
    }

    /// Returns the platform of a token whose seal is right, and when the token expires, in seconds since 1970.
    fn read(&self, token: &str) -> Option<(&P, u64)> {
        let (claims, seal) = token.strip_prefix(PREFIX)?.split_once('.')?;
        let seal = BASE64_URL_SAFE_NO_PAD.decode(seal).ok()?;
        let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
        let (expiry, id) = text.split_once(' ')?;
        let client = self.clients.iter().find(|client| client.id == id)?;
        let is_sealed = |own: &ClientSecret| own.seal(&self.audience, claims).verify_slice(&seal).is_ok();
        client.secrets.iter().any(is_sealed).then_some((&client.platform, expiry.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "correct-horse-battery";

    fn clients(audience: &str, secrets: &[&str]) -> Clients<&'static str> {
        let secrets = secrets.iter().map(|secret| secret.parse().expect("a secret")).collect();
        let other = vec!["another-secret-of-others".parse().expect("a secret")];
        Clients::new(
            audience,
            vec![
                Client { id: "google".to_owned(), secrets, platform: "Google" },
                Client { id: "other".to_owned(), secrets: other, platform: "Other" },
            ],
        )
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_token_is_its_clients_until_it_expires() {
        let shop = clients("https://shop.example", &[SECRET]);
        let token = shop.issue("google", SECRET, at(1_000)).expect("a token");
        assert_eq!(shop.find(token.reveal(), at(1_000)), Ok(&"Google"));
        assert_eq!(shop.find(token.reveal(), at(4_599)), Ok(&"Google"));
        let expired = shop.find(token.reveal(), at(4_600)).expect_err("expired");
        assert_eq!((expired.code, &*expired.content), (Code::Unauthorized, "The access token has expired."));
        assert!(!format!("{token:?}").contains(token.reveal()));
    }

    #[test]
    fn only_the_secret_of_the_client_gets_a_token() {
        let shop = clients("https://shop.example", &[SECRET]);
        for (id, secret) in [
            ("google", "another-secret-of-others"),
            ("other", SECRET),
            ("Google", SECRET),
            ("", ""),
            ("google", ""),
            ("google", &SECRET[1..]),
        ] {
            assert_eq!(shop.issue(id, secret, at(0)).expect_err("refused").code, Code::Unauthorized, "{id} {secret}");
        }
    }

    #[test]
    fn a_token_is_of_one_shop_and_one_secret() {
        let shop = clients("https://shop.example", &[SECRET]);
        let token = shop.issue("google", SECRET, at(0)).expect("a token");
        let rotated = clients("https://shop.example", &["the-secret-after-that", SECRET]);
        assert_eq!(rotated.find(token.reveal(), at(0)), Ok(&"Google"), "during a rotation");
        for stranger in
            [clients("https://other.example", &[SECRET]), clients("https://shop.example", &["the-secret-after-that"])]
        {
            assert_eq!(stranger.find(token.reveal(), at(0)).expect_err("refused").code, Code::Unauthorized);
        }
    }

    #[test]
    fn a_token_that_was_edited_is_none() {
        let shop = clients("https://shop.example", &[SECRET]);
        let token = shop.issue("google", SECRET, at(0)).expect("a token");
        let token = token.reveal();
        for position in 0..token.len() {
            let edited = if token.as_bytes()[position] == b'A' { "B" } else { "A" };
            let mut text = token.to_owned();
            text.replace_range(position..=position, edited);
            assert_eq!(shop.find(&text, at(0)).expect_err("refused").code, Code::Unauthorized, "{text}");
        }
        for text in ["", PREFIX, "ucpt_.", "ucpt_a.b", "ucpt_MTAwMCBnb29nbGU."] {
            assert_eq!(shop.find(text, at(0)).expect_err("refused").code, Code::Unauthorized, "{text}");
        }
    }

    #[test]
    fn secrets_are_long_enough_to_be_no_guess_and_are_not_printed() {
        for wrong in ["", "short", "fifteen-letters", "with a space in it", &"x".repeat(MAX_CREDENTIAL + 1)] {
            assert_eq!(wrong.parse::<ClientSecret>(), Err(NotASecret));
        }
        assert_eq!(format!("{:?}", SECRET.parse::<ClientSecret>()), "Ok(ClientSecret { .. })");
    }
}
