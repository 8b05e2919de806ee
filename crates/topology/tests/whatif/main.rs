//! Forecasts of what policies would do.

mod advice;
mod in_force;
mod own_policies;
mod properties;
mod replicas;
mod support;
mod traffic;
