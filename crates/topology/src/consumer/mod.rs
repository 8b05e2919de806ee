//! Services and their endpoints as consumers see them: the node proxy, xDS and the dashboard.
//!
//! ```text
//!   Services ──┐                                            ┌─► endpoints of each port, routing
//!              ├─ apply, delete, list ─► View ── Changes ───┤
//!   slices   ──┘                                            └─► Selector (one viewpoint) ─► Delta
//! ```
//!
//! [`View`] holds every Service port in every address family with its *merged* endpoints: those of all
//! slices that have the port, each address and target port once. [`View::changes`] shows the ports
//! that changed since it was last called, with the endpoints that changed in each. A [`Selector`]
//! keeps counts of ready and hinted endpoints up to date from these, so that the change of one
//! endpoint becomes a [`Delta`] of the selection without a look at the other endpoints. The result
//! is always that of [`select`](crate::select()).
//!
//! An endpoint that moves between slices is in both for a moment, and they may differ in conditions
//! and hints. Kubernetes' kube-proxy merges by address and port and takes whichever it meets first. Here
//! the better one counts: ready before serving-terminating before the rest, then the first by slice
//! name, then the first in the slice. [`merge`] is the same rule from scratch.
//!
//! As in kube-proxy, slices belong to the Service that their label names, ports match by name and
//! protocol, a port without a number is ignored, and of an endpoint's addresses the first counts.
//!
//! Cost of a slice with m endpoints of which k changed, in a port of n: m comparisons,
//! k · O(log n) and the moving of k · O(n) bytes within one list. A change of routing (hints that are
//! now obeyed, a new policy) looks at all n once. What is *not* here: which Services a consumer serves
//! ([`Service::is_served_by`](evenkeel_model::Service::is_served_by)), and watches.

mod changes;
mod delta;
mod diff;
mod endpoint;
mod entry;
mod merge;
mod port;
mod record;
mod selector;
mod shares;
mod slab;
mod state;
mod tally;
mod view;
mod watch;

pub use self::{
    changes::{ChangeKind, Changes, PortChange},
    delta::{Delta, Member, PathDelta, ZoneWeight},
    endpoint::{Backend, Detail, MergedEndpoint},
    merge::{Place, merge},
    port::PortView,
    record::EndpointChange,
    selector::{Path, Selector},
    view::View,
};
