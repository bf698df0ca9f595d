//! JSON-RPC methods and their answers, independent of the transport.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use serde_json::{Map, Value, json};
use ucp_core::{
    Code, Operation, Refusal, Release,
    operation::{Class, Effect},
};
use ucp_record as record;
use ucp_service::{Call, CallHandler, Endpoint, Fault, Reply, access::Principal};
use ucp_wire::{
    dialect,
    encoded::{Encoded, RpcError},
    lenient,
    openrpc::{self, Detail},
    splice,
};

use crate::{
    about::About,
    arguments::{Caller, direct_call, tool_call},
    era::{Era, HANDSHAKE_VERSIONS, MODERN_VERSION, Mirror, Violation, classify, negotiated},
    message::{self, Message, Request, Unreadable},
    toolset::Toolset,
};

/// Cache lifetime of the tool list, in milliseconds.
const TTL_MS: u32 = 60_000;

/// The MCP server of a gateway; cheap to clone.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

struct Inner {
    endpoint: Endpoint,
    operations: Arc<[Operation]>,
    handler: CallHandler,
    about: Arc<About>,
    /// `true` if the transport knows the platform.
    anonymous: bool,
    /// The tools as JSON, for platforms that have to say who they are and for those that are known; in outline and in
    /// full. Each list is made when it is first asked for.
    tools: [[OnceLock<Vec<Tool>>; 2]; 2],
    /// The OpenRPC document, as JSON.
    openrpc: Box<str>,
}

/// A tool as JSON, and the operation that it calls.
type Tool = (Operation, Box<str>);

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("endpoint", &self.0.endpoint).finish_non_exhaustive()
    }
}

/// An answer to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The matching HTTP status (rule ERR-02).
    pub status: u16,
    /// Seconds after which to retry.
    pub retry_after: Option<u32>,
    /// The JSON-RPC message; `None` for messages that expect no answer.
    pub text: Option<String>,
    /// `true` if the status applies to every caller: MCP 2026-07-28 prescribes it, or the message was refused unread.
    pub status_is_final: bool,
    /// Effect of the operation that was carried out, if any.
    pub effect: Option<Effect>,
    /// `true` if the answer holds nothing that a stranger may not know, and so may be compressed.
    pub is_public: bool,
    /// The version of MCP that was agreed on, if the message was a handshake.
    pub agreed: Option<&'static str>,
}

impl Answer {
    const EMPTY: Self = Self {
        status: 202,
        retry_after: None,
        text: None,
        status_is_final: false,
        effect: None,
        is_public: false,
        agreed: None,
    };

    fn ok(text: String) -> Self {
        Self { status: 200, text: Some(text), ..Self::EMPTY }
    }

    /// Encodes a refusal in a release.
    pub fn refused(id: Option<&message::Id>, Fault { refusal, release }: &Fault, request_id: Option<&str>) -> Self {
        record::note(|facts| facts.refused = Some(refusal.code));
        let refused = dialect(*release).refuse(refusal);
        Self {
            status: refused.status,
            retry_after: refusal.retry_after,
            text: Some(message::error(id, &refused.rpc_error, request_id)),
            ..Self::EMPTY
        }
    }

    /// Combines the answers to the messages of a batch.
    pub fn of_batch(answers: Vec<Self>) -> Self {
        let effects = [Effect::Concluding, Effect::Replacing, Effect::Creating];
        let has = |effect: &Effect| answers.iter().any(|answer| answer.effect == Some(*effect));
        let effect = effects.into_iter().find(has).or_else(|| answers.iter().find_map(|answer| answer.effect));
        let retry_after = answers.iter().filter_map(|answer| answer.retry_after).max();
        let agreed = answers.iter().find_map(|answer| answer.agreed);
        let is_public = answers.iter().all(|answer| answer.is_public || answer.text.is_none());
        let texts: Vec<_> = answers.into_iter().filter_map(|answer| answer.text).collect();
        if texts.is_empty() {
            return Self::EMPTY;
        }
        Self { retry_after, effect, is_public, agreed, ..Self::ok(format!("[{}]", texts.join(","))) }
    }

