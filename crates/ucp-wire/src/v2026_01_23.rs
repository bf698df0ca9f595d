//! Release 2026-01-23: checkouts, with capabilities and payment handlers by name.

mod step;

use std::{marker::PhantomData, sync::LazyLock};

use ucp_core::Release;

use crate::{
    founding::{self, Founding, purchase::Second},
    merchant::MerchantShapes,
    offer::Offer,
    profile,
    purchase::PurchaseShapes,
};

/// Release 2026-01-23.
pub static V2026_01_23: Founding<Second> = Founding {
    release: RELEASE,
    offers: &OFFERS,
    purchase: &PURCHASE,
    merchants: &MERCHANTS,
    methods: false,
    direct: |document| document,
    profile: |dialect, site| profile::profile(dialect, site, &["signing_keys"]),
    step: &step::STEP,
    form: PhantomData,
};

static PURCHASE: LazyLock<PurchaseShapes> = LazyLock::new(PurchaseShapes::of::<Second>);

static MERCHANTS: LazyLock<MerchantShapes> = LazyLock::new(MerchantShapes::of::<Second>);

const RELEASE: Release = Release::V2026_01_23;

static OFFERS: [Offer; 10] = founding::offers(RELEASE);
