//! The kinds of `kuma.io` that are followed.

use std::fmt;

/// A kind of `kuma.io/v1alpha1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MeshKind {
    Mesh,
    Dataplane,
    MeshService,
    MeshMultiZoneService,
    MeshExternalService,
    MeshHttpRoute,
    MeshTcpRoute,
    MeshHealthCheck,
    MeshCircuitBreaker,
    MeshLoadBalancingStrategy,
}

/// What the API calls a kind.
struct Names {
    kind: &'static str,
    plural: &'static str,
    /// Of the task that follows it.
    task: &'static str,
}

// === impl MeshKind ===

impl MeshKind {
    pub const ALL: [MeshKind; 10] = [
        MeshKind::Mesh,
        MeshKind::Dataplane,
        MeshKind::MeshService,
        MeshKind::MeshMultiZoneService,
        MeshKind::MeshExternalService,
        MeshKind::MeshHttpRoute,
        MeshKind::MeshTcpRoute,
        MeshKind::MeshHealthCheck,
        MeshKind::MeshCircuitBreaker,
        MeshKind::MeshLoadBalancingStrategy,
    ];

    pub const GROUP: &'static str = "kuma.io";
    pub const VERSION: &'static str = "v1alpha1";
    pub const API_VERSION: &'static str = "kuma.io/v1alpha1";

    /// As in the field `kind` of objects.
    pub fn name(self) -> &'static str {
        self.names().kind
    }

    /// As in the paths of the API.
    pub fn plural(self) -> &'static str {
        self.names().plural
    }

    /// Meshes have no namespace; all else is in one.
    pub fn is_namespaced(self) -> bool {
        self != MeshKind::Mesh
    }

    /// Of this name in the field `kind` of objects.
    pub fn of(name: &str) -> Option<MeshKind> {
        MeshKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The name of its CustomResourceDefinition.
    pub fn definition(self) -> String {
        format!("{}.{}", self.plural(), MeshKind::GROUP)
    }

    pub(crate) fn task(self) -> &'static str {
        self.names().task
    }

    fn names(self) -> Names {
        macro_rules! names {
            ($kind:literal, $plural:literal) => {
                Names { kind: $kind, plural: $plural, task: concat!("watcher-", $plural) }
            };
        }
        match self {
            MeshKind::Mesh => names!("Mesh", "meshes"),
            MeshKind::Dataplane => names!("Dataplane", "dataplanes"),
            MeshKind::MeshService => names!("MeshService", "meshservices"),
            MeshKind::MeshMultiZoneService => {
                names!("MeshMultiZoneService", "meshmultizoneservices")
            }
            MeshKind::MeshExternalService => names!("MeshExternalService", "meshexternalservices"),
            MeshKind::MeshHttpRoute => names!("MeshHTTPRoute", "meshhttproutes"),
            MeshKind::MeshTcpRoute => names!("MeshTCPRoute", "meshtcproutes"),
            MeshKind::MeshHealthCheck => names!("MeshHealthCheck", "meshhealthchecks"),
            MeshKind::MeshCircuitBreaker => names!("MeshCircuitBreaker", "meshcircuitbreakers"),
            MeshKind::MeshLoadBalancingStrategy => {
                names!("MeshLoadBalancingStrategy", "meshloadbalancingstrategies")
            }
        }
    }
}

impl fmt::Display for MeshKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
