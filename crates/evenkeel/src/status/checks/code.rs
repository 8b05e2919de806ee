//! The codes of findings. They are API: scripts match them.

use serde::Serialize;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What a check found.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        pub(in crate::status) enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            #[cfg(test)]
            pub(in crate::status) const ALL: &[Code] = &[$(Code::$name,)*];
        }
    };
}

codes! {
    /// The API server answers.
    ApiServerReachable,
    /// The API server can't be reached.
    ApiServerUnreachable,
    /// The API server does not tell its version.
    ApiServerVersionUnknown,
    /// The credentials have the permissions that the controller needs.
    PermissionsGranted,
    /// The credentials lack permissions that the controller needs.
    PermissionsMissing,
    /// The permissions can't be checked.
    PermissionsUnknown,
    /// All worker nodes are ready.
    NodesReady,
    /// Some worker nodes are not ready.
    NodesNotReady,
    /// No worker node is ready.
    NoReadyNodes,
    /// Nodes can't be listed.
    NodesNotListed,
    /// No ready node is cordoned.
    NodesSchedulable,
    /// Some ready nodes are cordoned.
    NodesCordoned,
    /// Every ready node has a zone.
    NodesHaveZone,
    /// A ready node has no zone label, so no Service gets Auto hints.
    NodesWithoutZone,
    /// Every ready node reports its CPU.
    NodesHaveCpu,
    /// A ready node reports no CPU, so no Service gets Auto hints.
    NodesWithoutCpu,
    /// Ready nodes are in several zones.
    NodesInSeveralZones,
    /// Ready nodes are in one zone, so hints have no use.
    NodesInOneZone,
    /// Every ready node has a region, and all nodes of a zone the same.
    NodesHaveRegion,
    /// Ready nodes have no region label, and a Service has a policy that looks at regions.
    NodesWithoutRegion,
    /// Nodes of a zone name several regions.
    ZonesInSeveralRegions,
    /// A controller holds the lease and renews it.
    LeaderActive,
    /// No lease exists: no controller has run.
    LeaseNotFound,
    /// Nobody holds the lease: the controller was stopped.
    LeaseNotHeld,
    /// The holder of the lease no longer renews it.
    LeaseExpired,
    /// Leases can't be listed.
    LeasesNotListed,
    /// An expired lease of another namespace is left over.
    StaleLease,
    /// Controllers in several namespaces hold leases.
    SeveralLeaders,
    /// No Event reports a failed sync in the last hour.
    NoRecentSyncFailures,
    /// Events report failed syncs in the last hour.
    RecentSyncFailures,
    /// Events can't be listed.
    EventsNotListed,
    /// Few or no syncs failed since the controller started.
    SyncErrorsLow,
    /// More than 10 % of syncs failed since the controller started.
    SyncErrorsHigh,
    /// No URL of the controller's metrics is known.
    MetricsNotChecked,
    /// The controller's metrics can't be read.
    MetricsUnreachable,
    /// Proxies of nodes report that their rules are in force.
    ProxiesReport,
    /// The proxies of some nodes no longer report.
    ProxiesStale,
    /// Some nodes have Evenkeel's proxy, and others don't.
    NodesWithoutProxy,
    /// The proxies of some nodes can't serve some Services as they are.
    ProxyExceptions,
    /// The reports of proxies can't be listed.
    ProxiesNotListed,
    /// No Service has EndpointSlices of two controllers.
    OneSliceManager,
    /// Two controllers write EndpointSlices of the same Service.
    TwoSliceManagers,
    /// Every Service with a selector has EndpointSlices.
    ServicesHaveSlices,
    /// No controller has written EndpointSlices of some Services.
    ServicesWithoutSlices,
    /// Services can't be listed.
    ServicesNotListed,
    /// EndpointSlices can't be listed.
    SlicesNotListed,
    /// Every Service under Balanced has zone shares.
    ZoneSharesInForce,
    /// Services under Balanced have no zone shares.
    ZoneSharesMissing,
    /// The zone shares of some Services can't be used.
    ZoneSharesBroken,
    /// The conditions of all Services with a policy are True.
    ConditionsTrue,
    /// A condition of a Service is False.
    ConditionFalse,
    /// No conditions of another mode are left over.
    NoStaleConditions,
    /// Conditions of another mode of the controller are left over.
    StaleConditions,
    /// The control plane of the mesh is ready.
    ControlPlaneReady,
    /// The control plane of the mesh is not ready.
    ControlPlaneNotReady,
    /// The admin pages of the control plane of the mesh can't be read.
    ControlPlaneUnreachable,
    /// All Envoy proxies accept what they are sent.
    EnvoyAccepts,
    /// Envoy proxies reject what they are sent.
    EnvoyRejects,
    /// All resources of the mesh are valid.
    MeshResourcesValid,
    /// Resources of the mesh are invalid, and not in force.
    MeshResourcesInvalid,
}
