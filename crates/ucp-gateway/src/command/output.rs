//! Standard output of the commands.

use std::{
    fmt,
    io::{self, ErrorKind, Write as _},
    process,
};

/// Writes a line to standard output, with the arguments of [`println!`]. A reader that has gone, as `head` does once it has
/// seen enough, ends the process instead of making it panic.
macro_rules! say {
    ($($arguments:tt)*) => { $crate::command::output::write(format_args!("{}\n", format_args!($($arguments)*))) };
}
pub(crate) use say;

/// Writes a text to standard output as it is.
pub(crate) fn write(text: fmt::Arguments<'_>) {
    match io::stdout().lock().write_fmt(text) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => process::exit(0),
        Err(error) => {
            eprintln!("ucp-gateway: standard output could not be written: {error}");
            process::exit(1);
        }
    }
}
