//! Reading a safetensors file: a header in JSON that says where each tensor is, and their numbers.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Names of the matrix with a vector for each token: that of model2vec, and that of torch.
const EMBEDDINGS: [&str; 2] = ["embeddings", "embedding.weight"];

/// The vectors of tokens, as they are in the file.
pub(super) struct Tensors {
    bytes: Vec<u8>,
    embeddings: Tensor,
    /// Weight of each token.
    weights: Option<Tensor>,
    /// Row of each token.
    mapping: Option<Tensor>,
}

#[derive(Clone, Debug, Deserialize)]
struct Tensor {
    dtype: Number,
    shape: Vec<usize>,
    /// First byte, and the byte behind the last one.
    data_offsets: [usize; 2],
}

/// Type of the numbers of a tensor.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
enum Number {
    F64,
    F32,
    F16,
    BF16,
    I64,
    I32,
}

impl Number {
    const fn size(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::BF16 => 2,
        }
    }

    /// Returns a number from its bytes, the lowest first; 0 for one that is not finite.
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "a weight, or a row below 2^24")]
    fn read(self, bytes: &[u8]) -> f32 {
        let word = bytes.iter().rev().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
        let value = match self {
            Self::F64 => f64::from_bits(word) as f32,
            Self::F32 => f32::from_bits(word as u32),
            Self::F16 => half(word as u16),
            Self::BF16 => f32::from_bits((word as u32) << 16),
            Self::I64 => word.cast_signed() as f32,
            Self::I32 => (word as u32).cast_signed() as f32,
        };
        if value.is_finite() { value } else { 0.0 }
    }
}

/// Converts a number of half precision (IEEE 754 binary16).
fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (u32::from(bits >> 15), u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff));
    match exponent {
        // 2^-24 is the smallest number above 0.
        0 => (if sign == 0 { 1.0 } else { -1.0 }) * f32::from(bits & 0x3ff) * 2.0_f32.powi(-24),
        0x1f => f32::NAN,
        _ => f32::from_bits(sign << 31 | (exponent + 112) << 23 | fraction << 13),
    }
}

impl Tensors {
    /// Reads a file. Fails with what is wrong with it.
    pub(super) fn read(mut bytes: Vec<u8>) -> Result<Self, String> {
        let no_file = || "no safetensors file".to_owned();
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(no_file)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| no_file())?;
        let header = rest.get(..length).ok_or_else(no_file)?;
        let header: Map<String, Value> = serde_json::from_slice(header).map_err(|_| no_file())?;
        bytes.drain(..8 + length);
        let tensor = |name: &str| -> Result<Option<Tensor>, String> {
            let Some(stated) = header.get(name) else { return Ok(None) };
            let tensor =
                Tensor::deserialize(stated).map_err(|error| format!("the tensor `{name}` cannot be read: {error}"))?;
            let [begin, end] = tensor.data_offsets;
            let count = tensor.shape.iter().try_fold(1_usize, |count, size| count.checked_mul(*size));
            let size = count.and_then(|count| count.checked_mul(tensor.dtype.size()));
            if begin > end || end > bytes.len() || size != Some(end - begin) {
                return Err(format!("the tensor `{name}` is not where the header says"));
            }
            Ok(Some(tensor))
        };
        let embeddings = EMBEDDINGS.iter().find_map(|name| tensor(name).transpose());
        let embeddings = embeddings.unwrap_or_else(|| Err("no matrix `embeddings`".to_owned()))?;
        if embeddings.shape.len() != 2 {
            return Err("`embeddings` is no matrix".to_owned());
        }
        let (weights, mapping) = (tensor("weights")?, tensor("mapping")?);
        let tokens = |tensor: &Option<Tensor>| tensor.as_ref().map(Tensor::len);
        if let (Some(weights), Some(mapped)) = (tokens(&weights), tokens(&mapping).or(Some(embeddings.shape[0])))
            && weights < mapped
        {
            return Err(format!("{weights} weights for {mapped} tokens"));
        }
        Ok(Self { bytes, embeddings, weights, mapping })
    }

    pub(super) const fn dimensions(&self) -> usize {
        self.embeddings.shape.as_slice()[1]
    }

    /// Returns the number of tokens that have a vector.
    pub(super) fn tokens(&self) -> usize {
        self.mapping.as_ref().map_or(self.embeddings.shape[0], Tensor::len)
    }

    /// Adds the vector of a token to a sum.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is checked")]
    pub(super) fn add(&self, token: usize, sum: &mut [f32]) {
        let row = self.mapping.as_ref().map_or(token, |mapping| mapping.number(&self.bytes, token) as usize);
        if row >= self.embeddings.shape[0] {
            return;
        }
        let weight = self.weights.as_ref().map_or(1.0, |weights| weights.number(&self.bytes, token));
        let size = self.embeddings.dtype.size();
        let begin = self.embeddings.data_offsets[0] + row * self.dimensions() * size;
        let own = self.bytes[begin..begin + self.dimensions() * size].chunks_exact(size);
        for (sum, bytes) in sum.iter_mut().zip(own) {
            *sum += weight * self.embeddings.dtype.read(bytes);
        }
    }
}

