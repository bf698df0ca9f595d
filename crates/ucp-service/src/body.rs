//! Request bodies, read within limits of size and time.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use ucp_core::{Code, Refusal};

use crate::header::require_uncoded;

/// Maximum size of a request body, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;

/// Timeout for receiving a whole body.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// Reads the body of a request with these headers to its end.
///
/// # Errors
/// [`Code::BodyTooLarge`] if the body exceeds [`MAX_BYTES`], [`Code::RequestTimeout`] if it does not arrive within
/// [`DEADLINE`], [`Code::MalformedJson`] if the connection breaks off, [`Code::UnsupportedMediaType`] or
/// [`Code::InvalidRequest`] if it has or claims a content coding.
pub async fn read<B>(headers: &HeaderMap, body: B) -> Result<Bytes, Refusal>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match tokio::time::timeout(DEADLINE, Limited::new(body, MAX_BYTES).collect()).await {
        Ok(Ok(collected)) => {
            let bytes = collected.to_bytes();
            require_uncoded(headers, &bytes)?;
            Ok(bytes)
        }
        Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => {
            Err(Refusal::new(Code::BodyTooLarge, "The body is too large.")
                .accepting(format!("at most {MAX_BYTES} bytes")))
        }
        Ok(Err(_)) => Err(Refusal::new(Code::MalformedJson, "The body broke off before its end.")),
        Err(_) => Err(Refusal::new(Code::RequestTimeout, "The body did not arrive in time.")
            .accepting(format!("a body that arrives within {} seconds", DEADLINE.as_secs()))),
    }
}
