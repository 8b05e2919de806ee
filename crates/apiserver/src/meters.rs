//! The metrics of each resource, looked up once.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::{
    kinds::{KINDS, Kind, Subresource},
    metrics::{Metrics, Of, Requests},
    request::{Resource, Target},
};

/// The scope of a request: Kubernetes' `scope`.
const SCOPES: [&str; 3] = ["resource", "namespace", "cluster"];

/// The parts of custom resources.
const CUSTOM_PARTS: [&str; 3] = ["", "status", "scale"];

#[derive(Debug)]
pub(crate) struct Meters {
    /// By group, resource, subresource and scope.
    known: FxHashMap<(&'static str, &'static str, &'static str, &'static str), Arc<Requests>>,
    /// Everything that is not a resource.
    other: Arc<Requests>,
}

/// The metrics of a custom resource, by part and scope: they are freed with it.
#[derive(Debug, Default)]
pub(crate) struct CustomMeters([[OnceLock<Arc<Requests>>; SCOPES.len()]; CUSTOM_PARTS.len()]);

impl Meters {
    pub(crate) fn new(metrics: &Metrics) -> Meters {
        let mut known = FxHashMap::default();
        for kind in KINDS.iter().copied() {
            let parts = kind.subresources.iter().map(Subresource::name).chain([""]);
            for (part, scope) in parts.flat_map(|part| SCOPES.map(|scope| (part, scope))) {
                let place = (&*kind.group, &*kind.plural, part, scope);
                known.insert(place, metrics.requests(of(kind, part, scope)));
            }
        }
        Meters { known, other: metrics.requests(Of::default()) }
    }

    pub(crate) fn of<'a>(&'a self, target: Option<&'a Target>) -> &'a Requests {
        match target {
            Some(Target::Resource(resource)) => self.of_resource(resource),
            _ => &self.other,
        }
    }

    pub(crate) fn of_resource<'a>(&'a self, resource: &'a Resource) -> &'a Requests {
        let scope = match (resource.name.is_empty(), &resource.namespace) {
            (false, _) => 0,
            (true, Some(_)) => 1,
            (true, None) => 2,
        };
        let kind = &resource.kind;
        let part = kind.subresource(&resource.subresource).map_or("", |part| part.name());
        let Some(custom) = &kind.custom else {
            let place = (&*kind.group, &*kind.plural, part, SCOPES[scope]);
            return self.known.get(&place).unwrap_or(&self.other);
        };
        let part = CUSTOM_PARTS.iter().position(|known| *known == part).unwrap_or_default();
        let slot = &custom.meters.0[part][scope];
        slot.get_or_init(|| self.other.for_another(of(kind, CUSTOM_PARTS[part], SCOPES[scope])))
    }
}

fn of(kind: &Kind, part: &'static str, scope: &'static str) -> Of {
    Of {
        group: kind.group.to_string().into(),
        version: kind.version.to_string().into(),
        resource: kind.plural.to_string().into(),
        subresource: part.into(),
        scope,
    }
}
