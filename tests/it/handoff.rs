//! The pages on which buyers go on in person, as a browser without scripts meets them, while a platform watches over REST.

mod browser;
mod journeys;
mod refusals;
mod safety;
