//! Serialized forms of a product, kept beside it.
//!
//! Writing a product as JSON costs more than anything else a catalog answer does. A product that is asked for twice is
//! therefore serialized once per release, in parts, and answers are spliced together from the parts. The parts are made
//! by the wire crate; this module only keeps them and drops them with the product.

use std::sync::OnceLock;

use crate::Release;

/// Extent of a rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Everything that the shop states.
    Whole,
    /// The part of it that listings show.
    Listed,
}

/// The renderings of a product, one per release and extent in which it was asked for.
#[derive(Debug, Default)]
pub struct Renderings([[OnceLock<Box<Rendering>>; Release::COUNT]; 2]);

impl Renderings {
    /// The rendering in a release; made by `render` if this is the first time it is asked for.
    pub fn of(&self, release: Release, extent: Extent, render: impl FnOnce() -> Rendering) -> &Rendering {
        self.0[extent as usize][release.ordinal()].get_or_init(|| Box::new(render()))
    }
}

/// The JSON texts from which any answer about one product can be put together, in one release.
#[derive(Debug)]
pub struct Rendering {
    /// The members of the product object that do not depend on the call, without braces.
    pub members: Box<str>,
    /// The `options` array as listings show it, or an empty text for a product without options.
    pub options: Box<str>,
    variants: Box<[OnceLock<Box<str>>]>,
}

impl Rendering {
    /// The rendering of a product with so many variants.
    pub fn new(members: Box<str>, options: Box<str>, variants: usize) -> Self {
        Self { members, options, variants: std::iter::repeat_with(OnceLock::new).take(variants).collect() }
    }

    /// The members of the object of the variant at `position`, without braces; made by `render` if this is the first
    /// time it is asked for. A listing shows one variant of a product that may have thousands.
    pub fn variant(&self, position: usize, render: impl FnOnce() -> Box<str>) -> &str {
        self.variants[position].get_or_init(render)
    }
}
