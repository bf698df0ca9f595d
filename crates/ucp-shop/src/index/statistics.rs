//! Frozen statistics: how common each term was when somebody last counted.
//!
//! BM25 weighs terms by how rare they are, and that changes with every product that is added. Scores that shift between
//! two pages make products appear twice or never. Scores here therefore come from a snapshot: as long as the snapshot
//! stays, a product's score depends on that product alone. A snapshot is an [epoch](Statistics::epoch); page positions
//! name theirs, and the index keeps the last few.
//!
//! Terms are kept as 64-bit hashes in a sorted table, twelve bytes each. Two terms with one hash would be taken for
//! equally common, which is harmless and always the same.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use tantivy::{Searcher, schema::Field};

const MAGIC: u64 = u64::from_le_bytes(*b"UCPSTAT1");

/// Frequency of terms at one time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Statistics {
    /// Names this snapshot, by what was counted: two indexes that were made of the same products score alike, and positions of
    /// the one hold in the other. Never 0.
    pub(super) epoch: u64,
    /// Number of products.
    pub(super) docs: u64,
    /// Total number of terms in each text field, in the order of the fields.
    tokens: Vec<u64>,
    /// The hashes of the terms, ascending.
    terms: Vec<u64>,
    /// In how many products each term occurred, in the order of `terms`.
    freqs: Vec<u32>,
}

impl Statistics {
    /// Counts what an index holds in `fields`.
    pub(super) fn count(searcher: &Searcher, fields: &[Field]) -> tantivy::Result<Self> {
        let docs = searcher.segment_readers().iter().map(|segment| u64::from(segment.max_doc())).sum();
        let mut counted: HashMap<u64, u32> = HashMap::new();
        let mut tokens = vec![0; fields.len()];
        for segment in searcher.segment_readers() {
            for (position, field) in fields.iter().enumerate() {
                let inverted = segment.inverted_index(*field)?;
                tokens[position] += inverted.total_num_tokens();
                let mut terms = inverted.terms().stream()?;
                while terms.advance() {
                    let freq = counted.entry(hash(position, terms.key())).or_default();
                    *freq = freq.saturating_add(terms.value().doc_freq);
                }
            }
        }
        let mut counted: Vec<_> = counted.into_iter().collect();
        counted.sort_unstable();
        let (terms, freqs): (Vec<u64>, Vec<u32>) = counted.into_iter().unzip();
        let words: Vec<u64> = [&[docs][..], &tokens, &terms].concat();
        let epoch = checksum(&words) ^ checksum(&freqs.iter().copied().map(u64::from).collect::<Vec<_>>());
        Ok(Self { epoch: epoch.max(1), docs, tokens, terms, freqs })
    }

    /// In how many products the term occurred in the text field at `field`; 0 if it was unknown.
    pub(super) fn doc_freq(&self, field: usize, term: &str) -> u32 {
        self.terms.binary_search(&hash(field, term.as_bytes())).map_or(0, |at| self.freqs[at])
    }

    /// The mean number of terms in the text field at `field`, at least 1.
    pub(super) fn mean_length(&self, field: usize) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "a mean")]
        let mean = self.tokens.get(field).map_or(1.0, |tokens| *tokens as f32 / self.docs.max(1) as f32);
        mean.max(1.0)
    }

    /// Writes the snapshot into `directory`, so that it is there whole or not at all.
    pub(super) fn write(&self, directory: &Path) -> io::Result<()> {
        let mut words = vec![MAGIC, self.epoch, self.docs, self.tokens.len() as u64, self.terms.len() as u64];
        words.extend(&self.tokens);
        words.extend(&self.terms);
        words.extend(self.freqs.chunks(2).map(|pair| u64::from(pair[0]) | u64::from(*pair.get(1).unwrap_or(&0)) << 32));
        words.push(checksum(&words));
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let path = path(directory, self.epoch);
        let partial = path.with_extension("partial");
        let mut file = File::create(&partial)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&partial, &path)?;
        File::open(directory)?.sync_all()
    }

    /// Reads the snapshot of `epoch`; an error also if it is not what was written.
    pub(super) fn read(directory: &Path, epoch: u64) -> io::Result<Self> {
        let bytes = fs::read(path(directory, epoch))?;
        parse(&bytes)
            .filter(|statistics| statistics.epoch == epoch)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the statistics file is damaged"))
    }

    /// Removes all snapshots in `directory` but those of `keep`.
    pub(super) fn tidy(directory: &Path, keep: &[u64]) {
        let kept: Vec<_> = keep.iter().map(|epoch| path(directory, *epoch)).collect();
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_name().to_string_lossy().starts_with("statistics-") && !kept.contains(&path) {
                // What cannot be removed now is tried again next time.
                drop(fs::remove_file(path));
            }
        }
    }
}

