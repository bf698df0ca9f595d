//! Opening hours as a merchant states them: local days and clock times, in the location's own time zone.
//!
//! These are the shapes of UCP's *Operating Hours*; [`schedule`](super::schedule) says what they mean. Each value is
//! well formed by itself; whether the values fit together is checked where a schedule is made of them.

use std::{fmt, str::FromStr};

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the days of the week")]
pub enum Day {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

impl Day {
    /// The whole week, Monday first.
    pub const ALL: [Self; 7] =
        [Self::Monday, Self::Tuesday, Self::Wednesday, Self::Thursday, Self::Friday, Self::Saturday, Self::Sunday];
}

/// A time of day from `00:00` to `23:59`, in whole minutes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClockTime(u16);

impl ClockTime {
    /// Midnight, the start of a day.
    pub const MIDNIGHT: Self = Self(0);

    /// The last minute of a day. Together with [`MIDNIGHT`](Self::MIDNIGHT) it means the whole day.
    pub const LAST: Self = Self(23 * 60 + 59);

    /// The time of day `hour:minute`, if there is one.
    pub const fn new(hour: u16, minute: u16) -> Option<Self> {
        if hour < 24 && minute < 60 { Some(Self(hour * 60 + minute)) } else { None }
    }

    /// Minutes since the day's first label, 0 to 1,439.
    pub const fn minutes(self) -> u16 {
        self.0
    }
}

impl fmt::Display for ClockTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

impl fmt::Debug for ClockTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ClockTime {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "a time of day is written HH:MM, from 00:00 to 23:59";
        let [h1, h2, b':', m1, m2] = text.as_bytes() else { return Err(FORM) };
        if ![h1, h2, m1, m2].iter().all(|digit| digit.is_ascii_digit()) {
            return Err(FORM);
        }
        let pair = |tens: &u8, ones: &u8| u16::from(tens - b'0') * 10 + u16::from(ones - b'0');
        Self::new(pair(h1, h2), pair(m1, m2)).ok_or(FORM)
    }
}

impl Serialize for ClockTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ClockTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// An interval that begins every week on the same day.
///
/// Several on one day are split shifts. `closes` earlier than `opens` runs past midnight; `00:00` to `23:59` is the
/// whole day; equal times mean nothing and are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct DailyHours {
    /// The local day on which it begins.
    pub day: Day,
    /// The first open minute.
    #[schemars(with = "String", extend("pattern" = CLOCK_PATTERN))]
    pub opens: ClockTime,
    /// The first closed minute.
    #[schemars(with = "String", extend("pattern" = CLOCK_PATTERN))]
    pub closes: ClockTime,
}

/// Hours that replace the weekly ones on every date from `valid_from` to `valid_through`.
///
/// Without times the location is closed. Several with the same bounds are split shifts; other overlaps are refused.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ExceptionHours {
    /// The first local date.
    #[serde(with = "local_date")]
    #[schemars(with = "String", extend("format" = "date"))]
    pub valid_from: Date,
    /// The last local date.
    #[serde(with = "local_date")]
    #[schemars(with = "String", extend("format" = "date"))]
    pub valid_through: Date,
    /// The first open minute of each of the dates.
    #[schemars(with = "Option<String>", extend("pattern" = CLOCK_PATTERN))]
    pub opens: Option<ClockTime>,
    /// The first closed minute.
    #[schemars(with = "Option<String>", extend("pattern" = CLOCK_PATTERN))]
    pub closes: Option<ClockTime>,
    /// Name of the occasion, for buyers.
    pub title: Option<String>,
}

const CLOCK_PATTERN: &str = "^([01][0-9]|2[0-3]):[0-5][0-9]$";

/// Dates as `YYYY-MM-DD` and nothing else.
mod local_date {
    use super::{Date, Deserialize as _, Deserializer, Serializer};
    use serde::de::Error as _;

    pub(super) fn serialize<S: Serializer>(date: &Date, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(date)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
        let text = String::deserialize(deserializer)?;
        // The parser takes more forms than this one.
        let plain = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        plain
            .then(|| text.parse().ok())
            .flatten()
            .ok_or_else(|| D::Error::custom("a date is written YYYY-MM-DD and has to be in the calendar"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_have_one_form() {
        for (text, minutes) in [("00:00", 0), ("09:05", 545), ("23:59", 1_439)] {
            let time: ClockTime = text.parse().expect(text);
            assert_eq!((time.minutes(), time.to_string().as_str()), (minutes, text));
        }
        for text in ["24:00", "9:00", "09:60", "09-00", "09:00:00", "", "０９:00", " 9:00", "+9:00"] {
            assert!(text.parse::<ClockTime>().is_err(), "{text}");
        }
    }

    #[test]
    fn dates_have_one_form() {
        let read = |date: &str| {
            serde_json::from_value::<ExceptionHours>(serde_json::json!({ "valid_from": date, "valid_through": date }))
        };
        let exception = read("2026-12-25").expect("a date");
        assert_eq!(
            serde_json::to_string(&exception).expect("JSON"),
            r#"{"valid_from":"2026-12-25","valid_through":"2026-12-25"}"#
        );
        for date in ["2026-02-29", "20261225", "2026-12-25T00:00", "2026-359", "2026-W01-1", ""] {
            assert!(read(date).is_err(), "{date}");
        }
    }
}
