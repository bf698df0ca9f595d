//! One upstream with its stack of layers.

use std::sync::Arc;

use tower::{Service, ServiceBuilder, ServiceExt as _, util::BoxCloneSyncService};
use ucp_record::{self as record, Stage};
use url::Url;

use super::{
    CallKind, Classifier, Clock, Counters, Failure, Lane, Random, Received, Scope, UpstreamRequest,
    breaker::{self, Circuit},
    bulkhead::{Bulkhead, ConcurrencyLimit},
    circuit::{self, CircuitBreaker, Probe},
    classifier::Classify,
    client::{Client, Setup, Timeouts},
    deadline::Deadline,
    failure::Blame,
    outbound::{Certificate, Identity, SetupError},
    policy::Enforce,
    rate::{Rate, RateLimit},
    retry::{self, Retry},
};

/// Options of an upstream. All limits are per upstream, that is per shop.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name in the log.
    pub name: String,
    /// Address at the only origin that requests are sent to.
    pub address: Url,
    /// `true` if plain http is allowed to other machines than this one.
    pub plain_http: bool,
    /// Certificates to trust beside those of the system.
    pub roots: Vec<Certificate>,
    /// Certificate that is shown to the upstream, if there is one.
    pub identity: Option<Identity>,
    /// Timeouts by kind of call.
    pub timeouts: Timeouts,
    /// Maximum size of a response body, in bytes. All concurrent calls together hold at most this times their number.
    pub max_body: usize,
    /// Retries of reads.
    pub retry: retry::Rules,
    /// Thresholds of the circuit breaker.
    pub breaker: breaker::Rules,
    /// Limit of concurrent reads of the catalog.
    pub reads: ConcurrencyLimit,
    /// Limit of concurrent calls about carts, and of those about payments and orders.
    pub writes: ConcurrencyLimit,
    /// Limit of calls per second, if there is one.
    pub rate: Option<Rate>,
}

impl Options {
    /// Returns the default options for an upstream of this name at this address.
    pub fn new(name: impl Into<String>, address: Url) -> Self {
        Self {
            name: name.into(),
            address,
            plain_http: false,
            roots: Vec::new(),
            identity: None,
            timeouts: Timeouts::default(),
            max_body: 8 << 20,
            retry: retry::Rules::default(),
            breaker: breaker::Rules::default(),
            reads: ConcurrencyLimit::of(32),
            writes: ConcurrencyLimit::of(16),
            rate: None,
        }
    }
}

/// One upstream. Clones share its state.
#[derive(Clone)]
pub struct Upstream {
    name: Arc<str>,
    stack: BoxCloneSyncService<UpstreamRequest, Received, Failure>,
    circuit: CircuitBreaker,
    counters: Arc<Counters>,
}
ucp_core::opaque!(Upstream { name });

impl Upstream {
    /// Creates an upstream that is reached over the network. Fails if the address is not that of a server, or TLS
    /// cannot be set up.
    pub fn new(
        options: &Options,
        classifier: impl Classifier,
        clock: Clock,
        random: Random,
    ) -> Result<Self, SetupError> {
        let setup = Setup {
            address: &options.address,
            plain_http: options.plain_http,
            roots: &options.roots,
            identity: options.identity.as_ref(),
            timeouts: options.timeouts,
            connections: options.reads.places.saturating_add(options.writes.places.saturating_mul(2)),
            max_body: options.max_body,
        };
        let counters = Arc::new(Counters::default());
        let client = Client::new(&setup, Arc::clone(&clock), Arc::clone(&counters))?;
        Ok(Self::assemble(options, classifier, clock, random, counters, client))
    }

    /// Creates an upstream over another transport, such as recorded answers. Limits of the client, of time between
    /// bytes and of the size of bodies, are left to that transport.
    pub fn over<T>(options: &Options, classifier: impl Classifier, clock: Clock, random: Random, transport: T) -> Self
    where
        T: Service<UpstreamRequest, Response = Received, Error = Failure> + Clone + Send + Sync + 'static,
        T::Future: Send,
    {
        Self::assemble(options, classifier, clock, random, Arc::default(), transport)
    }

