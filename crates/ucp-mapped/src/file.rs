//! The file of the operator: what the shop is, where it is, and how each question of the contract is answered.
//!
//! This module knows the members of the file; what they say together, and the programs, the plan checks.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error as _};
use toml::Spanned;
use ucp_contract::{
    Question,
    documents::{CatalogAbilities, Completion, Market, PaymentHandler},
};
use url::Url;

use super::program;

/// Maximum size of the file in bytes.
pub const MAX_FILE: usize = 1 << 20;

/// Mapping of the backend contract to the API of a shop.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    /// Market of the shop: its name, languages, currencies and pages.
    pub market: Market,
    /// Abilities of the catalog.
    #[serde(default)]
    pub catalog: CatalogAbilities,
    /// Payments that the shop takes with `place`.
    #[serde(default)]
    pub payment_handlers: Vec<PaymentHandler>,
    /// Servers that are asked, by name.
    pub source: BTreeMap<String, Source>,
    /// Definitions of jq (`def name: …;`) that every program may use.
    pub definitions: Option<Code>,
    /// GraphQL fragments by name, without `fragment NAME`: `on Product { id }`. A document that spreads one gets it, with
    /// those that it spreads itself.
    #[serde(default)]
    pub fragments: BTreeMap<String, String>,
    /// Requests by name, without `name` and `request`, for steps that state them as their `request`.
    #[serde(default)]
    pub request: BTreeMap<String, Step>,
    /// Program that makes a product, as a line of `ucp-gateway import` states it, from each element of `products` in the
    /// answers of `find`, `resolve` and `open`. A product that it fails for is left out.
    pub product: Option<Code>,
    /// One page of the products that match.
    pub find: Asked,
    /// The products that identifiers name.
    pub resolve: Asked,
    /// The same, no older than a few seconds. Default: `resolve`.
    pub open: Option<Asked>,
    /// Carts; without them the gateway offers the catalog alone.
    pub cart: Option<Carts>,
    /// Placing an order.
    pub place: Option<Asked>,
    /// Result of an attempt to place one. With `hand_off`: the order of a cart, once the buyer has placed it.
    pub order: Option<Asked>,
    /// Progress of an order.
    pub order_status: Option<Asked>,
    /// Events of the shop about orders.
    pub order_event: Option<OrderEvents>,
    /// Keeping an attempt from placing one late.
    pub cancel: Option<Asked>,
}

/// Carts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Carts {
    /// Means by which purchases are completed.
    pub completion: Completion,
    /// `true` if discount codes are taken.
    #[serde(default)]
    pub codes: bool,
    /// `true` if the shop delivers goods to an address and states the options.
    #[serde(default)]
    pub delivery: bool,
    /// `true` if goods can be picked up at places of the shop.
    #[serde(default)]
    pub pickup: bool,
    /// Bringing a cart to what was stated.
    pub sync: Asked,
    /// A cart as it is.
    pub fetch: Asked,
    /// Giving a cart up.
    pub abandon: Asked,
}

/// Events that the shop sends to `/upstream/orders` of the gateway.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OrderEvents {
    /// Proof that an event is the shop's.
    pub signature: Signature,
    /// Translation to an event of the contract. `$question` is the event: `{headers, body}`, with the names of the headers in
    /// lower case. `null` if it is about nothing that the gateway has to know.
    pub translate: Asked,
}

/// HMAC-SHA256 of the body of an event, in a header.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// Name of the header.
    pub header: String,
    /// Name of the secret.
    pub secret: String,
    /// Text before the digest.
    #[serde(default)]
    pub prefix: String,
    /// Form of the digest.
    #[serde(default)]
    pub encoding: Encoding,
}

/// Form of a digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// Hexadecimal digits.
    #[default]
    Hex,
    /// Base64.
    Base64,
}

