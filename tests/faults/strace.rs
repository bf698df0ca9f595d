//! Faults of system calls, injected into a running gateway with strace.

use std::{
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ucp_testkit::leash::Lines;

use crate::process::{Gateway, PATIENCE, ended};

/// An strace that is attached. Dropping it lets the gateway go on without.
pub(crate) struct Strace(Child);

impl Strace {
    /// Returns `true` if this can be done here; else why not. Installs strace where that is possible.
    pub(crate) fn available() -> Result<(), String> {
        let works = || {
            // Looks at itself: what forbids tracing at all forbids this.
            ended(Command::new("strace").args(["-f", "-o", "/dev/null", "true"])).status.success()
        };
        let root = || ended(Command::new("id").arg("-u")).stdout.trim_ascii() == b"0";
        let install = || {
            let quiet = Command::new("apt-get").args(["install", "-y", "-q", "strace"]).output();
            quiet.is_ok_and(|output| output.status.success())
        };
        if works() {
            Ok(())
        } else if !root() {
            Err("there is no strace that may trace, and only root could install it".into())
        } else if !install() {
            Err("there is no strace that may trace, and apt-get cannot install it".into())
        } else if works() {
            Ok(())
        } else {
            Err("strace may not trace on this machine".into())
        }
    }

    /// Attaches to all threads of a gateway. `calls` are system calls, `fault` is what strace injects into them.
    pub(crate) fn attach(gateway: &Gateway, calls: &str, fault: &str) -> Self {
        let mut command = Command::new("strace");
        command.args([
            "-f",
            "-o",
            "/dev/null",
            "-e",
            &format!("trace={calls}"),
            "-e",
            &format!("inject={calls}:{fault}"),
        ]);
        command.args(["-p", &gateway.id().to_string()]).stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("strace starts");
        let is_attached = |line: &str| line.contains(" attached");
        let said =
            Lines::of(child.stderr.take().expect("its standard error")).until("that strace is attached", is_attached);
        assert!(said.last().is_some_and(|line| is_attached(line)), "strace attaches: {said:?}");
        Self(child)
    }
}

impl Drop for Strace {
    fn drop(&mut self) {
        // Asked to end, it detaches; killed, it would take the gateway along.
        drop(Command::new("sh").args(["-c", &format!("kill -TERM {} 2>&-", self.0.id())]).status());
        let start = Instant::now();
        while matches!(self.0.try_wait(), Ok(None)) {
            if start.elapsed() > PATIENCE {
                eprintln!("strace does not detach within {PATIENCE:?}, and is killed");
                drop(self.0.kill());
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}
