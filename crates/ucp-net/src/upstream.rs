//! One upstream, with everything that keeps it at a distance.

use std::{fmt, sync::Arc};

use tower::{Service, ServiceBuilder, ServiceExt as _, util::BoxCloneSyncService};
use url::Url;

use super::{
    Clock, Counters, Exchange, Failure, Judge, Random, Received,
    breaker::{self, Circuit},
    bulkhead::{Bulkhead, Room},
    circuit::Breaking,
    client::{Client, Patience, Setup},
    deadline::Deadline,
    failure::Blame,
    judge::Judged,
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
    pub patience: Patience,
    /// How many bytes of a body are read. All calls under way together hold no more than this times their places.
    pub max_body: usize,
    /// How reads are tried again.
    pub retry: retry::Rules,
    /// When the upstream is left alone.
    pub breaker: breaker::Rules,
    /// How many reads are under way at once.
    pub reads: Room,
    /// How many other calls are.
    pub writes: Room,
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
            patience: Patience::default(),
            max_body: 8 << 20,
            retry: retry::Rules::default(),
            breaker: breaker::Rules::default(),
            reads: Room::of(32),
            writes: Room::of(16),
            rate: None,
        }
    }
}

/// One upstream. Clones are the same one.
#[derive(Clone)]
pub struct Upstream {
    name: Arc<str>,
    stack: BoxCloneSyncService<Exchange, Received, Failure>,
    circuit: Breaking,
    counters: Arc<Counters>,
}

impl Upstream {
    /// An upstream that is reached over the network.
    ///
    /// # Errors
    /// When the address is none of a server's, or TLS cannot be set up.
    pub fn new(options: &Options, judge: impl Judge, clock: Clock, random: Random) -> Result<Self, SetupError> {
        let setup = Setup {
            address: &options.address,
            plain_http: options.plain_http,
            roots: &options.roots,
            patience: options.patience,
            connections: options.reads.places.saturating_add(options.writes.places),
            max_body: options.max_body,
        };
        let counters = Arc::new(Counters::default());
        let client = Client::new(&setup, Arc::clone(&clock), Arc::clone(&counters))?;
        Ok(Self::assemble(options, judge, clock, random, counters, client))
    }

    /// The same around another transport, such as recorded answers. Limits of a client's, on time between bytes and on the
    /// size of bodies, are up to it.
    pub fn over<T>(options: &Options, judge: impl Judge, clock: Clock, random: Random, transport: T) -> Self
    where
        T: Service<Exchange, Response = Received, Error = Failure> + Clone + Send + Sync + 'static,
        T::Future: Send,
    {
        Self::assemble(options, judge, clock, random, Arc::default(), transport)
    }

    fn assemble<T>(
        options: &Options,
        judge: impl Judge,
        clock: Clock,
        random: Random,
        counters: Arc<Counters>,
        transport: T,
    ) -> Self
    where
        T: Service<Exchange, Response = Received, Error = Failure> + Clone + Send + Sync + 'static,
        T::Future: Send,
    {
        let name: Arc<str> = options.name.as_str().into();
        let deadline = Deadline::new(options.patience, &clock, &counters);
        let circuit = Breaking::new(options.breaker, Arc::clone(&name), &clock, &counters);
        let bulkhead = Bulkhead::new(options.reads, options.writes, &clock, &counters);
        let rate = RateLimit::new(options.rate, &clock, &counters);
        let retry = Retry::new(options.retry, clock, random, Arc::clone(&counters));
        let stack = ServiceBuilder::new()
            .layer(deadline)
            .layer(retry)
            .layer(circuit.clone())
            .layer(bulkhead)
            .layer(rate)
            .layer(Judged(Arc::new(judge)))
            .service(transport);
        Self { name, stack: BoxCloneSyncService::new(stack), circuit, counters }
    }

    /// Makes one call. Whoever drops it gives it up; what was sent is sent.
    ///
    /// # Errors
    /// When there is no answer that the judge takes for one.
    pub async fn call(&self, exchange: Exchange) -> Result<Received, Failure> {
        self.counters.calls.add();
        let (effort, method) = (exchange.effort, exchange.method.clone());
        let result = self.stack.clone().oneshot(exchange).await;
        if let Err(failure) = &result {
            self.counters.failed.add();
            let upstream = &*self.name;
            match failure.blame() {
                Blame::Upstream => {
                    tracing::warn!(upstream, ?effort, %method, %failure, "a call to the upstream failed");
                }
                // There may be very many of these.
                Blame::Nobody => tracing::debug!(upstream, ?effort, %method, %failure, "a call was not made"),
            }
        }
        result
    }

    /// What its circuit does with calls now.
    #[must_use]
    pub fn circuit(&self) -> Circuit {
        self.circuit.circuit()
    }

    /// What happened. An adapter counts here too, and hands it to its [`CoalescingCache`](super::CoalescingCache) reads.
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
