//! Which client may use which endpoint, and why.
//!
//! Two halves that meet in the hints of EndpointSlices, as KEP-2433 and KEP-4444 split them:
//!
//! ```text
//!  producer                                             consumer, on each node
//!  Service, Pods, Nodes, slices ──► plan ──► slices ──► select ──► endpoints with weights
//!                                    │ hints by:
//!                                    ├ auto          zone CPU, within an overload threshold
//!                                    └ distribution  own zone, own node
//! ```
//!
//! [`consumer`] keeps Services, slices and selections up to date, one change at a time.
//!
//! Everything here is a function of its arguments: no clock, no I/O, no randomness; ties are
//! broken by name. Each outcome carries its reasons as data. What is *not* here: API objects
//! (crate `k8s`), writing slices (`controller`), programming the kernel (`nft`, `proxy`).

pub mod analyze;
pub mod auto;
pub mod balanced;
pub mod capacity;
mod carrier;
pub mod consumer;
mod data_plane;
pub mod demand;
pub mod distribution;
mod draft;
pub mod explain;
pub mod migrate;
mod moves;
pub mod nearest;
pub mod overload;
mod pack;
mod patch;
pub mod plan;
pub mod policy;
mod proxies;
mod reason;
pub mod region;
mod routing;
pub mod select;
mod settings;
mod share_out;
pub mod threshold;
pub mod version;
pub mod whatif;

pub use crate::{
    capacity::{Capacity, measure},
    data_plane::{DataPlane, Environment, Profile, ProfileReason, Rules},
    demand::{Demand, ZoneDemand, demand},
    draft::{Draft, Role},
    moves::{Move, MoveReason},
    patch::{Patch, PatchMeta, PatchSpec, Removed},
    plan::{Plan, Sync, plan},
    policy::{Policy, PolicyReason, RequestedPolicy},
    proxies::{Behind, Exception, Fleet, InForce, Proxies},
    reason::{HintEvent, NoHints},
    routing::{PortRouting, SharesIgnored, routing, shares_ignored},
    select::{Selected, select},
    settings::{
        Assignment, EnabledEvent, Gates, NodeHintRule, Settings, SettingsError, UnknownCpu,
    },
    version::{Server, ServerVersion},
};