    fn violation(id: &message::Id, Violation { code, message, data }: Violation) -> Self {
        let text = message::error(Some(id), &RpcError { code, message, data: data.to_string() }, None);
        Self { status: 400, text: Some(text), status_is_final: true, ..Self::EMPTY }
    }
}

/// The outcome of a method.
enum Outcome {
    /// A result, as JSON, and the operation that it answers.
    Result(String, Option<Operation>),
    /// A business outcome that is an error in its release, with the matching HTTP status.
    Error(RpcError, u16),
    /// The result of a tool that failed, which a library of MCP hands to its model.
    Failed(String),
    /// The refusal of a tool call, for the same.
    Refused(Fault),
    /// The result of a handshake, with the version of MCP that was agreed on.
    Agreed(String, &'static str),
}

impl Outcome {
    fn result(result: String) -> Self {
        Self::Result(result, None)
    }
}

impl Server {
    /// Creates the server of `operations` of a shop at an endpoint. `anonymous` is `true` if the transport knows the platform, so
    /// that tools need no platform profile as argument.
    pub fn new(
        handler: CallHandler,
        endpoint: Endpoint,
        operations: &[Operation],
        openrpc: &[u8],
        about: Arc<About>,
        anonymous: bool,
    ) -> Self {
        Self(Arc::new(Inner {
            endpoint,
            operations: operations.into(),
            handler,
            about,
            anonymous,
            tools: Default::default(),
            openrpc: String::from_utf8_lossy(openrpc).into(),
        }))
    }

    /// Returns the release to use before the caller's profile is known.
    pub fn release(&self) -> Release {
        self.0.endpoint.release()
    }

    /// Answers one message. `mirror` holds the headers that repeat parts of it, on transports that have headers.
    pub async fn answer(&self, bytes: &[u8], mirror: Option<&Mirror>, caller: &Caller) -> Answer {
        let request_id = caller.request_id.as_deref();
        let request = match message::read(bytes) {
            Ok(Message::Request(request)) => request,
            Ok(Message::Unanswered) => return Answer::EMPTY,
            Err(Unreadable { id, refusal }) => return Answer::refused(id.as_ref(), &self.fault(*refusal), request_id),
        };
        let era = match classify(&request, mirror) {
            Ok(era) => era,
            Err(violation) => return Answer::violation(&request.id, violation),
        };
        let Request { id, method, params } = request;
        match self.dispatch(era, &method, params, caller).await {
            Ok(Outcome::Result(result, operation)) => {
                let effect = operation.map(|operation| operation.row().effect);
                let is_public = operation.is_none_or(|operation| operation.row().class == Class::Browsing);
                Answer { effect, is_public, ..Answer::ok(message::result(&id, result)) }
            }
            Ok(Outcome::Failed(result)) => Answer::ok(message::result(&id, result)),
            Ok(Outcome::Agreed(result, version)) => {
                Answer { agreed: Some(version), is_public: true, ..Answer::ok(message::result(&id, result)) }
            }
            Ok(Outcome::Refused(fault)) => self.refused_tool(era, &id, &fault, &caller.toolset, request_id),
            Ok(Outcome::Error(error, status)) => {
                Answer { status, ..Answer::ok(message::error(Some(&id), &error, request_id)) }
            }
            Err(fault) => {
                let answer = Answer::refused(Some(&id), &fault, request_id);
                let status_is_final =
                    era == Era::Modern && (answer.status == 400 || fault.refusal.code == Code::UnknownMethod);
                Answer { status_is_final, ..answer }
            }
        }
    }

