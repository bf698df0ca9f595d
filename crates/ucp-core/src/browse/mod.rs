//! The operations on the catalog, by the facts of a backend: it says what there is, and these decide what a caller gets.

pub mod detail;
pub mod lookup;
pub mod search;

#[cfg(test)]
mod tests;
