//! The ring on disk: calls of before a restart, in a few files of bounded size.
//!
//! Gateways can share a data directory. Each has a folder of its own, which it locks for as long as it runs; the one that starts
//! next goes on with what was left there. A file in it, a segment, holds a call in each line, as JSON and as masked as it is in memory. Lines are added to the newest
//! segment by the thread of the [recorder](super::recorder); once there are more bytes than there may be, the oldest segment is
//! removed with its calls. A call is deleted where it stands: its line is overwritten with spaces, by the gateway or by a
//! command beside it, which disturb each other in nothing. Nothing is flushed for each call: a crash of the machine may cost
//! the last ones, and a line that it tore is removed at the next start.

use std::{
    collections::VecDeque,
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Write as _},
    os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::entry::Summary;

/// Number of segments that share the bytes there may be.
const SEGMENTS: usize = 8;

/// Maximum number of calls in a segment, which bounds what is held in memory of each.
const MAX_LINES: usize = 2_500;

/// Extension of segments.
const EXTENSION: &str = "jsonl";

/// Maximum number of gateways that record calls in a data directory.
const GATEWAYS: u32 = 16;

/// Name of the file that is locked in a folder.
const LOCK: &str = "lock";

/// Place of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    segment: u64,
    offset: u64,
    /// Length of its line in bytes, without the end of the line.
    length: usize,
}

impl Place {
    /// Returns `true` unless the segment of the call was removed; `oldest` is the one that is left.
    pub(super) const fn is_kept(&self, oldest: u64) -> bool {
        self.segment >= oldest
    }
}

#[derive(Debug)]
struct Segment {
    number: u64,
    bytes: u64,
    lines: usize,
}

/// The segments in a directory, for the process that adds to them.
#[derive(Debug)]
pub(super) struct Disk {
    directory: PathBuf,
    /// Maximum size of all segments in bytes; of one that holds a single call, as much as that takes.
    most: u64,
    /// Segments, the oldest first. At least one.
    segments: VecDeque<Segment>,
    newest: File,
    _lock: File,
}

impl Disk {
    /// Opens the segments in a folder below a directory that no other process has. Returns the calls in them, the oldest
    /// first.
    ///
    /// # Errors
    /// The directory or a segment cannot be read or written, or [`GATEWAYS`] processes have a folder already.
    pub(super) fn open(directory: &Path, most: u64) -> io::Result<(Self, Vec<(Place, Summary)>)> {
        let (folder, lock) = claim(directory)?;
        let directory = &*folder;
        let (mut segments, mut calls) = (VecDeque::new(), Vec::new());
        for number in numbers(directory)? {
            let (read, end) = scan(directory, number)?;
            let file = OpenOptions::new().write(true).open(path(directory, number))?;
            // What follows the last whole line was being written when the process or the machine ended.
            file.set_len(end)?;
            let mut lines = 0;
            for (place, summary) in read {
                lines += 1;
                match summary {
                    Some(summary) => calls.push((place, summary)),
                    None => overwrite(&file, place)?,
                }
            }
            segments.push_back(Segment { number, bytes: end, lines });
        }
        if segments.is_empty() {
            segments.push_back(Segment { number: 1, bytes: 0, lines: 0 });
        }
        let number = segments.back().map_or(1, |segment| segment.number);
        let newest = append(&path(directory, number))?;
        let mut disk = Self { directory: directory.to_path_buf(), most, segments, newest, _lock: lock };
        let oldest = disk.make_room();
        calls.retain(|(place, _)| place.is_kept(oldest));
        Ok((disk, calls))
    }

    /// Returns the folder.
    pub(super) fn folder(&self) -> &Path {
        &self.directory
    }

    /// Adds a call. Returns its place and the number of the oldest segment that is left.
    ///
    /// # Errors
    /// It cannot be written, and nothing of it is there.
    pub(super) fn add(&mut self, json: &str) -> io::Result<(Place, u64)> {
        let is_full = |segment: &Segment| {
            segment.lines >= MAX_LINES || segment.lines > 0 && segment.bytes >= self.most / SEGMENTS as u64
        };
        if let Some(number) = self.segments.back().filter(|segment| is_full(segment)).map(|segment| segment.number + 1)
        {
            self.newest = append(&path(&self.directory, number))?;
            self.segments.push_back(Segment { number, bytes: 0, lines: 0 });
        }
        let line = [json.as_bytes(), b"\n"].concat();
        let Some(segment) = self.segments.back_mut() else { return Err(ErrorKind::NotFound.into()) };
        if let Err(error) = self.newest.write_all(&line) {
            // Part of it may be there, as on a disk that is full.
            self.newest.set_len(segment.bytes)?;
            return Err(error);
        }
        let place = Place { segment: segment.number, offset: segment.bytes, length: json.len() };
        segment.bytes += line.len() as u64;
        segment.lines += 1;
        Ok((place, self.make_room()))
    }

