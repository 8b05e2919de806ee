//! KEP-4444, Traffic Distribution for Services: its test plan, its rules, and what it leaves to
//! implementations.

mod asked;
mod hints;
mod traffic_policy;
mod transitions;