/// A server that is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Address that all paths are below.
    pub address: Address,
    /// `true` if http may be used to another machine.
    #[serde(default)]
    pub plain_http: bool,
    /// Headers of every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Authentication.
    pub auth: Option<Auth>,
    /// Names of the cookies that make the session of a cart. They travel within the identifier of the cart.
    #[serde(default)]
    pub session_cookies: Vec<String>,
    /// Names of headers that make the session of a cart: what an answer states in one is sent with every later request.
    /// They travel as the cookies do.
    #[serde(default)]
    pub session_headers: Vec<String>,
    /// Program that yields the name of one of `choice`, or `null` for the source as it is stated. It is run once for each
    /// question. A cart stays with the choice that it was made with.
    pub choose: Option<Code>,
    /// Other addresses and credentials of the source, by name, such as those of a region or a customer group.
    #[serde(default)]
    pub choice: BTreeMap<String, Choice>,
}

/// Address, headers and authentication of another choice of a source.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Address that all paths are below. Default: that of the source.
    pub address: Option<Address>,
    /// Headers of every request, beside and in place of those of the source.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Authentication. Default: that of the source.
    pub auth: Option<Auth>,
}

impl Source {
    /// Returns the source as a choice of it is.
    pub(super) fn chosen(&self, choice: &Choice) -> Self {
        let mut headers = self.headers.clone();
        headers.extend(choice.headers.clone());
        Self {
            address: choice.address.clone().unwrap_or_else(|| self.address.clone()),
            plain_http: self.plain_http,
            headers,
            auth: choice.auth.clone().or_else(|| self.auth.clone()),
            session_cookies: self.session_cookies.clone(),
            session_headers: self.session_headers.clone(),
            choose: None,
            choice: BTreeMap::new(),
        }
    }
}

/// Authentication at a source. Secrets are named here and stated elsewhere.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Auth {
    /// A token in a header.
    Token {
        /// Name of the secret.
        secret: String,
        /// Name of the header.
        #[serde(default = "authorization")]
        header: String,
        /// Text before the token.
        #[serde(default = "bearer")]
        prefix: String,
    },
    /// User and password.
    Basic {
        /// User.
        user: String,
        /// Name of the secret that is the password.
        secret: String,
    },
    /// OAuth 2.0 client credentials: tokens are fetched, kept until shortly before they expire, and fetched again.
    Oauth {
        /// Address of the token endpoint.
        token_address: Address,
        /// Identifier of the client.
        client: String,
        /// Name of the secret of the client.
        secret: String,
        /// Scope, if one is to be asked for.
        scope: Option<String>,
        /// Part of a request for a token that states the client. Default: `body`.
        #[serde(default)]
        credentials: Credentials,
    },
}

/// Part of a request for a token that states the client and its secret (RFC 6749, 2.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Credentials {
    /// The form, as `client_id` and `client_secret`.
    #[default]
    Body,
    /// The header `Authorization`, by the scheme `Basic`.
    Header,
}

fn authorization() -> String {
    "Authorization".to_owned()
}

fn bearer() -> String {
    "Bearer ".to_owned()
}

/// Response to a question: requests, one after the other, and a program that computes the result.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Requests.
    #[serde(default)]
    pub step: Vec<Step>,
    /// Program that makes the answer. Its input is the value of the last step; `$question`, `$market`, `$paging`, `$now`
    /// and the values of all steps by name are known to it. Default: the value of the last step.
    pub answer: Option<Code>,
    /// Statuses that are answers for all steps with a request, beside those of the `accept` of each.
    #[serde(default)]
    pub accept: Vec<u16>,
    /// Pages of `find`.
    pub paging: Option<Paging>,
    /// Number of identifiers that `resolve` asks for at once. Default: all.
    pub batch: Option<usize>,
}

/// Style of pages, which decides what `$paging` holds and what `next: true` in an answer stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Paging {
    /// `$paging.number` counts pages from 1.
    Page,
    /// `$paging.offset` counts products from 0. After a page it goes on by the products that came, or by `taken` of the
    /// answer.
    Offset,
    /// `$paging.cursor` is what the answer before had as `next`; `null` for the first page.
    Cursor,
}

