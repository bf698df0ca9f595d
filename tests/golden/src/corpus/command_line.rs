//! Stub.

use crate::{Done, stage::Stage};

pub(crate) fn play(_: &mut Stage<'_>) -> Done {
    Ok(())
}

pub(crate) fn configuration(_: &mut Stage<'_>) -> Done {
    Ok(())
}
