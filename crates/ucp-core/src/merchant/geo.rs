//! Points on the Earth and how far apart they are.
//!
//! Distances are shortest geodesics on the WGS 84 ellipsoid, in meters and unrounded; a radius includes its rim. A
//! sphere would be wrong by some 0.2 %, which is enough to turn a verdict at the rim.
//!
//! Working a geodesic out takes a microsecond, a straight line through the Earth a nanosecond. [`Chord`] bounds the
//! geodesic from both sides, so that an index works out only those on which a verdict hangs.

use std::{fmt, sync::LazyLock};

use geographiclib_rs::{Geodesic, InverseGeodesic as _};

/// Metres in an international mile.
pub const METRES_PER_MILE: f64 = 1_609.344;

/// Meters in a kilometer.
pub const METRES_PER_KILOMETRE: f64 = 1_000.0;

/// The semi-major axis of the ellipsoid in meters.
const EQUATOR: f64 = 6_378_137.0;

/// The semi-minor axis in meters.
const POLE: f64 = 6_356_752.314_245;

/// The square of its first eccentricity.
const ECCENTRICITY: f64 = 0.006_694_379_990_141_316;

/// No curve along the ground bends with a smaller radius than a meridian at the equator, in meters.
const TIGHTEST: f64 = 6_335_439.327;

static WGS84: LazyLock<Geodesic> = LazyLock::new(Geodesic::wgs84);

/// A point on the Earth.
///
/// It can be the location of a buyer: `Debug` shows it with a precision of a kilometer at most.
#[derive(Clone, Copy, PartialEq)]
pub struct Point {
    latitude: f64,
    longitude: f64,
}

impl fmt::Debug for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Point({:.2}, {:.2})", self.latitude, self.longitude)
    }
}

impl Point {
    /// The point at these WGS 84 degrees, if there is one. 0, 0 is where unset coordinates point to, and counts as
    /// none.
    pub fn new(latitude: f64, longitude: f64) -> Option<Self> {
        (latitude != 0.0 || longitude != 0.0).then(|| Self::anywhere(latitude, longitude)).flatten()
    }

    /// The same, where 0, 0 is meant.
    pub fn anywhere(latitude: f64, longitude: f64) -> Option<Self> {
        let valid = (-90.0..=90.0).contains(&latitude) && (-180.0..=180.0).contains(&longitude);
        valid.then_some(Self { latitude, longitude })
    }

    /// Degrees north, -90 to 90.
    pub const fn latitude(self) -> f64 {
        self.latitude
    }

    /// Degrees east, -180 to 180.
    pub const fn longitude(self) -> f64 {
        self.longitude
    }

    /// Metres along the shortest geodesic.
    pub fn distance(self, other: Self) -> f64 {
        WGS84.inverse(self.latitude, self.longitude, other.latitude, other.longitude)
    }

    /// The same point as a position in space.
    pub fn position(self) -> Position {
        let (sin_lat, cos_lat) = self.latitude.to_radians().sin_cos();
        let (sin_lon, cos_lon) = self.longitude.to_radians().sin_cos();
        let normal = EQUATOR / (1.0 - ECCENTRICITY * sin_lat * sin_lat).sqrt();
        Position([normal * cos_lat * cos_lon, normal * cos_lat * sin_lon, normal * (1.0 - ECCENTRICITY) * sin_lat])
    }
}

/// A position in space, in meters from the center of the Earth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position([f64; 3]);

impl Position {
    /// The straight line between two positions.
    pub fn chord(self, other: Self) -> Chord {
        let squares = self.0.iter().zip(other.0).map(|(a, b)| (a - b) * (a - b));
        Chord(squares.sum::<f64>().sqrt())
    }
}

/// The length in meters of a straight line between two points on the ground.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Chord(f64);

impl Chord {
    /// For comparing chords: the longer one has the larger number.
    pub fn order(self) -> u64 {
        self.0.to_bits()
    }

    /// The way from a point to itself.
    pub const ZERO: Self = Self(0.0);

    /// Rounding of positions, in meters; their coordinates are exact to a few nanometres.
    const ROUNDING: f64 = 1e-6;

    /// A length that no geodesic between the points can fall short of.
    ///
    /// Nothing is shorter than the straight line. Nor is anything shorter than the arc of the points' directions on the
    /// ball inside the ellipsoid: dropping a way onto a ball within does not lengthen it. Far apart that says more.
    pub fn at_least(self) -> f64 {
        let straight = (self.0 - Self::ROUNDING).max(0.0);
        let flattening = EQUATOR - POLE;
        let across = (straight * straight - flattening * flattening).max(0.0).sqrt();
        let arc = 2.0 * POLE * (across / (2.0 * EQUATOR)).min(1.0).asin();
        straight.max(arc - Self::ROUNDING)
    }

    /// A length that the shortest geodesic between the points cannot exceed.
    ///
    /// Of two curves of one length the one that bends less has the longer chord (Schur), and no geodesic bends more
    /// than a circle of the tightest radius. Near the far side of the Earth that says nothing.
    pub fn at_most(self) -> f64 {
        let sine = (self.0 + Self::ROUNDING) / (2.0 * TIGHTEST);
        if sine < 0.99 { 2.0 * TIGHTEST * sine.asin() + Self::ROUNDING } else { f64::INFINITY }
    }
}

/// Lengths of chords that lead to points within a radius, computed once for many points.
#[derive(Clone, Copy, Debug)]
pub struct Rim {
    /// No longer chord leads to a point that is certainly within.
    inner: f64,
    /// No shorter chord leads to a point that is certainly outside.
    outer: f64,
}

