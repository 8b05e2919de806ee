//! MeshLoadBalancingStrategy: as it is written, its validation, and the checked form that decides.
//!
//! [`Spec`] is what a user wrote, field by field. [`Spec::decode`] refuses what is not a policy;
//! [`Spec::validate`] refuses what makes no sense. [`Strategy::new`] turns the locality awareness
//! that is in force, merged from the policies that apply, into what [`crate::assign`] follows.
//! Departures of Kuma from its decision record end here: a `Strategy` knows no [`crate::Compat`].

mod balancer;
mod checked;
mod decimal;
mod decode;
mod duration;
mod threshold;
mod validate;
mod written;

pub use self::{
    balancer::{
        Connection, Cookie, HashPolicy, HashPolicyType, LeastRequest, LoadBalancer,
        LoadBalancerType, Maglev, RingHash,
    },
    checked::{Affinity, Ranking, Reach, Rule, Strategy, ZoneSet},
    decode::WrittenIn,
    duration::parse_duration,
    threshold::{ThresholdError, overprovisioning_factor},
    written::{
        AffinityTag, Conf, CrossZone, Failover, FailoverThreshold, FromZone, IntOrText, LocalZone,
        LocalityAwareness, Spec, To, ToZone, ToZoneType,
    },
};