impl Tensor {
    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the number at a place; 0 if there is none.
    fn number(&self, bytes: &[u8], at: usize) -> f32 {
        let begin = self.data_offsets[0] + at * self.dtype.size();
        if at < self.len() { self.dtype.read(&bytes[begin..begin + self.dtype.size()]) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_every_precision() {
        for (bits, expected) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x3555, 0.333_251_95), (0x0001, 2.0_f32.powi(-24)), (0x7c00, 0.0)]
        {
            let bits: u16 = bits;
            assert_eq!(Number::F16.read(&bits.to_le_bytes()), expected, "{bits:x}");
        }
        assert_eq!(Number::BF16.read(&0x3f80_u16.to_le_bytes()), 1.0);
        assert_eq!(Number::F32.read(&0.25_f32.to_le_bytes()), 0.25);
        assert_eq!(Number::F64.read(&(-0.5_f64).to_le_bytes()), -0.5);
        assert_eq!(Number::I64.read(&7_i64.to_le_bytes()), 7.0);
        assert_eq!(Number::I32.read(&(-7_i32).to_le_bytes()), -7.0);
        assert_eq!(Number::F32.read(&f32::NAN.to_le_bytes()), 0.0);
    }

    #[test]
    fn tokens_have_the_row_and_the_weight_that_the_file_says() {
        let floats: Vec<u8> =
            [1.0_f32, 2.0, 10.0, 20.0, 0.5, 1.0, 1.0].iter().flat_map(|value| value.to_le_bytes()).collect();
        let rows: Vec<u8> = [1_i64, 0, 99].iter().flat_map(|row| row.to_le_bytes()).collect();
        let header = serde_json::json!({
            "__metadata__": {"format": "pt"},
            "embeddings": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
            "weights": {"dtype": "F32", "shape": [3], "data_offsets": [16, 28]},
            "mapping": {"dtype": "I64", "shape": [3], "data_offsets": [28, 52]},
        })
        .to_string();
        let file = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &floats, &rows].concat();
        let tensors = Tensors::read(file.clone()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((tensors.tokens(), tensors.dimensions()), (3, 2));
        let of = |token| {
            let mut sum = [0.0; 2];
            tensors.add(token, &mut sum);
            sum
        };
        assert_eq!([of(0), of(1), of(2), of(3)], [[5.0, 10.0], [1.0, 2.0], [0.0, 0.0], [0.0, 0.0]]);
        let cut = Tensors::read(file[..file.len() - 1].to_vec()).err().expect("cut off");
        assert_eq!(cut, "the tensor `mapping` is not where the header says");
    }
}
