use jiff::{Timestamp, ToSpan as _, tz::TimeZone};
use proptest::{prelude::*, sample::select};
use ucp_core::merchant::schedule::{Local, Timetable};

use super::*;

/// The weekly hours and exceptions of an expression, in a short form.
fn said(expression: &str) -> String {
    let Converted { hours, exception_hours } = convert(expression).expect(expression);
    let weekly = hours.iter().map(|hours| {
        let day = &format!("{:?}", hours.day)[..2];
        format!("{day} {}-{}", hours.opens, hours.closes)
    });
    let exceptions = exception_hours.iter().map(|exception| {
        let ExceptionHours { valid_from, valid_through, opens, closes, title } = exception;
        let times = opens.zip(*closes).map_or_else(|| "off".to_owned(), |(opens, closes)| format!("{opens}-{closes}"));
        let title = title.as_deref().map(|title| format!(" \"{title}\"")).unwrap_or_default();
        format!("{valid_from}/{valid_through} {times}{title}")
    });
    weekly.chain(exceptions).collect::<Vec<_>>().join("; ")
}

fn every_day(times: &str) -> String {
    ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"].map(|day| format!("{day} {times}")).join("; ")
}

#[test]
fn weekly_hours_are_taken_over() {
    for (expression, expected) in [
        ("17:00-02:00", every_day("17:00-02:00")),
        ("Mo-Su 17:00-26:00", every_day("17:00-02:00")),
        ("24/7", every_day("00:00-23:59")),
        ("00:00-24:00", every_day("00:00-23:59")),
        // A minute less than the whole day, which the pair 00:00 to 23:59 would not be.
        ("Mo 00:00-23:59", "Mo 00:00-12:00; Mo 12:00-23:59".to_owned()),
        ("Mo 18:00-24:00", "Mo 18:00-00:00".to_owned()),
        ("Tu 11:00-14:00,17:00-22:00", "Tu 11:00-14:00; Tu 17:00-22:00".to_owned()),
        ("Tu 11:00-14:00, Tu 13:00-22:00", "Tu 11:00-22:00".to_owned()),
        ("Mo-We 10:00-18:00; Tu off", "Mo 10:00-18:00; We 10:00-18:00".to_owned()),
        ("Mo-We 10:00-18:00; Tu 12:00-13:00", "Mo 10:00-18:00; Tu 12:00-13:00; We 10:00-18:00".to_owned()),
        ("Sa 20:00-04:00; Su 10:00-12:00 closed \"inventory\"", "Sa 20:00-04:00".to_owned()),
        ("Fr 08:00-24:00; Sa 00:00-24:00; Su 00:00-20:00", "Fr 08:00-00:00; Sa 00:00-23:59; Su 00:00-20:00".to_owned()),
        ("off", String::new()),
        ("  mo-tu 9:00-17:00 ", "Mo 09:00-17:00; Tu 09:00-17:00".to_owned()),
        ("Mo 10:00-12:00 || Tu 10:00-12:00", "Mo 10:00-12:00; Tu 10:00-12:00".to_owned()),
    ] {
        assert_eq!(said(expression), expected, "{expression}");
    }
}

#[test]
fn dated_rules_become_exceptions() {
    for (expression, expected) in [
        ("Mo 10:00-18:00; 2026 Dec 28 off", "Mo 10:00-18:00; 2026-12-28/2026-12-28 off"),
        (
            "Mo 10:00-18:00; 2026 Dec 28 off \"stocktaking\"",
            "Mo 10:00-18:00; 2026-12-28/2026-12-28 off \"stocktaking\"",
        ),
        (
            "Mo 10:00-18:00; 2026 Dec 28 10:00-12:00,13:00-14:00",
            "Mo 10:00-18:00; 2026-12-28/2026-12-28 10:00-12:00; 2026-12-28/2026-12-28 13:00-14:00",
        ),
        // A day that is closed anyway needs no word.
        ("Mo 10:00-18:00; 2026 Dec 25-2026 Dec 29 off", "Mo 10:00-18:00; 2026-12-28/2026-12-28 off"),
        (
            "Mo-Fr 10:00-18:00; 2026 Dec 28-2027 Jan 01 off",
            "Mo 10:00-18:00; Tu 10:00-18:00; We 10:00-18:00; Th 10:00-18:00; Fr 10:00-18:00; 2026-12-28/2027-01-01 off",
        ),
        (
            "2026 Dec 28-2026 Dec 30 18:00-02:00",
            "2026-12-28/2026-12-28 18:00-00:00; 2026-12-29/2026-12-30 00:00-02:00; 2026-12-29/2026-12-30 18:00-00:00; 2026-12-31/2026-12-31 00:00-02:00",
        ),
    ] {
        assert_eq!(said(expression), expected, "{expression}");
    }
}

