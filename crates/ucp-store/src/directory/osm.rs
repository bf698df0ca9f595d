//! OpenStreetMap's `opening_hours`, said again in the words of the schedule model.
//!
//! The two models differ, so that only a part of the language can be taken over: weekly hours, and other hours or none on
//! dates with a year. Whatever follows the sun, a holiday calendar or the course of any year, and whatever is only
//! probable, is refused with its reason rather than approximated.
//!
//! What is taken over means the same in every minute. Nothing is translated rule by rule: the expression is evaluated day
//! by day, and the days are described again. That matters after midnight, where the two models see things differently.
//! When a night is cancelled, an expression still lets its small hours stand, while the model's exceptions take a whole
//! local date and whatever ran into it; such a morning becomes an exception of its own.

use chrono::{Datelike as _, Days, NaiveDate};
use opening_hours::{OpeningHours, RuleKind};
use opening_hours_syntax::{
    Error as SyntaxError, ExtendedTime,
    rules::{
        RuleSequence,
        day::{Date, DaySelector, Month, MonthdayRange, WeekDayRange, YearRange},
        time::{Time, TimeSpan},
    },
};
use ucp_core::merchant::hours::{ClockTime, DailyHours, Day, ExceptionHours};

/// The longest expression that is read, in bytes. OpenStreetMap itself allows 255 characters.
pub const LONGEST: usize = 1_024;

/// The years that dates may have.
const YEARS: std::ops::RangeInclusive<i32> = 1970..=2200;

/// How many days lie between the first and the last date at most: ten years.
const SPAN: i64 = 3_653;

/// How many days a date may be moved, beside to a day of the week.
const OFFSET: u16 = 31;

/// How many days more than that are looked at on either side. What runs into the day after counts.
const MARGIN: u64 = 40;

/// How many exceptions an expression may become.
const EXCEPTIONS: usize = 400;

/// The minute at which a day ends.
const MIDNIGHT: u16 = 24 * 60;

/// Why an expression is not taken over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inexpressible {
    /// It is too long.
    #[error("is longer than {LONGEST} bytes")]
    TooLong,
    /// It is not in the language.
    #[error("is no `opening_hours` expression of OpenStreetMap, from column {column} on")]
    Syntax {
        /// The first character that does not fit, counted from 1.
        column: usize,
    },
    /// A number in it means nothing.
    #[error("is no `opening_hours` expression of OpenStreetMap: {0}")]
    Meaningless(String),
    /// The hours of single rules depend on what the model does not know.
    #[error("uses {what}, which weekly hours with dated exceptions cannot express; {instead}")]
    Feature {
        /// The feature of the language.
        what: &'static str,
        /// What to write.
        instead: &'static str,
    },
    /// A condition in words.
    #[error(
        "says when it is open in words (`{0}`), which nobody can evaluate; leave the comment out if it is no condition"
    )]
    Comment(String),
    /// There would be too much to state.
    #[error("would become more than {EXCEPTIONS} exceptions, or spans more than ten years")]
    TooMuch,
}

/// The schedule that an expression means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// The weekly hours. Without any it is never open but where an exception says so.
    pub hours: Vec<DailyHours>,
    /// What replaces them on single dates.
    pub exception_hours: Vec<ExceptionHours>,
}

/// Says an expression again in the words of the schedule model.
///
/// # Errors
/// What in the expression the model cannot say.
pub fn convert(expression: &str) -> Result<Converted, Inexpressible> {
    if expression.len() > LONGEST {
        return Err(Inexpressible::TooLong);
    }
    let hours: OpeningHours = expression.trim().parse().map_err(|error| syntax(&error))?;
    let mut dated = Vec::new();
    for rule in &hours.get_expression().rules {
        dated.extend(examine(rule)?);
    }
    let Some((from, through)) = hull(dated) else {
        return Ok(Converted { hours: Week::of(&hours, NaiveDate::default()).hours()?, exception_hours: Vec::new() });
    };
    if (through - from).num_days() > SPAN || !YEARS.contains(&from.year()) || !YEARS.contains(&through.year()) {
        return Err(Inexpressible::TooMuch);
    }
    let (from, through) = (before(from, MARGIN), after(through, MARGIN));
    let week = Week::of(&hours, after(through, MARGIN));
    Ok(Converted { hours: week.hours()?, exception_hours: exceptions(&hours, &week, from, through)? })
}

