//! Admission of requests: API keys, client certificates, signatures, rate limits and the limit of requests in flight (UCP overview,
//! *Identity & Authentication*; rules AGT-09, SIG-07 to SIG-12).
//!
//! Both bindings pass every request through the [`Ingress`], first its head ([`Rules::enter`]) and then the bytes of
//! its body before they are parsed ([`Ingress::admit`]). Buyer pages use [`Rules::visit`], so that a network address
//! has one rate limit for everything. The order of the checks keeps requests of strangers cheap: the API key is looked
//! up and the rate limit is charged before the body is read, then the signature is verified, and only requests that
//! pass both take one of the in-flight permits.

use std::{collections::HashMap, fmt, net::IpAddr, ops::Deref, sync::Arc, time::SystemTime};

use http::{
    HeaderMap, HeaderValue, Method, Uri,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
        ACCESS_CONTROL_REQUEST_METHOD, HOST, ORIGIN, VARY,
    },
    request::Parts,
};
use ucp_core::{Code, Refusal, operation::Effect};
use ucp_record::{self as record, Stage};
use ucp_trust::{
    access_token::Clients,
    address::ProfileUrl,
    api_key::{ApiKeys, Shown},
    certificate::Fingerprint,
    client::{ClientAddress, TrustedProxies},
    directory::Directory,
    host::{Authority, without_dot},
    limit::{BodyLimit, HeldBody, InFlight, RateLimits, Share, Stranger},
    signature::{Message, RequestLine, Scheme, Signed, Start, sign_response, visitor::Visitor},
};

use crate::{
    access::{Admission, Principal, Registered},
    agent, header,
    platform::Platforms,
    signing::CurrentKey,
};

/// IP address of the peer of a connection, which the listener puts into the extensions of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// Fingerprint of the client certificate of a connection, which the listener has verified and puts into the extensions of
/// its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientCertificate(pub Fingerprint);

/// Target of a request as its sender wrote and signed it, which is in the extensions of a request whose path was cut: that
/// of a shop below a path, or one that ended with a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target(pub Uri);

/// Host names of the gateway, besides those of loopback, and the pages that may call it.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    /// Names and addresses, without a port and a trailing dot.
    pub names: Vec<String>,
    /// Origins of pages of other sites that may call operations and read the answers.
    pub origins: Origins,
}

impl Hosts {
    /// Returns `true` if an authority (`host[:port]`) names this gateway.
    pub fn contain(&self, authority: &str) -> bool {
        let Ok(authority) = Authority::read(authority) else { return false };
        let host = authority.host();
        let mut own = ["localhost", "127.0.0.1", "[::1]"].into_iter().chain(self.names.iter().map(String::as_str));
        own.any(|own| own.eq_ignore_ascii_case(host))
    }

    /// Checks that a request does not come from a page of another site, nor from one that reached the gateway under a
    /// name of its own (DNS rebinding), by its `Host`, its target and its `Origin`. Programs send no `Origin`.
    ///
    /// # Errors
    /// [`Code::OriginForbidden`] if one of them names another host than the gateway, or none names a host.
    pub fn admit_page(&self, headers: &HeaderMap, target: &Uri) -> Result<(), Refusal> {
        let own = |value: &HeaderValue| value.to_str().is_ok_and(|host| self.contain(host));
        let of_page = |value: &HeaderValue| {
            let host = value.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
            host.is_some_and(|host| self.contain(host)) || self.origins.contain(value)
        };
        let authority = target.authority().map(http::uri::Authority::as_str);
        let named = headers.contains_key(HOST) || authority.is_some();
        if !named || !headers.get_all(HOST).iter().all(own) || !authority.is_none_or(|host| self.contain(host)) {
            return Err(Refusal::new(Code::OriginForbidden, "Unknown `Host`: this gateway does not serve it.")
                .accepting(
                    "the host name of the gateway's public URL, a name of `server.hosts`, or a loopback name; or one of \
                     these in `X-Forwarded-Host` or `Forwarded`, from a machine of `server.trusted_proxies`",
                ));
        }
        if !headers.get_all(ORIGIN).iter().all(of_page) {
            return Err(Refusal::new(Code::OriginForbidden, "Pages of this `Origin` may not call this gateway.")
                .accepting("no `Origin`, that of the gateway itself, or one of `server.allowed_origins`"));
        }
        Ok(())
    }
}

