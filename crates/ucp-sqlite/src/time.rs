//! Times as the database has them: nanoseconds since 1970.

use jiff::Timestamp;

/// A time as it is stored. Times beyond the year 2262 become that year.
pub(crate) fn nanoseconds(time: Timestamp) -> i64 {
    let nanoseconds = time.as_nanosecond();
    i64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 { i64::MIN } else { i64::MAX })
}

/// A time that was stored.
pub(crate) fn timestamp(nanoseconds: i64) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(nanoseconds)).unwrap_or(Timestamp::MAX)
}
