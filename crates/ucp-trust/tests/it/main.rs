//! Trust from outside: messages, mandates, and hosts that nobody controls.
//!
//! | module | is about |
//! | :-- | :-- |
//! | [`signature`] | what a signed message has to be like, and what its sender is told otherwise |
//! | [`signature_properties`] | the same for generated messages |
//! | [`signature_vectors`] | messages that other implementations signed |
//! | [`mandate_properties`] | generated mandates, whole and tampered with |
//! | [`mandate_vectors`] | mandates that other implementations made |
//! | [`hostile_host`] | fetching profiles from hosts that do what hosts must not do |
//! | [`hostile_receiver`] | sending to an address whose host changes its mind |

mod addresses;
mod hostile_host;
mod hostile_receiver;
mod mandate_properties;
mod mandate_vectors;
mod signature;
mod signature_properties;
mod signature_vectors;
