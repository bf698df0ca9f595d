//! Lines on their way to a file or to standard error, which a thread of their own writes.
//!
//! A caller copies its line into a buffer and continues. The thread takes the buffer as a whole, so that lines that
//! come together are written together. While nobody takes what it writes, a bounded number of lines waits; further ones
//! are dropped, and so are lines that cannot be written, as on a full disk. Both are counted.

use std::{
    io::{self, Write},
    mem,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tracing_subscriber::fmt::MakeWriter;

use crate::terminal::shown;

/// Maximum number of lines that wait to be written.
const WAITING: usize = 4_096;

/// Time for which further lines are waited for: waking up for each of them takes longer than writing it.
const TOGETHER: Duration = Duration::from_millis(2);

/// Capacity in bytes above which a buffer is given back once it is written.
const KEPT: usize = 1 << 20;

/// Time in which what is waiting is written at the end.
const LAST: Duration = Duration::from_secs(1);

/// Minimum time between two statements of how many lines were dropped.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// Writer of lines. Clones write to the same place.
#[derive(Clone, Debug)]
pub(crate) struct LineWriter(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    buffer: Mutex<Buffer>,
    /// There is something to write, or nothing more will come.
    more: Condvar,
    /// The thread has ended.
    over: Condvar,
    written: AtomicU64,
    dropped: AtomicU64,
    loss: Mutex<LastLoss>,
}

/// Error and time of the last lines that were dropped.
#[derive(Debug, Default)]
struct LastLoss {
    /// Error of the last write that failed, since it was told.
    error: Option<String>,
    told: u64,
    at: Option<Instant>,
}

/// Lines that were dropped, which is still to be told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    /// Number since the start.
    pub(crate) total: u64,
    pub(crate) problem: String,
}

#[derive(Debug, Default)]
struct Buffer {
    text: Vec<u8>,
    lines: usize,
    /// `true` while the thread waits for a line.
    is_idle: bool,
    is_closed: bool,
    is_over: bool,
}

