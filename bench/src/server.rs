//! Servers as child processes.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    Done,
    scenario::{PLATFORM, post_as},
};

/// Maximum time until a server is up; a large catalog has to be indexed first.
const PATIENCE: Duration = Duration::from_secs(300);

/// Maximum time until a server stops that was told to.
const FAREWELL: Duration = Duration::from_secs(5);

/// Ticks per second in `/proc`, on every architecture that Rust's standard library knows.
const TICKS: u32 = 100;

/// A running server. It stops when this is dropped.
pub(crate) struct Server {
    child: Child,
    /// Held, because a server may fail when nobody reads what it prints.
    output: Option<BufReader<ChildStdout>>,
    /// Command that stops it along with the processes that it has started, if it starts any.
    stop: Option<Command>,
    pub(crate) address: SocketAddr,
    /// Time from the start of the process to the first response.
    pub(crate) started: Duration,
}

/// Memory of a process, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    /// All that is resident, mapped files included.
    pub(crate) resident: u64,
    /// The most that ever was.
    pub(crate) peak: u64,
    /// Memory of its own, which could not be read from a file again.
    pub(crate) anonymous: u64,
}

/// The file that all servers log to.
fn log() -> PathBuf {
    std::env::temp_dir().join(format!("bench-{}.log", std::process::id()))
}

impl Server {
    /// The gateway on a data directory.
    pub(crate) fn gateway(executable: &Path, data: &Path) -> Done<Self> {
        Self::start(&mut serve(executable, data), PLATFORM)
    }

    /// The same with a configuration, under which a platform with this profile is served.
    pub(crate) fn configured(executable: &Path, data: &Path, config: &str, profile: &str) -> Done<Self> {
        fs::create_dir_all(data)?;
        let file = data.join("gateway.toml");
        fs::write(&file, config)?;
        Self::start(serve(executable, data).arg("--config").arg(file), profile)
    }

    /// The bare handler.
    pub(crate) fn bare(answer: &Path) -> Done<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("bare").arg(answer);
        Self::start(&mut command, PLATFORM)
    }

    /// The gateway in front of a shop elsewhere, which speaks what this backend asks, with a configuration.
    pub(crate) fn fronting(
        executable: &Path,
        data: &Path,
        backend: &str,
        upstream: SocketAddr,
        config: &str,
    ) -> Done<Self> {
        fs::create_dir_all(data)?;
        let file = data.join("gateway.toml");
        fs::write(&file, config)?;
        let mut command = serve(executable, data);
        command.arg("--config").arg(file).args(["--backend", backend, "--upstream-url"]);
        Self::start(command.arg(format!("http://{upstream}")), PLATFORM)
    }

    /// The shop to stand in front of, which has nothing but products like one that a gateway answered with.
    pub(crate) fn upstream(answer: &Path, id: &str) -> Done<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("upstream").arg(answer).arg(id);
        Self::start(&mut command, PLATFORM)
    }

    /// A program that listens where it was told to, and is stopped by another.
    pub(crate) fn at(command: &mut Command, address: SocketAddr, stop: Command) -> Done<Self> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let server = Self { child, output: None, stop: Some(stop), address, started: Duration::default() };
        server.up(PLATFORM)
    }

    fn start(command: &mut Command, profile: &str) -> Done<Self> {
        let start = Instant::now();
        // Gateways log every call, as in production.
        let log = fs::OpenOptions::new().create(true).append(true).open(log())?;
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn()?;
        let output = child.stdout.take().map(BufReader::new);
        // Made before anything can fail, so that the process is stopped whatever happens.
        let mut server =
            Self { child, output, stop: None, address: ([127, 0, 0, 1], 0).into(), started: Duration::default() };
        server.address = server.announced()?;
        let mut server = server.up(profile)?;
        server.started = start.elapsed();
        Ok(server)
    }

    /// The same, once it answers.
    fn up(mut self, profile: &str) -> Done<Self> {
        let start = Instant::now();
        while !answers(self.address, profile) {
            if let Some(status) = self.child.try_wait()? {
                return Err(format!("a server stopped before it answered ({status}); see {}", log().display()).into());
            }
            if start.elapsed() > PATIENCE {
                return Err("a server does not answer".into());
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(self)
    }

    /// The address that the server prints.
    fn announced(&mut self) -> Done<SocketAddr> {
        let output = self.output.as_mut().ok_or("a server without output")?;
        let mut line = String::new();
        loop {
            line.clear();
            if output.read_line(&mut line)? == 0 {
                return Err(format!("a server stopped before it said where it listens; see {}", log().display()).into());
            }
            // Of several shops, the line about the listener.
            let told = ["REST", "listens"].iter().find_map(|label| line.split_once(label));
            if let Some((_, address)) = told.and_then(|(_, rest)| rest.split_once("http://")) {
                return Ok(address.trim().parse()?);
            }
        }
    }

    /// The processor time of the process and of those that it has started, so far.
    pub(crate) fn cpu(&self) -> Done<Duration> {
        let own = self.child.id();
        let workers = fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
        let own = processor_time(&own.to_string())?;
        workers.split_whitespace().try_fold(own, |sum, worker| Ok(sum + processor_time(worker)?))
    }

    /// Returns the number of open file descriptors of the process.
    pub(crate) fn descriptors(&self) -> Done<usize> {
        Ok(fs::read_dir(format!("/proc/{}/fd", self.child.id()))?.count())
    }

    pub(crate) fn memory(&self) -> Done<Memory> {
        Memory::of(self.child.id())
    }
}

impl Memory {
    /// Memory of a process.
    pub(crate) fn of(process: u32) -> Done<Self> {
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let of = |name: &str| -> Done<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("an unreadable status")?;
            let kilobytes: u64 = line.trim_start_matches(':').trim().trim_end_matches(" kB").parse()?;
            Ok(kilobytes << 10)
        };
        Ok(Self { resident: of("VmRSS")?, peak: of("VmHWM")?, anonymous: of("RssAnon")? })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut stop) = self.stop.take() {
            let told = stop.stdout(Stdio::null()).stderr(Stdio::null()).status();
            let start = Instant::now();
            while told.is_ok() && matches!(self.child.try_wait(), Ok(None)) && start.elapsed() < FAREWELL {
                thread::sleep(Duration::from_millis(5));
            }
        }
        // One that has stopped already needs no stopping.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn serve(executable: &Path, data: &Path) -> Command {
    let mut command = Command::new(executable);
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data);
    command
}

