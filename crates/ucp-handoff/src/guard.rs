//! Protection of forms against other sites, and of the links that lead back from a page.
//!
//! A browser that opens a page gets a random cookie; the forms of the page carry its digest together with the token of
//! the page. Another site can neither read the cookie nor make that digest, and the form of one page is no use at
//! another. Nothing is kept on this side, so that forms outlive restarts.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue, Uri, header::COOKIE};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use url::{Host, Url, form_urlencoded};

/// Makes a browser known.
const SESSION: &str = "ucp-page";

/// Name of the cookie with the return URL of the page, while its buyer is at a bank: no bank passes it on.
const BACK: &str = "ucp-back";

/// Path of the pages of a shop, which is the path of its cookies.
#[derive(Clone, Debug, Default)]
pub(crate) struct CookiePlace {
    /// `true` over https.
    pub(crate) secure: bool,
    /// Path below which the shop is reached, without a slash at its end; empty for the whole host.
    pub(crate) path: String,
}

impl CookiePlace {
    /// Returns the place of a shop with this public URL.
    pub(crate) fn of(public_url: &Url) -> Self {
        let path = public_url.path().trim_end_matches('/').to_owned();
        Self { secure: public_url.scheme() == "https", path }
    }

    /// Returns the name of a cookie here. Over https, no plain page can set a cookie of this name, and where the shop has the
    /// host for itself, no other host can.
    fn name(&self, base: &str) -> String {
        let prefix = match (self.secure, self.path.is_empty()) {
            (false, _) => "",
            (true, true) => "__Host-",
            (true, false) => "__Secure-",
        };
        format!("{prefix}{base}")
    }

    /// Returns a cookie of this shop alone. `Lax`: whoever follows the link of an agent a second time stays the same browser,
    /// and forms that were open before keep working.
    fn cookie(&self, base: &str, value: &str, age: &str) -> Option<HeaderValue> {
        let secure = if self.secure { " Secure;" } else { "" };
        let path = if self.path.is_empty() { "/" } else { &self.path };
        HeaderValue::try_from(format!("{}={value}; Path={path};{age}{secure} HttpOnly; SameSite=Lax", self.name(base)))
            .ok()
    }
}

/// Time that the way back is kept for, in seconds. Banks give buyers 15 minutes at most.
const BACK_KEPT: u32 = 3_600;

/// Maximum length of a way back that is kept, in bytes. Browsers take cookies of 4096.
const MAX_BACK: usize = 2_048;

/// The length of a random value in its text form.
const SECRET_LENGTH: usize = 22;

/// A browser, as far as it can be told from others.
#[derive(Debug)]
pub(crate) struct Session {
    secret: String,
    fresh: bool,
}

impl Session {
    /// The browser that sends these headers, or a new one.
    pub(crate) fn of(headers: &HeaderMap, place: &CookiePlace, random: impl FnOnce() -> [u8; 16]) -> Self {
        let secret = cookies(headers, &place.name(SESSION)).find(|value| is_secret(value)).map(str::to_owned);
        match secret {
            Some(secret) => Self { secret, fresh: false },
            None => Self { secret: URL_SAFE_NO_PAD.encode(random()), fresh: true },
        }
    }

    /// Returns the seal of a page's forms: a digest of the browser's secret and the page's token, in Base64.
    pub(crate) fn seal(&self, token: &str) -> String {
        let digest = Sha256::new().chain_update("ucp hand-off form\n").chain_update(&self.secret).chain_update("\n");
        URL_SAFE_NO_PAD.encode(digest.chain_update(token).finalize())
    }

    /// Returns `true` if a form comes from a page of this token that this browser was shown.
    pub(crate) fn is_sealed(&self, token: &str, seal: &str) -> bool {
        !self.fresh && bool::from(self.seal(token).as_bytes().ct_eq(seal.as_bytes()))
    }

    /// The cookie that makes this browser known, if it is not yet.
    pub(crate) fn cookie(&self, place: &CookiePlace) -> Option<HeaderValue> {
        if self.fresh { place.cookie(SESSION, &self.secret, "") } else { None }
    }
}

