//! Grid that finds the locations which may lie in a circle, without looking at the others.
//!
//! The map is cut into cells of a sixteenth of a degree, numbered from west to east and then from south to north, and
//! locations are sorted by cell. A circle then touches one or two runs of neighbors per row of cells. What decides
//! about most locations lies there side by side, because fetching each from a place of its own would take longer than
//! judging it.

use std::ops::RangeInclusive;

use ucp_core::merchant::{
    criteria::Circle,
    geo::{Point, Position},
};

/// Cells per degree.
const FINENESS: f64 = 16.0;

/// Cells around the Earth. The meridian at 180 degrees has a column of its own.
const COLUMNS: u32 = 360 * 16 + 1;

/// The least radius in meters with which the ground bends from south to north.
const NORTHWARD: f64 = 6_335_439.0;

/// The least radius in meters of the equator's circle, and of every parallel when multiplied with its cosine.
const EASTWARD: f64 = 6_378_137.0;

/// A location on the map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) position: Position,
    pub(super) site: u32,
    pub(super) merchant: u32,
    /// Its schedule as an index from 1, or 0.
    pub(super) schedule: u32,
    /// `true` if it is the only public location of its merchant.
    pub(super) alone: bool,
}

#[derive(Debug, Default)]
pub(super) struct Grid {
    /// The cells of the spots, sorted.
    cells: Box<[u32]>,
    spots: Box<[Spot]>,
}

impl Grid {
    pub(super) fn new(points: impl Iterator<Item = (Point, Spot)>) -> Self {
        let mut entries: Vec<_> =
            points.map(|(point, spot)| (row(point.latitude()) * COLUMNS + column(point.longitude()), spot)).collect();
        entries.sort_unstable_by_key(|(cell, spot)| (*cell, spot.site));
        let (cells, spots): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
        Self { cells: cells.into(), spots: spots.into() }
    }

    /// Every location that may lie in the circle, and few others, each once.
    pub(super) fn near(&self, circle: Circle) -> impl Iterator<Item = &Spot> {
        let (rows, columns) = extent(circle);
        rows.flat_map(move |row| {
            columns.clone().into_iter().flatten().flat_map(move |columns| {
                let (first, last) = (row * COLUMNS + columns.start(), row * COLUMNS + columns.end());
                let start = self.cells.partition_point(|cell| *cell < first);
                let length = self.cells[start..].partition_point(|cell| *cell <= last);
                &self.spots[start..start + length]
            })
        })
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 180 sixteenths")]
fn row(latitude: f64) -> u32 {
    ((latitude.clamp(-90.0, 90.0) + 90.0) * FINENESS) as u32
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 360 sixteenths")]
fn column(longitude: f64) -> u32 {
    ((longitude.clamp(-180.0, 180.0) + 180.0) * FINENESS) as u32
}

/// The rows that a circle touches, and the one or two ranges of columns.
///
/// No way of the length of the radius leads farther north than on the tightest meridian, nor farther east than along
/// the parallel of the circle that is nearest to a pole.
fn extent(circle: Circle) -> (RangeInclusive<u32>, [Option<RangeInclusive<u32>>; 2]) {
    let Circle { center, max } = circle;
    // A hair more, for what rounding takes.
    let max = max + 0.001;
    let north = (max / NORTHWARD).to_degrees();
    let (south, top) = (center.latitude() - north, center.latitude() + north);
    let rows = row(south)..=row(top);
    let everywhere = [Some(0..=COLUMNS - 1), None];
    let steepest = south.abs().max(top.abs());
    if steepest >= 90.0 {
        return (rows, everywhere);
    }
    let east = (max / (EASTWARD * steepest.to_radians().cos())).to_degrees();
    if east >= 180.0 {
        return (rows, everywhere);
    }
    let (from, to) = (center.longitude() - east, center.longitude() + east);
    let columns = if from < -180.0 {
        [Some(0..=column(to)), Some(column(from + 360.0)..=COLUMNS - 1)]
    } else if to > 180.0 {
        [Some(0..=column(to - 360.0)), Some(column(from)..=COLUMNS - 1)]
    } else if to == 180.0 || from == -180.0 {
        // The same meridian has two names.
        [Some(column(from)..=column(to)), Some(if to == 180.0 { 0..=0 } else { COLUMNS - 1..=COLUMNS - 1 })]
    } else {
        [Some(column(from)..=column(to)), None]
    };
    match &columns {
        // All but less than a cell.
        [Some(west), Some(east)] if west.end() >= east.start() && east.end() >= west.start() => (rows, everywhere),
        _ => (rows, columns),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn points() -> impl Strategy<Value = Point> {
        let latitude = prop_oneof![-90.0..=90.0, Just(90.0), Just(-90.0), 89.9..=90.0, 37.0..=38.0];
        let longitude = prop_oneof![-180.0..=180.0, Just(180.0), Just(-180.0), 179.9..=180.0, -180.0..=-179.9];
        (latitude, longitude).prop_map(|(latitude, longitude)| Point::anywhere(latitude, longitude).expect("a point"))
    }

    fn grid(points: impl Iterator<Item = Point>) -> Grid {
        let spot = |(site, point): (u32, Point)| {
            (point, Spot { position: point.position(), site, merchant: site, schedule: 0, alone: true })
        };
        Grid::new((0..).zip(points).map(spot))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn nothing_in_a_circle_is_overlooked_or_found_twice(
            all in prop::collection::vec(points(), 1..60),
            center in points(),
            max in prop_oneof![Just(0.0), 0.0..100.0, 0.0..50_000.0, 0.0..25_000_000.0],
            on in any::<prop::sample::Index>(),
            at_rim: bool,
        ) {
            // A rim that runs through a point is the hardest case.
            let max = if at_rim { center.distance(*on.get(&all)) } else { max };
            let grid = grid(all.iter().copied());
            let mut found: Vec<_> = grid.near(Circle { center, max }).map(|spot| spot.site).collect();
            found.sort_unstable();
            prop_assert!(found.windows(2).all(|pair| pair[0] != pair[1]));
            for (site, point) in (0_u32..).zip(&all) {
                if center.distance(*point) <= max {
                    prop_assert!(found.contains(&site), "{site}");
                }
            }
        }
    }

    #[test]
    fn a_small_circle_looks_at_few() {
        let all = (0..360).map(|longitude| Point::anywhere(10.0, f64::from(longitude) - 180.0).expect("a point"));
        let grid = grid(all);
        let center = Point::anywhere(10.0, 20.0).expect("a point");
        let found: Vec<_> = grid.near(Circle { center, max: 5_000.0 }).map(|spot| spot.site).collect();
        assert_eq!(found, [200]);
    }
}
