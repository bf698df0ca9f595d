//! `search_locations` and `lookup_locations`.

use ucp_core::Code;

use super::{
    super::location::{lookup, search as search_locations},
    *,
};

fn placed(demands: Demands) -> Result<Vec<String>, Refusal> {
    let request = location::SearchRequest { demands, limit: Some(1_000), ..location::SearchRequest::default() };
    let answer = run(search_locations(&directory(), &PlainCursors, &request, at(EVENING)))?;
    Ok(answer.locations.iter().map(|listed| listed.location().id.clone()).collect())
}

#[test]
fn locations_are_found_by_what_they_are() {
    let expect =
        |demands, ids: &[&str]| assert_eq!(placed(demands), Ok(ids.iter().map(|id| (*id).to_owned()).collect()));
    expect(Demands::default(), &["loc_diner", "loc_mission", "loc_oakland"]);
    let distance = Distance { latitude: 37.7898, longitude: -122.3942, max: 4_000.0 };
    expect(Demands { distance: Some(distance), ..Demands::default() }, &["loc_diner", "loc_mission"]);
    expect(Demands { amenities: vec!["dev.ucp.amenity.wi_fi".into()], ..Demands::default() }, &["loc_mission"]);
    let open_at = |instant: &str| Demands { open_at: Some(instant.into()), ..Demands::default() };
    expect(open_at("2026-11-20T17:30:00-08:00"), &["loc_diner", "loc_mission"]);
    expect(open_at("2026-11-20t10:00:00.5-08:00"), &["loc_diner"]);
    expect(open_at("2026-12-25T10:00:00-08:00"), &["loc_diner"]);
    expect(
        Demands { distance: Some(Distance { latitude: 0.0, longitude: 0.0, max: 10.0 }), ..Demands::default() },
        &[],
    );
}

#[test]
fn demands_that_cannot_be_judged_are_refused() {
    let distance = |latitude, max| Some(Distance { latitude, longitude: 0.0, max });
    for (demands, path) in [
        (Demands { unknown: vec!["items".into()], ..Demands::default() }, "$.filters['items']"),
        (Demands { serves: Some("point".into()), ..Demands::default() }, "$.serves"),
        (
            Demands { amenities: vec!["dev.ucp.amenity.wi_fi".into(), "wi-fi".into()], ..Demands::default() },
            "$.filters.amenities[1]",
        ),
        (Demands { distance: distance(91.0, 5.0), ..Demands::default() }, "$.distance.center"),
        (Demands { distance: distance(1.0, -5.0), ..Demands::default() }, "$.distance.max"),
        (Demands { distance: distance(1.0, f64::INFINITY), ..Demands::default() }, "$.distance.max"),
    ] {
        assert_eq!(placed(demands).expect_err(path).path.as_deref(), Some(path));
    }
    for instant in [
        "",
        "now",
        "2026-05-18",
        "2026-05-18T17:00:00",
        "2026-05-18 17:00:00Z",
        "2026-05-18T17:00Z",
        "2026-05-18T17:00:00.Z",
        "2026-05-18T17:00:00+0200",
        "2026-05-18T17:00:00+02",
        "2026-05-18T17:00:00Z[UTC]",
        "2026-02-30T17:00:00Z",
        "2026-05-18T25:00:00Z",
        "2026-05-18T17:00:00+26:00",
        "+002026-05-18T17:00:00Z",
        "2026-05-18T17:00:00,5Z",
    ] {
        let demands = Demands { open_at: Some(instant.into()), ..Demands::default() };
        assert_eq!(placed(demands).expect_err(instant).path.as_deref(), Some("$.filters.hours.open_at"), "{instant}");
    }
    let empty = location::SearchRequest { limit: Some(0), ..location::SearchRequest::default() };
    assert!(run(search_locations(&directory(), &PlainCursors, &empty, at(EVENING))).is_err());
}

#[test]
fn locations_are_paged_through() {
    let mut request =
        location::SearchRequest { limit: Some(1), context: american(), ..location::SearchRequest::default() };
    let mut seen = Vec::new();
    loop {
        let page = run(search_locations(&directory(), &PlainCursors, &request, at(EVENING))).expect("a page");
        assert_eq!((page.total, page.locations.len()), (Some(3), 1));
        seen.extend(page.locations.iter().map(|listed| listed.location().id.clone()));
        assert!(seen.len() <= 3, "no end of pages: {seen:?}");
        request.cursor = page.cursor;
        if request.cursor.is_none() {
            break;
        }
        let other = location::SearchRequest { query: Some("pizza".into()), ..request.clone() };
        assert_eq!(
            run(search_locations(&directory(), &PlainCursors, &other, at(EVENING))).expect_err("another query").code,
            Code::InvalidCursor
        );
    }
    assert_eq!(seen, ["loc_diner", "loc_mission", "loc_oakland"]);
}

