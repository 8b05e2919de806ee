//! Texts that many resources repeat, each once: keys of tags, names of services, zones and nodes.

use std::{mem, sync::Arc};

use super::{Labels, Resource, Spec};
use crate::view::intern::Held;

/// The texts of the resources that were shared, for as long as one of these has them.
#[derive(Debug, Default)]
pub struct Strings(Held<str>);

// === impl Strings ===

impl Strings {
    /// Replaces the texts of a resource by equal ones of others. What others hold of it stays as it is.
    pub fn share(&mut self, resource: &mut Resource) {
        self.text(&mut resource.key.mesh);
        self.labels(&mut resource.labels);
        let Spec::Dataplane(dataplane) = &mut resource.spec else { return };
        let Some(dataplane) = Arc::get_mut(dataplane) else { return };
        let of_inbounds = dataplane.inbounds.iter_mut().map(|inbound| &mut inbound.tags);
        let of_gateway = dataplane.gateway.iter_mut().map(|gateway| &mut gateway.tags);
        for tags in of_inbounds.chain(of_gateway).filter_map(Arc::get_mut) {
            self.labels(tags);
        }
        for outbound in &mut dataplane.outbounds {
            self.text(&mut outbound.backend.name);
            self.labels(&mut outbound.backend.tags);
        }
    }

    fn labels(&mut self, labels: &mut Labels) {
        let one = |(key, value)| (self.0.share(key), self.0.share(value));
        *labels = mem::take(labels).into_iter().map(one).collect();
    }

    fn text(&mut self, text: &mut Arc<str>) {
        *text = self.0.share(Arc::clone(text));
    }
}
