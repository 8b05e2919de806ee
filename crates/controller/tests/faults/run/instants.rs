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
        let listed_before = self.listed_slices(&flight.service);
        let blind = flight.blind || flight.head < self.store.slices.head();
        let foreign = self.is_foreign(flight);
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
        if let (
            Answer::Stored(seen),
            Request::Create { slice, .. } | Request::Update { slice, .. },
        ) = (&answer, &flight.request)
        {
            self.tally.altered += u64::from(seen.slice.endpoints != slice.endpoints);
        }
        let listed_after = self.listed_slices(&flight.service);
        // What Kubernetes' own controller does meanwhile is not the write's fault.
        if !(self.profile.built_in && blind) {
            self.nothing_lost(flight, &listed_before, &listed_after)?;
        }
        self.notify();
        Ok(answer)
    }

    /// Who signs slices of this Service that the controller may write. `opted_in`: as it knew.
    pub(super) fn managers(&self, service: &ServiceKey, opted_in: bool) -> Vec<&str> {
        let key = Key::new(service.namespace.clone(), service.name.clone());
        let service = self.store.services.get(&key);
        // Of one that is gone nobody knows.
        let opted_in = opted_in || service.is_none_or(|seen| seen.service.opted_in);
        let ours = &*self.profile.settings.topology.controller_name;
        match self.profile.settings.scope {
            Scope::Annotated if !opted_in => vec![ours],
            Scope::All | Scope::Annotated => vec![ours, label::BUILT_IN],
        }
    }

    fn is_foreign(&self, flight: &Flight) -> bool {
        let stored = self.store.slices.get(flight.request.key());
        let managers = self.managers(&flight.service, flight.opted_in);
        stored.is_some_and(|seen| !checks::managed_by(&seen.slice, &managers))
    }

    /// The slices of a Service that the controller answers for.
    pub(super) fn own_slices(&self, service: &ServiceKey) -> Vec<Arc<SeenSlice>> {
        let ours = &*self.profile.settings.topology.controller_name;
        match self.profile.built_in || self.profile.opts > 0 {
            // Slices of both list the same Pods while one takes over from the other.
            true => self.slices(service, &[ours]),
            false => self.slices(service, &self.managers(service, false)),
        }
    }

    /// All slices of a Service that list Pods for consumers.
    fn listed_slices(&self, service: &ServiceKey) -> Vec<Arc<SeenSlice>> {
        let ours = &*self.profile.settings.topology.controller_name;
        self.slices(service, &[ours, label::BUILT_IN])
    }

    /// Not those of an earlier Service of its name, nor those on their way out.
    fn slices(&self, service: &ServiceKey, managers: &[&str]) -> Vec<Arc<SeenSlice>> {
        let key = Key::new(service.namespace.clone(), service.name.clone());
        let Some(seen) = self.store.services.get(&key) else {
            return Vec::new();
        };
        let slices = checks::slices_of(&self.store, &seen.service, managers);
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
                    && checks::belongs(service, pod, family)
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
        // A Node that went a moment ago counts as there.
        let grace = self.profile.settings.missing_node_grace;
        let clock = flight.sent + self.processes[flight.process].ahead;
        let gone = view.gone_nodes.get(&node_key);
        let knew_node = view.nodes.before(&node_key, step).is_some()
            || (view.nodes.before(&node_key, u64::MAX).is_none()
                && gone.is_some_and(|gone| (*gone..*gone + grace).contains(&clock)));
        view.services.before(&service_key, step).is_some_and(|seen| seen.service == *service)
            && view.pods.before(&pod_key, step).is_some_and(|seen| same_pod(seen, pod))
            && (knew_node || service.publish_not_ready)
    }
}
