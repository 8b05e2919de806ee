//! What can be set.

use std::time::Duration;

use evenkeel_model::label;

/// Which Services are ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All with a selector: Kubernetes' own controller is off, and its slices are taken over.
    #[default]
    All,
    /// Only those that opted in with the annotation `evenkeel.dev/selector`.
    Annotated,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Thresholds, gates, the size of slices and the name that signs them.
    pub topology: evenkeel_topology::Settings,
    pub scope: Scope,
    /// Writes under way at once, of all Services together.
    pub max_in_flight: usize,
    /// Whether conditions are written to the status of Services.
    pub conditions: bool,
    /// How long changes of one Service are gathered before they are written.
    pub batch_period: Duration,
    /// How long the endpoints of a Node that is deleted are kept, so that a Node which comes back at
    /// once, as after a restore or a cloud provider's mistake, loses none. Kubernetes: not at all.
    pub missing_node_grace: Duration,
    /// The first pause after a failed sync; it doubles up to `max_backoff`.
    pub backoff: Duration,
    pub max_backoff: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        let topology = evenkeel_topology::Settings {
            controller_name: label::EVENKEEL.into(),
            ..evenkeel_topology::Settings::default()
        };
        Settings {
            topology,
            scope: Scope::All,
            max_in_flight: 32,
            conditions: true,
            batch_period: Duration::ZERO,
            missing_node_grace: Duration::from_secs(10),
            backoff: Duration::from_millis(250),
            max_backoff: Duration::from_secs(300),
        }
    }
}
