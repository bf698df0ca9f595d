//! The accept loop.
//!
//! Written out instead of `axum::serve`, which sets no timers: a client that sends half a header would hold its
//! connection for ever. Here a header has to arrive in time, an idle connection is closed, a client that stops reading
//! is dropped, connections are counted, and a shutdown lets running requests finish.

use std::{future::Future, io, sync::Arc, time::Duration};

use axum::{Router, body::Body};
use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use tokio::{net::TcpListener, sync::Semaphore};
use tokio_io_timeout::TimeoutStream;
use tower::ServiceExt as _;
use ucp_service::ingress::Peer;

/// How long a request header may take, and how long a connection may be idle between requests.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);

/// How large a request header may be, in bytes.
const MAX_HEAD: usize = 64 * 1024;

/// How long a client may refuse to take more of an answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// How long running requests have to finish after a shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// The pause after a failed accept, such as for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves `listener` until `shutdown` is done. `route` names the router that answers a request.
pub(crate) async fn serve(
    listener: TcpListener,
    route: impl Fn(&Request<Incoming>) -> Router + Clone + Send + 'static,
    max_connections: usize,
    shutdown: impl Future<Output = ()>,
) {
    let permits = Arc::new(Semaphore::new(max_connections));
    let graceful = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).max_buf_size(MAX_HEAD);
    tokio::pin!(shutdown);
    loop {
        // Taken before accepting: beyond the cap, clients wait in the kernel's queue.
        let permit = tokio::select! {
            permit = Arc::clone(&permits).acquire_owned() => permit,
            () = &mut shutdown => break,
        };
        let (stream, address) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    report(&error);
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
            () = &mut shutdown => break,
        };
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection keeps its delay");
        }
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(WRITE_TIMEOUT));
        let route = route.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Peer(address.ip()));
            route(&request).oneshot(request.map(Body::new))
        });
        let connection = graceful.watch(http.serve_connection(TokioIo::new(Box::pin(stream)), service));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended");
            }
            drop(permit);
        });
    }
    drop(listener);
    if tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish before the shutdown");
    }
}

/// A failed accept is worth a line unless it is the client's own doing.
fn report(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::error!(%error, "cannot accept connections");
    }
}
