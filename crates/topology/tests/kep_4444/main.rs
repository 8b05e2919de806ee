//! KEP-4444, Traffic Distribution for Services: its test plan, its rules, and what it leaves to
//! implementations.

mod hints;
mod requested;
mod traffic_policy;
mod transitions;
