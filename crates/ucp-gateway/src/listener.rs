//! The accept loop of a listener.
//!
//! A header must arrive in time, an idle connection is closed, a client that stops reading is disconnected, the number
//! of connections is limited, and a shutdown lets running requests finish. `axum::serve` is not used because it sets no
//! timers: a client that sends half a header would hold its connection forever.

mod connection;

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

use self::connection::{Activity, Answer, MAX_HEAD, Transport};

/// Maximum time until a request header is complete, and maximum idle time of a connection between requests.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);

/// Maximum time for which a client may accept no data of a response.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Time that running requests have to finish after a shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Pause after a failed accept, for example because file descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves `listener` until `shutdown` completes, then waits up to [`DRAIN_TIMEOUT`] for running requests. `route`
/// returns the router that answers a request. At most `max_connections` connections are open at a time.
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
        // Acquired before accepting: clients beyond the limit wait in the kernel's queue.
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
        let activity = Activity::default();
        let transport = Transport { stream: Box::pin(stream), activity: activity.clone(), refusal: Default::default() };
        let service = service_fn(move |mut request: Request<Incoming>| {
            let answering = activity.begin();
            request.extensions_mut().insert(Peer(address.ip()));
            let answer = route(&request).oneshot(request.map(Body::new));
            async move { answer.await.map(|answer| answer.map(|body| Answer { body, _answering: answering })) }
        });
        let connection = graceful.watch(http.serve_connection(TokioIo::new(transport), service));
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

/// Logs a failed accept, unless the client itself aborted the connection.
fn report(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::error!(%error, "cannot accept connections");
    }
}