#[test]
fn a_cancelled_night_leaves_its_small_hours() {
    // The 25th is a Friday; by the rules of the language its own night is gone, and the 26th still has the hours after
    // midnight.
    let expected = format!(
        "{}; 2026-12-25/2026-12-25 off; 2026-12-26/2026-12-26 00:00-02:00; 2026-12-26/2026-12-26 17:00-02:00",
        every_day("17:00-02:00")
    );
    assert_eq!(said("17:00-02:00; 2026 Dec 25 off"), expected);
}

#[test]
fn what_the_model_cannot_say_is_refused() {
    for (expression, reason) in [
        ("Mo-Fr sunrise-18:00", "follows the sun"),
        ("Mo-Fr 10:00-(sunset+01:00)", "follows the sun"),
        ("Mo 10:00+", "open end"),
        ("Mo 10:00-16:00/01:30", "repeated times"),
        ("Mo-Fr 10:00-18:00; PH off", "holidays"),
        ("SH 10:00-12:00", "holidays"),
        ("Mo-Fr 10:00-18:00; Dec 25 off", "dates of every year"),
        ("Apr-Sep 10:00-18:00", "dates of every year"),
        ("easter off", "dates of every year"),
        ("week 10-20 10:00-12:00", "weeks of the year"),
        ("Su[1] 10:00-12:00", "days of a month"),
        ("Mo-Fr unknown", "`unknown`"),
        ("Mo-Fr 10:00-18:00 \"by appointment\"", "by appointment"),
        ("2026+ Mo 10:00-12:00", "more than ten years"),
        ("2026-2200 Mo 10:00-12:00", "more than ten years"),
        ("2026-2035 10:00-12:00; 2026-2035 Mo,We,Fr off", "exceptions"),
        ("2026 Dec 25 +90 days off", "more than a month"),
        ("Mo-Fr 9am-5pm", "from column"),
        ("Mo-Fr 10:00-18:00; Xy 10:00-11:00", "from column"),
        ("Mo 10:00-49:00", "from column"),
        ("2030-2020 Mo", "Inverted year"),
        ("", "from column"),
    ] {
        let refused = convert(expression).expect_err(expression).to_string();
        assert!(refused.contains(reason), "{expression}: {refused}");
    }
    assert_eq!(convert(&"Mo off;".repeat(200)), Err(Inexpressible::TooLong));
    assert_eq!(convert("Mo-Fr 10:00-18:00; Xy 10:00-11:00"), Err(Inexpressible::Syntax { column: 20 }));
}

/// From the day before the first date of the tests to long after the last one.
const FROM: (i16, i8, i8) = (2026, 11, 16);
const DAYS: usize = 9 * 7;
const MINUTES: usize = DAYS * 24 * 60;

/// The minutes at which an expression is open, as the library evaluates it: a day at a time, because over longer stretches
/// it takes `10:00-12:00 || off` for always closed.
fn by_expression(expression: &str) -> Option<Vec<bool>> {
    let hours: OpeningHours = expression.parse().ok()?;
    let first = NaiveDate::from_ymd_opt(FROM.0.into(), 11, 16)?.and_hms_opt(0, 0, 0)?;
    let mut open = vec![false; MINUTES];
    for (day, minutes) in (0..).zip(open.chunks_mut(24 * 60)) {
        let midnight = first + chrono::TimeDelta::days(day);
        for range in hours.iter_range(midnight, midnight + chrono::TimeDelta::days(1)) {
            if range.kind == RuleKind::Open {
                let minute =
                    |at: chrono::NaiveDateTime| usize::try_from((at - midnight).num_minutes()).expect("in order");
                minutes[minute(range.range.start)..minute(range.range.end)].fill(true);
            }
        }
    }
    Some(open)
}

/// The minutes at which a schedule is open, as the domain evaluates it.
fn by_model(converted: &Converted) -> Vec<bool> {
    let timetable = Timetable::new(Some(&converted.hours), &converted.exception_hours).expect("a timetable");
    let from: Timestamp = jiff::civil::Date::new(FROM.0, FROM.1, FROM.2)
        .and_then(|date| date.to_zoned(TimeZone::UTC))
        .expect("a date")
        .timestamp();
    (0..MINUTES)
        .map(|minute| timetable.open(&Local::at(from + i64::try_from(minute).expect("few").minutes(), &TimeZone::UTC)))
        .collect()
}