/// Origins of pages of other sites that may call the gateway (CORS). Pages send no credentials of their own: none are
/// allowed. Clones share one list.
#[derive(Clone, Debug, Default)]
pub struct Origins(pub Arc<[HeaderValue]>);

/// Headers of answers that pages may read, besides those that all may.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "Request-Id, Retry-After, WWW-Authenticate, Allow, Accept, Accept-Encoding, ETag, Content-Digest, Signature, \
     Signature-Input, Mcp-Session-Id, MCP-Protocol-Version",
);

/// Methods that pages may call.
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, DELETE");

/// Time in seconds for which a browser keeps the answer to a preflight; no browser keeps it for longer than a day.
const PREFLIGHT_AGE: HeaderValue = HeaderValue::from_static("7200");

impl Origins {
    /// Returns `true` for one of these, whether the name of its host ends with a dot or not.
    fn contain(&self, origin: &HeaderValue) -> bool {
        let is_one = |origin: &[u8]| self.0.iter().any(|own| own.as_bytes() == origin);
        is_one(origin.as_bytes())
            || origin.to_str().is_ok_and(|origin| is_one(without_dot(&origin.replacen(".:", ":", 1)).as_bytes()))
    }

    /// Lets the page that has sent a request with the headers `asked` read the answer, if its origin is one of these.
    pub fn open(&self, asked: &HeaderMap, answer: &mut HeaderMap) {
        if self.0.is_empty() {
            return;
        }
        answer.append(VARY, HeaderValue::from_static("Origin"));
        if let Some(origin) = asked.get(ORIGIN).filter(|origin| self.contain(origin)) {
            answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        }
    }

    /// Returns the headers of the answer to a browser that asks whether a page may send a request; `None` if it asks
    /// nothing of the kind, or the origin of the page is not one of these.
    pub fn preflight(&self, method: &Method, asked: &HeaderMap) -> Option<HeaderMap> {
        let origin = asked.get(ORIGIN).filter(|origin| self.contain(origin))?;
        preflight(method, asked, origin.clone())
    }
}

/// Returns the headers of the answer to a browser that asks whether a page of `origin` may send a request: it may send it
/// with all headers. `None` if it does not ask that.
pub fn preflight(method: &Method, asked: &HeaderMap, origin: HeaderValue) -> Option<HeaderMap> {
    if method != Method::OPTIONS || !asked.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    let vary = "Origin, Access-Control-Request-Method, Access-Control-Request-Headers";
    let mut answer = HeaderMap::from_iter([
        (ACCESS_CONTROL_ALLOW_ORIGIN, origin),
        (ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (ACCESS_CONTROL_MAX_AGE, PREFLIGHT_AGE),
        (VARY, HeaderValue::from_static(vary)),
    ]);
    if let Some(headers) = asked.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        answer.insert(ACCESS_CONTROL_ALLOW_HEADERS, headers.clone());
    }
    Some(answer)
}

/// Selection of the responses that are signed even without an `Accept-Signature` header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignedAnswers {
    /// No responses.
    None,
    /// Responses of operations that conclude a purchase.
    #[default]
    Concluding,
    /// All responses.
    All,
}

/// Settings and shared state of a [`Ingress`].
pub struct Rules {
    /// Host names of the gateway.
    pub hosts: Hosts,
    /// URL scheme that clients use to reach the gateway.
    pub scheme: Scheme,
    /// Proxies whose forwarding headers are trusted for the client address.
    pub trusted_proxies: TrustedProxies,
    /// Profiles of the registered platforms.
    pub registered: Vec<ProfileUrl>,
    /// Issued API keys, each with the position of its platform in `registered`.
    pub api_keys: ApiKeys<usize>,
    /// Clients that may ask for access tokens, each with the position of its platform in `registered`.
    pub clients: Clients<usize>,
    /// Client certificates, each with the position of its platform in `registered`.
    pub certificates: HashMap<Fingerprint, usize>,
    /// Addresses of the keys of registered platforms that sign as bots, each with the position of the platform in
    /// `registered`.
    pub agents: HashMap<ProfileUrl, usize>,
    /// Rate limits per caller.
    pub limits: RateLimits,
    /// The same, of requests for documents.
    pub documents: RateLimits,
    /// Limit of requests in flight.
    pub in_flight: InFlight,
    /// Limit of the memory of request bodies.
    pub bodies: BodyLimit,
    /// `true` if signatures are verified.
    pub verifies: bool,
    /// Responses that are signed.
    pub signed_answers: SignedAnswers,
    /// The key that signs responses.
    pub signing_key: Arc<CurrentKey>,
    /// Source of the current time.
    pub clock: fn() -> SystemTime,
}

