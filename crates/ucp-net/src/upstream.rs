//! One upstream, with everything that keeps it at a distance.

use std::{fmt, sync::Arc};

use tower::{Service, ServiceBuilder, ServiceExt as _, util::BoxCloneSyncService};
use url::Url;

use super::{
    Classifier, Clock, Counters, Failure, Random, Received, UpstreamRequest,
    breaker::{self, Circuit},
    bulkhead::{Bulkhead, ConcurrencyLimit},
    circuit::CircuitBreaker,
    classifier::Classify,
    client::{Client, Setup, Timeouts},
    deadline::Deadline,
    failure::Blame,
    outbound::{Certificate, SetupError},
    rate::{Rate, RateLimit},
    retry::{self, Retry},
};

/// How an upstream is called. Everything counts per upstream, which is one shop.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the log calls it.
    pub name: String,
    /// An address at the only origin that requests go to.
    pub address: Url,
    /// Whether it may be http to another machine than this one.
    pub plain_http: bool,
    /// Certificates to trust beside those of the system.
    pub roots: Vec<Certificate>,
    /// How long is waited.
    pub timeouts: Timeouts,
    /// How many bytes of a body are read. All calls under way together hold no more than this times their places.
    pub max_body: usize,
    /// How reads are tried again.
    pub retry: retry::Rules,
    /// When the upstream is left alone.
    pub breaker: breaker::Rules,
    /// How many reads are under way at once.
    pub reads: ConcurrencyLimit,
    /// How many other calls are.
    pub writes: ConcurrencyLimit,
    /// How many calls begin per second, if there is a limit.
    pub rate: Option<Rate>,
}

impl Options {
    /// The usual options for an upstream of this name, at this address.
    #[must_use]
    pub fn new(name: impl Into<String>, address: Url) -> Self {
        Self {
            name: name.into(),
            address,
            plain_http: false,
            roots: Vec::new(),
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

/// One upstream. Clones are the same one.
#[derive(Clone)]
pub struct Upstream {
    name: Arc<str>,
    stack: BoxCloneSyncService<UpstreamRequest, Received, Failure>,
    circuit: CircuitBreaker,
    counters: Arc<Counters>,
}

impl Upstream {
    /// An upstream that is reached over the network.
    ///
    /// # Errors
    /// When the address is none of a server's, or TLS cannot be set up.
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
            timeouts: options.timeouts,
            connections: options.reads.places.saturating_add(options.writes.places),
            max_body: options.max_body,
        };
        let counters = Arc::new(Counters::default());
        let client = Client::new(&setup, Arc::clone(&clock), Arc::clone(&counters))?;
        Ok(Self::assemble(options, classifier, clock, random, counters, client))
    }

    /// The same around another transport, such as recorded answers. Limits of a client's, on time between bytes and on
    /// the size of bodies, are up to it.
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
        let circuit = CircuitBreaker::new(options.breaker, Arc::clone(&name), &clock, &counters);
        let bulkhead = Bulkhead::new(options.reads, options.writes, &clock, &counters);
        let rate = RateLimit::new(options.rate, &clock, &counters);
        let retry = Retry::new(options.retry, clock, random, Arc::clone(&counters));
        let stack = ServiceBuilder::new()
            .layer(deadline)
            .layer(retry)
            .layer(circuit.clone())
            .layer(bulkhead)
            .layer(rate)
            .layer(Classify(Arc::new(classifier)))
            .service(transport);
        Self { name, stack: BoxCloneSyncService::new(stack), circuit, counters }
    }

    /// Makes one call. Whoever drops it gives it up; what was sent is sent.
    ///
    /// # Errors
    /// When there is no answer that the judge takes for one.
    pub async fn call(&self, upstream_request: UpstreamRequest) -> Result<Received, Failure> {
        self.counters.calls.add();
        let (call_kind, method) = (upstream_request.call_kind, upstream_request.method.clone());
        let result = self.stack.clone().oneshot(upstream_request).await;
        if let Err(failure) = &result {
            self.counters.failed.add();
            let upstream = &*self.name;
            match failure.blame() {
                Blame::Upstream => {
                    tracing::warn!(upstream, ?call_kind, %method, %failure, "a call to the upstream failed");
                }
                // There may be very many of these.
                Blame::Nobody => tracing::debug!(upstream, ?call_kind, %method, %failure, "a call was not made"),
            }
        }
        result
    }

    /// What its circuit does with calls now.
    #[must_use]
    pub fn circuit(&self) -> Circuit {
        self.circuit.circuit()
    }

    /// What happened. An adapter counts here too, and hands it to its [`CoalescingCache`](super::CoalescingCache)
    /// reads.
    #[must_use]
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream").field("name", &self.name).finish_non_exhaustive()
    }
}
