//! Signature base (RFC 9421 section 2.5): parts of a message by name, with their canonical values.
//!
//! The known parts are those that UCP signs, and header fields, either whole or one member of a dictionary. A signature
//! that covers anything else cannot be checked here, and so proves nothing.

use std::{fmt, io::Write as _, str::FromStr as _};

use http::{HeaderMap, HeaderName, HeaderValue};
use sfv::{Dictionary, FieldType as _, Item, Key, KeyRef, ListEntry, Parser};

/// Maximum length of a field that is parsed as a dictionary, in bytes: a signature can require that many times.
const MAX_DICTIONARY: usize = 16 * 1024;

/// Scheme of the request's address, which determines the default port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// https, with default port 443.
    Https,
    /// http, with default port 80.
    Http,
}

/// The parts of a message that signatures can cover: its first line and its header fields.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// First line: that of a request or of a response.
    pub start: Start<'a>,
    /// Header fields as they were received, or as they will be sent.
    pub headers: &'a HeaderMap,
}

/// Content of the first line of a message.
#[derive(Clone, Copy, Debug)]
pub enum Start<'a> {
    /// A request.
    Request(RequestLine<'a>),
    /// A response with this status.
    Response(u16),
}

/// Method and target of a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestLine<'a> {
    /// Method, in the case in which it was sent.
    pub method: &'a str,
    /// Scheme under which the client reached the server, wherever TLS was terminated.
    pub scheme: Scheme,
    /// Host and port to which the client sent the request.
    pub authority: &'a str,
    /// Path as it was sent, percent-encoded.
    pub path: &'a str,
    /// Query without its question mark.
    pub query: Option<&'a str>,
}

/// A part of a message that a signature can cover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Component {
    /// `@method`.
    Method,
    /// `@authority`.
    Authority,
    /// `@path`.
    Path,
    /// `@query`.
    Query,
    /// `@status`.
    Status,
    /// All values of a header field.
    Field(HeaderName),
    /// One member of a header field that is a dictionary (RFC 9421 section 2.1.2).
    Member(HeaderName, Key),
}

impl Component {
    /// Parts of a message that are not header fields.
    const DERIVED: [Self; 5] = [Self::Method, Self::Authority, Self::Path, Self::Query, Self::Status];

    /// Parses the identifier of a part.
    ///
    /// # Errors
    ///
    /// Text for people that states why the identifier names no known part.
    pub fn read(item: &Item) -> Result<Self, String> {
        let unknown = || format!("{} is not a part of a message that can be checked here", shown(item));
        let name = item.bare_item.as_string().ok_or_else(unknown)?.as_str();
        if name.starts_with('@') {
            let found = Self::DERIVED.into_iter().find(|component| component.name() == name);
            return found.filter(|_| item.params.is_empty()).ok_or_else(unknown);
        }
        // `HeaderName` accepts upper case too, but identifiers are in lower case.
        let field = HeaderName::from_str(name).ok().filter(|field| field.as_str() == name).ok_or_else(unknown)?;
        let mut parameters = item.params.iter();
        match (parameters.next(), parameters.next()) {
            (None, _) => Ok(Self::Field(field)),
            (Some((parameter, key)), None) if parameter.as_str() == "key" => {
                let key = key.as_string().and_then(|key| KeyRef::from_str(key.as_str()).ok()).ok_or_else(unknown)?;
                Ok(Self::Member(field, key.to_owned()))
            }
            _ => Err(unknown()),
        }
    }

    /// Returns the name, without quotes and parameters.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Method => "@method",
            Self::Authority => "@authority",
            Self::Path => "@path",
            Self::Query => "@query",
            Self::Status => "@status",
            Self::Field(name) | Self::Member(name, _) => name.as_str(),
        }
    }

    /// Appends the canonical value to the base.
    fn write_value(&self, message: &Message<'_>, base: &mut Vec<u8>) -> Result<(), String> {
        match (self, &message.start) {
            (Self::Method, Start::Request(line)) => base.extend_from_slice(line.method.as_bytes()),
            (Self::Authority, Start::Request(line)) => write_authority(line, base),
            (Self::Path, Start::Request(line)) => {
                base.extend_from_slice(if line.path.is_empty() { b"/" } else { line.path.as_bytes() });
            }
            (Self::Query, Start::Request(line)) => {
                base.push(b'?');
                base.extend_from_slice(line.query.unwrap_or_default().as_bytes());
            }
            (Self::Status, Start::Response(status)) => base.extend_from_slice(status.to_string().as_bytes()),
            (Self::Field(name), _) => write_field(name, message.headers, base)?,
            (Self::Member(name, key), _) => {
                let member = member(name, key, message.headers)?;
                base.extend_from_slice(member.as_bytes());
            }
            (component, Start::Request(_)) => return Err(format!("{component} is not a part of a request")),
            (component, Start::Response(_)) => return Err(format!("{component} is not a part of a response")),
        }
        Ok(())
    }
}

