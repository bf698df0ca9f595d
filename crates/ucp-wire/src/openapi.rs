//! The OpenAPI document of the REST binding.
//!
//! Operations come from the operation table through utoipa's builders; the component schemas are those of the wire
//! types, inserted as they are, because utoipa's schema type cannot hold all of JSON Schema.

use std::collections::BTreeMap;

use serde_json::Value;
use ucp_core::{
    Code, Operation,
    operation::{Class, Effect, Method, Resource},
};
use utoipa::openapi::{
    Components, ComponentsBuilder, ContentBuilder, HttpMethod, InfoBuilder, LicenseBuilder, OpenApiBuilder, PathItem,
    Paths, Ref, Required, ResponseBuilder, ServerBuilder,
    external_docs::ExternalDocsBuilder,
    header::HeaderBuilder,
    path::{OperationBuilder, ParameterBuilder, ParameterIn},
    request_body::RequestBodyBuilder,
    schema::{AnyOfBuilder, ObjectBuilder, Schema, Type},
    security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme},
    tag::{Tag, TagBuilder},
};

use crate::{
    components::components,
    dialect::{Dialect, publishes},
    offer::Offer,
    refusal::http_status,
    schema::{self, Direction},
    site::specification,
    titles::pascal,
};

/// Codes that no operation returns on REST: they concern paths or the MCP endpoint.
const ELSEWHERE: &[Code] = &[
    Code::InvalidMessage,
    Code::OriginForbidden,
    Code::UnknownPath,
    Code::UnknownMethod,
    Code::UnknownTool,
    Code::MethodNotAllowed,
    Code::NotAcceptable,
];

/// Returns the codes that an operation can fail with on REST.
pub fn failures() -> impl Iterator<Item = Code> {
    Code::ALL.iter().copied().filter(|code| !ELSEWHERE.contains(code))
}

/// Builds the document for those of `operations` that the release of `dialect` publishes, served under `endpoint`.
pub fn document(dialect: &dyn Dialect, operations: &[Operation], endpoint: &str) -> Value {
    let mut requests = schema::generator(Direction::Request);
    let mut responses = schema::generator(Direction::Response);
    let mut definitions = serde_json::Map::new();
    let mut paths = Paths::new();
    for operation in operations {
        let Some(shapes) = dialect.shapes(*operation).filter(|_| publishes(dialect, *operation)) else { continue };
        let row = operation.row();
        let answer = format!("{}Answer", pascal(row.name));
        definitions.insert(answer.clone(), shapes.response(&mut responses).to_value());
        let mut described = OperationBuilder::new()
            .operation_id(Some(row.name))
            .summary(Some(row.title))
            .description(Some(row.description))
            .tag(row.capability)
            .parameters(Some(parameters()))
            .response("200", success(&answer));
        if row.resource == Resource::Catalog {
            described = described.parameter(view());
        }
        if row.effect == Effect::Creating {
            described = described.response("201", success(&answer));
        }
        if row.effect.writes() {
            described = described.parameter(idempotency_key(row.effect));
        }
        if operation.takes_id() {
            described = described.parameter(
                ParameterBuilder::new()
                    .name("id")
                    .parameter_in(ParameterIn::Path)
                    .required(Required::True)
                    .schema(Some(text())),
            );
        }
        if row.payload.is_some()
            && let Some(request) = shapes.request(&mut requests)
        {
            let name = request
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|name| name.rsplit('/').next())
                .unwrap_or_default();
            described = described.request_body(Some(
                RequestBodyBuilder::new()
                    .content("application/json", ContentBuilder::new().schema(Some(component(name))).build())
                    .required(Some(Required::True))
                    .build(),
            ));
        }
        let mut outcomes = outcomes(dialect, row.class);
        let failures = failures_by_status();
        for (status, codes) in &failures {
            let outcome = outcomes.remove(status).map(|meaning| (meaning, &*answer));
            described = described.response(status.to_string(), failure(codes, outcome));
        }
        for (status, meaning) in outcomes {
            described = described.response(status.to_string(), failure(&[], Some((meaning, &*answer))));
        }
        let method = match row.method {
            Method::Get => HttpMethod::Get,
            Method::Post => HttpMethod::Post,
            Method::Put => HttpMethod::Put,
        };
        match paths.paths.get_mut(row.path) {
            Some(item) => item.merge_operations(PathItem::new(method, described)),
            None => {
                paths.paths.insert(row.path.to_owned(), PathItem::new(method, described));
            }
        }
    }
    dialect.failure(&mut responses);
    definitions.extend(requests.take_definitions(true));
    definitions.extend(responses.take_definitions(true));

    let served = if dialect.errs_without_resource() {
        "Where there is nothing to return, the answer is `UcpErrorResponse`, with the status of the case; what an answer cannot \
         say is an `Error`."
    } else {
        "Business outcomes are answers with status 200, or 409 where a checkout is past what was asked; what an answer \
         cannot say is an `Error`."
    };
    let description = format!(
        "The REST binding of the Universal Commerce Protocol, release {}, as this gateway serves it. {served}",
        dialect.release()
    );
    let api = OpenApiBuilder::new()
        .info(
            InfoBuilder::new()
                .title("ucp-gateway: UCP over REST")
                .description(Some(description))
                .version(dialect.release().date())
                .license(Some(LicenseBuilder::new().name("Apache License 2.0").identifier(Some("Apache-2.0")).build()))
                .build(),
        )
        .servers(Some([ServerBuilder::new().url(endpoint).build()]))
        .tags(Some(tags(dialect, operations)))
        .paths(paths)
        .components(Some(security_schemes()))
        .security(Some(security()))
        .build();
    let mut document = serde_json::to_value(&api).unwrap_or_else(|error| unreachable!("OpenAPI serialises: {error}"));
    document["components"]["schemas"] = components(definitions).into();
    document
}