/// The values of a cookie that a browser sends.
fn cookies<'h>(headers: &'h HeaderMap, name: &str) -> impl Iterator<Item = &'h str> {
    let sent = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = sent.flat_map(|cookies| cookies.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
    pairs.filter(move |(own, _)| *own == name).map(|(_, value)| value)
}

fn is_secret(value: &str) -> bool {
    value.len() == SECRET_LENGTH && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// Returns `true` if a browser says that a form was sent by another site.
pub(crate) fn is_foreign(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none")
}

/// Query parameter that Stripe adds to the URL to which it sends buyers back.
const RETURNED: &str = "redirect_status";

/// Way by which a page was reached, with its return URL.
#[derive(Clone, Debug, Default)]
pub(crate) struct Way {
    back: Option<Url>,
    confirms: bool,
    done: Option<String>,
    returns: bool,
}

impl Way {
    /// Reads the query of a page.
    ///
    /// # Errors
    /// It is to lead back to somewhere else than to the platform that `owner` is the profile of, over `https`.
    pub(crate) fn read(uri: &Uri, owner: &str) -> Result<Self, ()> {
        let mut way = Self::default();
        for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
            match &*name {
                "continue_to" => way.back = Some(place_of(&value, owner).ok_or(())?),
                "view" => way.confirms = value == "confirm",
                "done" => way.done = Some(value.into_owned()),
                RETURNED => way.returns = true,
                _ => {}
            }
        }
        Ok(way)
    }

    /// The way of a page of this token whose address has lost where it leads back to: what this browser kept of it, if
    /// that would be taken from the address too.
    pub(crate) fn or_kept(mut self, headers: &HeaderMap, token: &str, owner: &str, here: &CookiePlace) -> Self {
        if self.back.is_none() {
            self.back = cookies(headers, &here.name(BACK)).find_map(|value| {
                let (page, place) = value.split_once('.')?;
                let place = (page == name_of(token)).then(|| URL_SAFE_NO_PAD.decode(place).ok())??;
                place_of(std::str::from_utf8(&place).ok()?, owner)
            });
        }
        self
    }

    /// The cookie that keeps where the page of this token leads back to. One is kept at a time.
    pub(crate) fn kept(&self, token: &str, here: &CookiePlace) -> Option<HeaderValue> {
        let place = self.back.as_ref().filter(|place| place.as_str().len() <= MAX_BACK)?;
        let value = format!("{}.{}", name_of(token), URL_SAFE_NO_PAD.encode(place.as_str()));
        here.cookie(BACK, &value, &format!(" Max-Age={BACK_KEPT};"))
    }

    /// Returns `true` if the buyer wants to see what is to be confirmed.
    pub(crate) const fn confirms(&self) -> bool {
        self.confirms
    }

    /// Returns `true` if the buyer comes back from a page of a payment processor, which added to the address.
    pub(crate) const fn returns(&self) -> bool {
        self.returns
    }

    /// The step that was just taken.
    pub(crate) fn done(&self) -> Option<&str> {
        self.done.as_deref()
    }

    /// Returns the return URL of the page, and the host name to show for it.
    pub(crate) fn back(&self) -> Option<(&str, String)> {
        let back = self.back.as_ref()?;
        Some((back.as_str(), back.host().as_ref().map(Host::to_string)?))
    }

    /// The page itself, relative to itself.
    pub(crate) fn here(&self) -> String {
        self.with(None)
    }

    /// The page on which the buyer confirms.
    pub(crate) fn to_confirmation(&self) -> String {
        self.with(Some(("view", "confirm")))
    }

    /// The page after a step.
    pub(crate) fn after(&self, step: &str) -> String {
        self.with(Some(("done", step)))
    }

    fn with(&self, pair: Option<(&str, &str)>) -> String {
        let mut query = form_urlencoded::Serializer::new("?".to_owned());
        query.extend_pairs(pair);
        query.extend_pairs(self.back.as_ref().map(|back| ("continue_to", back.as_str())));
        // The serializer takes what it is given as a pair before it.
        query.finish().replacen("?&", "?", 1)
    }
}

