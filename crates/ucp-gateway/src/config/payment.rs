//! How buyers can pay: the payment handlers of the file, with the secrets they refer to.

use std::{collections::HashSet, ffi::OsString, fmt, fs, path::Path, time::Duration};

use serde_json::{Map, Value};
use ucp_core::purchase::payment::Declaration;
use ucp_payment::{Secret, processor::Endpoint, sandbox};

use super::{
    Environment, Problems,
    file::{self, HandlerKind},
};

/// The identifier of the sandbox where nothing else is said. It is the one that the test-suites of the protocol use.
pub(crate) const SANDBOX: &str = "mock_payment_handler";

/// A payment handler.
#[derive(Debug)]
pub(crate) struct Payment {
    /// What is said about it to everyone.
    pub(crate) declaration: Declaration,
    /// What it does.
    pub(crate) kind: Kind,
}

/// What a payment handler does.
#[derive(Debug)]
pub(crate) enum Kind {
    /// It moves no money.
    Sandbox,
    /// It authorises and captures at a payment service provider.
    Processor(Box<Provider>),
}

/// A payment service provider.
#[derive(Debug)]
pub(crate) struct Provider {
    /// Where it is.
    pub(crate) endpoint: Endpoint,
    /// Where it was before.
    pub(crate) formerly: Vec<Endpoint>,
    /// What identifies the shop there.
    pub(crate) api_key: Secret,
    /// The name of the secret below.
    pub(crate) signing_key_id: String,
    /// What requests are signed with.
    pub(crate) signing_secret: Secret,
    /// How long connecting may take.
    pub(crate) connect_timeout: Duration,
    /// How long one request may take altogether.
    pub(crate) timeout: Duration,
    /// How long a payment may take altogether.
    pub(crate) deadline: Duration,
}

/// Completes what the file says about payments. Where it says nothing there is a sandbox in development, and otherwise no
/// way to pay but on the shop's own pages.
pub(super) fn resolve(
    said: Vec<file::Payment>,
    development: bool,
    private: bool,
    problems: &mut Problems<'_>,
    environment: Environment<'_>,
) -> Vec<Payment> {
    if said.is_empty() {
        let sandbox = || Payment { declaration: sandbox::declaration(SANDBOX), kind: Kind::Sandbox };
        return if development { vec![sandbox()] } else { Vec::new() };
    }
    let mut ids = HashSet::new();
    let complete = |(index, said): (usize, file::Payment)| {
        let mut entry = Entry { at: format!("payment[{index}]"), problems };
        if !ids.insert(said.id.clone()) {
            entry.wrong("id", "another payment handler has the same id");
        }
        entry.complete(said, private, environment)
    };
    said.into_iter().enumerate().filter_map(complete).collect()
}

/// One entry of the file.
struct Entry<'a, 'b> {
    /// Where it stands: `payment[0]`.
    at: String,
    problems: &'a mut Problems<'b>,
}

impl Entry<'_, '_> {
    fn wrong(&mut self, key: &str, problem: impl fmt::Display) {
        self.problems.add(&format!("{}.{key}", self.at), problem);
    }

    fn complete(&mut self, said: file::Payment, private: bool, environment: Environment<'_>) -> Option<Payment> {
        let kind = match said.kind {
            HandlerKind::Sandbox => {
                for (key, given) in [
                    ("url", said.url.is_some()),
                    ("api_key_file", said.api_key_file.is_some()),
                    ("api_key_env", said.api_key_env.is_some()),
                    ("signing_secret_file", said.signing_secret_file.is_some()),
                    ("signing_secret_env", said.signing_secret_env.is_some()),
                ] {
                    if given {
                        self.wrong(key, "a sandbox reaches no provider");
                    }
                }
                Kind::Sandbox
            }
            HandlerKind::Processor => Kind::Processor(Box::new(self.provider(&said, private, environment)?)),
        };
        let declaration = self.declaration(said)?;
        Some(Payment { declaration, kind })
    }

