//! Signature base (RFC 9421 section 2.5): parts of a message by name, with their canonical values.
//!
//! The known parts are all that a request or a response has by itself. Trailers are not read, and the request that a response
//! answers is not kept: a signature that covers these cannot be checked here, and so proves nothing.

use std::{fmt, io::Write as _, str::FromStr as _};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue};
use sfv::{BareItem, Dictionary, FieldType, Item, Key, KeyRef, List, ListEntry, Parser};
use url::form_urlencoded;

/// Maximum length of a field that is parsed as a structured one, in bytes: a signature can require that many times.
const MAX_STRUCTURED: usize = 16 * 1024;

/// Fields that are dictionaries, in which a name that is repeated replaces the one before. Of other fields, no type is known.
const DICTIONARIES: [&str; 8] = [
    "content-digest",
    "priority",
    "repr-digest",
    "signature",
    "signature-agent",
    "signature-input",
    "ucp-agent",
    "want-content-digest",
];

/// Scheme of the request's address, which determines the default port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// https, with default port 443.
    Https,
    /// http, with default port 80.
    Http,
}

impl Scheme {
    const fn name(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
        }
    }
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
    /// `@target-uri`: the whole address.
    TargetUri,
    /// `@authority`.
    Authority,
    /// `@scheme`.
    Scheme,
    /// `@request-target`: path and query.
    RequestTarget,
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
    /// A part in another form.
    Formed(Formed),
}

/// A part of a message in a form that its identifier states by parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formed {
    /// Identifier, as it is written in the base.
    identifier: String,
    form: Form,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// Parameter of the query with this encoded name (`@query-param`, section 2.2.8).
    QueryParameter(String),
    /// Header field that is structured, or a member of it, in canonical form (`sf`, section 2.1.1).
    Structured(HeaderName, Option<Key>),
    /// Lines of a header field, each as bytes (`bs`, section 2.1.3).
    Bytes(HeaderName),
}

impl Component {
    /// Parts of a message that are not header fields.
    const DERIVED: [Self; 8] = [
        Self::Method,
        Self::TargetUri,
        Self::Authority,
        Self::Scheme,
        Self::RequestTarget,
        Self::Path,
        Self::Query,
        Self::Status,
    ];

    /// Parses the identifier of a part. Fails with a text for people that states why the identifier names no known part.
    pub fn read(item: &Item) -> Result<Self, String> {
        let wrong = |why: &str| format!("it covers {}, {why}", shown(item));
        let unknown = || wrong("which is not a part of a message that can be checked here");
        let name = item.bare_item.as_string().ok_or_else(unknown)?.as_str();
        let (mut query_name, mut key, mut structured, mut bytes) = (None, None, false, false);
        for (parameter, value) in &item.params {
            let text = || value.as_string().map(|text| text.as_str().to_owned());
            match (parameter.as_str(), value) {
                ("name", _) if name == "@query-param" => query_name = Some(text().ok_or_else(unknown)?),
                ("key", _) => {
                    let text = text().ok_or_else(|| wrong("the key of which must be a string"))?;
                    key = Some(KeyRef::from_str(&text).map_err(|_| unknown())?.to_owned());
                }
                ("sf", BareItem::Boolean(true)) => structured = true,
                ("bs", BareItem::Boolean(true)) => bytes = true,
                ("req", _) => return Err(wrong("a part of the request that a response answers, which is not kept")),
                ("tr", _) => return Err(wrong("a field of the trailers, which are not read")),
                _ => return Err(wrong("a parameter of which is not known")),
            }
        }
        let formed = |form| Self::Formed(Formed { identifier: item.serialize(), form });
        let has_form = structured || bytes || key.is_some();
        if name == "@query-param" {
            let name = query_name.filter(|_| !has_form);
            let name =
                name.ok_or_else(|| wrong("which must have the name of a parameter of the query, and nothing else"))?;
            return Ok(formed(Form::QueryParameter(name)));
        }
        if name.starts_with('@') {
            let found = Self::DERIVED.into_iter().find(|component| component.name() == name).ok_or_else(unknown)?;
            return if has_form { Err(wrong("which is no header field, and so has no parameters")) } else { Ok(found) };
        }
        // `HeaderName` accepts upper case too, but identifiers are in lower case.
        let field = HeaderName::from_str(name).ok().filter(|field| field.as_str() == name);
        let field = field.ok_or_else(|| wrong("which is not the name of a header field in lower case"))?;
        match (bytes, structured, key) {
            (false, false, None) => Ok(Self::Field(field)),
            (false, false, Some(key)) => Ok(Self::Member(field, key)),
            (false, true, key) => Ok(formed(Form::Structured(field, key))),
            (true, false, None) => Ok(formed(Form::Bytes(field))),
            (true, ..) => Err(wrong("the bytes of which (`bs`) have neither a structure (`sf`) nor a `key`")),
        }
    }

