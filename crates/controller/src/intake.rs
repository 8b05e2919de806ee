//! What the watches saw, put into the model's words and given to the engine.
//!
//! An object that can't be understood counts as gone, and is told once: it stops nothing else. Nodes
//! and Services count as there, with what can be understood of them.

use std::sync::Arc;

use evenkeel_k8s::{
    FieldError,
    watch::{Batch, Resource},
    watched,
};
use evenkeel_model::{Gone, Watched};

use crate::{engine::Engine, metrics::Metrics, recent::Recent};

/// How many refused objects are remembered, so that they are told once.
const REMEMBERED: usize = 4096;

#[derive(Debug)]
pub(crate) struct Intake {
    /// By resource, uid and what is wrong.
    told: Recent<(Resource, Arc<str>, String), ()>,
    metrics: Arc<Metrics>,
}

impl Intake {
    pub(crate) fn new(metrics: Arc<Metrics>) -> Intake {
        Intake { told: Recent::new(REMEMBERED), metrics }
    }

    /// `wall` is the time of day, in seconds since 1970.
    pub(crate) fn take(&mut self, engine: &mut Engine, batch: Batch, wall: i64) {
        match batch {
            Batch::Nodes(batch) => batch.into_iter().for_each(|seen| self.node(engine, seen)),
            Batch::Pods(batch) => {
                for seen in batch {
                    let convert = |pod: &watched::Pod| pod.seen(engine.topology_mut());
                    let seen = self.seen(Resource::Pods, seen, convert, watched::Pod::gone);
                    seen.into_iter().for_each(|seen| engine.pod(seen));
                }
            }
            Batch::Services(batch) => batch.into_iter().for_each(|seen| self.service(engine, seen)),
            Batch::Slices(batch) => {
                for seen in batch {
                    let convert =
                        |slice: &watched::EndpointSlice| slice.seen(engine.topology_mut());
                    let gone = watched::EndpointSlice::gone;
                    let seen = self.seen(Resource::EndpointSlices, seen, convert, gone);
                    seen.into_iter().for_each(|seen| engine.slice(seen));
                }
            }
            Batch::Leases(batch) => {
                for seen in batch {
                    let gone = watched::Lease::gone;
                    let seen = self.seen(Resource::Leases, seen, watched::Lease::seen, gone);
                    seen.into_iter().for_each(|seen| engine.report(seen, wall));
                }
            }
            Batch::Mesh(..) => {} // It follows none.
        }
    }

    /// A Node whose CPU can't be read is no deleted Node: its endpoints stay.
    fn node(&mut self, engine: &mut Engine, seen: Watched<watched::Node>) {
        let mut refused = None;
        let convert = |node: &watched::Node| {
            let (seen, problem) = node.seen(engine.topology_mut());
            refused = problem.map(|problem| (node.gone(), problem.to_string()));
            Ok(seen)
        };
        let seen = self.seen(Resource::Nodes, seen, convert, watched::Node::gone);
        if let Some((node, problem)) = refused {
            self.refuse(Resource::Nodes, &node, problem);
        }
        seen.into_iter().for_each(|seen| engine.node(seen));
    }

    /// The engine is told of a Service that can't be planned too, so that its slices stay.
    fn service(&mut self, engine: &mut Engine, seen: Watched<watched::Service>) {
        let mut refused = None;
        let convert = |service: &watched::Service| {
            let seen = service.seen();
            refused = seen.problem.as_ref().map(|problem| (service.gone(), problem.to_string()));
            Ok(seen)
        };
        let seen = self.seen(Resource::Services, seen, convert, watched::Service::gone);
        if let Some((service, problem)) = refused {
            self.refuse(Resource::Services, &service, problem);
        }
        seen.into_iter().for_each(|seen| engine.service(seen));
    }

