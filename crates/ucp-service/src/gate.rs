//! Who is let in: what a request has to get past before anyone looks at what it wants (UCP overview, *Identity &
//! Authentication*; rules AGT-09, SIG-07 to SIG-12).
//!
//! Both bindings pass every request through here, first its head and then its bytes as they came, before they are parsed.
//! Pages for buyers let their visitors in here too, so that a network address has one share of all there is. The order keeps
//! the cost of strangers low: an API key is looked up and the sender's share is charged before the body
//! is read, a signature is checked after that, and only what got that far takes one of the places inside.

use std::{fmt, net::IpAddr, sync::Arc, time::SystemTime};

use http::{HeaderMap, HeaderValue, header::HOST, request::Parts};
use ucp_core::{Code, Refusal, operation::Effect};
use ucp_trust::{
    address::ProfileUrl,
    api_key::ApiKeys,
    client::{ClientAddress, TrustedProxies},
    limit::{Caller, InFlight, RateLimits, Tier},
    signature::{Message, RequestLine, Scheme, Signed, Start, sign_response},
};

use crate::{
    access::{Admission, Principal, Registered},
    agent, header,
    platform::Platforms,
    signing::CurrentKey,
};

/// The address of the other end of a connection, which a listener puts into the extensions of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// The host names under which a gateway is reached, besides those of loopback.
#[derive(Clone, Debug, Default)]
pub struct Hosts(pub Vec<String>);

impl Hosts {
    /// Whether an authority (`host[:port]`) names this gateway.
    #[must_use]
    pub fn contain(&self, authority: &str) -> bool {
        let Ok(authority) = authority.parse::<http::uri::Authority>() else { return false };
        let host = authority.host();
        ["localhost", "127.0.0.1", "[::1]"].contains(&host) || self.0.iter().any(|own| own.eq_ignore_ascii_case(host))
    }
}

/// Which answers are signed without being asked for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignedAnswers {
    /// None.
    None,
    /// Those that conclude a purchase.
    #[default]
    Concluding,
    /// All of them.
    All,
}

/// What a gate goes by.
pub struct Rules {
    /// The names of the gateway.
    pub hosts: Hosts,
    /// How clients reach it.
    pub scheme: Scheme,
    /// Whose word about the client's address is taken.
    pub trusted_proxies: TrustedProxies,
    /// The profiles of the registered platforms.
    pub registered: Vec<ProfileUrl>,
    /// The API keys that were given out, with the positions of their platforms.
    pub api_keys: ApiKeys<usize>,
    /// How much each caller may send.
    pub limits: RateLimits,
    /// How much is worked on at once.
    pub in_flight: InFlight,
    /// Whether signatures are looked at.
    pub verifies: bool,
    /// Which answers are signed.
    pub signed_answers: SignedAnswers,
    /// With what.
    pub signing_key: Arc<CurrentKey>,
    /// The time.
    pub clock: fn() -> SystemTime,
}

/// The gate; cheap to clone.
#[derive(Clone)]
pub struct Gate(Arc<Inner>);

struct Inner {
    rules: Rules,
    platforms: Platforms,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("hosts", &self.0.rules.hosts).finish_non_exhaustive()
    }
}

/// A request whose head got in; its bytes have to be shown yet.
#[derive(Debug)]
#[must_use]
pub struct Entry {
    client: ClientAddress,
    principal: Principal,
    signed: Option<Signed>,
}

impl Gate {
    /// A gate with these rules, for these platforms.
    #[must_use]
    pub fn new(rules: Rules, platforms: Platforms) -> Self {
        Self(Arc::new(Inner { rules, platforms }))
    }

    /// The names of the gateway.
    #[must_use]
    pub fn hosts(&self) -> &Hosts {
        &self.0.rules.hosts
    }

    /// Looks at the head of a request.
    ///
    /// # Errors
    /// [`Code::Unauthorized`], [`Code::RateLimited`], or what is wrong with the form of a signature.
    pub fn enter(&self, head: &Parts) -> Result<Entry, Refusal> {
        let rules = &self.0.rules;
        let client = self.client(head);
        let keyed = rules.api_keys.identify(&head.headers);
        let signed = if rules.verifies { Signed::read(&head.headers) } else { Ok(None) };
        match (&keyed, &signed) {
            (Ok(Some(index)), _) => rules.limits.check(&Caller::Keyed(**index))?,
            // What it costs is decided when it is known to be right.
            (Ok(None), Ok(Some(_))) => {}
            // Credentials that are none are guesses of somebody unknown.
            _ => rules.limits.check(&Caller::Anonymous(client))?,
        }
        let registered = keyed?.and_then(|index| {
            rules.registered.get(*index).map(|profile| Registered { index: *index, profile: profile.clone() })
        });
        let principal = registered.map_or(Principal::Anonymous, Principal::Keyed);
        Ok(Entry { client, principal, signed: signed? })
    }

