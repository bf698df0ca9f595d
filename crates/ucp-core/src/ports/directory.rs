//! Port of a directory of merchants and their locations.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::{
    Refusal,
    call::{Answer, DirectoryRequest},
    catalog::cursor::Cursors,
};

/// Content of a directory. Operations on what it lacks are not offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// `true` if it has a merchant.
    pub merchants: bool,
    /// `true` if it has a location.
    pub locations: bool,
}

/// A directory of merchants and their locations.
#[async_trait]
pub trait Directory: Send + Sync {
    /// Answers a request as of `now`, or as of the first page if it is about a later one. Fails with a refusal of a
    /// request that cannot be evaluated, or of a cursor of another query; and [`Unavailable`](crate::Code::Unavailable)
    /// or [`InternalError`](crate::Code::InternalError) if the directory fails.
    async fn answer(&self, request: DirectoryRequest, cursors: &dyn Cursors, now: Timestamp)
    -> Result<Answer, Refusal>;
}