/// The name of a page in what is kept, from which its address cannot be made.
fn name_of(token: &str) -> String {
    let digest = Sha256::new().chain_update("ucp hand-off way back\n").chain_update(token).finalize();
    URL_SAFE_NO_PAD.encode(&digest[..12])
}

/// Parses a return URL; `None` unless it is `https`, of the origin of the platform's own profile, and without
/// credentials.
fn place_of(text: &str, owner: &str) -> Option<Url> {
    let (place, owner) = (Url::parse(text).ok()?, Url::parse(owner).ok()?);
    let own = place.scheme() == "https" && place.origin() == owner.origin();
    (own && place.username().is_empty() && place.password().is_none()).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: &str = "https://agent.example.com/profile.json";

    fn at(url: &str) -> CookiePlace {
        CookiePlace::of(&Url::parse(url).expect("an address"))
    }

    #[test]
    fn cookies_are_those_of_one_shop() {
        for (url, begin, rest) in [
            ("https://shop.example/", "__Host-ucp-page=", "; Path=/; Secure; HttpOnly; SameSite=Lax"),
            ("http://shop.example/", "ucp-page=", "; Path=/; HttpOnly; SameSite=Lax"),
            ("https://mall.example/tea", "__Secure-ucp-page=", "; Path=/tea; Secure; HttpOnly; SameSite=Lax"),
            (
                "https://mall.example/tea/green/",
                "__Secure-ucp-page=",
                "; Path=/tea/green; Secure; HttpOnly; SameSite=Lax",
            ),
            ("http://mall.example/tea", "ucp-page=", "; Path=/tea; HttpOnly; SameSite=Lax"),
        ] {
            let cookie = Session::of(&HeaderMap::new(), &at(url), || [7; 16]).cookie(&at(url)).expect("a cookie");
            let text = cookie.to_str().expect("text");
            assert!(text.starts_with(begin) && text.ends_with(rest), "{url}: {text}");
            let kept = way("continue_to=https%3A%2F%2Fagent.example.com%2F").expect("its own").kept("one", &at(url));
            let kept = kept.expect("a cookie");
            let path = rest.split(';').nth(1).expect("a path");
            assert!(kept.to_str().expect("text").contains(&format!("{path}; Max-Age=3600;")), "{url}: {kept:?}");
        }
    }

    fn way(query: &str) -> Result<Way, ()> {
        Way::read(&format!("/continue/x?{query}").parse().expect("an address"), OWNER)
    }

    #[test]
    fn pages_lead_back_to_their_own_platform_only() {
        for other in [
            "https://evil.example/",
            "http://agent.example.com/",
            "https://agent.example.com:8443/",
            "https://agent.example.com.evil.example/",
            "https://agent.example.com@evil.example/",
            "https://user@agent.example.com/",
            "//evil.example/",
            "/relative",
            "javascript:alert(1)",
            "https:evil.example",
            "https://agent.example.com\\@evil.example/",
            "data:text/html,x",
            "",
        ] {
            let query: String = form_urlencoded::byte_serialize(other.as_bytes()).collect();
            let read = way(&format!("continue_to={query}"));
            // A backslash is a slash to browsers and to us: such an address is on the host before it.
            let place = read.ok().and_then(|way| way.back.map(|back| back.origin().ascii_serialization()));
            assert!(place.is_none_or(|place| place == "https://agent.example.com"), "{other}");
            assert!(
                !other.contains("evil.example/")
                    || other.contains('\\')
                    || way(&format!("continue_to={query}")).is_err()
            );
        }
        let way = way("continue_to=https%3A%2F%2Fagent.example.com%2Fdone%3Fa%3Db%26c&done=pay").expect("its own");
        assert_eq!(way.back(), Some(("https://agent.example.com/done?a=b&c", "agent.example.com".to_owned())));
        assert_eq!(way.after("pay"), "?done=pay&continue_to=https%3A%2F%2Fagent.example.com%2Fdone%3Fa%3Db%26c");
        assert_eq!(Way::default().here(), "?");
    }

    #[test]
    fn a_way_back_that_was_kept_is_of_one_page_and_trusted_no_more_than_an_address() {
        let place = "https://agent.example.com/chat?a=b";
        let (secure, plain) = (at("https://shop.example"), at("http://shop.example"));
        let asked = way("continue_to=https%3A%2F%2Fagent.example.com%2Fchat%3Fa%3Db").expect("its own");
        let cookie = asked.kept("one", &secure).expect("it is kept");
        let text = cookie.to_str().expect("text");
        assert!(text.starts_with("__Host-ucp-back=") && text.contains("; Secure; HttpOnly; SameSite=Lax"), "{text}");
        assert!(!text.contains("one."), "{text}");
        let sent = |pair: &str| HeaderMap::from_iter([(COOKIE, HeaderValue::try_from(pair).expect("a header"))]);
        let headers = sent(text.split(';').next().expect("a pair"));
        let back = |headers: &HeaderMap, token: &str, owner: &str, is_secure: bool| {
            let place = if is_secure { &secure } else { &plain };
            Way::default().or_kept(headers, token, owner, place).back().map(|(place, _)| place.to_owned())
        };
        assert_eq!(back(&headers, "one", OWNER, true).as_deref(), Some(place));
        assert_eq!(back(&headers, "two", OWNER, true), None);
        assert_eq!(back(&headers, "one", "https://other.example/profile.json", true), None);
        assert_eq!(back(&headers, "one", OWNER, false), None, "over https no other cookie counts");
        let stated = way("continue_to=https%3A%2F%2Fagent.example.com%2F").expect("its own");
        assert_eq!(
            stated.or_kept(&headers, "one", OWNER, &secure).back().map(|(place, _)| place.to_owned()).as_deref(),
            Some("https://agent.example.com/"),
            "the address comes first"
        );
        for other in ["https://evil.example/", "javascript:alert(1)", "http://agent.example.com/", "\u{0}", ""] {
            let forged = format!("ucp-back={}.{}", name_of("one"), URL_SAFE_NO_PAD.encode(other));
            assert_eq!(back(&sent(&forged), "one", OWNER, false), None, "{other}");
        }
        assert_eq!(back(&sent("ucp-back=x; ucp-back=; ucp-back=.%"), "one", OWNER, false), None);
        let long = way(&format!("continue_to=https%3A%2F%2Fagent.example.com%2F{}", "a".repeat(MAX_BACK)));
        assert!(long.expect("its own").kept("one", &secure).is_none() && Way::default().kept("one", &secure).is_none());
    }

    #[test]
    fn a_seal_belongs_to_one_browser_and_one_page() {
        let shop = at("https://shop.example");
        let fresh = Session::of(&HeaderMap::new(), &shop, || [7; 16]);
        let cookie = fresh.cookie(&shop).expect("a new browser gets one");
        let text = cookie.to_str().expect("text");
        assert!(text.contains("; Secure; HttpOnly; SameSite=Lax") && text.starts_with("__Host-"), "{text}");
        let pair = text.split(';').next().expect("a pair");
        let headers =
            HeaderMap::from_iter([(COOKIE, HeaderValue::try_from(format!("a=b; {pair}")).expect("a header"))]);
        let known = Session::of(&headers, &shop, || [8; 16]);
        assert!(known.cookie(&shop).is_none());
        let seal = fresh.seal("one");
        assert!(known.is_sealed("one", &seal) && !known.is_sealed("two", &seal) && !known.is_sealed("one", ""));
        assert!(!fresh.is_sealed("one", &seal), "without a cookie nobody is known");
        let other = Session { secret: URL_SAFE_NO_PAD.encode([9; 16]), fresh: false };
        assert!(!other.is_sealed("one", &seal));
        assert!(!seal.contains(&known.secret));
    }
}