impl Rim {
    /// The rim of a radius of `max` meters.
    pub fn new(max: f64) -> Self {
        // The converse of `at_most`, with as much again for what rounding takes on the way.
        let half = (max - Chord::ROUNDING) / (2.0 * TIGHTEST);
        let inner = if (0.0..1.4).contains(&half) {
            2.0 * TIGHTEST * half.sin() - 2.0 * Chord::ROUNDING
        } else {
            f64::NEG_INFINITY
        };
        Self { inner, outer: max + Chord::ROUNDING }
    }

    /// Returns whether the point at the other end of a chord is within the radius; `None` where only the geodesic can tell.
    pub fn holds(&self, chord: Chord) -> Option<bool> {
        if chord.0 <= self.inner {
            Some(true)
        } else if chord.0 > self.outer {
            Some(false)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn point(latitude: f64, longitude: f64) -> Point {
        Point::new(latitude, longitude).expect("a point")
    }

    #[test]
    fn distances_are_geodesics_on_the_ellipsoid() {
        let from = point(37.7898, -122.3942);
        for (to, metres, tolerance) in [
            ((37.7930, -122.4161), 1_961.4, 0.05),
            ((37.7599, -122.4148), 3_782.5, 0.05),
            ((37.8044, -122.2712), 10_953.6, 0.05),
            ((37.9057, -122.3942), 12_864.158, 0.000_5),
            ((37.7897, -122.2479), 12_886.492, 0.000_5),
            ((37.8716, -122.2727), 14_030.0, 0.05),
            ((35.6595, 139.7005), 8_291_774.3, 0.05),
        ] {
            let distance = from.distance(point(to.0, to.1));
            assert!((distance - metres).abs() <= tolerance, "{to:?}: {distance}");
        }
        let across = point(-17.7134, 179.97).distance(point(-17.7134, -179.99));
        assert!((across - 4_242.99).abs() < 0.005, "{across}");
    }

    #[test]
    fn eight_miles_end_where_the_ellipsoid_says() {
        let radius = 8.0 * METRES_PER_MILE;
        assert!((radius - 12_874.752).abs() < 1e-9);
        let from = point(37.7898, -122.3942);
        let within = |latitude, longitude| from.distance(point(latitude, longitude)) <= radius;
        // A sphere says the opposite of both.
        assert!(within(37.9057, -122.3942));
        assert!(!within(37.7897, -122.2479));
    }

    #[test]
    fn coordinates_that_are_none_make_no_point() {
        for (latitude, longitude) in
            [(90.1, 0.0), (-91.0, 5.0), (1.0, 180.5), (f64::NAN, 1.0), (1.0, f64::INFINITY), (0.0, -0.0)]
        {
            assert_eq!(Point::new(latitude, longitude), None);
        }
        assert!(Point::new(0.0, 12.5).is_some() && Point::anywhere(0.0, 0.0).is_some());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_096))]

        #[test]
        fn a_chord_bounds_the_geodesic(
            latitude in -90.0..=90.0,
            longitude in -180.0..=180.0,
            other in -90.0..=90.0,
            east in -180.0..=180.0,
            scale in prop::sample::select(vec![1.0, 0.1, 0.01, 1e-4, 1e-7]),
        ) {
            let from = Point::anywhere(latitude, longitude).expect("a point");
            let near = |degrees: f64, by: f64, limit: f64| (degrees + (by - degrees) * scale).clamp(-limit, limit);
            let to = Point::anywhere(near(latitude, other, 90.0), near(longitude, east, 180.0)).expect("a point");
            let (chord, distance) = (from.position().chord(to.position()), from.distance(to));
            prop_assert!(chord.at_least() <= distance, "{chord:?} {distance}");
            prop_assert!(distance <= chord.at_most(), "{chord:?} {distance}");
            // Tight enough to be of use: within a millimeter in a town, a promille in a country.
            if distance < 20_000.0 {
                prop_assert!(chord.at_most() - chord.at_least() < 0.01);
            } else if distance < 1_000_000.0 {
                prop_assert!(chord.at_most() - chord.at_least() < distance * 0.001_5);
            } else if distance < 10_000_000.0 {
                prop_assert!(chord.at_most() - chord.at_least() < distance * 0.02, "{chord:?} {}", chord.at_most());
            }
        }

        #[test]
        fn a_rim_is_sure_only_where_the_geodesic_agrees(
            latitude in -90.0..=90.0,
            longitude in -180.0..=180.0,
            north in -90.0..=90.0,
            east in -180.0..=180.0,
            scale in prop::sample::select(vec![1.0, 0.1, 0.01, 1e-4, 1e-7, 0.0]),
            max in prop_oneof![0.0_f64..3e7, 0.0..1e5, 0.0..10.0, Just(0.0), Just(f64::INFINITY)],
            beside in -1e-3_f64..1e-3,
        ) {
            let from = Point::anywhere(latitude, longitude).expect("a point");
            let near = |degrees: f64, by: f64, limit: f64| (degrees + (by - degrees) * scale).clamp(-limit, limit);
            let to = Point::anywhere(near(latitude, north, 90.0), near(longitude, east, 180.0)).expect("a point");
            let (chord, distance) = (from.position().chord(to.position()), from.distance(to));
            // Where the rim runs through the point, or a hair beside it, it is hardest.
            for max in [max, distance, (distance + beside).max(0.0)] {
                if let Some(within) = Rim::new(max).holds(chord) {
                    prop_assert_eq!(within, distance <= max, "{:?} {} {}", chord, distance, max);
                } else if max < 100_000.0 {
                    prop_assert!((distance - max).abs() < 2.0, "{:?} {} {}", chord, distance, max);
                }
            }
        }
    }
}
