//! Lines on their way to a file or to standard error, which a thread of their own writes.
//!
//! Whoever writes a line copies it into a buffer and goes on. The thread takes the buffer as a whole, so that lines that
//! come together are written together. While nobody takes what it writes, a bounded number of lines waits; further ones
//! are dropped and counted.

use std::{
    io::{self, Write},
    mem,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use tracing_subscriber::fmt::MakeWriter;

/// Maximum number of lines that wait to be written.
const WAITING: usize = 4_096;

/// Time for which further lines are waited for: waking up for each of them takes longer than writing it.
const TOGETHER: Duration = Duration::from_millis(2);

/// Capacity in bytes above which a buffer is given back once it is written.
const KEPT: usize = 1 << 20;

/// Time in which what is waiting is written at the end.
const LAST: Duration = Duration::from_secs(1);

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
    dropped: AtomicUsize,
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

    /// Returns the number of lines that were dropped since the start.
    pub(crate) fn dropped(&self) -> usize {
        self.0.dropped.load(Ordering::Relaxed)
    }
}

/// Writes what comes until nothing more will. Lines that the destination does not take are lost.
fn write(shared: &Shared, mut destination: impl Write) {
    let mut text = Vec::new();
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
        buffer.lines = 0;
        drop(buffer);
        drop(destination.write_all(&text).and_then(|()| destination.flush()));
        text.clear();
        text.shrink_to(KEPT);
    }
}

/// For events of `tracing`, each of which is written at once.
impl Write for LineWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.put(line);
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
        writer.put(b"late\n");
        assert_eq!(writer.dropped(), 0);
    }
}
