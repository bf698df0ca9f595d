//! Limits of the openings of shops for calls. A shop that is opened closes another one where there are more than may be open,
//! and costs far more than the call that it is opened for.

use std::sync::Arc;

use ucp_core::Refusal;
use ucp_trust::{
    client::ClientAddress,
    limit::{InFlight, Permit, Quota, Quotas, RateLimits, Share, Stranger},
};

/// Maximum number of shops that are opened at once. Strangers leave a quarter to registered platforms.
const AT_ONCE: usize = 32;

/// Shops that one network may cause to be opened.
const OF_NETWORK: Option<Quota> = Quota::new(5, 50);

/// Cause of an opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opener {
    /// The gateway itself, because the shop has something to do.
    Gateway,
    /// A registered platform, by its credential.
    Registered,
    /// Anyone else.
    Stranger(ClientAddress),
}

/// Limits of all openings. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Openings(Arc<Limits>);

#[derive(Debug)]
struct Limits {
    rates: RateLimits,
    places: InFlight,
}

impl Default for Openings {
    fn default() -> Self {
        let rates = RateLimits::new(&Quotas { anonymous: OF_NETWORK, ..Quotas::default() });
        Self(Arc::new(Limits { rates, places: InFlight::new(AT_ONCE) }))
    }
}

impl Openings {
    /// Takes a place for an opening. Fails with [`Code::RateLimited`](ucp_core::Code::RateLimited) if its network has
    /// caused too many, or [`Code::Unavailable`](ucp_core::Code::Unavailable) if too many are under way.
    pub(crate) fn take(&self, opener: Opener) -> Result<Permit, Refusal> {
        let Limits { rates, places } = &*self.0;
        match opener {
            Opener::Gateway | Opener::Registered => places.try_acquire(None),
            Opener::Stranger(client) => {
                let share = Share::Stranger(Stranger::anonymous(client));
                rates.check(&share).map_err(|limited| Refusal {
                    content: "This network address calls too many shops that are not open.".into(),
                    ..limited
                })?;
                places.try_acquire(share.groups())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ucp_core::Code;

    use super::*;

    fn stranger(last: u8) -> Opener {
        Opener::Stranger(ClientAddress::new([198, 18, last, 1].into()))
    }

    #[test]
    fn a_network_opens_so_many_shops_and_strangers_leave_places_to_registered_platforms() {
        let openings = Openings::default();
        let refused = (0..200).find_map(|_| openings.take(stranger(1)).err()).expect("a limit");
        assert_eq!((refused.code, refused.retry_after), (Code::RateLimited, Some(1)));
        let held: Vec<_> = (2..200).map_while(|last| openings.take(stranger(last)).ok()).collect();
        assert!((1..AT_ONCE).contains(&held.len()), "{}", held.len());
        assert_eq!(openings.take(stranger(201)).expect_err("all places are taken").code, Code::Unavailable);
        let registered: Vec<_> = (0..AT_ONCE / 4).map(|_| openings.take(Opener::Registered)).collect();
        assert!(registered.iter().all(Result::is_ok), "the reserve");
        drop(held);
        assert!(openings.take(stranger(202)).is_ok(), "places come back");
    }
}