    /// Removes the oldest segments until the others fit. Returns the number of the oldest one that is left.
    fn make_room(&mut self) -> u64 {
        let total = |segments: &VecDeque<Segment>| segments.iter().map(|segment| segment.bytes).sum::<u64>();
        while self.segments.len() > 1 && (total(&self.segments) > self.most || self.segments.len() > SEGMENTS) {
            let Some(oldest) = self.segments.pop_front() else { break };
            if let Err(error) = fs::remove_file(path(&self.directory, oldest.number)) {
                tracing::error!(%error, "deleting a file of recorded calls failed");
            }
        }
        self.segments.front().map_or(0, |segment| segment.number)
    }
}

/// Returns the JSON of the call at a place; `None` if it was deleted.
pub(super) fn read(directory: &Path, place: Place) -> Option<String> {
    let file = File::open(path(directory, place.segment)).ok()?;
    let mut line = vec![0; place.length];
    file.read_exact_at(&mut line, place.offset).ok()?;
    String::from_utf8(line).ok().filter(|json| json.starts_with('{'))
}

/// Returns the folders below a directory.
pub(super) fn folders(directory: &Path) -> Vec<PathBuf> {
    let folders = (0..GATEWAYS).map(|number| directory.join(number.to_string()));
    folders.filter(|folder| folder.is_dir()).collect()
}

/// Locks a folder below a directory, which is created if it does not exist. What other processes have left is removed,
/// because nobody would delete it in time.
fn claim(directory: &Path) -> io::Result<(PathBuf, File)> {
    for number in 0..GATEWAYS {
        let folder = directory.join(number.to_string());
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        if let Some(lock) = lock(&folder)? {
            remove(directory)?;
            return Ok((folder, lock));
        }
    }
    Err(io::Error::other(format!("{GATEWAYS} gateways record calls there already")))
}

/// Locks a folder; `None` if another process has.
fn lock(folder: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(folder.join(LOCK))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns all calls in a folder, the oldest first. Other processes may add calls, and delete them, at the same time.
///
/// # Errors
/// The folder or a segment cannot be read.
pub(super) fn read_all(directory: &Path) -> io::Result<Vec<(Place, Summary)>> {
    let mut calls = Vec::new();
    for number in numbers(directory)? {
        match scan(directory, number) {
            Ok((read, _)) => calls.extend(read.into_iter().filter_map(|(place, summary)| Some((place, summary?)))),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(calls)
}

/// Deletes the calls at these places for good.
///
/// # Errors
/// One of them cannot be overwritten; there is no error if its segment was removed.
pub(super) fn erase(directory: &Path, places: &[Place]) -> io::Result<()> {
    for of_segment in places.chunk_by(|one, other| one.segment == other.segment) {
        let file = match OpenOptions::new().write(true).open(path(directory, of_segment[0].segment)) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            file => file?,
        };
        of_segment.iter().try_for_each(|place| overwrite(&file, *place))?;
        file.sync_data()?;
    }
    Ok(())
}

/// Removes all calls in the folders below a directory that no process has.
///
/// # Errors
/// A folder cannot be locked, or a segment cannot be removed.
pub(super) fn remove(directory: &Path) -> io::Result<()> {
    for folder in folders(directory) {
        if let Some(_lock) = lock(&folder)? {
            numbers(&folder)?.into_iter().try_for_each(|number| fs::remove_file(path(&folder, number)))?;
        }
    }
    Ok(())
}

fn path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:010}.{EXTENSION}"))
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

fn overwrite(file: &File, place: Place) -> io::Result<()> {
    file.write_all_at(&vec![b' '; place.length], place.offset)
}

/// Returns the numbers of the segments in a directory, sorted.
fn numbers(directory: &Path) -> io::Result<Vec<u64>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut numbers = Vec::new();
    for entry in entries {
        let name = PathBuf::from(entry?.file_name());
        let number = name.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        numbers.extend(number.filter(|number| path(Path::new(""), *number) == name));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// A line, with its call if it holds one that can be read.
type Line = (Place, Option<Summary>);

/// Reads a segment. Returns its lines, without those that were overwritten, and the end of the last whole line.
fn scan(directory: &Path, number: u64) -> io::Result<(Vec<Line>, u64)> {
    let bytes = fs::read(path(directory, number))?;
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let (mut lines, mut offset) = (Vec::new(), 0);
    for line in bytes[..end].split_inclusive(|byte| *byte == b'\n') {
        let text = &line[..line.len() - 1];
        let place = Place { segment: number, offset, length: text.len() };
        if !text.iter().all(|byte| *byte == b' ') {
            lines.push((place, serde_json::from_slice(text).ok()));
        }
        offset += line.len() as u64;
    }
    Ok((lines, offset))
}
