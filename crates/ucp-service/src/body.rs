//! Request bodies, read within limits of size, time and memory.

use std::{pin::pin, time::Duration};

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body_util::BodyExt as _;
use ucp_core::{Code, Refusal, json};
use ucp_record::{self as record, Stage};
use ucp_trust::limit::HeldBody;

use crate::header::{require_uncoded, require_uncoded_if_asked};

/// Maximum size of a request body, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;

/// Timeout for receiving a whole body.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// Maximum size of the pieces in bytes in which room for a body is taken. All are of one size, so that memory that one body
/// gives back fits the next.
const PIECE: usize = 8 * 1024;

/// Reads the body of a request with these headers to its end. Room for it is taken from `held` as it arrives, and in the
/// end for the document that is parsed from it.
///
/// # Errors
/// [`Code::BodyTooLarge`] if the body exceeds [`MAX_BYTES`], [`Code::RequestTimeout`] if it does not arrive within
/// [`DEADLINE`], [`Code::MalformedJson`] if the connection breaks off, [`Code::UnsupportedMediaType`] or
/// [`Code::InvalidRequest`] if it has or claims a content coding, [`Code::RateLimited`] or [`Code::Unavailable`] if there
/// is no room for it.
pub async fn read<B>(headers: &HeaderMap, body: B, held: &mut HeldBody) -> Result<Bytes, Refusal>
where
    B: http_body::Body<Data = Bytes>,
{
    record::enter(Stage::Read);
    require_uncoded_if_asked(headers)?;
    let bytes = tokio::select! {
        read = tokio::time::timeout(DEADLINE, collect(body, held)) => read.unwrap_or_else(|_| {
            Err(Refusal::new(Code::RequestTimeout, "The body did not arrive in time.")
                .accepting(format!("a body that arrives within {} seconds", DEADLINE.as_secs())))
        })?,
        refusal = held.dropped() => return Err(refusal),
    };
    record::note(|facts| facts.bytes_in = bytes.len());
    held.arrived()?;
    held.expand(json::weight(&bytes, json::Limits::REQUEST.values))?;
    require_uncoded(headers, &bytes)?;
    Ok(bytes)
}

/// Copies a body into memory of its own: what arrives in small pieces would hold far more than its length.
async fn collect<B>(body: B, held: &HeldBody) -> Result<Bytes, Refusal>
where
    B: http_body::Body<Data = Bytes>,
{
    let mut body = pin!(body);
    let too_large =
        || Refusal::new(Code::BodyTooLarge, "The body is too large.").accepting(format!("at most {MAX_BYTES} bytes"));
    // Before the body is asked for, which tells a client that waits for `100 Continue` to send it.
    if body.size_hint().lower() > MAX_BYTES as u64 {
        return Err(too_large());
    }
    let stated = body.size_hint().exact().and_then(|length| usize::try_from(length).ok()).unwrap_or(MAX_BYTES);
    let (mut pieces, mut length): (Vec<BytesMut>, _) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refusal::new(Code::MalformedJson, "The body is incomplete."))?;
        let Ok(mut data) = frame.into_data() else { continue };
        if length + data.len() > MAX_BYTES {
            return Err(too_large());
        }
        while !data.is_empty() {
            let Some(room) = pieces.last_mut().filter(|piece| piece.len() < piece.capacity()) else {
                let size = PIECE.min(stated.saturating_sub(length).max(data.len()));
                held.grow(size)?;
                pieces.push(BytesMut::with_capacity(size));
                continue;
            };
            let part = data.split_to(data.len().min(room.capacity() - room.len()));
            room.extend_from_slice(&part);
            length += part.len();
        }
    }
    if let [_] = &*pieces {
        return Ok(pieces.swap_remove(0).freeze());
    }
    let mut bytes = BytesMut::with_capacity(length);
    pieces.iter().for_each(|piece| bytes.extend_from_slice(piece));
    Ok(bytes.freeze())
}