    fn assemble<T>(
        options: &Options,
        classifier: impl Classifier,
        clock: Clock,
        random: Random,
        counters: Arc<Counters>,
        transport: T,
    ) -> Self
    where
        T: Service<UpstreamRequest, Response = Received, Error = Failure> + Clone + Send + Sync + 'static,
        T::Future: Send,
    {
        let name: Arc<str> = options.name.as_str().into();
        let deadline = Deadline::new(options.timeouts, &clock, &counters);
        let setup = circuit::Setup {
            rules: options.breaker,
            upstream: Arc::clone(&name),
            address: options.address.clone(),
            patience: options.timeouts.read.total,
        };
        let circuit = CircuitBreaker::new(setup, &clock, &counters);
        let bulkhead = Bulkhead::new(options.reads, options.writes, &clock, &counters);
        let rate = RateLimit::new(options.rate, &clock, &counters);
        let retry = Retry::new(options.retry, clock, random, Arc::clone(&counters));
        let stack = ServiceBuilder::new()
            .layer(Enforce(deadline))
            .layer(Enforce(retry))
            .layer(Enforce(circuit.clone()))
            .layer(Enforce(bulkhead))
            .layer(Enforce(rate))
            .layer(Enforce(Classify(Arc::new(classifier))))
            .service(transport);
        Self { name, stack: BoxCloneSyncService::new(stack), circuit, counters }
    }

    /// Sets the question by which the gateway finds out whether the upstream works. By default it asks for the address,
    /// and takes any answer from below status 500 for good. Only the first setting holds.
    pub fn probe_with(&self, request: impl Fn() -> UpstreamRequest + Send + Sync + 'static) {
        self.circuit.ask_by(Probe::Request(Box::new(request)));
    }

    /// Sets the question as [`probe_with`](Self::probe_with) does, if it is more than one request. Each of its requests
    /// states [`Author::Probe`](super::Author::Probe). The function must not hold the upstream.
    pub fn probe_by<F>(&self, ask: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        self.circuit.ask_by(Probe::Question(Box::new(move || Box::pin(ask()))));
    }

    /// Has the gateway ask its own question, because an answer that the adapter read refuses the gateway.
    pub fn suspect(&self, lane: Lane) {
        drop(self.circuit.ask(self.stack.clone(), lane, false));
    }

    /// Makes one call. Dropping the future cancels the call; what was sent stays sent. Fails if there is no answer,
    /// or the classifier takes it for a failure.
    pub async fn call(&self, mut upstream_request: UpstreamRequest) -> Result<Received, Failure> {
        self.counters.calls.add();
        let scope = Scope::current();
        upstream_request.lane = upstream_request.lane.max(scope.lane.unwrap_or(upstream_request.lane));
        if scope.outlasting && upstream_request.call_kind == CallKind::Write {
            upstream_request.call_kind = CallKind::Conclude;
        }
        let (call_kind, method) = (upstream_request.call_kind, upstream_request.method.clone());
        let result = record::during(Stage::Upstream, self.stack.clone().oneshot(upstream_request)).await;
        if let Ok(received) = &result {
            self.counters.note_date(&received.headers);
        }
        if let Err(failure) = &result {
            self.counters.failed.add();
            let upstream = &*self.name;
            match failure.blame() {
                Blame::Upstream => {
                    tracing::warn!(upstream, ?call_kind, %method, %failure, "upstream request failed");
                }
                // Not a warning: overload can cause very many of these.
                Blame::Nobody => tracing::debug!(upstream, ?call_kind, %method, %failure, "upstream request not sent"),
            }
        }
        result
    }

    /// Returns the state of the circuit breaker of a lane.
    pub fn circuit(&self, lane: Lane) -> Circuit {
        self.circuit.circuit(lane)
    }

    /// Returns the counters. An adapter adds its own events and shares them with its
    /// [`CoalescingCache`](super::CoalescingCache).
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }
}