    /// Refuses a message of a library, of which only the envelope is read.
    pub fn refused(&self, bytes: &[u8], refusal: Refusal, caller: &Caller) -> Answer {
        let (fault, request_id) = (self.fault(refusal), caller.request_id.as_deref());
        match message::id(bytes) {
            Some(id) if message::calls_tool(bytes) => {
                self.refused_tool(Era::Handshake, &id, &fault, &caller.toolset, request_id)
            }
            id => Answer::refused(id.as_ref(), &fault, request_id),
        }
    }

    /// Executes a method.
    async fn dispatch(&self, era: Era, method: &str, params: Value, caller: &Caller) -> Result<Outcome, Fault> {
        let result = match (era, method) {
            (_, "tools/call") => return self.call_tool(era, params, caller).await,
            (_, "tools/list") => self.list(era, caller),
            (Era::Handshake, "initialize") => return Ok(self.initialize(&params, caller).await),
            (Era::Handshake, "ping") => "{}".to_owned(),
            (Era::Modern, "server/discover") => {
                let instructions = self.instructions(caller).await;
                self.finished(era, Some(Scope::Public), None, 2_048, |result| {
                    let versions: Vec<_> = std::iter::once(&MODERN_VERSION).chain(HANDSHAKE_VERSIONS).collect();
                    result.name("supportedVersions").value(&versions);
                    result.name("capabilities").value(&capabilities());
                    result.name("instructions").value(&instructions);
                })
            }
            (_, "rpc.discover") => self.0.openrpc.clone().into(),
            (_, name) => {
                let Some(operation) = self.operation(name, &caller.toolset) else {
                    let accepted = format!(
                        "initialize, ping, tools/list, tools/call, server/discover, rpc.discover, {}",
                        self.names(&caller.toolset)
                    );
                    let refusal = Refusal::new(Code::UnknownMethod, "There is no such method.");
                    return Err(self.fault(refusal.at("$.method").accepting(accepted)));
                };
                let call =
                    direct_call(operation, self.0.endpoint, params, caller).map_err(|refusal| self.fault(refusal))?;
                return self.run(call, |document, release| dialect(release).direct(operation, document)).await;
            }
        };
        Ok(Outcome::result(result))
    }

    /// Returns `true` if schemas of answers are listed: with full tools, where the release is certain. At the root it is
    /// the one that the caller's profile names; a child process has one caller, whose profile is not read.
    pub fn lists_answers(&self, full: bool) -> bool {
        full && (self.0.anonymous || self.0.endpoint != Endpoint::Root)
    }

    /// Returns the tools as JSON, in full or in outline. `is_known` makes the platform profile optional.
    fn tools(&self, is_known: bool, full: bool) -> &[Tool] {
        let Inner { endpoint, operations, tools, .. } = &*self.0;
        tools[usize::from(is_known)][usize::from(full)].get_or_init(|| {
            let detail = match full {
                false => Detail::Outline,
                true if self.lists_answers(full) => Detail::Both,
                true => Detail::Requests,
            };
            let tools = openrpc::tools(dialect(endpoint.release()), operations, is_known, detail).into_iter();
            tools.map(|(operation, tool)| (operation, tool.to_string().into())).collect()
        })
    }

    /// Builds the list of the chosen tools.
    fn list(&self, era: Era, caller: &Caller) -> String {
        let is_known = self.0.anonymous || matches!(caller.admission.principal, Principal::Keyed(_));
        let (tools, toolset) = (self.tools(is_known, caller.toolset.full), &caller.toolset);
        let chosen = || tools.iter().filter(|(operation, _)| toolset.has(*operation));
        let length = chosen().map(|(_, tool)| tool.len() + 1).sum::<usize>();
        // A list without platform profiles must not reach callers that have to state one.
        let scope = if is_known && !self.0.anonymous { Scope::Private } else { Scope::Public };
        self.finished(era, Some(scope), None, length + 1_024, |result| {
            result.name("tools").array(|list| chosen().for_each(|(_, tool)| list.raw(tool)));
        })
    }

