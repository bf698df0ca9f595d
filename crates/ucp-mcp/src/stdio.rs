//! Standard input and output, for agents that start the gateway as a child process: one message per line.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use ucp_core::{Code, Refusal, ports::Trace};
use ucp_service::{access::Principal, agent::Stated, body};

use crate::{
    arguments::Caller,
    era::BATCHING_VERSION,
    message,
    server::{Answer, Server},
    toolset::Toolset,
};

/// Answers messages line by line until the input ends.
///
/// `platform` is the profile URL to assume if a message states none, that of the program that started the gateway;
/// `toolset` are the tools that it has chosen.
///
/// # Errors
/// [`io::Error`] if reading or writing fails.
pub async fn serve(
    server: &Server,
    platform: &str,
    toolset: Toolset,
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut caller = Caller {
        profile: None,
        default_profile: Some(Stated { place: "the command line", text: platform.to_owned() }),
        idempotency_keys: Vec::new(),
        languages: Vec::new(),
        toolset,
        is_library: false,
        admission: Principal::Local.into(),
        request_id: None,
        trace: Trace::default(),
    };
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    let mut batches = false;
    loop {
        let answer = match next_line(&mut input, &mut line).await? {
            Line::End => return Ok(()),
            Line::Whole if line.trim_ascii().is_empty() => continue,
            Line::Whole => match if batches { message::batch(&line) } else { Ok(None) } {
                Ok(None) => server.answer(&line, None, &caller).await,
                Ok(Some(batch)) => {
                    let mut answers = Vec::with_capacity(batch.len());
                    for message in batch {
                        answers.push(server.answer(message.get().as_bytes(), None, &caller).await);
                    }
                    Answer::of_batch(answers)
                }
                Err(refusal) => Answer::refused(None, &server.fault(refusal), None),
            },
            Line::TooLong => {
                let refusal = Refusal::new(Code::BodyTooLarge, "The message is too large.")
                    .accepting(format!("at most {} bytes in one line", body::MAX_BYTES));
                Answer::refused(None, &server.fault(refusal), None)
            }
        };
        // Whoever shakes hands is a library of MCP, and stays one.
        if let Some(version) = answer.agreed {
            (caller.is_library, batches) = (true, version == BATCHING_VERSION);
        }
        if let Some(text) = answer.text {
            output.write_all(text.as_bytes()).await?;
            output.write_all(b"\n").await?;
            output.flush().await?;
        }
    }
}

enum Line {
    Whole,
    TooLong,
    End,
}

/// Reads one line into `line`, without its end. A line longer than [`body::MAX_BYTES`] is read to its end and dropped.
async fn next_line(input: &mut (impl AsyncBufReadExt + Unpin), line: &mut Vec<u8>) -> io::Result<Line> {
    line.clear();
    let mut too_long = false;
    loop {
        let available = input.fill_buf().await?;
        if available.is_empty() {
            return Ok(if too_long {
                Line::TooLong
            } else if line.is_empty() {
                Line::End
            } else {
                Line::Whole
            });
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = &available[..end.unwrap_or(available.len())];
        too_long |= line.len() + part.len() > body::MAX_BYTES;
        if !too_long {
            line.extend_from_slice(part);
        }
        let used = end.map_or(available.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(if too_long { Line::TooLong } else { Line::Whole });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_read_whole_or_skipped() {
        let input = [b"one\n\n".as_slice(), &vec![b'x'; body::MAX_BYTES + 1], b"\nlast"].concat();
        let mut reader = BufReader::with_capacity(1_000, input.as_slice());
        let mut line = Vec::new();
        let mut seen = Vec::new();
        loop {
            assert!(seen.len() < 9, "no end of lines: {seen:?}");
            seen.push(match next_line(&mut reader, &mut line).await.expect("readable") {
                Line::End => break,
                Line::TooLong => "too long".to_owned(),
                Line::Whole => String::from_utf8(line.clone()).expect("text"),
            });
        }
        assert_eq!(seen, ["one", "", "too long", "last"]);
    }
}
