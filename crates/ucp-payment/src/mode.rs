//! The capture mode of an attempt, which stays what it was when the attempt began.

use serde_json::Value;
use ucp_core::purchase::payment::{Attempt, CaptureMode};

/// Name of the member of a memo that says that the merchant captures.
const CAPTURE: &str = "capture";

/// Adds the mode to the memo of an attempt. That of automatic captures stays as it is.
pub(crate) fn noted(mut memo: Value, mode: CaptureMode) -> Value {
    if mode == CaptureMode::Manual {
        memo[CAPTURE] = "manual".into();
    }
    memo
}

/// Returns the mode of an attempt.
pub(crate) fn of(attempt: &Attempt) -> CaptureMode {
    match attempt.memo[CAPTURE].as_str() {
        Some("manual") => CaptureMode::Manual,
        _ => CaptureMode::Automatic,
    }
}
