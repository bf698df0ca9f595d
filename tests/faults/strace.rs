//! Faults of system calls, injected into a running gateway with strace.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use crate::process::Gateway;

/// An strace that is attached. Dropping it lets the gateway go on without.
pub(crate) struct Strace(Child);

impl Strace {
    /// Whether this can be done here; else why not. Installs strace where that is possible.
    pub(crate) fn available() -> Result<(), String> {
        let works = || {
            // Looks at itself: what forbids tracing at all forbids this.
            let command = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
            command.is_ok_and(|output| output.status.success())
        };
        let root = || Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0");
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
        let mut lines = BufReader::new(child.stderr.take().expect("its standard error")).lines();
        let attached = lines.by_ref().map_while(Result::ok).find(|line| line.contains(" attached"));
        assert!(attached.is_some(), "strace attaches");
        // It must not be kept waiting for somebody who reads what it says.
        std::thread::spawn(move || lines.for_each(drop));
        Self(child)
    }
}

impl Drop for Strace {
    fn drop(&mut self) {
        // Asked to end, it detaches; killed, it would take the gateway along.
        drop(Command::new("sh").args(["-c", &format!("kill -TERM {} 2>&-", self.0.id())]).status());
        drop(self.0.wait());
    }
}
