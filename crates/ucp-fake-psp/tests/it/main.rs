//! The fake provider from outside.

mod process;