fn parse(bytes: &[u8]) -> Option<Statistics> {
    let (chunks, rest) = bytes.as_chunks::<8>();
    let words: Vec<u64> = chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect();
    let (sum, words) = words.split_last()?;
    let [MAGIC, epoch, docs, fields, terms, content @ ..] = words else {
        return None;
    };
    let (fields, terms) = (usize::try_from(*fields).ok()?, usize::try_from(*terms).ok()?);
    let whole = rest.is_empty()
        && checksum(words) == *sum
        && Some(content.len()) == fields.checked_add(terms)?.checked_add(terms.div_ceil(2));
    if !whole {
        return None;
    }
    let (tokens, content) = content.split_at(fields);
    let (keys, packed) = content.split_at(terms);
    #[expect(clippy::cast_possible_truncation, reason = "two halves in one word")]
    let freqs = packed.iter().flat_map(|pair| [*pair as u32, (pair >> 32) as u32]).take(terms).collect();
    Some(Statistics { epoch: *epoch, docs: *docs, tokens: tokens.to_vec(), terms: keys.to_vec(), freqs })
}

fn path(directory: &Path, epoch: u64) -> PathBuf {
    directory.join(format!("statistics-{epoch:016x}.bin"))
}

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// FNV-1a. The hashes are on disk, so that the function must never change.
fn hash(field: usize, term: &[u8]) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    let start = step(OFFSET, u8::try_from(field).unwrap_or(u8::MAX));
    term.iter().fold(start, |hash, byte| step(hash, *byte))
}

/// Against torn and rotten files, not against enemies.
fn checksum(words: &[u64]) -> u64 {
    words.iter().fold(OFFSET, |hash, word| (hash ^ word).wrapping_mul(PRIME).rotate_left(29))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_back_whole_or_not_at_all() {
        let directory = tempfile::tempdir().expect("directory");
        let mut terms: Vec<u64> = ["blue", "shoe", "sky"].iter().map(|term| hash(1, term.as_bytes())).collect();
        terms.sort_unstable();
        let written = Statistics { epoch: 7, docs: 10, tokens: vec![0, 25], terms, freqs: vec![1, 2, 3] };
        written.write(directory.path()).expect("writes");
        let read = Statistics::read(directory.path(), 7).expect("reads");
        assert_eq!(read, written);
        assert!(read.doc_freq(1, "shoe") > 0 && read.doc_freq(0, "shoe") == 0);
        assert!((read.mean_length(1) - 2.5).abs() < f32::EPSILON && (read.mean_length(0) - 1.0).abs() < f32::EPSILON);

        let path = path(directory.path(), 7);
        let bytes = fs::read(&path).expect("bytes");
        for at in 0..bytes.len() {
            let mut torn = bytes.clone();
            torn[at] ^= 0x10;
            assert!(parse(&torn).is_none_or(|statistics| statistics.epoch != 7), "flipped at {at}");
            assert!(parse(&bytes[..at]).is_none(), "cut at {at}");
        }
        assert!(Statistics::read(directory.path(), 8).is_err());
        Statistics::tidy(directory.path(), &[8]);
        assert!(!path.exists());
    }
}
