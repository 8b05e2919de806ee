//! What a change of the resources leads to.

use std::collections::BTreeSet;

use super::{ProxyKey, ServiceKey};

/// What may differ from what the view last said. Empty if nothing does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Services whose assignments may differ, under every key that names them.
    pub services: BTreeSet<ServiceKey>,
    /// Proxies whose plans may differ. A proxy that is named is not named again for what happens
    /// before it is asked for.
    pub proxies: BTreeSet<ProxyKey>,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.services.is_empty() && self.proxies.is_empty()
    }

    /// Both together.
    pub fn merge(&mut self, other: Changes) {
        let Changes { services, proxies } = other;
        self.services.extend(services);
        self.proxies.extend(proxies);
    }
}
