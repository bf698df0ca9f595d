//! Check of the write-ahead log before SQLite opens it.
//!
//! SQLite reads the log up to the first frame that is not what was written, because a transaction that was under way when the
//! power failed ends there. It says nothing of what comes behind, and overwrites it. Each commit is flushed before the next
//! begins, so that at most one transaction can be torn: frames of the same generation behind a later commit are a loss.

use std::{
    fs::File,
    io::{self, BufReader, ErrorKind, Read},
    path::Path,
};

use crate::{error::StoreError, header::beside};

/// Size of the header of a log, in bytes.
const HEADER: usize = 32;

/// Size of the header of a frame, in bytes.
const FRAME: usize = 24;

/// Damage of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Loss {
    /// Number of the first frame that is damaged, from 1; 0 for the header of the log.
    frame: u64,
    /// Number of commits that end in this frame or behind it.
    commits: u64,
}

/// Checks that SQLite will read all that a log holds. Fails with [`StoreError::Lost`] if commits are behind a frame
/// that is damaged.
pub(crate) fn check(database: &Path) -> Result<(), StoreError> {
    let path = beside(database, "-wal");
    let look = || match File::open(&path) {
        Ok(file) => loss(BufReader::with_capacity(1 << 18, file)).unwrap_or(None),
        // SQLite says what is wrong.
        Err(_) => None,
    };
    let Some(found) = look() else { return Ok(()) };
    // A process that begins the log anew meanwhile makes two generations of it look like one that is damaged.
    if look() != Some(found) {
        return Ok(());
    }
    let Loss { frame, commits } = found;
    let what = format!(
        "{commits} commits in {} cannot be read because {} is damaged",
        path.display(),
        if frame == 0 { "its header".to_owned() } else { format!("frame {frame}") }
    );
    Err(StoreError::Lost { path: database.to_owned(), what })
}

/// Reads a log to its end.
fn loss(mut log: impl Read) -> io::Result<Option<Loss>> {
    let mut header = [0; HEADER];
    log.read_exact(&mut header)?;
    let word = |bytes: &[u8], at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let is_big_endian = word(&header, 0) & 1 == 1;
    let page = word(&header, 8) as usize;
    let salts = (word(&header, 16), word(&header, 20));
    let stated = |bytes: &[u8], at: usize| (word(bytes, at), word(bytes, at + 4));
    let is_whole = word(&header, 0) & !1 == 0x377f_0682
        && sum((0, 0), &header[..24], is_big_endian) == stated(&header, 24)
        && page.is_power_of_two()
        && (512..=65_536).contains(&page);
    // The page size of all databases that a gateway makes.
    let mut frame = vec![0; FRAME + if is_whole { page } else { 4_096 }];
    let (mut before, mut damaged) = (stated(&header, 24), (!is_whole).then_some(0));
    let (mut commits, mut has_later) = (0, false);
    // Frames without a gap, of which one ends a commit.
    let mut follows_commit = false;
    for number in 1.. {
        match log.read_exact(&mut frame) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
            read => read?,
        }
        let (is_commit, own) = (word(&frame, 4) > 0, stated(&frame, 8));
        let computed = sum(sum(before, &frame[..8], is_big_endian), &frame[FRAME..], is_big_endian);
        let is_next = computed == stated(&frame, 16);
        before = stated(&frame, 16);
        if damaged.is_none() {
            if own == salts && is_next {
                continue;
            }
            // The bit may be one of the salts.
            damaged = Some(number);
        } else if own != salts {
            continue;
        }
        // Frames that a transaction left which was rolled back, or torn before the log was continued, follow upon no commit.
        has_later |= follows_commit && is_next;
        follows_commit = is_commit || follows_commit && is_next;
        commits += u64::from(is_commit);
    }
    Ok(damaged.filter(|_| has_later).map(|frame| Loss { frame, commits }))
}

/// The checksum of SQLite over bytes, which continues another one.
fn sum((mut first, mut second): (u32, u32), bytes: &[u8], is_big_endian: bool) -> (u32, u32) {
    let (pairs, _) = bytes.as_chunks::<8>();
    for [a, b, c, d, e, f, g, h] in pairs {
        let read = if is_big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
        first = first.wrapping_add(read([*a, *b, *c, *d])).wrapping_add(second);
        second = second.wrapping_add(read([*e, *f, *g, *h])).wrapping_add(first);
    }
    (first, second)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 512;

    /// A log of frames, each of which ends a commit or not, and follows upon the one before or not.
    fn log(frames: &[(bool, bool)]) -> Vec<u8> {
        let mut log = Vec::new();
        for word in [0x377f_0682, 3_007_000, 512, 0, 7, 8] {
            log.extend_from_slice(&u32::to_be_bytes(word));
        }
        let mut before = sum((0, 0), &log, false);
        let stated = |(first, second): (u32, u32)| [first.to_be_bytes(), second.to_be_bytes()].concat();
        log.extend(stated(before));
        for (is_commit, follows) in frames {
            let head: Vec<_> = [1, u32::from(*is_commit)].into_iter().flat_map(u32::to_be_bytes).collect();
            let start = if *follows { before } else { (before.0 ^ 1, before.1) };
            before = sum(sum(start, &head, false), &[1; PAGE], false);
            log.extend([head, stated((7, 8)), stated(before), vec![1; PAGE]].concat());
        }
        log
    }

    #[test]
    fn commits_behind_a_damaged_frame_are_a_loss_and_what_was_torn_is_none() {
        let found = |log: &[u8]| loss(log).expect("is read");
        let whole = log(&[(true, true), (false, true), (true, true), (true, true)]);
        assert_eq!(found(&whole), None);
        let mut damaged = whole;
        damaged[HEADER + FRAME + 9] ^= 4;
        assert_eq!(found(&damaged), Some(Loss { frame: 1, commits: 3 }));
        let torn = [(true, true), (false, false), (true, true)];
        assert_eq!(found(&log(&torn)), None, "the power failed once");
        let twice = [torn.to_vec(), vec![(false, false), (false, true), (true, true)]].concat();
        assert_eq!(found(&log(&twice)), None, "the power failed again after the log was continued");
    }
}