    /// Returns the name, without quotes and parameters.
    pub fn name(&self) -> &str {
        match self {
            Self::Method => "@method",
            Self::TargetUri => "@target-uri",
            Self::Authority => "@authority",
            Self::Scheme => "@scheme",
            Self::RequestTarget => "@request-target",
            Self::Path => "@path",
            Self::Query => "@query",
            Self::Status => "@status",
            Self::Field(name) | Self::Member(name, _) => name.as_str(),
            Self::Formed(Formed { form, .. }) => match form {
                Form::QueryParameter(_) => "@query-param",
                Form::Structured(name, _) | Form::Bytes(name) => name.as_str(),
            },
        }
    }

    /// Appends the canonical value to the base.
    fn write_value(&self, message: &Message<'_>, base: &mut Vec<u8>) -> Result<(), String> {
        match (self, &message.start) {
            (Self::Method, Start::Request(line)) => base.extend_from_slice(line.method.as_bytes()),
            (Self::TargetUri, Start::Request(line)) => {
                base.extend_from_slice(line.scheme.name().as_bytes());
                base.extend_from_slice(b"://");
                write_authority(line, base);
                write_target(line, base);
            }
            (Self::Authority, Start::Request(line)) => write_authority(line, base),
            (Self::Scheme, Start::Request(line)) => base.extend_from_slice(line.scheme.name().as_bytes()),
            (Self::RequestTarget, Start::Request(line)) => write_target(line, base),
            (Self::Path, Start::Request(line)) => base.extend_from_slice(path(line).as_bytes()),
            (Self::Query, Start::Request(line)) => {
                base.push(b'?');
                base.extend_from_slice(line.query.unwrap_or_default().as_bytes());
            }
            (Self::Formed(Formed { form: Form::QueryParameter(name), .. }), Start::Request(line)) => {
                base.extend_from_slice(query_parameter(name, line.query.unwrap_or_default())?.as_bytes());
            }
            (Self::Status, Start::Response(status)) => base.extend_from_slice(status.to_string().as_bytes()),
            (Self::Field(name), _) => write_field(name, message.headers, base)?,
            (Self::Member(name, key), _) => {
                let member = member(name, key, message.headers)?;
                base.extend_from_slice(member.as_bytes());
            }
            (Self::Formed(Formed { form: Form::Structured(name, key), .. }), _) => {
                let value = match key {
                    Some(key) => member(name, key, message.headers)?,
                    None => structured(name, message.headers)?,
                };
                base.extend_from_slice(value.as_bytes());
            }
            (Self::Formed(Formed { form: Form::Bytes(name), .. }), _) => write_bytes(name, message.headers, base)?,
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
            Self::Formed(formed) => f.write_str(&formed.identifier),
            Self::Member(name, key) => write!(f, "\"{name}\";key=\"{}\"", key.as_str()),
            _ => write!(f, "\"{}\"", self.name()),
        }
    }
}

/// Builds the base over `covered`. `parameters` is the member of `Signature-Input` in canonical form. Fails with a text
/// for people that names the part that the message lacks.
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

fn path<'a>(line: &RequestLine<'a>) -> &'a str {
    if line.path.is_empty() { "/" } else { line.path }
}

/// Appends path and query.
fn write_target(line: &RequestLine<'_>, base: &mut Vec<u8>) {
    base.extend_from_slice(path(line).as_bytes());
    if let Some(query) = line.query {
        base.push(b'?');
        base.extend_from_slice(query.as_bytes());
    }
}

/// Returns the value of the only parameter of a query with this encoded name, encoded (RFC 9421 section 2.2.8).
fn query_parameter(name: &str, query: &str) -> Result<String, String> {
    let mut found = form_urlencoded::parse(query.as_bytes()).filter(|(own, _)| encoded(own) == name);
    match (found.next(), found.next()) {
        (Some((_, value)), None) => Ok(encoded(&value)),
        (None, _) => Err(format!("the query has no parameter {}", crate::jwk::quoted(name))),
        (Some(_), Some(_)) => Err(format!("the query has the parameter {} more than once", crate::jwk::quoted(name))),
    }
}

