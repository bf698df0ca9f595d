//! The process in which programs run.
//!
//! No check of a program's text tells how much time, memory or stack it will take: `[range(1e12)]` is as short as it is
//! deadly. So programs run in a child of the gateway, the same binary, which has nothing to lose: an empty environment,
//! no files but the socket to its parent, a bound on its memory, and the first place in line when the machine runs out
//! of it. Whatever a program does to it, the parent kills it when its time is up, or notices that it died, and starts
//! another one.
//!
//! Both speak over the socket that is the child's standard input. A frame is its length and its bytes; the first one
//! from the parent holds all programs, each further one a request, which is answered with one frame.

use std::{
    cell::OnceCell,
    fs,
    io::{self, Read, Write},
    os::{fd::AsFd, unix::net::UnixStream},
    process,
    sync::mpsc,
    thread,
};

use jaq_json::Val;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use super::program::{Program, STACK, Stopped, Thrown, json};

/// Maximum size of a frame in bytes.
pub(super) const MAX_FRAME: usize = 64 << 20;

/// Memory that the process may take beyond what it has at its start, in bytes: the stack of programs, the largest frame,
/// and what programs make of it. An allocator that reserves memory ahead adds that to it.
const MAX_MEMORY: u64 = 1 << 30;

/// The first frame.
#[derive(Serialize, Deserialize)]
pub(super) struct Programs {
    /// Texts and names of variables of all programs.
    pub(super) programs: Vec<(String, Vec<String>)>,
    /// Maximum size of a value in bytes.
    pub(super) limit: usize,
}

/// A request: run a program once for each input.
pub(super) struct Request<'a> {
    pub(super) program: usize,
    pub(super) variables: Vec<&'a [u8]>,
    pub(super) inputs: Vec<&'a [u8]>,
}

/// Why a frame cannot be read.
pub(super) struct Malformed;

impl<'a> Request<'a> {
    pub(super) fn encode(&self) -> Vec<u8> {
        let texts = |texts: &[&[u8]], frame: &mut Vec<u8>| {
            number(texts.len(), frame);
            for text in texts {
                number(text.len(), frame);
                frame.extend_from_slice(text);
            }
        };
        let mut frame = Vec::new();
        number(self.program, &mut frame);
        texts(&self.variables, &mut frame);
        texts(&self.inputs, &mut frame);
        frame
    }

    fn decode(mut frame: &'a [u8]) -> Result<Self, Malformed> {
        let texts = |frame: &mut &'a [u8]| -> Result<Vec<_>, Malformed> {
            let count = take_number(frame)?;
            (0..count).map(|_| take_number(frame).and_then(|length| take(length, frame))).collect()
        };
        let program = take_number(&mut frame)?;
        Ok(Self { program, variables: texts(&mut frame)?, inputs: texts(&mut frame)? })
    }
}

/// Result of running a program on one input.
pub(super) type Ran = Result<Vec<u8>, Stopped>;

fn encode(all: &[Ran]) -> Vec<u8> {
    let mut frame = Vec::new();
    for ran in all {
        let (tag, texts): (u8, [&[u8]; 2]) = match ran {
            Ok(value) => (0, [value, b""]),
            Err(Stopped::Empty) => (1, [b"", b""]),
            Err(Stopped::Error(Thrown { text, rule })) => (2, [text.as_bytes(), rule.as_bytes()]),
            Err(Stopped::Unusable(text)) => (3, [text.as_bytes(), b""]),
        };
        frame.push(tag);
        for text in texts {
            number(text.len(), &mut frame);
            frame.extend_from_slice(text);
        }
    }
    frame
}

/// Reads the answer to a request with `count` inputs.
pub(super) fn decode(mut frame: &[u8], count: usize) -> Result<Vec<Ran>, Malformed> {
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        let tag = take(1, &mut frame)?[0];
        let mut bytes = || take_number(&mut frame).and_then(|length| take(length, &mut frame));
        let (value, rule) = (bytes()?, bytes()?);
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        all.push(match tag {
            0 => Ok(value.to_vec()),
            1 => Err(Stopped::Empty),
            2 => Err(Stopped::Error(Thrown { text: text(value), rule: text(rule) })),
            3 => Err(Stopped::Unusable(text(value))),
            _ => return Err(Malformed),
        });
    }
    if frame.is_empty() { Ok(all) } else { Err(Malformed) }
}