/// Returns the capabilities of the published operations, each with the page of its specification.
fn tags(dialect: &dyn Dialect, operations: &[Operation]) -> Vec<Tag> {
    let tagged = |offer: &&Offer| {
        operations.iter().any(|operation| publishes(dialect, *operation) && operation.row().capability == offer.name)
    };
    let offers = dialect.offers().iter().filter(|offer| offer.published).filter(tagged);
    let tag = |offer: &Offer| {
        let specification = ExternalDocsBuilder::new()
            .url(specification(dialect.release(), offer.spec))
            .description(Some("Specification"))
            .build();
        TagBuilder::new()
            .name(offer.name)
            .description(Some(format!("Operations of the capability `{}`.", offer.name)))
            .external_docs(Some(specification))
            .build()
    };
    offers.map(tag).collect()
}

/// Names of the security schemes.
const UCP_AGENT: &str = "UcpAgent";
const API_KEY: &str = "ApiKey";
const BEARER: &str = "Bearer";
const SIGNATURE: &str = "Signature";
const SIGNATURE_INPUT: &str = "SignatureInput";

/// Returns the ways in which a platform can say who it is, and prove it.
fn security_schemes() -> Components {
    let header =
        |name, description| SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::with_description(name, description)));
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("The API key of the platform, as in `X-API-Key`."))
        .build();
    ComponentsBuilder::new()
        .security_scheme(
            UCP_AGENT,
            header(
                "UCP-Agent",
                "The platform that calls: an RFC 8941 dictionary whose `profile` is the https address of its UCP profile, such \
                 as `profile=\"https://agent.example.com/.well-known/ucp\"`. A call with an API key may leave it out.",
            ),
        )
        .security_scheme(API_KEY, header("X-API-Key", "An API key that the business gave to the platform."))
        .security_scheme(BEARER, SecurityScheme::Http(bearer))
        .security_scheme(
            SIGNATURE_INPUT,
            header(
                "Signature-Input",
                "The parts of the request that `Signature` covers (RFC 9421, section 4.1): `@method`, `@authority`, `@path`, \
                 `@query` if there is one, `ucp-agent`, `idempotency-key` if there is one, and, of a request with a body, \
                 `content-digest` (RFC 9530) and `content-type`. `keyid` names a key of the platform's profile.",
            ),
        )
        .security_scheme(
            SIGNATURE,
            header(
                "Signature",
                "An HTTP message signature (RFC 9421, section 4.2) with the platform's key, by ES256 or ES384.",
            ),
        )
        .build()
}

/// Returns the alternatives of authentication. Whether the statement of a platform suffices for an operation, without a
/// proof, is up to the business.
fn security() -> [SecurityRequirement; 4] {
    let none = || [] as [&str; 0];
    [
        SecurityRequirement::new(UCP_AGENT, none()),
        SecurityRequirement::new(API_KEY, none()),
        SecurityRequirement::new(BEARER, none()),
        SecurityRequirement::new(UCP_AGENT, none()).add(SIGNATURE_INPUT, none()).add(SIGNATURE, none()),
    ]
}

