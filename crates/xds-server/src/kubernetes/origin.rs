//! What is kept of an endpoint beside what selection needs.

use std::sync::Arc;

use evenkeel_model::{Endpoint, Target};
use evenkeel_topology::consumer::Detail;

#[derive(Debug)]
pub(super) struct Origin {
    /// The Pod behind it.
    pub(super) target: Option<Arc<Target>>,
    pub(super) terminating: bool,
}

impl Detail for Origin {
    fn of(endpoint: &Endpoint) -> Self {
        Origin { target: endpoint.target.clone(), terminating: is_terminating(endpoint) }
    }

    fn is_of(&self, endpoint: &Endpoint) -> bool {
        self.target == endpoint.target && self.terminating == is_terminating(endpoint)
    }
}

fn is_terminating(endpoint: &Endpoint) -> bool {
    endpoint.conditions.terminating == Some(true)
}
