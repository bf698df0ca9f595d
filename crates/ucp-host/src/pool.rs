//! Resources that all shops of a process share: a limited number of slots for requests and amount of memory for their
//! bodies, the tracer, and the pages.

use std::sync::Arc;

use ucp_config::{Number, Server, Settings};
use ucp_record::Tracer;
use ucp_service::ingress::Rules;
use ucp_trust::limit::{BodyLimit, InFlight, Throughput};

use crate::{
    pages::Pages,
    reading::{self, Reading},
};

/// Resources that shops share. Clones share them too.
#[derive(Clone)]
pub struct Pool {
    /// Limit of requests in flight.
    pub(crate) places: InFlight,
    /// Limit of the memory of request bodies.
    pub(crate) bodies: BodyLimit,
    /// Limit of the bytes of documents and pages.
    throughput: Arc<Throughput>,
    /// Tracer of what no call asks for.
    pub(crate) tracer: Option<Arc<dyn Tracer>>,
    /// Pages of each shop beside its operations.
    pub(crate) pages: Arc<dyn Pages>,
}
ucp_core::opaque!(Pool { places, bodies });

impl Pool {
    /// Creates the limits of a process, in which `tracer` traces what no call asks for.
    pub fn new(server: &Server, tracer: Option<Arc<dyn Tracer>>, pages: Arc<dyn Pages>) -> Self {
        Self {
            places: InFlight::new(server.max_in_flight.map_or(usize::MAX, Number::count)),
            bodies: BodyLimit::new(server.bodies_mb.count() << 20),
            throughput: reading::throughput(),
            tracer,
            pages,
        }
    }

    /// Returns the limits of a shop: the part that one of several may take of these, or limits of its own for the only
    /// one, which change with its settings.
    pub(crate) fn of_shop(&self, settings: &Settings) -> Self {
        let most = settings.sections.limits.in_flight.map_or(usize::MAX, Number::count);
        if settings.mount.is_one_of_several {
            return Self { places: self.places.part(most), bodies: self.bodies.part(), ..self.clone() };
        }
        let server = &settings.sections.server;
        let places = InFlight::new(server.max_in_flight.map_or(usize::MAX, Number::count).min(most));
        let throughput = Arc::clone(&self.throughput);
        Self { places, throughput, ..Self::new(server, self.tracer.clone(), Arc::clone(&self.pages)) }
    }

    /// Returns the limits of documents and pages of a shop, of which `rules` say who may have how many.
    pub(crate) fn reading(&self, rules: &Arc<Rules>) -> Reading {
        Reading::new(Arc::clone(rules), Arc::clone(&self.throughput))
    }
}
