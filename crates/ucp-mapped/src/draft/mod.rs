//! A first mapping, made from what a shop publishes about its API: an OpenAPI document, or a GraphQL schema.
//!
//! Names and types say which operation may answer which question, and which member may be which. What is guessed stands
//! under a comment that begins with `REVIEW`; what cannot be is a call of `hole`, which nothing accepts until it is filled.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `shape` | what documents of the API look like, whatever describes them |
//! | `words` | names of members, and which of them mean the same |
//! | `programs` | programs that make products, carts and requests from shapes |
//! | `openapi` | operations of an OpenAPI document |
//! | `schema` | types of a GraphQL schema, from an introspection |
//! | `sdl` | the same, from the schema definition language |
//! | `graphql` | operations of a GraphQL schema |

mod graphql;
mod openapi;
mod programs;
mod schema;
mod sdl;
mod shape;
mod words;

pub use self::{graphql::from_graphql, openapi::from_openapi};

/// Maximum size of a document that a draft is made of, in bytes.
pub const MAX_DOCUMENT: usize = 32 << 20;

/// Reason why no draft can be made of a document.
#[derive(Debug, thiserror::Error)]
pub enum Undrafted {
    /// Larger than [`MAX_DOCUMENT`].
    #[error("must be at most {MAX_DOCUMENT} bytes long")]
    TooLarge,
    /// Not what it was said to be.
    #[error("{0}")]
    Unreadable(String),
}
