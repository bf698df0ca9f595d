//! Settings of the process, which all of its shops have in common.

use std::path::PathBuf;

use ucp_listener::TlsSettings;
use ucp_trust::client::TrustedProxies;

use super::{
    Admin, Policy, Receivers, Texts, admin,
    directory::Search,
    document::Document,
    is_private,
    sections::{Data, Events, Log, Sections, Server, Telemetry},
    telemetry, tls, trusted_proxies,
};

/// Complete and checked settings of the process.
#[derive(Debug)]
pub struct Process {
    /// Configuration file, as an absolute path; `None` without one.
    pub config: Option<PathBuf>,
    /// The listener, and limits of all shops together.
    pub server: Server,
    /// The log.
    pub log: Log,
    /// Traces of calls.
    pub telemetry: Telemetry,
    /// Events of commerce.
    pub events: Events,
    /// The data that shops inherit; its directory has the audit log of the process.
    pub data: Data,
    /// Proxies whose forwarding headers are trusted.
    pub trusted_proxies: TrustedProxies,
    /// TLS of the listener; `None` if it speaks plain HTTP.
    pub tls: Option<TlsSettings>,
    /// Admin API, if it is enabled.
    pub admin: Option<Admin>,
    /// Receivers of spans and events.
    pub receivers: Receivers,
    /// Languages of the pages of those shops that state no directory of their own.
    pub(crate) texts: Texts,
    /// Table of places of those shops that state no file of their own.
    pub(super) search: Search,
}

impl Process {
    /// Resolves what belongs to the process of several shops.
    pub(super) fn resolve(sections: Sections, document: &mut Document<'_>) -> Self {
        let Sections {
            mut server, log, mut telemetry, mut events, data, callers, pages, merchants, mut geocoder, ..
        } = sections;
        let private = is_private(&server);
        let development = callers.policy.map_or(private, |policy| policy == Policy::Development);
        // One shop that hangs leaves room for the others, also where its developer is the only caller.
        server.max_in_flight.get_or_insert_default();
        let tls = tls::resolve(&server, document);
        let trusted_proxies = trusted_proxies(&mut server.trusted_proxies, document);
        let admin = admin::resolve(&mut server, development, document);
        let receivers = telemetry::resolve(&mut telemetry, &mut events, document.environment(), document);
        let texts = Texts::resolve(pages.texts_dir.as_deref(), None, document);
        let search = Search::resolve(&merchants, &mut geocoder, &[], None, document);
        let config = document.path();
        Self { config, server, log, telemetry, events, data, trusted_proxies, tls, admin, receivers, texts, search }
    }
}