    async fn call_tool(&self, era: Era, mut params: Value, caller: &Caller) -> Result<Outcome, Fault> {
        let name = params.get("name").and_then(Value::as_str);
        let Some(operation) = name.and_then(|name| self.operation(name, &caller.toolset)) else {
            let refusal = Refusal::new(Code::UnknownTool, "There is no such tool.");
            return Err(self.fault(refusal.at("$.params.name").accepting(self.names(&caller.toolset))));
        };
        let arguments = params.get_mut("arguments").map(Value::take).unwrap_or_default();
        let answered = match self.read_tool(operation, arguments, params.get("_meta"), caller) {
            Ok(call) => self.run_tool(era, call, caller).await,
            Err(refusal) => Err(self.fault(refusal)),
        };
        if era != Era::Modern && !caller.is_library {
            return answered;
        }
        // The tool is there and was called: what went wrong is for the model to read.
        Ok(match answered {
            Ok(Outcome::Error(error, _)) => {
                let request_id = caller.request_id.as_deref();
                Outcome::Failed(self.failed(era, &told(&error), &error.data, &caller.toolset, request_id))
            }
            Ok(outcome) => outcome,
            Err(fault) => Outcome::Refused(fault),
        })
    }

    fn read_tool(
        &self,
        operation: Operation,
        mut arguments: Value,
        meta: Option<&Value>,
        caller: &Caller,
    ) -> Result<Call, Refusal> {
        lenient::read_arguments(&mut arguments)?;
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            Value::Null => Map::new(),
            _ => return Err(Refusal::invalid("$.params.arguments", "The arguments must be an object.")),
        };
        tool_call(operation, self.0.endpoint, arguments, meta, caller)
    }

    async fn run_tool(&self, era: Era, call: Call, caller: &Caller) -> Result<Outcome, Fault> {
        let request_id = caller.request_id.as_deref();
        self.run(call, |document, _| {
            // The text repeats the structure for clients that read only text. Length: twice the document, once of it
            // escaped.
            let length = document.len() * 9 / 4 + 1_024;
            self.finished(era, None, request_id, length, |result| {
                result.name("content").array(|content| {
                    content.object(|text| {
                        text.name("type").value("text");
                        text.name("text").text(&document);
                    });
                });
                result.name("structuredContent").raw(&document);
            })
        })
        .await
    }

    /// Carries out a call. `wrap` makes a result of the answer, which is in the caller's release.
    async fn run(&self, call: Call, wrap: impl FnOnce(String, Release) -> String) -> Result<Outcome, Fault> {
        let operation = call.operation;
        let Reply { encoded, release } = self.0.handler.handle(call).await?;
        Ok(match encoded {
            Encoded { rpc_error: Some(error), status, .. } => Outcome::Error(error, status),
            Encoded { document, .. } => Outcome::Result(wrap(document, release), Some(operation)),
        })
    }

    /// Returns the operation of a name, if it can be called here.
    fn operation(&self, name: &str, toolset: &Toolset) -> Option<Operation> {
        let operation =
            Operation::named(name).filter(|operation| self.callable(toolset).any(|callable| callable == *operation));
        record::note(|facts| facts.operation = operation);
        operation
    }

    fn callable(&self, toolset: &Toolset) -> impl Iterator<Item = Operation> {
        let dialect = dialect(self.release());
        let callable = |operation: &Operation| toolset.has(*operation) && dialect.shapes(*operation).is_some();
        self.0.operations.iter().copied().filter(callable)
    }

    /// Creates a fault in the release of the endpoint.
    pub fn fault(&self, refusal: Refusal) -> Fault {
        Fault { refusal, release: self.release() }
    }

