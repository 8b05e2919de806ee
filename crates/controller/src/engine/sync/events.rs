//! What people are told about a Service, and when it is news.

use std::sync::Arc;

use evenkeel_model::{AddressType, Pod, SeenService, Topology};
use evenkeel_topology::Plan;

use crate::engine::{ServiceEvent, event_reason};

/// The Events worth telling: what was told last is not, nor is a refusal that is known from before.
pub(super) fn events(
    seen: &SeenService,
    plan: &Plan,
    told: &mut Vec<(AddressType, String)>,
    is_known: bool,
) -> Vec<ServiceEvent> {
    let mut events = Vec::new();
    for event in &plan.events {
        let family = event.family();
        let message = event.message();
        let last = told.iter_mut().find(|(of, _)| *of == family);
        let is_news = last.as_ref().is_none_or(|(_, last)| *last != message);
        match last {
            Some(last) => last.1.clone_from(&message),
            None => told.push((family, message.clone())),
        }
        if is_news && !(is_known && event.is_warning()) {
            events.push(ServiceEvent {
                service: seen.service.key.clone(),
                uid: Arc::clone(&seen.version.uid),
                warning: event.is_warning(),
                reason: event.reason(),
                message,
            });
        }
    }
    events
}

/// The Event about Pods left out, in Kubernetes' words. They come in with their nodes.
pub(super) fn left_out(
    topology: &Topology,
    seen: &SeenService,
    names: &[Arc<str>],
    pods: &[(&Pod, Option<i64>)],
) -> Option<ServiceEvent> {
    let key = &seen.service.key;
    let node = |name: &Arc<str>| {
        let pod = pods.iter().find(|(pod, _)| pod.name == *name);
        pod.and_then(|(pod, _)| pod.node).map_or("", |id| topology.nodes.name(id))
    };
    let line =
        |name| format!("skipping Pod {name} for Service {key}: Node {} Not Found", node(name));
    let lines: Vec<String> = names.iter().take(10).map(line).collect();
    let what = match lines.as_slice() {
        [] => return None,
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    };
    Some(ServiceEvent {
        service: key.clone(),
        uid: Arc::clone(&seen.version.uid),
        warning: true,
        reason: event_reason::FAILED,
        message: format!("Error updating Endpoint Slices for Service {key}: {what}"),
    })
}
