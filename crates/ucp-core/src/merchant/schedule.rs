//! Evaluation of opening hours at an instant (UCP *Operating Hours*).
//!
//! An instant is converted to the local date and clock time first; all rules apply to these labels. Every instant has a
//! result: labels that a clock skips belong to no instant, and labels that it shows twice are open or closed both
//! times.
//!
//! An exception rules every date it covers from local midnight on: it replaces what the week says of that day and cuts
//! off whatever runs into it from the day before. What runs out of it into the next day stands. Hours that are not
//! known are never open.

use std::sync::LazyLock;

use jiff::{
    Timestamp,
    civil::{Date, Time},
    tz::{TimeZone, TimeZoneDatabase},
};

use super::{
    hours::{ClockTime, DailyHours, ExceptionHours},
    record::Unusable,
};

/// Minutes in a day, as labels on a clock.
const DAY: u16 = 24 * 60;

/// Built-in time zone database: results do not depend on that of the machine.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Returns the time zone with an IANA name. Fails with [`Unusable`] with the path `timezone` for an unknown name.
pub fn zone(name: &str) -> Result<TimeZone, Unusable> {
    ZONES.get(name).ok().filter(|zone| zone.iana_name() == Some(name)).ok_or_else(|| Unusable {
        path: "timezone".to_owned(),
        reason: format!("`{name}` is not an IANA time zone such as `America/New_York`"),
    })
}

/// The local date and time of an instant in a time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    date: Date,
    /// Day of the week, 0 for Monday.
    day: u16,
    /// Minute of the day, 0 to 1,439.
    minute: u16,
}

impl Local {
    /// Converts `instant` to the local time of `zone`.
    pub fn at(instant: Timestamp, zone: &TimeZone) -> Self {
        let shown = zone.to_datetime(instant);
        Self { date: shown.date(), day: day_of(shown.date()), minute: minute_of(shown.time()) }
    }

    /// Returns the local date.
    pub const fn date(&self) -> Date {
        self.date
    }
}

fn day_of(date: Date) -> u16 {
    u16::from(date.weekday().to_monday_zero_offset().unsigned_abs())
}

fn minute_of(time: Time) -> u16 {
    u16::from(time.hour().unsigned_abs()) * 60 + u16::from(time.minute().unsigned_abs())
}

/// An interval in minutes from midnight of its day. It ends on the next day if it goes past midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Interval {
    opens: u16,
    closes: u16,
}

impl Interval {
    fn new(opens: ClockTime, closes: ClockTime) -> Option<Self> {
        let (opens, closes) = match (opens, closes) {
            (ClockTime::MIDNIGHT, ClockTime::LAST) => (0, DAY),
            (opens, closes) if closes < opens => (opens.minutes(), closes.minutes() + DAY),
            (opens, closes) => (opens.minutes(), closes.minutes()),
        };
        (opens < closes).then_some(Self { opens, closes })
    }

    const fn holds(self, minute: u16) -> bool {
        self.opens <= minute && minute < self.closes
    }

    /// Returns `true` if the interval contains this minute of the next day.
    const fn runs_into(self, minute: u16) -> bool {
        minute + DAY < self.closes
    }
}

/// Exceptional hours of a range of dates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Exception {
    from: Date,
    through: Date,
    /// Opening hours; empty if the location is closed.
    intervals: Box<[Interval]>,
}

/// The hours of a location, without its time zone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timetable {
    /// Weekly hours, each with its day (0 for Monday), in this order; `None` if they are unknown.
    week: Option<Box<[(u8, Interval)]>>,
    /// Exceptions, in the order of their dates, without overlaps.
    exceptions: Box<[Exception]>,
}

