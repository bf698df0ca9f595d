//! The programs under comparison: gateways that run until they are dropped, and commands that end by themselves.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read, Write as _},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, channel},
    },
    time::{Duration, Instant},
};

use crate::{
    Done,
    wire::{Client, Request, Response},
};

/// The longest wait for a gateway to start, or for a command to end.
pub(crate) const STARTUP: Duration = Duration::from_secs(120);

/// Calls `ready` until it gives something, for a limited time.
pub(crate) fn eventually<T>(what: &str, limit: Duration, mut ready: impl FnMut() -> Done<Option<T>>) -> Done<T> {
    let start = Instant::now();
    loop {
        if let Some(value) = ready()? {
            return Ok(value);
        }
        if start.elapsed() > limit {
            return Err(format!("waited {limit:?} in vain for this: {what}"));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A command that runs a binary in an environment without settings of the gateway.
pub(crate) fn command(binary: &Path) -> Command {
    let mut command = Command::new(binary);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("UCP_")) {
        command.env_remove(name);
    }
    for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env_remove(name);
    }
    // Lines of other levels differ from run to run.
    command.env("NO_PROXY", "*").env("COLUMNS", "120").env("TZ", "UTC").env("RUST_LOG", "warn").stdin(Stdio::null());
    command
}

/// Output of a command.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a command to its end, with a text on its standard input.
pub(crate) fn run(mut command: Command, input: &[u8]) -> Done<Output> {
    let what = format!("{command:?}");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Running(command.spawn().map_err(|error| format!("{what}: {error}"))?);
    if let Some(mut stdin) = child.0.stdin.take() {
        // A command that fails at once may not read it.
        let _ = stdin.write_all(input);
    }
    let stdout = child.0.stdout.take().map(collect);
    let stderr = child.0.stderr.take().map(collect);
    let ended = || child.0.try_wait().map_err(|error| error.to_string());
    let status = eventually(&format!("{what} ends"), STARTUP, ended)?;
    let text = |reader: Option<std::thread::JoinHandle<Vec<u8>>>| {
        let bytes = reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok(Output { status, stdout: text(stdout), stderr: text(stderr) })
}

fn collect(mut stream: impl Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        bytes
    })
}

/// A process that ends with its handle.
#[derive(Debug)]
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running gateway. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Gateway {
    child: Running,
    client: Client,
    /// Listen address.
    pub(crate) address: SocketAddr,
    /// Its data directory.
    pub(crate) data: PathBuf,
    /// The lines that it printed at start.
    pub(crate) welcome: Vec<String>,
    stderr: Arc<Mutex<String>>,
}

impl Gateway {
    /// Starts a gateway. `listen` is given where the printed address is another one than the one it listens on.
    pub(crate) fn start(mut command: Command, data: &Path, listen: Option<SocketAddr>) -> Done<Self> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Running(command.spawn().map_err(|error| format!("{command:?}: {error}"))?);
        let lines = child.0.stdout.take().map(lines).ok_or("standard output must be a pipe")?;
        let stderr = Arc::new(Mutex::new(String::new()));
        if let Some(stream) = child.0.stderr.take() {
            let into = Arc::clone(&stderr);
            std::thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let mut text = into.lock().unwrap_or_else(PoisonError::into_inner);
                    text.push_str(&line);
                    text.push('\n');
                }
            });
        }
        let start = Instant::now();
        let mut welcome: Vec<String> = Vec::new();
        // The example call is printed last.
        while !welcome.last().is_some_and(|line| line.contains(" -d ")) {
            match lines.recv_timeout(STARTUP.saturating_sub(start.elapsed())) {
                Ok(line) => welcome.push(line),
                Err(_) => {
                    let _ = child.0.kill();
                    let status = child.0.wait().map_err(|error| error.to_string())?;
                    std::thread::sleep(Duration::from_millis(50));
                    let said = stderr.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    return Err(format!("the gateway did not start within {STARTUP:?} ({status}): {said}"));
                }
            }
        }
        let printed = welcome.iter().find_map(|line| line.trim_start().strip_prefix("REST "));
        let printed = printed.and_then(|base| base.trim().strip_prefix("http://")?.parse().ok());
        let address = listen.or(printed).ok_or("the gateway must print the address of REST")?;
        let client = Client::new(address);
        Ok(Self { child, client, address, data: data.to_owned(), welcome, stderr })
    }

    /// Sends a request and reads its answer.
    pub(crate) fn send(&self, request: &Request) -> Done<Response> {
        self.client.send(request).map_err(|fault| format!("{fault}; standard error: {}", self.stderr()))
    }

    /// Standard error so far.
    pub(crate) fn stderr(&self) -> String {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The number of its process.
    pub(crate) fn process(&self) -> u32 {
        self.child.0.id()
    }

    /// Stops it as an operator does, and waits for its end.
    pub(crate) fn stop(mut self) -> Done<ExitStatus> {
        drop(std::mem::replace(&mut self.client, Client::new(self.address)));
        let kill = format!("kill -TERM {}", self.child.0.id());
        Command::new("sh").args(["-c", &kill]).status().map_err(|error| error.to_string())?;
        eventually("the gateway ends after SIGTERM", STARTUP, || {
            self.child.0.try_wait().map_err(|error| error.to_string())
        })
    }
}

/// The lines of a stream, as they come. The stream is read to its end so that its writer never blocks.
pub(crate) fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    receiver
}

/// An agent's end of `mcp --stdio`.
#[derive(Debug)]
pub(crate) struct Pipe {
    child: Running,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Pipe {
    /// Starts a gateway that speaks over standard input and output.
    pub(crate) fn start(mut command: Command) -> Done<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = Running(command.spawn().map_err(|error| format!("{command:?}: {error}"))?);
        let stdin = child.0.stdin.take();
        let lines = child.0.stdout.take().map(lines).ok_or("standard output must be a pipe")?;
        Ok(Self { child, stdin, lines })
    }

    /// Writes a line and reads the line that answers it.
    pub(crate) fn ask(&mut self, line: &str) -> Done<String> {
        self.tell(line)?;
        self.lines.recv_timeout(STARTUP).map_err(|_| format!("no line came within {STARTUP:?} after {line:.200}"))
    }

    /// Writes a line that has no answer.
    pub(crate) fn tell(&mut self, line: &str) -> Done {
        let stdin = self.stdin.as_mut().ok_or("standard input must be open")?;
        writeln!(stdin, "{line}").and_then(|()| stdin.flush()).map_err(|error| format!("standard input: {error}"))
    }

    /// Closes its standard input and waits for its end.
    pub(crate) fn finish(mut self) -> Done<ExitStatus> {
        drop(self.stdin.take());
        eventually("the stdio gateway ends when its input does", STARTUP, || {
            self.child.0.try_wait().map_err(|error| error.to_string())
        })
    }
}

/// Copies a directory.
pub(crate) fn copy(from: &Path, to: &Path) -> Done {
    let fault = |error: std::io::Error| format!("{}: {error}", from.display());
    fs::create_dir_all(to).map_err(fault)?;
    for entry in fs::read_dir(from).map_err(fault)? {
        let entry = entry.map_err(fault)?;
        let target = to.join(entry.file_name());
        if entry.file_type().map_err(fault)?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target).map_err(fault)?;
        }
    }
    Ok(())
}
