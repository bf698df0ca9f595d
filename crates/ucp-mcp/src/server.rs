//! Methods and their answers, whatever carries them.

use std::{fmt, sync::Arc};

use serde_json::{Map, Value, json};
use tower::{Service as _, ServiceExt as _};
use ucp_core::{Code, Operation, Refusal, Release};
use ucp_service::{Call, Pipeline};
use ucp_wire::{dialect, openrpc, splice};

use crate::{
    arguments::{Caller, direct_call, tool_call},
    era::{Era, HANDSHAKE_VERSIONS, MODERN_VERSION, Mirror, Violation, classify, negotiated},
    message::{self, Message, Request, Unreadable},
};

/// How long a client may keep the list of tools, in milliseconds.
const TTL_MS: u32 = 60_000;

/// The MCP server of a gateway; cheap to clone.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

struct Inner {
    release: Release,
    operations: &'static [Operation],
    pipeline: Pipeline,
    /// The members of the answer to `tools/list`, as JSON without braces.
    tools: Box<str>,
    /// The OpenRPC document, as JSON.
    openrpc: Box<str>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("release", &self.0.release).finish_non_exhaustive()
    }
}

/// An answer to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status that says the same (rule ERR-02).
    pub status: u16,
    /// After how many seconds a retry makes sense.
    pub retry_after: Option<u32>,
    /// The JSON-RPC message; `None` for messages that want no answer.
    pub text: Option<String>,
    /// Whether it names a broken rule of the era without a handshake, whose clients read every status.
    pub modern_violation: bool,
}

impl Answer {
    fn ok(text: String) -> Self {
        Self { status: 200, retry_after: None, text: Some(text), modern_violation: false }
    }

    /// The answer that says a refusal.
    #[must_use]
    pub fn refused(id: Option<&message::Id>, refusal: &Refusal) -> Self {
        Self {
            status: refusal.code.http_status(),
            retry_after: refusal.retry_after,
            text: Some(message::refused(id, refusal)),
            modern_violation: false,
        }
    }

    fn violation(id: &message::Id, Violation { code, message, data }: &Violation) -> Self {
        let text = Some(message::error(Some(id), *code, message, data));
        Self { status: 400, retry_after: None, text, modern_violation: true }
    }
}

impl Server {
    /// The server of `operations` in `release`. `anonymous` when the transport knows the platform by itself, so that
    /// tools need not be told.
    #[must_use]
    pub fn new(
        pipeline: Pipeline,
        release: Release,
        operations: &'static [Operation],
        openrpc: &[u8],
        anonymous: bool,
    ) -> Self {
        let tools = openrpc::tools(dialect(release), operations, anonymous);
        Self(Arc::new(Inner {
            release,
            operations,
            pipeline,
            tools: splice::members(&json!({ "tools": tools })),
            openrpc: String::from_utf8_lossy(openrpc).into(),
        }))
    }

    /// Answers one message. `mirror` holds the headers that repeat parts of it, on transports that have headers.
    pub async fn answer(&self, bytes: &[u8], mirror: Option<&Mirror>, caller: &Caller) -> Answer {
        let request = match message::read(bytes) {
            Ok(Message::Request(request)) => request,
            Ok(Message::Unanswered) => {
                return Answer { status: 202, retry_after: None, text: None, modern_violation: false };
            }
            Err(Unreadable { id, refusal }) => return Answer::refused(id.as_ref(), &refusal),
        };
        let era = match classify(&request, mirror) {
            Ok(era) => era,
            Err(violation) => return Answer::violation(&request.id, &violation),
        };
        let Request { id, method, params } = request;
        match self.dispatch(era, &method, params, caller).await {
            Ok(result) => Answer::ok(message::result(&id, &result)),
            Err(refusal) => Answer::refused(Some(&id), &refusal),
        }
    }

