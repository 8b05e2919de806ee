//! The codes of findings. They are API: scripts match them.

use serde::Serialize;

macro_rules! codes {
    ($($name:ident,)*) => {
        /// What a check found.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        pub(in crate::status) enum Code { $($name,)* }

        impl Code {
            #[cfg(test)]
            pub(in crate::status) const ALL: &[Code] = &[$(Code::$name,)*];
        }
    };
}

codes! {
    ApiServerReachable,
    ApiServerUnreachable,
    ApiServerVersionUnknown,
    PermissionsGranted,
    PermissionsMissing,
    PermissionsUnknown,
    NodesReady,
    NodesNotReady,
    NoReadyNodes,
    NodesNotListed,
    NodesSchedulable,
    NodesCordoned,
    NodesHaveZone,
    NodesWithoutZone,
    NodesHaveCpu,
    NodesWithoutCpu,
    NodesInSeveralZones,
    NodesInOneZone,
    LeaderActive,
    LeaseNotFound,
    LeaseNotHeld,
    LeaseExpired,
    LeasesNotListed,
    StaleLease,
    SeveralLeaders,
    NoRecentSyncFailures,
    RecentSyncFailures,
    EventsNotListed,
    SyncErrorsLow,
    SyncErrorsHigh,
    MetricsNotChecked,
    MetricsUnreachable,
    OneSliceManager,
    TwoSliceManagers,
    ServicesHaveSlices,
    ServicesWithoutSlices,
    ServicesNotListed,
    SlicesNotListed,
    ConditionsTrue,
    ConditionFalse,
    NoStaleConditions,
    StaleConditions,
}
