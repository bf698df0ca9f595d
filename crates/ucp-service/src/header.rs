//! HTTP headers that both bindings read.

use http::{
    HeaderMap, HeaderName, HeaderValue, Request, Version,
    header::{
        ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CONTENT_ENCODING, CONTENT_TYPE, EXPECT, HOST, TRANSFER_ENCODING,
    },
    uri::Scheme,
};
use ucp_core::{Code, Refusal, ports::Trace, purchase::payment::holds_card_number};
use ucp_record::TraceContext;
use ucp_trust::host::Authority;
use uuid::Uuid;

use crate::agent::{Stated, profile_of_header};

/// Header with the platform's profile URL.
pub const UCP_AGENT: HeaderName = HeaderName::from_static("ucp-agent");

/// Header with the ID of a request, on requests and responses.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

/// Header with the idempotency key, which makes retries of a change safe.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Maximum number of languages read from `Accept-Language`.
const MAX_LANGUAGES: usize = 16;

/// Returns a request ID for a request without one: a random UUID.
pub fn random_request_id() -> HeaderValue {
    let mut buffer = Uuid::encode_buffer();
    let id = Uuid::new_v4().hyphenated().encode_lower(&mut buffer);
    HeaderValue::from_str(id).unwrap_or_else(|error| unreachable!("hexadecimal and dashes: {error}"))
}

/// Returns the ID of a request: the caller's if it is 1 to 128 ASCII letters, digits and `-_.:`, without a card number,
/// else a random one, which replaces it.
pub fn identify(headers: &mut HeaderMap) -> HeaderValue {
    let sane = headers.get(REQUEST_ID).filter(|id| {
        let bytes = id.as_bytes();
        (1..=128).contains(&bytes.len())
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte))
            && id.to_str().is_ok_and(|id| !holds_card_number(id))
    });
    if let Some(id) = sane {
        return id.clone();
    }
    let id = random_request_id();
    headers.insert(REQUEST_ID, id.clone());
    id
}

/// Returns the ID of a request that was [identified](identify).
pub fn request_id(headers: &HeaderMap) -> Option<&HeaderValue> {
    headers.get(REQUEST_ID)
}

/// Header with the trace ID and parent span ID of a request (W3C Trace Context).
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Header with vendor-specific trace data (W3C Trace Context).
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Maximum length of a `tracestate` in bytes, and its maximum number of members (sections 3.3.1.1 and 3.3.1.5).
const MAX_TRACESTATE: (usize, usize) = (512, 32);

/// Returns the request ID `id` and the trace context of a request, for logs and upstream requests. A malformed trace
/// context is dropped, because it would be sent on to others.
pub fn trace(headers: &HeaderMap, id: Option<&HeaderValue>) -> Trace {
    let mut parents = headers.get_all(TRACEPARENT).iter();
    let parent = match (parents.next().and_then(|parent| parent.to_str().ok()), parents.next()) {
        (Some(parent), None) if TraceContext::parse(parent).is_some() => Some(parent.to_owned()),
        _ => None,
    };
    // A `tracestate` without a valid `traceparent` is ignored (section 3.3).
    let state = parent.as_ref().and_then(|_| tracestate(headers));
    Trace { request_id: id.and_then(|id| id.to_str().ok()).map(str::to_owned), parent, state }
}

/// Joins all `tracestate` headers in their order, or returns `None` if the list is malformed or empty.
fn tracestate(headers: &HeaderMap) -> Option<String> {
    let stated: Result<Vec<_>, _> = headers.get_all(TRACESTATE).iter().map(HeaderValue::to_str).collect();
    let stated = stated.ok()?.join(",");
    let members: Vec<_> = stated.split(',').map(|member| member.trim_matches([' ', '\t'])).collect();
    let member = |member: &&str| {
        let Some((key, value)) = member.split_once('=') else { return member.is_empty() };
        let key_fits = (1..=256).contains(&key.len())
            && key.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'_' | b'-' | b'*' | b'/' | b'@'));
        let value_fits =
            (1..=256).contains(&value.len()) && value.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=');
        key_fits && value_fits
    };
    let (length, count) = MAX_TRACESTATE;
    let fits = stated.len() <= length && members.len() <= count && members.iter().all(member);
    let members: Vec<_> = members.into_iter().filter(|member| !member.is_empty()).collect();
    (fits && !members.is_empty()).then(|| members.join(","))
}

/// Reads the platform profile URL from the `UCP-Agent` header, if there is one.
///
/// # Errors
/// [`Code::InvalidProfileUrl`] if the header is malformed or repeated.
pub fn profile(headers: &HeaderMap) -> Result<Option<Stated>, Refusal> {
    let mut values = headers.get_all(UCP_AGENT).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => profile_of_header(value.as_bytes()),
        (Some(_), Some(_)) => Err(Refusal::new(Code::InvalidProfileUrl, "The `UCP-Agent` header is sent twice.")),
    }
}

