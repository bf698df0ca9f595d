//! The sample directory: the merchants of a new shop for which none were imported.
//!
//! All data are invented, and every URL is below `example.com`. Together the merchants have every peculiarity that a
//! directory has to handle: hours past midnight, split shifts and none at all, several branches,
//! a kitchen that is not public, a location in a time zone that does not exist, places around the world and
//! enough others to fill several pages. Night Owl Pizza is the merchant of the draft capability's examples.

use ucp_core::merchant::record::Merchant;
use ucp_sqlite::{ShopConnection, StoreError};

use crate::{
    import::{Import, Row, Tolerance},
    merchants::put_within,
};

/// A file as an operator would import it.
const MERCHANTS: &str = include_str!("../sample/merchants.jsonl");

/// Returns the merchants of the sample directory, always the same in the same order.
///
/// Locations with invalid hours come without them.
pub fn merchants() -> Vec<Merchant> {
    rows().map(|row| row.merchant).collect()
}

/// Stores the sample directory in the transaction of a new shop. Fails with [`StoreError`] if the database failed; then
/// nothing was stored.
pub fn fill(db: ShopConnection<'_>) -> Result<(), StoreError> {
    let merchants = merchants();
    let ids: Vec<_> = merchants.iter().map(|merchant| merchant.id.clone()).collect();
    StoreError::unfit(ids.into_iter().zip(put_within(db, merchants)?))
}

/// Returns the merchants of the file. A test checks that every line is valid.
fn rows() -> impl Iterator<Item = Row> {
    Import::read(MERCHANTS.as_bytes(), Tolerance::Lenient).filter_map(Result::ok)
}

#[cfg(test)]
mod tests {
    use ucp_core::merchant::{
        geo::METRES_PER_MILE,
        geo::Point,
        record::{Location, Method},
    };

    use super::*;

    fn find(id: &str) -> Merchant {
        merchants().into_iter().find(|merchant| merchant.id == id).expect(id)
    }

    fn open(location: &Location, instant: &str) -> bool {
        let schedule = location.schedule().expect("usable").expect("known");
        schedule.open_at(instant.parse().expect("an instant"))
    }

    /// The point from which the sample's distances are told.
    fn test_point() -> Point {
        Point::new(37.7898, -122.3942).expect("a point")
    }

    #[test]
    fn every_line_can_be_used_and_one_location_means_nothing() {
        let lines = MERCHANTS.lines().count();
        let rows: Vec<_> = rows().collect();
        assert_eq!(rows.len(), lines);
        let set_aside: Vec<_> = rows.iter().flat_map(|row| &row.set_aside).map(|bad| bad.reason.as_str()).collect();
        assert_eq!(set_aside.len(), 1);
        assert!(set_aside[0].contains("America/Gotham"), "{set_aside:?}");
        // The strict reader leaves that merchant out and no other.
        let strict = Import::read(MERCHANTS.as_bytes(), Tolerance::Strict).filter(Result::is_ok).count();
        assert_eq!(strict, lines - 1);
    }

    #[test]
    fn every_peculiarity_is_there() {
        let one = |id: &str| find(id).locations.remove(0);
        let night_owl = one("mch_abc123");
        assert!(open(&night_owl, "2026-11-21T09:59:59Z") && !open(&night_owl, "2026-11-21T10:00:00Z"));
        assert!(!open(&night_owl, "2026-12-26T02:00:00Z"));
        let [near, far] = find("mch_harbor_burger").locations.try_into().expect("two branches");
        let night = "2026-11-21T09:00:00Z";
        assert!(!open(&near, night) && open(&far, night));
        let miles = |location: &Location| location.point().expect("a point").distance(test_point()) / METRES_PER_MILE;
        assert!(miles(&near) < 8.0 && miles(&far) > 8.0);
        assert!(miles(&one("mch_rim_inside")) < 8.0 && miles(&one("mch_rim_outside")) > 8.0);
        let split = one("mch_deux_services");
        let opens = ["2026-11-24T17:30:00Z", "2026-11-24T19:00:00Z", "2026-11-24T22:00:00Z"].map(|at| open(&split, at));
        assert_eq!(opens, [true, false, true]);
        assert!(open(&one("mch_clockless"), "2026-11-20T07:59:30Z"));
        let momo = one("mch_himal_momo");
        assert!(!open(&momo, "2026-11-23T03:14:59Z") && open(&momo, "2026-11-23T03:15:00Z"));
        let roast = one("mch_sunday_roast");
        let opens = ["2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z", "2026-11-01T06:50:00Z"].map(|at| open(&roast, at));
        assert_eq!(opens, [true, true, false]);
        assert!(!find("mch_tsukimi_sushi").name.is_ascii());
        assert_eq!(
            one("mch_two_bridges_pie").address.and_then(|address| address.postal_code).as_deref(),
            Some("E1 0ZZ")
        );
        assert!(one("mch_wander_truck").point().is_none());
        assert_eq!(one("mch_whenever").schedule().expect("usable"), None);
        assert_eq!(one("mch_gotham_grill").schedule().expect("set aside"), None);
        assert!(find("mch_paper_menu").locations.is_empty());
        assert_eq!(find("mch_unsorted").category, None);
        assert_eq!(find("mch_window_noodles").methods, [Method::Pickup]);
        assert_eq!(find("mch_posted_chili").methods, [Method::Shipping]);
        assert_eq!(find("mch_shared_kitchen").locations.iter().filter(|location| !location.public).count(), 1);
        let [west, east] = find("mch_date_line").locations.try_into().expect("two sides");
        assert!(west.point().expect("a point").distance(east.point().expect("a point")) < 5_000.0);
        let teahouse = one("mch_mapped_teahouse");
        assert!(open(&teahouse, "2026-11-22T09:00:00Z") && !open(&teahouse, "2026-12-25T12:00:00Z"));
        let restaurants = merchants()
            .iter()
            .filter(|merchant| merchant.category.as_deref().is_some_and(|category| category.starts_with("Restaurants")))
            .count();
        assert!(restaurants > 50, "{restaurants}");
    }

    #[test]
    fn everything_is_visibly_invented() {
        let urls = merchants()
            .into_iter()
            .flat_map(|merchant| merchant.url.into_iter().chain(merchant.media.into_iter().map(|media| media.url)));
        for url in urls {
            let host = url.strip_prefix("https://").and_then(|rest| rest.split('/').next()).expect("https");
            assert!(host.ends_with(".example.com"), "{url}");
        }
    }
}