impl Timetable {
    /// Creates the timetable of opening hours. Fails with [`Unusable`] for the first invalid entry: equal times, a
    /// range that ends before it begins, one time without the other, or exceptions that contradict each other.
    pub fn new(hours: Option<&[DailyHours]>, exceptions: &[ExceptionHours]) -> Result<Self, Unusable> {
        let unusable = |path: String, reason: &str| Unusable { path, reason: reason.to_owned() };
        let equal = "`opens` and `closes` must not be equal; a whole day is 00:00 to 23:59";
        let weekly = |(place, hours): (usize, &DailyHours)| {
            let interval = Interval::new(hours.opens, hours.closes);
            let day = hours.day as u8;
            interval.map(|interval| (day, interval)).ok_or_else(|| unusable(format!("hours[{place}]"), equal))
        };
        let week = match hours {
            Some(hours) => {
                let mut week = hours.iter().enumerate().map(weekly).collect::<Result<Vec<_>, _>>()?;
                week.sort_unstable();
                week.dedup();
                Some(week.into())
            }
            None => None,
        };
        let mut ranges: Vec<(Date, Date, Vec<Interval>)> = Vec::new();
        for (place, exception) in exceptions.iter().enumerate() {
            let at = |reason| unusable(format!("exception_hours[{place}]"), reason);
            let (from, through) = (exception.valid_from, exception.valid_through);
            if through < from {
                return Err(at("`valid_through` must not lie before `valid_from`"));
            }
            let interval = match (exception.opens, exception.closes) {
                (Some(opens), Some(closes)) => Some(Interval::new(opens, closes).ok_or_else(|| at(equal))?),
                (None, None) => None,
                _ => return Err(at("needs both `opens` and `closes`, or neither for a closed day")),
            };
            match ranges.iter_mut().find(|(start, end, _)| *start <= through && from <= *end) {
                None => ranges.push((from, through, interval.into_iter().collect())),
                Some((start, end, intervals)) if (*start, *end) == (from, through) => match interval {
                    Some(interval) if !intervals.is_empty() => intervals.push(interval),
                    _ => return Err(at("a closure stands alone for its dates")),
                },
                Some(_) => return Err(at("overlaps another exception with other dates")),
            }
        }
        let exceptions = ranges.into_iter().map(|(from, through, mut intervals)| {
            intervals.sort_unstable();
            intervals.dedup();
            Exception { from, through, intervals: intervals.into() }
        });
        let mut exceptions: Vec<_> = exceptions.collect();
        exceptions.sort_unstable();
        Ok(Self { week, exceptions: exceptions.into() })
    }

    /// Returns `true` if it is known to be open at this local time.
    pub fn open(&self, local: &Local) -> bool {
        if let Some(exception) = self.exception_on(local.date) {
            return exception.intervals.iter().any(|interval| interval.holds(local.minute));
        }
        let weekly = |day: u16, within: &dyn Fn(Interval) -> bool| {
            self.week.iter().flatten().any(|(own, interval)| u16::from(*own) == day && within(*interval))
        };
        weekly(local.day, &|interval| interval.holds(local.minute))
            || match local.date.yesterday().ok().and_then(|yesterday| self.exception_on(yesterday)) {
                Some(exception) => exception.intervals.iter().any(|interval| interval.runs_into(local.minute)),
                None => weekly((local.day + 6) % 7, &|interval| interval.runs_into(local.minute)),
            }
    }

    fn exception_on(&self, date: Date) -> Option<&Exception> {
        let after = self.exceptions.partition_point(|exception| exception.from <= date);
        self.exceptions[..after].last().filter(|exception| date <= exception.through)
    }
}

/// The hours of a location in its time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    zone: TimeZone,
    timetable: Timetable,
}

impl Schedule {
    /// Creates the schedule of a location in a time zone. Fails with [`Unusable`] for the first invalid member, with
    /// its path from the location.
    pub fn new(zone_name: &str, hours: Option<&[DailyHours]>, exceptions: &[ExceptionHours]) -> Result<Self, Unusable> {
        Ok(Self { zone: zone(zone_name)?, timetable: Timetable::new(hours, exceptions)? })
    }

    /// Returns `true` if the location is known to be open at this instant.
    pub fn open_at(&self, instant: Timestamp) -> bool {
        self.timetable.open(&self.local(instant))
    }

    /// Returns the local time of the location at this instant.
    pub fn local(&self, instant: Timestamp) -> Local {
        Local::at(instant, &self.zone)
    }
}

#[cfg(test)]
mod tests;
