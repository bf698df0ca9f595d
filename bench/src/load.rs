//! The load generator: keep-alive HTTP/1.1 connections over plain TCP.
//!
//! It shares two cores with the server that it loads, so it does as little as possible: requests are bytes made before,
//! answers are read only as far as their length, and everything runs on one thread.

use std::{
    cell::{Cell, RefCell},
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{TryStreamExt as _, stream::FuturesUnordered};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::Semaphore,
};

use crate::{Done, scenario::Scenario, server::Server};

/// A server, what it is asked, and over how many connections.
pub(crate) struct Load<'a> {
    pub(crate) server: &'a Server,
    pub(crate) scenario: &'a Scenario,
    pub(crate) connections: usize,
}

/// Result of loading a server for a while.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) elapsed: Duration,
    /// The processor time of the server.
    pub(crate) cpu: Duration,
    /// Latency of each request, with its kind.
    pub(crate) latencies: Vec<(usize, Duration)>,
    /// The bodies of all answers together.
    pub(crate) bytes: u64,
    /// The status of each answer, in the order of the latencies.
    pub(crate) statuses: Vec<u16>,
}

/// Responses that count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answers {
    /// The expected response.
    Good,
    /// The expected response, or a rejection because of the load.
    Limited,
}

impl Run {
    pub(crate) fn requests(&self) -> f64 {
        u32::try_from(self.latencies.len()).map_or(f64::MAX, f64::from)
    }

    /// Requests per second.
    pub(crate) fn rate(&self) -> f64 {
        self.requests() / self.elapsed.as_secs_f64()
    }

    /// The share of requests that were turned away.
    pub(crate) fn refused_share(&self) -> f64 {
        let refused = self.statuses.iter().filter(|status| !is_good(**status)).count();
        u32::try_from(refused).map_or(f64::MAX, f64::from) / self.requests()
    }

    /// Seconds of the server's processor time.
    pub(crate) fn cpu_per_request(&self) -> f64 {
        self.cpu.as_secs_f64() / self.requests()
    }
}

impl Load<'_> {
    /// Each connection sends its next request as soon as it has the answer to the last one.
    pub(crate) async fn closed(&self, duration: Duration) -> Done<Run> {
        let deadline = Instant::now() + duration;
        let next = async || {
            let now = Instant::now();
            (now < deadline).then_some(now)
        };
        self.run(next, Answers::Good).await
    }

    /// The same, until each request of the scenario was sent once.
    pub(crate) async fn once(&self) -> Done<Run> {
        let left = Cell::new(self.scenario.requests.len());
        let next = async || {
            left.set(left.get().checked_sub(1)?);
            Some(Instant::now())
        };
        self.run(next, Answers::Good).await
    }

    /// Requests are due at a fixed rate, whether or not the server keeps up, and each is timed from when it was due: a
    /// stall of the server counts for all the requests that it held up.
    pub(crate) async fn paced(&self, rate: f64, duration: Duration) -> Done<Run> {
        self.at_rate(rate, duration, Answers::Good).await
    }

    /// The same, by somebody who does not mind being turned away.
    pub(crate) async fn flood(&self, rate: f64, duration: Duration) -> Done<Run> {
        self.at_rate(rate, duration, Answers::Limited).await
    }

    async fn at_rate(&self, rate: f64, duration: Duration, answers: Answers) -> Done<Run> {
        let interval = Duration::from_secs_f64(1.0 / rate.max(1.0));
        let start = Instant::now() + Duration::from_millis(20);
        let count = (duration.as_nanos() / interval.as_nanos().max(1)).try_into().unwrap_or(u32::MAX);
        let due = Arc::new(Semaphore::new(0));
        // A thread of its own, because the runtime's timer knows only milliseconds.
        let pacer = std::thread::spawn({
            let due = Arc::clone(&due);
            move || {
                for number in 0..count {
                    let wait = (start + interval * number).saturating_duration_since(Instant::now());
                    if !wait.is_zero() {
                        std::thread::sleep(wait);
                    }
                    due.add_permits(1);
                }
            }
        });
        let number = Cell::new(0);
        let next = async || {
            let number = number.replace(number.get() + 1);
            if number >= count {
                return None;
            }
            due.acquire().await.ok()?.forget();
            Some(start + interval * number)
        };
        let run = self.run(next, answers).await;
        pacer.join().map_err(|_| "the pacer failed")?;
        run
    }

    /// Sends requests on all connections; `when` says from when the next one counts, or that there is none.
    async fn run(&self, when: impl AsyncFn() -> Option<Instant>, answers: Answers) -> Done<Run> {
        let mut connections = Vec::new();
        for _ in 0..self.connections {
            connections.push(Connection::open(self.server.address).await?);
        }
        let run = RefCell::new(Run::default());
        let turn = Cell::new(0);
        let (cpu, start) = (self.server.cpu()?, Instant::now());
        let each = connections.into_iter().map(|mut connection| {
            let (run, turn, when) = (&run, &turn, &when);
            async move {
                while let Some(since) = when().await {
                    let request = &self.scenario.requests[turn.replace(turn.get() + 1) % self.scenario.requests.len()];
                    let head = connection.exchange(&request.bytes).await?;
                    if answers == Answers::Good {
                        connection.check(&head)?;
                    }
                    let mut run = run.borrow_mut();
                    run.bytes += head.body as u64;
                    run.statuses.push(head.status);
                    run.latencies.push((request.kind, since.elapsed()));
                }
                Done::Ok(())
            }
        });
        each.collect::<FuturesUnordered<_>>().try_collect::<()>().await?;
        let mut run = run.into_inner();
        (run.elapsed, run.cpu) = (start.elapsed(), self.server.cpu()?.saturating_sub(cpu));
        if run.latencies.is_empty() {
            return Err("no request was answered in time".into());
        }
        Ok(run)
    }
}

