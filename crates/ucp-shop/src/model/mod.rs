//! Static embeddings: the vector of a text is the mean of the vectors of its tokens.
//!
//! A model is a folder in the form of model2vec: `model.safetensors` with the matrix `embeddings`, one row for each token, and
//! `tokenizer.json`. Vectors are quantized to 8 bits, so that a similarity is the same number on every machine.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `tensors` | reading a safetensors file |
//! | `tokens` | splitting a text into the tokens of a model |

mod tensors;
mod tokens;

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use self::{tensors::Tensors, tokens::Tokenizer};

/// Maximum number of dimensions of a vector.
const MOST_DIMENSIONS: usize = 1_024;

/// Maximum sizes of the two files, in bytes.
const LARGEST_TENSORS: u64 = 2 << 30;
const LARGEST_TOKENIZER: u64 = 64 << 20;

/// Maximum length of a text of which the vector is made, in bytes; the rest is ignored.
const LONGEST_TEXT: usize = 8 << 10;

/// Similarity of two texts that say the same.
pub(crate) const SAME: u32 = 1_024;

/// Failure to open a model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A file cannot be read.
    #[error("{} cannot be read", .0.display())]
    Io(PathBuf, #[source] io::Error),
    /// A file is not what it should be.
    #[error("{}: {}", .0.display(), .1)]
    Unusable(PathBuf, String),
}

/// A model of static embeddings.
pub struct Model {
    /// Digest of its files: vectors of two models are never compared.
    id: String,
    tokenizer: Tokenizer,
    tensors: Tensors,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("id", &self.id).field("dimensions", &self.dimensions()).finish_non_exhaustive()
    }
}

/// A vector in 8 bits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Vector {
    pub(crate) values: Box<[i8]>,
    norm: f32,
}

impl Vector {
    /// Returns the vector of these values, unless all are 0.
    pub(crate) fn new(values: Box<[i8]>) -> Option<Self> {
        let norm = norm(&values);
        (norm > 0.0).then_some(Self { values, norm })
    }

    /// Returns the similarity to the vector of these values, from 0 to [`SAME`], where the vectors are of one model.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "far below 2^24, and not negative"
    )]
    pub(crate) fn similarity(&self, values: &[i8], norm: f32) -> u32 {
        let product: i32 = self.values.iter().zip(values).map(|(own, other)| i32::from(*own) * i32::from(*other)).sum();
        if product <= 0 || norm <= 0.0 {
            return 0;
        }
        ((product as f32 / (self.norm * norm) * SAME as f32) as u32).min(SAME)
    }
}

/// Returns the length of the vector of these values.
#[expect(clippy::cast_precision_loss, reason = "at most 1,024 squares below 2^14")]
pub(crate) fn norm(values: &[i8]) -> f32 {
    let sum: i32 = values.iter().map(|value| i32::from(*value) * i32::from(*value)).sum();
    (sum as f32).sqrt()
}

impl Model {
    /// Opens the model in a folder. Fails with [`ModelError`] if a file is missing, too large, or not of the form of model2vec.
    pub fn open(folder: &Path) -> Result<Self, ModelError> {
        let read = |name: &str, most: u64| {
            let path = folder.join(name);
            let unreadable = |error| ModelError::Io(path.clone(), error);
            let length = fs::metadata(&path).map_err(unreadable)?.len();
            if length > most {
                let problem = format!("{length} bytes, where at most {most} are read");
                return Err(ModelError::Unusable(path, problem));
            }
            let bytes = fs::read(&path).map_err(unreadable)?;
            Ok((path, bytes))
        };
        let (tokenizer_path, tokenizer_bytes) = read("tokenizer.json", LARGEST_TOKENIZER)?;
        let (tensors_path, tensors_bytes) = read("model.safetensors", LARGEST_TENSORS)?;
        let mut digest = Sha256::new();
        digest.update(&tokenizer_bytes);
        digest.update(&tensors_bytes);
        let id = digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let tokenizer =
            Tokenizer::read(&tokenizer_bytes).map_err(|problem| ModelError::Unusable(tokenizer_path, problem))?;
        let unusable = |problem| ModelError::Unusable(tensors_path.clone(), problem);
        let tensors = Tensors::read(tensors_bytes).map_err(unusable)?;
        if !(1..=MOST_DIMENSIONS).contains(&tensors.dimensions()) {
            let problem =
                format!("vectors of {} dimensions, where at most {MOST_DIMENSIONS} are used", tensors.dimensions());
            return Err(unusable(problem));
        }
        if tensors.tokens() < tokenizer.tokens() {
            let (rows, tokens) = (tensors.tokens(), tokenizer.tokens());
            return Err(unusable(format!("{rows} vectors for the {tokens} tokens of tokenizer.json")));
        }
        Ok(Self { id, tokenizer, tensors })
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) const fn dimensions(&self) -> usize {
        self.tensors.dimensions()
    }

