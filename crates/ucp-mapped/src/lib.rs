//! A shop behind any REST or GraphQL API, described by one TOML file.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`decimal`] | minor units from decimal texts, exactly |
//! | [`program`] | jq programs: what they may name, and what they yield |
//! | [`worker`] | the process in which programs run |
//! | [`pool`] | runs programs in such processes, and survives what they do |

pub mod decimal;
pub mod pool;
pub mod program;
pub mod worker;