    /// The result of a method, as JSON.
    async fn dispatch(&self, era: Era, method: &str, params: Value, caller: &Caller) -> Result<String, Refusal> {
        match (era, method) {
            (_, "tools/call") => self.call_tool(era, params, caller).await,
            (_, "tools/list") => {
                Ok(finished(era, true, self.0.tools.len() + 1_024, |result| result.raw(&self.0.tools)))
            }
            (Era::Handshake, "initialize") => Ok(self.initialize(&params)),
            (Era::Handshake, "ping") => Ok("{}".to_owned()),
            (Era::Modern, "server/discover") => Ok(finished(era, true, 1_024, |result| {
                let versions: Vec<_> = std::iter::once(&MODERN_VERSION).chain(HANDSHAKE_VERSIONS).collect();
                result.name("supportedVersions").value(&versions);
                result.name("capabilities").value(&capabilities());
                result.name("instructions").value(INSTRUCTIONS);
            })),
            (_, "rpc.discover") => Ok(self.0.openrpc.clone().into()),
            (_, name) => match Operation::named(name).filter(|operation| self.0.operations.contains(operation)) {
                Some(operation) => self.run(direct_call(operation, self.0.release, params, caller)?).await,
                None => Err(Refusal::new(Code::UnknownMethod, "There is no such method.").at("$.method").accepting(
                    format!(
                        "initialize, ping, tools/list, tools/call, server/discover, rpc.discover, {}",
                        self.names()
                    ),
                )),
            },
        }
    }

    async fn call_tool(&self, era: Era, mut params: Value, caller: &Caller) -> Result<String, Refusal> {
        let arguments = match params.get_mut("arguments").map(Value::take) {
            Some(Value::Object(arguments)) => arguments,
            None => Map::new(),
            Some(_) => return Err(Refusal::invalid("$.params.arguments", "The arguments are no object.")),
        };
        let operation = params
            .get("name")
            .and_then(Value::as_str)
            .and_then(Operation::named)
            .filter(|operation| self.0.operations.contains(operation));
        let Some(operation) = operation else {
            return Err(Refusal::new(Code::UnknownTool, "There is no such tool.")
                .at("$.params.name")
                .accepting(self.names()));
        };
        let call = tool_call(operation, self.0.release, arguments, params.get("_meta"), caller)?;
        let document = self.run(call).await?;
        // The text repeats the structure for clients that read only text.
        // Twice the document, once with escapes.
        let length = document.len() * 9 / 4 + 1_024;
        Ok(finished(era, false, length, |result| {
            result.name("content").array(|content| {
                content.object(|text| {
                    text.name("type").value("text");
                    text.name("text").value(&document);
                });
            });
            result.name("structuredContent").raw(&document);
        }))
    }

    async fn run(&self, call: Call) -> Result<String, Refusal> {
        let mut pipeline = self.0.pipeline.clone();
        Ok(pipeline.ready().await?.call(call).await?.document)
    }

    fn initialize(&self, params: &Value) -> String {
        let requested = params.get("protocolVersion").and_then(Value::as_str);
        json!({
            "protocolVersion": negotiated(requested),
            "capabilities": capabilities(),
            "serverInfo": server_info(),
            "instructions": INSTRUCTIONS,
        })
        .to_string()
    }

    fn names(&self) -> String {
        self.0.operations.iter().map(|operation| operation.row().name).collect::<Vec<_>>().join(", ")
    }
}

/// A result of about this length, with what its era adds to every result; `cacheable` when it is the same for every
/// caller.
fn finished(era: Era, cacheable: bool, length: usize, fill: impl FnOnce(&mut splice::Document)) -> String {
    let mut document = splice::Document::with_capacity(length);
    document.object(|result| {
        fill(result);
        if era == Era::Modern {
            result.name("resultType").value("complete");
            result.name("_meta").value(&json!({ "io.modelcontextprotocol/serverInfo": server_info() }));
            if cacheable {
                result.name("ttlMs").value(&TTL_MS);
                result.name("cacheScope").value("public");
            }
        }
    });
    document.finish()
}

/// What an agent is told about the server as a whole.
const INSTRUCTIONS: &str = "A shop that speaks the Universal Commerce Protocol (UCP). Find products with search_catalog, \
    open one with get_product to choose its options, and refresh known identifiers with lookup_catalog. Amounts are \
    integers in minor units of their currency. `messages` in an answer say what could not be done as asked.";

fn capabilities() -> Value {
    json!({ "tools": {} })
}

fn server_info() -> Value {
    json!({ "name": "ucp-gateway", "title": "UCP gateway", "version": env!("CARGO_PKG_VERSION") })
}