/// The processor time of a process so far; of this one it is `self`.
pub(crate) fn processor_time(process: &str) -> Done<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name of the program, in parentheses, may hold anything.
    let (_, fields) = stat.rsplit_once(')').ok_or("an unreadable stat")?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || -> Done<u32> { Ok(fields.next().ok_or("an unreadable stat")?.parse()?) };
    Ok(Duration::from_secs(1) * (ticks()? + ticks()?) / TICKS)
}

/// The processor time of an operation in this process, in seconds, when all cores do nothing else.
pub(crate) fn cost(duration: Duration, operation: impl Fn() -> bool + Sync) -> Done<f64> {
    let cores = thread::available_parallelism()?.get();
    let (before, start) = (processor_time("self")?, Instant::now());
    let work = || {
        let mut times = 0_u32;
        while start.elapsed() < duration && operation() {
            times += 1;
        }
        times
    };
    let times = thread::scope(|scope| -> Option<u32> {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().ok()).sum()
    });
    let spent = processor_time("self")?.saturating_sub(before);
    Ok(spent.as_secs_f64() / f64::from(times.filter(|times| *times > 0).ok_or("an operation failed")?))
}

/// Returns `true` if a server answers a search of this platform, or whatever it answers.
fn answers(address: SocketAddr, profile: &str) -> bool {
    let body = r#"{"query":"shoes"}"#;
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.write_all(post_as(profile, "/catalog/search", body).as_slice())?;
        let mut start = [0; 12];
        stream.read_exact(&mut start)?;
        Ok(start == *b"HTTP/1.1 200")
    };
    ask().unwrap_or(false)
}

/// Makes a key that the gateway on a data directory signs with.
pub(crate) fn generate_key(gateway: &Path, data: &Path) -> Done<()> {
    let mut command = Command::new(gateway);
    let status = command.args(["keys", "generate", "--data-dir"]).arg(data).stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err("no key was made".into()) }
}

/// Loads a file of merchants into the directory beside a new shop.
pub(crate) fn import_merchants(gateway: &Path, file: &Path, data: &Path) -> Done<()> {
    let mut command = Command::new(gateway);
    command.args(["import", "--merchants"]).arg(file).arg("--data-dir").arg(data);
    let status = command.stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err("the import failed".into()) }
}

/// Loads a file into a new shop with the gateway's own command.
pub(crate) fn import(gateway: &Path, file: &Path, data: &Path) -> Done<()> {
    let mut command = Command::new(gateway);
    command.arg("import").arg(file).arg("--data-dir").arg(data);
    command.args(["--name", "Large", "--currency", "USD", "--currencies", "EUR,JPY", "--language", "en"]);
    let status = command.stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err("the import failed".into()) }
}
