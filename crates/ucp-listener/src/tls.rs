//! TLS of a listener: handshakes, and a certificate that is read again when its files change.

use std::{
    error::Error,
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::MissedTickBehavior,
};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig, server::TlsStream};
use ucp_service::ingress::ClientCertificate;
use ucp_trust::certificate::Fingerprint;

use crate::files::{Expiries, TlsSettings};

/// Interval at which the files are looked at.
const INTERVAL: Duration = Duration::from_secs(5);

/// First byte of a TLS record that holds a handshake (RFC 8446, 5.1).
pub(super) const HANDSHAKE: u8 = 22;

/// TLS of a listener. Clones share one state.
#[derive(Clone, Debug)]
pub struct Tls(Arc<Mutex<Served>>);

/// What new connections are accepted with.
#[derive(Debug)]
struct Served {
    config: Arc<ServerConfig>,
    expiries: Expiries,
}

/// Protocol that client and server have agreed upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

impl Tls {
    /// Serves with what was read, and reads it again whenever the files change, for as long as the process runs.
    pub fn start(tls: &TlsSettings) -> Self {
        let TlsSettings { files, mut content, config } = tls.clone();
        let started = Self(Arc::new(Mutex::new(Served { config, expiries: content.expiries() })));
        let current = started.clone();
        tokio::spawn(async move {
            let (files, mut failure) = (Arc::new(files), String::new());
            let mut interval = tokio::time::interval(INTERVAL);
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                interval.tick().await;
                let reader = Arc::clone(&files);
                let read = tokio::task::spawn_blocking(move || reader.read()).await;
                let Ok(read) = read else { continue };
                let replaced = match read {
                    Ok(read) if read == content => {
                        failure.clear();
                        continue;
                    }
                    Ok(read) => files.config(&read).map(|config| (read, config)),
                    Err(error) => Err(error),
                };
                match replaced {
                    Ok((read, config)) => {
                        content = read;
                        failure.clear();
                        let served = Served { config, expiries: content.expiries() };
                        *current.0.lock().unwrap_or_else(PoisonError::into_inner) = served;
                        tracing::info!(file = %files.certificate.display(), "TLS certificate reloaded");
                    }
                    // Once: the file may stay as it is for long.
                    Err(error) if error.to_string() != failure => {
                        tracing::error!(
                            error = &error as &dyn Error,
                            "TLS certificate reload failed, keeping the previous one"
                        );
                        failure = error.to_string();
                    }
                    Err(_) => {}
                }
            }
        });
        started
    }

    /// Returns what a new connection is accepted with.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner).config).into()
    }

    /// Returns when the certificates end that are in use: that of the listener, and those of the authorities of its clients.
    pub fn expiries(&self) -> Expiries {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).expiries.clone()
    }
}

/// Carries out a handshake. Returns the stream, what is spoken on it, and the verified certificate of the client, if it
/// has shown one. Fails with [`io::Error`] if the handshake fails, for example since the client's certificate is of an
/// unknown authority.
pub(super) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
    acceptor: TlsAcceptor,
    stream: S,
) -> io::Result<(TlsStream<S>, Protocol, Option<ClientCertificate>)> {
    let stream = acceptor.accept(stream).await?;
    let (_, session) = stream.get_ref();
    let protocol = if session.alpn_protocol() == Some(b"h2") { Protocol::Http2 } else { Protocol::Http1 };
    let shown = session.peer_certificates().and_then(<[_]>::first);
    let certificate = shown.map(|certificate| ClientCertificate(Fingerprint::of(certificate)));
    Ok((stream, protocol, certificate))
}
