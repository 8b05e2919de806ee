//! Whose rules hold for a Service: who writes its hints, and who routes by them.
//!
//! Hints are written by the controller that manages the Service's slices, which its label
//! `endpointslice.kubernetes.io/managed-by` names. Routing is done by the proxy of each node.
//! [`Environment`] holds the settings of both profiles and composes those of one Service:
//!
//! ```text
//!   Settings field                                   follows
//!   node_hint_rule                                   routing
//!   gates                                            the API server's version, and --feature-gates
//!   all others (thresholds, assignment, CPU, name)   hints
//! ```

use std::{fmt, sync::Arc};

use evenkeel_model::{Reason, Service, ServiceState, WithMessage, label};
use serde::Serialize;

use crate::{
    Fleet, PolicyReason, RequestedPolicy, ServerVersion, Settings, SettingsError, policy,
    version::Server,
};

/// A set of rules: Evenkeel's, or exactly those of today's Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    Evenkeel,
    Kubernetes,
}

/// Which rules produce a Service's hints, which rules route its traffic, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DataPlane {
    pub hints: Rules,
    pub routing: Rules,
}

/// A profile with the reason why it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rules {
    pub profile: Profile,
    #[serde(flatten)]
    pub because: WithMessage<ProfileReason>,
}

/// Why a profile holds. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code")]
#[non_exhaustive]
pub enum ProfileReason {
    /// `--profile` names it.
    Requested,
    SlicesManagedBy {
        manager: Arc<str>,
    },
    /// The Service has no slices. It opted in, so Kubernetes' own controller ignores it.
    OptedIn,
    /// Nothing shows a controller other than Kubernetes' own.
    NoManagedSlices,
    /// No node reports Evenkeel's proxy.
    NoProxyReported,
    /// All nodes report Evenkeel's proxy.
    ProxyReported {
        nodes: usize,
    },
    /// Some nodes report Evenkeel's proxy, and route by its rules; the others by those of
    /// Kubernetes. What is told here is by the rules of most.
    ProxyReportedBySome {
        nodes: usize,
        of: usize,
    },
}

/// The settings of both profiles and the API server's version: what decisions about Services of one
/// cluster rest on.
#[derive(Clone, Debug)]
pub struct Environment {
    requested: Option<Profile>,
    evenkeel: Settings,
    kubernetes: Settings,
    pub server: Server,
    fleet: Fleet,
}

/// Who writes the hints of a Service.
fn hints(state: &ServiceState) -> Rules {
    let managers = || {
        let in_use = state.slices.iter().filter(|s| !s.labels.contains_key(label::WITHDRAWN));
        in_use.filter_map(|slice| slice.labels.get(label::MANAGED_BY))
    };
    let by = |manager: &Arc<str>| ProfileReason::SlicesManagedBy { manager: Arc::clone(manager) };
    if let Some(ours) = managers().find(|name| ***name == *label::EVENKEEL) {
        return Rules::new(Profile::Evenkeel, by(ours));
    }
    let built_in = managers().find(|name| ***name == *label::BUILT_IN);
    match built_in.or_else(|| managers().next()) {
        Some(manager) => Rules::new(Profile::Kubernetes, by(manager)),
        None if state.service.opted_in => Rules::new(Profile::Evenkeel, ProfileReason::OptedIn),
        None => Rules::new(Profile::Kubernetes, ProfileReason::NoManagedSlices),
    }
}

/// Who routes. Evenkeel's rules hold on nodes that report its proxy; where only some do, those of
/// most nodes are taken.
fn routing(Fleet { reporting, nodes }: Fleet) -> Rules {
    let some = ProfileReason::ProxyReportedBySome { nodes: reporting, of: nodes };
    match reporting {
        0 => Rules::new(Profile::Kubernetes, ProfileReason::NoProxyReported),
        all if all == nodes => {
            Rules::new(Profile::Evenkeel, ProfileReason::ProxyReported { nodes })
        }
        most if most * 2 > nodes => Rules::new(Profile::Evenkeel, some),
        _ => Rules::new(Profile::Kubernetes, some),
    }
}

// === impl Environment ===

impl Environment {
    /// `requested`: `None` decides for each Service by what is there. `adjust` carries explicit
    /// settings into both profiles.
    pub fn new(
        requested: Option<Profile>,
        server: Server,
        adjust: impl Fn(&mut Settings),
    ) -> Result<Self, SettingsError> {
        let adjusted = |mut settings: Settings| {
            adjust(&mut settings);
            settings.validate().map(|()| settings)
        };
        let kubernetes = adjusted(Settings::kubernetes())?;
        let (evenkeel, fleet) = (adjusted(Settings::default())?, Fleet::default());
        Ok(Environment { requested, evenkeel, kubernetes, server, fleet })
    }

