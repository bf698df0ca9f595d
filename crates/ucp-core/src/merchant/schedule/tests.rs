use jiff::{SignedDuration, ToSpan as _, civil::DateTime};
use proptest::prelude::*;

use super::*;
use crate::merchant::hours::Day;

fn clock(text: &str) -> ClockTime {
    text.parse().expect("a time of day")
}

fn daily(days: &[Day], shifts: &[(&str, &str)]) -> Vec<DailyHours> {
    let on = |day: Day| {
        shifts.iter().map(move |(opens, closes)| DailyHours { day, opens: clock(opens), closes: clock(closes) })
    };
    days.iter().flat_map(|day| on(*day)).collect()
}

fn exception(from: &str, through: &str, times: Option<(&str, &str)>) -> ExceptionHours {
    ExceptionHours {
        valid_from: from.parse().expect("a date"),
        valid_through: through.parse().expect("a date"),
        opens: times.map(|(opens, _)| clock(opens)),
        closes: times.map(|(_, closes)| clock(closes)),
        title: None,
    }
}

fn at(instant: &str) -> Timestamp {
    instant.parse().expect("an instant")
}

fn expect(schedule: &Schedule, verdicts: &[(&str, bool)]) {
    for (instant, open) in verdicts {
        assert_eq!(schedule.open_at(at(instant)), *open, "{instant}");
    }
}

#[test]
fn nights_run_into_the_next_day_and_exceptions_cut_them_off() {
    let hours = daily(&Day::ALL, &[("17:00", "02:00")]);
    let christmas = [exception("2026-12-25", "2026-12-25", None)];
    let schedule = Schedule::new("America/Los_Angeles", Some(&hours), &christmas).expect("a schedule");
    expect(
        &schedule,
        &[
            ("2026-11-21T00:59:59Z", false),
            ("2026-11-21T01:00:00Z", true),
            ("2026-11-21T09:59:59Z", true),
            ("2026-11-21T10:00:00Z", false),
            ("2026-12-25T07:59:00Z", true),
            ("2026-12-25T08:30:00Z", false),
            ("2026-12-26T02:00:00Z", false),
            ("2026-12-27T02:00:00Z", true),
        ],
    );
}

#[test]
fn split_shifts_leave_a_gap() {
    let hours = daily(&[Day::Tuesday], &[("11:00", "14:00"), ("17:00", "22:00")]);
    let schedule = Schedule::new("America/New_York", Some(&hours), &[]).expect("a schedule");
    expect(
        &schedule,
        &[
            ("2026-11-24T17:30:00Z", true),
            ("2026-11-24T19:00:00Z", false),
            ("2026-11-24T22:00:00Z", true),
            ("2026-11-25T17:30:00Z", false),
        ],
    );
}

#[test]
fn labels_that_clocks_show_twice_are_open_twice_and_skipped_ones_never() {
    let sunday = |opens, closes| {
        let hours = daily(&[Day::Sunday], &[(opens, closes)]);
        Schedule::new("America/New_York", Some(&hours), &[]).expect("a schedule")
    };
    expect(
        &sunday("01:00", "01:45"),
        &[("2026-11-01T05:30:00Z", true), ("2026-11-01T06:30:00Z", true), ("2026-11-01T06:50:00Z", false)],
    );
    expect(&sunday("02:15", "02:45"), &[("2026-03-08T06:59:00Z", false), ("2026-03-08T07:00:00Z", false)]);
}

#[test]
fn a_whole_day_has_no_closed_last_minute() {
    let schedule = Schedule::new("America/New_York", Some(&daily(&Day::ALL, &[("00:00", "23:59")])), &[]);
    let schedule = schedule.expect("a schedule");
    expect(&schedule, &[("2026-11-20T04:59:30Z", true), ("2026-11-20T05:00:00Z", true)]);
}

#[test]
fn offsets_need_not_be_whole_hours() {
    let hours = daily(&[Day::Monday], &[("09:00", "17:00")]);
    let schedule = Schedule::new("Asia/Kathmandu", Some(&hours), &[]).expect("a schedule");
    expect(&schedule, &[("2026-11-23T03:14:59Z", false), ("2026-11-23T03:15:00Z", true)]);
}