fn syntax(error: &SyntaxError) -> Inexpressible {
    match error {
        SyntaxError::Syntax(error) => {
            let (pest::error::LineColLocation::Pos((_, column)) | pest::error::LineColLocation::Span((_, column), _)) =
                error.line_col;
            Inexpressible::Syntax { column }
        }
        other => Inexpressible::Meaningless(other.to_string()),
    }
}

/// The first and the last of some dates.
type Span = (NaiveDate, NaiveDate);

/// The span of all.
fn hull(spans: impl IntoIterator<Item = Span>) -> Option<Span> {
    spans.into_iter().reduce(|(first, last), (from, through)| (first.min(from), last.max(through)))
}

/// Looks for what the model cannot say. Yields between what dates the rule's lie, if it has any; those may be moved.
fn examine(rule: &RuleSequence) -> Result<Option<Span>, Inexpressible> {
    const STATE: &str = "state the hours that are certain";
    const WEEKLY: &str = "state the hours of the dates with their year, or leave the rule out";
    let refuse = |what, instead| Err(Inexpressible::Feature { what, instead });
    match rule.kind {
        RuleKind::Unknown => return refuse("`unknown`", STATE),
        RuleKind::Open if !rule.comment.is_empty() => return Err(Inexpressible::Comment(rule.comment.to_string())),
        RuleKind::Open | RuleKind::Closed => {}
    }
    for TimeSpan { range, open_end, repeats } in &rule.time_selector.spans {
        if [range.start, range.end].iter().any(|time| matches!(time, Time::Variable(_))) {
            return refuse("a time that follows the sun", STATE);
        }
        if *open_end {
            return refuse("an open end", STATE);
        }
        if repeats.is_some() {
            return refuse("repeated times", STATE);
        }
    }
    let DaySelector { year, monthday, week, weekday } = &rule.day_selector;
    if weekday.iter().any(|range| matches!(range, WeekDayRange::Holiday { .. })) {
        return refuse("holidays (`PH` or `SH`)", WEEKLY);
    }
    let every_week = |range: &WeekDayRange| {
        matches!(range, WeekDayRange::Fixed { offset: 0, nth_from_start, nth_from_end, .. }
            if !nth_from_start.contains(&false) && !nth_from_end.contains(&false))
    };
    if monthday.iter().any(is_moved_far) {
        return refuse("a date that is moved by more than a month", "state the date itself");
    }
    match between(year, monthday) {
        None if !monthday.is_empty() => refuse("dates of every year", WEEKLY),
        None if !week.is_empty() => refuse("weeks of the year", WEEKLY),
        None if !weekday.iter().all(every_week) => refuse("days of a month", WEEKLY),
        span => Ok(span),
    }
}

fn is_moved_far(dates: &MonthdayRange) -> bool {
    match dates {
        MonthdayRange::Month { .. } => false,
        MonthdayRange::Date { start: (_, start), end: (_, end) } => {
            [start, end].iter().any(|offset| offset.day_offset.unsigned_abs() > OFFSET)
        }
    }
}

/// Between what dates all dates of a rule lie before they are moved, if there are such. Years and dates restrict each
/// other, so that either is enough.
fn between(years: &[YearRange], dates: &[MonthdayRange]) -> Option<Span> {
    let spans: Vec<_> = if years.is_empty() {
        dates.iter().map(span_of).collect::<Option<_>>()?
    } else {
        years.iter().map(|years| years_between(**years.into_parts().0.start(), **years.into_parts().0.end())).collect()
    };
    hull(spans)
}

