//! The metrics of each resource, looked up once.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{
    kinds::{KINDS, Subresource},
    metrics::{Metrics, Of, Requests},
    request::{Resource, Target},
};

/// The scope of a request: Kubernetes' `scope`.
const SCOPES: [&str; 3] = ["resource", "namespace", "cluster"];

#[derive(Debug)]
pub(crate) struct Meters {
    /// By group, resource, subresource and scope.
    known: FxHashMap<(&'static str, &'static str, &'static str, &'static str), Arc<Requests>>,
    /// Everything that is not a resource.
    other: Arc<Requests>,
}

impl Meters {
    pub(crate) fn new(metrics: &Metrics) -> Meters {
        let mut known = FxHashMap::default();
        for kind in KINDS {
            let parts = kind.subresources.iter().map(Subresource::name).chain([""]);
            for (subresource, scope) in parts.flat_map(|part| SCOPES.map(|scope| (part, scope))) {
                let of = Of {
                    group: kind.group.into(),
                    version: kind.version.into(),
                    resource: kind.plural.into(),
                    subresource: subresource.into(),
                    scope,
                };
                let place = (kind.group, kind.plural, subresource, scope);
                known.insert(place, metrics.requests(of));
            }
        }
        Meters { known, other: metrics.requests(Of::default()) }
    }

    pub(crate) fn of(&self, target: Option<&Target>) -> &Requests {
        match target {
            Some(Target::Resource(resource)) => self.of_resource(resource),
            _ => &self.other,
        }
    }

    pub(crate) fn of_resource(&self, resource: &Resource) -> &Requests {
        let scope = match (resource.name.is_empty(), &resource.namespace) {
            (false, _) => "resource",
            (true, Some(_)) => "namespace",
            (true, None) => "cluster",
        };
        let kind = resource.kind;
        let part = kind.subresource(&resource.subresource).map_or("", |part| part.name());
        self.known.get(&(kind.group, kind.plural, part, scope)).unwrap_or(&self.other)
    }
}
