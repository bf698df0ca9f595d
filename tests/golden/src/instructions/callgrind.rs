//! A gateway under callgrind, which counts while it is told to.

use std::{fs, path::PathBuf, process::Command, time::Duration};

use super::calls::Call;
use crate::{
    Done,
    process::{Gateway, eventually, run},
    stage::{Setup, Stage},
};

/// Maximum time for a command of callgrind.
const PATIENCE: Duration = Duration::from_secs(120);

/// Number of counted batches.
const BATCHES: u32 = 7;

/// The running gateway, and where callgrind writes.
pub(super) struct Counted {
    gateway: Gateway,
    file: PathBuf,
}

impl Counted {
    /// Starts a gateway that is not counted yet. With one worker, it is not counted how threads look for work.
    pub(super) fn start(stage: &mut Stage<'_>, setup: &Setup) -> Done<Self> {
        let file = stage.place("callgrind.out");
        let valgrind = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--quiet"].map(str::to_owned);
        let out = format!("--callgrind-out-file={}", file.display());
        let gateway = stage
            .start(&setup.clone().variable("TOKIO_WORKER_THREADS", "1").under(&[&valgrind[..], &[out]].concat()))?;
        Ok(Self { gateway, file })
    }

    /// The instructions of one call, once caches are warm.
    ///
    /// Periodic work of the gateway, such as looking for imports, is counted if it falls into a batch. The batch with
    /// the fewest instructions shows the cost of the calls.
    pub(super) fn count(&self, call: &Call, times: u32) -> Done<u64> {
        let send = |batch: u32| -> Done {
            for round in batch * times..(batch + 1) * times {
                let response = self.gateway.send(&call.request(round))?;
                if !(200..300).contains(&response.status) {
                    return Err(format!("{} must be answered, and is refused: {}", call.name, response.text()));
                }
            }
            Ok(())
        };
        // Requests that need a resource make it here, before anything is counted.
        call.prepare((BATCHES + 1) * times, &self.gateway)?;
        send(0)?;
        self.control(&["--instr=on"])?;
        self.control(&["--zero"])?;
        let mut fewest = u64::MAX;
        for batch in 1..=BATCHES {
            // A dump sets the counters to nothing, too.
            send(batch)?;
            let before = self.dumps();
            self.control(&["--dump"])?;
            let count = eventually("callgrind writes what it counted", PATIENCE, || {
                let dumps = self.dumps();
                let newest = dumps.last().filter(|_| dumps.len() > before.len());
                Ok(newest.and_then(|path| fs::read_to_string(path).ok()).and_then(|text| total(&text)))
            })?;
            fewest = fewest.min(count);
        }
        self.control(&["--instr=off"])?;
        Ok(fewest / u64::from(times))
    }

    fn control(&self, arguments: &[&str]) -> Done {
        let mut control = Command::new("callgrind_control");
        control.args(arguments).arg(self.gateway.process().to_string());
        let output = run(control, b"")?;
        if output.status.success() && !output.stdout.contains("Error") {
            return Ok(());
        }
        Err(format!("callgrind_control {arguments:?} must succeed: {}{}", output.stdout, output.stderr))
    }

    /// The files that were written so far, in their order.
    fn dumps(&self) -> Vec<PathBuf> {
        let name = self.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let number = |path: &PathBuf| {
            let own = path.file_name()?.to_string_lossy().into_owned();
            own.strip_prefix(&format!("{name}."))?.parse::<u32>().ok()
        };
        let folder = self.file.parent().and_then(|folder| fs::read_dir(folder).ok());
        let mut dumps: Vec<_> = folder
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| number(path).is_some())
            .collect();
        dumps.sort_by_key(|path| number(path));
        dumps
    }
}

/// The instructions that a dump says were executed altogether.
fn total(dump: &str) -> Option<u64> {
    let line = |name: &str| dump.lines().rev().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    line("totals:").or_else(|| line("summary:"))
}

#[cfg(test)]
mod tests {
    use super::total;

    #[test]
    fn the_sum_of_a_dump_is_read() {
        assert_eq!(total("events: Ir\nfn=(1)\n1 5\n\ntotals: 4711\n"), Some(4_711));
        assert_eq!(total("events: Ir\nsummary: 12\n"), Some(12));
        assert_eq!(total("events: Ir\n"), None);
    }
}
