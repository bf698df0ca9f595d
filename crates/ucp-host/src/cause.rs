//! Errors with their causes, for people to read.

use std::{error::Error, iter};

/// Formats an error and its causes in one line.
pub fn chain(error: &dyn Error) -> String {
    iter::successors(error.source(), |&cause| cause.source())
        .fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