/// The admission control of a gateway; cheap to clone.
#[derive(Clone)]
pub struct Ingress(Arc<Inner>);

struct Inner {
    rules: Arc<Rules>,
    bots: Directory<()>,
    platforms: Platforms,
}

/// The rules admit what needs no profile.
impl Deref for Ingress {
    type Target = Rules;

    fn deref(&self) -> &Rules {
        &self.0.rules
    }
}

impl fmt::Debug for Ingress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ingress").field("hosts", &self.0.rules.hosts).finish_non_exhaustive()
    }
}

/// A request whose head passed the gate and whose body has not been checked yet.
#[derive(Debug)]
#[must_use]
pub struct Entry {
    client: ClientAddress,
    principal: Principal,
    /// Share of the credential, else of the client address: a signature is verified only once there is a body.
    share: Share,
    signed: Option<Signed>,
    /// `true` if the request shows a bearer token that is neither an API key nor an access token.
    is_stray: bool,
}

impl Entry {
    /// Returns the address of the client.
    pub const fn client(&self) -> ClientAddress {
        self.client
    }

    /// Returns `true` if a credential proves a registered platform.
    pub const fn is_registered(&self) -> bool {
        matches!(self.principal, Principal::Keyed(_))
    }
}

/// Credentials of a request apart from its signature.
struct Credentials {
    /// Position of the registered platform to which they belong.
    platform: Option<usize>,
    is_stray: bool,
}

/// A request that was charged to its caller already, in its extensions.
#[derive(Clone, Copy, Debug)]
pub struct Charged;

/// Returns the share of a request with these credentials, from this address.
fn share(credentials: &Result<Credentials, Refusal>, client: ClientAddress) -> Share {
    match credentials {
        Ok(Credentials { platform: Some(index), .. }) => Share::Keyed(*index),
        _ => Share::Stranger(Stranger::anonymous(client)),
    }
}

fn is_charged(head: &Parts) -> bool {
    head.extensions.get::<Charged>().is_some()
}

impl Rules {
    /// Returns the host names of the gateway.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// Checks the head of a request: API key or client certificate, rate limit, and form of the signature.
    ///
    /// # Errors
    /// [`Code::Unauthorized`] if the API key is not known, or a bearer token is no key, [`Code::Forbidden`] if it belongs to another platform than the
    /// client certificate, [`Code::RateLimited`], or the refusal of a malformed
    /// signature.
    pub fn enter(&self, head: &Parts) -> Result<Entry, Refusal> {
        let rules = self;
        let client = self.client(head);
        let signed = if rules.verifies { Signed::read(&head.headers) } else { Ok(None) };
        let credentials = match self.credentials(head) {
            // A signature that verifies may go with a token of a buyer.
            Ok(shown) if shown.platform.is_none() && shown.is_stray && !matches!(signed, Ok(Some(_))) => Err(stray()),
            shown => shown,
        };
        // A wrong credential is charged to the client address, so that guessing keys is limited.
        let share = share(&credentials, client);
        match (&credentials, &signed) {
            _ if is_charged(head) => {}
            // Charged in `admit`, once the signature is verified and its sender known.
            (Ok(Credentials { platform: None, .. }), Ok(Some(_))) => {}
            _ => rules.limits.check(&share)?,
        }
        let Credentials { platform, is_stray } = credentials?;
        let registered = platform.and_then(|index| {
            rules.registered.get(index).map(|profile| Registered { index, profile: profile.clone() })
        });
        let principal = registered.map_or(Principal::Anonymous, Principal::Keyed);
        Ok(Entry { client, principal, share, signed: signed?, is_stray })
    }

    /// Returns what the API key, the client certificate and the bearer token of a request say, as far as it shows any.
    fn credentials(&self, head: &Parts) -> Result<Credentials, Refusal> {
        let rules = self;
        let shown = rules.api_keys.identify(&head.headers, &rules.clients, (rules.clock)())?;
        let is_stray = shown == Shown::OtherBearer;
        let by_key = if let Shown::Key(index) = shown { Some(*index) } else { None };
        let certificate = head.extensions.get::<ClientCertificate>();
        let by_certificate = certificate.and_then(|shown| rules.certificates.get(&shown.0)).copied();
        match (by_key, by_certificate) {
            (Some(key), Some(certificate)) if key != certificate => Err(Refusal::new(
                Code::Forbidden,
                "The API key and the client certificate belong to different platforms.",
            )
            .accepting("credentials of one platform")),
            _ => Ok(Credentials { platform: by_key.or(by_certificate), is_stray }),
        }
    }

