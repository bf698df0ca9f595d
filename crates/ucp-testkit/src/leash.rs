//! Child processes that end with the test process, even if it is killed.
//!
//! A process that a test forgets, or cannot end because the test was killed, would run on forever and occupy ports and
//! processors. Here each depends on a pipe that closes with the test process, and every wait has a timeout whose
//! message states what was waited for and what the process wrote.

use std::{
    io::{BufRead as _, BufReader, Read, Write as _},
    net::{SocketAddr, TcpListener},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU16, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    locked,
    wait::{PATIENCE, eventually},
};

/// Shell script that leaves a watcher process behind and then becomes the command that follows. The watcher kills the
/// command if the standard input ends before a line was read from it. It is an orphan, so that a command which waits
/// for all of its children does not wait for it, too. The command itself gets an empty standard input.
const LEASH: &str = "exec 3<&0 </dev/null\n\
                     ({ read -r over <&3 || kill -KILL $$; } >/dev/null 2>&1 &)\n\
                     exec 3<&- \"$@\"";

/// A child process, which is killed when this is dropped and when the test process ends.
#[derive(Debug)]
pub struct Leashed {
    child: Child,
    /// Pipe to the watcher: closing it without writing a line kills the process.
    leash: Option<ChildStdin>,
    name: String,
}

impl Leashed {
    /// Starts a command with an empty standard input and the given output streams, in place of those of `command`.
    /// Panics if there is no shell.
    #[must_use]
    pub fn start(command: &Command, stdout: impl Into<Stdio>, stderr: impl Into<Stdio>) -> Self {
        let mut leashed = Command::new("sh");
        leashed.args(["-c", LEASH, "sh"]).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => leashed.env(name, value),
                None => leashed.env_remove(name),
            };
        }
        if let Some(directory) = command.get_current_dir() {
            leashed.current_dir(directory);
        }
        let mut child = leashed.stdin(Stdio::piped()).stdout(stdout).stderr(stderr).spawn().expect("a shell");
        Self { leash: child.stdin.take(), child, name: format!("{command:?}") }
    }

    /// Starts a command that reads `input`, without a watcher. Its output streams are pipes, which the caller reads.
    fn start_with(command: &mut Command, input: &[u8]) -> Self {
        let name = format!("{command:?}");
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        let (mut stdin, input) = (child.stdin.take().expect("its input"), input.to_owned());
        // On a thread, because the command may write before it has read everything, or not read at all.
        thread::spawn(move || stdin.write_all(&input).is_ok());
        Self { child, leash: None, name }
    }

    /// Returns the process ID.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Takes the pipe of its standard output. Panics if the stream is not a pipe, or was taken before.
    pub fn stdout(&mut self) -> ChildStdout {
        self.child.stdout.take().expect("its standard output")
    }

    /// Takes the pipe of its standard error. Panics if the stream is not a pipe, or was taken before.
    pub fn stderr(&mut self) -> ChildStderr {
        self.child.stderr.take().expect("its standard error")
    }

    /// Returns the exit status; `None` while it runs. Panics if the system does not report the status.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a status")
    }

    /// Sends a signal by name. Panics if the signal cannot be sent.
    pub fn signal(&self, name: &str) {
        // `kill` is built into every shell; a program of this name is not on every machine.
        let command = format!("kill -{name} {}", self.id());
        let sent = Command::new("sh").args(["-c", &command]).status().expect("a shell");
        assert!(sent.success(), "SIG{name} can be sent to {}", self.name);
    }

    /// Waits for its end. Panics if it does not end within [`PATIENCE`].
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        let what = format!("{} ends", self.name);
        eventually(&what, PATIENCE, || self.ended())
    }

    /// Kills it, unless it has ended already. Returns the exit status. Panics if the system does not report the status.
    pub fn kill(&mut self) -> ExitStatus {
        // It may have ended already.
        drop(self.child.kill());
        let status = self.child.wait().expect("a status");
        if let Some(mut leash) = self.leash.take() {
            // From now on, its ID may be that of another process, so the watcher has to stop.
            drop(leash.write_all(b"\n"));
        }
        status
    }

    /// Waits for its end and returns its output. Meanwhile, `fine` checks its standard output.
    #[track_caller]
    fn output(mut self, fine: impl Fn(&str) -> Result<(), String>) -> Output {
        let start = Instant::now();
        let written = [Arc::default(), Arc::default()];
        let (closed, closing) = mpsc::channel();
        collect(self.stdout(), &written[0], closed.clone());
        collect(self.stderr(), &written[1], closed);
        let mut open = 2;
        loop {
            let status = self.ended();
            let [stdout, stderr] = written.each_ref().map(|written| locked(written).clone());
            let problem = match status {
                Some(status) if open == 0 => return Output { status, stdout, stderr },
                None => fine(&String::from_utf8_lossy(&stdout)).err(),
                Some(_) => None,
            };
            let late = || match status {
                Some(_) => "others hold its output open".to_owned(),
                None => "it runs on".to_owned(),
            };
            let problem = problem.or_else(|| (start.elapsed() > PATIENCE).then(late));
            if let Some(problem) = problem {
                self.kill();
                let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
                let after = start.elapsed();
                panic!("{} has to end: {problem} after {after:?}\n{stdout}{stderr}", self.name);
            }
            match closing.recv_timeout(Duration::from_millis(20)) {
                Ok(()) => open -= 1,
                Err(RecvTimeoutError::Timeout) => {}
                // The streams are closed; only its end is left to wait for.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(Duration::from_millis(2)),
            }
        }
    }
}

