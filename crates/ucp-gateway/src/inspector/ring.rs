//! The ring: recorded calls in files of the data directory, a JSON object in each line. When there are more files than
//! fit, the oldest is removed. Other processes read along, and erase what is erased elsewhere.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, BufRead as _, BufReader, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::entry::Entry;

/// Number of files.
const SEGMENTS: u64 = 8;

/// Extension of the files.
const EXTENSION: &str = "jsonl";

/// The ring of a data directory.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    dir: PathBuf,
    /// Maximum size of a file in bytes.
    segment: u64,
}

impl Ring {
    /// Returns the ring of a data directory, which may take about `bytes`.
    pub(crate) fn of(data: &Path, bytes: u64) -> Self {
        Self { dir: data.join("calls"), segment: (bytes / SEGMENTS).max(1) }
    }

    /// Adds lines, each of which ends in a line feed.
    pub(crate) fn add(&self, lines: &str) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let _lock = self.lock()?;
        let segments = self.segments()?;
        let newest = segments.last().copied().unwrap_or(0);
        let is_full = fs::metadata(self.path(newest)).is_ok_and(|file| file.len() >= self.segment);
        let number = if is_full { newest + 1 } else { newest };
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(self.path(number))?;
        file.write_all(lines.as_bytes())?;
        for old in segments.into_iter().filter(|old| old + SEGMENTS <= number) {
            fs::remove_file(self.path(old))?;
        }
        Ok(())
    }

    /// Returns the newest calls that `wanted` takes, at most `most`, the newest first.
    pub(crate) fn newest(&self, most: usize, mut wanted: impl FnMut(&Entry) -> bool) -> io::Result<Vec<Entry>> {
        let mut found = Vec::new();
        for number in self.segments()?.into_iter().rev() {
            let mut entries: Vec<_> = self.read(number, 0)?.0.into_iter().filter(&mut wanted).collect();
            entries.reverse();
            found.extend(entries.into_iter().take(most - found.len()));
            if found.len() == most {
                break;
            }
        }
        Ok(found)
    }

    /// Returns the calls after a position, and the position after them. A position is a file and a number of bytes.
    pub(crate) fn after(&self, position: (u64, u64)) -> io::Result<(Vec<Entry>, (u64, u64))> {
        let (mut found, mut position) = (Vec::new(), position);
        for number in self.segments()?.into_iter().filter(|number| *number >= position.0) {
            let from = if number == position.0 { position.1 } else { 0 };
            let (entries, read) = self.read(number, from)?;
            found.extend(entries);
            position = (number, from + read);
        }
        Ok((found, position))
    }

    /// Returns the position after all calls.
    pub(crate) fn end(&self) -> io::Result<(u64, u64)> {
        let Some(newest) = self.segments()?.last().copied() else { return Ok((0, 0)) };
        Ok((newest, fs::metadata(self.path(newest)).map_or(0, |file| file.len())))
    }

    /// Removes the calls whose line contains one of `texts`, in any case. Returns their number.
    pub(crate) fn erase(&self, texts: &[String]) -> io::Result<usize> {
        if !self.dir.exists() {
            return Ok(0);
        }
        let _lock = self.lock()?;
        let texts: Vec<_> = texts.iter().map(|text| text.to_lowercase()).filter(|text| !text.is_empty()).collect();
        let mut erased = 0;
        for number in self.segments()? {
            let path = self.path(number);
            let content = fs::read_to_string(&path)?;
            let is_hit = |line: &str| {
                let line = line.to_lowercase();
                texts.iter().any(|text| line.contains(text))
            };
            let kept: String = content.split_inclusive('\n').filter(|line| !is_hit(line)).collect();
            let lines = content.lines().count() - kept.lines().count();
            if lines > 0 {
                erased += lines;
                let new = path.with_extension("new");
                let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&new)?;
                file.write_all(kept.as_bytes())?;
                file.sync_all()?;
                fs::rename(&new, &path)?;
            }
        }
        Ok(erased)
    }

    /// Reads the whole lines of a file from a byte on. Returns the calls, and how many bytes they take. A line that is not
    /// a call, as another gateway may write it, is skipped.
    fn read(&self, number: u64, from: u64) -> io::Result<(Vec<Entry>, u64)> {
        let file = match File::open(self.path(number)) {
            Ok(file) => file,
            // It was removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
            Err(error) => return Err(error),
        };
        let (mut reader, mut entries, mut read, mut line) = (BufReader::new(file), Vec::new(), 0, Vec::new());
        io::Seek::seek(&mut reader, io::SeekFrom::Start(from))?;
        loop {
            line.clear();
            let length = reader.read_until(b'\n', &mut line)?;
            if line.last() != Some(&b'\n') {
                return Ok((entries, read));
            }
            read += length as u64;
            entries.extend(serde_json::from_slice(&line).ok());
        }
    }

    /// Returns the numbers of the files, the oldest first.
    fn segments(&self) -> io::Result<Vec<u64>> {
        let listed = match fs::read_dir(&self.dir) {
            Ok(listed) => listed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let number = |path: &Path| -> Option<u64> {
            let is_segment = path.extension().is_some_and(|extension| extension == EXTENSION);
            path.file_stem().filter(|_| is_segment)?.to_str()?.parse().ok()
        };
        let mut numbers: Vec<_> = listed.filter_map(|entry| number(&entry.ok()?.path())).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn path(&self, number: u64) -> PathBuf {
        self.dir.join(format!("{number:08}.{EXTENSION}"))
    }

    /// Keeps other processes from writing until the file is dropped.
    fn lock(&self) -> io::Result<File> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(self.dir.join("lock"))?;
        file.lock()?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(id: &str, note: &str) -> String {
        let entry = json!({
            "at": "2026-11-25T00:00:00Z", "id": id, "transport": "rest", "method": "GET", "path": "/", "outcome": "ok",
            "bytes_in": 0, "bytes_out": 0, "ms": {}, "events": [], "answer": { "note": note },
        });
        format!("{entry}\n")
    }

    fn ids(entries: &[Entry]) -> Vec<&str> {
        entries.iter().map(|entry| entry.id.as_str()).collect()
    }

    #[test]
    fn a_ring_is_bounded_and_read_from_its_end() {
        let data = tempfile::tempdir().expect("a directory");
        let ring = Ring::of(data.path(), 8 * 1_000);
        assert!(ring.newest(3, |_| true).expect("reads").is_empty());
        let begun = ring.end().expect("reads");
        for number in 0..200 {
            ring.add(&line(&format!("r{number}"), &"x".repeat(100))).expect("writes");
        }
        assert_eq!(ids(&ring.newest(3, |_| true).expect("reads")), ["r199", "r198", "r197"]);
        assert_eq!(ids(&ring.newest(3, |entry| entry.id == "r190").expect("reads")), ["r190"]);
        let size: u64 = fs::read_dir(data.path().join("calls"))
            .expect("reads")
            .map(|file| file.expect("a file").metadata().expect("a size").len())
            .sum();
        assert!(size <= 8 * 1_500, "{size}");
        let (left, end) = ring.after(begun).expect("reads");
        assert!(left.len() < 100 && left.last().is_some_and(|entry| entry.id == "r199"));
        ring.add(&line("late", "")).expect("writes");
        assert_eq!(ids(&ring.after(end).expect("reads").0), ["late"]);
    }

    #[test]
    fn what_is_erased_is_gone_from_every_file() {
        let data = tempfile::tempdir().expect("a directory");
        let ring = Ring::of(data.path(), 8 * 300);
        assert_eq!(ring.erase(&["bea@example.com".into()]).expect("erases"), 0);
        for number in 0..6 {
            ring.add(&line(&format!("a{number}"), "Bea@Example.com")).expect("writes");
            ring.add(&line(&format!("b{number}"), "nobody")).expect("writes");
        }
        assert_eq!(ring.erase(&["bea@example.com".into(), "chk_1".into()]).expect("erases"), 6);
        let left = ring.newest(100, |_| true).expect("reads");
        assert!(left.len() == 6 && left.iter().all(|entry| entry.id.starts_with('b')), "{:?}", ids(&left));
        ring.add(&line("after", "")).expect("writes");
        assert_eq!(ids(&ring.newest(1, |_| true).expect("reads")), ["after"]);
    }
}
