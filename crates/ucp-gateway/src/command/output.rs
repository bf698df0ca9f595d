//! Standard output of the commands, and what they say on standard error: [`shown`] as a terminal may show it.

use std::{
    fmt,
    io::{self, ErrorKind, Write as _},
    process,
};

use super::owner::Handover;
use crate::terminal::shown;

/// Exit status of a process whose reader has gone, as shells report it of one that SIGPIPE ended: what was under way is not
/// done, and must not pass for a success.
const READER_GONE: i32 = 141;

/// Writes a line to standard output, with the arguments of [`println!`]. Ends the process with status 141 if the reader has
/// gone, as `head` does once it has seen enough.
macro_rules! say {
    ($($arguments:tt)*) => { $crate::command::output::write(format_args!("{}\n", format_args!($($arguments)*))) };
}
pub(crate) use say;

/// Writes a line to standard error, with the arguments of [`eprintln!`].
macro_rules! remark {
    ($($arguments:tt)*) => { eprintln!("{}", $crate::terminal::shown(&format!($($arguments)*))) };
}
pub(crate) use remark;

/// Writes a text to standard output. Ends the process as [`say`] does.
pub(crate) fn write(text: fmt::Arguments<'_>) {
    match io::stdout().lock().write_all(shown(&text.to_string()).as_bytes()) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => leave(READER_GONE),
        Err(error) => {
            eprintln!("ucp-gateway: standard output could not be written: {error}");
            leave(1);
        }
    }
}

/// Ends the process, without files that belong to nobody else than root.
fn leave(status: i32) -> ! {
    drop(Handover);
    process::exit(status)
}