    /// Lets in somebody who opens a page: a browser shows no credentials, and shares the limits of all that is anonymous.
    ///
    /// # Errors
    /// [`Code::RateLimited`], or [`Code::Unavailable`] when there is no place left.
    pub fn visit(&self, head: &Parts) -> Result<Admission, Refusal> {
        let rules = &self.0.rules;
        rules.limits.check(&Caller::Anonymous(self.client(head)))?;
        Ok(Admission::new(Principal::Anonymous, rules.in_flight.try_acquire(Tier::Anonymous)?))
    }

    /// Where a request comes from.
    fn client(&self, head: &Parts) -> ClientAddress {
        // Without a listener that tells, as in tests, every request comes from this machine.
        let peer = head.extensions.get::<Peer>().map_or(IpAddr::from([127, 0, 0, 1]), |peer| peer.0);
        ClientAddress::of(peer, &head.headers, &self.0.rules.trusted_proxies)
    }

    /// Looks at the bytes of a request whose head got in.
    ///
    /// # Errors
    /// What the signature does not prove, [`Code::RateLimited`], or [`Code::Unavailable`] when there is no place left.
    pub async fn admit(&self, entry: Entry, head: &Parts, body: &[u8]) -> Result<Admission, Refusal> {
        let Entry { client, mut principal, signed } = entry;
        let rules = &self.0.rules;
        if let Some(signed) = signed {
            let charge = rules.limits.charge_signature(client)?;
            let signer = self.signer_of(&signed, head, body).await?;
            charge.refund();
            let caller = match &signer {
                Some(profile) => rules
                    .registered
                    .iter()
                    .position(|registered| registered == profile)
                    .map_or(Caller::Signed(profile.as_str()), Caller::Keyed),
                None => Caller::Anonymous(client),
            };
            if principal == Principal::Anonymous {
                rules.limits.check(&caller)?;
            }
            if let Some(profile) = signer {
                principal.may_act_for(&profile)?;
                principal = Principal::Signed(profile);
            }
        }
        let tier = match principal {
            Principal::Anonymous => Tier::Anonymous,
            Principal::Signed(_) => Tier::Signed,
            Principal::Keyed(_) | Principal::Local => Tier::Keyed,
        };
        Ok(Admission::new(principal, rules.in_flight.try_acquire(tier)?))
    }

    /// The profile whose key signed a request (rule SIG-07). `None` when nobody can tell and nobody minds.
    async fn signer_of(&self, signed: &Signed, head: &Parts, body: &[u8]) -> Result<Option<ProfileUrl>, Refusal> {
        let Inner { rules, platforms } = &*self.0;
        let authority = head.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        if !rules.hosts.contain(authority) {
            return Err(Refusal::new(
                Code::SignatureInvalid,
                "The request was signed for another host than this gateway.",
            )
            .accepting("a signature over the host name of the gateway's public URL"));
        }
        let message = Message {
            start: Start::Request(RequestLine {
                method: head.method.as_str(),
                scheme: rules.scheme,
                authority,
                path: head.uri.path(),
                query: head.uri.query(),
            }),
            headers: &head.headers,
        };
        // Whatever the body says, it is the header that the signature covers (trap T-08).
        let stated: Vec<_> = header::profile(&head.headers)?.into_iter().collect();
        let profile = agent::profile(&stated, platforms.reach())?;
        let known = match platforms.directory().get(&profile).await {
            Ok(known) => known,
            Err(refusal) if platforms.overlooks(&refusal) => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        let now = (rules.clock)();
        let Err(refusal) = signed.verify(&message, body, &known.profile.keys, now) else { return Ok(Some(profile)) };
        // The key may be newer than what is known of the profile (rule AGT-06).
        let Some(kid) = signed.unknown_key(&known.profile.keys) else { return Err(refusal) };
        let known = platforms.directory().refresh_for_key(&profile, kid).await?;
        signed.verify(&message, body, &known.profile.keys, now).map(|_| Some(profile))
    }

    /// Signs an answer if that is asked for: by the rules, or by the `Accept-Signature` of the request.
    pub fn sign(&self, asked: &HeaderMap, effect: Option<Effect>, status: u16, headers: &mut HeaderMap, body: &[u8]) {
        let rules = &self.0.rules;
        let wanted = match rules.signed_answers {
            SignedAnswers::None => false,
            SignedAnswers::Concluding => effect == Some(Effect::Concluding),
            SignedAnswers::All => true,
        };
        if (wanted || asked.contains_key("accept-signature"))
            && let Some(key) = rules.signing_key.get()
            && let Err(error) = sign_response(status, headers, body, &key, (rules.clock)())
        {
            tracing::error!(%error, "an answer could not be signed");
        }
    }
}

/// The challenge of an answer with status 401, which HTTP asks for (RFC 9110, 11.6.1).
pub const CHALLENGE: HeaderValue = HeaderValue::from_static("Bearer realm=\"ucp-gateway\"");