/// A request, or a value that is computed from those before.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Name by which later programs know its value, as `$name`.
    #[serde(default)]
    pub name: String,
    /// Name of one of the shared requests of the file, which states what the step does not.
    pub request: Option<String>,
    /// Program that makes the value of the step, in place of a request.
    pub value: Option<Code>,
    /// Name of the source; may be left out if there is only one.
    pub source: Option<String>,
    /// Program that says whether the request is made at all; otherwise its value is `null`.
    pub when: Option<Code>,
    /// Program that yields an array: the request is made once for each element, and the value is an array, too. The
    /// input of the step's other programs is the element then.
    pub each: Option<Code>,
    /// HTTP method. Default: `POST` with a body, otherwise `GET`.
    pub method: Option<String>,
    /// Path below the address of the source. jq expressions in braces are replaced by their values, encoded for a
    /// segment.
    pub path: Option<Code>,
    /// Programs for the parameters of the query; those that yield `null` or nothing are left out. One that yields an array
    /// makes one parameter of each element but `null`.
    #[serde(default)]
    pub query: BTreeMap<String, Code>,
    /// Programs for headers; those that yield `null` or nothing are left out.
    #[serde(default)]
    pub headers: BTreeMap<String, Code>,
    /// Program for the JSON document that is sent.
    pub body: Option<Code>,
    /// GraphQL document that is sent, with the fragments of the file that it spreads. The answer is its `data`; with
    /// `errors`, the question is refused.
    pub graphql: Option<String>,
    /// Program for the variables of the GraphQL document.
    pub variables: Option<Code>,
    /// Program that makes the value of the step from the document that the source answers with. With `each` it knows the
    /// element as `$element`.
    pub answer: Option<Code>,
    /// Program that says of the value of the step whether what the question is about does not exist. The question ends
    /// there then: a cart, for one, is gone.
    pub gone: Option<Code>,
    /// Program that makes the answer of the question from the value of the step, if there is no need for further steps.
    /// If it yields `null` or nothing, the next step is made.
    pub end: Option<Code>,
    /// Statuses from 400 on that are answers, too; not 429, 502, 503 and 504, for which the gateway waits. The input of
    /// `answer` is `{status, body}` then, whatever the status.
    #[serde(default)]
    pub accept: Vec<u16>,
    /// Codes (`extensions.code`, or else `extensions.exception.code` or `extensions.category`) of GraphQL errors that are
    /// answers, too. The input of `answer` is `{data, errors}` then, with `code` and `message` of each error, if any.
    #[serde(default)]
    pub accept_errors: Vec<String>,
    /// `true` if the value is `null` where the source answers that there is no such thing (404, 410). Otherwise there is
    /// none for the question as a whole.
    #[serde(default)]
    pub optional: bool,
    /// Number of requests under way at once, with `each`: from 1 to 16. Default: 8 for requests that change nothing, 1 for
    /// others, one after the other.
    pub at_once: Option<u8>,
    /// `true` if the request is the one of `place` that places the order: where a step before it fails, no order was
    /// placed, and the purchase can be tried again at once. Without such a step, the end of an attempt that failed is
    /// asked for (`order`).
    #[serde(default)]
    pub places: bool,
    /// `true` if the request changes nothing, whatever its method. Requests for questions that only read never do.
    pub reads: Option<bool>,
    /// Number of seconds, from 1 to 86,400, for which a successful answer is kept for all equal requests that only read.
    /// Requests with the cookies or headers of a session are not equal to any other.
    pub keep: Option<u32>,
}

impl Step {
    /// Returns the step with what a shared request states and it does not.
    pub(super) fn with(&self, shared: &Self) -> Self {
        fn own<T: Clone>(own: &Option<T>, shared: &Option<T>) -> Option<T> {
            own.clone().or_else(|| shared.clone())
        }
        fn all<T: Clone>(own: &BTreeMap<String, T>, shared: &BTreeMap<String, T>) -> BTreeMap<String, T> {
            shared.iter().chain(own).map(|(name, value)| (name.clone(), value.clone())).collect()
        }
        let listed = |own: &[u16], shared: &[u16]| if own.is_empty() { shared } else { own }.to_vec();
        let errors = if self.accept_errors.is_empty() { &shared.accept_errors } else { &self.accept_errors };
        Self {
            name: self.name.clone(),
            request: None,
            value: own(&self.value, &shared.value),
            source: own(&self.source, &shared.source),
            when: own(&self.when, &shared.when),
            each: own(&self.each, &shared.each),
            method: own(&self.method, &shared.method),
            path: own(&self.path, &shared.path),
            query: all(&self.query, &shared.query),
            headers: all(&self.headers, &shared.headers),
            body: own(&self.body, &shared.body),
            graphql: own(&self.graphql, &shared.graphql),
            variables: own(&self.variables, &shared.variables),
            answer: own(&self.answer, &shared.answer),
            gone: own(&self.gone, &shared.gone),
            end: own(&self.end, &shared.end),
            accept: listed(&self.accept, &shared.accept),
            accept_errors: errors.clone(),
            optional: self.optional || shared.optional,
            at_once: own(&self.at_once, &shared.at_once),
            places: self.places || shared.places,
            reads: own(&self.reads, &shared.reads),
            keep: own(&self.keep, &shared.keep),
        }
    }
}

