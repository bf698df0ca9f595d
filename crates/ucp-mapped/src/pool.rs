//! Runs programs in child processes, and survives what they do.
//!
//! | a program that | ends |
//! | :-- | :-- |
//! | does not end | by the [budget](Limits::budget): its process is killed |
//! | takes too much memory or stack | with its process, by the bound on it |
//! | yields too much | with an error, by the [size](Limits::value) of values |
//!
//! After three such ends in a row a program is refused for a minute, so that it cannot keep the machine busy with
//! starting processes. Programs change nothing, so that one whose process turns out to have died before is run again.

use std::{
    io,
    os::unix::net::UnixStream as Socket,
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    process::Child,
    sync::Semaphore,
    time::{Instant, timeout},
};

use super::{
    program::{Stopped, Thrown},
    worker::{self, MAX_FRAME, Programs, Request},
};

/// Ends by force in a row after which a program is refused.
const STRIKES: u32 = 3;

/// Time for which it is refused.
const PAUSE: Duration = Duration::from_secs(60);

/// Bounds of programs.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time of one run, waiting for a process included.
    pub budget: Duration,
    /// Size of a value in bytes.
    pub value: usize,
    /// Number of processes.
    pub processes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { budget: Duration::from_secs(2), value: 8 << 20, processes: 2 }
    }
}

/// Command that starts a process which calls [`worker::serve`]. Its standard input is set here.
pub type Launch = Arc<dyn Fn() -> Command + Send + Sync>;

/// A program in a [`Pool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramId(pub(super) usize);

/// Text of a program, with what it is called in messages and the variables that it may name.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Place in the file, such as `find.answer`.
    pub label: String,
    /// Text.
    pub code: String,
    /// Names of variables, with their `$`.
    pub variables: Vec<String>,
}

/// Failure of a run. The texts complete "`find.answer` …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRun {
    /// Time is up.
    #[error("did not end within {0:?}")]
    Late(Duration),
    /// The process of the program died.
    #[error("took more memory or stack than programs may")]
    Died,
    /// It was ended by force too often.
    #[error("is not run for a while: it was ended by force {STRIKES} times in a row")]
    Refused,
    /// No process is free.
    #[error("was not run: too many programs are running")]
    Saturated,
    /// No process can be started, or what it says cannot be read.
    #[error("was not run: its process cannot be used ({0})")]
    Process(String),
    /// Its input is larger than a frame of the worker may be.
    #[error("was not run: its input is larger than {MAX_FRAME} bytes")]
    Input,
}

/// Value of a program as JSON, or the reason why there is none.
pub type Value = Result<Vec<u8>, NoValue>;

/// Reason why a program has no value. The texts complete "`find.answer` …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoValue {
    /// It yields nothing.
    #[error("yields nothing")]
    Empty,
    /// It failed.
    #[error("failed: {text}")]
    Failed {
        /// Reason, which may quote the input, and with it data of buyers.
        text: String,
        /// The same without anything of the input.
        rule: String,
    },
    /// The value cannot be used. The text names its member and quotes nothing.
    #[error("yields a value that cannot be used: {0}")]
    Unusable(String),
}

impl NoValue {
    /// Returns the reason without anything of the input.
    pub(super) fn rule(&self) -> String {
        match self {
            Self::Failed { rule, .. } => format!("failed: {rule}"),
            other => other.to_string(),
        }
    }
}

/// Processes for the programs of one mapping.
pub struct Pool {
    listed: Vec<Listed>,
    first: Vec<u8>,
    launch: Launch,
    limits: Limits,
    places: Semaphore,
    idle: Mutex<Vec<Worker>>,
    strikes: Mutex<Vec<Strikes>>,
}
ucp_core::opaque!(Pool { limits });

#[derive(Clone, Copy, Default)]
struct Strikes {
    in_a_row: u32,
    refused_until: Option<Instant>,
}

struct Worker {
    /// Killed when it is dropped.
    _child: Child,
    socket: UnixStream,
}

impl Pool {
    /// Creates a pool. Processes are started when they are needed, within a Tokio runtime.
    pub fn new(listed: Vec<Listed>, launch: Launch, limits: Limits) -> Self {
        let programs = listed.iter().map(|listed| (listed.code.clone(), listed.variables.clone())).collect();
        let first = serde_json::to_vec(&Programs { programs, limit: limits.value }).unwrap_or_default();
        let strikes = Mutex::new(vec![Strikes::default(); listed.len()]);
        Self {
            listed,
            first,
            launch,
            limits,
            places: Semaphore::new(limits.processes),
            idle: Mutex::default(),
            strikes,
        }
    }

    /// Returns the name of a program in messages.
    pub fn label(&self, program: ProgramId) -> &str {
        &self.listed[program.0].label
    }