/// Encodes a text as it is in the body of a form, but for spaces, which are `%20`.
fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).map(|piece| if piece == "+" { "%20" } else { piece }).collect()
}

/// Appends the values of a field, trimmed and joined (RFC 9421 section 2.1).
fn write_field(name: &HeaderName, headers: &HeaderMap, base: &mut Vec<u8>) -> Result<(), String> {
    for (index, value) in values(name, headers)?.enumerate() {
        base.extend_from_slice(if index > 0 { b", " } else { b"" });
        base.extend_from_slice(value);
    }
    Ok(())
}

/// Appends each line of a field as bytes (RFC 9421 section 2.1.3).
fn write_bytes(name: &HeaderName, headers: &HeaderMap, base: &mut Vec<u8>) -> Result<(), String> {
    let values = values(name, headers)?.map(|value| format!(":{}:", BASE64_STANDARD.encode(value)));
    base.extend_from_slice(values.collect::<Vec<_>>().join(", ").as_bytes());
    Ok(())
}

/// Returns the trimmed lines of a field, at least one.
fn values<'a>(name: &HeaderName, headers: &'a HeaderMap) -> Result<impl Iterator<Item = &'a [u8]>, String> {
    let values = headers.get_all(name).iter().map(|value| value.as_bytes().trim_ascii());
    if headers.contains_key(name) { Ok(values) } else { Err(format!("the message has no {name}")) }
}

/// Returns the canonical form of a structured field (RFC 9421 section 2.1.1). Its type is known by its name, or does not
/// matter, because the value has one canonical form.
fn structured(name: &HeaderName, headers: &HeaderMap) -> Result<String, String> {
    let mut value = Vec::new();
    write_field(name, headers, &mut value)?;
    if value.len() > MAX_STRUCTURED {
        return Err(format!("{name} has more than {MAX_STRUCTURED} bytes"));
    }
    let dictionary = Parser::new(&value).parse::<Dictionary>().ok().and_then(|fields| fields.serialize());
    let is_dictionary = DICTIONARIES.contains(&name.as_str());
    let list = Parser::new(&value).parse::<List>().ok().and_then(|list| list.serialize());
    match (dictionary, list.filter(|_| !is_dictionary)) {
        (Some(one), Some(other)) if one != other => {
            Err(format!("{name} can be read as a list and as a dictionary, and it is not known which it is"))
        }
        (one, other) => one.or(other).ok_or_else(|| format!("{name} is not a structured field")),
    }
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
    if values.iter().map(HeaderValue::len).sum::<usize>() > MAX_STRUCTURED {
        return Err(format!("it has more than {MAX_STRUCTURED} bytes"));
    }
    values
        .iter()
        .map(HeaderValue::as_bytes)
        .try_fold(Dictionary::new(), |fields, value| Parser::new(value).parse_dictionary_with_visitor(fields))
        .map_err(|error| error.to_string())
}

