//! Policy Balanced: demand, zone shares, hysteresis, and what consumers make of them.

mod examples;
mod flows;
mod generate;
mod oracle;
mod support;
