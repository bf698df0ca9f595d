//! Finds the next place of a text that differs from run to run.

/// Such a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// An identifier or sealed value of a kind.
    Named(&'static str, &'a str),
    /// A time as RFC 3339 writes it.
    Time(&'a str),
    /// A time in seconds since 1970.
    Seconds(&'a str),
    /// A value that is another one each time, and that nothing else refers to.
    Passing(&'static str, &'a str),
}

impl<'a> Token<'a> {
    /// The text that it stands for.
    pub(crate) fn text(self) -> &'a str {
        match self {
            Self::Named(_, text) | Self::Passing(_, text) | Self::Time(text) | Self::Seconds(text) => text,
        }
    }
}

/// Identifiers that start with these words go on with random hexadecimal digits.
const PREFIXES: [(&str, &str); 5] =
    [("pay_", "payment"), ("cart_", "cart"), ("chk_", "checkout"), ("ord_", "order"), ("whk_", "webhook")];

/// Values that are random where these words stand before them, and the fewest characters that such a value has.
const BEFORE: [(&str, &str, usize); 15] = [
    ("/continue/", "page", 20),
    ("/order/", "page", 20),
    ("cursor:", "cursor", 24),
    ("kid:", "kid", 20),
    ("x:", "coordinate", 40),
    ("y:", "coordinate", 40),
    ("sealvalue=", "seal", 40),
    ("keyid=", "kid", 20),
    ("ucpk_", "api_key", 20),
    ("sha256:", "hash", 64),
    ("created=", "seconds", 9),
    ("retry_after:", "wait", 1),
    ("/cart/c/", "shop_cart", 20),
    ("?key=", "shop_key", 20),
    // A gateway that speaks over its standard streams has its pages at a port that the system chose.
    ("127.0.0.1:", "port", 5),
];

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// The first token at or behind a place, with where it starts.
pub(crate) fn next(text: &str, from: usize) -> Option<(usize, Token<'_>)> {
    let bytes = text.as_bytes();
    let mut at = from;
    while at < bytes.len() {
        if let Some(found) = sealed(text, at) {
            return Some(found);
        }
        if !is_word(bytes[at]) || (at > from && is_word(bytes[at - 1])) {
            at += 1;
            continue;
        }
        let end = bytes[at..].iter().position(|byte| !is_word(*byte)).map_or(bytes.len(), |length| at + length);
        if let Some(found) = token(text, at, end) {
            return Some(found);
        }
        at = end;
    }
    None
}

/// The digest or signature that starts here, in base64 between colons.
fn sealed(text: &str, start: usize) -> Option<(usize, Token<'_>)> {
    let before = text.as_bytes()[..start].strip_suffix(b"=:")?;
    let end = start + text.as_bytes()[start..].iter().position(|byte| *byte == b':')?;
    let value = text.get(start..end).filter(|value| value.len() >= 40)?;
    if before.ends_with(b"sha-256") {
        return Some((start, Token::Named("digest", value)));
    }
    before.ends_with(b"sig1").then_some((start, Token::Passing("signature", value)))
}

/// The token that a word is, or that starts in it.
fn token(text: &str, start: usize, end: usize) -> Option<(usize, Token<'_>)> {
    let word = &text[start..end];
    if let Some(length) = time(&text[start..]) {
        return Some((start, Token::Time(&text[start..start + length])));
    }
    if is_uuid(word) {
        return Some((start, Token::Named("uuid", word)));
    }
    for (prefix, kind) in PREFIXES {
        // Providers may put a word of their own before it.
        let Some(place) = word.find(prefix).filter(|place| *place == 0 || word.as_bytes()[place - 1] == b'_') else {
            continue;
        };
        let random = &word[place + prefix.len()..];
        if random.len() >= 16 && random.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Some((start + place, Token::Named(kind, &word[place..])));
        }
    }
    if let Some(random) = word.strip_prefix("ucpk_").filter(|random| random.len() >= 20) {
        return Some((start + 5, Token::Named("api_key", random)));
    }
    // The shop behind the Storefront API names deliveries after the cart, which is another one each time.
    if word.len() == 65 && word.as_bytes()[32] == b'-' && word[..32].bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Some((start, Token::Named("shop_cart", &word[..32])));
    }
    // The label of an order is the end of its identifier.
    let is_label = word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_digit() || (b'A'..=b'F').contains(&byte));
    if is_label && text[..start].ends_with('#') {
        return Some((start, Token::Named("label", word)));
    }
    // The thumbprint of a key.
    let of = |is: fn(&u8) -> bool| word.bytes().any(|byte| is(&byte));
    let is_mixed = of(u8::is_ascii_digit) && of(u8::is_ascii_uppercase) && of(u8::is_ascii_lowercase);
    let is_thumbprint = word.len() == 43 && is_mixed;
    // Quotes around names and values of JSON count for nothing, however often they are quoted themselves.
    let near = text[..start].char_indices().rev().take(40).last().map_or(0, |(place, _)| place);
    let before: String = text[near..start].chars().filter(|character| !matches!(character, '"' | '\\' | ' ')).collect();
    let stands = |(words, _, fewest): &&(&str, &str, usize)| word.len() >= *fewest && ends_with_word(&before, words);
    match BEFORE.iter().find(stands).map(|(_, kind, _)| *kind).or(is_thumbprint.then_some("kid"))? {
        "seconds" if word.bytes().all(|byte| byte.is_ascii_digit()) => Some((start, Token::Seconds(word))),
        "seconds" => None,
        "wait" => Some((start, Token::Passing("seconds", word))),
        kind => Some((start, Token::Named(kind, word))),
    }
}

/// Returns `true` if a text ends with these words, and not within a longer one.
fn ends_with_word(text: &str, words: &str) -> bool {
    text.strip_suffix(words)
        .is_some_and(|rest| !rest.bytes().last().is_some_and(is_word) || !words.as_bytes()[0].is_ascii_alphabetic())
}

fn is_uuid(word: &str) -> bool {
    word.len() == 36
        && word.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// The length of the time that a text starts with.
fn time(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let head = bytes.get(..19)?;
    let fits = head.iter().zip(b"0000-00-00T00:00:00").all(|(byte, pattern)| match pattern {
        b'0' => byte.is_ascii_digit(),
        other => byte == other,
    });
    if !fits {
        return None;
    }
    let mut end = 19;
    if bytes.get(end) == Some(&b'.') {
        end += 1 + bytes[end + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    }
    match bytes.get(end) {
        Some(b'Z') => Some(end + 1),
        Some(b'+' | b'-') if bytes.len() >= end + 6 => Some(end + 6),
        _ => None,
    }
}