/// Returns the values of all `Idempotency-Key` headers.
pub fn idempotency_keys(headers: &HeaderMap) -> Vec<Stated> {
    let stated = |value: &HeaderValue| Stated {
        place: "the `Idempotency-Key` header",
        text: String::from_utf8_lossy(value.as_bytes()).into_owned(),
    };
    headers.get_all(IDEMPOTENCY_KEY).iter().map(stated).collect()
}

/// Returns the language tags of `Accept-Language` in order of preference (RFC 9110, 12.5.4). Malformed ranges are
/// skipped.
pub fn languages(headers: &HeaderMap) -> Vec<String> {
    let mut weighted: Vec<(&str, f32)> = headers
        .get_all(ACCEPT_LANGUAGE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|range| {
            let (tag, parameters) = range.split_once(';').unwrap_or((range, ""));
            let weight = match parameters.trim().strip_prefix("q=") {
                Some(weight) => weight.trim().parse().ok()?,
                None => 1.0,
            };
            let tag = tag.trim();
            (weight > 0.0 && !tag.is_empty() && tag != "*").then_some((tag, weight))
        })
        .take(MAX_LANGUAGES)
        .collect();
    weighted.sort_by(|(_, left), (_, right)| right.total_cmp(left));
    weighted.into_iter().map(|(tag, _)| tag.to_owned()).collect()
}

/// Headers of an answer with status 415 (RFC 9110, 15.5.16): the accepted media type, and that no content coding is.
pub const ACCEPTED: [(HeaderName, HeaderValue); 2] =
    [(ACCEPT, HeaderValue::from_static("application/json")), (ACCEPT_ENCODING, HeaderValue::from_static("identity"))];

/// Checks that a body is declared as JSON in UTF-8.
///
/// # Errors
/// [`Code::UnsupportedMediaType`] if it is not.
pub fn require_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let declared = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut parts = declared.split(';').map(|part| part.trim().to_ascii_lowercase());
    let media_type = parts.next().unwrap_or_default();
    let json =
        media_type == "application/json" || (media_type.starts_with("application/") && media_type.ends_with("+json"));
    let utf8 = parts
        .filter_map(|part| part.strip_prefix("charset=").map(|set| set.trim_matches(['"', '\'']).to_owned()))
        // ASCII is a part of UTF-8, and JSON in it is the same in both.
        .all(|set| matches!(&*set, "utf-8" | "utf8" | "us-ascii" | "ascii"));
    if json && utf8 {
        return Ok(());
    }
    Err(Refusal::new(Code::UnsupportedMediaType, "The body is not declared as JSON.")
        .accepting("`Content-Type: application/json`, in UTF-8"))
}

/// Checks what the head of a request says about where it goes and how its body is sent, as RFC 9112 requires (3.2, 6.1):
/// one host, which the target names as well if it names one, and no transfer coding but `chunked`.
///
/// # Errors
/// [`Code::InvalidRequest`] if it names no host or several, or one that is not `host[:port]`;
/// [`Code::TransferCodingUnsupported`].
pub fn require_sound_head<B>(request: &Request<B>) -> Result<(), Refusal> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let stated = match (hosts.next(), hosts.next()) {
        (None, _) if request.version() <= Version::HTTP_10 => None,
        (Some(host), None) => Some(host),
        (None, _) | (Some(_), Some(_)) => return Err(unsound_host("The request must have one `Host` header.")),
    };
    let authority = match stated.map(|host| host.to_str().unwrap_or_default()) {
        // A target without an authority has an empty one.
        Some("") if stated.is_some_and(HeaderValue::is_empty) => None,
        Some(host) => Some(Authority::read(host).map_err(unsound_host)?),
        None => None,
    };
    if let Some(target) = request.uri().authority() {
        let named = Authority::read(target.as_str()).map_err(unsound_host)?;
        let default = if request.uri().scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
        if authority.is_some_and(|stated| !stated.is_same(&named, default)) {
            return Err(unsound_host("The target of the request names another host than its `Host` header."));
        }
    }
    let mut codings = request.headers().get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => Ok(()),
        (Some(coding), None) if coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked") => Ok(()),
        _ => Err(unsupported_coding()),
    }
}

fn unsound_host(content: &str) -> Refusal {
    Refusal::new(Code::InvalidRequest, content)
        .accepting("`Host: host[:port]` with the name or address of one host and a port from 1 to 65535")
}

/// Returns the refusal of a request whose body has a transfer coding other than `chunked`.
pub fn unsupported_coding() -> Refusal {
    Refusal::new(Code::TransferCodingUnsupported, "The transfer coding of the body is not supported.")
        .accepting("`Transfer-Encoding: chunked` alone, or a `Content-Length`")
}

/// Checks that a body is sent as it is, by the head of a request whose sender waits for a word before it sends the body.
///
/// # Errors
/// [`Code::UnsupportedMediaType`] if `Content-Encoding` names a coding.
pub(crate) fn require_uncoded_if_asked(headers: &HeaderMap) -> Result<(), Refusal> {
    // Not JSON, whatever it is.
    if headers.contains_key(EXPECT) { require_uncoded(headers, b"\0") } else { Ok(()) }
}

