//! Payment handlers of the configuration file, with the secrets they refer to.

use std::{collections::HashSet, fmt, path::Path, time::Duration};

use ucp_core::purchase::payment::Declaration;
use ucp_payment::{Secret, processor::Endpoint, sandbox};

use super::{choice::HandlerKind, document::Document, schema, sections};

/// Identifier of the sandbox handler that exists by default in development. The protocol's test suites use it.
pub(crate) const SANDBOX: &str = "mock_payment_handler";

/// A payment handler.
#[derive(Debug)]
pub(crate) struct Payment {
    /// Public declaration, for the profile and checkouts.
    pub(crate) declaration: Declaration,
    pub(crate) kind: Kind,
}

/// Kind of a payment handler, with its settings.
#[derive(Debug)]
pub(crate) enum Kind {
    /// Sandbox that moves no money.
    Sandbox,
    /// Authorization and capture through a payment service provider.
    Processor(Box<Provider>),
}

/// A payment service provider.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) endpoint: Endpoint,
    /// Previous addresses of the provider.
    pub(crate) formerly: Vec<Endpoint>,
    /// API key that identifies the shop to the provider.
    pub(crate) api_key: Secret,
    /// Key ID of `signing_secret`.
    pub(crate) signing_key_id: String,
    /// Secret that requests to the provider are signed with.
    pub(crate) signing_secret: Secret,
    /// Timeout of connecting.
    pub(crate) connect_timeout: Duration,
    /// Timeout of one request, connecting included. At most `deadline`.
    pub(crate) timeout: Duration,
    /// Time limit of a whole payment.
    pub(crate) deadline: Duration,
}

/// Fills in the defaults of the configured payment handlers and checks them. If none is configured, there is a sandbox
/// in development; otherwise buyers can pay only on the shop's own pages.
pub(super) fn resolve(
    said: &mut Vec<sections::Payment>,
    development: bool,
    private: bool,
    document: &mut Document<'_>,
) -> Vec<Payment> {
    if said.is_empty() && development {
        said.push(sections::Payment { id: SANDBOX.to_owned(), ..sections::Payment::default() });
    }
    let mut ids = HashSet::new();
    let complete = |(index, said): (usize, &mut sections::Payment)| {
        let mut entry = Entry { at: format!("payment[{index}]"), private, document };
        if !ids.insert(said.id.clone()) {
            entry.wrong("id", "another payment handler has the same id");
        }
        entry.complete(said)
    };
    said.iter_mut().enumerate().filter_map(complete).collect()
}

/// One entry of the file.
struct Entry<'a, 'b> {
    /// Path of the entry: `payment[0]`.
    at: String,
    /// `true` if only this machine can reach the gateway.
    private: bool,
    document: &'a mut Document<'b>,
}

impl Entry<'_, '_> {
    fn wrong(&mut self, key: &str, problem: impl fmt::Display) {
        self.document.add(&format!("{}.{key}", self.at), problem);
    }

    fn complete(&mut self, said: &mut sections::Payment) -> Option<Payment> {
        let kind = match said.kind {
            HandlerKind::Sandbox => {
                for key in schema::only("payment").filter(|(_, kind)| kind == "processor").map(|(key, _)| key) {
                    if self.document.has(&format!("{}.{key}", self.at)) {
                        self.wrong(&key, "a sandbox reaches no provider");
                    }
                }
                Kind::Sandbox
            }
            HandlerKind::Processor => Kind::Processor(Box::new(self.provider(said)?)),
        };
        Some(Payment { declaration: self.declaration(said)?, kind })
    }

    fn declaration(&mut self, said: &mut sections::Payment) -> Option<Declaration> {
        if said.id.is_empty() || said.id.len() > 100 || !said.id.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.wrong("id", "expected 1 to 100 visible ASCII characters");
        }
        let usual = sandbox::declaration(&said.id);
        let kind = said.kind;
        let mut needed = |key: &str, value: &mut Option<String>, usual: String| {
            match kind {
                HandlerKind::Sandbox => drop(value.get_or_insert(usual)),
                HandlerKind::Processor if value.is_none() => {
                    self.wrong(key, "a processor needs this: platforms have to know what they are to send");
                }
                HandlerKind::Processor => {}
            }
            value.clone()
        };
        let name = needed("name", &mut said.name, usual.name);
        let version = needed("version", &mut said.version, usual.version);
        let spec = needed("spec", &mut said.spec, usual.spec);
        let schema = needed("schema", &mut said.schema, usual.schema);
        let usual_config = if kind == HandlerKind::Sandbox { usual.config } else { serde_json::Map::new() };
        Some(Declaration {
            name: name?,
            id: said.id.clone(),
            version: version?,
            spec: spec?,
            schema: schema?,
            instruments: said.instruments.get_or_insert(usual.instruments).clone(),
            config: said.config.get_or_insert(usual_config).clone(),
        })
    }

    fn provider(&mut self, said: &mut sections::Payment) -> Option<Provider> {
        let endpoint = match &said.url {
            Some(url) => self.endpoint("url", url),
            None => {
                self.wrong("url", "a processor needs the address of its provider");
                None
            }
        };
        let formerly: Vec<_> = said.formerly.iter().filter_map(|url| self.endpoint("formerly", url)).collect();
        let api_key = self.secret("api_key", said.api_key_file.as_deref(), said.api_key_env.as_deref());
        let signing_secret =
            self.secret("signing_secret", said.signing_secret_file.as_deref(), said.signing_secret_env.as_deref());
        said.secrets = Some("set".to_owned());
        let signing_key_id = said.signing_key_id.clone();
        if !signing_key_id.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\')) {
            self.wrong("signing_key_id", "expected visible ASCII characters without quotes and backslashes");
        }
        let provider = Provider {
            endpoint: endpoint?,
            formerly,
            api_key: api_key?,
            signing_key_id,
            signing_secret: signing_secret?,
            connect_timeout: said.connect_timeout_ms.time(),
            timeout: said.timeout_ms.time(),
            deadline: said.deadline_ms.time(),
        };
        if provider.timeout > provider.deadline {
            let problem = format_args!("this is more than all of a payment may take, {:?}", provider.deadline);
            self.wrong("timeout_ms", problem);
        }
        said.url = Some(provider.endpoint.as_str().to_owned());
        said.formerly = provider.formerly.iter().map(|endpoint| endpoint.as_str().to_owned()).collect();
        Some(provider)
    }

    fn endpoint(&mut self, key: &str, url: &str) -> Option<Endpoint> {
        Endpoint::parse(url, self.private).map_err(|error| self.wrong(key, error)).ok()
    }

    /// Reads a secret from a file or an environment variable; exactly one of them has to be given.
    fn secret(&mut self, name: &str, file: Option<&Path>, variable: Option<&str>) -> Option<Secret> {
        if file.is_some() == variable.is_some() {
            let problem = format_args!("a processor needs either this or `{name}_env`");
            self.wrong(&format!("{name}_file"), problem);
            return None;
        }
        self.document.secret(&format!("{}.{name}", self.at), file, variable)
    }
}