/// Formats the identifier as it is written in the base and in `Signature-Input`.
impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither names of fields nor keys contain characters that need escaping.
        match self {
            Self::Member(name, key) => write!(f, "\"{name}\";key=\"{}\"", key.as_str()),
            _ => write!(f, "\"{}\"", self.name()),
        }
    }
}

/// Builds the base over `covered`. `parameters` is the member of `Signature-Input` in canonical form.
///
/// # Errors
///
/// Text for people that names the part that the message lacks.
pub fn build(covered: &[Component], parameters: &str, message: &Message<'_>) -> Result<Vec<u8>, String> {
    let mut base = Vec::with_capacity(64 * (covered.len() + 1) + parameters.len());
    for component in covered {
        let _ = write!(base, "{component}: ");
        component.write_value(message, &mut base)?;
        base.push(b'\n');
    }
    base.extend_from_slice(b"\"@signature-params\": ");
    base.extend_from_slice(parameters.as_bytes());
    Ok(base)
}

/// Appends the authority in lower case and without the default port (RFC 9421 section 2.2.3).
fn write_authority(line: &RequestLine<'_>, base: &mut Vec<u8>) {
    let default = match line.scheme {
        Scheme::Https => ":443",
        Scheme::Http => ":80",
    };
    let authority = line.authority.strip_suffix(default).unwrap_or(line.authority);
    base.extend(authority.bytes().map(|byte| byte.to_ascii_lowercase()));
}

/// Appends the values of a field, trimmed and joined (RFC 9421 section 2.1).
fn write_field(name: &HeaderName, headers: &HeaderMap, base: &mut Vec<u8>) -> Result<(), String> {
    let mut values = headers.get_all(name).iter();
    let first = values.next().ok_or_else(|| format!("the message has no {name}"))?;
    base.extend_from_slice(trimmed(first.as_bytes()));
    for value in values {
        base.extend_from_slice(b", ");
        base.extend_from_slice(trimmed(value.as_bytes()));
    }
    Ok(())
}

/// Returns a member of a dictionary, in the canonical form of its value (RFC 9421 section 2.1.2).
fn member(name: &HeaderName, key: &KeyRef, headers: &HeaderMap) -> Result<String, String> {
    let fields = dictionary(name, headers).map_err(|error| format!("{name} is not a dictionary: {error}"))?;
    let member =
        fields.get(key).ok_or_else(|| format!("the message has no {name} with the member {}", key.as_str()))?;
    match member {
        ListEntry::Item(item) => Ok(item.serialize()),
        ListEntry::InnerList(_) => canonical(member).ok_or_else(|| format!("{name} is not a dictionary")),
    }
}

/// Returns the canonical form of one member of a list or a dictionary.
pub(super) fn canonical(member: &ListEntry) -> Option<String> {
    let mut list = sfv::ListSerializer::new();
    list.members([member]);
    list.finish()
}

/// Parses all values of a field as one dictionary, which is empty if there is no such field.
pub(super) fn dictionary(name: &HeaderName, headers: &HeaderMap) -> Result<Dictionary, String> {
    let values = headers.get_all(name);
    if values.iter().map(HeaderValue::len).sum::<usize>() > MAX_DICTIONARY {
        return Err(format!("it has more than {MAX_DICTIONARY} bytes"));
    }
    values
        .iter()
        .map(HeaderValue::as_bytes)
        .try_fold(Dictionary::new(), |fields, value| Parser::new(value).parse_dictionary_with_visitor(fields))
        .map_err(|error| error.to_string())
}

fn trimmed(value: &[u8]) -> &[u8] {
    value.trim_ascii()
}

fn shown(item: &Item) -> String {
    crate::jwk::quoted(&item.serialize())
}