    fn declaration(&mut self, said: file::Payment) -> Option<Declaration> {
        if said.id.is_empty() || said.id.len() > 100 || !said.id.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.wrong("id", "expected 1 to 100 visible ASCII characters");
        }
        let usual = sandbox::declaration(&said.id);
        let needed = |entry: &mut Self, key: &str, value: Option<String>, usual: String| match (value, said.kind) {
            (Some(value), _) => Some(value),
            (None, HandlerKind::Sandbox) => Some(usual),
            (None, HandlerKind::Processor) => {
                entry.wrong(key, "a processor needs this: platforms have to know what they are to send");
                None
            }
        };
        let name = needed(self, "name", said.name, usual.name);
        let version = needed(self, "version", said.version, usual.version);
        let spec = needed(self, "spec", said.spec, usual.spec);
        let schema = needed(self, "schema", said.schema, usual.schema);
        let config: Map<String, Value> = match said.config {
            Some(config) => config,
            None if said.kind == HandlerKind::Sandbox => usual.config,
            None => Map::new(),
        };
        Some(Declaration {
            name: name?,
            id: said.id,
            version: version?,
            spec: spec?,
            schema: schema?,
            instruments: said.instruments.unwrap_or(usual.instruments),
            config,
        })
    }

    fn provider(&mut self, said: &file::Payment, private: bool, environment: Environment<'_>) -> Option<Provider> {
        let endpoint = match &said.url {
            Some(url) => self.endpoint("url", url, private),
            None => {
                self.wrong("url", "a processor needs the address of its provider");
                None
            }
        };
        let formerly: Vec<_> =
            said.formerly.iter().flatten().filter_map(|url| self.endpoint("formerly", url, private)).collect();
        let api_key = self.secret(
            Named { file: "api_key_file", variable: "api_key_env" },
            said.api_key_file.as_deref(),
            said.api_key_env.as_deref(),
            environment,
        );
        let signing_secret = self.secret(
            Named { file: "signing_secret_file", variable: "signing_secret_env" },
            said.signing_secret_file.as_deref(),
            said.signing_secret_env.as_deref(),
            environment,
        );
        let signing_key_id = said.signing_key_id.clone().unwrap_or_else(|| "ucp-gateway".to_owned());
        if !signing_key_id.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\')) {
            self.wrong("signing_key_id", "expected visible ASCII characters without quotes and backslashes");
        }
        let milliseconds =
            |said: Option<file::Milliseconds>, usual| Duration::from_millis(said.map_or(usual, |said| said.0.into()));
        let provider = Provider {
            endpoint: endpoint?,
            formerly,
            api_key: api_key?,
            signing_key_id,
            signing_secret: signing_secret?,
            connect_timeout: milliseconds(said.connect_timeout_ms, 3_000),
            timeout: milliseconds(said.timeout_ms, 8_000),
            deadline: milliseconds(said.deadline_ms, 20_000),
        };
        if provider.timeout > provider.deadline {
            self.wrong(
                "timeout_ms",
                format_args!("this is more than all of a payment may take, {:?}", provider.deadline),
            );
        }
        Some(provider)
    }

    fn endpoint(&mut self, key: &str, url: &str, private: bool) -> Option<Endpoint> {
        Endpoint::parse(url, private).map_err(|error| self.wrong(key, error)).ok()
    }

    /// A secret from a file or from the environment.
    fn secret(
        &mut self,
        named: Named,
        path: Option<&Path>,
        variable: Option<&str>,
        environment: Environment<'_>,
    ) -> Option<Secret> {
        let (key, text) = match (path, variable) {
            (Some(path), None) => {
                let path = self.problems.document.relative(path);
                let text =
                    fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()));
                (named.file, text)
            }
            (None, Some(variable)) => {
                let text = match environment(variable).map(OsString::into_string) {
                    Some(Ok(text)) => Ok(text),
                    Some(Err(_)) => Err(format!("the value of `{variable}` is not UTF-8")),
                    None => Err(format!("the environment has no variable `{variable}`")),
                };
                (named.variable, text)
            }
            _ => (named.file, Err(format!("a processor needs either this or `{}`", named.variable))),
        };
        let secret = text.and_then(|text| text.parse::<Secret>().map_err(|error| error.to_string()));
        secret.map_err(|problem| self.wrong(key, problem)).ok()
    }
}

/// The two keys that a secret can stand under.
#[derive(Clone, Copy)]
struct Named {
    file: &'static str,
    variable: &'static str,
}