fn times() -> impl Strategy<Value = String> {
    let clock = |minute: u32| format!("{:02}:{:02}", minute / 60, minute % 60);
    // Few values, so that intervals meet, touch and cover each other.
    let minute = select(vec![0, 1, 60, 119, 120, 121, 480, 720, 1_020, 1_080, 1_320, 1_438, 1_439]);
    let end = select(vec![1, 60, 120, 600, 720, 1_020, 1_080, 1_380, 1_439, 1_440, 1_441, 1_560, 1_600, 2_000]);
    let span = (minute, end).prop_map(move |(from, to)| format!("{}-{}", clock(from), clock(to)));
    proptest::collection::vec(span, 1..3).prop_map(|spans| spans.join(","))
}

fn rule() -> impl Strategy<Value = String> {
    let dates = select(vec![
        "",
        "",
        "",
        "2026 Dec 25 ",
        "2026 Dec 24-2026 Dec 26 ",
        "2026 Dec 31-2027 Jan 02 ",
        "2026 Dec ",
        "2026 Dec 01-2026 Dec 20 ",
        "2026-2027 Dec 25 ",
        "2026 Dec 25 -1 day ",
        "2026 Dec 28-Fr ",
        "2026 Nov-Feb ",
        "2026 Dec Fr[-1] ",
        "2026 Dec 30-Jan 03 ",
        "2027 easter -90 days-2027 Feb 01 ",
        "2027 Jan 31 -31 days ",
        "2027 ",
        "2026 week 50 ",
    ]);
    let days = select(vec!["", "Mo-Su ", "Mo-Fr ", "Sa,Su ", "Mo ", "Fr-Mo ", "We,Fr-Sa ", "Th "]);
    let hours = prop_oneof![4 => times(), 1 => Just("off".to_owned()), 1 => Just("off \"feast\"".to_owned())];
    (dates, days, hours).prop_map(|(dates, days, hours)| format!("{dates}{days}{hours}"))
}

fn expression() -> impl Strategy<Value = String> {
    let more = proptest::collection::vec((select(vec!["; ", "; ", "; ", ", ", " || "]), rule()), 0..4);
    (rule(), more)
        .prop_map(|(first, more)| more.into_iter().fold(first, |text, (separator, rule)| text + separator + &rule))
}

/// The first minute at which an expression and the schedule made of it differ.
fn difference(expression: &str) -> Result<Option<usize>, Inexpressible> {
    let converted = convert(expression)?;
    let (expected, actual) = (by_expression(expression).expect("an expression"), by_model(&converted));
    Ok((0..MINUTES).find(|minute| expected[*minute] != actual[*minute]))
}

#[test]
fn rare_turns_are_taken_over_too() {
    for expression in [
        // What runs into the next day has to begin later than it ends there.
        "17:00-02:00; 2026 Dec 25 01:00-24:00",
        "17:00-02:00; 2026 Dec 25 00:00-24:00",
        "23:59-23:58; 2026 Dec 25 00:00-24:00",
        "10:00-12:00; 2026 Dec 25 -31 days off",
        "10:00-12:00; 2027 Jan 17-We -31 days off",
        "10:00-12:00; 2026 Nov 20 +31 days 22:00-06:00",
        "10:00-12:00; 2027 Jan 02-2026 Dec 30 off",
        "Fr 08:00-24:00; Sa 00:00-24:00; Su 00:00-20:00; 2026 Dec 26 off",
    ] {
        assert_eq!(difference(expression), Ok(None), "{expression}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_schedule_is_open_when_its_expression_is(expression in expression()) {
        prop_assert_eq!(difference(&expression).unwrap_or_default(), None, "{}", expression);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_048))]

    #[test]
    fn any_text_is_refused_or_taken_over(text in "\\PC{0,40}") {
        drop(convert(&text));
    }

    #[test]
    fn any_words_of_the_language_are_refused_or_taken_over(
        words in proptest::collection::vec(select(vec![
            "2026", "2026-2028", "Dec", "Dec 25", "Feb 29", "easter", "-1 day", "+Mo", "week", "10-20", "/2", "Mo", "Su[1]",
            "-Fr", "PH", "SH", "10:00", "-26:00", "-", "sunset", "(sunrise-01:00)", "+", "off", "open", "unknown",
            "\"x\"", "24/7", ";", ",", "||", " ", ":", "00:00-24:00", "48:00", "-48:00",
        ]), 1..9),
    ) {
        for separator in ["", " "] {
            if let Ok(converted) = convert(&words.join(separator)) {
                prop_assert!(Timetable::new(Some(&converted.hours), &converted.exception_hours).is_ok());
            }
        }
    }
}