    /// Returns the number of variables that a program knows.
    pub(super) fn variables(&self, program: ProgramId) -> usize {
        self.listed[program.0].variables.len()
    }

    /// Runs a program once for each input, all JSON, with the values of its variables in their order. Fails with
    /// [`NotRun`], for all inputs together.
    pub async fn run(&self, program: ProgramId, variables: &[&[u8]], inputs: &[&[u8]]) -> Result<Vec<Value>, NotRun> {
        if inputs.is_empty() {
            return Ok(Vec::new());
        }
        if self.strikes(program).refused_until.is_some_and(|until| Instant::now() < until) {
            return Err(NotRun::Refused);
        }
        let frame = Request { program: program.0, variables: variables.to_vec(), inputs: inputs.to_vec() }.encode();
        if frame.len() > MAX_FRAME {
            return Err(NotRun::Input);
        }
        let budget = self.limits.budget;
        let Ok(place) = timeout(budget, self.places.acquire()).await else { return Err(NotRun::Saturated) };
        let _place = place.map_err(|_| NotRun::Saturated)?;
        let ran = match timeout(budget, self.run_somewhere(&frame, inputs.len())).await {
            Ok(ran) => ran,
            Err(_) => Err(NotRun::Late(budget)),
        };
        self.count(program, &ran);
        ran
    }

    async fn run_somewhere(&self, frame: &[u8], count: usize) -> Result<Vec<Value>, NotRun> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(worker) = idle
            && let Ok(values) = self.run_in(worker, frame, count).await
        {
            return Ok(values);
        }
        let worker = self.start().await.map_err(|error| NotRun::Process(error.to_string()))?;
        self.run_in(worker, frame, count).await
    }

    /// Runs in a process, which is dropped, and so killed, unless it answers.
    async fn run_in(&self, mut worker: Worker, frame: &[u8], count: usize) -> Result<Vec<Value>, NotRun> {
        let answer = worker.ask(frame).await.map_err(|_| NotRun::Died)?;
        let all = worker::decode(&answer, count).map_err(|_| NotRun::Process("it answers nonsense".to_owned()))?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        let value = |ran: worker::Ran| {
            ran.map_err(|stopped| match stopped {
                Stopped::Empty => NoValue::Empty,
                Stopped::Error(Thrown { text, rule }) => NoValue::Failed { text, rule },
                Stopped::Unusable(text) => NoValue::Unusable(text),
            })
        };
        Ok(all.into_iter().map(value).collect())
    }

    async fn start(&self) -> io::Result<Worker> {
        let (ours, theirs) = Socket::pair()?;
        ours.set_nonblocking(true)?;
        let mut command = tokio::process::Command::from((self.launch)());
        command
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .kill_on_drop(true);
        let mut worker = Worker { _child: command.spawn()?, socket: UnixStream::from_std(ours)? };
        worker.send(&self.first).await?;
        Ok(worker)
    }

    fn strikes(&self, program: ProgramId) -> Strikes {
        self.strikes.lock().unwrap_or_else(PoisonError::into_inner)[program.0]
    }

    fn count(&self, program: ProgramId, ran: &Result<Vec<Value>, NotRun>) {
        let mut all = self.strikes.lock().unwrap_or_else(PoisonError::into_inner);
        let strikes = &mut all[program.0];
        match ran {
            Err(not_run @ (NotRun::Late(_) | NotRun::Died)) => {
                tracing::error!(program = self.label(program), reason = %not_run, "mapping program killed at its time limit");
                strikes.in_a_row += 1;
                if strikes.in_a_row >= STRIKES {
                    *strikes = Strikes { in_a_row: 0, refused_until: Some(Instant::now() + PAUSE) };
                }
            }
            Err(_) => {}
            Ok(_) => *strikes = Strikes::default(),
        }
    }
}