    /// Begins to hold the body of a request that has [entered](Self::enter), or was refused.
    pub fn hold(&self, entry: Result<&Entry, &Refusal>, head: &Parts) -> HeldBody {
        let share =
            entry.map_or_else(|_| share(&self.credentials(head), self.client(head)), |entry| entry.share.clone());
        self.bodies.hold(share)
    }

    /// Admits a browser that opens a buyer page. It has no credentials and shares the limits of anonymous callers.
    ///
    /// # Errors
    /// [`Code::RateLimited`], or [`Code::Unavailable`] if too many requests are in flight.
    pub fn visit(&self, head: &Parts) -> Result<Admission, Refusal> {
        let share = Share::Stranger(Stranger::anonymous(self.client(head)));
        if !is_charged(head) {
            self.limits.check(&share)?;
        }
        let permit = self.in_flight.try_acquire(share.groups())?;
        Ok(Admission::new(Principal::Anonymous, share, permit))
    }

    /// Charges a request for a document, which everyone may read, to its sender. Nobody is refused for credentials that mean
    /// nothing here.
    ///
    /// # Errors
    /// [`Code::RateLimited`].
    pub fn browse(&self, head: &Parts) -> Result<Entry, Refusal> {
        self.entered(head, &self.documents)
    }

    /// Charges a request for a page of a buyer, or a notice, to its sender.
    ///
    /// # Errors
    /// [`Code::RateLimited`].
    pub fn knock(&self, head: &Parts) -> Result<Entry, Refusal> {
        self.entered(head, &self.limits)
    }

    fn entered(&self, head: &Parts, limits: &RateLimits) -> Result<Entry, Refusal> {
        let client = self.client(head);
        let credentials = self.credentials(head);
        let share = share(&credentials, client);
        if !is_charged(head) {
            limits.check(&share)?;
        }
        let platform = credentials.ok().and_then(|shown| shown.platform);
        let profile = |index: usize| Some(Registered { index, profile: self.registered.get(index)?.clone() });
        let principal = platform.and_then(profile).map_or(Principal::Anonymous, Principal::Keyed);
        Ok(Entry { client, principal, share, signed: None, is_stray: false })
    }

    /// Returns the address of the client, as told by trusted proxies.
    pub fn client(&self, head: &Parts) -> ClientAddress {
        // Without a listener that sets the peer, as in tests, every request counts as local.
        let peer = head.extensions.get::<Peer>().map_or(IpAddr::from([127, 0, 0, 1]), |peer| peer.0);
        ClientAddress::of(peer, &head.headers, &self.trusted_proxies)
    }
}

impl Ingress {
    /// Creates a gate with these rules for these platforms. `bots` are the keys of the bots that identify themselves (Web Bot
    /// Auth).
    pub fn new(rules: Arc<Rules>, bots: Directory<()>, platforms: Platforms) -> Self {
        Self(Arc::new(Inner { rules, bots, platforms }))
    }

