//! Backend for shops behind any REST or GraphQL API, by a mapping file.

use std::{error::Error, sync::Arc};

use ucp_config::{Settings, Upstream};
use ucp_mapped::{
    Mapped,
    pool::{Launch, Limits},
    source::Surroundings,
};

use super::{Opened, RemotePlace, chance, http, monotonic, reached};
use crate::clock;

pub(super) async fn open(place: &RemotePlace<'_>) -> Result<Opened, Box<dyn Error>> {
    let transport = transport(place.settings, place.upstream)?;
    http::open_by(place, transport, None).await
}

/// Returns the shop of the configured mapping.
pub(super) fn transport(settings: &Settings, upstream: &Upstream) -> Result<Arc<Mapped>, Box<dyn Error>> {
    let Some(text) = &upstream.mapping else { return Err("there is no mapping".into()) };
    let (mapping, plan) = ucp_mapped::read(text)?;
    let usual = reached("mapped", settings, &upstream.url);
    let around = Surroundings {
        secret: &|name| std::env::var(name).ok(),
        options: &|name, address| ucp_net::Options {
            name: name.to_owned(),
            address,
            plain_http: false,
            ..usual.clone()
        },
        clock: monotonic(),
        now: clock::timestamp,
        random: chance(),
    };
    Ok(Mapped::open(&mapping, plan, &around, launch()?, Limits::default())?.guarded())
}

/// Command that runs programs: this binary again.
pub fn launch() -> std::io::Result<Launch> {
    let binary = std::env::current_exe()?;
    Ok(Arc::new(move || {
        let mut command = std::process::Command::new(&binary);
        command.args(["backend", "worker"]);
        command
    }))
}
