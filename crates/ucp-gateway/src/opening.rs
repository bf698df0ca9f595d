//! Opening of the shop when the process starts, and again while the shop is down.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use ucp_core::ShopId;
use ucp_trust::keyring::Keyring;
use url::Url;

use crate::{
    backend::{DataDirectory, Down},
    config::Settings,
    shop::{Shop, open_keyring},
    shops::Shops,
};

/// Seconds until the first further attempt; they double with each one, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: u32 = 1;

/// Maximum number of seconds between two attempts.
const LONGEST_PAUSE: u32 = 60;

/// What a shop is opened from.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) data: DataDirectory,
    pub(crate) settings: Arc<Settings>,
    /// URL under which clients reach the shop.
    pub(crate) public_url: Url,
}

impl Opening {
    /// Opens the shop and serves it as one of `shops`. A remote shop that is down is served with what it stated last, or
    /// else every call of it is refused; it is then opened in the background as soon as it answers.
    ///
    /// # Errors
    /// An error if the shop cannot be opened for another reason than that it is down.
    pub(crate) async fn begin(self, keyring: Keyring, shops: &Shops) -> Result<Arc<Shop>, Box<dyn Error>> {
        let pause = Arc::new(AtomicU32::new(FIRST_PAUSE));
        let opened = Shop::open(&self.data, &self.settings, &self.public_url, keyring, false).await;
        let shop = match opened {
            Ok(shop) => shop,
            Err(error) if error.is::<Down>() => {
                tracing::warn!(error = &*error, "the shop is down, and nothing is known of it: calls are refused");
                let upstream = self.settings.upstream.as_ref();
                let name = upstream.and_then(|upstream| upstream.url.host_str()).unwrap_or_default().to_owned();
                let pause = Arc::clone(&pause);
                Shop::absent(name, &self.data, move || pause.load(Ordering::Relaxed))
            }
            Err(error) => return Err(error),
        };
        let shop = Arc::new(shop);
        shops.put(ShopId::default(), Arc::clone(&shop));
        if !shop.ready {
            tracing::warn!(shop = shop.name, "the gateway is not ready: the shop is down, and is tried again");
            tokio::spawn(self.retry(shops.clone(), pause));
        }
        Ok(shop)
    }

    /// Opens the shop again until it answers, and serves it then. The seconds until the next attempt are kept in `pause`.
    async fn retry(self, shops: Shops, pause: Arc<AtomicU32>) {
        loop {
            let seconds = pause.load(Ordering::Relaxed);
            // Between half of the time and all of it, so that the gateways of one shop do not return together.
            let part = uuid::Uuid::new_v4().into_bytes()[0];
            tokio::time::sleep(Duration::from_secs(seconds.into()).mul_f64(0.5 + f64::from(part) / 512.0)).await;
            pause.store((seconds * 2).min(LONGEST_PAUSE), Ordering::Relaxed);
            let opened = match open_keyring(&self.settings.sections.data) {
                Ok(keyring) => Shop::open(&self.data, &self.settings, &self.public_url, keyring, true).await,
                Err(error) => Err(error.into()),
            };
            match opened {
                Ok(shop) => {
                    tracing::info!(shop = shop.name, "the shop answers, and the gateway is ready");
                    shops.put(ShopId::default(), Arc::new(shop));
                    return;
                }
                Err(error) => {
                    tracing::warn!(error = &*error, "the shop cannot be opened yet, and is tried again");
                }
            }
        }
    }
}