fn component(name: &str) -> Ref {
    Ref::from_schema_name(name)
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn parameters() -> [utoipa::openapi::path::Parameter; 2] {
    let header = |name: &str, description: &str, schema: ObjectBuilder, example: &str| {
        ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Header)
            .required(Required::False)
            .description(Some(description))
            .schema(Some(schema))
            .example(Some(example.into()))
            .build()
    };
    [
        header(
            "Request-Id",
            "An identifier of this call, which the answer repeats: up to 128 letters, digits, `-`, `_`, `.` and `:`. The \
             gateway makes one when it is absent or something else.",
            text(),
            "7c1f6d52-2b9c-4c36-9b43-5d6d3c2ad3a4",
        ),
        header(
            "Accept-Language",
            "The languages to answer in (RFC 9110); `context.language` overrules it.",
            text(),
            "es-MX, es;q=0.9",
        ),
    ]
}

/// Returns the query parameter with the view of a catalog answer.
fn view() -> utoipa::openapi::path::Parameter {
    ParameterBuilder::new()
        .name("view")
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(
            "An option of this gateway: `compact` leaves of each product what helps to choose, with short descriptions.",
        ))
        .schema(Some(text().enum_values(Some(["full", "compact"]))))
        .build()
}

/// Returns the header parameter with the idempotency key.
fn idempotency_key(effect: Effect) -> utoipa::openapi::path::Parameter {
    ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .required(if effect.needs_key() { Required::True } else { Required::False })
        .description(Some(
            "A key of the caller's choice, preferably a UUID, that makes a retry of this call safe: the same call under the same \
             key is answered as it was at first.",
        ))
        .schema(Some(
            text().max_length(Some(255)).pattern(Some("^[!-~]+$")),
        ))
        .example(Some("550e8400-e29b-41d4-a716-446655440000".into()))
        .build()
}

/// Returns the statuses other than 200 of outcomes without a resource, each with its meaning.
fn outcomes(dialect: &dyn Dialect, class: Class) -> BTreeMap<u16, &'static str> {
    const PAST: &str = "The resource is past what was asked, such as a completed checkout.";
    let mut outcomes = BTreeMap::new();
    if dialect.errs_without_resource() {
        outcomes.insert(400, "A business outcome without a resource.");
        outcomes.insert(404, "Nothing is found.");
    }
    if class == Class::Purchase {
        outcomes.insert(409, PAST);
    }
    outcomes
}

fn request_id() -> utoipa::openapi::header::Header {
    HeaderBuilder::new().description(Some("The identifier of the call.")).schema(Some(text())).build()
}

fn success(answer: &str) -> utoipa::openapi::Response {
    ResponseBuilder::new()
        .description("The answer, or a business outcome without a resource (`ucp.status` is `error`).")
        .header("Request-Id", request_id())
        .content("application/json", ContentBuilder::new().schema(Some(component(answer))).build())
        .build()
}

/// Builds a response with an `Error`, an outcome without a resource, or both. `outcome` is the meaning of that outcome
/// and the name of its schema.
fn failure(codes: &[Code], outcome: Option<(&str, &str)>) -> utoipa::openapi::Response {
    let mut description: Vec<_> = codes.iter().map(|code| format!("`{code}`: {}", code.meaning())).collect();
    let error = || Ref::from_schema_name("Error");
    let content = match outcome {
        None => ContentBuilder::new().schema(Some(error())).build(),
        Some((meaning, answer)) => {
            description.push(meaning.to_owned());
            let answer = Ref::from_schema_name(answer);
            if codes.is_empty() {
                ContentBuilder::new().schema(Some(answer)).build()
            } else {
                let either = AnyOfBuilder::new().item(error()).item(answer);
                ContentBuilder::new().schema(Some(Schema::AnyOf(either.build()))).build()
            }
        }
    };
    let mut response = ResponseBuilder::new()
        .description(description.join("\n"))
        .header("Request-Id", request_id())
        .content("application/json", content);
    if codes.iter().any(|code| code.retryable()) {
        let retry_after =
            HeaderBuilder::new().description(Some("After how many seconds to try again.")).schema(Some(text()));
        response = response.header("Retry-After", retry_after.build());
    }
    response.build()
}

fn failures_by_status() -> BTreeMap<u16, Vec<Code>> {
    let mut by_status = BTreeMap::<_, Vec<_>>::new();
    for code in failures() {
        by_status.entry(http_status(code)).or_default().push(code);
    }
    by_status
}