    /// Verifies the signature over a request, if it has one, and takes an in-flight permit. The admission holds the room
    /// `held` of the body.
    ///
    /// # Errors
    /// The refusal of a signature that does not hold, [`Code::Forbidden`] if the API key belongs to another platform
    /// than the signature, [`Code::RateLimited`], or [`Code::Unavailable`] if too many requests are in flight.
    pub async fn admit(&self, entry: Entry, head: &Parts, body: &[u8], held: HeldBody) -> Result<Admission, Refusal> {
        let Entry { client, mut principal, mut share, signed, is_stray } = entry;
        let rules = &self.0.rules;
        if let Some(signed) = signed {
            record::enter(Stage::Identify);
            let charge = rules.limits.charge_signature(client)?;
            let message = self.message(head)?;
            if let Some(visitor) = signed.visitor(&message, body, self.0.platforms.reach())? {
                let known = Box::pin(self.recognises(&visitor, &message, held.share())).await?;
                charge.refund();
                let index = rules.agents.get(&visitor.directory).copied().filter(|_| known);
                if known {
                    record::note(|facts| facts.agent = Some(visitor.directory.origin().to_owned()));
                }
                if principal == Principal::Anonymous {
                    share = self.charged(known.then_some(&visitor.directory), index, client)?;
                }
                let platform = index.and_then(|index| Some((index, rules.registered.get(index)?.clone())));
                if let Some((index, profile)) = platform {
                    principal.may_act_for(&profile)?;
                    principal = Principal::Keyed(Registered { index, profile });
                }
            } else {
                let signer = Box::pin(self.signer_of(&signed, &message, head, body, held.share())).await?;
                charge.refund();
                if principal == Principal::Anonymous {
                    let is_its = |profile: &ProfileUrl| rules.registered.iter().position(|known| known == profile);
                    let index = signer.as_ref().and_then(is_its);
                    share = self.charged(signer.as_ref(), index, client)?;
                }
                if let Some(profile) = signer {
                    principal.may_act_for(&profile)?;
                    principal = Principal::Signed(profile);
                }
            }
            record::enter(Stage::Read);
        }
        if is_stray && principal == Principal::Anonymous {
            return Err(stray());
        }
        let permit = rules.in_flight.try_acquire(share.groups())?;
        Ok(Admission::new(principal, share, permit).holding(held))
    }

    /// Charges a request to its sender: the registered platform at `index`, else the owner of the profile or the bot whose
    /// signature verified, else the address. Returns the share that the request counts to.
    fn charged(
        &self,
        signer: Option<&ProfileUrl>,
        index: Option<usize>,
        client: ClientAddress,
    ) -> Result<Share, Refusal> {
        let share = match (index, signer) {
            (Some(index), _) => Share::Keyed(index),
            (None, Some(profile)) => Share::Stranger(Stranger::signed(profile, client)),
            (None, None) => Share::Stranger(Stranger::anonymous(client)),
        };
        self.0.rules.limits.check(&share)?;
        Ok(share)
    }

    /// Charges one more message to the sender of a request that was admitted: a request may hold several.
    ///
    /// # Errors
    /// [`Code::RateLimited`].
    pub fn charge(&self, admission: &Admission) -> Result<(), Refusal> {
        admission.share().map_or(Ok(()), |share| self.0.rules.limits.check(share))
    }

    /// Returns the parts of a signed request that signatures cover.
    fn message<'a>(&self, head: &'a Parts) -> Result<Message<'a>, Refusal> {
        let rules = &self.0.rules;
        let authority = head.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        if !rules.hosts.contain(authority) {
            return Err(Refusal::new(
                Code::SignatureInvalid,
                "The request was signed for another host than this gateway.",
            )
            .accepting("a signature over the host name of the gateway's public URL"));
        }
        let target = head.extensions.get::<Target>().map_or(&head.uri, |target| &target.0);
        Ok(Message {
            start: Start::Request(RequestLine {
                method: head.method.as_str(),
                scheme: rules.scheme,
                authority,
                path: target.path(),
                query: target.query(),
            }),
            headers: &head.headers,
        })
    }

    /// Returns `true` if a request is from the bot that it names, and `false` if the keys of the bot cannot be fetched and
    /// the policy tolerates that.
    async fn recognises(&self, visitor: &Visitor, message: &Message<'_>, share: &Share) -> Result<bool, Refusal> {
        let Inner { rules, bots, platforms } = &*self.0;
        let directory = bots.charged_to(Some(share));
        let known = match directory.get(&visitor.directory).await {
            Ok(known) => known,
            Err(refusal) if platforms.overlooks(&refusal) => return Ok(false),
            Err(refusal) => return Err(refusal),
        };
        let now = (rules.clock)();
        let Err(refusal) = visitor.verify(message, &known.profile.keys, now) else { return Ok(true) };
        // The key may be newer than the cached ones.
        let Some(keyid) = visitor.keyid().filter(|_| refusal.code == Code::KeyNotFound) else { return Err(refusal) };
        let known = directory.refresh_for_key(&visitor.directory, keyid).await?;
        visitor.verify(message, &known.profile.keys, now).map(|()| true)
    }

    /// Returns the profile whose key signed a request (rule SIG-07), or `None` if the profile cannot be fetched and the
    /// policy tolerates that.
    async fn signer_of(
        &self,
        signed: &Signed,
        message: &Message<'_>,
        head: &Parts,
        body: &[u8],
        share: &Share,
    ) -> Result<Option<ProfileUrl>, Refusal> {
        let Inner { rules, platforms, .. } = &*self.0;
        // Only the header counts, not the body: the signature covers the header (trap T-08).
        let stated: Vec<_> = header::profile(&head.headers)?.into_iter().collect();
        let profile = agent::profile(&stated, platforms.reach())?;
        let directory = platforms.directory().charged_to(Some(share));
        let known = match directory.get(&profile).await {
            Ok(known) => known,
            Err(refusal) if platforms.overlooks(&refusal) => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        let now = (rules.clock)();
        let Err(refusal) = signed.verify(message, body, &known.profile.keys, now) else { return Ok(Some(profile)) };
        // The key may be newer than the cached profile (rule AGT-06).
        let Some(kid) = signed.unknown_key(&known.profile.keys) else { return Err(refusal) };
        let known = directory.refresh_for_key(&profile, kid).await?;
        signed.verify(message, body, &known.profile.keys, now).map(|_| Some(profile))
    }

    /// Signs a response if the rules or the request's `Accept-Signature` header ask for it. Without a signing key the
    /// response stays unsigned; failures are logged.
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
            tracing::error!(%error, "signing a response failed");
        }
    }
}

