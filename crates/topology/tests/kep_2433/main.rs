//! KEP-2433, Topology Aware Hints: its test plan and its worked examples, row by row.
//!
//! What the KEP calls `TrafficPolicy == 'PreferZone'` is the annotation
//! `service.kubernetes.io/topology-mode: Auto` today.

mod controller;
mod kube_proxy;
mod node_updates;
mod overload;
