//! Payment handlers of the file, with the secrets they refer to.
//!
//! A kind of handler is a name in [`HandlerKind`], a module here, which reads its keys and opens it, and a line in
//! `kinds!`.

mod google_pay;
mod processor;
mod sandbox;
mod stripe;

use std::{collections::HashSet, error::Error, fmt, path::Path, sync::Arc, time::Duration};

use serde_json::Map;
use ucp_core::{ports::payment_handler::Handler, purchase::payment::Declaration};
use ucp_net::outbound::Certificate;
use ucp_payment::{Clock, Endpoint, Secret};

use super::{choice::HandlerKind, document::Document, sections};

/// Identifier of the sandbox where the file names none. It is the one that the test suites of the protocol use.
pub(crate) const SANDBOX: &str = "mock_payment_handler";

/// Leads from each kind of payment handler to its module.
macro_rules! kinds {
    ($($kind:ident = $name:literal in $module:ident;)+) => {
        impl HandlerKind {
            const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name),+ }
            }

            fn usual(self, id: &str) -> Option<Declaration> {
                match self { $(Self::$kind => $module::usual(id)),+ }
            }

            fn resolve(self, entry: &mut Entry<'_, '_>, said: &mut sections::Payment) -> Option<Open> {
                match self { $(Self::$kind => $module::resolve(entry, said)),+ }
            }
        }
    };
}

kinds! {
    Sandbox = "sandbox" in sandbox;
    Processor = "processor" in processor;
    Stripe = "stripe" in stripe;
    GooglePay = "google_pay" in google_pay;
}

/// A payment handler.
pub struct Payment {
    /// Declaration of the handler in the profile.
    pub declaration: Declaration,
    kind: HandlerKind,
    open: Open,
}
ucp_core::opaque!(Payment { declaration });

/// Opens a handler with its declaration, the clock, and the authorities to trust beside those of the system.
type Open = Arc<dyn Fn(Declaration, Clock, &[Certificate]) -> Opened + Send + Sync>;

/// A handler, or why there is none.
type Opened = Result<Arc<dyn Handler>, Box<dyn Error>>;

impl Payment {
    /// Returns `true` if it pays at a payment provider.
    const fn is_gateway(&self) -> bool {
        matches!(self.kind, HandlerKind::Processor | HandlerKind::Stripe)
    }

    /// Returns `true` if its provider sends events.
    pub fn takes_events(&self) -> bool {
        self.kind == HandlerKind::Stripe
    }

    /// Opens the handler. `roots` are trusted beside the authorities of the system. Fails if the client of a payment
    /// service provider cannot be set up.
    pub fn open(&self, clock: Clock, roots: &[Certificate]) -> Opened {
        (self.open)(self.declaration.clone(), clock, roots)
    }
}

/// Completes the payment handlers of the file. Where it has none, there is a sandbox in development, and otherwise no
/// way to pay but on the shop's own pages.
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
    let mut payments = Vec::new();
    for (index, said) in said.iter_mut().enumerate() {
        let mut entry = Entry { at: format!("payment[{index}]"), private, development, document, before: &payments };
        if !ids.insert(said.id.clone()) {
            entry.wrong("id", "another payment handler has the same id");
        }
        let payment = entry.complete(said);
        payments.extend(payment);
    }
    payments
}

/// One entry of the file.
struct Entry<'a, 'b> {
    /// Path of the entry, such as `payment[0]`.
    at: String,
    /// `true` if only this machine reaches the gateway.
    private: bool,
    /// `true` if the policy is that of development.
    development: bool,
    document: &'a mut Document<'b>,
    /// The entries before this one.
    before: &'a [Payment],
}

impl Entry<'_, '_> {
    fn wrong(&mut self, key: &str, problem: impl fmt::Display) {
        self.document.add(&format!("{}.{key}", self.at), problem);
    }

    fn none<T>(&mut self, key: &str, problem: impl fmt::Display) -> Option<T> {
        self.wrong(key, problem);
        None
    }

    /// Returns the times that connecting, a request, and a payment may take.
    fn times(&mut self, said: &sections::Payment) -> [Duration; 3] {
        let [connect, request, deadline] =
            [said.connect_timeout_ms.time(), said.timeout_ms.time(), said.deadline_ms.time()];
        if request > deadline {
            self.wrong("timeout_ms", format_args!("this is more than all of a payment may take, {deadline:?}"));
        }
        [connect, request, deadline]
    }

    fn warn(&mut self, key: &str, risk: impl fmt::Display) {
        self.document.warn(&format!("{}.{key}", self.at), risk);
    }

    fn endpoint(&mut self, key: &str, url: &str) -> Option<Endpoint> {
        self.document.led(&format!("{}.{key}", self.at), Endpoint::parse(url, self.private))
    }

    /// A secret from a file or from the environment.
    fn secret(&mut self, name: &str, file: Option<&Path>, variable: Option<&str>) -> Option<Secret> {
        if file.is_some() == variable.is_some() {
            let problem = format_args!("a payment service provider needs either this or `{name}_env`");
            return self.none(&format!("{name}_file"), problem);
        }
        self.document.secret(&format!("{}.{name}", self.at), file, variable)
    }

    fn complete(&mut self, said: &mut sections::Payment) -> Option<Payment> {
        self.document.refuse_foreign(&self.at, said.kind, None);
        let open = said.kind.resolve(self, said);
        Some(Payment { declaration: self.declaration(said)?, kind: said.kind, open: open? })
    }

    fn declaration(&mut self, said: &mut sections::Payment) -> Option<Declaration> {
        if said.id.is_empty() || said.id.len() > 100 || !said.id.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.wrong("id", "expected 1 to 100 visible ASCII characters");
        }
        let (kind, usual) = (said.kind.name(), said.kind.usual(&said.id));
        let mut needed = |key: &str, value: &mut Option<String>, of: fn(&Declaration) -> &String| {
            if value.is_none() {
                *value = usual.as_ref().map(of).filter(|text| !text.is_empty()).cloned();
            }
            if value.is_none() {
                self.wrong(key, format_args!("a {kind} needs this: platforms have to know what they are to send"));
            }
            value.clone()
        };
        let name = needed("name", &mut said.name, |usual| &usual.name);
        let version = needed("version", &mut said.version, |usual| &usual.version);
        let spec = needed("spec", &mut said.spec, |usual| &usual.spec);
        let schema = needed("schema", &mut said.schema, |usual| &usual.schema);
        let usual = usual.map(|usual| (usual.instruments, usual.config));
        let (instruments, config) = usual.unwrap_or_else(|| (vec!["card".to_owned()], Map::new()));
        Some(Declaration {
            name: name?,
            id: said.id.clone(),
            version: version?,
            spec: spec?,
            schema: schema?,
            instruments: said.instruments.get_or_insert(instruments).clone(),
            config: said.config.get_or_insert(config).clone(),
        })
    }
}