#[test]
fn what_is_unknown_is_not_open() {
    assert_eq!(Schedule::new("America/Gotham", Some(&[]), &[]).expect_err("no zone").path, "timezone");
    let exceptions = [exception("2026-12-31", "2026-12-31", Some(("20:00", "02:00")))];
    let schedule = Schedule::new("Europe/London", None, &exceptions).expect("a schedule");
    expect(
        &schedule,
        &[
            ("2026-12-30T21:00:00Z", false),
            ("2026-12-31T21:00:00Z", true),
            // What runs out of an exception is known, what the next day holds is not.
            ("2027-01-01T01:59:59Z", true),
            ("2027-01-01T02:00:00Z", false),
        ],
    );
}

#[test]
fn every_date_of_an_exception_begins_anew() {
    let exceptions = [exception("2026-12-24", "2026-12-26", Some(("18:00", "01:00")))];
    let hours = daily(&Day::ALL, &[("09:00", "12:00")]);
    let schedule = Schedule::new("Europe/London", Some(&hours), &exceptions).expect("a schedule");
    expect(
        &schedule,
        &[
            ("2026-12-24T10:00:00Z", false),
            ("2026-12-24T23:59:59Z", true),
            ("2026-12-25T00:30:00Z", false),
            ("2026-12-27T00:30:00Z", true),
            ("2026-12-27T09:00:00Z", true),
        ],
    );
}

#[test]
fn exceptions_that_contradict_each_other_make_no_schedule() {
    let timed = |from, through| exception(from, through, Some(("10:00", "14:00")));
    let closed = |from, through| exception(from, through, None);
    let half = ExceptionHours { closes: None, ..timed("2026-12-24", "2026-12-24") };
    for (exceptions, place) in [
        (vec![timed("2026-12-24", "2026-12-26"), timed("2026-12-25", "2026-12-25")], 1),
        (vec![closed("2026-12-24", "2026-12-24"), closed("2026-12-24", "2026-12-24")], 1),
        (vec![timed("2026-12-24", "2026-12-24"), closed("2026-12-24", "2026-12-24")], 1),
        (vec![closed("2026-12-24", "2026-12-24"), timed("2026-12-24", "2026-12-24")], 1),
        (vec![timed("2026-12-24", "2026-12-24"), timed("2026-12-26", "2026-12-25")], 1),
        (vec![half], 0),
    ] {
        let refused = Timetable::new(None, &exceptions).expect_err("unusable");
        assert_eq!(refused.path, format!("exception_hours[{place}]"), "{exceptions:?}");
    }
    let split = [timed("2026-12-24", "2026-12-26"), exception("2026-12-24", "2026-12-26", Some(("16:00", "18:00")))];
    assert!(Timetable::new(None, &split).is_ok());
}

#[test]
fn a_location_without_hours_is_never_open() {
    let never = Schedule::new("America/New_York", Some(&[]), &[]).expect("a schedule");
    assert!(
        !never.open_at(at("2026-11-01T00:00:00Z")) && !never.open_at(Timestamp::MAX) && !never.open_at(Timestamp::MIN)
    );
}

type Intervals = Vec<(u16, u16)>;

/// The verdict by the letter of the rules, from the hours as stated.
struct Oracle<'a> {
    hours: &'a [DailyHours],
    exceptions: &'a [ExceptionHours],
    /// Of the last date asked for: its own intervals, those of the day before, and whether an exception rules it.
    day: Option<(Date, Intervals, Intervals, bool)>,
}

