//! Policy Balanced: demand, zone shares, hysteresis, and what consumers make of them.

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
