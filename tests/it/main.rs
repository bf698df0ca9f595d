//! Black-box tests: they start the real binary on a free port and talk to it as clients do.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `harness` | starting gateways, and clients for every transport |
//! | `setup` | gateways with a configuration file, and calls in every release |
//! | `wire` | an HTTP/1.1 client that sends whatever it is told, also what no library would send |
//! | `platforms::host` | a host of profiles that misbehaves on demand |
//! | the others | one suite each; rule and trap ids (`docs/rules.md`) name the requirement a test covers |
//!
//! `UCP_SPEC_DIR` may point to the official schemas (one folder per release); the tests that need them say so when they
//! are skipped.

mod access;
mod at_rest;
mod backends;
mod bad_input;
mod calls;
mod catalog;
mod circles;
mod conformance;
mod container;
mod crates;
mod database;
mod decisions;
mod discovery;
mod doctor;
mod documents;
mod errors;
mod examples;
mod first;
mod founding;
mod guide;
mod handoff;
mod harness;
mod health;
mod import;
mod inspector;
mod journey;
mod lifecycle;
mod logged;
mod mapped;
mod mcp;
mod merchants;
mod negotiation;
mod official;
mod operating;
mod pages;
mod parity;
mod platforms;
mod playground;
mod purchase;
mod reaching;
mod rehearse;
mod rules;
mod setup;
mod shops;
mod signatures;
mod stdio;
mod synchronised;
mod telemetry;
mod tls;
mod wire;
mod workbench;