impl Oracle<'_> {
    fn ruled(&self, date: Date) -> bool {
        self.exceptions.iter().any(|entry| entry.valid_from <= date && date <= entry.valid_through)
    }

    fn intervals(&self, date: Date) -> Intervals {
        if self.ruled(date) {
            let covering =
                self.exceptions.iter().filter(|entry| entry.valid_from <= date && date <= entry.valid_through);
            return covering.filter_map(|entry| Some((entry.opens?.minutes(), entry.closes?.minutes()))).collect();
        }
        let today = date.weekday().to_monday_zero_offset();
        let of_today = self.hours.iter().filter(|entry| entry.day as i8 == today);
        of_today.map(|entry| (entry.opens.minutes(), entry.closes.minutes())).collect()
    }

    fn open(&mut self, shown: DateTime) -> bool {
        let date = shown.date();
        if self.day.as_ref().is_none_or(|(known, ..)| *known != date) {
            let before = date.yesterday().expect("a date");
            self.day = Some((date, self.intervals(date), self.intervals(before), self.ruled(date)));
        }
        let minute = u16::from(shown.hour().unsigned_abs()) * 60 + u16::from(shown.minute().unsigned_abs());
        let (_, today, before, ruled) = self.day.as_ref().expect("just set");
        today.iter().any(|interval| match *interval {
            (0, 1_439) => true,
            (opens, closes) if closes < opens => minute >= opens,
            (opens, closes) => opens <= minute && minute < closes,
        }) || (!ruled && before.iter().any(|(opens, closes)| closes < opens && minute < *closes))
    }
}

fn time(minute: u16) -> ClockTime {
    ClockTime::new(minute / 60, minute % 60).expect("a time of day")
}

fn times() -> impl Strategy<Value = (ClockTime, ClockTime)> {
    let minute = prop_oneof![
        Just(0_u16),
        Just(1_439),
        (0_u16..24).prop_map(|hour| hour * 60),
        Just(90),
        Just(150),
        0_u16..1_440,
    ];
    (minute.clone(), minute)
        .prop_filter("equal times mean nothing", |(opens, closes)| opens != closes)
        .prop_map(|(opens, closes)| (time(opens), time(closes)))
}

fn weeks() -> impl Strategy<Value = Vec<DailyHours>> {
    let day = prop::sample::select(Day::ALL.to_vec());
    prop::collection::vec((day, times()), 0..10).prop_map(|entries| {
        entries.into_iter().map(|(day, (opens, closes))| DailyHours { day, opens, closes }).collect()
    })
}

/// Exceptions of 2026 that do not contradict each other.
fn exceptions() -> impl Strategy<Value = Vec<ExceptionHours>> {
    let range = (1_i64..12, 0_i64..10, prop::collection::vec(times(), 0..3));
    prop::collection::vec(range, 0..12).prop_map(|ranges| {
        let mut from = "2026-01-01".parse::<Date>().expect("a date");
        let mut all = Vec::new();
        for (gap, length, shifts) in ranges {
            let start = from + (gap * 3).days();
            let through = start + length.days();
            let entry = |opens, closes| ExceptionHours {
                valid_from: start,
                valid_through: through,
                opens,
                closes,
                title: None,
            };
            if shifts.is_empty() {
                all.push(entry(None, None));
            }
            all.extend(shifts.into_iter().map(|(opens, closes)| entry(Some(opens), Some(closes))));
            from = through + 1.day();
        }
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    /// Every minute of a year, in zones whose clocks jump by an hour, by half an hour, at midnight, in the other half
    /// of the year, twice around a month of fasting, or never.
    #[test]
    fn verdicts_agree_with_a_scan_of_every_minute_of_a_year(
        hours in weeks(),
        exceptions in exceptions(),
        zone_name in prop::sample::select(vec![
            "America/Los_Angeles", "America/New_York", "Europe/London", "Asia/Kathmandu", "Asia/Tokyo",
            "Australia/Lord_Howe", "America/Santiago", "Africa/Casablanca", "Asia/Beirut", "UTC",
        ]),
    ) {
        let schedule = Schedule::new(zone_name, Some(&hours), &exceptions).expect("a schedule");
        let start = at("2026-01-01T00:00:00Z");
        let minute = SignedDuration::from_mins(1);
        let mut oracle = Oracle { hours: &hours, exceptions: &exceptions, day: None };
        let mut instant = start;
        for _ in 0..525_600 {
            let verdict = schedule.open_at(instant);
            prop_assert_eq!(verdict, oracle.open(schedule.zone.to_datetime(instant)), "{}", instant);
            instant += minute;
        }
    }
}