fn number(number: usize, frame: &mut Vec<u8>) {
    frame.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes());
}

fn take<'a>(length: usize, frame: &mut &'a [u8]) -> Result<&'a [u8], Malformed> {
    let (taken, rest) = frame.split_at_checked(length).ok_or(Malformed)?;
    *frame = rest;
    Ok(taken)
}

fn take_number(frame: &mut &[u8]) -> Result<usize, Malformed> {
    let bytes = take(4, frame)?.try_into().map_err(|_| Malformed)?;
    usize::try_from(u32::from_be_bytes(bytes)).map_err(|_| Malformed)
}

/// Serves the parent of this process until it hangs up. Does not return after that: the process ends. Fails if the
/// standard input is not a socket, or breaks.
pub fn serve() -> io::Result<()> {
    for (resource, limit) in [(Resource::Data, held() + MAX_MEMORY), (Resource::Core, 0)] {
        let maximum = getrlimit(resource).maximum.map_or(limit, |maximum| maximum.min(limit));
        setrlimit(resource, Rlimit { current: Some(maximum), maximum: Some(maximum) })?;
    }
    // Where there is no such file, the machine chooses another way.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    let mut parent = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let answers = parent.try_clone()?;
    let (sender, frames) = mpsc::sync_channel::<Vec<u8>>(1);
    thread::Builder::new().stack_size(STACK).spawn(move || {
        let _exit = Exit;
        run(&frames, answers);
    })?;
    // Reading goes on while a program runs: a parent that is gone ends the process at once.
    while let Some(frame) = read_frame(&mut parent)? {
        if sender.send(frame).is_err() {
            break;
        }
    }
    process::exit(0)
}

/// Returns the memory that the process has, in bytes, where the system says so.
fn held() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let data = status.lines().find_map(|line| line.strip_prefix("VmData:")?.trim().strip_suffix(" kB")?.parse().ok());
    data.unwrap_or(0_u64) << 10
}

/// Ends the process when the thread of the programs ends, however it does.
struct Exit;

impl Drop for Exit {
    fn drop(&mut self) {
        process::exit(1)
    }
}

fn run(frames: &mpsc::Receiver<Vec<u8>>, mut answers: UnixStream) {
    let Ok(first) = frames.recv() else { return };
    let Ok(Programs { programs, limit }) = serde_json::from_slice(&first) else { return };
    let compiled: Vec<OnceCell<Option<Program>>> = programs.iter().map(|_| OnceCell::new()).collect();
    while let Ok(frame) = frames.recv() {
        let Ok(request) = Request::decode(&frame) else { return };
        let Some(((code, variables), program)) = programs.get(request.program).zip(compiled.get(request.program))
        else {
            return;
        };
        let program = program.get_or_init(|| Program::compile(code, variables).ok());
        let Some(program) = program else { return };
        let values: Option<Vec<Val>> = request.variables.iter().map(|text| json(text)).collect();
        let Some(values) = values else { return };
        let all: Vec<Ran> = request
            .inputs
            .iter()
            .map(|input| {
                let input = json(input).ok_or_else(|| Stopped::Unusable("the input must be JSON".to_owned()))?;
                program.run(&input, &values, limit)
            })
            .collect();
        if write_frame(&mut answers, &encode(&all)).is_err() {
            return;
        }
    }
}

fn read_frame(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u32::from_be_bytes(length) as usize;
    if length > MAX_FRAME {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut frame = vec![0; length];
    from.read_exact(&mut frame)?;
    Ok(Some(frame))
}

fn write_frame(to: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    let length = u32::try_from(frame.len()).map_err(|_| io::ErrorKind::InvalidData)?;
    to.write_all(&length.to_be_bytes())?;
    to.write_all(frame)
}