    /// With the proxies that nodes report.
    pub fn with_fleet(self, fleet: Fleet) -> Self {
        Environment { fleet, ..self }
    }

    /// One set of settings for every Service, on the newest API server.
    pub fn fixed(profile: Profile, settings: &Settings) -> Self {
        Environment {
            requested: Some(profile),
            evenkeel: settings.clone(),
            kubernetes: settings.clone(),
            server: Server::default(),
            fleet: Fleet::default(),
        }
    }

    pub fn data_plane(&self, state: &ServiceState) -> DataPlane {
        match self.requested {
            Some(profile) => {
                let rules = Rules::new(profile, ProfileReason::Requested);
                DataPlane { hints: rules.clone(), routing: rules }
            }
            None => DataPlane { hints: hints(state), routing: routing(self.fleet) },
        }
    }

    /// The settings that hold for a Service behind `plane`.
    pub fn settings(&self, plane: &DataPlane) -> Settings {
        let mut settings = self.of(plane.hints.profile).clone();
        settings.node_hint_rule = self.of(plane.routing.profile).node_hint_rule;
        settings.gates = settings.gates.and(self.server.version.gates());
        // With another name, the plan would rewrite every slice.
        if let ProfileReason::SlicesManagedBy { manager } = &plane.hints.because.reason
            && plane.hints.profile == Profile::Evenkeel
        {
            settings.controller_name = Arc::clone(manager);
        }
        settings
    }

    /// The policy in force under `settings`; where the API server is too old for it, that is the
    /// reason.
    pub fn requested(&self, service: &Service, settings: &Settings) -> RequestedPolicy {
        let mut requested = policy::requested(service, settings.gates);
        if let PolicyReason::GateOff { gate, value } = &requested.why
            && let Some(version) = self.missing(gate)
        {
            requested.why = PolicyReason::UnavailableBefore { value: Arc::clone(value), version };
        }
        requested
    }

    /// The version that has `gate`, if this API server is older.
    pub fn missing(&self, gate: &str) -> Option<ServerVersion> {
        ServerVersion::of_gate(gate).filter(|version| self.server.version < *version)
    }

    /// What both profiles have in common: how the capacity of zones is measured.
    pub(crate) fn common(&self) -> &Settings {
        &self.kubernetes
    }

    fn of(&self, profile: Profile) -> &Settings {
        match profile {
            Profile::Evenkeel => &self.evenkeel,
            Profile::Kubernetes => &self.kubernetes,
        }
    }
}

// === impl Rules ===

impl Rules {
    fn new(profile: Profile, because: ProfileReason) -> Self {
        Rules { profile, because: because.into() }
    }
}

// === impl Profile ===

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Profile::Evenkeel => "Evenkeel",
            Profile::Kubernetes => "Kubernetes",
        })
    }
}

// === impl ProfileReason ===

impl Reason for ProfileReason {}

impl fmt::Display for ProfileReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProfileReason::Requested => write!(f, "set by --profile"),
            ProfileReason::SlicesManagedBy { manager } => {
                write!(f, "slices are managed by {manager}")
            }
            ProfileReason::OptedIn => {
                write!(f, "no slices yet; annotation {} selects the Pods", label::SELECTOR)
            }
            ProfileReason::NoManagedSlices => write!(f, "no slice names its controller"),
            ProfileReason::NoProxyReported => write!(f, "no node reports Evenkeel's proxy"),
            ProfileReason::ProxyReported { nodes: 1 } => {
                write!(f, "the one node reports Evenkeel's proxy")
            }
            ProfileReason::ProxyReported { nodes } => {
                write!(f, "all {nodes} nodes report Evenkeel's proxy")
            }
            ProfileReason::ProxyReportedBySome { nodes, of } if nodes * 2 > *of => {
                write!(
                    f,
                    "{nodes} of {of} nodes report Evenkeel's proxy; the others route by \
                     Kubernetes' rules"
                )
            }
            ProfileReason::ProxyReportedBySome { nodes, of } => {
                write!(
                    f,
                    "{nodes} of {of} nodes report Evenkeel's proxy, and route by Evenkeel's rules"
                )
            }
        }
    }
}