#[test]
fn what_has_gone_since_it_was_found_is_not_shown() {
    let mut directory = directory();
    let mut hidden = (*directory.merchants[0]).clone();
    hidden.locations[0].public = false;
    directory.merchants[0] = Arc::new(hidden);
    directory.merchants.remove(1);
    let answer = run(search_locations(&directory, &PlainCursors, &location::SearchRequest::default(), at(EVENING)))
        .expect("a page");
    let ids: Vec<_> = answer.locations.iter().map(|listed| listed.location().id.as_str()).collect();
    assert_eq!(ids, ["loc_oakland"]);
    let answer = found(&directory, &search::Request { query: "late".into(), ..search::Request::default() });
    assert_eq!(names(&answer), ["mch_abc123"]);
    assert_eq!(answer.merchants[0].locations, [1]);
}

fn looked_up(ids: &[&str], demands: Demands) -> location::Resolved {
    let ids = ids.iter().map(|id| (*id).to_owned()).collect();
    let request = location::LookupRequest { ids, demands, context: Context::default() };
    run(lookup(&directory(), &request, at(EVENING))).expect("an answer")
}

#[test]
fn a_lookup_says_which_identifiers_led_where() {
    let answer = looked_up(&["owl", "loc_oakland", "nowhere", "owl", "loc_dark"], Demands::default());
    let inputs: Vec<_> =
        answer.locations.iter().map(|listed| (listed.location().id.as_str(), &listed.inputs[..])).collect();
    assert_eq!(
        inputs,
        [("loc_mission", &["owl".to_owned()][..]), ("loc_oakland", &["owl".to_owned(), "loc_oakland".to_owned()][..])]
    );
    assert_eq!(
        answer.messages,
        [
            Message::info("not_found", "No location has the identifier nowhere."),
            // A location that is not public is told from none by nobody.
            Message::info("not_found", "No location has the identifier loc_dark."),
        ]
    );
    // What exists but does not pass is left out without a word.
    let open = Demands { open_at: Some(EVENING.into()), ..Demands::default() };
    let answer = looked_up(&["loc_oakland", "loc_mission"], open);
    let ids: Vec<_> = answer.locations.iter().map(|listed| listed.location().id.as_str()).collect();
    assert_eq!((ids, answer.messages.len()), (vec!["loc_mission"], 0));

    let christmas = Demands { open_at: Some("2026-12-26T01:00:00Z".into()), ..Demands::default() };
    assert_eq!(looked_up(&["loc_mission"], christmas).locations.len(), 0);
    let request = location::LookupRequest { ids: vec!["loc_mission".into()], ..location::LookupRequest::default() };
    let noted = run(lookup(&directory(), &request, at("2026-12-26T01:00:00Z"))).expect("an answer").messages;
    assert_eq!(noted.iter().map(code).collect::<Vec<_>>(), ["holiday_hours_active"]);
}

#[test]
fn a_lookup_beyond_the_limit_is_cut_off_and_says_so() {
    let many: Vec<String> = (0..location::MAX_IDS + 2).map(|number| format!("x{number}")).collect();
    let mut ids: Vec<&str> = many.iter().map(String::as_str).collect();
    ids.insert(1, "x0");
    *ids.last_mut().expect("some") = "loc_mission";
    let answer = looked_up(&ids, Demands::default());
    assert!(answer.locations.is_empty());
    assert_eq!(answer.messages.iter().filter(|message| code(message) == "not_found").count(), location::MAX_IDS);
    let Some(Message::Info { code: Some(code), content, .. }) = answer.messages.last() else { panic!("a note") };
    assert_eq!(code, "batch_limit_applied");
    assert!(content.contains("100") && content.contains(" 2 "), "{content}");

    let none = location::LookupRequest::default();
    let refusal = run(lookup(&directory(), &none, at(EVENING))).expect_err("refused");
    assert_eq!(refusal.path.as_deref(), Some("$.ids"));
}
