//! What the watches saw, put into the model's words and given to the engine.
//!
//! A slice that can't be read counts as gone; a Service or Node counts with what can be read of it. All
//! is logged, and stops nothing else.

use evenkeel_k8s::{
    watch::{Batch, Resource},
    watched,
};
use evenkeel_model::{AddressType, Gone, Watched};
use jiff::Timestamp;

use crate::{engine::Engine, metrics::Metrics};

/// Changes that are counted, and when they were caused.
#[derive(Debug, Default)]
pub(crate) struct Intake {
    pub(crate) services: usize,
    pub(crate) slices: usize,
    /// When the changes happened that slices were written for.
    pub(crate) triggers: Vec<(AddressType, Timestamp)>,
    /// Changes before are not measured: nobody could have followed them.
    since: Option<Timestamp>,
}

/// Trigger times that are kept until the next commit.
const MOST_TRIGGERS: usize = 10_000;

impl Intake {
    pub(crate) fn new(now: Timestamp) -> Intake {
        Intake { since: Some(now), ..Intake::default() }
    }

    /// Forgets what was counted.
    pub(crate) fn clear(&mut self) {
        (self.services, self.slices) = (0, 0);
        self.triggers.clear();
    }

    pub(crate) fn take(&mut self, engine: &mut Engine, metrics: &Metrics, batch: Batch) {
        match batch {
            Batch::Nodes(batch) => batch.into_iter().for_each(|seen| node(engine, seen)),
            Batch::Services(batch) => {
                self.services += batch.len();
                batch.into_iter().for_each(|seen| service(engine, metrics, seen));
            }
            Batch::Slices(batch) => {
                self.slices += batch.len();
                batch.into_iter().for_each(|seen| self.slice(engine, metrics, seen));
            }
            _ => {}
        }
    }

    fn slice(
        &mut self,
        engine: &mut Engine,
        metrics: &Metrics,
        seen: Watched<watched::EndpointSlice>,
    ) {
        let mut trigger = None;
        let converted = seen.read(|slice| {
            trigger = slice.trigger_time();
            slice.seen(engine.names_mut()).map_err(|error| {
                ignore(metrics, Resource::EndpointSlices, &slice.gone(), &error.to_string());
                slice.gone()
            })
        });
        let Some(seen) = converted else { return };
        if let (Watched::Applied(slice) | Watched::Listed(slice), Some(time)) = (&seen, trigger)
            && self.since.is_some_and(|since| time > since)
            && self.triggers.len() < MOST_TRIGGERS
        {
            self.triggers.push((slice.slice.address_type, time));
        }
        engine.slice(seen);
    }
}

fn service(engine: &mut Engine, metrics: &Metrics, seen: Watched<watched::Service>) {
    let converted = seen.read(|service| {
        let seen = service.seen();
        let problem = seen.problem.as_ref().or(seen.frontend_problem.as_ref());
        if let Some(problem) = problem {
            ignore(metrics, Resource::Services, &service.gone(), problem);
        }
        Ok(seen)
    });
    converted.into_iter().for_each(|seen| engine.service(seen));
}

fn node(engine: &mut Engine, seen: Watched<watched::Node>) {
    let converted = seen.read(|node| Ok((node.seen(engine.names_mut()).0, node.own())));
    converted.into_iter().for_each(|seen| engine.node(seen));
}

fn ignore(metrics: &Metrics, resource: Resource, object: &Gone, error: &str) {
    use evenkeel_k8s::watch::Counters as _;
    metrics.ignored(resource);
    let Gone { namespace, name, .. } = object;
    let resource = resource.name();
    tracing::warn!(resource, %namespace, %name, error, "ignoring invalid object");
}
