//! The bridge in front of shops that answer as they like.

mod asking;
mod hostile;
mod mandates;
mod stub;
mod webhooks;