impl Drop for Leashed {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs a command to its end. Meanwhile, `fine` checks its standard output; an error stops the command. Panics if it
/// does not end within [`PATIENCE`], or `fine` returns an error. It is killed then.
#[track_caller]
pub fn run(command: &Command, fine: impl Fn(&str) -> Result<(), String>) -> Output {
    Leashed::start(command, Stdio::piped(), Stdio::piped()).output(fine)
}

/// Runs a command that reads `input` to its end. Panics if it does not end within [`PATIENCE`]. It is killed then.
#[track_caller]
pub fn run_with(command: &mut Command, input: &[u8]) -> Output {
    Leashed::start_with(command, input).output(|_| Ok(()))
}

/// Collects all bytes of a stream on a thread, and sends on `closed` at its end.
fn collect(mut stream: impl Read + Send + 'static, into: &Arc<Mutex<Vec<u8>>>, closed: mpsc::Sender<()>) {
    let into = Arc::clone(into);
    thread::spawn(move || {
        let mut piece = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = stream.read(&mut piece) {
            locked(&into).extend_from_slice(&piece[..length]);
        }
        // The receiver may be gone.
        let _ = closed.send(());
    });
}

/// Lines of a stream. They are read as they come, even if not requested, so that the writer never blocks.
#[derive(Debug)]
pub struct Lines(Receiver<String>);

impl Lines {
    /// Starts to read the lines of a stream.
    #[must_use]
    pub fn of(stream: impl Read + Send + 'static) -> Self {
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                // The receiver may be gone.
                drop(sender.send(line));
            }
        });
        Self(lines)
    }

    /// Returns the next line if it has come.
    pub fn come(&self) -> Option<String> {
        self.0.try_recv().ok()
    }

    /// Returns the next line; `None` at the end. Panics if neither comes within [`PATIENCE`].
    #[track_caller]
    pub fn next(&self, what: &str) -> Option<String> {
        match self.0.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("{what}: no line comes within {PATIENCE:?}"),
        }
    }

    /// Returns the lines up to and including the first one for which `last` is true, or up to the end. Panics if no
    /// line comes for [`PATIENCE`].
    #[track_caller]
    pub fn until(&self, what: &str, last: impl Fn(&str) -> bool) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = self.next(what) {
            let over = last(&line);
            lines.push(line);
            if over {
                break;
            }
        }
        lines
    }
}

/// Returns an address of this machine at which nothing listens. Its port is below those that the system gives to
/// outgoing connections, so that none takes it before somebody listens there. Panics if no port is free.
#[must_use]
pub fn free_address() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = std::process::id() % 20_000;
    let ports = (0..20_000u32).map(|_| 12_000 + (first + u32::from(NEXT.fetch_add(1, Ordering::Relaxed))) % 20_000);
    let addresses = ports.filter_map(|port| Some(SocketAddr::from(([127, 0, 0, 1], u16::try_from(port).ok()?))));
    let mut free = addresses.filter(|address| TcpListener::bind(address).is_ok());
    free.next().expect("a free port")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).env("WORD", "hello");
        command
    }

    fn runs(process: u32) -> bool {
        let sent = Command::new("sh").args(["-c", &format!("kill -0 {process} 2>&-")]).status();
        sent.expect("a shell").success()
    }

    #[test]
    fn what_a_command_wrote_and_how_it_ended_is_told() {
        let output = run(&shell("echo $WORD; echo oops >&2; cat; exit 3"), |_| Ok(()));
        assert_eq!(
            (output.status.code(), &*output.stdout, &*output.stderr),
            (Some(3), &b"hello\n"[..], &b"oops\n"[..])
        );
        let output = run_with(&mut shell("cat; exit 4"), &vec![b'x'; 1 << 20]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(4), 1 << 20));
    }

    #[test]
    #[should_panic(expected = "it serves")]
    fn a_command_that_will_not_end_is_not_waited_for() {
        let serves = |printed: &str| if printed.contains("ready") { Err("it serves".to_owned()) } else { Ok(()) };
        run(&shell("echo ready; exec sleep 1000"), serves);
    }

    #[test]
    fn a_process_goes_when_its_leash_does() {
        let mut process = Leashed::start(&shell("echo started; exec sleep 1000"), Stdio::piped(), Stdio::null());
        assert_eq!(Lines::of(process.stdout()).next("it starts").as_deref(), Some("started"));
        assert!(runs(process.id()));
        // This is what the end of a test process comes to.
        process.leash = None;
        assert!(!process.wait().success());
        assert!(!runs(process.id()));
    }

    #[test]
    fn who_holds_the_leash_is_no_child_of_the_process() {
        let output = run(&shell("read -r children < /proc/$$/task/$$/children; echo \"[$children]\""), |_| Ok(()));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "[]\n");
    }

    #[test]
    fn dropping_a_process_ends_it_and_whoever_holds_its_leash() {
        let mut process = Leashed::start(&shell("echo started; exec sleep 1000"), Stdio::piped(), Stdio::null());
        assert_eq!(Lines::of(process.stdout()).next("it starts").as_deref(), Some("started"));
        let id = process.id();
        drop(process);
        assert!(!runs(id));
    }
}