    /// Returns the vector of a text, unless the model knows none of its tokens.
    pub(crate) fn embed(&self, text: &str) -> Option<Vector> {
        let mut sum = vec![0.0_f32; self.dimensions()];
        // Buyers write in lower case, and cased models have other tokens for the same word.
        let text = text[..text.floor_char_boundary(LONGEST_TEXT)].to_lowercase();
        for token in self.tokenizer.split(&text) {
            self.tensors.add(token, &mut sum);
        }
        let most = sum.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        if !(most.is_normal()) {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "from -127 to 127")]
        Vector::new(sum.iter().map(|value| (value / most * 127.0).round() as i8).collect())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Writes a model of word pieces with one vector for each, as model2vec does.
    pub(crate) fn write(folder: &Path, pieces: &[(&str, &[f32])]) {
        let vocabulary: serde_json::Map<_, _> =
            pieces.iter().enumerate().map(|(at, (piece, _))| ((*piece).to_owned(), at.into())).collect();
        let tokenizer = serde_json::json!({
            "normalizer": {"type": "BertNormalizer", "lowercase": true},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "model": {
                "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": vocabulary,
            },
        });
        fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).expect("a file");
        let values: Vec<f32> = pieces.iter().flat_map(|(_, values)| values.iter().copied()).collect();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let header = serde_json::json!({
            "embeddings": {"dtype": "F32", "shape": [pieces.len(), pieces[0].1.len()], "data_offsets": [0, bytes.len()]},
        })
        .to_string();
        let file = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &bytes].concat();
        fs::write(folder.join("model.safetensors"), file).expect("a file");
    }

    #[test]
    fn texts_of_like_tokens_are_similar() {
        let folder = tempfile::tempdir().expect("a folder");
        write(
            folder.path(),
            &[
                ("[UNK]", &[9.0, 9.0]),
                ("boat", &[1.0, 0.1]),
                ("ship", &[0.9, 0.2]),
                ("##s", &[0.1, 0.0]),
                ("tea", &[-0.2, 1.0]),
            ],
        );
        let model = Model::open(folder.path()).expect("opens");
        let vector = |text: &str| model.embed(text).expect(text);
        let similarity = |a: &str, b: &str| vector(a).similarity(&vector(b).values, vector(b).norm);
        assert!(similarity("boat", "Ships!") > 950, "{}", similarity("boat", "Ships!"));
        assert!((1_020..=SAME).contains(&similarity("boat", "BOAT")));
        assert_eq!(similarity("boat", "tea"), 0, "{}", similarity("boat", "tea"));
        assert_eq!(model.embed("submarine"), None, "unknown words say nothing");
        assert_eq!(model.embed(""), None);
    }

    #[test]
    fn folders_that_are_no_model_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let refused = || Model::open(folder.path()).expect_err("refused").to_string();
        assert!(refused().ends_with("tokenizer.json cannot be read"), "{}", refused());
        write(folder.path(), &[("a", &[1.0])]);
        let tensors = folder.path().join("model.safetensors");
        for (bytes, problem) in [
            (&b"short"[..], "no safetensors file"),
            (&[255; 64], "no safetensors file"),
            (&[&3_u64.to_le_bytes()[..], b"{]}"].concat(), "no safetensors file"),
            (&[&2_u64.to_le_bytes()[..], b"{}"].concat(), "no matrix `embeddings`"),
        ] {
            fs::write(&tensors, bytes).expect("a file");
            assert!(refused().contains(problem), "{}", refused());
        }
        write(folder.path(), &[("a", &[1.0])]);
        let tokenizer = folder.path().join("tokenizer.json");
        for (text, problem) in [
            ("{", "no JSON"),
            (r#"{"model": {"type": "WordLevel", "vocab": {}}}"#, "a tokenizer of the type \"WordLevel\""),
            (r#"{"model": {"type": "WordPiece", "vocab": {"a": 0, "b": 1}}}"#, "1 vectors for the 2 tokens"),
            (
                r#"{"pre_tokenizer": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}"#,
                "`ByteLevel` is not supported",
            ),
        ] {
            fs::write(&tokenizer, text).expect("a file");
            assert!(refused().contains(problem), "{}", refused());
        }
    }
}