impl Worker {
    async fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        let length = u32::try_from(frame.len()).map_err(|_| io::ErrorKind::InvalidData)?;
        self.socket.write_all(&length.to_be_bytes()).await?;
        self.socket.write_all(frame).await
    }

    async fn ask(&mut self, frame: &[u8]) -> io::Result<Vec<u8>> {
        self.send(frame).await?;
        let length = self.socket.read_u32().await? as usize;
        if length > MAX_FRAME {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut answer = vec![0; length];
        self.socket.read_exact(&mut answer).await?;
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The process of the other tests: they run this binary again with nothing but this.
    #[test]
    #[ignore = "is the process in which the programs of the other tests run"]
    fn process() {
        let _ = worker::serve();
    }

    fn pool(codes: &[&str], limits: Limits) -> Pool {
        let listed = |code: &&str| Listed {
            label: format!("test.{}", &code[..code.len().min(12)]),
            code: (*code).to_owned(),
            variables: vec!["$question".to_owned()],
        };
        let launch = || {
            let mut command = Command::new(std::env::current_exe().expect("this binary"));
            command.args(["--exact", "pool::tests::process", "--ignored"]);
            command
        };
        Pool::new(codes.iter().map(listed).collect(), Arc::new(launch), limits)
    }

    const PATIENT: Limits = Limits { budget: Duration::from_secs(60), value: 1 << 20, processes: 2 };

    async fn one(pool: &Pool, program: usize, input: &str) -> Result<Value, NotRun> {
        let mut values = pool.run(ProgramId(program), &[b"{}"], &[input.as_bytes()]).await?;
        Ok(values.remove(0))
    }

    #[tokio::test]
    async fn programs_run_in_another_process() {
        let pool =
            pool(&["[., $question]", "if . > 1 then error(\"too large\") elif . == 1 then empty else . end"], PATIENT);
        let values = pool.run(ProgramId(0), &[br#"{"a":1}"#], &[b"1", b"\"\xc3\xa9\""]).await.expect("runs");
        assert_eq!(values, [Ok(br#"[1,{"a":1}]"#.to_vec()), Ok("[\"é\",{\"a\":1}]".as_bytes().to_vec())]);
        let values = pool.run(ProgramId(1), &[b"0"], &[b"0", b"1", b"2"]).await.expect("runs");
        let failed = NoValue::Failed { text: "too large".to_owned(), rule: "too large".to_owned() };
        assert_eq!(values, [Ok(b"0".to_vec()), Err(NoValue::Empty), Err(failed)]);
        assert_eq!(pool.run(ProgramId(0), &[b"1"], &[]).await, Ok(Vec::new()));
        assert_eq!(pool.idle.lock().expect("a lock").len(), 1, "one process was enough");
    }

    #[tokio::test]
    async fn a_program_that_takes_too_much_takes_nobody_with_it() {
        let deadly = [
            "[range(1e12)]",
            "\"x\" * 1000000000000",
            "reduce range(1000000000) as $i (\"x\"; . + .)",
            "reduce range(10000000) as $i (null; [.])",
        ];
        for code in deadly {
            let pool = pool(&[code, "."], PATIENT);
            assert_eq!(one(&pool, 0, "null").await, Err(NotRun::Died), "{code}");
            assert_eq!(one(&pool, 1, "7").await, Ok(Ok(b"7".to_vec())), "after {code}");
        }
    }

    #[tokio::test]
    async fn a_program_that_does_not_end_is_ended_and_then_refused() {
        let pool = pool(&["last(range(1e18))", "."], Limits { budget: Duration::from_secs(1), ..PATIENT });
        let late = Err(NotRun::Late(Duration::from_secs(1)));
        for _ in 0..STRIKES {
            assert_eq!(one(&pool, 0, "null").await, late);
        }
        assert_eq!(one(&pool, 0, "null").await, Err(NotRun::Refused));
        let patient = super::tests::pool(&["."], PATIENT);
        assert_eq!(one(&patient, 0, "7").await, Ok(Ok(b"7".to_vec())));
    }

    #[tokio::test]
    async fn a_process_that_died_in_the_meantime_is_replaced() {
        let pool = pool(&["."], PATIENT);
        assert_eq!(one(&pool, 0, "1").await, Ok(Ok(b"1".to_vec())));
        let mut worker = pool.idle.lock().expect("a lock").pop().expect("a process");
        worker._child.kill().await.expect("killed");
        pool.idle.lock().expect("a lock").push(worker);
        assert_eq!(one(&pool, 0, "2").await, Ok(Ok(b"2".to_vec())));
    }

    #[tokio::test]
    async fn a_process_ends_with_its_parent() {
        let pool = pool(&["last(range(1e18))"], PATIENT);
        let Worker { mut _child, socket } = pool.start().await.expect("starts");
        drop(socket);
        let ended =
            timeout(Duration::from_secs(60), _child.wait()).await.expect("the process ends when its parent hangs up");
        assert!(ended.is_ok());
    }

    #[tokio::test]
    async fn a_process_sees_no_environment() {
        let pool = pool(&["."], PATIENT);
        let worker = pool.start().await.expect("starts");
        let id = worker._child.id().expect("runs");
        assert_eq!(std::fs::read(format!("/proc/{id}/environ")).expect("Linux"), b"");
    }

    #[tokio::test]
    async fn a_command_that_is_no_worker_is_reported() {
        let nothing: Launch = Arc::new(|| Command::new("/nowhere/worker"));
        let listed = Listed { label: "x".to_owned(), code: ".".to_owned(), variables: Vec::new() };
        let pool = Pool::new(vec![listed], nothing, PATIENT);
        assert!(matches!(pool.run(ProgramId(0), &[], &[b"1"]).await, Err(NotRun::Process(_))));
    }
}