/// Checks that a body is sent as it is (RFC 9110, 8.4): the gateway undoes no content coding.
///
/// # Errors
/// [`Code::UnsupportedMediaType`] if the body has a content coding; [`Code::InvalidRequest`] if `Content-Encoding` names
/// one and the body is plain JSON.
pub(crate) fn require_uncoded(headers: &HeaderMap, body: &[u8]) -> Result<(), Refusal> {
    let codings = headers.get_all(CONTENT_ENCODING).iter().flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    let mut codings = codings.map(<[u8]>::trim_ascii).filter(|coding| !coding.is_empty());
    if body.is_empty() || codings.all(|coding| coding.eq_ignore_ascii_case(b"identity")) {
        return Ok(());
    }
    let is_json = str::from_utf8(body).is_ok_and(|text| text.trim_ascii_start().starts_with(['{', '[']));
    let refusal = if is_json {
        Refusal::new(Code::InvalidRequest, "The body does not have the coding that `Content-Encoding` names.")
    } else {
        Refusal::new(Code::UnsupportedMediaType, "Compressed request bodies are not supported.")
    };
    Err(refusal.accepting("a body without a content coding, and no `Content-Encoding` or `identity`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &HeaderName, values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name, HeaderValue::from_str(value).expect("a header value"));
        }
        headers
    }

    #[test]
    fn languages_come_in_order_of_preference() {
        let read = |value: &str| languages(&headers(&ACCEPT_LANGUAGE, &[value]));
        assert_eq!(read("en;q=0.5, es-MX, fr;q=0, *;q=0.1, de ; q=0.7"), ["es-MX", "de", "en"]);
        assert_eq!(read("de;q=0.7,en;q=0.9"), ["en", "de"]);
        assert!(read("*").is_empty());
        assert!(read(";;,q=,").len() <= 1);
        assert_eq!(read(&"a,".repeat(1_000)).len(), MAX_LANGUAGES);
    }

    #[test]
    fn only_json_bodies_pass() {
        for fine in [
            "application/json",
            "application/json; charset=utf-8",
            "Application/JSON;charset=\"UTF-8\"",
            "application/json; charset=utf8",
            "application/json; Charset=UTF8",
            "application/json ; charset=\"utf8\"; profile=x",
            "application/json;charset='utf-8'",
            "application/json;charset=us-ascii;",
            "application/json;",
            "application/ld+json",
        ] {
            assert_eq!(require_json(&headers(&CONTENT_TYPE, &[fine])), Ok(()), "{fine}");
        }
        for wrong in
            ["", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "text/json"]
        {
            assert!(require_json(&headers(&CONTENT_TYPE, &[wrong])).is_err(), "{wrong}");
        }
        assert!(require_json(&HeaderMap::new()).is_err());
    }

    #[test]
    fn a_trace_is_handed_on_when_it_has_the_form_of_one() {
        const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let id = HeaderValue::from_static("r-1");
        let read = |parents: &[&str], states: &[&str]| {
            let mut all = headers(&TRACEPARENT, parents);
            all.extend(headers(&TRACESTATE, states));
            trace(&all, Some(&id))
        };
        let full = read(&[PARENT], &["a=1, b@c=x y"]);
        assert_eq!(full.request_id.as_deref(), Some("r-1"));
        assert_eq!((full.parent.as_deref(), full.state.as_deref()), (Some(PARENT), Some("a=1,b@c=x y")));
        let newer = format!("cc{}-more-1", &PARENT[2..]);
        assert_eq!(read(&[&newer], &[]).parent, Some(newer));
        for wrong in [
            "",
            "00",
            &PARENT.to_ascii_uppercase(),
            &format!("ff{}", &PARENT[2..]),
            &format!("{PARENT}-01"),
            &format!("{PARENT} "),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
            &format!("cc{}-{}", &PARENT[2..], "x".repeat(300)),
        ] {
            assert_eq!(
                read(&[wrong], &["a=1"]),
                Trace { request_id: Some("r-1".into()), ..Trace::default() },
                "{wrong}"
            );
        }
        assert_eq!(read(&[PARENT, PARENT], &[]).parent, None, "stated twice");
        for wrong in ["A=1", "a", "a=1;=b", "=1", "a=", "a=b=c", &format!("a={}", "x".repeat(600))] {
            assert_eq!(read(&[PARENT], &[wrong]).state, None, "{wrong}");
        }
        assert_eq!(read(&[PARENT], &[&vec!["a=1"; 33].join(",")]).state, None);
        assert_eq!(read(&[PARENT], &[" , "]).state, None);
    }

    #[test]
    fn request_ids_are_repeated_when_sane() {
        let card = "card-4111-1111-1111-1111";
        for (stated, sane) in [("abc-1", true), ("a b", false), ("", false), (&"a".repeat(200), false), (card, false)] {
            let mut headers = headers(&REQUEST_ID, &[stated]);
            let id = identify(&mut headers);
            assert_eq!(id == stated, sane, "{stated}");
            assert!(sane || id.len() == 36, "{id:?}");
            assert_eq!(headers.get_all(REQUEST_ID).iter().collect::<Vec<_>>(), [&id]);
        }
        assert_ne!(identify(&mut HeaderMap::new()), identify(&mut HeaderMap::new()));
    }
}