    /// `None`: an object that can't be understood and is not in the list for that.
    fn seen<T, S>(
        &mut self,
        resource: Resource,
        seen: Watched<T>,
        convert: impl FnOnce(&T) -> Result<S, FieldError>,
        gone: impl FnOnce(&T) -> Gone,
    ) -> Option<Watched<S>> {
        let (object, is_listed) = match seen {
            Watched::Restarted => return Some(Watched::Restarted),
            Watched::Complete => return Some(Watched::Complete),
            Watched::Deleted(gone) => return Some(Watched::Deleted(gone)),
            Watched::Listed(object) => (object, true),
            Watched::Applied(object) => (object, false),
        };
        match convert(&object) {
            Ok(seen) if is_listed => Some(Watched::Listed(seen)),
            Ok(seen) => Some(Watched::Applied(seen)),
            Err(error) => {
                let gone = gone(&object);
                self.refuse(resource, &gone, error.to_string());
                (!is_listed).then_some(Watched::Deleted(gone))
            }
        }
    }

    fn refuse(&mut self, resource: Resource, object: &Gone, problem: String) {
        let key = (resource, Arc::clone(&object.uid), problem);
        if self.told.get(&key).is_some() {
            return;
        }
        self.metrics.refused(resource);
        let (resource, error) = (resource.name(), &key.2);
        let Gone { namespace, name, .. } = object;
        tracing::warn!(resource, %namespace, %name, error, "ignoring invalid object");
        self.told.insert(key, ());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone(uid: &str) -> Gone {
        Gone { namespace: "default".into(), name: "n".into(), uid: uid.into() }
    }

    /// What becomes of an object that can't be converted if its name begins so.
    fn seen(intake: &mut Intake, seen: Watched<&'static str>) -> Option<Watched<&'static str>> {
        let convert = |object: &&'static str| match object.strip_prefix("bad ") {
            Some(problem) => Err(FieldError::new("spec", problem)),
            None => Ok(*object),
        };
        intake.seen(Resource::Pods, seen, convert, |object| gone(object))
    }

    fn n_refused(intake: &Intake) -> String {
        let text = intake.metrics.text();
        let line = r#"evenkeel_controller_refused_objects_total{resource="pods"} "#;
        text.lines().find_map(|given| given.strip_prefix(line)).unwrap_or("none").to_owned()
    }

    #[test]
    fn what_cannot_be_understood_is_gone_and_told_once() {
        let mut intake = Intake::new(Arc::new(Metrics::new()));
        let well = [
            Watched::Restarted,
            Watched::Listed("a"),
            Watched::Applied("a"),
            Watched::Complete,
            Watched::Deleted(gone("a")),
        ];
        for watched in well {
            assert_eq!(seen(&mut intake, watched.clone()), Some(watched));
        }
        assert_eq!(n_refused(&intake), "none");
        assert_eq!(seen(&mut intake, Watched::Listed("bad x")), None);
        let deleted = Some(Watched::Deleted(gone("bad x")));
        assert_eq!(seen(&mut intake, Watched::Applied("bad x")), deleted);
        assert_eq!(n_refused(&intake), "1", "the same object with the same problem");
        assert_eq!(seen(&mut intake, Watched::Listed("bad y")), None);
        assert_eq!(n_refused(&intake), "2");
    }

    #[test]
    fn a_node_whose_cpu_cannot_be_read_is_there() {
        let node = |cpu: &str| -> watched::Node {
            serde_json::from_value(serde_json::json!({
                "metadata": {"name": "n", "uid": "u"}, "status": {"allocatable": {"cpu": cpu}},
            }))
            .unwrap()
        };
        let metrics = Arc::new(Metrics::new());
        let mut intake = Intake::new(Arc::clone(&metrics));
        let mut engine = Engine::new(crate::engine::Settings::default());
        let batch = vec![Watched::Applied(node("4")), Watched::Applied(node("four"))];
        intake.take(&mut engine, Batch::Nodes(batch), 0);
        assert_eq!(engine.totals().nodes, 1);
        let line = r#"evenkeel_controller_refused_objects_total{resource="nodes"} 1"#;
        assert!(metrics.text().contains(line), "{}", metrics.text());
    }
}