    /// Encodes the refusal of a tool call as the result of the tool, which libraries of MCP hand to the model.
    pub fn refused_tool(
        &self,
        era: Era,
        id: &message::Id,
        Fault { refusal, release }: &Fault,
        toolset: &Toolset,
        request_id: Option<&str>,
    ) -> Answer {
        record::note(|facts| facts.refused = Some(refusal.code));
        let data = dialect(*release).refuse(refusal).rpc_error.data;
        let result = self.failed(era, &refusal.advised(), &data, toolset, request_id);
        Answer { retry_after: refusal.retry_after, ..Answer::ok(message::result(id, result)) }
    }

    /// Builds the result of a tool that failed, for the reasons in `text` and, as JSON, in `data`.
    fn failed(&self, era: Era, text: &str, data: &str, toolset: &Toolset, request_id: Option<&str>) -> String {
        self.finished(era, None, request_id, text.len() + data.len() + 1_024, |result| {
            result.name("content").array(|content| {
                content.object(|part| {
                    part.name("type").value("text");
                    part.name("text").value(text);
                });
            });
            // Where schemas of answers are listed, libraries check every structure against them, and no refusal fits.
            if !self.lists_answers(toolset.full) {
                result.name("structuredContent").raw(data);
            }
            result.name("isError").value(&true);
        })
    }

    /// Builds a result of about `length` bytes, with the members that its generation of MCP adds to every result.
    /// `cached_by` is `None` for results that must not be cached; `request_id` is added to `_meta`.
    fn finished(
        &self,
        era: Era,
        cached_by: Option<Scope>,
        request_id: Option<&str>,
        length: usize,
        fill: impl FnOnce(&mut splice::Document),
    ) -> String {
        let mut document = splice::Document::with_capacity(length);
        document.object(|result| {
            fill(result);
            if era == Era::Modern {
                result.name("resultType").value("complete");
                if let Some(scope) = cached_by {
                    result.name("ttlMs").value(&TTL_MS);
                    result.name("cacheScope").value(scope.as_str());
                }
            }
            if era == Era::Modern || request_id.is_some() {
                result.name("_meta").object(|meta| {
                    if era == Era::Modern {
                        meta.name("io.modelcontextprotocol/serverInfo").value(self.0.about.server_info());
                    }
                    if let Some(request_id) = request_id {
                        meta.name(REQUEST_ID).value(request_id);
                    }
                });
            }
        });
        document.finish()
    }

    async fn initialize(&self, params: &Value, caller: &Caller) -> Outcome {
        let version = negotiated(params.get("protocolVersion").and_then(Value::as_str));
        let mut document = splice::Document::with_capacity(2_048);
        let instructions = self.instructions(caller).await;
        document.object(|result| {
            result.name("protocolVersion").value(version);
            result.name("capabilities").value(&capabilities());
            result.name("serverInfo").value(self.0.about.server_info());
            result.name("instructions").value(&instructions);
        });
        Outcome::Agreed(document.finish(), version)
    }

    async fn instructions(&self, caller: &Caller) -> String {
        let tools: Vec<_> = self.callable(&caller.toolset).collect();
        self.0.about.instructions(&tools).await
    }

    fn names(&self, toolset: &Toolset) -> String {
        self.callable(toolset).map(|operation| operation.row().name).collect::<Vec<_>>().join(", ")
    }
}

/// Caches that may keep a result (MCP, *Caching*).
#[derive(Clone, Copy, Debug)]
enum Scope {
    /// Those that serve many callers.
    Public,
    /// Those of one caller.
    Private,
}

impl Scope {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

/// The `_meta` member with the request ID.
const REQUEST_ID: &str = "ucp-gateway/request-id";

fn capabilities() -> Value {
    json!({ "tools": {} })
}

/// Describes a business outcome that is an error in its release, with everything that it says.
fn told(error: &RpcError) -> String {
    let data: Value = serde_json::from_str(&error.data).unwrap_or_default();
    let messages = data["errors"].as_array().into_iter().flatten().filter_map(|fault| fault["message"].as_str());
    let mut told = error.message.clone();
    for message in messages {
        if !told.contains(message) {
            told.push_str(&format!(" {message}"));
        }
    }
    told
}