fn span_of(dates: &MonthdayRange) -> Option<Span> {
    match dates {
        MonthdayRange::Month { range, year } => {
            let year = **year.as_ref()?;
            // November to February ends in the next year.
            let last = if range.start() <= range.end() { year } else { year + 1 };
            hull([month(year, *range.start()), month(last, *range.end())])
        }
        MonthdayRange::Date { start: (start, _), end: (end, _) } => match (month_of(start), month_of(end)) {
            (Some(start), Some(end)) => hull([start, end]),
            // With one year or none at one end, or at Easter.
            _ => {
                let years = [start.year(), end.year()];
                let first = years.iter().flatten().map(|year| **year).min()?;
                let last = years.iter().flatten().map(|year| **year).max()?;
                Some(years_between(first - 1, last + 1))
            }
        },
    }
}

/// The month of a date that has a year.
fn month_of(date: &Date) -> Option<Span> {
    match date {
        Date::Fixed { year, month, .. } | Date::Weekday { year, month, .. } => {
            year.map(|year| self::month(*year, *month))
        }
        Date::Easter { .. } => None,
    }
}

/// A month and up to three days more.
fn month(year: i32, month: Month) -> Span {
    let first = NaiveDate::from_ymd_opt(year, month.into(), 1).unwrap_or_default();
    (first, after(first, 30))
}

fn years_between(first: i32, last: i32) -> Span {
    let day = |year, month, day| NaiveDate::from_ymd_opt(year, month, day).unwrap_or_default();
    (day(first, 1, 1), day(last, 12, 31))
}

fn before(date: NaiveDate, days: u64) -> NaiveDate {
    date.checked_sub_days(Days::new(days)).unwrap_or(date)
}

fn after(date: NaiveDate, days: u64) -> NaiveDate {
    date.checked_add_days(Days::new(days)).unwrap_or(date)
}

/// The open minutes of a day: ranges in order that do not touch each other, the last one up to 1,440.
type Open = Vec<(u16, u16)>;

/// The open minutes of a date, and what is said about its being closed.
fn open_on(hours: &OpeningHours, date: NaiveDate) -> (Open, Option<String>) {
    let mut open = Open::new();
    let mut title = None;
    for range in hours.schedule_at(date) {
        let [from, to] = [range.range.start, range.range.end].map(ExtendedTime::mins_from_midnight);
        match range.kind {
            RuleKind::Open => match open.last_mut() {
                Some((_, end)) if *end == from => *end = to,
                _ => open.push((from, to)),
            },
            _ if title.is_none() && !range.comment.is_empty() => title = Some(range.comment.to_string()),
            _ => {}
        }
    }
    (open, title)
}

/// An ordinary week, by the days that its hours begin on.
struct Week {
    /// The open minutes of each day.
    open: [Open; 7],
    /// Up to which minute each day is open because of the day before.
    carried: [u16; 7],
}

impl Week {
    /// The week around a date that no dated rule reaches.
    fn of(hours: &OpeningHours, around: NaiveDate) -> Self {
        let monday = after(around, u64::from(7 - around.weekday().num_days_from_monday()));
        let open: [Open; 7] = std::array::from_fn(|day| open_on(hours, after(monday, day as u64)).0);
        let carried = std::array::from_fn(|day| {
            let yesterday = &open[(day + 6) % 7];
            match (yesterday.last(), open[day].first()) {
                // An interval ends on its second day at an earlier time than it began at.
                (Some((from, MIDNIGHT)), Some((0, to))) if to < from => *to,
                _ => 0,
            }
        });
        Self { open, carried }
    }

    /// The open minutes of a day that begin on that day.
    fn own(&self, day: usize) -> &[(u16, u16)] {
        let open = &self.open[day];
        if self.carried[day] > 0 { &open[1..] } else { open }
    }

    fn hours(&self) -> Result<Vec<DailyHours>, Inexpressible> {
        let mut hours = Vec::new();
        for (number, day) in Day::ALL.into_iter().enumerate() {
            let intervals = intervals(self.own(number), self.carried[(number + 1) % 7]);
            for (opens, closes) in intervals {
                hours.push(DailyHours { day, opens: clock(opens)?, closes: clock(closes)? });
            }
        }
        Ok(hours)
    }
}

