//! Policy Balanced: demand, zone shares, hysteresis, and what consumers make of them.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod consumers;
mod demands;
mod docs;
mod examples;
mod flows;
mod generate;
mod hysteresis;
mod oracle;
mod rounding;
mod size;
mod support;