/// A connection that is kept.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Done<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; 64 << 10] })
    }

    /// Sends a request and reads its answer.
    async fn exchange(&mut self, request: &[u8]) -> Done<Head> {
        self.stream.write_all(request).await?;
        let (mut filled, mut head) = (0, None);
        loop {
            let read = self.stream.read(&mut self.buffer[filled..]).await?;
            if read == 0 {
                return Err("the server closed a connection".into());
            }
            filled += read;
            if head.is_none() {
                head = Head::read(&self.buffer[..filled])?;
            }
            match head {
                Some(head) if filled >= head.whole() => return Ok(head),
                Some(head) if self.buffer.len() < head.whole() => self.buffer.resize(head.whole(), 0),
                None if filled == self.buffer.len() => return Err("an answer's header is too long".into()),
                _ => {}
            }
        }
    }

    /// The body of the answer to a request.
    pub(crate) async fn body(&mut self, request: &[u8]) -> Done<Vec<u8>> {
        let head = self.exchange(request).await?;
        self.check(&head)?;
        Ok(self.buffer[head.length..head.whole()].to_vec())
    }

    /// Returns `true` if the answer that was just read is a good one.
    fn check(&self, head: &Head) -> Done<()> {
        if is_good(head.status) {
            return Ok(());
        }
        Err(format!("an answer is not what it should be:\n{}", String::from_utf8_lossy(&self.buffer[..head.whole()]))
            .into())
    }
}

/// The beginning of an answer: its status, and the lengths of its parts.
#[derive(Clone, Copy)]
struct Head {
    status: u16,
    length: usize,
    body: usize,
}

/// Returns `true` if an answer of this status is the one that was asked for, or tells that something was made.
pub(crate) const fn is_good(status: u16) -> bool {
    matches!(status, 200 | 201)
}

impl Head {
    fn whole(&self) -> usize {
        self.length + self.body
    }

    /// Reads the head of an answer, if it is there as a whole.
    fn read(bytes: &[u8]) -> Done<Option<Self>> {
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            return Ok(None);
        };
        let head = std::str::from_utf8(&bytes[..end])?;
        let status = head.split(' ').nth(1).ok_or("an answer without a status")?.parse()?;
        let length = head
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .ok_or("an answer without a length")?;
        Ok(Some(Self { status, length: end + 4, body: length.1.trim().parse()? }))
    }
}
