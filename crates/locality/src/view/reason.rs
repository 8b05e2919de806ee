//! What of a proxy's plan is not as written, and why.

use core::net::SocketAddr;
use std::{fmt, sync::Arc};

use evenkeel_model::Reason;
use serde::Serialize;

use crate::resource::{Kind, Labels};

/// What of a proxy's plan is not as written. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum PlanReason {
    /// Two listeners have the same address and port; the first is kept.
    AddressTaken { address: SocketAddr, left_out: Arc<str>, kept: Arc<str> },
    /// Two destinations would have clusters of the same name; the first is kept.
    ClusterNameTaken { cluster: Arc<str> },
    /// The strategy leaves none of the endpoints of a split, so that the split gets no traffic.
    SplitEmptied { service: Arc<str>, subset: Labels },
    /// A split has no endpoints, so that it gets no traffic.
    SplitWithoutEndpoints { service: Arc<str>, subset: Labels },
    /// None of the splits has endpoints: requests get 503, connections are closed.
    AllSplitsEmpty { service: Arc<str> },
    /// All weights of a rule are 0: requests get 503, connections are closed.
    AllWeightsZero { service: Arc<str> },
    /// A policy makes no sense together with the less specific ones, and is left out.
    MergedPolicyInvalid { policy: Kind, name: Arc<str>, service: Arc<str>, problem: String },
}

impl Reason for PlanReason {}

impl fmt::Display for PlanReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddressTaken { address, left_out, kept } => {
                write!(f, "{left_out} left out: {kept} already listens on {address}")
            }
            Self::ClusterNameTaken { cluster } => {
                write!(f, "destination left out: another one already has cluster {cluster}")
            }
            Self::SplitEmptied { service, subset } => {
                let name = SplitName(service, subset);
                write!(f, "{name} gets no traffic: the strategy excludes all its endpoints")
            }
            Self::SplitWithoutEndpoints { service, subset } => {
                write!(f, "{} gets no traffic: no endpoints", SplitName(service, subset))
            }
            Self::AllSplitsEmpty { service } => {
                write!(f, "traffic to {service} is rejected: no split has endpoints")
            }
            Self::AllWeightsZero { service } => {
                write!(f, "traffic to {service} is rejected: all weights are 0")
            }
            Self::MergedPolicyInvalid { policy, name, service, problem } => {
                write!(f, "{policy} {name} ignored for {service}: {problem}")
            }
        }
    }
}

struct SplitName<'a>(&'a str, &'a Labels);

impl fmt::Display for SplitName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "split {}", self.0)?;
        for (i, (key, value)) in self.1.iter().enumerate() {
            write!(f, "{}{key}={value}", if i == 0 { " with " } else { ", " })?;
        }
        Ok(())
    }
}
