//! The audit log: what operators did, a JSON object in each line of a file in the data directory.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Deserialize;
use serde_json::json;

use crate::clock;

/// File in the data directory.
const FILE: &str = "audit.jsonl";

/// Bytes that are read at a time, from the end of the file on.
const BLOCK: u64 = 64 * 1024;

/// Maximum number of bytes that are looked through for one page.
const MAX_READ: u64 = 4 * 1024 * 1024;

ucp_core::named! {
    /// Way in which an operator has proved to be one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Actor {
        /// A program that shows the admin token.
        Token = "token",
        /// A browser that has logged in.
        Browser = "browser",
        /// A program or a browser on this machine, without a token.
        Local = "local",
    }
}

/// A line of the log. Lines of older versions name no actor.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Line {
    /// Time at which it was written.
    pub timestamp: String,
    /// Name of who did it; empty if it is not known.
    #[serde(default)]
    pub actor: String,
    /// Name of what was done.
    pub action: String,
    /// Identifier of the shop, profile, order or webhook that the action changed; empty if it changed none.
    pub subject: String,
}

/// Lines of the log, the newest first.
#[derive(Debug, Default)]
pub struct Page {
    /// The lines.
    pub lines: Vec<Line>,
    /// Offset in the log, in bytes, before which older lines end, if there may be any.
    pub older: Option<u64>,
}

/// The log of a data directory.
#[derive(Clone, Debug)]
pub struct AuditLog(Arc<Path>);

impl AuditLog {
    pub(crate) fn in_directory(directory: &Path) -> Self {
        Self(directory.join(FILE).into())
    }

    /// Returns where it is.
    pub fn path(&self) -> PathBuf {
        self.0.to_path_buf()
    }

    /// Adds a line. Blocks. Fails with an error if it cannot be written.
    pub fn add(&self, actor: Actor, action: &str, subject: &str) -> io::Result<()> {
        let actor = actor.as_str();
        tracing::info!(actor, action, subject, "operator decision recorded");
        let timestamp = clock::timestamp().to_string();
        let line = json!({ "timestamp": timestamp, "actor": actor, "action": action, "subject": subject });
        if let Some(directory) = self.0.parent() {
            fs::create_dir_all(directory)?;
        }
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(&*self.0)?;
        file.write_all(format!("{line}\n").as_bytes())?;
        file.sync_all()
    }

    /// Reads the newest lines that are wanted, at most `most` of them, from those that end at the byte `before`, or
    /// from the end. Lines that cannot be read are left out. Blocks. Fails with an error if the file is there and
    /// cannot be read.
    pub fn newest(&self, before: Option<u64>, most: usize, wanted: impl Fn(&Line) -> bool) -> io::Result<Page> {
        let mut file = match File::open(&*self.0) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Page::default()),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        let end = before.map_or(length, |before| before.min(length));
        let (mut start, mut lines) = (end, Vec::new());
        // The beginning of a line whose end was read already.
        let mut rest = Vec::new();
        while start > 0 && end - start < MAX_READ {
            let size = BLOCK.min(start);
            start -= size;
            file.seek(SeekFrom::Start(start))?;
            let mut block = Vec::new();
            (&mut file).take(size).read_to_end(&mut block)?;
            block.append(&mut rest);
            // What stands before the first end of a line belongs to a line that begins earlier.
            let whole = if start == 0 {
                0
            } else {
                block.iter().position(|byte| *byte == b'\n').map_or(block.len(), |at| at + 1)
            };
            let mut to = block.len();
            while to > whole {
                let from =
                    block[whole..to - 1].iter().rposition(|byte| *byte == b'\n').map_or(whole, |at| whole + at + 1);
                if let Ok(line) = serde_json::from_slice::<Line>(&block[from..to])
                    && wanted(&line)
                {
                    lines.push(line);
                    if lines.len() == most {
                        let at = start + from as u64;
                        return Ok(Page { lines, older: (at > 0).then_some(at) });
                    }
                }
                to = from;
            }
            block.truncate(whole);
            rest = block;
        }
        let older = start + rest.len() as u64;
        Ok(Page { lines, older: (older > 0).then_some(older) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_page_by_page_from_the_end() {
        let directory = tempfile::tempdir().expect("a directory");
        let log = AuditLog::in_directory(directory.path());
        assert!(log.newest(None, 9, |_| true).expect("nothing").lines.is_empty(), "there is no file");
        // More than a block, with lines of another version and ones that are none.
        let long = "x".repeat(300);
        let line = |number: usize| {
            format!("{{\"timestamp\":\"t\",\"action\":\"a{}\",\"subject\":\"{number} {long}\"}}\n", number % 2)
        };
        let text: String = (0..1_000).map(line).collect();
        fs::write(log.path(), format!("{text}not JSON\n")).expect("a file");
        log.add(Actor::Browser, "pause", "default").expect("is written");
        let (mut before, mut found) = (None, Vec::new());
        loop {
            let page = log.newest(before, 7, |_| true).expect("a page");
            found.extend(page.lines);
            before = page.older;
            if before.is_none() {
                break;
            }
        }
        assert_eq!(found.len(), 1_001);
        assert_eq!((found[0].actor.as_str(), found[0].action.as_str()), ("browser", "pause"));
        let numbers: Vec<_> = found[1..].iter().map(|line| line.subject.split(' ').next().expect("a number")).collect();
        let expected: Vec<_> = (0..1_000).rev().map(|number| number.to_string()).collect();
        assert_eq!(numbers, expected);
        let some = log.newest(None, 3, |line| line.action == "a0").expect("a page");
        let numbers: Vec<_> = some.lines.iter().filter_map(|line| line.subject.split(' ').next()).collect();
        assert_eq!(numbers, ["998", "996", "994"]);
        assert!(some.older.is_some());
        let none = log.newest(None, 3, |line| line.action == "other").expect("a page");
        assert!(none.lines.is_empty() && none.older.is_none(), "{none:?}");
    }
}
