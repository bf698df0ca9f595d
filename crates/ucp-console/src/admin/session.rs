//! Browsers of operators: sessions in place of the admin token, and that a request comes from a page of this listener.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use http::{HeaderMap, header::COOKIE};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use ucp_payment::Secret;

/// Name of the cookie.
const COOKIE_NAME: &str = "ucp_operator";

/// Life of a session, however it is used.
const LIFE: Duration = Duration::from_secs(8 * 60 * 60);

/// Maximum number of sessions; a further one ends the oldest.
const MOST: usize = 16;

/// Text that forms of a browser have to repeat, so that no other page can send them.
#[derive(Clone)]
pub(super) struct FormKey(String);

impl fmt::Debug for FormKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FormKey")
    }
}

impl FormKey {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns `true` for the same text.
    pub(super) fn is(&self, presented: &str) -> bool {
        same(&self.0, presented)
    }
}

struct Session {
    id: String,
    form: FormKey,
    /// Token with which it was opened; it ends when there is another.
    token: Secret,
    ends: Instant,
}

/// The sessions of a process, in memory.
pub(super) struct Sessions {
    open: Mutex<Vec<Session>>,
    /// For callers without a session: those that show the token, or need none.
    pub(super) own: FormKey,
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").finish_non_exhaustive()
    }
}

impl Default for Sessions {
    fn default() -> Self {
        Self { open: Mutex::default(), own: FormKey(random()) }
    }
}

/// Returns a text of 244 random bits.
fn random() -> String {
    [(); 2].map(|()| uuid::Uuid::new_v4().simple().to_string()).concat()
}

/// Compares in a time that reveals neither where texts differ nor how long the other one is.
pub(super) fn same(one: &str, other: &str) -> bool {
    Sha256::digest(one).ct_eq(&Sha256::digest(other)).into()
}

impl Sessions {
    fn open(&self) -> MutexGuard<'_, Vec<Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session. Returns the cookie that keeps it, for connections with TLS alone if `secure`.
    pub(super) fn begin(&self, token: &Secret, secure: bool, now: Instant) -> String {
        let mut open = self.open();
        if open.len() >= MOST {
            open.remove(0);
        }
        let id = random();
        let cookie = cookie(&id, LIFE, secure);
        open.push(Session { id, form: FormKey(random()), token: token.clone(), ends: now + LIFE });
        cookie
    }

    /// Returns the form key of the session that a request names, while `token` is the one that it was opened with.
    pub(super) fn of(&self, headers: &HeaderMap, token: &Secret, now: Instant) -> Option<FormKey> {
        let presented = presented(headers)?;
        let mut open = self.open();
        open.retain(|session| session.ends > now && same(session.token.reveal(), token.reveal()));
        open.iter().find(|session| same(&session.id, presented)).map(|session| session.form.clone())
    }

    /// Ends the session that a request names. Returns the cookie that removes it from the browser.
    pub(super) fn end(&self, headers: &HeaderMap) -> String {
        if let Some(presented) = presented(headers) {
            self.open().retain(|session| !same(&session.id, presented));
        }
        cookie("", Duration::ZERO, false)
    }
}

fn cookie(id: &str, life: Duration, secure: bool) -> String {
    let secure = if secure { "; Secure" } else { "" };
    format!("{COOKIE_NAME}={id}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{secure}", life.as_secs())
}

fn presented(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|value| value.split(';')).find_map(|pair| pair.trim().strip_prefix(COOKIE_NAME)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().expect("a value")))
            .collect()
    }

    #[test]
    fn a_session_lasts_for_a_time_and_as_long_as_its_token() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let [token, other]: [Secret; 2] = ["one", "another"].map(|text| text.parse().expect("a secret"));
        let cookie = sessions.begin(&token, true, now);
        assert!(cookie.contains("; HttpOnly; SameSite=Strict") && cookie.ends_with("; Secure"), "{cookie}");
        let sent = headers(&[("cookie", &format!("a=b; {}", cookie.split(';').next().expect("a pair")))]);
        assert!(!cookie.contains("one"), "the token stays here");
        let key = sessions.of(&sent, &token, now).expect("a session");
        assert!(key.is(key.as_str()) && !key.is(sessions.own.as_str()) && !key.is(""));
        assert!(sessions.of(&headers(&[("cookie", "ucp_operator=guessed")]), &token, now).is_none());
        assert!(sessions.of(&headers(&[]), &token, now).is_none());
        assert!(sessions.of(&sent, &token, now + LIFE).is_none(), "it is over");
        let sent = |cookie: &str| headers(&[("cookie", cookie.split(';').next().expect("a pair"))]);
        let again = sent(&sessions.begin(&token, false, now));
        assert!(sessions.of(&again, &other, now).is_none(), "there is another token");
        let last = sent(&sessions.begin(&token, false, now));
        assert!(sessions.end(&last).contains("Max-Age=0"));
        assert!(sessions.of(&last, &token, now).is_none());
        let first = sent(&sessions.begin(&token, false, now));
        (0..MOST).for_each(|_| drop(sessions.begin(&token, false, now)));
        assert!(sessions.of(&first, &token, now).is_none(), "there is no room for it");
    }
}