/// Address of a server.
#[derive(Clone, Debug)]
pub struct Address(pub Url);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let must = || D::Error::custom("must be an http or https address without user, password, query and fragment");
        let url: Url = text.parse().map_err(|_| must())?;
        let plain = url.username().is_empty() && url.password().is_none();
        let fits = plain && url.query().is_none() && url.fragment().is_none() && url.has_host();
        if fits && matches!(url.scheme(), "http" | "https") { Ok(Self(url)) } else { Err(must()) }
    }
}

impl JsonSchema for Address {
    fn schema_name() -> Cow<'static, str> {
        "Address".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "uri" })
    }
}

/// Text of a program, with its place in the file.
#[derive(Clone, Debug)]
pub struct Code {
    /// Text.
    pub text: String,
    /// Place of the value in the file, with its quotes, in bytes.
    span: std::ops::Range<usize>,
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<String>::deserialize(deserializer)?;
        Ok(Self { span: spanned.span(), text: spanned.into_inner() })
    }
}

impl JsonSchema for Code {
    fn schema_name() -> Cow<'static, str> {
        "Program".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "jq program.", "maxLength": program::MAX_PROGRAM })
    }
}

/// A mapping that cannot be used: each line is something to mend.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct Faulty(pub Vec<String>);

impl Mapping {
    /// Reads the file. Its programs are not looked at yet. Fails with [`Faulty`].
    pub(super) fn parse(file: &str) -> Result<Self, Faulty> {
        if file.len() > MAX_FILE {
            return Err(Faulty(vec![format!("must be at most {MAX_FILE} bytes long")]));
        }
        toml::from_str(file).map_err(|error| Faulty(vec![error.to_string().trim_end().to_owned()]))
    }

    /// Returns how a question is answered; `None` if the file does not say. That of [`Question::Backend`] is the file.
    pub fn asked(&self, question: Question) -> Option<&Asked> {
        let carts = self.cart.as_ref();
        match question {
            Question::Backend => None,
            Question::Find => Some(&self.find),
            Question::Resolve => Some(&self.resolve),
            Question::Open => Some(self.open.as_ref().unwrap_or(&self.resolve)),
            Question::CartSync => carts.map(|carts| &carts.sync),
            Question::CartFetch => carts.map(|carts| &carts.fetch),
            Question::CartAbandon => carts.map(|carts| &carts.abandon),
            Question::Place => self.place.as_ref(),
            Question::Order => self.order.as_ref(),
            Question::OrderStatus => self.order_status.as_ref(),
            Question::Cancel => self.cancel.as_ref(),
        }
    }
}

/// JSON Schema of the file, for editors.
pub fn schema() -> Schema {
    schemars::schema_for!(Mapping)
}

/// Line and column, both from 1, at an offset within a program.
pub(super) fn position(file: &str, code: &Code, offset: usize) -> (usize, usize) {
    let quoted = file.get(code.span.clone()).unwrap_or_default();
    let opening = ["'''", "\"\"\"", "'", "\""].into_iter().find(|quote| quoted.starts_with(quote)).map_or(0, str::len);
    let newline = match quoted.get(opening..) {
        Some(rest) if opening == 3 && rest.starts_with("\r\n") => 2,
        Some(rest) if opening == 3 && rest.starts_with('\n') => 1,
        _ => 0,
    };
    let before = file.get(..code.span.start + opening + newline + offset).unwrap_or(file);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}
