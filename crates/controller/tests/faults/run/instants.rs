//! What must hold after every write.

use std::sync::Arc;

use evenkeel_controller::engine::Scope;
use evenkeel_model::{SeenPod, SeenSlice, Service, ServiceKey, label};
use evenkeel_testkit::sim::{Answer, Key, Request};

use super::{Flight, Run};
use crate::{checks, trace::Brief, view::same_pod};

impl Run {
    /// Carries a request out, and checks what came of it.
    pub(super) fn apply(&mut self, flight: &Flight) -> Result<Answer, String> {
        if matches!(flight.request, Request::Conditions { .. } | Request::Read { .. }) {
            let answer = self.store.request(&flight.request);
            self.notify();
            return Ok(answer);
        }
        let before = self.own_slices(&flight.service);
        let foreign = self.is_foreign(flight.request.key(), &flight.service);
        let head = self.store.slices.head();
        let answer = self.store.request(&flight.request);
        self.note(|| {
            format!(
                "{:?} of process {} is answered {}",
                flight.ticket,
                flight.process,
                answer.brief()
            )
        });
        if foreign && self.store.slices.head() > head {
            return Err(format!("a slice of somebody else is written: {:?}", flight.request));
        }
        let after = self.own_slices(&flight.service);
        if !self.rivals
            && let Some(what) = checks::duplicate(&after, &self.disturbed)
            && checks::duplicate(&before, &self.disturbed).is_none()
        {
            return Err(format!("listed twice by one leader: {what}"));
        }
        self.nothing_lost(flight, &before, &after)?;
        self.notify();
        Ok(answer)
    }

    /// Who signs slices of this Service that the controller may write.
    pub(super) fn managers(&self, service: &ServiceKey) -> Vec<&str> {
        let key = Key::new(service.namespace.clone(), service.name.clone());
        let service = self.store.services.get(&key);
        // Of one that is gone nobody knows.
        let opted_in = service.is_none_or(|seen| seen.service.opted_in);
        let ours = &*self.profile.settings.topology.controller_name;
        match self.profile.settings.scope {
            Scope::Annotated if !opted_in => vec![ours],
            Scope::All | Scope::Annotated => vec![ours, label::BUILT_IN],
        }
    }

    pub(super) fn is_foreign(&self, slice: &Key, service: &ServiceKey) -> bool {
        let stored = self.store.slices.get(slice);
        stored.is_some_and(|seen| !checks::managed_by(&seen.slice, &self.managers(service)))
    }

    /// The slices of a Service, but not those of an earlier one of its name or on their way out.
    pub(super) fn own_slices(&self, service: &ServiceKey) -> Vec<Arc<SeenSlice>> {
        let key = Key::new(service.namespace.clone(), service.name.clone());
        let Some(seen) = self.store.services.get(&key) else {
            return Vec::new();
        };
        let slices = checks::slices_of(&self.store, &seen.service, &self.managers(service));
        let uid = Some(&seen.service.uid);
        let owned = |seen: &&&Arc<SeenSlice>| seen.slice.owner.as_ref() == uid && !seen.deleting;
        let owned = slices.iter().filter(owned).copied();
        owned.cloned().collect()
    }

    /// A write may take no endpoint away that its process knew to belong there.
    pub(super) fn nothing_lost(
        &self,
        flight: &Flight,
        before: &[Arc<SeenSlice>],
        after: &[Arc<SeenSlice>],
    ) -> Result<(), String> {
        let key = Key::new(flight.service.namespace.clone(), flight.service.name.clone());
        let Some(service) = self.store.services.get(&key) else {
            return Ok(());
        };
        let service = &service.service;
        for (pod_key, pod) in self.store.pods.iter() {
            for &family in &service.families {
                let times = |slices| checks::rightly_listed(slices, service, &pod.pod, family);
                if times(before) > 0
                    && times(after) == 0
                    && checks::belongs(&self.store, service, pod, family)
                    && !self.disturbed.contains(&pod.pod.uid)
                    && self.knew(flight, service, pod)
                {
                    return Err(format!("Pod {pod_key} is lost from {key}, {family}"));
                }
            }
        }
        Ok(())
    }

    /// Whether the process of a write knew Service, Pod and Node as they are when it was planned.
    pub(super) fn knew(&self, flight: &Flight, service: &Service, pod: &SeenPod) -> bool {
        // A rival that reads a slice ahead of its watch may take one state of another for the present.
        let misled = self.rivals && flight.blind;
        if misled || !self.lives(flight.process, flight.life) {
            return false;
        }
        let (view, step) = (&self.processes[flight.process].view, flight.planned_after);
        let service_key = Key::new(service.key.namespace.clone(), service.key.name.clone());
        let pod_key = Key::new(pod.pod.namespace.clone(), pod.pod.name.clone());
        let node = pod.pod.node.map(|id| self.store.topology.nodes.name(id));
        let node_key = Key::new("", node.map_or("", |name| &**name));
        view.services.before(&service_key, step).is_some_and(|seen| seen.service == *service)
            && view.pods.before(&pod_key, step).is_some_and(|seen| same_pod(seen, pod))
            && view.nodes.before(&node_key, step).is_some()
    }
}
