//! Simulates flows of requests under a configuration.
//!
//! A discrete-event simulation around the very [`Dispatcher`] that servers use: only the clients
//! and the work are made up. Events are in a heap by time, those at the same time in the order
//! in which they were scheduled; each costs O(log events) plus what the dispatcher costs. There is no clock
//! and no randomness but the seed: the same arguments give the same report, bit for bit.
//!
//! ```text
//!   arrivals ─► Dispatcher::admit ─► seats taken for the service time ─► Dispatcher::leave
//!      ▲                │ waits, or is rejected                              │
//!      └── closed loops: again after the think time, or after Retry-After ──┘
//! ```
//!
//! Every client has random numbers of its own, for its arrivals and for its service times. So
//! configurations that are compared with one seed see the same requests.

mod client;
mod draw;
mod engine;
mod measure;
mod random;
mod recorder;
mod report;
mod scenario;
mod windows;

pub use self::{
    draw::Draw,
    measure::{MAX_SAMPLES, Summary, jain},
    random::Random,
    report::{Counts, Figures, FlowReport, FlowSeries, LevelReport, Report, Series},
    scenario::{
        Arrivals, Attributes, Burst, Change, Flow, MAX_AT_A_TIME, MAX_CLIENTS, MAX_REQUESTS,
        Scenario, Setup, SimulationError,
    },
};
use crate::Time;
#[cfg(doc)]
use crate::dispatcher::Dispatcher;

/// Simulates a scenario under one configuration. `progress` is called now and then with the simulated time.
pub fn simulate(
    scenario: &Scenario,
    setup: &Setup,
    progress: &mut dyn FnMut(Time),
) -> Result<Report, SimulationError> {
    scenario.check()?;
    let clients = client::clients(scenario);
    let mut engine = engine::Engine::new(scenario, setup, &clients)?;
    engine.run(setup, progress)?;
    Ok(engine.report())
}