fn shown(item: &Item) -> String {
    crate::jwk::quoted(&item.serialize())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The base over one part of a request, or why there is none.
    fn line(identifier: &str, target: &str, fields: &[(&'static str, &str)]) -> Result<String, String> {
        let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(HeaderName::from_static(name), HeaderValue::from_str(value).expect("a value"));
        }
        let start =
            RequestLine { method: "POST", scheme: Scheme::Https, authority: "WWW.Example.com:443", path, query };
        let message = Message { start: Start::Request(start), headers: &headers };
        let component = Component::read(&Parser::new(identifier).parse::<Item>().expect("an item"))?;
        let base = String::from_utf8(build(&[component], "()", &message)?).expect("text");
        Ok(base.strip_suffix("\n\"@signature-params\": ()").expect("its end").to_owned())
    }

    /// Values from RFC 9421, 2.1 and 2.2, where it has some.
    #[test]
    fn parts_have_the_values_that_the_standard_gives_them() {
        let query =
            "/p?var=this%20is%20a%20big%0Amultiline%20value&bar=with+plus+whitespace&fa%C3%A7ade%22%3A%20=something";
        let list = [("x-list", "  a;  x=1 ,   b"), ("x-list", "c")];
        for (identifier, target, fields, expected) in [
            ("\"@method\"", "/", &[][..], "POST"),
            ("\"@target-uri\"", "/path?param=value", &[], "https://www.example.com/path?param=value"),
            ("\"@target-uri\"", "", &[], "https://www.example.com/"),
            ("\"@authority\"", "/", &[], "www.example.com"),
            ("\"@scheme\"", "/", &[], "https"),
            ("\"@request-target\"", "/path?param=value", &[], "/path?param=value"),
            ("\"@query\"", "/path", &[], "?"),
            ("\"@query-param\";name=\"var\"", query, &[], "this%20is%20a%20big%0Amultiline%20value"),
            ("\"@query-param\";name=\"bar\"", query, &[], "with%20plus%20whitespace"),
            ("\"@query-param\";name=\"fa%C3%A7ade%22%3A%20\"", query, &[], "something"),
            ("\"@query-param\";name=\"qux\"", "/p?baz=batman&qux=", &[], ""),
            ("\"x-list\"", "/", &list, "a;  x=1 ,   b, c"),
            ("\"x-list\";sf", "/", &list, "a;x=1, b, c"),
            ("\"x-number\";sf", "/", &[("x-number", " 1.50 ")], "1.5"),
            (
                "\"x-dict\";sf",
                "/",
                &[("x-dict", "a=1,    b=2;x=1;y=2,   c=(a   b   c), d")],
                "a=1, b=2;x=1;y=2, c=(a b c), d",
            ),
            ("\"ucp-agent\";sf", "/", &[("ucp-agent", "a=1,a=2")], "a=2"),
            ("\"x-dict\";key=\"c\"", "/", &[("x-dict", "a=1, c=(a   b)")], "(a b)"),
            ("\"x-dict\";sf;key=\"c\"", "/", &[("x-dict", "a=1, c=(a   b)")], "(a b)"),
            ("\"x-dict\";key=\"c\";sf", "/", &[("x-dict", "a=1, c=?1;q=2")], "?1;q=2"),
            (
                "\"example-header\";bs",
                "/",
                &[("example-header", "value, with, lots"), ("example-header", " of, commas")],
                ":dmFsdWUsIHdpdGgsIGxvdHM=:, :b2YsIGNvbW1hcw==:",
            ),
        ] {
            assert_eq!(line(identifier, target, fields), Ok(format!("{identifier}: {expected}")), "{identifier}");
        }
    }

    #[test]
    fn what_cannot_be_checked_says_why() {
        for (identifier, target, fields, expected) in [
            ("\"@status\"", "/", &[][..], "not a part of a request"),
            ("\"@nothing\"", "/", &[], "not a part of a message that can be checked"),
            ("\"@method\";req", "/", &[], "the request that a response answers"),
            ("\"x-list\";tr", "/", &[("x-list", "a")], "trailers, which are not read"),
            ("\"x-list\";zz", "/", &[("x-list", "a")], "a parameter of which is not known"),
            ("\"x-list\";sf=?0", "/", &[("x-list", "a")], "a parameter of which is not known"),
            ("\"X-List\"", "/", &[("x-list", "a")], "in lower case"),
            ("\"@path\";sf", "/", &[], "no header field"),
            ("\"@query-param\"", "/?a=1", &[], "must have the name of a parameter"),
            ("\"@query-param\";name=\"b\"", "/?a=1", &[], "the query has no parameter"),
            ("\"@query-param\";name=\"a\"", "/?a=1&%61=2", &[], "more than once"),
            ("\"x-list\";bs;sf", "/", &[("x-list", "a")], "neither a structure"),
            ("\"x-list\";bs;key=\"a\"", "/", &[("x-list", "a")], "neither a structure"),
            ("\"x-list\";sf", "/", &[("x-list", "a, a")], "as a list and as a dictionary"),
            ("\"x-list\";sf", "/", &[("x-list", "not structured: at all")], "is not a structured field"),
            ("\"x-list\";sf", "/", &[], "the message has no x-list"),
            ("\"x-list\";bs", "/", &[], "the message has no x-list"),
            ("x", "/", &[], "not a part of a message"),
        ] {
            let problem = line(identifier, target, fields).expect_err(identifier);
            assert!(problem.contains(expected), "{identifier}: {problem}");
        }
    }
}