/// Returns the refusal of a bearer token that is no API key. Without it, its sender would be served as nobody.
fn stray() -> Refusal {
    Refusal::new(Code::Unauthorized, "The bearer token is neither an API key nor an access token of this shop.")
        .accepting("a key that this gateway's operator gave to the platform, an access token, or no `Authorization`")
}

/// `WWW-Authenticate` challenge of responses with status 401, which HTTP requires (RFC 9110, 11.6.1).
pub const CHALLENGE: HeaderValue = HeaderValue::from_static("Bearer realm=\"ucp-gateway\"");

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    #[test]
    fn foreign_pages_are_refused_and_programs_are_not() {
        let hosts = Hosts { names: vec!["shop.example".into()], ..Hosts::default() };
        let admits_at = |target: &'static str, pairs: &[(HeaderName, &'static str)]| {
            let headers = pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
            hosts.admit_page(&headers, &Uri::from_static(target)).is_ok()
        };
        let admits = |pairs: &[(HeaderName, &'static str)]| admits_at("/mcp", pairs);
        assert!(admits(&[(HOST, "localhost:8080")]));
        assert!(admits(&[(HOST, "127.0.0.1")]));
        assert!(admits(&[(HOST, "[::1]:8080")]));
        assert!(admits(&[(HOST, "Shop.Example")]));
        assert!(admits(&[(HOST, "shop.example.")]));
        assert!(admits(&[(HOST, "shop.example.:443")]));
        assert!(!admits(&[(HOST, "shop.example..")]));
        assert!(admits(&[(HOST, "shop.example"), (ORIGIN, "https://shop.example")]));
        assert!(admits(&[(HOST, "localhost:8080"), (ORIGIN, "http://localhost:3000")]));
        assert!(!admits(&[(HOST, "evil.example")]));
        assert!(!admits(&[(HOST, "localhost.evil.example")]));
        assert!(!admits(&[(HOST, "127.0.0.1@evil.example")]));
        assert!(!admits(&[(HOST, "localhost"), (ORIGIN, "https://evil.example")]));
        assert!(!admits(&[(HOST, "localhost"), (ORIGIN, "null")]));
        assert!(!admits(&[]));
        assert!(admits_at("http://shop.example/mcp", &[]));
        assert!(!admits_at("http://evil.example/mcp", &[(HOST, "shop.example")]));
    }

    #[test]
    fn a_dot_at_the_end_of_a_name_makes_no_other_origin() {
        let origins = Origins(["https://app.example", "https://app.example:8443"].map(HeaderValue::from_static).into());
        let opened = |origin: &'static str| {
            let mut answer = HeaderMap::new();
            origins.open(&HeaderMap::from_iter([(ORIGIN, HeaderValue::from_static(origin))]), &mut answer);
            answer.remove(ACCESS_CONTROL_ALLOW_ORIGIN)
        };
        for own in ["https://app.example", "https://app.example.", "https://app.example.:8443"] {
            assert_eq!(opened(own).expect("may read it"), own);
        }
        for other in ["https://app.example..", "https://app.example.:8444", "https://.", "."] {
            assert_eq!(opened(other), None, "{other}");
        }
    }
}
