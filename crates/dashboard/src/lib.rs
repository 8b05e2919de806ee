//! The dashboard: what a cluster's traffic does and why, as pages.
//!
//! ```text
//!   topology: explain, whatif, analyze ──► view: sentences, numbers, geometry ──► JSON ──► page
//! ```
//!
//! [`view`] is a function of a snapshot. Not here: decisions, which are `topology`'s.

pub mod view;