impl Shared {
    fn locked(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn loss(&self) -> MutexGuard<'_, LastLoss> {
        self.loss.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// End of a [`LineWriter`]. Dropping it writes what is waiting, for at most [`LAST`].
#[derive(Debug)]
pub(crate) struct Closing(Arc<Shared>);

impl Drop for Closing {
    fn drop(&mut self) {
        let mut buffer = self.0.locked();
        buffer.is_closed = true;
        self.0.more.notify_one();
        drop(self.0.over.wait_timeout_while(buffer, LAST, |buffer| !buffer.is_over));
    }
}

impl LineWriter {
    /// Starts a thread of this name that writes to `destination`.
    ///
    /// # Errors
    /// The error of the system if there can be no thread.
    pub(crate) fn start(name: &str, destination: impl Write + Send + 'static) -> io::Result<(Self, Closing)> {
        let shared = Arc::<Shared>::default();
        let writing = Arc::clone(&shared);
        thread::Builder::new().name(name.to_owned()).spawn(move || write(&writing, destination))?;
        Ok((Self(Arc::clone(&shared)), Closing(shared)))
    }

    /// Writes a line, or drops it if too many are waiting.
    pub(crate) fn put(&self, line: &[u8]) {
        let mut buffer = self.0.locked();
        if buffer.lines >= WAITING {
            drop(buffer);
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        buffer.text.extend_from_slice(line);
        buffer.lines += 1;
        let is_idle = mem::take(&mut buffer.is_idle);
        drop(buffer);
        if is_idle {
            self.0.more.notify_one();
        }
    }

    /// Returns the number of lines that were written since the start.
    pub(crate) fn written(&self) -> u64 {
        self.0.written.load(Ordering::Relaxed)
    }

    /// Returns the number of lines that were dropped since the start.
    pub(crate) fn dropped(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }

    /// Returns the number of lines that wait to be written.
    pub(crate) fn waiting(&self) -> u64 {
        self.0.locked().lines as u64
    }

    /// Returns what was dropped and is to be told now: at first at once, then once a minute, and always at the end.
    pub(crate) fn loss(&self, now: Instant, is_end: bool) -> Option<Loss> {
        let (loss, total) = (self.0.loss(), self.dropped());
        let is_due = loss.at.is_none_or(|at| now.saturating_duration_since(at) >= TOLD_EVERY);
        (total > loss.told && (is_end || is_due))
            .then(|| Loss { total, problem: loss.error.clone().unwrap_or_else(|| "nobody takes them".to_owned()) })
    }

    /// Notes that a [`loss`](Self::loss) was told.
    pub(crate) fn told(&self, total: u64, now: Instant) {
        *self.0.loss() = LastLoss { error: None, told: total, at: Some(now) };
    }
}

/// Writes what comes until nothing more will.
fn write(shared: &Shared, mut destination: impl Write) {
    let (mut text, mut is_torn) = (Vec::new(), false);
    loop {
        let mut buffer = shared.locked();
        while buffer.text.is_empty() {
            if buffer.is_closed {
                buffer.is_over = true;
                shared.over.notify_all();
                return;
            }
            buffer.is_idle = true;
            buffer = shared.more.wait(buffer).unwrap_or_else(PoisonError::into_inner);
            if !buffer.is_closed {
                drop(buffer);
                thread::sleep(TOGETHER);
                buffer = shared.locked();
            }
        }
        mem::swap(&mut buffer.text, &mut text);
        let lines = mem::take(&mut buffer.lines);
        drop(buffer);
        let (left, result) = write_lines(&mut destination, &text, &mut is_torn);
        let lost = left.iter().filter(|byte| **byte == b'\n').count();
        shared.written.fetch_add(lines.saturating_sub(lost) as u64, Ordering::Relaxed);
        if let Err(error) = result {
            shared.loss().error = Some(error.to_string());
            shared.dropped.fetch_add(lost as u64, Ordering::Relaxed);
        }
        text.clear();
        text.shrink_to(KEPT);
    }
}

/// Writes lines, after the end of one that was torn. Returns what could not be written, if there was an error.
fn write_lines<'a>(destination: &mut impl Write, all: &'a [u8], is_torn: &mut bool) -> (&'a [u8], io::Result<()>) {
    let mut lines = all;
    while !lines.is_empty() {
        let next = if *is_torn { b"\n" } else { lines };
        match destination.write(next) {
            Ok(0) => return (lines, Err(io::ErrorKind::WriteZero.into())),
            Ok(_) if *is_torn => *is_torn = false,
            Ok(count) => lines = &lines[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Where somebody else has made the destination non-blocking.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(TOGETHER),
            Err(error) => {
                *is_torn |= lines.len() < all.len() && all[all.len() - lines.len() - 1] != b'\n';
                return (lines, Err(error));
            }
        }
    }
    (lines, destination.flush())
}

/// For events of `tracing`, each of which is written at once.
impl Write for LineWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.put(shown(&String::from_utf8_lossy(line)).as_bytes());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LineWriter {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// A destination that takes what it is given once a test says so.
    struct Held(Sender<Vec<u8>>, Receiver<()>);

    impl Write for Held {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.send(text.to_vec()).map_err(io::Error::other)?;
            self.1.recv().map_err(io::Error::other)?;
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_are_written_together_and_in_their_order_and_those_beyond_the_bound_are_dropped() {
        let ((to, texts), (go, going)) = (channel(), channel());
        let (writer, closing) = LineWriter::start("test", Held(to, going)).expect("a thread");
        writer.put(b"first\n");
        assert_eq!(texts.recv().expect("a text"), b"first\n");
        // Nobody takes it, and others come.
        for number in 0..=WAITING {
            writer.put(format!("{number}\n").as_bytes());
        }
        assert_eq!(writer.dropped(), 1);
        go.send(()).expect("it waits");
        let text = String::from_utf8(texts.recv().expect("a text")).expect("text");
        assert_eq!(text.lines().count(), WAITING);
        assert!(text.starts_with("0\n1\n") && text.ends_with("\n4095\n"));
        writer.put(b"last\n");
        go.send(()).expect("it waits");
        go.send(()).expect("it waits");
        drop(closing);
        assert_eq!(texts.recv().expect("a text"), b"last\n", "what waits at the end is written");
    }

    #[test]
    fn an_end_waits_no_longer_than_it_may() {
        let ((to, texts), (_go, going)) = (channel(), channel());
        let (writer, closing) = LineWriter::start("test", Held(to, going)).expect("a thread");
        writer.put(b"first\n");
        assert_eq!(texts.recv().expect("a text"), b"first\n");
        drop(closing);
    }

    #[test]
    fn a_destination_that_fails_stops_nothing() {
        let (to, texts) = channel();
        drop(texts);
        let (writer, closing) = LineWriter::start("test", Held(to, channel().1)).expect("a thread");
        writer.put(b"lost\n");
        drop(closing);
        assert_eq!((writer.written(), writer.dropped()), (0, 1));
        let now = Instant::now();
        let loss = writer.loss(now, false).expect("it is told at once");
        assert_eq!((loss.total, &*loss.problem), (1, "sending on a closed channel"));
        writer.told(1, now);
        assert_eq!(writer.loss(now + TOLD_EVERY, true), None, "once");
    }

    /// A disk with room for some bytes.
    struct Disk(Arc<Mutex<(Vec<u8>, usize)>>);

    impl Write for Disk {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            let (written, room) = &mut *self.0.lock().expect("nothing panicked");
            let count = text.len().min(*room);
            *room -= count;
            written.extend_from_slice(&text[..count]);
            if count == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(count) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_a_full_disk_does_not_take_is_counted_and_tears_no_other_line() {
        let disk = Arc::new(Mutex::new((Vec::new(), 10)));
        let (mut destination, mut is_torn) = (Disk(Arc::clone(&disk)), false);
        let mut write = |text: &'static [u8]| {
            let (left, result) = write_lines(&mut destination, text, &mut is_torn);
            (left.iter().filter(|byte| **byte == b'\n').count(), result.is_ok())
        };
        assert_eq!(write(b"first\nsecond\nthird\n"), (2, false));
        assert_eq!(write(b"fourth\n"), (1, false));
        disk.lock().expect("nothing panicked").1 = 1_000;
        assert_eq!(write(b"fifth\n"), (0, true));
        assert_eq!(disk.lock().expect("nothing panicked").0, b"first\nseco\nfifth\n");
    }
}
