//! The pages on which buyers go on in person, as a browser without scripts meets them, while a platform watches over
//! REST.

pub(crate) mod browser;
mod journeys;
mod late;
mod limits;
mod looks;
mod refusals;
mod safety;