/// States open minutes of a day as intervals; what goes on to midnight goes on to the minute `carried` of the next day.
fn intervals(open: &[(u16, u16)], carried: u16) -> Vec<(u16, u16)> {
    const NOON: u16 = MIDNIGHT / 2;
    const LAST: u16 = MIDNIGHT - 1;
    let mut intervals = Vec::new();
    for range in open {
        match *range {
            (from, MIDNIGHT) if carried > 0 => {
                // An interval over midnight has to begin later than it ends.
                let begin = from.max(carried + 1);
                if begin > from {
                    intervals.push((from, begin));
                }
                intervals.push((begin, carried));
            }
            (0, MIDNIGHT) => intervals.push((0, LAST)),
            (from, MIDNIGHT) => intervals.push((from, 0)),
            // As one interval this would mean the whole day.
            (0, LAST) => intervals.extend([(0, NOON), (NOON, LAST)]),
            (from, to) => intervals.push((from, to)),
        }
    }
    intervals
}

fn clock(minute: u16) -> Result<ClockTime, Inexpressible> {
    ClockTime::new(minute / 60, minute % 60)
        .ok_or_else(|| Inexpressible::Meaningless(format!("minute {minute} of a day")))
}

/// What has to be said about single dates, given the ordinary week.
fn exceptions(
    hours: &OpeningHours,
    week: &Week,
    from: NaiveDate,
    through: NaiveDate,
) -> Result<Vec<ExceptionHours>, Inexpressible> {
    struct Run {
        first: NaiveDate,
        last: NaiveDate,
        open: Open,
        intervals: Vec<(u16, u16)>,
        title: Option<String>,
    }
    let mut runs: Vec<Run> = Vec::new();
    let (mut date, mut carried) = (from, week.carried[weekday(from)]);
    let mut today = open_on(hours, date);
    while date <= through {
        let tomorrow = open_on(hours, after(date, 1));
        let (day, next) = (weekday(date), weekday(after(date, 1)));
        let (open, title) = today;
        let ordinary = if carried > 0 { week.open[day].as_slice() } else { week.own(day) };
        if open == ordinary {
            carried = week.carried[next];
        } else {
            let to_midnight = open.last().is_some_and(|(_, to)| *to == MIDNIGHT);
            // An ordinary day that follows is left as it is, if what runs into it can begin here.
            carried = if to_midnight && tomorrow.0 == week.open[next] { week.carried[next] } else { 0 };
            let intervals = intervals(&open, carried);
            match runs.last_mut() {
                Some(run) if after(run.last, 1) == date && run.open == open && run.title == title => {
                    (run.last, run.intervals) = (date, intervals);
                }
                _ => runs.push(Run { first: date, last: date, open, intervals, title }),
            }
            if runs.len() > EXCEPTIONS {
                return Err(Inexpressible::TooMuch);
            }
        }
        (date, today) = (after(date, 1), tomorrow);
    }
    let mut exceptions = Vec::new();
    for Run { first, last, intervals, title, .. } in runs {
        let (valid_from, valid_through) = (civil(first)?, civil(last)?);
        let mut state = |opens, closes| {
            exceptions.push(ExceptionHours { valid_from, valid_through, opens, closes, title: title.clone() });
        };
        if intervals.is_empty() {
            state(None, None);
        }
        for (opens, closes) in intervals {
            state(Some(clock(opens)?), Some(clock(closes)?));
        }
    }
    Ok(exceptions)
}

fn weekday(date: NaiveDate) -> usize {
    date.weekday().num_days_from_monday() as usize
}

fn civil(date: NaiveDate) -> Result<jiff::civil::Date, Inexpressible> {
    let number = |number: u32| i8::try_from(number).unwrap_or_default();
    let year = i16::try_from(date.year()).unwrap_or_default();
    jiff::civil::Date::new(year, number(date.month()), number(date.day()))
        .map_err(|_| Inexpressible::Meaningless(format!("the date {date}")))
}

#[cfg(test)]
mod tests;
