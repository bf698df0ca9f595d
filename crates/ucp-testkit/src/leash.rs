//! Processes that end with the test process, also when that is killed.
//!
//! A process that a test forgets, or cannot end because it was killed itself, would run on for ever and keep others
//! from their ports and processors. Here each hangs on a pipe that closes with the test process, and every wait for one
//! has an end at which it says what was waited for and what the process wrote.

use std::{
    io::{BufRead as _, BufReader, Read, Write as _},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    locked,
    wait::{PATIENCE, eventually},
};

/// Becomes the command that follows, after it has left somebody behind who kills that when the standard input ends
/// before a line was read from it. That is nobody's child, so that a command which waits for all of its own does not
/// wait for it, too. The command itself reads nothing.
const LEASH: &str = "exec 3<&0 </dev/null\n\
                     ({ read -r over <&3 || kill -KILL $$; } >/dev/null 2>&1 &)\n\
                     exec 3<&- \"$@\"";

/// A process. Dropping it kills it, and the end of the test process does.
#[derive(Debug)]
pub struct Leashed {
    child: Child,
    /// Closing it without a word kills the process.
    leash: Option<ChildStdin>,
    name: String,
}

impl Leashed {
    /// Starts a command with nothing to read, whatever it says about its standard streams.
    ///
    /// # Panics
    ///
    /// When there is no shell.
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

    /// Starts a command that reads `input`. What it writes is to be taken.
    fn start_with(command: &mut Command, input: &[u8]) -> Self {
        let name = format!("{command:?}");
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        let (mut stdin, input) = (child.stdin.take().expect("its input"), input.to_owned());
        // In a thread: it need not read all of it before it writes. Nor need it read at all.
        thread::spawn(move || stdin.write_all(&input).is_ok());
        Self { child, leash: None, name }
    }

    /// The number of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it writes to its standard output.
    ///
    /// # Panics
    ///
    /// When that goes elsewhere, or was taken before.
    pub fn stdout(&mut self) -> ChildStdout {
        self.child.stdout.take().expect("its standard output")
    }

    /// What it writes to its standard error.
    ///
    /// # Panics
    ///
    /// When that goes elsewhere, or was taken before.
    pub fn stderr(&mut self) -> ChildStderr {
        self.child.stderr.take().expect("its standard error")
    }

    /// How it ended; `None` while it runs.
    ///
    /// # Panics
    ///
    /// When the system does not say.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a status")
    }

    /// Sends a signal by name.
    ///
    /// # Panics
    ///
    /// When that cannot be done.
    pub fn signal(&self, name: &str) {
        // Every shell can do that; a `kill` program is not on every machine.
        let command = format!("kill -{name} {}", self.id());
        let sent = Command::new("sh").args(["-c", &command]).status().expect("a shell");
        assert!(sent.success(), "SIG{name} can be sent to {}", self.name);
    }

    /// Waits for its end.
    ///
    /// # Panics
    ///
    /// When it does not end within [`PATIENCE`].
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        let what = format!("{} ends", self.name);
        eventually(&what, PATIENCE, || self.ended())
    }

    /// Kills it, unless it has ended already. Returns how it ended.
    ///
    /// # Panics
    ///
    /// When the system does not say.
    pub fn kill(&mut self) -> ExitStatus {
        // It may have ended already.
        drop(self.child.kill());
        let status = self.child.wait().expect("a status");
        if let Some(mut leash) = self.leash.take() {
            // From now on, its number may be that of somebody else.
            drop(leash.write_all(b"\n"));
        }
        status
    }

    /// Waits for its end, and gives what it wrote. `fine` looks at its standard output meanwhile.
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
                // Nothing comes from there any more; what is left is to wait for its end.
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

/// Runs a command to its end. `fine` looks at its standard output meanwhile, and may find that it will not end.
///
/// # Panics
///
/// When it does not end within [`PATIENCE`], or `fine` says so. It is killed then.
#[track_caller]
pub fn run(command: &Command, fine: impl Fn(&str) -> Result<(), String>) -> Output {
    Leashed::start(command, Stdio::piped(), Stdio::piped()).output(fine)
}

/// Runs a command that reads `input` to its end.
///
/// # Panics
///
/// When it does not end within [`PATIENCE`]. It is killed then.
#[track_caller]
pub fn run_with(command: &mut Command, input: &[u8]) -> Output {
    Leashed::start_with(command, input).output(|_| Ok(()))
}

/// Reads all of a stream, and says so in the end.
fn collect(mut stream: impl Read + Send + 'static, into: &Arc<Mutex<Vec<u8>>>, closed: mpsc::Sender<()>) {
    let into = Arc::clone(into);
    thread::spawn(move || {
        let mut piece = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = stream.read(&mut piece) {
            locked(&into).extend_from_slice(&piece[..length]);
        }
        // Nobody has to listen.
        let _ = closed.send(());
    });
}

/// The lines of a stream. They are taken from it whether or not anybody asks for them, so that its writer never waits.
#[derive(Debug)]
pub struct Lines(Receiver<String>);

impl Lines {
    /// The lines of this stream.
    #[must_use]
    pub fn of(stream: impl Read + Send + 'static) -> Self {
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                // Nobody has to listen.
                drop(sender.send(line));
            }
        });
        Self(lines)
    }

    /// The next line; `None` at the end.
    ///
    /// # Panics
    ///
    /// When neither comes within [`PATIENCE`].
    #[track_caller]
    pub fn next(&self, what: &str) -> Option<String> {
        match self.0.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("{what}: no line comes within {PATIENCE:?}"),
        }
    }

    /// The lines up to the first one that is `last`, or up to the end.
    ///
    /// # Panics
    ///
    /// When none comes for [`PATIENCE`].
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
