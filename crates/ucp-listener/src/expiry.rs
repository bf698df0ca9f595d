//! Time until which certificates are valid.

use jiff::Timestamp;
use tokio_rustls::rustls::pki_types::{CertificateDer, pem::PemObject as _};

/// Tags of DER.
const INTEGER: u8 = 0x02;
const SEQUENCE: u8 = 0x30;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const VERSION: u8 = 0xa0;

/// Returns when the first of the certificates in a PEM file ends; `None` if there is none that can be read.
pub fn expiry(pem: &[u8]) -> Option<Timestamp> {
    CertificateDer::pem_slice_iter(pem).filter_map(|certificate| not_after(&certificate.ok()?)).min()
}

/// Returns the end of the validity of a certificate in DER (RFC 5280 section 4.1.2.5).
fn not_after(certificate: &[u8]) -> Option<Timestamp> {
    let (certificate, _) = of(SEQUENCE, certificate)?;
    let (mut fields, _) = of(SEQUENCE, certificate)?;
    if fields.first() == Some(&VERSION) {
        fields = of(VERSION, fields)?.1;
    }
    // Serial number, algorithm of the signature, issuer.
    for tag in [INTEGER, SEQUENCE, SEQUENCE] {
        fields = of(tag, fields)?.1;
    }
    let (validity, _) = of(SEQUENCE, fields)?;
    let (_, _, end) = element(validity)?;
    let (tag, time, _) = element(end)?;
    let time = std::str::from_utf8(time).ok()?;
    let (century, time) = match tag {
        UTC_TIME if time.get(..2)? < "50" => ("20", time),
        UTC_TIME => ("19", time),
        GENERALIZED_TIME => (time.get(..2)?, time.get(2..)?),
        _ => return None,
    };
    let [year, month, day, hour, minute, second] = [0, 2, 4, 6, 8, 10].map(|at| time.get(at..at + 2));
    format!("{century}{}-{}-{}T{}:{}:{}Z", year?, month?, day?, hour?, minute?, second?).parse().ok()
}

/// Returns the content of an element with this tag, and what follows it.
fn of(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    element(bytes).filter(|(found, ..)| *found == tag).map(|(_, content, rest)| (content, rest))
}

/// Returns the tag and the content of an element, and what follows it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate with this validity, without what follows it.
    fn certificate(version: bool, times: &[(u8, &str)]) -> Vec<u8> {
        let wrapped =
            |tag: u8, content: &[u8]| [&[tag, 0x81, u8::try_from(content.len()).expect("short")], content].concat();
        let times: Vec<_> = times.iter().flat_map(|(tag, time)| wrapped(*tag, time.as_bytes())).collect();
        let version = if version { wrapped(VERSION, &[INTEGER, 1, 2]) } else { Vec::new() };
        let fields = [
            version,
            wrapped(INTEGER, &[7]),
            wrapped(SEQUENCE, &[]),
            wrapped(SEQUENCE, b"issuer"),
            wrapped(SEQUENCE, &times),
        ];
        wrapped(SEQUENCE, &wrapped(SEQUENCE, &fields.concat()))
    }

    #[test]
    fn the_end_of_a_certificate_is_read_in_both_forms() {
        for (tag, time, end) in [
            (UTC_TIME, "261128120000Z", Some("2026-11-28T12:00:00Z")),
            (UTC_TIME, "991231235959Z", Some("1999-12-31T23:59:59Z")),
            (GENERALIZED_TIME, "20510101000000Z", Some("2051-01-01T00:00:00Z")),
            (GENERALIZED_TIME, "2051", None),
            (UTC_TIME, "261328120000Z", None),
            (INTEGER, "261128120000Z", None),
        ] {
            for version in [true, false] {
                let whole = certificate(version, &[(UTC_TIME, "200101000000Z"), (tag, time)]);
                let end = end.map(|end| end.parse::<Timestamp>().expect("a time"));
                assert_eq!(not_after(&whole), end, "{time}");
                // Whatever is missing of it.
                (0..whole.len()).for_each(|length| assert_eq!(not_after(&whole[..length]), None, "{length}"));
            }
        }
        assert_eq!((expiry(b""), expiry(b"no PEM")), (None, None));
    }
}
