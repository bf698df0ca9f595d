//! Content codings of answers (RFC 9110, 8.4): large ones are compressed for clients that ask for it.
//!
//! The length of a compressed text says something about the text. Whoever can have words of his own placed beside a secret,
//! and sees how long the answers are, can guess the secret piece by piece (BREACH). So a binding marks the answers that hold
//! none ([`Codable`]): documents, lists of tools, and answers about the catalog. Carts, checkouts, orders and pages of buyers
//! are never compressed.
//!
//! Answers that are signed are sent as they are: `Content-Digest` covers the content as it is sent (RFC 9530, 2), and most
//! clients hand on nothing but the decoded one.

use std::{
    cell::RefCell,
    io::{self, Write as _},
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, header::ACCEPT_ENCODING};
use zstd::bulk::Compressor;

/// Minimum size of an answer that is compressed, in bytes: about what fits into two packets.
pub const LEAST: usize = 2 * 1024;

/// Level of zstd: much faster than gzip at its fastest, and smaller.
const ZSTD_LEVEL: i32 = 3;

/// Level of gzip.
const GZIP_LEVEL: u32 = 4;

/// A coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// `zstd` (RFC 8878).
    Zstd,
    /// `gzip` (RFC 1952).
    Gzip,
}

thread_local! {
    /// Compressor of this thread, which takes longer to create than to use for a small response.
    static ZSTD: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
}

impl Coding {
    const ALL: [Self; 2] = [Self::Zstd, Self::Gzip];

    /// Returns the name in `Content-Encoding`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// Returns the coding that a client wants most, of those that `Accept-Encoding` names (RFC 9110, 12.5.3); `None` if it
    /// names none or would rather have the answer as it is.
    pub fn wanted(asked: &HeaderMap) -> Option<Self> {
        let lines = asked.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
        let weights: Vec<_> = lines.flat_map(|line| line.split(',')).filter_map(weight).collect();
        let weight =
            |name: &str| weights.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, weight)| *weight);
        let other = weight("*");
        let of = |coding: &Self| match coding {
            Self::Zstd => weight("zstd"),
            Self::Gzip => weight("gzip").or_else(|| weight("x-gzip")),
        };
        let plain = weight("identity").unwrap_or(0);
        let weighted = Self::ALL.into_iter().filter_map(|coding| Some((coding, of(&coding).or(other)?)));
        // The first one of those that are wanted as much.
        let best = weighted.rev().max_by_key(|(_, weight)| *weight);
        best.filter(|(_, weight)| *weight > 0 && *weight >= plain).map(|(coding, _)| coding)
    }

    fn encode(self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Zstd => ZSTD.with_borrow_mut(|kept| {
                let compressor = match kept {
                    Some(compressor) => compressor,
                    none => none.insert(Compressor::new(ZSTD_LEVEL)?),
                };
                compressor.compress(bytes)
            }),
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::new(GZIP_LEVEL));
                encoder.write_all(bytes)?;
                encoder.finish()
            }
        }
    }
}

/// Reads one range of `Accept-Encoding`, with its weight in thousandths.
fn weight(range: &str) -> Option<(&str, u16)> {
    let mut parts = range.split(';').map(str::trim);
    let name = parts.next().filter(|name| !name.is_empty())?;
    let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    let weight: f32 = weight.map_or(Some(1.0), |weight| weight.trim().parse().ok())?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is 0 to 1,000")]
    Some((name, (weight.clamp(0.0, 1.0) * 1_000.0) as u16))
}

/// Mark of an answer that holds no secret, among the extensions of its response. Clones share what they keep.
#[derive(Clone, Debug, Default)]
pub struct Codable(Option<Arc<[OnceLock<Bytes>; Coding::ALL.len()]>>);

impl Codable {
    /// Returns the mark of an answer that is the same for everybody: what is made of it is kept.
    pub fn kept() -> Self {
        Self(Some(Arc::default()))
    }

    /// Codes an answer. Returns `None` if that makes it no smaller.
    pub fn encode(&self, coding: Coding, bytes: &Bytes) -> Option<Bytes> {
        let encode = || match coding.encode(bytes) {
            Ok(coded) => coded.into(),
            Err(error) => {
                tracing::error!(%error, coding = coding.name(), "compressing a response failed");
                Bytes::new()
            }
        };
        let coded = match &self.0 {
            Some(kept) => kept[coding as usize].get_or_init(encode).clone(),
            None => encode(),
        };
        (!coded.is_empty() && coded.len() < bytes.len()).then_some(coded)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use http::HeaderValue;

    use super::*;

    #[test]
    fn clients_get_what_they_want_most() {
        let wanted = |lines: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(ACCEPT_ENCODING, HeaderValue::from_static(line));
            }
            Coding::wanted(&headers).map(Coding::name)
        };
        for (lines, expected) in [
            (&[][..], None),
            (&[""], None),
            (&["identity"], None),
            (&["br, deflate"], None),
            (&["gzip, deflate"], Some("gzip")),
            (&["gzip, deflate, br, zstd"], Some("zstd")),
            (&["GZip;Q=0.8, ZSTD ; q=0.5"], Some("gzip")),
            (&["deflate", "x-gzip"], Some("gzip")),
            (&["*"], Some("zstd")),
            (&["zstd;q=0, *;q=0.1"], Some("gzip")),
            (&["gzip;q=0, zstd;q=0"], None),
            (&["*;q=0"], None),
            (&["gzip;q=0.5, identity"], None),
            (&["gzip, identity;q=0.5"], Some("gzip")),
            (&["gzip;q=x"], None),
            (&["gzip;q=NaN"], None),
        ] {
            assert_eq!(wanted(lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn what_is_coded_is_what_was_said() {
        let text = Bytes::from("{\"title\":\"Roses\",\"price\":4900}".repeat(500));
        for codable in [Codable::default(), Codable::kept()] {
            for _ in 0..2 {
                let zstd = codable.encode(Coding::Zstd, &text).expect("smaller");
                assert_eq!(zstd::decode_all(&*zstd).expect("zstd"), text);
                let gzip = codable.encode(Coding::Gzip, &text).expect("smaller");
                let mut decoded = Vec::new();
                flate2::read::GzDecoder::new(&*gzip).read_to_end(&mut decoded).expect("gzip");
                assert_eq!(decoded, text);
                assert!(zstd.len() < text.len() / 10 && gzip.len() < text.len() / 10);
            }
        }
        assert_eq!(Codable::default().encode(Coding::Gzip, &Bytes::from_static(b"x")), None, "it would only grow");
    }
}
